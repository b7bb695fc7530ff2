/*
 * An agent of one service, over the fakes of broker, HTTP client, loop and clock: time passes by the waits
 * below alone, so that no test depends on the machine's pace. Consumer 0 is the normal queue, 1 the high one.
 */
#ifndef MG_TESTS_AGENT_FLOW_H
#define MG_TESTS_AGENT_FLOW_H

#include "fake_broker.h"
#include "fake_http.h"
#include "fake_loop.h"
#include "http_agent.h"

extern struct mg_agent flow_agent;
/* One letter for each action, in order: c call, r reply published, a ack, x reject, q requeue, p pause, u
 * resume. */
extern char flow_story[256];
extern const struct mg_span_sink *flow_spans; /* NULL: spans are off; set before flow_start */

/* `members` are further members of the service file, ", \"tries\": 1". Its queues have already delivered
 * messages that are no suspects, so the prefetch is at its full size. */
void flow_start(const char *members);
void flow_start_anew(const char *members); /* no message has come yet */
void flow_finish(void);

struct flow_request {
    const char *order_id; /* NULL: "o1" */
    enum mg_kind kind;
    int64_t left_ms; /* until complete-by; 0: 10 s */
    int64_t sent_ago_ms;
    bool is_at_most_once, is_redelivered;
    uint32_t delivery_count; /* above 1: it is redelivered */
    const char *service;     /* NULL: "payment" */
    int consumer;
    const char *traceparent; /* NULL: a sampled one */
    const char *request;     /* its `request` member; NULL: a POST of JSON */
    int version;             /* of the message; 0: the lowest that can carry it */
};
void flow_deliver(const struct flow_request *request);
void flow_deliver_bytes(int consumer, const char *type, const char *body, uint32_t delivery_count);

/* Runs the loop until `story` is as given; fails after two minutes of the test's time. */
void flow_wait_story(const char *story);
/* Runs the loop until so many calls or replies have been made. */
void flow_wait_calls(int count);
void flow_wait_replies(int count);
/* Lets so much time pass, in which a forbidden action could happen. */
void flow_linger(int64_t ms);
/* Runs the loop until the agent stops it. */
void flow_run(void);

void flow_answer_status(int call, int status, const char *body);
void flow_answer_unreachable(int call);
void flow_answer_broken(int call);

/* The reply with this number, parsed. Lives until the next. */
const struct mg_reply *flow_reply(int number);

#endif
