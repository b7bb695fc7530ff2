/*
 * A walk over JSON text that mg_json_check has accepted. It finds where values begin and end and trusts the
 * syntax, so it needs no tree, no memory and no recursion.
 */
#ifndef MG_JSON_SCAN_H
#define MG_JSON_SCAN_H

#include "json/json.h"

enum mg_json_type {
    MG_JSON_NULL,
    MG_JSON_BOOL,
    MG_JSON_NUMBER,
    MG_JSON_STRING,
    MG_JSON_ARRAY,
    MG_JSON_OBJECT,
};

struct mg_slice mg_json_trim(struct mg_slice text); /* without blanks at either end */
enum mg_json_type
mg_json_type_of(struct mg_slice value); /* by its first byte; `value` is trimmed and not empty */
const char *mg_json_type_name(enum mg_json_type type); /* "a string", "an object", … for messages */

/* Walks the members of an object or the elements of an array; a scalar has none. */
struct mg_json_walk {
    const char *at, *end;
    bool is_object;
};
struct mg_json_walk mg_json_walk_of(struct mg_slice container);
int mg_json_count(struct mg_slice container); /* of its members or elements */
/* False after the last. `ret_name` is the quoted name as it stands in the text; absent in arrays. */
bool mg_json_walk_next(struct mg_json_walk *walk, struct mg_slice *ret_name, struct mg_slice *ret_value);

/* One character of a string's inside, escapes resolved, as UTF-8. Returns its bytes (1 to 4); 0 at the end.
 */
int mg_json_char_next(const char **at, const char *end, char ret_utf8[4]);
/* True if the value is a string that, escapes resolved, is exactly `text`. */
bool mg_json_string_is(struct mg_slice quoted, struct mg_slice text);

/* RFC 6901 syntax: "" or "/…", and "~" only before "0" or "1". */
bool mg_json_pointer_is_valid(const char *pointer);

#endif
