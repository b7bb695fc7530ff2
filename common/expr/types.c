/* Types, as far as they are known before an order is: of literals, of results, and of the shapes that the
 * caller knows. Two that can never go together are a mistake of the definition. */
#include "expr/parse.h"
#include "json/reader.h"

static enum mg_expr_type type_of(const struct mg_expr_compile *compile, int node)
{
    return node >= 0 ? (enum mg_expr_type)compile->nodes[node].type : MG_EXPR_UNKNOWN;
}

static struct mg_slice text_of(const struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    size_t len = (size_t)(of->end - of->begin);
    return (struct mg_slice){compile->text.data + of->begin, len < 60 ? len : 60};
}

static bool is_or_unknown(enum mg_expr_type type, enum mg_expr_type wanted)
{
    return type == wanted || type == MG_EXPR_UNKNOWN;
}

static void need(struct mg_expr_compile *compile, int node, int child, enum mg_expr_type wanted,
                 const char *of)
{
    enum mg_expr_type type = type_of(compile, child);
    if (!is_or_unknown(type, wanted)) {
        struct mg_slice text = text_of(compile, child);
        (void)mg_expr_fail(compile, compile->nodes[node].at, MG_EXPR_MISTAKE_TYPE, "%s needs %s; %.*s is %s",
                           of, mg_expr_type_name(wanted), (int)text.len, text.data, mg_expr_type_name(type));
    }
}

static void mismatch(struct mg_expr_compile *compile, int node, const char *why)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    struct mg_slice left = text_of(compile, of->a), right = text_of(compile, of->b);
    (void)mg_expr_fail(compile, of->at, MG_EXPR_MISTAKE_TYPE, "%.*s is %s and %.*s is %s; %s", (int)left.len,
                       left.data, mg_expr_type_name(type_of(compile, of->a)), (int)right.len, right.data,
                       mg_expr_type_name(type_of(compile, of->b)), why);
}

/* ---- operators ---- */

/* The result of two known types; UNKNOWN: they do not go together. */
static enum mg_expr_type result_of(enum mg_expr_op op, enum mg_expr_type a, enum mg_expr_type b)
{
    if (a == MG_EXPR_NUMBER && b == MG_EXPR_NUMBER) {
        return MG_EXPR_NUMBER;
    }
    if (op == MG_OP_ADD && a == MG_EXPR_TEXT && b == MG_EXPR_TEXT) {
        return MG_EXPR_TEXT;
    }
    if (op == MG_OP_MULTIPLY) {
        return MG_EXPR_UNKNOWN;
    }
    if (a == MG_EXPR_DURATION && b == MG_EXPR_DURATION) {
        return MG_EXPR_DURATION;
    }
    if (a == MG_EXPR_TIME && b == MG_EXPR_DURATION) {
        return MG_EXPR_TIME;
    }
    if (op == MG_OP_ADD && a == MG_EXPR_DURATION && b == MG_EXPR_TIME) {
        return MG_EXPR_TIME;
    }
    return op == MG_OP_SUBTRACT && a == MG_EXPR_TIME && b == MG_EXPR_TIME ? MG_EXPR_DURATION
                                                                          : MG_EXPR_UNKNOWN;
}

static enum mg_expr_type infer_arithmetic(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    enum mg_expr_op op = (enum mg_expr_op)of->op;
    enum mg_expr_type a = type_of(compile, of->a), b = type_of(compile, of->b);

    if (a != MG_EXPR_UNKNOWN && b != MG_EXPR_UNKNOWN) {
        enum mg_expr_type result = result_of(op, a, b);
        if (result == MG_EXPR_UNKNOWN) {
            mismatch(compile, node,
                     op == MG_OP_ADD ? "+ takes two numbers, two texts, or a time and a duration; string() "
                                       "makes a text"
                     : op == MG_OP_SUBTRACT ? "- takes two numbers, two times, or a time and a duration"
                                            : "* takes two numbers");
        }
        return result;
    }
    enum mg_expr_type known = a != MG_EXPR_UNKNOWN ? a : b;
    bool can_go = known == MG_EXPR_UNKNOWN || known == MG_EXPR_NUMBER ||
                  (op == MG_OP_ADD && known == MG_EXPR_TEXT) ||
                  (op != MG_OP_MULTIPLY && (known == MG_EXPR_TIME || known == MG_EXPR_DURATION));
    if (!can_go) {
        int child = a != MG_EXPR_UNKNOWN ? of->a : of->b;
        need(compile, node, child, MG_EXPR_NUMBER, op == MG_OP_ADD ? "+" : op == MG_OP_SUBTRACT ? "-" : "*");
    }
    return known == MG_EXPR_NUMBER || known == MG_EXPR_TEXT ? known : MG_EXPR_UNKNOWN;
}

