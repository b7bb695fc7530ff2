/*
 * Schedules (proto/schedule.schema.json): orders that are made at certain times. A slot is one of these
 * times, and one order: the order's id is derived from schedule and slot (law 8, derived identities).
 *
 *   cron.c           civil minutes of a cron expression
 *   schedule.c       reads a definition
 *   slots.c          the slots of a schedule, their jitter, their orders' ids and payloads
 *   slot_judge.c     the verdict on a slot
 */
#ifndef MG_SCHEDULE_SCHEDULE_H
#define MG_SCHEDULE_SCHEDULE_H

#include "base/clock.h"
#include "base/id.h"
#include "core/key.h"
#include "core/model.h"
#include "json/json.h"
#include "schedule/cron.h"
#include "workflow/template.h"

/* As of a submission: its payload becomes an order's. */
#define MG_SCHEDULE_MAX_BYTES (256 * 1024)
#define MG_ZONE_MAX           63
/* Every two sweeps of the leader at most: it would find more slots than it can ask for in time. */
#define MG_EVERY_MIN_MS (10 * INT64_C(1000))
#define MG_EVERY_MAX_MS (366 * INT64_C(86400000))
/* Older slots are skipped by default: an outage shorter than this costs no slot, a longer one no flood. */
#define MG_CATCH_UP_MS     (10 * INT64_C(60000))
#define MG_CATCH_UP_MAX_MS (31 * INT64_C(86400000))
#define MG_JITTER_MAX_MS   (24 * INT64_C(3600000))
/* Slots that wait for an earlier order (overlap: queue); of more the oldest are missed. At an hour each a
 * hundred are four days of work: a person must decide which are still wanted. */
#define MG_SLOTS_QUEUED_MAX 100
/* The slots that a schedule's row and the console show in advance. */
#define MG_SLOTS_SHOWN 5
/* No zone has moved its clock by more at once, except across the date line. */
#define MG_CLOCK_STEP_MIN 180
/* Minutes that name the next MG_SLOTS_SHOWN slots: all within two steps of a clock, and those. */
#define MG_SLOT_MINUTES_MAX (2 * MG_CLOCK_STEP_MIN + MG_SLOTS_SHOWN + 1)

enum mg_overlap {
    MG_OVERLAP_SKIP,   /* no order while an earlier one has not ended */
    MG_OVERLAP_ALLOW,  /* an order in any case */
    MG_OVERLAP_CANCEL, /* earlier ones are cancelled, and an order is made */
    MG_OVERLAP_QUEUE   /* the slot waits until they have ended; MG_SLOTS_QUEUED_MAX wait at most */
};
extern const char *const MG_OVERLAP_WORDS[]; /* NULL-ended */

struct mg_schedule {
    char name[MG_NAME_MAX + 1], workflow[MG_NAME_MAX + 1];
    char zone[MG_ZONE_MAX + 1]; /* of cron; "UTC" of `every` */
    int64_t every_ms;           /* real time, counted from 1970-01-01T00:00:00Z; 0: by `cron` */
    struct mg_cron cron;
    enum mg_overlap overlap;
    int64_t catch_up_ms, jitter_ms;
    /* Civil minutes of the zone: slots from the first date's beginning to the last date's end. */
    int64_t from_min, to_min;
    struct mg_slice text;       /* the received definition, owned */
    struct mg_template payload; /* over ${/slot/…} and ${/schedule} */
    struct mg_arena *arena;
};

/* MG_BAD_INPUT after all mistakes were passed to `mistakes` (NULL: the first is in err). Only the database
 * knows whether there is such a zone. */
enum mg_class mg_schedule_parse(struct mg_slice text, const struct mg_mistakes *mistakes,
                                struct mg_schedule **ret_schedule, struct mg_err *err) MG_MUSTCHECK;
void mg_schedule_destroy(struct mg_schedule *schedule); /* accepts NULL */

/* ---- slots ---- */

/* Moments are milliseconds since 1970 in UTC, unless they are civil. A civil moment counts from the same
 * midnight of the zone's calendar. */

/* The next slots after `after_ms` of a schedule with `every`, at most MG_SLOTS_SHOWN; returns their number.
 */
int mg_schedule_every(const struct mg_schedule *schedule, int64_t after_ms, int64_t *ret_slots);
/* The civil minutes whose instants are the next slots of a schedule with cron, after a moment that is
 * `civil_ms` there: at most MG_SLOT_MINUTES_MAX. The database turns them into instants and takes those after
 * the moment, since a clock that goes back shows a minute twice, and one that is set forward shows none. */
int mg_schedule_minutes(const struct mg_schedule *schedule, int64_t civil_ms, int64_t *ret_minutes);
/* The slots from `from_ms` up to `to_ms`, both civil; of cron to the minute, as if no clock was set between.
 * Counts up to MG_SLOTS_COUNTED_MAX. */
#define MG_SLOTS_COUNTED_MAX 100000
int64_t mg_schedule_count(const struct mg_schedule *schedule, int64_t from_ms, int64_t to_ms);
/* The newest of these slots that MG_SLOTS_QUEUED_MAX others follow, civil; before `from_ms`: they are no more
 * than these. */
int64_t mg_schedule_queue_end(const struct mg_schedule *schedule, int64_t from_ms, int64_t to_ms);

/* The slot's order waits so long: the same at each asking. */
int64_t mg_schedule_jitter_ms(const struct mg_schedule *schedule, int64_t slot_ms);
/* Begins with MG_SLOT_ID_PREFIX: no submission may take it before. */
void mg_schedule_order_id(const char *schedule, int64_t slot_ms, char ret_order_id[MG_UUID_SIZE]);
/* The payload of a slot's order. MG_PERMANENT: above MG_SCHEDULE_MAX_BYTES. */
enum mg_class mg_schedule_payload(const struct mg_schedule *schedule, int64_t slot_ms, int64_t civil_ms,
                                  struct mg_buf *ret_payload, struct mg_err *err) MG_MUSTCHECK;

/* ---- the verdict on a slot ---- */

enum mg_slot_source { MG_SLOT_DUE, MG_SLOT_RUN, MG_SLOT_BACKFILL }; /* of a supervisor, of an operator */

struct mg_slot_facts {
    enum mg_slot_source source;
    int64_t slot_ms, now_ms;
    bool is_paused;
    int64_t next_slot_ms, next_at_ms; /* of the schedule's row; 0: it has no slot any more */
    bool has_order;                   /* the slot has one */
    bool is_open;                     /* an earlier order has not ended */
    int64_t ended_at_ms;              /* when the last one of the others ended; 0: none has */
    int64_t queued;                   /* slots from this one up to now */
};

enum mg_slot_verdict {
    MG_SLOT_FIRES,
    MG_SLOT_HAS_ORDER, /* it is the same order */
    MG_SLOT_STALE,     /* the schedule has moved on, is paused or not due: nothing changes */
    MG_SLOT_MISSED,    /* older than `catch_up` */
    MG_SLOT_OVERLAPS,  /* skipped, because of an earlier order */
    MG_SLOT_WAITS      /* for an earlier order: it stays the schedule's next one */
};
enum mg_slot_verdict mg_slot_judge(const struct mg_schedule *schedule, const struct mg_slot_facts *facts);

#endif
