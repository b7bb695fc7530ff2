/*
 * Answers that are cut off, at every byte: read by the real libcurl, classified as the agent does. An answer
 * is either whole, with its result, or broken.
 */
#include "classify.h"
#include "http_fixture.h"
#include "serving/tries.h"
#include "suite.h"

#define RESULT_MAX 64

#define HEAD_11 "HTTP/1.1 200 OK\r\n"
#define JSON    "Content-Type: application/json\r\n"

/* FROM_HEAD: the answer counts as whole from the end of its head on, because nothing in it shows that a byte
 * is missing. ALL: only all of its bytes are whole. */
static const struct cut_case {
    const char *name, *method, *answer, *result;
    enum mg_outcome outcome;
    enum { ALL, FROM_HEAD, HEAD_OR_ALL } whole; /* HEAD_OR_ALL: nothing announces a body, so none is whole */
} CASES[] = {
    {"length", "POST", HEAD_11 JSON "Content-Length: 12\r\n\r\n{\"id\":\"R-1\"}", "{\"id\":\"R-1\"}",
     MG_OUTCOME_DONE, ALL},
    {"length, bare newlines", "POST", "HTTP/1.1 201 Created\nContent-Length: 2\n\n{}", "{}", MG_OUTCOME_DONE,
     ALL},
    {"length, folded header", "POST", HEAD_11 "X-Long: a\r\n b\r\nContent-Length: 2\r\n\r\n{}", "{}",
     MG_OUTCOME_DONE, ALL},
    {"the same length twice", "POST", HEAD_11 "Content-Length: 2\r\nContent-Length: 2, 2\r\n\r\n{}", "{}",
     MG_OUTCOME_DONE, ALL},
    {"length of nothing", "DELETE", HEAD_11 "Content-Length: 0\r\n\r\n", "", MG_OUTCOME_DONE, ALL},
    {"chunked", "POST",
     HEAD_11 JSON "Transfer-Encoding: chunked\r\n\r\n7\r\n{\"id\":\"\r\n5\r\nR-1\"}\r\n0\r\n\r\n",
     "{\"id\":\"R-1\"}", MG_OUTCOME_DONE, ALL},
    {"chunked, with trailers", "POST",
     HEAD_11 JSON "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\nc\r\n{\"id\":\"R-1\"}\r\n"
                  "0\r\nX-Sum: 9\r\nX-More: 1\r\n\r\n",
     "{\"id\":\"R-1\"}", MG_OUTCOME_DONE, ALL},
    {"chunked, no JSON", "POST", HEAD_11 JSON "Transfer-Encoding: Chunked\r\n\r\n6\r\n{\"id\":\r\n0\r\n\r\n",
     "", MG_OUTCOME_DONE, ALL},
    {"no content", "DELETE", "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", "", MG_OUTCOME_DONE, ALL},
    {"no content, JSON announced", "DELETE", "HTTP/1.1 204 No Content\r\n" JSON "\r\n", "", MG_OUTCOME_DONE,
     ALL},
    {"interim", "POST",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" HEAD_11
     "Content-Length: 2\r\n\r\n{}",
     "{}", MG_OUTCOME_DONE, ALL},
    {"interim, then no content", "POST",
     "HTTP/1.1 102 Processing\r\nX: 1\r\n\r\nHTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", "",
     MG_OUTCOME_DONE, ALL},
    {"close", "POST", HEAD_11 JSON "\r\n{\"id\":\"R-1\"}", "{\"id\":\"R-1\"}", MG_OUTCOME_DONE, ALL},
    {"close, other JSON", "POST",
     HEAD_11
     "Content-Type: Application/Problem+JSON; charset=utf-8\r\nConnection: close\r\n\r\n[1,{\"a\":[2]}]",
     "[1,{\"a\":[2]}]", MG_OUTCOME_DONE, ALL},
    {"close, HTTP/1.0", "POST", "HTTP/1.0 200 OK\r\n" JSON "\r\n\"R-1\"", "\"R-1\"", MG_OUTCOME_DONE, ALL},
    {"close, identity", "POST", HEAD_11 JSON "Transfer-Encoding: identity\r\n\r\n\"R-1\"", "\"R-1\"",
     MG_OUTCOME_DONE, ALL},
    {"close, a number", "POST", HEAD_11 JSON "\r\n1400\n", "1400", MG_OUTCOME_DONE, ALL},
    {"close, 202", "POST", "HTTP/1.1 202 Accepted\r\n" JSON "\r\n[1]", "[1]", MG_OUTCOME_ACCEPTED, ALL},
    {"length, HTTP/1.0", "POST", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", MG_OUTCOME_DONE,
     ALL},
    {"close, text", "POST", HEAD_11 "Content-Type: text/plain\r\n\r\nit is done", "", MG_OUTCOME_DONE,
     FROM_HEAD},
    {"close, no type", "POST", HEAD_11 "Server: x\r\n\r\nit is done", "", MG_OUTCOME_DONE, FROM_HEAD},
    {"close, no type, JSON", "POST", HEAD_11 "Server: x\r\n\r\n{\"id\":\"R-1\"}", "{\"id\":\"R-1\"}",
     MG_OUTCOME_DONE, HEAD_OR_ALL},
    {"head only", "HEAD", HEAD_11 JSON "\r\n", "", MG_OUTCOME_DONE, ALL},
    {"refusal", "POST", "HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\nno", "", MG_OUTCOME_PERMANENT, ALL},
    {"refusal without a body", "POST", "HTTP/1.0 422 No\r\n" JSON "\r\n", "", MG_OUTCOME_PERMANENT, ALL},
};

