/*
 * Commands of the supervisor, the operator and the gateway. Each carries the attempt or version on which it
 * was decided. If that no longer holds, the core returns stale or refused, and nothing changes (law 5,
 * attempt fence). A command with a reply_to gets its result. The same command sent twice changes the order
 * once, because its event records the command's id.
 */
#include "lanes.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "command_answer.h"
#include "core/order.h"
#include "decision_metrics.h"
#include "failure.h"
#include "fold.h"
#include "keyed_signals.h"
#include "late_match.h"
#include "order_input.h"
#include "repair.h"
#include "signal_apply.h"
#include "signal_sender.h"

/* All other kinds are the operator's. */
static bool is_supervisors(enum mg_cause_kind kind)
{
    return kind == MG_CAUSE_OVERDUE || kind == MG_CAUSE_DUE || kind == MG_CAUSE_EXPIRED ||
           kind == MG_CAUSE_NUDGE || kind == MG_CAUSE_OWED || kind == MG_CAUSE_TURN || kind == MG_CAUSE_FIRE;
}

bool mg_command_comes_again(const struct mg_item *item)
{
    return item->command != NULL && is_supervisors(item->command->kind) && !item->work->is_again;
}

/* The exchange proves the commander; the member `by` proves nothing. */
static bool is_allowed(const struct mg_delivery *delivery, const struct mg_command *command)
{
    static const char *const refusals[] = {
        [MG_COMMANDER_NONE] = "ignored a command from an exchange that does not carry commands",
        [MG_COMMANDER_OPERATOR] = "",
        [MG_COMMANDER_SUPERVISOR] = "ignored an operator's command that a supervisor published",
        [MG_COMMANDER_GATEWAY] = "ignored a command that no client may give, from a gateway",
        [MG_COMMANDER_CLIENT] = "ignored a command that is no signal, from a client",
        [MG_COMMANDER_CALLBACK] = "ignored a command that is no callback, from a gateway"};
    enum mg_commander commander = mg_topology_commander(delivery->exchange, NULL);
    bool is_signal = command->kind == MG_CAUSE_SIGNAL, is_callback = is_signal && command->signal[0] == '\0';
    if ((commander == MG_COMMANDER_OPERATOR && !is_callback) ||
        (commander == MG_COMMANDER_SUPERVISOR && is_supervisors(command->kind)) ||
        (commander == MG_COMMANDER_GATEWAY && command->kind == MG_CAUSE_CANCEL) ||
        (commander == MG_COMMANDER_CLIENT && is_signal && !is_callback) ||
        (commander == MG_COMMANDER_CALLBACK && is_callback)) {
        return true;
    }
    mg_log(MG_LOG_ERROR, refusals[commander], MG_LOG_TEXT("order_id", command->order_id),
           MG_LOG_TEXT("command", mg_cause_name(command->kind)),
           MG_LOG_TEXT("exchange", delivery->exchange.data));
    return false;
}

/* NULL: it is no signal of an operator, or has a person's name. */
static const char *operator_fault(const struct mg_delivery *delivery, const struct mg_command *command)
{
    struct mg_slice client;
    bool is_signal = command->kind == MG_CAUSE_SIGNAL && command->signal[0] != '\0';
    return is_signal && mg_topology_commander(delivery->exchange, &client) != MG_COMMANDER_CLIENT
               ? mg_signal_by_fault(command->by)
               : NULL;
}

