/* Which hosts count as this machine. */
#include <check.h>

#include "base/host.h"
#include "suite.h"

static const struct {
    const char *host;
    bool is_loopback;
} HOSTS[] = {
    {"localhost", true},
    {"LocalHost", true},
    {"127.0.0.1", true},
    {"127.200.3.4", true},
    {"::1", true},
    {"[::1]", true},
    {"::ffff:127.0.0.1", true},
    {"", false},
    {"[", false},
    {"[]", false},
    {"[127.0.0.1]", false},
    {"0.0.0.0", false},
    {"::", false},
    {"128.0.0.1", false},
    {"10.0.0.127", false},
    {"::ffff:10.0.0.1", false},
    {"localhost.example", false},
    {"127.0.0.1.example", false},
    {"rabbitmq", false},
    {"1", false}, /* some resolvers read it as 0.0.0.1 */
    {"a-name-that-is-longer-than-any-address-could-ever-be-written", false},
};

/* Catches: a name or address taken for loopback, so that a password leaves the machine in plain text. */
START_TEST(only_loopback_counts)
{
    ck_assert_int_eq(mg_host_is_loopback(HOSTS[_i].host), HOSTS[_i].is_loopback);
}
END_TEST

static const struct {
    const char *host, *origin;
    bool is_same;
} ORIGINS[] = {
    {"console.test", "https://console.test", true},
    {"console.test", "http://console.test", true},
    {"Console.TEST", "https://console.test", true},
    {"console.test.", "https://console.test", true},
    {"console.test:443", "https://console.test", true},
    {"console.test:80", "http://console.test", true},
    {"console.test:9180", "https://console.test:9180", true},
    {"[::1]:9180", "http://[0:0::1]:9180", true},
    {"[2001:DB8::1]", "https://[2001:db8::1]:443", true},
    {"127.0.0.1:9180", "http://127.0.0.1:9180", true},
    {"console.test:80", "https://console.test", false},
    {"console.test", "https://console.test:9180", false},
    {"console.test:9181", "https://console.test:9180", false},
    {"evil.test", "https://console.test", false},
    {"console.test", "https://console.test.evil", false},
    {"console.test", "null", false},
    {"console.test", "https://me@console.test", false},
    {"console.test", "https://", false},
    {"console.test:", "https://console.test", false},
    {"console.test:65536", "https://console.test", false},
    {"[::1", "http://[::1]", false},
    {"", "https://", false},
};

/* Catches: a login refused behind a proxy that writes the same name in another way; another name taken for
 * it. */
START_TEST(an_origin_is_compared_with_a_host_as_a_name)
{
    ck_assert_msg(mg_host_is_of_origin(ORIGINS[_i].host, ORIGINS[_i].origin) == ORIGINS[_i].is_same, "%s %s",
                  ORIGINS[_i].host, ORIGINS[_i].origin);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host");
    TCase *tests = tcase_create("host");
    tcase_add_loop_test(tests, only_loopback_counts, 0, sizeof(HOSTS) / sizeof(HOSTS[0]));
    tcase_add_loop_test(tests, an_origin_is_compared_with_a_host_as_a_name, 0,
                        sizeof(ORIGINS) / sizeof(ORIGINS[0]));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
