/* The shares of memory of an HTTP server: of bodies, and of answers until they are sent. */
#include "http_ask.h"
#include "suite.h"

#define BODIES_MAX 1000
#define UNSENT_MAX 65536
#define LARGE      100000
#define SHORT_MAX  10

static struct mg_metrics *metrics;
static int refused_count;

static bool admit(void *arg, struct mg_http_exchange *request)
{
    (void)arg;
    if (strcmp(mg_http_exchange_path(request), "/refused") == 0) {
        refused_count++;
        answer_text(request, 403, "no");
        return false;
    }
    if (strcmp(mg_http_exchange_path(request), "/short") == 0) {
        mg_http_exchange_body_limit(request, SHORT_MAX);
    }
    return true;
}

static void handle(void *arg, struct mg_http_exchange *request)
{
    static char text[LARGE + 1];
    (void)arg;
    memset(text, 'x', LARGE);
    text[strcmp(mg_http_exchange_path(request), "/large") == 0 ? LARGE : 5] = '\0';
    answer_text(request, 200, text);
}

static void set_up(void)
{
    metrics = mg_metrics_create();
    refused_count = 0;
    const struct mg_http_server_options options = {.address = "127.0.0.1:0",
                                                   .handle = handle,
                                                   .admit = admit,
                                                   .handled_max = 4,
                                                   .bodies_max = BODIES_MAX,
                                                   .unsent_max = UNSENT_MAX,
                                                   .held = mg_http_held_series(metrics)};
    ask_set_up(&options);
}

static void tear_down(void)
{
    ask_tear_down();
    mg_metrics_destroy(metrics);
}

/* Catches: answers that slow clients leave in memory without a bound; a share that is never given back. */
START_TEST(answers_have_a_share)
{
    for (int i = 0; i < 3; i++) {
        assert_answer(ask("GET /large" CLOSE), "HTTP/1.1 503 ", "");
        assert_answer(ask("GET /small" CLOSE), "HTTP/1.1 200 ", "xxxxx");
    }
}
END_TEST

/* Catches: a body that is kept without room for it, with a length or without one; a share that is never given
 * back. */
START_TEST(bodies_have_a_share)
{
    char head[200];
    size_t len;
    (void)snprintf(head, sizeof(head),
                   "POST /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n",
                   BODIES_MAX);
    char *whole = body_make(head, BODIES_MAX, "", &len);
    for (int i = 0; i < 3; i++) {
        assert_answer(
            ask("POST /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1001\r\n\r\n"),
            "HTTP/1.1 503 ", "no memory for the body");
        assert_answer(ask_in_pieces(whole, len, len), "HTTP/1.1 200 ", "xxxxx");
    }
    free(whole);
    char *chunked = body_make(
        "POST /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n",
        BODIES_MAX + 1, "\r\n0\r\n\r\n", &len);
    assert_answer(ask_in_pieces(chunked, len, len), "HTTP/1.1 503 ", "no memory for the body");
    free(chunked);
}
END_TEST

/* Catches: a request that is read to its end before it is refused, and one without a body that is asked
 * about. */
START_TEST(a_request_with_a_body_is_asked_about_at_its_head)
{
    assert_answer(ask("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n"), "HTTP/1.1 403 ",
                  "no");
    ck_assert_int_eq(refused_count, 1);
    assert_answer(ask("GET /refused" CLOSE), "HTTP/1.1 200 ", "xxxxx");
    ck_assert_int_eq(refused_count, 1);
}
END_TEST

/* Catches: a bound that only a request with a length keeps. */
START_TEST(a_body_has_the_bound_of_its_request)
{
    static const struct {
        const char *rest, *status;
    } bodies[] = {
        {"Content-Length: 11\r\n\r\n", "HTTP/1.1 413 "},
        {"Transfer-Encoding: chunked\r\n\r\nb\r\nxxxxxxxxxxx\r\n0\r\n\r\n", "HTTP/1.1 413 "},
        {"Transfer-Encoding: chunked\r\n\r\n6\r\nxxxxxx\r\n5\r\nxxxxx\r\n0\r\n\r\n", "HTTP/1.1 413 "},
        {"Content-Length: 10\r\n\r\nxxxxxxxxxx", "HTTP/1.1 200 "},
        {"Transfer-Encoding: chunked\r\n\r\na\r\nxxxxxxxxxx\r\n0\r\n\r\n", "HTTP/1.1 200 "},
    };
    char text[256];
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        (void)snprintf(text, sizeof(text), "POST /short HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s",
                       bodies[i].rest);
        assert_answer(ask(text), bodies[i].status, i < 3 ? "the body is too large" : "xxxxx");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_memory");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_test(cases, answers_have_a_share);
    tcase_add_test(cases, bodies_have_a_share);
    tcase_add_test(cases, a_request_with_a_body_is_asked_about_at_its_head);
    tcase_add_test(cases, a_body_has_the_bound_of_its_request);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
