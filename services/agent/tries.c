/* See tries.h. */
#include "tries.h"

#include <string.h>

#include "base/id.h"
#include "core/backoff.h"
#include "deadline.h"
#include "refusal.h"

/* Size of a reply without its result and its kept body: identity, words, and two error texts of 255
 * characters at six bytes each when escaped. */
#define REPLY_ROOM_BYTES 8192
/* Message and kept body as JSON strings; an escaped byte has up to six. */
#define WORDS_MAX_BYTES (6 * (MG_ERROR_MESSAGE_MAX + MG_ERROR_KEEP_MAX) + 8)

void mg_tries_note(struct mg_tries *tries, const struct mg_request *request,
                   struct mg_verdict_of_try *verdict)
{
    bool may_have_run = verdict->executed != MG_EXECUTED_NO;
    bool is_judged = request->version >= MG_REQUEST_VERSION_JUDGED && request->kind == MG_KIND_DO;
    if (is_judged && tries->may_have_run && verdict->executed == MG_EXECUTED_YES) {
        verdict->executed = MG_EXECUTED_MAYBE; /* the answer may be judged to be a refusal */
    }
    verdict->executed = mg_classify_fold(request->kind, verdict->executed, tries->may_have_run);
    tries->may_have_run = tries->may_have_run || may_have_run;
    tries->may_still_act = tries->may_still_act || verdict->may_still_act;
}

int64_t mg_tries_budget_ms(const struct mg_service *service, int64_t left_ms)
{
    int64_t budget_ms = mg_deadline_budget_ms(left_ms);
    bool is_cut = service->try_timeout_ms > 0 && service->try_timeout_ms < budget_ms;
    return is_cut ? service->try_timeout_ms : budget_ms;
}

int64_t mg_tries_next_ms(const struct mg_service *service, const struct mg_request *request,
                         const struct mg_tries *tries, const struct mg_verdict_of_try *verdict,
                         int64_t left_ms)
{
    if (verdict->outcome != MG_OUTCOME_TRANSIENT || request->is_at_most_once ||
        tries->count >= service->tries) {
        return -1;
    }
    int64_t wait_ms = mg_backoff_ms(service->try_backoff_ms, service->try_max_backoff_ms,
                                    (uint32_t)tries->count - 1, verdict->retry_after_ms, mg_random_u64());
    return mg_deadline_budget_ms(left_ms - wait_ms) < MG_TRY_MIN_MS ? -1 : wait_ms;
}

bool mg_tries_may_renew_token(const struct mg_request *request, const struct mg_verdict_of_try *verdict,
                              int status)
{
    return status == 401 && (!request->is_at_most_once || verdict->executed == MG_EXECUTED_NO);
}

bool mg_outcome_has_result(enum mg_outcome outcome)
{
    return outcome == MG_OUTCOME_DONE || outcome == MG_OUTCOME_ACCEPTED;
}

/* A whole answer of the service with a body that explains it. "Absent" is an answer and no failure. */
static bool is_refusal(const struct mg_verdict_of_try *verdict)
{
    return strncmp(verdict->code, MG_ERROR_CODE_HTTP, strlen(MG_ERROR_CODE_HTTP)) == 0 &&
           verdict->outcome != MG_OUTCOME_ABSENT;
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

void mg_reply_parts_take(const struct mg_service *service, const struct mg_verdict_of_try *verdict,
                         struct mg_slice answer_body, bool has_text_result, struct mg_buf *words,
                         struct mg_reply_parts *ret_parts)
{
    *ret_parts = (struct mg_reply_parts){.is_truncated = false};
    mg_buf_init(words, WORDS_MAX_BYTES);
    if (mg_outcome_has_result(verdict->outcome) && has_text_result) {
        ret_parts->is_truncated = !mg_classify_text_result(service, answer_body, words);
        if (!ret_parts->is_truncated && words->len > 0) { /* an empty answer has no result */
            ret_parts->result = mg_buf_slice(words);
        }
    } else if (mg_outcome_has_result(verdict->outcome)) {
        ret_parts->result = mg_classify_result(service, answer_body, &ret_parts->is_truncated);
    } else if (is_refusal(verdict)) {
        words_take(service, answer_body, words, ret_parts);
    }
}

void mg_tries_reply_write(const struct mg_service *service, const struct mg_request *request,
                          const struct mg_verdict_of_try *verdict, bool may_still_act,
                          const struct mg_reply_parts *parts, struct mg_buf *ret_body)
{
    struct mg_reply reply = {
        .attempt = request->attempt,
        .kind = request->kind,
        .outcome = verdict->outcome,
        .executed = verdict->executed,
        .may_still_act = may_still_act,
        .retry_after_ms = verdict->retry_after_ms,
        .result = parts->result,
        .is_truncated = parts->is_truncated,
        .error_message = parts->message,
        .error_body = parts->body,
    };
    memcpy(reply.order_id, request->order_id, sizeof(reply.order_id));
    memcpy(reply.step, request->step, sizeof(reply.step));
    memcpy(reply.error_code, verdict->code, sizeof(reply.error_code));
    memcpy(reply.error_text, verdict->text, sizeof(reply.error_text));
    mg_buf_init(ret_body, service->result_max_bytes + parts->body.len + REPLY_ROOM_BYTES);
    mg_reply_write(&reply, ret_body);
}
