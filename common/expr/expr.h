/*
 * Expressions of workflow definitions: conditions and computed values over JSON. The grammar is a strict part
 * of CEL's (Common Expression Language), so every expression here is one of CEL too. Numbers are exact
 * decimals: 14.00 stays 14.00 and 0.1 + 0.2 is 0.3.
 *
 *   payload.total * 1.077 > 500.00 && payload.country in ["CH", "LI"]
 *   has(payload.coupon) ? round(payload.total * 0.9, 2) : payload.total
 *   payload.items.all(i, i.qty > 0)
 *
 *   lexer.c parse.c types.c   from the text to the tree of expr/tree.h
 *   references.c compare.c    the tree, before it runs: its names, and two conditions side by side
 *   eval.c arithmetic.c       from the tree to a value
 *   eval_fault.c reason.c     for people: why it failed, why it is true or false
 *   value.c text.c time.c decimal.c   the values
 *
 * | form                                | meaning                                                          |
 * |-------------------------------------|------------------------------------------------------------------|
 * | 1  -2.50  1e3  "a"  'a'  true  null | literals; a text has CEL's escapes, r"…" has none                |
 * | ["CH", "LI"]                        | a list, after `in`, under a macro, in a comparison               |
 * | a.b  a["b"]  a[0]                   | a member, an element                                             |
 * | ! - + * == != < <= > >= in          | + joins texts; < compares numbers, texts by code point, times    |
 * | && || ?:                            | an error on one side counts only if the other does not decide    |
 * | has(a.b)                            | a has the member b                                               |
 * | size(x)                             | characters, elements or members                                  |
 * | x.all(i, e)  x.exists(i, e)         | every / some element of a list fulfils e                         |
 * | x.count(i, e)  x.sum(i, e)          | the elements that fulfil e; the sum of e over them (ours)        |
 * | s.startsWith(t) .endsWith .contains | texts                                                            |
 * | string(x)                           | a number, boolean, time or text as text                          |
 * | round(n, places)                    | half away from zero (ours)                                       |
 * | divide(n, m, places)                | the quotient, rounded once; there is no `/` (ours)               |
 * | time(t)  duration("36h")            | RFC 3339; they compare, add and subtract (ours: d, too)          |
 *
 * A missing member is an error, never null or false; has() asks for it. == between two types other than null
 * is an error. The clock, chance and the environment are out of reach: the same input gives the same value.
 *
 * Evaluation reads the JSON where it lies, allocates nothing and ends after a number of steps that follows
 * from the size of the values that it can see. Each node evaluated is a step, each element met in a list is
 * one, and so are each 40 bytes passed over.
 *
 * This engine knows no workflow: the caller supplies the names (struct mg_expr_names) and their values
 * (struct mg_expr_scope). deploy/docs/expressions.md is the page for authors of definitions.
 */
#ifndef MG_EXPR_EXPR_H
#define MG_EXPR_EXPR_H

#include "base/buf.h"
#include "expr/decimal.h"

#define MG_EXPR_TEXT_MAX   1024  /* bytes; a longer condition belongs into several values */
#define MG_EXPR_NODES_MAX  256   /* more cannot be read by a person */
#define MG_EXPR_DEPTH_MAX  32    /* nested brackets, calls, conditionals, as CEL asks for; bounds recursion */
#define MG_EXPR_HEIGHT_MAX 96    /* of the tree: a row of terms nests to the left */
#define MG_EXPR_LOOPS_MAX  2     /* macros within each other: more would be a program */
#define MG_EXPR_STEPS_MIN  20000 /* below a millisecond of the loop, measured (tests/README.md) */
/* A loop over short elements takes about one step a byte of the list: all that was admitted can be passed
 * over several times. 256 KiB, the default limit of a submission, are a million steps, some 50 ms. */
#define MG_EXPR_STEPS_OF_BYTE 4
#define MG_EXPR_BYTES_MAX     (1024 * 1024) /* that count: 0.2 s of the loop at the most */
#define MG_EXPR_STEP_BYTES    40   /* of JSON passed over; at 64, a text of quotes and brackets took 1.2 ms */
#define MG_EXPR_ROOM_BYTES    4096 /* texts made by + and string() at one time */