static void infer_order(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    enum mg_expr_type types[] = {type_of(compile, of->a), type_of(compile, of->b)};
    bool can_go = types[0] == MG_EXPR_UNKNOWN || types[1] == MG_EXPR_UNKNOWN || types[0] == types[1];
    for (int i = 0; i < 2; i++) {
        can_go = can_go && types[i] != MG_EXPR_BOOLEAN && types[i] != MG_EXPR_NULL &&
                 types[i] != MG_EXPR_LIST && types[i] != MG_EXPR_OBJECT;
    }
    if (!can_go) {
        mismatch(compile, node, "two numbers, texts, times or durations have an order");
    }
}

/* A name that has few words, against a text that is not among them. */
static void check_word(struct mg_expr_compile *compile, int node, int literal)
{
    const struct mg_expr_shapes *shapes = compile->names->shapes;
    const struct mg_expr_node *of = &compile->nodes[literal];
    bool is_text = of->op == MG_OP_LITERAL && of->type == MG_EXPR_TEXT;
    if (compile->has_failed || !is_text || shapes == NULL || shapes->words == NULL ||
        compile->shapes[node] == NULL) {
        return;
    }
    const char *const *words = shapes->words(shapes->arg, compile->shapes[node]);
    struct mg_slice text = compile->literals[of->value].text, name = text_of(compile, node);
    bool is_there = words == NULL;
    for (int i = 0; !is_there && words[i] != NULL; i++) {
        is_there = mg_slice_is(text, words[i]);
    }
    if (!is_there) {
        const char *nearest = mg_json_nearest(words, text);
        (void)mg_expr_fail(compile, of->at, MG_EXPR_MISTAKE_TYPE, "%.*s is never \"%.*s\"; %s \"%s\"%s%s%s",
                           (int)name.len, name.data, text.len < 64 ? (int)text.len : 64, text.data,
                           nearest != NULL ? "did you mean" : "it is", nearest != NULL ? nearest : words[0],
                           nearest != NULL ? "?" : " or \"", nearest != NULL ? "" : words[1],
                           nearest != NULL ? "" : "\"");
    }
}

static void infer_equality(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    enum mg_expr_type a = type_of(compile, of->a), b = type_of(compile, of->b);
    if (a != b && a != MG_EXPR_UNKNOWN && b != MG_EXPR_UNKNOWN && a != MG_EXPR_NULL && b != MG_EXPR_NULL) {
        mismatch(compile, node, "they can never be equal");
    }
    for (int i = 0; i < 2; i++) {
        check_word(compile, i == 0 ? of->a : of->b, i == 0 ? of->b : of->a);
    }
}

static void infer_in(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    enum mg_expr_type type = type_of(compile, of->b);
    if (type == MG_EXPR_OBJECT) {
        need(compile, node, of->a, MG_EXPR_TEXT, "in, before an object,");
    } else {
        need(compile, node, of->b, MG_EXPR_LIST, "in");
    }
}

/* ---- names ---- */

static void infer_member(struct mg_expr_compile *compile, int node)
{
    struct mg_expr_node *of = &compile->nodes[node];
    const struct mg_expr_shapes *shapes = compile->names->shapes;
    struct mg_slice name = {compile->plain + of->name, of->name_len};

    if (!is_or_unknown(type_of(compile, of->a), MG_EXPR_OBJECT)) {
        need(compile, node, of->a, MG_EXPR_OBJECT, "a member");
        return;
    }
    if (shapes == NULL || compile->shapes[of->a] == NULL) {
        return;
    }
    bool is_there = true;
    const char *nearest = NULL;
    const void *shape = shapes->member(shapes->arg, compile->shapes[of->a], name, &is_there, &nearest);
    if (!is_there) {
        struct mg_slice whole = text_of(compile, of->a);
        (void)mg_expr_fail(compile, of->at, MG_EXPR_MISTAKE_NAME, "%.*s has no member \"%.*s\"%s%s%s",
                           (int)whole.len, whole.data, name.len < 64 ? (int)name.len : 64, name.data,
                           nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                           nearest != NULL ? "\"?" : "");
    } else if (shape != NULL) {
        compile->shapes[node] = shape;
        of->type = (uint8_t)shapes->type(shapes->arg, shape);
    }
}

