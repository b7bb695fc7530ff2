/*
 * The meaning of one try, or of its absence: for the order (outcome, executed), for the breaker, and for a
 * quick second try. Pure.
 */
#ifndef MG_SERVING_VERDICT_H
#define MG_SERVING_VERDICT_H

#include "breaker.h"
#include "core/maybe.h"
#include "wire/reply.h"

struct mg_verdict_of_try {
    enum mg_outcome outcome;
    enum mg_executed executed;
    bool may_still_act; /* given up: the service itself has not answered, and may still be at work on it */
    enum mg_call_health health;
    bool is_probe;          /* of a service that was down, and is down still: it costs the step no attempt */
    int64_t retry_after_ms; /* -1: none */
    int http_status;        /* of the service's answer, also of a good one; 0: none, or none that counts */
    enum mg_error_reason reason;
    char code[MG_ERROR_CODE_MAX + 1]; /* the same as text; "" when it went well */
    char text[MG_ERROR_TEXT_MAX + 1]; /* ours: it stands in logs. The service's words are in the reply only */
};

/* One that names no time for a retry. */
void mg_verdict_make(struct mg_maybe maybe, enum mg_call_health health, enum mg_error_reason reason,
                     const char *text, struct mg_verdict_of_try *ret_verdict);
/* Gives it the code of an error as text, with the reason and the status that the text names. */
void mg_verdict_code_set(struct mg_verdict_of_try *verdict, const char *code);

/* The call was not made, for no fault of the order, and nothing was sent. With BREAKER_OPEN, SERVICE_PAUSED
 * or TOKEN_UNAVAILABLE it costs the step no attempt. */
void mg_verdict_not_made(enum mg_error_reason reason, const char *why, struct mg_verdict_of_try *ret_verdict);

/* An at_most_once request that an agent may have begun before: its outcome is unknown, and no agent may
 * try. */
void mg_verdict_redelivered(struct mg_verdict_of_try *ret_verdict);

/* Whether a reply of this outcome carries a result. */
bool mg_outcome_has_result(enum mg_outcome outcome);

#endif
