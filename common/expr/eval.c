/*
 * Evaluation over the tree. Each node costs a step before it is looked at, so the bound holds for every
 * input; depth is bounded by the tree and by the count of values below each other. A fault ends everything up
 * to the next && or ||, and the end of the steps ends everything.
 */
#include <string.h>

#include "expr/eval.h"

static const struct mg_expr_node *node_of(const struct mg_expr_run *run, int node)
{
    return &run->frame->expr->nodes[node];
}

bool mg_expr_fault(struct mg_expr_run *run, enum mg_expr_fault_kind kind, int node)
{
    if (!run->is_over) {
        run->fault = (struct mg_expr_fault){.kind = kind, .expr = run->frame->expr, .node = node};
    }
    return false;
}

bool mg_expr_fault_type(struct mg_expr_run *run, int node, enum mg_expr_type is, enum mg_expr_type needed)
{
    (void)mg_expr_fault(run, MG_EXPR_FAULT_TYPE, node);
    run->fault.left = is;
    run->fault.right = needed;
    return false;
}

bool mg_expr_fault_types(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                         const struct mg_expr_value *b)
{
    (void)mg_expr_fault(run, MG_EXPR_FAULT_TYPES, node);
    run->fault.left = a->type;
    run->fault.right = b->type;
    return false;
}

bool mg_expr_spend(struct mg_expr_run *run, size_t bytes)
{
    run->left -= (int64_t)bytes;
    if (run->left >= 0) {
        return true;
    }
    (void)mg_expr_fault(run, MG_EXPR_FAULT_STEPS, run->frame->expr->root);
    run->is_over = true;
    return false;
}

static bool give_boolean(struct mg_expr_value *ret, bool boolean)
{
    *ret = (struct mg_expr_value){.type = MG_EXPR_BOOLEAN, .boolean = boolean};
    return true;
}

/* ---- names ---- */

struct mg_slice mg_expr_run_member(struct mg_expr_run *run, struct mg_slice object,
                                   const struct mg_expr_value *name)
{
    struct mg_json_walk walk;
    struct mg_slice quoted, value;
    size_t passed = 0;

    mg_json_walk_begin(&walk, object);
    for (;;) {
        const char *from = walk.at;
        if (!mg_json_walk_next(&walk, &quoted, &value)) {
            return (struct mg_slice){0};
        }
        struct mg_expr_value other = {.text = {quoted.data + 1, quoted.len - 2}};
        other.is_escaped = memchr(other.text.data, '\\', other.text.len) != NULL;
        bool is_it = (name->is_escaped || other.is_escaped || name->text.len == other.text.len) &&
                     mg_expr_text_compare(&other, name, &passed) == 0;
        passed += (size_t)(walk.at - from) + MG_EXPR_STEP;
        if (!mg_expr_spend(run, passed)) {
            return (struct mg_slice){0};
        }
        passed = 0;
        if (is_it) {
            return value;
        }
    }
}

/* A value that is an expression has variables of its own and shares the steps. */
static bool run_value(struct mg_expr_run *run, const struct mg_expr *expr, struct mg_expr_value *ret)
{
    struct mg_expr_frame frame, *outer = run->frame;
    frame.expr = expr;
    run->frame = &frame;
    bool is_good = mg_expr_run_node(run, expr->root, ret);
    run->frame = outer;
    return is_good;
}

static bool fault_unreadable(struct mg_expr_run *run, int node, struct mg_slice why)
{
    (void)mg_expr_fault(run, MG_EXPR_FAULT_UNREADABLE, node);
    run->fault.name = why;
    return false;
}

static bool run_root(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_found found = run->scope->find(run->scope->arg, of->value, of->member);
    if (found.expr != NULL) {
        return run_value(run, found.expr, ret);
    }
    struct mg_slice json = found.json.data != NULL ? mg_json_trim(found.json) : found.json;
    if (json.len == 0) {
        return found.fault.data != NULL ? fault_unreadable(run, node, found.fault)
                                        : mg_expr_fault(run, MG_EXPR_FAULT_NAME, node);
    }
    *ret = mg_expr_value_of(json);
    return true;
}

