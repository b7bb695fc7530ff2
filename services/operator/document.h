/*
 * A small JSON document as a tree (jansson), for texts off the hot path that carry no payload: requests to
 * the console, and the rows of an order's story. A tree keeps values, not bytes: 14.00 would become 14.0.
 * Messages, and all JSON that carries a payload, pass the reader of common/json instead (common/README.md).
 */
#ifndef MG_OPERATOR_DOCUMENT_H
#define MG_OPERATOR_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Above any request, and the lists of an event. It bounds memory, too: a tree of empty objects takes some 80
 * times its text. */
#define MG_DOCUMENT_MAX_BYTES ((size_t)256 * 1024)

struct json_t; /* an object, an array, a text, …; a document is its outermost value */

/* Reads an object or an array by RFC 8259. Refused, with place and remedy: any other text, a name twice in
 * one object, NUL, integers above 64 bits. MG_BAD_INPUT, or MG_TRANSIENT when out of memory. */
enum mg_class mg_document_read(struct mg_slice text, struct json_t **ret_document,
                               struct mg_err *err) MG_MUSTCHECK;
/* Wipes and frees, as there may be a token in it; accepts NULL. */
void mg_document_free(struct json_t *document);

/* These return NULL, or the absent slice, if there is no such value, or `value` is NULL or of another type.
 */
const struct json_t *mg_document_element(const struct json_t *array, int index);
const struct json_t *mg_document_member(const struct json_t *object, const char *name);
/* The value of the object's member number `index`, from 0, and its name. */
const struct json_t *mg_document_pair(struct json_t *object, int index, const char **ret_name);
struct mg_slice mg_document_text(const struct json_t *value); /* NUL-terminated; borrowed from the document */
/* False if `value` is no integer. */
bool mg_document_integer(const struct json_t *value, int64_t *ret_number);

#endif
