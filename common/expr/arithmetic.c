/* Numbers, texts and times: the operators and functions over them. Texts that are made lie in the room.
 */
#include <string.h>

#include "expr/eval.h"

/* Nodes that take longer than others, in steps (measured: no evaluation takes a millisecond). */
#define DIVIDE_STEPS 16
#define STRING_STEPS 2

static const struct mg_expr_node *node_of(const struct mg_expr_run *run, int node)
{
    return &run->frame->expr->nodes[node];
}

static bool give_number(struct mg_expr_run *run, int node, struct mg_expr_value *ret, bool fits,
                        struct mg_decimal number)
{
    *ret = (struct mg_expr_value){.type = MG_EXPR_NUMBER, .number = number};
    return fits || mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
}

static bool needs_number(struct mg_expr_run *run, int node, const struct mg_expr_value *value)
{
    if (value->type != MG_EXPR_NUMBER) {
        return mg_expr_fault_type(run, node, value->type, MG_EXPR_NUMBER);
    }
    return !value->is_wide || mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
}

static bool run_number(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    return mg_expr_run_node(run, node, ret) && needs_number(run, node, ret);
}

static bool run_text(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    return mg_expr_run_node(run, node, ret) &&
           (ret->type == MG_EXPR_TEXT || mg_expr_fault_type(run, node, ret->type, MG_EXPR_TEXT));
}

/* Puts a text at the end of the room, as it reads. */
static bool keep_text(struct mg_expr_run *run, int node, const struct mg_expr_value *text,
                      struct mg_expr_value *ret)
{
    struct mg_expr_room *room = run->room;
    char *to = room->bytes + room->used;
    size_t len;
    if (!mg_expr_spend(run, text->text.len)) {
        return false;
    }
    if (!mg_expr_text_copy(text, to, sizeof(room->bytes) - room->used, &len)) {
        return mg_expr_fault(run, MG_EXPR_FAULT_ROOM, node);
    }
    room->used += len;
    *ret = (struct mg_expr_value){.type = MG_EXPR_TEXT, .text = {to, len}};
    return true;
}

/* The left text is kept in the room, if it is not there already, and the right one after it. */
static bool run_join(struct mg_expr_run *run, int node, const struct mg_expr_value *left,
                     struct mg_expr_value *ret)
{
    struct mg_expr_value first = *left, second;
    struct mg_expr_room *room = run->room;
    bool is_last = first.text.data + first.text.len == room->bytes + room->used; /* only a text in the room */
    if (!is_last && !keep_text(run, node, left, &first)) {
        return false;
    }
    size_t end = room->used;
    if (!mg_expr_run_node(run, node_of(run, node)->b, &second)) {
        return false;
    }
    if (second.type != MG_EXPR_TEXT) {
        return mg_expr_fault_types(run, node, left, &second);
    }
    room->used = end; /* a second text that was made lies there already */
    struct mg_expr_value behind;
    if (!keep_text(run, node, &second, &behind)) {
        return false;
    }
    *ret = first;
    ret->text.len += behind.text.len;
    return true;
}

static bool give_moment(struct mg_expr_value *ret, enum mg_expr_type type, mg_int128 ns)
{
    *ret = (struct mg_expr_value){.type = type, .number = {ns, 0}};
    return true;
}

static bool add_moments(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                        const struct mg_expr_value *b, struct mg_expr_value *ret)
{
    mg_int128 left = a->number.coefficient, right = b->number.coefficient;
    bool is_sum = node_of(run, node)->op == MG_OP_ADD;
    char text[MG_EXPR_TIME_TEXT_SIZE];

    if (a->type == MG_EXPR_DURATION && b->type == MG_EXPR_DURATION) {
        return give_moment(ret, MG_EXPR_DURATION, is_sum ? left + right : left - right);
    }
    if (!is_sum && a->type == MG_EXPR_TIME && b->type == MG_EXPR_TIME) {
        return give_moment(ret, MG_EXPR_DURATION, left - right);
    }
    bool is_time = (a->type == MG_EXPR_TIME && b->type == MG_EXPR_DURATION) ||
                   (is_sum && a->type == MG_EXPR_DURATION && b->type == MG_EXPR_TIME);
    if (!is_time) {
        return mg_expr_fault_types(run, node, a, b);
    }
    (void)give_moment(ret, MG_EXPR_TIME, is_sum ? left + right : left - right);
    return mg_expr_time_write(ret->number.coefficient, text) > 0 ||
           mg_expr_fault(run, MG_EXPR_FAULT_MOMENT, node);
}

