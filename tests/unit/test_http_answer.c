/* Requests and answers of the HTTP client: the bytes on the wire, the whole answers, and the cut ones. */
#include <time.h>

#include "base/clock.h"
#include "http_fixture.h"
#include "suite.h"

/* Answers without end until the client closes the connection. */
static void serve_flood(struct server *server, int fd, int number)
{
    (void)number;
    if (!read_request(server, fd)) {
        return;
    }
    send_text(fd, server->answer);
    char line[1001];
    (void)snprintf(line, sizeof(line), "X-Flood: %0*d\r\n", (int)sizeof(line) - 12, 0);
    while (send(fd, line, strlen(line), MSG_NOSIGNAL) > 0) {
        ;
    }
}

START_TEST(whole_answer_is_handed_over)
{
    struct server server;
    char url[64];
    const char *const headers[] = {"Idempotency-Key: k1", "X-Empty:", NULL};
    server_start(&server, serve_answer, ok_answer);
    struct mg_http_request request = post_to(server.port, url);
    request.headers = headers;
    struct outcome outcome = perform(&request);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_YES);
    ck_assert_int_eq(outcome.answer.status, 200);
    ck_assert_str_eq(outcome.body, "ok");
    ck_assert_str_eq(outcome.content_type, "text/x-test");
    ck_assert_int_eq(outcome.answer.retry_after_ms, -1);
    ck_assert_str_eq(outcome.answer.reason, "");
    ck_assert_ptr_nonnull(strstr(server.last, "POST /charges HTTP/1.1\r\n"));
    ck_assert_ptr_nonnull(strstr(server.last, "\r\nIdempotency-Key: k1\r\n"));
    ck_assert_ptr_nonnull(strcasestr(server.last, "\r\nX-Empty:\r\n"));
    ck_assert_ptr_nonnull(strstr(server.last, "\r\n\r\n{\"a\":1.00}"));
    ck_assert_ptr_nonnull(strcasestr(server.last, "\r\nAccept-Encoding: identity\r\n"));
    ck_assert_ptr_null(strcasestr(server.last, "\r\nContent-Type:"));
    mg_http_client_destroy(client);
    client = NULL;
    server_stop(&server);
}
END_TEST

static const struct {
    const char *method;
    bool has_body, says_length;
} methods[] = {{"GET", false, false},  {"GET", true, true},     {"HEAD", false, false}, {"POST", false, true},
               {"POST", true, true},   {"PUT", true, true},     {"PUT", false, true},   {"PATCH", true, true},
               {"DELETE", true, true}, {"DELETE", false, false}};

START_TEST(every_method_goes_with_and_without_a_body)
{
    struct server server;
    char url[64], line[64];
    server_start(&server, serve_answer_and_close, ok_answer);
    struct mg_http_request request = post_to(server.port, url);
    request.method = methods[_i].method;
    if (!methods[_i].has_body) {
        request.body = (struct mg_slice){0};
    }
    struct outcome outcome = perform(&request);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_YES);
    ck_assert_str_eq(outcome.body, strcmp(request.method, "HEAD") == 0 ? "" : "ok");
    (void)snprintf(line, sizeof(line), "%s /charges HTTP/1.1\r\n", request.method);
    ck_assert_ptr_eq(strstr(server.last, line), server.last);
    ck_assert_int_eq(strcasestr(server.last, "\r\nContent-Length:") != NULL, methods[_i].says_length);
    server_stop(&server);
}
END_TEST

/* Catches: libcurl's "Expect: 100-continue" above 1 MiB, which costs a second and splits the send in two. */
START_TEST(large_body_goes_at_once)
{
    struct server server;
    char url[64];
    const size_t len = 1200000;
    char *body = malloc(len);
    ck_assert_ptr_nonnull(body);
    memset(body, 'x', len);
    server_start(&server, serve_answer_and_close, ok_answer);
    struct mg_http_request request = post_to(server.port, url);
    request.body = (struct mg_slice){body, len};
    ck_assert_int_eq(perform(&request).answer.sent, MG_SENT_YES);
    ck_assert_ptr_null(strcasestr(server.last, "\r\nExpect:"));
    server_stop(&server);
    free(body);
}
END_TEST

