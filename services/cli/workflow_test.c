/* `workflow test`: the cases of a file, each rehearsed offline (rehearse/rehearsal.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "definition.h"
#include "json/scan.h"
#include "named_services.h"
#include "operator/graph.h"
#include "rehearse/rehearsal.h"
#include "verb_table.h"
#include "workflow/case_file.h"

#define MISSING_MAX_BYTES ((size_t)4096) /* a name and an expression */
#define JUNIT_MAX_BYTES   ((size_t)16 * 1024 * 1024)

struct testing {
    struct mg_cli *cli;
    const char *cases_path;
    struct mg_workflow *workflow;
    struct mg_cases *cases;
    struct mg_service_files services;
    struct mg_coverage coverage;
    struct mg_rehearsal *results; /* one for each case */
    int failed_count, branch_count, uncovered_count;
};

/* ---- reading ---- */

static enum mg_exit_code cases_read(struct testing *testing)
{
    struct mg_mistake_printer printer = {.path = testing->cases_path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    struct mg_err err;
    char *text = NULL;
    size_t len = 0;
    enum mg_exit_code code = mg_cli_read_file(testing->cases_path, MG_CASES_MAX_BYTES, &text, &len);
    if (code == MG_EXIT_DONE && mg_cases_parse((struct mg_slice){text, len}, testing->workflow, &mistakes,
                                               &testing->cases, &err) != MG_OK) {
        code = printer.count > 0 ? MG_EXIT_USAGE
                                 : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", testing->cases_path, err.text);
    }
    free(text);
    return code;
}

static enum mg_exit_code services_read(struct testing *testing)
{
    enum mg_exit_code code = mg_service_files_read(&testing->services, testing->cases_path,
                                                   testing->cases->services, testing->cases->service_count);
    return code == MG_EXIT_DONE ? mg_service_files_match(&testing->services, testing->workflow) : code;
}

/* ---- running ---- */

static enum mg_exit_code cases_run(struct testing *testing)
{
    struct mg_err err;
    testing->results = calloc((size_t)testing->cases->case_count, sizeof(*testing->results));
    if (testing->results == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not run the cases: no memory");
    }
    for (int i = 0; i < testing->cases->case_count; i++) {
        struct mg_rehearsal *result = &testing->results[i];
        if (mg_rehearse(testing->workflow, testing->cases, &testing->cases->cases[i],
                        testing->services.by_step, &testing->coverage, result, &err) != MG_OK) {
            return mg_cli_fail_err(&err);
        }
        testing->failed_count += result->fault_count > 0 ? 1 : 0;
    }
    return MG_EXIT_DONE;
}

/* ---- coverage ---- */

/* The reason that the file gives for a branch that no case takes; absent: none. */
static struct mg_slice reason_of(const struct testing *testing, int step, int branch)
{
    char name[MG_BRANCH_NAME_SIZE], pointer[MG_BRANCH_NAME_SIZE + 1];
    mg_branch_name(testing->workflow, step, branch, name);
    snprintf(pointer, sizeof(pointer), "/%s", name);
    return testing->cases->uncovered.data != NULL ? mg_json_find(testing->cases->uncovered, pointer)
                                                  : (struct mg_slice){NULL, 0};
}

static bool is_missing(const struct testing *testing, int step, int branch)
{
    return !testing->coverage.seen[step][branch] && reason_of(testing, step, branch).data == NULL;
}

typedef void branch_fn(const struct testing *testing, int step, int branch, void *arg);

/* Calls `seen` for each branch of the workflow: those of the order itself stand last. */
static void branches_each(const struct testing *testing, branch_fn *seen, void *arg)
{
    for (int step = 0; step < MG_COVERED_COUNT; step++) {
        bool is_there = step == MG_COVERED_ORDER || step < testing->workflow->plan.step_count;
        for (int branch = 0; is_there && branch < MG_BRANCH_COUNT; branch++) {
            if (mg_branch_exists(testing->workflow, step, branch)) {
                seen(testing, step, branch, arg);
            }
        }
    }
}

/* A name of `uncovered` and the branch that it stands for. */
struct excuse {
    struct mg_slice name; /* quoted */
    bool is_known, is_taken;
};

static void excuse_match(const struct testing *testing, int step, int branch, void *arg)
{
    struct excuse *excuse = arg;
    char name[MG_BRANCH_NAME_SIZE], quoted[MG_BRANCH_NAME_SIZE + 2];
    mg_branch_name(testing->workflow, step, branch, name);
    snprintf(quoted, sizeof(quoted), "\"%s\"", name);
    if (mg_slice_is(excuse->name, quoted)) {
        excuse->is_known = true;
        excuse->is_taken = testing->coverage.seen[step][branch];
    }
}

static enum mg_exit_code excuse_refuse(const struct testing *testing, const struct excuse *excuse)
{
    struct mg_mistake_printer printer = {.path = testing->cases_path};
    char pointer[MG_BRANCH_NAME_SIZE + 16], text[2 * MG_BRANCH_NAME_SIZE];
    int len = (int)mg_utf8_cut(excuse->name, MG_BRANCH_NAME_SIZE);
    snprintf(pointer, sizeof(pointer), "/uncovered/%.*s", (int)excuse->name.len - 2, excuse->name.data + 1);
    snprintf(text, sizeof(text), "%.*s %s", len, excuse->name.data,
             excuse->is_known ? "is taken by a case; leave it out"
                              : "is no branch of the workflow; --coverage lists their names");
    mg_mistake_print(&printer, mg_json_place_at(testing->cases->text, pointer), "/uncovered", text);
    return MG_EXIT_USAGE;
}

/* A reason without its branch would hide the next branch of that name. */
static enum mg_exit_code excuses_check(const struct testing *testing)
{
    struct mg_slice value;
    struct excuse excuse;
    struct mg_json_walk walk = mg_json_walk_of(testing->cases->uncovered);
    while (testing->cases->uncovered.data != NULL && mg_json_walk_next(&walk, &excuse.name, &value)) {
        excuse.is_known = excuse.is_taken = false;
        branches_each(testing, excuse_match, &excuse);
        if (!excuse.is_known || excuse.is_taken) {
            return excuse_refuse(testing, &excuse);
        }
    }
    return MG_EXIT_DONE;
}

static void branch_count(const struct testing *testing, int step, int branch, void *arg)
{
    struct testing *counts = arg;
    counts->branch_count++;
    counts->uncovered_count += is_missing(testing, step, branch) ? 1 : 0;
}

/* ---- printing ---- */

/* "step charge is done in no case", with the condition where it is one. */
static void missing_tell(const struct testing *testing, int step, int branch, struct mg_buf *out)
{
    const struct mg_workflow *workflow = testing->workflow;
    const char *name = step == MG_COVERED_ORDER ? "" : workflow->steps[step].name;
    char word[MG_BRANCH_NAME_SIZE];
    struct mg_slice expr = {"", 0}, text;
    int of = step == MG_COVERED_ORDER ? MG_STEP_OF_ORDER : step;
    if (branch >= MG_BRANCH_REQUIRE) {
        int number = (branch - MG_BRANCH_REQUIRE) / 2;
        (void)mg_workflow_condition(workflow, of, number, &expr, &text);
        mg_buf_printf(out, "%s%s%s: %s in no case: %.*s", step == MG_COVERED_ORDER ? "the order" : "step ",
                      name, ", require", (branch - MG_BRANCH_REQUIRE) % 2 == 0 ? "met" : "refused",
                      (int)expr.len, expr.data);
    } else if (branch == MG_BRANCH_WHEN_TRUE || branch == MG_BRANCH_WHEN_FALSE) {
        (void)mg_workflow_condition(workflow, of, MG_CONDITION_WHEN, &expr, &text);
        mg_buf_printf(out, "step %s, when: %s in no case: %.*s", name,
                      branch == MG_BRANCH_WHEN_TRUE ? "true" : "false", (int)expr.len, expr.data);
    } else if (branch >= MG_BRANCH_ANSWER_DONE) {
        bool is_signal = step != MG_COVERED_ORDER && workflow->steps[step].signal != NULL;
        mg_buf_printf(out, "step %s: no case has a %s that means %s", name,
                      is_signal ? "signal" : "good answer",
                      branch == MG_BRANCH_ANSWER_DONE      ? "done"
                      : branch == MG_BRANCH_ANSWER_REFUSED ? "refused"
                                                           : "not done yet");
    } else if (branch == MG_BRANCH_TIMED_OUT) {
        mg_buf_printf(out, "step %s waits in vain in no case", name);
    } else {
        mg_buf_printf(out, "step %s is %s in no case", name, mg_branch_word(branch, word));
    }
}

static void missing_print(const struct testing *testing, int step, int branch, void *arg)
{
    char name[MG_BRANCH_NAME_SIZE];
    struct mg_buf text;
    (void)arg;
    if (is_missing(testing, step, branch)) {
        mg_buf_init(&text, MISSING_MAX_BYTES);
        mg_branch_name(testing->workflow, step, branch, name);
        missing_tell(testing, step, branch, &text);
        mg_print(stdout, "not covered: %s: %.*s\n", name, (int)text.len, text.len > 0 ? text.data : "");
        mg_buf_finish(&text);
    }
}

static void result_print(const struct mg_case *one, const struct mg_rehearsal *result)
{
    mg_print(stdout, "%-6s %s (%s)\n", result->fault_count > 0 ? "FAILED" : "ok", one->name, result->end);
    int shown = 0;
    for (const struct mg_fault *fault = result->faults; fault != NULL; fault = fault->next, shown++) {
        mg_print(stdout, "       %s: %s\n", fault->pointer, fault->text);
    }
    if (shown < result->fault_count) {
        mg_print(stdout, "       and %d more\n", result->fault_count - shown);
    }
}

static void text_print(const struct testing *testing)
{
    for (int i = 0; i < testing->cases->case_count; i++) {
        result_print(&testing->cases->cases[i], &testing->results[i]);
    }
    mg_print(stdout, "%d of %d cases passed\n", testing->cases->case_count - testing->failed_count,
             testing->cases->case_count);
    if (testing->cli->options.wants_coverage) {
        branches_each(testing, missing_print, NULL);
        mg_print(stdout, "%d of %d branches not covered\n", testing->uncovered_count, testing->branch_count);
    }
}

static void missing_write(const struct testing *testing, int step, int branch, void *arg)
{
    struct mg_json_writer *json = arg;
    char word[MG_BRANCH_NAME_SIZE];
    if (!is_missing(testing, step, branch)) {
        return;
    }
    mg_json_element_object(json);
    mg_json_member_string_or_null(json, "step",
                                  step != MG_COVERED_ORDER ? testing->workflow->steps[step].name : NULL);
    mg_json_member_word(json, "branch", mg_branch_word(branch, word));
    mg_json_object_end(json);
}

static void result_write(struct mg_json_writer *json, const struct mg_case *one,
                         const struct mg_rehearsal *result)
{
    mg_json_element_object(json);
    mg_json_member_string(json, "case", one->name);
    mg_json_member_bool(json, "passed", result->fault_count == 0);
    mg_json_member_word(json, "end", result->end);
    mg_json_member_int(json, "took_ms", result->took_ms);
    mg_json_member_array(json, "faults");
    for (const struct mg_fault *fault = result->faults; fault != NULL; fault = fault->next) {
        mg_json_element_object(json);
        mg_json_member_string(json, "pointer", fault->pointer);
        mg_json_member_string(json, "text", fault->text);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
    mg_json_object_end(json);
}

static enum mg_exit_code json_print(const struct testing *testing)
{
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(testing->cli, &answer);
    mg_json_member_word(json, "workflow", testing->workflow->name);
    mg_json_member_int(json, "version", testing->workflow->version);
    mg_json_member_int(json, "passed", testing->cases->case_count - testing->failed_count);
    mg_json_member_int(json, "failed", testing->failed_count);
    mg_json_member_array(json, "cases");
    for (int i = 0; i < testing->cases->case_count; i++) {
        result_write(json, &testing->cases->cases[i], &testing->results[i]);
    }
    mg_json_array_end(json);
    mg_json_member_int(json, "branches", testing->branch_count);
    mg_json_member_array(json, "not_covered");
    branches_each(testing, missing_write, json);
    mg_json_array_end(json);
    return mg_answer_print(&answer);
}

/* ---- JUnit ---- */

static void junit_case_write(struct mg_buf *out, const struct testing *testing, int index)
{
    const struct mg_rehearsal *result = &testing->results[index];
    mg_buf_printf(out, "  <testcase classname=\"%s\" name=\"", testing->workflow->name);
    mg_xml_append(out, mg_slice_of(testing->cases->cases[index].name));
    mg_buf_append_text(out, "\">");
    if (result->fault_count > 0) {
        mg_buf_printf(out, "<failure message=\"%d differences\">", result->fault_count);
        for (const struct mg_fault *fault = result->faults; fault != NULL; fault = fault->next) {
            mg_xml_append(out, mg_slice_of(fault->pointer));
            mg_buf_append_text(out, ": ");
            mg_xml_append(out, mg_slice_of(fault->text));
            mg_buf_append_text(out, "\n");
        }
        mg_buf_append_text(out, "</failure>");
    }
    mg_buf_append_text(out, "</testcase>\n");
}

static void junit_missing_write(const struct testing *testing, int step, int branch, void *arg)
{
    struct mg_buf *out = arg, text;
    if (!is_missing(testing, step, branch)) {
        return;
    }
    mg_buf_init(&text, MISSING_MAX_BYTES);
    missing_tell(testing, step, branch, &text);
    if (!text.failed) {
        mg_xml_append(out, mg_buf_slice(&text));
        mg_buf_append_text(out, "\n");
    }
    mg_buf_fail_with(out, &text);
    mg_buf_finish(&text);
}

/* A test of its own: a pipeline shows it alongside the cases. */
static void junit_coverage_write(struct mg_buf *out, const struct testing *testing)
{
    mg_buf_printf(out, "  <testcase classname=\"%s\" name=\"coverage\">", testing->workflow->name);
    if (testing->uncovered_count > 0) {
        mg_buf_printf(out, "<failure message=\"%d of %d branches not covered\">", testing->uncovered_count,
                      testing->branch_count);
        branches_each(testing, junit_missing_write, out);
        mg_buf_append_text(out, "</failure>");
    }
    mg_buf_append_text(out, "</testcase>\n");
}

static enum mg_exit_code junit_write(const struct testing *testing, const char *path)
{
    struct mg_buf out;
    bool wants_coverage = testing->cli->options.wants_coverage;
    int is_uncovered = wants_coverage && testing->uncovered_count > 0 ? 1 : 0;
    mg_buf_init(&out, JUNIT_MAX_BYTES);
    mg_buf_printf(&out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"%s\" tests=\"%d\" "
                  "failures=\"%d\">\n",
                  testing->workflow->name, testing->cases->case_count + (wants_coverage ? 1 : 0),
                  testing->failed_count + is_uncovered);
    for (int i = 0; i < testing->cases->case_count; i++) {
        junit_case_write(&out, testing, i);
    }
    if (wants_coverage) {
        junit_coverage_write(&out, testing);
    }
    mg_buf_append_text(&out, "</testsuite>\n");
    FILE *file = out.failed ? NULL : fopen(path, "we");
    bool is_written = file != NULL && fwrite(out.data, 1, out.len, file) == out.len;
    is_written = file != NULL && fclose(file) == 0 && is_written;
    enum mg_exit_code code =
        out.failed   ? mg_cli_fail(MG_EXIT_ERROR, "could not write %s: no memory", path)
        : is_written ? MG_EXIT_DONE
                     : mg_cli_fail(MG_EXIT_ERROR, "could not write %s: %s", path, strerror(errno));
    mg_buf_finish(&out);
    return code;
}

/* ---- the verb ---- */

static enum mg_exit_code test(struct testing *testing)
{
    enum mg_exit_code code = mg_definition_read(testing->cli->words.items[0], &testing->workflow);
    code = code == MG_EXIT_DONE ? cases_read(testing) : code;
    code = code == MG_EXIT_DONE ? services_read(testing) : code;
    code = code == MG_EXIT_DONE ? cases_run(testing) : code;
    code = code == MG_EXIT_DONE ? excuses_check(testing) : code;
    if (code != MG_EXIT_DONE) {
        return code;
    }
    branches_each(testing, branch_count, testing);
    if (mg_option_is_given(testing->cli->options.junit_file)) {
        code = junit_write(testing, testing->cli->options.junit_file);
    }
    if (testing->cli->is_json) {
        enum mg_exit_code printed = json_print(testing);
        code = code == MG_EXIT_DONE ? printed : code;
    } else {
        text_print(testing);
    }
    bool is_uncovered = testing->cli->options.wants_coverage && testing->uncovered_count > 0;
    return code == MG_EXIT_DONE && (testing->failed_count > 0 || is_uncovered) ? MG_EXIT_ERROR : code;
}

enum mg_exit_code mg_verb_workflow_test(struct mg_cli *cli)
{
    static struct testing testing; /* too large for a stack */
    testing = (struct testing){.cli = cli, .cases_path = cli->words.items[1]};
    enum mg_exit_code code = test(&testing);
    for (int i = 0; testing.results != NULL && i < testing.cases->case_count; i++) {
        mg_rehearsal_finish(&testing.results[i]);
    }
    free(testing.results);
    mg_service_files_free(&testing.services);
    mg_cases_destroy(testing.cases);
    mg_workflow_destroy(testing.workflow);
    return code;
}
