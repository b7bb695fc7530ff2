/* Conditions next to each other: whether two are the same, opposites, or never both true. They are compared
 * by their form; nothing is evaluated but literals. */
#include <string.h>

#include "expr/tree.h"

static const struct mg_expr_node *node_of(const struct mg_expr *expr, int node)
{
    return &expr->nodes[node];
}

/* By their values: 'a' is "a", and 1.0 is 1. */
static bool is_same_literal(const struct mg_expr_value *a, const struct mg_expr_value *b)
{
    if (a->type != b->type || a->is_wide != b->is_wide || a->boolean != b->boolean) {
        return false;
    }
    return a->type == MG_EXPR_NUMBER && !a->is_wide ? mg_decimal_compare(a->number, b->number) == 0
                                                    : mg_slice_equal(a->text, b->text);
}

static bool are_same_children(const struct mg_expr *a, const struct mg_expr_node *left,
                              const struct mg_expr *b, const struct mg_expr_node *right)
{
    const int16_t lefts[] = {left->a, left->b, left->c, left->next};
    const int16_t rights[] = {right->a, right->b, right->c, right->next};
    for (int i = 0; i < 4; i++) {
        bool is_none = lefts[i] == MG_EXPR_NONE || rights[i] == MG_EXPR_NONE;
        if (is_none ? lefts[i] != rights[i] : !mg_expr_is_same(a, lefts[i], b, rights[i])) {
            return false;
        }
    }
    return true;
}

/* The same but for blanks and brackets. The recursion ends at the height that a compiled expression has. */
bool mg_expr_is_same(const struct mg_expr *a, int a_node, const struct mg_expr *b, int b_node)
{
    const struct mg_expr_node *left = node_of(a, a_node), *right = node_of(b, b_node);
    if (left->op != right->op) {
        return false;
    }
    if (left->op == MG_OP_LITERAL) {
        return is_same_literal(&a->literals[left->value], &b->literals[right->value]);
    }
    if (left->value != right->value || left->member != right->member || left->name_len != right->name_len ||
        memcmp(a->names + left->name, b->names + right->name, left->name_len) != 0) {
        return false;
    }
    return are_same_children(a, left, b, right);
}

/* The operator that is true where this one is false; itself if there is none. */
static enum mg_expr_op opposite_of(enum mg_expr_op op)
{
    static const enum mg_expr_op PAIRS[][2] = {
        {MG_OP_EQUAL, MG_OP_UNEQUAL}, {MG_OP_LESS, MG_OP_MORE_EQUAL}, {MG_OP_MORE, MG_OP_LESS_EQUAL}};
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        if (op == PAIRS[i][0] || op == PAIRS[i][1]) {
            return op == PAIRS[i][0] ? PAIRS[i][1] : PAIRS[i][0];
        }
    }
    return op;
}

bool mg_expr_is_opposite(const struct mg_expr *a, int a_node, const struct mg_expr *b, int b_node)
{
    const struct mg_expr_node *left = node_of(a, a_node), *right = node_of(b, b_node);
    if ((left->op == MG_OP_NOT && mg_expr_is_same(a, left->a, b, b_node)) ||
        (right->op == MG_OP_NOT && mg_expr_is_same(a, a_node, b, right->a))) {
        return true;
    }
    enum mg_expr_op op = (enum mg_expr_op)left->op;
    return opposite_of(op) != op && opposite_of(op) == (enum mg_expr_op)right->op &&
           mg_expr_is_same(a, left->a, b, right->a) && mg_expr_is_same(a, left->b, b, right->b);
}

/* ---- comparisons with literals ---- */

struct comparison {
    const struct mg_expr *expr;
    int subject;        /* the side that is no literal */
    enum mg_expr_op op; /* with the subject on the left */
    const struct mg_expr_value *literal;
};

static bool is_literal(const struct mg_expr *expr, int node)
{
    return node_of(expr, node)->op == MG_OP_LITERAL;
}

static bool read_comparison(const struct mg_expr *expr, int node, struct comparison *ret)
{
    static const enum mg_expr_op TURNED[] = {[MG_OP_EQUAL] = MG_OP_EQUAL,
                                             [MG_OP_LESS] = MG_OP_MORE,
                                             [MG_OP_LESS_EQUAL] = MG_OP_MORE_EQUAL,
                                             [MG_OP_MORE] = MG_OP_LESS,
                                             [MG_OP_MORE_EQUAL] = MG_OP_LESS_EQUAL};
    const struct mg_expr_node *of = node_of(expr, node);
    enum mg_expr_op op = (enum mg_expr_op)of->op;
    bool is_comparison = op == MG_OP_EQUAL || (op >= MG_OP_LESS && op <= MG_OP_MORE_EQUAL);
    if (!is_comparison || is_literal(expr, of->a) == is_literal(expr, of->b)) {
        return false;
    }
    bool is_turned = is_literal(expr, of->a);
    *ret = (struct comparison){
        .expr = expr,
        .subject = is_turned ? of->b : of->a,
        .op = is_turned ? TURNED[op] : op,
        .literal = &expr->literals[node_of(expr, is_turned ? of->a : of->b)->value],
    };
    return true;
}

/* -1, 0, 1; false if the two have no order. */
static bool literals_compare(const struct mg_expr_value *a, const struct mg_expr_value *b, int *ret_order)
{
    size_t passed = 0;
    if (a->type != b->type || (a->type != MG_EXPR_NUMBER && a->type != MG_EXPR_TEXT)) {
        return false;
    }
    if (a->type == MG_EXPR_NUMBER && (a->is_wide || b->is_wide)) {
        return false;
    }
    *ret_order = a->type == MG_EXPR_NUMBER ? mg_decimal_compare(a->number, b->number)
                                           : mg_expr_text_compare(a, b, &passed);
    return true;
}

/* Whether a value that fulfils the comparison may lie below, at, or above its literal. */
static bool reaches(enum mg_expr_op op, int side)
{
    bool is_below = op == MG_OP_LESS || op == MG_OP_LESS_EQUAL;
    bool is_above = op == MG_OP_MORE || op == MG_OP_MORE_EQUAL;
    return side < 0 ? is_below : side > 0 ? is_above : op != MG_OP_LESS && op != MG_OP_MORE;
}

bool mg_expr_excludes(const struct mg_expr *a, int a_node, const struct mg_expr *b, int b_node)
{
    struct comparison left, right;
    int order;
    if (!read_comparison(a, a_node, &left) || !read_comparison(b, b_node, &right) ||
        !mg_expr_is_same(a, left.subject, b, right.subject) ||
        !literals_compare(left.literal, right.literal, &order)) {
        return false;
    }
    if (order == 0) {
        return !(reaches(left.op, 0) && reaches(right.op, 0)) &&
               !(reaches(left.op, -1) && reaches(right.op, -1)) &&
               !(reaches(left.op, 1) && reaches(right.op, 1));
    }
    /* Of two ranges, the one with the lower literal must not reach up, or the other not down. */
    enum mg_expr_op low = order < 0 ? left.op : right.op, high = order < 0 ? right.op : left.op;
    return !reaches(low, 1) && !reaches(high, -1);
}
