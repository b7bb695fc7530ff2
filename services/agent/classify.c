/* See classify.h. */
#include "classify.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "refusal.h"
#include "serving/tries.h"
#include "wire/http_header.h"

/* 408 and 429 report a service that cannot keep up; other 4xx are about the request. */
static enum mg_call_health health_of_status(int status)
{
    bool is_failing = status >= 500 || status == 408 || status == 429;
    return is_failing ? MG_CALL_FAILING : MG_CALL_HEALTHY;
}

/* Bytes went out, and no whole answer came. */
static void classify_half(enum mg_kind kind, const struct mg_http_answer *answer, const char *why,
                          struct mg_verdict_of_try *verdict)
{
    const char *reason = answer->reason[0] != '\0' ? answer->reason : why;
    mg_verdict_make(
        mg_maybe_of(answer->is_timed_out ? MG_SEEN_TIMEOUT : MG_SEEN_BROKEN, kind), MG_CALL_FAILING,
        answer->is_timed_out ? MG_ERROR_REASON_TIMEOUT : MG_ERROR_REASON_BROKEN_ANSWER, reason, verdict);
}

/* Whether a body without a given length may lack its end. JSON shows this: only a number has no end of its
 * own. Other types show nothing; without a type it begins as JSON does. */
static bool may_be_cut(const struct mg_service *service, const struct mg_http_answer *answer,
                       const struct mg_reading *reading)
{
    struct mg_json_limits limits = mg_answer_limits(service);
    struct mg_err err;
    bool has_json_start = answer->content_type[0] == '\0' && !reading->is_text_wanted &&
                          answer->body.len > 0 && strchr("{[\"", answer->body.data[0]) != NULL;
    if (!answer->is_ended_by_close || !(has_json_start || mg_media_type_is_json(answer->content_type))) {
        return false;
    }
    if (answer->body.len == 0 || isdigit((unsigned char)answer->body.data[answer->body.len - 1])) {
        return true;
    }
    return mg_json_check(answer->body, &limits, &err) != MG_OK;
}

/* The answer of a gateway that gave up on the service behind it: 502, 504, and the numbers from 520 on. No
 * standard gives the latter to services; proxies use them for this. */
static bool is_gateway_status(int status)
{
    return status == 502 || status == 504 || status >= 520;
}

static bool is_json(const struct mg_service *service, const struct mg_http_answer *answer)
{
    const struct mg_json_limits limits = mg_answer_limits(service);
    struct mg_err err;
    return answer->body.len > 0 && mg_json_check(answer->body, &limits, &err) == MG_OK;
}

/* Whether a proxy may have answered, while the service is still at work on the call. Proxies give up with 500
 * and 503, too: only JSON, or a rule of the service file for the status, makes such a failure the service's
 * own. A rule with the outcome unknown is for a proxy that answers with JSON. */
static bool may_be_given_up(const struct mg_service *service, enum mg_kind kind,
                            const struct mg_http_answer *answer, enum mg_outcome outcome, bool is_page)
{
    bool has_rule = mg_service_has_rule(service, kind, answer->status);
    bool is_bare_failure = answer->status >= 500 && !has_rule && !is_json(service, answer);
    return is_gateway_status(answer->status) || is_page || is_bare_failure ||
           (has_rule && outcome == MG_OUTCOME_UNKNOWN);
}

static void classify_refusal(const struct mg_service *service, const struct mg_http_answer *answer,
                             struct mg_verdict_of_try *verdict)
{
    const struct mg_json_limits limits = mg_answer_limits(service);
    verdict->reason = MG_ERROR_REASON_ANSWERED;
    mg_refusal_code(service, answer->status, answer->body, &limits, verdict->code);
    const struct mg_slice own = mg_error_facts_read(mg_slice_of(verdict->code)).own;
    bool is_stranger = answer->status == 401 || answer->status == 403;
    snprintf(verdict->text, sizeof(verdict->text), "%s answered %d%s%s%s", service->name, answer->status,
             own.data != NULL ? ", code " : "", own.data != NULL ? own.data : "",
             is_stranger ? "; for credentials see auth, headers and tls in the service file" : "");
}

/* A 404 or 410 to an undo or a verify means that there is nothing, but only if the service gives it, and not
 * a proxy that knows no such route: with JSON, without a body, or by a rule of the service file. */
