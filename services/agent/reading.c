/* See reading.h. */
#include "reading.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "json/scan.h"

#define CHARSET_MAX 40             /* the longest registered names are shorter, but for some rare ones */
#define UNKNOWN     "\xef\xbf\xbd" /* U+FFFD */
#define PIECE_BYTES 4096
/* UTF-8 of one byte in another charset has up to three; of one unknown byte, too. */
#define GROWTH_MAX 3

/* Those that services use, by the start of the name. Stateful charsets are left out: their converters have
 * had faults that a service could use (CVE-2024-2961). */
static const char *const CHARSETS[] = {
    "iso-8859-", "windows-125", "latin1", "koi8-",  "us-ascii", "utf-16", "utf-32",    "shift_jis",
    "euc-jp",    "euc-kr",      "gbk",    "gb2312", "gb18030",  "big5",   "macintosh", NULL};

struct mark {
    const char *charset;
    size_t len;
    const char *bytes;
};

/* That of UTF-32 begins with that of UTF-16. */
static const struct mark MARKS[] = {{"UTF-32LE", 4, "\xff\xfe\0\0"}, {"UTF-32BE", 4, "\0\0\xfe\xff"},
                                    {"UTF-8", 3, "\xef\xbb\xbf"},    {"UTF-16LE", 2, "\xff\xfe"},
                                    {"UTF-16BE", 2, "\xfe\xff"},     {NULL, 0, NULL}};

static const struct mark *mark_of(struct mg_slice body)
{
    const struct mark *mark = MARKS;
    while (mark->charset != NULL &&
           (body.len < mark->len || memcmp(body.data, mark->bytes, mark->len) != 0)) {
        mark++;
    }
    return mark->charset != NULL ? mark : NULL;
}

/* The charset of a media type (RFC 9110, 8.3.1); "" if it names none, or none that could be one. */
static void charset_of(const char *content_type, char ret_charset[CHARSET_MAX])
{
    const char *at = strcasestr(content_type, "charset=");
    ret_charset[0] = '\0';
    if (at == NULL) {
        return;
    }
    at += strlen("charset=");
    at += *at == '"' || *at == '\'' ? 1 : 0;
    size_t len = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:+");
    (void)snprintf(ret_charset, CHARSET_MAX, "%.*s", (int)len, at);
}

