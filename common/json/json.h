/*
 * Reading external JSON: the check of every text, and slices. Payloads and results are kept and passed on as
 * the received bytes (14.00 stays 14.00). So a value is a slice of the original text, and no tree is ever
 * built.
 *
 *   json.c             the check of a text; every body, definition and file passes it before any other use
 *   mend.c             the second reading of a refused definition: all its mistakes of syntax
 *   strings.c          texts of other programs with strings that the check refuses
 *   scan.c             a walk over checked text: members, elements, characters, pointers
 *   reader.c           the members of one object into a struct, each with its type and its limits
 *   faults.c place.c   all mistakes of one text, each with pointer, line and column
 *   word_lists.c       the words that members may hold
 *   differ.c           two texts compared by meaning
 */
#ifndef MG_JSON_JSON_H
#define MG_JSON_JSON_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct mg_json_limits {
    size_t max_bytes; /* a body; default 256 KiB: a broker moves it without harm to other traffic */
    int max_depth;    /* default 32: no order is deeper; bounds recursion */
    int max_members;  /* default 10,000 members and elements in all: bounds memory and time */
    bool any_number;  /* false: integers fit int64, others a double, as this program reads them */
};
extern const struct mg_json_limits MG_JSON_LIMITS_DEFAULT;
/* The same for texts with the data of clients and services; their numbers are passed on digit for digit. */
extern const struct mg_json_limits MG_JSON_LIMITS_DATA;
/* For a submission: its 256 KiB may be the lines of a cart; the shortest members take eight bytes each. */
extern const struct mg_json_limits MG_JSON_LIMITS_SUBMISSION;

/* Checks strict RFC 8259 text. Refused, with line and column: bytes above a limit, duplicate names, invalid
 * UTF-8, NUL, numbers out of range unless any are allowed, and text after the value. Holds no memory after
 * its return. MG_BAD_INPUT, or MG_TRANSIENT when out of memory. */
enum mg_class mg_json_check(struct mg_slice text, const struct mg_json_limits *limits,
                            struct mg_err *err) MG_MUSTCHECK;
/* The same. `ret_is_above` is true if the text is refused because it is above a limit of bytes, levels or
 * members; what follows there is not checked. */
enum mg_class mg_json_check_limits(struct mg_slice text, const struct mg_json_limits *limits,
                                   bool *ret_is_above, struct mg_err *err) MG_MUSTCHECK;

/* Appends the text with U+FFFD for all in its strings that mg_json_check refuses there, except controls:
 * halves of a surrogate pair, NUL, bytes that are no UTF-8. It need be no JSON. */
void mg_json_mend_strings(struct mg_slice text, struct mg_buf *ret_text);

/* In text accepted by mg_json_check (or by a message parser): the bytes of the value at an RFC 6901 pointer,
 * without surrounding blanks. Absent if there is no such value. "" is the whole text. */
struct mg_slice mg_json_find(struct mg_slice text, const char *pointer);

/* Replaces the value at `pointer` in checked text, or adds it as the last member of an existing object.
 * `value` is checked text, too. MG_BAD_INPUT: there is no such place. */
enum mg_class mg_json_set(struct mg_slice text, const char *pointer, struct mg_slice value,
                          struct mg_buf *ret_text, struct mg_err *err) MG_MUSTCHECK;

struct mg_json_place {
    int line, column; /* from 1; columns count characters, not bytes. 0: the mistake has no place */
};

/* The place of the value at a pointer in checked text, or of the innermost value around it. */
struct mg_json_place mg_json_place_at(struct mg_slice text, const char *pointer);

/* A callback for mistakes of definition files: each has its place, the mistake and a valid form. `pointer` is
 * NULL if the text is no JSON. */
struct mg_mistakes {
    void (*add)(void *arg, struct mg_json_place place, const char *pointer, const char *text);
    void *arg;
};

/* Prints the mistakes of a file to stderr, one line each, "FILE:LINE:COLUMN: POINTER: …", as editors and
 * terminals follow it; `arg` is a struct mg_mistake_printer. */
struct mg_mistake_printer {
    const char *path;
    bool skips_first; /* the caller prints it as its error */
    int count;
};
void mg_mistake_print(void *arg, struct mg_json_place place, const char *pointer, const char *text);

/* Appends a string value's text to `ret`, without quotes and with escapes resolved; false if the slice is not
 * a string. */
bool mg_json_string(struct mg_slice value, struct mg_buf *ret);

#endif
