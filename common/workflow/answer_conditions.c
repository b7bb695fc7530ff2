/*
 * The meaning of a service's good answer: `done_when` and `refused_when` of a step or its undo, over the
 * answer's body.
 * They see `result` (the answer's, as the service file takes it) alongside all that the step's request may
 * use.
 *
 * A condition that cannot be evaluated counts as unclear, unless the other one holds, as next to && and || in
 * an expression. Nothing unclear is taken for done or refused.
 */
#include "workflow/answer_conditions.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "expr/tree.h"
#include "workflow/certainty.h"
#include "workflow/expressions.h"
#include "workflow/step_guard.h"

/* ---- reading ---- */

struct condition {
    const struct mg_workflow *workflow;
    const struct mg_certainty *certainty;
    int step;
    uint64_t before;
    const struct mg_expr *expr;
    struct mg_slice quoted; /* the expression in the definition */
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_json_faults *faults;
    bool has_result;
    bool reads_steps;
    int own_state_column; /* 0: it does not ask for the state of its step */
    uint64_t steps;       /* to which it refers */
    int columns[MG_STEPS_MAX];
};

static void note_reference(void *arg, const struct mg_expr_reference *reference)
{
    struct condition *condition = arg;
    uint64_t steps = 0;
    condition->reads_steps =
        condition->reads_steps || (reference->root != MG_ROOT_RESULT && reference->root != MG_ROOT_PAYLOAD);
    if (reference->root == MG_ROOT_RESULT) {
        condition->has_result = true;
    } else if (reference->root == MG_ROOT_STATE && reference->member == condition->step) {
        condition->own_state_column = reference->column;
    } else if (mg_root_step(reference) >= 0) {
        steps = UINT64_C(1) << mg_root_step(reference);
    } else if (reference->root == MG_ROOT_VALUES) {
        steps = condition->workflow->exprs->value_steps[reference->member];
    }
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((steps & ~condition->steps) & (UINT64_C(1) << i)) {
            condition->columns[i] = reference->column;
        }
    }
    condition->steps |= steps;
}

static const char *at(const struct condition *condition, int column)
{
    return mg_workflow_expr_at(condition->quoted, column);
}

static void check_steps(const struct condition *condition)
{
    if (condition->own_state_column > 0) {
        mg_json_fault_at(condition->faults, MG_BAD_INPUT, condition->pointer,
                         at(condition, condition->own_state_column),
                         "state.%s is the step's own state; refer to the states of steps before",
                         condition->workflow->steps[condition->step].name);
    }
    for (int i = 0; i < condition->workflow->plan.step_count; i++) {
        const char *name = condition->workflow->steps[i].name;
        if (!(condition->steps & (UINT64_C(1) << i))) {
            continue;
        }
        if (i == condition->step) {
            mg_json_fault_at(
                condition->faults, MG_BAD_INPUT, condition->pointer, at(condition, condition->columns[i]),
                "results.%s is the step's own result, which is not kept yet; write \"result\"", name);
        } else if (!(condition->before & (UINT64_C(1) << i))) {
            mg_json_fault_at(
                condition->faults, MG_BAD_INPUT, condition->pointer, at(condition, condition->columns[i]),
                "step \"%s\" is not before this one; add it to \"after\", here or in a step before", name);
        }
    }
}

/* Steps that may be skipped: the condition could not be evaluated, and no answer would be clear. */
static void check_certainty(const struct condition *condition)
{
    int columns[MG_STEPS_MAX] = {0};
    const struct mg_certainty *certainty = condition->certainty;
    uint64_t lacks =
        mg_certainty_lacks(certainty, condition->expr, certainty->begun[condition->step], columns) &
        condition->before;
    for (int i = 0; i < condition->workflow->plan.step_count; i++) {
        if ((lacks & (UINT64_C(1) << i)) != 0) {
            mg_certainty_refuse(certainty, i, condition->pointer, at(condition, columns[i]),
                                condition->faults);
        }
    }
}

