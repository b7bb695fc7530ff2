/* See slot_plan.h. */
#include "operator/slot_plan.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(MG_UPCOMING_MAX == MG_SLOTS_SHOWN, "the same");

struct planning {
    struct mg_store *store;
    const struct mg_schedule *schedule;
    int64_t after_ms;
    struct mg_slot_plan plan;
    mg_slot_plan_fn *done;
    void *arg;
};

static void planning_end(struct planning *planning, const struct mg_err *err)
{
    struct mg_slot_plan *plan = &planning->plan;
    if (plan->count > 0) {
        plan->next_at_ms = plan->slots[0] + mg_schedule_jitter_ms(planning->schedule, plan->slots[0]);
    }
    planning->done(planning->arg, plan, err);
    free(planning);
}

static void on_slots(void *arg, const int64_t *slots, int count, const struct mg_err *err)
{
    struct planning *planning = arg;
    if (err == NULL) {
        planning->plan.count = count;
        memcpy(planning->plan.slots, slots, (size_t)count * sizeof(*slots));
    }
    planning_end(planning, err);
}

static void on_zone(void *arg, bool is_zone, int64_t now_ms, int64_t civil_ms, const struct mg_err *err)
{
    struct planning *planning = arg;
    const struct mg_schedule *schedule = planning->schedule;
    planning->plan.is_zone = is_zone;
    planning->plan.now_ms = now_ms;
    int64_t after_ms = planning->after_ms != 0 ? planning->after_ms : now_ms;
    if (err != NULL || !is_zone) {
        planning_end(planning, err);
    } else if (schedule->every_ms > 0) {
        planning->plan.count = mg_schedule_every(schedule, after_ms, planning->plan.slots);
        planning_end(planning, NULL);
    } else {
        int64_t minutes[MG_SLOT_MINUTES_MAX];
        int count = mg_schedule_minutes(schedule, civil_ms, minutes);
        mg_store_find_slots(planning->store, schedule->zone, minutes, count, after_ms, on_slots, planning);
    }
}

void mg_slot_plan_find(struct mg_store *store, const struct mg_schedule *schedule, int64_t after_ms,
                       mg_slot_plan_fn *done, void *arg)
{
    struct planning *planning = calloc(1, sizeof(*planning));
    if (planning == NULL) {
        struct mg_err err;
        (void)mg_err_set(&err, MG_TRANSIENT, "could not find the slots of a schedule: no memory");
        done(arg, NULL, &err);
        return;
    }
    *planning = (struct planning){
        .store = store, .schedule = schedule, .after_ms = after_ms, .done = done, .arg = arg};
    mg_store_look_zone(store, schedule->zone, after_ms, on_zone, planning);
}
