/*
 * The grammar, by descent: each level of precedence is one function or one row of a table. The functions end
 * at the first mistake, because every later one would be guessed. Depth and nodes are bounded, so recursion
 * is. One file, because arguments are whole expressions again.
 */
#include "expr/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/reader.h"

/* A whole condition, up to a token that cannot continue it. */
static int take_expression(struct mg_expr_compile *compile);

static int height_below(const struct mg_expr_compile *compile, int child, int height)
{
    return child >= 0 && compile->height_of[child] > height ? compile->height_of[child] : height;
}

/* Adds a node, with its type; its text is from `begin` to the last token taken, and mistakes point to `at`.
 */
static int node_add(struct mg_expr_compile *compile, struct mg_expr_node node, size_t begin, size_t at)
{
    if (compile->has_failed) {
        return MG_EXPR_NONE;
    }
    if (compile->node_count == MG_EXPR_NODES_MAX) {
        return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_SYNTAX,
                            "more than %d values and operations; divide it among several values",
                            MG_EXPR_NODES_MAX);
    }
    int index = compile->node_count++;
    node.begin = (uint16_t)begin;
    node.end = (uint16_t)compile->end;
    node.at = (uint16_t)at;
    compile->nodes[index] = node;
    int height = height_below(compile, node.a, 0);
    height = height_below(compile, node.b, height);
    height = 1 + height_below(compile, node.c, height);
    compile->height_of[index] = height;
    if (height > MG_EXPR_HEIGHT_MAX) {
        return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_SYNTAX,
                            "more than %d operations in a row; put brackets around parts of it",
                            MG_EXPR_HEIGHT_MAX);
    }
    mg_expr_infer(compile, index);
    return compile->has_failed ? MG_EXPR_NONE : index;
}

static bool deeper(struct mg_expr_compile *compile)
{
    if (++compile->depth > MG_EXPR_DEPTH_MAX + 1) { /* the outermost is no nesting */
        (void)mg_expr_fail(compile, mg_expr_token_at(compile), MG_EXPR_MISTAKE_SYNTAX,
                           "nested more than %d deep; divide it among several values", MG_EXPR_DEPTH_MAX);
    }
    return !compile->has_failed;
}

static struct mg_expr_node node_of(enum mg_expr_op op, int a, int b)
{
    return (struct mg_expr_node){.op = (uint8_t)op,
                                 .a = (int16_t)a,
                                 .b = (int16_t)b,
                                 .c = MG_EXPR_NONE,
                                 .next = MG_EXPR_NONE,
                                 .member = MG_EXPR_NONE};
}

/* ---- values ---- */

static int add_literal(struct mg_expr_compile *compile, struct mg_expr_value literal, size_t begin)
{
    struct mg_expr_node node = node_of(MG_OP_LITERAL, MG_EXPR_NONE, MG_EXPR_NONE);
    node.value = (int16_t)compile->literal_count;
    if (!compile->has_failed && compile->literal_count < MG_EXPR_NODES_MAX) {
        compile->literals[compile->literal_count++] = literal;
    }
    return node_add(compile, node, begin, begin);
}

static int take_number(struct mg_expr_compile *compile)
{
    struct mg_expr_value literal = {.type = MG_EXPR_NUMBER};
    size_t begin = mg_expr_token_at(compile);
    if (!mg_decimal_read(compile->token.text, &literal.number)) {
        return mg_expr_fail(compile, begin, MG_EXPR_MISTAKE_SYNTAX,
                            "a number of more than %d digits; numbers are exact up to there",
                            MG_DECIMAL_READ_DIGITS);
    }
    mg_expr_token_next(compile);
    return add_literal(compile, literal, begin);
}

static int take_text(struct mg_expr_compile *compile)
{
    struct mg_expr_value literal = {.type = MG_EXPR_TEXT,
                                    .text = {compile->plain + compile->token.name, compile->token.name_len}};
    size_t begin = mg_expr_token_at(compile);
    mg_expr_token_next(compile);
    return add_literal(compile, literal, begin);
}

