/* The limiter: slots, tokens, and the turn of the two waiting lines. */
#include <check.h>

#include "../suite.h"
#include "io/amqp/broker.h"
#include "serving/limiter.h"

static struct mg_limiter limiter;

START_TEST(no_more_calls_than_slots)
{
    mg_limiter_init(&limiter, 2, 0, 0);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 0), 0);
    mg_limiter_take(&limiter);
    mg_limiter_take(&limiter);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 1000), -1);
    mg_limiter_release(&limiter);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 1000), 0);
}
END_TEST

START_TEST(the_rate_holds_over_time_whatever_the_timer_does)
{
    int calls = 0;
    mg_limiter_init(&limiter, 1000, 50, 0);
    for (int64_t now_ms = 0; now_ms < 10000; now_ms += 7) {
        while (mg_limiter_wait_ms(&limiter, now_ms) == 0) {
            mg_limiter_take(&limiter);
            mg_limiter_release(&limiter);
            calls++;
        }
    }
    ck_assert_int_ge(calls, 500);
    ck_assert_int_le(calls, 506); /* 10 s of 50 a second, and the burst of a tenth of a second */
}
END_TEST

START_TEST(a_quiet_time_saves_up_no_more_than_the_burst)
{
    int calls = 0;
    mg_limiter_init(&limiter, 1000, 100, 0);
    while (mg_limiter_wait_ms(&limiter, 3600000) == 0) {
        mg_limiter_take(&limiter);
        calls++;
    }
    ck_assert_int_eq(calls, 10);
}
END_TEST

START_TEST(the_wait_it_names_is_enough)
{
    mg_limiter_init(&limiter, 10, 0.5, 0);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 0), 0);
    mg_limiter_take(&limiter);
    int64_t wait_ms = mg_limiter_wait_ms(&limiter, 0);
    ck_assert_int_ge(wait_ms, 2000);
    ck_assert_int_le(wait_ms, 2001);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, wait_ms), 0);
}
END_TEST

/* Catches: a wait that overflows, so that the timer is never set and no further call goes out. */
START_TEST(a_rate_next_to_nothing_still_names_a_wait)
{
    mg_limiter_init(&limiter, 1, 1e-300, 0);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 0), 0);
    mg_limiter_take(&limiter);
    mg_limiter_release(&limiter);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 0), 60000);
}
END_TEST

START_TEST(high_goes_first_and_normal_is_not_starved)
{
    int normal = 0;
    mg_limiter_init(&limiter, 1, 0, 0);
    ck_assert(mg_limiter_next_is_high(&limiter, true, true));
    for (int i = 0; i < 50; i++) {
        normal += mg_limiter_next_is_high(&limiter, true, true) ? 0 : 1;
    }
    ck_assert_int_eq(normal, 10);
    ck_assert(!mg_limiter_next_is_high(&limiter, false, true));
    for (int i = 0; i < 50; i++) {
        ck_assert(mg_limiter_next_is_high(&limiter, true, false));
    }
}
END_TEST

START_TEST(prefetch_matches_what_can_be_served_soon)
{
    mg_limiter_init(&limiter, 64, 0, 0);
    ck_assert_int_eq(mg_limiter_prefetch(&limiter), 256);
    mg_limiter_init(&limiter, 16, 0, 0);
    ck_assert_int_eq(mg_limiter_prefetch(&limiter), 19);
    mg_limiter_init(&limiter, 1, 0, 0);
    ck_assert_int_eq(mg_limiter_prefetch(&limiter), 1);
    mg_limiter_init(&limiter, 4096, 0, 0); /* no slot is out of reach */
    ck_assert_int_eq(mg_limiter_prefetch(&limiter), 4096 + 512);
    mg_limiter_init(&limiter, 64, 5, 0);
    ck_assert_int_eq(mg_limiter_prefetch(&limiter), 5);
    mg_limiter_init(&limiter, 64, 0.1, 0);
    ck_assert_int_eq(mg_limiter_prefetch(&limiter), 1);
}
END_TEST

/* Would catch: a limit that drops the calls under way, or that allows a burst whenever it is set. */
START_TEST(another_limit_keeps_what_is_under_way_and_saves_up_nothing)
{
    mg_limiter_init(&limiter, 4, 100, 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 0), 0);
        mg_limiter_take(&limiter);
    }
    mg_limiter_limit(&limiter, 2, 100, 0);
    ck_assert_int_eq(limiter.in_flight, 4);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 1000), -1);
        if (i < 2) {
            mg_limiter_release(&limiter);
        }
    }
    mg_limiter_release(&limiter);
    ck_assert_int_eq(mg_limiter_wait_ms(&limiter, 1000), 0);
    mg_limiter_limit(&limiter, 100, 1000, 1000);
    double tokens = limiter.tokens;
    mg_limiter_take(&limiter);
    mg_limiter_limit(&limiter, 100, 1000, 1000);
    ck_assert_double_le(limiter.tokens, tokens - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent limiter");
    TCase *tcase = tcase_create("limiter");
    tcase_add_test(tcase, no_more_calls_than_slots);
    tcase_add_test(tcase, the_rate_holds_over_time_whatever_the_timer_does);
    tcase_add_test(tcase, a_quiet_time_saves_up_no_more_than_the_burst);
    tcase_add_test(tcase, the_wait_it_names_is_enough);
    tcase_add_test(tcase, a_rate_next_to_nothing_still_names_a_wait);
    tcase_add_test(tcase, high_goes_first_and_normal_is_not_starved);
    tcase_add_test(tcase, prefetch_matches_what_can_be_served_soon);
    tcase_add_test(tcase, another_limit_keeps_what_is_under_way_and_saves_up_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