/* Evaluates the object in front of a member; the result is the member's text, or absent. */
static bool find_member(struct mg_expr_run *run, int node, struct mg_slice *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value object, name = {.text = {run->frame->expr->names + of->name, of->name_len}};

    if (!mg_expr_run_node(run, of->a, &object)) {
        return false;
    }
    if (object.type != MG_EXPR_OBJECT) {
        return mg_expr_fault_type(run, node, object.type, MG_EXPR_OBJECT);
    }
    *ret = mg_expr_run_member(run, object.text, &name);
    return !run->is_over;
}

static bool fault_member(struct mg_expr_run *run, int node, struct mg_slice name)
{
    (void)mg_expr_fault(run, MG_EXPR_FAULT_MEMBER, node);
    run->fault.name = name;
    return false;
}

static bool run_member(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_slice json;
    if (!find_member(run, node, &json)) {
        return false;
    }
    if (json.data == NULL) {
        return fault_member(run, node, (struct mg_slice){run->frame->expr->names + of->name, of->name_len});
    }
    *ret = mg_expr_value_of(json);
    return true;
}

static bool run_has(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    int asked = node_of(run, node)->a;
    const struct mg_expr_node *of = node_of(run, asked);
    struct mg_slice json = {0};
    if (of->op == MG_OP_ROOT) {
        struct mg_expr_found found = run->scope->find(run->scope->arg, of->value, of->member);
        if (found.json.data == NULL && found.fault.data != NULL) {
            return fault_unreadable(run, asked, found.fault);
        }
        return give_boolean(ret, found.json.data != NULL || found.expr != NULL);
    }
    return find_member(run, asked, &json) && give_boolean(ret, json.data != NULL);
}

static bool run_element(struct mg_expr_run *run, int node, const struct mg_expr_value *list,
                        const struct mg_expr_value *index, struct mg_expr_value *ret)
{
    struct mg_expr_cursor cursor;
    int wanted = index->is_wide ? -1 : mg_decimal_index(index->number, INT32_MAX), more = 1;
    if (wanted < 0) {
        return mg_expr_fault(run, MG_EXPR_FAULT_INDEX, node);
    }
    mg_expr_cursor_begin(&cursor, list);
    for (int i = 0; i <= wanted && more > 0; i++) {
        more = mg_expr_cursor_next(run, &cursor, ret);
    }
    return more > 0 || (more == 0 && mg_expr_fault(run, MG_EXPR_FAULT_INDEX, node));
}

static bool run_index(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value whole, index;
    if (!mg_expr_run_node(run, node_of(run, node)->a, &whole) ||
        !mg_expr_run_node(run, node_of(run, node)->b, &index)) {
        return false;
    }
    if (whole.type == MG_EXPR_LIST) {
        return index.type == MG_EXPR_NUMBER ? run_element(run, node, &whole, &index, ret)
                                            : mg_expr_fault_type(run, node, index.type, MG_EXPR_NUMBER);
    }
    if (whole.type != MG_EXPR_OBJECT) {
        return mg_expr_fault_type(run, node, whole.type, MG_EXPR_LIST);
    }
    if (index.type != MG_EXPR_TEXT) {
        return mg_expr_fault_type(run, node, index.type, MG_EXPR_TEXT);
    }
    struct mg_slice json = mg_expr_run_member(run, whole.text, &index);
    if (json.data == NULL) {
        return fault_member(run, node, index.text);
    }
    *ret = mg_expr_value_of(json);
    return true;
}

/* ---- comparisons and logic ---- */

