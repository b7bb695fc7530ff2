/*
 * The HTTP server among clients that take places and send no request: many that end together, many that stay,
 * heads that come byte by byte, no descriptors. An honest request is answered in every case.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <check.h>

#include "http_connect.h"
#include "io/http/server.h"
#include "suite.h"

#define GUARD_MS    60000 /* a test that takes so long has failed */
#define ANSWER_S    5     /* an honest answer's bound, below the server's time-out for silent clients */
#define HELD_MAX    5000
#define HANDLED_MAX 4u
#define HALF        "GET /healthz HTTP/1.1\r\nHost: "
#define HEALTH      "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

struct MHD_Daemon;

static struct mg_loop *loop;
static struct mg_http_server *server;
static struct mg_timer *guard, *timer;
static struct mg_http_exchange *kept;
static struct mg_http_stream *stream;

static void on_guard(void *arg)
{
    (void)arg;
    ck_abort_msg("nothing came for %d ms", GUARD_MS);
}

static void on_closed(void *arg)
{
    (void)arg;
    stream = NULL;
}

static void handle(void *arg, struct mg_http_exchange *request)
{
    (void)arg;
    if (strcmp(mg_http_exchange_path(request), "/stream") == 0) {
        const struct mg_http_response begin = {
            .status = 200, .type = "text/event-stream", .body = mg_slice_of(": begins\n\n")};
        stream = mg_http_stream_open(request, &begin, on_closed, NULL);
    } else {
        kept = request;
    }
}

static void server_open(bool has_handler)
{
    struct mg_err err;
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .handle = has_handler ? handle : NULL, .handled_max = HANDLED_MAX};
    ck_assert_msg(mg_http_server_create(loop, &options, &server, &err) == MG_OK, "%s", err.text);
}

static void set_up(void)
{
    loop = mg_loop_create();
    guard = mg_timer_create(loop, on_guard, NULL);
    mg_timer_start(guard, GUARD_MS, 0);
}

static void tear_down(void)
{
    mg_http_server_destroy(server);
    mg_timer_destroy(timer);
    mg_timer_destroy(guard);
    mg_loop_destroy(loop);
}

/* ---- clients, on threads of their own ---- */

static int held[HELD_MAX];
static struct hold {
    int count;
    const char *text; /* sent by each */
    bool is_done;
} hold;

static void hold_blocking(void *arg)
{
    (void)arg;
    for (int i = 0; i < hold.count; i++) {
        held[i] = http_connect(mg_http_server_port(server));
        (void)http_send(held[i], hold.text, strlen(hold.text));
    }
}

static void on_held(void *arg)
{
    (void)arg;
    hold.is_done = true;
    mg_loop_stop(loop);
}

static void hold_begin(int count, const char *text)
{
    hold = (struct hold){.count = count, .text = text};
    ck_assert(mg_loop_offload(loop, hold_blocking, on_held, NULL));
}

static void hold_all(int count, const char *text)
{
    hold_begin(count, text);
    while (!hold.is_done) {
        mg_loop_run(loop);
    }
}

static void release_all(void)
{
    for (int i = 0; i < hold.count; i++) {
        close(held[i]);
    }
    hold.count = 0;
}

static struct {
    char answer[1024];
    bool is_done;
} health;

static void ask_blocking(void *arg)
{
    (void)arg;
    const struct timeval patience = {.tv_sec = ANSWER_S};
    int fd = http_connect(mg_http_server_port(server));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    (void)http_send(fd, HEALTH, strlen(HEALTH));
    (void)http_read_to_end(fd, health.answer, sizeof(health.answer));
    close(fd);
}

static void on_asked(void *arg)
{
    (void)arg;
    health.is_done = true;
    mg_loop_stop(loop);
}

static bool is_healthy(void)
{
    health.is_done = false;
    ck_assert(mg_loop_offload(loop, ask_blocking, on_asked, NULL));
    while (!health.is_done) {
        mg_loop_run(loop);
    }
    return strncmp(health.answer, "HTTP/1.1 200 ", 13) == 0;
}

static bool is_said(int fd, const char *part)
{
    char text[4096];
    ssize_t len = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);
    text[len > 0 ? len : 0] = '\0';
    return strstr(text, part) != NULL;
}

struct want {
    int fd;
    const char *part;
};

static void on_want(void *arg)
{
    const struct want *want = arg;
    if (is_said(want->fd, want->part)) {
        mg_loop_stop(loop);
    }
}

static void expect(int fd, const char *part)
{
    struct want want = {.fd = fd, .part = part};
    struct mg_timer *look = mg_timer_create(loop, on_want, &want);
    mg_timer_start(look, 1, 1);
    mg_loop_run(loop); /* the guard aborts it if it never comes */
    mg_timer_destroy(look);
}

