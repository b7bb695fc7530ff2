/*
 * Signals to the orders of the workflow `approve`: before their steps wait, while they do, and after; some of
 * them twice, and each from an operator by command. A person of a script sends none.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "broker.h"
#include "checker.h"
#include "io/amqp/topology.h"
#include "json/scan.h"
#include "kernel.h"
#include "nodes.h"
#include "orders.h"
#include "sim.h"
#include "store.h"
#include "wire/command.h"

#define NO  1u
#define YES 2u
/* Longer than most orders take, so that some signals are late. */
#define SIGNALS_MAX_US 60000000

static void signal_post(const struct mg_command *command)
{
    struct mg_buf body;
    mg_buf_init(&body, 4096);
    mg_command_write(command, &body);
    assert(!body.failed);
    struct mg_message message = {.exchange = MG_EXCHANGE_COMMANDS,
                                 .routing_key = MG_QUEUE_COMMANDS,
                                 .type = "command",
                                 .message_id = command->command_id,
                                 .body = mg_buf_slice(&body)};
    sim_trace("signal: %s %s %s", command->signal, command->order_id, command->command_id);
    if (!sim_broker_is_down() && sim_broker_blocked_until_us() <= sim_now_us()) {
        (void)sim_broker_take(sim_message_create(&message, mg_slice_of(NULL)));
    }
    mg_buf_finish(&body);
}

static void on_signal(void *arg)
{
    struct sim_submitted *order = arg;
    struct mg_command command = {.kind = MG_CAUSE_SIGNAL};
    bool is_nod = sim_draw(2) == 0, is_yes = sim_draw(4) != 0;
    uint64_t person = sim_draw(3);
    (void)snprintf(command.order_id, sizeof(command.order_id), "%.*s", MG_ORDER_ID_MAX, order->order_id);
    (void)snprintf(command.signal, sizeof(command.signal), "%s", is_nod ? "nod" : "eyes");
    (void)snprintf(command.by, sizeof(command.by), "person-%d", (int)person);
    (void)snprintf(command.command_id, sizeof(command.command_id), "s-%d-%d-%d", (int)person, is_nod, is_yes);
    command.payload = mg_slice_of(is_yes ? "{\"ok\":true}" : "{\"ok\":false}");
    order->nods |= !is_nod ? 0 : is_yes ? YES : NO;
    signal_post(&command);
    if (sim_draw(4) == 0) {
        signal_post(&command);
    }
}

void sim_signals_start(struct sim_submitted *order)
{
    for (uint64_t left = sim_draw(6); left > 0; left--) {
        sim_after(NULL, (int64_t)sim_draw_between(0, SIGNALS_MAX_US), on_signal, order);
    }
}

/* ---- the checks ---- */

static bool is_settled(const struct mg_order_write *write)
{
    for (int i = 0; i < write->event_count; i++) {
        if (write->events[i].cause_kind == MG_CAUSE_SETTLE) {
            return true;
        }
    }
    return false;
}

/* A step that waits would be ended by a signal that it keeps. */
static bool is_left_over(const struct mg_order_record *record, int step, bool is_nod)
{
    int count = 0;
    struct mg_slice name, value, open = record->steps[step].open;
    if (open.data == NULL || record->order.steps[step].state != MG_STEP_WAITING) {
        return false;
    }
    struct mg_json_walk walk = mg_json_walk_of(mg_json_find(open, "/signals"));
    while (mg_json_walk_next(&walk, &name, &value)) {
        count++;
    }
    return count >= (is_nod ? 1 : 2);
}

/* A wait for a signal ends by that signal, by its time-out or by an operator, and keeps none that would end
 * it. */
void sim_check_signals(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    for (int i = 0; i < record->order.step_count && workflow->has_signals; i++) {
        const struct mg_step *was = &before->order.steps[i], *is = &record->order.steps[i];
        bool is_nod = strcmp(workflow->steps[i].name, "nod") == 0;
        if (!workflow->plan.steps[i].is_signal) {
            continue;
        }
        bool is_done = is->state == MG_STEP_DONE && was->state != MG_STEP_DONE && !is_settled(write);
        bool is_refused = is->state == MG_STEP_FAILED && is->reason == MG_REASON_SIGNAL_REFUSED;
        bool is_over = is->reason == MG_REASON_TIMED_OUT && was->state == MG_STEP_WAITING;
        const char *wrong = NULL;
        if (is_nod && is_done && (order->nods & YES) == 0) {
            wrong = "is done without a yes";
        } else if (is_refused && (!is_nod || (order->nods & NO) == 0)) {
            wrong = "is refused without a no";
        } else if (is_over && was->due_at_ms > sim_store_now_ms() &&
                   !sim_has_happened(SIM_STORE_CLOCK_JUMP)) {
            wrong = "timed out before its time";
        } else if (is_left_over(record, i, is_nod)) {
            wrong = "waits, and has the signals that end it";
        }
        if (wrong != NULL) {
            sim_violated("kept_signal_is_used", "order %s: step %s %s", record->order_id,
                         workflow->steps[i].name, wrong);
        }
    }
}
