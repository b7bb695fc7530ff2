/*
 * Steps that are certainly done: a step with a guard may be skipped, and then it has no result. A definition
 * that passes cannot fail for the result of a step that was skipped. Private to common/workflow.
 */
#ifndef MG_WORKFLOW_CERTAINTY_H
#define MG_WORKFLOW_CERTAINTY_H

#include "json/reader.h"
#include "workflow/expressions.h"
#include "workflow/workflow.h"

struct mg_certainty {
    const struct mg_workflow *workflow;
    uint64_t always;                /* steps that no guard skips: done at the order's end */
    uint64_t asked[MG_STEPS_MAX];   /* done when the step's `when` is evaluated */
    uint64_t begun[MG_STEPS_MAX];   /* done when the step begins, and when it is undone */
    uint64_t instead[MG_STEPS_MAX]; /* done if the step was skipped */
    uint64_t values[MG_VALUES_MAX]; /* results that a value needs without asking for them */
};

/* `before` has no cycle. */
void mg_certainty_find(const struct mg_workflow *workflow, const uint64_t before[MG_STEPS_MAX],
                       struct mg_certainty *ret_certainty);
/* The steps beyond `certain` with results that the expression needs, without has() or state on the deciding
 * side; `ret_columns` has the first place of each. */
uint64_t mg_certainty_lacks(const struct mg_certainty *certainty, const struct mg_expr *expr,
                            uint64_t certain, int ret_columns[MG_STEPS_MAX]);
#define MG_CERTAINTY_WHY_SIZE 160
/* The reason for which the step may be skipped: `its "when": payload.express`. */
void mg_certainty_why(const struct mg_certainty *certainty, int step, char ret_text[MG_CERTAINTY_WHY_SIZE]);
/* The fault of a condition that needs the result of such a step. */
void mg_certainty_refuse(const struct mg_certainty *certainty, int step, const char *pointer, const char *at,
                         struct mg_json_faults *faults);
/* The expression that gives the value of `/results/…`, or null. */
void mg_certainty_asking(const char *reference, char *ret_text, size_t size);
/* Refuses steps with conditions of which never all are true, their own and those of the steps they need. */
void mg_certainty_check(const struct mg_certainty *certainty, struct mg_json_faults *faults);
/* Checks the references of all conditions (step_guard_check.c). */
void mg_workflow_guards_check(const struct mg_certainty *certainty, const uint64_t before[MG_STEPS_MAX],
                              struct mg_json_faults *faults);

#endif