static void check_condition(struct condition *condition)
{
    enum mg_expr_type type = mg_expr_type_of(condition->expr);

    mg_expr_references(condition->expr, note_reference, condition);
    check_steps(condition);
    check_certainty(condition);
    if (type != MG_EXPR_UNKNOWN && type != MG_EXPR_BOOLEAN) {
        mg_json_fault_at(condition->faults, MG_BAD_INPUT, condition->pointer, at(condition, 1),
                         "it is %s; a condition is needed, as in \"result.state == 'SETTLED'\"",
                         mg_expr_type_name(type));
    } else if (!condition->has_result) {
        mg_json_fault_at(
            condition->faults, MG_BAD_INPUT, condition->pointer, at(condition, 1),
            "it does not look at the answer; refer to \"result\", as in \"result.state == 'SETTLED'\"");
    } else {
        mg_workflow_constants_check(condition->expr, condition->pointer, condition->quoted,
                                    "no answer could fulfil it", condition->faults);
    }
}

/* `place`: of the object with the condition, within the step. */
static const struct mg_expr *read_condition(const struct condition *common, const char *place,
                                            const char *name, struct mg_slice quoted, bool *reads_steps)
{
    struct condition condition = *common;
    struct mg_workflow_exprs *exprs = condition.workflow->exprs;

    if (quoted.data == NULL || exprs == NULL) {
        return NULL;
    }
    (void)snprintf(condition.pointer, sizeof(condition.pointer), "/steps/%d%s/%s", condition.step, place,
                   name);
    condition.quoted = quoted;
    condition.expr =
        mg_workflow_expr_read(exprs, &exprs->answer_names, quoted, condition.pointer, condition.faults);
    if (condition.expr != NULL) {
        check_condition(&condition);
        *reads_steps = *reads_steps || condition.reads_steps;
    }
    return condition.expr;
}

static void check_conditions(const struct condition *common, const char *place,
                             const struct mg_conditions_source *source, struct mg_conditions *ret)
{
    char pointer[MG_JSON_POINTER_SIZE];

    ret->done_when = read_condition(common, place, "done_when", source->done_when, &ret->reads_steps);
    ret->refused_when =
        read_condition(common, place, "refused_when", source->refused_when, &ret->reads_steps);
    if (ret->done_when != NULL && ret->refused_when != NULL &&
        mg_expr_is_same(ret->done_when, ret->done_when->root, ret->refused_when, ret->refused_when->root)) {
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d%s/refused_when", common->step, place);
        mg_json_fault_at(common->faults, MG_BAD_INPUT, pointer, mg_workflow_expr_at(source->refused_when, 1),
                         "the same as \"done_when\": no answer could be done; leave one of them out");
    }
}

void mg_workflow_answer_check(struct mg_workflow *workflow, int step, const struct mg_step_source *source,
                              uint64_t before, const struct mg_certainty *certainty,
                              struct mg_json_faults *faults)
{
    const struct condition condition = {
        .workflow = workflow, .certainty = certainty, .step = step, .before = before, .faults = faults};
    struct mg_workflow_step *of = &workflow->steps[step];

    check_conditions(&condition, "", &source->conditions, &of->conditions);
    check_conditions(&condition, "/undo", &source->undo_conditions, &of->undo_conditions);
}

/* ---- evaluating ---- */

enum holds { HOLDS_ABSENT, HOLDS_YES, HOLDS_NO, HOLDS_UNCLEAR };

static enum holds evaluate(const struct mg_expr *expr, const struct mg_expr_scope *scope,
                           struct mg_expr_room *room, struct mg_err *err)
{
    bool is_true = false;
    if (expr == NULL) {
        return HOLDS_ABSENT;
    }
    if (mg_expr_decide(expr, scope, room, &is_true, err) != MG_OK) {
        return HOLDS_UNCLEAR;
    }
    return is_true ? HOLDS_YES : HOLDS_NO;
}

/* Appends to the text, cut at a character. */
static void why_append(char why[MG_ERROR_TEXT_MAX + 1], struct mg_slice more)
{
    size_t len = strlen(why), size = mg_utf8_cut(more, MG_ERROR_TEXT_MAX - len);
    memcpy(why + len, more.data, size);
    why[len + size] = '\0';
}

