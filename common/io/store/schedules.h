/*
 * Schedules and their slots (schedule/schedule.h has the meaning). The database knows the zones: it turns
 * civil minutes into instants. A schedule's row has its next slots; the end of a slot moves it on.
 * Moments are milliseconds since 1970, civil ones from the same midnight of the zone's calendar.
 */
#ifndef MG_IO_STORE_SCHEDULES_H
#define MG_IO_STORE_SCHEDULES_H

#include "io/store/store.h"

/* The slots that a row has in advance: MG_SLOTS_SHOWN. */
#define MG_UPCOMING_MAX 5
/* As many as one question of the leader reads soon enough, and a page shows. */
#define MG_SCHEDULES_MAX 1000
/* Earlier orders of a schedule that have not ended, as read with a slot. */
#define MG_OPEN_ORDERS_MAX 16

enum mg_slot_end {
    MG_SLOT_END_ORDER,   /* the slot has an order */
    MG_SLOT_END_OVERLAP, /* an earlier order had not ended */
    MG_SLOT_END_MISSED,  /* older than the schedule catches up */
    MG_SLOT_END_REFUSED, /* the order was refused */
    MG_SLOT_END_COUNT
};
const char *mg_slot_end_name(enum mg_slot_end end); /* "order", "overlap", "missed", "refused" */

/* The end of a slot, to be recorded. */
struct mg_slot_write {
    const char *schedule, *order_id; /* order_id NULL: none */
    int64_t slot_ms;
    enum mg_slot_end end;
    int64_t slots;    /* that the row stands for */
    const char *text; /* why there is no order; "" */
    const char *by;
    uint64_t version; /* of the schedule, as read; another one is not moved */
    /* An order of a slot that may overlap no other. If the schedule has made one since its `fired` was read,
     * or is gone, the order's write is in conflict. */
    bool is_exclusive;
    int64_t fired;
    bool is_moved; /* the slot is the schedule's next one: these come next */
    int upcoming_count;
    int64_t upcoming[MG_UPCOMING_MAX], next_at_ms;
};

/* ---- for the scheduler ---- */

struct mg_slot_row {
    bool is_found; /* false: there is no such schedule */
    struct mg_slice definition;
    uint64_t version;
    bool is_paused;
    int64_t fired;                    /* orders that it has made; rises with each */
    int64_t next_slot_ms, next_at_ms; /* 0: it has no slot any more */
    int64_t now_ms, slot_civil_ms, now_civil_ms;
    bool has_order; /* of the slot, by its row */
    struct mg_slice
        open; /* ids of other slots' orders that have not ended, separated by blanks; absent: none */
    int64_t ended_at_ms; /* the last change of those that have ended, of the newest 16; 0: none has */
    bool is_alerted;     /* an alert about the schedule is open */
};
/* The slices live until the callback's end. */
typedef void mg_store_slot_fn(void *arg, const struct mg_slot_row *row, const struct mg_err *err);
void mg_store_load_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, mg_store_slot_fn *done,
                        void *arg);

/* The next instants of civil minutes in a zone, after a moment: at most MG_UPCOMING_MAX. */
typedef void mg_store_slots_fn(void *arg, const int64_t *slots, int count, const struct mg_err *err);
void mg_store_find_slots(struct mg_store *store, const char *zone, const int64_t *minutes, int count,
                         int64_t after_ms, mg_store_slots_fn *done, void *arg);

/* Records the end of a slot without an order. One with an order is recorded by its commit
 * (mg_order_write.slot). */
void mg_store_settle_slot(struct mg_store *store, const struct mg_slot_write *slot, mg_store_done_fn *done,
                          void *arg);

/* The slot waits for an earlier order: it stays the next one of its schedule, and is asked about again after
 * a while. Nothing changes if the schedule has another version, or has moved on. */
void mg_store_delay_slot(struct mg_store *store, const char *schedule, int64_t slot_ms, uint64_t version,
                         int64_t delay_ms, mg_store_done_fn *done, void *arg);

/* ---- for the supervisor ---- */

#define MG_SCHEDULES_ASKED 100
struct mg_due_slot {
    char schedule[MG_NAME_MAX + 1];
    int64_t slot_ms, due_at_ms;
};
/* The slots that are due or come next, the earliest first. */
typedef void mg_store_due_slots_fn(void *arg, bool is_leader, int64_t now_ms, const struct mg_due_slot *slots,
                                   int count, const struct mg_err *err);
void mg_store_ask_schedules(struct mg_store *store, uint64_t epoch, const char *holder,
                            mg_store_due_slots_fn *done, void *arg);

/* ---- for the operator ---- */

/* The database's clock, and the civil time in a zone at `at_ms` (0: now). */
typedef void mg_store_zone_fn(void *arg, bool is_zone, int64_t now_ms, int64_t civil_ms,
                              const struct mg_err *err);
void mg_store_look_zone(struct mg_store *store, const char *zone, int64_t at_ms, mg_store_zone_fn *done,
                        void *arg);

enum mg_schedule_verb { MG_SCHEDULE_LOAD, MG_SCHEDULE_PAUSE, MG_SCHEDULE_RESUME, MG_SCHEDULE_DELETE };
struct mg_schedule_change {
    enum mg_schedule_verb verb;
    const char *schedule, *reason, *by;
    uint64_t version;            /* of the row on which the decision was made; 0: no row */
    const char *workflow, *zone; /* LOAD */
    struct mg_slice definition;  /* LOAD */
    int upcoming_count;          /* LOAD, RESUME */
    int64_t upcoming[MG_UPCOMING_MAX], next_at_ms;
};
/* One transaction with the line of operator_action. CONFLICT: the row has another version, there is none, or
 * there are MG_SCHEDULES_MAX. */
void mg_store_change_schedule(struct mg_store *store, const struct mg_schedule_change *change,
                              mg_store_setting_fn *done, void *arg);

#endif
