/*
 * The expressions of one workflow: its `values`, and those in its templates. They are compiled once, with the
 * definition, and found again by their text. Private to common/workflow.
 */
#ifndef MG_WORKFLOW_EXPRESSIONS_H
#define MG_WORKFLOW_EXPRESSIONS_H

#include "base/clock.h"
#include "expr/expr.h"
#include "json/reader.h"
#include "workflow/workflow.h"

#define MG_VALUES_MAX         64  /* as many as steps: a person reads them */
#define MG_TEMPLATE_EXPRS_MAX 512 /* eight a step */

enum mg_workflow_root {
    MG_ROOT_PAYLOAD,
    MG_ROOT_RESULTS,
    MG_ROOT_ORDER,
    MG_ROOT_STATE, /* 'done' or 'skipped', of a step before */
    MG_ROOT_VALUES,
    MG_ROOT_RESULT, /* of done_when and refused_when alone */
    MG_ROOT_COUNT,
};

struct mg_workflow_exprs {
    struct mg_arena *arena;
    struct mg_expr_root roots[MG_ROOT_COUNT];
    struct mg_expr_shapes shapes;
    const void *state_shape, *priority_shape; /* NULL: no memory; then their words are not checked */
    struct mg_expr_names names;               /* without values there is no such root */
    struct mg_expr_names answer_names;        /* with `result` */
    const char *step_names[MG_STEPS_MAX + 1];
    const char *value_names[MG_VALUES_MAX + 1];
    const struct mg_expr *values[MG_VALUES_MAX]; /* NULL: it could not be compiled */
    uint64_t value_steps[MG_VALUES_MAX];         /* to which it refers, also through other values */
    int value_count, template_count;
    const struct mg_expr *templates[MG_TEMPLATE_EXPRS_MAX];
};

/* Reads `values` (absent: none); the steps' names are known. NULL, with a fault: no memory. */
struct mg_workflow_exprs *mg_workflow_exprs_read(struct mg_workflow *workflow, struct mg_slice values,
                                                 struct mg_arena *arena, struct mg_json_faults *faults);
/* The place of a mistake in an expression that is a whole string of the definition. */
const char *mg_workflow_expr_at(struct mg_slice quoted, int column);
/* Compiles such a string. NULL, with a fault at its place: it has a mistake, or there is no memory, which is
 * no mistake of the definition. */
const struct mg_expr *mg_workflow_expr_read(struct mg_workflow_exprs *exprs,
                                            const struct mg_expr_names *names, struct mg_slice quoted,
                                            const char *pointer, struct mg_json_faults *faults);
/* Compiles an expression of a template, unless it is known. `ret_place` may be NULL. */
enum mg_class mg_workflow_exprs_add(struct mg_workflow_exprs *exprs, const char *text,
                                    const struct mg_expr **ret_expr, struct mg_expr_place *ret_place,
                                    struct mg_err *err) MG_MUSTCHECK;
const struct mg_expr *mg_workflow_exprs_find(const struct mg_workflow_exprs *exprs, const char *text);

/* The values of all roots in one order. `result` is the answer's; absent where none is judged. */
struct mg_root_values {
    const struct mg_render_input *input;
    struct mg_slice result;
    struct mg_slice result_fault; /* why it cannot be read; absent: it can, or there is none */
    /* As JSON strings: their characters need no escaping. */
    char order_id[MG_KEY_SIZE + 2];
    char accepted_at[MG_TIME_TEXT_SIZE + 2]; /* written when it is first found */
};
void mg_root_values_make(const struct mg_render_input *input, struct mg_root_values *ret_values);
/* The scope of an expression over these values. */
struct mg_expr_scope mg_root_scope(struct mg_root_values *values);
/* The step to which a reference leads, by its result or its state; -1: to none. */
int mg_root_step(const struct mg_expr_reference *reference);

/* Renders a label over payload and order id. `ret_is_absent` is true, and the text is undefined, if a
 * reference has no value, or null. MG_PERMANENT: an expression cannot be evaluated, or its value is null, a
 * list or an object; `err` has its place and values. */
enum mg_class mg_workflow_render_label(const struct mg_render_input *input,
                                       const struct mg_template *template, struct mg_buf *ret_text,
                                       bool *ret_is_absent, struct mg_err *err) MG_MUSTCHECK;

#endif
