/* The compiled form of an expression: an array of nodes, children before their parents. Private to
 * common/expr and common/workflow. */
#ifndef MG_EXPR_TREE_H
#define MG_EXPR_TREE_H

#include <stdint.h>

#include "expr/expr.h"
#include "json/scan.h"

enum mg_expr_op {
    MG_OP_LITERAL,  /* value: index of the literal */
    MG_OP_ROOT,     /* root, member */
    MG_OP_VARIABLE, /* value: slot */
    MG_OP_MEMBER,   /* a, name in at_name */
    MG_OP_INDEX,    /* a[b] */
    MG_OP_LIST,     /* first element in a; elements are linked by `next` */
    MG_OP_NOT,      /* a */
    MG_OP_NEGATE,   /* a */
    MG_OP_ADD,      /* a, b */
    MG_OP_SUBTRACT,
    MG_OP_MULTIPLY,
    MG_OP_EQUAL,
    MG_OP_UNEQUAL,
    MG_OP_LESS,
    MG_OP_LESS_EQUAL,
    MG_OP_MORE,
    MG_OP_MORE_EQUAL,
    MG_OP_IN,
    MG_OP_AND,
    MG_OP_OR,
    MG_OP_CONDITIONAL, /* a ? b : c */
    MG_OP_HAS,         /* a: a MEMBER, or a ROOT with a member */
    MG_OP_SIZE,        /* a */
    MG_OP_STRING,
    MG_OP_ROUND,  /* a, b */
    MG_OP_DIVIDE, /* a, b, c */
    MG_OP_TIME,   /* a */
    MG_OP_DURATION,
    MG_OP_STARTS_WITH, /* a, b */
    MG_OP_ENDS_WITH,
    MG_OP_CONTAINS,
    MG_OP_ALL, /* macros, up to the end: a: the list, b: the body, value: slot */
    MG_OP_EXISTS,
    MG_OP_COUNT,
    MG_OP_SUM,
};

#define MG_EXPR_NONE (-1)

struct mg_expr_node {
    uint8_t op, type;        /* enum mg_expr_op, enum mg_expr_type */
    int16_t a, b, c;         /* children; MG_EXPR_NONE: none */
    int16_t next;            /* of an element: the next one */
    int16_t value;           /* a literal, a slot or a root, by op */
    int16_t member;          /* of a root */
    uint16_t begin, end;     /* of its text */
    uint16_t at;             /* the place to point at: an operator, a name */
    uint16_t name, name_len; /* of a member, in `names` */
};

struct mg_expr {
    struct mg_slice text;
    const char *names; /* members' names and texts, escapes resolved */
    const struct mg_expr_node *nodes;
    const struct mg_expr_value *literals;
    int node_count, literal_count;
    int root; /* the node */
    bool is_constant;
};

/* ---- texts, text.c: each function adds the bytes that it passes over to *ret_passed ---- */

int mg_expr_text_compare(const struct mg_expr_value *a, const struct mg_expr_value *b, size_t *ret_passed);
bool mg_expr_text_starts(const struct mg_expr_value *text, const struct mg_expr_value *with,
                         size_t *ret_passed);
bool mg_expr_text_ends(const struct mg_expr_value *text, const struct mg_expr_value *with,
                       size_t *ret_passed);
/* Ends without an answer once it has passed over more than `most` bytes. */
bool mg_expr_text_contains(const struct mg_expr_value *text, const struct mg_expr_value *part, size_t most,
                           size_t *ret_passed);
size_t mg_expr_text_size(const struct mg_expr_value *text, size_t *ret_passed); /* in characters */
/* Writes the plain text; false if it needs more than `size` bytes. */
bool mg_expr_text_copy(const struct mg_expr_value *text, char *ret, size_t size, size_t *ret_len);

/* ---- two conditions, compare.c: nodes of one expression, or of two over the same names ---- */

bool mg_expr_is_same(const struct mg_expr *a, int a_node, const struct mg_expr *b, int b_node);
/* One is true exactly where the other is false. */
bool mg_expr_is_opposite(const struct mg_expr *a, int a_node, const struct mg_expr *b, int b_node);
/* Both compare the same with literals, so that never both are true: x == 'a' and x == 'b'. */
bool mg_expr_excludes(const struct mg_expr *a, int a_node, const struct mg_expr *b, int b_node);

/* ---- times, time.c ---- */

#define MG_EXPR_TIME_TEXT_SIZE 40

/* RFC 3339 with an offset, in UTC of the years 1 to 9999, up to nanoseconds. */
bool mg_expr_time_read(struct mg_slice text, mg_int128 *ret_ns);
/* In UTC, with as many digits of a fraction as are needed of 0, 3, 6 and 9. Returns its length; 0 if the year
 * is beyond RFC 3339. */
size_t mg_expr_time_write(mg_int128 ns, char ret_text[MG_EXPR_TIME_TEXT_SIZE]);
/* "36h", "1h30m", "-2.5s"; units d h m s ms us ns. */
bool mg_expr_duration_read(struct mg_slice text, mg_int128 *ret_ns);
size_t mg_expr_duration_write(mg_int128 ns, char ret_text[MG_EXPR_TIME_TEXT_SIZE]); /* in seconds */

/* ---- values, value.c ---- */

/* The value of trimmed JSON text. */
struct mg_expr_value mg_expr_value_of(struct mg_slice json);
/* Appends at most `max` bytes of it as a person would write it: 'high', 65.00, a list. */
void mg_expr_show(const struct mg_expr_value *value, struct mg_buf *ret_text);
/* Makes one line of a message that quotes an expression or a payload, and mends a character that was cut. */
void mg_expr_line(char *text);
#define MG_EXPR_MESSAGE_SIZE (MG_ERR_TEXT_MAX - 24) /* room for "column 1024: " */
/* "column 9" counts characters. */
int mg_expr_column(struct mg_slice text, size_t at);

#endif
