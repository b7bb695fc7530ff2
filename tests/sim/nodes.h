/* The processes: made, killed, drained, paused, and made again. */
#ifndef SIM_NODES_H
#define SIM_NODES_H

#include "kernel.h"

#define SIM_QUIESCE_MS 3000

struct mg_metrics;

struct sim_process {
    char instance[64];
    struct mg_metrics *metrics; /* nobody reads them: those of the node's first life */
    void *service;              /* the program's own */
    bool is_ending, has_finished;
};

/* What a service's main.c is to the real one. */
struct sim_program {
    enum mg_class (*start)(struct sim_process *process, struct sim_node *node, struct mg_err *err);
    void (*drain)(struct sim_process *process); /* SIGTERM: leads to sim_node_ended */
    void (*finish)(struct sim_process *process);
    void (*look)(const struct sim_process *process); /* what must be so of it at any time; NULL: nothing */
};
extern const struct sim_program sim_program_scheduler, sim_program_agent, sim_program_supervisor;

/* Adds and starts as many of each as the seed says. */
void sim_nodes_start(void);
void sim_nodes_heal(void); /* the dead are started at once; who is paused goes on by itself */
/* The running node's service has ended in good order, and its process goes. */
void sim_node_ended(struct sim_node *node);
/* The running node's service gives up. It may if it lacked memory, for then it comes again, unless by its
 * exit code no service manager starts it again; and if it lacked a privilege. Else this ends the run. */
void sim_node_gave_up(int exit_code, const char *why);
/* All is over: every node that runs ends in good order, and none comes again. */
void sim_nodes_end(void);
void sim_nodes_look(void);      /* at every process that runs */
bool sim_nodes_are_awake(void); /* nobody is paused */
bool sim_nodes_have_ended(void);

/* definitions.c: what the workflows and the services of a run are. */
struct mg_definition;
struct mg_definition *sim_definitions_create(struct mg_err *err); /* of all workflows; NULL: no memory */
int sim_workflow_count(void);
const char *sim_workflow_name(int index);
int sim_service_count(void);
const char *sim_service_name(int index);
const char *sim_service_text(int index); /* a service file's content */

#endif
