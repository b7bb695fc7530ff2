/*
 * A step that waits: `wait` with `for`, a length of time, with `until`, an expression for a moment, or with
 * `signal`, the name of a signal. It calls nothing, so it has none of the members of a call. Only a wait for
 * a signal has a result, the signal's payload, and conditions about it.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "expr/expr.h"
#include "workflow/definition_check.h"

#define DURATION_SIZE 32
#define TITLE_MAX     256 /* bytes; one line on a page */

static const char *const WAIT_NAMES[] = {"for",  "until", "signal", "key",     "within", "on_timeout",
                                         "from", "of",    "title",  "choices", NULL};
static const char *const OF_SIGNALS[] = {"key", "within", "on_timeout", "from", "of", "title", "choices"};
static const char *const ON_TIMEOUT[] = {"fail", "skip", NULL};
static const char *const OF_CALLS[] = {
    "service",         "complete_within", "finish_within", "poll", "retry",  "pivot", "at_most_once",
    "absent_is_final", "on_unknown",      "learn",         "do",   "verify", "undo",  "result"};
static const char *const OF_ANSWERS[] = {"done_when", "refused_when"};
static const char CLIENT[] = "client:";

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void refuse_members(const struct mg_json_object *object, const char *const *names, size_t count,
                           const char *why)
{
    for (size_t i = 0; i < count; i++) {
        if (mg_json_get(object, names[i], MG_OPTIONAL).data != NULL) {
            mg_json_member_fault(object, MG_BAD_INPUT, names[i], "%s; leave this out", why);
        }
    }
}

/* ---- signals ---- */

static void read_sender(struct mg_json_faults *faults, const char *pointer, struct mg_slice value,
                        struct mg_signal_wait *signal)
{
    char word[sizeof(CLIENT) + MG_NAME_MAX];
    struct mg_buf plain;
    bool is_text = mg_json_type_of(value) == MG_JSON_STRING;

    mg_buf_init(&plain, sizeof(word) - 1);
    bool is_read = is_text && mg_json_string(value, &plain) && !plain.failed;
    (void)snprintf(word, sizeof(word), "%.*s", (int)plain.len, plain.len > 0 ? plain.data : "");
    bool is_out_of_memory = plain.is_out_of_memory;
    mg_buf_finish(&plain);
    struct mg_sender *sender = &signal->senders[signal->sender_count];
    const char *name = word + sizeof(CLIENT) - 1;
    bool is_client =
        is_read && strncmp(word, CLIENT, sizeof(CLIENT) - 1) == 0 && mg_name_is_valid(name, strlen(name));
    if (is_out_of_memory) {
        mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be read: no memory");
    } else if (is_client) {
        sender->kind = MG_SENDER_CLIENT;
        (void)snprintf(sender->client, sizeof(sender->client), "%s", name);
        signal->sender_count++;
    } else if (is_read && (strcmp(word, "operator") == 0 || strcmp(word, "client") == 0)) {
        sender->kind = word[0] == 'o' ? MG_SENDER_OPERATOR : MG_SENDER_OWN;
        signal->sender_count++;
    } else {
        mg_json_fault(faults, MG_BAD_INPUT, pointer,
                      "a sender is \"operator\", \"client\" (the order's own) or \"client:NAME\"");
    }
}

static void read_senders(const struct mg_json_object *wait, struct mg_signal_wait *signal)
{
    struct mg_slice from = mg_json_get_typed(wait, "from", MG_OPTIONAL, MG_JSON_ARRAY);
    char pointer[MG_JSON_POINTER_SIZE + 16];
    struct mg_slice none, value;
    int count = 0;

    if (from.data == NULL) {
        return;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(from); mg_json_walk_next(&walk, &none, &value); count++) {
        (void)snprintf(pointer, sizeof(pointer), "%s/from/%d", wait->pointer, count);
        if (count < MG_SIGNAL_SENDERS_MAX) {
            read_sender(wait->faults, pointer, value, signal);
        }
    }
    if (count == 0 || count > MG_SIGNAL_SENDERS_MAX) {
        mg_json_member_fault(wait, MG_BAD_INPUT, "from", "%d senders; there are 1 to %d", count,
                             MG_SIGNAL_SENDERS_MAX);
    }
}

static bool is_title(const char *text, size_t len)
{
    (void)text;
    return len > 0;
}

