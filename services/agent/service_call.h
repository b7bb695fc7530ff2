/*
 * One call to a service: its target, its headers, and the meaning of its answer. It needs no job and no
 * broker, so the agent's job and the test of a service (`makegood service test`) make the same calls.
 */
#ifndef MG_AGENT_SERVICE_CALL_H
#define MG_AGENT_SERVICE_CALL_H

#include "classify.h"
#include "token.h"
#include "wire/http_header.h"
#include "wire/request.h"

/* The parts of a call. All of them outlive it. */
struct mg_outgoing {
    const struct mg_service *service;
    const struct mg_token *token; /* ready; NULL: the service needs none */
    const struct mg_request *request;
    const char *traceparent; /* for the service; "": none */
    struct mg_arena *arena;  /* memory for the texts that are made for the call */
};

/* Ours: key, traceparent, complete-by, order, step, attempt, accept, content type; for the proof of origin:
 * credential, timestamp, signature. The step's: its headers and its accept. */
#define MG_CALL_HEADERS_MAX (8 + 3 + MG_SERVICE_HEADERS_MAX + MG_ACTION_HEADERS_MAX + 1)
struct mg_call_headers {
    const char *lines[MG_CALL_HEADERS_MAX + 1]; /* ends with NULL; live in the arena, or longer */
    int count;
    bool has_accept, has_content_type, is_out_of_memory;
};

/* The client of a service's calls; it shares no room for answers. */
struct mg_http_client_options mg_outgoing_client_options(const struct mg_service *service);

/* Makes the call without its time-out. MG_BAD_INPUT: the step sets a header of the service file's secrets.
 * MG_TRANSIENT: no memory. */
enum mg_class mg_outgoing_make(const struct mg_outgoing *outgoing, struct mg_call_headers *ret_headers,
                               struct mg_http_request *ret_call, struct mg_err *err) MG_MUSTCHECK;
/* headers.c */
enum mg_class mg_outgoing_write_headers(const struct mg_outgoing *outgoing,
                                        struct mg_call_headers *ret_headers, struct mg_err *err) MG_MUSTCHECK;

/* Reads and classifies the answer. `answer->body` becomes its text; the caller finishes the reading. The body
 * of an answer that refuses loses the secrets of the call: `answer->body` may then be a copy in the arena.
 * `budget_ms`: the time that the call had. */
void mg_outgoing_classify(const struct mg_outgoing *outgoing, struct mg_http_answer *answer,
                          int64_t budget_ms, struct mg_reading *ret_reading,
                          struct mg_verdict_of_try *ret_verdict);
/* token_refusal.c: true if the service refused the access token and not the order, and the call may be
 * repeated. That is a 401 with a challenge that names no other error than invalid_token, any status with that
 * error (RFC 6750 §3), and the refusals of the service file's `expired_when`. */
bool mg_outgoing_is_token_refused(const struct mg_outgoing *outgoing, const struct mg_http_answer *answer,
                                  const struct mg_verdict_of_try *verdict);
/* mask.c: `body` with asterisks for all secrets that the call may have carried (mask.h), also for those from
 * before a renewal. */
struct mg_slice mg_outgoing_mask(const struct mg_outgoing *outgoing, struct mg_slice body);

#endif
