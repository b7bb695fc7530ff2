/*
 * A signal to an order: to the first of its steps that waits for it, or will. A step that waits is done or
 * refused by it, as its conditions say. A step that has not begun keeps it, in the commit that is its
 * cause's. So early and late, and a signal against a time-out or a cancellation, are decided by the order of
 * commits alone.
 *
 * A callback names its step, a call: the service's later word about work under the key of that call.
 */
#include "signal_apply.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "command_answer.h"
#include "failure.h"
#include "fold.h"
#include "kept_signals.h"
#include "keyed_signals.h"
#include "lanes.h"
#include "order_input.h"
#include "workflow/answer_conditions.h"

struct mg_slice mg_signal_identity(struct mg_batch *batch, const struct mg_command *command,
                                   struct mg_slice client)
{
    bool is_callback = command->step[0] != '\0';
    return mg_slice_of(mg_arena_printf(batch->arena, "%s%s/%s%s%.*s", is_callback ? "callback." : "",
                                       is_callback ? command->step : command->signal, command->command_id,
                                       client.len > 0 ? "/" : "", (int)client.len, client.data));
}

static void answer(struct mg_batch *batch, struct mg_item *item, enum mg_signal_outcome outcome,
                   const char *text)
{
    bool is_conflict = outcome == MG_SIGNAL_LATE || outcome == MG_SIGNAL_REFUSED;
    if (item->work->keyed != NULL) {
        item->is_key_next = outcome == MG_SIGNAL_LATE || (!is_conflict && !item->work->keyed->is_own);
        item->is_key_refused = outcome == MG_SIGNAL_REFUSED || outcome == MG_SIGNAL_DUPLICATE;
        if (outcome == MG_SIGNAL_LATE) {
            return; /* another order may wait for it */
        }
    }
    item->signal = outcome;
    mg_command_answer_signal(batch, item, is_conflict ? MG_COMMAND_CONFLICT : MG_COMMAND_DONE, outcome, false,
                             text);
}

static void answer_invalid(struct mg_batch *batch, struct mg_item *item, bool may_pass, const char *text)
{
    mg_command_answer_signal(batch, item, MG_COMMAND_INVALID, MG_SIGNAL_NONE, may_pass, text);
}

/* ---- the sender ---- */

struct sender {
    enum mg_sender_kind kind;
    struct mg_slice client; /* "": of a shared exchange */
    struct mg_slice by;     /* for the story; absent: no memory */
};

static void sender_find(struct mg_batch *batch, const struct mg_item *item, struct sender *ret_sender)
{
    const struct mg_keyed_signal *keyed = item->work->keyed;
    if (keyed != NULL) {
        *ret_sender = (struct sender){.kind = keyed->is_client ? MG_SENDER_CLIENT : MG_SENDER_OPERATOR,
                                      .client = mg_slice_of(keyed->client),
                                      .by = mg_slice_of(keyed->by)};
        return;
    }
    struct mg_slice client;
    enum mg_commander commander = mg_topology_commander(item->work->delivery->exchange, &client);
    bool is_client = commander == MG_COMMANDER_CLIENT;
    *ret_sender =
        (struct sender){.kind = is_client ? MG_SENDER_CLIENT : MG_SENDER_OPERATOR, .client = client};
    ret_sender->by =
        is_client ? mg_slice_of(mg_arena_printf(batch->arena, "client:%.*s", (int)client.len, client.data))
                  : mg_slice_of(item->command->by);
}

static bool is_named(const struct sender *sender, const struct mg_order_record *record,
                     const struct mg_sender *named)
{
    switch (named->kind) {
    case MG_SENDER_OPERATOR:
        return sender->kind == MG_SENDER_OPERATOR;
    case MG_SENDER_OWN:
        return sender->kind == MG_SENDER_CLIENT && record->client.len > 0 &&
               mg_slice_equal(sender->client, record->client);
    case MG_SENDER_CLIENT:
        return sender->kind == MG_SENDER_CLIENT && mg_slice_is(sender->client, named->client);
    }
    return false;
}

static bool may_send(const struct sender *sender, const struct mg_order_record *record,
                     const struct mg_signal_wait *wait)
{
    static const struct mg_sender DEFAULT[] = {{.kind = MG_SENDER_OPERATOR}, {.kind = MG_SENDER_OWN}};
    const struct mg_sender *named = wait->sender_count > 0 ? wait->senders : DEFAULT;
    int count = wait->sender_count > 0 ? wait->sender_count : (int)(sizeof(DEFAULT) / sizeof(DEFAULT[0]));
    for (int i = 0; i < count; i++) {
        if (is_named(sender, record, &named[i])) {
            return true;
        }
    }
    return false;
}

/* ---- the step ---- */

static bool is_awaiting(const struct mg_step *step)
{
    return step->state == MG_STEP_PENDING || mg_step_is_open(step);
}

