/* `service test`: a running service called as an agent would, and the promises that it keeps (audit/audit.h).
 */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "base/file.h"
#include "base/print.h"
#include "definition.h"
#include "findings.h"
#include "io/tls/check.h"
#include "verb_table.h"

#define SERVICE_MAX_BYTES    ((size_t)64 * 1024) /* as an agent reads it */
#define DEFINITION_MAX_BYTES ((size_t)64 * 1024)
#define URL_PATH_MAX         1024
#define ANSWER_TEXT_SIZE     128

struct testing {
    struct mg_cli *cli;
    struct mg_service *service;
    struct mg_workflow *workflow;
    int step;
    char *payload, *results_text;
    struct mg_slice payload_json, results[MG_STEPS_MAX];
    struct mg_audit audit;
    struct mg_findings findings; /* none of a dry run */
};

/* ---- reading ---- */

static enum mg_exit_code service_read(struct testing *testing)
{
    const char *path = testing->cli->options.service_file;
    struct mg_mistake_printer printer = {.path = path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    struct mg_err err;
    char *text = NULL, warning[MG_TLS_WARNING_SIZE];
    size_t len = 0;
    if (!mg_option_is_given(path)) {
        return mg_cli_fail(MG_EXIT_USAGE, "give the service file with --service FILE");
    }
    enum mg_exit_code code = mg_cli_read_file(path, SERVICE_MAX_BYTES, &text, &len);
    if (code == MG_EXIT_DONE &&
        mg_service_parse((struct mg_slice){text, len}, &mistakes, &testing->service, &err) != MG_OK) {
        code = printer.count > 0 ? MG_EXIT_USAGE : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", path, err.text);
    }
    free(text);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    const struct mg_tls_files files = {.ca_file = testing->service->ca_file,
                                       .cert_file = testing->service->client_cert_file,
                                       .key_file = testing->service->client_key_file};
    if (mg_tls_check(&files, warning, sizeof(warning), &err) != MG_OK) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s: /tls: %s", path, err.text);
    }
    if (warning[0] != '\0') {
        mg_cli_note("%s", warning);
    }
    return MG_EXIT_DONE;
}

/* Splits the URL of a do: the base stays in `url`, and the path goes to `ret_path`. */
static bool url_split(char *url, char ret_path[URL_PATH_MAX])
{
    char *host = strstr(url, "://"), *path = host != NULL ? strchr(host + 3, '/') : NULL;
    size_t len = path != NULL ? strlen(path) : 0;
    while (len > 0 && path[len - 1] == '/') {
        len--;
    }
    if (len >= URL_PATH_MAX) {
        return false;
    }
    snprintf(ret_path, URL_PATH_MAX, "%.*s", (int)len, path != NULL ? path : "");
    if (path != NULL) {
        *path = '\0';
    }
    return true;
}

static void action_write(struct mg_json_writer *json, const char *kind, const char *method, const char *path,
                         const char *more, bool has_body)
{
    char text[URL_PATH_MAX + 64];
    snprintf(text, sizeof(text), "%s%s", path, more);
    mg_json_member_object(json, kind);
    mg_json_member_word(json, "method", method);
    mg_json_member_string(json, "path", text[0] != '\0' ? text : "/");
    if (has_body) {
        mg_json_member_word(json, "body", "${/payload}");
    }
    mg_json_object_end(json);
}

/* The definition of a step without a workflow: the paths that the sample services have, too. --timeout bounds
 * its calls and its polls. */
static void definition_write(const struct mg_service *service, const char *path, struct mg_buf *ret_text)
{
    struct mg_json_writer json = mg_json_compact(ret_text);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "workflow", "service-test");
    mg_json_member_int(&json, "version", 1);
    mg_json_member_array(&json, "steps");
    mg_json_element_object(&json);
    mg_json_member_word(&json, "step", "test");
    mg_json_member_word(&json, "service", service->name);
    mg_json_member_word(&json, "complete_within", "20m");
    mg_json_member_word(&json, "finish_within", "1d");
    mg_json_member_word(&json, "poll", "500ms");
    action_write(&json, "do", "POST", path, "", true);
    action_write(&json, "verify", "GET", path, "/by-key/${/do_key}", false);
    action_write(&json, "undo", "DELETE", path, "/by-key/${/do_key}", false);
    mg_json_object_end(&json);
    mg_json_array_end(&json);
    mg_json_object_end(&json);
}