static void infer_index(struct mg_expr_compile *compile, int node)
{
    struct mg_expr_node *of = &compile->nodes[node];
    const struct mg_expr_shapes *shapes = compile->names->shapes;
    enum mg_expr_type whole = type_of(compile, of->a);
    if (whole == MG_EXPR_LIST) {
        need(compile, node, of->b, MG_EXPR_NUMBER, "an index of a list");
    } else if (whole == MG_EXPR_OBJECT) {
        need(compile, node, of->b, MG_EXPR_TEXT, "a name in brackets");
    } else if (whole != MG_EXPR_UNKNOWN) {
        need(compile, node, of->a, MG_EXPR_LIST, "an index");
    }
    if (whole == MG_EXPR_LIST && shapes != NULL && compile->shapes[of->a] != NULL) {
        compile->shapes[node] = shapes->element(shapes->arg, compile->shapes[of->a]);
        of->type = (uint8_t)(compile->shapes[node] != NULL ? shapes->type(shapes->arg, compile->shapes[node])
                                                           : MG_EXPR_UNKNOWN);
    }
}

static void infer_name(struct mg_expr_compile *compile, int node)
{
    struct mg_expr_node *of = &compile->nodes[node];
    const struct mg_expr_shapes *shapes = compile->names->shapes;
    if (of->op == MG_OP_VARIABLE) {
        compile->shapes[node] = compile->variable_shapes[of->value];
        of->type = compile->variable_types[of->value];
    } else if (shapes != NULL) {
        compile->shapes[node] = shapes->root(shapes->arg, of->value, of->member);
        if (compile->shapes[node] != NULL) {
            of->type = (uint8_t)shapes->type(shapes->arg, compile->shapes[node]);
        }
    }
}

/* ---- functions ---- */

static void infer_size(struct mg_expr_compile *compile, int node)
{
    enum mg_expr_type type = type_of(compile, compile->nodes[node].a);
    if (type != MG_EXPR_TEXT && type != MG_EXPR_OBJECT) {
        need(compile, node, compile->nodes[node].a, MG_EXPR_LIST, "size()");
    }
}

static void infer_string(struct mg_expr_compile *compile, int node)
{
    enum mg_expr_type type = type_of(compile, compile->nodes[node].a);
    if (type == MG_EXPR_NULL || type == MG_EXPR_LIST || type == MG_EXPR_OBJECT) {
        need(compile, node, compile->nodes[node].a, MG_EXPR_NUMBER, "string()");
    }
}

/* A constant is read when the definition is, so that a wrong one is found then. */
static void infer_moment(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    const struct mg_expr_node *text = &compile->nodes[of->a];
    bool is_time = of->op == MG_OP_TIME;
    mg_int128 ns;
    need(compile, node, of->a, MG_EXPR_TEXT, is_time ? "time()" : "duration()");
    if (compile->has_failed || text->op != MG_OP_LITERAL) {
        return;
    }
    struct mg_slice literal = compile->literals[text->value].text;
    bool is_right = is_time ? mg_expr_time_read(literal, &ns) : mg_expr_duration_read(literal, &ns);
    if (!is_right) {
        (void)mg_expr_fail(compile, of->at, MG_EXPR_MISTAKE_TYPE,
                           is_time ? "no time; write RFC 3339, in UTC of the years 1 to 9999: "
                                     "time(\"2026-01-31T12:34:56Z\")"
                                   : "no duration; write a number and one of d, h, m, s, ms: "
                                     "duration(\"1h30m\")");
    }
}

static const char *method_name(enum mg_expr_op op)
{
    return op == MG_OP_STARTS_WITH ? "startsWith()"
           : op == MG_OP_ENDS_WITH ? "endsWith()"
           : op == MG_OP_CONTAINS  ? "contains()"
           : op == MG_OP_ALL       ? "all()"
           : op == MG_OP_EXISTS    ? "exists()"
           : op == MG_OP_COUNT     ? "count()"
                                   : "sum()";
}

static enum mg_expr_type infer_choice(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    need(compile, node, of->a, MG_EXPR_BOOLEAN, "?");
    return type_of(compile, of->b) == type_of(compile, of->c) ? type_of(compile, of->b) : MG_EXPR_UNKNOWN;
}

static enum mg_expr_type infer_rounding(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    const char *name = of->op == MG_OP_ROUND ? "round()" : "divide()";
    if (of->op == MG_OP_DIVIDE) {
        need(compile, node, of->c, MG_EXPR_NUMBER, name);
    }
    need(compile, node, of->a, MG_EXPR_NUMBER, name);
    need(compile, node, of->b, MG_EXPR_NUMBER, name);
    return MG_EXPR_NUMBER;
}

