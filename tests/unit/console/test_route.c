/* Access by role: the one check that every change passes, and the addresses behind it. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "world.h"

#define RESUME      "/api/v1/orders/" ORDER_ID "/resume"
#define RESUME_BODY "{\"reason\": \"the card is good again\", \"version\": 7}"
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

enum who { NOBODY, READER, OPERATOR, WHO_COUNT };
static const char *const CSRFS[] = {"own", "another session's", "", NULL};
static const char *const TYPES[] = {"application/json", "application/json; charset=utf-8", "text/plain",
                                    "multipart/form-data", NULL};
static const char *const SITES[] = {"same-origin", NULL, "same-site", "cross-site", "none"};
static const char *const ORIGINS[] = {ORIGIN, NULL, "http://localhost:9181", "http://evil.example", "null"};
static const char *const HOSTS[] = {HOST, "evil.example", NULL};

struct way {
    enum who who;
    size_t csrf, type, site, origin, host;
};

static unsigned int status_expected(const struct way *way)
{
    bool is_from_here = way->type < 2 && (way->site == 0 || (way->site == 1 && way->origin < 2));
    return way->host != 0       ? 421
           : !is_from_here      ? 403
           : way->who == NOBODY ? 401
           : way->csrf != 0     ? 403
           : way->who == READER ? 403
                                : 0; /* under way */
}

static void way_try(const struct way *way, const struct fake_browser browsers[WHO_COUNT])
{
    struct mg_http_exchange request = fake_post(RESUME, RESUME_BODY);
    int asked = fake.asked;
    fake_use(&request, &browsers[way->who]);
    if (way->who == NOBODY) {
        request.cookie = NULL;
    }
    if (way->csrf != 0) {
        request.csrf =
            way->csrf == 1 ? browsers[way->who == OPERATOR ? READER : OPERATOR].csrf : CSRFS[way->csrf];
    }
    request.type = TYPES[way->type];
    request.site = SITES[way->site];
    request.origin = ORIGINS[way->origin];
    request.host = HOSTS[way->host];
    unsigned int expected = status_expected(way);
    ck_assert_msg(fake_send(&request) == expected && fake.asked == asked + (expected == 0),
                  "who %d, csrf %zu, type %zu, site %zu, origin %zu, host %zu: %u %s", way->who, way->csrf,
                  way->type, way->site, way->origin, way->host, request.status, request.text);
    if (expected == 0) {
        const struct mg_err err = {.text = "not now"};
        fake.question = FAKE_NOTHING;
        fake.noted(fake.arg, &err);
    }
}

#define WAYS (WHO_COUNT * COUNT(CSRFS) * COUNT(TYPES) * COUNT(SITES) * COUNT(ORIGINS) * COUNT(HOSTS))

static size_t digit_take(size_t *number, size_t base)
{
    size_t digit = *number % base;
    *number /= base;
    return digit;
}

static struct way way_of(size_t number)
{
    struct way way;
    way.who = (enum who)digit_take(&number, WHO_COUNT);
    way.csrf = digit_take(&number, COUNT(CSRFS));
    way.type = digit_take(&number, COUNT(TYPES));
    way.site = digit_take(&number, COUNT(SITES));
    way.origin = digit_take(&number, COUNT(ORIGINS));
    way.host = digit_take(&number, COUNT(HOSTS));
    return way;
}

/* Would catch: any way around one of the checks: a reader that changes an order, another site's page with an
 * operator's cookie, a form, an attacker's host name that resolves to the console. */
START_TEST(only_an_operator_changes_anything_and_only_by_our_own_page)
{
    struct fake_browser browsers[WHO_COUNT] = {{.cookie = ""}};
    browsers[READER] = fake_login(TOKEN_READER);
    browsers[OPERATOR] = fake_login(TOKEN_OPERATOR);
    for (size_t number = 0; number < WAYS; number++) {
        const struct way way = way_of(number);
        way_try(&way, browsers);
    }
    /* of all these, an operator's own page: Sec-Fetch-Site counts alone, or else Origin */
    ck_assert_int_eq(fake.asked, 2 * ((int)COUNT(ORIGINS) + 2));
}
END_TEST

