/*
 * A signal to an order: to the first of its steps that waits for it and takes it of its sender, else to the
 * first that will. A step that waits is done or refused by it, as its conditions say. A step that has not
 * begun keeps it, in the commit that is its cause's. So early and late, and a signal against a time-out or a
 * cancellation, are decided by the order of commits alone.
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
#include "signal_sender.h"
#include "workflow/answer_conditions.h"

struct mg_slice mg_signal_identity(struct mg_batch *batch, const struct mg_command *command,
                                   struct mg_slice client)
{
    if (command->signal[0] == '\0') {
        return mg_slice_of(
            mg_arena_printf(batch->arena, "callback.%s/%s", command->step, command->command_id));
    }
    return client.len > 0 ? mg_slice_of(mg_arena_printf(batch->arena, "%s/%s/%.*s", command->signal,
                                                        command->command_id, (int)client.len, client.data))
                          : mg_slice_of(mg_arena_printf(batch->arena, "%s/%s//%s", command->signal,
                                                        command->command_id, command->by));
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

/* Of the sender, for the story; absent: no memory. */
static struct mg_slice sender_find(struct mg_batch *batch, const struct mg_item *item)
{
    struct mg_slice client;
    if (item->work->keyed != NULL) {
        return mg_slice_of(item->work->keyed->by);
    }
    return mg_topology_commander(item->work->delivery->exchange, &client) == MG_COMMANDER_CLIENT
               ? mg_slice_of(mg_arena_printf(batch->arena, "client:%.*s", (int)client.len, client.data))
               : mg_slice_of(item->command->by);
}

/* ---- the step ---- */

/* The steps that a signal concerns. */
struct places {
    bool is_named;   /* a step waits for its name */
    bool is_awaited; /* and has not ended */
    bool is_meant;   /* and is as the sender was shown it */
    int step;        /* the one that takes or keeps it of its sender; -1: none */
};

/* True if a condition of the step holds. Else `ret_why` has the values. */
static bool means_something(const struct mg_fold *fold, int step, struct mg_slice payload,
                            char ret_why[MG_ERROR_TEXT_MAX + 1])
{
    struct mg_order_input input;
    mg_order_input_make(fold->workflow->workflow, fold->record, step, &input);
    enum mg_answer_meaning meaning = mg_workflow_signal_judge(&input.input, step, payload, ret_why);
    return meaning == MG_ANSWER_DONE || meaning == MG_ANSWER_REFUSED;
}

/* 3: a step that waits, and the signal means something; 2: one that waits; 1: one that has not begun. */
static int rank_of(const struct mg_fold *fold, int step, const struct mg_signal *signal)
{
    const struct mg_step *at = &fold->record->order.steps[step];
    char why[MG_ERROR_TEXT_MAX + 1];
    if (!mg_step_is_open(at)) {
        return at->state == MG_STEP_PENDING ? 1 : 0;
    }
    return means_something(fold, step, signal->payload, why) ? 3 : 2;
}

/* Whether the step is still the question that the sender was shown. */
static bool is_as_shown(const struct mg_fold *fold, int step, const char *shown)
{
    char now[MG_SHOWN_SIZE];
    const struct mg_step *at = &fold->record->order.steps[step];
    if (shown[0] == '\0' || !mg_step_is_open(at)) {
        return shown[0] == '\0';
    }
    mg_shown_make(fold->workflow->workflow->steps[step].name, at->attempt, fold->record->payload, now);
    return strcmp(now, shown) == 0;
}

static void places_find(const struct mg_fold *fold, const struct mg_command *command,
                        const struct mg_signal *signal, struct places *ret)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    int best = 0;
    *ret = (struct places){.step = -1};
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_signal_wait *wait = workflow->steps[i].signal;
        bool is_other = command->step[0] != '\0' && strcmp(workflow->steps[i].name, command->step) != 0;
        if (wait == NULL || strcmp(wait->name, command->signal) != 0 || is_other) {
            continue;
        }
        int rank = rank_of(fold, i, signal);
        ret->is_named = true;
        ret->is_awaited = ret->is_awaited || rank > 0;
        if (!is_as_shown(fold, i, command->shown)) {
            continue;
        }
        ret->is_meant = true;
        if (rank > best && mg_signal_may_send(signal->by, fold->record, wait)) {
            best = rank;
            ret->step = i;
        }
    }
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