/* A macro over a list. */
static enum mg_expr_type infer_loop(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    enum mg_expr_op op = (enum mg_expr_op)of->op;
    need(compile, node, of->a, MG_EXPR_LIST, method_name(op));
    need(compile, node, of->b, op == MG_OP_SUM ? MG_EXPR_NUMBER : MG_EXPR_BOOLEAN, method_name(op));
    return op == MG_OP_COUNT || op == MG_OP_SUM ? MG_EXPR_NUMBER : MG_EXPR_BOOLEAN;
}

/* Functions and methods, in the order of enum mg_expr_op. */
static enum mg_expr_type infer_call(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    enum mg_expr_op op = (enum mg_expr_op)of->op;
    if (op == MG_OP_HAS) {
        return MG_EXPR_BOOLEAN;
    }
    if (op == MG_OP_SIZE) {
        infer_size(compile, node);
        return MG_EXPR_NUMBER;
    }
    if (op == MG_OP_STRING) {
        infer_string(compile, node);
        return MG_EXPR_TEXT;
    }
    if (op == MG_OP_ROUND || op == MG_OP_DIVIDE) {
        return infer_rounding(compile, node);
    }
    if (op == MG_OP_TIME || op == MG_OP_DURATION) {
        infer_moment(compile, node);
        return op == MG_OP_TIME ? MG_EXPR_TIME : MG_EXPR_DURATION;
    }
    if (op >= MG_OP_ALL) {
        return infer_loop(compile, node);
    }
    need(compile, node, of->a, MG_EXPR_TEXT, method_name(op));
    need(compile, node, of->b, MG_EXPR_TEXT, method_name(op));
    return MG_EXPR_BOOLEAN;
}

static void infer_part(struct mg_expr_compile *compile, int node)
{
    if (compile->nodes[node].op == MG_OP_MEMBER) {
        infer_member(compile, node);
    } else {
        infer_index(compile, node);
    }
}

static void infer_logic(struct mg_expr_compile *compile, int node)
{
    const struct mg_expr_node *of = &compile->nodes[node];
    const char *name = of->op == MG_OP_AND ? "&&" : "||";
    need(compile, node, of->a, MG_EXPR_BOOLEAN, name);
    need(compile, node, of->b, MG_EXPR_BOOLEAN, name);
}

void mg_expr_infer(struct mg_expr_compile *compile, int node)
{
    struct mg_expr_node *of = &compile->nodes[node];
    enum mg_expr_op op = (enum mg_expr_op)of->op;
    enum mg_expr_type type = MG_EXPR_BOOLEAN;

    switch (op) {
    case MG_OP_LITERAL:
        type = compile->literals[of->value].type;
        break;
    case MG_OP_ROOT:
    case MG_OP_VARIABLE:
        infer_name(compile, node);
        return;
    case MG_OP_MEMBER:
    case MG_OP_INDEX:
        infer_part(compile, node);
        return;
    case MG_OP_LIST:
        type = MG_EXPR_LIST;
        break;
    case MG_OP_NOT:
        need(compile, node, of->a, MG_EXPR_BOOLEAN, "!");
        break;
    case MG_OP_NEGATE:
        type = MG_EXPR_NUMBER;
        need(compile, node, of->a, MG_EXPR_NUMBER, "-");
        break;
    case MG_OP_ADD:
    case MG_OP_SUBTRACT:
    case MG_OP_MULTIPLY:
        type = infer_arithmetic(compile, node);
        break;
    case MG_OP_EQUAL:
    case MG_OP_UNEQUAL:
        infer_equality(compile, node);
        break;
    case MG_OP_LESS:
    case MG_OP_LESS_EQUAL:
    case MG_OP_MORE:
    case MG_OP_MORE_EQUAL:
        infer_order(compile, node);
        break;
    case MG_OP_IN:
        infer_in(compile, node);
        break;
    case MG_OP_AND:
    case MG_OP_OR:
        infer_logic(compile, node);
        break;
    case MG_OP_CONDITIONAL:
        type = infer_choice(compile, node);
        break;
    case MG_OP_HAS:
    case MG_OP_SIZE:
    case MG_OP_STRING:
    case MG_OP_ROUND:
    case MG_OP_DIVIDE:
    case MG_OP_TIME:
    case MG_OP_DURATION:
    case MG_OP_STARTS_WITH:
    case MG_OP_ENDS_WITH:
    case MG_OP_CONTAINS:
    case MG_OP_ALL:
    case MG_OP_EXISTS:
    case MG_OP_COUNT:
    case MG_OP_SUM:
        type = infer_call(compile, node);
        break;
    }
    of->type = (uint8_t)type;
}