/* `label` and the condition with the values that decided it. */
static void explain(const char *label, const struct mg_expr *expr, const struct mg_expr_scope *scope,
                    struct mg_expr_room *room, char why[MG_ERROR_TEXT_MAX + 1])
{
    struct mg_buf text;
    why[0] = '\0';
    why_append(why, mg_slice_of(label));
    mg_buf_init(&text, MG_ERROR_TEXT_MAX);
    mg_expr_explain(expr, scope, room, MG_ERROR_TEXT_MAX - strlen(why), &text);
    if (!text.failed && text.len > 0) {
        why_append(why, mg_buf_slice(&text));
    }
    mg_buf_finish(&text);
}

static void say_unclear(const char *name, const struct mg_err *err, struct mg_slice fault,
                        char why[MG_ERROR_TEXT_MAX + 1])
{
    why[0] = '\0';
    why_append(why, mg_slice_of("the answer is not clear: "));
    why_append(why, mg_slice_of(name));
    why_append(why, mg_slice_of(": "));
    why_append(why, fault.data != NULL ? fault : mg_slice_of(err->text));
}

enum mg_answer_meaning mg_workflow_answer(const struct mg_render_input *input,
                                          const struct mg_conditions *conditions, struct mg_slice result,
                                          struct mg_slice fault, char ret_why[MG_ERROR_TEXT_MAX + 1])
{
    struct mg_root_values roots;
    struct mg_expr_room room;
    struct mg_err done_err, refused_err;

    mg_root_values_make(input, &roots);
    roots.result = result;
    roots.result_fault = fault;
    const struct mg_expr_scope scope = mg_root_scope(&roots);
    enum holds done = evaluate(conditions->done_when, &scope, &room, &done_err);
    enum holds refused = evaluate(conditions->refused_when, &scope, &room, &refused_err);
    ret_why[0] = '\0';
    if (done == HOLDS_YES && refused == HOLDS_YES) {
        why_append(ret_why, mg_slice_of("the answer is not clear: done_when and refused_when both hold"));
        return MG_ANSWER_UNCLEAR;
    }
    if (refused == HOLDS_YES) {
        explain("refused: refused_when: ", conditions->refused_when, &scope, &room, ret_why);
        return MG_ANSWER_REFUSED;
    }
    if (done == HOLDS_YES || (done == HOLDS_ABSENT && refused == HOLDS_NO)) {
        return MG_ANSWER_DONE;
    }
    if (done == HOLDS_UNCLEAR || refused == HOLDS_UNCLEAR) {
        bool is_done = done == HOLDS_UNCLEAR;
        say_unclear(is_done ? "done_when" : "refused_when", is_done ? &done_err : &refused_err, fault,
                    ret_why);
        return MG_ANSWER_UNCLEAR;
    }
    explain("not done yet: done_when: ", conditions->done_when, &scope, &room, ret_why);
    return MG_ANSWER_OPEN;
}

enum mg_answer_meaning mg_workflow_signal_judge(const struct mg_render_input *input, int step,
                                                struct mg_slice payload, char ret_why[MG_ERROR_TEXT_MAX + 1])
{
    const struct mg_conditions *conditions = &input->workflow->steps[step].conditions;
    const struct mg_slice no_fault = {NULL, 0};

    ret_why[0] = '\0';
    return mg_workflow_is_judged(conditions)
               ? mg_workflow_answer(input, conditions, payload, no_fault, ret_why)
               : MG_ANSWER_DONE;
}

/* ---- the reply ---- */

/* The first of the places with a text, or with a number if `takes_number`; absent: none. */
static struct mg_slice find_first(struct mg_slice result, const char *const *places, bool takes_number)
{
    for (int i = 0; places[i] != NULL; i++) {
        struct mg_slice value = mg_json_find(result, places[i]);
        bool is_number =
            value.data != NULL && (value.data[0] == '-' || isdigit((unsigned char)value.data[0]));
        bool is_text = value.data != NULL && value.data[0] == '"' && value.len > 2;
        if (is_text || (takes_number && is_number)) {
            return value;
        }
    }
    return (struct mg_slice){NULL, 0};
}

static void reason_set(struct mg_reply *reply, enum mg_error_reason reason)
{
    reply->error_reason = reason;
    (void)snprintf(reply->error_code, sizeof(reply->error_code), "%s", mg_error_reason_name(reason));
}

