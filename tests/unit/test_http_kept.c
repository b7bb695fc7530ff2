/*
 * Kept connections of the HTTP server: how long they are idle, what is announced, when the time of a request
 * begins. The clients wait on threads of their own while the loop turns.
 */
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

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
/* The library closes behind an answer to a head, as of a probe. */
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

int main(void)
{
    Suite *suite = suite_create("http_kept");
    TCase *tests = tcase_create("short"), *patient = tcase_create("patient");
    tcase_add_checked_fixture(tests, set_up, ask_tear_down);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_idle_connection_stays_for_its_announced_time_since_the_last_answer);
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(patient, set_up_patient, ask_tear_down);
    tcase_set_timeout(patient, 60);
    tcase_add_test(patient, the_time_of_a_request_begins_with_its_first_line);
    suite_add_tcase(suite, patient);
    return run_suite(suite);
}
