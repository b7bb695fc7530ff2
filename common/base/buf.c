/*
 * Slices and the bounded buffer. Every sum is checked before it is computed, so no length can wrap around. A
 * buffer that has failed accepts no more data until it is cleared. Its content is always a clean prefix,
 * never a text with a gap.
 */
#include "base/buf.h"

#include <assert.h>
#include <endian.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first allocation: most keys, paths and log lines fit, so a small text costs one call. */
#define FIRST_CAPACITY 256

struct mg_slice mg_slice_of(const char *text)
{
    return (struct mg_slice){text, text ? strlen(text) : 0};
}

bool mg_slice_equal(struct mg_slice a, struct mg_slice b)
{
    if (!a.data || !b.data) {
        return !a.data && !b.data;
    }
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

bool mg_slice_is(struct mg_slice a, const char *text)
{
    return mg_slice_equal(a, mg_slice_of(text));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct mg_slice mg_slice_line_take(struct mg_slice *rest)
{
    const char *end = memchr(rest->data, '\n', rest->len);
    struct mg_slice line = {rest->data, end != NULL ? (size_t)(end - rest->data) : rest->len};
    size_t used = line.len + (end != NULL);
    *rest = (struct mg_slice){rest->data + used, rest->len - used};
    while (line.len > 0 && is_blank(line.data[0])) {
        line = (struct mg_slice){line.data + 1, line.len - 1};
    }
    while (line.len > 0 && is_blank(line.data[line.len - 1])) {
        line.len--;
    }
    return line;
}

void mg_buf_init(struct mg_buf *buf, size_t max)
{
    *buf = (struct mg_buf){.max = max};
}

void mg_buf_init_fixed(struct mg_buf *buf, char *memory, size_t size)
{
    assert(size > 0);
    *buf = (struct mg_buf){.data = memory, .capacity = size, .max = size - 1};
    memory[0] = '\0';
}

void mg_buf_finish(struct mg_buf *buf)
{
    free(buf->data);
    *buf = (struct mg_buf){.max = buf->max};
}

void mg_buf_clear(struct mg_buf *buf)
{
    buf->len = 0;
    buf->failed = buf->is_out_of_memory = false;
    if (buf->data) {
        buf->data[0] = '\0';
    }
}

/* Reserves room for `more` bytes and the NUL after them. False, with `failed` set: above `max`, or out of
 * memory. */
static bool reserve(struct mg_buf *buf, size_t more)
{
    if (buf->failed) {
        return false;
    }
    assert(buf->len <= buf->max);
    if (more > buf->max - buf->len || buf->len + more == SIZE_MAX) {
        buf->failed = true;
        return false;
    }
    size_t needed = buf->len + more + 1;
    if (needed <= buf->capacity) {
        return true;
    }

    size_t limit = buf->max == SIZE_MAX ? SIZE_MAX : buf->max + 1;
    size_t capacity = buf->capacity > limit / 2 ? limit : buf->capacity * 2;
    if (capacity < FIRST_CAPACITY) {
        capacity = FIRST_CAPACITY < limit ? FIRST_CAPACITY : limit;
    }
    if (capacity < needed) {
        capacity = needed;
    }
    char *data = realloc(buf->data, capacity);
    if (!data) {
        buf->failed = buf->is_out_of_memory = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void mg_buf_append(struct mg_buf *buf, const void *data, size_t len)
{
    bool has_room = !buf->failed && len < buf->capacity - buf->len; /* no capacity is above max + 1 */
    if (!has_room && !reserve(buf, len)) {
        return;
    }
    if (len > 0) {
        memcpy(buf->data + buf->len, data, len);
    }
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void mg_buf_append_text(struct mg_buf *buf, const char *text)
{
    mg_buf_append(buf, text, strlen(text));
}

void mg_buf_append_slice(struct mg_buf *buf, struct mg_slice slice)
{
    mg_buf_append(buf, slice.data, slice.len);
}

void mg_buf_append_integer(struct mg_buf *buf, int64_t number)
{
    char digits[20]; /* digits and sign of INT64_MIN */
    char *at = digits + sizeof(digits);
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        *--at = '-';
    }
    mg_buf_append(buf, at, (size_t)(digits + sizeof(digits) - at));
}

void mg_buf_printf(struct mg_buf *buf, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        buf->failed = true;
        return;
    }
    if (!reserve(buf, (size_t)len)) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args); /* measured above */
    va_end(args);
    buf->len += (size_t)len;
}

size_t mg_utf8_len(const char *text, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char first = bytes[0];
    if (first < 0x80) {
        return 1;
    }
    size_t need = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || len < need) {
        return 0;
    }
    /* The range of the second byte excludes overlong forms, surrogates and code points above U+10FFFF. */
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < low || bytes[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < need; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return need;
}

size_t mg_utf8_cut(struct mg_slice text, size_t max)
{
    if (text.len <= max) {
        return text.len;
    }
    for (size_t back = 1; back < 4 && back <= max; back++) { /* a character has up to four bytes */
        size_t from = max - back;
        if (mg_utf8_len(text.data + from, text.len - from) > back) {
            return from;
        }
    }
    return max;
}

size_t mg_text_steers(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x20 || at[0] == 0x7f) {
        return at[0] == '\n' || at[0] == '\t' ? 0 : 1;
    }
    if (len >= 2 && at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) { /* U+0080 to U+009F */
        return 2;
    }
    if (len >= 2 && at[0] == 0xd8 && at[1] == 0x9c) { /* U+061C */
        return 2;
    }
    if (len < 3 || at[0] != 0xe2) {
        return 0;
    }
    bool is_mark = at[1] == 0x80 && (at[2] == 0x8e || at[2] == 0x8f);    /* U+200E, U+200F */
    bool is_turn = at[1] == 0x80 && at[2] >= 0xa8 && at[2] <= 0xae;      /* U+2028 to U+202E */
    bool is_isolation = at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9; /* U+2066 to U+2069 */
    return is_mark || is_turn || is_isolation ? 3 : 0;
}

void mg_text_make_plain(char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t len = mg_text_steers(text, left);
        memset(text, '.', len);
        if (*text == '\n' || *text == '\t') {
            *text = ' ';
        }
        len = len > 0 ? len : 1;
        text += len;
        left -= len;
    }
}

