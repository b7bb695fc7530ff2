/* Services that workflow definitions name but that have no queue: most often misspelled names. */
#ifndef MG_CLI_WORKFLOW_SERVICES_H
#define MG_CLI_WORKFLOW_SERVICES_H

#include "service_list.h"
#include "workflow/workflow.h"

struct mg_workflow_services {
    struct mg_service_list list;
    struct mg_table controlled; /* owns the names in the list that the definitions do not */
    char why[MG_CLI_WHY_SIZE];  /* why the queues are unknown; "" if they were read */
};

/* Reads the queues from the broker, and, if one is missing, the other services' names from the database.
 * The definitions must outlive `ret`; NULL entries are skipped. */
void mg_workflow_services_find(struct mg_cli *cli, struct mg_workflow *const *workflows, int count,
                               struct mg_workflow_services *ret);
void mg_workflow_services_free(struct mg_workflow_services *services);
/* The next step after `step` (-1: the first) with a service without a queue; -1: none. Each service comes
 * once. */
int mg_workflow_services_next(struct mg_workflow_services *services, const struct mg_workflow *workflow,
                              int step);
/* Writes "service \"travle\" has no queue; …", with the nearest name that has one. */
#define MG_DOUBT_SIZE 512
void mg_workflow_services_doubt(struct mg_workflow_services *services, const char *name,
                                char ret_text[MG_DOUBT_SIZE]);

#endif
