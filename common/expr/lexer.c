/* The tokens of an expression: names, numbers, texts with CEL's escapes, and symbols. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/id.h"
#include "expr/parse.h"

int mg_expr_fail(struct mg_expr_compile *compile, size_t at, enum mg_expr_mistake mistake, const char *format,
                 ...)
{
    char text[MG_EXPR_MESSAGE_SIZE];
    va_list args;
    if (compile->has_failed) {
        return MG_EXPR_NONE;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mg_expr_line(text);
    compile->has_failed = true;
    compile->place = (struct mg_expr_place){mg_expr_column(compile->text, at), mistake};
    (void)mg_err_set(compile->err, MG_BAD_INPUT, "column %d: %s", compile->place.column, text);
    return MG_EXPR_NONE;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static char char_at(const struct mg_expr_compile *compile, size_t at)
{
    return at < compile->text.len ? compile->text.data[at] : '\0';
}

/* ---- texts ---- */

/* Reads `count` digits of a base; -1 if there are fewer. */
static long take_code(struct mg_expr_compile *compile, size_t *at, int count, int base)
{
    long code = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        int digit = mg_hex_digit(char_at(compile, *at));
        if (*at >= compile->text.len || digit < 0 || digit >= base) {
            return -1;
        }
        code = code * base + digit;
    }
    return code;
}

static void add_byte(struct mg_expr_compile *compile, long byte)
{
    compile->plain[compile->names_len++] = (char)byte;
}

