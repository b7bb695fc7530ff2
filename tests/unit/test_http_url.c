/* URLs as libcurl will use them. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "wire/http_url.h"

/* Catches: a collector's address, or a service's in its spans, read as another. */
START_TEST(a_url_is_taken_apart)
{
    struct mg_http_url url;
    ck_assert_int_eq(mg_http_url_parse("http://collector.example:4318/v1/traces", &url), MG_OK);
    ck_assert(url.is_http && url.has_host && url.has_path && !url.has_user && url.is_plaintext);
    ck_assert_str_eq(url.host, "collector.example");
    ck_assert_int_eq(url.port, 4318);
    ck_assert_int_eq(mg_http_url_parse("https://user@h/", &url), MG_OK);
    ck_assert(url.has_user && !url.has_path && !url.is_plaintext);
    ck_assert_int_eq(url.port, 443);
    ck_assert_int_eq(mg_http_url_parse("http://[::1]:80", &url), MG_OK);
    ck_assert_str_eq(url.host, "::1");
    ck_assert(!url.is_plaintext);
    ck_assert_int_eq(mg_http_url_parse("ftp://h/", &url), MG_OK);
    ck_assert(!url.is_http);
    ck_assert_int_eq(mg_http_url_parse("https:///h", &url) == MG_OK && url.has_host, 0);
}
END_TEST

/* Catches: a preset that is overwritten by a URL that could not be read. */
START_TEST(what_is_no_url_leaves_the_answer_untouched)
{
    struct mg_http_url before, url;
    memset(&before, 0x5a, sizeof(before));
    memcpy(&url, &before, sizeof(url));
    ck_assert_int_eq(mg_http_url_parse("nothing", &url), MG_BAD_INPUT);
    ck_assert_mem_eq(&url, &before, sizeof(url));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_url");
    TCase *tests = tcase_create("http_url");
    tcase_add_test(tests, a_url_is_taken_apart);
    tcase_add_test(tests, what_is_no_url_leaves_the_answer_untouched);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
