/*
 * `workflow diff`: the difference of two definitions by meaning. A member that is left out has its default,
 * and a step is the same if its name is. So another way to write the same workflow is no difference.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "definition.h"
#include "json/differ.h"
#include "json/scan.h"
#include "operator/awaited.h"
#include "verb_table.h"

#define VALUE_SIZE 512 /* of a value in a message; a longer one is cut */
#define PLACE_SIZE 256

struct diffing {
    struct mg_cli *cli;
    const struct mg_workflow *old, *new;
    struct mg_json_writer *json; /* NULL: text */
    int count;
    const char *step; /* in hand; NULL: the workflow */
};

static void report(struct diffing *diffing, const char *member, const char *from, const char *to)
{
    diffing->count++;
    if (diffing->json == NULL) {
        mg_print(stdout, "%s%s: ", diffing->step != NULL ? "step " : "",
                 diffing->step != NULL ? diffing->step : "workflow");
        if (member[0] == '\0') {
            mg_print(stdout, "%s\n", from == NULL ? "added" : "removed");
        } else if (from == NULL || to == NULL) {
            mg_print(stdout, "%s %s: %s\n", member, from == NULL ? "added" : "removed",
                     from == NULL ? to : from);
        } else {
            mg_print(stdout, "%s changed from %s to %s\n", member, from, to);
        }
        return;
    }
    mg_json_element_object(diffing->json);
    mg_json_member_string_or_null(diffing->json, "step", diffing->step);
    mg_json_member_string(diffing->json, "member", member);
    mg_json_member_word(diffing->json, "change", from == NULL ? "added" : to == NULL ? "removed" : "changed");
    mg_json_member_string(diffing->json, "from", from);
    mg_json_member_string(diffing->json, "to", to);
    mg_json_object_end(diffing->json);
}

/* ---- values ---- */

static const char *value_text(struct mg_slice value, char ret[VALUE_SIZE])
{
    if (value.data == NULL) {
        return NULL;
    }
    size_t len = mg_utf8_cut(value, VALUE_SIZE - 8);
    snprintf(ret, VALUE_SIZE, "%.*s%s", (int)len, value.data, len < value.len ? " …" : "");
    return ret;
}

static void on_difference(void *arg, const char *pointer, struct mg_slice expected, struct mg_slice actual)
{
    char from[VALUE_SIZE], to[VALUE_SIZE];
    report(arg, pointer, value_text(expected, from), value_text(actual, to));
}

/* JSON texts; either may be absent. */
static void json_diff(struct diffing *diffing, const char *member, struct mg_slice old, struct mg_slice new)
{
    char from[VALUE_SIZE], to[VALUE_SIZE];
    if (old.data != NULL && new.data != NULL) {
        (void)mg_json_differ(old, new, member, MG_DIFFER_WHOLE, on_difference, diffing);
    } else if (old.data != NULL || new.data != NULL) {
        report(diffing, member, value_text(old, from), value_text(new, to));
    }
}

static void text_diff(struct diffing *diffing, const char *member, const char *old, const char *new)
{
    if (strcmp(old, new) != 0) {
        report(diffing, member, old, new);
    }
}

static void slice_diff(struct diffing *diffing, const char *member, struct mg_slice old, struct mg_slice new)
{
    char from[VALUE_SIZE], to[VALUE_SIZE];
    bool is_same = old.data == NULL || new.data == NULL ? old.data == new.data : mg_slice_equal(old, new);
    if (!is_same) {
        report(diffing, member, value_text(old, from), value_text(new, to));
    }
}

static void time_diff(struct diffing *diffing, const char *member, int64_t old_ms, int64_t new_ms)
{
    char from[VALUE_SIZE], to[VALUE_SIZE];
    if (old_ms != new_ms) {
        mg_duration_format(old_ms, from, sizeof(from));
        mg_duration_format(new_ms, to, sizeof(to));
        report(diffing, member, old_ms == 0 ? "none" : from, new_ms == 0 ? "none" : to);
    }
}