static void code_take(struct mg_reply *reply)
{
    struct mg_slice value = find_first(reply->result, MG_ERROR_CODE_PLACES, true);
    struct mg_buf text;

    reason_set(reply, MG_ERROR_REASON_REFUSED);
    size_t len = strlen(reply->error_code);
    if (value.data == NULL) {
        return;
    }
    mg_buf_init(&text, value.len);
    if (!mg_json_string(value, &text)) {
        mg_buf_clear(&text);
        mg_buf_append_slice(&text, value);
    }
    memcpy(reply->error_code + len, "/", 2);
    /* No memory: the refusal goes on without the service's code. */
    if (text.failed || text.len == 0 || !mg_error_code_append(mg_buf_slice(&text), reply->error_code)) {
        reply->error_code[len] = '\0';
    }
    mg_buf_finish(&text);
}

/* Law 10, sticky maybe: alongside a good answer, executed is maybe if the delivery may have acted before, and
 * so does accepted work. Then the refusal proves nothing about that. */
static void refuse(struct mg_reply *reply)
{
    reply->executed = mg_maybe_refused(reply->kind, reply->outcome, reply->executed);
    reply->outcome = MG_OUTCOME_PERMANENT;
    reply->is_refused_by_body = true;
    code_take(reply);
    reply->error_message = find_first(reply->result, MG_ERROR_TEXT_PLACES, false);
}

/* Neither done nor refused. The service has not finished, or nothing proves that it has; so the attempt may
 * still act (law 11, quiesce). */
static void leave_open(struct mg_reply *reply, bool is_polled, enum mg_error_reason reason)
{
    if (reply->outcome == MG_OUTCOME_DONE) {
        reply->outcome = is_polled ? MG_OUTCOME_ACCEPTED : MG_OUTCOME_UNKNOWN;
        /* Implied for accepted work, which is polled at once if nothing else may act. */
        reply->may_still_act = reply->may_still_act || (!is_polled && reply->kind == MG_KIND_DO);
    } else {
        reason = MG_ERROR_REASON_NOT_DONE_YET; /* that is the meaning of a 202 */
    }
    reply->executed = MG_EXECUTED_MAYBE;
    reason_set(reply, reason);
}

bool mg_workflow_answer_judge(const struct mg_render_input *input, int step, struct mg_reply *reply)
{
    const struct mg_conditions *conditions =
        mg_workflow_conditions(&input->workflow->steps[step], reply->kind, input->asks_undone);
    bool is_polled = mg_workflow_is_polled(input->workflow, step, reply->kind, input->asks_undone);
    bool is_good = reply->outcome == MG_OUTCOME_DONE || reply->outcome == MG_OUTCOME_ACCEPTED;
    char fault_text[MG_ERROR_TEXT_MAX + 1];

    if (!mg_workflow_is_judged(conditions) || !is_good) {
        return false;
    }
    if (reply->outcome == MG_OUTCOME_ACCEPTED && reply->kind != MG_KIND_VERIFY && !is_polled) {
        reply->outcome = MG_OUTCOME_DONE; /* nobody polls it: the conditions judge it as it is */
        reply->may_still_act = true;
    }
    (void)snprintf(fault_text, sizeof(fault_text), "%s", mg_reply_result_fault(reply));
    struct mg_slice fault = fault_text[0] != '\0' ? mg_slice_of(fault_text) : (struct mg_slice){NULL, 0};
    reason_set(reply, MG_ERROR_REASON_NONE);
    switch (mg_workflow_answer(input, conditions, reply->result, fault, reply->error_text)) {
    case MG_ANSWER_DONE:
        /* Without done_when an accepted answer stays accepted. */
        if (reply->outcome == MG_OUTCOME_ACCEPTED && conditions->done_when != NULL) {
            reply->outcome = MG_OUTCOME_DONE;
            reply->may_still_act = reply->may_still_act || reply->kind == MG_KIND_DO;
        }
        return true;
    case MG_ANSWER_REFUSED:
        refuse(reply);
        return true;
    case MG_ANSWER_OPEN:
        leave_open(reply, is_polled, MG_ERROR_REASON_NOT_DONE_YET);
        return true;
    case MG_ANSWER_UNCLEAR:
        leave_open(reply, false, MG_ERROR_REASON_ANSWER_UNCLEAR);
        return true;
    }
    return false;
}
