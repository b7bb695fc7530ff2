/* Places in JSON text, for people: line and column of a byte, of a value, of a character within a string. */
#ifndef MG_JSON_PLACE_H
#define MG_JSON_PLACE_H

#include "json/json.h"

/* `at` lies within the text, or at its end. */
struct mg_json_place mg_json_place_of(struct mg_slice text, const char *at);
/* The first byte of the value at the pointer in checked text; if there is none, of the innermost value that
 * contains the place. */
const char *mg_json_locate(struct mg_slice text, const char *pointer);
/* The byte at which the character with this index (from 0, escapes resolved) begins in a quoted string; the
 * closing quote if the string has fewer. */
const char *mg_json_char_at(struct mg_slice quoted, int index);

#endif
