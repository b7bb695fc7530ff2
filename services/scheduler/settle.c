/*
 * Replies. The core's fence decides whether a reply counts (law 5, attempt fence). This file reads it and
 * puts its result or error into the step's record. A message that cannot be a reply to any known request goes
 * to the dead letters. Requests that the broker did not take are also settled here: they reach their step as
 * causes like any other (law 2, ack after effects).
 */
#include "lanes.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "chain.h"
#include "core/undo.h"
#include "decision_metrics.h"
#include "failure.h"
#include "fold.h"
#include "kept_signals.h"
#include "order_input.h"
#include "render.h"
#include "workflow/answer_conditions.h"

bool mg_settle_read(struct mg_batch *batch, struct mg_item *item)
{
    struct mg_work *work = item->work;
    struct mg_err err = {MG_TRANSIENT, "no memory"};
    enum mg_class class = MG_TRANSIENT;
    bool is_reply = work->delivery->type.data == NULL || mg_slice_is(work->delivery->type, "reply");
    item->reply = mg_arena_alloc(batch->arena, sizeof(*item->reply));
    if (work->delivery->is_oversized) {
        class = mg_err_set(&err, MG_BAD_INPUT, "the body is above the limit");
    } else if (!is_reply) { /* a type of a newer version */
        class = MG_STALE;
    } else if (item->reply != NULL) {
        class = mg_reply_parse(work->delivery->body, &batch->shared->message_limits, item->reply, &err);
    }
    if (class != MG_OK) {
        if (class == MG_BAD_INPUT) {
            mg_log(MG_LOG_WARN, "a reply cannot be read", MG_LOG_TEXT("why", err.text));
        }
        mg_work_settle(&batch->shared->works, work, mg_end_of_unread(class));
        return false;
    }
    char correlation[MG_KEY_SIZE];
    mg_correlation_write(item->reply->order_id, item->reply->step, item->reply->attempt, item->reply->kind,
                         correlation);
    item->order_id = item->reply->order_id;
    /* Another copy of a do or an undo may be done after the first answer, and that counts, too. */
    bool is_final = item->reply->kind == MG_KIND_VERIFY || item->reply->outcome == MG_OUTCOME_DONE;
    item->cause = mg_slice_of(mg_arena_printf(batch->arena, "%s:reply%s%s", correlation, is_final ? "" : ".",
                                              is_final ? "" : mg_outcome_name(item->reply->outcome)));
    item->wants_event = work->is_again;
    return true;
}

static bool is_work_refused(const struct mg_reply *reply)
{
    return reply->kind == MG_KIND_VERIFY && reply->is_refused_by_body;
}

/* The last answer was that the work is not done yet. That is no failure. */
static bool is_open(const struct mg_step_record *record)
{
    return mg_error_is(record->error_code, MG_ERROR_REASON_NOT_DONE_YET);
}

static bool is_unreadable(const struct mg_step_record *record)
{
    return mg_error_is(record->error_code, MG_ERROR_REASON_RESULT_UNREADABLE);
}

/* The failure of a step is the error of its do or undo. A verify only asks about that: its own error
 * counts if no other is recorded, or if it should have taught the result. That something is absent is the
 * answer to a verify or an undo, not a failure. */
static bool is_cause(const struct mg_reply *reply, const struct mg_step_record *record, bool is_learning)
{
    if (is_work_refused(reply)) {
        return true;
    }
    bool is_absence = reply->outcome == MG_OUTCOME_ABSENT && reply->kind != MG_KIND_DO;
    if (reply->outcome == MG_OUTCOME_ACCEPTED || is_absence || reply->error_code[0] == '\0') {
        return false;
    }
    bool is_free = record->error_code.data == NULL || is_open(record) || is_learning;
    return reply->kind != MG_KIND_VERIFY || is_free;
}

