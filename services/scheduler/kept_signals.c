/* See kept_signals.h. */
#include "kept_signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "json/scan.h"
#include "order_input.h"
#include "signal_sender.h"
#include "workflow/answer_conditions.h"

static struct mg_slice signals_of(struct mg_slice open)
{
    return open.data != NULL ? mg_json_find(open, "/signals") : open;
}

bool mg_kept_signals_key_split(struct mg_slice key, struct mg_slice *ret_signal, struct mg_slice *ret_key)
{
    const char *slash = key.data != NULL ? memchr(key.data, '/', key.len) : NULL;
    if (slash == NULL) {
        return false;
    }
    size_t len = (size_t)(slash - key.data);
    *ret_signal = (struct mg_slice){key.data, len};
    *ret_key = (struct mg_slice){slash + 1, key.len - len - 1};
    return true;
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
    return mg_json_count(signals_of(open));
}

int mg_kept_signals_idle_count(struct mg_slice open)
{
    struct mg_slice number = open.data != NULL ? mg_json_find(open, "/idle") : open;
    return number.data != NULL ? (int)strtol(number.data, NULL, 10) : 0; /* this program's own text */
}

/* True if this member of a kept signal is this text. */
static bool has_member(struct mg_slice open, const char *pointer, struct mg_slice text)
{
    struct mg_slice name, value;
    struct mg_json_walk walk = mg_json_walk_of(signals_of(open));
    while (mg_json_walk_next(&walk, &name, &value)) {
        if (mg_json_string_is(mg_json_find(value, pointer), text)) {
            return true;
        }
    }
    return false;
}

bool mg_kept_signals_has(struct mg_slice open, struct mg_slice id)
{
    return has_member(open, "/id", id);
}

bool mg_kept_signals_has_sender(struct mg_slice open, struct mg_slice by)
{
    return has_member(open, "/by", by);
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
    struct mg_slice since, key, from, signals;
    int idle_count;
};

static struct parts parts_of(struct mg_slice open)
{
    struct parts parts = {.signals = signals_of(open), .idle_count = mg_kept_signals_idle_count(open)};
    if (open.data != NULL) {
        parts.since = mg_json_find(open, "/since");
        parts.key = mg_json_find(open, "/key");
        parts.from = mg_json_find(open, "/from");
    }
    return parts;
}

static void member_put(struct mg_json_writer *json, const char *name, struct mg_slice value)
{
    if (value.data != NULL) {
        mg_json_member_raw(json, name, value);
    }
}

/* All but the signals, which follow. */
static void text_begin(struct mg_batch *batch, const struct parts *parts, struct mg_json_writer *ret_json)
{
    mg_buf_clear(&batch->scratch);
    *ret_json = mg_json_compact(&batch->scratch);
    mg_json_object_begin(ret_json);
    member_put(ret_json, "since", parts->since);
    member_put(ret_json, "key", parts->key);
    member_put(ret_json, "from", parts->from);
    if (parts->idle_count > 0) {
        mg_json_member_int(ret_json, "idle", parts->idle_count);
    }
    mg_json_member_array(ret_json, "signals");
}

/* Absent: no memory. */
static struct mg_slice text_end(struct mg_batch *batch, struct mg_json_writer *json)
{
    mg_json_array_end(json);
    mg_json_object_end(json);
    return batch->scratch.failed ? (struct mg_slice){NULL, 0}
                                 : mg_arena_copy(batch->arena, mg_buf_slice(&batch->scratch));
}

/* With one more signal (NULL: none). */
static struct mg_slice text_make(struct mg_batch *batch, const struct parts *parts,
                                 const struct mg_signal *more)
{
    struct mg_json_writer json;
    struct mg_slice name, value;
    text_begin(batch, parts, &json);
    struct mg_json_walk walk = mg_json_walk_of(parts->signals);
    while (mg_json_walk_next(&walk, &name, &value)) {
        mg_json_element_raw(&json, value);
    }
    if (more != NULL) {
        signal_put(&json, more, batch->now_ms);
    }
    return text_end(batch, &json);
}

struct mg_slice mg_kept_signals_add(struct mg_batch *batch, struct mg_slice open,
                                    const struct mg_signal *signal)
{
    const struct parts parts = parts_of(open);
    return text_make(batch, &parts, signal);
}

struct mg_slice mg_kept_signals_add_idle(struct mg_batch *batch, struct mg_slice open)
{
    struct parts parts = parts_of(open);
    parts.idle_count++;
    return text_make(batch, &parts, NULL);
}

