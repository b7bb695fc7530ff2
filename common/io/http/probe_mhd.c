/* The probes of the HTTP server, and the refusals of requests that its handler does not get. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/http/mhd.h"

#define METRICS_TEXT_MAX_BYTES (8 * 1024 * 1024) /* MG_METRICS_MAX histograms stay below */
#define REASON_SIZE            512

struct MHD_Response *mg_http_response_copy(struct mg_slice body)
{
    char *copy = malloc(body.len + 1);
    if (!copy) {
        return NULL;
    }
    if (body.len > 0) {
        memcpy(copy, body.data, body.len);
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(body.len, copy, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(copy);
    }
    return response;
}

static enum MHD_Result probe_send(struct MHD_Connection *connection, unsigned int status, const char *type,
                                  struct mg_slice text)
{
    struct MHD_Response *response = mg_http_response_copy(text);
    if (!response) {
        return MHD_NO;
    }
    enum MHD_Result result = MHD_add_response_header(response, "Content-Type", type);
    if (result == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        result = MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    if (result == MHD_YES && status == MHD_HTTP_UNSUPPORTED_MEDIA_TYPE) {
        result = MHD_add_response_header(response, "Accept-Encoding", "identity");
    }
    if (result == MHD_YES) {
        result = MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    if (result == MHD_YES) {
        result = mg_http_answer_queue(connection, status, response, false);
    }
    MHD_destroy_response(response);
    mg_http_place_set(connection, MG_HTTP_ANSWERED);
    return result;
}

static enum MHD_Result probe_plain(struct MHD_Connection *connection, unsigned int status, const char *text)
{
    return probe_send(connection, status, "text/plain; charset=utf-8", mg_slice_of(text));
}

const char *mg_http_title(unsigned int status)
{
    static const struct {
        unsigned int status;
        const char *title;
    } TITLES[] = {{400, "Bad Request"},
                  {401, "Unauthorized"},
                  {403, "Forbidden"},
                  {404, "Not Found"},
                  {405, "Method Not Allowed"},
                  {406, "Not Acceptable"},
                  {409, "Conflict"},
                  {413, "Content Too Large"},
                  {414, "URI Too Long"},
                  {415, "Unsupported Media Type"},
                  {422, "Unprocessable Content"},
                  {429, "Too Many Requests"},
                  {431, "Request Header Fields Too Large"},
                  {501, "Not Implemented"},
                  {503, "Service Unavailable"}};
    for (size_t i = 0; i < sizeof(TITLES) / sizeof(TITLES[0]); i++) {
        if (TITLES[i].status == status) {
            return TITLES[i].title;
        }
    }
    return "Internal Server Error";
}

static bool bare_send(struct MHD_Connection *connection, unsigned int status)
{
    char head[128];
    (void)snprintf(head, sizeof(head), "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                   status, mg_http_title(status));
    return mg_http_place_send(connection, mg_slice_of(head));
}

enum MHD_Result mg_http_refuse(const struct mg_http_server *server, struct MHD_Connection *connection,
                               unsigned int status, const char *text)
{
    char problem[256];
    if (mg_http_is_memory_full(connection) && bare_send(connection, status)) {
        return MHD_NO;
    }
    if (!server->options.answers_problems) {
        char line[128];
        (void)snprintf(line, sizeof(line), "%s\n", text);
        return probe_plain(connection, status, line);
    }
    (void)snprintf(problem, sizeof(problem),
                   "{\"type\": \"about:blank\", \"title\": \"%s\", \"status\": %u, \"detail\": \"%s\"}\n",
                   mg_http_title(status), status, text);
    return probe_send(connection, status, "application/problem+json", mg_slice_of(problem));
}

static enum MHD_Result answer_readiness(struct mg_http_server *server, struct MHD_Connection *connection)
{
    char reason[REASON_SIZE] = "", line[REASON_SIZE + 16];
    bool is_ready =
        !server->is_draining &&
        (!server->options.is_ready || server->options.is_ready(server->options.arg, reason, sizeof(reason)));
    if (server->is_draining) {
        (void)snprintf(reason, sizeof(reason), "stopping");
    }
    (void)snprintf(line, sizeof(line), "%sready%s%s\n", is_ready ? "" : "not ", reason[0] != '\0' ? ": " : "",
                   reason);
    return probe_plain(connection, is_ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE, line);
}

static enum MHD_Result answer_metrics(struct mg_http_server *server, struct MHD_Connection *connection)
{
    struct mg_buf text;
    mg_buf_init(&text, METRICS_TEXT_MAX_BYTES);
    if (server->options.metrics) {
        mg_metrics_render(server->options.metrics, &text);
    }
    enum MHD_Result result;
    if (text.failed) {
        result = probe_plain(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory for the metrics\n");
    } else {
        result = probe_send(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                            text.len > 0 ? mg_buf_slice(&text) : mg_slice_of(""));
    }
    mg_buf_finish(&text);
    return result;
}

struct mg_metric *mg_http_held_series(struct mg_metrics *metrics)
{
    return mg_metrics_series(metrics, MG_GAUGE, "makegood_http_held_bytes", NULL,
                             "bytes of bodies, of answers and of unsent parts of streams, in memory");
}

bool mg_http_is_probe(const struct mg_http_server *server, const char *path)
{
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0 ||
           (strcmp(path, "/metrics") == 0 && !server->options.handles_metrics);
}

/* Answers as soon as the headers are in. A body is not read: the library closes after such an answer. The
 * answer itself proves that the loop turns; /healthz proves nothing more. */
enum MHD_Result mg_http_probe_answer(struct mg_http_server *server, struct MHD_Connection *connection,
                                     const char *path, const char *method)
{
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        return probe_plain(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    if (strcmp(path, "/healthz") == 0) {
        return probe_plain(connection, MHD_HTTP_OK, "ok\n");
    }
    if (strcmp(path, "/readyz") == 0) {
        return answer_readiness(server, connection);
    }
    if (strcmp(path, "/metrics") == 0) {
        return answer_metrics(server, connection);
    }
    return probe_plain(connection, MHD_HTTP_NOT_FOUND, "there are /healthz, /readyz and /metrics\n");
}
