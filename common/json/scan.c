/*
 * The walk over checked JSON text, and the functions on top of it: finding the value at a pointer, replacing
 * it, decoding a string. It never allocates and never recurses. Its input must have passed mg_json_check.
 */
#include "json/scan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct mg_slice mg_json_trim(struct mg_slice text)
{
    while (text.len > 0 && is_blank(text.data[0])) {
        text.data++;
        text.len--;
    }
    while (text.len > 0 && is_blank(text.data[text.len - 1])) {
        text.len--;
    }
    return text;
}

enum mg_json_type mg_json_type_of(struct mg_slice value)
{
    assert(value.len > 0);
    switch (value.data[0]) {
    case '{':
        return MG_JSON_OBJECT;
    case '[':
        return MG_JSON_ARRAY;
    case '"':
        return MG_JSON_STRING;
    case 't':
    case 'f':
        return MG_JSON_BOOL;
    case 'n':
        return MG_JSON_NULL;
    default:
        return MG_JSON_NUMBER;
    }
}

const char *mg_json_type_name(enum mg_json_type type)
{
    static const char *const NAMES[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
    return NAMES[type];
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) {
        at++;
    }
    return at;
}

/* `at` is on the opening quote; the result is after the closing one. That is the first quote with an even
 * number of backslashes before it. */
static const char *skip_string(const char *at, const char *end)
{
    const char *quote = at;
    while ((quote = memchr(quote + 1, '"', (size_t)(end - quote - 1))) != NULL) {
        const char *escape = quote;
        while (escape[-1] == '\\') {
            escape--;
        }
        if ((quote - escape) % 2 == 0) {
            return quote + 1;
        }
    }
    return end;
}

static const char *skip_value(const char *at, const char *end)
{
    if (at >= end) {
        return end;
    }
    if (*at == '"') {
        return skip_string(at, end);
    }
    if (*at == '{' || *at == '[') {
        /* One path for all but quotes: brackets come in no order that a processor could predict. */
        static const signed char DEPTHS[256] = {['{'] = 1, ['['] = 1, ['}'] = -1, [']'] = -1};
        int depth = 0;
        while (at < end) {
            if (*at == '"') {
                at = skip_string(at, end);
                continue;
            }
            depth += DEPTHS[(unsigned char)*at++];
            if (depth == 0) {
                return at;
            }
        }
        return end;
    }
    while (at < end && !is_blank(*at) && *at != ',' && *at != '}' && *at != ']') {
        at++;
    }
    return at;
}

struct mg_json_walk mg_json_walk_of(struct mg_slice container)
{
    if (container.len == 0 || (container.data[0] != '{' && container.data[0] != '[')) {
        return (struct mg_json_walk){0};
    }
    const char *end = container.data + container.len;
    return (struct mg_json_walk){
        .at = skip_blanks(container.data + 1, end), .end = end, .is_object = container.data[0] == '{'};
}

bool mg_json_walk_next(struct mg_json_walk *walk, struct mg_slice *ret_name, struct mg_slice *ret_value)
{
    const char *at = walk->at, *end = walk->end;

    *ret_name = (struct mg_slice){0};
    *ret_value = (struct mg_slice){0};
    if (at == NULL || at >= end || *at == '}' || *at == ']') {
        return false;
    }
    if (walk->is_object) {
        ret_name->data = at;
        at = skip_string(at, end);
        ret_name->len = (size_t)(at - ret_name->data);
        at = skip_blanks(at, end); /* now on the colon */
        if (at < end) {
            at = skip_blanks(at + 1, end);
        }
    }
    ret_value->data = at;
    at = skip_value(at, end);
    ret_value->len = (size_t)(at - ret_value->data);
    at = skip_blanks(at, end);
    if (at < end && *at == ',') {
        at = skip_blanks(at + 1, end);
    }
    walk->at = at;
    return ret_value->len > 0;
}

int mg_json_count(struct mg_slice container)
{
    struct mg_json_walk walk = mg_json_walk_of(container);
    struct mg_slice name, value;
    int count = 0;
    while (mg_json_walk_next(&walk, &name, &value)) {
        count++;
    }
    return count;
}

/* ---- strings ---- */

static unsigned hex4(const char *at)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        value = value * 16 + ((unsigned)mg_hex_digit(at[i]) & 15u);
    }
    return value;
}

