/*
 * Runs in which only queues fail: one queue of a service or a client is without its majority, then another. A
 * process that publishes to it is stopped for some seconds. Beyond that, only orders that use the queue are
 * affected.
 */
#include <stdio.h>

#include "broker.h"
#include "checker.h"
#include "core/key.h"
#include "core/order.h"
#include "io/amqp/topology.h"
#include "nodes.h"

#define FIRST_MIN_US 5000000
#define FIRST_MAX_US 20000000
#define LASTS_MIN_US 30000000 /* several trials */
#define LASTS_MAX_US 80000000
#define REST_MIN_US  5000000
#define REST_MAX_US  20000000
#define LOOK_US      500000
/* After a stop: its detection (5 s), a message's complete-by (4 s) and quiet (3 s), a backoff (2 s), and the
 * backlog. */
#define STOP_COSTS_US 18000000
/* Longer than the distance of polls and cool-downs. */
#define STILL_MAX_US 10000000

static int64_t stopped_us; /* time of the last stop of a node, healing included */

static bool is_touched(const char *name)
{
    const struct sim_queue *queue = sim_queue_find(mg_slice_of(name));
    return queue != NULL && queue->outages > 0;
}

/* The order uses no queue that has been without its majority. */
static bool is_of_others(const struct sim_submitted *order)
{
    const struct mg_workflow *workflow =
        order->workflow >= 0 ? sim_check_workflow(sim_workflow_name(order->workflow)) : NULL;
    bool is_innocent = workflow != NULL && !is_touched(order->queue);
    for (int i = 0; is_innocent && i < workflow->plan.step_count; i++) {
        char queue[MG_QUEUE_NAME_SIZE];
        for (int high = 0; high < 2; high++) {
            mg_topology_request_queue(workflow->steps[i].service, high == 1, queue);
            is_innocent = is_innocent && !is_touched(queue);
        }
    }
    return is_innocent;
}

static bool is_stop_over(void)
{
    return stopped_us == 0 || sim_now_us() - stopped_us > STOP_COSTS_US;
}

void sim_check_stopped(void)
{
    stopped_us = sim_now_us();
}

/* A request that was never sent has no effect. */
static void unsent_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_workflow *workflow = sim_check_workflow(before->workflow);
    const struct mg_event_record *event = &write->events[0];
    if (write->event_count != 1 || event->cause_kind != MG_CAUSE_UNPUBLISHABLE) {
        return;
    }
    int step = mg_workflow_step_index(workflow, event->step);
    const struct mg_step *was = &before->order.steps[step], *is = &write->record->order.steps[step];
    char id[MG_KEY_SIZE];
    mg_correlation_write(before->order_id, workflow->steps[step].name, event->attempt, was->kind, id);
    if (is->is_maybe && !was->is_maybe && !sim_check_has_left(id)) {
        sim_violated("unsent_is_no", "order %s: %s is maybe, and its request %s was never sent",
                     before->order_id, workflow->steps[step].name, id);
    }
}

/* A queue does not rest because of another queue's outage: each has its consumers. */
static void parked_check(const struct mg_order_write *write)
{
    const struct mg_order *order = &write->record->order;
    for (int i = 0; i < order->step_count && stopped_us != 0; i++) {
        const struct mg_step *step = &order->steps[i];
        if ((write->changed_steps >> i & 1) != 0 && mg_step_is_parked(step) &&
            step->reason == MG_REASON_NO_CONSUMER) {
            sim_violated("others_go_on", "order %s waits for a queue that takes messages",
                         write->record->order_id);
        }
    }
}

void sim_check_minority_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(write->record->order_id));
    if (!sim_is_minority_run()) {
        return;
    }
    order->moved_us = sim_now_us();
    if (before != NULL) {
        unsent_check(before, write);
    }
    if (is_of_others(order)) {
        parked_check(write);
    }
    if (!is_stop_over() || !is_of_others(order)) {
        return;
    }
    for (int i = 0; i < write->event_count; i++) {
        if (write->events[i].cause_kind == MG_CAUSE_OVERDUE) {
            sim_violated("others_go_on", "order %s: an attempt is lost to a queue that is not its own",
                         order->order_id);
        }
    }
    bool may_fail = sim_check_workflow(write->record->workflow)->has_signals; /* they are late, or refuse */
    if (before != NULL && !may_fail && write->record->order.failure_count > before->order.failure_count) {
        sim_violated("others_go_on", "order %s: a failure counts, and only other queues took nothing",
                     order->order_id);
    }
}

/* An at-most-once request was on its way when a node was stopped: a person settles it. Or a person is to
 * signal. */
static bool waits_for_person(const struct mg_order *order)
{
    bool is_unclear = false;
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        is_unclear = is_unclear || (step->state == MG_STEP_UNKNOWN && step->due_at_ms == 0) ||
                     (step->state == MG_STEP_WAITING && step->reason == MG_REASON_AWAITING_SIGNAL);
    }
    return is_unclear;
}

static void still_check(const struct sim_submitted *order)
{
    struct sim_stored stored;
    int64_t go_on_us = stopped_us != 0 ? stopped_us + STOP_COSTS_US : 0;
    int64_t since_us = order->moved_us > go_on_us ? order->moved_us : go_on_us;
    bool is_stored = sim_store_find(order->order_id, &stored);
    bool is_over = is_stored && (mg_order_state_is_terminal(stored.record->order.state) ||
                                 waits_for_person(&stored.record->order));
    if (!is_over && sim_now_us() - since_us > STILL_MAX_US && is_of_others(order)) {
        sim_violated("others_go_on", "order %s stands still for %lld s, and its queues take messages",
                     order->order_id, (long long)((sim_now_us() - order->moved_us) / 1000000));
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

static void on_next(void *arg)
{
    (void)arg;
    char queue[MG_QUEUE_NAME_SIZE];
    if (sim_is_healed()) {
        return;
    }
    if (sim_draw(2) == 0) {
        mg_topology_request_queue(sim_service_name((int)sim_draw((uint64_t)sim_service_count())), false,
                                  queue);
    } else {
        (void)snprintf(queue, sizeof(queue), "client.c%d.first", (int)sim_draw(SIM_CLIENTS));
    }
    int64_t lasts_us = sim_draw_between(LASTS_MIN_US, LASTS_MAX_US);
    sim_minority_begin(sim_queue_find(mg_slice_of(queue)), lasts_us);
    sim_after(NULL, lasts_us + sim_draw_between(REST_MIN_US, REST_MAX_US), on_next, NULL);
}

void sim_minority_run_start(void)
{
    if (sim_is_minority_run()) {
        sim_after(NULL, sim_draw_between(FIRST_MIN_US, FIRST_MAX_US), on_next, NULL);
        sim_after(NULL, LOOK_US, look, NULL);
    }
}
