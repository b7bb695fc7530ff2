/* See helpful_verbs.h. */
#include "operator/helpful_verbs.h"

#include "core/order.h"
#include "operator/order_rows.h"

/* The steps that a line names for one verb. */
#define STEPS_NAMED 3

/* Moments count only as set or not: all of them have passed. */
static bool order_read(const struct mg_table *row, const struct mg_table *steps,
                       const struct mg_workflow *workflow, struct mg_order *ret_order)
{
    bool is_read = mg_order_of_rows(row, steps, workflow, ret_order);
    ret_order->complete_by_ms = 0;
    for (int i = 0; i < ret_order->step_count; i++) {
        struct mg_step *step = &ret_order->steps[i];
        step->complete_by_ms = step->quiet_at_ms = step->finish_by_ms = 0;
        step->due_at_ms = step->due_at_ms != 0 ? 1 : 0;
    }
    return is_read;
}

static struct mg_workflow *workflow_read(struct mg_slice definition)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err err;
    bool is_read = definition.data != NULL && mg_workflow_parse(definition, NULL, &workflow, &err) == MG_OK;
    return is_read ? workflow : NULL;
}

static bool verbs_find(const struct mg_table *row, const struct mg_table *steps,
                       const struct mg_workflow *workflow, struct mg_verbs *ret_verbs)
{
    struct mg_order order;
    if (!order_read(row, steps, workflow, &order)) {
        return false;
    }
    bool lacks_output = mg_order_lacks_output(&order);
    const struct mg_context context = {
        .now_ms = 2, .known_results = UINT64_MAX, .is_output_unrenderable = lacks_output};
    mg_verbs_find(&workflow->plan, &context, &order, ret_verbs);
    for (int i = 0; i < order.step_count; i++) { /* of the others nothing is to be found out */
        const struct mg_step *step = &order.steps[i];
        bool is_open = step->is_maybe || step->state == MG_STEP_FAILED || step->state == MG_STEP_UNKNOWN ||
                       step->state == MG_STEP_UNDO_FAILED;
        bool may_settle = is_open || (lacks_output && step->state == MG_STEP_DONE);
        ret_verbs->can_settle &= may_settle ? UINT64_MAX : ~(UINT64_C(1) << i);
        ret_verbs->can_skip &= is_open ? UINT64_MAX : ~(UINT64_C(1) << i);
    }
    return true;
}

static void names_write(struct mg_json_writer *json, const char *verb, const struct mg_workflow *workflow,
                        uint64_t steps)
{
    mg_json_member_array(json, verb);
    for (; steps != 0; steps &= steps - 1) {
        mg_json_element_text(json, mg_slice_of(workflow->steps[__builtin_ctzll(steps)].name));
    }
    mg_json_array_end(json);
}

void mg_operator_verbs_write_json(struct mg_json_writer *json, const struct mg_table *order,
                                  const struct mg_table *steps, struct mg_slice definition, bool is_holding)
{
    struct mg_workflow *workflow = workflow_read(definition);
    struct mg_verbs verbs;
    if (workflow != NULL && verbs_find(order, steps, workflow, &verbs)) {
        mg_json_member_object(json, "verbs");
        mg_json_member_bool(json, "resume", verbs.can_resume);
        mg_json_member_bool(json, "restart", verbs.can_restart);
        mg_json_member_bool(json, "compensate", verbs.can_compensate);
        mg_json_member_bool(json, "cancel", verbs.can_cancel);
        mg_json_member_bool(json, "finish", verbs.can_finish);
        mg_json_member_bool(json, "release", is_holding);
        names_write(json, "settle", workflow, verbs.can_settle);
        names_write(json, "skip", workflow, verbs.can_skip);
        names_write(json, "repeat", workflow, verbs.can_repeat);
        mg_json_member_object(json, "absent");
        for (uint64_t left = verbs.can_settle & verbs.can_absent; left != 0; left &= left - 1) {
            int step = __builtin_ctzll(left);
            mg_json_member_word(json, workflow->steps[step].name, mg_step_state_name(verbs.absent[step]));
        }
        mg_json_object_end(json);
        mg_json_object_end(json);
    }
    mg_workflow_destroy(workflow);
}

static void part_write(struct mg_buf *out, const char *text, int *count)
{
    mg_buf_append_text(out, (*count)++ > 0 ? ", " : "");
    mg_buf_append_text(out, text);
}

static void steps_write(struct mg_buf *out, const struct mg_workflow *workflow, const char *verb,
                        uint64_t steps, int *count)
{
    if (steps == 0) {
        return;
    }
    part_write(out, verb, count);
    for (int named = 0; steps != 0; steps &= steps - 1, named++) {
        if (named == STEPS_NAMED) {
            mg_buf_append_text(out, ", …");
            return;
        }
        mg_buf_printf(out, "%s%s", named == 0 ? " " : " or ", workflow->steps[__builtin_ctzll(steps)].name);
    }
}

void mg_operator_verbs_write(struct mg_buf *out, const struct mg_table *order, const struct mg_table *steps,
                             struct mg_slice definition)
{
    struct mg_workflow *workflow = workflow_read(definition);
    struct mg_verbs verbs;
    int count = 0;
    if (workflow == NULL || !verbs_find(order, steps, workflow, &verbs)) {
        mg_buf_append_text(out, "resume, settle, skip, compensate or restart it");
        mg_workflow_destroy(workflow);
        return;
    }
    const struct {
        bool is_taken;
        const char *verb;
    } whole[] = {{verbs.can_resume, "resume"},
                 {verbs.can_finish, "resume --without-output"},
                 {verbs.can_compensate, "compensate"},
                 {verbs.can_cancel, "cancel"},
                 {verbs.can_restart, "restart"}};
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        if (whole[i].is_taken) {
            part_write(out, whole[i].verb, &count);
        }
    }
    steps_write(out, workflow, "settle step", verbs.can_settle, &count);
    steps_write(out, workflow, "skip step", verbs.can_skip, &count);
    steps_write(out, workflow, "resume --repeat --step", verbs.can_repeat, &count);
    if (count == 0) {
        mg_buf_append_text(out, "wait some seconds: an earlier request may still act");
    }
    mg_workflow_destroy(workflow);
}
