/*
 * The reply of an agent, in any language: the outcome of one attempt. Texts for people are cut, not refused,
 * so an outcome is never lost because of a long explanation.
 */
#include "wire/reply.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "json/reader.h"
#include "wire/message_write.h"

static const char *const NAMES[] = {
    "v",         "order_id", "step",           "attempt",       "kind",  "outcome",     "executed", "result",
    "truncated", "error",    "retry_after_ms", "may_still_act", "probe", "http_status", NULL};
static const char *const ERROR_NAMES[] = {"code", "reason", "text", "message", "body", NULL};
#define REASON_SIZE 32 /* a longer word is unknown here */
/* Before the status of the service's own answer. */
static const char HTTP[] = "http_";

/* Bodies as many services give them; "/title" and "/detail" are those of RFC 9457. "/error" counts where it
 * is a string itself. */
const char *const MG_ERROR_CODE_PLACES[] = {"/code", "/error/code", NULL};
const char *const MG_ERROR_TEXT_PLACES[] = {"/message", "/error/message", "/error",
                                            "/title",   "/detail",        NULL};

static_assert(sizeof(MG_ERROR_TEXT_PLACES) / sizeof(MG_ERROR_TEXT_PLACES[0]) <= MG_ERROR_POINTERS_MAX + 1,
              "they fit");

