/*
 * Removes passwords from URLs and connection strings, for logs. Where a text is malformed it hides too much
 * rather than too little: a password with an unencoded "/" or "@" must stay hidden.
 */
#include <ctype.h>
#include <string.h>

#include "base/config.h"

#define STARS  "***"
#define BLANKS " \t\r\n\f\v"

struct text_out {
    char *text;
    size_t size, len;
    bool has_secret;
};

static void put(struct text_out *out, const char *text, size_t len)
{
    if (out->size == 0) {
        return;
    }
    if (len > out->size - 1 - out->len) {
        len = out->size - 1 - out->len;
    }
    if (len > 0) {
        memcpy(out->text + out->len, text, len);
    }
    out->len += len;
    out->text[out->len] = '\0';
}

static void hide(struct text_out *out)
{
    out->has_secret = true;
    put(out, STARS, strlen(STARS));
}

/* Up to `at`: RabbitMQ's default user. It is hidden like others, but is no secret. */
static bool is_guest(const char *authority, const char *at)
{
    static const char guest[] = "guest:guest";
    return (size_t)(at - authority) == sizeof(guest) - 1 && memcmp(authority, guest, sizeof(guest) - 1) == 0;
}

/* "password", "sslpassword", "passwd", "oauth_client_secret", … */
static bool is_secret_key(const char *key, size_t len)
{
    static const char *const words[] = {"passw", "secret", "token"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t word_len = strlen(words[i]);
        for (size_t at = 0; at + word_len <= len; at++) {
            if (strncasecmp(key + at, words[i], word_len) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* A name without a value, or an unclosed quote, makes libpq take the next "password=…" as its value. */
static bool holds_secret_key(const char *value, size_t len)
{
    return memchr(value, '=', len) != NULL && is_secret_key(value, len);
}

/* name=value pairs after "?" separated by "&". */
static void put_query(struct text_out *out, const char *at)
{
    while (*at && !strchr(BLANKS, *at)) {
        size_t len = strcspn(at, "&" BLANKS);
        size_t key_len = strcspn(at, "=&" BLANKS);
        if (key_len < len && is_secret_key(at, key_len)) {
            put(out, at, key_len + 1);
            hide(out);
        } else {
            put(out, at, len);
        }
        at += len;
        if (*at == '&') {
            put(out, at, 1);
            at++;
        }
    }
}

/* scheme://user:password@host/…?name=value: the password ends at the last "@". A URL has no blank; text
 * after one may be a misplaced DSN. */
static void put_url(struct text_out *out, const char *url, const char *authority)
{
    const char *rest = authority;
    const char *at = strrchr(authority, '@');

    put(out, url, (size_t)(authority - url));
    if (at) {
        size_t user_len = strcspn(authority, ":@");
        put(out, authority, user_len);
        if (authority + user_len < at) {
            bool had_secret = out->has_secret;
            put(out, ":", 1);
            hide(out);
            if (is_guest(authority, at)) {
                out->has_secret = had_secret;
            }
        }
        rest = at;
    }
    size_t path_len = strcspn(rest, "?" BLANKS);
    put(out, rest, path_len);
    if (rest[path_len] == '?') {
        put(out, "?", 1);
        put_query(out, rest + path_len + 1);
    }
    if (rest[strcspn(rest, BLANKS)]) {
        put(out, " ", 1);
        hide(out);
    }
}

/* Length of libpq's value at `text`: quoted by ', or up to a blank. A backslash escapes the next
 * character. */
static size_t dsn_value_len(const char *text)
{
    size_t i = 0;
    bool is_quoted = text[0] == '\'';

    if (is_quoted) {
        i = 1;
    }
    for (; text[i]; i++) {
        if (text[i] == '\\' && text[i + 1]) {
            i++;
        } else if (is_quoted && text[i] == '\'') {
            return i + 1;
        } else if (!is_quoted && isspace((unsigned char)text[i])) {
            return i;
        }
    }
    return i;
}

static void put_dsn(struct text_out *out, const char *at)
{
    while (*at) {
        size_t blank = strspn(at, BLANKS);
        put(out, at, blank);
        at += blank;

        size_t key_len = strcspn(at, "=" BLANKS);
        size_t equals = key_len + strspn(at + key_len, BLANKS);
        bool is_pair = at[equals] == '=', is_uri = memchr(at, '@', key_len) != NULL;
        if (is_uri) { /* with a mistake in its scheme, or next to it */
            hide(out);
            at += key_len + strcspn(at + key_len, BLANKS);
            continue;
        }
        if (!is_pair) { /* shown unchanged, so that the mistake is visible */
            put(out, at, key_len);
            at += key_len;
            continue;
        }
        size_t value = equals + 1 + strspn(at + equals + 1, BLANKS);
        size_t value_len = dsn_value_len(at + value);
        put(out, at, value);
        if (is_secret_key(at, key_len) || holds_secret_key(at + value, value_len)) {
            hide(out);
        } else {
            put(out, at + value, value_len);
        }
        at += value + value_len;
    }
}

static void put_any(struct text_out *out, const char *text)
{
    const char *scheme_end = strstr(text, "://"), *scheme = text + strspn(text, BLANKS);
    /* A DSN may hold "://" inside a value; a URL's scheme has neither "=" nor a blank inside. */
    if (scheme_end && strcspn(scheme, "=" BLANKS) > (size_t)(scheme_end - scheme)) {
        put_url(out, text, scheme_end + 3);
    } else {
        put_dsn(out, text);
    }
}

void mg_url_redact(const char *url, char *ret_text, size_t size)
{
    struct text_out out = {.text = ret_text, .size = size};

    if (size > 0) {
        ret_text[0] = '\0';
    }
    if (url) {
        put_any(&out, url);
    }
}

bool mg_url_has_password(const char *url)
{
    struct text_out out = {.size = 0};

    if (url) {
        put_any(&out, url);
    }
    return out.has_secret;
}