/* An answer is whole or it is maybe. */
static const struct {
    serve_fn *serve;
    const char *answer;
    const char *reason; /* a part of it */
} broken[] = {
    /* without end: a body, a body announced, headers, interim answers */
    {serve_flood, "HTTP/1.1 200 OK\r\n\r\n", "body is above 100000 bytes"},
    {serve_flood, "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", "body is above 100000 bytes"},
    {serve_flood, "HTTP/1.1 200 OK\r\n", "headers are above 20000 bytes"},
    {serve_flood, "HTTP/1.1 100 Continue\r\n", "headers are above 20000 bytes"},
    /* cut off, another protocol, nothing */
    {serve_answer_and_close, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", ""},
    {serve_answer_and_close, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha", ""},
    /* two lengths (RFC 9110, 8.6) */
    {serve_answer_and_close, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nContent-Length: 5\r\n\r\n{\"a\":123}",
     "two lengths"},
    {serve_answer_and_close, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length:9\r\n\r\n{\"a\":123}",
     "two lengths"},
    {serve_answer_and_close, "HTTP/1.1 200 OK\r\nContent-Length: 5, 9\r\n\r\n{\"a\":123}", "two lengths"},
    {serve_answer_and_close, "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n{\"a\":123}", ""},
    {serve_answer_and_close, "HTTP/2 2000\r\n\r\n", ""},
    {serve_answer_and_close, "220 mail.example.com ESMTP\r\n", ""},
    {serve_answer_and_close, "", ""},
};

START_TEST(broken_answer_is_maybe_and_memory_is_bounded)
{
    struct server server;
    server_start(&server, broken[_i].serve, broken[_i].answer);
    struct outcome outcome = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_MAYBE);
    ck_assert(!outcome.answer.is_timed_out);
    ck_assert_ptr_null(outcome.answer.body.data);
    ck_assert_str_ne(outcome.answer.reason, "");
    ck_assert_msg(strstr(outcome.answer.reason, broken[_i].reason) != NULL, "%s", outcome.answer.reason);
    ck_assert_int_eq(atomic_load(&server.requests), 1);
    server_stop(&server);
}
END_TEST

static const struct {
    const char *header;
    int64_t from_ms, to_ms;
} waits[] = {{"7", 7000, 7000},
             {"0", 0, 0},
             {"99999999999999999999", 1, INT64_MAX},
             {"Sun, 06 Nov 1994 08:49:37 GMT", 0, 0},
             {"Fri, 31 Dec 9999 23:59:59 GMT", 1, INT64_MAX},
             {"soon", -1, -1},
             {"7 apples", -1, -1},
             {"-5", -1, -1}};

START_TEST(retry_after_is_read_as_seconds_or_date)
{
    struct server server;
    char answer[200];
    (void)snprintf(answer, sizeof(answer),
                   "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", waits[_i].header);
    server_start(&server, serve_answer_and_close, answer);
    struct outcome outcome = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_YES);
    ck_assert_int_eq(outcome.answer.status, 503);
    ck_assert_int_ge(outcome.answer.retry_after_ms, waits[_i].from_ms);
    ck_assert_int_le(outcome.answer.retry_after_ms, waits[_i].to_ms);
    server_stop(&server);
}
END_TEST

START_TEST(retry_after_date_counts_from_now)
{
    struct server server;
    char answer[200];
    time_t at = (time_t)(mg_clock_wall_ms() / 1000 + 60);
    struct tm parts;
    ck_assert_ptr_nonnull(gmtime_r(&at, &parts));
    ck_assert_uint_gt(strftime(answer, sizeof(answer),
                               "HTTP/1.1 429 Slow\r\nretry-after: %a, %d %b %Y %H:%M:%S GMT\r\n"
                               "Content-Length: 0\r\n\r\n",
                               &parts),
                      0);
    server_start(&server, serve_answer_and_close, answer);
    struct outcome outcome = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_gt(outcome.answer.retry_after_ms, 30000);
    ck_assert_int_le(outcome.answer.retry_after_ms, 60000);
    server_stop(&server);
}
END_TEST

START_TEST(redirect_is_an_answer_and_not_followed)
{
    struct server server;
    server_start(&server, serve_answer_and_close,
                 "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
    struct outcome outcome = post(&server, PATIENT_TIMEOUT_MS);
    ck_assert_int_eq(outcome.answer.sent, MG_SENT_YES);
    ck_assert_int_eq(outcome.answer.status, 302);
    ck_assert_int_eq(atomic_load(&server.requests), 1);
    server_stop(&server);
}
END_TEST

/* Catches: libcurl's reading of freed memory, when a handle is used again and the first header is folded. */
START_TEST(header_that_goes_on_from_none_touches_nothing_of_the_answer_before)
{
    struct server server;
    server_start(&server, serve_answer_and_close,
                 "HTTP/1.1 200 OK\r\n  and so on\r\nContent-Length: 2\r\n\r\nok");
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = post(&server, PATIENT_TIMEOUT_MS);
        ck_assert_int_ne(outcome.answer.sent, MG_SENT_NO);
    }
    server_stop(&server);
}
END_TEST

START_TEST(proxy_of_the_environment_is_ignored)
{
    struct server server;
    ck_assert_int_eq(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    ck_assert_int_eq(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
    server_start(&server, serve_answer_and_close, ok_answer);
    ck_assert_int_eq(post(&server, PATIENT_TIMEOUT_MS).answer.sent, MG_SENT_YES);
    server_stop(&server);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_answer");
    TCase *cases = tcase_create("calls");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, whole_answer_is_handed_over);
    tcase_add_loop_test(cases, every_method_goes_with_and_without_a_body, 0, COUNT(methods));
    tcase_add_test(cases, large_body_goes_at_once);
    tcase_add_loop_test(cases, broken_answer_is_maybe_and_memory_is_bounded, 0, COUNT(broken));
    tcase_add_loop_test(cases, retry_after_is_read_as_seconds_or_date, 0, COUNT(waits));
    tcase_add_test(cases, retry_after_date_counts_from_now);
    tcase_add_test(cases, redirect_is_an_answer_and_not_followed);
    tcase_add_test(cases, header_that_goes_on_from_none_touches_nothing_of_the_answer_before);
    tcase_add_test(cases, proxy_of_the_environment_is_ignored);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