static int take_list(struct mg_expr_compile *compile)
{
    size_t begin = mg_expr_token_at(compile);
    int first = MG_EXPR_NONE, last = MG_EXPR_NONE, height = 0;

    mg_expr_token_next(compile);
    while (!compile->has_failed && !mg_expr_token_is(compile, "]")) {
        int element = take_expression(compile);
        if (element < 0) {
            return MG_EXPR_NONE;
        }
        height = height_below(compile, element, height);
        if (first < 0) {
            first = element;
        } else {
            compile->nodes[last].next = (int16_t)element;
        }
        last = element;
        if (!mg_expr_token_take(compile, ",")) {
            break;
        }
    }
    mg_expr_token_need(compile, "]", "at the end of a list, or \",\" before its next element");
    int list = node_add(compile, node_of(MG_OP_LIST, first, MG_EXPR_NONE), begin, begin);
    if (list >= 0) {
        compile->height_of[list] = height + 1;
    }
    return list;
}

/* ---- functions, methods and macros ---- */

struct function {
    const char *name, *form;
    int arguments; /* with the target, of a method */
    enum mg_expr_op op;
};

static const struct function FUNCTIONS[] = {
    {"has", "has(payload.coupon)", 1, MG_OP_HAS},
    {"size", "size(payload.items)", 1, MG_OP_SIZE},
    {"string", "string(payload.total)", 1, MG_OP_STRING},
    {"round", "round(payload.total, 2)", 2, MG_OP_ROUND},
    {"divide", "divide(payload.total, 3, 2)", 3, MG_OP_DIVIDE},
    {"time", "time(payload.ship_at)", 1, MG_OP_TIME},
    {"duration", "duration(\"36h\")", 1, MG_OP_DURATION},
};
static const char *const FUNCTION_NAMES[] = {"has",    "size", "string",   "round",
                                             "divide", "time", "duration", NULL};

static const struct function METHODS[] = {
    {"startsWith", "payload.sku.startsWith(\"A-\")", 2, MG_OP_STARTS_WITH},
    {"endsWith", "payload.sku.endsWith(\"-X\")", 2, MG_OP_ENDS_WITH},
    {"contains", "payload.sku.contains(\"-\")", 2, MG_OP_CONTAINS},
    {"size", "payload.items.size()", 1, MG_OP_SIZE},
    {"all", "payload.items.all(i, i.qty > 0)", 2, MG_OP_ALL},
    {"exists", "payload.items.exists(i, i.qty > 100)", 2, MG_OP_EXISTS},
    {"count", "payload.items.count(i, i.qty > 100)", 2, MG_OP_COUNT},
    {"sum", "payload.items.sum(i, i.qty * i.price)", 2, MG_OP_SUM},
};
static const char *const METHOD_NAMES[] = {"startsWith", "endsWith", "contains", "size", "all",
                                           "exists",     "count",    "sum",      NULL};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct function *function_find(const struct function *functions, size_t count,
                                            struct mg_slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (mg_slice_is(name, functions[i].name)) {
            return &functions[i];
        }
    }
    return NULL;
}

static int unknown_function(struct mg_expr_compile *compile, struct mg_slice name, size_t at,
                            const char *const *names, const char *there_are)
{
    const char *nearest = mg_json_nearest(names, name);
    int shown = name.len < 64 ? (int)name.len : 64;
    if (nearest != NULL) {
        return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_NAME, "no function \"%.*s\"; did you mean \"%s\"?",
                            shown, name.data, nearest);
    }
    return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_NAME, "no function \"%.*s\"; there are %s", shown,
                        name.data, there_are);
}

/* Reads arguments up to ")" into `arguments`, from `count` on. */
static void take_arguments(struct mg_expr_compile *compile, const struct function *function, int arguments[3],
                           int count, size_t at)
{
    if (!mg_expr_token_is(compile, ")")) {
        do {
            int argument = take_expression(compile);
            if (count < 3) {
                arguments[count] = argument;
            }
            count++;
        } while (!compile->has_failed && mg_expr_token_take(compile, ","));
    }
    mg_expr_token_need(compile, ")", "behind the arguments");
    if (count != function->arguments) {
        (void)mg_expr_fail(compile, at, MG_EXPR_MISTAKE_SYNTAX, "%s() is written so: %s", function->name,
                           function->form);
    }
}

static int add_call(struct mg_expr_compile *compile, const struct function *function, const int arguments[3],
                    size_t begin, size_t at)
{
    struct mg_expr_node node = {.op = (uint8_t)function->op,
                                .a = (int16_t)arguments[0],
                                .b = (int16_t)arguments[1],
                                .c = (int16_t)arguments[2],
                                .next = MG_EXPR_NONE,
                                .member = MG_EXPR_NONE};
    return node_add(compile, node, begin, at);
}