bool mg_command_read(struct mg_batch *batch, struct mg_item *item)
{
    struct mg_work *work = item->work;
    struct mg_err err = {MG_TRANSIENT, "no memory"};
    enum mg_class class = MG_TRANSIENT;
    struct mg_command *command = mg_arena_alloc(batch->arena, sizeof(*command));
    if (work->delivery->is_oversized) {
        class = mg_err_set(&err, MG_BAD_INPUT, "the body is above the limit");
    } else if (command != NULL) {
        class = mg_command_parse(work->delivery->body, &batch->shared->message_limits, batch->arena, command,
                                 &err);
    }
    if (class == MG_BAD_INPUT) {
        mg_log(MG_LOG_WARN, "a command cannot be read", MG_LOG_TEXT("why", err.text));
        mg_command_unread(batch, item, err.text);
    }
    if (class != MG_OK) {
        mg_work_settle(&batch->shared->works, work, mg_end_of_unread(class));
        return false;
    }
    if (!is_allowed(work->delivery, command)) {
        mg_work_settle(&batch->shared->works, work, MG_END_REJECT);
        return false;
    }
    if (command->kind == MG_CAUSE_OWED) {
        mg_owed_resend(batch->owing, work, command->order_id);
        return false;
    }
    item->command = command;
    const char *fault = operator_fault(work->delivery, command);
    if (fault != NULL) {
        mg_command_refuse(batch, item, false, fault);
        return false;
    }
    if (command->key[0] != '\0') {
        mg_keyed_signal_keep(batch->keyed, work, command);
        return false;
    }
    if (command->kind == MG_CAUSE_FIRE) {
        return mg_fire_read(batch, item);
    }
    item->order_id = command->order_id;
    struct mg_slice client = mg_slice_of("");
    if (command->kind == MG_CAUSE_SIGNAL) {
        (void)mg_topology_commander(work->delivery->exchange, &client);
    }
    item->cause = command->kind == MG_CAUSE_SIGNAL ? mg_signal_identity(batch, command, client)
                                                   : mg_slice_of(command->command_id);
    item->wants_event = work->is_again || !is_supervisors(command->kind);
    return true;
}

bool mg_keyed_signal_read(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_keyed_signal *found = item->work->keyed;
    struct mg_command *command = mg_arena_alloc(batch->arena, sizeof(*command));
    if (command == NULL) {
        mg_work_settle(&batch->shared->works, item->work, MG_END_LEAVE);
        return false;
    }
    memset(command, 0, sizeof(*command));
    command->kind = MG_CAUSE_SIGNAL;
    memcpy(command->order_id, found->order_id, sizeof(command->order_id));
    mg_keyed_command_id(found->signal_id, command->command_id);
    memcpy(command->signal, found->signal, sizeof(command->signal));
    memcpy(command->by, found->by, sizeof(command->by));
    command->payload = found->payload;
    item->command = command;
    item->order_id = command->order_id;
    struct mg_slice identity = mg_signal_identity(batch, command, mg_slice_of(found->client));
    item->cause =
        mg_slice_of(/* an id is one of its key's */
                    mg_arena_printf(batch->arena, "%.*s/%s", (int)identity.len, identity.data, found->key));
    item->root = found->looker.root[0] != '\0' ? mg_slice_of(found->looker.root) : item->root;
    item->wants_event = true;
    return true;
}

/* ---- deciding ---- */

static enum mg_verdict resume_apply(struct mg_batch *batch, struct mg_item *item, struct mg_cause *cause,
                                    struct mg_story story, struct mg_slice repaired)
{
    const struct mg_brought brought = {.payload = repaired};
    cause->resume.is_request_changed = true;
    return mg_fold_cause(batch, item, cause, &brought, story);
}

/* The missing reply becomes the step's last failure, in place of an earlier attempt's. A verify without a
 * reply keeps the failure that it was to clarify. */
static enum mg_verdict overdue_apply(struct mg_batch *batch, struct mg_item *item,
                                     const struct mg_cause *cause, struct mg_story story)
{
    const struct mg_fold *fold = item->fold;
    struct mg_step_record after = fold->record->steps[cause->step];
    const struct mg_brought brought = {.step = &after};
    enum mg_kind kind = fold->record->order.steps[cause->step].kind;
    int64_t attempt_ms = mg_attempt_ms(batch, fold, cause->step);
    if (kind != MG_KIND_VERIFY || after.error_code.data == NULL) {
        mg_step_error_set(&after, mg_slice_of(mg_reason_name(MG_REASON_EXPIRED)),
                          mg_slice_of(mg_reason_text(MG_REASON_EXPIRED)));
    }
    enum mg_verdict verdict = mg_fold_cause(batch, item, cause, &brought, story);
    if (verdict == MG_GO) {
        mg_item_note_attempt(item, cause->step, kind, attempt_ms);
    }
    return verdict;
}

/* True if no answer has carried the result, or the part that the undo needs. Out of memory sets has_failed.
 */
