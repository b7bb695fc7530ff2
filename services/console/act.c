/*
 * Changes. Each is recorded with operator and reason. The change of a service or a bulk action is recorded in
 * its own transaction. Any other change first writes a row of operator_action; if that fails, nothing is
 * done. An order changes by a command to the schedulers; their answer reports the result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "console/change_request.h"
#include "core/key.h"
#include "operator/option_words.h"
#include "service/service.h"
#include "wire/service_control.h"

#define REASON_MIN      3
#define REASON_MAX_TEXT "511"
_Static_assert(MG_COMMAND_REASON_MAX == 511, "the refusal's text names it");
#define COMMAND_TIMEOUT_MS                                                                                   \
    5000 /* a scheduler answers within milliseconds; after this the operator looks at the order              \
          */
#define PAUSE_MAX_MS (INT64_C(365) * 24 * 3600 * 1000)
#define BY_SIZE      (MG_USER_NAME_SIZE + 142) /* room for the begin of the reason */

static void on_gone(void *arg)
{
    ((struct mg_change *)arg)->request = NULL;
}

/* ---- orders ---- */

/* The outcome of a signal. The text of a late one names it already. */
static void signal_words(const struct mg_command_result *result, char *ret_text, size_t size)
{
    bool is_late = result->signal == MG_SIGNAL_LATE;
    (void)snprintf(ret_text, size, "the signal is %s%s%s",
                   is_late ? "" : mg_signal_outcome_name(result->signal), is_late ? "" : ": ", result->text);
}

static void on_commanded(void *arg, const struct mg_command_result *result)
{
    static const unsigned int statuses[] = {[MG_COMMAND_DONE] = 200,
                                            [MG_COMMAND_CONFLICT] = 409,
                                            [MG_COMMAND_NOT_FOUND] = 404,
                                            [MG_COMMAND_INVALID] = 400};
    struct mg_change *change = arg;
    char text[MG_COMMAND_REASON_MAX + 64];
    if (result == NULL) {
        mg_change_end(change, 202, "no scheduler has answered yet; the command may still be carried out");
        return;
    }
    if (result->signal != MG_SIGNAL_NONE) {
        signal_words(result, text, sizeof(text));
    } else if (result->verdict == MG_COMMAND_DONE) {
        (void)snprintf(text, sizeof(text), "the order is %s", mg_order_state_name(result->state));
    } else {
        (void)snprintf(text, sizeof(text), "%s: %s", mg_command_verdict_name(result->verdict), result->text);
    }
    mg_change_end(change, statuses[result->verdict], text);
}

static void order_change(struct mg_change *change)
{
    if (!mg_commander_send(change->console->commander, &change->command, COMMAND_TIMEOUT_MS, on_commanded,
                           change)) {
        mg_change_end(change, 503, "too many commands are under way; try again");
    }
}

#define IDENTITY_MAX (2 * MG_UUID_SIZE + MG_USER_NAME_SIZE + 2 * MG_PATH_PART_SIZE)

/* The id is derived, so that a repeated request with the same `click` is the same command. The operator's
 * name is part of it: no request can take the id of another operator's command. */
static void command_id_make(const struct mg_change *change, uint64_t version, const char *click,
                            char ret_command_id[MG_UUID_SIZE])
{
    struct mg_buf identity;
    if (!mg_uuid_is_valid(click)) {
        mg_uuid_random(ret_command_id);
        return;
    }
    mg_buf_init(&identity, IDENTITY_MAX);
    mg_buf_printf(&identity, "%s\n%s\n%s\n%llu\n%s", change->by, change->id, change->verb,
                  (unsigned long long)version, click);
    mg_uuid_derived(mg_slice_of("console command"), mg_buf_slice(&identity), ret_command_id);
    mg_buf_finish(&identity);
}

static const char *version_read(struct mg_change *change, struct mg_slice body)
{
    change->command.version = mg_member_number(body, "/version");
    return change->command.version == 0 ? "version: expected the version of the order as shown" : NULL;
}

/* The name and the payload of a signal: JSON in a text, whose digits no browser has changed. NULL: they are
 * valid; else the reason for a refusal. */
static const char *signal_read(struct mg_change *change, struct mg_slice body)
{
    static const struct mg_json_limits limits = {
        .max_bytes = MG_SIGNAL_PAYLOAD_MAX, .max_depth = 32, .max_members = 10000, .any_number = true};
    struct mg_command *command = &change->command;
    struct mg_slice quoted = mg_json_find(body, "/payload");
    struct mg_buf payload;
    struct mg_err err;
    if (!mg_document_text(body, "/signal", command->signal, sizeof(command->signal)) ||
        !mg_name_is_valid(command->signal, strlen(command->signal))) {
        return "signal: expected the name of a signal";
    }
    if (quoted.data == NULL) {
        return NULL;
    }
    mg_buf_init(&payload, MG_SIGNAL_PAYLOAD_MAX + 1);
    bool is_read = mg_json_string(quoted, &payload) && !payload.failed &&
                   mg_json_check(mg_buf_slice(&payload), &limits, &err) == MG_OK;
    change->payload = is_read ? strndup(payload.data, payload.len) : NULL;
    mg_buf_finish(&payload);
    if (change->payload == NULL) {
        return is_read ? "payload: out of memory; try again"
                       : "payload: expected JSON of at most 64 KiB, such as true or {\"ok\": true}";
    }
    command->payload = mg_slice_of(change->payload);
    return NULL;
}