/* The service's words, from their JSON string, in the batch's scratch. Absent if there are none. */
static struct mg_slice words_read(struct mg_batch *batch, struct mg_slice quoted)
{
    mg_buf_clear(&batch->scratch);
    if (!mg_json_string(quoted, &batch->scratch) || batch->scratch.failed || batch->scratch.len == 0) {
        return (struct mg_slice){NULL, 0};
    }
    return mg_buf_slice(&batch->scratch);
}

/* Its sentence. A good answer that refuses, and agents in other languages, give any characters. */
static struct mg_slice message_take(struct mg_batch *batch, struct mg_slice quoted)
{
    char message[MG_ERROR_MESSAGE_MAX + 1];
    struct mg_slice words = words_read(batch, quoted);
    if (words.data == NULL) {
        return words;
    }
    mg_text_copy_plain(words, message, sizeof(message));
    return mg_arena_copy(batch->arena, mg_slice_of(message));
}

/* Its body; agents in other languages may send more than a step keeps. */
static struct mg_slice body_take(struct mg_batch *batch, struct mg_slice quoted)
{
    struct mg_slice words = words_read(batch, quoted);
    words.len = mg_utf8_cut(words, MG_ERROR_KEEP_MAX);
    return words.data != NULL ? mg_arena_copy(batch->arena, words) : words;
}

static bool has_all(struct mg_fold *fold, int step, struct mg_slice result)
{
    struct mg_err err;
    enum mg_class class = mg_workflow_undo_check(fold->workflow->workflow, step, result, &err);
    fold->has_failed = fold->has_failed || class == MG_TRANSIENT;
    return class == MG_OK;
}

/* True if an answer that does not end the work gives the step's result. Only an undo or a verify that refers
 * to it needs one. A poll gives it only where the do gave none, and no answer takes away what the undo needs.
 */
static bool is_kept(struct mg_fold *fold, int step, const struct mg_reply *reply)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    struct mg_slice known = fold->record->steps[step].result;
    if (!workflow->steps[step].uses_own_result) {
        return false;
    }
    bool is_first = reply->kind == MG_KIND_DO || known.data == NULL;
    if (!workflow->plan.steps[step].needs_result) {
        return is_first;
    }
    bool has = has_all(fold, step, reply->result);
    return has == has_all(fold, step, known) ? is_first : has;
}

/* The answer to the undo, or to its verify, gives no result. */
static bool is_of_do(const struct mg_fold *fold, int step, const struct mg_reply *reply)
{
    return reply->kind != MG_KIND_UNDO && !mg_step_asks_undone(&fold->record->order.steps[step]);
}

/* True if the reply gives the step's result. */
static bool has_result(struct mg_fold *fold, int step, const struct mg_reply *reply)
{
    bool is_unfinished = reply->outcome == MG_OUTCOME_ACCEPTED ||
                         (reply->outcome == MG_OUTCOME_UNKNOWN && reply->result.data != NULL);
    return is_of_do(fold, step, reply) &&
           (reply->outcome == MG_OUTCOME_DONE || (is_unfinished && is_kept(fold, step, reply)));
}

/* The newest result is for later steps. It takes away none that the undo needs. On the way back it is for the
 * undo alone: the undos of later steps are made from the one that they were done with. */
static void result_put(struct mg_fold *fold, int step, struct mg_slice result, struct mg_step_record *record)
{
    bool is_backward = mg_step_is_backward(&fold->record->order.steps[step]);
    if (!fold->workflow->workflow->plan.steps[step].needs_result || record->result.data == NULL) {
        record->result = result;
        return;
    }
    struct mg_slice known = mg_order_undo_result(record);
    if (has_all(fold, step, result)) {
        record->undo_result = is_backward ? result : (struct mg_slice){NULL, 0};
    } else if (!is_backward) {
        record->undo_result = has_all(fold, step, known) ? known : (struct mg_slice){NULL, 0};
    }
    record->result = is_backward ? record->result : result;
}

