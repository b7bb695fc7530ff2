/*
 * The next slots of a schedule, for tool and console: by its definition, the database's clock and its zones.
 */
#ifndef MG_OPERATOR_SLOT_PLAN_H
#define MG_OPERATOR_SLOT_PLAN_H

#include "io/store/schedules.h"
#include "schedule/schedule.h"

struct mg_slot_plan {
    bool is_zone;   /* false: the database knows no such zone */
    int64_t now_ms; /* the database's clock */
    int count;
    int64_t slots[MG_UPCOMING_MAX], next_at_ms; /* next_at_ms: when the first is due; 0: there is none */
};

typedef void mg_slot_plan_fn(void *arg, const struct mg_slot_plan *plan, const struct mg_err *err);
/* The slots after a moment; 0: after now. `schedule` must live until the answer. */
void mg_slot_plan_find(struct mg_store *store, const struct mg_schedule *schedule, int64_t after_ms,
                       mg_slot_plan_fn *done, void *arg);

#endif
