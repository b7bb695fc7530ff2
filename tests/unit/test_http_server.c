/* The probes' server, reached over real sockets by a client on another thread while the loop turns. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "http_connect.h"
#include "io/http/server.h"
#include "suite.h"

#define ANSWER_MAX 65536
#define GUARD_MS   20000 /* a test that takes so long has failed */

static struct mg_loop *loop;
static struct mg_metrics *metrics;
static struct mg_http_server *server;
static struct mg_timer *guard;
static bool is_ready;

static void on_guard(void *arg)
{
    (void)arg;
    ck_abort_msg("nothing came for %d ms", GUARD_MS);
}

static bool answer_ready(void *arg, char *ret_reason, size_t size)
{
    (void)arg;
    if (!is_ready) {
        (void)snprintf(ret_reason, size, "the broker is down");
    }
    return is_ready;
}

static void set_up(void)
{
    struct mg_err err;
    loop = mg_loop_create();
    metrics = mg_metrics_create();
    guard = mg_timer_create(loop, on_guard, NULL);
    mg_timer_start(guard, GUARD_MS, 0);
    const struct mg_http_server_options options = {
        .address = "127.0.0.1:0", .metrics = metrics, .is_ready = answer_ready};
    ck_assert_msg(mg_http_server_create(loop, &options, &server, &err) == MG_OK, "%s", err.text);
    ck_assert_int_gt(mg_http_server_port(server), 0);
}

static void tear_down(void)
{
    mg_http_server_destroy(server);
    mg_timer_destroy(guard);
    mg_metrics_destroy(metrics);
    mg_loop_destroy(loop);
}

struct question {
    const char *text;
    char answer[ANSWER_MAX];
};

static int client_connect(void)
{
    return http_connect(mg_http_server_port(server));
}

/* On another thread, because it blocks. A server may answer and close the connection amid the request. */
static void ask_blocking(void *arg)
{
    struct question *question = arg;
    int fd = client_connect();
    (void)http_send(fd, question->text, strlen(question->text));
    (void)http_read_to_end(fd, question->answer, sizeof(question->answer));
    close(fd);
}

