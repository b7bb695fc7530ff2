/*
 * From the tries of one request to its reply. Pure: no loop, no broker. The agent's job and the rehearsal of
 * a workflow (`makegood workflow test`) both use it.
 */
#ifndef MG_SERVING_TRIES_H
#define MG_SERVING_TRIES_H

#include "service/service.h"
#include "verdict.h"
#include "wire/request.h"

/* A shorter try could not even connect across a network. */
#define MG_TRY_MIN_MS 20

/* The knowledge from all tries of one request so far. */
struct mg_tries {
    int count;
    bool may_have_run; /* a try of this or an earlier delivery may have reached the remote */
    /* An earlier call, given up or of another delivery, may still act there (law 11, quiesce). */
    bool may_still_act;
};

/* Adds a try's verdict, and bends it by those before (law 10, sticky maybe). */
void mg_tries_note(struct mg_tries *tries, const struct mg_request *request,
                   struct mg_verdict_of_try *verdict);

/* The time-out of a try that begins with `left_ms` until complete-by; 0: too late for one. */
int64_t mg_tries_budget_ms(const struct mg_service *service, int64_t left_ms);

/* Milliseconds until the next try; -1: this was the last. */
int64_t mg_tries_next_ms(const struct mg_service *service, const struct mg_request *request,
                         const struct mg_tries *tries, const struct mg_verdict_of_try *verdict,
                         int64_t left_ms);

/* The parts of an answer that a reply carries: JSON; absent if none. */
struct mg_reply_parts {
    struct mg_slice result, message, body;
    bool is_truncated;
};

/* Of an answer whose parts go into a reply. */
struct mg_json_limits mg_answer_limits(const struct mg_service *service);
/* The bytes of a good answer that become the result: all of it, or the part that the service file points at.
 * Absent if the answer is no JSON or has no such part. `ret_is_truncated`: it is larger than a result may
 * be. */
struct mg_slice mg_reply_result(const struct mg_service *service, struct mg_slice answer_body,
                                bool *ret_is_truncated);

/* Writes the reply. `ret_body` is initialised here; its `failed` means no memory. */
void mg_tries_reply_write(const struct mg_service *service, const struct mg_request *request,
                          const struct mg_verdict_of_try *verdict, bool may_still_act,
                          const struct mg_reply_parts *parts, struct mg_buf *ret_body);

#endif
