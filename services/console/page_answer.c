/* Answers: JSON, errors, and the headers of every answer. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "console/console_parts.h"

/* Scripts, styles and data come only from this origin; frames and forms to other sites are forbidden. So a
 * foreign text that gets into a page can do nothing. */
static const struct mg_http_header HEADERS[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
};
#define HEADER_COUNT (sizeof(HEADERS) / sizeof(HEADERS[0]))
_Static_assert(HEADER_COUNT + MG_ANSWER_HEADERS_MORE + 1 == MG_ANSWER_HEADERS_MAX,
               "room for all and the end");

void mg_answer_headers(struct mg_http_header ret_headers[MG_ANSWER_HEADERS_MAX],
                       const struct mg_http_header *more)
{
    size_t count = HEADER_COUNT;
    memcpy(ret_headers, HEADERS, sizeof(HEADERS));
    for (; more != NULL && more->name != NULL && count < MG_ANSWER_HEADERS_MAX - 1; more++) {
        ret_headers[count++] = *more;
    }
    ret_headers[count] = (struct mg_http_header){NULL, NULL};
}

void mg_answer_json(struct mg_http_exchange *request, unsigned int status, struct mg_slice body)
{
    struct mg_http_header headers[MG_ANSWER_HEADERS_MAX];
    const struct mg_http_header again[] = {{"Retry-After", "1"}, {NULL, NULL}};
    mg_answer_headers(headers, status == 429 || status == 503 ? again : NULL);
    const struct mg_http_response answer = {
        .status = status, .type = "application/json", .body = body, .headers = headers};
    mg_http_answer(request, &answer);
}

static void text_write(struct mg_buf *out, const char *name, const char *text)
{
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    mg_json_member_string(&json, name, text);
    mg_json_object_end(&json);
}

void mg_error_write(struct mg_buf *out, const char *text)
{
    text_write(out, "error", text);
}

/* Says so without memory. */
#define NO_MEMORY "{\"error\": \"no memory\"}\n"

void mg_answer_error(struct mg_http_exchange *request, unsigned int status, const char *format, ...)
{
    char text[MG_ERR_TEXT_MAX + 256];
    struct mg_buf body;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mg_utf8_mend(text); /* the cut may split a character */
    mg_buf_init(&body, 8 * sizeof(text));
    mg_error_write(&body, text);
    mg_buf_append_text(&body, "\n");
    mg_answer_json(request, status, body.failed ? mg_slice_of(NO_MEMORY) : mg_buf_slice(&body));
    mg_buf_finish(&body);
}

void mg_answer_text(struct mg_http_exchange *request, unsigned int status, const char *text)
{
    struct mg_buf body;
    mg_buf_init(&body, MG_ERR_TEXT_MAX * 8);
    text_write(&body, "text", text);
    mg_answer_json(request, status, body.failed ? mg_slice_of(NO_MEMORY) : mg_buf_slice(&body));
    mg_buf_finish(&body);
}
