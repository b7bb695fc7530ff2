/*
 * The service's own words in a refusing body: code, text, and the kept bytes, up to the reply that carries
 * them. The input is a byte that chooses status and kind, the `error` of a service file, and after a NUL the
 * body. jansson is the second reader of the places.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer_parts.h"
#include "classify.h"
#include "fuzz.h"
#include "json/scan.h"
#include "refusal.h"

static const int STATUSES[] = {400, 401, 404, 409, 422, 429, 500, 503};
#define STATUS_COUNT ((int)(sizeof(STATUSES) / sizeof(STATUSES[0])))
#define FILE_FORMAT  "{\"service\":\"s\",\"url\":\"http://h\",\"answer_max_bytes\":16384%s%.*s}"

/* ---- the service ---- */

static struct mg_service *service_make(struct mg_slice error)
{
    struct mg_service *service = NULL;
    struct mg_err err;
    char *text = NULL;
    if (mg_json_check(error, &MG_JSON_LIMITS_DEFAULT, &err) != MG_OK) {
        error.len = 0; /* more than one value could name files */
    }
    FUZZ_REQUIRE(asprintf(&text, FILE_FORMAT, error.len > 0 ? ",\"error\":" : "", (int)error.len,
                          error.len > 0 ? error.data : "") >= 0);
    if (mg_service_parse(mg_slice_of(text), NULL, &service, &err) != MG_OK) {
        free(text);
        return error.len > 0 ? service_make((struct mg_slice){NULL, 0}) : NULL;
    }
    free(text);
    return service;
}

/* ---- the second reader ---- */

/* The value at an RFC 6901 pointer. */
static const json_t *value_at(const json_t *value, const char *pointer)
{
    char token[4096];
    while (value != NULL && *pointer == '/') {
        size_t len = 0;
        for (pointer++; *pointer != '\0' && *pointer != '/'; pointer++) {
            bool is_escape = *pointer == '~';
            pointer += is_escape;
            FUZZ_REQUIRE(len + 1 < sizeof(token));
            token[len++] = is_escape ? (*pointer == '1' ? '/' : '~') : *pointer;
        }
        token[len] = '\0';
        bool is_index =
            len > 0 && len < 9 && strspn(token, "0123456789") == len && (len == 1 || token[0] != '0');
        value = json_is_object(value)  ? json_object_get(value, token)
                : json_is_array(value) ? json_array_get(value, is_index ? strtoul(token, NULL, 10) : SIZE_MAX)
                                       : NULL;
    }
    return value;
}

/* The first of the places with a text that is not empty. */
static const char *text_at(const json_t *body, char *const *places)
{
    for (int i = 0; places[i] != NULL; i++) {
        const json_t *value = value_at(body, places[i]);
        if (json_is_string(value) && json_string_length(value) > 0) {
            return json_string_value(value);
        }
    }
    return NULL;
}

