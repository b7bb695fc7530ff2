/*
 * A cause is acked only after its effects: each request and status is in a queue, or is recorded as owed.
 */
#include "checker.h"

#include <stdio.h>
#include <string.h>

#include "broker.h"
#include "core/key.h"
#include "io/amqp/topology.h"
#include "nodes.h"
#include "scheduler.h"
#include "wire/reply.h"
#include "wire/request.h"

#define SKEW_MS 2000

/* A reply ahead of the row has raised the fence past its own attempt. Then the step runs in an attempt that
 * the row's cause did not send. */
static bool is_fence_raised(const struct sim_stored *stored, const char *step)
{
    for (int i = 0; i < stored->event_count; i++) {
        if (mg_slice_is(stored->events[i].step, step) && sim_check_tells_of_lost_state(&stored->events[i])) {
            return true;
        }
    }
    return false;
}

/* A client that repeats its submission gets the same status from another event, which may be the owed one. */
static bool is_status_owed(const struct sim_stored *stored, uint64_t seq)
{
    struct mg_status_text status;
    for (int i = 0; i < stored->event_count; i++) {
        for (int k = 0; stored->events[i].is_owed && mg_status_kept(&stored->events[i], k, &status); k++) {
            if (status.seq == seq) {
                return true;
            }
        }
    }
    return false;
}

/* Sent by the cause itself, or by what followed from it. The name of that begins
 * with the cause's name. */
static bool is_sent_by(struct mg_slice step_cause, struct mg_slice cause)
{
    bool is_root = step_cause.data != NULL && step_cause.len > cause.len &&
                   step_cause.data[cause.len] == '\x1f' &&
                   memcmp(step_cause.data, cause.data, cause.len) == 0;
    return is_root || mg_slice_equal(step_cause, cause);
}

/* The attempt was judged before its request was published, so the request was not sent again. A failover then
 * lost the verdict, and the attempt is judged again. */
static bool may_have_been_judged(const struct sim_submitted *order, const struct mg_step *step)
{
    return order->is_tail_lost && step->complete_by_ms <= sim_store_now_ms();
}

/* Effects of a committed cause are in a queue, or recorded as owed. */
static void effects_check(const struct sim_stored *stored, const struct mg_event_record *event)
{
    const struct mg_order_record *record = stored->record;
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    if (order->is_cause_lost) {
        return; /* they may belong to a lost copy of the cause */
    }
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    char id[MG_KEY_SIZE];
    for (int i = 0; i < record->order.step_count; i++) {
        const struct mg_step *step = &record->order.steps[i];
        bool is_once = workflow->plan.steps[i].is_at_most_once; /* in doubt: overdue, not sent again */
        if (mg_step_is_running(step) && !is_once && is_sent_by(record->steps[i].cause, event->cause)) {
            mg_correlation_write(record->order_id, workflow->steps[i].name, step->attempt, step->kind, id);
            if (!sim_check_is_published("request", id) && !may_have_been_judged(order, step) &&
                !is_fence_raised(stored, workflow->steps[i].name)) {
                sim_violated("ack_after_effects", "%.*s is acked, and its request %s is in no queue",
                             (int)event->cause.len, event->cause.data, id);
            }
        }
    }
    struct mg_status_text status;
    bool is_mark_lost = (order->lost_marks >> ((event - stored->events) & 63) & 1) != 0;
    bool is_due = record->reply_to.data != NULL && !event->is_owed && !is_mark_lost;
    for (int i = 0; is_due && mg_status_kept(event, i, &status); i++) {
        (void)snprintf(id, sizeof(id), "%s.%llu", record->order_id, (unsigned long long)status.seq);
        if (!sim_check_is_published("status", id) && !is_status_owed(stored, status.seq)) {
            sim_violated("ack_after_effects",
                         "%.*s is acked, and its status %s is neither in a queue nor owed",
                         (int)event->cause.len, event->cause.data, id);
        }
    }
}

static const struct mg_event_record *event_of(const struct sim_stored *stored, struct mg_slice cause)
{
    for (int i = stored->event_count - 1; i >= 0; i--) {
        if (mg_slice_equal(stored->events[i].cause, cause)) {
            return &stored->events[i];
        }
    }
    return NULL;
}

