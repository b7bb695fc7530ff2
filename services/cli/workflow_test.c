/* `workflow test`: the cases of a file, each rehearsed offline (rehearse/rehearsal.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "definition.h"
#include "rehearse/rehearsal.h"
#include "verbs.h"
#include "wire/json_scan.h"
#include "wire/workflow_cases.h"

#define SERVICE_MAX_BYTES ((size_t)256 * 1024) /* as an agent reads it */
#define PATH_SIZE         4096
#define JUNIT_MAX_BYTES   ((size_t)16 * 1024 * 1024)
/* Of a service without a file: only its name matters, and the defaults of all else. */
#define DEFAULT_SERVICE "{\"service\": \"%s\", \"url\": \"http://127.0.0.1\"}"

struct testing {
    struct mg_cli *cli;
    const char *cases_path;
    struct mg_workflow *workflow;
    struct mg_cases *cases;
    struct mg_service *services[MG_CASE_SERVICES_MAX + MG_STEPS_MAX]; /* owned */
    int service_count;
    const struct mg_service *by_step[MG_STEPS_MAX];
    struct mg_coverage coverage;
    struct mg_rehearsal *results; /* one for each case */
    int failed_count, uncovered_count;
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

static enum mg_exit_code service_add(struct testing *testing, struct mg_slice text, const char *path)
{
    struct mg_err err;
    struct mg_mistake_printer printer = {.path = path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    if (mg_service_parse(text, &mistakes, &testing->services[testing->service_count], &err) != MG_OK) {
        return printer.count > 0 ? MG_EXIT_USAGE : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", path, err.text);
    }
    testing->service_count++;
    return MG_EXIT_DONE;
}

/* A path is relative to the folder of the cases. */
static enum mg_exit_code service_read(struct testing *testing, struct mg_slice quoted)
{
    char name[PATH_SIZE], path[2 * PATH_SIZE];
    struct mg_buf name_buf, text;
    struct mg_err err;
    mg_buf_init_fixed(&name_buf, name, sizeof(name));
    (void)mg_json_string(quoted, &name_buf); /* checked: a string */
    const char *slash = strrchr(testing->cases_path, '/');
    int folder_len = name[0] != '/' && slash != NULL ? (int)(slash - testing->cases_path) + 1 : 0;
    if (name_buf.failed || folder_len >= PATH_SIZE) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s: /services: a path is too long", testing->cases_path);
    }
    snprintf(path, sizeof(path), "%.*s%s", folder_len, testing->cases_path, name);
    mg_buf_init(&text, SERVICE_MAX_BYTES);
    enum mg_exit_code code = mg_file_text(path, &text, &err) == MG_OK
                                 ? service_add(testing, mg_buf_slice(&text), path)
                                 : mg_cli_fail(MG_EXIT_USAGE, "%s", err.text);
    mg_buf_finish(&text);
    return code;
}

static const struct mg_service *service_find(const struct testing *testing, const char *name)
{
    for (int i = 0; i < testing->service_count; i++) {
        if (strcmp(testing->services[i]->name, name) == 0) {
            return testing->services[i];
        }
    }
    return NULL;
}

static enum mg_exit_code services_read(struct testing *testing)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    for (int i = 0; i < testing->cases->service_count && code == MG_EXIT_DONE; i++) {
        code = service_read(testing, testing->cases->services[i]);
    }
    for (int i = 0; i < testing->workflow->plan.step_count && code == MG_EXIT_DONE; i++) {
        const char *name = testing->workflow->steps[i].service;
        if (service_find(testing, name) == NULL) {
            char text[sizeof(DEFAULT_SERVICE) + MG_NAME_MAX];
            snprintf(text, sizeof(text), DEFAULT_SERVICE, name);
            code = service_add(testing, mg_slice_of(text), name);
        }
        testing->by_step[i] = service_find(testing, name);
    }
    return code;
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
        if (mg_rehearse(testing->workflow, testing->cases, &testing->cases->cases[i], testing->by_step,
                        &testing->coverage, result, &err) != MG_OK) {
            return mg_cli_fail_err(&err);
        }
        testing->failed_count += result->fault_count > 0 ? 1 : 0;
    }
    return MG_EXIT_DONE;
}

/* ---- coverage ---- */

/* The reason that the file gives for a branch that no case takes; absent: none. */
static struct mg_slice reason_of(const struct testing *testing, const char *step, enum mg_branch branch)
{
    char pointer[2 * MG_NAME_MAX + 8];
    snprintf(pointer, sizeof(pointer), "/%s.%s", step, mg_branch_name(branch));
    return testing->cases->uncovered.data != NULL ? mg_json_find(testing->cases->uncovered, pointer)
                                                  : (struct mg_slice){NULL, 0};
}

static bool is_missing(const struct testing *testing, int step, enum mg_branch branch)
{
    return mg_branch_exists(testing->workflow, step, branch) && !testing->coverage.seen[step][branch] &&
           reason_of(testing, testing->workflow->steps[step].name, branch).data == NULL;
}

typedef void branch_fn(const struct testing *testing, int step, enum mg_branch branch, void *arg);

