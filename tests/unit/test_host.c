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

int main(void)
{
    Suite *suite = suite_create("host");
    TCase *tests = tcase_create("host");
    tcase_add_loop_test(tests, only_loopback_counts, 0, sizeof(HOSTS) / sizeof(HOSTS[0]));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
