/* Functions, methods and macros: their names, the count of their arguments, and their forms for messages. */
#include <string.h>

#include "expr/parse.h"
#include "json/reader.h"

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

static const struct function *find(const struct function *functions, size_t count, struct mg_slice name)
{
    for (size_t i = 0; i < count; i++) {
        if (mg_slice_is(name, functions[i].name)) {
            return &functions[i];
        }
    }
    return NULL;
}

static int unknown(struct mg_expr_compile *compile, struct mg_slice name, size_t at, const char *const *names,
                   const char *there_are)
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
            int argument = mg_expr_parse(compile);
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
    return mg_expr_node_add(compile, node, begin, at);
}

int mg_expr_call(struct mg_expr_compile *compile, struct mg_slice name, size_t begin)
{
    int arguments[3] = {MG_EXPR_NONE, MG_EXPR_NONE, MG_EXPR_NONE};
    const struct function *function = find(FUNCTIONS, COUNT(FUNCTIONS), name);
    if (function == NULL) {
        return unknown(compile, name, begin, FUNCTION_NAMES,
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
    arguments[1] = mg_expr_parse(compile);
    compile->variable_count--;
    mg_expr_token_need(compile, ")", "behind the condition or value");
}

int mg_expr_call_method(struct mg_expr_compile *compile, int target, struct mg_slice name, size_t at)
{
    int arguments[3] = {target, MG_EXPR_NONE, MG_EXPR_NONE};
    const struct function *function = find(METHODS, COUNT(METHODS), name);
    if (function == NULL) {
        return unknown(compile, name, at, METHOD_NAMES,
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
