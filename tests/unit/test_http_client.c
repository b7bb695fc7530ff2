/*
 * The HTTP client against misbehaving servers on loopback: its report whether a request was sent, and its
 * freedom from stalls. A false "no byte left" about an executed request has an order paid twice.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "http_fixture.h"
#include "suite.h"

/* Executes the second request of its first connection and resets instead of answering; then is well again. */
static void serve_reset_on_reuse(struct server *server, int fd, int number)
{
    while (read_request(server, fd)) {
        if (number == 0 && atomic_load(&server->requests) == 2) {
            close_with_reset(fd);
            return;
        }
        send_text(fd, ok_answer);
    }
}

static void serve_reset(struct server *server, int fd, int number)
{
    (void)number;
    if (read_request(server, fd)) {
        close_with_reset(fd);
    }
}

static void serve_silence(struct server *server, int fd, int number)
{
    (void)number;
    while (read_request(server, fd)) {
        ;
    }
}

/* ---- one request is sent once ---- */

/* Catches: libcurl's silent re-send, by which a remote executes an order twice and the client sees one
 * 200. */
START_TEST(request_on_a_kept_connection_that_dies_is_not_sent_again)
{
    struct server server;
    server_start(&server, serve_reset_on_reuse, NULL);
    struct outcome first = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(first.answer.sent, MG_SENT_YES);
    struct outcome second = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(second.answer.sent, MG_SENT_MAYBE);
    ck_assert_int_eq(second.answer.status, 0);
    ck_assert_str_ne(second.answer.reason, "");
    ck_assert_int_eq(atomic_load(&server.requests), 2);
    struct outcome third = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(third.answer.sent, MG_SENT_YES); /* the client goes on */
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
}
END_TEST

START_TEST(fresh_calls_and_short_idle_times_take_new_connections)
{
    struct server server;
    char url[64];
    server_start(&server, serve_answer, ok_answer);
    struct mg_http_request request = post_to(server.port, url);
    (void)perform(&request);
    (void)perform(&request);
    ck_assert_int_eq(atomic_load(&server.connections), 1); /* kept, or the next line proves nothing */
    mg_http_client_destroy(client);
    client_open(&limits);
    request.is_fresh = true;
    (void)perform(&request);
    (void)perform(&request);
    ck_assert_int_eq(atomic_load(&server.connections), 3);
    request.is_fresh = false;
    struct mg_http_client_options options = limits;
    options.idle_connection_ms = 900;
    mg_http_client_destroy(client);
    client_open(&options);
    (void)perform(&request);
    (void)perform(&request);
    ck_assert_int_eq(atomic_load(&server.connections), 5);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
}
END_TEST

static void on_waited(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

/* Catches: a connection kept for longer than its server keeps it, which dies under the next request. */
START_TEST(connection_idle_for_too_long_is_not_used_again)
{
    struct server server;
    struct mg_http_client_options options = limits;
    options.idle_connection_ms = 2000; /* libcurl counts whole seconds; less means never kept */
    mg_http_client_destroy(client);
    client_open(&options);
    server_start(&server, serve_answer, ok_answer);
    (void)post(&server, PATIENT_TIMEOUT_MS);
    (void)post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(atomic_load(&server.connections), 1);
    struct mg_timer *timer = mg_timer_create(loop, on_waited, NULL);
    mg_timer_start(timer, options.idle_connection_ms + 10, 0);
    mg_loop_run(loop);
    mg_timer_destroy(timer);
    (void)post(&server, PATIENT_TIMEOUT_MS);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
    ck_assert_int_eq(atomic_load(&server.connections), 2);
}
END_TEST

START_TEST(refused_connection_proves_that_nothing_was_sent)
{
    struct server server;
    server_start(&server, NULL, NULL);
    server_stop(&server); /* a port without a listener */
    struct outcome outcome = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_NO);
    ck_assert_int_eq(outcome.answer.status, 0);
    ck_assert(!outcome.answer.is_timed_out);
    ck_assert_str_ne(outcome.answer.reason, "");
}
END_TEST

START_TEST(unknown_name_proves_that_nothing_was_sent)
{
    struct mg_http_request request = {
        .method = "GET", .url = "http://nothing.invalid/", .timeout_ms = PATIENT_TIMEOUT_MS};
    ck_assert_int_eq(perform(&request).answer.sent, MG_SENT_NO);
}
END_TEST

