/*
 * A rehearsal: one case of a workflow runs from its submission to its end, in simulated time, without broker,
 * database and network. The scheduler's code decides and renders (desk.h). The agent's code reads the
 * requests, repeats calls and classifies the answers. Only the services are played, by the answers of the
 * case. Breakers, limits and access tokens of an agent are left out: they delay an order and decide nothing.
 */
#ifndef MG_REHEARSE_REHEARSAL_H
#define MG_REHEARSE_REHEARSAL_H

#include "wire/service.h"
#include "wire/workflow_cases.h"

/* A difference between a case and its order. */
struct mg_fault {
    struct mg_fault *next;
    char pointer[256]; /* its place in the file of cases */
    char text[512];
};

/* The ways of a step that the cases of a file should take, each at least once. */
enum mg_branch {
    MG_BRANCH_DONE,    /* its do succeeded */
    MG_BRANCH_REFUSED, /* no further attempt was made: the step failed */
    MG_BRANCH_UNKNOWN, /* for a while it was not known whether it had happened */
    MG_BRANCH_UNDONE,
    MG_BRANCH_SKIPPED, /* its condition was false, or a step that it needs was skipped */
    MG_BRANCH_COUNT
};
const char *mg_branch_name(enum mg_branch branch);

struct mg_coverage {
    bool seen[MG_STEPS_MAX][MG_BRANCH_COUNT];
};

/* True if some order of this workflow can take the branch. */
bool mg_branch_exists(const struct mg_workflow *workflow, int step, enum mg_branch branch);

struct mg_rehearsal {
    struct mg_arena *arena; /* of the faults */
    struct mg_fault *faults;
    int fault_count;
    char end[32];    /* the order's state, "rejected" or "waiting" */
    int64_t took_ms; /* of simulated time */
};

/* `services` has one for each step of the workflow. MG_TRANSIENT: no memory. */
enum mg_class mg_rehearse(const struct mg_workflow *workflow, const struct mg_cases *cases,
                          const struct mg_case *one, const struct mg_service *const *services,
                          struct mg_coverage *coverage, struct mg_rehearsal *ret_rehearsal,
                          struct mg_err *err) MG_MUSTCHECK;
void mg_rehearsal_finish(struct mg_rehearsal *rehearsal);

#endif
