/* Percent-encoding: of paths and queries (RFC 3986 §2.1), and of forms (WHATWG URL §5.2). */
#ifndef MG_BASE_FORM_H
#define MG_BASE_FORM_H

#include "base/buf.h"

void mg_buf_append_percent(struct mg_buf *buf, struct mg_slice text); /* unreserved characters stay (§2.3) */
/* application/x-www-form-urlencoded: a blank becomes "+", "*" stays, and "~" does not. */
void mg_buf_append_form(struct mg_buf *buf, struct mg_slice text);

#endif