static void read_question(const struct mg_json_object *wait, struct mg_signal_wait *signal)
{
    char title[TITLE_MAX + 1];

    mg_json_get_checked(wait, "title", MG_OPTIONAL, is_title, "a text of 1 to 256 bytes for a person", title,
                        sizeof(title));
    signal->title = mg_json_get(wait, "title", MG_OPTIONAL);
    signal->choices = mg_json_get_typed(wait, "choices", MG_OPTIONAL, MG_JSON_OBJECT);
    if (signal->choices.data == NULL) {
        return;
    }
    int count = mg_json_count(signal->choices);
    if (count == 0 || count > MG_SIGNAL_CHOICES_MAX) {
        mg_json_member_fault(wait, MG_BAD_INPUT, "choices", "%d choices; there are 1 to %d", count,
                             MG_SIGNAL_CHOICES_MAX);
    }
}

/* A client is one sender; operators are as many as there are. */
static void check_senders(const struct mg_json_object *wait, const struct mg_signal_wait *signal)
{
    bool has_operator = signal->sender_count == 0;
    for (int i = 0; i < signal->sender_count; i++) {
        has_operator = has_operator || signal->senders[i].kind == MG_SENDER_OPERATOR;
    }
    if (!has_operator && signal->sender_count < signal->of) {
        mg_json_member_fault(
            wait, MG_BAD_INPUT, "of",
            "it needs signals of %d senders, and \"from\" has %d; no such step could be done", signal->of,
            signal->sender_count);
    }
}

static const struct mg_signal_wait *read_signal(const struct mg_json_object *wait, struct mg_arena *arena,
                                                struct mg_step_plan *plan, struct mg_step_source *source)
{
    struct mg_signal_wait *signal = mg_arena_alloc(arena, sizeof(*signal));

    if (signal == NULL) {
        mg_json_fault(wait->faults, MG_TRANSIENT, wait->pointer, "could not be kept: no memory");
        return NULL;
    }
    *signal = (struct mg_signal_wait){0};
    plan->is_signal = true;
    mg_json_get_name(wait, "signal", MG_REQUIRED, signal->name);
    source->guard.key = mg_json_get_typed(wait, "key", MG_OPTIONAL, MG_JSON_STRING);
    plan->wait_ms = mg_json_get_duration(wait, "within", MG_WAIT_MAX_MS, 0);
    if (mg_json_get(wait, "within", MG_OPTIONAL).data == NULL) {
        mg_json_fault(wait->faults, MG_BAD_INPUT, wait->pointer,
                      "a wait for a signal has no \"within\"; say how long it waits at most, as in \"3d\"");
    }
    plan->is_skipped_when_over =
        mg_json_get_word(wait, "on_timeout", MG_OPTIONAL, ON_TIMEOUT, MG_BAD_INPUT, 0) == 1;
    signal->of = (int)mg_json_get_integer(wait, "of", MG_OPTIONAL, 1, MG_SIGNAL_OF_MAX, 1);
    read_senders(wait, signal);
    check_senders(wait, signal);
    read_question(wait, signal);
    return signal;
}

/* ---- the member ---- */

