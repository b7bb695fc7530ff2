/*
 * Messages of committed decisions, until their confirms. The ack of a cause waits for each of them (law 2,
 * ack after effects).
 */
#ifndef MG_SCHEDULER_OUTBOX_H
#define MG_SCHEDULER_OUTBOX_H

#include <sys/queue.h>

#include "gates.h"
#include "shared.h"
#include "silence.h"

#include "base/buf.h"
#include "base/loop.h"
#include "core/model.h"
#include "io/amqp/broker.h"
#include "wire/request.h"

struct mg_debt;

/* A message from the decision to its confirm. One block of memory: texts follow the struct. */
struct mg_send {
    TAILQ_ENTRY(mg_send) entry;
    struct mg_outbox *outbox;
    struct mg_work *work; /* its ack waits for this send; NULL: no work */
    enum mg_send_kind kind;
    int tries;
    /* request */
    struct mg_gate *gate;
    int step;
    bool is_again; /* it may have gone out before: the agent must not report that nothing happened */
    bool is_trial; /* the first message after its queue's rest */
    struct mg_request *request;
    /* status */
    bool is_status; /* a status, also one about no order */
    enum mg_status status;
    char order_id[MG_ORDER_ID_MAX + 1];
    uint64_t version; /* of the event that keeps it; 0: no event does */
    struct mg_debt *debt;
    /* the message */
    const char *exchange, *type; /* constants */
    const char *routing_key, *message_id, *correlation_id, *reply_to, *traceparent, *app_id, *reason, *origin;
    struct mg_slice body;
};

TAILQ_HEAD(mg_send_list, mg_send);

/* The parameters of a send; mg_send_create copies all of them. */
struct mg_send_spec {
    struct mg_work *work;
    enum mg_send_kind kind;
    const char *exchange, *type, *routing_key;
    struct mg_slice message_id, correlation_id, reply_to, traceparent, app_id, reason, origin, body;
    const struct mg_request *request;
};

/* The largest request (see the batch's scratch) with its envelope. */
#define MG_MESSAGE_MAX (1024 * 1024)

struct mg_outbox {
    struct mg_shared *shared;
    struct mg_send_list unsent, sent;
    int sent_count;
    size_t made_bytes; /* allocated for sends since the start */
    struct mg_buf scratch;
    struct mg_timer *retry;
    struct mg_silence silence;
    /* The broker has confirmed a message. */
    void (*on_arrived)(void *arg, struct mg_send *send);
    /* The broker has not confirmed a message. `is_repeated`: a request that may be published once more, by
     * a cause of its own. */
    void (*on_failed)(void *arg, struct mg_send *send, enum mg_publish_outcome outcome, const char *why,
                      bool is_repeated);
    void *arg;
};

bool mg_outbox_init(struct mg_outbox *outbox, struct mg_shared *shared); /* false: no memory */
void mg_outbox_finish(struct mg_outbox *outbox);
struct mg_send *mg_send_create(struct mg_outbox *outbox,
                               const struct mg_send_spec *spec); /* NULL: no memory */
void mg_send_list_drop(struct mg_send_list *list);               /* frees the sends; none goes out */
/* Puts a send into the outbox, and moves a list there. The ack of each send's work now waits for it. */
void mg_outbox_add(struct mg_outbox *outbox, struct mg_send *send);
void mg_outbox_add_all(struct mg_outbox *outbox, struct mg_send_list *list);
void mg_outbox_pump(struct mg_outbox *outbox);

#endif