static struct {
    size_t len; /* of the answer; the rest is cut off */
    bool is_reset;
} cut;

static void serve_cut(struct server *server, int fd, int number)
{
    (void)number;
    if (!read_request(server, fd)) {
        return;
    }
    (void)http_send(fd, server->answer, cut.len);
    if (cut.is_reset) {
        close_with_reset(fd);
    }
}

static struct {
    const struct mg_service *service;
    struct mg_verdict_of_try verdict;
    enum mg_sent sent;
    char result[RESULT_MAX];
} heard;

/* As the agent's call does: verdict and result, while the answer's slices are valid. */
static void on_cut_answer(void *arg, const struct mg_http_answer *received)
{
    (void)arg;
    struct mg_http_answer answer = *received;
    struct mg_reading reading;
    bool is_truncated = false;
    struct mg_slice result = {NULL, 0};
    heard.sent = answer.sent;
    mg_reading_take(&answer, false, &reading);
    mg_classify_answer(heard.service, MG_KIND_DO, true, &answer, &reading, PATIENT_TIMEOUT_MS,
                       &heard.verdict);
    if (heard.verdict.code[0] == '\0') {
        result = mg_reply_result(heard.service, answer.body, &is_truncated);
    }
    ck_assert(!is_truncated);
    (void)snprintf(heard.result, sizeof(heard.result), "%.*s", (int)result.len,
                   result.data ? result.data : "");
    mg_reading_finish(&reading);
    mg_loop_stop(loop);
}

static void call_cut(struct server *server, const struct cut_case *c, size_t len, bool is_reset)
{
    char url[64];
    struct mg_err err;
    struct mg_http_call *call;
    struct mg_http_request request = post_to(server->port, url);
    request.method = c->method;
    request.is_fresh = true;
    if (strcmp(c->method, "POST") != 0) {
        request.body = (struct mg_slice){0};
    }
    cut.len = len;
    cut.is_reset = is_reset;
    ck_assert_int_eq(mg_http_client_call(client, &request, on_cut_answer, NULL, &call, &err), MG_OK);
    mg_loop_run(loop);
}