static void step_clear(struct mg_fold *fold, int step)
{
    if (fold->record->steps[step].open.data != NULL) {
        fold->record->steps[step].open = (struct mg_slice){NULL, 0};
        fold->touched |= UINT64_C(1) << step;
    }
}

void mg_kept_signals_end(struct mg_fold *fold, const struct mg_decision *decision)
{
    for (int i = 0; i < decision->transition_count; i++) {
        const struct mg_transition *transition = &decision->transitions[i];
        bool has_waited = transition->step >= 0 && transition->from == MG_STEP_WAITING;
        if (has_waited && transition->to != MG_STEP_WAITING &&
            fold->workflow->workflow->plan.steps[transition->step].is_signal) {
            step_clear(fold, transition->step);
        }
    }
}

/* ---- the sum ---- */

static bool sum_is_ended(const struct mg_signal_sum *sum)
{
    return sum->fact != MG_SIGNAL_FACT_NONE;
}

/* True if the signal counts for the step: it ends it, or is one of those that it needs. */
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
    return true;
}

void mg_kept_signals_sum(const struct mg_fold *fold, int step, struct mg_slice open,
                         struct mg_signal_sum *ret_sum)
{
    struct mg_order_input input;
    struct mg_slice name, value;
    int done_count = 0;
    *ret_sum = (struct mg_signal_sum){.fact = MG_SIGNAL_FACT_NONE};
    mg_order_input_make(fold->workflow->workflow, fold->record, step, &input);
    struct mg_json_walk walk = mg_json_walk_of(signals_of(open));
    while (!sum_is_ended(ret_sum) && mg_json_walk_next(&walk, &name, &value)) {
        (void)sum_add(&input.input, step, value, &done_count, ret_sum);
    }
}

/* ---- the begin of a wait ---- */

/* The signals of one name are divided: for the step, for the next one, and those without use. */
struct division {
    const struct mg_fold *fold;
    int step, heir; /* heir: the first other step of the name that has not begun; -1: none */
    struct mg_order_input input;
    struct mg_slice taken[MG_SIGNAL_OF_MAX]; /* that the step counts */
    int taken_count;
    struct mg_slice *rest; /* for the heir */
    int rest_count;
    struct mg_signal_sum *sum;
};

static bool is_of_name(const struct mg_fold *fold, int step, int other)
{
    const struct mg_workflow_step *steps = fold->workflow->workflow->steps;
    return steps[other].signal != NULL && strcmp(steps[other].signal->name, steps[step].signal->name) == 0;
}

static bool has_signed(const struct division *division, struct mg_slice signal)
{
    struct mg_slice by = mg_json_find(signal, "/by");
    for (int i = 0; i < division->taken_count; i++) {
        if (mg_slice_equal(mg_json_find(division->taken[i], "/by"), by)) {
            return true;
        }
    }
    return false;
}

static bool may_count(const struct division *division, struct mg_slice signal)
{
    const struct mg_fold *fold = division->fold;
    char by[MG_COMMAND_BY_MAX + 1];
    struct mg_buf text;
    mg_buf_init_fixed(&text, by, sizeof(by));
    return !sum_is_ended(division->sum) && mg_json_string(mg_json_find(signal, "/by"), &text) &&
           mg_signal_may_send(mg_buf_slice(&text), fold->record,
                              fold->workflow->workflow->steps[division->step].signal);
}

/* A second signature of one sender is dropped, as it is refused while the step waits. */
static void signal_divide(struct division *division, struct mg_slice signal)
{
    bool is_signed = has_signed(division, signal);
    int done_count = division->taken_count - (is_signed ? 1 : 0);
    bool is_for_step = may_count(division, signal) &&
                       sum_add(&division->input.input, division->step, signal, &done_count, division->sum);
    if (!is_for_step && division->heir >= 0) {
        division->rest[division->rest_count++] = signal;
    } else if (is_for_step && !is_signed && division->taken_count < MG_SIGNAL_OF_MAX) {
        division->taken[division->taken_count++] = signal;
    }
}

/* True if the other step has kept signals of the name. Those of a step that waits are its own. */
static bool is_holder(const struct mg_fold *fold, int step, int other)
{
    return is_of_name(fold, step, other) && fold->record->steps[other].open.data != NULL &&
           !mg_step_is_open(&fold->record->order.steps[other]);
}