static int missing_each(const struct testing *testing, branch_fn *seen, void *arg)
{
    int count = 0;
    for (int step = 0; step < testing->workflow->plan.step_count; step++) {
        for (int branch = 0; branch < MG_BRANCH_COUNT; branch++) {
            if (is_missing(testing, step, (enum mg_branch)branch)) {
                seen(testing, step, (enum mg_branch)branch, arg);
                count++;
            }
        }
    }
    return count;
}

static void missing_count(const struct testing *testing, int step, enum mg_branch branch, void *arg)
{
    (void)testing;
    (void)step;
    (void)branch;
    (void)arg;
}

/* ---- printing ---- */

static void missing_print(const struct testing *testing, int step, enum mg_branch branch, void *arg)
{
    (void)arg;
    (void)printf("not covered: step %s is %s in no case\n", testing->workflow->steps[step].name,
                 mg_branch_name(branch));
}

static void result_print(const struct mg_case *one, const struct mg_rehearsal *result)
{
    (void)printf("%-6s %s (%s)\n", result->fault_count > 0 ? "FAILED" : "ok", one->name, result->end);
    int shown = 0;
    for (const struct mg_fault *fault = result->faults; fault != NULL; fault = fault->next, shown++) {
        (void)printf("       %s: %s\n", fault->pointer, fault->text);
    }
    if (shown < result->fault_count) {
        (void)printf("       and %d more\n", result->fault_count - shown);
    }
}

static void text_print(const struct testing *testing)
{
    for (int i = 0; i < testing->cases->case_count; i++) {
        result_print(&testing->cases->cases[i], &testing->results[i]);
    }
    (void)printf("%d of %d cases passed\n", testing->cases->case_count - testing->failed_count,
                 testing->cases->case_count);
    if (testing->cli->options.wants_coverage) {
        (void)missing_each(testing, missing_print, NULL);
        (void)printf("%d branches not covered\n", testing->uncovered_count);
    }
}

static void missing_write(const struct testing *testing, int step, enum mg_branch branch, void *arg)
{
    struct mg_json_writer *json = arg;
    mg_json_element_object(json);
    mg_json_member_word(json, "step", testing->workflow->steps[step].name);
    mg_json_member_word(json, "branch", mg_branch_name(branch));
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
    mg_json_object_begin(json);
    mg_json_member_word(json, "workflow", testing->workflow->name);
    mg_json_member_int(json, "version", testing->workflow->version);
    mg_json_member_int(json, "passed", testing->cases->case_count - testing->failed_count);
    mg_json_member_int(json, "failed", testing->failed_count);
    mg_json_member_array(json, "cases");
    for (int i = 0; i < testing->cases->case_count; i++) {
        result_write(json, &testing->cases->cases[i], &testing->results[i]);
    }
    mg_json_array_end(json);
    mg_json_member_array(json, "not_covered");
    (void)missing_each(testing, missing_write, json);
    mg_json_array_end(json);
    mg_json_object_end(json);
    return mg_answer_print(&answer);
}

/* ---- JUnit ---- */

/* XML 1.0 has no way to write most control characters. */
static void xml_append(struct mg_buf *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            mg_buf_append_text(out, "&amp;");
            break;
        case '<':
            mg_buf_append_text(out, "&lt;");
            break;
        case '>':
            mg_buf_append_text(out, "&gt;");
            break;
        case '"':
            mg_buf_append_text(out, "&quot;");
            break;
        default:
            mg_buf_append(out, (unsigned char)*at < 0x20 && *at != '\n' ? " " : at, 1);
        }
    }
}

static void junit_case_write(struct mg_buf *out, const struct testing *testing, int index)
{
    const struct mg_rehearsal *result = &testing->results[index];
    mg_buf_printf(out, "  <testcase classname=\"%s\" name=\"", testing->workflow->name);
    xml_append(out, testing->cases->cases[index].name);
    mg_buf_append_text(out, "\">");
    if (result->fault_count > 0) {
        mg_buf_printf(out, "<failure message=\"%d differences\">", result->fault_count);
        for (const struct mg_fault *fault = result->faults; fault != NULL; fault = fault->next) {
            xml_append(out, fault->pointer);
            mg_buf_append_text(out, ": ");
            xml_append(out, fault->text);
            mg_buf_append_text(out, "\n");
        }
        mg_buf_append_text(out, "</failure>");
    }
    mg_buf_append_text(out, "</testcase>\n");
}

static enum mg_exit_code junit_write(const struct testing *testing, const char *path)
{
    struct mg_buf out;
    mg_buf_init(&out, JUNIT_MAX_BYTES);
    mg_buf_printf(&out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"%s\" tests=\"%d\" "
                  "failures=\"%d\">\n",
                  testing->workflow->name, testing->cases->case_count, testing->failed_count);
    for (int i = 0; i < testing->cases->case_count; i++) {
        junit_case_write(&out, testing, i);
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
    if (code != MG_EXIT_DONE) {
        return code;
    }
    testing->uncovered_count = missing_each(testing, missing_count, NULL);
    if (testing->cli->options.junit_file != NULL && testing->cli->options.junit_file[0] != '\0') {
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
    for (int i = 0; i < testing.service_count; i++) {
        mg_service_destroy(testing.services[i]);
    }
    mg_cases_destroy(testing.cases);
    mg_workflow_destroy(testing.workflow);
    return code;
}