/* Only in the story: it will never end the step. */
static void pass(struct mg_batch *batch, struct mg_fold *fold, struct arrival *arrival)
{
    arrival->outcome = MG_SIGNAL_COUNTED;
    arrival->fact = MG_SIGNAL_FACT_KEPT;
    arrival->after.open = mg_kept_signals_add_idle(batch, arrival->after.open);
    fold->has_failed = fold->has_failed || arrival->after.open.data == NULL;
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
    struct mg_signal_sum sum;
    if (!means_something(fold, arrival->step, arrival->signal.payload, arrival->why)) {
        pass(batch, fold, arrival);
        return;
    }
    arrival->outcome = MG_SIGNAL_COUNTED;
    keep(batch, fold, arrival);
    if (fold->has_failed) {
        return;
    }
    mg_kept_signals_sum(fold, arrival->step, arrival->after.open, &sum);
    if (sum.fact != MG_SIGNAL_FACT_NONE) {
        end(batch, fold, &sum, arrival);
    }
}

/* True if the signal will mean nothing to a step that has not begun. That is known now if its conditions read
 * no other step. */
static bool is_idle_early(const struct mg_fold *fold, struct arrival *arrival)
{
    const struct mg_conditions *conditions = &fold->workflow->workflow->steps[arrival->step].conditions;
    bool is_idle = !conditions->reads_steps &&
                   !means_something(fold, arrival->step, arrival->signal.payload, arrival->why);
    if (!is_idle) {
        arrival->why[0] = '\0';
    }
    return is_idle;
}

/* NULL: the signal can be taken or kept. */
static const char *refusal_of(const struct mg_fold *fold, const struct arrival *arrival)
{
    const struct mg_signal_wait *wait = fold->workflow->workflow->steps[arrival->step].signal;
    struct mg_slice open = fold->record->steps[arrival->step].open;
    bool is_open = mg_step_is_open(&fold->record->order.steps[arrival->step]);
    if (is_open && wait->of > 1 && mg_kept_signals_has_sender(open, arrival->signal.by)) {
        return "the step needs signals of several senders, and has this sender's";
    }
    if (mg_kept_signals_count(open) >= MG_KEPT_SIGNALS_MAX) {
        return "the step keeps as many signals as it may, 8, until it begins to wait";
    }
    if (mg_kept_signals_idle_count(open) >= MG_IDLE_SIGNALS_MAX) {
        return "100 signals for which no condition of the step holds have come";
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
    fold->taken[fold->taken_count++] =
        (struct mg_taken_signal){mg_slice_of(item->work->keyed->signal), mg_slice_of(item->work->keyed->key),
                                 mg_slice_of(item->work->keyed->signal_id)};
}

static void signal_decide(struct mg_batch *batch, struct mg_item *item, struct arrival *arrival)
{
    struct mg_fold *fold = item->fold;
    bool is_open = mg_step_is_open(&fold->record->order.steps[arrival->step]);
    if (is_open) {
        take(batch, fold, arrival);
    } else if (is_idle_early(fold, arrival)) {
        pass(batch, fold, arrival);
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
    struct places places;
    arrival.signal =
        (struct mg_signal){.id = mg_slice_of(command->command_id),
                           .by = sender_find(batch, item),
                           .payload = command->payload.data != NULL ? command->payload : mg_slice_of("null")};
    if (arrival.signal.by.data == NULL) {
        fold->has_failed = true;
        return;
    }
    places_find(fold, command, &arrival.signal, &places);
    if (!places.is_named) {
        answer_invalid(batch, item, false, "no step of the order's workflow waits for this signal");
        return;
    }
    if (!places.is_awaited) {
        answer(batch, item, MG_SIGNAL_LATE, "late: no step of the order waits for this signal any more");
        return;
    }
    if (!places.is_meant) {
        answer(batch, item, MG_SIGNAL_REFUSED,
               "the question has changed since it was shown: look at the order again");
        return;
    }
    if (places.step < 0) {
        mg_log(MG_LOG_WARN, "refused a signal of a sender that the step does not name in \"from\"",
               MG_LOG_TEXT("order_id", item->order_id), MG_LOG_TEXT("signal", command->signal),
               MG_LOG_TEXT("sender", arrival.signal.by.data));
        answer(batch, item, MG_SIGNAL_REFUSED, "its sender is not in \"from\" of the step that waits for it");
        return;
    }
    arrival.step = places.step;
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
    if (command->generation > item->fold->record->order.steps[step].generation) {
        answer(batch, item, MG_SIGNAL_LATE, "late: the order knows of no such request of the step");
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
    } else if (item->command->signal[0] == '\0') {
        callback_apply(batch, item);
    } else {
        signal_apply(batch, item);
    }
}
