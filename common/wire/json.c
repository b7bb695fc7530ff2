/*
 * The check that every JSON text from outside passes before anything looks at it. A pass of our own holds the
 * limits that jansson has not (bytes, depth, members), before jansson may recurse or allocate; then jansson
 * judges syntax, UTF-8, duplicate names and the range of numbers. Its tree is thrown away: values are used as
 * slices of the text. Messages name line and column but never quote the text: it may hold what does not
 * belong into a log.
 */
#include "wire/json.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "wire/json_scan.h"

const struct mg_json_limits MG_JSON_LIMITS_DEFAULT = {
    .max_bytes = 256 * 1024,
    .max_depth = 32,
    .max_members = 10000,
};

struct place {
    int line, column; /* from 1; columns count characters, not bytes */
};

static struct place place_of(struct mg_slice text, size_t offset)
{
    struct place place = {1, 1};
    for (size_t i = 0; i < offset && i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n') {
            place.line++;
            place.column = 1;
        } else if ((c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static enum mg_class refuse_at(struct mg_slice text, size_t offset, struct mg_err *err, const char *what)
{
    struct place place = place_of(text, offset);
    return mg_err_set(err, MG_BAD_INPUT, "line %d, column %d: %s", place.line, place.column, what);
}

static enum mg_class refuse_limit(struct mg_slice text, size_t offset, struct mg_err *err, const char *what,
                                  int limit)
{
    struct place place = place_of(text, offset);
    return mg_err_set(err, MG_BAD_INPUT, "line %d, column %d: %s; up to %d are allowed", place.line,
                      place.column, what, limit);
}

/* Counts containers and their children without judging the syntax. */
static enum mg_class check_limits(struct mg_slice text, const struct mg_json_limits *limits,
                                  struct mg_err *err)
{
    int depth = 0, members = 0;
    bool is_in_string = false, is_container_fresh = false;

    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '\0') return refuse_at(text, i, err, "a NUL byte; JSON text has none");
        if (is_in_string) {
            if (c == '\\') i++;
            if (c == '"') is_in_string = false;
            continue;
        }
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
        bool is_close = c == '}' || c == ']';
        if ((is_container_fresh && !is_close) || c == ',') members++;
        is_container_fresh = c == '{' || c == '[';
        is_in_string = c == '"';
        if (is_container_fresh) depth++;
        if (is_close) depth--;
        if (depth > limits->max_depth) {
            return refuse_limit(text, i, err, "too many levels of objects and arrays", limits->max_depth);
        }
        if (members > limits->max_members) {
            return refuse_limit(text, i, err, "too many members and elements", limits->max_members);
        }
    }
    return MG_OK;
}

/* What is wrong and what would be right, in our words. */
static const char *explain(enum json_error_code code)
{
    switch ((int)code) { /* jansson's codes; most cannot come from parsing */
    case json_error_invalid_utf8:
        return "invalid UTF-8; JSON text is UTF-8";
    case json_error_premature_end_of_input:
        return "the text ends in the middle of a value; send it whole";
    case json_error_end_of_input_expected:
        return "something follows the value; send one value and nothing after it";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "NUL (\\u0000) in a string; remove it";
    case json_error_duplicate_key:
        return "a member's name occurs twice in its object; use each name once";
    case json_error_numeric_overflow:
        return "a number out of range; integers must fit 64 bits, others a double: send larger ones as "
               "strings";
    default:
        return "not JSON; it must follow RFC 8259 (names in double quotes, no trailing comma, no comments)";
    }
}

enum mg_class mg_json_check(struct mg_slice text, const struct mg_json_limits *limits, struct mg_err *err)
{
    if (text.data == NULL || mg_json_trim(text).len == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "line 1, column 1: empty; a JSON value is expected");
    }
    if (text.len > limits->max_bytes) {
        return mg_err_set(err, MG_BAD_INPUT, "the text has %zu bytes; up to %zu are allowed", text.len,
                          limits->max_bytes);
    }
    enum mg_class class = check_limits(text, limits, err);
    if (class != MG_OK) return class;

    json_error_t error;
    errno = 0;
    json_t *root = json_loadb(text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (root == NULL) {
        if (errno == ENOMEM || json_error_code(&error) == json_error_out_of_memory) {
            return mg_err_set(err, MG_TRANSIENT, "could not parse %zu bytes of JSON: no memory", text.len);
        }
        return mg_err_set(err, MG_BAD_INPUT, "line %d, column %d: %s", error.line, error.column,
                          explain(json_error_code(&error)));
    }
    json_decref(root);
    return MG_OK;
}