static int utf8_write(unsigned code, char ret[4])
{
    if (code < 0x80) {
        ret[0] = (char)code;
        return 1;
    }
    int len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = len - 1; i > 0; i--) {
        ret[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    static const unsigned LEAD[] = {0, 0, 0xc0, 0xe0, 0xf0};
    ret[0] = (char)(LEAD[len] | code);
    return len;
}

int mg_json_char_next(const char **at, const char *end, char ret_utf8[4])
{
    const char *p = *at;
    if (p >= end) {
        return 0;
    }
    if (*p != '\\') { /* checked UTF-8: single bytes may pass */
        ret_utf8[0] = *p;
        *at = p + 1;
        return 1;
    }
    if (p + 1 >= end) {
        return 0;
    }
    if (p[1] == 'u' && p + 6 <= end) {
        unsigned code = hex4(p + 2);
        p += 6;
        if (code >= 0xd800 && code < 0xdc00 && p + 6 <= end) { /* the check has verified the other half */
            code = 0x10000 + ((code - 0xd800) << 10) + (hex4(p + 2) - 0xdc00);
            p += 6;
        }
        *at = p;
        return utf8_write(code, ret_utf8);
    }
    static const char ESCAPES[] = "b\bf\fn\nr\rt\t";
    ret_utf8[0] = p[1];
    for (const char *e = ESCAPES; *e != '\0'; e += 2) {
        if (*e == p[1]) {
            ret_utf8[0] = e[1];
        }
    }
    *at = p + 2;
    return 1;
}

bool mg_json_string_is(struct mg_slice quoted, struct mg_slice text)
{
    size_t done = 0;
    char utf8[4];
    int n;

    if (quoted.len < 2 || quoted.data[0] != '"') {
        return false;
    }
    const char *at = quoted.data + 1, *end = quoted.data + quoted.len - 1;
    if (memchr(at, '\\', (size_t)(end - at)) == NULL) {
        return mg_slice_equal((struct mg_slice){at, (size_t)(end - at)}, text);
    }
    while ((n = mg_json_char_next(&at, end, utf8)) > 0) {
        if (text.len - done < (size_t)n || memcmp(text.data + done, utf8, (size_t)n) != 0) {
            return false;
        }
        done += (size_t)n;
    }
    return done == text.len;
}

bool mg_json_string(struct mg_slice value, struct mg_buf *ret)
{
    if (value.data == NULL || value.len < 2 || value.data[0] != '"') {
        return false;
    }
    const char *at = value.data + 1, *end = value.data + value.len - 1;
    char utf8[4];

    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        const char *plain_end = escape != NULL ? escape : end;
        if (plain_end > at) {
            mg_buf_append(ret, at, (size_t)(plain_end - at));
        }
        at = plain_end;
        if (at >= end) {
            break;
        }
        int n = mg_json_char_next(&at, end, utf8);
        if (n == 0) {
            break;
        }
        mg_buf_append(ret, utf8, (size_t)n);
    }
    return true;
}

/* ---- pointers ---- */

bool mg_json_pointer_is_valid(const char *pointer)
{
    if (*pointer == '\0') {
        return true;
    }
    if (*pointer != '/') {
        return false;
    }
    for (; *pointer != '\0'; pointer++) {
        if (*pointer == '~' && pointer[1] != '0' && pointer[1] != '1') {
            return false;
        }
    }
    return true;
}

/* True if the quoted name is the pointer token [token, token + len), "~0" and "~1" resolved. */
static bool name_is_token(struct mg_slice quoted, const char *token, size_t len)
{
    const char *at = quoted.data + 1, *end = quoted.data + quoted.len - 1;
    const char *token_end = token + len;
    char utf8[4];
    int n;

    while ((n = mg_json_char_next(&at, end, utf8)) > 0) {
        for (int i = 0; i < n; i++) {
            if (token >= token_end) {
                return false;
            }
            char expected = *token++;
            if (expected == '~' && token < token_end) {
                expected = *token++ == '1' ? '/' : '~';
            }
            if (expected != utf8[i]) {
                return false;
            }
        }
    }
    return token == token_end;
}