static const struct {
    const char *path, *body;
} CHANGES[] = {
    {RESUME, RESUME_BODY},
    {"/api/v1/orders/" ORDER_ID "/restart", RESUME_BODY},
    {"/api/v1/orders/" ORDER_ID "/compensate", RESUME_BODY},
    {"/api/v1/orders/" ORDER_ID "/cancel", RESUME_BODY},
    {"/api/v1/services/payment/pause", RESUME_BODY},
    {"/api/v1/services/payment/resume", RESUME_BODY},
    {"/api/v1/services/payment/limit", "{\"reason\": \"slowly\", \"version\": 1, \"rate\": \"2.5\"}"},
    {"/api/v1/alerts/12/ack", "{\"reason\": \"I look at it\"}"},
    {"/api/v1/dead/drop", "{\"reason\": \"it is old\", \"queue\": \"dead.letters\", \"mark\": \"00\"}"},
    {"/api/v1/dead/requeue", "{\"reason\": \"mended\", \"queue\": \"dead.letters\", \"mark\": \"00\"}"},
    {"/api/v1/bulk", "{\"reason\": \"mended\", \"verb\": \"resume\", \"workflow\": \"pay\", \"orders\": 3,"
                     " \"ticket\": \"t\"}"},
    {"/api/v1/bulk/" BULK_ID "/pause", RESUME_BODY},
    {"/api/v1/bulk/" BULK_ID "/resume", RESUME_BODY},
    {"/api/v1/bulk/" BULK_ID "/stop", RESUME_BODY},
};

/* Would catch: a change with an entry of its own, open to a reader or to a link. */
START_TEST(no_change_is_made_by_a_reader_by_a_link_or_after_logout)
{
    const struct fake_browser reader = fake_login(TOKEN_READER), left = fake_login(TOKEN_OPERATOR);
    struct mg_http_exchange request = fake_post("/api/v1/logout", "{}");
    fake_use(&request, &left);
    ck_assert_uint_eq(fake_send(&request), 200);
    const struct fake_browser operator= fake_login(TOKEN_OPERATOR);
    for (size_t i = 0; i < COUNT(CHANGES); i++) {
        request = fake_post(CHANGES[i].path, CHANGES[i].body);
        fake_use(&request, &reader);
        ck_assert_msg(fake_send(&request) == 403 && strstr(request.text, "rita has read-only access") != NULL,
                      "%s: %s", CHANGES[i].path, request.text);
        request = fake_post(CHANGES[i].path, CHANGES[i].body);
        fake_use(&request, &left);
        ck_assert_msg(fake_send(&request) == 401, "%s: %s", CHANGES[i].path, request.text);
        request = fake_get(CHANGES[i].path);
        fake_use(&request, &operator);
        (void)fake_send(&request);
        ck_assert_int_eq(fake.asked, (int)i);
        request = fake_post(CHANGES[i].path, CHANGES[i].body);
        fake_use(&request, &operator);
        ck_assert_msg(fake_send(&request) == 0 && fake.asked == (int)i + 1, "%s: %s", CHANGES[i].path,
                      request.text);
        fake.question = FAKE_NOTHING;
    }
}
END_TEST

/* Would catch: a read-only console that accepts a change or an anonymous login. */
START_TEST(without_tokens_all_may_read_and_none_may_act)
{
    const struct fake_browser nobody = {.cookie = "", .csrf = ""};
    static const char *const paths[] = {"/api/v1/login", "/api/v1/logout", RESUME};
    ck_assert_str_eq(fake_role(&nobody), "reader");
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct mg_http_exchange request = fake_post(paths[i], RESUME_BODY);
        fake_use(&request, &nobody);
        ck_assert_uint_eq(fake_send(&request), 403);
        ck_assert_ptr_nonnull(strstr(request.text, "read-only"));
    }
    ck_assert_int_eq(fake.asked, 0);
}
END_TEST

