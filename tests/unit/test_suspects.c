/* Consumption while messages in hand may crash their handlers. */
#include "core/suspects.h"

#include "suite.h"

static struct mg_suspects suspects;

static void setup(void)
{
    suspects = (struct mg_suspects){0};
}

static void came(int consumer, enum mg_suspicion suspicion, bool is_change)
{
    ck_assert_int_eq(mg_suspects_came(&suspects, consumer, suspicion), is_change);
}

static int prefetch(int consumer)
{
    return mg_suspects_prefetch(&suspects, consumer, 256);
}

START_TEST(deliveries_make_a_suspect)
{
    ck_assert_int_eq(mg_suspects_judge(0), MG_SUSPECT_NOT);
    ck_assert_int_eq(mg_suspects_judge(1), MG_SUSPECT_NOT);
    ck_assert_int_eq(mg_suspects_judge(2), MG_SUSPECT_BESIDE);
    ck_assert_int_eq(mg_suspects_judge(4), MG_SUSPECT_BESIDE);
    ck_assert_int_eq(mg_suspects_judge(5), MG_SUSPECT_ISOLATED);
    ck_assert_int_eq(mg_suspects_judge(UINT32_MAX), MG_SUSPECT_ISOLATED);
}
END_TEST

/* Would catch: a process that starts and takes the guilty message together with hundreds of others. */
START_TEST(a_consumer_begins_with_one_message_and_an_innocent_one_opens_it)
{
    ck_assert_int_eq(prefetch(0), 1);
    came(0, MG_SUSPECT_NOT, true);
    came(0, MG_SUSPECT_NOT, false);
    ck_assert_int_eq(prefetch(0), 256);
    ck_assert_int_eq(prefetch(1), 1);
    ck_assert_int_eq(mg_suspects_prefetch(&suspects, 0, 0), 0);
    ck_assert_int_eq(mg_suspects_prefetch(&suspects, 1, 0), 0);
}
END_TEST

/* Would catch: queues that reopen while a suspect is in hand, because messages that were on their way are
 * settled. */
START_TEST(beside_a_suspect_no_innocent_one_opens_a_consumer)
{
    came(0, MG_SUSPECT_NOT, true);
    came(1, MG_SUSPECT_BESIDE, true);
    came(1, MG_SUSPECT_BESIDE, false);
    ck_assert(!mg_suspects_ended(&suspects, MG_SUSPECT_BESIDE));
    came(0, MG_SUSPECT_NOT, false);
    ck_assert_int_eq(prefetch(0), 1);
    ck_assert(!mg_suspects_ended(&suspects, MG_SUSPECT_BESIDE));
    ck_assert_int_eq(prefetch(0), 1); /* the next one may be a suspect */
    came(0, MG_SUSPECT_NOT, true);
    ck_assert_int_eq(prefetch(0), 256);
}
END_TEST

/* Would catch: a queue that is consumed alongside an isolated message, or for ever closed after it. */
START_TEST(beside_an_isolated_one_nothing_is_consumed)
{
    came(0, MG_SUSPECT_BESIDE, true);
    came(0, MG_SUSPECT_ISOLATED, true);
    came(1, MG_SUSPECT_ISOLATED, false);
    ck_assert_int_eq(prefetch(0), 0);
    ck_assert_int_eq(prefetch(1), 0);
    ck_assert(!mg_suspects_ended(&suspects, MG_SUSPECT_ISOLATED));
    ck_assert_int_eq(prefetch(0), 0);
    ck_assert(mg_suspects_ended(&suspects, MG_SUSPECT_ISOLATED));
    ck_assert_int_eq(prefetch(0), 1);
    ck_assert(!mg_suspects_ended(&suspects, MG_SUSPECT_BESIDE));
    ck_assert(!mg_suspects_ended(&suspects, MG_SUSPECT_NOT));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("suspects");
    TCase *tests = tcase_create("suspects");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, deliveries_make_a_suspect);
    tcase_add_test(tests, a_consumer_begins_with_one_message_and_an_innocent_one_opens_it);
    tcase_add_test(tests, beside_a_suspect_no_innocent_one_opens_a_consumer);
    tcase_add_test(tests, beside_an_isolated_one_nothing_is_consumed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
