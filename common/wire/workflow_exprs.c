/* Compiling the expressions of a workflow, and the order among its values: no value may need itself. */
#include "wire/workflow_exprs.h"

#include <stdio.h>
#include <string.h>

#include "wire/json_place.h"
#include "wire/workflow_input.h"

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
    struct mg_json_walk walk;
    struct mg_slice quoted, value;
    char pointer[MG_JSON_POINTER_SIZE];

    mg_json_walk_begin(&walk, values);
    while (mg_json_walk_next(&walk, &quoted, &value)) {
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

const char *mg_workflow_expr_at(struct mg_slice quoted, int column)
{
    size_t blanks = 0; /* before the expression, which is compiled without them */
    while (blanks + 2 < quoted.len && quoted.data[1 + blanks] == ' ') {
        blanks++;
    }
    return mg_json_char_at(quoted, (int)blanks + column - 1);
}

enum mg_class mg_workflow_expr_compile(struct mg_slice quoted, const struct mg_expr_names *names,
                                       struct mg_arena *arena, const struct mg_expr **ret_expr,
                                       struct mg_expr_place *ret_place, struct mg_err *err)
{
    struct mg_buf text;

    *ret_place = (struct mg_expr_place){.column = 1};
    mg_buf_init(&text, quoted.len);
    (void)mg_json_string(quoted, &text); /* checked: a string */
    struct mg_slice trimmed = text.len > 0 ? mg_json_trim(mg_buf_slice(&text)) : mg_slice_of("");
    enum mg_class class = text.failed ? mg_err_set(err, MG_TRANSIENT, "there is no memory for it")
                                      : mg_expr_compile(trimmed, names, arena, ret_expr, ret_place, err);
    mg_buf_finish(&text);
    return class;
}

static void compile_value(struct mg_workflow_exprs *exprs, int value, struct mg_slice quoted,
                          struct mg_json_faults *faults)
{
    char pointer[MG_JSON_POINTER_SIZE];
    struct mg_expr_place place;
    struct mg_err err;

    mg_json_pointer_join("/values", mg_slice_of(exprs->value_names[value]), pointer);
    enum mg_class class =
        mg_workflow_expr_compile(quoted, &exprs->names, exprs->arena, &exprs->values[value], &place, &err);
    if (class != MG_OK) {
        mg_json_fault_at(faults, class, pointer, mg_workflow_expr_at(quoted, place.column), "%s", err.text);
    }
}

/* ---- the order among values ---- */

struct needs {
    const struct mg_workflow_exprs *exprs;
    uint64_t values, steps; /* that one value needs itself */
};

static void note_need(void *arg, const struct mg_expr_reference *reference)
{
    struct needs *needs = arg;
    if (reference->root == MG_ROOT_VALUES) {
        needs->values |= UINT64_C(1) << reference->member;
    } else if (reference->root == MG_ROOT_RESULTS) {
        needs->steps |= UINT64_C(1) << reference->member;
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

static void check_circles(struct mg_workflow_exprs *exprs, struct mg_json_faults *faults)
{
    uint64_t values[MG_VALUES_MAX] = {0};
    char pointer[MG_JSON_POINTER_SIZE];

    for (int i = 0; i < exprs->value_count; i++) {
        struct needs needs = {.exprs = exprs};
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
            mg_json_fault(faults, MG_BAD_INPUT, pointer,
                          "a circle: values.%s needs itself; take one of the references out",
                          exprs->value_names[i]);
        }
    }
}

static const void *shape_of_root(void *arg, int root, int member)
{
    const struct mg_workflow *workflow = arg;
    (void)member;
    return root == MG_ROOT_PAYLOAD ? workflow->input : NULL;
}

struct mg_workflow_exprs *mg_workflow_exprs_read(struct mg_workflow *workflow, struct mg_slice values,
                                                 struct mg_arena *arena, struct mg_json_faults *faults)
{
    static const char *const ORDER_NAMES[] = {"id", NULL};
    struct mg_workflow_exprs *exprs = mg_arena_alloc(arena, sizeof(*exprs));
    struct mg_slice texts[MG_VALUES_MAX];

    if (exprs == NULL) {
        mg_json_fault(faults, MG_TRANSIENT, "/values", "could not be read: no memory");
        return NULL;
    }
    exprs->arena = arena;
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
                                            .member = mg_input_member,
                                            .element = mg_input_element,
                                            .arg = workflow};
    exprs->names =
        (struct mg_expr_names){.roots = exprs->roots,
                               .root_count = exprs->value_count > 0 ? MG_ROOT_STATE : MG_ROOT_VALUES,
                               .shapes = &exprs->shapes};
    exprs->guard_names = exprs->names;
    exprs->guard_names.root_count = MG_ROOT_COUNT;
    for (int i = 0; i < exprs->value_count; i++) {
        compile_value(exprs, i, texts[i], faults);
    }
    check_circles(exprs, faults);
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