/* Why a reply that should give the step's result has none that can be read; "": it has, none is wanted, or
 * one is known already. */
static const char *result_fault(const struct mg_fold *fold, int step, const struct mg_reply *reply)
{
    const struct mg_workflow_step *of = &fold->workflow->workflow->steps[step];
    bool is_wanted = is_of_do(fold, step, reply) && reply->outcome == MG_OUTCOME_DONE && !of->has_no_result;
    return is_wanted && fold->record->steps[step].result.data == NULL ? mg_reply_result_fault(reply) : "";
}

/* Puts the reply into a copy of the step's record. */
static void record_update(struct mg_batch *batch, const struct mg_reply *reply, struct mg_fold *fold,
                          int step, struct mg_step_record *record)
{
    const struct mg_workflow_step *of = &fold->workflow->workflow->steps[step];
    const char *fault = result_fault(fold, step, reply);
    if (has_result(fold, step, reply) && fault[0] == '\0' && !of->has_no_result) {
        result_put(fold, step, reply->result, record);
    }
    if (reply->outcome == MG_OUTCOME_DONE && reply->kind != MG_KIND_UNDO) {
        record->unreadable = fault[0] != '\0' ? mg_slice_of(fault) : (struct mg_slice){NULL, 0};
    }
    if (fault[0] != '\0') {
        mg_step_error_set(record, mg_slice_of(mg_error_reason_name(MG_ERROR_REASON_RESULT_UNREADABLE)),
                          mg_slice_of(fault));
    } else if (reply->outcome == MG_OUTCOME_ACCEPTED && reply->error_reason == MG_ERROR_REASON_NOT_DONE_YET) {
        mg_step_error_set(record, mg_slice_of(reply->error_code), mg_slice_of(reply->error_text));
    } else if ((reply->outcome == MG_OUTCOME_ACCEPTED && reply->kind == MG_KIND_DO) ||
               (reply->outcome == MG_OUTCOME_DONE &&
                (is_open(record) || (is_of_do(fold, step, reply) && is_unreadable(record))))) {
        const struct mg_slice none = {NULL, 0};
        mg_step_error_set(record, none, none); /* an earlier attempt's */
    } else if (reply->outcome != MG_OUTCOME_DONE &&
               is_cause(reply, record, mg_step_is_backward(&fold->record->order.steps[step]))) {
        mg_step_error_set(record, mg_slice_of(reply->error_code), mg_slice_of(reply->error_text));
        record->error_message = message_take(batch, reply->error_message);
        record->error_body = body_take(batch, reply->error_body);
    }
}

/* True if the service itself refused, so that its store of keys has answered. The agent's own refusal does
 * not come from there. Neither do answers about credentials or about a route, which a gateway may give, too.
 */
static bool is_refusal_of_service(const struct mg_reply *reply)
{
    bool is_foreign = reply->http_status == 401 || reply->http_status == 403 || reply->http_status == 404 ||
                      reply->http_status == 407 || reply->http_status == 410;
    bool is_answer = reply->error_reason == MG_ERROR_REASON_ANSWERED && reply->http_status > 0;
    return reply->is_refused_by_body || (is_answer && !is_foreign);
}

static enum mg_executed executed_of(const struct mg_reply *reply, const struct mg_step *step)
{
    bool is_learning = mg_step_is_backward(step) && reply->kind == MG_KIND_DO;
    return is_learning ? mg_maybe_learned(reply->outcome, reply->executed, is_refusal_of_service(reply))
                       : reply->executed;
}

/* The reply as the step's conditions judge it; that of the agent if there are none. The item keeps the
 * latter, because it may be decided again on other rows. NULL: no memory. */
