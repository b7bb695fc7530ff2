/*
 * The guards of steps, evaluated for the core: it asks when a step becomes ready, and the answer is decided
 * in the same fold, with an event row of its own. The evaluation reads the record alone. So a batch that is
 * decided again, after a crash or a lost write, comes to the same verdicts.
 *
 * The reason is kept with the step, as error_text: the values that decided. Of a refusal its text stands
 * before them, "the total must be above 0 (payload.total > 0 was 0 > 0)", as for an order that is rejected.
 * Operators and the client get the same words.
 */
#include "guard_facts.h"

#include <stdio.h>

#include "base/clock.h"
#include "failure.h"
#include "kept_signals.h"
#include "order_input.h"

/* Bytes of a reason; the rest is cut. As long as the errors of agents. */
#define WHY_MAX 1024

static uint64_t skipped_steps(const struct mg_order *order)
{
    uint64_t skipped = 0;
    for (int i = 0; i < order->step_count; i++) {
        skipped |= order->steps[i].state == MG_STEP_SKIPPED ? UINT64_C(1) << i : 0;
    }
    return skipped;
}

static void reason_keep(struct mg_fold *fold, enum mg_reason reason, const char *why,
                        struct mg_step_record *record)
{
    mg_step_error_set(record, mg_slice_of(mg_reason_name(reason)), mg_slice_of(why));
    fold->has_failed = fold->has_failed || why == NULL;
}

/* The values, after the text of a refusal. NULL: no memory. */
static const char *why_make(struct mg_batch *batch, struct mg_slice text, struct mg_slice values)
{
    return text.len == 0 ? mg_arena_text(batch->arena, values)
                         : mg_arena_printf(batch->arena, "%.*s (%.*s)", (int)text.len, text.data,
                                           (int)values.len, values.len > 0 ? values.data : "");
}

/* The moment of a wait. One that is too far away is a mistake of the order's data. */
static enum mg_fact until_find(struct mg_batch *batch, const struct mg_order_input *input, int step,
                               int64_t *ret_until_ms, struct mg_buf *ret_why)
{
    enum mg_fact fact = mg_workflow_wait_until(&input->input, step, ret_until_ms, ret_why);
    if (fact == MG_FACT_GO && *ret_until_ms - batch->now_ms > MG_WAIT_MAX_MS) {
        char at[MG_TIME_TEXT_SIZE];
        mg_time_format(*ret_until_ms, at);
        mg_buf_clear(ret_why);
        mg_buf_printf(ret_why, "wait: until: %s is more than 365 days away", at);
        return MG_FACT_ERROR;
    }
    return fact;
}

/* The signals that came before the step began: they may end it at once. Its key is marked while it waits. */
static enum mg_fact signals_find(struct mg_batch *batch, struct mg_fold *fold,
                                 const struct mg_order_input *input, int step, struct mg_step_record *after,
                                 struct mg_signal_moves *ret_moves, struct mg_cause_facts *facts,
                                 struct mg_buf *ret_why)
{
    char text[MG_SIGNAL_KEY_MAX + 1];
    const struct mg_slice no_key = {NULL, 0};
    struct mg_signal_sum sum;
    struct mg_buf buf;
    mg_buf_init_fixed(&buf, text, sizeof(text));
    enum mg_fact fact = mg_workflow_signal_key(&input->input, step, &buf, ret_why);
    if (fact == MG_FACT_ERROR) {
        return fact;
    }
    mg_step_error_set(after, no_key, no_key); /* of an earlier wait */
    after->open = mg_kept_signals_begin(batch, fold, step, fact == MG_FACT_GO ? mg_buf_slice(&buf) : no_key,
                                        ret_moves, &sum);
    facts->signal = sum.fact;
    if (sum.fact == MG_SIGNAL_FACT_DONE) {
        after->result = sum.payload;
    } else if (sum.fact == MG_SIGNAL_FACT_REFUSED) {
        reason_keep(fold, MG_REASON_SIGNAL_REFUSED,
                    mg_arena_printf(batch->arena, "%s (by %.*s)", sum.why, (int)sum.by.len, sum.by.data),
                    after);
    }
    return MG_FACT_GO;
}

void mg_guard_evaluate(struct mg_batch *batch, struct mg_fold *fold, int step, struct mg_step_record *after,
                       struct mg_signal_moves *ret_moves, struct mg_cause_facts *ret_facts)
{
    static const enum mg_reason reasons[] = {[MG_FACT_GO] = MG_REASON_NONE,
                                             [MG_FACT_SKIP] = MG_REASON_WHEN_FALSE,
                                             [MG_FACT_REFUSE] = MG_REASON_REQUIREMENT,
                                             [MG_FACT_ERROR] = MG_REASON_EXPRESSION};
    struct mg_order_input input;
    struct mg_slice text;
    struct mg_buf why;
    mg_order_input_make(fold->workflow->workflow, fold->record, step, &input);
    mg_buf_init(&why, WHY_MAX);
    enum mg_fact fact = mg_workflow_guard_decide(&input.input, step, &text, &why);
    ret_moves->count = 0;
    ret_facts->until_ms = 0;
    ret_facts->signal = MG_SIGNAL_FACT_NONE;
    if (fact == MG_FACT_GO) {
        mg_buf_clear(&why);
        fact = until_find(batch, &input, step, &ret_facts->until_ms, &why);
    }
    if (fact == MG_FACT_GO && fold->workflow->workflow->plan.steps[step].is_signal) {
        mg_buf_clear(&why);
        fact = signals_find(batch, fold, &input, step, after, ret_moves, ret_facts, &why);
    }
    enum mg_reason reason = reasons[fact];
    if (fact == MG_FACT_SKIP &&
        fold->record->order.steps[step].is_maybe) { /* the core refuses to pass it by */
        reason = MG_REASON_SKIP_REFUSED;
        text = mg_slice_of(mg_reason_text(reason));
    }
    if (fact != MG_FACT_GO) {
        reason_keep(fold, reason, why_make(batch, text, mg_buf_slice(&why)), after);
    }
    mg_buf_finish(&why);
    ret_facts->fact = fact;
}

void mg_guard_note_needs(struct mg_batch *batch, struct mg_fold *fold)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    if (!workflow->has_guards) {
        return;
    }
    for (int i = 0; i < batch->decision.transition_count; i++) {
        const struct mg_transition *transition = &batch->decision.transitions[i];
        if (transition->step < 0 || transition->reason != MG_REASON_NEEDS_SKIPPED) {
            continue;
        }
        uint64_t missing = workflow->plan.steps[transition->step].needs & skipped_steps(&fold->record->order);
        const char *why = mg_arena_printf(batch->arena, "step \"%s\", which it needs, was skipped",
                                          workflow->steps[__builtin_ctzll(missing)].name);
        reason_keep(fold, transition->reason, why, &fold->record->steps[transition->step]);
        fold->touched |= UINT64_C(1) << transition->step;
    }
}