/* Catches: a failed handshake reported as maybe sent, although nothing of the request left. */
START_TEST(failed_tls_handshake_proves_that_nothing_was_sent)
{
    struct server server;
    char url[64];
    server_start(&server, serve_answer, ok_answer);
    (void)snprintf(url, sizeof(url), "https://127.0.0.1:%d/", server.port);
    struct mg_http_request request = {.method = "GET", .url = url, .timeout_ms = SHORT_TIMEOUT_MS};
    ck_assert_int_eq(perform(&request).answer.sent, MG_SENT_NO);
    server_stop(&server);
}
END_TEST

START_TEST(silence_after_the_send_is_maybe)
{
    struct server server;
    server_start(&server, serve_silence, NULL);
    int64_t began_ms = mg_clock_boot_ms();
    struct outcome outcome = post(&server, SENT_TIMEOUT_MS);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_MAYBE);
    ck_assert(outcome.answer.is_timed_out);
    ck_assert_int_ge(mg_clock_boot_ms() - began_ms, SENT_TIMEOUT_MS - 1);
    ck_assert_int_eq(atomic_load(&server.requests), 1);
    server_stop(&server);
}
END_TEST

START_TEST(reset_after_the_send_is_maybe)
{
    struct server server;
    server_start(&server, serve_reset, NULL);
    ck_assert_int_eq(post(&server, PATIENT_TIMEOUT_MS).answer.sent, MG_SENT_MAYBE);
    ck_assert_int_eq(atomic_load(&server.requests), 1);
    server_stop(&server);
}
END_TEST

START_TEST(call_without_time_left_sends_nothing)
{
    struct server server;
    server_start(&server, serve_answer, ok_answer);
    struct outcome outcome = post(&server, 0);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_NO);
    ck_assert(outcome.answer.is_timed_out);
    ck_assert_int_eq(atomic_load(&server.connections), 0);
    server_stop(&server);
}
END_TEST

/* Catches: a call that waits for a free connection and is forgotten there, past its complete-by. */
START_TEST(call_that_waits_for_a_connection_times_out_unsent)
{
    struct server server;
    char url[64];
    struct outcome first, second;
    struct mg_http_client_options options = limits;
    options.max_connections = 1;
    mg_http_client_destroy(client);
    client_open(&options);
    server_start(&server, serve_silence, NULL);
    struct mg_http_request request = post_to(server.port, url);
    struct mg_http_call *call = start(&request, &first);
    request.timeout_ms = SHORT_TIMEOUT_MS;
    (void)start(&request, &second);
    mg_loop_run(loop);
    ck_assert_int_eq(first.calls, 0);
    ck_assert_int_eq(second.calls, 1);
    ck_assert_int_eq(second.answer.sent, MG_SENT_NO);
    ck_assert(second.answer.is_timed_out);
    mg_http_call_cancel(call);
    server_stop(&server);
}
END_TEST

/* ---- starting, cancelling, destroying ---- */

static const struct {
    const char *method, *url, *header;
    bool has_body;
} unsendable[] = {
    {"GET", "ftp://127.0.0.1/", NULL, false},
    {"GET", "file:///etc/passwd", NULL, false},
    {"GET", "not a url", NULL, false},
    {"GET", "http://user:secret@127.0.0.1/", NULL, false},
    {"GET", "http://127.0.0.1/\r\nX: y", NULL, false},
    {"GET", "http://127.0.0.1/", "X: a\r\nY: b", false},
    {"GET", "http://127.0.0.1/", "no colon", false},
    {"GET", "http://127.0.0.1/", ": no name", false},
    {"G\r\nX", "http://127.0.0.1/", NULL, false},
    {"", "http://127.0.0.1/", NULL, false},
    {"HEAD", "http://127.0.0.1/", NULL, true},
};

