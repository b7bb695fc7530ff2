/* Definitions by name and version: those in use, and those on their way into the store. */
#ifndef MG_SCHEDULER_WORKFLOWS_H
#define MG_SCHEDULER_WORKFLOWS_H

#include "gates.h"

#include "workflow/workflow.h"

struct mg_workflow_entry {
    struct mg_workflow_entry *next;
    struct mg_workflow *workflow;
    struct mg_gate *gates[MG_STEPS_MAX];
    struct mg_metric *entered[MG_ORDER_STATE_COUNT]; /* orders of this workflow, all versions */
    uint64_t used_in;                                /* the last batch that needed it */
};

struct mg_newest {
    struct mg_newest *next;
    char name[MG_NAME_MAX + 1];
    int64_t version, read_at_boot_ms;
};

enum mg_fetch_outcome {
    MG_FETCH_FOUND,
    MG_FETCH_UNKNOWN,
    MG_FETCH_UNREADABLE, /* a newer version stored it */
    MG_FETCH_DAMAGED,    /* it is no JSON, or the definition of another workflow or version */
};

/* A workflow that a batch needs and the cache lacks. */
struct mg_want {
    struct mg_workflows *workflows;
    char name[MG_NAME_MAX + 1];
    int64_t asked;   /* 0: the newest */
    int64_t version; /* the version found, once fetched */
    enum mg_fetch_outcome outcome;
    void (*done)(void *arg, struct mg_want *want, const struct mg_err *err);
    void *arg;
};

/* A definition of --workflows, on its way into the store. */
struct mg_definition {
    struct mg_definition *next;
    struct mg_workflow *workflow;
    char *file;
};

struct mg_workflows {
    struct mg_shared *shared;
    struct mg_gates *gates;
    struct mg_workflow_entry *first;
    int count;
    uint64_t batch; /* number of the last one */
    struct mg_newest *newest;
    int newest_count;
    struct mg_definition *definitions;
    bool is_definition_in_hand;
    bool is_loaded; /* all are stored */
};

/* Reads and checks every *.json of a directory; each mistake goes to stderr with file and pointer. */
enum mg_class mg_definitions_read(const char *directory, struct mg_definition **ret_definitions,
                                  struct mg_err *err) MG_MUSTCHECK;
void mg_definitions_destroy(struct mg_definition *definitions);
void mg_definitions_store(struct mg_workflows *workflows); /* wakes the scheduler when all are stored */
/* Looks in the cache. Version 0: the newest, if it was read within the last `max_age_ms`. */
struct mg_workflow_entry *mg_workflows_find(struct mg_workflows *workflows, const char *name, int64_t version,
                                            int64_t max_age_ms);
void mg_workflows_fetch(struct mg_want *want);
void mg_workflows_finish(struct mg_workflows *workflows);

#endif
