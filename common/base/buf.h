/*
 * Borrowed text (`struct mg_slice`), a bounded growing buffer (`struct mg_buf`), and an arena whose memory
 * lives exactly as long as one batch. The owner of the arena frees all of it when the batch is settled.
 */
#ifndef MG_BASE_BUF_H
#define MG_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Borrowed bytes, not necessarily NUL-terminated. `data == NULL` means absent. */
struct mg_slice {
    const char *data;
    size_t len;
};

struct mg_slice mg_slice_of(const char *text); /* NULL gives the absent slice */
bool mg_slice_equal(struct mg_slice a, struct mg_slice b);
bool mg_slice_is(struct mg_slice a, const char *text);
/* Takes the text up to the next line end; returns it without the blanks around it. */
struct mg_slice mg_slice_line_take(struct mg_slice *rest);

/* Bytes of the well-formed UTF-8 sequence at `text` (Unicode 15, table 3-7); 0 if there is none. `len` > 0.
 */
size_t mg_utf8_len(const char *text, size_t len);

/* Bytes at the beginning of `text` that stand in a JSON string unescaped and each alone: ASCII from the space
 * on, without '"', '\\' and DEL, most bytes of most texts. */
size_t mg_plain_len(const char *text, size_t len);
/* The length of `text` if it is cut after at most `max` bytes, before a character that would be cut. Bytes
 * that are no character may be cut anywhere. */
size_t mg_utf8_cut(struct mg_slice text, size_t max);
/* The length in bytes of the UTF-8 character at `text` if it is a control character for a terminal, a mark of
 * text direction, or a line end beyond ASCII. Else 0, as for line ends and tabs. At most `len` bytes are
 * read, at least 1 must be there. */
size_t mg_text_steers(const char *text, size_t len);
/* Copies UTF-8 for people as one plain line: a blank for each line end, tab, and character that steers. Cut
 * before the first character without room; `size` > 0. */
void mg_text_copy_plain(struct mg_slice text, char *ret_text, size_t size);
/* Makes a foreign text safe for a terminal, in place: blanks for line ends and tabs, dots for the bytes of
 * mg_text_steers. */
void mg_text_make_plain(char *text);
/* Replaces each byte that is not UTF-8 by '?', for example where a text was cut within a character. */
void mg_utf8_mend(char *text);

/*
 * Grows up to `max` bytes. An append that does not fit, or that finds no memory, sets `failed` and leaves the
 * content unchanged. The caller checks once, at the end. `data` is NUL-terminated after the first append.
 */
struct mg_buf {
    char *data;
    size_t len;
    size_t capacity;
    size_t max;
    bool failed;
    bool is_out_of_memory; /* the reason of `failed`; false: `max` was exceeded */
};

void mg_buf_init(struct mg_buf *buf, size_t max);
/* Stays within the caller's memory, of at most `size` - 1 bytes and the NUL. It never allocates, and there is
 * nothing to finish. */
void mg_buf_init_fixed(struct mg_buf *buf, char *memory, size_t size);
void mg_buf_finish(struct mg_buf *buf);
void mg_buf_clear(struct mg_buf *buf); /* keeps the memory, resets `failed` */
void mg_buf_append(struct mg_buf *buf, const void *data, size_t len);
void mg_buf_append_text(struct mg_buf *buf, const char *text);
void mg_buf_append_slice(struct mg_buf *buf, struct mg_slice slice);
void mg_buf_append_integer(struct mg_buf *buf, int64_t number); /* decimal */
void mg_buf_printf(struct mg_buf *buf, const char *format, ...) MG_PRINTF(2, 3);
/* A JSON string with its quotes; control characters, quotes and backslashes escaped (RFC 8259 §7). */
void mg_buf_append_json(struct mg_buf *buf, struct mg_slice text);
/* Without its quotes: a part of a string. */
void mg_buf_append_json_part(struct mg_buf *buf, struct mg_slice text);
/* With quotes, but a byte that is not UTF-8 becomes U+FFFD itself, not its escape, and so does NUL, which
 * neither our messages nor the database take: the form in messages. */
void mg_buf_append_json_mended(struct mg_buf *buf, struct mg_slice text);
/* Percent-encoding of paths and queries (RFC 3986 §2.1): unreserved characters stay (§2.3). */
void mg_buf_append_percent(struct mg_buf *buf, struct mg_slice text);
/* application/x-www-form-urlencoded (WHATWG URL §5.2): a blank becomes "+", "*" stays, and "~" does not. */
void mg_buf_append_form(struct mg_buf *buf, struct mg_slice text);
/* Fails for the same reason as `part`, if `part` has failed: text made from it is incomplete. */
void mg_buf_fail_with(struct mg_buf *buf, const struct mg_buf *part);
/* MG_OK: all appends fitted. MG_TRANSIENT: out of memory. MG_PERMANENT: above `max`. */
enum mg_class mg_buf_class(const struct mg_buf *buf);
struct mg_slice mg_buf_slice(const struct mg_buf *buf);

/* Allocation in blocks, freed all at once. All memory is zeroed. */
struct mg_arena;
struct mg_arena *mg_arena_create(size_t max_bytes);        /* NULL: no memory */
void mg_arena_destroy(struct mg_arena *arena);             /* accepts NULL */
size_t mg_arena_used(const struct mg_arena *arena);        /* bytes handed out */
void *mg_arena_alloc(struct mg_arena *arena, size_t size); /* NULL: no memory, or above max_bytes */
struct mg_slice mg_arena_copy(struct mg_arena *arena,
                              struct mg_slice); /* NUL-terminated copy; absent: no memory or absent */
char *mg_arena_text(struct mg_arena *arena, struct mg_slice); /* the same as a C string; NULL likewise */
char *mg_arena_printf(struct mg_arena *arena, const char *format, ...) MG_PRINTF(2, 3);

#endif
