/*
 * Changes. Each is recorded with operator and reason. The change of a service or a bulk action is recorded in
 * its own transaction. Any other change first writes a row of operator_action; if that fails, nothing is
 * done. An order changes by a command to the schedulers; their answer reports the result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/change_request.h"
#include "core/key.h"
#include "operator/command_note.h"
#include "operator/option_words.h"
#include "service/service.h"
#include "wire/service_control.h"

#define REASON_MAX_TEXT "511"
_Static_assert(MG_COMMAND_REASON_MAX == 511, "the refusal's text names it");
#define PAUSE_MAX_MS (INT64_C(365) * 24 * 3600 * 1000)

static void on_gone(void *arg)
{
    ((struct mg_change *)arg)->request = NULL;
}

/* ---- services ---- */

static const char *service_change(struct mg_change *change, struct mg_slice body)
{
    struct mg_service_setting setting = {.service = change->id, .reason = change->reason, .by = change->by};
    char pause[MG_PATH_PART_SIZE], concurrency[MG_PATH_PART_SIZE], rate[MG_PATH_PART_SIZE];
    setting.version = mg_member_number(body, "/version");
    if (!mg_name_is_valid(change->id, strlen(change->id))) {
        return "invalid service name";
    }
    if (!mg_document_text(body, "/for", pause, sizeof(pause)) ||
        !mg_document_text(body, "/concurrency", concurrency, sizeof(concurrency)) ||
        !mg_document_text(body, "/rate", rate, sizeof(rate))) {
        return "for, concurrency, rate: expected short texts";
    }
    if (strcmp(change->verb, "pause") == 0) {
        setting.verb = MG_SETTING_PAUSE;
        setting.pause_ms = pause[0] != '\0' ? mg_duration_parse(pause) : 0;
        if (setting.pause_ms < 0 || setting.pause_ms > PAUSE_MAX_MS ||
            (pause[0] != '\0' && setting.pause_ms < 1000)) {
            return "for: expected a duration (10m, 2h, 1d), or nothing";
        }
    } else if (strcmp(change->verb, "resume") == 0) {
        setting.verb = MG_SETTING_RESUME;
    } else if (strcmp(change->verb, "limit") == 0) {
        setting.verb = MG_SETTING_LIMIT;
        if (!mg_limit_parse(concurrency, true, MG_SERVICE_CONCURRENCY_MAX, &setting.concurrency) ||
            !mg_limit_parse(rate, false, MG_SERVICE_RATE_MAX, &setting.rate_per_s) ||
            (setting.concurrency == NULL && setting.rate_per_s == NULL)) {
            return "concurrency, rate: expected at least one; concurrency: a whole number or none; rate: a "
                   "number or none";
        }
    } else {
        return "unknown verb";
    }
    mg_store_put_setting(change->console->changing_store, &setting, mg_change_stored, change);
    return NULL;
}

/* ---- alerts ---- */

static void on_acked(void *arg, int64_t alerts, const struct mg_err *err)
{
    struct mg_change *change = arg;
    char text[64];
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
    } else if (alerts == 0) {
        mg_change_end(change, 409, "the alert is closed, or acknowledged already");
    } else {
        (void)snprintf(text, sizeof(text), "%lld alert%s acknowledged", (long long)alerts,
                       alerts == 1 ? "" : "s");
        mg_change_end(change, 200, text);
    }
}

/* Acknowledges all alerts of its cause. */
static const char *alert_change(struct mg_change *change)
{
    size_t len = strlen(change->id);
    if (strcmp(change->verb, "ack") != 0 || len == 0 || len > 18 || strspn(change->id, "0123456789") != len) {
        return "expected alerts/NUMBER/ack";
    }
    const struct mg_alert_ack ack = {
        .alert_id = strtoll(change->id, NULL, 10), .by = change->by, .reason = change->reason};
    mg_store_ack_alert(change->console->changing_store, &ack, on_acked, change);
    return NULL;
}

/* ---- dead letters ---- */

static void dead_change(struct mg_change *change)
{
    struct mg_http_exchange *request = change->request;
    const struct mg_dead_settlement settlement = {change->by, change->reason, change->queue, change->mark,
                                                  strcmp(change->id, "drop") == 0};
    if (request != NULL) {
        mg_http_exchange_on_gone(request, NULL, NULL);
    }
    mg_dead_settle(change->console->dead, request, &settlement);
    mg_change_free(change);
}

static const char *dead_read(struct mg_change *change, struct mg_slice body)
{
    bool is_verb = strcmp(change->id, "drop") == 0 || strcmp(change->id, "requeue") == 0;
    if (!is_verb || change->verb[0] != '\0') {
        return "expected dead/drop or dead/requeue";
    }
    return mg_document_text(body, "/queue", change->queue, sizeof(change->queue)) &&
                   mg_document_text(body, "/mark", change->mark, sizeof(change->mark)) &&
                   change->mark[0] != '\0' && mg_dead_queue_is_known(change->queue)
               ? NULL
               : "queue, mark: expected those of the message as shown";
}

/* ---- dispatch ---- */

