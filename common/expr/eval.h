/* The state of one evaluation. Private to eval.c, collections.c and reason.c. */
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

bool mg_expr_spend(struct mg_expr_run *run, size_t bytes);
/* Always false. */
bool mg_expr_fault(struct mg_expr_run *run, enum mg_expr_fault_kind kind, int node);
bool mg_expr_fault_type(struct mg_expr_run *run, int node, enum mg_expr_type is, enum mg_expr_type needed);

bool mg_expr_fault_types(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                         const struct mg_expr_value *b);

/* ---- eval.c ---- */

bool mg_expr_run_node(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_boolean(struct mg_expr_run *run, int node, bool *ret);
void mg_expr_run_begin(struct mg_expr_run *run, struct mg_expr_frame *frame, const struct mg_expr *expr,
                       const struct mg_expr_scope *scope, struct mg_expr_room *room);
/* The member of an object, by a text's value; absent: there is none. */
struct mg_slice mg_expr_run_member(struct mg_expr_run *run, struct mg_slice object,
                                   const struct mg_expr_value *name);

/* ---- arithmetic.c: each is one kind of node ---- */

bool mg_expr_run_arithmetic(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_negate(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_round(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_divide(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_string(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_moment(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_text_test(struct mg_expr_run *run, int node, struct mg_expr_value *ret);

/* ---- collections.c ---- */

struct mg_expr_cursor { /* over a list of JSON, or of an expression */
    struct mg_json_walk walk;
    const struct mg_expr *expr;
    int node;
};
void mg_expr_cursor_begin(struct mg_expr_cursor *cursor, const struct mg_expr_value *list);
/* 1: an element; 0: the end; -1: a fault. */
int mg_expr_cursor_next(struct mg_expr_run *run, struct mg_expr_cursor *cursor, struct mg_expr_value *ret);

/* `is_strict`: two types other than null are a fault, not unequal. */
bool mg_expr_equal(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                   const struct mg_expr_value *b, bool is_strict, bool *ret);
bool mg_expr_run_list(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_in(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_size(struct mg_expr_run *run, int node, struct mg_expr_value *ret);
bool mg_expr_run_loop(struct mg_expr_run *run, int node, struct mg_expr_value *ret);

/* ---- reason.c ---- */

enum mg_class mg_expr_fault_text(const struct mg_expr_run *run, struct mg_err *err);

#endif
