/*
 * The agent's way of a request: headers, call, meaning of the answer and further tries are those of
 * makegood-agent. The loop runs while an answer, a token or the next try is awaited; each wait has an end.
 */
#include "attempt.h"

#include "agent/answer_parts.h"
#include "agent/service_call.h"
#include "base/clock.h"
#include "serving/tries.h"
#include "wire/http_header.h"

/* A reply with the largest result and the largest kept body, each byte of which may be escaped. */
#define REPLY_MAX_BYTES ((size_t)512 * 1024)

/* One request on its way. */
struct attempt {
    struct mg_caller *caller;
    const struct mg_request *request;
    struct mg_audit_seen *seen;
    int64_t until_boot_ms;
    struct mg_tries tries;
    struct mg_verdict_of_try verdict;
    struct mg_reading reading; /* of the last answer */
    struct mg_slice body;      /* of the last answer, in the arena, without our secrets if it refuses */
    bool has_text_result, is_token_refused, is_out_of_memory;
    struct mg_token_refusals token_refusals;
    struct mg_outgoing outgoing;
    int64_t budget_ms, began_boot_ms;
};

static void on_timer(void *arg)
{
    struct mg_caller *caller = arg;
    mg_loop_stop(caller->audit->options.loop);
}

static void on_token(void *arg, bool is_good)
{
    struct mg_caller *caller = arg;
    caller->has_no_token = !is_good;
    if (caller->is_fetching) {
        mg_loop_stop(caller->audit->options.loop);
    }
}

enum mg_class mg_caller_open(struct mg_audit *audit, struct mg_caller *ret_caller, struct mg_err *err)
{
    const struct mg_service *service = audit->options.service;
    const struct mg_http_client_options options = mg_outgoing_client_options(service);
    *ret_caller = (struct mg_caller){.audit = audit};
    ret_caller->timer = mg_timer_create(audit->options.loop, on_timer, ret_caller);
    if (ret_caller->timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not call service %s: no memory", service->name);
    }
    enum mg_class class = mg_http_client_create(audit->options.loop, &options, &ret_caller->http, err);
    if (class == MG_OK && service->auth.scheme == MG_AUTH_OAUTH2) {
        class = mg_token_create(audit->options.loop, service, on_token, ret_caller, &ret_caller->token, err);
    }
    return class;
}

void mg_caller_close(struct mg_caller *caller)
{
    if (caller->http != NULL) {
        mg_http_client_destroy(caller->http);
    }
    mg_token_destroy(caller->token);
    mg_timer_destroy(caller->timer);
}

void mg_caller_rest(struct mg_caller *caller, int64_t ms)
{
    mg_timer_start(caller->timer, ms, 0);
    mg_loop_run(caller->audit->options.loop);
    mg_timer_stop(caller->timer);
}

static int64_t left_ms(const struct attempt *attempt)
{
    return attempt->until_boot_ms - mg_clock_boot_ms();
}

/* ---- one try ---- */

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct attempt *attempt = arg;
    struct mg_audit_seen *seen = attempt->seen;
    struct mg_http_answer told = *answer;
    int64_t took_ms = mg_clock_boot_ms() - attempt->began_boot_ms;
    mg_reading_finish(&attempt->reading);
    mg_outgoing_classify(&attempt->outgoing, &told, attempt->budget_ms, &attempt->reading, &attempt->verdict);
    attempt->is_token_refused = mg_outgoing_is_token_refused(&attempt->outgoing, &told, &attempt->verdict);
    attempt->has_text_result =
        (attempt->outgoing.service->is_text_answer || attempt->request->is_text_answer) &&
        !mg_media_type_is_json(answer->content_type);
    attempt->body = mg_arena_copy(attempt->outgoing.arena, told.body);
    attempt->is_out_of_memory = told.body.len > 0 && attempt->body.data == NULL;
    seen->status = answer->sent == MG_SENT_YES ? answer->status : 0;
    seen->is_timed_out = seen->is_timed_out || answer->is_timed_out;
    seen->is_unreached = answer->sent == MG_SENT_NO;
    if (took_ms >= seen->took_ms) {
        seen->took_ms = took_ms;
        seen->budget_ms = attempt->budget_ms;
    }
    mg_loop_stop(attempt->caller->audit->options.loop);
}

/* False: there is no access token in time, and the verdict is that no call was made. */
static bool token_await(struct attempt *attempt)
{
    struct mg_caller *caller = attempt->caller;
    while (caller->token != NULL && !mg_token_is_ready(caller->token)) {
        bool is_late = mg_tries_budget_ms(attempt->outgoing.service, left_ms(attempt)) <= 0;
        if (is_late || caller->has_no_token) {
            mg_verdict_not_made(MG_ERROR_REASON_TOKEN_UNAVAILABLE,
                                caller->has_no_token ? mg_token_fault(caller->token)
                                                     : "no access token came in time",
                                &attempt->verdict);
            attempt->seen->is_unreached = true;
            return false;
        }
        caller->is_fetching = true;
        mg_caller_rest(caller, left_ms(attempt) > 0 ? left_ms(attempt) : 1);
        caller->is_fetching = false;
    }
    return true;
}

