/* See case_file.h. */
#include "workflow/case_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/reader.h"

/* A file of cases has a payload and answers for each; so its bounds lie above those of a message. */
static const struct mg_json_limits LIMITS = {
    .max_bytes = MG_CASES_MAX_BYTES, .max_depth = 40, .max_members = 1000000, .any_number = true};

#define STATUS_MIN 100
#define STATUS_MAX 599

static const char *const FILE_NAMES[] = {"$schema", "workflow",  "services", "answers",
                                         "cases",   "uncovered", NULL};
static const char *const CASE_NAMES[] = {"case",    "payload", "accepted_at", "answers",
                                         "signals", "expect",  NULL};
static const char *const ANSWER_NAMES[] = {"kind",  "status", "body",        "text",
                                           "fails", "after",  "retry_after", NULL};
static const char *const SIGNAL_NAMES[] = {"at", "signal", "id", "by", "payload", "answer", NULL};
static const char *const EXPECT_NAMES[] = {"end",    "steps", "calls",  "requests",
                                           "output", "cause", "labels", NULL};
static const char *const REQUEST_NAMES[] = {"step", "kind", "number", "request", NULL};
/* In the order of enum mg_case_fate, which begins with the answered call. */
static const char *const FATES[] = {"timeout", "broken", "unreachable", "lost", NULL};
/* The ends of an order first, then the words that are no state. */
static const char *const ENDS[] = {"processed", "compensated", "cancelled", "error",
                                   "rejected",  "waiting",     NULL};
enum { END_REJECTED = 4, END_WAITING = 5 };

struct reading {
    struct mg_cases *cases;
    const struct mg_workflow *workflow;
    struct mg_json_faults *faults;
    const char *step_names[MG_STEPS_MAX + 1];
    const char *signal_names[MG_STEPS_MAX + 1]; /* for which its steps wait */
};

static void *take(struct reading *reading, size_t size)
{
    void *memory = mg_arena_alloc(reading->cases->arena, size);
    if (memory == NULL) {
        mg_json_fault(reading->faults, MG_TRANSIENT, "", "could not read the cases: no memory");
    }
    return memory;
}

/* The step of a quoted name; -1, with a fault, if there is none. */
static int step_of(struct reading *reading, struct mg_slice quoted, const char *pointer)
{
    struct mg_slice name = {quoted.data + 1, quoted.len - 2};
    int step = reading->workflow != NULL ? mg_workflow_step_index(reading->workflow, name) : -1;
    if (step < 0 && reading->workflow != NULL) {
        const char *nearest = mg_json_nearest(reading->step_names, name);
        mg_json_fault_at(reading->faults, MG_BAD_INPUT, pointer, quoted.data,
                         "the workflow has no step \"%.*s\"; %s%s%s",
                         (int)(name.len < MG_NAME_MAX ? name.len : MG_NAME_MAX), name.data,
                         nearest != NULL ? "did you mean \"" : "name one of its steps",
                         nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
    }
    return step;
}

/* ---- answers ---- */

static void fate_read(struct mg_json_object *object, struct mg_case_answer *answer)
{
    int fate = mg_json_get_word(object, "fails", MG_OPTIONAL, FATES, MG_BAD_INPUT, -1);
    bool has_fate = mg_json_get(object, "fails", MG_OPTIONAL).data != NULL;
    bool has_status = mg_json_get(object, "status", MG_OPTIONAL).data != NULL;
    if (has_status == has_fate) {
        mg_json_fault(object->faults, MG_BAD_INPUT, object->pointer,
                      "give either \"status\", or \"fails\" for a call without an answer");
        return;
    }
    if (has_fate) { /* -1 has its fault */
        answer->fate = fate >= 0 ? (enum mg_case_fate)(MG_FATE_TIMEOUT + fate) : MG_FATE_TIMEOUT;
        return;
    }
    answer->status = (int)mg_json_get_integer(object, "status", MG_REQUIRED, STATUS_MIN, STATUS_MAX, 0);
    answer->body = mg_json_get(object, "body", MG_OPTIONAL);
    struct mg_slice text = mg_json_get_typed(object, "text", MG_OPTIONAL, MG_JSON_STRING);
    if (answer->body.data != NULL && text.data != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, "text", "an answer has one body: \"body\" or \"text\"");
    }
    answer->is_text = text.data != NULL;
    answer->body = answer->is_text ? text : answer->body;
}