void mg_text_copy_plain(struct mg_slice text, char *ret_text, size_t size)
{
    size_t len = 0, step;
    for (size_t i = 0; i < text.len; i += step) {
        step = mg_utf8_len(text.data + i, text.len - i);
        if (step == 0 || len + step >= size) {
            break;
        }
        bool is_end = text.data[i] == '\n' || text.data[i] == '\t';
        bool is_plain = !is_end && mg_text_steers(text.data + i, text.len - i) == 0;
        size_t shown = is_plain ? step : 1;
        memcpy(ret_text + len, is_plain ? text.data + i : " ", shown);
        len += shown;
    }
    ret_text[len] = '\0';
}

void mg_utf8_mend(char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        size_t len = mg_utf8_len(text, left);
        if (len == 0) {
            *text = '?';
            len = 1;
        }
        text += len;
        left -= len;
    }
}

static void append_json_escape(struct mg_buf *buf, unsigned char byte)
{
    static const char named[][3] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f",
                                    ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"};
    if (byte < sizeof(named) / sizeof(named[0]) && named[byte][0]) {
        mg_buf_append(buf, named[byte], 2);
    } else {
        mg_buf_printf(buf, "\\u%04x", byte);
    }
}

/* The highest bit of each byte of eight that is not plain, the first byte lowest; anything above the
 * lowest mark may be wrong. Subtracting 1 from a byte 0, or 32 from a byte below 32, sets its highest bit,
 * and may borrow from the byte above. */
