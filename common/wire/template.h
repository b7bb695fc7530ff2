/*
 * Templates: JSON text or a path with ${/json/pointer} references (RFC 6901) into
 *   /order_id  /payload/…  /results/<step>/…  /idempotency_key  /do_key
 * A string that is only one reference takes the value's bytes as they are (a number stays digit for digit); a
 * reference inside a longer string is put in as text; in paths the text is percent-encoded (RFC 3986 §2.3
 * unreserved stay).
 * "$${" writes a plain "${". Refused, because they would call something else than meant: inside a longer
 * string, a reference to null, an object or an array; in a path, also one to an empty text.
 */
#ifndef MG_WIRE_TEMPLATE_H
#define MG_WIRE_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"

/* Gives the JSON text of the value at a pointer; absent: there is none. */
typedef struct mg_slice mg_template_value_fn(void *arg, const char *pointer);

enum mg_class mg_template_render_json(struct mg_slice json_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_json, struct mg_err *err) MG_MUSTCHECK;
enum mg_class mg_template_render_path(struct mg_slice path_template, mg_template_value_fn *value, void *arg,
                                      struct mg_buf *ret_path, struct mg_err *err) MG_MUSTCHECK;
/* `text`: a path (it starts with "/") or JSON text that mg_json_check has accepted. Calls `seen` for each
 * reference; MG_BAD_INPUT for "${" without an end or a pointer that is none. `seen` returns false to end the
 * scan there (MG_OK). */
enum mg_class mg_template_scan(struct mg_slice text, bool (*seen)(void *arg, const char *pointer), void *arg,
                               struct mg_err *err) MG_MUSTCHECK;

/* NULL if a rendered path may be sent; else what is wrong and what would be right: it must start with "/", be
 * printable ASCII without blanks, and hold neither "#" nor a "." or ".." segment (curl would climb out of the
 * service's URL). */
const char *mg_path_fault(struct mg_slice path);

#endif