static bool divide(struct mg_batch *batch, struct division *division)
{
    const struct mg_fold *fold = division->fold;
    struct mg_slice name, value;
    int count = 0;
    division->heir = -1;
    for (int i = 0; i < fold->record->order.step_count; i++) {
        bool is_other = i != division->step && is_of_name(fold, division->step, i);
        if (is_other && division->heir < 0 && fold->record->order.steps[i].state == MG_STEP_PENDING) {
            division->heir = i;
        }
        count += is_holder(fold, division->step, i) ? mg_kept_signals_count(fold->record->steps[i].open) : 0;
    }
    division->rest = mg_arena_alloc(batch->arena, ((size_t)count + 1) * sizeof(*division->rest));
    for (int i = 0; division->rest != NULL && i < fold->record->order.step_count; i++) {
        struct mg_json_walk walk =
            mg_json_walk_of(is_holder(fold, division->step, i) ? signals_of(fold->record->steps[i].open)
                                                               : (struct mg_slice){NULL, 0});
        while (mg_json_walk_next(&walk, &name, &value)) {
            signal_divide(division, value);
        }
    }
    return division->rest != NULL;
}

static struct mg_slice list_make(struct mg_batch *batch, const struct parts *parts,
                                 const struct mg_slice *signals, int count)
{
    struct mg_json_writer json;
    text_begin(batch, parts, &json);
    for (int i = 0; i < count; i++) {
        mg_json_element_raw(&json, signals[i]);
    }
    return text_end(batch, &json);
}

/* The other holders have nothing any more, but for the heir. */
static void moves_make(struct mg_batch *batch, struct mg_fold *fold, const struct division *division,
                       struct mg_signal_moves *ret_moves)
{
    int step_count = fold->record->order.step_count;
    ret_moves->steps = mg_arena_alloc(batch->arena, (size_t)step_count * sizeof(*ret_moves->steps));
    fold->has_failed = fold->has_failed || ret_moves->steps == NULL;
    for (int i = 0; !fold->has_failed && i < step_count; i++) {
        bool has_rest = i == division->heir && division->rest_count > 0;
        if (i == division->step || (!has_rest && !is_holder(fold, division->step, i))) {
            continue;
        }
        struct mg_signal_move *move = &ret_moves->steps[ret_moves->count++];
        *move = (struct mg_signal_move){.step = i};
        if (has_rest) {
            const struct parts parts = {.idle_count = 0};
            move->open = list_make(batch, &parts, division->rest, division->rest_count);
            fold->has_failed = fold->has_failed || move->open.data == NULL;
        }
    }
}

/* `key` as "NAME/KEY", and the senders. */
static void key_note(struct mg_batch *batch, const struct mg_fold *fold, int step, struct mg_slice key,
                     struct parts *parts)
{
    const struct mg_signal_wait *wait = fold->workflow->workflow->steps[step].signal;
    struct mg_buf *scratch = &batch->scratch;
    mg_buf_clear(scratch);
    mg_buf_append_json(
        scratch, mg_slice_of(mg_arena_printf(batch->arena, "%s/%.*s", wait->name, (int)key.len, key.data)));
    parts->key = mg_arena_copy(batch->arena, mg_buf_slice(scratch));
    mg_buf_clear(scratch);
    mg_signal_senders_write(fold->record, wait, scratch);
    parts->from = mg_arena_copy(batch->arena, mg_buf_slice(scratch));
}

static struct mg_slice wait_make(struct mg_batch *batch, struct mg_fold *fold,
                                 const struct division *division, struct mg_slice key)
{
    char since[MG_TIME_TEXT_SIZE], quoted[MG_TIME_TEXT_SIZE + 2];
    struct parts parts = {.idle_count = 0};
    mg_time_format(batch->now_ms, since);
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", since);
    parts.since = mg_slice_of(quoted);
    if (key.data != NULL) {
        key_note(batch, fold, division->step, key, &parts);
        fold->has_failed = fold->has_failed || parts.key.data == NULL || parts.from.data == NULL;
    }
    struct mg_slice text = list_make(batch, &parts, division->taken, division->taken_count);
    fold->has_failed = fold->has_failed || text.data == NULL;
    return text;
}

struct mg_slice mg_kept_signals_begin(struct mg_batch *batch, struct mg_fold *fold, int step,
                                      struct mg_slice key, struct mg_signal_moves *ret_moves,
                                      struct mg_signal_sum *ret_sum)
{
    struct division division = {.fold = fold, .step = step, .sum = ret_sum};
    *ret_sum = (struct mg_signal_sum){.fact = MG_SIGNAL_FACT_NONE};
    mg_order_input_make(fold->workflow->workflow, fold->record, step, &division.input);
    if (!divide(batch, &division)) {
        fold->has_failed = true;
        return (struct mg_slice){NULL, 0};
    }
    moves_make(batch, fold, &division, ret_moves);
    return sum_is_ended(ret_sum) ? (struct mg_slice){NULL, 0} : wait_make(batch, fold, &division, key);
}