enum mg_expr_type {
    MG_EXPR_UNKNOWN, /* only known once evaluated */
    MG_EXPR_NULL,
    MG_EXPR_BOOLEAN,
    MG_EXPR_NUMBER,
    MG_EXPR_TEXT,
    MG_EXPR_TIME,
    MG_EXPR_DURATION,
    MG_EXPR_LIST,
    MG_EXPR_OBJECT,
};
const char *mg_expr_type_name(enum mg_expr_type type); /* "a number", "a text", … for messages */

/* A compiled expression. It lives in the arena that it was compiled into and never changes. */
struct mg_expr;

/* ---- names ---- */

/* The definition's own account of the values, for the check of types. A shape is the caller's; NULL is one
 * of which nothing is known. Only called by mg_expr_compile. */
struct mg_expr_shapes {
    const void *(*root)(void *arg, int root, int member); /* member: -1 for a root without members */
    enum mg_expr_type (*type)(void *arg, const void *shape);
    /* The member's shape. `ret_is_there` false: there is no such member, and `ret_nearest` is a name like it,
     * or NULL. */
    const void *(*member)(void *arg, const void *shape, struct mg_slice name, bool *ret_is_there,
                          const char **ret_nearest);
    const void *(*element)(void *arg, const void *shape);
    void *arg;
    /* The only texts that it can be, NULL-ended; NULL: any. The function may be NULL. */
    const char *const *(*words)(void *arg, const void *shape);
};

/* A name at the start of a path. With `members` it is no value itself: one of these names follows, as in
 * `results.score` or `results["ship-it"]`, and each is found apart. */
struct mg_expr_root {
    const char *name;
    const char *const *members; /* NULL-ended; NULL: the root is a value */
};

struct mg_expr_names {
    const struct mg_expr_root *roots;
    int root_count;
    const struct mg_expr_shapes *shapes; /* NULL: nothing is known of types */
};

/* ---- compiling ---- */

enum mg_expr_mistake {
    MG_EXPR_MISTAKE_SYNTAX, /* outside this grammar, or beyond a bound */
    MG_EXPR_MISTAKE_NAME,   /* no such name, member, function */
    MG_EXPR_MISTAKE_TYPE,   /* these types can never go together */
};

struct mg_expr_place { /* of a mistake */
    int column;        /* characters, from 1 */
    enum mg_expr_mistake mistake;
};

/* MG_BAD_INPUT: the text of `err` is "column 9: …", with the mistake and a valid form. MG_TRANSIENT: no
 * memory. `ret_place` may be NULL. */
enum mg_class mg_expr_compile(struct mg_slice text, const struct mg_expr_names *names, struct mg_arena *arena,
                              const struct mg_expr **ret_expr, struct mg_expr_place *ret_place,
                              struct mg_err *err) MG_MUSTCHECK;

/* In text that begins with an expression, the place of the first "}" outside the expression's texts; NULL:
 * there is none. */
const char *mg_expr_close(const char *at, const char *end);

struct mg_slice mg_expr_text(const struct mg_expr *expr);
/* The type of every value that it can have; MG_EXPR_UNKNOWN if it depends on the input. */
enum mg_expr_type mg_expr_type_of(const struct mg_expr *expr);
/* True if no name occurs in it: it has the same value for every order. */
bool mg_expr_is_constant(const struct mg_expr *expr);

/* ---- references ---- */

/* A condition that holds wherever a reference is needed: has(results.score), state.score == "done" or, with
 * is_negated, state.score != "skipped". */
struct mg_expr_fact {
    bool is_has;          /* else an equality with `text` */
    bool is_negated;      /* of an equality */
    int root, member;     /* -1: a root without members */
    struct mg_slice path; /* after root and member, as written: "" or ".risk" */
    struct mg_slice text; /* of the literal, without quotes */
};

