/*
 * The state of a service for display, from its row of MG_REPORT_CONTROLLED and from its request queues, which
 * only the broker knows. An agent in another language reports nothing; its consumer on the queue is the only
 * sign of it.
 */
#ifndef MG_OPERATOR_SERVICE_STATE_H
#define MG_OPERATOR_SERVICE_STATE_H

#include "io/amqp/topology.h"
#include "operator/table.h"

/* The words of the report, and "no queue", which the database cannot detect. */
#define MG_SERVICE_NO_QUEUE "no queue" /* a workflow names it, but a request queue of it is missing */
#define MG_SERVICE_NO_AGENT "no agent"
/* Agents report that they are ready, and none consumes or has a call under way. One with its hands full of
 * large requests has calls under way. */
#define MG_SERVICE_DEAF     "not consuming"
#define MG_SERVICE_SERVING  "serving"  /* also without a report, if its queues have a consumer */
#define MG_SERVICE_NOT_USED "not used" /* no workflow names it, and no agent reports it */
#define MG_SERVICE_PAUSED   "paused"

/* `queues` NULL: the queues are unknown. The text lives as long as the table. */
const char *mg_service_state_find(const struct mg_table *controlled, int row,
                                  const struct mg_service_queues *queues);
/* The same for a service that orders need, if only its queues are known. */
const char *mg_service_state_of_queues(const struct mg_service_queues *queues);
/* False: orders wait until an operator acts. A pause is well, because an operator wants it. */
bool mg_service_state_is_well(const char *state);
/* The remedy as a whole command; "" if no command helps. */
#define MG_SERVICE_REMEDY_SIZE 256
void mg_service_remedy(const char *service, const char *state, char ret_remedy[MG_SERVICE_REMEDY_SIZE]);

/* "payment is slow since …: 95 of 100 calls take up to 2042 ms, usually 10 ms". False: it is not slow. */
#define MG_SERVICE_SLOW_SIZE 256
bool mg_service_slow_write(const struct mg_table *controlled, int row, char ret_text[MG_SERVICE_SLOW_SIZE]);

/* Writes mg_service_state_find into the column "state" of all rows. `find` returns NULL for unknown queues.
 * False: out of memory; the remaining rows are unchanged. */
typedef const struct mg_service_queues *service_queues_fn(void *arg, const char *service);
bool mg_service_states_put(struct mg_table *controlled, service_queues_fn *find, void *arg);

#endif
