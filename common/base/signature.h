/*
 * The signature of a failure, for counting failures of one cause together. It is the error's code, then its
 * text with each varying part replaced by "#": quoted values, UUIDs, hexadecimal numbers of at least eight
 * digits, and every other run of digits.
 *
 *   http_409 + "order 4711 is held by \"ann\""  →  http_409: order # is held by #
 */
#ifndef MG_BASE_SIGNATURE_H
#define MG_BASE_SIGNATURE_H

#include "base/buf.h"

#define MG_SIGNATURE_MAX 120 /* bytes; later text rarely adds information, and an index holds it */

/* `text` may be absent; it is UTF-8. Cut after MG_SIGNATURE_MAX bytes, never within a character. Returns the
 * length; `ret_text` ends with NUL. */
size_t mg_signature_write(struct mg_slice code, struct mg_slice text, char ret_text[MG_SIGNATURE_MAX + 1]);

#endif