/* Would catch: a foreign host name taken for one of the console's, so that a foreign page could read all
 * orders. */
START_TEST(only_hosts_that_are_meant_are_answered)
{
    static const char *const good[] = {"localhost", "LocalHost:1", "127.0.0.1",      "127.9.9.9:80",
                                       "[::1]",     "[::1]:9180",  "orders.example", "ORDERS.example:443"};
    static const char *const bad[] = {"",
                                      "evil.example",
                                      "localhost.evil.example",
                                      "orders.example.evil",
                                      "evil.orders.example",
                                      "[::2]",
                                      "128.0.0.1",
                                      "127.0.0.1.evil.example",
                                      "localhost:80:80",
                                      ":80",
                                      "[::1",
                                      "orders.example ",
                                      "localhost@evil.example",
                                      "0.0.0.0",
                                      "::1:9180:"};
    char long_host[400];
    struct mg_http_exchange request;
    for (size_t i = 0; i < COUNT(good); i++) {
        request = fake_get("/api/v1/me");
        request.host = good[i];
        ck_assert_msg(fake_send(&request) == 200, "%s: %s", good[i], request.text);
    }
    for (size_t i = 0; i < COUNT(bad); i++) {
        request = fake_get("/api/v1/me");
        request.host = bad[i];
        ck_assert_msg(fake_send(&request) == 421, "\"%s\": %s", bad[i], request.text);
    }
    memset(long_host, 'x', sizeof(long_host));
    memcpy(long_host, "localhost", strlen("localhost"));
    long_host[sizeof(long_host) - 1] = '\0';
    request = fake_get("/");
    request.host = long_host;
    ck_assert_uint_eq(fake_send(&request), 421);
}
END_TEST

static const struct {
    const char *path;
    unsigned int status;
    const char *reached, *id; /* NULL: nothing */
} ADDRESSES[] = {
    {"/", 200, "asset", ""},
    {"/nothing", 404, "asset", ""},
    {"/api/v1", 404, "asset", ""},
    {"/api/v1/", 404, NULL, NULL},
    {"/api/v1/live", 200, "live", ""},
    {"/api/v1/dead", 200, "dead", ""},
    {"/api/v1/overview", 200, "overview", ""},
    {"/api/v1/orders", 200, "orders", ""},
    {"/api/v1/orders/", 200, "orders", ""},
    {"/api/v1/orders/a.b", 200, "order", "a.b"},
    {"/api/v1/orders/bad", 400, "order", "bad"},
    {"/api/v1/orders/a/resume", 404, NULL, NULL},
    {"/api/v1/orders/a/resume/more", 404, NULL, NULL},
    {"/api/v1/failures", 200, "failures", ""},
    {"/api/v1/failures/x", 404, NULL, NULL},
    {"/api/v1/alerts", 200, "alerts", ""},
    {"/api/v1/services", 200, "services", ""},
    {"/api/v1/workflows", 200, "workflows", ""},
    {"/api/v1/workflows/sale", 200, "workflow", "sale"},
    {"/api/v1/audit", 200, "audit", ""},
    {"/api/v1/bulk", 200, "bulk_list", ""},
    {"/api/v1/bulk/x", 200, "bulk", "x"},
    {"/api/v1/choice", 200, "choice", ""},
    {"/api/v1/find", 200, "find", ""},
    {"/api/v1/login", 404, NULL, NULL},
};

static void assert_address(const struct fake_browser *browser, size_t i)
{
    struct mg_http_exchange request = fake_get(ADDRESSES[i].path);
    fake_use(&request, browser);
    ck_assert_msg(fake_send(&request) == ADDRESSES[i].status, "%s: %u", ADDRESSES[i].path, request.status);
    if (ADDRESSES[i].reached == NULL) {
        ck_assert_msg(fake.reached == NULL, "%s: %s", ADDRESSES[i].path, fake.reached);
        return;
    }
    ck_assert_msg(fake.reached != NULL, "%s", ADDRESSES[i].path);
    ck_assert_str_eq(fake.reached, ADDRESSES[i].reached);
    ck_assert_str_eq(fake.reached_id, ADDRESSES[i].id);
}