static bool compare(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                    const struct mg_expr_value *b, int *ret)
{
    size_t passed = 0;
    if (a->type != b->type) {
        return mg_expr_fault_types(run, node, a, b);
    }
    if (a->type == MG_EXPR_TEXT) {
        *ret = mg_expr_text_compare(a, b, &passed);
        return mg_expr_spend(run, passed);
    }
    if (a->type != MG_EXPR_NUMBER && a->type != MG_EXPR_TIME && a->type != MG_EXPR_DURATION) {
        return mg_expr_fault_types(run, node, a, b);
    }
    if (a->is_wide || b->is_wide) {
        return mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
    }
    *ret = mg_decimal_compare(a->number, b->number);
    return true;
}

static bool run_comparison(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value a, b;
    int order = 0;
    bool is_equal;

    if (!mg_expr_run_node(run, of->a, &a) || !mg_expr_run_node(run, of->b, &b)) {
        return false;
    }
    if (of->op == MG_OP_EQUAL || of->op == MG_OP_UNEQUAL) {
        return mg_expr_equal(run, node, &a, &b, true, &is_equal) &&
               give_boolean(ret, is_equal == (of->op == MG_OP_EQUAL));
    }
    if (!compare(run, node, &a, &b, &order)) {
        return false;
    }
    return give_boolean(ret, of->op == MG_OP_LESS         ? order < 0
                             : of->op == MG_OP_LESS_EQUAL ? order <= 0
                             : of->op == MG_OP_MORE       ? order > 0
                                                          : order >= 0);
}

bool mg_expr_run_boolean(struct mg_expr_run *run, int node, bool *ret)
{
    struct mg_expr_value value;
    if (!mg_expr_run_node(run, node, &value)) {
        return false;
    }
    *ret = value.boolean;
    return value.type == MG_EXPR_BOOLEAN || mg_expr_fault_type(run, node, value.type, MG_EXPR_BOOLEAN);
}

/* The side that decides does so, whichever it is and even if the other one fails (CEL). */
static bool run_logic(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_fault first = {.kind = MG_EXPR_FAULT_NONE};
    bool decider = of->op == MG_OP_OR, side;

    if (mg_expr_run_boolean(run, of->a, &side)) {
        if (side == decider) {
            return give_boolean(ret, decider);
        }
    } else {
        first = run->fault;
    }
    if (run->is_over) {
        return false;
    }
    if (mg_expr_run_boolean(run, of->b, &side)) {
        if (side == decider || first.kind == MG_EXPR_FAULT_NONE) {
            return give_boolean(ret, side);
        }
        run->fault = first;
    } else if (first.kind != MG_EXPR_FAULT_NONE && !run->is_over) {
        run->fault = first;
    }
    return false;
}

static bool run_operation(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    bool is_true;
    switch ((enum mg_expr_op)of->op) {
    case MG_OP_LITERAL:
        *ret = run->frame->expr->literals[of->value];
        return true;
    case MG_OP_VARIABLE:
        *ret = run->frame->variables[of->value];
        return true;
    case MG_OP_ROOT:
        return run_root(run, node, ret);
    case MG_OP_MEMBER:
        return run_member(run, node, ret);
    case MG_OP_INDEX:
        return run_index(run, node, ret);
    case MG_OP_LIST:
        return mg_expr_run_list(run, node, ret);
    case MG_OP_NOT:
        return mg_expr_run_boolean(run, of->a, &is_true) && give_boolean(ret, !is_true);
    case MG_OP_NEGATE:
        return mg_expr_run_negate(run, node, ret);
    case MG_OP_ADD:
    case MG_OP_SUBTRACT:
    case MG_OP_MULTIPLY:
        return mg_expr_run_arithmetic(run, node, ret);
    case MG_OP_EQUAL:
    case MG_OP_UNEQUAL:
    case MG_OP_LESS:
    case MG_OP_LESS_EQUAL:
    case MG_OP_MORE:
    case MG_OP_MORE_EQUAL:
        return run_comparison(run, node, ret);
    case MG_OP_IN:
        return mg_expr_run_in(run, node, ret);
    case MG_OP_AND:
    case MG_OP_OR:
        return run_logic(run, node, ret);
    case MG_OP_CONDITIONAL:
        return mg_expr_run_boolean(run, of->a, &is_true) &&
               mg_expr_run_node(run, is_true ? of->b : of->c, ret);
    case MG_OP_HAS:
        return run_has(run, node, ret);
    case MG_OP_SIZE:
        return mg_expr_run_size(run, node, ret);
    case MG_OP_STRING:
        return mg_expr_run_string(run, node, ret);
    case MG_OP_ROUND:
        return mg_expr_run_round(run, node, ret);
    case MG_OP_DIVIDE:
        return mg_expr_run_divide(run, node, ret);
    case MG_OP_TIME:
    case MG_OP_DURATION:
        return mg_expr_run_moment(run, node, ret);
    case MG_OP_STARTS_WITH:
    case MG_OP_ENDS_WITH:
    case MG_OP_CONTAINS:
        return mg_expr_run_text_test(run, node, ret);
    case MG_OP_ALL:
    case MG_OP_EXISTS:
    case MG_OP_COUNT:
    case MG_OP_SUM:
        return mg_expr_run_loop(run, node, ret);
    }
    return false;
}