/* ---- crowds ---- */

static const struct {
    int count;
    const char *text;
} CROWDS[] = {{31, ""},    {32, ""},    {33, ""},    {40, ""},    {256, ""},  {257, ""},  {511, ""},
              {512, ""},   {513, ""},   {700, ""},   {31, HALF},  {32, HALF}, {33, HALF}, {40, HALF},
              {256, HALF}, {257, HALF}, {512, HALF}, {513, HALF}, {700, HALF}};

START_TEST(an_idle_crowd_holds_up_no_other)
{
    server_open(_i % 2 == 0);
    hold_all(CROWDS[_i].count, CROWDS[_i].text);
    for (int i = 0; i < 3; i++) {
        ck_assert_msg(is_healthy(), "%d clients that stay: %s", CROWDS[_i].count, health.answer);
    }
    release_all();
}
END_TEST

/* Catches: a listening socket that is taken out at the limit and not put back, for ever. */
START_TEST(the_port_is_served_after_all_have_ended_at_once)
{
    server_open(_i % 2 == 0);
    for (int round = 0; round < 3; round++) {
        hold_all(CROWDS[_i].count, CROWDS[_i].text);
        (void)is_healthy(); /* so the others have been accepted, if they ever are */
        release_all();
        ck_assert_msg(is_healthy(), "%d clients that ended: %s", CROWDS[_i].count, health.answer);
    }
}
END_TEST

START_TEST(the_oldest_that_asked_nothing_goes_first)
{
    char byte;
    server_open(false);
    hold_all(700, "");
    ck_assert(is_healthy());
    ck_assert_int_eq(recv(held[0], &byte, 1, MSG_DONTWAIT), 0);
    ck_assert_int_eq(recv(held[699], &byte, 1, MSG_DONTWAIT), -1);
    ck_assert_int_eq(errno, EAGAIN);
    release_all();
}
END_TEST

/* Catches: a slow client that is pushed out by others, although the idle ones are many. */
START_TEST(a_slow_request_outlives_a_flood_of_silent_ones)
{
    server_open(false);
    int slow = http_connect(mg_http_server_port(server));
    ck_assert(http_send(slow, HALF, strlen(HALF)));
    for (int i = 0; i < 3; i++) {
        hold_all(700, "");
        ck_assert(is_healthy());
        release_all();
    }
    ck_assert(http_send(slow, "x\r\n\r\n", 5));
    expect(slow, "ok\n");
    close(slow);
}
END_TEST

int __real_MHD_add_connection(struct MHD_Daemon *daemon, int fd, const struct sockaddr *address,
                              socklen_t len);
int __wrap_MHD_add_connection(struct MHD_Daemon *daemon, int fd, const struct sockaddr *address,
                              socklen_t len);

static int entered;

int __wrap_MHD_add_connection(struct MHD_Daemon *daemon, int fd, const struct sockaddr *address,
                              socklen_t len)
{
    entered++;
    return __real_MHD_add_connection(daemon, fd, address, len);
}

/* Catches: kilobytes and, over TLS, a session for each of the clients that never send a request. */
START_TEST(a_flood_of_half_requests_costs_the_library_nothing)
{
    server_open(false);
    entered = 0;
    hold_all(700, HALF);
    ck_assert(is_healthy());
    ck_assert_int_eq(entered, 1);
    release_all();
}
END_TEST

