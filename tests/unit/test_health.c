/* The judgement on a server that lives and does not work. */
#include "dev/dev_run.h"
#include "suite.h"

#define MINUTE 60000
#define BOOT   (10 * MINUTE)

/* Catches: a broken server that is left alone, one that is killed for a moment's failure. */
START_TEST(a_server_that_has_worked_is_broken_after_a_minute)
{
    struct mg_health health = {0};
    ck_assert(!mg_health_take(&health, true, 1000, 2000));
    ck_assert(!mg_health_take(&health, false, 1000, 20 * MINUTE)); /* the machine was suspended */
    ck_assert(!mg_health_take(&health, false, 1000, 21 * MINUTE - 1));
    ck_assert(!mg_health_take(&health, true, 1000, 21 * MINUTE));
    ck_assert(!mg_health_take(&health, false, 1000, 22 * MINUTE));
    ck_assert(mg_health_take(&health, false, 1000, 23 * MINUTE));
}
END_TEST

/* Catches: a server that is killed while it starts, again and again. */
START_TEST(a_server_that_was_started_again_has_time)
{
    struct mg_health health = {0};
    ck_assert(!mg_health_take(&health, true, 1000, 2000));
    ck_assert(!mg_health_take(&health, false, 1000, 3000));
    ck_assert(mg_health_take(&health, false, 1000, 3000 + MINUTE));
    ck_assert(!mg_health_take(&health, false, 4000 + MINUTE, 5000 + MINUTE));
    ck_assert(!mg_health_take(&health, false, 4000 + MINUTE, 5000 + MINUTE + BOOT - 1));
    ck_assert(mg_health_take(&health, false, 4000 + MINUTE, 5000 + MINUTE + BOOT));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("health");
    TCase *tests = tcase_create("health");
    tcase_add_test(tests, a_server_that_has_worked_is_broken_after_a_minute);
    tcase_add_test(tests, a_server_that_was_started_again_has_time);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