static size_t char_len(const char *at)
{
    unsigned char first = (unsigned char)*at;
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* A blank for each character that steers; cut before the first character that has no room. */
static void plain_copy(const char *text, char ret[MG_ERROR_MESSAGE_MAX + 1])
{
    size_t len = 0;
    while (*text != '\0' && len + char_len(text) <= MG_ERROR_MESSAGE_MAX) {
        size_t step = char_len(text);
        bool is_shown = fuzz_is_plain(text, step);
        memcpy(ret + len, is_shown ? text : " ", is_shown ? step : 1);
        len += is_shown ? step : 1;
        text += step;
    }
    ret[len] = '\0';
}

/* ---- the words ---- */

static bool is_code_char(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

/* Letters and digits of the code, in its order, begin the given ones. */
static bool begins(const char *text, const char *code)
{
    for (; *code != '\0'; code++) {
        if (!isalnum((unsigned char)*code)) {
            continue;
        }
        while (*text != '\0' && !isalnum((unsigned char)*text)) {
            text++;
        }
        if (*text++ != *code) {
            return false;
        }
    }
    return true;
}

static bool is_of_a_place(const json_t *body, const struct mg_service *service, const char *code)
{
    for (int i = 0; service->error.code[i] != NULL; i++) {
        const json_t *value = value_at(body, service->error.code[i]);
        /* jansson keeps no digits of a number */
        if (json_is_number(value) || (json_is_string(value) && begins(json_string_value(value), code))) {
            return true;
        }
    }
    return false;
}

static void code_is_usable(const struct mg_service *service, int status, const json_t *body, const char *code)
{
    char class[16];
    size_t len = (size_t)snprintf(class, sizeof(class), "http_%d", status), all = strlen(code);
    FUZZ_REQUIRE(all <= MG_ERROR_CODE_MAX && strncmp(code, class, len) == 0);
    FUZZ_REQUIRE(all == len || (code[len] == '/' && all > len + 1));
    for (size_t i = len + 1; i < all; i++) {
        FUZZ_REQUIRE(is_code_char(code[i]));
    }
    FUZZ_REQUIRE(all == len || is_of_a_place(body, service, code + len + 1));
}

static void message_is_plain(const struct mg_service *service, const json_t *body, const char *message)
{
    char expected[MG_ERROR_MESSAGE_MAX + 1] = "";
    const char *text =
        body != NULL && service->error.keep_bytes > 0 ? text_at(body, service->error.text) : NULL;
    if (text != NULL) {
        plain_copy(text, expected);
    }
    FUZZ_REQUIRE(strcmp(message, expected) == 0);
    FUZZ_REQUIRE(fuzz_is_plain(message, strlen(message)));
}

static bool is_utf8(struct mg_slice text)
{
    for (size_t i = 0, step; i < text.len; i += step) {
        step = mg_utf8_len(text.data + i, text.len - i);
        if (step == 0) {
            return false;
        }
    }
    return true;
}

static void kept_is_cut_well(const struct mg_service *service, struct mg_slice body, struct mg_slice kept)
{
    size_t room = service->error.keep_bytes;
    FUZZ_REQUIRE(kept.data == NULL || (kept.data == body.data && kept.len > 0));
    FUZZ_REQUIRE(kept.len <= room && kept.len <= body.len);
    FUZZ_REQUIRE(kept.len == body.len || kept.len + 3 >= room);
    FUZZ_REQUIRE(!is_utf8(body) || is_utf8(kept));
}

/* ---- the reply ---- */

static void text_arrives(struct mg_slice quoted, struct mg_slice sent)
{
    struct mg_buf text, mended;
    mg_buf_init(&text, FUZZ_TEXT_MAX);
    mg_buf_init(&mended, FUZZ_TEXT_MAX);
    FUZZ_REQUIRE((quoted.data != NULL) == (sent.len > 0));
    if (quoted.data != NULL) {
        mg_buf_append_json_mended(&mended, sent);
        FUZZ_REQUIRE(mg_slice_equal(mg_buf_slice(&mended), quoted));
        FUZZ_REQUIRE(mg_json_string(quoted, &text) && is_utf8(mg_buf_slice(&text)));
    }
    mg_buf_finish(&text);
    mg_buf_finish(&mended);
}

static void reply_carries(const struct mg_service *service, enum mg_kind kind, int status,
                          struct mg_slice body, const char *message, struct mg_slice kept)
{
    const struct mg_request request = {.order_id = "o-1", .step = "s", .attempt = 1, .kind = kind};
    struct mg_http_answer answer = {
        .sent = MG_SENT_YES, .status = status, .body = body, .content_type = "", .retry_after_ms = -1};
    struct mg_reading reading = {.is_page = false}; /* the body as it came */
    struct mg_verdict_of_try verdict;
    struct mg_reply_parts parts;
    struct mg_buf words, text;
    struct mg_reply read;
    struct mg_err err;
    mg_classify_answer(service, kind, false, &answer, &reading, 1000, &verdict);
    FUZZ_REQUIRE(fuzz_is_plain(verdict.text, strlen(verdict.text)));
    mg_reply_parts_take(service, body, false, &reading, &words, &verdict, &parts);
    mg_tries_reply_write(service, &request, &verdict, false, &parts, &text);
    FUZZ_REQUIRE(!words.failed && !text.failed);
    FUZZ_REQUIRE(mg_reply_parse(mg_buf_slice(&text), &MG_JSON_LIMITS_DATA, &read, &err) == MG_OK);
    FUZZ_REQUIRE(strcmp(read.error_code, verdict.code) == 0 && strcmp(read.error_text, verdict.text) == 0);
    FUZZ_REQUIRE(read.http_status == verdict.http_status && read.error_reason == verdict.reason);
    if (verdict.outcome != MG_OUTCOME_ABSENT) { /* an answer, and no refusal */
        text_arrives(read.error_message, mg_slice_of(message));
        text_arrives(read.error_body, kept);
    }
    mg_reading_finish(&reading);
    mg_buf_finish(&text);
    mg_buf_finish(&words);
}

static json_t *body_read(struct mg_slice body, const struct mg_json_limits *limits)
{
    struct mg_err err;
    if (body.len == 0 || mg_json_check(body, limits, &err) != MG_OK) {
        return NULL;
    }
    /* NULL also for a number that is too large for jansson. */
    return json_loadb(body.data, body.len, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int choice = size > 0 ? data[0] : 0, status = STATUSES[choice % STATUS_COUNT];
    struct mg_slice body = {(const char *)data + (size > 0), size - (size > 0)}, error = fuzz_take(&body);
    struct mg_service *service = service_make(error);
    char code[MG_ERROR_CODE_MAX + 1], message[MG_ERROR_MESSAGE_MAX + 1];
    struct mg_err err;
    FUZZ_REQUIRE(service != NULL);
    const struct mg_json_limits limits = mg_answer_limits(service);
    json_t *json = body_read(body, &limits);
    bool is_json = body.len > 0 && mg_json_check(body, &limits, &err) == MG_OK;
    FUZZ_POISON(code);
    FUZZ_POISON(message);
    mg_refusal_code(service, status, body, &limits, code);
    mg_refusal_message(service, body, &limits, message);
    struct mg_slice kept = mg_refusal_kept(service, body);
    FUZZ_REQUIRE(memchr(code, '\0', sizeof(code)) != NULL && memchr(message, '\0', sizeof(message)) != NULL);
    if (json != NULL || !is_json) { /* both readers take the body, or neither */
        code_is_usable(service, status, json, code);
        message_is_plain(service, json, message);
    }
    kept_is_cut_well(service, body, kept);
    reply_carries(service, (enum mg_kind)(choice / STATUS_COUNT % MG_KIND_COUNT), status, body, message,
                  kept);
    json_decref(json);
    mg_service_destroy(service);
    return 0;
}