static enum mg_exit_code definition_make(struct testing *testing, const char *path)
{
    struct mg_buf text;
    struct mg_err err;
    mg_buf_init(&text, DEFINITION_MAX_BYTES);
    definition_write(testing->service, path, &text);
    enum mg_class class = text.failed
                              ? mg_err_set(&err, MG_TRANSIENT, "no memory for the calls")
                              : mg_workflow_parse(mg_buf_slice(&text), NULL, &testing->workflow, &err);
    mg_buf_finish(&text);
    return class == MG_OK ? MG_EXIT_DONE
                          : mg_cli_fail(class == MG_TRANSIENT ? MG_EXIT_ERROR : MG_EXIT_USAGE, "%s: %s",
                                        testing->cli->words.items[0], err.text);
}

/* The step of this name, or the only one of the service. */
static enum mg_exit_code step_find(struct testing *testing)
{
    const struct mg_workflow *workflow = testing->workflow;
    const char *name = testing->cli->options.step;
    int found = -1, count = 0;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        bool is_its = strcmp(workflow->steps[i].service, testing->service->name) == 0;
        bool is_meant = !mg_option_is_given(name) || strcmp(workflow->steps[i].name, name) == 0;
        if (is_its && is_meant) {
            found = i;
            count++;
        }
    }
    testing->step = found;
    if (count == 1) {
        return MG_EXIT_DONE;
    }
    return count > 1 ? mg_cli_fail(MG_EXIT_USAGE,
                                   "%d steps of workflow %s call service %s: name one with --step STEP",
                                   count, workflow->name, testing->service->name)
                     : mg_cli_fail(MG_EXIT_USAGE, "no step%s%s of workflow %s calls service %s",
                                   mg_option_is_given(name) ? " " : "", mg_option_is_given(name) ? name : "",
                                   workflow->name, testing->service->name);
}

/* The calls: those of the workflow's step below the URL, or those of the URL. */
static enum mg_exit_code calls_read(struct testing *testing)
{
    const char *workflow = testing->cli->options.workflow_file;
    char *url = strdup(testing->cli->words.items[0]), path[URL_PATH_MAX] = "";
    struct mg_err err;
    if (url == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not read the URL: no memory");
    }
    enum mg_exit_code code = MG_EXIT_DONE;
    if (!mg_option_is_given(workflow) && mg_option_is_given(testing->cli->options.step)) {
        code = mg_cli_fail(MG_EXIT_USAGE, "--step names a step of --workflow FILE: give both");
    } else if (strpbrk(url, "?#") == NULL && !mg_option_is_given(workflow) && !url_split(url, path)) {
        code = mg_cli_fail(MG_EXIT_USAGE, "the path of the URL is above %d bytes", URL_PATH_MAX - 1);
    }
    if (code == MG_EXIT_DONE && mg_service_set_url(testing->service, url, &err) != MG_OK) {
        code = mg_cli_fail_err(&err);
    }
    free(url);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    code = mg_option_is_given(workflow) ? mg_definition_read(workflow, &testing->workflow)
                                        : definition_make(testing, path);
    return code == MG_EXIT_DONE ? step_find(testing) : code;
}

static enum mg_exit_code values_read(struct testing *testing)
{
    const struct mg_cli_options *options = &testing->cli->options;
    struct mg_slice results = {NULL, 0};
    struct mg_err err;
    enum mg_exit_code code =
        mg_cli_read_json("--payload", mg_option_is_given(options->payload) ? options->payload : "{}",
                         &testing->payload, &testing->payload_json);
    if (code == MG_EXIT_DONE && mg_option_is_given(options->results)) {
        code = mg_cli_read_json("--results", options->results, &testing->results_text, &results);
    }
    if (code != MG_EXIT_DONE) {
        return code;
    }
    for (int i = 0; i < testing->workflow->plan.step_count && results.data != NULL; i++) {
        char pointer[MG_NAME_MAX + 2];
        snprintf(pointer, sizeof(pointer), "/%s", testing->workflow->steps[i].name);
        testing->results[i] = mg_json_find(results, pointer);
    }
    return mg_workflow_payload_check(testing->workflow, testing->payload_json, &err) == MG_OK
               ? MG_EXIT_DONE
               : mg_cli_fail(MG_EXIT_USAGE, "--payload: %s", err.text);
}

/* ---- printing ---- */

static const char *on_unknown_name(enum mg_on_unknown on_unknown)
{
    static const char *const names[] = {[MG_ON_UNKNOWN_RETRY] = "retry",
                                        [MG_ON_UNKNOWN_VERIFY] = "verify",
                                        [MG_ON_UNKNOWN_OPERATOR] = "operator"};
    return names[on_unknown];
}