void mg_workflow_wait_read(const struct mg_json_object *object, struct mg_slice value, struct mg_arena *arena,
                           struct mg_step_plan *plan, struct mg_workflow_step *step,
                           struct mg_step_source *source)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_json_object wait;

    plan->is_wait = true;
    step->has_no_result = true;
    refuse_members(object, OF_CALLS, COUNT(OF_CALLS),
                   "a step with \"wait\" calls nothing, and has nothing to undo");
    mg_json_pointer_join(object->pointer, mg_slice_of("wait"), pointer);
    if (!mg_json_object_open(&wait, object->faults, value, pointer, WAIT_NAMES, MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    bool has_length = mg_json_get(&wait, "for", MG_OPTIONAL).data != NULL;
    bool has_signal = mg_json_get(&wait, "signal", MG_OPTIONAL).data != NULL;
    plan->is_until = mg_json_get(&wait, "until", MG_OPTIONAL).data != NULL;
    plan->wait_ms = mg_json_get_duration(&wait, "for", MG_WAIT_MAX_MS, 0);
    source->guard.until = mg_json_get_typed(&wait, "until", MG_OPTIONAL, MG_JSON_STRING);
    if ((has_length ? 1 : 0) + (plan->is_until ? 1 : 0) + (has_signal ? 1 : 0) != 1) {
        mg_json_fault(object->faults, MG_BAD_INPUT, pointer,
                      "a wait has either a length, \"for\": \"3d\", or a moment, \"until\": "
                      "\"payload.ship_at\", or a signal, \"signal\": \"approved\"");
    }
    if (has_signal) {
        step->has_no_result = false;
        step->signal = read_signal(&wait, arena, plan, source);
        return;
    }
    refuse_members(object, OF_ANSWERS, COUNT(OF_ANSWERS), "only a wait for a signal has a result to judge");
    refuse_members(&wait, OF_SIGNALS, COUNT(OF_SIGNALS), "only a wait for a signal has it");
}

/* A member of the wait of a checked definition, a string without escapes. */
static struct mg_slice member_text(const struct mg_workflow *workflow, int step, const char *member)
{
    char pointer[MG_JSON_POINTER_SIZE];
    (void)snprintf(pointer, sizeof(pointer), "/steps/%d/wait/%s", step, member);
    struct mg_slice quoted = mg_json_find(workflow->text, pointer);
    return (struct mg_slice){quoted.data + 1, quoted.len - 2};
}

bool mg_workflow_wait(const struct mg_workflow *workflow, int step, const char **ret_word,
                      struct mg_slice *ret_text)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[step];

    if (!plan->is_wait) {
        return false;
    }
    *ret_word = plan->is_signal ? "for signal" : plan->is_until ? "until" : "for";
    if (plan->is_until) {
        *ret_text = mg_expr_text(workflow->steps[step].guard->until);
        return true;
    }
    *ret_text = member_text(workflow, step, plan->is_signal ? "signal" : "for");
    return true;
}

struct mg_slice mg_workflow_wait_within(const struct mg_workflow *workflow, int step)
{
    return member_text(workflow, step, "within");
}

/* The longest row of waits that no condition skips and no signal ends, to the end of each step. Steps stand
 * in any order. */
static int64_t longest_wait_ms(const struct mg_workflow *workflow, int *ret_last)
{
    const struct mg_plan *plan = &workflow->plan;
    uint64_t skippable = mg_workflow_skippable(workflow);
    int64_t until_ms[MG_STEPS_MAX] = {0}, longest_ms = 0;

    for (int round = 0; round < plan->step_count; round++) {
        for (int i = 0; i < plan->step_count; i++) {
            int64_t before_ms = 0;
            for (int j = 0; j < plan->step_count; j++) {
                bool is_before = (plan->steps[i].after >> j & 1) != 0;
                before_ms = is_before && until_ms[j] > before_ms ? until_ms[j] : before_ms;
            }
            bool may_be_short = (skippable >> i & 1) != 0 || plan->steps[i].is_signal;
            until_ms[i] = before_ms + (may_be_short ? 0 : plan->steps[i].wait_ms);
            if (until_ms[i] > longest_ms) {
                longest_ms = until_ms[i];
                *ret_last = i;
            }
        }
    }
    return longest_ms;
}

/* A time-out that the order's own time always precedes is a mistake. */
static void check_time_outs(const struct mg_workflow *workflow, struct mg_json_faults *faults)
{
    char pointer[MG_JSON_POINTER_SIZE], within[DURATION_SIZE];

    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_step_plan *plan = &workflow->plan.steps[i];
        if (plan->is_signal && plan->wait_ms >= workflow->plan.complete_within_ms) {
            (void)snprintf(pointer, sizeof(pointer), "/steps/%d/wait/within", i);
            mg_duration_format(workflow->plan.complete_within_ms, within, sizeof(within));
            mg_json_fault(
                faults, MG_BAD_INPUT, pointer,
                "it is not shorter than the order's own time, \"complete_within\": \"%s\"; the order "
                "would always end first",
                within);
        }
    }
}

void mg_workflow_waits_check(const struct mg_workflow *workflow, struct mg_json_faults *faults)
{
    char within[DURATION_SIZE], waits[DURATION_SIZE];
    int64_t within_ms = workflow->plan.complete_within_ms;
    int last = 0;

    if (within_ms == 0) {
        return;
    }
    check_time_outs(workflow, faults);
    int64_t longest_ms = longest_wait_ms(workflow, &last);
    if (longest_ms >= within_ms) {
        mg_duration_format(within_ms, within, sizeof(within));
        mg_duration_format(longest_ms, waits, sizeof(waits));
        mg_json_fault(
            faults, MG_BAD_INPUT, "/complete_within",
            "\"%s\" is not longer than the waits up to step \"%s\", which are %s; no order could end in "
            "time",
            within, workflow->steps[last].name, waits);
    }
}
