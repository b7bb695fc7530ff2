/*
 * Checks that need all steps: names, order, cycles, and whether each reference has a value whenever its
 * request may be sent. A definition that passes cannot fail for a missing result.
 */
#include "workflow/definition_check.h"

#include <stdio.h>
#include <string.h>

#include "json/place.h"
#include "workflow/answer_conditions.h"
#include "workflow/certainty.h"
#include "workflow/expressions.h"

static struct mg_slice name_of(const struct mg_workflow *workflow, int step)
{
    return mg_slice_of(workflow->steps[step].name);
}

int mg_workflow_step_index(const struct mg_workflow *workflow, struct mg_slice step)
{
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (step.len > 0 && mg_slice_equal(name_of(workflow, i), step)) {
            return i;
        }
    }
    return -1;
}

static void check_names(const struct mg_workflow *workflow, struct mg_json_faults *faults)
{
    char pointer[MG_JSON_POINTER_SIZE];
    for (int i = 0; i < workflow->plan.step_count; i++) {
        int first = mg_workflow_step_index(workflow, name_of(workflow, i));
        if (first < 0 || first == i) {
            continue;
        }
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d/step", i);
        mg_json_fault(faults, MG_BAD_INPUT, pointer,
                      "\"%s\" is already the name of /steps/%d; give each step its own",
                      workflow->steps[i].name, first);
    }
}

/* The nearest step's name, for a hint; NULL if none is near. */
static const char *nearest_step(const struct mg_workflow *workflow, struct mg_slice name)
{
    const char *names[MG_STEPS_MAX + 1] = {NULL};
    int count = 0;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        if (workflow->steps[i].name[0] != '\0') {
            names[count++] = workflow->steps[i].name;
        }
    }
    return mg_json_nearest(names, name);
}

static void refuse_step_name(const struct mg_workflow *workflow, struct mg_json_faults *faults,
                             const char *pointer, const char *at, struct mg_slice name)
{
    const char *nearest = mg_json_faults_are_many(faults) ? NULL : nearest_step(workflow, name);
    mg_json_fault_at(faults, MG_BAD_INPUT, pointer, at, "there is no step \"%.*s\"; %s%s%s",
                     name.len < 64 ? (int)name.len : 64, name.data != NULL ? name.data : "",
                     nearest != NULL ? "did you mean \"" : "name a step of this workflow",
                     nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
}

/* `member`: "after" or "needs". */
static uint64_t resolve_steps(const struct mg_workflow *workflow, int step, const char *member,
                              struct mg_slice names, struct mg_json_faults *faults)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_slice none, value;
    uint64_t bits = 0;

    struct mg_json_walk walk = mg_json_walk_of(names);
    for (int i = 0; mg_json_walk_next(&walk, &none, &value); i++) {
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d/%s/%d", step, member, i);
        if (mg_json_type_of(value) != MG_JSON_STRING) {
            mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s; the name of a step is expected",
                          mg_json_type_name(mg_json_type_of(value)));
            continue;
        }
        int before = -1;
        for (int j = 0; j < workflow->plan.step_count && before < 0; j++) {
            if (mg_json_string_is(value, name_of(workflow, j))) {
                before = j;
            }
        }
        if (before < 0) {
            refuse_step_name(workflow, faults, pointer, value.data,
                             (struct mg_slice){value.data + 1, value.len - 2});
        } else if (before == step) {
            mg_json_fault(faults, MG_BAD_INPUT, pointer,
                          "a step cannot come after itself; name the steps it waits for");
        } else if (bits & (UINT64_C(1) << before)) {
            mg_json_fault(faults, MG_BAD_INPUT, pointer, "\"%s\" is named twice; once is enough",
                          workflow->steps[before].name);
        } else {
            bits |= UINT64_C(1) << before;
        }
    }
    return bits;
}

static void resolve_order(struct mg_workflow *workflow, int step, const struct mg_step_source *source,
                          struct mg_json_faults *faults)
{
    struct mg_step_plan *plan = &workflow->plan.steps[step];
    uint64_t previous = step > 0 ? UINT64_C(1) << (step - 1) : 0;

