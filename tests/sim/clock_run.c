/*
 * Runs without faults, except that the database's clock is set while orders are open: back, forward, and
 * right again. Every loss then comes from the clock, so these runs allow none: no judged attempt, no order
 * that turns back, none that stalls.
 */
#include <string.h>

#include "checker.h"
#include "nodes.h"

/* By then every agent knows the clock: a leader has sent its time several times. */
#define FIRST_SET_US 6000000
/* Between two settings of the clock; longer than an order may stall. */
#define SET_MIN_US   11000000
#define SET_MAX_US   16000000
#define STILL_MAX_US 10000000
#define LOOK_US      500000

static const int64_t AHEAD_MS[] = {-30000, -3600000, 3600000};

static int64_t set_us; /* time of the last setting of the clock, healing included */

static void on_set(void *arg)
{
    (void)arg;
    if (sim_is_healed()) {
        return;
    }
    bool is_right = sim_store_now_ms() == sim_true_ms();
    sim_happened(SIM_STORE_CLOCK_JUMP);
    sim_store_set_clock(is_right ? AHEAD_MS[sim_draw(sizeof(AHEAD_MS) / sizeof(AHEAD_MS[0]))] : 0);
    sim_after(NULL, sim_draw_between(SET_MIN_US, SET_MAX_US), on_set, NULL);
}

void sim_check_clock_was_set(void)
{
    set_us = sim_now_us();
}

/* A moment is by the clock, whichever way it was set; and people take their time. */
static bool waits_for_more(const struct mg_order_record *record)
{
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    for (int i = 0; i < record->order.step_count; i++) {
        const struct mg_step_plan *plan = &workflow->plan.steps[i];
        if ((plan->is_until || plan->is_signal) && record->order.steps[i].state == MG_STEP_WAITING) {
            return true;
        }
    }
    return false;
}

static void still_check(const struct sim_submitted *order)
{
    struct sim_stored stored;
    bool is_stored = sim_store_find(order->order_id, &stored);
    int64_t since_us = order->moved_us > set_us ? order->moved_us : set_us;
    bool is_over = is_stored && (mg_order_state_is_terminal(stored.record->order.state) ||
                                 mg_order_is_in_line(&stored.record->order) || waits_for_more(stored.record));
    if (!is_over && sim_now_us() - since_us > STILL_MAX_US) {
        sim_violated("clock_holds_nothing_up", "order %s stalls for %lld s after the clock was set",
                     order->order_id, (long long)((sim_now_us() - since_us) / 1000000));
    }
}

static void look(void *arg)
{
    (void)arg;
    for (int i = 0; i < sim_submitted_count(); i++) {
        still_check(sim_submitted_at(i));
    }
    sim_after(NULL, LOOK_US, look, NULL);
}

void sim_check_clock_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    if (!sim_is_clock_run()) {
        return;
    }
    const struct mg_order_record *record = write->record;
    bool is_slow = sim_check_workflow(record->workflow)->has_signals;
    sim_submitted_find(mg_slice_of(record->order_id))->moved_us = sim_now_us();
    for (int i = 0; i < write->event_count; i++) {
        enum mg_cause_kind cause = write->events[i].cause_kind;
        if (cause == MG_CAUSE_OVERDUE || (cause == MG_CAUSE_EXPIRED && !is_slow)) {
            sim_violated("clock_burns_nothing", "order %s: a deadline is judged, and only the clock was set",
                         record->order_id);
        }
    }
    if (is_slow) {
        return; /* signals are not sent in time, or refuse */
    }
    enum mg_order_state state = record->order.state;
    bool is_on_its_way =
        state == MG_ORDER_PENDING || state == MG_ORDER_PROCESSING || state == MG_ORDER_PROCESSED;
    if (!is_on_its_way || (before != NULL && record->order.failure_count > before->order.failure_count)) {
        sim_violated("clock_burns_nothing", "order %s is %s with %d failures, and only the clock was set",
                     record->order_id, mg_order_state_name(state), (int)record->order.failure_count);
    }
}

void sim_clock_run_start(void)
{
    if (sim_is_clock_run()) {
        sim_after(NULL, FIRST_SET_US, on_set, NULL);
        sim_after(NULL, LOOK_US, look, NULL);
    }
}