START_TEST(a_request_that_cannot_be_sent_is_refused)
{
    struct mg_err err;
    struct outcome outcome = {0};
    struct mg_http_call *call = NULL;
    const char *const headers[] = {unsendable[_i].header, NULL};
    struct mg_http_request request = {
        .method = unsendable[_i].method, .url = unsendable[_i].url, .headers = headers, .timeout_ms = 1000};
    if (unsendable[_i].has_body) {
        request.body = mg_slice_of("x");
    }
    ck_assert_int_eq(mg_http_client_call(client, &request, on_done, &outcome, &call, &err), MG_BAD_INPUT);
    ck_assert_ptr_null(call);
    ck_assert_ptr_null(strstr(err.text, "secret"));
}
END_TEST

START_TEST(cancelled_call_reports_nothing_and_leaves_the_others)
{
    struct server server;
    char url[64];
    struct outcome cancelled, other;
    server_start(&server, serve_answer, ok_answer);
    struct mg_http_request request = post_to(server.port, url);
    mg_http_call_cancel(start(&request, &cancelled));
    (void)start(&request, &other);
    mg_loop_run(loop);
    ck_assert_int_eq(other.answer.sent, MG_SENT_YES);
    ck_assert_int_eq(cancelled.calls, 0);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
}
END_TEST

START_TEST(client_may_be_destroyed_from_a_callback_with_calls_under_way)
{
    struct server server;
    char url[64];
    struct outcome first, second;
    server_start(&server, serve_answer, ok_answer);
    struct mg_http_request request = post_to(server.port, url);
    (void)start(&request, &first);
    (void)start(&request, &second);
    first.destroys = second.destroys = client;
    mg_loop_run(loop);
    client = NULL;
    ck_assert_int_eq(first.calls + second.calls, 1);
    server_stop(&server);
}
END_TEST

/* ---- many at once ---- */

#define CROWD_MAX 300             /* more than two pools of connections hold */
#define PLACES    (2 * CROWD_MAX) /* the end of a closed connection may be read after the begin of a new one */

/* A server with all its connections open at a time. It sends no answer before `answers_at` requests wait. */
struct crowd {
    struct server server;
    pthread_t thread;
    atomic_int open, most_open, connections, answers_at;
};

static void *crowd_run(void *arg)
{
    struct crowd *crowd = arg;
    struct pollfd fds[PLACES] = {{.fd = crowd->server.listen_fd, .events = POLLIN}};
    bool asks[PLACES] = {false};
    int count = 1, waiting = 0;
    for (;;) {
        (void)poll(fds, (nfds_t)count, 20); /* answers_at may have changed */
        if (fds[0].revents != 0) {
            int fd = accept(fds[0].fd, NULL, NULL);
            if (fd < 0) {
                break; /* shut down by server_stop */
            }
            ck_assert_int_lt(count, PLACES);
            asks[count] = false;
            fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
            atomic_fetch_add(&crowd->connections, 1);
            int open = atomic_fetch_add(&crowd->open, 1) + 1;
            if (open > atomic_load(&crowd->most_open)) {
                atomic_store(&crowd->most_open, open);
            }
        }
        for (int i = count - 1; i > 0; i--) {
            char text[1024];
            ssize_t got = fds[i].revents != 0 ? recv(fds[i].fd, text, sizeof(text), 0) : -1;
            if (got > 0 && text[got - 1] == '}') { /* the end of the body */
                asks[i] = true;
                waiting++;
            } else if (got == 0) {
                close(fds[i].fd);
                fds[i] = fds[--count];
                asks[i] = asks[count];
                atomic_fetch_sub(&crowd->open, 1);
            }
        }
        for (int i = 1; i < count && waiting >= atomic_load(&crowd->answers_at); i++) {
            if (asks[i]) {
                send_text(fds[i].fd, ok_answer);
            }
        }
        if (waiting >= atomic_load(&crowd->answers_at)) {
            memset(asks, 0, sizeof(asks));
            waiting = 0;
        }
    }
    for (int i = 1; i < count; i++) {
        close(fds[i].fd);
    }
    return NULL;
}

static void crowd_start(struct crowd *crowd, int max_connections, int64_t idle_connection_ms)
{
    struct mg_http_client_options options = limits;
    options.max_connections = max_connections;
    options.idle_connection_ms = idle_connection_ms;
    options.connect_timeout_ms = GUARD_MS; /* all of them at once, on a busy machine */
    mg_http_client_destroy(client);
    client_open(&options);
    *crowd = (struct crowd){0};
    server_start(&crowd->server, NULL, NULL);
    ck_assert_int_eq(pthread_create(&crowd->thread, NULL, crowd_run, crowd), 0);
}