static const struct mg_reply *reply_judged(struct mg_batch *batch, const struct mg_item *item, int step)
{
    const struct mg_workflow *workflow = item->fold->workflow->workflow;
    bool asks_undone = mg_step_asks_undone(&item->fold->record->order.steps[step]);
    if (!mg_workflow_is_judged(
            mg_workflow_conditions(&workflow->steps[step], item->reply->kind, asks_undone))) {
        return item->reply;
    }
    struct mg_reply *judged = mg_arena_alloc(batch->arena, sizeof(*judged));
    struct mg_order_input input;
    if (judged == NULL) {
        return NULL;
    }
    mg_order_input_make(workflow, item->fold->record, step, &input);
    *judged = *item->reply;
    (void)mg_workflow_answer_judge(&input.input, step, judged);
    return judged;
}

static void reply_apply(struct mg_batch *batch, struct mg_item *item, int step)
{
    const struct mg_reply *reply = reply_judged(batch, item, step);
    struct mg_fold *fold = item->fold;
    if (reply == NULL) {
        fold->has_failed = true;
        return;
    }
    const struct mg_step *state = &fold->record->order.steps[step];
    bool is_paused = reply->error_reason == MG_ERROR_REASON_SERVICE_PAUSED;
    bool is_open = reply->error_reason == MG_ERROR_REASON_BREAKER_OPEN ||
                   reply->error_reason == MG_ERROR_REASON_TOKEN_UNAVAILABLE;
    struct mg_cause cause = {.kind = MG_CAUSE_REPLY,
                             .step = step,
                             .attempt = reply->attempt,
                             .reply = {.kind = reply->kind,
                                       .outcome = reply->outcome,
                                       .executed = executed_of(reply, state),
                                       .may_still_act = reply->may_still_act,
                                       .is_work_refused = is_work_refused(reply),
                                       .is_service_down = is_open || is_paused || reply->is_probe,
                                       .is_service_paused = is_paused,
                                       .retry_after_ms = reply->retry_after_ms}};
    struct mg_story story = {.by = mg_slice_of(batch->shared->options->instance)};
    if (reply->error_text[0] != '\0') {
        story.reason = mg_slice_of(reply->error_text);
    }
    /* A further copy of the undo may have an answer of its own. Of a higher attempt than the row's nothing is
     * put into the record. */
    bool is_of_copy =
        mg_undo_awaits_copy(state) && reply->kind == MG_KIND_UNDO && reply->attempt == state->attempt;
    struct mg_step_record after = fold->record->steps[step];
    struct mg_brought brought = {.step = NULL};
    if (is_of_copy || mg_step_awaits(state, reply->attempt, reply->kind)) {
        record_update(batch, reply, fold, step, &after);
        brought.step = &after;
    }
    int64_t attempt_ms = mg_attempt_ms(batch, fold, step);
    if (mg_fold_cause(batch, item, &cause, &brought, story) != MG_GO) {
        return;
    }
    mg_item_note_attempt(item, step, reply->kind, attempt_ms);
    if (reply->outcome == MG_OUTCOME_DONE) {
        mg_gate_served(fold->workflow->gates[step]);
    }
}

void mg_settle_decide(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_reply *reply = item->reply;
    struct mg_fold *fold = item->fold;
    int step = fold->record == NULL
                   ? -1
                   : mg_workflow_step_index(fold->workflow->workflow, mg_slice_of(reply->step));
    if (step < 0) {
        mg_metric_add(batch->shared->series.unknown_orders, 1);
        mg_log(MG_LOG_WARN, "a reply names an order or step that does not exist",
               MG_LOG_TEXT("order_id", reply->order_id), MG_LOG_TEXT("step", reply->step));
        item->end = MG_END_REJECT;
    } else if (!mg_topology_is_reply_of(item->work->delivery->exchange,
                                        fold->workflow->workflow->steps[step].service)) {
        mg_log(MG_LOG_ERROR, "ignored a reply from an exchange of another service",
               MG_LOG_TEXT("order_id", reply->order_id), MG_LOG_TEXT("step", reply->step),
               MG_LOG_TEXT("exchange", item->work->delivery->exchange.data));
        item->end = MG_END_REJECT;
    } else if (!mg_fold_is_known(batch, item)) {
        reply_apply(batch, item, step);
    }
}