    if (source->needs.data != NULL) {
        plan->needs = resolve_steps(workflow, step, "needs", source->needs, faults);
    }
    if (source->after.data != NULL) {
        plan->after = resolve_steps(workflow, step, "after", source->after, faults) | plan->needs;
    } else {
        plan->after = source->needs.data != NULL ? plan->needs : previous;
    }
}

/* before[i]: every step that is done or skipped when step i begins. */
static void close_before(const struct mg_workflow *workflow, uint64_t before[MG_STEPS_MAX])
{
    int count = workflow->plan.step_count;
    bool has_changed = true;

    for (int i = 0; i < count; i++) {
        before[i] = workflow->plan.steps[i].after;
    }
    while (has_changed) { /* bits are only added: ends after at most count rounds */
        has_changed = false;
        for (int i = 0; i < count; i++) {
            uint64_t bits = before[i];
            for (int j = 0; j < count; j++) {
                if (before[i] & (UINT64_C(1) << j)) {
                    bits |= before[j];
                }
            }
            has_changed = has_changed || bits != before[i];
            before[i] = bits;
        }
    }
}

/* Reports each cycle once, at its first step, with all of its members. */
static bool check_cycles(const struct mg_workflow *workflow, const uint64_t before[MG_STEPS_MAX],
                         struct mg_json_faults *faults)
{
    char pointer[MG_JSON_POINTER_SIZE], members[256];
    uint64_t reported = 0;
    int count = workflow->plan.step_count;

    for (int i = 0; i < count; i++) {
        if (!(before[i] & (UINT64_C(1) << i)) || (reported & (UINT64_C(1) << i))) {
            continue;
        }
        size_t len = 0;
        for (int j = 0; j < count; j++) {
            bool is_in = (before[i] & (UINT64_C(1) << j)) && (before[j] & (UINT64_C(1) << i));
            if (!is_in) {
                continue;
            }
            reported |= UINT64_C(1) << j;
            int n = snprintf(members + len, sizeof(members) - len, "%s\"%s\"", len > 0 ? ", " : "",
                             workflow->steps[j].name);
            if (n > 0 && (size_t)n < sizeof(members) - len) {
                len += (size_t)n;
            }
        }
        members[len] = '\0';
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d/after", i);
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "a cycle: %s wait for each other; take one of them out",
                      members);
    }
    return reported == 0;
}

/* ---- references ---- */

struct reference_check {
    struct mg_workflow *workflow;
    struct mg_json_faults *faults;
    const struct mg_certainty *certainty;
    const char *place;      /* JSON pointer of the text that has the reference */
    struct mg_slice quoted; /* this text, in the definition */
    int step;               /* -1: the template of the output, which is rendered when no step is left */
    const char *early;      /* "a label": it is made before any step, and step is -1. NULL: it is not */
    enum mg_kind kind;
    uint64_t before;
    bool has_own; /* a template refers to the step's own result */
};

/* Where the reference stands: `reference` is the text in "${…}", `column` one of its characters, from 1. */
static const char *at_reference(const struct reference_check *check, const char *reference, int column)
{
    const char *text = reference[0] == '=' ? reference + 1 : reference, *at = NULL;
    struct mg_buf plain;
    int index = 0;

    mg_buf_init(&plain, check->quoted.len);
    if (mg_json_string(check->quoted, &plain) && !plain.failed && plain.len > 0) {
        at = memmem(plain.data, plain.len, text, strlen(text));
    }
    for (const char *c = plain.data; at != NULL && c < at; c++) {
        index += ((unsigned char)*c & 0xc0) != 0x80 ? 1 : 0;
    }
    const char *found = at != NULL ? mg_json_char_at(check->quoted, index + column - 1) : check->quoted.data;
    mg_buf_finish(&plain);
    return found;
}