/* After a function's name and "(": its arguments, its ")". */
static int take_call(struct mg_expr_compile *compile, struct mg_slice name, size_t begin)
{
    int arguments[3] = {MG_EXPR_NONE, MG_EXPR_NONE, MG_EXPR_NONE};
    const struct function *function = function_find(FUNCTIONS, COUNT(FUNCTIONS), name);
    if (function == NULL) {
        return unknown_function(compile, name, begin, FUNCTION_NAMES,
                                "has, size, string, round, divide, time, duration");
    }
    take_arguments(compile, function, arguments, 0, begin);
    if (compile->has_failed) {
        return MG_EXPR_NONE;
    }
    if (function->op == MG_OP_HAS) {
        const struct mg_expr_node *asked = &compile->nodes[arguments[0]];
        if (asked->op != MG_OP_MEMBER && (asked->op != MG_OP_ROOT || asked->member < 0)) {
            return mg_expr_fail(compile, begin, MG_EXPR_MISTAKE_SYNTAX,
                                "has() asks for a member: %s; for a name in brackets write "
                                "\"name\" in payload",
                                function->form);
        }
    }
    return add_call(compile, function, arguments, begin, begin);
}

/* A macro: a name for the element, then the body in which it is known. */
static void take_macro(struct mg_expr_compile *compile, const struct function *function, int arguments[3],
                       size_t at)
{
    struct mg_slice name = compile->token.text;
    const struct mg_expr_names *names = compile->names;

    if (compile->variable_count == MG_EXPR_LOOPS_MAX) {
        (void)mg_expr_fail(compile, at, MG_EXPR_MISTAKE_SYNTAX,
                           "loops nested more than %d deep; a service can compute more", MG_EXPR_LOOPS_MAX);
        return;
    }
    bool is_name = compile->token.kind == MG_TOKEN_NAME && !mg_expr_is_reserved(name);
    for (int i = 0; is_name && i < names->root_count; i++) {
        if (mg_slice_is(name, names->roots[i].name)) {
            (void)mg_expr_fail(compile, mg_expr_token_at(compile), MG_EXPR_MISTAKE_NAME,
                               "\"%s\" has a meaning already; give the element another name",
                               names->roots[i].name);
            return;
        }
    }
    if (is_name) {
        mg_expr_token_next(compile);
    }
    if (!is_name || !mg_expr_token_take(compile, ",")) {
        (void)mg_expr_fail(compile, at, MG_EXPR_MISTAKE_SYNTAX, "%s() is written so: %s", function->name,
                           function->form);
        return;
    }
    int slot = compile->variable_count++;
    const struct mg_expr_shapes *shapes = names->shapes;
    const void *shape = shapes != NULL ? compile->shapes[arguments[0]] : NULL;
    const void *element = shape != NULL ? shapes->element(shapes->arg, shape) : NULL;
    compile->variables[slot] = name;
    compile->variable_shapes[slot] = element;
    compile->variable_types[slot] =
        (uint8_t)(element != NULL ? shapes->type(shapes->arg, element) : MG_EXPR_UNKNOWN);
    arguments[1] = take_expression(compile);
    compile->variable_count--;
    mg_expr_token_need(compile, ")", "behind the condition or value");
}

/* After ".name(" after the value `target`. */
static int take_method(struct mg_expr_compile *compile, int target, struct mg_slice name, size_t at)
{
    int arguments[3] = {target, MG_EXPR_NONE, MG_EXPR_NONE};
    const struct function *function = function_find(METHODS, COUNT(METHODS), name);
    if (function == NULL) {
        return unknown_function(compile, name, at, METHOD_NAMES,
                                "startsWith, endsWith, contains, size, all, exists, count, sum");
    }
    if (compile->has_failed) {
        return MG_EXPR_NONE;
    }
    bool is_macro = function->op == MG_OP_ALL || function->op == MG_OP_EXISTS ||
                    function->op == MG_OP_COUNT || function->op == MG_OP_SUM;
    if (is_macro) {
        take_macro(compile, function, arguments, at);
    } else {
        take_arguments(compile, function, arguments, 1, at);
    }
    if (compile->has_failed) {
        return MG_EXPR_NONE;
    }
    int call = add_call(compile, function, arguments, compile->nodes[target].begin, at);
    if (call >= 0 && is_macro) {
        compile->nodes[call].value = (int16_t)compile->variable_count;
    }
    return call;
}