static void count_diff(struct diffing *diffing, const char *member, int64_t old, int64_t new)
{
    char from[32], to[32];
    if (old != new) {
        snprintf(from, sizeof(from), "%lld", (long long)old);
        snprintf(to, sizeof(to), "%lld", (long long)new);
        report(diffing, member, from, to);
    }
}

static void bool_diff(struct diffing *diffing, const char *member, bool old, bool new)
{
    text_diff(diffing, member, old ? "true" : "false", new ? "true" : "false");
}

/* ---- steps ---- */

static void retry_diff(struct diffing *diffing, const char *member, const struct mg_retry_plan *old,
                       const struct mg_retry_plan *new)
{
    char place[PLACE_SIZE];
    const struct {
        const char *name;
        int64_t old_ms, new_ms;
    } times[] = {{"backoff", old->backoff_ms, new->backoff_ms},
                 {"max_backoff", old->max_backoff_ms, new->max_backoff_ms},
                 {"cool_down", old->cool_down_ms, new->cool_down_ms}};
    snprintf(place, sizeof(place), "%s/attempts", member);
    count_diff(diffing, place, old->attempts, new->attempts);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        snprintf(place, sizeof(place), "%s/%s", member, times[i].name);
        time_diff(diffing, place, times[i].old_ms, times[i].new_ms);
    }
    snprintf(place, sizeof(place), "%s/cool_downs", member);
    count_diff(diffing, place, old->cool_downs, new->cool_downs);
}

/* `place`: of the step or its undo. */
static void polls_diff(struct diffing *diffing, const char *place, int64_t old_ms, int64_t new_ms,
                       int64_t old_poll_ms, int64_t new_poll_ms)
{
    char member[PLACE_SIZE];
    snprintf(member, sizeof(member), "%sfinish_within", place);
    time_diff(diffing, member, old_ms, new_ms);
    if (old_ms > 0 && new_ms > 0) {
        snprintf(member, sizeof(member), "%spoll", place);
        time_diff(diffing, member, old_poll_ms, new_poll_ms);
    }
}

static const char *encode_name(enum mg_encode encode)
{
    return encode == MG_ENCODE_FORM ? "form" : encode == MG_ENCODE_TEXT ? "text" : "json";
}

static void action_diff(struct diffing *diffing, int call, const struct mg_action *old,
                        const struct mg_action *new)
{
    char place[PLACE_SIZE];
    const char *name = mg_call_name(call);
    if (old->is_present != new->is_present) {
        const struct mg_action *there = old->is_present ? old : new;
        char text[VALUE_SIZE];
        snprintf(text, sizeof(text), "%s %.*s", there->method, (int)mg_utf8_cut(there->path, 400),
                 there->path.data);
        report(diffing, name, old->is_present ? text : NULL, old->is_present ? NULL : text);
        return;
    }
    if (!old->is_present) {
        return;
    }
#define PLACE(member) (snprintf(place, sizeof(place), "%s/%s", name, member), place)
    text_diff(diffing, PLACE("method"), old->method, new->method);
    slice_diff(diffing, PLACE("path"), old->path, new->path);
    json_diff(diffing, PLACE("body"), old->body, new->body);
    json_diff(diffing, PLACE("query"), old->query, new->query);
    json_diff(diffing, PLACE("headers"), old->headers, new->headers);
    slice_diff(diffing, PLACE("accept"), old->accept, new->accept);
    text_diff(diffing, PLACE("encode"), encode_name(old->encode), encode_name(new->encode));
    bool_diff(diffing, PLACE("response is text"), old->is_text_answer, new->is_text_answer);
#undef PLACE
}

static void after_write(const struct mg_workflow *workflow, int step, char ret[VALUE_SIZE])
{
    size_t len = 0;
    snprintf(ret, VALUE_SIZE, "the beginning");
    for (int i = 0; i < workflow->plan.step_count && len < VALUE_SIZE; i++) {
        if ((workflow->plan.steps[step].after >> i & 1) != 0) {
            len += (size_t)snprintf(ret + len, VALUE_SIZE - len, "%s%s", len == 0 ? "" : ", ",
                                    workflow->steps[i].name);
        }
    }
}