bool mg_expr_run_arithmetic(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value a, b;
    struct mg_decimal number = {0, 0};
    bool fits;

    if (!mg_expr_run_node(run, of->a, &a)) {
        return false;
    }
    if (of->op == MG_OP_ADD && a.type == MG_EXPR_TEXT) {
        return run_join(run, node, &a, ret);
    }
    if (!mg_expr_run_node(run, of->b, &b)) {
        return false;
    }
    if (a.type != MG_EXPR_NUMBER || b.type != MG_EXPR_NUMBER) {
        return of->op != MG_OP_MULTIPLY ? add_moments(run, node, &a, &b, ret)
                                        : mg_expr_fault_types(run, node, &a, &b);
    }
    if (a.is_wide || b.is_wide) {
        return mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
    }
    if (of->op == MG_OP_MULTIPLY) {
        fits = mg_decimal_multiply(a.number, b.number, &number);
    } else if (of->op == MG_OP_ADD) {
        fits = mg_decimal_add(a.number, b.number, &number);
    } else {
        fits = mg_decimal_subtract(a.number, b.number, &number);
    }
    return give_number(run, node, ret, fits, number);
}

bool mg_expr_run_negate(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value value;
    if (!run_number(run, node_of(run, node)->a, &value)) {
        return false;
    }
    value.number.coefficient = -value.number.coefficient;
    return give_number(run, node, ret, true, value.number);
}

/* The argument that counts digits after the point. */
static bool run_places(struct mg_expr_run *run, int node, int argument, int *ret)
{
    struct mg_expr_value value;
    if (!run_number(run, argument, &value)) {
        return false;
    }
    *ret = mg_decimal_index(value.number, MG_DECIMAL_READ_DIGITS);
    return *ret >= 0 || mg_expr_fault(run, MG_EXPR_FAULT_PLACES, node);
}

bool mg_expr_run_round(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value value;
    struct mg_decimal number = {0, 0};
    int places;
    if (!run_number(run, of->a, &value) || !run_places(run, node, of->b, &places)) {
        return false;
    }
    return give_number(run, node, ret, mg_decimal_round(value.number, places, &number), number);
}

bool mg_expr_run_divide(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value a, b;
    struct mg_decimal number = {0, 0};
    int places;
    if (!run_number(run, of->a, &a) || !run_number(run, of->b, &b) ||
        !run_places(run, node, of->c, &places) || !mg_expr_spend(run, DIVIDE_STEPS * MG_EXPR_STEP)) {
        return false;
    }
    if (b.number.coefficient == 0) {
        return mg_expr_fault(run, MG_EXPR_FAULT_ZERO, node);
    }
    return give_number(run, node, ret, mg_decimal_divide(a.number, b.number, places, &number), number);
}

bool mg_expr_run_string(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value value, made = {.type = MG_EXPR_TEXT};
    char text[MG_DECIMAL_TEXT_SIZE];
    struct mg_buf buf;
    if (!mg_expr_run_node(run, node_of(run, node)->a, &value) ||
        !mg_expr_spend(run, STRING_STEPS * MG_EXPR_STEP)) {
        return false;
    }
    if (value.type == MG_EXPR_TEXT) {
        *ret = value;
        return true;
    }
    if (value.type == MG_EXPR_NUMBER && value.text.data != NULL) {
        made.text = value.text;
        return keep_text(run, node, &made, ret);
    }
    mg_buf_init_fixed(&buf, text, sizeof(text));
    if (!mg_expr_write_text(&value, &buf)) {
        return mg_expr_fault_type(run, node, value.type, MG_EXPR_TEXT);
    }
    made.text = mg_buf_slice(&buf);
    return keep_text(run, node, &made, ret);
}

bool mg_expr_run_moment(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    struct mg_expr_value value;
    char text[MG_EXPR_TIME_TEXT_SIZE];
    size_t len = 0;
    mg_int128 ns;
    bool is_time = node_of(run, node)->op == MG_OP_TIME;
    if (!run_text(run, node_of(run, node)->a, &value) || !mg_expr_spend(run, STRING_STEPS * MG_EXPR_STEP)) {
        return false;
    }
    bool is_good = mg_expr_text_copy(&value, text, sizeof(text), &len);
    struct mg_slice plain = {text, len};
    is_good = is_good && (is_time ? mg_expr_time_read(plain, &ns) : mg_expr_duration_read(plain, &ns));
    if (!is_good) {
        (void)mg_expr_fault(run, is_time ? MG_EXPR_FAULT_TIME : MG_EXPR_FAULT_DURATION, node);
        run->fault.name = value.text;
        return false;
    }
    return give_moment(ret, is_time ? MG_EXPR_TIME : MG_EXPR_DURATION, ns);
}

bool mg_expr_run_text_test(struct mg_expr_run *run, int node, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_expr_value text, part;
    size_t passed = 0;
    bool result;
    if (!run_text(run, of->a, &text) || !run_text(run, of->b, &part)) {
        return false;
    }
    if (of->op == MG_OP_STARTS_WITH) {
        result = mg_expr_text_starts(&text, &part, &passed);
    } else if (of->op == MG_OP_ENDS_WITH) {
        result = mg_expr_text_ends(&text, &part, &passed);
    } else {
        result = mg_expr_text_contains(&text, &part, (size_t)(run->left > 0 ? run->left : 0), &passed);
    }
    *ret = (struct mg_expr_value){.type = MG_EXPR_BOOLEAN, .boolean = result};
    return mg_expr_spend(run, passed);
}
