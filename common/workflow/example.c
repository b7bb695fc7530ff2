/*
 * A payload as an example: the values to which the definition refers. Unlike the needs of intake
 * (payload_needs.c) it covers every step, since an order that lacks a value fails at the step in question.
 */
#include <string.h>

#include "workflow/definition_check.h"
#include "workflow/expressions.h"
#include "workflow/input_shape.h"

#define EXAMPLE_MAX_BYTES ((size_t)64 * 1024) /* a person reads it */
#define PLACEHOLDER       "\"…\""

struct example {
    const struct mg_workflow *workflow;
    struct mg_buf *payload;
};

static void value_set(struct example *example, const char *pointer, struct mg_slice value)
{
    struct mg_buf changed;
    struct mg_err err;
    mg_buf_init(&changed, EXAMPLE_MAX_BYTES);
    if (mg_json_set(mg_buf_slice(example->payload), pointer, value, &changed, &err) == MG_OK &&
        !changed.failed) {
        mg_buf_clear(example->payload);
        mg_buf_append_slice(example->payload, mg_buf_slice(&changed));
    }
    mg_buf_finish(&changed);
}

/* The shape of a member or an element; NULL: nothing is known. */
static const struct mg_input_shape *shape_below(const struct mg_input_shape *shape, struct mg_slice token)
{
    bool is_there = true;
    const char *nearest = NULL;
    if (shape == NULL) {
        return NULL;
    }
    const struct mg_input_shape *element = mg_input_element(NULL, shape);
    return element != NULL ? element : mg_input_member(NULL, shape, token, &is_there, &nearest);
}

/* Adds a value that is absent so far. `rest` is the pointer after it: a value that has members is an object,
 * and one with a first element a list of one. */
static void value_add(struct example *example, const char *pointer, const struct mg_input_shape *shape,
                      const char *rest)
{
    struct mg_buf value;
    bool is_list = strcmp(rest, "/0") == 0 || strncmp(rest, "/0/", 3) == 0;
    mg_buf_init(&value, EXAMPLE_MAX_BYTES);
    if (shape != NULL && mg_input_type(NULL, shape) != MG_EXPR_UNKNOWN) {
        mg_input_example(shape, &value);
    } else if (is_list) {
        mg_buf_append_text(&value, rest[2] == '\0' ? "[" PLACEHOLDER "]" : "[{}]");
    } else {
        mg_buf_append_text(&value, rest[0] == '\0' ? PLACEHOLDER : "{}");
    }
    value_set(example, pointer, mg_buf_slice(&value));
    mg_buf_finish(&value);
}

/* Adds the value at a pointer into the payload, with all that it lies in. */
static void pointer_add(struct example *example, const char *pointer)
{
    const struct mg_input_shape *shape = example->workflow->input;
    char part[MG_JSON_POINTER_SIZE];
    if (strlen(pointer) >= sizeof(part)) {
        return;
    }
    for (const char *at = pointer; *at != '\0';) {
        const char *token = at + 1, *end = token + strcspn(token, "/");
        shape = shape_below(shape, (struct mg_slice){token, (size_t)(end - token)});
        memcpy(part, pointer, (size_t)(end - pointer));
        part[end - pointer] = '\0';
        struct mg_slice present = mg_json_find(mg_buf_slice(example->payload), part);
        if (present.data == NULL || (*end != '\0' && mg_slice_is(present, PLACEHOLDER))) {
            value_add(example, part, shape, end);
        }
        at = end;
    }
}

static void reference_add(void *arg, const struct mg_expr_reference *reference)
{
    char memory[MG_JSON_POINTER_SIZE];
    struct mg_buf pointer;
    if (reference->root == MG_ROOT_PAYLOAD && reference->path.len > 0 && !reference->is_asked) {
        mg_buf_init_fixed(&pointer, memory, sizeof(memory));
        mg_expr_reference_pointer(reference, &pointer);
        if (!pointer.failed) {
            pointer_add(arg, pointer.data);
        }
    }
}

static bool template_add(void *arg, const struct mg_template_piece *reference)
{
    struct example *example = arg;
    if (reference->expr != NULL) {
        mg_expr_references(reference->expr, reference_add, example);
    } else if (reference->place == MG_PLACE_PAYLOAD && reference->rest[0] != '\0') {
        pointer_add(example, reference->rest);
    }
    return true;
}

static void expr_add(void *arg, const struct mg_expr *expr, const char *pointer)
{
    (void)pointer;
    mg_expr_references(expr, reference_add, arg);
}

static void guard_add(struct example *example, const struct mg_guard *guard)
{
    if (guard != NULL) {
        mg_workflow_guard_each(guard, "", expr_add, example);
    }
}

void mg_workflow_example(const struct mg_workflow *workflow, struct mg_buf *ret_payload)
{
    struct example example = {.workflow = workflow, .payload = ret_payload};
    struct mg_action_part parts[MG_ACTION_PARTS];
    if (workflow->input != NULL) {
        mg_input_example(workflow->input, ret_payload);
    } else {
        mg_buf_append_text(ret_payload, "{}");
    }
    for (int i = 0; i < workflow->plan.step_count; i++) {
        mg_action_parts(&workflow->steps[i].actions[MG_KIND_DO], parts);
        for (int k = 0; k < MG_ACTION_PARTS; k++) {
            mg_template_each(parts[k].template, template_add, &example);
        }
        guard_add(&example, workflow->steps[i].guard);
    }
    guard_add(&example, workflow->guard);
    for (int i = 0; i < workflow->exprs->value_count; i++) {
        expr_add(&example, workflow->exprs->values[i], "");
    }
    for (int i = 0; i < workflow->label_count; i++) {
        mg_template_each(&workflow->labels[i].template, template_add, &example);
    }
    mg_template_each(&workflow->sequence.template, template_add, &example);
    mg_template_each(&workflow->output_template, template_add, &example);
}
