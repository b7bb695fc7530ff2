/* See kept_signals.h. */
#include "kept_signals.h"

#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "json/scan.h"
#include "order_input.h"
#include "workflow/answer_conditions.h"

static struct mg_slice signals_of(struct mg_slice open)
{
    return open.data != NULL ? mg_json_find(open, "/signals") : open;
}

void mg_kept_signals_note_key(struct mg_fold *fold, int step)
{
    struct mg_slice open = fold->record->steps[step].open;
    bool is_waiting = mg_step_is_open(&fold->record->order.steps[step]);
    if (is_waiting && open.data != NULL && mg_json_find(open, "/key").data != NULL) {
        fold->opened |= UINT64_C(1) << step;
    }
}

int mg_kept_signals_count(struct mg_slice open)
{
    struct mg_json_walk walk;
    struct mg_slice name, value;
    int count = 0;
    mg_json_walk_begin(&walk, signals_of(open));
    while (mg_json_walk_next(&walk, &name, &value)) {
        count++;
    }
    return count;
}

bool mg_kept_signals_has_sender(struct mg_slice open, struct mg_slice by)
{
    struct mg_json_walk walk;
    struct mg_slice name, value;
    mg_json_walk_begin(&walk, signals_of(open));
    while (mg_json_walk_next(&walk, &name, &value)) {
        if (mg_json_string_is(mg_json_find(value, "/by"), by)) {
            return true;
        }
    }
    return false;
}

static void signal_put(struct mg_json_writer *json, const struct mg_signal *signal, int64_t now_ms)
{
    char at[MG_TIME_TEXT_SIZE];
    mg_time_format(now_ms, at);
    mg_json_element_object(json);
    mg_json_member_text(json, "id", signal->id);
    mg_json_member_text(json, "by", signal->by);
    mg_json_member_word(json, "at", at);
    mg_json_member_raw(json, "payload", signal->payload);
    mg_json_object_end(json);
}

/* The parts of such a text: JSON; absent: it has none. */
struct parts {
    struct mg_slice since, key, signals;
};

static struct parts parts_of(struct mg_slice open)
{
    struct parts parts = {.signals = signals_of(open)};
    if (open.data != NULL) {
        parts.since = mg_json_find(open, "/since");
        parts.key = mg_json_find(open, "/key");
    }
    return parts;
}

/* With one more signal (NULL: none). */
static struct mg_slice text_make(struct mg_batch *batch, const struct parts *parts,
                                 const struct mg_signal *more)
{
    struct mg_json_writer json = mg_json_compact(&batch->scratch);
    struct mg_json_walk walk;
    struct mg_slice name, value;
    mg_buf_clear(&batch->scratch);
    mg_json_object_begin(&json);
    if (parts->since.data != NULL) {
        mg_json_member_raw(&json, "since", parts->since);
    }
    if (parts->key.data != NULL) {
        mg_json_member_raw(&json, "key", parts->key);
    }
    mg_json_member_array(&json, "signals");
    mg_json_walk_begin(&walk, parts->signals);
    while (mg_json_walk_next(&walk, &name, &value)) {
        mg_json_element_raw(&json, value);
    }
    if (more != NULL) {
        signal_put(&json, more, batch->now_ms);
    }
    mg_json_array_end(&json);
    mg_json_object_end(&json);
    return batch->scratch.failed ? (struct mg_slice){NULL, 0}
                                 : mg_arena_copy(batch->arena, mg_buf_slice(&batch->scratch));
}

struct mg_slice mg_kept_signals_add(struct mg_batch *batch, struct mg_slice open,
                                    const struct mg_signal *signal)
{
    const struct parts parts = parts_of(open);
    return text_make(batch, &parts, signal);
}

/* A text as a JSON string. */
static struct mg_slice quote(struct mg_batch *batch, const char *text)
{
    mg_buf_clear(&batch->scratch);
    mg_buf_append_json(&batch->scratch, mg_slice_of(text));
    return mg_arena_copy(batch->arena, mg_buf_slice(&batch->scratch));
}