static void answer_write(const struct mg_audit_seen *seen, char ret[ANSWER_TEXT_SIZE])
{
    char status[16] = "no answer";
    if (seen->status != 0) {
        snprintf(status, sizeof(status), "%d", seen->status);
    }
    bool has_code = seen->reply.error_code[0] != '\0' && seen->reply.outcome != MG_OUTCOME_ABSENT;
    snprintf(ret, ANSWER_TEXT_SIZE, "%s, %s%s%s", status, mg_outcome_name(seen->reply.outcome),
             has_code ? " " : "", has_code ? seen->reply.error_code : "");
}

static void call_print(const struct mg_audit *audit, enum mg_audit_call call)
{
    const struct mg_audit_seen *seen = &audit->seen[call];
    char answer[ANSWER_TEXT_SIZE];
    if (!seen->is_made) {
        return;
    }
    answer_write(seen, answer);
    mg_print(stdout, "  %-15s %-40s %6lld ms", mg_audit_call_name(call), answer, (long long)seen->took_ms);
    if (seen->tries > 1) {
        mg_print(stdout, ", %d tries", seen->tries);
    }
    if (seen->polls > 0) {
        mg_print(stdout, ", %d polls", seen->polls);
    }
    mg_print(stdout, "\n");
}

static void plan_print(const struct mg_audit *audit)
{
    for (enum mg_audit_call call = 0; call < MG_AUDIT_CALL_COUNT; call++) {
        const struct mg_audit_seen *seen = &audit->seen[call];
        if (seen->path.data != NULL) {
            mg_print(stdout, "%-15s %.*s %s%.*s\n", mg_audit_call_name(call), (int)seen->method.len,
                     seen->method.data, audit->options.service->url, (int)seen->path.len, seen->path.data);
        } else {
            mg_print(stdout, "%-15s not made: %s\n", mg_audit_call_name(call), seen->why);
        }
    }
}

static void text_print(struct testing *testing)
{
    const struct mg_audit *audit = &testing->audit;
    const struct mg_advice *advice = &audit->advice;
    if (testing->cli->options.is_dry_run) {
        plan_print(audit);
        return;
    }
    mg_print(stdout, "service %s at %s, orders %s-1 to -3\n\n", testing->service->name, testing->service->url,
             audit->order_id);
    for (enum mg_audit_call call = 0; call < MG_AUDIT_CALL_COUNT; call++) {
        call_print(audit, call);
    }
    mg_print(stdout, "\n");
    mg_findings_print(&testing->findings);
    mg_print(stdout, "\non_unknown: %s: %s\nat_most_once: %s: %s\n", on_unknown_name(advice->on_unknown),
             advice->on_unknown_why, advice->is_at_most_once ? "true" : "false", advice->at_most_once_why);
    for (int i = 0; i < advice->note_count; i++) {
        mg_print(stdout, "note: %s\n", advice->notes[i]);
    }
    mg_findings_print_counts(&testing->findings);
}

static void text_or_null(struct mg_json_writer *json, const char *name, struct mg_slice text)
{
    if (text.data != NULL && text.len > 0) {
        mg_json_member_text(json, name, text);
    } else {
        mg_json_member_null(json, name);
    }
}

static void raw_or_null(struct mg_json_writer *json, const char *name, struct mg_slice value)
{
    if (value.data != NULL && value.len > 0) {
        mg_json_member_raw(json, name, value);
    } else {
        mg_json_member_null(json, name);
    }
}

/* The members of a call that was made; null otherwise. */
static void answer_json(struct mg_json_writer *json, const struct mg_audit_seen *seen)
{
    const struct mg_reply *reply = &seen->reply;
    if (!seen->is_made) {
        mg_json_member_null(json, "answer");
        return;
    }
    mg_json_member_object(json, "answer");
    if (seen->status != 0) {
        mg_json_member_int(json, "status", seen->status);
    } else {
        mg_json_member_null(json, "status");
    }
    mg_json_member_word(json, "outcome", mg_outcome_name(reply->outcome));
    mg_json_member_word(json, "executed", mg_executed_name(reply->executed));
    mg_json_member_string_or_null(json, "error_code", reply->error_code);
    mg_json_member_string_or_null(json, "error_text", reply->error_text);
    raw_or_null(json, "error_message", reply->error_message);
    raw_or_null(json, "error_body", reply->error_body);
    raw_or_null(json, "result", seen->shown);
    mg_json_member_int(json, "tries", seen->tries);
    mg_json_member_int(json, "polls", seen->polls);
    mg_json_member_int(json, "took_ms", seen->took_ms);
    mg_json_member_int(json, "budget_ms", seen->budget_ms);
    mg_json_object_end(json);
}

