/*
 * A fake broker and a fake HTTP client behind the agent's interfaces. They do nothing by themselves: they
 * record the agent's actions in order, and the test gives the answers.
 */
#ifndef MG_TESTS_AGENT_FAKES_H
#define MG_TESTS_AGENT_FAKES_H

#include "io/amqp/broker.h"
#include "io/http/client.h"

#define FAKE_MAX 64

struct fake_publish {
    char type[32], correlation_id[256], routing_key[128];
    char body[4096];
    mg_published_fn *done;
    void *arg;
    bool is_open; /* its outcome has not been reported */
};

struct fake_call {
    char method[16], url[512], headers[2048], body[2048];
    int64_t timeout_ms;
    bool is_fresh, is_open, is_cancelled;
    mg_http_done_fn *done;
    void *arg;
};

struct fakes {
    /* One letter for each action, in order: c call, r reply published, a ack, x reject, q requeue, p pause, u
     * resume. Service reports are counted and not recorded here. */
    char story[256];
    struct fake_publish replies[FAKE_MAX];
    int reply_count;
    struct fake_call calls[FAKE_MAX];
    int call_count;
    int report_count;
    char last_report[4096];
    int prefetch[MG_CONSUMERS_MAX]; /* 0: paused */
    int unsent_acks[MG_CONSUMERS_MAX];
    bool is_on_its_way[MG_CONSUMERS_MAX]; /* a delivery arrives although the consumer is paused */
    bool is_away, is_barred;              /* the broker: no connection; it takes no publish */
    bool is_publish_full;                 /* mg_broker_publish accepts nothing */
    enum mg_class call_class; /* not MG_OK: mg_http_client_call refuses every call with this class */
    struct mg_broker_options broker;
    mg_received_fn *received; /* the agent's callback for control messages */
    void *received_arg;
    char listened_names[256]; /* exchange and queue */
};
extern struct fakes fakes;

void fakes_reset(void);
void fakes_connect(bool is_up); /* the connection to the broker comes or goes */
/* Reports the outcome of the newest reply that is still open. */
void fakes_confirm(enum mg_publish_outcome outcome);
/* Ends the given call. */
void fakes_answer(int call, const struct mg_http_answer *answer);
void fakes_say(const char *body); /* to all agents, as the supervisor does */
void fakes_deliver(int consumer, const char *body, bool is_redelivered, uint32_t delivery_count);
void fakes_deliver_oversized(int consumer);
void fakes_deliver_typed(int consumer, const char *type, const char *body, uint32_t delivery_count);

#endif
