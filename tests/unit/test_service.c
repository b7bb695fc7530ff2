/* Service files: their defaults, their URL and headers, and the meaning of an HTTP status. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/service.h"
#include "suite.h"
#include "wire/reply.h"

static struct mg_service *parse(const char *members)
{
    char text[2048];
    struct mg_err err = {MG_OK, ""};
    struct mg_service *service = NULL;
    (void)snprintf(text, sizeof(text), "{\"service\":\"payment\",\"url\":\"http://127.0.0.1:8082\"%s}",
                   members);
    ck_assert_msg(mg_service_parse(mg_slice_of(text), NULL, &service, &err) == MG_OK, "%s", err.text);
    return service;
}

/* Catches: a default that differs from the documented one of the schema. */
START_TEST(absent_members_have_the_documented_defaults)
{
    struct mg_service *s = parse("");
    ck_assert_str_eq(s->name, "payment");
    ck_assert_str_eq(s->url, "http://127.0.0.1:8082");
    ck_assert_ptr_null(s->headers[0]);
    ck_assert_int_eq(s->tries, 3);
    ck_assert_int_eq(s->try_timeout_ms, 0);
    ck_assert_int_eq(s->try_backoff_ms, 100);
    ck_assert_int_eq(s->try_max_backoff_ms, 2000);
    ck_assert_int_eq(s->concurrency, 64);
    ck_assert_double_eq(s->rate_per_s, 0);
    ck_assert_double_eq(s->breaker.failure_ratio, 0.5);
    ck_assert_int_eq(s->breaker.min_calls, 20);
    ck_assert_int_eq(s->breaker.window_ms, 10000);
    ck_assert_int_eq(s->breaker.open_ms, 5000);
    ck_assert_int_eq(s->breaker.probes, 1);
    ck_assert_uint_eq(s->result_max_bytes, MG_RESULT_MAX_DEFAULT);
    ck_assert_uint_eq(s->answer_max_bytes, 1024 * 1024);
    ck_assert_ptr_null(s->result_pointer);
    ck_assert_str_eq(s->error.code[0], "/code");
    ck_assert_str_eq(s->error.code[1], "/error/code");
    ck_assert_ptr_null(s->error.code[2]);
    ck_assert_str_eq(s->error.text[0], "/message");
    ck_assert_str_eq(s->error.text[4], "/detail");
    ck_assert_ptr_null(s->error.text[5]);
    ck_assert_uint_eq(s->error.keep_bytes, 2048);
    ck_assert(!s->is_fresh_connection);
    ck_assert_ptr_null(s->proxy);
    mg_service_destroy(s);
}
END_TEST

START_TEST(every_member_is_read)
{
    char folder[512], text[8192];
    struct mg_err err = {MG_OK, ""};
    struct mg_service *s = NULL;
    (void)snprintf(folder, sizeof(folder), "%s/proto/examples/service", MG_SOURCE_DIR);
    ck_assert_int_eq(chdir(folder), 0);
    FILE *file = fopen("valid/full.json", "re");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof(text), file);
    (void)fclose(file); /* only read */
    ck_assert_msg(mg_service_parse((struct mg_slice){text, len}, NULL, &s, &err) == MG_OK, "%s", err.text);
    ck_assert_str_eq(s->url, "https://payment.example:8443/api");
    ck_assert_str_eq(s->headers[0], "Accept: application/json");
    ck_assert_str_eq(s->headers[1], "Authorization: Bearer not-a-secret");
    ck_assert_ptr_null(s->headers[2]);
    ck_assert_str_eq(s->proxy, "http://proxy.example:3128");
    ck_assert_str_eq(s->ca_file, "/etc/makegood/ca.pem");
    ck_assert_str_eq(s->client_cert_file, "/etc/makegood/agent.pem");
    ck_assert_str_eq(s->client_key_file, "/etc/makegood/agent.key");
    ck_assert_int_eq(s->concurrency, 32);
    ck_assert_int_eq(s->try_timeout_ms, 2000);
    ck_assert_double_eq(s->rate_per_s, 50.5);
    ck_assert_str_eq(s->result_pointer, "/data");
    ck_assert_uint_eq(s->result_max_bytes, 16384);
    ck_assert_str_eq(s->error.code[0], "/fault/code");
    ck_assert_str_eq(s->error.code[1], "/code");
    ck_assert_ptr_null(s->error.code[2]);
    ck_assert_str_eq(s->error.text[0], "/fault/text");
    ck_assert_ptr_null(s->error.text[1]);
    ck_assert_uint_eq(s->error.keep_bytes, 512);
    ck_assert_int_eq(s->rule_count, 4);
    mg_service_destroy(s);
}
END_TEST

/* Catches: a call in plaintext over the network, since the service itself is on this machine or behind TLS.
 */