/* The first step that still needs the signal; -1: none. `ret_is_named`: some step waits for this name. */
static int step_find(const struct mg_fold *fold, const char *signal, bool *ret_is_named)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    *ret_is_named = false;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_signal_wait *wait = workflow->steps[i].signal;
        if (wait != NULL && strcmp(wait->name, signal) == 0) {
            *ret_is_named = true;
            if (is_awaiting(&fold->record->order.steps[i])) {
                return i;
            }
        }
    }
    return -1;
}

/* ---- a signal ---- */

/* A signal, its step, and the step's record with it. */
struct arrival {
    int step;
    struct mg_signal signal;
    struct mg_step_record after;
    enum mg_signal_fact fact;
    enum mg_signal_outcome outcome;
    char why[MG_ERROR_TEXT_MAX + 1]; /* of one that does not end the step, or refuses it; "": none */
};

static void keep(struct mg_batch *batch, struct mg_fold *fold, struct arrival *arrival)
{
    struct mg_slice open = mg_kept_signals_add(batch, arrival->after.open, &arrival->signal);
    fold->has_failed = fold->has_failed || open.data == NULL;
    arrival->after.open = open;
    arrival->fact = MG_SIGNAL_FACT_KEPT;
}

/* The step is ended by this signal, or by it and those before it. */
static void end(struct mg_batch *batch, struct mg_fold *fold, const struct mg_signal_sum *sum,
                struct arrival *arrival)
{
    const char *why = sum->why;
    arrival->fact = sum->fact;
    arrival->outcome = MG_SIGNAL_TAKEN;
    if (sum->fact == MG_SIGNAL_FACT_REFUSED) {
        why = mg_arena_printf(batch->arena, "%s (by %.*s)", sum->why, (int)arrival->signal.by.len,
                              arrival->signal.by.data);
        mg_step_error_set(&arrival->after, mg_slice_of(mg_reason_name(MG_REASON_SIGNAL_REFUSED)),
                          mg_slice_of(why));
    } else {
        arrival->after.result = sum->payload;
    }
    fold->has_failed = fold->has_failed || why == NULL;
    arrival->after.open = (struct mg_slice){NULL, 0};
}

/* The effect of the signal on a step that waits. */
static void take(struct mg_batch *batch, struct mg_fold *fold, struct arrival *arrival)
{
    struct mg_order_input input;
    struct mg_signal_sum sum;
    mg_order_input_make(fold->workflow->workflow, fold->record, arrival->step, &input);
    enum mg_answer_meaning meaning =
        mg_workflow_signal_judge(&input.input, arrival->step, arrival->signal.payload, arrival->why);
    arrival->outcome = MG_SIGNAL_COUNTED;
    if (meaning == MG_ANSWER_OPEN || meaning == MG_ANSWER_UNCLEAR) {
        arrival->fact = MG_SIGNAL_FACT_KEPT; /* only in the story: it will never end the step */
        return;
    }
    keep(batch, fold, arrival);
    if (fold->has_failed) {
        return;
    }
    mg_kept_signals_sum(fold, arrival->step, arrival->after.open, &sum);
    if (sum.fact != MG_SIGNAL_FACT_NONE) {
        end(batch, fold, &sum, arrival);
    }
}

/* NULL: the signal can be taken or kept. */
static const char *refusal_of(const struct mg_fold *fold, const struct arrival *arrival)
{
    const struct mg_signal_wait *wait = fold->workflow->workflow->steps[arrival->step].signal;
    struct mg_slice open = fold->record->steps[arrival->step].open;
    if (wait->of > 1 && mg_kept_signals_has_sender(open, arrival->signal.by)) {
        return "the step needs signals of several senders, and has this sender's";
    }
    if (mg_kept_signals_count(open) >= MG_KEPT_SIGNALS_MAX) {
        return "the step keeps as many signals as it may, 8, and none of them ends it";
    }
    return NULL;
}

static const char *text_of(const struct arrival *arrival)
{
    if (arrival->why[0] != '\0') {
        return arrival->why;
    }
    switch (arrival->outcome) {
    case MG_SIGNAL_TAKEN:
        return arrival->fact == MG_SIGNAL_FACT_DONE ? "its step is done" : "its step is refused";
    case MG_SIGNAL_KEPT:
        return "it is kept until its step begins to wait";
    case MG_SIGNAL_COUNTED:
        return "it counts, and the step needs more";
    case MG_SIGNAL_DUPLICATE:
    case MG_SIGNAL_LATE:
    case MG_SIGNAL_REFUSED:
    case MG_SIGNAL_NONE:
    case MG_SIGNAL_OUTCOME_COUNT:
        break;
    }
    return "";
}