/* Whether the step's own result can exist when the request goes out. */
static void check_own_result(struct reference_check *check, const char *pointer, const char *at)
{
    const struct mg_step_plan *plan = &check->workflow->plan.steps[check->step];
    check->has_own = true;
    if (check->kind == MG_KIND_DO) {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at,
                         "${%.120s}: the step's own result does not exist yet; refer to ${/do_key} instead",
                         pointer);
    } else if (check->kind == MG_KIND_UNDO && plan->learn == MG_LEARN_NONE) {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at,
                         "${%.120s}: an undo may run when the result never came; give the step \"learn\": "
                         "\"repeat\" or \"verify\", or refer to ${/do_key} instead",
                         pointer);
    } else if (check->kind == MG_KIND_VERIFY && plan->finish_within_ms == 0) {
        mg_json_fault_at(
            check->faults, MG_BAD_INPUT, check->place, at,
            "${%.120s}: a verify runs when the result never came; refer to ${/do_key} instead, or "
            "poll accepted work (\"finish_within\") by what its 202 gave",
            pointer);
    }
}

static bool is_earlier(const struct reference_check *check, int index)
{
    return check->step < 0 || (check->before & (UINT64_C(1) << index)) != 0;
}

/* `reference` is the text within "${…}", `at` its place. */
static void check_step(struct reference_check *check, const char *reference, const char *at, int index)
{
    if (index == check->step) {
        check_own_result(check, reference, at);
    } else if (!is_earlier(check, index)) {
        mg_json_fault_at(
            check->faults, MG_BAD_INPUT, check->place, at,
            "${%.120s}: step \"%s\" is not before this one; add it to \"after\", here or in a step before",
            reference, check->workflow->steps[index].name);
    }
}

/* The steps that are done when the template is rendered. */
static uint64_t certain_for(const struct reference_check *check)
{
    return check->step < 0 ? check->certainty->always : check->certainty->begun[check->step];
}

/* A step that may be skipped. `asking` is an expression that does without its result. */
static void refuse_uncertain(struct reference_check *check, const char *reference, const char *at, int index,
                             const char *asking)
{
    const char *name = check->workflow->steps[index].name;
    char why[MG_CERTAINTY_WHY_SIZE];
    mg_certainty_why(check->certainty, index, why);
    if (check->step < 0) {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at,
                         "${%.120s}: step \"%s\" may be skipped (%s); use %s", reference, name, why, asking);
    } else {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at,
                         "${%.120s}: step \"%s\" may be skipped (%s); use \"needs\": [\"%s\"], or %s",
                         reference, name, why, name, asking);
    }
}

static void refuse_unwanted(struct reference_check *check, const char *reference, const char *at, int index)
{
    bool is_wait = check->workflow->plan.steps[index].is_wait;
    if (check->workflow->steps[index].has_no_result) {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at,
                         is_wait ? "${%.120s}: step \"%s\" waits, and has no result"
                                 : "${%.120s}: step \"%s\" has \"result\": \"none\"; leave that out there",
                         reference, check->workflow->steps[index].name);
    }
}

static void check_result(struct reference_check *check, const char *pointer)
{
    const char *name = pointer + strlen("/results/");
    struct mg_slice step = {name, strcspn(name, "/")};
    int index = mg_workflow_step_index(check->workflow, step);
    const char *at = at_reference(check, pointer, 1);

    if (index < 0) {
        refuse_step_name(check->workflow, check->faults, check->place, at, step);
    } else {
        check_step(check, pointer, at, index);
        refuse_unwanted(check, pointer, at, index);
        bool is_certain = (certain_for(check) & (UINT64_C(1) << index)) != 0;
        if (index != check->step && is_earlier(check, index) && !is_certain) {
            char asking[320];
            mg_certainty_asking(pointer, asking, sizeof(asking));
            refuse_uncertain(check, pointer, at, index, asking);
        }
    }
}

struct expression_check {
    const struct reference_check *check;
    uint64_t steps;            /* to which it refers */
    uint64_t results;          /* those to whose results it refers by itself */
    int columns[MG_STEPS_MAX]; /* where each is first named */
    bool has_own_state;        /* it asks for the state of the step that has it */
};

static void note_steps(void *arg, const struct mg_expr_reference *reference)
{
    struct expression_check *expression = arg;
    uint64_t steps = 0;
    if (reference->root == MG_ROOT_STATE && reference->member == expression->check->step) {
        expression->has_own_state = true;
    } else if (mg_root_step(reference) >= 0) {
        steps = UINT64_C(1) << mg_root_step(reference);
        expression->results |= reference->root == MG_ROOT_RESULTS ? steps : 0;
    } else if (reference->root == MG_ROOT_VALUES) {
        steps = expression->check->workflow->exprs->value_steps[reference->member];
    }
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((steps & ~expression->steps) & (UINT64_C(1) << i)) {
            expression->columns[i] = reference->column;
        }
    }
    expression->steps |= steps;
}