START_TEST(plaintext_to_a_proxy_is_judged_by_the_proxy_s_place)
{
    static const struct {
        const char *url, *proxy;
        bool is_plaintext;
    } CASES[] = {{"http://127.0.0.1:1", "http://gate:3128", true},
                 {"http://127.0.0.1:1", "http://127.0.0.1:3128", false},
                 {"https://shop.example", "http://gate:3128", false},
                 {"http://shop.example", "http://127.0.0.1:3128", true}};
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char text[256];
        struct mg_err err = {MG_OK, ""};
        struct mg_service *s = NULL;
        int len = snprintf(text, sizeof(text), "{\"service\":\"shop\",\"url\":\"%s\",\"proxy\":\"%s\"}",
                           CASES[i].url, CASES[i].proxy);
        ck_assert_msg(mg_service_parse((struct mg_slice){text, (size_t)len}, NULL, &s, &err) == MG_OK, "%s",
                      err.text);
        ck_assert_int_eq(s->endpoint.is_plaintext, CASES[i].is_plaintext);
        ck_assert_int_eq(mg_service_set_url(s, "http://127.0.0.1:2", &err), MG_OK);
        ck_assert_int_eq(s->endpoint.is_plaintext, strstr(CASES[i].proxy, "gate") != NULL);
        mg_service_destroy(s);
    }
}
END_TEST

static const struct {
    const char *error, *fault; /* the pointer and the beginning of the text */
} ERRORS[] = {
    {"\"/code\"", "/error: a string"},
    {"{\"kept\":1}", "/error/kept: "},
    {"{\"code\":7}", "/error/code: a number; a JSON pointer or a list of them is expected"},
    {"{\"code\":\"code\"}", "/error/code: \"code\" is no JSON pointer; write \"/member/"},
    {"{\"code\":\"\"}", "/error/code: \"\" is no JSON pointer"},
    {"{\"text\":\"/a~2\"}", "/error/text: \"/a~2\" is no JSON pointer"},
    {"{\"text\":[\"/a\",\"b\"]}", "/error/text: \"b\" is no JSON pointer"},
    {"{\"text\":[\"/a\",null]}", "/error/text: it holds null; a list of JSON pointers is expected"},
    {"{\"text\":[\"/1\",\"/2\",\"/3\",\"/4\",\"/5\",\"/6\",\"/7\",\"/8\",\"/9\"]}",
     "/error/text: more than 8 JSON pointers"},
    {"{\"keep\":16385}", "/error/keep: "},
    {"{\"keep\":-1}", "/error/keep: "},
    {"{\"keep\":\"2k\"}", "/error/keep: "},
};

/* Catches: a mistake in the places of code and text that shows only when a service refuses. */
START_TEST(a_mistake_in_the_places_of_an_error_is_named)
{
    char text[512];
    struct mg_err err = {MG_OK, ""};
    struct mg_service *s = NULL;
    (void)snprintf(text, sizeof(text), "{\"service\":\"s\",\"url\":\"http://a\",\"error\":%s}",
                   ERRORS[_i].error);
    ck_assert_int_eq(mg_service_parse(mg_slice_of(text), NULL, &s, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, ERRORS[_i].fault) != NULL, "%s", err.text);
}
END_TEST

static const struct {
    const char *url;
    bool is_good;
} URLS[] = {
    {"http://a", true},          {"HTTPS://a.example/base//", true},
    {"http://[::1]:8080", true}, {"http://a:1/b", true},
    {"http://", false},          {"http:///a", false},
    {"http:/a", false},          {"file:///etc/passwd", false},
    {"ftp://a", false},          {"a", false},
    {"http://u@a", false},       {"http://u:p@a", false},
    {"http://a?b", false},       {"http://a/#b", false},
    {"http://a b", false},       {"http://a:99999", false},
    {"http://a\\nb", false},     {"", false},
};

/* Catches: a URL that leads elsewhere than its reader expects. */
START_TEST(only_plain_http_urls_are_taken)
{
    char text[512];
    struct mg_err err = {MG_OK, ""};
    struct mg_service *s = NULL;
    (void)snprintf(text, sizeof(text), "{\"service\":\"s\",\"url\":\"%s\"}", URLS[_i].url);
    enum mg_class class = mg_service_parse(mg_slice_of(text), NULL, &s, &err);
    ck_assert_msg(class == (URLS[_i].is_good ? MG_OK : MG_BAD_INPUT), "%s: %s", URLS[_i].url, err.text);
    if (s != NULL) {
        ck_assert_int_ne(s->url[strlen(s->url) - 1], '/');
    }
    mg_service_destroy(s);
}
END_TEST