static void submission_acked(const struct sim_message *message)
{
    struct sim_stored stored;
    struct sim_submitted *order = sim_submitted_find(message->correlation_id);
    if (order != NULL && sim_store_find(order->order_id, &stored)) {
        /* Another client's order under the same id is refused and acked, while the first may still be in
         * hand. */
        bool is_foreign = sim_is_foreign(message->reply_to) && !sim_is_foreign(stored.record->reply_to);
        if (!is_foreign) {
            effects_check(&stored, &stored.events[0]);
        }
    } else if (!sim_check_is_published("submission", message->message_id.data) &&
               (order == NULL || !order->is_lost)) {
        sim_violated("accepted_is_stored", "submission %s is acked, and neither stored nor rejected",
                     message->message_id.data);
    }
}

static void reply_acked(const struct sim_message *message)
{
    struct mg_reply reply;
    struct mg_err err;
    struct sim_stored stored;
    if (mg_slice_is(message->type, "service_report") ||
        mg_reply_parse(message->body, &MG_JSON_LIMITS_DATA, &reply, &err) != MG_OK ||
        !sim_store_find(reply.order_id, &stored)) {
        return;
    }
    char cause[MG_KEY_SIZE + 32];
    bool is_final = reply.kind == MG_KIND_VERIFY || reply.outcome == MG_OUTCOME_DONE;
    (void)snprintf(cause, sizeof(cause), "%s:reply%s%s", message->correlation_id.data, is_final ? "" : ".",
                   is_final ? "" : mg_outcome_name(reply.outcome));
    const struct mg_event_record *event = event_of(&stored, mg_slice_of(cause));
    if (event != NULL) {
        effects_check(&stored, event);
        return;
    }
    const struct mg_workflow *workflow = sim_check_workflow(stored.record->workflow);
    const struct mg_step *step =
        &stored.record->order.steps[mg_workflow_step_index(workflow, mg_slice_of(reply.step))];
    if (mg_step_is_running(step) && step->attempt == reply.attempt && step->kind == reply.kind &&
        !sim_submitted_find(mg_slice_of(reply.order_id))->is_tail_lost) {
        sim_violated("ack_after_effects", "reply %s is acked, and its step still waits for it", cause);
    }
}

/* Commands of the supervisor are exempt. It asks until nothing is due, so one copy may be acked while another
 * has the effects, and the ask is repeated. */
static void command_acked(const struct sim_message *message)
{
    if (mg_slice_is(message->exchange, MG_EXCHANGE_SUPERVISOR)) {
        return;
    }
    for (int i = 0; i < sim_store_order_count(); i++) {
        struct sim_stored stored;
        sim_store_order_at(i, &stored);
        const struct mg_event_record *event = event_of(&stored, message->message_id);
        if (event != NULL) {
            effects_check(&stored, event);
        }
    }
}

/* An agent acks a request after its reply, or when the time for one is over. */
static void request_acked(const struct sim_message *message)
{
    struct mg_request request;
    if (sim_check_read_request(message, &request) && sim_is_time_true() &&
        !sim_check_is_published("reply", message->correlation_id.data) &&
        sim_store_now_ms() < request.complete_by_ms - SKEW_MS) {
        sim_violated("ack_after_reply", "request %s is acked in time, and no reply is in a queue",
                     message->correlation_id.data);
    }
}

void sim_check_acked(const struct sim_message *message, const struct sim_queue *queue)
{
    if (sim_is_forged(message->message_id)) {
        sim_violated("speakers", "%s of a stranger's is acked", message->message_id.data);
    }
    if (sim_broker_has_copy(queue, message)) { /* another copy may yet have the effects */
        return;
    }
    if (mg_slice_is(message->type, "submission")) {
        submission_acked(message);
    } else if (mg_slice_is(message->type, "command")) {
        command_acked(message);
    } else if (mg_slice_is(message->type, "request")) {
        request_acked(message);
    } else {
        reply_acked(message);
    }
}