/* ---- names ---- */

static int unknown_name(struct mg_expr_compile *compile, struct mg_slice name, size_t at)
{
    const char *names[MG_EXPR_LOOPS_MAX + 33] = {NULL};
    char list[256] = "", variables[MG_EXPR_LOOPS_MAX][65];
    size_t len = 0;
    int count = 0;
    for (int i = 0; i < compile->names->root_count && count < 32; i++) {
        names[count++] = compile->names->roots[i].name;
        int n = snprintf(list + len, sizeof(list) - len, "%s%s", i > 0 ? ", " : "",
                         compile->names->roots[i].name);
        len += n > 0 && (size_t)n < sizeof(list) - len ? (size_t)n : 0;
    }
    for (int i = 0; i < compile->variable_count; i++) {
        (void)snprintf(variables[i], sizeof(variables[i]), "%.*s",
                       compile->variables[i].len < 64 ? (int)compile->variables[i].len : 0,
                       compile->variables[i].data);
        names[count++] = variables[i];
    }
    const char *nearest = mg_json_nearest(names, name);
    int shown = name.len < 64 ? (int)name.len : 64;
    if (nearest != NULL) {
        return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_NAME, "no such name \"%.*s\"; did you mean \"%s\"?",
                            shown, name.data, nearest);
    }
    return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_NAME, "no such name \"%.*s\"; there are %s%s", shown,
                        name.data, len > 0 ? list : "none here",
                        mg_expr_is_reserved(name) ? ", and this word is reserved" : "");
}

static int unknown_listed(struct mg_expr_compile *compile, const struct mg_expr_root *root,
                          struct mg_slice name, size_t at)
{
    const char *nearest = mg_json_nearest(root->members, name);
    int shown = name.len < 64 ? (int)name.len : 64;
    char list[200] = "";
    size_t len = 0;

    if (nearest != NULL) {
        return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_NAME,
                            "\"%s.%.*s\" is not there; did you mean \"%s.%s\"?", root->name, shown, name.data,
                            root->name, nearest);
    }
    for (int i = 0; root->members[i] != NULL; i++) {
        int n = snprintf(list + len, sizeof(list) - len, "%s%s", i > 0 ? ", " : "", root->members[i]);
        if (n < 0 || (size_t)n >= sizeof(list) - len) {
            list[len] = '\0';
            break;
        }
        len += (size_t)n;
    }
    return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_NAME, "\"%s.%.*s\" is not there; there are %s",
                        root->name, shown, name.data, list);
}

/* The member after a root that has a list of them. */
static int take_listed(struct mg_expr_compile *compile, int root, size_t begin)
{
    const struct mg_expr_root *known = &compile->names->roots[root];
    struct mg_slice name = {0};
    size_t at = mg_expr_token_at(compile);

    if (mg_expr_token_take(compile, ".")) {
        at = mg_expr_token_at(compile);
        if (compile->token.kind == MG_TOKEN_NAME) {
            name = compile->token.text;
            mg_expr_token_next(compile);
        }
    } else if (mg_expr_token_take(compile, "[")) {
        at = mg_expr_token_at(compile);
        if (compile->token.kind == MG_TOKEN_TEXT) {
            name = (struct mg_slice){compile->plain + compile->token.name, compile->token.name_len};
            mg_expr_token_next(compile);
        }
        mg_expr_token_need(compile, "]", "behind a name in brackets");
    }
    if (name.data == NULL) {
        return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_SYNTAX,
                            "\"%s\" is no value itself; one of its names follows: %s.%s", known->name,
                            known->name, known->members[0] != NULL ? known->members[0] : "name");
    }
    struct mg_expr_node node = node_of(MG_OP_ROOT, MG_EXPR_NONE, MG_EXPR_NONE);
    node.value = (int16_t)root;
    for (int i = 0; known->members[i] != NULL; i++) {
        if (mg_slice_is(name, known->members[i])) {
            node.member = (int16_t)i;
            return node_add(compile, node, begin, at);
        }
    }
    return unknown_listed(compile, known, name, at);
}

