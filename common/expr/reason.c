/* Why a condition was true or false, for people. */
#include "expr/eval.h"

#define REASON_MAX 1000 /* bytes of a reason before it is cut: it goes into an event row */

struct reason {
    struct mg_expr_run *run;
    struct mg_buf *text;
    bool is_first;
};

static void begin_part(struct reason *reason)
{
    if (!reason->is_first) {
        mg_buf_append_text(reason->text, ", ");
    }
    reason->is_first = false;
}

static void append_span(struct reason *reason, int node)
{
    mg_buf_append_slice(reason->text, mg_expr_span(reason->run->frame->expr, node));
}

static void append_value(struct reason *reason, int node)
{
    struct mg_expr_value value;
    if (mg_expr_run_node(reason->run, node, &value)) {
        mg_expr_show(&value, reason->text);
    } else {
        mg_buf_append_text(reason->text, "?");
    }
    reason->run->room->used = 0;
}

static bool is_comparison(enum mg_expr_op op)
{
    return op == MG_OP_EQUAL || op == MG_OP_UNEQUAL || op == MG_OP_LESS || op == MG_OP_LESS_EQUAL ||
           op == MG_OP_MORE || op == MG_OP_MORE_EQUAL;
}

/* "payload.total > 500.00 was 65.00 > 500.00", "payload.express was false". */
static void add_leaf(struct reason *reason, int node, bool is_true)
{
    const struct mg_expr *expr = reason->run->frame->expr;
    const struct mg_expr_node *of = &expr->nodes[node];
    enum mg_expr_op op = (enum mg_expr_op)of->op;

    begin_part(reason);
    append_span(reason, node);
    if (op == MG_OP_LITERAL) {
        return;
    }
    mg_buf_append_text(reason->text, " was ");
    if (!is_comparison(op) && op != MG_OP_IN) {
        mg_buf_append_text(reason->text, is_true ? "true" : "false");
        return;
    }
    append_value(reason, of->a);
    size_t len = op == MG_OP_LESS || op == MG_OP_MORE ? 1 : 2;
    mg_buf_append_text(reason->text, op == MG_OP_IN && is_true ? " " : op == MG_OP_IN ? ", not " : " ");
    mg_buf_append(reason->text, expr->text.data + of->at, len);
    mg_buf_append_text(reason->text, " ");
    if (op == MG_OP_IN && expr->nodes[of->b].op == MG_OP_LIST) {
        append_span(reason, of->b);
    } else {
        append_value(reason, of->b);
    }
}

/* Adds the parts that decided, and returns the result. Depth is the tree's. */
static bool add_reason(struct reason *reason, int node, bool *ret_is_true)
{
    const struct mg_expr_node *of = &reason->run->frame->expr->nodes[node];
    enum mg_expr_op op = (enum mg_expr_op)of->op;
    bool left, right;

    if (!mg_expr_run_boolean(reason->run, node, ret_is_true)) {
        return false;
    }
    reason->run->room->used = 0;
    if (op == MG_OP_NOT) {
        return add_reason(reason, of->a, &left);
    }
    if (op == MG_OP_CONDITIONAL) {
        return add_reason(reason, of->a, &left) && add_reason(reason, left ? of->b : of->c, &right);
    }
    if (op != MG_OP_AND && op != MG_OP_OR) {
        add_leaf(reason, node, *ret_is_true);
        return true;
    }
    bool decider = op == MG_OP_OR;
    if (*ret_is_true != decider) { /* both sides were needed */
        return add_reason(reason, of->a, &left) && add_reason(reason, of->b, &right);
    }
    bool is_left = mg_expr_run_boolean(reason->run, of->a, &left) && left == decider;
    return add_reason(reason, is_left ? of->a : of->b, &left);
}

void mg_expr_explain(const struct mg_expr *expr, const struct mg_expr_scope *scope, struct mg_expr_room *room,
                     size_t max, struct mg_buf *ret_text)
{
    struct mg_expr_frame frame;
    struct mg_expr_run run;
    struct mg_buf text;
    struct reason reason = {&run, &text, true};
    char memory[REASON_MAX + 1];
    bool is_true;

    max = max < REASON_MAX ? max : REASON_MAX;
    mg_expr_run_begin(&run, &frame, expr, scope, room);
    mg_buf_init_fixed(&text, memory, sizeof(memory));
    if (!add_reason(&reason, expr->root, &is_true) && !text.failed) {
        return;
    }
    if (text.len > 0) {
        mg_expr_line(memory);
    }
    struct mg_slice whole = mg_buf_slice(&text);
    if (text.failed || whole.len > max) {
        whole = mg_expr_cut(whole, max > 3 ? max - 3 : 0);
        mg_buf_append_slice(ret_text, whole);
        mg_buf_append_text(ret_text, max > 3 ? "…" : "");
        return;
    }
    mg_buf_append_slice(ret_text, whole);
}