static void plan_diff(struct diffing *diffing, const struct mg_step_plan *old, const struct mg_step_plan *new)
{
    static const char *const UNKNOWN[] = {"retry", "verify", "operator"};
    static const char *const LEARN[] = {"nothing", "repeat", "verify"};
    time_diff(diffing, "complete_within", old->complete_within_ms, new->complete_within_ms);
    retry_diff(diffing, "retry", &old->retry, &new->retry);
    text_diff(diffing, "on_unknown", UNKNOWN[old->on_unknown], UNKNOWN[new->on_unknown]);
    text_diff(diffing, "learn", LEARN[old->learn], LEARN[new->learn]);
    polls_diff(diffing, "", old->finish_within_ms, new->finish_within_ms, old->poll_ms, new->poll_ms);
    bool_diff(diffing, "pivot", old->is_pivot, new->is_pivot);
    bool_diff(diffing, "at_most_once", old->is_at_most_once, new->is_at_most_once);
    bool_diff(diffing, "absent_is_final", old->is_absent_final, new->is_absent_final);
    if (old->has_undo && new->has_undo) {
        time_diff(diffing, "undo/complete_within", old->undo_complete_within_ms,
                  new->undo_complete_within_ms);
        retry_diff(diffing, "undo/retry", &old->undo_retry, &new->undo_retry);
        polls_diff(diffing, "undo/", old->undo_finish_within_ms, new->undo_finish_within_ms,
                   old->undo_poll_ms, new->undo_poll_ms);
    }
}

static struct mg_slice member_of(const struct mg_workflow *workflow, int step, struct mg_slice name)
{
    char pointer[PLACE_SIZE];
    snprintf(pointer, sizeof(pointer), "/steps/%d/%.*s", step, (int)mg_utf8_cut(name, 128), name.data);
    return mg_json_find(workflow->text, pointer);
}

static void member_diff(struct diffing *diffing, int old_step, int new_step, const char *name)
{
    json_diff(diffing, name, member_of(diffing->old, old_step, mg_slice_of(name)),
              member_of(diffing->new, new_step, mg_slice_of(name)));
}

/* Members that have no default and no plan of their own: conditions, for example. */
static void others_diff(struct diffing *diffing, int old_step, int new_step, bool is_reverse)
{
    static const char *const KNOWN[] = {"step",
                                        "service",
                                        "after",
                                        "complete_within",
                                        "retry",
                                        "on_unknown",
                                        "do",
                                        "verify",
                                        "undo",
                                        "learn",
                                        "finish_within",
                                        "poll",
                                        "pivot",
                                        "at_most_once",
                                        "absent_is_final",
                                        "wait",
                                        NULL};
    const struct mg_workflow *walked = is_reverse ? diffing->new : diffing->old;
    struct mg_slice quoted, value;
    char pointer[32], name[PLACE_SIZE];
    snprintf(pointer, sizeof(pointer), "/steps/%d", is_reverse ? new_step : old_step);
    struct mg_json_walk walk = mg_json_walk_of(mg_json_find(walked->text, pointer));
    while (mg_json_walk_next(&walk, &quoted, &value)) {
        struct mg_slice inner = {quoted.data + 1, quoted.len - 2};
        bool is_known = false;
        for (int i = 0; KNOWN[i] != NULL; i++) {
            is_known = is_known || mg_slice_is(inner, KNOWN[i]);
        }
        struct mg_slice old = member_of(diffing->old, old_step, inner);
        if (!is_known && (!is_reverse || old.data == NULL)) {
            snprintf(name, sizeof(name), "%.*s", (int)mg_utf8_cut(inner, 128), inner.data);
            json_diff(diffing, name, old, member_of(diffing->new, new_step, inner));
        }
    }
}

/* ---- waits ---- */

#define SENDERS_SIZE 1024

static void senders_text(const struct mg_signal_wait *signal, char ret[SENDERS_SIZE])
{
    struct mg_buf out;
    mg_buf_init_fixed(&out, ret, SENDERS_SIZE);
    mg_awaited_senders_write(&out, signal);
    ret[out.len] = '\0';
}