static void crowd_stop(struct crowd *crowd)
{
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&crowd->server);
    ck_assert_int_eq(pthread_join(crowd->thread, NULL), 0);
}

static struct outcome outcomes[CROWD_MAX];

static int calls_done(int count)
{
    int done = 0;
    for (int i = 0; i < count; i++) {
        done += outcomes[i].calls;
    }
    return done;
}

static void crowd_begin(struct crowd *crowd, int count, int answers_at)
{
    char url[64];
    struct mg_http_request request = post_to(crowd->server.port, url);
    request.timeout_ms = GUARD_MS;
    atomic_store(&crowd->answers_at, answers_at);
    for (int i = 0; i < count; i++) {
        (void)start(&request, &outcomes[i]);
    }
}

static void crowd_finish(int count)
{
    while (calls_done(count) < count) {
        mg_loop_run(loop);
    }
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(outcomes[i].answer.sent, MG_SENT_YES);
    }
}

/* Catches: calls beyond the first pool that wait although connections are left; pools that do not use theirs
 * again. */
START_TEST(as_many_calls_are_under_way_as_connections_are_allowed)
{
    struct crowd crowd;
    crowd_start(&crowd, CROWD_MAX, limits.idle_connection_ms);
    for (int round = 0; round < 2; round++) {
        crowd_begin(&crowd, CROWD_MAX, CROWD_MAX);
        crowd_finish(CROWD_MAX);
    }
    ck_assert_int_eq(atomic_load(&crowd.connections), CROWD_MAX);
    crowd_stop(&crowd);
}
END_TEST

START_TEST(calls_beyond_all_connections_wait_for_one)
{
    struct crowd crowd;
    const int most = CROWD_MAX / 2, beyond = 20;
    crowd_start(&crowd, most, limits.idle_connection_ms);
    crowd_begin(&crowd, most + beyond, most);
    while (calls_done(most + beyond) < most) {
        mg_loop_run(loop);
    }
    atomic_store(&crowd.answers_at, 1);
    crowd_finish(most + beyond);
    ck_assert_int_eq(atomic_load(&crowd.most_open), most);
    crowd_stop(&crowd);
}
END_TEST

static void on_look(void *arg)
{
    const struct crowd *crowd = arg;
    if (atomic_load(&crowd->open) < CROWD_MAX / 2) {
        mg_loop_stop(loop);
    }
}

/* Catches: connections of a peak that stay open for good, because no later call comes by to close them. */
START_TEST(connections_of_a_peak_are_closed_when_it_is_over)
{
    struct crowd crowd;
    crowd_start(&crowd, CROWD_MAX, 2000);
    crowd_begin(&crowd, CROWD_MAX, CROWD_MAX);
    crowd_finish(CROWD_MAX);
    struct mg_timer *look = mg_timer_create(loop, on_look, &crowd);
    mg_timer_start(look, 20, 20);
    mg_loop_run(loop); /* ends when most of them are closed */
    mg_timer_destroy(look);
    crowd_begin(&crowd, CROWD_MAX, CROWD_MAX);
    crowd_finish(CROWD_MAX);
    crowd_stop(&crowd);
}
END_TEST

/* ---- names ---- */

static int stuck_fd = -1;     /* the stuck resolution goes on when this is written to */
static atomic_int moved_port; /* the server that moved.test means now */

/* Stands before the C library's, hence visible: a name that moves, and one that is never resolved, as behind
 * a dead name server. */
__attribute__((visibility("default"))) int getaddrinfo(const char *restrict name,
                                                       const char *restrict service,
                                                       const struct addrinfo *restrict hints,
                                                       struct addrinfo **restrict result)
{
    typedef int resolve_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    char port[16];
    (void)snprintf(port, sizeof(port), "%d", atomic_load(&moved_port));
    if (name && strcmp(name, "moved.test") == 0) {
        name = "127.0.0.1";
        service = port;
    }
    if (name && strcmp(name, "stuck.test") == 0) {
        eventfd_t value;
        (void)eventfd_read(stuck_fd, &value);
        return EAI_AGAIN;
    }
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    resolve_fn *resolve;
    memcpy(&resolve, &symbol, sizeof(resolve));
    return resolve(name, service, hints, result);
}

