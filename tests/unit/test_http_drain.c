/*
 * The end of the HTTP server by a drain: the answers to clients that have a connection, and to those that
 * connect meanwhile. The clients are on threads of their own while the loop turns.
 */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http_ask.h"
#include "suite.h"

#define CLIENTS  6
#define ROUNDS   3
#define BEFORE   20  /* requests of a round before its drain begins */
#define PAUSE_MS 400 /* of a client in use, between two requests */
#define HELD_MS  500
#define DRAIN_MS 3000 /* the server's second for idle connections, and a slow machine */

static struct mg_http_exchange *held; /* a request that waits for its answer */
static bool is_ready, is_drained;

static bool answer_ready(void *arg, char *ret_reason, size_t size)
{
    (void)arg, (void)ret_reason, (void)size;
    return is_ready;
}

static void on_drained(void *arg)
{
    (void)arg;
    ck_assert(!is_drained);
    is_drained = true;
    mg_loop_stop(loop);
}

/* ---- those that connect ---- */

static int answered; /* the requests of this round; on the loop's thread */

static void count(void *arg, struct mg_http_exchange *request)
{
    (void)arg;
    answer_text(request, 200, "taken");
    if (++answered == BEFORE) {
        mg_http_server_drain(server, on_drained, NULL);
    }
}

static void open_server(void (*handle)(void *arg, struct mg_http_exchange *request))
{
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .handle = handle, .is_ready = answer_ready};
    is_drained = false;
    is_ready = true;
    answered = 0;
    ask_set_up(&options);
}

/* 0: answered. 1: the connection is refused. 2: it has ended without an answer. */
static int post(int port)
{
    static const char text[] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char answer[1024];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int result = errno == ECONNREFUSED ? 1 : 2;
        close(fd);
        return result;
    }
    bool is_sent = http_send(fd, text, strlen(text));
    ssize_t len = is_sent ? recv(fd, answer, sizeof(answer) - 1, 0) : 0;
    close(fd);
    return len > 0 && strncmp(answer, "HTTP/1.1 200", strlen("HTTP/1.1 200")) == 0 ? 0 : 2;
}

/* Posts until it is refused; returns NULL if each post before has had its answer. */
static void *client(void *arg)
{
    int port = *(int *)arg, result;
    do {
        result = post(port);
    } while (result == 0);
    return result == 1 ? NULL : arg;
}

/* Catches: connections in the queue of the listening socket, or on their way, that its end resets. */
START_TEST(a_connection_during_a_drain_is_answered_or_refused)
{
    int lost = 0;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[CLIENTS];
        open_server(count);
        int port = mg_http_server_port(server);
        for (int i = 0; i < CLIENTS; i++) {
            ck_assert_int_eq(pthread_create(&threads[i], NULL, client, &port), 0);
        }
        mg_loop_run(loop);
        ck_assert(is_drained);
        for (int i = 0; i < CLIENTS; i++) {
            void *result;
            ck_assert_int_eq(pthread_join(threads[i], &result), 0);
            lost += result != NULL;
        }
        ask_tear_down();
    }
    ck_assert_int_eq(lost, 0);
}
END_TEST

/* ---- those that have a connection ---- */