/* Whether an expression can make a label or a key: it has what it needs at intake, and a text form. */
static void check_early(const struct reference_check *check, const char *text, const struct mg_expr *expr,
                        const struct expression_check *expression)
{
    enum mg_expr_type type = mg_expr_type_of(expr);
    if (expression->steps != 0) {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at_reference(check, text, 1),
                         "${%.120s}: %s is made when the order comes in, before any step has a result; "
                         "use payload, order and values of these",
                         text, check->early);
    } else if (type == MG_EXPR_NULL || type == MG_EXPR_LIST || type == MG_EXPR_OBJECT) {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at_reference(check, text, 1),
                         "${%.120s}: it is always %s; %s is a text, a number or a boolean", text,
                         mg_expr_type_name(type), check->early);
    }
}

static void check_certainty(struct reference_check *check, const char *text, const struct mg_expr *expr)
{
    int columns[MG_STEPS_MAX] = {0};
    uint64_t lacks = mg_certainty_lacks(check->certainty, expr, certain_for(check), columns);
    for (int i = 0; i < check->workflow->plan.step_count; i++) {
        if ((lacks & (UINT64_C(1) << i)) != 0 && i != check->step && is_earlier(check, i)) {
            char asking[128];
            (void)snprintf(asking, sizeof(asking), "ask first: has(results.%s) ? … : …",
                           check->workflow->steps[i].name);
            refuse_uncertain(check, text, at_reference(check, text, columns[i]), i, asking);
        }
    }
}

/* `text` begins with "=". */
static void check_expression(struct reference_check *check, const char *text)
{
    struct expression_check expression = {.check = check};
    const struct mg_expr *expr;
    struct mg_expr_place place = {.column = 1};
    struct mg_err err;

    if (check->workflow->exprs == NULL) {
        return; /* no memory; it is a fault already */
    }
    enum mg_class class = mg_workflow_exprs_add(check->workflow->exprs, text + 1, &expr, &place, &err);
    if (class != MG_OK) {
        mg_json_fault_at(check->faults, class, check->place, at_reference(check, text, place.column),
                         "${%.120s}: %s", text, err.text);
        return;
    }
    mg_expr_references(expr, note_steps, &expression);
    if (check->early != NULL) {
        check_early(check, text, expr, &expression);
        return;
    }
    if (expression.has_own_state) {
        mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at_reference(check, text, 1),
                         "${%.120s}: state.%s is the step's own state; refer to the states of steps before",
                         text, check->workflow->steps[check->step].name);
    }
    for (int i = 0; i < check->workflow->plan.step_count; i++) {
        if (expression.steps & (UINT64_C(1) << i)) {
            check_step(check, text, at_reference(check, text, expression.columns[i]), i);
        }
        if (expression.results & (UINT64_C(1) << i)) {
            refuse_unwanted(check, text, at_reference(check, text, expression.columns[i]), i);
        }
    }
    check_certainty(check, text, expr);
}

/* The service calls back about work that it has accepted. */
static void check_callback(struct reference_check *check, const char *pointer)
{
    bool is_do = check->step >= 0 && check->kind == MG_KIND_DO;
    if (!is_do || check->workflow->plan.steps[check->step].finish_within_ms == 0) {
        mg_json_fault_at(
            check->faults, MG_BAD_INPUT, check->place, at_reference(check, pointer, 1),
            "${%.120s}: only the \"do\" of a step with \"finish_within\" has it; the service calls "
            "back about work that it has accepted",
            pointer);
    } else {
        check->workflow->steps[check->step].has_callback = true;
    }
}