static bool is_own(const struct mg_service *service, enum mg_kind kind, const struct mg_http_answer *answer,
                   const struct mg_reading *reading)
{
    if (mg_service_has_rule(service, kind, answer->status) || kind == MG_KIND_DO) {
        return true;
    }
    bool is_empty = answer->body.len == 0 && reading->fault[0] == '\0';
    return is_empty || is_json(service, answer);
}

static void classify_whole_answer(const struct mg_service *service, enum mg_kind kind, bool is_pollable,
                                  const struct mg_http_answer *answer, const struct mg_reading *reading,
                                  struct mg_verdict_of_try *verdict)
{
    struct mg_maybe maybe = mg_service_classify(service, kind, answer->status, is_pollable);
    const enum mg_outcome outcome = maybe.outcome;
    if ((mg_outcome_has_result(outcome) || answer->body.len > 0) && may_be_cut(service, answer, reading)) {
        classify_half(kind, answer, /* a refusal may have no body */
                      "the answer may be cut off: it gave no length, and its body is no whole JSON; send "
                      "Content-Length",
                      verdict);
        return;
    }
    bool is_page = reading->is_page && !mg_service_has_rule(service, kind, answer->status);
    if (mg_outcome_has_result(outcome) && is_page) {
        classify_half(
            kind, answer,
            "the answer is an HTML page, which no service's JSON is; if the service means it, give its "
            "status a rule in \"answers\"",
            verdict);
        mg_verdict_code_set(verdict, "page_answered"); /* mended elsewhere than a broken connection */
        return;
    }
    bool is_foreign = outcome == MG_OUTCOME_ABSENT && !is_own(service, kind, answer, reading);
    bool is_refusing_page = outcome == MG_OUTCOME_PERMANENT && is_page;
    if (is_foreign || is_refusing_page) {
        maybe = mg_maybe_of(is_foreign ? MG_SEEN_FOREIGN_ABSENT : MG_SEEN_REFUSING_PAGE, kind);
    }
    if (may_be_given_up(service, kind, answer, maybe.outcome, is_page)) {
        mg_maybe_give_up(&maybe);
    }
    maybe.may_still_act = maybe.may_still_act || (answer->status == 202 && maybe.outcome == MG_OUTCOME_DONE);
    mg_verdict_make(maybe, health_of_status(answer->status), MG_ERROR_REASON_NONE, "", verdict);
    verdict->http_status = answer->status;
    verdict->retry_after_ms = answer->retry_after_ms;
    if (!mg_outcome_has_result(maybe.outcome)) {
        classify_refusal(service, answer, verdict);
    }
    if (is_foreign || is_refusing_page) {
        snprintf(
            verdict->text, sizeof(verdict->text),
            "%s answered %d with %s: a proxy may have answered; if the service means it, give %d a rule in "
            "\"answers\"",
            service->name, answer->status, is_foreign ? "a body that is no JSON" : "an HTML page",
            answer->status);
    }
}

void mg_classify_answer(const struct mg_service *service, enum mg_kind kind, bool is_pollable,
                        const struct mg_http_answer *answer, const struct mg_reading *reading,
                        int64_t budget_ms, struct mg_verdict_of_try *ret_verdict)
{
    switch (answer->sent) {
    case MG_SENT_YES:
        classify_whole_answer(service, kind, is_pollable, answer, reading, ret_verdict);
        return;
    case MG_SENT_MAYBE:
        classify_half(kind, answer, "no whole answer came", ret_verdict);
        return;
    case MG_SENT_NO:
        break;
    }
    bool is_hasty = answer->is_timed_out && budget_ms < MG_CONNECT_TIMEOUT_MS;
    mg_verdict_make(mg_maybe_of(MG_SEEN_UNSENT, kind), is_hasty ? MG_CALL_FAILING : MG_CALL_UNREACHABLE,
                    MG_ERROR_REASON_BREAKER_OPEN,
                    answer->reason[0] != '\0' ? answer->reason : "nothing could be sent", ret_verdict);
}

bool mg_classify_text_result(const struct mg_service *service, struct mg_slice answer_body,
                             struct mg_buf *ret_result)
{
    struct mg_err err;
    mg_buf_init(ret_result, service->result_max_bytes);
    if (answer_body.data == NULL || answer_body.len == 0) {
        return true;
    }
    mg_buf_append_json_mended(ret_result, answer_body);
    /* The check refuses a NUL, which no later reader takes. */
    return !ret_result->failed &&
           mg_json_check(mg_buf_slice(ret_result), &MG_JSON_LIMITS_DEFAULT, &err) == MG_OK;
}
