/*
 * Services by name, with the broker's counts of their request queues. Verbs use it for services without a
 * reporting agent.
 */
#ifndef MG_CLI_SERVICE_LIST_H
#define MG_CLI_SERVICE_LIST_H

#include "cli.h"
#include "io/amqp/topology.h"

#define SERVICES_MAX 256 /* as many as a scheduler watches; further ones are left out */

struct service_list {
    const char *names[SERVICES_MAX]; /* borrowed */
    struct mg_service_queues queues[SERVICES_MAX];
    int count;
    bool is_seen; /* `queues` holds the broker's answer */
};

/* A name that is in the list already is not added again. */
void service_list_add(struct service_list *list, const char *name);
/* Adds the column "service" of all rows. */
void service_list_add_rows(struct service_list *list, const struct table *rows);
/* The services that orders need: those of loaded workflows, and those of the versions that open orders
 * keep. The names live as long as the tables. */
struct service_needs {
    struct table controlled, kept; /* MG_REPORT_CONTROLLED, MG_REPORT_KEPT_SERVICES */
};
enum exit_code service_list_add_needs(struct cli *cli, struct service_list *list, struct service_needs *ret);
void service_needs_free(struct service_needs *needs);
/* Reads the counts of all services' queues from the broker. */
enum mg_class service_list_look(struct cli *cli, struct service_list *list, struct mg_err *err) MG_MUSTCHECK;
/* NULL: not in the list, or not read. `list` is a struct service_list (service_queues_fn). */
const struct mg_service_queues *service_list_find(void *list, const char *name);

#endif