/* The index in a token; -1 if it is not an index (RFC 6901 §4: no leading zeros, digits only). */
static long token_index(const char *token, size_t len)
{
    if (len == 0 || len > 9 || (len > 1 && token[0] == '0')) {
        return -1;
    }
    long index = 0;
    for (size_t i = 0; i < len; i++) {
        if (token[i] < '0' || token[i] > '9') {
            return -1;
        }
        index = index * 10 + (token[i] - '0');
    }
    return index;
}

static struct mg_slice find_child(struct mg_slice container, const char *token, size_t len)
{
    struct mg_slice name, value;
    long wanted = token_index(token, len);

    struct mg_json_walk walk = mg_json_walk_of(container);
    for (long i = 0; mg_json_walk_next(&walk, &name, &value); i++) {
        if (name.data != NULL ? name_is_token(name, token, len) : i == wanted) {
            return value;
        }
    }
    return (struct mg_slice){0};
}

struct mg_slice mg_json_find(struct mg_slice text, const char *pointer)
{
    struct mg_slice value = text;

    if (text.data == NULL || !mg_json_pointer_is_valid(pointer)) {
        return (struct mg_slice){0};
    }
    value = mg_json_trim(text);
    while (value.data != NULL && *pointer == '/') {
        const char *token = pointer + 1;
        size_t len = strcspn(token, "/");
        value = find_child(value, token, len);
        pointer = token + len;
    }
    return value;
}

/* Writes the last token of a pointer as a member's name. */
static void append_name(struct mg_buf *buf, const char *token)
{
    struct mg_buf name;
    mg_buf_init(&name, strlen(token) + 1);
    for (; *token != '\0'; token++) {
        char c = *token;
        if (c == '~') {
            c = *++token == '1' ? '/' : '~';
        }
        mg_buf_append(&name, &c, 1);
    }
    mg_buf_append_json(buf, name.len > 0 ? mg_buf_slice(&name) : mg_slice_of(""));
    mg_buf_fail_with(buf, &name);
    mg_buf_finish(&name);
}

/* Adds `value` as the last member of the object `parent`, a slice of `text`. */
static void add_member(struct mg_slice text, struct mg_slice parent, const char *token, struct mg_slice value,
                       struct mg_buf *buf)
{
    const char *close = parent.data + parent.len - 1;
    const char *last = close;
    while (is_blank(last[-1])) {
        last--;
    }
    mg_buf_append(buf, text.data, (size_t)(last - text.data));
    if (last[-1] != '{') {
        mg_buf_append_text(buf, ",");
    }
    append_name(buf, token);
    mg_buf_append_text(buf, ":");
    mg_buf_append_slice(buf, value);
    mg_buf_append(buf, last, (size_t)(text.data + text.len - last));
}

enum mg_class mg_json_set(struct mg_slice text, const char *pointer, struct mg_slice value,
                          struct mg_buf *ret_text, struct mg_err *err)
{
    struct mg_slice old = mg_json_find(text, pointer);

    value = mg_json_trim(value);
    if (old.data != NULL) {
        mg_buf_append(ret_text, text.data, (size_t)(old.data - text.data));
        mg_buf_append_slice(ret_text, value);
        const char *rest = old.data + old.len;
        mg_buf_append(ret_text, rest, (size_t)(text.data + text.len - rest));
    } else {
        const char *last = mg_json_pointer_is_valid(pointer) ? strrchr(pointer, '/') : NULL;
        if (last == NULL) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "cannot set \"%s\": not a JSON pointer; it begins with \"/\", and \"~\" stands only in "
                "\"~0\" and \"~1\"",
                pointer);
        }
        char parent_pointer[512]; /* no order has deeper places */
        int n = snprintf(parent_pointer, sizeof(parent_pointer), "%.*s", (int)(last - pointer), pointer);
        struct mg_slice parent = {0};
        if (n >= 0 && (size_t)n < sizeof(parent_pointer)) {
            parent = mg_json_find(text, parent_pointer);
        }
        if (parent.data == NULL || mg_json_type_of(parent) != MG_JSON_OBJECT) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "cannot set \"%s\": there is no such place; name an existing value, or a new member of "
                "an existing object",
                pointer);
        }
        add_member(text, parent, last + 1, value, ret_text);
    }
    if (ret_text->failed) {
        return mg_err_set(err, MG_TRANSIENT,
                          "could not set \"%s\": the result is above %zu bytes, or no memory", pointer,
                          ret_text->max);
    }
    return MG_OK;
}
