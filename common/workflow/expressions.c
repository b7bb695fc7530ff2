/* Compiling the expressions of a workflow, the order among its values (no value may need itself), and the
 * values of their names. */
#include "workflow/expressions.h"

#include <stdio.h>
#include <string.h>

#include "json/place.h"
#include "workflow/input_shape.h"

static bool is_value_name(struct mg_slice name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_letter = c >= 'a' && c <= 'z', is_later = (c >= '0' && c <= '9') || c == '_';
        if (!is_letter && (i == 0 || !is_later)) {
            return false;
        }
    }
    return name.len > 0 && name.len <= MG_NAME_MAX;
}

/* Keeps the names first: a value may refer to one that stands below it. */
static void read_names(struct mg_workflow_exprs *exprs, struct mg_slice values,
                       struct mg_slice texts[MG_VALUES_MAX], struct mg_json_faults *faults)
{
    struct mg_slice quoted, value;
    char pointer[MG_JSON_POINTER_SIZE];

    for (struct mg_json_walk walk = mg_json_walk_of(values); mg_json_walk_next(&walk, &quoted, &value);) {
        struct mg_slice name = {quoted.data + 1, quoted.len - 2};
        mg_json_pointer_join("/values", name, pointer);
        if (exprs->value_count == MG_VALUES_MAX) {
            mg_json_fault(faults, MG_BAD_INPUT, "/values", "more than %d values", MG_VALUES_MAX);
            return;
        }
        if (!is_value_name(name)) {
            mg_json_fault_at(
                faults, MG_BAD_INPUT, pointer, quoted.data,
                "a value's name has small letters, digits and \"_\", up to %d; write \"net_total\"",
                MG_NAME_MAX);
        } else if (mg_json_type_of(value) != MG_JSON_STRING) {
            mg_json_fault(faults, MG_BAD_INPUT, pointer,
                          "%s; an expression is expected, as in \"round(payload.total * 1.077, 2)\"",
                          mg_json_type_name(mg_json_type_of(value)));
        } else {
            const char *kept = mg_arena_text(exprs->arena, name);
            if (kept == NULL) {
                mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be kept: no memory");
                return;
            }
            texts[exprs->value_count] = value;
            exprs->value_names[exprs->value_count++] = kept;
        }
    }
}

/* The blanks before the expression, which is compiled without them; an escape is one character. */
static int blanks_count(struct mg_slice quoted)
{
    int count = 0;
    for (size_t i = 1; i + 1 < quoted.len; i++, count++) {
        bool is_escape = quoted.data[i] == '\\' && strchr("tnr", quoted.data[i + 1]) != NULL;
        if (quoted.data[i] != ' ' && !is_escape) {
            break;
        }
        i += is_escape ? 1 : 0;
    }
    return count;
}

const char *mg_workflow_expr_at(struct mg_slice quoted, int column)
{
    return mg_json_char_at(quoted, blanks_count(quoted) + column - 1);
}

const struct mg_expr *mg_workflow_expr_read(struct mg_workflow_exprs *exprs,
                                            const struct mg_expr_names *names, struct mg_slice quoted,
                                            const char *pointer, struct mg_json_faults *faults)
{
    const struct mg_expr *expr = NULL;
    struct mg_expr_place place = {.column = 1};
    struct mg_err err;
    struct mg_buf text;

    mg_buf_init(&text, quoted.len);
    (void)mg_json_string(quoted, &text); /* checked: a string */
    struct mg_slice trimmed = text.len > 0 ? mg_json_trim(mg_buf_slice(&text)) : mg_slice_of("");
    enum mg_class class = text.failed ? mg_err_set(&err, MG_TRANSIENT, "there is no memory for it")
                                      : mg_expr_compile(trimmed, names, exprs->arena, &expr, &place, &err);
    mg_buf_finish(&text);
    if (class != MG_OK) {
        mg_json_fault_at(faults, class, pointer, mg_workflow_expr_at(quoted, place.column), "%s", err.text);
        return NULL;
    }
    return expr;
}

/* ---- the order among values ---- */

struct needs {
    uint64_t values, steps; /* that one value needs itself */
    int columns[MG_VALUES_MAX];
};

static void note_need(void *arg, const struct mg_expr_reference *reference)
{
    struct needs *needs = arg;
    if (reference->root == MG_ROOT_VALUES) {
        needs->values |= UINT64_C(1) << reference->member;
        needs->columns[reference->member] = reference->column;
    } else if (mg_root_step(reference) >= 0) {
        needs->steps |= UINT64_C(1) << mg_root_step(reference);
    }
}

static void close_values(struct mg_workflow_exprs *exprs, uint64_t values[MG_VALUES_MAX])
{
    bool has_changed = true;
    while (has_changed) { /* bits are only added */
        has_changed = false;
        for (int i = 0; i < exprs->value_count; i++) {
            uint64_t bits = values[i], steps = exprs->value_steps[i];
            for (int j = 0; j < exprs->value_count; j++) {
                if (values[i] & (UINT64_C(1) << j)) {
                    bits |= values[j];
                    steps |= exprs->value_steps[j];
                }
            }
            has_changed = has_changed || bits != values[i] || steps != exprs->value_steps[i];
            values[i] = bits;
            exprs->value_steps[i] = steps;
        }
    }
}