struct mg_expr_reference {
    int root, member; /* -1: a root without members */
    int column;
    struct mg_slice path; /* after root and member, as written: ".items[0].qty"; up to a computed index */
    bool is_asked;        /* it is only asked for by has() or in */
    bool is_certain;      /* its value is needed in any case: without it there is no result */
    const struct mg_expr_fact *facts; /* these hold whenever its value is needed */
    int fact_count;
    const struct mg_expr *expr;
    int node;
};

/* Appends the path as a JSON pointer (RFC 6901): "/items/0/qty". */
void mg_expr_reference_pointer(const struct mg_expr_reference *reference, struct mg_buf *ret_pointer);

/* Calls `seen` for each reference, from left to right. An error next to && or || does not count if the other
 * side decides; hence a condition on either side guards the other. */
void mg_expr_references(const struct mg_expr *expr,
                        void (*seen)(void *arg, const struct mg_expr_reference *reference), void *arg);

/* Calls `seen` for each condition that holds wherever the whole expression is true. */
void mg_expr_facts(const struct mg_expr *expr, void (*seen)(void *arg, const struct mg_expr_fact *),
                   void *arg);

/* ---- evaluating ---- */

/* The value of a root or of a root's member: checked JSON text, or another compiled expression, which is
 * evaluated within the same steps. Neither: there is no such value; or, with a fault, there is one that
 * nobody can read, and to ask for it is an error, too. */
struct mg_expr_found {
    struct mg_slice json;
    const struct mg_expr *expr;
    struct mg_slice fault; /* why it cannot be read; absent: it can */
};

struct mg_expr_scope {
    struct mg_expr_found (*find)(void *arg, int root, int member);
    void *arg;
    size_t bytes; /* of all JSON that it can find */
};

/* Texts made by an evaluation lie here; a value is valid as long as this, the scope's JSON and the expression
 * are. */
struct mg_expr_room {
    size_t used;
    char bytes[MG_EXPR_ROOM_BYTES];
};

struct mg_expr_value {
    enum mg_expr_type type;
    bool boolean;
    bool is_escaped;          /* a text that still has JSON's escapes */
    bool is_wide;             /* a number with more digits than can be reckoned with; it may be passed on */
    struct mg_decimal number; /* also nanoseconds: of a time since 1970, of a duration */
    struct mg_slice text;     /* a text without quotes; JSON of a list, an object, or a number as received */
    const struct mg_expr *list_of; /* a list that stands in this expression, at `list_node` */
    int list_node;
};

/* MG_PERMANENT: `err` has the column, the reason and the place's text. `ret_steps` (may be NULL) are those
 * used. Never any other class. */
enum mg_class mg_expr_evaluate(const struct mg_expr *expr, const struct mg_expr_scope *scope,
                               struct mg_expr_room *room, struct mg_expr_value *ret_value, int *ret_steps,
                               struct mg_err *err) MG_MUSTCHECK;
/* The same, where a condition is needed: another value than true or false is an error. */
enum mg_class mg_expr_decide(const struct mg_expr *expr, const struct mg_expr_scope *scope,
                             struct mg_expr_room *room, bool *ret_is_true, struct mg_err *err) MG_MUSTCHECK;

/* Appends the reason of a condition's result, with the values that decided it:
 * "values.gross > 500.00 was 65.00 > 500.00". At most `max` bytes, cut at a character; nothing if the
 * condition cannot be evaluated. */
void mg_expr_explain(const struct mg_expr *expr, const struct mg_expr_scope *scope, struct mg_expr_room *room,
                     size_t max, struct mg_buf *ret_text);

/* A time, or a text that is one (RFC 3339 with an offset): in ms since 1970, rounded down. */
bool mg_expr_value_time(const struct mg_expr_value *value, int64_t *ret_ms);
/* Appends the value as JSON: bytes from the input stay as they came, numbers made have the places that
 * arithmetic gave them. */
void mg_expr_write_json(const struct mg_expr_value *value, struct mg_buf *ret_json);
/* Appends it as text within a longer text. False, nothing appended, for null, lists and objects. */
bool mg_expr_write_text(const struct mg_expr_value *value, struct mg_buf *ret_text);

#endif
