/* The meaning of a service's good answer for its step: `done_when` and `refused_when` of the definition. */
#ifndef MG_WORKFLOW_ANSWER_CONDITIONS_H
#define MG_WORKFLOW_ANSWER_CONDITIONS_H

#include "wire/reply.h"
#include "workflow/definition_check.h"
#include "workflow/workflow.h"

struct mg_certainty;

enum mg_answer_meaning {
    MG_ANSWER_DONE,
    MG_ANSWER_REFUSED,
    MG_ANSWER_OPEN,    /* neither: the service has not finished */
    MG_ANSWER_UNCLEAR, /* a condition cannot be evaluated, or both hold */
};

static inline bool mg_workflow_is_judged(const struct mg_conditions *conditions)
{
    return conditions->done_when != NULL || conditions->refused_when != NULL;
}

/* Of a step's conditions; `input->results` are those of the steps before it. `result` absent: the answer
 * gave none, or with a `fault` none that can be read. `ret_why` is the condition with its values, or the
 * reason why it cannot be evaluated; empty if the answer is done. */
enum mg_answer_meaning mg_workflow_answer(const struct mg_render_input *input,
                                          const struct mg_conditions *conditions, struct mg_slice result,
                                          struct mg_slice fault, char ret_why[MG_ERROR_TEXT_MAX + 1]);

/* The same of a signal for a step that waits, by its payload. Without conditions each signal is done. */
enum mg_answer_meaning mg_workflow_signal_judge(const struct mg_render_input *input, int step,
                                                struct mg_slice payload, char ret_why[MG_ERROR_TEXT_MAX + 1]);

/* Changes a reply by the conditions of its step. False: they do not concern it, and it is as
 * it was. Only a good answer (done or accepted) is judged.
 *
 * | conditions | do                                        | verify     | undo      |
 * |------------|-------------------------------------------|------------|-----------|
 * | done       | done                                      | done       | done      |
 * | refused    | permanent; executed no if nothing of this | permanent, | permanent |
 * |            | delivery may have acted before            | no         |           |
 * | neither    | accepted with finish_within, else unknown | as do      | as do     |
 * | unclear    | unknown; a 202 stays accepted             | as do      | as do     |
 */
bool mg_workflow_answer_judge(const struct mg_render_input *input, int step, struct mg_reply *reply);

/* Compiles and checks the conditions of a step; `before`: the steps that have ended when it begins. */
void mg_workflow_answer_check(struct mg_workflow *workflow, int step, const struct mg_step_source *source,
                              uint64_t before, const struct mg_certainty *certainty,
                              struct mg_json_faults *faults);

#endif
