/* Compares the end of an order with the expectations of its case. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "json/differ.h"
#include "json/scan.h"
#include "play.h"

#define FAULTS_MAX 50  /* of one case; a person repairs the first ones anyway */
#define SHOWN_MAX  160 /* bytes of a value in a message */
/* Calls and labels as text; CAUSES_MAX of a run bounds the calls. */
#define TEXT_MAX_BYTES ((size_t)4 * 1024 * 1024)

void mg_play_fault(struct mg_play *play, const char *pointer, const char *format, ...)
{
    struct mg_rehearsal *rehearsal = play->rehearsal;
    if (rehearsal->fault_count++ >= FAULTS_MAX) {
        return;
    }
    struct mg_fault *fault = mg_arena_alloc(rehearsal->arena, sizeof(*fault));
    if (fault == NULL) {
        play->has_failed = true;
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof(fault->text), format, args);
    va_end(args);
    mg_utf8_mend(fault->text);
    snprintf(fault->pointer, sizeof(fault->pointer), "%s", pointer);
    struct mg_fault **last = &rehearsal->faults;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = fault;
}

static void on_difference(void *arg, const char *pointer, struct mg_slice expected, struct mg_slice actual)
{
    struct mg_slice values[] = {expected, actual};
    const char *more[2];
    for (int i = 0; i < 2; i++) {
        more[i] = values[i].len > SHOWN_MAX ? " …" : "";
        values[i] = values[i].data == NULL ? mg_slice_of("nothing") : values[i];
        values[i].len = mg_utf8_cut(values[i], SHOWN_MAX);
    }
    mg_play_fault(arg, pointer, "expected %.*s%s, and it is %.*s%s", (int)values[0].len, values[0].data,
                  more[0], (int)values[1].len, values[1].data, more[1]);
}

static void compare(struct mg_play *play, const char *member, struct mg_slice expected,
                    struct mg_slice actual, enum mg_json_differ_how how)
{
    char pointer[128];
    if (expected.data != NULL) {
        snprintf(pointer, sizeof(pointer), "%s/expect/%s", play->one->pointer, member);
        (void)mg_json_differ(expected, actual, pointer, how, on_difference, play);
    }
}

static void judge_end(struct mg_play *play)
{
    const struct mg_case *one = play->one;
    const char *expected = one->is_rejected ? "rejected"
                           : one->is_stuck  ? "waiting"
                                            : mg_order_state_name(one->end);
    char pointer[128];
    if (strcmp(expected, play->rehearsal->end) == 0) {
        return;
    }
    struct mg_slice why = play->is_rejected ? play->refusal : play->cause;
    snprintf(pointer, sizeof(pointer), "%s/expect/end", one->pointer);
    mg_play_fault(play, pointer, "expected %s, and the order ended as %s%s%.*s", expected,
                  play->rehearsal->end, why.data != NULL ? ", because of " : "",
                  (int)mg_utf8_cut(why, SHOWN_MAX), why.data != NULL ? why.data : "");
}

static void judge_steps(struct mg_play *play)
{
    const struct mg_order *order = mg_desk_order(play->desk);
    struct mg_buf text;
    mg_buf_init(&text, TEXT_MAX_BYTES);
    struct mg_json_writer json = mg_json_compact(&text);
    mg_json_object_begin(&json);
    for (int i = 0; order != NULL && i < order->step_count; i++) {
        mg_json_member_word(&json, play->workflow->steps[i].name, mg_step_state_name(order->steps[i].state));
    }
    mg_json_object_end(&json);
    play->has_failed = play->has_failed || text.failed;
    compare(play, "steps", play->one->steps, mg_buf_slice(&text), MG_DIFFER_NAMED);
    mg_buf_finish(&text);
}

