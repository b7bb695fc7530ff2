/*
 * Files of cases, `makegood workflow test`. The input is the file, which is read for either of two workflows
 * and for none. An accepted file is written from its cases, and read again: that means the same. A
 * refusal has its place in the file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "fuzz.h"
#include "json/reader.h"
#include "workflow/case_file.h"

#define ACTION(path) "{\"method\":\"POST\",\"path\":\"" path "\"}"
#define STEP(name)                                                                                           \
    "{\"step\":\"" name "\",\"service\":\"s\",\"do\":" ACTION("/" name) ",\"undo\":" ACTION("/u")
#define POLLED ",\"finish_within\":\"1h\",\"verify\":" ACTION("/v")

/* The workflows of the examples, as far as their cases name them. */
static const char *const DEFINITIONS[] = {
    "{\"workflow\":\"parallel\",\"version\":1,\"steps\":[" STEP("flight") "}," STEP("hotel") "}," STEP(
        "invoice") POLLED "}]}",
    "{\"workflow\":\"fulfilment\",\"version\":1,\"steps\":[" STEP("reserve") "}," STEP("charge") "}]}"};
#define WORKFLOW_COUNT (sizeof(DEFINITIONS) / sizeof(DEFINITIONS[0]))

static struct mg_workflow *workflows[WORKFLOW_COUNT];

/* ---- writing ---- */

static const char *const FATES[] = {NULL, "timeout", "broken", "unreachable", "lost"};

static void duration_write(struct mg_json_writer *json, const char *name, int64_t ms)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%lldms", (long long)ms);
    mg_json_member_word(json, name, text);
}

static void answer_write(struct mg_json_writer *json, const struct mg_case_answer *answer)
{
    mg_json_element_object(json);
    mg_json_member_word(json, "kind", mg_kind_name(answer->kind));
    if (answer->fate != MG_FATE_ANSWERED) {
        mg_json_member_word(json, "fails", FATES[answer->fate]);
    } else {
        mg_json_member_int(json, "status", answer->status);
    }
    if (answer->body.data != NULL) {
        mg_json_member_raw(json, answer->is_text ? "text" : "body", answer->body);
    }
    if (answer->after_ms > 0) {
        duration_write(json, "after", answer->after_ms);
    }
    if (answer->retry_after_ms > 0) {
        duration_write(json, "retry_after", answer->retry_after_ms);
    }
    mg_json_object_end(json);
}

static void answers_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                          const struct mg_case_answer *answer)
{
    mg_json_member_object(json, "answers");
    while (answer != NULL) {
        int step = answer->step;
        mg_json_member_array(json, workflow->steps[step].name);
        for (; answer != NULL && answer->step == step; answer = answer->next) {
            answer_write(json, answer);
        }
        mg_json_array_end(json);
    }
    mg_json_object_end(json);
}

static void raw_write(struct mg_json_writer *json, const char *name, struct mg_slice value)
{
    if (value.data != NULL) {
        mg_json_member_raw(json, name, value);
    }
}

static void case_write(struct mg_json_writer *json, const struct mg_workflow *workflow,
                       const struct mg_case *one)
{
    mg_json_element_object(json);
    mg_json_member_string(json, "case", one->name);
    mg_json_member_raw(json, "payload", one->payload);
    answers_write(json, workflow, one->answers);
    mg_json_member_object(json, "expect");
    mg_json_member_word(json, "end",
                        one->is_rejected ? "rejected"
                        : one->is_stuck  ? "waiting"
                                         : mg_order_state_name(one->end));
    raw_write(json, "steps", one->steps);
    raw_write(json, "calls", one->calls);
    raw_write(json, "requests", one->requests);
    raw_write(json, "output", one->output);
    raw_write(json, "cause", one->cause);
    raw_write(json, "labels", one->labels);
    mg_json_object_end(json);
    mg_json_object_end(json);
}

static void file_write(struct mg_buf *text, const struct mg_workflow *workflow, const struct mg_cases *cases)
{
    mg_buf_init(text, FUZZ_TEXT_MAX);
    struct mg_json_writer json = mg_json_compact(text);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "workflow", workflow->name);
    mg_json_member_array(&json, "services");
    for (int i = 0; i < cases->service_count; i++) {
        mg_json_element_raw(&json, cases->services[i]);
    }
    mg_json_array_end(&json);
    answers_write(&json, workflow, cases->defaults);
    raw_write(&json, "uncovered", cases->uncovered);
    mg_json_member_array(&json, "cases");
    for (int i = 0; i < cases->case_count; i++) {
        case_write(&json, workflow, &cases->cases[i]);
    }
    mg_json_array_end(&json);
    mg_json_object_end(&json);
    FUZZ_REQUIRE(!text->failed);
}