/* ---- callbacks ---- */

/* A callback is read as an answer to the step's verify. NULL: no memory. */
static struct mg_reply *callback_read(struct mg_batch *batch, const struct mg_fold *fold, int step,
                                      struct mg_slice payload)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    struct mg_reply *reply = mg_arena_alloc(batch->arena, sizeof(*reply));
    struct mg_order_input input;
    if (reply == NULL) {
        return NULL;
    }
    memset(reply, 0, sizeof(*reply));
    reply->kind = MG_KIND_VERIFY;
    reply->outcome = MG_OUTCOME_DONE;
    reply->executed = MG_EXECUTED_YES;
    reply->attempt = fold->record->order.steps[step].attempt;
    reply->result = payload;
    if (mg_workflow_is_judged(&workflow->steps[step].conditions)) {
        mg_order_input_make(workflow, fold->record, step, &input);
        (void)mg_workflow_answer_judge(&input.input, step, reply);
    }
    return reply;
}

/* Work that is reported as done too late. If its step counts as not done, an event and an alert tell of it,
 * once for each body, and the body is kept with the step. The event has a cause of its own: to the service
 * the callback is late, however often it comes. */
static void callback_contradict(struct mg_batch *batch, struct mg_item *item, struct mg_cause cause,
                                struct mg_story story)
{
    struct mg_fold *fold = item->fold;
    struct mg_step_record after = fold->record->steps[cause.step];
    struct mg_slice payload = item->command->payload;
    const struct mg_signal signal = {.id = mg_slice_of(item->command->command_id),
                                     .by = story.by,
                                     .payload = payload.data != NULL ? payload : mg_slice_of("null")};
    if (mg_kept_signals_has(after.open, signal.id) ||
        mg_kept_signals_count(after.open) >= MG_KEPT_SIGNALS_MAX) {
        return;
    }
    const struct mg_brought brought = {.step = &after};
    struct mg_slice own = item->cause;
    after.open = mg_kept_signals_add(batch, after.open, &signal);
    item->cause = mg_slice_of(mg_arena_printf(batch->arena, "%.*s/late", (int)own.len, own.data));
    fold->has_failed = fold->has_failed || after.open.data == NULL || item->cause.data == NULL;
    cause.signal.fact = MG_SIGNAL_FACT_KEPT;
    story.reason = mg_slice_of("its service reports the work as done, too late; its words are kept");
    if (!fold->has_failed) {
        /* Refused: the work counts, or is still being undone. */
        (void)mg_fold_cause(batch, item, &cause, &brought, story);
    }
    item->cause = own;
}