/* Whether so many bytes of the answer are a whole one. */
static bool is_whole_at(const struct cut_case *c, size_t len)
{
    const char *end = strstr(c->answer, "\r\n\r\n");
    size_t head_len = end != NULL ? (size_t)(end + 4 - c->answer) : SIZE_MAX;
    return len == strlen(c->answer) || (c->whole == FROM_HEAD && len > head_len) ||
           (c->whole != ALL && len == head_len);
}

/* Returns true if the answer was taken for whole and had all its parts; false if it was broken. */
static bool is_taken(const struct cut_case *c, size_t len)
{
    bool is_good = c->outcome == MG_OUTCOME_DONE || c->outcome == MG_OUTCOME_ACCEPTED;
    if (strcmp(heard.verdict.code, "broken_answer") == 0) {
        ck_assert_int_eq(heard.verdict.outcome, MG_OUTCOME_UNKNOWN);
        ck_assert_int_eq(heard.verdict.executed, MG_EXECUTED_MAYBE);
        ck_assert_str_ne(heard.verdict.text, "");
        return false;
    }
    ck_assert_msg(heard.verdict.outcome == c->outcome, "%s, %zu bytes: %s", c->name, len,
                  mg_outcome_name(heard.verdict.outcome));
    const char *result = c->whole == HEAD_OR_ALL && len < strlen(c->answer) ? "" : c->result;
    ck_assert_msg(strcmp(heard.result, result) == 0, "%s, %zu bytes: result %s", c->name, len, heard.result);
    ck_assert_int_eq(is_good, heard.verdict.code[0] == '\0');
    return true;
}

static struct mg_service *service_make(void)
{
    struct mg_service *service;
    struct mg_err err;
    struct mg_slice text = mg_slice_of("{\"service\":\"s\",\"url\":\"http://h\"}");
    ck_assert_msg(mg_service_parse(text, NULL, &service, &err) == MG_OK, "%s", err.text);
    heard.service = service;
    return service;
}

/* Catches: a head or a body that ends in the middle, taken for an answer that has no result. */
START_TEST(an_answer_cut_anywhere_is_whole_or_broken)
{
    const struct cut_case *c = &CASES[_i];
    struct mg_service *service = service_make();
    struct server server;
    size_t all = strlen(c->answer);
    server_start(&server, serve_cut, c->answer);
    for (size_t len = 0; len <= all; len++) {
        call_cut(&server, c, len, false);
        bool is_whole = is_taken(c, len);
        if (len + 1 == all && strstr(c->answer, "hunked")) {
            continue; /* libcurl may do without the last newline */
        }
        ck_assert_msg(is_whole == is_whole_at(c, len), "%s, cut after %zu of %zu bytes: %s", c->name, len,
                      all, heard.verdict.code);
    }
    server_stop(&server);
    mg_service_destroy(service);
}
END_TEST

/* A reset may discard bytes that came before it, so all bytes need not be enough here. */
START_TEST(an_answer_reset_anywhere_is_whole_or_broken)
{
    const struct cut_case *c = &CASES[_i];
    struct mg_service *service = service_make();
    struct server server;
    size_t all = strlen(c->answer);
    server_start(&server, serve_cut, c->answer);
    for (size_t len = 0; len <= all; len++) {
        call_cut(&server, c, len, true);
        ck_assert_msg(!is_taken(c, len) || is_whole_at(c, len) || c->whole == FROM_HEAD,
                      "%s, reset after %zu of %zu bytes", c->name, len, all);
    }
    server_stop(&server);
    mg_service_destroy(service);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_cut");
    TCase *cases = tcase_create("cuts");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 2.0 * GUARD_MS / 1000);
    tcase_add_loop_test(cases, an_answer_cut_anywhere_is_whole_or_broken, 0, COUNT(CASES));
    tcase_add_loop_test(cases, an_answer_reset_anywhere_is_whole_or_broken, 0, COUNT(CASES));
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
