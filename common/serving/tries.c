/* See tries.h. */
#include "tries.h"

#include <string.h>

#include "base/id.h"
#include "core/backoff.h"
#include "deadline.h"

/* Size of a reply without its result and its kept body: identity, words, and two error texts of 255
 * characters at six bytes each when escaped. */
#define REPLY_ROOM_BYTES 8192
/* A result is part of a reply, which must pass the schedulers' check as a whole. The reply adds these. */
#define REPLY_LEVELS  1
#define REPLY_MEMBERS 16

void mg_tries_note(struct mg_tries *tries, const struct mg_request *request,
                   struct mg_verdict_of_try *verdict)
{
    bool may_have_run = verdict->executed != MG_EXECUTED_NO;
    bool is_judged = request->version >= MG_REQUEST_VERSION_JUDGED && request->kind != MG_KIND_VERIFY;
    if (is_judged) {
        verdict->executed = mg_maybe_fold_judged(verdict->executed, tries->may_have_run);
    }
    verdict->executed = mg_maybe_fold(request->kind, verdict->executed, tries->may_have_run);
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

struct mg_json_limits mg_answer_limits(const struct mg_service *service)
{
    struct mg_json_limits limits = MG_JSON_LIMITS_DATA;
    limits.max_bytes = service->answer_max_bytes;
    limits.max_depth -= REPLY_LEVELS;
    limits.max_members -= REPLY_MEMBERS;
    return limits;
}

struct mg_slice mg_reply_result(const struct mg_service *service, struct mg_slice answer_body,
                                bool *ret_is_truncated)
{
    struct mg_slice absent = {NULL, 0};
    *ret_is_truncated = false;
    if (answer_body.data == NULL || answer_body.len == 0) {
        return absent;
    }
    struct mg_json_limits limits = mg_answer_limits(service);
    struct mg_err err;
    if (mg_json_check(answer_body, &limits, &err) != MG_OK) {
        return absent; /* after a 2xx the step is done; later steps have nothing to refer to */
    }
    struct mg_slice result =
        mg_json_find(answer_body, service->result_pointer ? service->result_pointer : "");
    if (result.len > service->result_max_bytes) {
        *ret_is_truncated = true;
        return absent;
    }
    return result;
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
        .is_probe = verdict->is_probe,
        .http_status = verdict->http_status,
        .error_reason = verdict->reason,
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
