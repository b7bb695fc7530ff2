/* See damage.h. */
#include "damage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The arena's copy of a reason. Without memory, the reason without its details. */
static const char *reason_keep(struct mg_batch *batch, const char *text)
{
    const char *kept = mg_arena_text(batch->arena, mg_slice_of(text));
    return kept != NULL ? kept : "damaged";
}

static bool is_broken(struct mg_slice text, struct mg_err *err)
{
    bool is_above;
    return text.data != NULL &&
           mg_json_check_limits(text, &MG_JSON_LIMITS_DATA, &is_above, err) == MG_BAD_INPUT && !is_above;
}

static const char *broken_text_of(struct mg_batch *batch, const struct mg_order_record *record)
{
    struct mg_err err;
    char text[MG_REFUSAL_TEXT_SIZE];
    const char *broken = is_broken(record->payload, &err)   ? "payload"
                         : is_broken(record->failure, &err) ? "failure"
                                                            : NULL;
    if (broken != NULL) {
        (void)snprintf(text, sizeof(text), "damaged: its %s is no JSON: %.100s", broken, err.text);
        return reason_keep(batch, text);
    }
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        const struct mg_step_record *step = &record->steps[i];
        if (is_broken(step->result, &err) || is_broken(step->undo_result, &err)) {
            (void)snprintf(text, sizeof(text), "damaged: the result of step \"%s\" is no JSON: %.60s",
                           record->step_names[i], err.text);
            return reason_keep(batch, text);
        }
    }
    return NULL;
}

static const char *misfit_of(struct mg_batch *batch, const struct mg_order_record *record,
                             const struct mg_workflow *workflow)
{
    char text[MG_REFUSAL_TEXT_SIZE];
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((record->stored_steps >> i & 1) == 0) {
            continue;
        }
        const struct mg_workflow_step *step = i < workflow->plan.step_count ? &workflow->steps[i] : NULL;
        if (step == NULL || strcmp(step->name, record->step_names[i]) != 0) {
            (void)snprintf(text, sizeof(text),
                           "damaged: its row of step %d is of \"%.40s\", the workflow's is %.40s", i,
                           record->step_names[i], step != NULL ? step->name : "not there");
            return reason_keep(batch, text);
        }
        if (strcmp(step->service, record->services[i]) != 0) {
            (void)snprintf(text, sizeof(text),
                           "damaged: its row of step %.30s is of service \"%.30s\", the workflow's of %.30s",
                           step->name, record->services[i], step->service);
            return reason_keep(batch, text);
        }
    }
    return NULL;
}

const char *mg_damage_of(struct mg_batch *batch, const struct mg_order_record *record,
                         const struct mg_workflow *workflow, enum mg_refusal *ret_refusal)
{
    const char *reason = misfit_of(batch, record, workflow);
    *ret_refusal = reason != NULL ? MG_REFUSAL_LASTING : MG_REFUSAL_DAMAGED;
    return reason != NULL ? reason : broken_text_of(batch, record);
}

const char *mg_damage_no_workflow(struct mg_batch *batch, const char *workflow, int64_t version,
                                  bool is_there)
{
    char text[MG_REFUSAL_TEXT_SIZE];
    (void)snprintf(text, sizeof(text), "damaged: the database has no %sversion %" PRId64 " of workflow %.63s",
                   is_there ? "sound " : "", version, workflow);
    return reason_keep(batch, text);
}
