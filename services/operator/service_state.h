/*
 * How a service is, for people: from its row of MG_REPORT_CONTROLLED and from its request queues, which only
 * the broker knows. An agent in another language reports nothing; that it consumes is what tells of it.
 */
#ifndef MG_OPERATOR_SERVICE_STATE_H
#define MG_OPERATOR_SERVICE_STATE_H

#include "io/amqp/topology.h"
#include "operator/table.h"

/* The report's words, and one that it cannot know. */
#define SERVICE_NO_QUEUE "no queue" /* a workflow names it, and a request queue of it is missing */
#define SERVICE_NO_AGENT "no agent"
#define SERVICE_SERVING  "serving"  /* also without a report, where something consumes its queues */
#define SERVICE_NOT_USED "not used" /* no workflow names it, and no agent reports it */
#define SERVICE_PAUSED   "paused"

/* `queues` NULL: nothing is known of them. The text lives as long as the table. */
const char *service_state(const struct table *controlled, int row, const struct mg_service_queues *queues);
/* The same of a service that orders need, and of which nothing but its queues is known. */
const char *service_state_of_queues(const struct mg_service_queues *queues);
/* False: its orders wait, and somebody must do something. A pause is somebody's will. */
bool service_state_is_well(const char *state);
/* What to do about it, with whole commands: "" where nothing helps but looking. */
#define SERVICE_REMEDY_SIZE 256
void service_remedy(const char *service, const char *state, char ret_remedy[SERVICE_REMEDY_SIZE]);

/* Puts service_state into the column "state" of all rows. `find` returns NULL for queues that it does not
 * know. False: no memory; the rest stays as it is. */
typedef const struct mg_service_queues *service_queues_fn(void *arg, const char *service);
bool service_states_put(struct table *controlled, service_queues_fn *find, void *arg);

#endif