static bool is_result_missing(struct mg_fold *fold, int step)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    struct mg_slice result = mg_order_undo_result(&fold->record->steps[step]);
    struct mg_err err;
    if (result.data == NULL || !workflow->plan.steps[step].needs_result) {
        return result.data == NULL;
    }
    enum mg_class class = mg_workflow_undo_check(workflow, step, result, &err);
    fold->has_failed = fold->has_failed || class == MG_TRANSIENT;
    return class == MG_PERMANENT;
}

/* True if steps behind this one may have requests out, or it an undo of its own: it was done without its
 * result or without one that the output can use, or skipped. */
static bool may_change_requests(struct mg_fold *fold, const struct mg_command *command, int step)
{
    enum mg_step_state state = fold->record->order.steps[step].state;
    bool is_settled = command->kind == MG_CAUSE_SETTLE && command->outcome == MG_OUTCOME_DONE;
    if (state == MG_STEP_DONE) {
        bool is_taken = is_result_missing(fold, step) || mg_order_lacks_output(&fold->record->order);
        return is_settled && command->result.data != NULL && is_taken;
    }
    return is_settled && state == MG_STEP_SKIPPED;
}

/* MG_OK: the step can be undone with the result that the command gives, if any, and no request that is out
 * changes. */
static enum mg_class settle_check(struct mg_fold *fold, const struct mg_command *command, int step,
                                  struct mg_err *err)
{
    if (step < 0) {
        return MG_OK;
    }
    const struct mg_workflow *workflow = fold->workflow->workflow;
    struct mg_slice result = command->result;
    if (result.data == NULL) {
        result = mg_order_undo_result(&fold->record->steps[step]);
    } else if (workflow->plan.steps[step].needs_result) {
        enum mg_class class = mg_workflow_undo_check(workflow, step, result, err);
        if (class != MG_OK) {
            return mg_err_prefix(err, "the result lacks what the step's undo needs");
        }
    }
    return may_change_requests(fold, command, step) ? mg_repair_check_settled(fold, step, result, err)
                                                    : MG_OK;
}

static enum mg_verdict settle_apply(struct mg_batch *batch, struct mg_item *item, struct mg_cause *cause,
                                    struct mg_story story)
{
    struct mg_fold *fold = item->fold;
    struct mg_step_record after = fold->record->steps[cause->step];
    const struct mg_brought brought = {.step = &after};
    cause->settle.has_result = true;
    cause->settle.is_result_missing = is_result_missing(fold, cause->step);
    /* The command's result has all that the undo needs. A step that is done keeps the result that its undo
     * knows. One that is to be undone keeps the result that the undos of later steps are made from. */
    const struct mg_slice none = {NULL, 0}, given = item->command->result;
    const struct mg_slice known = mg_order_undo_result(&after);
    const struct mg_step *step = &fold->record->order.steps[cause->step];
    bool is_for_undo = mg_step_is_backward(step) && after.result.data != NULL;
    bool is_kept = step->state == MG_STEP_DONE && !cause->settle.is_result_missing &&
                   fold->workflow->workflow->plan.steps[cause->step].needs_result;
    after.result = is_for_undo ? after.result : given;
    after.undo_result = is_for_undo ? given : is_kept ? known : none;
    return mg_fold_cause(batch, item, cause, &brought, story);
}

static struct mg_cause cause_of(const struct mg_command *command, int step)
{
    struct mg_cause cause = {
        .kind = command->kind, .step = step, .attempt = command->attempt, .version = command->version};
    if (command->kind == MG_CAUSE_RESUME) {
        cause.resume = (struct mg_cause_resume){.is_repeat = command->is_repeat,
                                                .is_output_waived = command->is_without_output};
    } else if (command->kind == MG_CAUSE_SETTLE) {
        cause.settle = (struct mg_cause_settle){.outcome = command->outcome};
    } else if (command->kind == MG_CAUSE_TURN) {
        cause.turn = (struct mg_cause_turn){.generation = command->generation};
    }
    return cause;
}

/* The key of the line that a restarted order joins. MG_PERMANENT: its present payload gives none. */
static enum mg_class line_take(struct mg_batch *batch, struct mg_fold *fold, struct mg_err *err)
{
    const struct mg_order_record *record = fold->record;
    const struct mg_render_input input = {.workflow = fold->workflow->workflow,
                                          .order_id = record->order_id,
                                          .payload = record->payload,
                                          .accepted_at_ms = record->created_at_ms,
                                          .is_high = record->is_high};
    return mg_workflow_line_key(&input, batch->arena, &fold->line.key, err);
}