/* NULL: the request is valid; else the reason for a refusal. */
static const char *order_read(struct mg_change *change, struct mg_slice body)
{
    static const struct {
        const char *verb;
        enum mg_cause_kind kind;
    } verbs[] = {{"resume", MG_CAUSE_RESUME},         {"restart", MG_CAUSE_RESTART},
                 {"compensate", MG_CAUSE_COMPENSATE}, {"cancel", MG_CAUSE_CANCEL},
                 {"release", MG_CAUSE_RELEASE},       {"signal", MG_CAUSE_SIGNAL}};
    struct mg_command *command = &change->command;
    char click[MG_UUID_SIZE];
    *command = (struct mg_command){.outcome = MG_OUTCOME_DONE};
    bool is_known = false;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].verb, change->verb) == 0) {
            command->kind = verbs[i].kind;
            is_known = true;
        }
    }
    if (!is_known || !mg_order_id_is_valid(change->id, strlen(change->id))) {
        return "unknown verb, or invalid order id";
    }
    const char *wrong =
        command->kind == MG_CAUSE_SIGNAL ? signal_read(change, body) : version_read(change, body);
    if (wrong != NULL) {
        return wrong;
    }
    (void)mg_document_text(body, "/command_id", click, sizeof(click));
    command_id_make(change, command->version, click, command->command_id);
    memcpy(command->order_id, change->id, strlen(change->id) + 1); /* a valid id fits */
    (void)snprintf(command->by, sizeof(command->by), "%s", change->by);
    (void)snprintf(command->reason, sizeof(command->reason), "%s", change->reason);
    return NULL;
}

/* ---- services ---- */

static void on_setting_put(void *arg, enum mg_change_result result, uint64_t version,
                           const struct mg_err *err)
{
    struct mg_change *change = arg;
    char text[128];
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
        return;
    }
    switch (result) {
    case MG_CHANGE_DONE:
        (void)snprintf(text, sizeof(text), "stored as version %llu; the agents apply it within a second",
                       (unsigned long long)version);
        mg_change_end(change, 200, text);
        return;
    case MG_CHANGE_CONFLICT:
        mg_change_end(change, 409, "the settings of the service have changed meanwhile; reload the page");
        return;
    case MG_CHANGE_NOT_FOUND:
        mg_change_end(change, 404, "unknown service: no workflow and no agent names it");
        return;
    }
}

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
    mg_store_put_setting(change->console->changing_store, &setting, on_setting_put, change);
    return NULL;
}

/* ---- alerts ---- */

static void on_acked(void *arg, bool is_changed, const struct mg_err *err)
{
    struct mg_change *change = arg;
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
    } else if (!is_changed) {
        mg_change_end(change, 409, "the alert is closed, or acknowledged already");
    } else {
        mg_change_end(change, 200, "alert acknowledged");
    }
}

static void alert_change(struct mg_change *change)
{
    char by[BY_SIZE];
    (void)snprintf(by, sizeof(by), "%s: %.140s", change->by, change->reason);
    mg_utf8_mend(by); /* the cut may split a character */
    mg_store_ack_alert(change->console->changing_store, strtoll(change->id, NULL, 10), by, on_acked, change);
}

static const char *alert_read(const struct mg_change *change)
{
    size_t len = strlen(change->id);
    return strcmp(change->verb, "ack") == 0 && len > 0 && len < 19 && strspn(change->id, "0123456789") == len
               ? NULL
               : "expected alerts/NUMBER/ack";
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
    } else if (strcmp(change->noun, "orders") == 0 || strcmp(change->noun, "schedules") == 0) {
        order_change(change);
    } else if (strcmp(change->noun, "alerts") == 0) {
        alert_change(change);
    } else {
        dead_change(change);
    }
}

static void change_note(struct mg_change *change)
{
    char verb[2 * MG_PATH_PART_SIZE], memory[4 * MG_PATH_PART_SIZE];
    struct mg_buf detail;
    bool is_dead = strcmp(change->noun, "dead") == 0;
    mg_buf_init_fixed(&detail, memory, sizeof(memory));
    struct mg_json_writer json = mg_json_spaced(&detail);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "via", "console");
    if (is_dead) {
        (void)snprintf(verb, sizeof(verb), "dead %s", change->id);
        mg_json_member_string(&json, "queue", change->queue);
    } else { /* "orders" gives "order" */
        (void)snprintf(verb, sizeof(verb), "%.*s %s", (int)strlen(change->noun) - 1, change->noun,
                       change->verb);
        if (change->command.kind == MG_CAUSE_SIGNAL) {
            mg_json_member_string(&json, "signal", change->command.signal);
        } else {
            mg_json_member_int(&json, "version", (int64_t)change->command.version);
        }
    }
    mg_json_object_end(&json);
    const struct mg_operator_action action = {.by = change->by,
                                              .verb = verb,
                                              .subject = is_dead ? change->mark : change->id,
                                              .reason = change->reason,
                                              .detail = mg_buf_slice(&detail)};
    mg_store_note_action(change->console->changing_store, &action, on_noted, change);
}

/* NULL: the change is under way; else the reason for a refusal. */
static const char *change_begin(struct mg_change *change, struct mg_slice body)
{
    const char *wrong = "unknown address";
    if (!mg_document_text(body, "/reason", change->reason, sizeof(change->reason))) {
        return "reason: too long: at most " REASON_MAX_TEXT
               " bytes; a letter outside ASCII takes two or more";
    }
    if (strlen(change->reason) < REASON_MIN) {
        return "reason: expected at least 3 characters";
    }
    if (strcmp(change->noun, "services") == 0) {
        return service_change(change, body);
    }
    if (strcmp(change->noun, "bulk") == 0) {
        return mg_console_bulk_change(change, body);
    }
    if (strcmp(change->noun, "schedules") == 0) {
        change->note = change_note;
        return mg_console_schedule_change(change, body);
    }
    if (strcmp(change->noun, "orders") == 0) {
        wrong = order_read(change, body);
    } else if (strcmp(change->noun, "alerts") == 0) {
        wrong = alert_read(change);
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