static int take_root(struct mg_expr_compile *compile, struct mg_slice name, size_t begin)
{
    for (int i = compile->variable_count - 1; i >= 0; i--) {
        if (mg_slice_equal(compile->variables[i], name)) {
            struct mg_expr_node node = node_of(MG_OP_VARIABLE, MG_EXPR_NONE, MG_EXPR_NONE);
            node.value = (int16_t)i;
            return node_add(compile, node, begin, begin);
        }
    }
    for (int i = 0; i < compile->names->root_count; i++) {
        if (!mg_slice_is(name, compile->names->roots[i].name)) {
            continue;
        }
        compile->is_constant = false;
        if (compile->names->roots[i].members != NULL) {
            return take_listed(compile, i, begin);
        }
        struct mg_expr_node node = node_of(MG_OP_ROOT, MG_EXPR_NONE, MG_EXPR_NONE);
        node.value = (int16_t)i;
        return node_add(compile, node, begin, begin);
    }
    return unknown_name(compile, name, begin);
}

static int take_name(struct mg_expr_compile *compile)
{
    struct mg_slice name = compile->token.text;
    size_t begin = mg_expr_token_at(compile);

    mg_expr_token_next(compile);
    if (mg_slice_is(name, "true") || mg_slice_is(name, "false")) {
        struct mg_expr_value literal = {.type = MG_EXPR_BOOLEAN, .boolean = mg_slice_is(name, "true")};
        return add_literal(compile, literal, begin);
    }
    if (mg_slice_is(name, "null")) {
        return add_literal(compile, (struct mg_expr_value){.type = MG_EXPR_NULL}, begin);
    }
    if (mg_expr_token_take(compile, "(")) {
        return take_call(compile, name, begin);
    }
    return take_root(compile, name, begin);
}

/* ---- precedence ---- */

static int take_primary(struct mg_expr_compile *compile)
{
    size_t begin = mg_expr_token_at(compile);
    switch (compile->token.kind) {
    case MG_TOKEN_NUMBER:
        return take_number(compile);
    case MG_TOKEN_TEXT:
        return take_text(compile);
    case MG_TOKEN_NAME:
        return take_name(compile);
    case MG_TOKEN_SYMBOL:
        if (mg_expr_token_is(compile, "[")) {
            return take_list(compile);
        }
        if (mg_expr_token_take(compile, "(")) {
            int inner = take_expression(compile);
            mg_expr_token_need(compile, ")", "to close the bracket");
            if (inner >= 0) { /* quoted with its brackets */
                compile->nodes[inner].begin = (uint16_t)begin;
                compile->nodes[inner].end = (uint16_t)compile->end;
            }
            return inner;
        }
        return mg_expr_fail(compile, begin, MG_EXPR_MISTAKE_SYNTAX, "a value is expected before \"%.*s\"",
                            (int)compile->token.text.len, compile->token.text.data);
    case MG_TOKEN_END:
    default:
        return mg_expr_fail(compile, begin, MG_EXPR_MISTAKE_SYNTAX,
                            compile->text.len == 0 ? "the expression is empty; write a condition"
                                                   : "a value is expected where the expression ends");
    }
}

static int take_member(struct mg_expr_compile *compile, int target, size_t begin)
{
    struct mg_slice name = compile->token.text;
    size_t at = mg_expr_token_at(compile);
    bool is_keyword = mg_slice_is(name, "in") || mg_slice_is(name, "true") || mg_slice_is(name, "false") ||
                      mg_slice_is(name, "null");

    if (compile->token.kind != MG_TOKEN_NAME || is_keyword) {
        return mg_expr_fail(compile, at, MG_EXPR_MISTAKE_SYNTAX,
                            "a name is expected behind \".\"; write others in brackets: a[\"%s\"]",
                            is_keyword ? "in" : "ship-to");
    }
    mg_expr_token_next(compile);
    if (mg_expr_token_take(compile, "(")) {
        return take_method(compile, target, name, at);
    }
    struct mg_expr_node node = node_of(MG_OP_MEMBER, target, MG_EXPR_NONE);
    node.name = (uint16_t)compile->names_len;
    node.name_len = (uint16_t)name.len;
    if (!compile->has_failed) { /* taken from the text once: it fits */
        memcpy(compile->plain + compile->names_len, name.data, name.len);
        compile->names_len += name.len;
    }
    return node_add(compile, node, begin, at);
}

