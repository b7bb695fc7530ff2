/* The processes: started, killed, drained, paused, and started again. */
#ifndef SIM_NODES_H
#define SIM_NODES_H

#include "kernel.h"

#define SIM_QUIESCE_MS 3000

struct mg_metrics;

struct sim_process {
    char instance[64];
    struct mg_metrics *metrics; /* never read: those of the node's first life */
    void *service;              /* belongs to the program */
    bool is_ending, has_finished;
};

/* The counterpart of a service's main.c. */
struct sim_program {
    enum mg_class (*start)(struct sim_process *process, struct sim_node *node, struct mg_err *err);
    void (*drain)(struct sim_process *process); /* SIGTERM: leads to sim_node_ended */
    void (*finish)(struct sim_process *process);
    void (*look)(const struct sim_process *process); /* checks the process at any time; may be NULL */
};
extern const struct sim_program sim_program_scheduler, sim_program_agent, sim_program_supervisor;

/* Adds and starts as many of each role as the seed determines. */
void sim_nodes_start(void);
void sim_nodes_heal(void); /* starts dead nodes at once; paused ones continue by themselves */
/* The running node's service has ended in good order; its process ends. */
void sim_node_ended(struct sim_node *node);
/* The running node's service gives up. Accepted reasons are lack of memory, if the exit code lets a service
 * manager start it again, and lack of a privilege. Otherwise this ends the run. */
void sim_node_gave_up(int exit_code, const char *why);
/* The end of the run: every running node ends in good order, and none starts again. */
void sim_nodes_end(void);
void sim_nodes_look(void);      /* checks every running process */
bool sim_nodes_are_awake(void); /* no node is paused */
bool sim_nodes_have_ended(void);

/* definitions.c: the workflows and services of a run. */
struct mg_definition;
struct mg_definition *sim_definitions_create(struct mg_err *err); /* of all workflows; NULL: no memory */
int sim_workflow_count(void);
int sim_rough_workflows(void); /* the first of those that only rough runs have */
const char *sim_workflow_name(int index);
int sim_service_count(void);
const char *sim_service_name(int index);
const char *sim_service_text(int index); /* a service file's content */

#endif
