/* Small JSON objects off the hot path, member by member: requests to console and gateway, causes and entries
 * of an order's story. */
#ifndef MG_OPERATOR_DOCUMENT_H
#define MG_OPERATOR_DOCUMENT_H

#include "json/scan.h"

/* Checks the text of an object. MG_BAD_INPUT, with place and remedy, or MG_TRANSIENT when out of memory. */
enum mg_class mg_document_check(struct mg_slice text, struct mg_err *err) MG_MUSTCHECK;

/* The text of a member, by its JSON pointer; "" if it is absent or of another type. False: it does not fit
 * into `size` bytes, and is "". */
bool mg_document_text(struct mg_slice object, const char *pointer, char *ret_text, size_t size);
/* False, and no change, if the member is no integer. */
bool mg_document_integer(struct mg_slice object, const char *pointer, int64_t *ret_number);

#endif