static void signal_diff(struct diffing *diffing, int old_step, int new_step)
{
    static const char *const ON_TIMEOUT[] = {"fail", "skip"};
    const struct mg_step_plan *old_plan = &diffing->old->plan.steps[old_step],
                              *new_plan = &diffing->new->plan.steps[new_step];
    const struct mg_signal_wait *old = diffing->old->steps[old_step].signal,
                                *new = diffing->new->steps[new_step].signal;
    char from[SENDERS_SIZE], to[SENDERS_SIZE];
    text_diff(diffing, "wait/signal", old->name, new->name);
    member_diff(diffing, old_step, new_step, "wait/key");
    time_diff(diffing, "wait/within", old_plan->wait_ms, new_plan->wait_ms);
    text_diff(diffing, "wait/on_timeout", ON_TIMEOUT[old_plan->is_skipped_when_over],
              ON_TIMEOUT[new_plan->is_skipped_when_over]);
    count_diff(diffing, "wait/of", old->of, new->of);
    senders_text(old, from);
    senders_text(new, to);
    text_diff(diffing, "wait/from", from, to);
    member_diff(diffing, old_step, new_step, "wait/title");
    member_diff(diffing, old_step, new_step, "wait/choices");
}

/* "for 3d", "until payload.at", "for signal approved"; NULL: a call. */
static const char *wait_text(const struct mg_workflow *workflow, int step, char ret[VALUE_SIZE])
{
    const char *word;
    struct mg_slice text;
    if (!mg_workflow_wait(workflow, step, &word, &text)) {
        return NULL;
    }
    (void)snprintf(ret, VALUE_SIZE, "%s %.*s", word, (int)mg_utf8_cut(text, VALUE_SIZE - 32), text.data);
    return ret;
}

static void wait_diff(struct diffing *diffing, int old_step, int new_step)
{
    char from[VALUE_SIZE], to[VALUE_SIZE];
    const char *old = wait_text(diffing->old, old_step, from), *new = wait_text(diffing->new, new_step, to);
    bool are_signals =
        diffing->old->steps[old_step].signal != NULL && diffing->new->steps[new_step].signal != NULL;
    const struct mg_step_plan *old_plan = &diffing->old->plan.steps[old_step],
                              *new_plan = &diffing->new->plan.steps[new_step];
    bool are_lengths = old_plan->is_wait && new_plan->is_wait && !old_plan->is_until && !new_plan->is_until &&
                       !old_plan->is_signal && !new_plan->is_signal;
    if (are_signals) {
        signal_diff(diffing, old_step, new_step);
    } else if (are_lengths) {
        time_diff(diffing, "wait/for", old_plan->wait_ms, new_plan->wait_ms);
    } else if ((old != NULL) != (new != NULL) || (old != NULL && strcmp(old, new) != 0)) {
        report(diffing, "wait", old, new);
    }
}

static void step_diff(struct diffing *diffing, int old_step, int new_step)
{
    const struct mg_workflow_step *old = &diffing->old->steps[old_step],
                                  *new = &diffing->new->steps[new_step];
    char from[VALUE_SIZE], to[VALUE_SIZE];
    text_diff(diffing, "service", old->service, new->service);
    after_write(diffing->old, old_step, from);
    after_write(diffing->new, new_step, to);
    text_diff(diffing, "after", from, to);
    for (int call = 0; call < MG_CALL_COUNT; call++) {
        action_diff(diffing, call, &old->actions[call], &new->actions[call]);
    }
    member_diff(diffing, old_step, new_step, "undo/done_when");
    member_diff(diffing, old_step, new_step, "undo/refused_when");
    wait_diff(diffing, old_step, new_step);
    plan_diff(diffing, &diffing->old->plan.steps[old_step], &diffing->new->plan.steps[new_step]);
    others_diff(diffing, old_step, new_step, false);
    others_diff(diffing, old_step, new_step, true);
}