static bool is_code_char(char c)
{
    bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    return is_letter || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

bool mg_error_code_append(struct mg_slice text, char code[MG_ERROR_CODE_MAX + 1])
{
    const size_t size = MG_ERROR_CODE_MAX + 1;
    size_t begin = strlen(code), len = begin;
    bool is_gap = false; /* between two parts of the code */
    for (size_t i = 0; i < text.len && len + 1 < size; i++) {
        if (!is_code_char(text.data[i])) {
            is_gap = len > begin;
            continue;
        }
        if (is_gap && len + 2 < size) {
            code[len++] = '_';
        }
        code[len++] = text.data[i];
        is_gap = false;
    }
    code[len] = '\0';
    return len > begin;
}

void mg_error_code_of_status(int http_status, char ret_code[MG_ERROR_CODE_MAX + 1])
{
    (void)snprintf(ret_code, MG_ERROR_CODE_MAX + 1, "%s%d", HTTP, http_status);
}

/* The status of "http_422"; 0: it is not of HTTP. */
static int http_status_of(struct mg_slice class)
{
    const size_t prefix = sizeof(HTTP) - 1;
    int status = 0;
    if (class.len != prefix + 3 || memcmp(class.data, HTTP, prefix) != 0) {
        return 0;
    }
    for (size_t i = prefix; i < class.len; i++) {
        if (class.data[i] < '0' || class.data[i] > '9') {
            return 0;
        }
        status = status * 10 + (class.data[i] - '0');
    }
    return status >= MG_HTTP_STATUS_MIN ? status : 0;
}

/* Only these two have the service's own code after them. */
static enum mg_error_reason reason_of(struct mg_slice class, int http_status, bool has_own)
{
    enum mg_error_reason reason = MG_ERROR_REASON_OTHER;
    if (http_status > 0) {
        return MG_ERROR_REASON_ANSWERED;
    }
    bool is_word = mg_error_reason_parse(class.data, class.len, &reason);
    bool is_whole = reason != MG_ERROR_REASON_ANSWERED && (!has_own || reason == MG_ERROR_REASON_REFUSED);
    return is_word && is_whole ? reason : MG_ERROR_REASON_OTHER;
}

struct mg_error_facts mg_error_facts_read(struct mg_slice code)
{
    struct mg_error_facts facts = {.reason = MG_ERROR_REASON_NONE};
    if (code.len == 0) {
        return facts;
    }
    const char *slash = memchr(code.data, '/', code.len);
    struct mg_slice class = {code.data, slash != NULL ? (size_t)(slash - code.data) : code.len};
    size_t own_len = slash != NULL ? code.len - class.len - 1 : 0;
    if (class.len == 0 || (slash != NULL && own_len == 0)) {
        facts.reason = MG_ERROR_REASON_OTHER;
        return facts;
    }
    facts.http_status = http_status_of(class);
    facts.reason = reason_of(class, facts.http_status, own_len > 0);
    if (own_len > 0 && facts.reason != MG_ERROR_REASON_OTHER) {
        facts.own = (struct mg_slice){slash + 1, own_len};
    }
    return facts;
}

const char *mg_reply_result_fault(const struct mg_reply *reply)
{
    if (reply->result.data != NULL) {
        return "";
    }
    if (reply->error_reason == MG_ERROR_REASON_RESULT_UNREADABLE) {
        return reply->error_text;
    }
    return reply->is_truncated ? "it is larger than the service file allows, and was left out" : "";
}

static void write_error(struct mg_json_writer *json, const struct mg_reply *reply)
{
    mg_json_member_object(json, "error");
    mg_message_put_text_if(json, "code", reply->error_code);
    mg_message_put_text_if(json, "reason", mg_error_reason_name(reply->error_reason));
    mg_message_put_text_if(json, "text", reply->error_text);
    if (reply->error_message.data != NULL) {
        mg_json_member_raw(json, "message", reply->error_message);
    }
    if (reply->error_body.data != NULL) {
        mg_json_member_raw(json, "body", reply->error_body);
    }
    mg_json_object_end(json);
}

void mg_reply_write(const struct mg_reply *reply, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);

    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_message_put_text(&json, "order_id", reply->order_id);
    mg_message_put_text(&json, "step", reply->step);
    mg_json_member_int(&json, "attempt", reply->attempt);
    mg_json_member_word(&json, "kind", mg_kind_name(reply->kind));
    mg_json_member_word(&json, "outcome", mg_outcome_name(reply->outcome));
    mg_json_member_word(&json, "executed", mg_executed_name(reply->executed));
    if (reply->result.data != NULL) {
        mg_json_member_raw(&json, "result", reply->result);
    } else if (reply->is_truncated) {
        mg_json_member_null(&json, "result");
    }
    if (reply->is_truncated) {
        mg_json_member_bool(&json, "truncated", true);
    }
    if (reply->http_status >= MG_HTTP_STATUS_MIN && reply->http_status <= MG_HTTP_STATUS_MAX) {
        mg_json_member_int(&json, "http_status", reply->http_status);
    }
    bool has_words = reply->error_message.data != NULL || reply->error_body.data != NULL;
    bool has_reason = reply->error_reason != MG_ERROR_REASON_NONE;
    if (has_reason || reply->error_code[0] != '\0' || reply->error_text[0] != '\0' || has_words) {
        write_error(&json, reply);
    }
    if (reply->may_still_act != mg_maybe_acts_by_default(reply->outcome, reply->executed)) {
        mg_json_member_bool(&json, "may_still_act", reply->may_still_act);
    }
    if (reply->is_probe) {
        mg_json_member_bool(&json, "probe", true);
    }
    if (reply->retry_after_ms >= 0) {
        mg_json_member_int(&json, "retry_after_ms", reply->retry_after_ms);
    }
    mg_json_object_end(&json);
}

/* Of an agent that gives the members alone. */
static void code_by_default(struct mg_reply *reply)
{
    if (reply->error_reason == MG_ERROR_REASON_ANSWERED && reply->http_status > 0) {
        mg_error_code_of_status(reply->http_status, reply->error_code);
    } else {
        (void)snprintf(reply->error_code, sizeof(reply->error_code), "%s",
                       mg_error_reason_name(reply->error_reason));
    }
}

/* A text that names no reason leaves it to the members. An unknown word is as none: its writer has chosen the
 * text for readers without the word. Members against the text prove nothing, and cost an attempt. */
static void read_facts(struct mg_reply *reply, int http_status, const char *word)
{
    const struct mg_error_facts facts = mg_error_facts_read(mg_slice_of(reply->error_code));
    enum mg_error_reason reason = MG_ERROR_REASON_NONE;
    (void)mg_error_reason_parse(word, strlen(word), &reason);
    bool is_named = facts.reason != MG_ERROR_REASON_NONE && facts.reason != MG_ERROR_REASON_OTHER;
    bool is_other = is_named && reason != MG_ERROR_REASON_NONE && reason != facts.reason;
    bool is_other_status = facts.http_status > 0 && http_status > 0 && http_status != facts.http_status;
    if (is_other || is_other_status) {
        reply->error_reason = MG_ERROR_REASON_OTHER;
        return;
    }
    reply->error_reason = is_named || reason == MG_ERROR_REASON_NONE ? facts.reason : reason;
    reply->http_status = http_status > 0 ? http_status : facts.http_status;
    if (facts.reason == MG_ERROR_REASON_NONE) {
        code_by_default(reply);
    }
}

