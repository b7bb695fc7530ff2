/*
 * Slots of schedules. After a sweep the leader asks the database which slots come next, but only when the
 * earliest known one is due, or after a while: an operator may have loaded or resumed a schedule meanwhile.
 * It sends each due one to the schedulers as a command, until the schedule has moved on. They judge it by row
 * and clock, so a slot that two leaders send, or one leader twice, is one order.
 */
#include "base/clock.h"
#include "io/store/schedules.h"
#include "supervisor.h"

/* A new schedule may begin so late, and a lost command costs so much. One query costs less than a sweep. */
#define SLOTS_PERIOD_MS 5000
/* A due slot is asked about again after this time: as a due step, by default. */
#define SLOTS_AGAIN_MS 2000
/* As soon as the schedulers may have made the orders of a full answer: there are more. */
#define SLOTS_CROWD_MS 250

static void slots_answered(void *arg, bool is_leader, int64_t now_ms, const struct mg_due_slot *slots,
                           int count, const struct mg_err *err)
{
    struct mg_supervisor *supervisor = arg;
    if (!mg_supervisor_answered(supervisor, &supervisor->is_asking_slots, &supervisor->slots_failure_logged,
                                "could not query the schedules", err)) {
        return;
    }
    if (!is_leader) {
        return; /* the next sweep detects it, too */
    }
    int64_t next_ms = SLOTS_PERIOD_MS, lag_ms = 0;
    for (int i = 0; i < count; i++) {
        int64_t until_ms = slots[i].due_at_ms - now_ms;
        if (until_ms <= 0) {
            lag_ms = -until_ms > lag_ms ? -until_ms : lag_ms;
            until_ms = count == MG_SCHEDULES_ASKED ? SLOTS_CROWD_MS : SLOTS_AGAIN_MS;
            if (!mg_supervisor_fire(supervisor, &slots[i])) {
                break; /* the rest is asked about again */
            }
        }
        next_ms = until_ms < next_ms ? until_ms : next_ms;
    }
    mg_metric_set(supervisor->schedule_lag, (double)lag_ms / 1000.0);
    supervisor->slots_at_boot_ms = mg_clock_boot_ms() + next_ms;
}

void mg_supervisor_slots_ask(struct mg_supervisor *supervisor)
{
    int64_t now_boot_ms = mg_clock_boot_ms();
    if (supervisor->is_asking_slots || now_boot_ms < supervisor->slots_at_boot_ms) {
        return;
    }
    supervisor->is_asking_slots = true;
    supervisor->slots_at_boot_ms = now_boot_ms + SLOTS_PERIOD_MS; /* also if it fails */
    mg_store_ask_schedules(supervisor->store, supervisor->epoch, supervisor->holder, slots_answered,
                           supervisor);
}

void mg_supervisor_slots_start(struct mg_supervisor *supervisor)
{
    supervisor->is_asking_slots = false;
    supervisor->slots_at_boot_ms = 0;
}
