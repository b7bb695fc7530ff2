/*
 * /healthz, /readyz and /metrics by libmicrohttpd, without a thread of its own: its epoll descriptor is
 * watched by our loop, so an answer is made on the loop's thread and may read the service's state without a
 * lock. It also proves by answering that the loop still turns, which is all that /healthz says.
 *
 * None of libmicrohttpd's types leave this file. Nothing is read from a request but its method and path.
 */
#include "io/http_server.h"

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"

#define CONNECTIONS_MAX        32u          /* probes and scrapers; descriptors are for the service's work */
#define CONNECTION_TIMEOUT_S   10u          /* a scraper that is silent for so long is gone */
#define CONNECTION_MEMORY_MAX  (16u * 1024) /* request line and headers of one connection */
#define METRICS_TEXT_MAX_BYTES (4 * 1024 * 1024) /* MG_METRICS_MAX histograms stay below */
#define REASON_SIZE            512
#define ADDRESS_SIZE           128

struct mg_http_server {
    struct mg_http_server_options options;
    struct MHD_Daemon *daemon;
    struct mg_watch *watch;
    struct mg_timer *timer; /* libmicrohttpd's next time-out */
    int port;
};

/* ---- answers ---- */

static enum MHD_Result answer_send(struct MHD_Connection *connection, unsigned int status, const char *type,
                                   struct mg_slice text)
{
    /* The library takes the text by a pointer that is not const, but only copies from it. */
    char *copy = malloc(text.len + 1);
    if (!copy) return MHD_NO;
    memcpy(copy, text.data, text.len);
    struct MHD_Response *response = MHD_create_response_from_buffer(text.len, copy, MHD_RESPMEM_MUST_FREE);
    if (!response) {
        free(copy);
        return MHD_NO;
    }
    enum MHD_Result result = MHD_add_response_header(response, "Content-Type", type);
    if (result == MHD_YES && status == MHD_HTTP_METHOD_NOT_ALLOWED)
        result = MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (result == MHD_YES) result = MHD_add_response_header(response, "Cache-Control", "no-store");
    if (result == MHD_YES) result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_plain(struct MHD_Connection *connection, unsigned int status, const char *text)
{
    return answer_send(connection, status, "text/plain; charset=utf-8", mg_slice_of(text));
}

static enum MHD_Result answer_readiness(struct mg_http_server *server, struct MHD_Connection *connection)
{
    char reason[REASON_SIZE] = "", line[REASON_SIZE + 16];
    if (!server->options.is_ready || server->options.is_ready(server->options.arg, reason, sizeof reason))
        return answer_plain(connection, MHD_HTTP_OK, "ready\n");
    (void)snprintf(line, sizeof line, "not ready: %s\n", reason);
    return answer_plain(connection, MHD_HTTP_SERVICE_UNAVAILABLE, line);
}

static enum MHD_Result answer_metrics(struct mg_http_server *server, struct MHD_Connection *connection)
{
    struct mg_buf text;
    mg_buf_init(&text, METRICS_TEXT_MAX_BYTES);
    if (server->options.metrics) mg_metrics_render(server->options.metrics, &text);
    enum MHD_Result result;
    if (text.failed)
        result = answer_plain(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory for the metrics\n");
    else
        result = answer_send(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                             text.len > 0 ? mg_buf_slice(&text) : mg_slice_of(""));
    mg_buf_finish(&text);
    return result;
}

/* Answers as soon as the headers are in; a body is not waited for, the library closes after such an answer.
 */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **request_arg)
{
    (void)version, (void)upload, (void)upload_len, (void)request_arg;
    struct mg_http_server *server = arg;
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_plain(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    if (strcmp(path, "/healthz") == 0) return answer_plain(connection, MHD_HTTP_OK, "ok\n");
    if (strcmp(path, "/readyz") == 0) return answer_readiness(server, connection);
    if (strcmp(path, "/metrics") == 0) return answer_metrics(server, connection);
    return answer_plain(connection, MHD_HTTP_NOT_FOUND, "there are /healthz, /readyz and /metrics\n");
}

/* ---- the loop's side ---- */

static void server_run(struct mg_http_server *server)
{
    (void)MHD_run(server->daemon); /* fails only if the library was started in another mode */
    MHD_UNSIGNED_LONG_LONG timeout_ms = 0;
    if (MHD_get_timeout(server->daemon, &timeout_ms) == MHD_YES)
        mg_timer_start(server->timer, (int64_t)timeout_ms, 0);
    else
        mg_timer_stop(server->timer);
}

static void on_readable(void *arg, int events)
{
    (void)events;
    server_run(arg);
}

static void on_timer(void *arg)
{
    server_run(arg);
}

/* ---- creation ---- */

/* Numbers only: a name would have to be resolved, which blocks. */
static enum mg_class address_parse(const char *text, struct addrinfo **ret_address, struct mg_err *err)
{
    char host[ADDRESS_SIZE];
    const char *colon = text ? strrchr(text, ':') : NULL;
    size_t host_len = colon ? (size_t)(colon - text) : 0;
    if (!colon || host_len >= sizeof host || colon[1] == '\0') goto bad;
    memcpy(host, text, host_len);
    host[host_len] = '\0';
    if (host[0] == '[') {
        if (host[host_len - 1] != ']') goto bad;
        host[host_len - 1] = '\0';
        memmove(host, host + 1, host_len - 1);
    } else if (strchr(host, ':')) {
        goto bad; /* an IPv6 address without brackets: which colon is the port's? */
    }
    char *end = NULL;
    long port = strtol(colon + 1, &end, 10);
    if (host[0] == '\0' || *end != '\0' || port < 0 || port > UINT16_MAX) goto bad;
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    if (getaddrinfo(host, colon + 1, &hints, ret_address) == 0) return MG_OK;
bad:
    return mg_err_set(
        err, MG_BAD_INPUT,
        "could not listen on \"%s\": not an address and port such as 127.0.0.1:9100 or [::1]:9100",
        text ? text : "");
}

static int socket_port(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t len = sizeof address;
    if (getsockname(fd, &address.any, &len) < 0) return -1;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static enum mg_class listen_on(const char *text, int *ret_fd, struct mg_err *err)
{
    struct addrinfo *address = NULL;
    enum mg_class class = address_parse(text, &address, err);
    if (class != MG_OK) return class;
    int yes = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* A restarted service takes its port back at once. */
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0) {
        class = mg_err_set(err, MG_PERMANENT, "could not listen on %s: %s", text, strerror(errno));
        if (fd >= 0) close(fd);
    } else {
        *ret_fd = fd;
    }
    freeaddrinfo(address);
    return class;
}

enum mg_class mg_http_server_create(struct mg_loop *loop, const struct mg_http_server_options *options,
                                    struct mg_http_server **ret_server, struct mg_err *err)
{
    int fd = -1;
    enum mg_class class = listen_on(options->address, &fd, err);
    if (class != MG_OK) return class;
    struct mg_http_server *server = calloc(1, sizeof *server);
    if (!server) goto failed;
    server->options = *options;
    server->options.address = NULL; /* borrowed for this call only */
    server->port = socket_port(fd);
    server->timer = mg_timer_create(loop, on_timer, server);
    if (!server->timer || server->port < 0) goto failed;
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_TIMEOUT_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_MAX, MHD_OPTION_END);
    if (!server->daemon) goto failed;
    fd = -1; /* the daemon's now */
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (info) server->watch = mg_watch_create(loop, info->epoll_fd, on_readable, server);
    if (!server->watch) goto failed;
    mg_watch_set(server->watch, MG_READABLE);
    *ret_server = server;
    return MG_OK;
failed:
    mg_http_server_destroy(server);
    if (fd >= 0) close(fd);
    return mg_err_set(err, MG_PERMANENT, "could not listen on %s: no memory or no descriptors",
                      options->address);
}

void mg_http_server_destroy(struct mg_http_server *server)
{
    if (!server) return;
    mg_watch_destroy(server->watch);
    mg_timer_destroy(server->timer);
    if (server->daemon) MHD_stop_daemon(server->daemon);
    free(server);
}

int mg_http_server_port(const struct mg_http_server *server)
{
    return server->port;
}
