/*
 * The meaning of one HTTP call, or of its absence: for the order (outcome, executed), for the breaker, and
 * for a quick second try. Pure. The service file's rules come first, then the defaults of the design.
 */
#ifndef MG_AGENT_CLASSIFY_H
#define MG_AGENT_CLASSIFY_H

#include "breaker.h"
#include "io/http/client.h"
#include "wire/reply.h"
#include "wire/service.h"

struct mg_verdict_of_try {
    enum mg_outcome outcome;
    enum mg_executed executed;
    bool may_still_act; /* given up: the service itself has not answered, and may still be at work on it */
    enum mg_call_health health;
    int64_t retry_after_ms;           /* -1: none */
    char code[MG_ERROR_CODE_MAX + 1]; /* "" when it went well */
    char text[MG_ERROR_TEXT_MAX + 1]; /* ours: it stands in logs. The service's words are in the reply only */
};

/* `budget_ms` is the time that the call had. A time-out before a connection stood proves little if it was
 * short. */
void mg_classify_answer(const struct mg_service *service, enum mg_kind kind, bool is_pollable,
                        const struct mg_http_answer *answer, int64_t budget_ms,
                        struct mg_verdict_of_try *ret_verdict);

/* The call was not made, for no fault of the order, and nothing was sent. With MG_ERROR_CODE_BREAKER_OPEN,
 * MG_ERROR_CODE_SERVICE_PAUSED or MG_ERROR_CODE_TOKEN_UNAVAILABLE it costs the step no attempt. */
void mg_classify_not_made(const char *code, const char *why, struct mg_verdict_of_try *ret_verdict);

/* An at_most_once request that an agent may have begun before: its outcome is unknown, and no agent may
 * try. */
void mg_classify_redelivered(struct mg_verdict_of_try *ret_verdict);

/* Law 10, sticky maybe: a refusal, or silence before the first byte, proves nothing about an earlier try of
 * the same request. */
enum mg_executed mg_classify_fold(enum mg_kind kind, enum mg_executed executed, bool may_have_run_before);

/* Of an answer whose parts go into a reply. */
struct mg_json_limits mg_answer_limits(const struct mg_service *service);

/* For resolving, TCP and TLS: a service that takes no connection in this time is not there. */
#define MG_CONNECT_TIMEOUT_MS 3000

/* application/json or one of the types "…+json" (RFC 6839), with any parameters. */
bool mg_classify_is_json_type(const char *content_type);

/* The whole answer as a JSON string, in which bytes that are no UTF-8 are mended; "" absent. False: larger
 * than a result may be, or no text. */
bool mg_classify_text_result(const struct mg_service *service, struct mg_slice answer_body,
                             struct mg_buf *ret_result);

/*
 * The bytes of a good answer that become the result: all of it, or the part that the service file points at.
 * Absent if the answer is no JSON or has no such part. `ret_is_truncated`: it is larger than a result may be.
 */
struct mg_slice mg_classify_result(const struct mg_service *service, struct mg_slice answer_body,
                                   bool *ret_is_truncated);

#endif