static void command_apply(struct mg_batch *batch, struct mg_item *item, int step)
{
    const struct mg_command *command = item->command;
    struct mg_cause cause = cause_of(command, step);
    struct mg_story story = {.by = mg_slice_of(command->by[0] != '\0' ? command->by : "?")};
    if (command->reason[0] != '\0') {
        story.reason = mg_slice_of(command->reason);
    }
    enum mg_verdict verdict;
    struct mg_err err;
    enum mg_class class = command->kind == MG_CAUSE_RESTART ? line_take(batch, item->fold, &err)
                                                            : settle_check(item->fold, command, step, &err);
    if (class == MG_TRANSIENT) {
        item->fold->has_failed = true;
        return;
    }
    if (class != MG_OK) {
        mg_command_result(batch, item, MG_COMMAND_INVALID, err.text);
        return;
    }
    if (command->kind == MG_CAUSE_RESUME && command->set_count > 0) {
        struct mg_slice repaired = mg_repair_payload(batch, item->fold, command, &err);
        if (repaired.data == NULL) {
            mg_command_result(batch, item, MG_COMMAND_INVALID, err.text);
            return;
        }
        verdict = resume_apply(batch, item, &cause, story, repaired);
    } else if (command->kind == MG_CAUSE_OVERDUE && step >= 0) {
        verdict = overdue_apply(batch, item, &cause, story);
    } else if (command->kind == MG_CAUSE_SETTLE && command->result.data != NULL) {
        verdict = settle_apply(batch, item, &cause, story);
    } else {
        verdict = mg_fold_cause(batch, item, &cause, NULL, story);
    }
    bool is_done = verdict == MG_GO || verdict == MG_DUPLICATE;
    mg_command_result(batch, item, is_done ? MG_COMMAND_DONE : MG_COMMAND_CONFLICT, item->why);
}

/* The time of an attempt or of a wait for a signal is over, but its answer may wait for this scheduler. The
 * supervisor asks again. */
static bool is_spared(const struct mg_batch *batch, const struct mg_fold *fold, enum mg_cause_kind kind,
                      int step)
{
    bool is_time_out = kind == MG_CAUSE_DUE && fold->workflow->workflow->plan.steps[step].is_signal;
    if (kind != MG_CAUSE_OVERDUE && !is_time_out) {
        return false;
    }
    return mg_scheduler_spares(batch->shared) ||
           (is_time_out && batch->keyed != NULL && /* a rehearsal has no queues */
            mg_inbox_awaits_signals(batch->keyed->inbox, fold->record->order.steps[step].due_at_ms,
                                    batch->now_ms));
}

void mg_command_decide(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_command *command = item->command;
    struct mg_fold *fold = item->fold;
    if (item->submission != NULL) {
        mg_fire_decide(batch, item);
        return;
    }
    if (fold->record == NULL && item->work->keyed != NULL) {
        item->is_key_next = true; /* it has left for the archive since it was found */
        return;
    }
    if (fold->record == NULL) {
        bool is_signal = command->kind == MG_CAUSE_SIGNAL;
        mg_metric_add(batch->shared->series.unknown_orders, 1);
        mg_command_answer_signal(batch, item, MG_COMMAND_NOT_FOUND, MG_SIGNAL_NONE, is_signal,
                                 is_signal
                                     ? "there is no such order; if it was just posted, send the signal again"
                                     : "there is no such order");
        return;
    }
    if (command->kind == MG_CAUSE_SIGNAL) {
        mg_signal_apply(batch, item);
        return;
    }
    int step = -1;
    if (command->step[0] != '\0') {
        step = mg_workflow_step_index(fold->workflow->workflow, mg_slice_of(command->step));
        if (step < 0) {
            mg_command_result(batch, item, MG_COMMAND_INVALID, "the order's workflow has no such step");
            return;
        }
    }
    if (mg_fold_is_known(batch, item)) {
        mg_command_result(batch, item, MG_COMMAND_DONE, "this command has been carried out before");
    } else if (mg_late_match_look(item, step)) {
        mg_command_result(batch, item, MG_COMMAND_CONFLICT, "a signal that came in time is taken first");
    } else if (!is_spared(batch, item->fold, command->kind, step)) {
        command_apply(batch, item, step);
    }
}
