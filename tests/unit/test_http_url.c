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
START_TEST(a_text_that_is_no_url_leaves_the_answer_untouched)
{
    struct mg_http_url before, url;
    memset(&before, 0x5a, sizeof(before));
    memcpy(&url, &before, sizeof(url));
    ck_assert_int_eq(mg_http_url_parse("nothing", &url), MG_BAD_INPUT);
    ck_assert_mem_eq(&url, &before, sizeof(url));
}
END_TEST

/* Catches: a proxy that libcurl takes for another one: SOCKS, or port 1080 for a port that is not written. */
START_TEST(a_proxy_has_scheme_host_and_port)
{
    static const char *const RIGHT[] = {"http://gate:3128", "http://gate:80/", "http://[::1]:1",
                                        "http://127.0.0.1:8080"};
    static const char *const WRONG[] = {"gate:3128",           "http://gate",
                                        "https://gate:3128",   "socks5h://g:1",
                                        "http://me@gate:3128", "http://gate:3128/a",
                                        "http://g:1?a=b",      "http://:3128",
                                        "http://gate:70000",   ""};
    struct mg_http_url url;
    for (size_t i = 0; i < sizeof(RIGHT) / sizeof(RIGHT[0]); i++) {
        ck_assert_msg(mg_http_proxy_fault(RIGHT[i], &url) == NULL, "%s", RIGHT[i]);
    }
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        ck_assert_msg(mg_http_proxy_fault(WRONG[i], &url) != NULL, "%s", WRONG[i]);
    }
}
END_TEST

/* Catches: an origin that no browser sends, which would permit nothing, in silence. */
START_TEST(an_origin_is_as_browsers_write_it)
{
    static const char *const RIGHT[] = {"https://shop.example.org", "http://localhost:3000", "https://a:8443",
                                        "http://[::1]:8080", "http://10.0.0.1"};
    static const char *const WRONG[] = {
        "*",           "null",        "https://a/",  "https://b:443",       "http://b:80",
        "a.example",   "https://A",   "HTTPS://a",   "https://a b",         "ftp://a",
        "https://*.a", "https://a?b", "https://u@a", "https://a https://b", ""};
    for (size_t i = 0; i < sizeof(RIGHT) / sizeof(RIGHT[0]); i++) {
        ck_assert_msg(mg_http_origin_is(RIGHT[i]), "%s", RIGHT[i]);
    }
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        ck_assert_msg(!mg_http_origin_is(WRONG[i]), "%s", WRONG[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("http_url");
    TCase *tests = tcase_create("http_url");
    tcase_add_test(tests, a_url_is_taken_apart);
    tcase_add_test(tests, a_text_that_is_no_url_leaves_the_answer_untouched);
    tcase_add_test(tests, a_proxy_has_scheme_host_and_port);
    tcase_add_test(tests, an_origin_is_as_browsers_write_it);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
