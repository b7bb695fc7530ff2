/*
 * Services by name, with the broker's counts of their request queues. Verbs use it for services without a
 * reporting agent.
 */
#ifndef MG_CLI_SERVICE_LIST_H
#define MG_CLI_SERVICE_LIST_H

#include "cli.h"
#include "io/amqp/topology.h"

#define MG_SERVICES_MAX 256 /* as many as a scheduler watches; further ones are left out */

struct mg_service_list {
    const char *names[MG_SERVICES_MAX]; /* borrowed */
    struct mg_service_queues queues[MG_SERVICES_MAX];
    int count;
    bool is_seen; /* `queues` holds the broker's answer */
};

/* A name that is in the list already is not added again. */
void mg_service_list_add(struct mg_service_list *list, const char *name);
/* Adds the column "service" of all rows. */
void mg_service_list_add_rows(struct mg_service_list *list, const struct mg_table *rows);
/* The services that orders need: those of loaded workflows, and those of the versions that open orders
 * keep. The names live as long as the tables. */
struct mg_service_needs {
    struct mg_table controlled, kept; /* MG_REPORT_CONTROLLED, MG_REPORT_KEPT_SERVICES */
};
enum mg_exit_code mg_service_list_add_needs(struct mg_cli *cli, struct mg_service_list *list,
                                            struct mg_service_needs *ret, char ret_why[MG_CLI_WHY_SIZE]);
void mg_service_needs_free(struct mg_service_needs *needs);
/* Reads the counts of all services' queues from the broker. */
enum mg_class mg_service_list_look(struct mg_cli *cli, struct mg_service_list *list,
                                   struct mg_err *err) MG_MUSTCHECK;
/* Writes each service's state, which its queues decide, too, into the rows of MG_REPORT_CONTROLLED. Without
 * the broker's counts, or without memory, the states are those of the agents' reports. */
void mg_service_queues_put(struct mg_cli *cli, struct mg_table *controlled);
/* NULL: not in the list, or not read. `list` is a struct mg_service_list (service_queues_fn). */
const struct mg_service_queues *mg_service_list_find(void *list, const char *name);

#endif