static void check_reference(void *arg, const char *pointer)
{
    static const char *const SINGLE[] = {"/order_id", "/idempotency_key", "/do_key"};
    struct reference_check *check = arg;

    if (strcmp(pointer, "/callback_url") == 0 && check->early == NULL) {
        check_callback(check, pointer);
        return;
    }

    if (pointer[0] == '=') {
        check_expression(check, pointer);
        return;
    }
    if (check->early != NULL) {
        return; /* checked in label_templates.c */
    }
    size_t singles = check->step < 0 ? 1 : sizeof(SINGLE) / sizeof(SINGLE[0]); /* keys are of steps */
    for (size_t i = 0; i < singles; i++) {
        if (strcmp(pointer, SINGLE[i]) == 0) {
            return;
        }
    }
    if (strcmp(pointer, "/payload") == 0 || strncmp(pointer, "/payload/", strlen("/payload/")) == 0) {
        return;
    }
    if (strncmp(pointer, "/results/", strlen("/results/")) == 0) {
        check_result(check, pointer);
        return;
    }
    mg_json_fault_at(check->faults, MG_BAD_INPUT, check->place, at_reference(check, pointer, 1),
                     "${%.120s} refers to nothing; there are ${/order_id}, ${/payload/…}%s, and expressions: "
                     "${= payload.total}",
                     pointer,
                     check->step < 0 ? " and ${/results/<step>/…}"
                                     : ", ${/results/<step>/…}, ${/idempotency_key} and ${/do_key}");
}

static void check_name(const struct reference_check *check, struct mg_slice quoted, const char *place)
{
    struct mg_buf name;
    mg_buf_init(&name, quoted.len);
    (void)mg_json_string(quoted, &name); /* checked: a string */
    if (name.len > 0 && memmem(name.data, name.len, "${", 2) != NULL) {
        mg_json_fault_at(
            check->faults, MG_BAD_INPUT, place, quoted.data,
            "\"${\" in a member's name; names are taken as they are, references stand in values");
    }
    mg_buf_finish(&name);
}

static void check_text(struct reference_check *check, struct mg_slice quoted, const char *place)
{
    struct mg_err err;
    check->place = place;
    check->quoted = quoted;
    enum mg_class class = mg_template_scan(quoted, check_reference, check, &err);
    if (class != MG_OK) {
        mg_json_fault_at(check->faults, class, place, quoted.data, "%s", err.text);
    }
}

/* Each string of a template by itself, so that a mistake has its own place. The recursion ends at the depth
 * that the check of the definition has allowed. */
static void check_texts(struct reference_check *check, struct mg_slice value, const char *place)
{
    char inner[MG_JSON_POINTER_SIZE], index[16];
    struct mg_slice name, element;

    if (mg_json_type_of(value) == MG_JSON_STRING) {
        check_text(check, value, place);
        return;
    }
    struct mg_json_walk walk = mg_json_walk_of(value);
    for (int i = 0; mg_json_walk_next(&walk, &name, &element); i++) {
        (void)snprintf(index, sizeof(index), "%d", i);
        mg_json_pointer_join(
            place, name.data != NULL ? (struct mg_slice){name.data + 1, name.len - 2} : mg_slice_of(index),
            inner);
        if (name.data != NULL) {
            check_name(check, name, inner);
        }
        check_texts(check, element, inner);
    }
}

/* `place` is the pointer of a template in the definition. */
static void check_template(struct reference_check *check, const char *place)
{
    struct mg_slice value = mg_json_find(check->workflow->text, place);
    if (value.data != NULL) {
        check_texts(check, value, place);
    }
}

static void check_action(struct reference_check *check, const struct mg_action *action, int call)
{
    char place[MG_JSON_POINTER_SIZE];
    struct mg_action_part parts[MG_ACTION_PARTS];

    mg_action_parts(action, parts);
    for (int i = 0; i < MG_ACTION_PARTS; i++) {
        (void)snprintf(place, sizeof(place), "/steps/%d/%s/%s", check->step, mg_call_name(call),
                       parts[i].member);
        if (parts[i].text.data != NULL) {
            check_template(check, place);
        }
    }
}

