/* The text is walked once; at each place the longest varying part is replaced. */
#include "base/signature.h"

#include <string.h>

/* Shorter ones may be words: "added", "decade". */
#define HEX_MIN 8

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* True within a word, for quotes and numbers: every byte above ASCII counts as a letter. */
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
}

/* Bytes of the quoted value at the beginning of `text`, with its quotes; 0: none. An apostrophe within a word
 * does not quote, and neither does a quote without an end. */
static size_t quoted_len(struct mg_slice text, char before)
{
    char quote = text.data[0];
    if ((quote != '"' && quote != '\'' && quote != '`') || is_word(before)) {
        return 0;
    }
    for (size_t i = 1; i < text.len; i++) {
        if (text.data[i] == quote && (i + 1 == text.len || !is_word(text.data[i + 1]))) {
            return i + 1;
        }
    }
    return 0;
}

/* Bytes of the UUID at the beginning; 0: there is none. */
static size_t uuid_len(struct mg_slice text)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    const size_t len = sizeof(shape) - 1;
    if (text.len < len || (text.len > len && is_word(text.data[len]))) {
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        if (shape[i] == 'x' ? !is_hex(text.data[i]) : text.data[i] != '-') {
            return 0;
        }
    }
    return len;
}

/* Bytes of the word at the beginning if it is a long hexadecimal number, else 0. Without a digit it is a
 * plain word. */
static size_t hex_len(struct mg_slice text)
{
    size_t len = 0;
    bool has_digit = false;
    while (len < text.len && is_hex(text.data[len])) {
        has_digit = has_digit || is_digit(text.data[len]);
        len++;
    }
    return len >= HEX_MIN && has_digit && (len == text.len || !is_word(text.data[len])) ? len : 0;
}

static size_t digits_len(struct mg_slice text)
{
    size_t len = 0;
    while (len < text.len && is_digit(text.data[len])) {
        len++;
    }
    return len;
}

/* Bytes at the beginning that differ from case to case; 0: none. */
static size_t varying_len(struct mg_slice text, char before)
{
    size_t len = quoted_len(text, before);
    if (len == 0 && !is_word(before)) {
        len = uuid_len(text);
        len = len == 0 ? hex_len(text) : len;
    }
    return len == 0 ? digits_len(text) : len;
}

struct writing {
    char *text;
    size_t len;
    bool is_full;
};

static void put(struct writing *writing, const char *bytes, size_t len)
{
    writing->is_full = writing->is_full || writing->len + len > MG_SIGNATURE_MAX;
    if (!writing->is_full) {
        memcpy(writing->text + writing->len, bytes, len);
        writing->len += len;
    }
}

static void put_text(struct writing *writing, struct mg_slice text)
{
    char before = ' ';
    for (size_t at = 0; at < text.len && !writing->is_full;) {
        struct mg_slice rest = {text.data + at, text.len - at};
        bool is_blank = (unsigned char)rest.data[0] <= ' ' || rest.data[0] == 0x7f;
        size_t len = varying_len(rest, before);
        if (len > 0) {
            put(writing, "#", 1);
        } else if (is_blank) {
            len = 1; /* a run of blanks, line ends and terminal controls becomes one blank */
            if (before != ' ') {
                put(writing, " ", 1);
            }
        } else {
            len = mg_utf8_len(rest.data, rest.len);
            put(writing, len > 0 ? rest.data : "?", len > 0 ? len : 1);
            len = len > 0 ? len : 1;
        }
        at += len;
        before = is_blank ? ' ' : text.data[at - 1];
    }
}

size_t mg_signature_write(struct mg_slice code, struct mg_slice text, char ret_text[MG_SIGNATURE_MAX + 1])
{
    struct writing writing = {ret_text, 0, false};
    put(&writing, code.data, code.len < MG_SIGNATURE_MAX ? code.len : MG_SIGNATURE_MAX);
    if (text.len > 0) {
        put(&writing, ": ", 2);
        put_text(&writing, text);
    }
    ret_text[writing.len] = '\0';
    return writing.len;
}