/* The reason's word; "" if none. */
static void read_error(const struct mg_json_object *object, struct mg_reply *reply,
                       char ret_reason[REASON_SIZE])
{
    struct mg_json_object error;
    ret_reason[0] = '\0';
    struct mg_slice value = mg_json_get_typed(object, "error", MG_OPTIONAL, MG_JSON_OBJECT);

    if (value.data == NULL) {
        return;
    }
    if (!mg_json_object_open(&error, object->faults, value, "/error", ERROR_NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return;
    }
    mg_json_get_text(&error, "code", MG_OPTIONAL, reply->error_code, sizeof(reply->error_code));
    mg_json_get_text(&error, "reason", MG_OPTIONAL, ret_reason, REASON_SIZE);
    mg_json_get_text(&error, "text", MG_OPTIONAL, reply->error_text, sizeof(reply->error_text));
    reply->error_message = mg_json_get_typed(&error, "message", MG_OPTIONAL, MG_JSON_STRING);
    reply->error_body = mg_json_get_typed(&error, "body", MG_OPTIONAL, MG_JSON_STRING);
}

enum mg_class mg_reply_parse(struct mg_slice body, const struct mg_json_limits *limits,
                             struct mg_reply *ret_reply, struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_reply reply = {0};
    char reason[REASON_SIZE];

    if (!mg_json_message_open(&object, &faults, body, limits, NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_version_check(&object);
    mg_json_get_order_id(&object, "order_id", MG_REQUIRED, reply.order_id);
    mg_json_get_name(&object, "step", MG_REQUIRED, reply.step);
    reply.attempt = (uint32_t)mg_json_get_integer(&object, "attempt", MG_REQUIRED, 1, MG_ATTEMPT_MAX, 0);
    int kind = mg_json_get_word(&object, "kind", MG_REQUIRED, MG_WORDS_KIND, MG_STALE, -1);
    int outcome = mg_json_get_word(&object, "outcome", MG_REQUIRED, MG_WORDS_OUTCOME, MG_STALE, -1);
    int executed = mg_json_get_word(&object, "executed", MG_REQUIRED, MG_WORDS_EXECUTED, MG_STALE, -1);
    reply.result = mg_json_get(&object, "result", MG_OPTIONAL);
    if (mg_slice_is(reply.result, "null")) {
        reply.result = (struct mg_slice){0};
    }
    reply.is_truncated = mg_json_get_bool(&object, "truncated", MG_OPTIONAL, false);
    read_error(&object, &reply, reason);
    read_facts(&reply,
               (int)mg_json_get_integer(&object, "http_status", MG_OPTIONAL, MG_HTTP_STATUS_MIN,
                                        MG_HTTP_STATUS_MAX, 0),
               reason);
    reply.retry_after_ms =
        mg_json_get_integer(&object, "retry_after_ms", MG_OPTIONAL, 0, MG_REPLY_RETRY_AFTER_MAX_MS, -1);
    reply.outcome = (enum mg_outcome)outcome;
    reply.executed = (enum mg_executed)executed;
    if (reply.outcome != MG_OUTCOME_DONE) { /* of a probe that succeeds, nothing is left to be spared */
        reply.is_probe = mg_json_get_bool(&object, "probe", MG_OPTIONAL, false);
    }
    reply.may_still_act = mg_json_get_bool(&object, "may_still_act", MG_OPTIONAL,
                                           mg_maybe_acts_by_default(reply.outcome, reply.executed));
    if (faults.class != MG_OK) {
        return faults.class;
    }
    reply.kind = (enum mg_kind)kind;
    *ret_reply = reply;
    return MG_OK;
}
