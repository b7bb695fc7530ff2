/* Faults of an evaluation: the bound of its steps, and why it failed, for people. */
#include "expr/eval.h"

#define SHOWN_EXPR_MAX 120 /* bytes of an expression in a message: one line */

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

struct mg_slice mg_expr_span(const struct mg_expr *expr, int node)
{
    const struct mg_expr_node *of = &expr->nodes[node];
    return (struct mg_slice){expr->text.data + of->begin, (size_t)(of->end - of->begin)};
}

struct mg_slice mg_expr_cut(struct mg_slice text, size_t max)
{
    if (text.len > max) {
        text.len = max;
        while (text.len > 0 && (text.data[text.len] & 0xc0) == 0x80) {
            text.len--;
        }
    }
    return text;
}

static struct mg_slice shown(const struct mg_expr *expr, int node)
{
    return mg_expr_cut(mg_expr_span(expr, node), 60);
}

static const char *needed_form(enum mg_expr_type type)
{
    return type == MG_EXPR_OBJECT ? "; only an object has members" : "";
}

static void write_reason(const struct mg_expr_run *run, struct mg_buf *text)
{
    const struct mg_expr_fault *fault = &run->fault;
    struct mg_slice at = shown(fault->expr, fault->node), name = mg_expr_cut(fault->name, 60);

    switch (fault->kind) {
    case MG_EXPR_FAULT_STEPS:
        mg_buf_printf(text, "takes more than %d steps", run->steps_max);
        if (run->loop_expr != NULL) {
            struct mg_slice list = shown(run->loop_expr, run->loop_expr->nodes[run->loop_node].a);
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
    struct mg_slice whole = mg_expr_cut(expr->text, SHOWN_EXPR_MAX);

    mg_buf_init_fixed(&text, memory, sizeof(memory));
    write_reason(run, &text);
    mg_buf_printf(&text, " (%.*s%s)", (int)whole.len, whole.data, whole.len < expr->text.len ? "…" : "");
    mg_expr_line(memory);
    return mg_err_set(err, MG_PERMANENT, "column %d: %s",
                      mg_expr_column(expr->text, expr->nodes[run->fault.node].at), memory);
}