/* Makes one call and waits for its end. False: no call was made, and none can follow. */
static bool try_make(struct attempt *attempt)
{
    struct mg_caller *caller = attempt->caller;
    struct mg_call_headers headers;
    struct mg_http_request call;
    struct mg_http_call *running;
    struct mg_err err;
    if (!token_await(attempt)) {
        return false;
    }
    attempt->budget_ms = mg_tries_budget_ms(attempt->outgoing.service, left_ms(attempt));
    if (attempt->budget_ms <= 0) {
        return false; /* the verdict of the try before stays; a first try has time */
    }
    attempt->tries.count++;
    enum mg_class class = mg_outgoing_make(&attempt->outgoing, &headers, &call, &err);
    call.timeout_ms = attempt->budget_ms;
    attempt->began_boot_ms = mg_clock_boot_ms();
    if (class == MG_OK) {
        class = mg_http_client_call(caller->http, &call, on_answer, attempt, &running, &err);
    }
    if (class != MG_OK) {
        mg_verdict_not_made(MG_ERROR_REASON_NONE, err.text, &attempt->verdict);
        mg_verdict_code_set(&attempt->verdict, "unsendable");
        attempt->verdict.outcome = MG_OUTCOME_PERMANENT;
        attempt->is_out_of_memory = class == MG_TRANSIENT;
        return false;
    }
    mg_loop_run(caller->audit->options.loop);
    return true;
}

/* Waits until a try is repeated whose token was refused. False: it is not. */
static bool renews_token(struct attempt *attempt)
{
    struct mg_token *token = attempt->caller->token;
    int64_t wait_ms = attempt->is_token_refused ? mg_token_refuse(token, mg_token_number(token),
                                                                  left_ms(attempt), &attempt->token_refusals)
                                                : -1;
    attempt->is_token_refused = false;
    if (wait_ms > 0) {
        mg_caller_rest(attempt->caller, wait_ms);
    }
    return wait_ms >= 0;
}

static void tries_make(struct attempt *attempt)
{
    int64_t wait_ms = 0;
    while (wait_ms >= 0 && !attempt->is_out_of_memory && try_make(attempt)) {
        if (renews_token(attempt)) {
            attempt->tries.count--; /* it is redelivered */
            continue;
        }
        mg_tries_note(&attempt->tries, attempt->request, &attempt->verdict);
        wait_ms = mg_tries_next_ms(attempt->outgoing.service, attempt->request, &attempt->tries,
                                   &attempt->verdict, left_ms(attempt));
        if (wait_ms > 0) {
            mg_caller_rest(attempt->caller, wait_ms);
        }
    }
}

/* ---- the answer ---- */

/* The reply goes through its message, so a scheduler would take the same. */
static enum mg_class reply_take(struct attempt *attempt, struct mg_err *err)
{
    const struct mg_service *service = attempt->outgoing.service;
    struct mg_json_limits limits = MG_JSON_LIMITS_DATA;
    struct mg_reply_parts parts;
    struct mg_buf words, body;
    limits.max_bytes = REPLY_MAX_BYTES;
    mg_reply_parts_take(service, attempt->body, attempt->has_text_result, &attempt->reading, &words,
                        &attempt->verdict, &parts);
    mg_tries_reply_write(service, attempt->request, &attempt->verdict, attempt->tries.may_still_act, &parts,
                         &body);
    struct mg_slice copy = mg_arena_copy(attempt->outgoing.arena, mg_buf_slice(&body));
    enum mg_class class = body.failed || copy.data == NULL
                              ? mg_err_set(err, MG_TRANSIENT, "no memory for an answer")
                              : mg_reply_parse(copy, &limits, &attempt->seen->reply, err);
    mg_buf_finish(&words);
    mg_buf_finish(&body);
    return class;
}

enum mg_class mg_caller_call(struct mg_caller *caller, const struct mg_request *request,
                             struct mg_audit_seen *seen, struct mg_err *err)
{
    struct mg_audit *audit = caller->audit;
    struct attempt attempt = {
        .caller = caller,
        .request = request,
        .seen = seen,
        .until_boot_ms = mg_clock_boot_ms() + request->complete_by_ms - request->sent_at_ms,
        .outgoing = {.service = audit->options.service,
                     .token = caller->token,
                     .request = request,
                     .traceparent = "",
                     .arena = audit->arena},
    };
    mg_verdict_not_made(MG_ERROR_REASON_NONE, "no time is left for a call; give a longer --timeout",
                        &attempt.verdict);
    mg_verdict_code_set(&attempt.verdict, "no_time");
    caller->has_no_token = false;
    tries_make(&attempt);
    seen->is_made = true;
    seen->tries += attempt.tries.count;
    enum mg_class class = attempt.is_out_of_memory ? mg_err_set(err, MG_TRANSIENT, "no memory for an answer")
                                                   : reply_take(&attempt, err);
    mg_reading_finish(&attempt.reading);
    if (class != MG_OK) {
        return class;
    }
    seen->shown = mg_outgoing_mask(&attempt.outgoing, seen->reply.result);
    return seen->reply.result.len > 0 && seen->shown.data == NULL
               ? mg_err_set(err, MG_TRANSIENT, "no memory for an answer")
               : MG_OK;
}
