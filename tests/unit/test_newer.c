/* The treatment of messages that only a newer version can read. */
#include "core/newer.h"

#include "suite.h"

/* Would catch: a message that goes round for ever, or one that is set aside before another instance has had
 * its turn. */
START_TEST(one_is_left_up_to_the_bound_and_then_set_aside)
{
    for (uint32_t given = 0; given < MG_NEWER_DELIVERIES_MAX; given++) {
        ck_assert_int_eq(mg_newer_judge(given, 0, 256, 5), MG_NEWER_HOLD);
    }
    ck_assert_int_eq(mg_newer_judge(MG_NEWER_DELIVERIES_MAX, 0, 256, 5), MG_NEWER_SET_ASIDE);
    ck_assert_int_eq(mg_newer_judge(UINT32_MAX, 0, 256, 5), MG_NEWER_SET_ASIDE);
}
END_TEST

/* Would catch: a prefetch that is full of messages which wait, so that no other passes. */
START_TEST(most_of_the_prefetch_is_kept_for_others)
{
    ck_assert_int_eq(mg_newer_judge(0, 63, 256, 5), MG_NEWER_HOLD);
    ck_assert_int_eq(mg_newer_judge(0, 64, 256, 5), MG_NEWER_GIVE_BACK);
    ck_assert_int_eq(mg_newer_judge(4, 64, 256, 5), MG_NEWER_GIVE_BACK);
    ck_assert_int_eq(mg_newer_judge(5, 64, 256, 5), MG_NEWER_SET_ASIDE);
    ck_assert_int_eq(mg_newer_judge(14, 768, 768, 15), MG_NEWER_GIVE_BACK);
    ck_assert_int_eq(mg_newer_judge(15, 768, 768, 16), MG_NEWER_SET_ASIDE);
}
END_TEST

/* Would catch: a small prefetch with which each one is given back in a tight loop. */
START_TEST(one_can_wait_however_small_the_prefetch)
{
    ck_assert_int_eq(mg_newer_judge(0, 0, 1, 5), MG_NEWER_HOLD);
    ck_assert_int_eq(mg_newer_judge(0, 0, 0, 5), MG_NEWER_HOLD);
    ck_assert_int_eq(mg_newer_judge(0, 1, 3, 5), MG_NEWER_GIVE_BACK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("newer");
    TCase *tests = tcase_create("newer");
    tcase_add_test(tests, one_is_left_up_to_the_bound_and_then_set_aside);
    tcase_add_test(tests, most_of_the_prefetch_is_kept_for_others);
    tcase_add_test(tests, one_can_wait_however_small_the_prefetch);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