static void judge_calls(struct mg_play *play)
{
    struct mg_buf text;
    mg_buf_init(&text, TEXT_MAX_BYTES);
    mg_buf_append_text(&text, "[");
    for (const struct mg_call *call = play->calls; call != NULL; call = call->next) {
        mg_buf_printf(&text, "%s\"%s.%s\"", call == play->calls ? "" : ",",
                      play->workflow->steps[call->step].name, mg_kind_name(call->kind));
    }
    mg_buf_append_text(&text, "]");
    play->has_failed = play->has_failed || text.failed;
    compare(play, "calls", play->one->calls, mg_buf_slice(&text), MG_DIFFER_WHOLE);
    mg_buf_finish(&text);
}

/* ---- requests ---- */

static const struct mg_call *call_find(const struct mg_play *play, int step, enum mg_kind kind,
                                       int64_t number)
{
    for (const struct mg_call *call = play->calls; call != NULL; call = call->next) {
        if (call->step == step && call->kind == kind && --number == 0) {
            return call;
        }
    }
    return NULL;
}

static int64_t number_of(struct mg_slice value)
{
    int64_t number = 0;
    for (size_t i = 0; i < value.len; i++) { /* checked: a positive integer */
        number = number * 10 + (value.data[i] - '0');
    }
    return value.data != NULL ? number : 1;
}

static void judge_request(struct mg_play *play, struct mg_slice expected, int index)
{
    struct mg_slice name = mg_json_find(expected, "/step"), word = mg_json_find(expected, "/kind");
    enum mg_kind kind = MG_KIND_DO;
    char pointer[128];
    int step = mg_workflow_step_index(play->workflow, (struct mg_slice){name.data + 1, name.len - 2});
    if (word.data != NULL) {
        (void)mg_kind_parse(word.data + 1, word.len - 2, &kind);
    }
    int64_t number = number_of(mg_json_find(expected, "/number"));
    const struct mg_call *call = call_find(play, step, kind, number);
    snprintf(pointer, sizeof(pointer), "%s/expect/requests/%d/request", play->one->pointer, index);
    if (call == NULL) {
        mg_play_fault(play, pointer, "step %s made no call %lld of kind %s", play->workflow->steps[step].name,
                      (long long)number, mg_kind_name(kind));
        return;
    }
    (void)mg_json_differ(mg_json_find(expected, "/request"), call->request, pointer, MG_DIFFER_NAMED,
                         on_difference, play);
}

static void judge_requests(struct mg_play *play)
{
    struct mg_slice none, value;
    if (play->one->requests.data == NULL) {
        return;
    }
    struct mg_json_walk walk = mg_json_walk_of(play->one->requests);
    for (int i = 0; mg_json_walk_next(&walk, &none, &value); i++) {
        judge_request(play, mg_json_trim(value), i);
    }
}

/* An answer that no call took shows that the case tells another story than the order had. */
static void judge_answers(struct mg_play *play)
{
    int seen[MG_STEPS_MAX][MG_KIND_COUNT] = {{0}};
    for (const struct mg_case_answer *answer = play->one->answers; answer != NULL; answer = answer->next) {
        if (seen[answer->step][answer->kind]++ >= play->taken[answer->step][answer->kind]) {
            mg_play_fault(play, answer->pointer, "no call asked for this answer; leave it out");
        }
    }
}

static void judge_labels(struct mg_play *play)
{
    struct mg_buf labels;
    mg_buf_init(&labels, TEXT_MAX_BYTES);
    mg_desk_labels(play->desk, &labels);
    play->has_failed = play->has_failed || labels.failed;
    compare(play, "labels", play->one->labels, mg_buf_slice(&labels), MG_DIFFER_WHOLE);
    mg_buf_finish(&labels);
}

void mg_play_judge(struct mg_play *play)
{
    if (play->lacks_answer) {
        return; /* the rest is not known */
    }
    judge_end(play);
    judge_steps(play);
    judge_calls(play);
    judge_requests(play);
    judge_answers(play);
    judge_labels(play);
    compare(play, "output", play->one->output, play->output, MG_DIFFER_WHOLE);
    compare(play, "cause", play->one->cause, play->cause, MG_DIFFER_NAMED);
}
