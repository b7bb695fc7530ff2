/* The names that an expression refers to, each with the conditions that hold wherever its value is needed. */

#include "expr/tree.h"

#define FACTS_MAX 64 /* known at one place; more are left out, which only asks for a guard too many */

struct walk {
    const struct mg_expr *expr;
    void (*seen)(void *arg, const struct mg_expr_reference *reference);
    void *arg;
    struct mg_expr_fact facts[FACTS_MAX];
    int fact_count;
    int doubt; /* so many nodes above may have a result without the visited one */
};

static const struct mg_expr_node *node_of(const struct walk *walk, int node)
{
    return &walk->expr->nodes[node];
}

/* The root below members and constant indexes; NONE if the value is computed. */
static int root_below(const struct walk *walk, int node)
{
    for (;;) {
        const struct mg_expr_node *of = node_of(walk, node);
        if (of->op == MG_OP_ROOT) {
            return node;
        }
        bool is_path =
            of->op == MG_OP_MEMBER || (of->op == MG_OP_INDEX && node_of(walk, of->b)->op == MG_OP_LITERAL);
        if (!is_path) {
            return MG_EXPR_NONE;
        }
        node = of->a;
    }
}

static struct mg_slice path_of(const struct walk *walk, int root, int node)
{
    const struct mg_expr_node *from = node_of(walk, root), *to = node_of(walk, node);
    size_t len = to->end > from->end ? (size_t)(to->end - from->end) : 0;
    return (struct mg_slice){walk->expr->text.data + from->end, len};
}

/* ---- facts ---- */

static void add_fact(struct walk *walk, struct mg_expr_fact fact, int node)
{
    int root = root_below(walk, node);
    if (root == MG_EXPR_NONE || walk->fact_count == FACTS_MAX) {
        return;
    }
    fact.root = node_of(walk, root)->value;
    fact.member = node_of(walk, root)->member;
    fact.path = path_of(walk, root, node);
    walk->facts[walk->fact_count++] = fact;
}

static void add_equality(struct walk *walk, const struct mg_expr_node *of, bool is_negated)
{
    for (int i = 0; i < 2; i++) {
        int name = i == 0 ? of->a : of->b, other = i == 0 ? of->b : of->a;
        const struct mg_expr_node *literal = node_of(walk, other);
        if (literal->op == MG_OP_LITERAL && literal->type == MG_EXPR_TEXT) {
            add_fact(walk,
                     (struct mg_expr_fact){.is_negated = is_negated,
                                           .text = walk->expr->literals[literal->value].text},
                     name);
        }
    }
}

/* Adds the facts that follow from `node` being `is_true`. */
static void assume(struct walk *walk, int node, bool is_true)
{
    const struct mg_expr_node *of = node_of(walk, node);
    if (of->op == MG_OP_NOT) {
        assume(walk, of->a, !is_true);
    } else if (of->op == (is_true ? MG_OP_AND : MG_OP_OR)) {
        assume(walk, of->a, is_true);
        assume(walk, of->b, is_true);
    } else if (of->op == MG_OP_HAS && is_true) {
        add_fact(walk, (struct mg_expr_fact){.is_has = true}, of->a);
    } else if (of->op == MG_OP_EQUAL || of->op == MG_OP_UNEQUAL) {
        add_equality(walk, of, (of->op == MG_OP_EQUAL) != is_true);
    }
}

/* ---- references ---- */

static void report(struct walk *walk, int root, int node, bool is_asked)
{
    const struct mg_expr_node *of = node_of(walk, root);
    struct mg_expr_reference reference = {.root = of->value,
                                          .member = of->member,
                                          .column = mg_expr_column(walk->expr->text, of->begin),
                                          .path = path_of(walk, root, node),
                                          .is_asked = is_asked,
                                          .is_certain = walk->doubt == 0 && !is_asked,
                                          .facts = walk->facts,
                                          .fact_count = walk->fact_count,
                                          .expr = walk->expr,
                                          .node = node};
    walk->seen(walk->arg, &reference);
}

static void visit(struct walk *walk, int node);

/* `other` is `is_true` wherever the value of `node` counts. */
static void visit_given(struct walk *walk, int node, int other, bool is_true)
{
    int mark = walk->fact_count;
    assume(walk, other, is_true);
    walk->doubt++;
    visit(walk, node);
    walk->doubt--;
    walk->fact_count = mark;
}