static bool is_known(const char *charset)
{
    for (int i = 0; CHARSETS[i] != NULL; i++) {
        if (strncasecmp(charset, CHARSETS[i], strlen(CHARSETS[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_utf8_name(const char *charset)
{
    return strcasecmp(charset, "utf-8") == 0 || strcasecmp(charset, "utf8") == 0;
}

static bool is_utf8(struct mg_slice body)
{
    for (size_t i = 0; i < body.len;) {
        size_t len = mg_utf8_len(body.data + i, body.len - i);
        if (len == 0 || body.data[i] == '\0') {
            return false;
        }
        i += len;
    }
    return true;
}

/* Appends all that the converter takes, with U+FFFD for each unit that it does not. */
static void convert_with(iconv_t converter, const char *charset, struct mg_slice body, struct mg_buf *text)
{
    char piece[PIECE_BYTES], *from = (char *)(uintptr_t)body.data; /* iconv does not write there */
    size_t left = body.len;
    size_t unit = strncasecmp(charset, "utf-16", 6) == 0 ? 2 : strncasecmp(charset, "utf-32", 6) == 0 ? 4 : 1;
    while (left > 0 && !text->failed) {
        char *to = piece;
        size_t room = sizeof(piece);
        bool is_stuck = iconv(converter, &from, &left, &to, &room) == (size_t)-1 && errno != E2BIG;
        mg_buf_append(text, piece, sizeof(piece) - room);
        if (is_stuck) {
            size_t skipped = unit < left ? unit : left;
            mg_buf_append_text(text, UNKNOWN);
            from += skipped;
            left -= skipped;
        }
    }
}

static struct mg_slice convert(struct mg_reading *reading, const char *charset, struct mg_slice body)
{
    iconv_t converter = iconv_open("UTF-8", charset);
    if (converter == (iconv_t)-1) {
        (void)snprintf(reading->fault, sizeof(reading->fault),
                       "its charset \"%s\" cannot be read here; send UTF-8", charset);
        return body;
    }
    mg_buf_init(&reading->text, GROWTH_MAX * body.len + strlen(UNKNOWN));
    convert_with(converter, charset, body, &reading->text);
    (void)iconv_close(converter);
    if (reading->text.failed) {
        (void)snprintf(reading->fault, sizeof(reading->fault), "there is no memory to convert it");
        return body;
    }
    return mg_buf_slice(&reading->text);
}

static bool is_json_type(const char *content_type)
{
    size_t len = strcspn(content_type, ";");
    return memmem(content_type, len, "json", strlen("json")) != NULL;
}

/* Without a mark: by the declared charset. */
static struct mg_slice convert_declared(struct mg_reading *reading, const char *content_type,
                                        struct mg_slice body)
{
    char charset[CHARSET_MAX];
    charset_of(content_type, charset);
    bool is_plain = charset[0] == '\0' || is_utf8_name(charset);
    if (is_plain || (is_json_type(content_type) && is_utf8(body))) {
        return body;
    }
    if (!is_known(charset)) {
        (void)snprintf(reading->fault, sizeof(reading->fault),
                       "its charset \"%s\" is not known here; send UTF-8", charset);
        return body;
    }
    return strcasecmp(charset, "us-ascii") == 0 ? body : convert(reading, charset, body);
}

static bool begins_with(struct mg_slice body, const char *words)
{
    return body.len >= strlen(words) && strncasecmp(body.data, words, strlen(words)) == 0;
}

/* Whether the media type of `len` bytes ends so. */
static bool ends_with(const char *content_type, size_t len, const char *words)
{
    size_t words_len = strlen(words);
    return len >= words_len && strncasecmp(content_type + len - words_len, words, words_len) == 0;
}

static bool is_html_type(const char *content_type)
{
    size_t len = strcspn(content_type, "; \t");
    return (len == 9 && strncasecmp(content_type, "text/html", len) == 0) ||
           (len == 21 && strncasecmp(content_type, "application/xhtml+xml", len) == 0);
}

/* Also JSON above a limit, and with strings that can be mended. */
static bool is_json(struct mg_slice body)
{
    struct mg_buf mended;
    struct mg_err err;
    bool is_above;
    if (mg_json_check_limits(body, &MG_JSON_LIMITS_DATA, &is_above, &err) == MG_OK || is_above) {
        return true;
    }
    mg_buf_init(&mended, GROWTH_MAX * body.len + strlen(UNKNOWN));
    mg_json_mend_strings(body, &mended);
    bool is_good =
        !mended.failed && mg_json_check(mg_buf_slice(&mended), &MG_JSON_LIMITS_DATA, &err) == MG_OK;
    mg_buf_finish(&mended);
    return is_good;
}

/* What follows XML's declaration and comments. */
static struct mg_slice behind_prolog(struct mg_slice body)
{
    for (;;) {
        const char *end = begins_with(body, "<?") ? "?>" : begins_with(body, "<!--") ? "-->" : NULL;
        const char *at = end != NULL ? memmem(body.data, body.len, end, strlen(end)) : NULL;
        if (at == NULL) {
            return body;
        }
        at += strlen(end);
        body = mg_json_trim((struct mg_slice){at, (size_t)(body.data + body.len - at)});
    }
}

/* With the type of HTML all that is no JSON is a page; with a type of XML, HTML is; with any other, all that
 * begins as markup does: no JSON and no plain word begins so. */
static bool is_page(const struct mg_http_answer *answer)
{
    const char *type = answer->content_type;
    size_t type_len = strcspn(type, "; \t");
    struct mg_slice body = mg_json_trim(answer->body);
    if (is_html_type(type)) {
        return answer->is_undecoded || (body.len > 0 && !is_json(body));
    }
    if (ends_with(type, type_len, "/xml") || ends_with(type, type_len, "+xml")) {
        body = behind_prolog(body);
        return begins_with(body, "<!doctype html") || begins_with(body, "<html");
    }
    return body.len > 1 && body.data[0] == '<' &&
           (isalpha((unsigned char)body.data[1]) || body.data[1] == '!' || body.data[1] == '?');
}

/* Most answers: an object or a list of JSON, without parameters of its type. */
static bool is_plain(const struct mg_http_answer *answer)
{
    char first = answer->body.data[0];
    return (first == '{' || first == '[') && strchr(answer->content_type, ';') == NULL &&
           !is_html_type(answer->content_type);
}

static void text_take(struct mg_http_answer *answer, struct mg_reading *reading)
{
    const struct mark *mark = mark_of(answer->body);
    struct mg_slice body = answer->body;
    if (mark != NULL) {
        body = (struct mg_slice){body.data + mark->len, body.len - mark->len};
        body = mark->len == strlen("\xef\xbb\xbf") ? body : convert(reading, mark->charset, body);
    } else {
        body = convert_declared(reading, answer->content_type, body);
    }
    answer->body = body;
}

void mg_reading_take(struct mg_http_answer *answer, bool is_text_wanted, struct mg_reading *ret_reading)
{
    ret_reading->is_text_wanted = is_text_wanted;
    ret_reading->is_page = false;
    ret_reading->fault[0] = '\0';
    mg_buf_init(&ret_reading->text, 0);
    if (answer->sent != MG_SENT_YES) {
        return;
    }
    if (answer->is_undecoded) {
        (void)snprintf(ret_reading->fault, sizeof(ret_reading->fault),
                       "its content coding cannot be decoded: %.150s", answer->reason);
    } else if (answer->body.len == 0 || is_plain(answer)) {
        return;
    } else {
        text_take(answer, ret_reading);
    }
    ret_reading->is_page = !is_text_wanted && is_page(answer);
}

void mg_reading_finish(struct mg_reading *reading)
{
    mg_buf_finish(&reading->text);
}

struct mg_slice mg_reading_mend(struct mg_reading *reading, struct mg_slice body,
                                const struct mg_json_limits *limits)
{
    struct mg_buf mended;
    struct mg_err err;
    mg_buf_init(&mended, GROWTH_MAX * body.len + strlen(UNKNOWN));
    mg_json_mend_strings(body, &mended);
    if (mended.failed || mg_json_check(mg_buf_slice(&mended), limits, &err) != MG_OK) {
        (void)snprintf(reading->fault, sizeof(reading->fault), "it cannot be read as JSON: %.200s",
                       mended.failed ? "no memory" : err.text);
        mg_utf8_mend(reading->fault);
        mg_buf_finish(&mended);
        return (struct mg_slice){NULL, 0};
    }
    mg_buf_finish(&reading->text); /* `body` may have lain there */
    reading->text = mended;
    return mg_buf_slice(&reading->text);
}