static void on_noted(void *arg, const struct mg_err *err)
{
    struct mg_change *change = arg;
    char text[MG_ERR_TEXT_MAX + 64];
    if (err != NULL) {
        (void)snprintf(text, sizeof(text), "no change was made, because it could not be recorded: %s",
                       err->text);
        mg_change_end(change, 503, text);
    } else if (strcmp(change->noun, "dead") == 0) {
        dead_change(change);
    } else if (change->workflow[0] != '\0') {
        mg_console_post_send(change);
    } else {
        mg_console_command_send(change);
    }
}

static void action_note(struct mg_change *change, const char *verb, const char *subject, const char *name,
                        const char *value)
{
    struct mg_buf detail;
    char memory[4 * MG_PATH_PART_SIZE];
    mg_buf_init_fixed(&detail, memory, sizeof(memory));
    struct mg_json_writer json = mg_json_spaced(&detail);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "via", "console");
    mg_json_member_string(&json, name, value);
    mg_json_object_end(&json);
    const struct mg_operator_action action = {.by = change->by,
                                              .verb = verb,
                                              .subject = subject,
                                              .reason = change->reason,
                                              .detail = mg_buf_slice(&detail)};
    mg_store_note_action(change->console->changing_store, &action, on_noted, change);
}

static void change_note(struct mg_change *change)
{
    if (strcmp(change->noun, "dead") == 0) {
        action_note(change, strcmp(change->id, "drop") == 0 ? "dead drop" : "dead requeue", change->mark,
                    "queue", change->queue);
    } else if (change->workflow[0] != '\0') {
        action_note(change, "order submit", change->command.order_id, "workflow", change->workflow);
    } else {
        struct mg_command_note note;
        mg_command_note_make(&change->command, "console", &note);
        mg_store_note_action(change->console->changing_store, &note.action, on_noted, change);
    }
}

/* NULL: the change is under way; else the reason for a refusal. */
static const char *change_begin(struct mg_change *change, struct mg_slice body)
{
    const char *wrong = "unknown address";
    if (!mg_document_text(body, "/reason", change->reason, sizeof(change->reason))) {
        return "reason: too long: at most " REASON_MAX_TEXT
               " bytes; a letter outside ASCII takes two or more";
    }
    if (strlen(change->reason) < MG_COMMAND_REASON_MIN) {
        return "reason: expected at least 3 characters";
    }
    change->note = change_note;
    if (strcmp(change->noun, "services") == 0) {
        return service_change(change, body);
    }
    if (strcmp(change->noun, "bulk") == 0) {
        return mg_console_bulk_change(change, body);
    }
    if (strcmp(change->noun, "schedules") == 0) {
        return mg_console_schedule_change(change, body);
    }
    if (strcmp(change->noun, "alerts") == 0) {
        return alert_change(change);
    }
    if (strcmp(change->noun, "orders") == 0 && change->id[0] == '\0') {
        return mg_console_post_begin(change, body);
    }
    if (strcmp(change->noun, "orders") == 0) {
        wrong = mg_console_order_read(change, body);
    } else if (strcmp(change->noun, "dead") == 0) {
        wrong = dead_read(change, body);
    }
    if (wrong == NULL) {
        change_note(change);
    }
    return wrong;
}

/* Its own reader names the verbs; the members of a body are those of a verb. */
static bool lacks_verb(const struct mg_change *change)
{
    return change->id[0] != '\0' && change->verb[0] == '\0' && strcmp(change->noun, "dead") != 0;
}

static bool is_command(const struct mg_change *change)
{
    return strcmp(change->noun, "orders") == 0 ||
           (strcmp(change->noun, "schedules") == 0 && strcmp(change->verb, "run") == 0);
}

void mg_console_act(struct mg_console *console, struct mg_http_exchange *request,
                    const struct mg_visitor *visitor, const char *rest)
{
    struct mg_slice body = mg_http_exchange_body(request);
    struct mg_err err;
    char reason[MG_ERR_TEXT_MAX];
    struct mg_change *change = mg_change_create(console, request, visitor->name);
    if (change == NULL) {
        mg_answer_error(request, 503, "out of memory");
        return;
    }
    const char *wrong = NULL;
    enum mg_class class = mg_document_check(body, &err);
    if (class != MG_OK) {
        wrong = err.text;
    } else if (!mg_path_split(rest, change->noun, change->id, change->verb)) {
        wrong = "unknown address";
    } else if (!lacks_verb(change) && !mg_members_check(body, change->noun, change->verb, change->refusal)) {
        wrong = change->refusal;
    } else if (is_command(change) && !mg_commander_is_up(console->commander, reason, sizeof(reason))) {
        mg_answer_error(request, 503, "could not reach the broker: %s", reason);
        mg_change_free(change);
    } else {
        mg_http_exchange_on_gone(request, on_gone, change);
        wrong = change_begin(change, body);
    }
    if (wrong != NULL) {
        mg_answer_error(request, class == MG_TRANSIENT ? 503 : 400, "%s", wrong);
        mg_change_free(change);
    }
}