/* The body of a macro counts only for a list with elements. */
static void visit_macro(struct walk *walk, const struct mg_expr_node *macro)
{
    visit(walk, macro->a);
    walk->doubt++;
    visit(walk, macro->b);
    walk->doubt--;
}

/* has(a.b.c) asks for c and needs a.b. */
static void visit_has(struct walk *walk, const struct mg_expr_node *has)
{
    const struct mg_expr_node *asked = node_of(walk, has->a);
    int root = root_below(walk, has->a);
    if (root == MG_EXPR_NONE) {
        visit(walk, asked->a);
        return;
    }
    report(walk, root, has->a, true);
    if (root != has->a && node_of(walk, root)->member != MG_EXPR_NONE) {
        visit(walk, asked->a); /* the member of a root must be there for the rest to be asked */
    }
}

static void visit_list(struct walk *walk, const struct mg_expr_node *list)
{
    for (int i = list->a; i != MG_EXPR_NONE; i = node_of(walk, i)->next) {
        visit(walk, i);
    }
}

static void visit(struct walk *walk, int node)
{
    const struct mg_expr_node *of = node_of(walk, node);
    int root = root_below(walk, node);

    if (root != MG_EXPR_NONE) {
        report(walk, root, node, false);
        return;
    }
    if (of->op == MG_OP_HAS) {
        visit_has(walk, of);
        return;
    }
    if (of->op == MG_OP_LIST) {
        visit_list(walk, of);
        return;
    }
    if (of->op == MG_OP_AND || of->op == MG_OP_OR) {
        visit_given(walk, of->a, of->b, of->op == MG_OP_AND);
        visit_given(walk, of->b, of->a, of->op == MG_OP_AND);
        return;
    }
    if (of->op == MG_OP_CONDITIONAL) {
        visit(walk, of->a);
        visit_given(walk, of->b, of->a, true);
        visit_given(walk, of->c, of->a, false);
        return;
    }
    if (of->op >= MG_OP_ALL) {
        visit_macro(walk, of);
        return;
    }
    const int16_t children[] = {of->a, of->b, of->c};
    for (int i = 0; i < 3; i++) {
        if (children[i] != MG_EXPR_NONE) {
            visit(walk, children[i]);
        }
    }
}

void mg_expr_references(const struct mg_expr *expr,
                        void (*seen)(void *arg, const struct mg_expr_reference *reference), void *arg)
{
    struct walk walk = {.expr = expr, .seen = seen, .arg = arg};
    visit(&walk, expr->root);
}

void mg_expr_facts(const struct mg_expr *expr, void (*seen)(void *arg, const struct mg_expr_fact *),
                   void *arg)
{
    struct walk walk = {.expr = expr};
    assume(&walk, expr->root, true);
    for (int i = 0; i < walk.fact_count; i++) {
        seen(arg, &walk.facts[i]);
    }
}

/* ---- pointers ---- */

static void append_escaped(struct mg_buf *pointer, const char *name, size_t len)
{
    mg_buf_append(pointer, "/", 1);
    for (size_t i = 0; i < len; i++) {
        bool is_special = name[i] == '~' || name[i] == '/';
        mg_buf_append_text(pointer, is_special ? "~" : "");
        mg_buf_append(pointer, !is_special ? &name[i] : name[i] == '~' ? "0" : "1", 1);
    }
}

/* A path is no higher than its expression (MG_EXPR_HEIGHT_MAX). */
static void append_path(const struct mg_expr *expr, int node, struct mg_buf *pointer)
{
    const struct mg_expr_node *of = &expr->nodes[node];
    if (of->op == MG_OP_ROOT) {
        return;
    }
    append_path(expr, of->a, pointer);
    if (of->op == MG_OP_MEMBER) {
        append_escaped(pointer, expr->names + of->name, of->name_len);
        return;
    }
    const struct mg_expr_value *index = &expr->literals[expr->nodes[of->b].value];
    if (index->type == MG_EXPR_TEXT) {
        append_escaped(pointer, index->text.data, index->text.len);
    } else {
        mg_buf_printf(pointer, "/%d", mg_decimal_index(index->number, INT32_MAX));
    }
}

void mg_expr_reference_pointer(const struct mg_expr_reference *reference, struct mg_buf *ret_pointer)
{
    append_path(reference->expr, reference->node, ret_pointer);
}