static void steps_diff(struct diffing *diffing)
{
    for (int i = 0; i < diffing->old->plan.step_count; i++) {
        diffing->step = diffing->old->steps[i].name;
        int other = mg_workflow_step_index(diffing->new, mg_slice_of(diffing->step));
        if (other < 0) {
            report(diffing, "", mg_workflow_place(diffing->old, i), NULL);
        } else {
            step_diff(diffing, i, other);
        }
    }
    for (int i = 0; i < diffing->new->plan.step_count; i++) {
        diffing->step = diffing->new->steps[i].name;
        if (mg_workflow_step_index(diffing->old, mg_slice_of(diffing->step)) < 0) {
            report(diffing, "", NULL, mg_workflow_place(diffing->new, i));
        }
    }
    diffing->step = NULL;
}

/* ---- the workflow ---- */

static void workflow_diff(struct diffing *diffing)
{
    static const char *const REACTIONS[] = {"compensate", "error"};
    static const char *const MEMBERS[] = {"input", "require", "values", "labels", "sequence", "output"};
    const struct mg_plan *old = &diffing->old->plan, *new = &diffing->new->plan;
    text_diff(diffing, "name", diffing->old->name, diffing->new->name);
    time_diff(diffing, "complete_within", old->complete_within_ms, new->complete_within_ms);
    text_diff(diffing, "on_failure", REACTIONS[old->on_failure], REACTIONS[new->on_failure]);
    text_diff(diffing, "on_expiry", REACTIONS[old->on_expiry], REACTIONS[new->on_expiry]);
    for (size_t i = 0; i < sizeof(MEMBERS) / sizeof(MEMBERS[0]); i++) {
        char pointer[32];
        snprintf(pointer, sizeof(pointer), "/%s", MEMBERS[i]);
        json_diff(diffing, MEMBERS[i], mg_json_find(diffing->old->text, pointer),
                  mg_json_find(diffing->new->text, pointer));
    }
    steps_diff(diffing);
}

static void advice_print(const struct diffing *diffing)
{
    long long old = (long long)diffing->old->version, new = (long long)diffing->new->version;
    if (diffing->count == 0) {
        mg_print(stdout, "no difference in meaning\n");
    } else if (old == new &&strcmp(diffing->old->name, diffing->new->name) == 0) {
        mg_print(stdout,
                 "%d differences, and both are version %lld: one of them cannot be loaded beside the other; "
                 "raise the version\n",
                 diffing->count, new);
    } else {
        mg_print(stdout,
                 "%d differences; orders that have begun keep version %lld, new ones begin with the newest\n",
                 diffing->count, old);
    }
}

static enum mg_exit_code diff_print(struct diffing *diffing)
{
    struct mg_answer answer;
    if (!diffing->cli->is_json) {
        workflow_diff(diffing);
        advice_print(diffing);
        return MG_EXIT_DONE;
    }
    diffing->json = mg_answer_begin(diffing->cli, &answer);
    mg_json_member_word(diffing->json, "workflow", diffing->new->name);
    mg_json_member_int(diffing->json, "from_version", diffing->old->version);
    mg_json_member_int(diffing->json, "to_version", diffing->new->version);
    mg_json_member_array(diffing->json, "changes");
    workflow_diff(diffing);
    mg_json_array_end(diffing->json);
    return mg_answer_print(&answer);
}

/* Two files or names, or one name and two of its versions. */
static enum mg_exit_code definitions_find(struct mg_cli *cli, struct mg_workflow **ret_old,
                                          struct mg_workflow **ret_new)
{
    bool is_one = cli->words.count == 3;
    const char *const *words = (const char *const *)cli->words.items;
    enum mg_exit_code code = mg_definition_find(cli, words[0], is_one ? words[1] : NULL, ret_old);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    return mg_definition_find(cli, is_one ? words[0] : words[1], is_one ? words[2] : NULL, ret_new);
}

enum mg_exit_code mg_verb_workflow_diff(struct mg_cli *cli)
{
    struct mg_workflow *old = NULL, *new = NULL;
    enum mg_exit_code code = definitions_find(cli, &old, &new);
    if (code == MG_EXIT_DONE) {
        struct diffing diffing = {.cli = cli, .old = old, .new = new};
        code = diff_print(&diffing);
        code = code == MG_EXIT_DONE && diffing.count > 0 ? MG_EXIT_ERROR : code;
    }
    mg_workflow_destroy(old);
    mg_workflow_destroy(new);
    return code;
}
