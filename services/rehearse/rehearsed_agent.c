/*
 * An agent without broker and network: it reads the request from its message, makes its tries, classifies the
 * answers and writes the reply, all by services/agent and common/serving.
 */
#include <stdio.h>

#include "agent/answer_parts.h"
#include "agent/classify.h"
#include "play.h"
#include "serving/tries.h"
#include "wire/http_header.h"
#include "wire/reply.h"

#define CAUSE_SHOWN_MAX 200 /* of a fault's text */

/* The answer to the next call of this step and kind; NULL: there is none left. The answers of the file stand
 * in for a case that gives none, and the last of them repeats. */
static const struct mg_case_answer *answer_take(struct mg_play *play, int step, enum mg_kind kind)
{
    int number = play->taken[step][kind]++;
    const struct mg_case_answer *const lists[] = {play->one->answers, play->cases->defaults};
    for (int i = 0; i < 2; i++) {
        const struct mg_case_answer *last = NULL;
        int left = number;
        for (const struct mg_case_answer *answer = lists[i]; answer != NULL; answer = answer->next) {
            if (answer->step == step && answer->kind == kind) {
                last = answer;
                if (left-- == 0) {
                    return answer;
                }
            }
        }
        if (last != NULL) {
            return i == 0 ? NULL : last;
        }
    }
    return NULL;
}

static void call_note(struct mg_play *play, int step, const struct mg_request *request)
{
    struct mg_call *call = mg_arena_alloc(play->rehearsal->arena, sizeof(*call));
    if (call == NULL) {
        play->has_failed = true;
        return;
    }
    call->step = step;
    call->kind = request->kind;
    call->request = mg_arena_copy(play->rehearsal->arena, request->request);
    play->has_failed = play->has_failed || call->request.data == NULL;
    *play->last_call = call;
    play->last_call = &call->next;
}

/* The report that the HTTP client would have made. */
static void answer_make(struct mg_play *play, const struct mg_case_answer *answer, bool is_late,
                        struct mg_http_answer *ret)
{
    *ret = (struct mg_http_answer){.content_type = "", .retry_after_ms = answer->retry_after_ms};
    if (answer->fate == MG_FATE_UNREACHABLE) {
        ret->sent = MG_SENT_NO;
        snprintf(ret->reason, sizeof(ret->reason), "could not connect");
    } else if (is_late || answer->fate == MG_FATE_TIMEOUT) {
        ret->sent = MG_SENT_MAYBE;
        ret->is_timed_out = true;
        snprintf(ret->reason, sizeof(ret->reason), "no answer in time");
    } else if (answer->fate == MG_FATE_BROKEN) {
        ret->sent = MG_SENT_MAYBE;
        snprintf(ret->reason, sizeof(ret->reason), "the connection broke");
    } else {
        ret->sent = MG_SENT_YES;
        ret->status = answer->status;
        ret->body = answer->body;
        ret->content_type = answer->body.data != NULL ? "application/json" : "";
    }
    if (ret->sent == MG_SENT_YES && answer->is_text) {
        struct mg_buf text;
        mg_buf_init(&text, answer->body.len + 1);
        (void)mg_json_string(answer->body, &text); /* checked: a string */
        ret->body =
            text.len > 0 ? mg_arena_copy(play->rehearsal->arena, mg_buf_slice(&text)) : mg_slice_of("");
        ret->content_type = "text/plain";
        play->has_failed = play->has_failed || text.failed || ret->body.data == NULL;
        mg_buf_finish(&text);
    }
}

static void reply_send(struct mg_play *play, const struct mg_service *service,
                       const struct mg_request *request, const struct mg_tries *tries,
                       const struct mg_http_answer *answer, struct mg_reading *reading,
                       struct mg_verdict_of_try *verdict, int64_t at_ms)
{
    struct mg_reply_parts parts;
    struct mg_buf words, body;
    bool has_text_result =
        (service->is_text_answer || request->is_text_answer) && !mg_media_type_is_json(answer->content_type);
    mg_reply_parts_take(service, answer->body, has_text_result, reading, &words, verdict, &parts);
    mg_tries_reply_write(service, request, verdict, tries->may_still_act, &parts, &body);
    struct mg_slice copy = mg_arena_copy(play->rehearsal->arena, mg_buf_slice(&body));
    play->has_failed = play->has_failed || body.failed || copy.data == NULL;
    mg_buf_finish(&words);
    mg_buf_finish(&body);
    if (play->has_failed) {
        return;
    }
    mg_play_await(play, &(struct mg_coming){.at_ms = at_ms, .body = copy});
}