/* A kept signal with a key is this order's from this commit on. */
static void taken_add(struct mg_batch *batch, const struct mg_item *item)
{
    struct mg_fold *fold = item->fold;
    if (item->work->keyed == NULL) {
        return;
    }
    if (fold->taken == NULL) { /* one for each item at most */
        fold->taken = mg_arena_alloc(batch->arena, (size_t)fold->item_count * sizeof(*fold->taken));
    }
    if (fold->taken == NULL) {
        fold->has_failed = true;
        return;
    }
    fold->taken[fold->taken_count++] = (struct mg_taken_signal){mg_slice_of(item->work->keyed->signal),
                                                                mg_slice_of(item->work->keyed->signal_id)};
}

static void signal_decide(struct mg_batch *batch, struct mg_item *item, struct arrival *arrival)
{
    struct mg_fold *fold = item->fold;
    bool is_open = mg_step_is_open(&fold->record->order.steps[arrival->step]);
    if (is_open) {
        take(batch, fold, arrival);
    } else {
        keep(batch, fold, arrival);
        arrival->outcome = MG_SIGNAL_KEPT;
    }
    if (fold->has_failed) {
        return;
    }
    const struct mg_cause cause = {
        .kind = MG_CAUSE_SIGNAL, .step = arrival->step, .signal = {.fact = arrival->fact}};
    const struct mg_brought brought = {.step = &arrival->after};
    struct mg_story story = {.by = arrival->signal.by};
    const char *reason = item->command->reason[0] != '\0' ? item->command->reason : arrival->why;
    story.reason = reason[0] != '\0' ? mg_arena_copy(batch->arena, mg_slice_of(reason)) : story.reason;
    if (mg_fold_cause(batch, item, &cause, &brought, story) == MG_GO) {
        taken_add(batch, item);
        answer(batch, item, arrival->outcome, text_of(arrival));
    } else {
        answer(batch, item, MG_SIGNAL_LATE, item->why);
    }
}

static void signal_apply(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_command *command = item->command;
    struct mg_fold *fold = item->fold;
    struct arrival arrival = {.why = ""};
    struct sender sender;
    bool is_named;
    arrival.step = step_find(fold, command->signal, &is_named);
    if (!is_named) {
        answer_invalid(batch, item, false, "no step of the order's workflow waits for this signal");
        return;
    }
    if (arrival.step < 0) {
        answer(batch, item, MG_SIGNAL_LATE, "late: no step of the order waits for this signal any more");
        return;
    }
    sender_find(batch, item, &sender);
    if (sender.by.data == NULL) {
        fold->has_failed = true;
        return;
    }
    if (!may_send(&sender, fold->record, fold->workflow->workflow->steps[arrival.step].signal)) {
        mg_log(MG_LOG_WARN, "refused a signal of a sender that the step does not name in \"from\"",
               MG_LOG_TEXT("order_id", item->order_id), MG_LOG_TEXT("signal", command->signal),
               MG_LOG_TEXT("sender", sender.by.data));
        answer(batch, item, MG_SIGNAL_REFUSED, "its sender is not in \"from\" of the step that waits for it");
        return;
    }
    arrival.signal =
        (struct mg_signal){.id = mg_slice_of(command->command_id),
                           .by = sender.by,
                           .payload = command->payload.data != NULL ? command->payload : mg_slice_of("null")};
    arrival.after = fold->record->steps[arrival.step];
    const char *refusal = refusal_of(fold, &arrival);
    if (refusal != NULL) {
        answer(batch, item, MG_SIGNAL_REFUSED, refusal);
    } else {
        signal_decide(batch, item, &arrival);
    }
}

static void callback_apply(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_command *command = item->command;
    const struct mg_workflow *workflow = item->fold->workflow->workflow;
    int step = mg_workflow_step_index(workflow, mg_slice_of(command->step));
    if (step < 0 || !workflow->steps[step].has_callback) {
        answer_invalid(batch, item, false, "the step takes no callback");
        return;
    }
    if (command->generation != item->fold->record->order.steps[step].generation) {
        answer(batch, item, MG_SIGNAL_LATE, "late: the callback is for an earlier request of the step");
        return;
    }
    switch (mg_callback_decide(batch, item, step)) {
    case MG_CALLBACK_TAKEN:
        answer(batch, item, MG_SIGNAL_TAKEN, "its step has its end");
        break;
    case MG_CALLBACK_OPEN:
        answer(batch, item, MG_SIGNAL_COUNTED, item->why != NULL ? item->why : "the work is not finished");
        break;
    case MG_CALLBACK_AGAIN:
        answer_invalid(batch, item, true, item->why);
        break;
    case MG_CALLBACK_LATE:
        answer(batch, item, MG_SIGNAL_LATE, item->why);
        break;
    }
}

void mg_signal_apply(struct mg_batch *batch, struct mg_item *item)
{
    if (mg_fold_is_known(batch, item)) {
        answer(batch, item, MG_SIGNAL_DUPLICATE, "this signal has come before");
    } else if (item->command->step[0] != '\0') {
        callback_apply(batch, item);
    } else {
        signal_apply(batch, item);
    }
}