static const char ASK[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
static const char HOLD[] = "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n";
static const char STREAM[] = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";
static const char READY[] = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n";
static const char BEGIN[] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab";
enum { IDLE, AGAIN, SILENT, SILENT_ASKS, BEGUN, HELD, PROBE, STREAMED, KINDS };

static struct mg_http_stream *stream;
static atomic_bool is_draining;
static bool has_client_ended;

static void hold(void *arg, struct mg_http_exchange *request)
{
    const struct mg_http_response events = {
        .status = 200, .type = "text/event-stream", .body = mg_slice_of("first\n")};
    (void)arg;
    if (strcmp(mg_http_exchange_path(request), "/hold") == 0) {
        held = request;
    } else if (strcmp(mg_http_exchange_path(request), "/stream") == 0) {
        stream = mg_http_stream_open(request, &events, NULL, NULL);
    } else {
        answer_text(request, 200, "taken");
    }
}

static struct {
    char answers[KINDS][2048];
    int64_t closed_after_ms[KINDS];
} seen;

/* Brings each connection into the state of its kind. */
static void kinds_begin(int fds[KINDS])
{
    char first[1024];
    for (int kind = 0; kind < KINDS; kind++) {
        fds[kind] = client_connect();
    }
    const int asking[] = {IDLE, AGAIN, PROBE};
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
        (void)http_send(fds[asking[i]], ASK, strlen(ASK));
        (void)recv(fds[asking[i]], first, sizeof(first), 0);
    }
    (void)http_send(fds[BEGUN], BEGIN, strlen(BEGIN));
    (void)http_send(fds[HELD], HOLD, strlen(HOLD));
    (void)http_send(fds[STREAMED], STREAM, strlen(STREAM));
    (void)recv(fds[STREAMED], first, sizeof(first), 0);
}

static void kinds_client(void *arg)
{
    int fds[KINDS];
    (void)arg;
    kinds_begin(fds);
    while (!is_draining) {
        (void)poll(NULL, 0, 1);
    }
    int64_t began_ms = mg_clock_boot_ms();
    (void)poll(NULL, 0, PAUSE_MS);
    (void)http_send(fds[AGAIN], ASK, strlen(ASK));
    (void)http_send(fds[SILENT_ASKS], ASK, strlen(ASK));
    (void)http_send(fds[PROBE], READY, strlen(READY));
    (void)http_send(fds[BEGUN], "cd", 2);
    for (int kind = 0; kind < KINDS; kind++) {
        (void)http_read_to_end(fds[kind], seen.answers[kind], sizeof(seen.answers[kind]));
        seen.closed_after_ms[kind] = mg_clock_boot_ms() - began_ms;
        close(fds[kind]);
    }
}

static void on_client_end(void *arg)
{
    (void)arg;
    has_client_ended = true;
    mg_loop_stop(loop);
}

static void release(void)
{
    ck_assert(!is_drained);
    mg_http_stream_end(stream);
    answer_text(held, 200, "late");
}

static void drain_begin(void)
{
    if (held && stream) { /* the client has all its connections */
        on_tick = release;
        mg_timer_start(timer, HELD_MS, 0);
        mg_http_server_drain(server, on_drained, NULL);
        is_draining = true;
    }
}

/* Catches: a request in hand, a stream or a next request that is cut; a probe that reports one as ready that
 * ends; an idle connection that keeps the server. */
START_TEST(a_drain_answers_each_connection_and_then_closes_it)
{
    open_server(hold);
    on_tick = drain_begin;
    mg_timer_start(timer, 50, 50);
    ck_assert(mg_loop_offload(loop, kinds_client, on_client_end, NULL));
    while (!is_drained || !has_client_ended) {
        mg_loop_run(loop);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        ck_assert_int_lt(seen.closed_after_ms[kind], DRAIN_MS);
    }
    ck_assert_str_eq(seen.answers[IDLE], "");
    ck_assert_str_eq(seen.answers[SILENT], "");
    const int closing[] = {AGAIN, SILENT_ASKS, BEGUN, HELD, PROBE};
    for (size_t i = 0; i < sizeof(closing) / sizeof(closing[0]); i++) {
        assert_answer(seen.answers[closing[i]], "HTTP/1.1", "\r\nConnection: close\r\n");
    }
    assert_answer(seen.answers[HELD], "HTTP/1.1 200", "late");
    assert_answer(seen.answers[PROBE], "HTTP/1.1 503", "not ready: stopping");
    const char *end = strstr(seen.answers[STREAMED], "0\r\n\r\n"); /* the last chunk; the first one is read */
    ck_assert_msg(end != NULL, "%s", seen.answers[STREAMED]);
    ask_tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_drain");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_connection_during_a_drain_is_answered_or_refused);
    tcase_add_test(tests, a_drain_answers_each_connection_and_then_closes_it);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