static void calls_json(struct mg_json_writer *json, const struct mg_audit *audit)
{
    mg_json_member_array(json, "calls");
    for (enum mg_audit_call call = 0; call < MG_AUDIT_CALL_COUNT; call++) {
        const struct mg_audit_seen *seen = &audit->seen[call];
        mg_json_element_object(json);
        mg_json_member_word(json, "call", mg_audit_call_name(call));
        mg_json_member_word(json, "kind", mg_kind_name(seen->kind));
        mg_json_member_string_or_null(json, "key", seen->key);
        text_or_null(json, "method", seen->method);
        text_or_null(json, "path", seen->path);
        text_or_null(json, "body", seen->body);
        mg_json_member_string_or_null(json, "not_made", seen->why);
        answer_json(json, seen);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

static void advice_json(struct mg_json_writer *json, const struct testing *testing)
{
    const struct mg_advice *advice = &testing->audit.advice;
    if (testing->cli->options.is_dry_run) {
        mg_json_member_null(json, "advice");
        return;
    }
    mg_json_member_object(json, "advice");
    mg_json_member_word(json, "on_unknown", on_unknown_name(advice->on_unknown));
    mg_json_member_string(json, "on_unknown_why", advice->on_unknown_why);
    mg_json_member_bool(json, "at_most_once", advice->is_at_most_once);
    mg_json_member_string(json, "at_most_once_why", advice->at_most_once_why);
    mg_json_member_array(json, "notes");
    for (int i = 0; i < advice->note_count; i++) {
        mg_json_element_text(json, mg_slice_of(advice->notes[i]));
    }
    mg_json_array_end(json);
    mg_json_object_end(json);
}

static enum mg_exit_code json_print(const struct testing *testing)
{
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(testing->cli, &answer);
    mg_json_member_word(json, "service", testing->service->name);
    mg_json_member_string(json, "url", testing->service->url);
    mg_json_member_word(json, "workflow", testing->workflow->name);
    mg_json_member_word(json, "step", testing->workflow->steps[testing->step].name);
    mg_json_member_string(json, "orders", testing->audit.order_id);
    mg_findings_write_counts(&testing->findings, json);
    mg_findings_write(&testing->findings, json);
    advice_json(json, testing);
    calls_json(json, &testing->audit);
    return mg_answer_print(&answer);
}

/* ---- the verb ---- */

static const char *name_of(int promise)
{
    return mg_promise_name((enum mg_promise)promise);
}

static void warn(const struct testing *testing)
{
    const struct mg_service *service = testing->service;
    if (testing->cli->options.is_dry_run) {
        return;
    }
    mg_cli_note(
        "calling %s with real effects under two keys, both undone at the end as far as its undo works",
        service->url);
    if (service->endpoint.is_plaintext) {
        mg_cli_note("the calls, with the credentials of the service file, go in plaintext over a network; an "
                    "agent needs --allow-plaintext for it");
    }
}

static enum mg_exit_code test(struct testing *testing)
{
    struct mg_err err;
    enum mg_exit_code code = service_read(testing);
    code = code == MG_EXIT_DONE ? calls_read(testing) : code;
    code = code == MG_EXIT_DONE ? values_read(testing) : code;
    if (code != MG_EXIT_DONE) {
        return code;
    }
    const struct mg_audit_options options = {.loop = testing->cli->loop,
                                             .service = testing->service,
                                             .workflow = testing->workflow,
                                             .step = testing->step,
                                             .payload = testing->payload_json,
                                             .results = testing->results,
                                             .timeout_ms = testing->cli->options.timeout_ms,
                                             .is_dry_run = testing->cli->options.is_dry_run};
    warn(testing);
    if (mg_audit_run(&options, &testing->audit, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    testing->findings = (struct mg_findings){
        testing->audit.findings, options.is_dry_run ? 0 : MG_PROMISE_COUNT, name_of, "promises", "promise"};
    if (testing->cli->is_json) {
        code = json_print(testing);
    } else {
        text_print(testing);
    }
    return mg_findings_code(&testing->findings, code);
}

enum mg_exit_code mg_verb_service_test(struct mg_cli *cli)
{
    static struct testing testing; /* too large for a stack */
    testing = (struct testing){.cli = cli};
    enum mg_exit_code code = test(&testing);
    mg_audit_finish(&testing.audit);
    mg_workflow_destroy(testing.workflow);
    mg_service_destroy(testing.service);
    free(testing.payload);
    free(testing.results_text);
    return code;
}
