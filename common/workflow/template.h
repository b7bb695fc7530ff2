/*
 * Templates: JSON text or a path with ${/json/pointer} references (RFC 6901) into
 *   /order_id  /payload/…  /results/<step>/…  /idempotency_key  /do_key
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

/* Returns the JSON text of the value at a pointer, or of the expression after "="; absent: there is no
 * value. It is used before the next call. */
typedef struct mg_slice mg_template_value_fn(void *arg, const char *pointer);

enum mg_class mg_template_render_json(struct mg_slice json_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_json, struct mg_err *err) MG_MUSTCHECK;
enum mg_class mg_template_render_path(struct mg_slice path_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_path, struct mg_err *err) MG_MUSTCHECK;
/* As text. `ret_is_absent` is true, and the text is undefined, if a reference has no value, or null.
 * MG_PERMANENT: a reference to an object or an array. A text above ret_text->max sets only its `failed`. */
enum mg_class mg_template_render_text(struct mg_slice text_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_text, bool *ret_is_absent,
                                      struct mg_err *err) MG_MUSTCHECK;
/* `text`: a path (it starts with "/") or JSON text that mg_json_check has accepted. Calls `seen` for each
 * reference. MG_BAD_INPUT for "${" without an end, or for an invalid pointer. An expression comes as "=" and
 * its text, unread. `seen` returns false to end the scan there (MG_OK). */
enum mg_class mg_template_scan(struct mg_slice text, bool (*seen)(void *arg, const char *pointer), void *arg,
                               struct mg_err *err) MG_MUSTCHECK;

/* True if each part of `text` next to its references passes `is_good`, and for a text that a scan refuses. */
bool mg_template_literals_are(struct mg_slice text, bool (*is_good)(struct mg_slice literal));

#endif
