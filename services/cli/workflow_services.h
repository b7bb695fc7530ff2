/* Services that definitions name and that have no queue: most often a name that is spelled otherwise. */
#ifndef MG_CLI_WORKFLOW_SERVICES_H
#define MG_CLI_WORKFLOW_SERVICES_H

#include "service_list.h"
#include "wire/workflow.h"

struct workflow_services {
    struct service_list list;
    struct table controlled; /* names in the list are its or the definitions' */
    char why[CLI_WHY_SIZE];  /* the queues were not looked at; "" if they were */
};

/* Asks the broker, and the database for other names if one is missing. The definitions outlive it; NULL among
 * them is passed by. */
void workflow_services_find(struct cli *cli, struct mg_workflow *const *workflows, int count,
                            struct workflow_services *ret);
void workflow_services_free(struct workflow_services *services);
/* The next step behind `step` (-1: the first) whose service has no queue; -1: there is none. Each service
 * once. */
int workflow_services_next(struct workflow_services *services, const struct mg_workflow *workflow, int step);
/* "service \"travle\" has no queue; …", with the nearest name that has one. */
#define DOUBT_SIZE 512
void workflow_services_doubt(struct workflow_services *services, const char *name, char ret_text[DOUBT_SIZE]);

#endif