static void add_code(struct mg_expr_compile *compile, long code)
{
    if (code < 0x80) {
        add_byte(compile, code);
    } else if (code < 0x800) {
        add_byte(compile, 0xc0 | code >> 6);
        add_byte(compile, 0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        add_byte(compile, 0xe0 | code >> 12);
        add_byte(compile, 0x80 | (code >> 6 & 0x3f));
        add_byte(compile, 0x80 | (code & 0x3f));
    } else {
        add_byte(compile, 0xf0 | code >> 18);
        add_byte(compile, 0x80 | (code >> 12 & 0x3f));
        add_byte(compile, 0x80 | (code >> 6 & 0x3f));
        add_byte(compile, 0x80 | (code & 0x3f));
    }
}

/* `*at` is after the backslash. */
static void take_escape(struct mg_expr_compile *compile, size_t *at)
{
    static const char PLAIN[] = "\\\\\"\"''``??a\ab\bf\fn\nr\rt\tv\v";
    size_t begin = *at - 1;
    char c = char_at(compile, (*at)++);
    for (const char *pair = PLAIN; *pair != '\0'; pair += 2) {
        if (*pair == c) {
            add_byte(compile, pair[1]);
            return;
        }
    }
    long code = -1;
    if (c == 'x' || c == 'X') {
        code = take_code(compile, at, 2, 16);
    } else if (c == 'u') {
        code = take_code(compile, at, 4, 16);
    } else if (c == 'U') {
        code = take_code(compile, at, 8, 16);
    } else if (c >= '0' && c <= '3') {
        (*at)--;
        code = take_code(compile, at, 3, 8);
    }
    if (code == 0) {
        (void)mg_expr_fail(compile, begin, MG_EXPR_MISTAKE_SYNTAX,
                           "a text cannot hold the character NUL, and neither can JSON");
    } else if (code < 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
        (void)mg_expr_fail(compile, begin, MG_EXPR_MISTAKE_SYNTAX,
                           "no such escape; there are \\\\ \\' \\\" \\n \\r \\t and \\u00e9");
    } else {
        add_code(compile, code);
    }
}

/* `at` is on the quote. */
static void take_text(struct mg_expr_compile *compile, size_t at, bool is_raw)
{
    char quote = char_at(compile, at);
    size_t begin = compile->at, quotes = 1;
    if (char_at(compile, at + 1) == quote && char_at(compile, at + 2) == quote) {
        quotes = 3;
    }
    compile->token.kind = MG_TOKEN_TEXT;
    compile->token.name = (uint16_t)compile->names_len;
    at += quotes;
    const char *closing = quote == '"' ? "\"\"\"" : "'''";
    while (!compile->has_failed) {
        if (at + quotes > compile->text.len ||
            (quotes == 1 && (char_at(compile, at) == '\n' || char_at(compile, at) == '\r'))) {
            (void)mg_expr_fail(compile, begin, MG_EXPR_MISTAKE_SYNTAX, "a text without its closing quote");
            return;
        }
        if (memcmp(compile->text.data + at, closing, quotes) == 0) {
            break;
        }
        char c = char_at(compile, at++);
        if (c == '\\' && !is_raw) {
            take_escape(compile, &at);
        } else {
            add_byte(compile, c);
        }
    }
    compile->token.name_len = (uint16_t)(compile->names_len - compile->token.name);
    compile->at = at + quotes;
}

/* ---- the others ---- */

static void take_digits(struct mg_expr_compile *compile)
{
    while (is_digit(char_at(compile, compile->at))) {
        compile->at++;
    }
}

static void take_number(struct mg_expr_compile *compile)
{
    compile->token.kind = MG_TOKEN_NUMBER;
    take_digits(compile);
    if (char_at(compile, compile->at) == '.' && is_digit(char_at(compile, compile->at + 1))) {
        compile->at++;
        take_digits(compile);
    }
    char c = char_at(compile, compile->at), sign = char_at(compile, compile->at + 1);
    bool is_signed = sign == '+' || sign == '-';
    if ((c == 'e' || c == 'E') && is_digit(char_at(compile, compile->at + 1 + is_signed))) {
        compile->at += 1 + (size_t)is_signed;
        take_digits(compile);
    }
    if (is_name_char(char_at(compile, compile->at))) {
        (void)mg_expr_fail(compile, compile->at, MG_EXPR_MISTAKE_SYNTAX,
                           "a number has digits, a point and an exponent only; write 12, 12.50 or 1e3");
    }
}

static void take_symbol(struct mg_expr_compile *compile)
{
    static const char PAIRS[] = "==!=<=>=&&||", SINGLES[] = "()[].,?:!<>+-*";
    const char *at = compile->text.data + compile->at;
    compile->token.kind = MG_TOKEN_SYMBOL;
    for (const char *pair = PAIRS; *pair != '\0' && compile->text.len - compile->at >= 2; pair += 2) {
        if (memcmp(pair, at, 2) == 0) {
            compile->at += 2;
            return;
        }
    }
    if (strchr(SINGLES, *at) != NULL && *at != '\0') {
        compile->at++;
        return;
    }
    const char *cure = "write names, numbers, texts and the signs + - * == != < <= > >= && || ! ? :";
    switch (*at) {
    case '/':
        cure = "there is no /, which would have to round; write divide(a, b, places)";
        break;
    case '%':
        cure = "there is no %";
        break;
    case '=':
        cure = "two values are compared by ==";
        break;
    case '&':
    case '|':
        cure = "conditions are joined by && and ||";
        break;
    case '{':
        cure = "there are no objects to write here; take one of the input's";
        break;
    case '$':
        cure = "an expression names its values plainly: payload.total";
        break;
    default:
        break;
    }
    size_t len = mg_utf8_len(at, compile->text.len - compile->at);
    (void)mg_expr_fail(compile, compile->at, MG_EXPR_MISTAKE_SYNTAX, "unexpected \"%.*s\"; %s",
                       (unsigned char)*at < ' ' ? 0 : (int)len, at, cure);
}

/* A text's prefix: "r" for raw; "b" would make bytes, which are left out. Returns the place of the quote; 0:
 * there is none. */
static size_t quote_behind_prefix(const struct mg_expr_compile *compile, bool *ret_is_raw)
{
    size_t at = compile->at;
    *ret_is_raw = false;
    if (char_at(compile, at) == 'r' || char_at(compile, at) == 'R') {
        *ret_is_raw = true;
        at++;
    }
    char c = char_at(compile, at);
    return c == '"' || c == '\'' ? at + 1 : 0;
}

void mg_expr_token_next(struct mg_expr_compile *compile)
{
    bool is_raw;
    compile->end = compile->at;
    while (compile->at < compile->text.len && strchr(" \t\n\r\f", char_at(compile, compile->at)) != NULL &&
           char_at(compile, compile->at) != '\0') {
        compile->at++;
    }
    size_t begin = compile->at, quote;
    compile->token = (struct mg_expr_token){.kind = MG_TOKEN_END};
    if (begin < compile->text.len && !compile->has_failed) {
        char c = char_at(compile, begin);
        if ((quote = quote_behind_prefix(compile, &is_raw)) > 0) {
            take_text(compile, quote - 1, is_raw);
        } else if (is_digit(c) || (c == '.' && is_digit(char_at(compile, begin + 1)))) {
            take_number(compile);
        } else if (is_name_char(c)) {
            compile->token.kind = MG_TOKEN_NAME;
            while (is_name_char(char_at(compile, compile->at))) {
                compile->at++;
            }
        } else {
            take_symbol(compile);
        }
    }
    if (compile->has_failed) {
        compile->token.kind = MG_TOKEN_END;
    }
    compile->token.text = (struct mg_slice){compile->text.data + begin, compile->at - begin};
}

size_t mg_expr_token_at(const struct mg_expr_compile *compile)
{
    return (size_t)(compile->token.text.data - compile->text.data);
}

bool mg_expr_token_is(const struct mg_expr_compile *compile, const char *symbol)
{
    return compile->token.kind == MG_TOKEN_SYMBOL && mg_slice_is(compile->token.text, symbol);
}

bool mg_expr_token_take(struct mg_expr_compile *compile, const char *symbol)
{
    if (!mg_expr_token_is(compile, symbol)) {
        return false;
    }
    mg_expr_token_next(compile);
    return true;
}

void mg_expr_token_need(struct mg_expr_compile *compile, const char *symbol, const char *why)
{
    if (!mg_expr_token_take(compile, symbol)) {
        (void)mg_expr_fail(compile, mg_expr_token_at(compile), MG_EXPR_MISTAKE_SYNTAX,
                           "\"%s\" is expected %s", symbol, why);
    }
}

bool mg_expr_is_reserved(struct mg_slice name)
{
    static const char *const RESERVED[] = {"as",        "break",  "const",  "continue", "else",  "for",
                                           "function",  "if",     "import", "let",      "loop",  "package",
                                           "namespace", "return", "var",    "void",     "while", "in",
                                           "true",      "false",  "null"};
    for (size_t i = 0; i < sizeof(RESERVED) / sizeof(RESERVED[0]); i++) {
        if (mg_slice_is(name, RESERVED[i])) {
            return true;
        }
    }
    return false;
}

const char *mg_expr_close(const char *at, const char *end)
{
    bool is_raw = false;
    while (at < end && *at != '}') {
        if (*at != '"' && *at != '\'') {
            is_raw = *at == 'r' || *at == 'R';
            at++;
            continue;
        }
        char quote = *at;
        size_t quotes = end - at >= 3 && at[1] == quote && at[2] == quote ? 3 : 1;
        const char triple[] = {quote, quote, quote};
        for (at += quotes; (size_t)(end - at) >= quotes && memcmp(at, triple, quotes) != 0; at++) {
            if (*at == '\\' && !is_raw && (size_t)(end - at) > quotes) {
                at++;
            }
        }
        if ((size_t)(end - at) < quotes) {
            return NULL;
        }
        at += quotes;
        is_raw = false;
    }
    return at < end ? at : NULL;
}