/* The place of the first reference through which the value needs itself. */
static const char *circle_at(const struct mg_workflow_exprs *exprs, int value,
                             const uint64_t values[MG_VALUES_MAX], struct mg_slice quoted)
{
    struct needs needs = {0};
    int column = 1;
    mg_expr_references(exprs->values[value], note_need, &needs);
    for (int i = exprs->value_count - 1; i >= 0; i--) {
        bool leads_back = i == value || (values[i] & (UINT64_C(1) << value)) != 0;
        column = leads_back && (needs.values & (UINT64_C(1) << i)) != 0 ? needs.columns[i] : column;
    }
    return mg_workflow_expr_at(quoted, column);
}

static void check_circles(struct mg_workflow_exprs *exprs, const struct mg_slice texts[MG_VALUES_MAX],
                          struct mg_json_faults *faults)
{
    uint64_t values[MG_VALUES_MAX] = {0};
    char pointer[MG_JSON_POINTER_SIZE];

    for (int i = 0; i < exprs->value_count; i++) {
        struct needs needs = {0};
        if (exprs->values[i] != NULL) {
            mg_expr_references(exprs->values[i], note_need, &needs);
        }
        values[i] = needs.values;
        exprs->value_steps[i] = needs.steps;
    }
    close_values(exprs, values);
    for (int i = 0; i < exprs->value_count; i++) {
        if (values[i] & (UINT64_C(1) << i)) {
            mg_json_pointer_join("/values", mg_slice_of(exprs->value_names[i]), pointer);
            mg_json_fault_at(faults, MG_BAD_INPUT, pointer, circle_at(exprs, i, values, texts[i]),
                             "a circle: values.%s needs itself; take one of the references out",
                             exprs->value_names[i]);
        }
    }
}

/* The members of `order`, and the words of those names that have no other value. */
enum { ORDER_ID, ORDER_PRIORITY, ORDER_ACCEPTED_AT };
static const char *const ORDER_NAMES[] = {"id", "priority", "accepted_at", NULL};
static const char *const STATES[] = {"done", "skipped", NULL};
static const char *const PRIORITIES[] = {"normal", "high", NULL};

/* Of a value that stands above the expression in hand; of others the type is not known yet. */
static const void *shape_of_value(const struct mg_workflow_exprs *exprs, int value)
{
    const struct mg_expr *expr = exprs->values[value];
    return expr != NULL ? mg_input_shape_of(mg_expr_type_of(expr)) : NULL;
}

static const void *shape_of_root(void *arg, int root, int member)
{
    const struct mg_workflow *workflow = arg;
    switch ((enum mg_workflow_root)root) {
    case MG_ROOT_PAYLOAD:
        return workflow->input;
    case MG_ROOT_ORDER:
        return member == ORDER_PRIORITY ? workflow->exprs->priority_shape : mg_input_shape_of(MG_EXPR_TEXT);
    case MG_ROOT_STATE:
        return workflow->exprs->state_shape;
    case MG_ROOT_VALUES:
        return shape_of_value(workflow->exprs, member);
    case MG_ROOT_RESULTS:
    case MG_ROOT_RESULT:
    case MG_ROOT_COUNT:
        break;
    }
    return NULL;
}

struct mg_workflow_exprs *mg_workflow_exprs_read(struct mg_workflow *workflow, struct mg_slice values,
                                                 struct mg_arena *arena, struct mg_json_faults *faults)
{
    struct mg_workflow_exprs *exprs = mg_arena_alloc(arena, sizeof(*exprs));
    struct mg_slice texts[MG_VALUES_MAX];
    char pointer[MG_JSON_POINTER_SIZE];

