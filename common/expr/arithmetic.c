/* Numbers, texts and times: the operators and functions over values. Texts that are made lie in the room. */

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

bool mg_expr_needs_number(struct mg_expr_run *run, int node, const struct mg_expr_value *value)
{
    if (value->type != MG_EXPR_NUMBER) {
        return mg_expr_fault_type(run, node, value->type, MG_EXPR_NUMBER);
    }
    return !value->is_wide || mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
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

bool mg_expr_join_begin(struct mg_expr_run *run, int node, const struct mg_expr_value *left,
                        struct mg_expr_value *ret)
{
    struct mg_expr_room *room = run->room;
    bool is_last = left->text.data + left->text.len == room->bytes + room->used; /* only a text in the room */
    *ret = *left;
    return is_last || keep_text(run, node, left, ret);
}

bool mg_expr_join_end(struct mg_expr_run *run, int node, const struct mg_expr_value *right,
                      struct mg_expr_value *ret)
{
    struct mg_expr_value behind;
    /* A right text that was made lies there already. */
    run->room->used = (size_t)(ret->text.data + ret->text.len - run->room->bytes);
    if (!keep_text(run, node, right, &behind)) {
        return false;
    }
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

bool mg_expr_reckon(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                    const struct mg_expr_value *b, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    struct mg_decimal number = {0, 0};
    bool fits;

    if (a->type != MG_EXPR_NUMBER || b->type != MG_EXPR_NUMBER) {
        return of->op != MG_OP_MULTIPLY ? add_moments(run, node, a, b, ret)
                                        : mg_expr_fault_types(run, node, a, b);
    }
    if (a->is_wide || b->is_wide) {
        return mg_expr_fault(run, MG_EXPR_FAULT_DIGITS, node);
    }
    if (of->op == MG_OP_MULTIPLY) {
        fits = mg_decimal_multiply(a->number, b->number, &number);
    } else if (of->op == MG_OP_ADD) {
        fits = mg_decimal_add(a->number, b->number, &number);
    } else {
        fits = mg_decimal_subtract(a->number, b->number, &number);
    }
    return give_number(run, node, ret, fits, number);
}

/* The argument that counts digits after the point. */
static bool read_places(struct mg_expr_run *run, int node, const struct mg_expr_value *value, int *ret)
{
    *ret = mg_decimal_index(value->number, MG_DECIMAL_READ_DIGITS);
    return *ret >= 0 || mg_expr_fault(run, MG_EXPR_FAULT_PLACES, node);
}

bool mg_expr_round(struct mg_expr_run *run, int node, const struct mg_expr_value *value,
                   const struct mg_expr_value *places, struct mg_expr_value *ret)
{
    struct mg_decimal number = {0, 0};
    int count;
    if (!read_places(run, node, places, &count)) {
        return false;
    }
    return give_number(run, node, ret, mg_decimal_round(value->number, count, &number), number);
}

bool mg_expr_divide(struct mg_expr_run *run, int node, const struct mg_expr_value *a,
                    const struct mg_expr_value *b, const struct mg_expr_value *places,
                    struct mg_expr_value *ret)
{
    struct mg_decimal number = {0, 0};
    int count;
    if (!read_places(run, node, places, &count) || !mg_expr_spend(run, DIVIDE_STEPS * MG_EXPR_STEP)) {
        return false;
    }
    if (b->number.coefficient == 0) {
        return mg_expr_fault(run, MG_EXPR_FAULT_ZERO, node);
    }
    return give_number(run, node, ret, mg_decimal_divide(a->number, b->number, count, &number), number);
}

bool mg_expr_string(struct mg_expr_run *run, int node, const struct mg_expr_value *value,
                    struct mg_expr_value *ret)
{
    struct mg_expr_value made = {.type = MG_EXPR_TEXT};
    char text[MG_DECIMAL_TEXT_SIZE];
    struct mg_buf buf;
    if (!mg_expr_spend(run, STRING_STEPS * MG_EXPR_STEP)) {
        return false;
    }
    if (value->type == MG_EXPR_TEXT) {
        *ret = *value;
        return true;
    }
    if (value->type == MG_EXPR_NUMBER && value->text.data != NULL) {
        made.text = value->text;
        return keep_text(run, node, &made, ret);
    }
    mg_buf_init_fixed(&buf, text, sizeof(text));
    if (!mg_expr_write_text(value, &buf)) {
        return mg_expr_fault_type(run, node, value->type, MG_EXPR_TEXT);
    }
    made.text = mg_buf_slice(&buf);
    return keep_text(run, node, &made, ret);
}

bool mg_expr_moment(struct mg_expr_run *run, int node, const struct mg_expr_value *value,
                    struct mg_expr_value *ret)
{
    char text[MG_EXPR_TIME_TEXT_SIZE];
    size_t len = 0;
    mg_int128 ns;
    bool is_time = node_of(run, node)->op == MG_OP_TIME;
    if (!mg_expr_spend(run, STRING_STEPS * MG_EXPR_STEP)) {
        return false;
    }
    bool is_good = mg_expr_text_copy(value, text, sizeof(text), &len);
    struct mg_slice plain = {text, len};
    is_good = is_good && (is_time ? mg_expr_time_read(plain, &ns) : mg_expr_duration_read(plain, &ns));
    if (!is_good) {
        (void)mg_expr_fault(run, is_time ? MG_EXPR_FAULT_TIME : MG_EXPR_FAULT_DURATION, node);
        run->fault.name = value->text;
        return false;
    }
    return give_moment(ret, is_time ? MG_EXPR_TIME : MG_EXPR_DURATION, ns);
}

bool mg_expr_text_test(struct mg_expr_run *run, int node, const struct mg_expr_value *text,
                       const struct mg_expr_value *part, struct mg_expr_value *ret)
{
    const struct mg_expr_node *of = node_of(run, node);
    size_t passed = 0;
    bool result;
    if (of->op == MG_OP_STARTS_WITH) {
        result = mg_expr_text_starts(text, part, &passed);
    } else if (of->op == MG_OP_ENDS_WITH) {
        result = mg_expr_text_ends(text, part, &passed);
    } else {
        result = mg_expr_text_contains(text, part, (size_t)(run->left > 0 ? run->left : 0), &passed);
    }
    *ret = (struct mg_expr_value){.type = MG_EXPR_BOOLEAN, .boolean = result};
    return mg_expr_spend(run, passed);
}
