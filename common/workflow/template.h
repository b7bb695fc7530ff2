/*
 * Templates: JSON text, a path or a label with ${/json/pointer} references (RFC 6901) into
 *   /order_id  /payload/…  /results/<step>/…  /idempotency_key  /do_key  /callback_url
 * or ${= expression}, evaluated by expr/expr.h.
 * A string that is only one reference takes the value's bytes unchanged (a number keeps every digit). A
 * reference inside a longer string is inserted as text; in paths the text is percent-encoded (RFC 3986 §2.3
 * unreserved stay). "$${" writes a plain "${".
 *
 * Refused, because the call would have another target than intended: inside a longer string, a reference to
 * null, an object or an array; in a path, also one to an empty text.
 */
#ifndef MG_WORKFLOW_TEMPLATE_H
#define MG_WORKFLOW_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"

struct mg_expr;

enum mg_piece {
    MG_PIECE_LITERAL, /* bytes that stand in each rendering */
    MG_PIECE_VALUE,   /* a reference that is a whole string of JSON: the value's bytes */
    MG_PIECE_TEXT,    /* a reference within a text */
};

/* The place of a reference's value. */
enum mg_place {
    MG_PLACE_NONE,
    MG_PLACE_EXPRESSION,
    MG_PLACE_PAYLOAD,
    MG_PLACE_RESULT,
    MG_PLACE_ORDER_ID,
    MG_PLACE_IDEMPOTENCY_KEY,
    MG_PLACE_DO_KEY,
    MG_PLACE_CALLBACK_URL,
};

struct mg_template_piece {
    struct mg_template_piece *next;
    struct mg_slice text; /* of a literal; of a reference, NUL-terminated: its pointer, or "=" and the text */
    enum mg_piece kind;
    /* Of a reference; the workflow sets them. */
    enum mg_place place;
    int step;                   /* of a result */
    const char *rest;           /* within a payload or a result: a JSON pointer */
    const struct mg_expr *expr; /* of an expression */
};

enum mg_template_form { MG_TEMPLATE_JSON, MG_TEMPLATE_PATH, MG_TEMPLATE_LABEL };

/* Compiled, in memory of its workflow. */
struct mg_template {
    enum mg_template_form form;
    struct mg_template_piece *pieces;
};

/* `text`: JSON that mg_json_check has accepted, or a plain text. MG_BAD_INPUT for "${" without an end, or
 * for an invalid pointer; MG_TRANSIENT: no memory in `arena`. */
enum mg_class mg_template_compile(struct mg_slice text, enum mg_template_form form, struct mg_arena *arena,
                                  struct mg_template *ret_template, struct mg_err *err) MG_MUSTCHECK;

struct mg_template_values {
    /* Returns the JSON text of a reference's value; absent: there is none. It is used before the next call.
     */
    struct mg_slice (*find)(void *arg, const struct mg_template_piece *reference);
    void *arg;
};

/* MG_PERMANENT: a reference has no value, or none that can stand there, or the whole is above ret->max. */
enum mg_class mg_template_render(const struct mg_template *template, const struct mg_template_values *values,
                                 struct mg_buf *ret, struct mg_err *err) MG_MUSTCHECK;
/* The same, but a text above ret->max sets only its `failed`. */
enum mg_class mg_template_join(const struct mg_template *template, const struct mg_template_values *values,
                               struct mg_buf *ret, struct mg_err *err) MG_MUSTCHECK;

/* Calls `seen` for each reference; it returns false to end there. */
typedef bool mg_template_seen_fn(void *arg, const struct mg_template_piece *reference);
void mg_template_each(const struct mg_template *template, mg_template_seen_fn *seen, void *arg);

/* Calls `seen` for each reference of one quoted string, before its definition is compiled. MG_BAD_INPUT as of
 * mg_template_compile, after the references before the fault. */
enum mg_class mg_template_scan(struct mg_slice quoted, void (*seen)(void *arg, const char *reference),
                               void *arg, struct mg_err *err) MG_MUSTCHECK;

/* True if each part of `text` next to its references passes `is_good`, and for a text that a scan refuses. */
bool mg_template_literals_are(struct mg_slice text, bool (*is_good)(struct mg_slice literal));

#endif
