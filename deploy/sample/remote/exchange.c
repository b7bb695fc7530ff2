/*
 * Answers, and the waits before them.
 */
#include "exchange.h"

#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_BODY_BYTES   (10 * 1024 * 1024) /* ten times an agent's default limit */
#define ANSWER_BLOCK_SIZE (64 * 1024)
#define JSON              "application/json"

static enum MHD_Result send_response(const struct exchange *exchange, unsigned int status,
                                     const char *content_type, struct MHD_Response *response,
                                     const char *header_name, const char *header_value)
{
    if (!response) {
        return MHD_NO;
    }
    enum MHD_Result result = MHD_add_response_header(response, "Content-Type", content_type);
    if (result == MHD_YES && header_name) {
        result = MHD_add_response_header(response, header_name, header_value);
    }
    if (result == MHD_YES) {
        result = MHD_queue_response(exchange->connection, status, response);
    }
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result answer_json(const struct exchange *exchange, unsigned int status, const char *json,
                            const char *header_name, const char *header_value)
{
    char *copy = strdup(json);
    if (!copy) {
        return MHD_NO;
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(copy), copy, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(copy);
    }
    return send_response(exchange, status, JSON, response, header_name, header_value);
}

enum MHD_Result answer_error(const struct exchange *exchange, unsigned int status, const char *code,
                             const char *reason)
{
    json_t *object = json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", reason);
    char *text = json_dumps(object, JSON_COMPACT);
    enum MHD_Result result = text ? answer_json(exchange, status, text, NULL, NULL) : MHD_NO;
    free(text);
    json_decref(object);
    return result;
}

enum MHD_Result answer_nothing(void)
{
    return MHD_NO;
}

enum MHD_Result answer_page(const struct exchange *exchange)
{
    static char page[] = "<html><head><title>404 Not Found</title></head><body><center><h1>404 Not "
                         "Found</h1></center><hr></body></html>";
    return send_response(exchange, MHD_HTTP_NOT_FOUND, "text/html",
                         MHD_create_response_from_buffer(sizeof(page) - 1, page, MHD_RESPMEM_PERSISTENT),
                         NULL, NULL);
}

enum MHD_Result answer_garbage(const struct exchange *exchange)
{
    static char garbage[] = "\xff\xfe{\"state\": <!-- 500 \x01\x02 [[[[ \xc3\x28";
    return send_response(
        exchange, MHD_HTTP_OK, JSON,
        MHD_create_response_from_buffer(sizeof(garbage) - 1, garbage, MHD_RESPMEM_PERSISTENT), NULL, NULL);
}

static ssize_t read_huge(void *arg, uint64_t at, char *block, size_t size)
{
    (void)arg;
    static const char start[] = "{\"padding\":\"";
    if (at >= HUGE_BODY_BYTES) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    memset(block, 'x', size);
    if (at == 0) {
        memcpy(block, start, size < sizeof(start) - 1 ? size : sizeof(start) - 1);
    }
    return (ssize_t)size;
}

enum MHD_Result answer_huge(const struct exchange *exchange)
{
    return send_response(
        exchange, MHD_HTTP_OK, JSON,
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, ANSWER_BLOCK_SIZE, read_huge, NULL, NULL), NULL,
        NULL);
}

struct half {
    uint64_t len;
    char text[];
};

static ssize_t read_half(void *arg, uint64_t at, char *block, size_t size)
{
    const struct half *half = arg;
    if (at >= half->len) {
        return MHD_CONTENT_READER_END_WITH_ERROR; /* closes the connection */
    }
    size_t len = (size_t)(half->len - at) < size ? (size_t)(half->len - at) : size;
    memcpy(block, half->text + at, len);
    return (ssize_t)len;
}

enum MHD_Result answer_half(const struct exchange *exchange, const char *json)
{
    size_t len = strlen(json);
    struct half *half = malloc(sizeof(*half) + len + 1);
    if (!half) {
        return MHD_NO;
    }
    half->len = len / 2;
    memcpy(half->text, json, len + 1);
    struct MHD_Response *response =
        MHD_create_response_from_callback(len, ANSWER_BLOCK_SIZE, read_half, half, free);
    if (!response) {
        free(half);
    }
    return send_response(exchange, MHD_HTTP_OK, JSON, response, NULL, NULL);
}

/* Polls until time is up: true. False: one of the descriptors spoke. */
static bool wait_quietly(struct pollfd *fds, nfds_t count, int64_t ms)
{
    int64_t end_ms = ledger_now_ms() + ms;
    for (;;) {
        int64_t left_ms = end_ms - ledger_now_ms();
        int ready = poll(fds, count, left_ms > 0 ? (int)left_ms : 0);
        if (ready > 0) {
            return false;
        }
        if (ready == 0 && ledger_now_ms() >= end_ms) {
            return true;
        }
    }
}

bool wait_ms(const struct exchange *exchange, int64_t ms)
{
    struct pollfd fds[] = {{.fd = exchange->remote->stop_fd, .events = POLLIN}};
    return wait_quietly(fds, 1, ms);
}

bool wait_for_client_ms(const struct exchange *exchange, int64_t ms)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd fds[] = {{.fd = exchange->remote->stop_fd, .events = POLLIN},
                           {.fd = info ? info->connect_fd : -1, .events = POLLRDHUP}};
    return wait_quietly(fds, 2, ms);
}