/* ---- properties of accepted cases ---- */

static void answers_are_sound(const struct mg_cases *cases, const struct mg_workflow *workflow,
                              const struct mg_case_answer *answer)
{
    for (; answer != NULL; answer = answer->next) {
        bool has_answer = answer->fate == MG_FATE_ANSWERED;
        FUZZ_REQUIRE(answer->step >= 0 && answer->step < workflow->plan.step_count);
        FUZZ_REQUIRE(workflow->steps[answer->step].actions[answer->kind].is_present);
        FUZZ_REQUIRE(answer->fate <= MG_FATE_LOST);
        FUZZ_REQUIRE(has_answer ? answer->status >= 100 && answer->status < 600 : answer->body.data == NULL);
        FUZZ_REQUIRE(answer->body.data == NULL || fuzz_is_within(answer->body, cases->text));
        FUZZ_REQUIRE(answer->after_ms >= 0 && answer->after_ms <= MG_CASE_AFTER_MAX_MS);
        FUZZ_REQUIRE(answer->retry_after_ms >= -1 && answer->retry_after_ms <= MG_CASE_AFTER_MAX_MS);
        FUZZ_REQUIRE(mg_json_find(cases->text, answer->pointer).data != NULL);
    }
}

static void cases_are_sound(const struct mg_cases *cases, const struct mg_workflow *workflow)
{
    FUZZ_REQUIRE(cases->case_count >= 1 && cases->case_count <= MG_CASES_MAX);
    FUZZ_REQUIRE(cases->service_count >= 0 && cases->service_count <= MG_CASE_SERVICES_MAX);
    answers_are_sound(cases, workflow, cases->defaults);
    for (int i = 0; i < cases->case_count; i++) {
        const struct mg_case *one = &cases->cases[i];
        FUZZ_REQUIRE(one->payload.data != NULL && mg_json_find(cases->text, one->pointer).data != NULL);
        FUZZ_REQUIRE(!one->is_rejected || !one->is_stuck);
        answers_are_sound(cases, workflow, one->answers);
    }
}

/* ---- reading ---- */

struct told {
    struct mg_slice text;
    int count;
};

static void on_mistake(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    struct told *told = arg;
    bool is_blank = pointer == NULL && mg_json_trim(told->text).len == 0; /* its text names the place */
    FUZZ_REQUIRE(is_blank || fuzz_has_place(told->text, place));
    FUZZ_REQUIRE(pointer == NULL || pointer[0] == '\0' || pointer[0] == '/');
    FUZZ_REQUIRE(text[0] != '\0' && ++told->count <= MG_JSON_FAULTS_MAX);
}

static struct mg_cases *file_read(struct mg_slice text, const struct mg_workflow *workflow)
{
    struct told told = {.text = text};
    const struct mg_mistakes mistakes = {on_mistake, &told};
    struct mg_cases *cases = NULL;
    struct mg_err err;
    enum mg_class class = mg_cases_parse(text, workflow, &mistakes, &cases, &err);
    if (class == MG_OK) {
        FUZZ_REQUIRE(told.count == 0 && cases != NULL && mg_slice_equal(cases->text, text));
        return cases;
    }
    fuzz_require_refusal(class, &err, NULL, 0);
    FUZZ_REQUIRE(class == MG_BAD_INPUT && told.count > 0 && cases == NULL);
    FUZZ_REQUIRE(strncmp(err.text, "line ", strlen("line ")) == 0);
    return NULL;
}

static void means_the_same(const struct mg_workflow *workflow, const struct mg_cases *cases)
{
    struct mg_buf first, second;
    file_write(&first, workflow, cases);
    struct mg_cases *again = file_read(mg_buf_slice(&first), workflow);
    FUZZ_REQUIRE(again != NULL && again->case_count == cases->case_count);
    cases_are_sound(again, workflow);
    file_write(&second, workflow, again);
    mg_cases_destroy(again);
    fuzz_require_same(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mg_slice text = {(const char *)data, size};
    struct mg_err err;
    mg_cases_destroy(file_read(text, NULL));
    for (size_t i = 0; i < WORKFLOW_COUNT; i++) {
        if (workflows[i] == NULL) {
            FUZZ_REQUIRE(mg_workflow_parse(mg_slice_of(DEFINITIONS[i]), NULL, &workflows[i], &err) == MG_OK);
        }
        struct mg_cases *cases = file_read(text, workflows[i]);
        if (cases != NULL) {
            cases_are_sound(cases, workflows[i]);
            means_the_same(workflows[i], cases);
        }
        mg_cases_destroy(cases);
    }
    return 0;
}
