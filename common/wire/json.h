/*
 * Reading JSON from outside: the check that all of it passes, and slices. Payloads and results are kept and
 * passed on as the bytes that came (14.00 stays 14.00), so a value is a piece of the original text, and no
 * tree is ever built.
 */
#ifndef MG_WIRE_JSON_H
#define MG_WIRE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct mg_json_limits {
    size_t max_bytes; /* a body; default 256 KiB: what a broker moves without harm to others */
    int max_depth;    /* default 32: no order is deeper; bounds recursion */
    int max_members;  /* default 10,000 members and elements in all: bounds memory and time */
};
extern const struct mg_json_limits MG_JSON_LIMITS_DEFAULT;

/* Strict RFC 8259 text: refused with place (line, column or pointer) are: bytes above a limit, duplicate
 * names, invalid UTF-8, NUL, numbers outside int64 and double, anything after the value. Needs no memory
 * after it returns. MG_BAD_INPUT, or MG_TRANSIENT for lack of memory. */
enum mg_class mg_json_check(struct mg_slice text, const struct mg_json_limits *limits,
                            struct mg_err *err) MG_MUSTCHECK;

/* In text that mg_json_check (or a message parser) has accepted: the bytes of the value at an RFC 6901
 * pointer, without surrounding blanks. Absent if there is none. "" is the whole. */
struct mg_slice mg_json_find(struct mg_slice text, const char *pointer);

/* Replaces (or adds, as the last member of an existing object) the value at `pointer` in checked text;
 * `value` is checked text too. MG_BAD_INPUT: there is no such place. */
enum mg_class mg_json_set(struct mg_slice text, const char *pointer, struct mg_slice value,
                          struct mg_buf *ret_text, struct mg_err *err) MG_MUSTCHECK;

/* A sink for mistakes of definition files: each has the JSON pointer of its place, what is wrong and what
 * would be right. */
struct mg_mistakes {
    void (*add)(void *arg, const char *pointer, const char *text);
    void *arg;
};

/* A string value's text (quotes removed, escapes resolved) appended to `ret`; false if the slice is no
 * string. */
bool mg_json_string(struct mg_slice value, struct mg_buf *ret);

#endif
