/*
 * Between reading a definition (workflow.c) and the checks that need it whole (workflow_check.c): what was
 * read about each step that the plan does not keep. Private to common/wire.
 */
#ifndef MG_WIRE_WORKFLOW_CHECK_H
#define MG_WIRE_WORKFLOW_CHECK_H

#include "wire/json_reader.h"
#include "wire/workflow.h"

/* Where a step stands in the definition, and its `after` as written. */
struct mg_step_source {
    bool is_present;       /* it is an object, and was read */
    struct mg_slice after; /* absent: the step before it in the list */
};

/* Resolves `after`, then finds duplicate names, cycles and references to what cannot be there. */
void mg_workflow_check(struct mg_workflow *workflow, const struct mg_step_source *sources,
                       struct mg_json_faults *faults);

#endif
