/* Scheduler → agent: one attempt of one step (proto/request.schema.json). */
#ifndef MG_WIRE_REQUEST_H
#define MG_WIRE_REQUEST_H

#include "core/key.h"
#include "json/json.h"

extern const struct mg_json_limits MG_REQUEST_LIMITS; /* above a submission's: with payload and results */

/* Version 2 has headers, content_type and response in `request`. A reader of version 1 would pass them over,
 * and so make another call. */
#define MG_REQUEST_VERSION_REACH 2
/* Version 3 asks for an honest `executed` alongside a good answer: maybe, if an earlier try or delivery may
 * have acted. The definition may judge that answer to be a refusal, which then proves nothing about them. A
 * reader of version 2 says yes. */
#define MG_REQUEST_VERSION_JUDGED 3

/* Deadlines above this would outlive the broker's consumer time-out (30 min default, RabbitMQ consumers
 * guide): 20 min. */
#define MG_STEP_COMPLETE_WITHIN_MAX_MS (20 * 60 * 1000)

struct mg_request {
    char order_id[MG_ORDER_ID_MAX + 1];
    char step[MG_NAME_MAX + 1];
    char service[MG_NAME_MAX + 1];
    uint32_t attempt;
    enum mg_kind kind;
    char idempotency_key[MG_KEY_SIZE]; /* of this kind; a verify carries the key of its do */
    char do_key[MG_KEY_SIZE];
    int64_t complete_by_ms;  /* database clock */
    int64_t sent_at_ms;      /* database clock, when published */
    bool is_at_most_once;    /* one try, and no call on a redelivery */
    bool is_pollable;        /* a 202 means accepted, and a verify polls it (there is a finish_within) */
    int version;             /* of the oldest reader that serves it right; 0 counts as 1 */
    struct mg_slice request; /* the `request` member: {"method", "path", "body"?, …} as text */
    /* The same, parsed; borrowed from the body or, for unescaped text, from the arena. */
    struct mg_slice method, path, content; /* content: the bytes of "body", or its text if it has a
                                              content_type; absent if none */
    const char **headers;                  /* "Name: value", ends with NULL; NULL: none. In the arena */
    struct mg_slice content_type;          /* absent: application/json */
    bool is_text_answer;                   /* an answer that is no JSON becomes a JSON string */
    char traceparent[56];                  /* W3C Trace Context; "" if none */
};

void mg_request_write(const struct mg_request *request, struct mg_buf *ret_body);
enum mg_class mg_request_parse(struct mg_slice body, struct mg_arena *arena, struct mg_request *ret_request,
                               struct mg_err *err) MG_MUSTCHECK;

#endif
