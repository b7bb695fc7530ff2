/* The state of one compilation. Private to lexer.c, parse.c and types.c. */
#ifndef MG_EXPR_PARSE_H
#define MG_EXPR_PARSE_H

#include "expr/tree.h"

enum mg_expr_token_kind {
    MG_TOKEN_END,
    MG_TOKEN_NAME,
    MG_TOKEN_NUMBER,
    MG_TOKEN_TEXT,   /* its bytes lie in `names`, from `name`, of `name_len` */
    MG_TOKEN_SYMBOL, /* of one or two characters */
};

struct mg_expr_token {
    enum mg_expr_token_kind kind;
    struct mg_slice text; /* as written */
    uint16_t name, name_len;
};

struct mg_expr_compile {
    struct mg_slice text;
    const struct mg_expr_names *names;
    struct mg_expr_token token; /* the next one */
    size_t at;                  /* after it */
    size_t end;                 /* of the last one taken */
    int depth, height_of[MG_EXPR_NODES_MAX];
    struct mg_slice variables[MG_EXPR_LOOPS_MAX];
    const void *variable_shapes[MG_EXPR_LOOPS_MAX];
    uint8_t variable_types[MG_EXPR_LOOPS_MAX];
    int variable_count;
    bool has_failed, is_constant;
    struct mg_expr_place place;
    struct mg_err *err;
    int node_count, literal_count;
    size_t names_len;
    struct mg_expr_node nodes[MG_EXPR_NODES_MAX];
    const void *shapes[MG_EXPR_NODES_MAX]; /* NULL: nothing is known */
    struct mg_expr_value literals[MG_EXPR_NODES_MAX];
    char plain[MG_EXPR_TEXT_MAX]; /* names and texts: never longer than they were written */
};

/* ---- lexer.c ---- */

/* The first mistake stays. Always MG_EXPR_NONE. */
int mg_expr_fail(struct mg_expr_compile *compile, size_t at, enum mg_expr_mistake mistake, const char *format,
                 ...) MG_PRINTF(4, 5);

void mg_expr_token_next(struct mg_expr_compile *compile);
size_t mg_expr_token_at(const struct mg_expr_compile *compile); /* where the next one begins */
bool mg_expr_token_is(const struct mg_expr_compile *compile, const char *symbol);
/* Takes the symbol if it is next. */
bool mg_expr_token_take(struct mg_expr_compile *compile, const char *symbol);
/* A mistake unless the symbol is next. */
void mg_expr_token_need(struct mg_expr_compile *compile, const char *symbol, const char *why);

bool mg_expr_is_reserved(struct mg_slice name); /* no name by CEL's grammar, but a member's */

/* ---- types.c ---- */

/* Sets the type and the shape of the last node from its children's; a mistake if they can never go together.
 */
void mg_expr_infer(struct mg_expr_compile *compile, int node);

#endif