/* Catches: an abandoned name with a resolving thread that is joined, so that the whole process stalls
 *. */
START_TEST(stuck_name_resolution_does_not_hold_up_the_loop)
{
    stuck_fd = eventfd(0, EFD_CLOEXEC);
    struct mg_http_request request = {
        .method = "GET", .url = "http://stuck.test/", .timeout_ms = SHORT_TIMEOUT_MS};
    int64_t began_ms = mg_clock_boot_ms();
    struct outcome outcome = perform(&request);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_NO);
    ck_assert(outcome.answer.is_timed_out);
    ck_assert_int_lt(mg_clock_boot_ms() - began_ms, GUARD_MS / 2);
    (void)start(&request, &outcome);
    mg_http_client_destroy(client); /* with a call that is resolving */
    client = NULL;
    ck_assert_int_lt(mg_clock_boot_ms() - began_ms, GUARD_MS / 2);
    (void)eventfd_write(stuck_fd, 2);
}
END_TEST

/* Catches: a kept connection, or a remembered address, that leaves all calls at a name's old server for as
 * long as that one answers. */
START_TEST(moved_name_is_followed_although_its_old_server_answers)
{
    struct server old, new;
    struct mg_http_client_options options = limits;
    options.moved_within_ms = 4000;
    mg_http_client_destroy(client);
    client_open(&options);
    server_start(&old, serve_answer, ok_answer);
    server_start(&new, serve_answer, ok_answer);
    atomic_store(&moved_port, old.port);
    struct mg_http_request request = {
        .method = "GET", .url = "http://moved.test/", .timeout_ms = PATIENT_TIMEOUT_MS};
    (void)perform(&request);
    (void)perform(&request);
    ck_assert_int_eq(atomic_load(&old.connections), 1); /* kept, or the next lines prove nothing */
    atomic_store(&moved_port, new.port);
    const int pause_ms = 20, most = (int)(options.moved_within_ms + 1000) / pause_ms;
    int calls = 0; /* not their time: a busy machine makes fewer of them in it */
    for (; atomic_load(&new.requests) == 0 && calls < most; calls++) {
        ck_assert_int_eq(perform(&request).answer.status, 200);
        (void)poll(NULL, 0, pause_ms); /* a service that is called without a long one */
    }
    ck_assert_int_gt(atomic_load(&new.requests), 0);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&old);
    server_stop(&new);
}
END_TEST

/* ---- proxies ---- */

/* Catches: a proxy that is passed by, so that a service which only the proxy reaches is down for good. */
START_TEST(a_request_s_proxy_is_used_and_the_environment_is_not)
{
    struct server gate, service;
    char proxy[64], url[64];
    server_start(&gate, serve_answer, ok_answer);
    server_start(&service, serve_answer, ok_answer);
    (void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", gate.port);
    ck_assert_int_eq(setenv("http_proxy", proxy, 1) | setenv("ALL_PROXY", proxy, 1), 0);
    struct mg_http_request request = post_to(service.port, url);
    ck_assert_int_eq(perform(&request).answer.status, 200);
    ck_assert_int_eq(atomic_load(&gate.connections), 0);
    ck_assert_int_eq(atomic_load(&service.requests), 1);
    ck_assert_int_eq(setenv("no_proxy", "*", 1), 0);
    request.proxy = proxy;
    request.url = "http://service.invalid/charges";
    ck_assert_int_eq(perform(&request).answer.sent, MG_SENT_YES);
    ck_assert_int_eq(strncmp(gate.last, "POST http://service.invalid/charges HTTP/1.1\r\n", 46), 0);
    ck_assert_int_eq(unsetenv("http_proxy") | unsetenv("ALL_PROXY") | unsetenv("no_proxy"), 0);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&gate);
    server_stop(&service);
}
END_TEST

