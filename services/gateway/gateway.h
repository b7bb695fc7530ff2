/*
 * The HTTP front door for clients that do not speak AMQP. A request has the token of a client. An order that
 * is posted here goes to the intake queue through that client's exchange. So it is the client's order, as if
 * the client had published it. Answers about orders are read from the database; nothing is written there.
 *
 * The contract is proto/openapi.yaml. A restart loses no order and no answer that a repeated request does not
 * bring back.
 */
#ifndef MG_GATEWAY_H
#define MG_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/config.h"
#include "base/loop.h"
#include "io/amqp/address.h"

/*
 * Shares of the memory budget: one part in so many for each. In addition, recent.c takes 11 MB and the broker
 * interface up to 8 MiB of unconfirmed data.
 */
#define MG_GATEWAY_MEMORY_BODIES  4 /* of requests, from their first byte to their answer */
#define MG_GATEWAY_MEMORY_BATCHES 4 /* their lines and answers */
#define MG_GATEWAY_MEMORY_UNSENT                                                                             \
    8 /* answers, and statuses that clients have not read from their streams yet */
#define MG_GATEWAY_MEMORY_HOOKS 8 /* statuses on their way to webhooks */

struct mg_gateway_options {
    const char *listen;               /* "127.0.0.1:9280" */
    const char *cert_file, *key_file; /* PEM; "": needs a loopback `listen` or plaintext allowed */
    int64_t keep_alive_ms;            /* of idle connections; 0: MG_HTTP_IDLE_MS */
    /* One line for each token: rights (submit, read, cancel; separated by commas), client, SHA-256 of the
     * token in hexadecimal. Required. */
    const char *tokens_file;
    /* One line for each webhook: client, URL, file of its secrets. "": none. */
    const char *webhooks_file;
    const char *webhook_ca_file;   /* PEM, for the certificates of their targets; "": the system's CAs */
    int64_t rate_per_s;            /* requests of one client, as many at once */
    int64_t body_max;              /* bytes of a submission */
    int64_t memory_budget;         /* bytes, see MG_GATEWAY_MEMORY_…; 0: by the limit of the process */
    const struct mg_list *origins; /* of pages that may use the gateway from a browser (CORS) */
    struct mg_broker_address broker;
    const char *pg_dsn;
    struct mg_config *config; /* for mg_gateway_reload; NULL: secrets stay */
};

struct mg_gateway;

/* Checks all options, files included, without connecting; for --check-config. MG_BAD_INPUT. */
enum mg_class mg_gateway_check(const struct mg_gateway_options *options, struct mg_err *err) MG_MUSTCHECK;
/* Serves at once; database and broker may come up later. The options are borrowed. */
enum mg_class mg_gateway_create(struct mg_loop *loop, const struct mg_gateway_options *options,
                                struct mg_gateway **ret_gateway, struct mg_err *err) MG_MUSTCHECK;
void mg_gateway_destroy(struct mg_gateway *gateway); /* accepts NULL */
/* For a struct mg_gateway: whether orders can be posted; `ret_reason` names the missing part. */
bool mg_gateway_is_ready(void *gateway, char *ret_reason, size_t size);
/* Answers the requests in hand, ends waits and streams, and takes no further connection. After half of the
 * time lines of batches are no longer posted. `drained` is called once, when each request has its answer. */
void mg_gateway_drain(struct mg_gateway *gateway, int64_t timeout_ms, void (*drained)(void *arg), void *arg);
int mg_gateway_port(const struct mg_gateway *gateway);
/* Reads secrets, tokens, webhooks and certificate again and logs the result; an invalid one stays as it was.
 */
void mg_gateway_reload(struct mg_gateway *gateway);

#endif