    if (exprs == NULL) {
        mg_json_fault(faults, MG_TRANSIENT, "/values", "could not be read: no memory");
        return NULL;
    }
    exprs->arena = arena;
    workflow->exprs = exprs;
    exprs->state_shape = mg_input_shape_of_words(STATES, arena);
    exprs->priority_shape = mg_input_shape_of_words(PRIORITIES, arena);
    for (int i = 0; i < workflow->plan.step_count; i++) {
        exprs->step_names[i] = workflow->steps[i].name;
    }
    read_names(exprs, values, texts, faults);
    exprs->roots[MG_ROOT_PAYLOAD] = (struct mg_expr_root){"payload", NULL};
    exprs->roots[MG_ROOT_RESULTS] = (struct mg_expr_root){"results", exprs->step_names};
    exprs->roots[MG_ROOT_ORDER] = (struct mg_expr_root){"order", ORDER_NAMES};
    exprs->roots[MG_ROOT_VALUES] = (struct mg_expr_root){"values", exprs->value_names};
    exprs->roots[MG_ROOT_STATE] = (struct mg_expr_root){"state", exprs->step_names};
    exprs->shapes = (struct mg_expr_shapes){.root = shape_of_root,
                                            .type = mg_input_type,
                                            .words = mg_input_words,
                                            .member = mg_input_member,
                                            .element = mg_input_element,
                                            .arg = workflow};
    exprs->roots[MG_ROOT_RESULT] = (struct mg_expr_root){"result", NULL};
    exprs->names =
        (struct mg_expr_names){.roots = exprs->roots,
                               .root_count = exprs->value_count > 0 ? MG_ROOT_RESULT : MG_ROOT_VALUES,
                               .shapes = &exprs->shapes};
    exprs->answer_names = exprs->names;
    exprs->answer_names.root_count = MG_ROOT_COUNT;
    for (int i = 0; i < exprs->value_count; i++) {
        mg_json_pointer_join("/values", mg_slice_of(exprs->value_names[i]), pointer);
        exprs->values[i] = mg_workflow_expr_read(exprs, &exprs->names, texts[i], pointer, faults);
    }
    check_circles(exprs, texts, faults);
    return exprs;
}

const struct mg_expr *mg_workflow_exprs_find(const struct mg_workflow_exprs *exprs, const char *text)
{
    for (int i = 0; i < exprs->template_count; i++) {
        if (mg_slice_is(mg_expr_text(exprs->templates[i]), text)) {
            return exprs->templates[i];
        }
    }
    return NULL;
}

enum mg_class mg_workflow_exprs_add(struct mg_workflow_exprs *exprs, const char *text,
                                    const struct mg_expr **ret_expr, struct mg_expr_place *ret_place,
                                    struct mg_err *err)
{
    const struct mg_expr *known = mg_workflow_exprs_find(exprs, text);
    if (known != NULL) {
        *ret_expr = known;
        return MG_OK;
    }
    if (exprs->template_count == MG_TEMPLATE_EXPRS_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "more than %d expressions; keep repeated ones in \"values\"",
                          MG_TEMPLATE_EXPRS_MAX);
    }
    enum mg_class class =
        mg_expr_compile(mg_slice_of(text), &exprs->names, exprs->arena, ret_expr, ret_place, err);
    if (class == MG_OK) {
        exprs->templates[exprs->template_count++] = *ret_expr;
    }
    return class;
}

/* ---- the values of the names ---- */

void mg_root_values_make(const struct mg_render_input *input, struct mg_root_values *ret_values)
{
    ret_values->input = input;
    ret_values->result = ret_values->result_fault = (struct mg_slice){NULL, 0};
    (void)snprintf(ret_values->order_id, sizeof(ret_values->order_id), "\"%s\"", input->order_id);
}

/* Of a member of `order`, as a JSON string. */
static const char *order_member(struct mg_root_values *values, int member)
{
    switch (member) {
    case ORDER_PRIORITY:
        return values->input->is_high ? "\"high\"" : "\"normal\"";
    case ORDER_ACCEPTED_AT: { /* few expressions need it, so only these pay for it */
        char text[MG_TIME_TEXT_SIZE];
        mg_time_format(values->input->accepted_at_ms, text);
        (void)snprintf(values->accepted_at, sizeof(values->accepted_at), "\"%s\"", text);
        return values->accepted_at;
    }
    default:
        return values->order_id;
    }
}

static struct mg_expr_found root_find(void *arg, int root, int member)
{
    struct mg_root_values *values = arg;
    const struct mg_render_input *input = values->input;
    struct mg_expr_found found = {0};

    switch ((enum mg_workflow_root)root) {
    case MG_ROOT_PAYLOAD:
        found.json = input->payload;
        break;
    case MG_ROOT_RESULTS:
        found.json = input->results != NULL ? input->results[member] : found.json;
        found.fault = input->faults != NULL ? input->faults[member] : found.fault;
        break;
    case MG_ROOT_ORDER:
        found.json = mg_slice_of(order_member(values, member));
        break;
    case MG_ROOT_STATE:
        found.json = mg_slice_of((input->skipped >> member & 1) != 0 ? "\"skipped\"" : "\"done\"");
        break;
    case MG_ROOT_VALUES:
        found.expr = input->workflow->exprs->values[member];
        break;
    case MG_ROOT_RESULT:
        found.json = values->result;
        found.fault = values->result_fault;
        break;
    case MG_ROOT_COUNT:
        break;
    }
    return found;
}

struct mg_expr_scope mg_root_scope(struct mg_root_values *values)
{
    const struct mg_render_input *input = values->input;
    size_t bytes = input->payload.len + values->result.len;
    for (int i = 0; input->results != NULL && i < input->workflow->plan.step_count; i++) {
        bytes += input->results[i].len;
    }
    return (struct mg_expr_scope){.find = root_find, .arg = values, .bytes = bytes};
}

int mg_root_step(const struct mg_expr_reference *reference)
{
    return reference->root == MG_ROOT_RESULTS || reference->root == MG_ROOT_STATE ? reference->member : -1;
}