static void on_asked(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

static struct question question;

static const char *ask(const char *text)
{
    question.text = text;
    ck_assert(mg_loop_offload(loop, ask_blocking, on_asked, &question));
    mg_loop_run(loop);
    return question.answer;
}

#define CLOSE " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

static void assert_answer(const char *text, const char *status, const char *part)
{
    const char *answer = ask(text);
    ck_assert_msg(strncmp(answer, status, strlen(status)) == 0, "%s", answer);
    ck_assert_msg(strstr(answer, part) != NULL, "%s", answer);
}

START_TEST(health_is_answered_while_the_loop_turns)
{
    assert_answer("GET /healthz" CLOSE, "HTTP/1.1 200 ", "\r\n\r\nok\n");
}
END_TEST

START_TEST(readiness_follows_the_service_and_names_the_reason)
{
    is_ready = false;
    assert_answer("GET /readyz" CLOSE, "HTTP/1.1 503 ", "the broker is down");
    is_ready = true;
    assert_answer("GET /readyz" CLOSE, "HTTP/1.1 200 ", "\r\n\r\nready\n");
}
END_TEST

START_TEST(metrics_are_rendered_at_each_request)
{
    struct mg_metric *metric = mg_metrics_series(metrics, MG_COUNTER, "makegood_tests_total", NULL, "tests");
    mg_metric_add(metric, 41);
    assert_answer("GET /metrics" CLOSE, "HTTP/1.1 200 ", "\nmakegood_tests_total 41\n");
    ck_assert_ptr_nonnull(strstr(question.answer, "text/plain; version=0.0.4"));
    mg_metric_add(metric, 1);
    assert_answer("GET /metrics" CLOSE, "HTTP/1.1 200 ", "\nmakegood_tests_total 42\n");
}
END_TEST

START_TEST(head_has_headers_only)
{
    assert_answer("HEAD /healthz" CLOSE, "HTTP/1.1 200 ", "Content-Length: 3\r\n");
    ck_assert_ptr_null(strstr(question.answer, "ok\n"));
}
END_TEST

START_TEST(other_paths_and_methods_are_refused)
{
    assert_answer("GET /" CLOSE, "HTTP/1.1 404 ", "");
    assert_answer("GET /healthz/x" CLOSE, "HTTP/1.1 404 ", "");
    assert_answer("DELETE /healthz" CLOSE, "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n");
    assert_answer("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\nx", "HTTP/1.1 405 ",
                  "");
    assert_answer("nonsense\r\n\r\n", "", "");
}
END_TEST

/* Catches: headers without end that grow the process. */
START_TEST(huge_headers_are_refused)
{
    static char text[60000];
    size_t len = (size_t)snprintf(text, sizeof(text), "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Huge: ");
    memset(text + len, 'x', sizeof(text) - 1 - len);
    const char *answer = ask(text);
    ck_assert(answer[0] == '\0' || strncmp(answer, "HTTP/1.1 4", 10) == 0);
    assert_answer("GET /healthz" CLOSE, "HTTP/1.1 200 ", "ok\n");
}
END_TEST

/* Catches: a client that connects, sends nothing, and holds up the others. */
START_TEST(silent_client_holds_up_no_other)
{
    int silent_fd = client_connect();
    assert_answer("GET /healthz" CLOSE, "HTTP/1.1 200 ", "ok\n");
    close(silent_fd);
}
END_TEST

static const struct {
    const char *address;
    enum mg_class class;
} addresses[] = {{"127.0.0.1", MG_BAD_INPUT},      {"127.0.0.1:", MG_BAD_INPUT},
                 {":9100", MG_BAD_INPUT},          {"127.0.0.1:65536", MG_BAD_INPUT},
                 {"127.0.0.1:-1", MG_BAD_INPUT},   {"127.0.0.1:x", MG_BAD_INPUT},
                 {"some.name:9100", MG_BAD_INPUT}, {"::1:9100", MG_BAD_INPUT},
                 {"[::1:9100", MG_BAD_INPUT},      {"", MG_BAD_INPUT},
                 {"192.0.2.1:9100", MG_PERMANENT}, {"[::1]:0", MG_OK}};

START_TEST(addresses_are_read_or_refused)
{
    struct mg_err err;
    struct mg_http_server *other = NULL;
    const struct mg_http_server_options options = {.address = addresses[_i].address,
                                                   .is_plaintext_allowed = true};
    enum mg_class class = mg_http_server_create(loop, &options, &other, &err);
    if (strncmp(addresses[_i].address, "[::1]", 5) == 0 && class == MG_PERMANENT) {
        return; /* no IPv6 here */
    }
    ck_assert_int_eq(class, addresses[_i].class);
    ck_assert_int_eq(other != NULL, class == MG_OK);
    if (class != MG_OK) {
        ck_assert_ptr_nonnull(strstr(err.text, addresses[_i].address));
    }
    mg_http_server_destroy(other);
}
END_TEST

START_TEST(taken_port_is_an_error)
{
    char address[64];
    struct mg_err err;
    struct mg_http_server *other = NULL;
    (void)snprintf(address, sizeof(address), "127.0.0.1:%d", mg_http_server_port(server));
    const struct mg_http_server_options options = {.address = address};
    ck_assert_int_eq(mg_http_server_create(loop, &options, &other, &err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, address));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_server");
    TCase *cases = tcase_create("probes");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, health_is_answered_while_the_loop_turns);
    tcase_add_test(cases, readiness_follows_the_service_and_names_the_reason);
    tcase_add_test(cases, metrics_are_rendered_at_each_request);
    tcase_add_test(cases, head_has_headers_only);
    tcase_add_test(cases, other_paths_and_methods_are_refused);
    tcase_add_test(cases, huge_headers_are_refused);
    tcase_add_test(cases, silent_client_holds_up_no_other);
    tcase_add_loop_test(cases, addresses_are_read_or_refused, 0,
                        (int)(sizeof(addresses) / sizeof(addresses[0])));
    tcase_add_test(cases, taken_port_is_an_error);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
