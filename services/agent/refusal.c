/* See refusal.h. */
#include "refusal.h"

#include <ctype.h>
#include <string.h>

/* A string's or a number's text in `ret`; false for other values, and for no memory: then a reply goes out
 * without it, which loses less than no reply. */
static bool text_read(struct mg_slice value, bool takes_number, struct mg_buf *ret)
{
    mg_buf_clear(ret);
    if (value.data == NULL) {
        return false;
    }
    if (takes_number && (value.data[0] == '-' || isdigit((unsigned char)value.data[0]))) {
        mg_buf_append_slice(ret, value);
    } else if (!mg_json_string(value, ret)) {
        return false;
    }
    return !ret->failed && ret->len > 0;
}

static void code_find(const struct mg_service *service, struct mg_slice body, struct mg_buf *text,
                      char code[MG_ERROR_CODE_MAX + 1])
{
    size_t class_len = strlen(code);
    for (int i = 0; service->error.code[i] != NULL; i++) {
        if (text_read(mg_json_find(body, service->error.code[i]), true, text)) {
            memcpy(code + class_len, "/", 2);
            if (mg_error_code_append(mg_buf_slice(text), code)) {
                return;
            }
            code[class_len] = '\0';
        }
    }
}

/* True if the body is JSON, which alone has places. */
static bool is_searchable(struct mg_slice body, const struct mg_json_limits *limits)
{
    struct mg_err err;
    return body.data != NULL && body.len > 0 && mg_json_check(body, limits, &err) == MG_OK;
}

void mg_refusal_code(const struct mg_service *service, int status, struct mg_slice body,
                     const struct mg_json_limits *limits, char ret_code[MG_ERROR_CODE_MAX + 1])
{
    struct mg_buf text;
    mg_error_code_of_status(status, ret_code);
    if (is_searchable(body, limits)) {
        mg_buf_init(&text, body.len);
        code_find(service, body, &text, ret_code);
        mg_buf_finish(&text);
    }
}

void mg_refusal_message(const struct mg_service *service, struct mg_slice body,
                        const struct mg_json_limits *limits, char ret_message[MG_ERROR_MESSAGE_MAX + 1])
{
    struct mg_buf text;
    bool is_found = service->error.keep_bytes == 0 || !is_searchable(body, limits);
    ret_message[0] = '\0';
    mg_buf_init(&text, body.len);
    for (int i = 0; service->error.text[i] != NULL && !is_found; i++) {
        is_found = text_read(mg_json_find(body, service->error.text[i]), false, &text);
        if (is_found) {
            mg_text_copy_plain(mg_buf_slice(&text), ret_message, MG_ERROR_MESSAGE_MAX + 1);
        }
    }
    mg_buf_finish(&text);
}

struct mg_slice mg_refusal_kept(const struct mg_service *service, struct mg_slice body)
{
    const struct mg_slice none = {NULL, 0};
    size_t len = body.data != NULL ? mg_utf8_cut(body, service->error.keep_bytes) : 0;
    return len > 0 ? (struct mg_slice){body.data, len} : none;
}
