/* Parts of a condition that are the same for every order: constants, a comparison of a value with itself, and
 * opposites next to ||. Each is a slip of its author. */

#include "expr/tree.h"
#include "workflow/expressions.h"
#include "workflow/step_guard.h"

#define DISJUNCTS_MAX 32 /* more of them in a row are not compared */

struct constants {
    const struct mg_expr *expr;
    const char *pointer, *never; /* the effect of a condition that is never true */
    struct mg_slice quoted;
    struct mg_json_faults *faults;
};

static const struct mg_expr_node *node_of(const struct constants *constants, int node)
{
    return &constants->expr->nodes[node];
}

static bool is_constant(const struct constants *constants, int node)
{
    const struct mg_expr_node *of = node_of(constants, node);
    const int16_t parts[] = {of->a, of->b, of->c, of->next};
    if (of->op == MG_OP_ROOT || of->op == MG_OP_VARIABLE) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if (parts[i] != MG_EXPR_NONE && !is_constant(constants, parts[i])) {
            return false;
        }
    }
    return true;
}

static const char *at(const struct constants *constants, int node)
{
    return mg_workflow_expr_at(constants->quoted,
                               mg_expr_column(constants->expr->text, node_of(constants, node)->begin));
}

static int len_of(const struct constants *constants, int node)
{
    return node_of(constants, node)->end - node_of(constants, node)->begin;
}

static const char *text_of(const struct constants *constants, int node)
{
    return constants->expr->text.data + node_of(constants, node)->begin;
}

static struct mg_expr_found find_nothing(void *arg, int root, int member)
{
    (void)arg;
    (void)root;
    (void)member;
    return (struct mg_expr_found){.expr = NULL};
}

/* `is_decisive`: the whole is false where this part is. */
static void refuse(const struct constants *constants, int node, bool is_true, bool is_decisive)
{
    mg_json_fault_at(constants->faults, MG_BAD_INPUT, constants->pointer, at(constants, node),
                     "always %s: %.*s; %s", is_true ? "true" : "false", len_of(constants, node),
                     text_of(constants, node), is_true || !is_decisive ? "leave it out" : constants->never);
}

static void refuse_constant(const struct constants *constants, int node, bool is_decisive)
{
    const struct mg_expr_scope scope = {.find = find_nothing};
    struct mg_expr part = *constants->expr;
    struct mg_expr_room room;
    struct mg_err err;
    bool is_true = false;

    part.root = node;
    room.used = 0;
    if (mg_expr_decide(&part, &scope, &room, &is_true, &err) == MG_OK) {
        refuse(constants, node, is_true, is_decisive);
    } else {
        mg_json_fault_at(constants->faults, MG_BAD_INPUT, constants->pointer, at(constants, node),
                         "an error for every order: %s", err.text);
    }
}

static void check_leaf(const struct constants *constants, int node, bool is_decisive)
{
    const struct mg_expr_node *of = node_of(constants, node);
    bool is_comparison = of->op >= MG_OP_EQUAL && of->op <= MG_OP_MORE_EQUAL;
    if (is_constant(constants, node)) {
        refuse_constant(constants, node, is_decisive);
    } else if (is_comparison && mg_expr_is_same(constants->expr, of->a, constants->expr, of->b)) {
        bool is_true = of->op == MG_OP_EQUAL || of->op == MG_OP_LESS_EQUAL || of->op == MG_OP_MORE_EQUAL;
        refuse(constants, node, is_true, is_decisive);
    }
}

static void add_disjuncts(const struct constants *constants, int node, int disjuncts[DISJUNCTS_MAX],
                          int *count)
{
    const struct mg_expr_node *of = node_of(constants, node);
    if (of->op == MG_OP_OR) {
        add_disjuncts(constants, of->a, disjuncts, count);
        add_disjuncts(constants, of->b, disjuncts, count);
    } else if (*count < DISJUNCTS_MAX) {
        disjuncts[(*count)++] = node;
    }
}

static void check_disjuncts(const struct constants *constants, int node)
{
    int disjuncts[DISJUNCTS_MAX], count = 0;
    add_disjuncts(constants, node, disjuncts, &count);
    for (int i = 0; i < count; i++) {
        for (int k = i + 1; k < count; k++) {
            if (mg_expr_is_opposite(constants->expr, disjuncts[i], constants->expr, disjuncts[k])) {
                mg_json_fault_at(constants->faults, MG_BAD_INPUT, constants->pointer,
                                 at(constants, disjuncts[k]),
                                 "always true: %.*s and %.*s are opposites, and one of them holds",
                                 len_of(constants, disjuncts[i]), text_of(constants, disjuncts[i]),
                                 len_of(constants, disjuncts[k]), text_of(constants, disjuncts[k]));
                return;
            }
        }
    }
}

/* A chosen value of ?: may be a constant. */
static void check_part(const struct constants *constants, int node, bool is_decisive, bool is_within_or)
{
    const struct mg_expr_node *of = node_of(constants, node);
    bool is_whole = is_constant(constants, node);

    if (!is_whole && of->op == MG_OP_OR && !is_within_or) {
        check_disjuncts(constants, node);
    }
    if (!is_whole && (of->op == MG_OP_AND || of->op == MG_OP_OR)) {
        bool is_and = of->op == MG_OP_AND;
        check_part(constants, of->a, is_decisive && is_and, !is_and);
        check_part(constants, of->b, is_decisive && is_and, !is_and);
    } else if (!is_whole && of->op == MG_OP_NOT) {
        check_part(constants, of->a, false, false);
    } else if (!is_whole && of->op == MG_OP_CONDITIONAL) {
        check_part(constants, of->a, false, false);
        for (int i = 0; i < 2; i++) {
            int chosen = i == 0 ? of->b : of->c;
            if (!is_constant(constants, chosen)) {
                check_part(constants, chosen, false, false);
            }
        }
    } else {
        check_leaf(constants, node, is_decisive);
    }
}

void mg_workflow_constants_check(const struct mg_expr *expr, const char *pointer, struct mg_slice quoted,
                                 const char *never, struct mg_json_faults *faults)
{
    const struct constants constants = {
        .expr = expr, .pointer = pointer, .never = never, .quoted = quoted, .faults = faults};
    check_part(&constants, expr->root, true, false);
}