bool mg_expr_run_node(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    size_t mark = run->room->used;
    if (!mg_expr_spend(run, MG_EXPR_STEP)) {
        return false;
    }
    if (run->depth >= MG_EXPR_RUN_MAX) {
        (void)mg_expr_fault(run, MG_EXPR_FAULT_DEEP, node);
        run->is_over = true;
        return false;
    }
    run->depth++;
    bool is_good = run_operation(run, node, ret);
    run->depth--;
    if (!is_good || ret->type != MG_EXPR_TEXT) {
        run->room->used = mark; /* only a text may lie there */
    }
    return is_good;
}

/* ---- the whole ---- */

static int steps_of(size_t bytes)
{
    int steps = (int)(bytes < MG_EXPR_BYTES_MAX ? bytes : MG_EXPR_BYTES_MAX) * MG_EXPR_STEPS_OF_BYTE;
    return steps > MG_EXPR_STEPS_MIN ? steps : MG_EXPR_STEPS_MIN;
}

void mg_expr_run_begin(struct mg_expr_run *run, struct mg_expr_frame *frame, const struct mg_expr *expr,
                       const struct mg_expr_scope *scope, struct mg_expr_room *room)
{
    int steps_max = steps_of(scope->bytes);
    frame->expr = expr;
    room->used = 0;
    *run = (struct mg_expr_run){.frame = frame,
                                .scope = scope,
                                .room = room,
                                .steps_max = steps_max,
                                .left = (int64_t)steps_max * MG_EXPR_STEP};
}

enum mg_class mg_expr_evaluate(const struct mg_expr *expr, const struct mg_expr_scope *scope,
                               struct mg_expr_room *room, struct mg_expr_value *ret_value, int *ret_steps,
                               struct mg_err *err)
{
    struct mg_expr_frame frame;
    struct mg_expr_run run;
    struct mg_expr_value value;

    mg_expr_run_begin(&run, &frame, expr, scope, room);
    bool is_good = mg_expr_run_node(&run, expr->root, &value);
    if (is_good && value.list_of != NULL) {
        is_good = mg_expr_fault(&run, MG_EXPR_FAULT_LIST, expr->root);
    }
    if (ret_steps != NULL) {
        *ret_steps = (int)(run.steps_max - (run.left > 0 ? run.left : 0) / MG_EXPR_STEP);
    }
    if (!is_good) {
        return mg_expr_fault_text(&run, err);
    }
    *ret_value = value;
    return MG_OK;
}

enum mg_class mg_expr_decide(const struct mg_expr *expr, const struct mg_expr_scope *scope,
                             struct mg_expr_room *room, bool *ret_is_true, struct mg_err *err)
{
    struct mg_expr_frame frame;
    struct mg_expr_run run;
    bool is_true;

    mg_expr_run_begin(&run, &frame, expr, scope, room);
    if (!mg_expr_run_boolean(&run, expr->root, &is_true)) {
        return mg_expr_fault_text(&run, err);
    }
    *ret_is_true = is_true;
    return MG_OK;
}