struct mg_slice mg_kept_signals_begin(struct mg_batch *batch, struct mg_fold *fold, struct mg_slice open,
                                      const char *key)
{
    char since[MG_TIME_TEXT_SIZE];
    struct parts parts = {.signals = signals_of(open)};
    mg_time_format(batch->now_ms, since);
    parts.since = quote(batch, since);
    if (key[0] != '\0') {
        parts.key = quote(batch, key);
    }
    bool has_parts = parts.since.data != NULL && (key[0] == '\0' || parts.key.data != NULL);
    struct mg_slice text = has_parts ? text_make(batch, &parts, NULL) : (struct mg_slice){NULL, 0};
    fold->has_failed = fold->has_failed || text.data == NULL;
    return text;
}

static void step_end(struct mg_batch *batch, struct mg_fold *fold, int step)
{
    struct mg_step_record *record = &fold->record->steps[step];
    const struct parts parts = {.signals = signals_of(record->open)};
    if (record->open.data == NULL) {
        return;
    }
    bool has_any = mg_kept_signals_count(record->open) > 0;
    record->open = has_any ? text_make(batch, &parts, NULL) : (struct mg_slice){NULL, 0};
    fold->has_failed = fold->has_failed || (has_any && record->open.data == NULL);
    fold->touched |= UINT64_C(1) << step;
}

void mg_kept_signals_end(struct mg_batch *batch, struct mg_fold *fold)
{
    for (int i = 0; i < batch->decision.transition_count; i++) {
        const struct mg_transition *transition = &batch->decision.transitions[i];
        bool is_signal =
            transition->step >= 0 && fold->workflow->workflow->plan.steps[transition->step].is_signal;
        if (is_signal && transition->from == MG_STEP_WAITING && transition->to != MG_STEP_WAITING) {
            step_end(batch, fold, transition->step);
        }
    }
}

/* ---- the sum ---- */

/* True if the step's kept signals are for the step `heir`: they are its own, or it was skipped, and no step
 * between them waits for the same. */
static bool is_heir(const struct mg_fold *fold, int step, int heir)
{
    const struct mg_workflow_step *steps = fold->workflow->workflow->steps;
    for (int i = step; i < heir; i++) {
        bool is_same =
            steps[i].signal != NULL && strcmp(steps[i].signal->name, steps[heir].signal->name) == 0;
        if (is_same && fold->record->order.steps[i].state != MG_STEP_SKIPPED) {
            return false;
        }
    }
    return steps[step].signal != NULL && strcmp(steps[step].signal->name, steps[heir].signal->name) == 0;
}

/* True if the signal ends the step. */
static bool sum_add(const struct mg_render_input *input, int step, struct mg_slice signal, int *done_count,
                    struct mg_signal_sum *sum)
{
    struct mg_slice payload = mg_json_find(signal, "/payload");
    switch (mg_workflow_signal_judge(input, step, payload, sum->why)) {
    case MG_ANSWER_REFUSED:
        sum->fact = MG_SIGNAL_FACT_REFUSED;
        sum->by = mg_json_find(signal, "/by");
        break;
    case MG_ANSWER_DONE:
        (*done_count)++;
        sum->fact = *done_count >= input->workflow->steps[step].signal->of ? MG_SIGNAL_FACT_DONE
                                                                           : MG_SIGNAL_FACT_NONE;
        break;
    case MG_ANSWER_OPEN:
    case MG_ANSWER_UNCLEAR:
        return false;
    }
    sum->payload = payload;
    return sum->fact != MG_SIGNAL_FACT_NONE;
}

void mg_kept_signals_sum(const struct mg_fold *fold, int step, struct mg_slice open,
                         struct mg_signal_sum *ret_sum)
{
    struct mg_order_input input;
    struct mg_json_walk walk;
    struct mg_slice name, value;
    int done_count = 0;
    *ret_sum = (struct mg_signal_sum){.fact = MG_SIGNAL_FACT_NONE};
    mg_order_input_make(fold->workflow->workflow, fold->record, step, &input);
    for (int i = 0; i <= step; i++) {
        if (!is_heir(fold, i, step)) {
            continue;
        }
        mg_json_walk_begin(&walk, signals_of(i == step ? open : fold->record->steps[i].open));
        while (mg_json_walk_next(&walk, &name, &value)) {
            if (sum_add(&input.input, step, value, &done_count, ret_sum)) {
                return;
            }
        }
    }
}