/* One call. False: the agent stays silent, or has no answer. */
static bool try_make(struct mg_play *play, int step, const struct mg_request *request, struct mg_tries *tries,
                     struct mg_verdict_of_try *verdict, struct mg_http_answer *answer,
                     struct mg_reading *reading, int64_t *at_ms)
{
    const struct mg_service *service = play->services[step];
    int64_t budget_ms = mg_tries_budget_ms(service, request->complete_by_ms - *at_ms);
    if (budget_ms <= 0) {
        return false;
    }
    tries->count++;
    call_note(play, step, request);
    const struct mg_case_answer *given = answer_take(play, step, request->kind);
    if (given == NULL) {
        struct mg_slice cause =
            mg_desk_cause(play->desk); /* most often it is the mistake, and the call its effect */
        mg_play_fault(play, play->one->pointer,
                      "%s%.*s%sanswers: %s is called (%s, call %d) and has no answer left",
                      cause.data != NULL ? "the order turns back because of " : "",
                      (int)mg_utf8_cut(cause, CAUSE_SHOWN_MAX), cause.data != NULL ? cause.data : "",
                      cause.data != NULL ? "; " : "", play->workflow->steps[step].name,
                      mg_kind_name(request->kind), play->taken[step][request->kind]);
        play->lacks_answer = true;
        return false;
    }
    bool is_late = given->after_ms >= budget_ms;
    if (given->fate == MG_FATE_LOST) {
        return false;
    }
    *at_ms += is_late || given->fate == MG_FATE_TIMEOUT ? budget_ms : given->after_ms;
    answer_make(play, given, is_late, answer);
    mg_reading_finish(reading);
    mg_reading_take(answer, service->is_text_answer || request->is_text_answer, reading);
    mg_classify_answer(service, request->kind, request->is_pollable, answer, reading, budget_ms, verdict);
    mg_tries_note(tries, request, verdict);
    return true;
}

static void tries_make(struct mg_play *play, int step, const struct mg_request *request)
{
    const struct mg_service *service = play->services[step];
    struct mg_tries tries = {.count = 0};
    struct mg_verdict_of_try verdict;
    struct mg_http_answer answer;
    struct mg_reading reading = {.is_page = false};
    int64_t at_ms = play->now_ms, wait_ms;
    do {
        if (!try_make(play, step, request, &tries, &verdict, &answer, &reading, &at_ms) || play->has_failed) {
            mg_reading_finish(&reading);
            return;
        }
        wait_ms = mg_tries_next_ms(service, request, &tries, &verdict, request->complete_by_ms - at_ms);
        at_ms += wait_ms > 0 ? wait_ms : 0;
    } while (wait_ms >= 0);
    if (at_ms < request->complete_by_ms) { /* an agent that is late stays silent */
        reply_send(play, service, request, &tries, &answer, &reading, &verdict, at_ms);
    }
    mg_reading_finish(&reading);
}

void mg_play_call(struct mg_play *play, int step, const struct mg_request *request)
{
    struct mg_request sent = *request, received;
    struct mg_buf body;
    struct mg_err err;
    sent.sent_at_ms = play->now_ms;
    mg_buf_init(&body, MG_REQUEST_LIMITS.max_bytes);
    mg_request_write(&sent, &body);
    struct mg_slice copy = mg_arena_copy(play->rehearsal->arena, mg_buf_slice(&body));
    enum mg_class class = body.failed || copy.data == NULL
                              ? MG_TRANSIENT
                              : mg_request_parse(copy, play->rehearsal->arena, &received, &err);
    mg_buf_finish(&body);
    if (class == MG_OK) {
        tries_make(play, step, &received);
    } else if (class == MG_TRANSIENT) {
        play->has_failed = true;
    } else {
        mg_play_fault(play, play->one->pointer, "an agent refuses the request of %s: %s",
                      play->workflow->steps[step].name, err.text);
    }
}
