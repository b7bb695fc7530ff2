/* Texts as they lie in JSON, with its escapes, alongside texts without. They are compared as they would read.
 */
#include <string.h>

#include "expr/tree.h"

/* A text byte by byte, escapes resolved. */
struct reader {
    const char *at, *end;
    bool is_escaped;
    char bytes[4]; /* of an escape */
    int next, count;
};

static struct reader reader_of(const struct mg_expr_value *text)
{
    return (struct reader){
        .at = text->text.data, .end = text->text.data + text->text.len, .is_escaped = text->is_escaped};
}

static int next_byte(struct reader *reader) /* -1: the end */
{
    if (reader->next < reader->count) {
        return (unsigned char)reader->bytes[reader->next++];
    }
    if (reader->at >= reader->end) {
        return -1;
    }
    if (!reader->is_escaped || *reader->at != '\\') {
        return (unsigned char)*reader->at++;
    }
    reader->count = mg_json_char_next(&reader->at, reader->end, reader->bytes);
    reader->next = 1;
    return reader->count > 0 ? (unsigned char)reader->bytes[0] : -1;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Both without escapes: the usual case. */
static int compare_plain(struct mg_slice a, struct mg_slice b)
{
    size_t len = smaller(a.len, b.len);
    int order = len > 0 ? memcmp(a.data, b.data, len) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

int mg_expr_text_compare(const struct mg_expr_value *a, const struct mg_expr_value *b, size_t *ret_passed)
{
    *ret_passed += smaller(a->text.len, b->text.len);
    if (!a->is_escaped && !b->is_escaped) {
        return compare_plain(a->text, b->text);
    }
    struct reader left = reader_of(a), right = reader_of(b);
    for (;;) {
        int x = next_byte(&left), y = next_byte(&right);
        *ret_passed += 1; /* a byte through a reader takes longer */
        if (x != y || x < 0) {
            return x - y;
        }
    }
}

/* True if `text`, from its place on, begins with `with`. */
static bool begins(struct reader text, struct reader with, size_t *ret_passed)
{
    for (;;) {
        int wanted = next_byte(&with);
        if (wanted < 0) {
            return true;
        }
        *ret_passed += 4;
        if (next_byte(&text) != wanted) {
            return false;
        }
    }
}

bool mg_expr_text_starts(const struct mg_expr_value *text, const struct mg_expr_value *with,
                         size_t *ret_passed)
{
    return begins(reader_of(text), reader_of(with), ret_passed);
}

static size_t plain_len(const struct mg_expr_value *text, size_t *ret_passed)
{
    if (!text->is_escaped) {
        return text->text.len;
    }
    struct reader reader = reader_of(text);
    size_t len = 0;
    while (next_byte(&reader) >= 0) {
        len++;
    }
    *ret_passed += 4 * text->text.len;
    return len;
}

bool mg_expr_text_ends(const struct mg_expr_value *text, const struct mg_expr_value *with, size_t *ret_passed)
{
    size_t len = plain_len(text, ret_passed), wanted = plain_len(with, ret_passed);
    if (wanted > len) {
        return false;
    }
    struct reader reader = reader_of(text);
    if (!text->is_escaped) {
        reader.at += len - wanted;
    } else {
        *ret_passed += 4 * text->text.len;
        for (size_t skipped = 0; skipped < len - wanted; skipped++) {
            (void)next_byte(&reader);
        }
    }
    return begins(reader, reader_of(with), ret_passed);
}

bool mg_expr_text_contains(const struct mg_expr_value *text, const struct mg_expr_value *part, size_t most,
                           size_t *ret_passed)
{
    if (!text->is_escaped && !part->is_escaped) { /* memmem is linear */
        *ret_passed += 4 * (text->text.len + part->text.len);
        return part->text.len == 0 ||
               memmem(text->text.data, text->text.len, part->text.data, part->text.len) != NULL;
    }
    struct reader reader = reader_of(text);
    do {
        if (begins(reader, reader_of(part), ret_passed)) {
            return true;
        }
    } while (next_byte(&reader) >= 0 && *ret_passed <= most);
    return false; /* beyond the steps: the caller charges them and ends */
}

size_t mg_expr_text_size(const struct mg_expr_value *text, size_t *ret_passed)
{
    struct reader reader = reader_of(text);
    size_t size = 0;
    int byte;
    *ret_passed += 4 * text->text.len;
    while ((byte = next_byte(&reader)) >= 0) {
        size += (byte & 0xc0) != 0x80;
    }
    return size;
}

bool mg_expr_text_copy(const struct mg_expr_value *text, char *ret, size_t size, size_t *ret_len)
{
    struct reader reader = reader_of(text);
    size_t len = 0;
    int byte;
    if (!text->is_escaped) {
        if (text->text.len > size) {
            return false;
        }
        if (text->text.len > 0) {
            memmove(ret, text->text.data, text->text.len);
        }
        *ret_len = text->text.len;
        return true;
    }
    while ((byte = next_byte(&reader)) >= 0) {
        if (len == size) {
            return false;
        }
        ret[len++] = (char)byte;
    }
    *ret_len = len;
    return true;
}
