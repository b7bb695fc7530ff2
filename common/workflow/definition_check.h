/*
 * Data from the reader of a definition (workflow.c) for the checks of the whole (definition_check.c), which
 * the plan does not keep. Private to common/workflow.
 */
#ifndef MG_WORKFLOW_DEFINITION_CHECK_H
#define MG_WORKFLOW_DEFINITION_CHECK_H

#include "json/reader.h"
#include "workflow/step_guard.h"
#include "workflow/workflow.h"

struct mg_conditions_source {
    struct mg_slice done_when, refused_when; /* JSON strings; absent: none */
};

/* The place of a step in the definition, and its `after` as written. */
struct mg_step_source {
    bool is_present; /* it is an object and was parsed */
    struct mg_conditions_source conditions, undo_conditions;
    struct mg_slice after; /* absent, without `needs`: the step before it in the list */
    struct mg_slice needs; /* absent: none */
    struct mg_guard_source guard;
};

/* Reads the member `wait` of a step, and refuses the members of calls next to it (wait_member.c). */
void mg_workflow_wait_read(const struct mg_json_object *object, struct mg_slice value, struct mg_arena *arena,
                           struct mg_step_plan *plan, struct mg_workflow_step *step,
                           struct mg_step_source *source);
/* Refuses an order's time that is not longer than its waits. There is no cycle. */
void mg_workflow_waits_check(const struct mg_workflow *workflow, struct mg_json_faults *faults);
/* Resolves `after`, then finds duplicate names, cycles and references without a possible value. */
void mg_workflow_check(struct mg_workflow *workflow, const struct mg_step_source *sources,
                       struct mg_json_faults *faults);
/* Reads a text that is made when the order comes in, before it has a result: a label, or the key of a line.
 * `what`: "a label"; `max`: the most bytes of one without references. (label_templates.c) */
void mg_workflow_early_read(struct mg_json_faults *faults, struct mg_arena *arena, const char *place,
                            struct mg_slice value, const char *what, size_t max, struct mg_slice *ret_text);
/* Reads the member `sequence` of the definition (sequence_member.c). */
void mg_workflow_sequence_read(const struct mg_json_object *object, struct mg_arena *arena,
                               struct mg_workflow *workflow);
/* Reads the member `labels` of the definition (label_templates.c). */
void mg_workflow_labels_read(const struct mg_json_object *object, struct mg_arena *arena,
                             struct mg_workflow *workflow);

struct mg_action_part {
    const char *member;
    struct mg_slice text; /* absent: the action has none */
    const struct mg_template *template;
};
void mg_action_parts(const struct mg_action *action, struct mg_action_part ret_parts[MG_ACTION_PARTS]);

/* Compiles the templates of a checked workflow (template_places.c). */
void mg_workflow_compile_templates(struct mg_workflow *workflow, struct mg_arena *arena,
                                   struct mg_json_faults *faults);
/* Bits: the step, and all that it needs. */
uint64_t mg_workflow_needs_of(const struct mg_workflow *workflow, int step);
/* True for requests that an order must be able to make to be accepted: the first ones, and every undo, for an
 * undo that cannot be built leaves its effect standing. A later `do` may be repaired by an operator. */
bool mg_workflow_is_tried(const struct mg_workflow *workflow, int step, enum mg_kind kind);
/* Lists the values that payloads of a checked workflow must have, in memory of `arena`. */
void mg_workflow_find_needs(struct mg_workflow *workflow, struct mg_arena *arena,
                            struct mg_json_faults *faults);
/* Lists the expressions to try before an order is accepted (admit.c). */
void mg_workflow_find_trials(struct mg_workflow *workflow, struct mg_arena *arena,
                             struct mg_json_faults *faults);

#endif