static void answer_read(struct reading *reading, struct mg_slice value, const char *pointer,
                        struct mg_case_answer *answer)
{
    struct mg_json_object object;
    snprintf(answer->pointer, sizeof(answer->pointer), "%.*s", (int)sizeof(answer->pointer) - 1, pointer);
    answer->retry_after_ms = -1;
    if (!mg_json_object_open(&object, reading->faults, value, pointer, ANSWER_NAMES,
                             MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    int kind = mg_json_get_word(&object, "kind", MG_OPTIONAL, MG_WORDS_KIND, MG_BAD_INPUT, MG_KIND_DO);
    answer->kind = kind >= 0 ? (enum mg_kind)kind : MG_KIND_DO;
    if (answer->step >= 0 && kind >= 0 && !reading->workflow->steps[answer->step].actions[kind].is_present) {
        mg_json_member_fault(&object, MG_BAD_INPUT, "kind", "step \"%s\" has no %s",
                             reading->workflow->steps[answer->step].name, mg_kind_name(answer->kind));
    }
    fate_read(&object, answer);
    answer->after_ms = mg_json_get_duration(&object, "after", MG_CASE_AFTER_MAX_MS, 0);
    answer->retry_after_ms = mg_json_get_duration(&object, "retry_after", MG_CASE_AFTER_MAX_MS, -1);
}

/* {"charge": [{"status": 200}, …], …}, appended to the list after `last`. */
static void answers_read(struct reading *reading, struct mg_slice object, const char *pointer,
                         struct mg_case_answer **last)
{
    struct mg_slice name, value, none, element;
    char at[MG_JSON_POINTER_SIZE], place[MG_JSON_POINTER_SIZE];
    for (struct mg_json_walk steps = mg_json_walk_of(object); mg_json_walk_next(&steps, &name, &value);) {
        value = mg_json_trim(value);
        mg_json_pointer_join(pointer, (struct mg_slice){name.data + 1, name.len - 2}, at);
        int step = step_of(reading, name, at);
        if (mg_json_type_of(value) != MG_JSON_ARRAY) {
            mg_json_fault(reading->faults, MG_BAD_INPUT, at,
                          "%s; a list of answers is expected, as in [{\"status\": 200}]",
                          mg_json_type_name(mg_json_type_of(value)));
            continue;
        }
        struct mg_json_walk list = mg_json_walk_of(value);
        for (int i = 0; mg_json_walk_next(&list, &none, &element); i++) {
            struct mg_case_answer *answer = take(reading, sizeof(*answer));
            if (answer == NULL) {
                return;
            }
            snprintf(place, sizeof(place), "%.*s/%d", MG_JSON_POINTER_SIZE - 16, at, i);
            answer->step = step;
            answer_read(reading, mg_json_trim(element), place, answer);
            *last = answer;
            last = &answer->next;
        }
    }
}

/* ---- signals ---- */

static bool is_sender(const char *text, size_t len)
{
    static const char CLIENT[] = "client:";
    size_t prefix = sizeof(CLIENT) - 1;
    bool is_client = len >= prefix && memcmp(text, CLIENT, prefix) == 0;
    return is_client ? mg_name_is_valid(text + prefix, len - prefix) : len > 0;
}

static void signal_name_check(const struct reading *reading, const struct mg_json_object *object,
                              const char *name)
{
    char pointer[MG_JSON_POINTER_SIZE];
    bool is_known = reading->workflow == NULL || name[0] == '\0';
    for (int i = 0; reading->signal_names[i] != NULL && !is_known; i++) {
        is_known = strcmp(reading->signal_names[i], name) == 0;
    }
    if (!is_known) {
        const char *nearest = mg_json_nearest(reading->signal_names, mg_slice_of(name));
        mg_json_pointer_join(object->pointer, mg_slice_of("signal"), pointer);
        mg_json_fault(reading->faults, MG_BAD_INPUT, pointer,
                      "no step of the workflow waits for signal \"%s\"; %s%s%s", name,
                      nearest != NULL ? "did you mean \"" : "name one that a step waits for",
                      nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
    }
}

static void signal_read(struct reading *reading, struct mg_slice value, const char *pointer, int index,
                        struct mg_case_signal *signal)
{
    struct mg_json_object object;
    (void)snprintf(signal->pointer, sizeof(signal->pointer), "%.*s", (int)sizeof(signal->pointer) - 1,
                   pointer);
    if (!mg_json_object_open(&object, reading->faults, value, pointer, SIGNAL_NAMES,
                             MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    (void)mg_json_get(&object, "at", MG_REQUIRED);
    signal->at_ms = mg_json_get_duration(&object, "at", MG_CASE_AFTER_MAX_MS, 0);
    mg_json_get_name(&object, "signal", MG_REQUIRED, signal->name);
    signal_name_check(reading, &object, signal->name);
    mg_json_get_checked(&object, "id", MG_OPTIONAL, mg_order_id_is_valid,
                        "1 to 64 characters A-Z, a-z, 0-9, ., _, :, -", signal->id, sizeof(signal->id));
    if (signal->id[0] == '\0') {
        (void)snprintf(signal->id, sizeof(signal->id), "signal-%d", index);
    }
    mg_json_get_checked(&object, "by", MG_OPTIONAL, is_sender,
                        "an operator's name, \"client\" (the order's own) or \"client:NAME\"", signal->by,
                        sizeof(signal->by));
    if (signal->by[0] == '\0') {
        (void)snprintf(signal->by, sizeof(signal->by), "operator");
    }
    signal->payload = mg_json_get(&object, "payload", MG_OPTIONAL);
    if (signal->payload.len > MG_SIGNAL_PAYLOAD_MAX) {
        mg_json_member_fault(&object, MG_BAD_INPUT, "payload", "%zu bytes; a signal carries up to %d",
                             signal->payload.len, MG_SIGNAL_PAYLOAD_MAX);
    }
    int answer = mg_json_get_word(&object, "answer", MG_OPTIONAL, MG_WORDS_SIGNAL_OUTCOME, MG_BAD_INPUT, -1);
    signal->answer = answer >= 0 ? (enum mg_signal_outcome)(MG_SIGNAL_NONE + 1 + answer) : MG_SIGNAL_NONE;
}

static void signals_read(struct reading *reading, struct mg_slice array, const char *pointer,
                         struct mg_case_signal **last)
{
    struct mg_slice none, value;
    char place[MG_JSON_POINTER_SIZE];
    struct mg_json_walk walk = mg_json_walk_of(array);
    for (int i = 0; mg_json_walk_next(&walk, &none, &value); i++) {
        struct mg_case_signal *signal = take(reading, sizeof(*signal));
        if (signal == NULL) {
            return;
        }
        (void)snprintf(place, sizeof(place), "%.*s/%d", MG_JSON_POINTER_SIZE - 16, pointer, i);
        signal_read(reading, mg_json_trim(value), place, i, signal);
        *last = signal;
        last = &signal->next;
    }
}

/* ---- expectations ---- */

static void steps_check(struct reading *reading, struct mg_slice steps, const char *pointer)
{
    struct mg_slice name, value;
    char place[MG_JSON_POINTER_SIZE];
    for (struct mg_json_walk walk = mg_json_walk_of(steps); mg_json_walk_next(&walk, &name, &value);) {
        enum mg_step_state state;
        value = mg_json_trim(value);
        mg_json_pointer_join(pointer, (struct mg_slice){name.data + 1, name.len - 2}, place);
        (void)step_of(reading, name, place);
        bool is_word = mg_json_type_of(value) == MG_JSON_STRING;
        if (!is_word || !mg_step_state_parse(value.data + 1, value.len - 2, &state)) {
            mg_json_fault(reading->faults, MG_BAD_INPUT, place,
                          "expected a step's state, such as \"done\", \"failed\", \"skipped\", \"undone\"");
        }
    }
}

/* The values of an object or an array are texts. */
static void texts_check(const struct reading *reading, struct mg_slice values, const char *pointer)
{
    struct mg_slice name, value;
    char place[MG_JSON_POINTER_SIZE], number[16];
    struct mg_json_walk walk = mg_json_walk_of(values);
    for (int i = 0; mg_json_walk_next(&walk, &name, &value); i++) {
        enum mg_json_type type = mg_json_type_of(mg_json_trim(value));
        if (type != MG_JSON_STRING) {
            (void)snprintf(number, sizeof(number), "%d", i);
            mg_json_pointer_join(pointer,
                                 name.data != NULL ? (struct mg_slice){name.data + 1, name.len - 2}
                                                   : mg_slice_of(number),
                                 place);
            mg_json_fault(reading->faults, MG_BAD_INPUT, place, "%s; a text is expected",
                          mg_json_type_name(type));
        }
    }
}

static void requests_check(struct reading *reading, struct mg_slice requests, const char *pointer)
{
    struct mg_slice none, value;
    char place[MG_JSON_POINTER_SIZE], at[MG_JSON_POINTER_SIZE];
    struct mg_json_walk walk = mg_json_walk_of(requests);
    for (int i = 0; mg_json_walk_next(&walk, &none, &value); i++) {
        struct mg_json_object object;
        snprintf(place, sizeof(place), "%.*s/%d", MG_JSON_POINTER_SIZE - 16, pointer, i);
        if (!mg_json_object_open(&object, reading->faults, mg_json_trim(value), place, REQUEST_NAMES,
                                 MG_JSON_UNKNOWN_REFUSED)) {
            continue;
        }
        struct mg_slice step = mg_json_get_typed(&object, "step", MG_REQUIRED, MG_JSON_STRING);
        if (step.data != NULL) {
            mg_json_pointer_join(object.pointer, mg_slice_of("step"), at);
            (void)step_of(reading, step, at);
        }
        (void)mg_json_get_word(&object, "kind", MG_OPTIONAL, MG_WORDS_KIND, MG_BAD_INPUT, MG_KIND_DO);
        (void)mg_json_get_integer(&object, "number", MG_OPTIONAL, 1, INT32_MAX, 1);
        (void)mg_json_get_typed(&object, "request", MG_REQUIRED, MG_JSON_OBJECT);
    }
}

static void expect_read(struct reading *reading, const struct mg_json_object *parent, struct mg_slice value,
                        struct mg_case *one)
{
    struct mg_json_object object;
    char pointer[MG_JSON_POINTER_SIZE], place[MG_JSON_POINTER_SIZE];
    mg_json_pointer_join(parent->pointer, mg_slice_of("expect"), pointer);
    if (!mg_json_object_open(&object, reading->faults, value, pointer, EXPECT_NAMES,
                             MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    int end = mg_json_get_word(&object, "end", MG_REQUIRED, ENDS, MG_BAD_INPUT, 0);
    one->is_rejected = end == END_REJECTED;
    one->is_stuck = end == END_WAITING;
    if (end >= 0 && end < END_REJECTED) {
        (void)mg_order_state_parse(ENDS[end], strlen(ENDS[end]), &one->end);
    }
    one->steps = mg_json_get_typed(&object, "steps", MG_OPTIONAL, MG_JSON_OBJECT);
    one->calls = mg_json_get_typed(&object, "calls", MG_OPTIONAL, MG_JSON_ARRAY);
    one->requests = mg_json_get_typed(&object, "requests", MG_OPTIONAL, MG_JSON_ARRAY);
    one->output = mg_json_get(&object, "output", MG_OPTIONAL);
    one->cause = mg_json_get_typed(&object, "cause", MG_OPTIONAL, MG_JSON_OBJECT);
    one->labels = mg_json_get_typed(&object, "labels", MG_OPTIONAL, MG_JSON_OBJECT);
    if (one->steps.data != NULL) {
        mg_json_pointer_join(pointer, mg_slice_of("steps"), place);
        steps_check(reading, one->steps, place);
    }
    if (one->calls.data != NULL) {
        mg_json_pointer_join(pointer, mg_slice_of("calls"), place);
        texts_check(reading, one->calls, place);
    }
    if (one->labels.data != NULL) {
        mg_json_pointer_join(pointer, mg_slice_of("labels"), place);
        texts_check(reading, one->labels, place);
    }
    if (one->requests.data != NULL) {
        mg_json_pointer_join(pointer, mg_slice_of("requests"), place);
        requests_check(reading, one->requests, place);
    }
}

static void case_read(struct reading *reading, struct mg_slice value, int index, struct mg_case *one)
{
    struct mg_json_object object;
    snprintf(one->pointer, sizeof(one->pointer), "/cases/%d", index);
    if (!mg_json_object_open(&object, reading->faults, value, one->pointer, CASE_NAMES,
                             MG_JSON_UNKNOWN_REFUSED)) {
        return;
    }
    mg_json_get_text(&object, "case", MG_REQUIRED, one->name, sizeof(one->name));
    one->payload = mg_json_get_typed(&object, "payload", MG_REQUIRED, MG_JSON_OBJECT);
    one->accepted_at_ms = mg_json_get(&object, "accepted_at", MG_OPTIONAL).data != NULL
                              ? mg_json_get_time(&object, "accepted_at")
                              : MG_CASE_ACCEPTED_AT_MS;
    if (one->accepted_at_ms >= MG_CASE_ACCEPTED_BEFORE_MS) {
        mg_json_member_fault(&object, MG_BAD_INPUT, "accepted_at",
                             "too late; name a moment before the year 9000");
    }
    struct mg_slice answers = mg_json_get_typed(&object, "answers", MG_OPTIONAL, MG_JSON_OBJECT);
    if (answers.data != NULL) {
        char at[MG_JSON_POINTER_SIZE];
        mg_json_pointer_join(one->pointer, mg_slice_of("answers"), at);
        answers_read(reading, answers, at, &one->answers);
    }
    struct mg_slice signals = mg_json_get_typed(&object, "signals", MG_OPTIONAL, MG_JSON_ARRAY);
    if (signals.data != NULL) {
        char at[MG_JSON_POINTER_SIZE];
        mg_json_pointer_join(one->pointer, mg_slice_of("signals"), at);
        signals_read(reading, signals, at, &one->signals);
    }
    struct mg_slice expect = mg_json_get_typed(&object, "expect", MG_REQUIRED, MG_JSON_OBJECT);
    if (expect.data != NULL) {
        expect_read(reading, &object, expect, one);
    }
}

/* ---- the file ---- */

int mg_service_paths_read(const struct mg_json_object *object,
                          struct mg_slice ret_paths[MG_CASE_SERVICES_MAX])
{
    struct mg_json_walk walk =
        mg_json_walk_of(mg_json_get_typed(object, "services", MG_OPTIONAL, MG_JSON_ARRAY));
    struct mg_slice none, value;
    char place[MG_JSON_POINTER_SIZE];
    int count = 0;
    for (int i = 0; mg_json_walk_next(&walk, &none, &value); i++) {
        value = mg_json_trim(value);
        (void)snprintf(place, sizeof(place), "/services/%d", i);
        if (i == MG_CASE_SERVICES_MAX) {
            mg_json_fault(object->faults, MG_BAD_INPUT, place, "one too many; a file names up to %d",
                          MG_CASE_SERVICES_MAX);
            return count;
        }
        if (mg_json_type_of(value) == MG_JSON_STRING) {
            ret_paths[count++] = value;
        } else {
            mg_json_fault(object->faults, MG_BAD_INPUT, place, "%s; the path of a service file is expected",
                          mg_json_type_name(mg_json_type_of(value)));
        }
    }
    return count;
}

static void name_check(const struct reading *reading, const struct mg_json_object *object)
{
    char name[MG_NAME_MAX + 1];
    mg_json_get_name(object, "workflow", MG_REQUIRED, name);
    if (name[0] != '\0' && reading->workflow != NULL && strcmp(name, reading->workflow->name) != 0) {
        mg_json_member_fault(object, MG_BAD_INPUT, "workflow",
                             "the cases are for workflow \"%s\", and the definition is of \"%s\"", name,
                             reading->workflow->name);
    }
}

static void cases_read(struct reading *reading)
{
    struct mg_cases *cases = reading->cases;
    struct mg_json_object object;
    struct mg_slice none, value;
    if (!mg_json_definition_open(&object, reading->faults, &LIMITS, FILE_NAMES)) {
        return;
    }
    (void)mg_json_get_typed(&object, "$schema", MG_OPTIONAL, MG_JSON_STRING); /* for editors */
    name_check(reading, &object);
    cases->service_count = mg_service_paths_read(&object, cases->services);
    struct mg_slice answers = mg_json_get_typed(&object, "answers", MG_OPTIONAL, MG_JSON_OBJECT);
    if (answers.data != NULL) {
        answers_read(reading, answers, "/answers", &cases->defaults);
    }
    cases->uncovered = mg_json_get_typed(&object, "uncovered", MG_OPTIONAL, MG_JSON_OBJECT);
    if (cases->uncovered.data != NULL) {
        texts_check(reading, cases->uncovered, "/uncovered");
    }
    struct mg_slice list = mg_json_get_typed(&object, "cases", MG_REQUIRED, MG_JSON_ARRAY);
    int count = mg_json_count(list);
    if (list.data != NULL && (count < 1 || count > MG_CASES_MAX)) {
        mg_json_member_fault(&object, MG_BAD_INPUT, "cases", "%d cases; a file has 1 to %d", count,
                             MG_CASES_MAX);
        return;
    }
    cases->cases = count > 0 ? take(reading, (size_t)count * sizeof(*cases->cases)) : NULL;
    if (cases->cases == NULL) {
        return;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(list); mg_json_walk_next(&walk, &none, &value);) {
        case_read(reading, mg_json_trim(value), cases->case_count, &cases->cases[cases->case_count]);
        cases->case_count++;
    }
}

enum mg_class mg_cases_parse(struct mg_slice text, const struct mg_workflow *workflow,
                             const struct mg_mistakes *mistakes, struct mg_cases **ret_cases,
                             struct mg_err *err)
{
    struct mg_json_faults faults;
    struct mg_cases *cases = calloc(1, sizeof(*cases));
    struct reading reading = {.cases = cases, .workflow = workflow, .faults = &faults};
    int signal_count = 0;
    for (int i = 0; workflow != NULL && i < workflow->plan.step_count; i++) {
        reading.step_names[i] = workflow->steps[i].name;
        if (workflow->steps[i].signal != NULL) {
            reading.signal_names[signal_count++] = workflow->steps[i].signal->name;
        }
    }
    if (cases != NULL) { /* an answer of few bytes becomes a struct of a few hundred */
        cases->arena = mg_arena_create(64 * text.len + MG_CASES_MAX * sizeof(struct mg_case) + 4096);
        cases->text = cases->arena != NULL ? mg_arena_copy(cases->arena, text) : cases->text;
    }
    if (cases == NULL || cases->text.data == NULL) {
        mg_cases_destroy(cases);
        return mg_err_set(err, MG_TRANSIENT, "could not read cases of %zu bytes: no memory", text.len);
    }
    faults = mg_json_definition_faults(cases->text, mistakes, err);
    cases_read(&reading);
    if (faults.class != MG_OK) {
        mg_cases_destroy(cases); /* with the text that has the places */
        return mg_json_faults_end(&faults);
    }
    *ret_cases = cases;
    return MG_OK;
}

void mg_cases_destroy(struct mg_cases *cases)
{
    if (cases != NULL) {
        mg_arena_destroy(cases->arena);
        free(cases);
    }
}
