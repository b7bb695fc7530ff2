/* Lists and objects: walking, equality, `in`, size and the macros. An element of JSON is read where it lies;
 * an element of a list in the expression is evaluated each time it is met. */
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

/* ---- walking ---- */

void mg_expr_cursor_begin(struct mg_expr_cursor *cursor, const struct mg_expr_value *list)
{
    *cursor = (struct mg_expr_cursor){.expr = list->list_of, .node = MG_EXPR_NONE};
    if (list->list_of != NULL) {
        cursor->node = list->list_of->nodes[list->list_node].a;
    } else {
        mg_json_walk_begin(&cursor->walk, list->text);
    }
}

/* A list that a value holds is evaluated as that value's; no variable reaches it. */
static bool run_element(struct mg_expr_run *run, const struct mg_expr *expr, int node,
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

int mg_expr_cursor_next(struct mg_expr_run *run, struct mg_expr_cursor *cursor, struct mg_expr_value *ret)
{
    if (cursor->expr != NULL) {
        int node = cursor->node;
        if (node == MG_EXPR_NONE) {
            return 0;
        }
        cursor->node = cursor->expr->nodes[node].next;
        return run_element(run, cursor->expr, node, ret) ? 1 : -1;
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

/* Every element is evaluated once, since a fault in one is a fault of the list. */
bool mg_expr_run_list(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
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
    struct mg_json_walk walk;
    struct mg_slice name, json;
    *ret_count = 0;
    if (whole->list_of != NULL) {
        const struct mg_expr_node *nodes = whole->list_of->nodes;
        for (int i = nodes[whole->list_node].a; i != MG_EXPR_NONE; i = nodes[i].next) {
            (*ret_count)++;
        }
        return true;
    }
    mg_json_walk_begin(&walk, whole->text);
    for (const char *from = walk.at; mg_json_walk_next(&walk, &name, &json); from = walk.at) {
        if (!mg_expr_spend(run, MG_EXPR_STEP + (size_t)(walk.at - from))) {
            return false;
        }
        (*ret_count)++;
    }
    return true;
}

bool mg_expr_run_size(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
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

static bool equal_lists(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                        const struct mg_expr_value *b, bool *ret)
{
    struct mg_expr_cursor left, right;
    struct mg_expr_value x, y;
    size_t mark = run->room->used;
    mg_expr_cursor_begin(&left, a);
    mg_expr_cursor_begin(&right, b);
    for (*ret = true; *ret; run->room->used = mark) {
        int more_left = mg_expr_cursor_next(run, &left, &x);
        int more_right = more_left < 0 ? -1 : mg_expr_cursor_next(run, &right, &y);
        if (more_left < 0 || more_right < 0) {
            return false;
        }
        if (more_left == 0 || more_right == 0) {
            *ret = more_left == more_right;
            return true;
        }
        if (!mg_expr_equal(run, node, &x, &y, false, ret)) {
            return false;
        }
    }
    return true;
}

static bool equal_objects(struct mg_expr_run *run, int node, struct mg_slice a, struct mg_slice b, bool *ret)
{
    struct mg_json_walk walk;
    struct mg_slice quoted, json;
    struct mg_expr_value left = {.text = a}, right = {.text = b};
    int count, other;
    if (!count_elements(run, &left, &count) || !count_elements(run, &right, &other)) {
        return false;
    }
    *ret = count == other;
    mg_json_walk_begin(&walk, a);
    while (*ret && mg_json_walk_next(&walk, &quoted, &json)) {
        struct mg_expr_value name = mg_expr_value_of(quoted);
        struct mg_slice found = mg_expr_run_member(run, b, &name);
        if (run->is_over || !mg_expr_spend(run, 2 * MG_EXPR_STEP + quoted.len + json.len)) {
            return false;
        }
        *ret = found.data != NULL;
        if (*ret) {
            struct mg_expr_value x = mg_expr_value_of(json), y = mg_expr_value_of(found);
            if (!mg_expr_equal(run, node, &x, &y, false, ret)) {
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

bool mg_expr_equal(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
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

/* ---- in ---- */

bool mg_expr_run_in(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_cursor cursor;
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
        struct mg_slice found = mg_expr_run_member(run, whole.text, &wanted);
        return !run->is_over && give_boolean(ret, found.data != NULL);
    }
    if (whole.type != MG_EXPR_LIST) {
        return mg_expr_fault_type(run, node, whole.type, MG_EXPR_LIST);
    }
    size_t mark = run->room->used;
    mg_expr_cursor_begin(&cursor, &whole);
    while (!is_equal && (more = mg_expr_cursor_next(run, &cursor, &element)) != 0) {
        if (more < 0 || !mg_expr_equal(run, node, &wanted, &element, false, &is_equal)) {
            return false;
        }
        run->room->used = mark;
    }
    return give_boolean(ret, is_equal);
}

/* ---- macros ---- */

/* One element of all() or exists(): true when it decides. A fault stays until the end, as next to && and ||.
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

static bool run_quantor(struct mg_expr_run *run, int node, struct mg_expr_cursor *cursor,
                        struct mg_expr_value *ret, int *ret_count)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_fault first = {.kind = MG_EXPR_FAULT_NONE};
    struct mg_expr_frame *frame = run->frame;
    bool decider = of->op == MG_OP_EXISTS, is_decided = false;
    size_t mark = run->room->used;
    int more = 1;

    while (!is_decided && (more = mg_expr_cursor_next(run, cursor, &frame->variables[of->value])) > 0) {
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

static bool run_sum(struct mg_expr_run *run, int node, struct mg_expr_cursor *cursor,
                    struct mg_expr_value *ret, int *ret_count)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_frame *frame = run->frame;
    struct mg_decimal sum = {0, 0};
    size_t mark = run->room->used;
    int more;

    while ((more = mg_expr_cursor_next(run, cursor, &frame->variables[of->value])) > 0) {
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

bool mg_expr_run_loop(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_cursor cursor;
    struct mg_expr_value list;
    int count = 0;

    if (!mg_expr_run_node(run, of->a, &list)) {
        return false;
    }
    if (list.type != MG_EXPR_LIST) {
        return mg_expr_fault_type(run, node, list.type, MG_EXPR_LIST);
    }
    mg_expr_cursor_begin(&cursor, &list);
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