static uint64_t unplain_marks(const char *text)
{
    static const uint64_t EACH = 0x0101010101010101;
    uint64_t bytes;
    memcpy(&bytes, text, sizeof(bytes));
    bytes = le64toh(bytes);
    uint64_t marks = bytes | (bytes - EACH * 0x20) | ((bytes ^ EACH * '"') - EACH) |
                     ((bytes ^ EACH * '\\') - EACH) | ((bytes ^ EACH * 0x7f) - EACH);
    return marks & EACH * 0x80;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

size_t mg_plain_len(const char *text, size_t len)
{
    size_t i = 0;
    for (; len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t marks = unplain_marks(text + i);
        if (marks != 0) {
            return i + (size_t)__builtin_ctzll(marks) / CHAR_BIT;
        }
    }
    while (i < len && is_plain((unsigned char)text[i])) {
        i++;
    }
    return i;
}

/* `unknown` replaces each byte that is not UTF-8, which cannot stand in JSON. */
static void append_escaped(struct mg_buf *buf, struct mg_slice text, const char *unknown, bool takes_nul)
{
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t plain = 0; /* start of the current run of bytes that need no escape */

    for (size_t i = 0; i < text.len && !buf->failed;) {
        i += mg_plain_len(text.data + i, text.len - i);
        if (i == text.len) {
            break;
        }
        size_t sequence = bytes[i] < 0x80 ? 1 : mg_utf8_len(text.data + i, text.len - i);
        sequence = bytes[i] == '\0' && !takes_nul ? 0 : sequence;
        if (sequence > 1) {
            i += sequence;
            continue;
        }
        mg_buf_append(buf, bytes + plain, i - plain);
        if (sequence == 0) {
            mg_buf_append_text(buf, unknown);
        } else {
            append_json_escape(buf, bytes[i]);
        }
        plain = ++i;
    }
    if (text.len > plain) {
        mg_buf_append(buf, bytes + plain, text.len - plain);
    }
}

static void append_json(struct mg_buf *buf, struct mg_slice text, const char *unknown, bool takes_nul)
{
    size_t start = buf->len;

    if (buf->failed) {
        return;
    }
    mg_buf_append(buf, "\"", 1);
    append_escaped(buf, text, unknown, takes_nul);
    mg_buf_append(buf, "\"", 1);
    if (buf->failed && buf->data) { /* a half-written string is worse than none */
        buf->len = start;
        buf->data[start] = '\0';
    }
}

void mg_buf_append_json(struct mg_buf *buf, struct mg_slice text)
{
    append_json(buf, text, "\\ufffd", true);
}

void mg_buf_append_json_part(struct mg_buf *buf, struct mg_slice text)
{
    append_escaped(buf, text, "\\ufffd", true);
}

void mg_buf_append_json_mended(struct mg_buf *buf, struct mg_slice text)
{
    append_json(buf, text, "\xef\xbf\xbd", false);
}

void mg_buf_fail_with(struct mg_buf *buf, const struct mg_buf *part)
{
    buf->failed = buf->failed || part->failed;
    buf->is_out_of_memory = buf->is_out_of_memory || part->is_out_of_memory;
}

enum mg_class mg_buf_class(const struct mg_buf *buf)
{
    return !buf->failed ? MG_OK : buf->is_out_of_memory ? MG_TRANSIENT : MG_PERMANENT;
}

struct mg_slice mg_buf_slice(const struct mg_buf *buf)
{
    return (struct mg_slice){buf->data ? buf->data : "", buf->len};
}

static void encoded_append(struct mg_buf *buf, struct mg_slice text, bool is_form)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool is_alnum = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_alnum || c == '-' || c == '.' || c == '_' || c == (is_form ? '*' : '~')) {
            mg_buf_append(buf, &c, 1);
        } else if (is_form && c == ' ') {
            mg_buf_append(buf, "+", 1);
        } else {
            mg_buf_printf(buf, "%%%02X", c);
        }
    }
}

void mg_buf_append_percent(struct mg_buf *buf, struct mg_slice text)
{
    encoded_append(buf, text, false);
}

void mg_buf_append_form(struct mg_buf *buf, struct mg_slice text)
{
    encoded_append(buf, text, true);
}
