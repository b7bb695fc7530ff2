/*
 * line_is_fifo: the orders of the workflow with a line run one at a time, in the order in which they were
 * accepted. The checker keeps its own account, from events and states alone: it reads neither keys nor
 * places. Orders of one commit are accepted together, and may begin in any order among themselves.
 */
#include <string.h>

#include "checker.h"
#include "nodes.h"

static struct {
    const struct sim_submitted *running; /* NULL: none */
    uint64_t commits;
    int64_t committed_us;
    struct {
        const struct sim_submitted *order;
        uint64_t joined; /* the commit in which it did; 0: it is not in line */
    } waiting[512];
    int count;
} line;

static bool has_cause(const struct mg_order_write *write, enum mg_cause_kind kind)
{
    for (int i = 0; i < write->event_count; i++) {
        if (write->events[i].cause_kind == kind) {
            return true;
        }
    }
    return false;
}

static uint64_t *joined_of(const struct sim_submitted *order)
{
    for (int i = 0; i < line.count; i++) {
        if (line.waiting[i].order == order) {
            return &line.waiting[i].joined;
        }
    }
    line.waiting[line.count].order = order;
    return &line.waiting[line.count++].joined;
}

static void begins(const struct sim_submitted *order)
{
    uint64_t *joined = joined_of(order);
    if (line.running != NULL && line.running != order) {
        sim_violated("line_is_fifo", "order %s begins while %s, of the same key, runs", order->order_id,
                     line.running->order_id);
    }
    for (int i = 0; i < line.count; i++) {
        if (line.waiting[i].joined != 0 && line.waiting[i].joined < *joined) {
            sim_violated("line_is_fifo", "order %s overtakes %s, which was accepted before it",
                         order->order_id, line.waiting[i].order->order_id);
        }
    }
    *joined = 0;
    line.running = order;
}

void sim_check_line_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order *is = &write->record->order;
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(write->record->order_id));
    if (strcmp(write->record->workflow, SIM_LINE_WORKFLOW) != 0 || sim_has_happened(SIM_STORE_FAILOVER)) {
        return; /* a failover may lose an end, and then two have begun */
    }
    if (sim_now_us() != line.committed_us || line.commits == 0) {
        line.committed_us = sim_now_us();
        line.commits++;
    }
    if (has_cause(write, MG_CAUSE_TURN)) {
        begins(order);
    }
    if (before == NULL || before->order.generation != is->generation) {
        line.running = line.running == order ? NULL : line.running;
        *joined_of(order) = line.commits;
    }
    bool is_open = !mg_order_state_is_terminal(is->state);
    if (!is_open) {
        *joined_of(order) = 0;
        line.running = line.running == order ? NULL : line.running;
    } else if (mg_order_is_in_line(is) && is->wake_at_ms != 0) {
        sim_violated("line_is_fifo", "order %s waits in line, and is to be woken", order->order_id);
    }
}
