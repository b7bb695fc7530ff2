/* `workflow describe`: a definition in sentences, in the order of its steps. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "definition.h"
#include "expr/expr.h"
#include "json/scan.h"
#include "operator/awaited.h"
#include "verb_table.h"

#define SENTENCE_SIZE 1024 /* a longer one is cut: a body of many members */
#define SHOWN_MAX     400  /* bytes of a template in a sentence */
#define DURATION_SIZE 32
#define SENDERS_MAX   1024 /* of one step, as words */
#define WHOLE         (-1) /* about the workflow, not about a step */

struct telling {
    struct mg_cli *cli;
    const struct mg_workflow *workflow;
    struct mg_json_writer *json; /* NULL: text */
};

static void say(struct telling *telling, int step, const char *format, ...) MG_PRINTF(3, 4);

static void say(struct telling *telling, int step, const char *format, ...)
{
    char text[SENTENCE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mg_utf8_mend(text);
    if (telling->json == NULL) {
        mg_print(stdout, "%s%s\n", step == WHOLE ? "" : "   ", text);
        return;
    }
    mg_json_element_object(telling->json);
    mg_json_member_string_or_null(telling->json, "step",
                                  step != WHOLE ? telling->workflow->steps[step].name : NULL);
    mg_json_member_string(telling->json, "text", text);
    mg_json_object_end(telling->json);
}

static const char *duration(int64_t ms, char ret[DURATION_SIZE])
{
    mg_duration_format(ms, ret, DURATION_SIZE);
    return ret;
}

/* ---- the workflow ---- */

static const char *reaction(enum mg_on_failure reaction)
{
    return reaction == MG_ON_FAILURE_COMPENSATE
               ? "everything that may have happened is undone, the last step first"
               : "the order stops, and an operator decides";
}

/* On one line: JSON has no line's end within a text. */
static void shown(struct mg_slice text, char ret[SHOWN_MAX + 8])
{
    size_t len = 0, at = 0;
    while (at < text.len && len < SHOWN_MAX) {
        bool is_end = text.data[at] == '\n' || text.data[at] == '\r' || text.data[at] == '\t';
        ret[len++] = is_end ? ' ' : text.data[at];
        at++;
        while (is_end && at < text.len && strchr(" \t\r\n", text.data[at]) != NULL) {
            at++;
        }
    }
    snprintf(ret + mg_utf8_cut((struct mg_slice){ret, len}, len), 8, "%s", at < text.len ? " …" : "");
}

static void member_say(struct telling *telling, const char *pointer, const char *format)
{
    char text[SHOWN_MAX + 8], sentence[SENTENCE_SIZE];
    struct mg_slice value = mg_json_find(telling->workflow->text, pointer);
    if (value.data != NULL) {
        shown(value, text);
        snprintf(sentence, sizeof(sentence), "%s %s.", format, text);
        say(telling, WHOLE, "%s", sentence);
    }
}

/* ---- guards ---- */

/* "a", "a and b", "a, b and c". */
static void names_join(const struct mg_workflow *workflow, uint64_t steps, const char *last, char *ret,
                       size_t size)
{
    size_t len = 0;
    ret[0] = '\0';
    for (; steps != 0 && len < size; steps &= steps - 1) {
        bool is_last = (steps & (steps - 1)) == 0;
        len += (size_t)snprintf(ret + len, size - len, "%s%s",
                                len == 0  ? ""
                                : is_last ? last
                                          : ", ",
                                workflow->steps[__builtin_ctzll(steps)].name);
    }
}

static void requirements_say(struct telling *telling, int step)
{
    char that[SHOWN_MAX + 8], text[SHOWN_MAX + 8];
    struct mg_slice expr, words;
    bool is_order = step == WHOLE;
    int of = is_order ? MG_STEP_OF_ORDER : step;
    for (int i = 0; mg_workflow_condition(telling->workflow, of, i, &expr, &words); i++) {
        shown(expr, that);
        shown(words, text);
        say(telling, step,
            is_order ? "An order is rejected unless %s. Its client gets \"%s\"."
                     : "It requires %s. Otherwise it fails without a call, and the client gets \"%s\".",
            that, text);
    }
}

static void guard_say(struct telling *telling, int step)
{
    uint64_t needs = telling->workflow->plan.steps[step].needs;
    char text[SHOWN_MAX + 8];
    struct mg_slice expr, none;
    if (needs != 0) {
        names_join(telling->workflow, needs, " or ", text, sizeof(text));
        say(telling, step, "It is skipped if %s was skipped.", text);
    }
    if (mg_workflow_condition(telling->workflow, step, MG_CONDITION_WHEN, &expr, &none)) {
        shown(expr, text);
        say(telling, step, "It runs only if %s. Otherwise it is skipped, and the steps after it go on.",
            text);
    }
    requirements_say(telling, step);
}

static void line_say(struct telling *telling)
{
    const struct mg_workflow *workflow = telling->workflow;
    char key[SHOWN_MAX + 8];
    if (workflow->plan.sequence == MG_SEQUENCE_NONE) {
        return;
    }
    shown(workflow->sequence.key, key);
    say(telling, WHOLE,
        "Orders with the same key %s run one at a time, in the order in which they are accepted; beyond %lld of a "
        "key one is rejected. An order in error %s.",
        key, (long long)workflow->sequence.at_most,
        workflow->plan.sequence == MG_SEQUENCE_HOLD ? "holds up those after it until an operator acts"
                                                    : "lets the next one go");
}

static void workflow_say(struct telling *telling)
{
    const struct mg_workflow *workflow = telling->workflow;
    const struct mg_plan *plan = &workflow->plan;
    char time[DURATION_SIZE];
    say(telling, WHOLE, "Workflow %s, version %lld, has %d step%s.", workflow->name,
        (long long)workflow->version, plan->step_count, plan->step_count == 1 ? "" : "s");
    member_say(telling, "/input", "A submission whose payload has another shape is rejected:");
    requirements_say(telling, WHOLE);
    if (plan->complete_within_ms > 0) {
        say(telling, WHOLE, "The forward work has %s; after that %s.",
            duration(plan->complete_within_ms, time), reaction(plan->on_expiry));
    } else {
        say(telling, WHOLE, "The forward work has no limit of time.");
    }
    say(telling, WHOLE, "If a step fails for good, %s.", reaction(plan->on_failure));
    line_say(telling);
    member_say(telling, "/labels", "Operators find an order by its labels:");
    member_say(telling, "/values", "Computed values:");
}

/* ---- a step ---- */

static void begin_say(struct telling *telling, int step)
{
    uint64_t after = telling->workflow->plan.steps[step].after;
    const char *word, *service = telling->workflow->steps[step].service;
    char names[SHOWN_MAX], does[2 * SHOWN_MAX], shown_text[SHOWN_MAX + 8];
    struct mg_slice text;
    if (mg_workflow_wait(telling->workflow, step, &word, &text)) {
        shown(text, shown_text);
        snprintf(does, sizeof(does), "waits %s %s", word, shown_text);
    } else {
        snprintf(does, sizeof(does), "calls %s", service);
    }
    names_join(telling->workflow, after, " and ", names, sizeof(names));
    if (after == 0) {
        say(telling, step, "At the beginning, it %s.", does);
    } else {
        say(telling, step, "When %s %s done%s, it %s.", names, (after & (after - 1)) == 0 ? "is" : "are",
            (after & mg_workflow_skippable(telling->workflow)) != 0 ? " or skipped" : "", does);
    }
}

static void action_say(struct telling *telling, int step, int call, const char *begin)
{
    const struct mg_action *action = &telling->workflow->steps[step].actions[call];
    char path[SHOWN_MAX + 8], body[SHOWN_MAX + 8];
    shown(action->path, path);
    if (action->body.data != NULL) {
        shown(action->body, body);
        say(telling, step, "%s %s %s with %s.", begin, action->method, path, body);
    } else {
        say(telling, step, "%s %s %s.", begin, action->method, path);
    }
}

static void tries_say(struct telling *telling, int step, const char *what, int64_t within_ms,
                      const struct mg_retry_plan *retry)
{
    char within[DURATION_SIZE], first[DURATION_SIZE], most[DURATION_SIZE], rest[DURATION_SIZE];
    char more[128] = "";
    if (retry->cool_downs > 0) {
        snprintf(more, sizeof(more), "; then a rest of %s and the same again, at most %u time%s",
                 duration(retry->cool_down_ms, rest), retry->cool_downs, retry->cool_downs == 1 ? "" : "s");
    }
    say(telling, step, "%s has %s for an answer, and up to %u attempt%s, %s to %s apart%s.", what,
        duration(within_ms, within), retry->attempts, retry->attempts == 1 ? "" : "s",
        duration(retry->backoff_ms, first), duration(retry->max_backoff_ms, most), more);
}

/* `subject`: the answers that the conditions judge. `open`: the meaning of one for which neither holds. */
static void conditions_say(struct telling *telling, int step, const struct mg_conditions *of,
                           const char *subject, const char *open)
{
    char text[SHOWN_MAX + 8];
    if (of->done_when != NULL) {
        shown(mg_expr_text(of->done_when), text);
        say(telling, step, "%s counts as done if %s.", subject, text);
    }
    if (of->refused_when != NULL) {
        shown(mg_expr_text(of->refused_when), text);
        say(telling, step, "%s counts as refused if %s.", subject, text);
    }
    if (of->done_when != NULL) {
        say(telling, step, "%s", open);
    } else if (of->refused_when != NULL) {
        say(telling, step, "Any other good answer counts as done.");
    }
}

static void answers_say(struct telling *telling, int step)
{
    bool is_polled = telling->workflow->plan.steps[step].finish_within_ms > 0;
    conditions_say(telling, step, &telling->workflow->steps[step].conditions, "A good answer",
                   is_polled ? "Any other good answer means that the service works on it."
                             : "Any other good answer leaves its outcome unclear.");
}

static void polls_say(struct telling *telling, int step, const char *subject, int64_t finish_within_ms,
                      int64_t poll_ms)
{
    char within[DURATION_SIZE], poll[DURATION_SIZE];
    if (finish_within_ms > 0) {
        say(telling, step, "%s means that the service works on it. It is asked every %s, for %s.", subject,
            duration(poll_ms, poll), duration(finish_within_ms, within));
    }
}

static void doubt_say(struct telling *telling, int step)
{
    const struct mg_step_plan *plan = &telling->workflow->plan.steps[step];
    polls_say(telling, step, "An answer 202", plan->finish_within_ms, plan->poll_ms);
    if (plan->has_verify) {
        action_say(telling, step, MG_KIND_VERIFY,
                   plan->on_unknown == MG_ON_UNKNOWN_VERIFY ? "If the outcome is unclear, it asks"
                                                            : "The service is asked by");
    }
    if (plan->on_unknown == MG_ON_UNKNOWN_RETRY) {
        say(telling, step, "If the outcome is unclear, the call is repeated under the same key.");
    } else if (plan->on_unknown == MG_ON_UNKNOWN_OPERATOR) {
        say(telling, step, "If the outcome is unclear, an operator settles it.");
    }
}

static void undo_say(struct telling *telling, int step)
{
    const struct mg_step_plan *plan = &telling->workflow->plan.steps[step];
    if (!plan->has_undo) {
        say(telling, step, "Nothing undoes it.");
        return;
    }
    action_say(telling, step, MG_KIND_UNDO, "It is undone by");
    tries_say(telling, step, "The undo", plan->undo_complete_within_ms, &plan->undo_retry);
    conditions_say(
        telling, step, &telling->workflow->steps[step].undo_conditions, "A good answer to the undo",
        plan->undo_finish_within_ms > 0 ? "Any other good answer to it means that the service works on it."
                                        : "After any other good answer the undo is repeated.");
    if (plan->has_undo_verify) {
        action_say(telling, step, MG_CALL_UNDO_VERIFY, "If it is unclear whether the undo happened, it asks");
    }
    polls_say(telling, step, "An answer 202 to the undo", plan->undo_finish_within_ms, plan->undo_poll_ms);
    if (plan->learn != MG_LEARN_NONE) {
        say(telling, step, "An undo that lacks the step's result learns it first, by %s.",
            plan->learn == MG_LEARN_REPEAT ? "the call once more" : "asking the service");
    }
}

static void signal_say(struct telling *telling, int step)
{
    const struct mg_step_plan *plan = &telling->workflow->plan.steps[step];
    const struct mg_workflow_step *named = &telling->workflow->steps[step];
    const struct mg_signal_wait *signal = named->signal;
    char within[DURATION_SIZE], text[SHOWN_MAX + 8], pointer[64];
    struct mg_buf senders;
    say(telling, step, "It has %s; after that it %s.", duration(plan->wait_ms, within),
        plan->is_skipped_when_over ? "is skipped, and the steps after it go on" : "fails");
    if (signal->of > 1) {
        say(telling, step, "It needs %d signals, each of another sender.", signal->of);
    }
    mg_buf_init(&senders, SENDERS_MAX);
    mg_awaited_senders_write(&senders, signal);
    say(telling, step, "The signal may come from %.*s.", (int)senders.len,
        senders.len > 0 ? senders.data : "");
    mg_buf_finish(&senders);
    (void)snprintf(pointer, sizeof(pointer), "/steps/%d/wait/key", step);
    struct mg_slice key = mg_json_find(telling->workflow->text, pointer);
    if (key.data != NULL) {
        shown((struct mg_slice){key.data + 1, key.len - 2}, text);
        say(telling, step, "Its key, by which it finds the order, is %s.", text);
    }
    if (signal->title.data != NULL) {
        shown(signal->title, text);
        say(telling, step, "People are asked: %s.", text);
    }
    if (signal->choices.data != NULL) {
        shown(signal->choices, text);
        say(telling, step, "Their choices are %s.", text);
    }
    conditions_say(telling, step, &named->conditions, "A signal", "Any other signal leaves it waiting.");
}

static void step_say(struct telling *telling, int step)
{
    const struct mg_step_plan *plan = &telling->workflow->plan.steps[step];
    const struct mg_workflow_step *named = &telling->workflow->steps[step];
    if (telling->json == NULL) {
        mg_print(stdout, "%d. %s\n", step + 1, named->name);
    }
    begin_say(telling, step);
    guard_say(telling, step);
    if (named->signal != NULL) {
        signal_say(telling, step);
    }
    if (plan->is_wait) {
        return;
    }
    action_say(telling, step, MG_KIND_DO, "It sends");
    if (plan->is_at_most_once) {
        say(telling, step, "It is sent at most once.");
    } else {
        tries_say(telling, step, "It", plan->complete_within_ms, &plan->retry);
    }
    answers_say(telling, step);
    doubt_say(telling, step);
    undo_say(telling, step);
    if (plan->is_pivot) {
        say(telling, step, "Once it is done, the order only goes forward.");
    }
}

/* ---- the verb ---- */

static void all_say(struct telling *telling)
{
    workflow_say(telling);
    for (int i = 0; i < telling->workflow->plan.step_count; i++) {
        step_say(telling, i);
    }
    member_say(telling, "/output", "A processed order gives back");
}

enum mg_exit_code mg_verb_workflow_describe(struct mg_cli *cli)
{
    struct mg_workflow *workflow = NULL;
    struct mg_answer answer;
    const char *version = cli->words.count > 1 ? cli->words.items[1] : NULL;
    enum mg_exit_code code = mg_definition_find(cli, cli->words.items[0], version, &workflow);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    struct telling telling = {.cli = cli, .workflow = workflow};
    if (!cli->is_json) {
        all_say(&telling);
        mg_workflow_destroy(workflow);
        return MG_EXIT_DONE;
    }
    telling.json = mg_answer_begin(cli, &answer);
    mg_json_member_word(telling.json, "workflow", workflow->name);
    mg_json_member_int(telling.json, "version", workflow->version);
    mg_json_member_array(telling.json, "sentences");
    all_say(&telling);
    mg_json_array_end(telling.json);
    mg_workflow_destroy(workflow);
    return mg_answer_print(&answer);
}