static void on_drip(void *arg)
{
    int *at = arg;
    static const char head[] = HALF "x\r\nX-Slow: ";
    char byte = *at < (int)sizeof(head) - 1 ? head[*at] : 'x';
    ++*at;
    for (int i = 0; i < hold.count; i++) {
        (void)send(held[i], &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

START_TEST(heads_byte_by_byte_hold_up_no_other)
{
    int at = 0;
    server_open(_i == 0);
    hold_all(700, "");
    timer = mg_timer_create(loop, on_drip, &at);
    mg_timer_start(timer, 1, 2);
    while (at < 100) {
        ck_assert_msg(is_healthy(), "%s", health.answer);
    }
    mg_timer_stop(timer);
    release_all();
    ck_assert_msg(is_healthy(), "%s", health.answer);
}
END_TEST

/* As many as the process may have, at most HELD_MAX, while an honest client asks again and again. */
START_TEST(thousands_that_come_at_once_hold_up_no_other)
{
    struct rlimit limit;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int room = limit.rlim_cur > HELD_MAX + 1000 ? HELD_MAX : (int)limit.rlim_cur - 1000;
    if (room < 700) {
        room = 700;
    }
    server_open(false);
    hold_begin(room, _i == 0 ? "" : HALF);
    while (!hold.is_done) {
        ck_assert_msg(is_healthy(), "%s", health.answer);
    }
    ck_assert_msg(is_healthy(), "%s", health.answer);
    release_all();
    ck_assert_msg(is_healthy(), "%s", health.answer);
}
END_TEST

/* ---- requests in the handler's hands ---- */

static int client_ask(const char *path)
{
    char text[128];
    int fd = http_connect(mg_http_server_port(server));
    (void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
    ck_assert(http_send(fd, text, strlen(text)));
    return fd;
}

static void on_have_both(void *arg)
{
    (void)arg;
    if (kept && stream) {
        mg_loop_stop(loop);
    }
}

/* Catches: a place that is taken from a page that listens, or from a request that waits for its answer. */
START_TEST(a_crowd_ends_neither_streams_nor_requests_under_way)
{
    server_open(true);
    int listening = client_ask("/stream"), waiting = client_ask("/later");
    timer = mg_timer_create(loop, on_have_both, NULL);
    mg_timer_start(timer, 1, 1);
    mg_loop_run(loop);
    mg_timer_stop(timer);
    for (int round = 0; round < 2; round++) {
        hold_all(700, round == 0 ? "" : HALF);
        ck_assert(is_healthy());
        release_all();
    }
    ck_assert(is_healthy());
    ck_assert_ptr_nonnull(stream);
    ck_assert(mg_http_stream_write(stream, mg_slice_of("data: 1\n\n")));
    expect(listening, "data: 1\n\n");
    const struct mg_http_response answer = {.status = 200, .type = "text/plain", .body = mg_slice_of("late")};
    mg_http_answer(kept, &answer);
    expect(waiting, "late");
    close(listening);
    close(waiting);
}
END_TEST

/* ---- no descriptors ---- */

int __real_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);

static bool has_no_descriptors;
static int refused, ticks;

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
    if (!has_no_descriptors) {
        return __real_accept4(fd, address, len, flags);
    }
    refused++;
    errno = EMFILE;
    return -1;
}

static void on_tick(void *arg)
{
    (void)arg;
    ticks++;
    if (refused >= 6) {
        mg_loop_stop(loop);
    }
}

/* Catches: a loop that spins on a descriptor that it cannot get; one that never tries again. */
START_TEST(without_descriptors_it_neither_spins_nor_goes_deaf)
{
    server_open(false);
    has_no_descriptors = true;
    int fd = client_ask("/healthz");
    timer = mg_timer_create(loop, on_tick, NULL);
    mg_timer_start(timer, 10, 10);
    mg_loop_run(loop);
    mg_timer_stop(timer);
    ck_assert_int_ge(ticks, 10); /* a turn that waits lies between one refusal and the next */
    has_no_descriptors = false;
    expect(fd, "ok\n");
    close(fd);
}
END_TEST

static int highest_fd(void)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    close(fd);
    return fd;
}

/* The clients wait in the backlog; the process may have fewer descriptors than there are clients. */
START_TEST(when_descriptors_run_out_the_oldest_idle_ones_give_theirs)
{
    struct rlimit limit, few;
    server_open(false);
    hold = (struct hold){.count = 40, .text = _i == 0 ? "" : HALF};
    hold_blocking(NULL);
    int fd = client_ask("/healthz");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = (rlim_t)highest_fd() + 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    expect(fd, "ok\n");
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    close(fd);
    release_all();
    ck_assert(is_healthy());
}
END_TEST

int main(void)
{
    struct rlimit limit; /* both ends of all connections are this process's */
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return EXIT_FAILURE;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return EXIT_FAILURE;
    }
    Suite *suite = suite_create("http_server_crowd");
    TCase *cases = tcase_create("crowds");
    int crowds = (int)(sizeof(CROWDS) / sizeof(CROWDS[0]));
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_loop_test(cases, an_idle_crowd_holds_up_no_other, 0, crowds);
    tcase_add_loop_test(cases, the_port_is_served_after_all_have_ended_at_once, 0, crowds);
    tcase_add_test(cases, the_oldest_that_asked_nothing_goes_first);
    tcase_add_test(cases, a_slow_request_outlives_a_flood_of_silent_ones);
    tcase_add_test(cases, a_flood_of_half_requests_costs_the_library_nothing);
    tcase_add_loop_test(cases, heads_byte_by_byte_hold_up_no_other, 0, 2);
    tcase_add_loop_test(cases, thousands_that_come_at_once_hold_up_no_other, 0, 2);
    tcase_add_test(cases, a_crowd_ends_neither_streams_nor_requests_under_way);
    tcase_add_test(cases, without_descriptors_it_neither_spins_nor_goes_deaf);
    tcase_add_loop_test(cases, when_descriptors_run_out_the_oldest_idle_ones_give_theirs, 0, 2);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
