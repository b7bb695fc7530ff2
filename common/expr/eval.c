/*
 * Evaluation over the tree. Each node costs a step before it is looked at, so the bound holds for every
 * input; depth is bounded by the tree and by the count of values below each other. A fault ends everything up
 * to the next && or ||, and the end of the steps ends everything. One file, because operands, members and
 * elements are nodes again.
 */
#include <string.h>

#include "expr/eval.h"

static const struct mg_expr_node *node_of(const struct mg_expr_run *run, int node)
{
    return &run->frame->expr->nodes[node];
}

static bool give_boolean(struct mg_expr_value *ret, bool boolean)
{
    *ret = (struct mg_expr_value){.type = MG_EXPR_BOOLEAN, .boolean = boolean};
    return true;
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

/* ---- operands ---- */

static bool run_number(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    return mg_expr_run_node(run, node, ret) && mg_expr_needs_number(run, node, ret);
}

static bool run_text(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    return mg_expr_run_node(run, node, ret) &&
           (ret->type == MG_EXPR_TEXT || mg_expr_fault_type(run, node, ret->type, MG_EXPR_TEXT));
}

static bool run_join(struct mg_expr_run *run, int node, const struct mg_expr_value *left,
                     struct mg_expr_value *ret)
{
    struct mg_expr_value joined, right;
    if (!mg_expr_join_begin(run, node, left, &joined) ||
        !mg_expr_run_node(run, node_of(run, node)->b, &right)) {
        return false;
    }
    if (right.type != MG_EXPR_TEXT) {
        return mg_expr_fault_types(run, node, left, &right);
    }
    if (!mg_expr_join_end(run, node, &right, &joined)) {
        return false;
    }
    *ret = joined;
    return true;
}

static bool run_arithmetic(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value a, b;
    if (!mg_expr_run_node(run, of->a, &a)) {
        return false;
    }
    if (of->op == MG_OP_ADD && a.type == MG_EXPR_TEXT) {
        return run_join(run, node, &a, ret);
    }
    return mg_expr_run_node(run, of->b, &b) && mg_expr_reckon(run, node, &a, &b, ret);
}

static bool run_negate(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value value;
    if (!run_number(run, node_of(run, node)->a, &value)) {
        return false;
    }
    value.number.coefficient = -value.number.coefficient;
    *ret = (struct mg_expr_value){.type = MG_EXPR_NUMBER, .number = value.number};
    return true;
}

static bool run_rounding(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value a, b, c;
    if (!run_number(run, of->a, &a) || !run_number(run, of->b, &b)) {
        return false;
    }
    if (of->op == MG_OP_ROUND) {
        return mg_expr_round(run, node, &a, &b, ret);
    }
    return run_number(run, of->c, &c) && mg_expr_divide(run, node, &a, &b, &c, ret);
}

static bool run_string(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value value;
    return mg_expr_run_node(run, node_of(run, node)->a, &value) && mg_expr_string(run, node, &value, ret);
}

static bool run_moment(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value text;
    return run_text(run, node_of(run, node)->a, &text) && mg_expr_moment(run, node, &text, ret);
}

static bool run_text_test(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value text, part;
    return run_text(run, of->a, &text) && run_text(run, of->b, &part) &&
           mg_expr_text_test(run, node, &text, &part, ret);
}

/* ---- names ---- */

/* The member of an object, by a text's value; absent: there is none. */
static struct mg_slice find_named(struct mg_expr_run *run, struct mg_slice object,
                                  const struct mg_expr_value *name)
{
    struct mg_slice quoted, value;
    size_t passed = 0;

    struct mg_json_walk walk = mg_json_walk_of(object);
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
    *ret = find_named(run, object.text, &name);
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

/* ---- walking: an element of JSON is read where it lies, an element of a list in the expression is evaluated
 * each time it is met ---- */

struct cursor { /* over a list of JSON, or of an expression */
    struct mg_json_walk walk;
    const struct mg_expr *expr;
    int node;
};
static void cursor_begin(struct cursor *cursor, const struct mg_expr_value *list)
{
    *cursor = (struct cursor){.expr = list->list_of, .node = MG_EXPR_NONE};
    if (list->list_of != NULL) {
        cursor->node = list->list_of->nodes[list->list_node].a;
    } else {
        cursor->walk = mg_json_walk_of(list->text);
    }
}

/* A list that a value holds is evaluated as that value's; no variable reaches it. */
static bool run_listed(struct mg_expr_run *run, const struct mg_expr *expr, int node,
                       struct mg_expr_value *ret)
{
    struct mg_expr_frame frame, *outer = run->frame;
    if (outer->expr == expr) {
        return mg_expr_run_node(run, node, ret);
    }
    frame.expr = expr;
    run->frame = &frame;
    bool is_good = mg_expr_run_node(run, node, ret);
    run->frame = outer;
    return is_good;
}

static int cursor_next(struct mg_expr_run *run, struct cursor *cursor, struct mg_expr_value *ret)
{
    if (cursor->expr != NULL) {
        int node = cursor->node;
        if (node == MG_EXPR_NONE) {
            return 0;
        }
        cursor->node = cursor->expr->nodes[node].next;
        return run_listed(run, cursor->expr, node, ret) ? 1 : -1;
    }
    struct mg_slice name, json;
    const char *from = cursor->walk.at;
    if (!mg_json_walk_next(&cursor->walk, &name, &json)) {
        return 0;
    }
    if (!mg_expr_spend(run, MG_EXPR_STEP + (size_t)(cursor->walk.at - from))) {
        return -1;
    }
    *ret = mg_expr_value_of(json);
    return 1;
}

static bool run_element(struct mg_expr_run *run, int node, const struct mg_expr_value *list,
                        const struct mg_expr_value *index, struct mg_expr_value *ret)
{
    struct cursor cursor;
    int wanted = index->is_wide ? -1 : mg_decimal_index(index->number, INT32_MAX), more = 1;
    if (wanted < 0) {
        return mg_expr_fault(run, MG_EXPR_FAULT_INDEX, node);
    }
    cursor_begin(&cursor, list);
    for (int i = 0; i <= wanted && more > 0; i++) {
        more = cursor_next(run, &cursor, ret);
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
    struct mg_slice json = find_named(run, whole.text, &index);
    if (json.data == NULL) {
        return fault_member(run, node, index.text);
    }
    *ret = mg_expr_value_of(json);
    return true;
}

/* ---- lists ---- */

/* Every element is evaluated once, since a fault in one is a fault of the list. */
static bool run_list(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr *expr = run->frame->expr;
    struct mg_expr_value element;
    size_t mark = run->room->used;
    for (int i = expr->nodes[node].a; i != MG_EXPR_NONE; i = expr->nodes[i].next) {
        if (expr->nodes[i].op != MG_OP_LITERAL && !mg_expr_run_node(run, i, &element)) {
            return false;
        }
        run->room->used = mark;
    }
    *ret = (struct mg_expr_value){.type = MG_EXPR_LIST, .list_of = expr, .list_node = node};
    return true;
}

static bool count_elements(struct mg_expr_run *run, const struct mg_expr_value *whole, int *ret_count)
{
    struct mg_slice name, json;
    *ret_count = 0;
    if (whole->list_of != NULL) {
        const struct mg_expr_node *nodes = whole->list_of->nodes;
        for (int i = nodes[whole->list_node].a; i != MG_EXPR_NONE; i = nodes[i].next) {
            (*ret_count)++;
        }
        return true;
    }
    struct mg_json_walk walk = mg_json_walk_of(whole->text);
    for (const char *from = walk.at; mg_json_walk_next(&walk, &name, &json); from = walk.at) {
        if (!mg_expr_spend(run, MG_EXPR_STEP + (size_t)(walk.at - from))) {
            return false;
        }
        (*ret_count)++;
    }
    return true;
}

static bool run_size(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value value;
    size_t passed = 0;
    int count = 0;
    if (!mg_expr_run_node(run, node_of(run, node)->a, &value)) {
        return false;
    }
    if (value.type == MG_EXPR_TEXT) {
        count = (int)mg_expr_text_size(&value, &passed);
        if (!mg_expr_spend(run, passed)) {
            return false;
        }
    } else if (value.type != MG_EXPR_LIST && value.type != MG_EXPR_OBJECT) {
        return mg_expr_fault_type(run, node, value.type, MG_EXPR_LIST);
    } else if (!count_elements(run, &value, &count)) {
        return false;
    }
    *ret = (struct mg_expr_value){.type = MG_EXPR_NUMBER, .number = {count, 0}};
    return true;
}

/* ---- equality ---- */

/* `is_strict`: two types other than null are a fault, not unequal. */
static bool is_equal_to(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                        const struct mg_expr_value *b, bool is_strict, bool *ret);

static bool equal_lists(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                        const struct mg_expr_value *b, bool *ret)
{
    struct cursor left, right;
    struct mg_expr_value x, y;
    size_t mark = run->room->used;
    cursor_begin(&left, a);
    cursor_begin(&right, b);
    for (*ret = true; *ret; run->room->used = mark) {
        int more_left = cursor_next(run, &left, &x);
        int more_right = more_left < 0 ? -1 : cursor_next(run, &right, &y);
        if (more_left < 0 || more_right < 0) {
            return false;
        }
        if (more_left == 0 || more_right == 0) {
            *ret = more_left == more_right;
            return true;
        }
        if (!is_equal_to(run, node, &x, &y, false, ret)) {
            return false;
        }
    }
    return true;
}

static bool equal_objects(struct mg_expr_run *run, int node, struct mg_slice a, struct mg_slice b, bool *ret)
{
    struct mg_slice quoted, json;
    struct mg_expr_value left = {.text = a}, right = {.text = b};
    int count, other;
    if (!count_elements(run, &left, &count) || !count_elements(run, &right, &other)) {
        return false;
    }
    *ret = count == other;
    for (struct mg_json_walk walk = mg_json_walk_of(a); *ret && mg_json_walk_next(&walk, &quoted, &json);) {
        struct mg_expr_value name = mg_expr_value_of(quoted);
        struct mg_slice found = find_named(run, b, &name);
        if (run->is_over || !mg_expr_spend(run, 2 * MG_EXPR_STEP + quoted.len + json.len)) {
            return false;
        }
        *ret = found.data != NULL;
        if (*ret) {
            struct mg_expr_value x = mg_expr_value_of(json), y = mg_expr_value_of(found);
            if (!is_equal_to(run, node, &x, &y, false, ret)) {
                return false;
            }
        }
    }
    return true;
}

static bool equal_whole(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                        const struct mg_expr_value *b, bool *ret)
{
    if (run->depth >= MG_EXPR_RUN_MAX) {
        (void)mg_expr_fault(run, MG_EXPR_FAULT_DEEP, node);
        run->is_over = true;
        return false;
    }
    if (!mg_expr_spend(run, MG_EXPR_STEP)) {
        return false;
    }
    run->depth++;
    bool is_good = a->type == MG_EXPR_LIST ? equal_lists(run, node, a, b, ret)
                                           : equal_objects(run, node, a->text, b->text, ret);
    run->depth--;
    return is_good;
}

static bool is_equal_to(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                        const struct mg_expr_value *b, bool is_strict, bool *ret)
{
    size_t passed = 0;
    if (a->type != b->type) {
        *ret = false;
        bool is_asked = !is_strict || a->type == MG_EXPR_NULL || b->type == MG_EXPR_NULL;
        return is_asked || mg_expr_fault_types(run, node, a, b);
    }
    switch (a->type) {
    case MG_EXPR_BOOLEAN:
        *ret = a->boolean == b->boolean;
        return true;
    case MG_EXPR_NUMBER:
    case MG_EXPR_TIME:
    case MG_EXPR_DURATION:
        if (a->is_wide || b->is_wide) {
            return mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
        }
        *ret = mg_decimal_compare(a->number, b->number) == 0;
        return true;
    case MG_EXPR_TEXT:
        *ret = (a->is_escaped || b->is_escaped || a->text.len == b->text.len) &&
               mg_expr_text_compare(a, b, &passed) == 0;
        return mg_expr_spend(run, passed);
    case MG_EXPR_LIST:
    case MG_EXPR_OBJECT:
        return equal_whole(run, node, a, b, ret);
    case MG_EXPR_UNKNOWN:
    case MG_EXPR_NULL:
        break;
    }
    *ret = true;
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
        return is_equal_to(run, node, &a, &b, true, &is_equal) &&
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

/* ---- in ---- */

static bool run_in(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct cursor cursor;
    struct mg_expr_value wanted, whole, element;
    bool is_equal = false;
    int more;

    if (!mg_expr_run_node(run, of->a, &wanted) || !mg_expr_run_node(run, of->b, &whole)) {
        return false;
    }
    if (whole.type == MG_EXPR_OBJECT) {
        if (wanted.type != MG_EXPR_TEXT) {
            return mg_expr_fault_type(run, node, wanted.type, MG_EXPR_TEXT);
        }
        struct mg_slice found = find_named(run, whole.text, &wanted);
        return !run->is_over && give_boolean(ret, found.data != NULL);
    }
    if (whole.type != MG_EXPR_LIST) {
        return mg_expr_fault_type(run, node, whole.type, MG_EXPR_LIST);
    }
    size_t mark = run->room->used;
    cursor_begin(&cursor, &whole);
    while (!is_equal && (more = cursor_next(run, &cursor, &element)) != 0) {
        if (more < 0 || !is_equal_to(run, node, &wanted, &element, false, &is_equal)) {
            return false;
        }
        run->room->used = mark;
    }
    return give_boolean(ret, is_equal);
}

/* ---- macros ---- */

/* One element of all() or exists(): true when it decides. A fault stays until the end, as with && and ||.
 */
static bool run_test(struct mg_expr_run *run, int body, bool decider, struct mg_expr_fault *first)
{
    bool is_true;
    if (mg_expr_run_boolean(run, body, &is_true)) {
        return is_true == decider;
    }
    if (first->kind == MG_EXPR_FAULT_NONE) {
        *first = run->fault;
    }
    return false;
}

static bool run_quantor(struct mg_expr_run *run, int node, struct cursor *cursor, struct mg_expr_value *ret,
                        int *ret_count)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_fault first = {.kind = MG_EXPR_FAULT_NONE};
    struct mg_expr_frame *frame = run->frame;
    bool decider = of->op == MG_OP_EXISTS, is_decided = false;
    size_t mark = run->room->used;
    int more = 1;

    while (!is_decided && (more = cursor_next(run, cursor, &frame->variables[of->value])) > 0) {
        (*ret_count)++;
        is_decided = run_test(run, of->b, decider, &first);
        run->room->used = mark;
        if (run->is_over) {
            return false;
        }
    }
    if (more < 0) {
        return false;
    }
    if (!is_decided && first.kind != MG_EXPR_FAULT_NONE) {
        run->fault = first;
        return false;
    }
    return give_boolean(ret, is_decided == decider);
}

static bool run_sum(struct mg_expr_run *run, int node, struct cursor *cursor, struct mg_expr_value *ret,
                    int *ret_count)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_frame *frame = run->frame;
    struct mg_decimal sum = {0, 0};
    size_t mark = run->room->used;
    int more;

    while ((more = cursor_next(run, cursor, &frame->variables[of->value])) > 0) {
        struct mg_expr_value value;
        (*ret_count)++;
        if (!mg_expr_run_node(run, of->b, &value)) {
            return false;
        }
        enum mg_expr_type needed = of->op == MG_OP_COUNT ? MG_EXPR_BOOLEAN : MG_EXPR_NUMBER;
        if (value.type != needed) {
            return mg_expr_fault_type(run, of->b, value.type, needed);
        }
        if (of->op == MG_OP_COUNT) {
            value.number = (struct mg_decimal){value.boolean, 0};
        }
        if (value.is_wide || !mg_decimal_add(sum, value.number, &sum)) {
            return mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
        }
        run->room->used = mark;
    }
    *ret = (struct mg_expr_value){.type = MG_EXPR_NUMBER, .number = sum};
    return more == 0;
}

static bool run_loop(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct cursor cursor;
    struct mg_expr_value list;
    int count = 0;

    if (!mg_expr_run_node(run, of->a, &list)) {
        return false;
    }
    if (list.type != MG_EXPR_LIST) {
        return mg_expr_fault_type(run, node, list.type, MG_EXPR_LIST);
    }
    cursor_begin(&cursor, &list);
    bool is_quantor = of->op == MG_OP_ALL || of->op == MG_OP_EXISTS;
    bool is_good =
        is_quantor ? run_quantor(run, node, &cursor, ret, &count) : run_sum(run, node, &cursor, ret, &count);
    if (run->is_over) { /* the outermost loop is named last, and stays */
        run->loop_expr = run->frame->expr;
        run->loop_node = node;
        run->loop_count = count;
    }
    return is_good;
}

/* ---- the operations ---- */

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
        return run_list(run, node, ret);
    case MG_OP_NOT:
        return mg_expr_run_boolean(run, of->a, &is_true) && give_boolean(ret, !is_true);
    case MG_OP_NEGATE:
        return run_negate(run, node, ret);
    case MG_OP_ADD:
    case MG_OP_SUBTRACT:
    case MG_OP_MULTIPLY:
        return run_arithmetic(run, node, ret);
    case MG_OP_EQUAL:
    case MG_OP_UNEQUAL:
    case MG_OP_LESS:
    case MG_OP_LESS_EQUAL:
    case MG_OP_MORE:
    case MG_OP_MORE_EQUAL:
        return run_comparison(run, node, ret);
    case MG_OP_IN:
        return run_in(run, node, ret);
    case MG_OP_AND:
    case MG_OP_OR:
        return run_logic(run, node, ret);
    case MG_OP_CONDITIONAL:
        return mg_expr_run_boolean(run, of->a, &is_true) &&
               mg_expr_run_node(run, is_true ? of->b : of->c, ret);
    case MG_OP_HAS:
        return run_has(run, node, ret);
    case MG_OP_SIZE:
        return run_size(run, node, ret);
    case MG_OP_STRING:
        return run_string(run, node, ret);
    case MG_OP_ROUND:
    case MG_OP_DIVIDE:
        return run_rounding(run, node, ret);
    case MG_OP_TIME:
    case MG_OP_DURATION:
        return run_moment(run, node, ret);
    case MG_OP_STARTS_WITH:
    case MG_OP_ENDS_WITH:
    case MG_OP_CONTAINS:
        return run_text_test(run, node, ret);
    case MG_OP_ALL:
    case MG_OP_EXISTS:
    case MG_OP_COUNT:
    case MG_OP_SUM:
        return run_loop(run, node, ret);
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
