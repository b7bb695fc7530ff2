/*
 * Slots of schedules, between the command that fires one and the batch that makes its order. The command goes
 * aside while the schedule's row is read and judged; then it is back in its lane, with the verdict. The
 * batch makes the order by intake's own path, and the same commit moves the schedule on.
 */
#ifndef MG_SCHEDULER_SLOT_FIRE_H
#define MG_SCHEDULER_SLOT_FIRE_H

#include "alert_raise.h"
#include "inbox.h"

#include "io/store/schedules.h"
#include "schedule/schedule.h"
#include "wire/command.h"
#include "wire/submission.h"

/* Series of skipped slots; those of further schedules share one name (law 14, everything bounded). */
#define MG_SKIPPED_SERIES_MAX 256

struct mg_fires {
    struct mg_shared *shared;
    struct mg_inbox *inbox;
    struct mg_alerts *alerts;
    int series_count;
    struct mg_once failure_logged; /* the last question failed */
};

/* In the memory of its work. */
struct mg_fire {
    struct mg_fires *fires;
    struct mg_work *work;
    char schedule[MG_NAME_MAX + 1], order_id[MG_ORDER_ID_MAX + 1];
    char by[MG_COMMAND_BY_MAX + 1];
    enum mg_slot_source source;
    int64_t slot_ms;
    bool is_judged; /* the row was read, and no conflict since then; the members below hold */
    bool is_found;  /* there is such a schedule */
    enum mg_slot_verdict verdict;
    bool is_alerted;
    struct mg_slot_write slot;       /* recorded by the commit */
    struct mg_submission submission; /* FIRES, HAS_ORDER; its payload is in the work's memory */
    uint8_t digest[MG_SHA256_SIZE];
    char text[MG_COMMAND_REASON_MAX + 1]; /* why there is no order */

    /* while it is judged */
    struct mg_schedule *definition; /* NULL: not read */
    int64_t slot_civil_ms;
    int64_t queued; /* slots that wait for an earlier order, with this one (overlap: queue) */
    char open[MG_OPEN_ORDERS_MAX * (MG_ORDER_ID_MAX + 1)]; /* separated by blanks */
};

/* Reads and judges the slot of a command. The work comes back to its lane with its fire. */
void mg_fires_ask(struct mg_fires *fires, struct mg_work *work, const struct mg_command *command);
/* Records an end that no commit records, with its alert; the ack of the fire's work waits for it. */
void mg_fire_settle(struct mg_fire *fire, enum mg_slot_end end, const char *text);
/* The order is stored: an alert about its schedule is over. */
void mg_fire_stored(const struct mg_fire *fire);

#endif
