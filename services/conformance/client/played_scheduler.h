/* The schedulers' part: takes the submissions, and sends statuses. */
#ifndef MG_CONFORMANCE_CLIENT_PLAYED_SCHEDULER_H
#define MG_CONFORMANCE_CLIENT_PLAYED_SCHEDULER_H

#include "base/id.h"
#include "cases.h"
#include "io/amqp/broker.h"

#define MG_INTAKE_NAME_SIZE 256 /* AMQP's short strings */

/* One submission, as it came. */
struct mg_submitted {
    char order_id[MG_ORDER_ID_MAX + 1]; /* as submitted, or derived; "": it has no identity */
    char client[MG_INTAKE_NAME_SIZE];   /* of makegood.intake.<client>; else "" */
    char reply_to[MG_INTAKE_NAME_SIZE], correlation_id[MG_INTAKE_NAME_SIZE];
    uint8_t digest[MG_SHA256_SIZE];
    char fault[MG_ERR_TEXT_MAX]; /* why schedulers reject it; "": they do not */
};
typedef void mg_submitted_fn(void *arg, const struct mg_submitted *submitted);

struct mg_intake {
    struct mg_broker *broker;
    mg_submitted_fn *on_submitted;
    void *arg;
    int returned;    /* statuses for a queue that does not exist */
    int unconfirmed; /* statuses without the broker's answer */
    bool is_open;
    bool is_crowded;            /* a scheduler is at work here, too */
    char lost[MG_ERR_TEXT_MAX]; /* why the broker is gone; "": it is not */
};

/* Refuses a place with schedulers or orders (MG_STALE) or without queues (MG_PERMANENT), then connects; it is
 * up when mg_intake_is_up. */
enum mg_class mg_intake_open(struct mg_intake *intake, struct mg_loop *loop,
                             const struct mg_broker_address *address, mg_submitted_fn *on_submitted,
                             void *arg, struct mg_err *err) MG_MUSTCHECK;
bool mg_intake_is_up(const struct mg_intake *intake, char *ret_reason, size_t size);
void mg_intake_close(struct mg_intake *intake); /* accepts one that is not open */
/* Sends one message to the submission's queue. */
void mg_intake_send(struct mg_intake *intake, const struct mg_submitted *to,
                    const struct mg_client_send *send);

#endif