static const struct {
    const char *value;  /* the file's content */
    const char *header; /* NULL: refused */
} SECRETS[] = {
    {"secret\n", "X-Key: secret"},
    {"secret\r\n", "X-Key: secret"},
    {"secret", "X-Key: secret"},
    {"", NULL},
    {"\n", NULL},
    {"two\nlines\n", NULL},
    {"a\tb", NULL},
};

static void put(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(content, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

/* Catches: a renewed token that needs a restart, and a mistake in it that takes away the one in use. */
START_TEST(headers_from_files_may_be_read_again)
{
    char path[] = "/tmp/makegood-test-XXXXXX", text[512];
    struct mg_err err = {MG_OK, ""};
    struct mg_service *s = NULL;
    int count = -1, fd = mkstemp(path);
    bool is_new = true;
    ck_assert_int_ge(fd, 0);
    (void)close(fd); /* nothing was written */
    put(path, "one\n");
    (void)snprintf(
        text, sizeof(text),
        "{\"service\":\"s\",\"url\":\"http://a\",\"headers\":{\"X-Given\":\"g\",\"X-Key\":{\"file\":"
        "\"%s\"}}}",
        path);
    ck_assert_int_eq(mg_service_parse(mg_slice_of(text), NULL, &s, &err), MG_OK);
    ck_assert_int_eq(mg_service_reread_headers(s, &count, &is_new, &err), MG_OK);
    ck_assert_int_eq(count, 1);
    ck_assert(!is_new);
    put(path, "two\n");
    ck_assert_int_eq(mg_service_reread_headers(s, &count, &is_new, &err), MG_OK);
    ck_assert(is_new);
    ck_assert_str_eq(s->headers[0], "X-Given: g");
    ck_assert_str_eq(s->headers[1], "X-Key: two");
    put(path, "three\nlines\n");
    ck_assert_int_eq(mg_service_reread_headers(s, &count, &is_new, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "header X-Key: in \"/tmp/") == err.text, "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "three"));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mg_service_reread_headers(s, &count, &is_new, &err), MG_BAD_INPUT);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* without a writer */
    ck_assert_int_eq(mg_service_reread_headers(s, &count, &is_new, &err), MG_BAD_INPUT);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_str_eq(s->headers[1], "X-Key: two");
    mg_service_destroy(s);
}
END_TEST

/* Catches: a secret's file that puts a second header line into every call. */
START_TEST(a_header_from_a_file_is_one_line)
{
    char path[] = "/tmp/makegood-test-XXXXXX", text[512];
    struct mg_err err = {MG_OK, ""};
    struct mg_service *s = NULL;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    size_t len = strlen(SECRETS[_i].value);
    ck_assert_int_eq(write(fd, SECRETS[_i].value, len), (ssize_t)len);
    (void)close(fd); /* the write was seen to be whole */
    (void)snprintf(text, sizeof(text),
                   "{\"service\":\"s\",\"url\":\"http://a\",\"headers\":{\"X-Key\":{\"file\":\"%s\"}}}",
                   path);
    enum mg_class class = mg_service_parse(mg_slice_of(text), NULL, &s, &err);
    (void)unlink(path); /* only tidiness */
    if (SECRETS[_i].header == NULL) {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_msg(strstr(err.text, "/headers/X-Key: in \"/tmp/") != NULL, "%s", err.text);
    } else {
        ck_assert_msg(class == MG_OK, "%s", err.text);
        ck_assert_str_eq(s->headers[0], SECRETS[_i].header);
    }
    mg_service_destroy(s);
}
END_TEST

START_TEST(too_many_headers_and_rules_are_refused)
{
    for (int count = 16; count <= 17; count++) {
        struct mg_buf text;
        struct mg_err err = {MG_OK, ""};
        struct mg_service *s = NULL;
        mg_buf_init(&text, 10000);
        mg_buf_append_text(&text, "{\"service\":\"s\",\"url\":\"http://a\",\"headers\":{");
        for (int i = 0; i < count; i++) {
            mg_buf_printf(&text, "%s\"X-%d\":\"v\"", i > 0 ? "," : "", i);
        }
        mg_buf_append_text(&text, "},\"answers\":{");
        for (int i = 0; i < 2 * count; i++) {
            mg_buf_printf(&text, "%s\"%d\":\"done\"", i > 0 ? "," : "", 400 + i);
        }
        mg_buf_append_text(&text, "}}");
        enum mg_class class = mg_service_parse(mg_buf_slice(&text), NULL, &s, &err);
        ck_assert_msg(class == (count == 16 ? MG_OK : MG_BAD_INPUT), "%s", err.text);
        mg_service_destroy(s);
        mg_buf_finish(&text);
    }
}
END_TEST

#define DO     MG_KIND_DO
#define UNDO   MG_KIND_UNDO
#define VERIFY MG_KIND_VERIFY

static const struct {
    int status;
    enum mg_kind kind;
    bool is_pollable;
    enum mg_outcome outcome;
    enum mg_executed executed;
} DEFAULTS[] = {
    {200, DO, false, MG_OUTCOME_DONE, MG_EXECUTED_YES},
    {204, UNDO, false, MG_OUTCOME_DONE, MG_EXECUTED_YES},
    {299, VERIFY, true, MG_OUTCOME_DONE, MG_EXECUTED_YES},
    {202, DO, false, MG_OUTCOME_DONE, MG_EXECUTED_YES},
    {202, DO, true, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE},
    {202, VERIFY, true, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE},
    {202, UNDO, true, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE},
    {202, UNDO, false, MG_OUTCOME_DONE, MG_EXECUTED_YES},
    {301, DO, false, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE},
    {304, VERIFY, false, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE},
    {400, DO, false, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO},
    {404, DO, false, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO},
    {404, VERIFY, false, MG_OUTCOME_ABSENT, MG_EXECUTED_NO},
    {410, UNDO, false, MG_OUTCOME_ABSENT, MG_EXECUTED_NO},
    {408, DO, false, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE},
    {409, DO, false, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE},
    {425, DO, false, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE},
    {429, UNDO, false, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE},
    {422, DO, false, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO},
    {500, DO, false, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE},
    {599, VERIFY, false, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE},
    {100, DO, false, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE},
    {600, DO, false, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE},
    {0, DO, false, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE},
};

static void classify(const struct mg_service *service, enum mg_kind kind, int status, bool is_pollable,
                     enum mg_outcome *ret_outcome, enum mg_executed *ret_executed)
{
    const struct mg_maybe maybe = mg_service_classify(service, kind, status, is_pollable);
    *ret_outcome = maybe.outcome;
    *ret_executed = maybe.executed;
}

/* Catches: an answer that counts as proof without being one, or the reverse. */
START_TEST(a_status_counts_as_designed)
{
    struct mg_service *s = parse("");
    enum mg_outcome outcome;
    enum mg_executed executed;
    classify(s, DEFAULTS[_i].kind, DEFAULTS[_i].status, DEFAULTS[_i].is_pollable, &outcome, &executed);
    ck_assert_int_eq(outcome, DEFAULTS[_i].outcome);
    ck_assert_int_eq(executed, DEFAULTS[_i].executed);
    mg_service_destroy(s);
}
END_TEST

/* Catches: rules that are skipped, applied in the wrong order, or for the wrong kind. */
START_TEST(the_files_rules_go_first)
{
    struct mg_service *s =
        parse(",\"answers\":{\"4xx\":{\"outcome\":\"transient\",\"executed\":\"no\",\"kinds\":[\"do\"]},"
              "\"409\":\"done\",\"503\":{\"outcome\":\"permanent\",\"executed\":\"maybe\"},"
              "\"404\":{\"outcome\":\"unknown\",\"kinds\":[\"verify\"]},\"200\":\"accepted\"}");
    enum mg_outcome outcome;
    enum mg_executed executed;
    classify(s, DO, 409, false, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_DONE && executed == MG_EXECUTED_YES);
    classify(s, DO, 404, false, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_TRANSIENT && executed == MG_EXECUTED_NO);
    classify(s, VERIFY, 404, false, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_UNKNOWN && executed == MG_EXECUTED_MAYBE);
    classify(s, UNDO, 404, false, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_ABSENT);
    classify(s, DO, 503, false, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_PERMANENT && executed == MG_EXECUTED_MAYBE);
    classify(s, DO, 500, false, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_TRANSIENT && executed == MG_EXECUTED_MAYBE);
    classify(s, DO, 200, false, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_DONE && executed == MG_EXECUTED_YES);
    classify(s, DO, 200, true, &outcome, &executed);
    ck_assert(outcome == MG_OUTCOME_ACCEPTED);
    mg_service_destroy(s);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("service");
    TCase *tests = tcase_create("service");
    tcase_add_test(tests, plaintext_to_a_proxy_is_judged_by_the_proxy_s_place);
    tcase_add_test(tests, absent_members_have_the_documented_defaults);
    tcase_add_test(tests, every_member_is_read);
    tcase_add_loop_test(tests, a_mistake_in_the_places_of_an_error_is_named, 0,
                        sizeof(ERRORS) / sizeof(ERRORS[0]));
    tcase_add_loop_test(tests, only_plain_http_urls_are_taken, 0, COUNT(URLS));
    tcase_add_loop_test(tests, a_header_from_a_file_is_one_line, 0, COUNT(SECRETS));
    tcase_add_test(tests, headers_from_files_may_be_read_again);
    tcase_add_test(tests, too_many_headers_and_rules_are_refused);
    tcase_add_loop_test(tests, a_status_counts_as_designed, 0, COUNT(DEFAULTS));
    tcase_add_test(tests, the_files_rules_go_first);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
