/*
 * Errors are values that carry a class. The class alone decides the handler's action: retry, refuse, ignore,
 * stop.
 *
 * A function that can fail returns `enum mg_class` (MG_OK is 0) and fills `struct mg_err`, its last
 * parameter. The callee names the operation, its object and the reason of the failure. Each caller puts
 * context in front. The handler of the error logs it, once. On failure nothing is left half-done and `ret_`
 * values are untouched.
 */
#ifndef MG_BASE_ERR_H
#define MG_BASE_ERR_H

enum mg_class {
    MG_OK = 0,
    MG_TRANSIENT, /* may succeed later without a change: unreachable, busy, timed out */
    MG_PERMANENT, /* cannot succeed before a change of data or configuration */
    MG_STALE,     /* the state has moved on; nothing is left to do */
    MG_BAD_INPUT, /* the bytes or the options given are wrong */
    MG_BUG,       /* this program broke its own invariant */
};

/* Room for a message with two levels of context; longer ones are cut. */
#define MG_ERR_TEXT_MAX 512

struct mg_err {
    enum mg_class class;
    char text[MG_ERR_TEXT_MAX];
};

#define MG_MUSTCHECK                  __attribute__((warn_unused_result))
#define MG_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

/* Sets the error and returns its class, for `return mg_err_set(err, MG_TRANSIENT, …)`. */
enum mg_class mg_err_set(struct mg_err *err, enum mg_class class, const char *format, ...) MG_PRINTF(3, 4);

/* Puts "context: " in front of the text and returns the class unchanged. */
enum mg_class mg_err_prefix(struct mg_err *err, const char *format, ...) MG_PRINTF(2, 3);

/* "transient", "permanent", … as logs and metrics spell it. */
const char *mg_class_name(enum mg_class class);

#endif