static int take_postfix(struct mg_expr_compile *compile)
{
    size_t begin = mg_expr_token_at(compile);
    int node = take_primary(compile);

    while (node >= 0 && !compile->has_failed) {
        size_t at = mg_expr_token_at(compile);
        if (mg_expr_token_take(compile, ".")) {
            node = take_member(compile, node, begin);
        } else if (mg_expr_token_take(compile, "[")) {
            int index = take_expression(compile);
            mg_expr_token_need(compile, "]", "behind an index");
            node = node_add(compile, node_of(MG_OP_INDEX, node, index), begin, at);
        } else {
            break;
        }
    }
    return node;
}

static int take_unary(struct mg_expr_compile *compile)
{
    size_t begins[MG_EXPR_HEIGHT_MAX];
    int count = 0;
    bool is_not = mg_expr_token_is(compile, "!");
    const char *sign = is_not ? "!" : "-";

    while (mg_expr_token_is(compile, sign)) {
        if (count == MG_EXPR_HEIGHT_MAX) {
            return mg_expr_fail(compile, mg_expr_token_at(compile), MG_EXPR_MISTAKE_SYNTAX,
                                "more than %d signs in a row", MG_EXPR_HEIGHT_MAX);
        }
        begins[count++] = mg_expr_token_at(compile);
        mg_expr_token_next(compile);
    }
    int node = take_postfix(compile);
    while (count > 0 && node >= 0) {
        count--;
        node = node_add(compile, node_of(is_not ? MG_OP_NOT : MG_OP_NEGATE, node, MG_EXPR_NONE),
                        begins[count], begins[count]);
    }
    return node;
}

static const struct {
    const char *sign;
    enum mg_expr_op op;
    int level; /* a higher one binds closer */
} BINARIES[] = {
    {"||", MG_OP_OR, 1},      {"&&", MG_OP_AND, 2},        {"==", MG_OP_EQUAL, 3},
    {"!=", MG_OP_UNEQUAL, 3}, {"<=", MG_OP_LESS_EQUAL, 3}, {">=", MG_OP_MORE_EQUAL, 3},
    {"<", MG_OP_LESS, 3},     {">", MG_OP_MORE, 3},        {"in", MG_OP_IN, 3},
    {"+", MG_OP_ADD, 4},      {"-", MG_OP_SUBTRACT, 4},    {"*", MG_OP_MULTIPLY, 5},
};
#define BINARY_COUNT (sizeof(BINARIES) / sizeof(BINARIES[0]))

static size_t next_binary(const struct mg_expr_compile *compile, int level)
{
    bool is_word = compile->token.kind == MG_TOKEN_NAME;
    for (size_t i = 0; i < BINARY_COUNT; i++) {
        if (BINARIES[i].level >= level && (is_word || compile->token.kind == MG_TOKEN_SYMBOL) &&
            is_word == (BINARIES[i].op == MG_OP_IN) && mg_slice_is(compile->token.text, BINARIES[i].sign)) {
            return i;
        }
    }
    return BINARY_COUNT;
}

static int take_binary(struct mg_expr_compile *compile, int level)
{
    size_t begin = mg_expr_token_at(compile), i;
    int left = take_unary(compile);

    while (left >= 0 && (i = next_binary(compile, level)) < BINARY_COUNT) {
        size_t at = mg_expr_token_at(compile);
        mg_expr_token_next(compile);
        int right = take_binary(compile, BINARIES[i].level + 1);
        left = node_add(compile, node_of(BINARIES[i].op, left, right), begin, at);
    }
    return left;
}

static int take_expression(struct mg_expr_compile *compile)
{
    size_t begin = mg_expr_token_at(compile);
    int node = deeper(compile) ? take_binary(compile, 1) : MG_EXPR_NONE;
    size_t at = mg_expr_token_at(compile);

    if (node >= 0 && mg_expr_token_take(compile, "?")) {
        struct mg_expr_node choice = node_of(MG_OP_CONDITIONAL, node, take_binary(compile, 1));
        mg_expr_token_need(compile, ":", "between the two values of \"?\"");
        choice.c = (int16_t)(compile->has_failed ? MG_EXPR_NONE : take_expression(compile));
        node = node_add(compile, choice, begin, at);
    }
    compile->depth--;
    return node;
}

