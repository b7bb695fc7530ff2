/*
 * For the tests of the HTTP client and of its users: servers made of raw sockets, which can break the
 * protocol, and a call performed from start to end. Each file that includes it uses the parts that it needs.
 */
#ifndef TESTS_HTTP_FIXTURE_H
#define TESTS_HTTP_FIXTURE_H

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http_connect.h"
#include "io/http/client.h"

#define REQUEST_MAX        65536
#define GUARD_MS           20000 /* a test that takes so long has failed */
#define BODY_MAX_BYTES     100000
#define HEADER_MAX_BYTES   20000
#define SHORT_TIMEOUT_MS   200
#define SENT_TIMEOUT_MS    3000 /* of a call that must be sent before: a busy machine may need a second */
#define PATIENT_TIMEOUT_MS 10000

/* ---- a server made of one thread; it serves one connection after the other ---- */

struct server;
/* Serves one connection; `number` counts them from 0. */
typedef void serve_fn(struct server *server, int fd, int number);

struct server {
    int listen_fd;
    int port;
    serve_fn *serve;
    const char *answer; /* for serve_answer */
    atomic_int connections, requests;
    char last[REQUEST_MAX]; /* the last request, headers and body */
    pthread_t thread;
};

/* Some tests are about a client that has closed the connection. */
static inline void send_text(int fd, const char *text)
{
    (void)http_send(fd, text, strlen(text));
}

/* One whole request with a body of Content-Length bytes; bytes beyond REQUEST_MAX are read and not kept.
 * False when the client closed the connection. */
static inline bool read_request(struct server *server, int fd)
{
    char text[REQUEST_MAX] = "", rest[4096];
    size_t kept = 0, len = 0, need = 0;
    while (need == 0 || len < need) {
        bool is_full = kept == sizeof(text) - 1;
        ssize_t got =
            is_full ? recv(fd, rest, sizeof(rest), 0) : recv(fd, text + kept, sizeof(text) - 1 - kept, 0);
        if (got <= 0 || (is_full && need == 0)) {
            return false;
        }
        len += (size_t)got;
        if (!is_full) {
            kept += (size_t)got;
        }
        text[kept] = '\0';
        const char *end = strstr(text, "\r\n\r\n");
        const char *length = strcasestr(text, "\r\nContent-Length:");
        if (end) {
            need = (size_t)(end + 4 - text) + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
        }
    }
    memcpy(server->last, text, kept + 1);
    atomic_fetch_add(&server->requests, 1);
    return true;
}

static inline void *server_run(void *arg)
{
    struct server *server = arg;
    for (;;) {
        int fd = accept(server->listen_fd, NULL, NULL);
        if (fd < 0) {
            return NULL; /* shut down by server_stop */
        }
        server->serve(server, fd, atomic_fetch_add(&server->connections, 1));
        close(fd);
    }
}

static inline void server_start(struct server *server, serve_fn *serve, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    *server = (struct server){.serve = serve, .answer = answer};
    server->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(server->listen_fd, 0);
    ck_assert_int_eq(bind(server->listen_fd, (struct sockaddr *)&address, len), 0);
    ck_assert_int_eq(listen(server->listen_fd, SOMAXCONN), 0);
    ck_assert_int_eq(getsockname(server->listen_fd, (struct sockaddr *)&address, &len), 0);
    server->port = ntohs(address.sin_port);
    if (serve) {
        ck_assert_int_eq(pthread_create(&server->thread, NULL, server_run, server), 0);
    }
}

static inline void server_stop(struct server *server)
{
    shutdown(server->listen_fd, SHUT_RDWR);
    if (server->serve) {
        ck_assert_int_eq(pthread_join(server->thread, NULL), 0);
    }
    close(server->listen_fd);
}

static inline void close_with_reset(int fd)
{
    const struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static const char ok_answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/x-test\r\n\r\nok";

/* Answers every request of a connection with the given text. */
static inline void serve_answer(struct server *server, int fd, int number)
{
    (void)number;
    while (read_request(server, fd)) {
        send_text(fd, server->answer);
    }
}

static inline void serve_answer_and_close(struct server *server, int fd, int number)
{
    (void)number;
    if (read_request(server, fd)) {
        send_text(fd, server->answer);
    }
}

/* ---- a call from start to end ---- */

static struct mg_loop *loop;
static struct mg_http_client *client;
static struct mg_timer *guard;

static const struct mg_http_client_options limits = {.max_connections = 8,
                                                     .connect_timeout_ms = 5000,
                                                     .idle_connection_ms = 30000,
                                                     .max_body_bytes = BODY_MAX_BYTES,
                                                     .max_header_bytes = HEADER_MAX_BYTES};

struct outcome {
    int calls;
    struct mg_http_answer answer;
    char body[64];
    char content_type[64];
    struct mg_http_client *destroys;
};

static inline void on_guard(void *arg)
{
    (void)arg;
    ck_abort_msg("nothing came in time");
}

static inline void client_open(const struct mg_http_client_options *options)
{
    struct mg_err err;
    ck_assert_int_eq(mg_http_client_create(loop, options, &client, &err), MG_OK);
}

static inline void set_up(void)
{
    loop = mg_loop_create();
    ck_assert_ptr_nonnull(loop);
    guard = mg_timer_create(loop, on_guard, NULL);
    mg_timer_start(guard, GUARD_MS, 0);
    client_open(&limits);
}

static inline void tear_down(void)
{
    mg_http_client_destroy(client);
    mg_timer_destroy(guard);
    mg_loop_destroy(loop);
}

static inline void on_done(void *arg, const struct mg_http_answer *answer)
{
    struct outcome *outcome = arg;
    outcome->calls++;
    outcome->answer = *answer;
    if (answer->body.data) {
        (void)snprintf(outcome->body, sizeof(outcome->body), "%.*s", (int)answer->body.len,
                       answer->body.data);
    }
    (void)snprintf(outcome->content_type, sizeof(outcome->content_type), "%s", answer->content_type);
    if (outcome->destroys) {
        mg_http_client_destroy(outcome->destroys);
    }
    mg_loop_stop(loop);
}

static inline struct mg_http_request post_to(int port, char url[64])
{
    (void)snprintf(url, 64, "http://127.0.0.1:%d/charges", port);
    return (struct mg_http_request){
        .method = "POST", .url = url, .body = mg_slice_of("{\"a\":1.00}"), .timeout_ms = PATIENT_TIMEOUT_MS};
}

static inline struct mg_http_call *start(const struct mg_http_request *request, struct outcome *outcome)
{
    struct mg_err err;
    struct mg_http_call *call = NULL;
    *outcome = (struct outcome){0};
    ck_assert_msg(mg_http_client_call(client, request, on_done, outcome, &call, &err) == MG_OK, "%s",
                  err.text);
    ck_assert_int_eq(outcome->calls, 0); /* never from within */
    return call;
}

static inline struct outcome perform(const struct mg_http_request *request)
{
    struct outcome outcome;
    (void)start(request, &outcome);
    mg_loop_run(loop);
    ck_assert_int_eq(outcome.calls, 1);
    return outcome;
}

static inline struct outcome post(struct server *server, int64_t timeout_ms)
{
    char url[64];
    struct mg_http_request request = post_to(server->port, url);
    request.timeout_ms = timeout_ms;
    return perform(&request);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

#endif
