/*
 * A rehearsal: one case of a workflow runs from its submission to its end, in simulated time, without broker,
 * database and network. The scheduler's code decides and renders (desk.h). The agent's code reads the
 * requests, repeats calls and classifies the answers. Only the services are played, by the answers of the
 * case. Breakers, limits and access tokens of an agent are left out: they delay an order and decide nothing.
 */
#ifndef MG_REHEARSE_REHEARSAL_H
#define MG_REHEARSE_REHEARSAL_H

#include "service/service.h"
#include "workflow/case_file.h"

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
    MG_BRANCH_SKIPPED,   /* its condition was false, or a step that it needs was skipped */
    MG_BRANCH_TIMED_OUT, /* no signal ended its wait */
    MG_BRANCH_WHEN_TRUE,
    MG_BRANCH_WHEN_FALSE,
    /* The meaning of a good answer, or of signals, by `done_when` and `refused_when`. */
    MG_BRANCH_ANSWER_DONE,
    MG_BRANCH_ANSWER_REFUSED,
    MG_BRANCH_ANSWER_OPEN, /* neither: the service has not finished */
    /* After it, for each requirement: met, and not met. */
    MG_BRANCH_REQUIRE,
    MG_BRANCH_COUNT = MG_BRANCH_REQUIRE + 2 * MG_REQUIREMENTS_MAX
};

/* Steps of the workflow, and after them the order itself, which has requirements alone. */
#define MG_COVERED_ORDER MG_STEPS_MAX
#define MG_COVERED_COUNT (MG_STEPS_MAX + 1)

struct mg_coverage {
    bool seen[MG_COVERED_COUNT][MG_BRANCH_COUNT];
};

/* True if some order of this workflow can take the branch. */
bool mg_branch_exists(const struct mg_workflow *workflow, int step, int branch);
/* "charge.done", "charge.require.0.met"; of the order itself "require.0.met". The longest is 83 bytes. */
#define MG_BRANCH_NAME_SIZE (MG_NAME_MAX + 1 + 32)
void mg_branch_name(const struct mg_workflow *workflow, int step, int branch, char ret[MG_BRANCH_NAME_SIZE]);
/* The part of the name after the step: "done", "require.0.met". */
const char *mg_branch_word(int branch, char ret[MG_BRANCH_NAME_SIZE]);

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
