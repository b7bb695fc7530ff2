/* Texts for people: why an evaluation failed, and why a condition was true or false. */
#include <stdio.h>
#include <string.h>

#include "expr/eval.h"

#define SHOWN_EXPR_MAX 120  /* bytes of an expression in a message: one line */
#define REASON_MAX     1000 /* bytes of a reason before it is cut: it goes into an event row */

static struct mg_slice span(const struct mg_expr *expr, int node)
{
    const struct mg_expr_node *of = &expr->nodes[node];
    return (struct mg_slice){expr->text.data + of->begin, (size_t)(of->end - of->begin)};
}

static struct mg_slice cut(struct mg_slice text, size_t max)
{
    if (text.len > max) {
        text.len = max;
        while (text.len > 0 && (text.data[text.len] & 0xc0) == 0x80) {
            text.len--;
        }
    }
    return text;
}

/* ---- faults ---- */

static const char *needed_form(enum mg_expr_type type)
{
    return type == MG_EXPR_OBJECT ? "; only an object has members" : "";
}

static void write_reason(const struct mg_expr_run *run, struct mg_buf *text)
{
    const struct mg_expr_fault *fault = &run->fault;
    struct mg_slice at = cut(span(fault->expr, fault->node), 60), name = cut(fault->name, 60);

    switch (fault->kind) {
    case MG_EXPR_FAULT_STEPS:
        mg_buf_printf(text, "takes more than %d steps", run->steps_max);
        if (run->loop_expr != NULL) {
            struct mg_slice list = cut(span(run->loop_expr, run->loop_expr->nodes[run->loop_node].a), 60);
            mg_buf_printf(text, "; the loop over %.*s was at its element %d", (int)list.len, list.data,
                          run->loop_count);
        }
        break;
    case MG_EXPR_FAULT_DEEP:
        mg_buf_printf(text, "values nested more than %d deep", MG_EXPR_RUN_MAX);
        break;
    case MG_EXPR_FAULT_NAME:
        mg_buf_printf(text, "%.*s is not there; has() asks for it", (int)at.len, at.data);
        break;
    case MG_EXPR_FAULT_UNREADABLE:
        mg_buf_printf(text, "%.*s cannot be read: %.*s", (int)at.len, at.data, (int)fault->name.len,
                      fault->name.data);
        break;
    case MG_EXPR_FAULT_MEMBER:
        mg_buf_printf(text, "there is no member \"%.*s\"", (int)name.len, name.data);
        break;
    case MG_EXPR_FAULT_INDEX:
        mg_buf_printf(text, "%.*s: there is no such element; the first one is 0", (int)at.len, at.data);
        break;
    case MG_EXPR_FAULT_TYPE:
        mg_buf_printf(text, "%.*s has %s where %s is needed%s", (int)at.len, at.data,
                      mg_expr_type_name(fault->left), mg_expr_type_name(fault->right),
                      needed_form(fault->right));
        break;
    case MG_EXPR_FAULT_TYPES:
        mg_buf_printf(text, "%.*s has %s and %s, which do not go together", (int)at.len, at.data,
                      mg_expr_type_name(fault->left), mg_expr_type_name(fault->right));
        break;
    case MG_EXPR_FAULT_DIGITS:
        mg_buf_printf(text, "%.*s: more than %d digits", (int)at.len, at.data, MG_DECIMAL_DIGITS);
        break;
    case MG_EXPR_FAULT_ZERO:
        mg_buf_printf(text, "%.*s: a division by zero", (int)at.len, at.data);
        break;
    case MG_EXPR_FAULT_PLACES:
        mg_buf_printf(text, "%.*s: the places are a whole number from 0 to %d", (int)at.len, at.data,
                      MG_DECIMAL_READ_DIGITS);
        break;
    case MG_EXPR_FAULT_ROOM:
        mg_buf_printf(text, "texts made here are above %d bytes", MG_EXPR_ROOM_BYTES);
        break;
    case MG_EXPR_FAULT_TIME:
        mg_buf_printf(text,
                      "\"%.*s\" is no time; RFC 3339 is needed, in UTC of the years 1 to 9999: "
                      "2026-01-31T12:34:56Z",
                      (int)name.len, name.data);
        break;
    case MG_EXPR_FAULT_DURATION:
        mg_buf_printf(text, "\"%.*s\" is no duration; a number and d, h, m, s or ms are needed: 1h30m",
                      (int)name.len, name.data);
        break;
    case MG_EXPR_FAULT_MOMENT:
        mg_buf_printf(text, "%.*s is beyond the years 1 to 9999", (int)at.len, at.data);
        break;
    case MG_EXPR_FAULT_LIST:
    case MG_EXPR_FAULT_NONE:
        mg_buf_append_text(text, "a list written here is no result; it stands behind \"in\" or in a "
                                 "comparison");
        break;
    }
}

enum mg_class mg_expr_fault_text(const struct mg_expr_run *run, struct mg_err *err)
{
    const struct mg_expr *expr = run->fault.expr;
    char memory[MG_EXPR_MESSAGE_SIZE];
    struct mg_buf text;
    struct mg_slice whole = cut(expr->text, SHOWN_EXPR_MAX);

    mg_buf_init_fixed(&text, memory, sizeof(memory));
    write_reason(run, &text);
    mg_buf_printf(&text, " (%.*s%s)", (int)whole.len, whole.data, whole.len < expr->text.len ? "…" : "");
    mg_expr_line(memory);
    return mg_err_set(err, MG_PERMANENT, "column %d: %s",
                      mg_expr_column(expr->text, expr->nodes[run->fault.node].at), memory);
}

/* ---- reasons ---- */

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
    mg_buf_append_slice(reason->text, span(reason->run->frame->expr, node));
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
        whole = cut(whole, max > 3 ? max - 3 : 0);
        mg_buf_append_slice(ret_text, whole);
        mg_buf_append_text(ret_text, max > 3 ? "…" : "");
        return;
    }
    mg_buf_append_slice(ret_text, whole);
}
