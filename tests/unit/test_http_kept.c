/*
 * Kept connections of the HTTP server: how long they are idle, their announcement, when the time of a request
 * begins, and how many requests they may bring. The clients wait on threads of their own while the loop
 * turns.
 */
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "http_ask.h"
#include "suite.h"

#define IDLE_MS 2000 /* whole seconds; the server adds two */

static void handle(void *arg, struct mg_http_exchange *request)
{
    (void)arg;
    answer_text(request, 200, "taken");
}

static void set_up(void)
{
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .handle = handle, .idle_ms = IDLE_MS};
    ask_set_up(&options);
}

static void set_up_patient(void)
{
    const struct mg_http_server_options options = {.address = "127.0.0.1:0", .handle = handle};
    ask_set_up(&options);
}

/* The answer that comes within the time, as far as it comes at once; "": none. */
static const char *answer_read(int fd, int within_ms)
{
    static char text[1024];
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    ssize_t len = poll(&ready, 1, within_ms) == 1 ? recv(fd, text, sizeof(text) - 1, 0) : 0;
    text[len > 0 ? len : 0] = '\0';
    return text;
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

/* The findings of a client; the loop's thread asserts them. */
static struct {
    bool is_answered, is_announced, is_unannounced, is_open;
    int64_t closed_after_ms; /* since the last answer; 0: it stayed open */
} seen;

static void wait_ms(int ms)
{
    (void)poll(NULL, 0, ms); /* the idleness that the test is about */
}

static const char ASK[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
/* The library closes after an answer to a head, as of a probe. */
static const char *const LAST[] = {"GET /a" CLOSE, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"};
static const char BEGIN[] = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab";

static void idle_client(void *arg)
{
    (void)arg;
    int fd = client_connect();
    (void)http_send(fd, ASK, strlen(ASK));
    seen.is_announced = has(answer_read(fd, 5000), "\r\nKeep-Alive: timeout=2\r\n");
    wait_ms(IDLE_MS - 200);
    (void)http_send(fd, ASK, strlen(ASK));
    seen.is_answered = has(answer_read(fd, 5000), "taken");
    int64_t answered_ms = mg_clock_boot_ms();
    seen.is_open = answer_read(fd, IDLE_MS)[0] == '\0' && mg_clock_boot_ms() - answered_ms >= IDLE_MS;
    (void)answer_read(fd, 8000);
    seen.closed_after_ms = mg_clock_boot_ms() - answered_ms;
    close(fd);
    seen.is_unannounced = true;
    for (size_t i = 0; i < sizeof(LAST) / sizeof(LAST[0]); i++) {
        fd = client_connect();
        (void)http_send(fd, LAST[i], strlen(LAST[i]));
        const char *answer = answer_read(fd, 5000);
        seen.is_unannounced =
            seen.is_unannounced && has(answer, "\r\nConnection: close\r\n") && !has(answer, "Keep-Alive");
        close(fd);
    }
}

/* Catches: a connection closed at the moment at which a balancer uses it again, since it keeps it for longer;
 * an idle time that no client is told. */
START_TEST(an_idle_connection_stays_for_its_announced_time_since_the_last_answer)
{
    ck_assert(mg_loop_offload(loop, idle_client, on_asked, NULL));
    mg_loop_run(loop);
    ck_assert(seen.is_announced);
    ck_assert(seen.is_answered);
    ck_assert(seen.is_open);
    ck_assert_int_ge(seen.closed_after_ms, IDLE_MS + 1000); /* later than a client that counts seconds */
    ck_assert_int_lt(seen.closed_after_ms, IDLE_MS + 5000);
    ck_assert(seen.is_unannounced);
}
END_TEST

static void slow_client(void *arg)
{
    (void)arg;
    int fd = client_connect();
    (void)http_send(fd, ASK, strlen(ASK));
    seen.is_announced = has(answer_read(fd, 5000), "\r\nKeep-Alive: timeout=75\r\n");
    wait_ms(11000); /* longer than a whole request may take */
    (void)http_send(fd, BEGIN, strlen(BEGIN));
    wait_ms(3000);
    (void)http_send(fd, "cd", 2);
    seen.is_answered = has(answer_read(fd, 5000), "taken");
    (void)http_send(fd, BEGIN, strlen(BEGIN));
    int64_t began_ms = mg_clock_boot_ms();
    (void)answer_read(fd, 15000);
    seen.closed_after_ms = mg_clock_boot_ms() - began_ms;
    close(fd);
}

/* Catches: idle time that counts into the next request, which is cut off on a slow line; a request without
 * end that has the time of an idle connection. */
START_TEST(the_time_of_a_request_begins_with_its_first_line)
{
    mg_timer_start(guard, 2 * GUARD_MS, 0);
    ck_assert(mg_loop_offload(loop, slow_client, on_asked, NULL));
    mg_loop_run(loop);
    ck_assert(seen.is_announced);
    ck_assert(seen.is_answered);
    ck_assert_int_ge(seen.closed_after_ms, 9000);
    ck_assert_int_lt(seen.closed_after_ms, 13000);
}
END_TEST

/* ---- requests one after the other ---- */

#define CROWD     40
#define PIPELINED 100
#define WORK_US   250
#define TICK_MS   5
#define MOST      600 /* requests between two turns of the loop: CROWD of them take 10 ms; there are 4,000 */

static int handled, handled_most; /* since the last tick */

static void handle_at_length(void *arg, struct mg_http_exchange *request)
{
    (void)arg;
    for (int64_t until_us = mg_clock_boot_us() + WORK_US; mg_clock_boot_us() < until_us;) {
    }
    handled++;
    answer_text(request, 200, "taken");
}

static void set_up_crowded(void)
{
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .handle = handle_at_length, .handled_max = CROWD};
    ask_set_up(&options);
}

static void crowd_client(void *arg)
{
    static char text[1024 * 1024];
    int fds[CROWD];
    (void)arg;
    seen.is_answered = true;
    for (int i = 0; i < CROWD; i++) {
        fds[i] = client_connect();
        for (int n = 0; n < PIPELINED; n++) {
            (void)http_send(fds[i], ASK, strlen(ASK));
        }
        (void)http_send(fds[i], LAST[0], strlen(LAST[0]));
    }
    for (int i = 0; i < CROWD; i++) {
        int count = 0;
        (void)http_read_to_end(fds[i], text, sizeof(text));
        for (const char *at = text; (at = strstr(at, "taken")) != NULL; at++) {
            count++;
        }
        seen.is_answered = seen.is_answered && count == PIPELINED + 1;
        close(fds[i]);
    }
}

static void tick(void)
{
    handled_most = handled > handled_most ? handled : handled_most;
    handled = 0;
}

/* Catches: a crowd that keeps the process from its other work, probes and messages, for seconds. */
START_TEST(a_crowd_of_requests_leaves_the_loop_its_turns)
{
    on_tick = tick;
    mg_timer_start(timer, TICK_MS, TICK_MS);
    ck_assert(mg_loop_offload(loop, crowd_client, on_asked, NULL));
    mg_loop_run(loop);
    ck_assert(seen.is_answered);
    tick();
    ck_assert_int_lt(handled_most, MOST);
}
END_TEST

/* ---- requests in hand ---- */

#define DESCRIPTORS 100u
#define IN_HAND     (DESCRIPTORS / 2)

static void keep(void *arg, struct mg_http_exchange *request)
{
    (void)arg, (void)request; /* it has its answer by the server's end */
}

/* The client's end needs descriptors, too: the limit counts when the server starts. */
static void set_up_scarce(void)
{
    struct rlimit limit, few;
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .handle = keep, .handled_max = 10 * DESCRIPTORS};
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){.rlim_cur = DESCRIPTORS, .rlim_max = limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    ask_set_up(&options);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void many_client(void *arg)
{
    int fds[IN_HAND + 1];
    (void)arg;
    for (unsigned int i = 0; i < IN_HAND; i++) {
        fds[i] = client_connect();
        (void)http_send(fds[i], ASK, strlen(ASK));
    }
    seen.is_open = answer_read(fds[IN_HAND - 1], 1000)[0] == '\0';
    fds[IN_HAND] = client_connect();
    (void)http_send(fds[IN_HAND], ASK, strlen(ASK));
    seen.is_answered = has(answer_read(fds[IN_HAND], 5000), "HTTP/1.1 503 ");
    for (unsigned int i = 0; i <= IN_HAND; i++) {
        close(fds[i]);
    }
}

/* Catches: requests in hand that use up all descriptors, so that nobody else is accepted. */
START_TEST(requests_in_hand_leave_half_of_the_descriptors)
{
    ck_assert(mg_loop_offload(loop, many_client, on_asked, NULL));
    mg_loop_run(loop);
    ck_assert(seen.is_open);
    ck_assert(seen.is_answered);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_kept");
    TCase *tests = tcase_create("short"), *patient = tcase_create("patient"),
          *crowded = tcase_create("crowded"), *scarce = tcase_create("scarce");
    tcase_add_checked_fixture(tests, set_up, ask_tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_idle_connection_stays_for_its_announced_time_since_the_last_answer);
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(patient, set_up_patient, ask_tear_down);
    tcase_set_timeout(patient, 60);
    tcase_add_test(patient, the_time_of_a_request_begins_with_its_first_line);
    suite_add_tcase(suite, patient);
    tcase_add_checked_fixture(crowded, set_up_crowded, ask_tear_down);
    tcase_set_timeout(crowded, 60);
    tcase_add_test(crowded, a_crowd_of_requests_leaves_the_loop_its_turns);
    suite_add_tcase(suite, crowded);
    tcase_add_checked_fixture(scarce, set_up_scarce, ask_tear_down);
    tcase_set_timeout(scarce, 60);
    tcase_add_test(scarce, requests_in_hand_leave_half_of_the_descriptors);
    suite_add_tcase(suite, scarce);
    return run_suite(suite);
}