static const struct {
    const char *answer; /* of the proxy to CONNECT */
    const char *reason;
} tunnels[] = {
    {"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", "the proxy refuses this address"},
    {"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "407"},
    {"HTTP/1.1 200 OK\r\n\r\n", ""}, /* and the end, within the handshake */
};

/* Catches: the proxy's answer to CONNECT that is taken for the service's, or its bytes for a sent request. */
START_TEST(a_tunnel_that_fails_proves_that_nothing_was_sent)
{
    struct server gate;
    char proxy[64];
    server_start(&gate, serve_answer_and_close, tunnels[_i].answer);
    (void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", gate.port);
    struct mg_http_request request = {.method = "POST",
                                      .url = "https://service.invalid/charges",
                                      .body = mg_slice_of("{}"),
                                      .timeout_ms = PATIENT_TIMEOUT_MS,
                                      .proxy = proxy};
    struct outcome outcome = perform(&request);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_NO);
    ck_assert_int_eq(outcome.answer.status, 0);
    ck_assert_msg(strstr(outcome.answer.reason, tunnels[_i].reason) != NULL, "%s", outcome.answer.reason);
    ck_assert_int_eq(strncmp(gate.last, "CONNECT service.invalid:443 HTTP/1.1\r\n", 38), 0);
    ck_assert_ptr_null(strstr(gate.last, "charges"));
    server_stop(&gate);
}
END_TEST

static int socket_option(int fd, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

/* The client's end of the connection to the port; -1: none. */
static int client_end(int port)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t size = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)&peer, &size) == 0 && ntohs(peer.sin_port) == port) {
            return fd;
        }
    }
    return -1;
}

/* Catches: a long call whose answer is lost, since a NAT in between has forgotten its silent connection; and
 * one that waits to its end for a peer that is gone. */
START_TEST(connection_that_waits_for_an_answer_is_kept_alive)
{
    struct server server;
    struct outcome outcome;
    char url[64];
    server_start(&server, serve_answer, ok_answer);
    struct mg_http_request request = post_to(server.port, url);
    (void)start(&request, &outcome);
    mg_loop_run(loop);
    int fd = client_end(server.port);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(socket_option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    ck_assert_int_le(socket_option(fd, IPPROTO_TCP, TCP_KEEPIDLE), 30); /* NATs forget after a minute */
    ck_assert_int_le(socket_option(fd, IPPROTO_TCP, TCP_KEEPINTVL), 10);
    ck_assert_int_le(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
    ck_assert_int_gt(socket_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_client");
    TCase *cases = tcase_create("calls");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, request_on_a_kept_connection_that_dies_is_not_sent_again);
    tcase_add_test(cases, fresh_calls_and_short_idle_times_take_new_connections);
    tcase_add_test(cases, connection_idle_for_too_long_is_not_used_again);
    tcase_add_test(cases, refused_connection_proves_that_nothing_was_sent);
    tcase_add_test(cases, unknown_name_proves_that_nothing_was_sent);
    tcase_add_test(cases, failed_tls_handshake_proves_that_nothing_was_sent);
    tcase_add_test(cases, silence_after_the_send_is_maybe);
    tcase_add_test(cases, reset_after_the_send_is_maybe);
    tcase_add_test(cases, call_without_time_left_sends_nothing);
    tcase_add_test(cases, call_that_waits_for_a_connection_times_out_unsent);
    tcase_add_loop_test(cases, a_request_that_cannot_be_sent_is_refused, 0, COUNT(unsendable));
    tcase_add_test(cases, cancelled_call_reports_nothing_and_leaves_the_others);
    tcase_add_test(cases, client_may_be_destroyed_from_a_callback_with_calls_under_way);
    tcase_add_test(cases, as_many_calls_are_under_way_as_connections_are_allowed);
    tcase_add_test(cases, calls_beyond_all_connections_wait_for_one);
    tcase_add_test(cases, connections_of_a_peak_are_closed_when_it_is_over);
    tcase_add_test(cases, stuck_name_resolution_does_not_hold_up_the_loop);
    tcase_add_test(cases, moved_name_is_followed_although_its_old_server_answers);
    tcase_add_test(cases, a_request_s_proxy_is_used_and_the_environment_is_not);
    tcase_add_loop_test(cases, a_tunnel_that_fails_proves_that_nothing_was_sent, 0, COUNT(tunnels));
    tcase_add_test(cases, connection_that_waits_for_an_answer_is_kept_alive);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