/* ---- the whole ---- */

/* The compiled form in the arena, of exact size; NULL: no memory. */
static const struct mg_expr *keep(const struct mg_expr_compile *compile, int root, struct mg_arena *arena)
{
    size_t nodes_size = (size_t)compile->node_count * sizeof(compile->nodes[0]);
    size_t literals_size = (size_t)compile->literal_count * sizeof(compile->literals[0]);
    struct mg_expr *expr = mg_arena_alloc(arena, sizeof(*expr));
    struct mg_expr_node *nodes = mg_arena_alloc(arena, nodes_size);
    struct mg_expr_value *literals = mg_arena_alloc(arena, literals_size + sizeof(literals[0]));
    char *names = mg_arena_alloc(arena, compile->names_len + 1);
    struct mg_slice text = mg_arena_copy(arena, compile->text);

    if (expr == NULL || nodes == NULL || literals == NULL || names == NULL || text.data == NULL) {
        return NULL;
    }
    memcpy(nodes, compile->nodes, nodes_size);
    memcpy(literals, compile->literals, literals_size);
    memcpy(names, compile->plain, compile->names_len);
    for (int i = 0; i < compile->literal_count; i++) {
        if (literals[i].text.data != NULL) {
            literals[i].text.data = names + (literals[i].text.data - compile->plain);
        }
    }
    *expr = (struct mg_expr){.text = text,
                             .names = names,
                             .nodes = nodes,
                             .literals = literals,
                             .node_count = compile->node_count,
                             .literal_count = compile->literal_count,
                             .root = root,
                             .is_constant = compile->is_constant};
    return expr;
}

static void check_length(struct mg_expr_compile *compile)
{
    if (compile->text.len > MG_EXPR_TEXT_MAX) {
        size_t len = compile->text.len;
        compile->text.len = 0;
        (void)mg_expr_fail(compile, 0, MG_EXPR_MISTAKE_SYNTAX,
                           "%zu bytes; an expression has at most %d, so divide it among several values", len,
                           MG_EXPR_TEXT_MAX);
    }
    for (size_t i = 0; i < compile->text.len;) {
        size_t len = mg_utf8_len(compile->text.data + i, compile->text.len - i);
        if (len == 0 || compile->text.data[i] == '\0') {
            (void)mg_expr_fail(compile, i, MG_EXPR_MISTAKE_SYNTAX, "a byte that is no UTF-8 text");
            return;
        }
        i += len;
    }
}

static enum mg_class compile_text(struct mg_expr_compile *compile, struct mg_arena *arena,
                                  const struct mg_expr **ret_expr)
{
    check_length(compile);
    mg_expr_token_next(compile);
    int root = take_expression(compile);
    if (!compile->has_failed && compile->token.kind != MG_TOKEN_END) {
        (void)mg_expr_fail(compile, mg_expr_token_at(compile), MG_EXPR_MISTAKE_SYNTAX,
                           "\"%.*s\" does not continue the expression; an operator such as && is expected",
                           compile->token.text.len < 64 ? (int)compile->token.text.len : 64,
                           compile->token.text.data);
    }
    if (compile->has_failed) {
        return MG_BAD_INPUT;
    }
    const struct mg_expr *expr = keep(compile, root, arena);
    if (expr == NULL) {
        return mg_err_set(compile->err, MG_TRANSIENT, "could not compile an expression: no memory");
    }
    *ret_expr = expr;
    return MG_OK;
}

enum mg_class mg_expr_compile(struct mg_slice text, const struct mg_expr_names *names, struct mg_arena *arena,
                              const struct mg_expr **ret_expr, struct mg_expr_place *ret_place,
                              struct mg_err *err)
{
    struct mg_expr_compile *compile = calloc(1, sizeof(*compile)); /* some 50 KiB: not on the stack */
    if (compile == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not compile an expression: no memory");
    }
    compile->text = text.data != NULL ? text : mg_slice_of("");
    compile->names = names;
    compile->is_constant = true;
    compile->err = err;
    enum mg_class class = compile_text(compile, arena, ret_expr);
    if (class == MG_BAD_INPUT && ret_place != NULL) {
        *ret_place = compile->place;
    }
    free(compile);
    return class;
}