enum mg_callback_end mg_callback_decide(struct mg_batch *batch, struct mg_item *item, int step)
{
    struct mg_fold *fold = item->fold;
    const char *by =
        mg_arena_printf(batch->arena, "service:%s", fold->workflow->workflow->steps[step].service);
    struct mg_reply *reply = callback_read(batch, fold, step, item->command->payload);
    if (reply == NULL || by == NULL) {
        fold->has_failed = true;
        return MG_CALLBACK_OPEN;
    }
    bool is_refused = reply->outcome == MG_OUTCOME_PERMANENT;
    const struct mg_step *before = &fold->record->order.steps[step];
    bool is_of_earlier = item->command->generation < before->generation;
    bool has_end = is_of_earlier || mg_step_is_backward(before) || before->state == MG_STEP_DONE ||
                   before->state == MG_STEP_SKIPPED || before->state == MG_STEP_FAILED;
    if (reply->outcome != MG_OUTCOME_DONE && !is_refused) {
        item->why = has_end ? "late: the step has its end"
                            : mg_arena_text(batch->arena, mg_slice_of(reply->error_text));
        return has_end ? MG_CALLBACK_LATE : MG_CALLBACK_OPEN;
    }
    struct mg_cause cause = {.kind = MG_CAUSE_SIGNAL,
                             .step = step,
                             .signal = {.fact = is_refused ? MG_SIGNAL_FACT_REFUSED : MG_SIGNAL_FACT_DONE,
                                        .is_of_earlier = is_of_earlier}};
    struct mg_step_record after = fold->record->steps[step];
    const struct mg_brought brought = {.step = &after};
    struct mg_story story = {.by = mg_slice_of(by)};
    record_update(batch, reply, fold, step, &after);
    if (reply->error_text[0] != '\0') {
        story.reason = mg_slice_of(reply->error_text);
    }
    item->why = "late: the callback is for an earlier request of the step"; /* a decision has its own words */
    switch (is_of_earlier ? MG_REFUSED : mg_fold_cause(batch, item, &cause, &brought, story)) {
    case MG_GO:
        return MG_CALLBACK_TAKEN;
    case MG_STALE_CAUSE:
        return MG_CALLBACK_AGAIN;
    case MG_DUPLICATE:
    case MG_REFUSED:
    case MG_IMPOSSIBLE:
        break;
    }
    if (!is_refused) {
        callback_contradict(batch, item, cause, story);
    }
    return is_refused && !has_end ? MG_CALLBACK_AGAIN : MG_CALLBACK_LATE;
}

/* ---- requests that the broker did not confirm ---- */

bool mg_unpublishable_read(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_work *work = item->work;
    char correlation[MG_KEY_SIZE];
    mg_correlation_write(work->order_id, work->step, work->attempt, work->kind, correlation);
    item->order_id = work->order_id;
    item->cause = mg_slice_of(mg_arena_printf(batch->arena, "%s:%s", correlation,
                                              work->is_republished ? "republished" : "unpublishable"));
    item->wants_event = work->is_again;
    return true;
}

/* The step becomes maybe first: either copy may act, and the reply to one proves nothing about the other. */
static void republish(struct mg_batch *batch, struct mg_item *item, int step)
{
    const struct mg_work *work = item->work;
    struct mg_fold *fold = item->fold;
    const struct mg_step *state = &fold->record->order.steps[step];
    if (!mg_step_awaits(state, work->attempt, work->kind)) {
        return; /* it has been answered or judged meanwhile */
    }
    struct mg_cause cause = {.kind = MG_CAUSE_REPUBLISHED, .step = step, .attempt = work->attempt};
    struct mg_story story = {.by = mg_slice_of(batch->shared->options->instance)};
    (void)mg_fold_cause(batch, item, &cause, NULL, story); /* duplicate: it was maybe before, or is no do */
    enum mg_render made = mg_render_request(batch, item, step, true);
    if (made == MG_RENDER_NO_MEMORY) {
        fold->has_failed = true;
    } else if (made != MG_RENDER_OK) {
        mg_log(MG_LOG_WARN, "could not write a request again; its deadline will end the attempt",
               MG_LOG_TEXT("order_id", work->order_id), MG_LOG_TEXT("step", work->step));
    }
}

void mg_unpublishable_decide(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_work *work = item->work;
    struct mg_fold *fold = item->fold;
    int step =
        fold->record == NULL ? -1 : mg_workflow_step_index(fold->workflow->workflow, mg_slice_of(work->step));
    if (step >= 0 && work->is_republished) {
        republish(batch, item, step);
        return;
    }
    if (step < 0 || mg_fold_is_known(batch, item)) {
        return;
    }
    item->root = mg_chain_root(fold->record->steps[step].cause);
    struct mg_cause cause = {.kind = MG_CAUSE_UNPUBLISHABLE,
                             .step = step,
                             .attempt = work->attempt,
                             .unpublishable = {.executed = work->executed}};
    struct mg_story story = {.by = mg_slice_of(batch->shared->options->instance)};
    (void)mg_fold_cause(batch, item, &cause, NULL, story); /* stale: it has been answered nevertheless */
}
