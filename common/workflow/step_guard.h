/*
 * The guards of a workflow: `when`, `needs` and `require` of its steps, and `require` of the order. Here they
 * are read and evaluated; definition_check.c checks the whole definition. Private to common/workflow, except
 * for the evaluation, which is in workflow.h.
 */
#ifndef MG_WORKFLOW_STEP_GUARD_H
#define MG_WORKFLOW_STEP_GUARD_H

#include "expr/expr.h"
#include "json/reader.h"
#include "workflow/workflow.h"

struct mg_requirement {
    struct mg_requirement *next;
    const struct mg_expr *that;
    struct mg_slice text; /* for the client: the reason of the refusal */
};

/* The guard of one step; that of the order has no `when`. */
struct mg_guard {
    const struct mg_expr *when;  /* NULL: none */
    const struct mg_expr *until; /* of a wait: the moment of its end; NULL: none */
    const struct mg_expr *key;   /* of a wait: the key of its signal; NULL: none */
    struct mg_requirement *requirements;
};

/* The guards as written. */
struct mg_guard_source {
    struct mg_slice when, require, until, key; /* absent: none */
};

/* Compiles the guard at `pointer` ("" for the order, or "/steps/1"). The names and values are known. NULL: it
 * has none, or faults. */
struct mg_guard *mg_workflow_guard_read(struct mg_workflow *workflow, const struct mg_guard_source *source,
                                        const char *pointer, struct mg_arena *arena,
                                        struct mg_json_faults *faults);
/* Calls `seen` for each expression of a guard, with its JSON pointer. */
void mg_workflow_guard_each(const struct mg_guard *guard, const char *pointer,
                            void (*seen)(void *arg, const struct mg_expr *expr, const char *pointer),
                            void *arg);

/* Refuses the parts of a condition that are the same for every order (constants.c). `never` is the
 * effect if the whole is always false. */
void mg_workflow_constants_check(const struct mg_expr *expr, const char *pointer, struct mg_slice quoted,
                                 const char *never, struct mg_json_faults *faults);

/* Holds a submission against `require` of the order; errors as of mg_workflow_admit. */
enum mg_class mg_workflow_require(const struct mg_render_input *input, struct mg_err *err) MG_MUSTCHECK;

#endif
