/* The state of one evaluation. Private to eval.c, eval_fault.c, arithmetic.c and reason.c. */
#ifndef MG_EXPR_EVAL_H
#define MG_EXPR_EVAL_H

#include "expr/tree.h"

enum mg_expr_fault_kind {
    MG_EXPR_FAULT_NONE,
    MG_EXPR_FAULT_STEPS,
    MG_EXPR_FAULT_DEEP,
    MG_EXPR_FAULT_NAME,       /* the scope has no value */
    MG_EXPR_FAULT_UNREADABLE, /* `name`: why */
    MG_EXPR_FAULT_MEMBER,     /* name */
    MG_EXPR_FAULT_INDEX,
    MG_EXPR_FAULT_TYPE,  /* `left` where `right` is needed */
    MG_EXPR_FAULT_TYPES, /* left and right do not go together */
    MG_EXPR_FAULT_DIGITS,
    MG_EXPR_FAULT_ZERO,
    MG_EXPR_FAULT_PLACES,
    MG_EXPR_FAULT_ROOM,
    MG_EXPR_FAULT_TIME,
    MG_EXPR_FAULT_DURATION,
    MG_EXPR_FAULT_MOMENT, /* a time beyond the years of RFC 3339 */
    MG_EXPR_FAULT_LIST,   /* a list of the expression as its result */
};

/* Its text is made only if it is the result: most faults next to && and || never are. */
struct mg_expr_fault {
    enum mg_expr_fault_kind kind;
    enum mg_expr_type left, right;
    const struct mg_expr *expr;
    int node;
    struct mg_slice name;
};

struct mg_expr_frame { /* of one expression; values that are expressions have their own */
    const struct mg_expr *expr;
    struct mg_expr_value variables[MG_EXPR_LOOPS_MAX];
};

struct mg_expr_run {
    struct mg_expr_frame *frame;
    const struct mg_expr_scope *scope;
    struct mg_expr_room *room;
    int steps_max;
    int64_t left; /* of the steps, in bytes passed over */
    int depth;
    bool is_over; /* out of steps or too deep: nothing absorbs that */
    struct mg_expr_fault fault;
    const struct mg_expr *loop_expr; /* the loop that was under way when the steps were used up */
    int loop_node, loop_count;
};

#define MG_EXPR_STEP    MG_EXPR_STEP_BYTES /* in `left` */
#define MG_EXPR_RUN_MAX 256                /* nodes and values below each other; some 100 KiB of the stack */

/* ---- eval_fault.c ---- */

bool mg_expr_spend(struct mg_expr_run *run, size_t bytes);
/* These three note the fault and return false, so that a caller returns their result. */
bool mg_expr_fault(struct mg_expr_run *run, enum mg_expr_fault_kind kind, int node);
bool mg_expr_fault_type(struct mg_expr_run *run, int node, enum mg_expr_type is, enum mg_expr_type needed);
bool mg_expr_fault_types(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                         const struct mg_expr_value *b);
enum mg_class mg_expr_fault_text(const struct mg_expr_run *run, struct mg_err *err);
struct mg_slice mg_expr_span(const struct mg_expr *expr, int node); /* its text, as written */
struct mg_slice mg_expr_cut(struct mg_slice text, size_t max);      /* between two characters */

/* ---- arithmetic.c: operations over values; `node` is the operation, for faults ---- */

bool mg_expr_needs_number(struct mg_expr_run *run, int node, const struct mg_expr_value *value);
/* The left text is kept in the room, if it is not there already, and the right one after it. */
bool mg_expr_join_begin(struct mg_expr_run *run, int node, const struct mg_expr_value *left,
                        struct mg_expr_value *ret);
bool mg_expr_join_end(struct mg_expr_run *run, int node, const struct mg_expr_value *right,
                      struct mg_expr_value *ret);
/* + - * of all but texts. */
bool mg_expr_reckon(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                    const struct mg_expr_value *b, struct mg_expr_value *ret);
/* All arguments of these two are numbers. */
bool mg_expr_round(struct mg_expr_run *run, int node, const struct mg_expr_value *value,
                   const struct mg_expr_value *places, struct mg_expr_value *ret);
bool mg_expr_divide(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                    const struct mg_expr_value *b, const struct mg_expr_value *places,
                    struct mg_expr_value *ret);
bool mg_expr_string(struct mg_expr_run *run, int node, const struct mg_expr_value *value,
                    struct mg_expr_value *ret);
/* All arguments of these two are texts: time(), duration(); startsWith() and the like. */
bool mg_expr_moment(struct mg_expr_run *run, int node, const struct mg_expr_value *value,
                    struct mg_expr_value *ret);
bool mg_expr_text_test(struct mg_expr_run *run, int node, const struct mg_expr_value *text,
                       const struct mg_expr_value *part, struct mg_expr_value *ret);

/* ---- eval.c ---- */

bool mg_expr_run_node(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_boolean(struct mg_expr_run *run, int node, bool *ret);
void mg_expr_run_begin(struct mg_expr_run *run, struct mg_expr_frame *frame, const struct mg_expr *expr,
                       const struct mg_expr_scope *scope, struct mg_expr_room *room);
#endif
