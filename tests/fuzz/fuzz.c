/* See fuzz.h. */
#include "fuzz.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

_Noreturn void fuzz_fail(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

static bool is_poison(const void *object, size_t size)
{
    const unsigned char *bytes = object;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0x5A) {
            return false;
        }
    }
    return true;
}

void fuzz_require_refusal(enum mg_class class, const struct mg_err *err, const void *untouched, size_t size)
{
    FUZZ_REQUIRE(class == MG_BAD_INPUT || class == MG_STALE);
    FUZZ_REQUIRE(err->class == class);
    FUZZ_REQUIRE(err->text[0] != '\0');
    for (const char *at = err->text; *at != '\0'; at++) {
        FUZZ_REQUIRE((unsigned char)*at >= ' ');
    }
    FUZZ_REQUIRE(is_poison(untouched, size));
}

struct mg_slice fuzz_take(struct mg_slice *rest)
{
    const char *end = rest->len > 0 ? memchr(rest->data, '\0', rest->len) : NULL;
    struct mg_slice first = {rest->data, end == NULL ? rest->len : (size_t)(end - rest->data)};
    size_t used = first.len + (end != NULL ? 1 : 0);
    *rest = (struct mg_slice){rest->data + used, rest->len - used};
    return first;
}

char *fuzz_take_text(struct mg_slice *rest)
{
    struct mg_slice first = fuzz_take(rest);
    char *text = malloc(first.len + 1);
    FUZZ_REQUIRE(text != NULL);
    if (first.len > 0) {
        memcpy(text, first.data, first.len);
    }
    text[first.len] = '\0';
    return text;
}

void fuzz_require_same(struct mg_buf *first, struct mg_buf *second)
{
    FUZZ_REQUIRE(!first->failed && !second->failed);
    FUZZ_REQUIRE(mg_slice_equal(mg_buf_slice(first), mg_buf_slice(second)));
    mg_buf_finish(first);
    mg_buf_finish(second);
}

bool fuzz_has_place(struct mg_slice text, struct mg_json_place place)
{
    int line = 1, column = 1;
    for (size_t i = 0; i < text.len && line < place.line; i++) {
        line += text.data[i] == '\n';
        text = line == place.line ? (struct mg_slice){text.data + i + 1, text.len - i - 1} : text;
    }
    for (size_t i = 0; i < text.len && text.data[i] != '\n' && column < place.column; i++) {
        column += i + 1 == text.len || ((unsigned char)text.data[i + 1] & 0xc0) != 0x80;
    }
    return place.line == line && place.column == column;
}

bool fuzz_steers(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + len;
    for (; at < end; at++) {
        unsigned second = end - at > 1 ? at[1] : 0, third = end - at > 2 ? at[2] : 0;
        bool is_mark = at[0] == 0xe2 && second == 0x80 &&
                       (third == 0x8e || third == 0x8f || (third >= 0xa8 && third <= 0xae));
        bool is_isolation = at[0] == 0xe2 && second == 0x81 && third >= 0xa6 && third <= 0xa9;
        bool is_control = at[0] == 0xc2 && second >= 0x80 && second <= 0x9f;
        if ((*at < ' ' && *at != '\n') || *at == 0x7f || is_mark || is_isolation || is_control) {
            return true;
        }
    }
    return false;
}

/* The least code point of a sequence with so many bytes after its first one. */
static const uint32_t LEAST[] = {0, 0x80, 0x800, 0x10000};

bool fuzz_is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        unsigned char first = (unsigned char)text[i++];
        int more = first < 0x80 ? 0 : first < 0xc0 ? -1 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
        uint32_t point = more <= 0 ? first : first & (0x3fu >> more);
        for (int k = 0; k < more; k++, i++) {
            if (i == len || ((unsigned char)text[i] & 0xc0) != 0x80) {
                return false;
            }
            point = point << 6 | ((unsigned char)text[i] & 0x3fu);
        }
        bool is_surrogate = point >= 0xd800 && point < 0xe000;
        if (more < 0 || first > 0xf4 || point < LEAST[more] || point > 0x10ffff || is_surrogate) {
            return false;
        }
    }
    return !fuzz_steers(text, len) && (len == 0 || memchr(text, '\n', len) == NULL);
}

bool fuzz_is_within(struct mg_slice part, struct mg_slice whole)
{
    return part.data >= whole.data && part.len <= whole.len && part.data + part.len <= whole.data + whole.len;
}

bool fuzz_contains(struct mg_slice text, const char *word)
{
    return text.len > 0 && memmem(text.data, text.len, word, strlen(word)) != NULL;
}

uint64_t fuzz_number(const char *at, int bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++) {
        number = number << 8 | (unsigned char)at[i];
    }
    return number;
}

int fuzz_listen(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(name);
    FUZZ_REQUIRE(len < sizeof(address.sun_path));
    memcpy(address.sun_path + 1, name, len); /* a leading NUL: an abstract address, without a file */
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
    FUZZ_REQUIRE(listener >= 0 && bind(listener, (const struct sockaddr *)&address, size) == 0);
    FUZZ_REQUIRE(listen(listener, 1) == 0);
    return listener;
}
