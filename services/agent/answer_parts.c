/* See answer_parts.h. */
#include "answer_parts.h"

#include <stdio.h>

#include "classify.h"
#include "json/scan.h"
#include "refusal.h"

/* Message and kept body as JSON strings; an escaped byte has up to six. */
#define WORDS_MAX_BYTES (6 * (MG_ERROR_MESSAGE_MAX + MG_ERROR_KEEP_MAX) + 8)

/* A whole answer of the service with a body that explains it. "Absent" is an answer and no failure. */
static bool is_refusal(const struct mg_verdict_of_try *verdict)
{
    return verdict->reason == MG_ERROR_REASON_ANSWERED && verdict->outcome != MG_OUTCOME_ABSENT;
}

/* The service's own words as JSON strings, in `words`; without memory the reply goes out without them. */
static void words_take(const struct mg_service *service, struct mg_slice answer_body, struct mg_buf *words,
                       struct mg_reply_parts *parts)
{
    const struct mg_json_limits limits = mg_answer_limits(service);
    char message[MG_ERROR_MESSAGE_MAX + 1];
    mg_refusal_message(service, answer_body, &limits, message);
    mg_buf_append_json_mended(words, mg_slice_of(message));
    size_t message_len = words->len;
    struct mg_slice kept = mg_refusal_kept(service, answer_body);
    mg_buf_append_json_mended(words, kept);
    if (!words->failed && message[0] != '\0') {
        parts->message = (struct mg_slice){words->data, message_len};
    }
    if (!words->failed && kept.data != NULL) {
        parts->body = (struct mg_slice){words->data + message_len, words->len - message_len};
    }
}

static bool is_blank(struct mg_slice body)
{
    return body.data == NULL || mg_json_trim(body).len == 0;
}

/* A body that the check of JSON refuses is mended first. */
static void result_take(const struct mg_service *service, struct mg_slice body, struct mg_reading *reading,
                        struct mg_reply_parts *parts)
{
    const struct mg_json_limits limits = mg_answer_limits(service);
    struct mg_err err;
    if (is_blank(body)) {
        return;
    }
    parts->result = mg_reply_result(service, body, &parts->is_truncated);
    if (parts->result.data != NULL || parts->is_truncated || mg_json_check(body, &limits, &err) == MG_OK) {
        return;
    }
    struct mg_slice mended = mg_reading_mend(reading, body, &limits);
    if (mended.data != NULL) {
        parts->result = mg_reply_result(service, mended, &parts->is_truncated);
    }
}

static void text_result_take(const struct mg_service *service, struct mg_slice body, struct mg_buf *words,
                             struct mg_reply_parts *parts)
{
    parts->is_truncated = !mg_classify_text_result(service, body, words);
    if (!parts->is_truncated && words->len > 0) { /* an empty answer has no result */
        parts->result = mg_buf_slice(words);
    }
}

static void note_unreadable(const struct mg_service *service, const struct mg_reading *reading,
                            struct mg_verdict_of_try *verdict, bool is_truncated)
{
    verdict->reason = MG_ERROR_REASON_RESULT_UNREADABLE;
    (void)snprintf(verdict->code, sizeof(verdict->code), "%s", mg_error_reason_name(verdict->reason));
    if (is_truncated) {
        (void)snprintf(verdict->text, sizeof(verdict->text),
                       "the result of %s is above %zu bytes (result.max_bytes), and was left out",
                       service->name, service->result_max_bytes);
    } else {
        (void)snprintf(verdict->text, sizeof(verdict->text), "the answer of %s has a body, and %.150s",
                       service->name, reading->fault);
    }
    mg_utf8_mend(verdict->text);
}

void mg_reply_parts_take(const struct mg_service *service, struct mg_slice answer_body, bool has_text_result,
                         struct mg_reading *reading, struct mg_buf *words, struct mg_verdict_of_try *verdict,
                         struct mg_reply_parts *ret_parts)
{
    *ret_parts = (struct mg_reply_parts){.is_truncated = false};
    mg_buf_init(words, WORDS_MAX_BYTES);
    if (!mg_outcome_has_result(verdict->outcome)) {
        if (is_refusal(verdict)) {
            words_take(service, answer_body, words, ret_parts);
        }
        return;
    }
    if (reading->fault[0] == '\0' && has_text_result) {
        text_result_take(service, answer_body, words, ret_parts);
    } else if (reading->fault[0] == '\0') {
        result_take(service, answer_body, reading, ret_parts);
    }
    if (ret_parts->is_truncated || (ret_parts->result.data == NULL && reading->fault[0] != '\0')) {
        note_unreadable(service, reading, verdict, ret_parts->is_truncated);
    }
}