/* `learn` needs an undo that uses the result, and a way that leads to it. */
static void check_learn(const struct mg_workflow *workflow, int step, bool has_own_verify,
                        struct mg_json_faults *faults)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[step];
    const char *wrong = NULL;
    char pointer[MG_JSON_POINTER_SIZE];

    if (plan->learn != MG_LEARN_NONE && !plan->needs_result) {
        wrong = "the step's undo does not refer to the step's own result; leave it out";
    } else if (plan->learn == MG_LEARN_REPEAT && plan->is_at_most_once) {
        wrong = "\"repeat\" would call an \"at_most_once\" step again; use \"verify\"";
    } else if (plan->learn == MG_LEARN_REPEAT && plan->is_pivot) {
        wrong = "\"repeat\" could carry out the pivot of an order that is turned back; use \"verify\"";
    } else if (plan->learn == MG_LEARN_VERIFY && !plan->has_verify) {
        wrong = "\"verify\" without a \"verify\" action; add the action, or use \"repeat\"";
    } else if (plan->learn == MG_LEARN_VERIFY && has_own_verify) {
        wrong = "the \"verify\" itself refers to the step's own result; use \"repeat\"";
    }
    if (wrong != NULL) {
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d/learn", step);
        mg_json_fault(faults, MG_BAD_INPUT, pointer, "%s", wrong);
    }
    if (has_own_verify && plan->on_unknown == MG_ON_UNKNOWN_VERIFY) {
        (void)snprintf(pointer, sizeof(pointer), "/steps/%d/on_unknown", step);
        mg_json_fault(faults, MG_BAD_INPUT, pointer,
                      "a lost answer leaves the \"verify\" without the result that it refers to; say "
                      "\"retry\" or \"operator\"");
    }
}

static void check_actions(struct mg_workflow *workflow, int step, uint64_t before,
                          const struct mg_certainty *certainty, struct mg_json_faults *faults)
{
    bool has_own[MG_CALL_COUNT] = {false};
    for (int call = 0; call < MG_CALL_COUNT; call++) {
        const struct mg_action *action = &workflow->steps[step].actions[call];
        struct reference_check check = {.workflow = workflow,
                                        .faults = faults,
                                        .certainty = certainty,
                                        .step = step,
                                        .kind =
                                            call == MG_CALL_UNDO_VERIFY ? MG_KIND_UNDO : (enum mg_kind)call,
                                        .before = before};
        if (action->is_present) {
            check_action(&check, action, call);
        }
        has_own[call] = check.has_own;
    }
    bool needs_result = has_own[MG_KIND_UNDO] || has_own[MG_CALL_UNDO_VERIFY];
    workflow->plan.steps[step].needs_result = needs_result;
    workflow->has_learning = workflow->has_learning || needs_result;
    workflow->steps[step].uses_own_result = needs_result || has_own[MG_KIND_VERIFY];
    check_learn(workflow, step, has_own[MG_KIND_VERIFY], faults);
}

void mg_workflow_check(struct mg_workflow *workflow, const struct mg_step_source *sources,
                       struct mg_json_faults *faults)
{
    uint64_t before[MG_STEPS_MAX] = {0};
    struct mg_certainty certainty;
    int count = workflow->plan.step_count;

    check_names(workflow, faults);
    for (int i = 0; i < count; i++) {
        resolve_order(workflow, i, &sources[i], faults);
    }
    close_before(workflow, before);
    if (!check_cycles(workflow, before, faults)) {
        return; /* "before" is undefined in a cycle */
    }
    mg_certainty_find(workflow, before, &certainty);
    for (int i = 0; i < count; i++) {
        if (sources[i].is_present) {
            check_actions(workflow, i, before[i], &certainty, faults);
            mg_workflow_answer_check(workflow, i, &sources[i], before[i], &certainty, faults);
        }
    }
    mg_workflow_guards_check(&certainty, before, faults);
    mg_workflow_waits_check(workflow, faults);
    mg_certainty_check(&certainty, faults);
    struct reference_check check = {
        .workflow = workflow, .faults = faults, .certainty = &certainty, .step = -1};
    check_template(&check, "/output");
    check.early = "a key";
    if (workflow->plan.sequence != MG_SEQUENCE_NONE) {
        check_template(&check, "/sequence/key");
    }
    check.early = "a label";
    for (int i = 0; i < workflow->label_count; i++) {
        char place[MG_JSON_POINTER_SIZE];
        mg_json_pointer_join("/labels", mg_slice_of(workflow->labels[i].name), place);
        check_template(&check, place);
    }
}
