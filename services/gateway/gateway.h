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

#include <stddef.h>

#include "process.h"

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
    const struct mg_process_options *process; /* set by the check */
    int64_t keep_alive_ms;                    /* of idle connections; 0: MG_HTTP_IDLE_MS */
    /* One line for each token: rights (submit, read, cancel, signal; separated by commas), client, SHA-256 of
     * the token in hexadecimal. Required. */
    const char *tokens_file;
    /* One line for each webhook: client, URL, file of its secrets. "": none. */
    const char *webhooks_file;
    const char *webhook_ca_file; /* PEM, for the certificates of their targets; "": the system's CAs */
    /* The secrets of the tokens of callbacks, as of the schedulers. "": no callback is taken. */
    const char *callback_secret_file;
    int64_t rate_per_s;            /* requests of one client, as many at once */
    int64_t body_max;              /* bytes of a submission */
    int64_t memory_budget;         /* bytes, see MG_GATEWAY_MEMORY_…; 0: by the limit of the process */
    size_t memory_bytes;           /* the result; set by the check */
    const struct mg_list *origins; /* of pages that may use the gateway from a browser (CORS) */
};

/* The gateway as a process; its `own` options are those above. It serves at once; database and broker
 * may come up later. Its drain ends waits and streams; after half of the time lines of batches are no longer
 * posted. SIGHUP also reads tokens and webhooks again. */
extern const struct mg_process_service MG_GATEWAY;

#endif