/* Would catch: a page that is shown without a login, or at another page's address. */
START_TEST(each_address_has_its_page_for_those_with_the_right)
{
    const struct fake_browser reader = fake_login(TOKEN_READER);
    for (size_t i = 0; i < COUNT(ADDRESSES); i++) {
        assert_address(&reader, i);
        struct mg_http_exchange request = fake_get(ADDRESSES[i].path);
        bool is_data = strncmp(ADDRESSES[i].path, "/api/v1/", strlen("/api/v1/")) == 0;
        unsigned int status = is_data ? 401 : ADDRESSES[i].status;
        ck_assert_msg(fake_send(&request) == status, "%s: %u", ADDRESSES[i].path, request.status);
        ck_assert(!is_data || fake.reached == NULL);
    }
}
END_TEST

/* Would catch: a part of an address that is cut and then names another order. */
START_TEST(a_part_of_an_address_is_taken_whole_or_not)
{
    char path[600] = "/api/v1/orders/", longest[MG_PATH_PART_SIZE];
    const struct fake_browser reader = fake_login(TOKEN_READER);
    memset(longest, 'a', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    size_t head = strlen(path);
    memcpy(path + head, longest, sizeof(longest));
    struct mg_http_exchange request = fake_get(path);
    fake_use(&request, &reader);
    ck_assert_uint_eq(fake_send(&request), 200);
    ck_assert_str_eq(fake.reached_id, longest);
    memcpy(path + head + strlen(longest), "a", sizeof("a"));
    request = fake_get(path);
    fake_use(&request, &reader);
    ck_assert_uint_eq(fake_send(&request), 404);
    ck_assert_ptr_null(fake.reached);
}
END_TEST

/* Would catch: a change by a method that a proxy or a browser takes for harmless, or that no check covers. */
START_TEST(other_methods_are_refused)
{
    static const char *const methods[] = {"PUT", "DELETE", "PATCH", "OPTIONS", "post", "TRACE"};
    const struct fake_browser operator= fake_login(TOKEN_OPERATOR);
    for (size_t i = 0; i < COUNT(methods); i++) {
        struct mg_http_exchange request = fake_post(RESUME, RESUME_BODY);
        fake_use(&request, &operator);
        request.method = methods[i];
        ck_assert_msg(fake_send(&request) == 405, "%s", methods[i]);
    }
    struct mg_http_exchange request = fake_post("/", "{}");
    fake_use(&request, &operator);
    ck_assert_uint_eq(fake_send(&request), 405);
    request = fake_get("/api/v1/orders");
    fake_use(&request, &operator);
    request.method = "HEAD";
    ck_assert_uint_eq(fake_send(&request), 200);
    ck_assert_int_eq(fake.asked, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("console route");
    TCase *tests = tcase_create("with tokens"), *open = tcase_create("without tokens");
    tcase_add_checked_fixture(tests, fake_begin, fake_finish);
    tcase_add_test(tests, only_an_operator_changes_anything_and_only_by_our_own_page);
    tcase_add_test(tests, no_change_is_made_by_a_reader_by_a_link_or_after_logout);
    tcase_add_test(tests, only_hosts_that_are_meant_are_answered);
    tcase_add_test(tests, each_address_has_its_page_for_those_with_the_right);
    tcase_add_test(tests, a_part_of_an_address_is_taken_whole_or_not);
    tcase_add_test(tests, other_methods_are_refused);
    suite_add_tcase(suite, tests);
    tcase_add_checked_fixture(open, fake_begin_without_tokens, fake_finish);
    tcase_add_test(open, without_tokens_all_may_read_and_none_may_act);
    suite_add_tcase(suite, open);
    return run_suite(suite);
}
