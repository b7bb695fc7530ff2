/*
 * Runs in which nothing fails, and one service takes fewer requests than come. Its queue is full, and its own
 * orders wait, expire and turn back. Orders of workflows that do without it go on.
 */
#include <string.h>

#include "broker.h"
#include "checker.h"
#include "io/amqp/topology.h"
#include "nodes.h"
#include "orders.h"
#include "remote.h"

#define LOOK_US 500000
/* Longer than the distance of polls and cool-downs. */
#define STILL_MAX_US 10000000
/* Where schedulers no longer hand out requests of new orders (gates.c). */
#define FULL (SIM_FULL_WINDOW - SIM_FULL_WINDOW / 4)
/* So many parked steps make a line behind which schedulers hold back all new orders (park.c). */
#define LINE (10 * SIM_FULL_WINDOW)

static int64_t held_us; /* the line was last seen as long as that */

static bool is_full(void)
{
    char name[MG_QUEUE_NAME_SIZE];
    mg_topology_request_queue(sim_service_name(SIM_STOCK), false, name);
    const struct sim_queue *queue = sim_queue_find(mg_slice_of(name));
    return queue != NULL && queue->ready >= FULL;
}

static bool is_of_others(const struct sim_submitted *order)
{
    const struct mg_workflow *workflow =
        order->workflow >= 0 ? sim_check_workflow(sim_workflow_name(order->workflow)) : NULL;
    for (int i = 0; workflow != NULL && i < workflow->plan.step_count; i++) {
        if (strcmp(workflow->steps[i].service, sim_service_name(SIM_STOCK)) == 0) {
            return false;
        }
    }
    return workflow != NULL;
}

void sim_check_full_committed(const struct mg_order_write *write)
{
    if (sim_is_full_run()) {
        sim_submitted_find(mg_slice_of(write->record->order_id))->moved_us = sim_now_us();
    }
}

/* People take their time. */
static bool waits_for_signal(const struct mg_order *order)
{
    for (int i = 0; i < order->step_count; i++) {
        if (order->steps[i].state == MG_STEP_WAITING && order->steps[i].reason == MG_REASON_AWAITING_SIGNAL) {
            return true;
        }
    }
    return false;
}

static void still_check(const struct sim_submitted *order)
{
    struct sim_stored stored;
    bool is_stored = sim_store_find(order->order_id, &stored);
    bool is_over =
        order->is_refused || (is_stored && (mg_order_state_is_terminal(stored.record->order.state) ||
                                            waits_for_signal(&stored.record->order)));
    int64_t since_us = order->moved_us > held_us ? order->moved_us : held_us;
    if (!is_over && sim_now_us() - since_us > STILL_MAX_US && is_of_others(order)) {
        sim_violated("full_queue_is_apart", "order %s stands still for %lld s, and only stock is full",
                     order->order_id, (long long)((sim_now_us() - since_us) / 1000000));
    }
}

static void look(void *arg)
{
    (void)arg;
    held_us = sim_store_parked_count(sim_service_name(SIM_STOCK)) >= LINE ? sim_now_us() : held_us;
    for (int i = 0; i < sim_submitted_count(); i++) {
        still_check(sim_submitted_at(i));
    }
    if (is_full()) {
        sim_happened(SIM_REMOTE_FULL);
    }
    sim_after(NULL, LOOK_US, look, NULL);
}

void sim_full_run_start(void)
{
    if (sim_is_full_run()) {
        sim_after(NULL, LOOK_US, look, NULL);
    }
}
