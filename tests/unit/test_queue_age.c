/* The bound of a queue's age, against a queue that is played message by message. */
#include <check.h>
#include <stdbool.h>

#include "base/queue_metrics.h"
#include "suite.h"

static struct mg_queue_age age;

static void set_up(void)
{
    age = (struct mg_queue_age){0};
}

/* Would catch: an age of a queue in which nothing lies. */
START_TEST(an_empty_queue_has_no_age)
{
    ck_assert_int_eq(mg_queue_age_look(&age, 1000, 0, 0, 0), 0);
    ck_assert_int_eq(mg_queue_age_look(&age, 9000, 0, 7, 3), 0);
    ck_assert_int_eq(mg_queue_age_look(&age, 10000, 5, 7, 3), 1000); /* they came after the last look */
}
END_TEST

/* Would catch: a stuck queue that looks young. */
START_TEST(while_nothing_is_taken_it_grows)
{
    ck_assert_int_eq(mg_queue_age_look(&age, 1000, 0, 0, 0), 0);
    for (int64_t now_ms = 2000; now_ms <= 1000000; now_ms += 1000) {
        ck_assert_int_eq(mg_queue_age_look(&age, now_ms, 3, 0, 0), now_ms - 1000);
    }
    ck_assert_int_eq(mg_queue_age_look(&age, 1001000, 0, 3, 0), 0);
}
END_TEST

/* Would catch: a busy queue that is never seen empty and is taken for stuck. */
START_TEST(a_taken_message_makes_it_young_again)
{
    int64_t taken = 0;
    for (int64_t now_ms = 0; now_ms < 3600000; now_ms += 1000) { /* 100 lie there, 60 a second come and go */
        int64_t bound_ms = mg_queue_age_look(&age, now_ms, 100, taken, 0);
        ck_assert_int_le(bound_ms, 2000);
        taken += 60;
    }
}
END_TEST

/* xorshift: the same numbers each time. */
static int draw(uint32_t *state, int below)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (int)(*state % (uint32_t)below);
}

/* Would catch: a bound below the truth, where the first message is older than the reported age. */
START_TEST(it_is_never_below_the_truth)
{
    enum { MESSAGES = 20000, FOUND_MAX = 2000, OLD_MS = 3600000 };
    static int64_t came_ms[MESSAGES];
    for (uint32_t seed = 1; seed <= 50; seed++) {
        int came = 0, taken = 0;
        uint32_t state = seed;
        age = (struct mg_queue_age){0};
        for (int found = draw(&state, FOUND_MAX); came < found;) { /* before the first look */
            came_ms[came++] = -OLD_MS;
        }
        (void)mg_queue_age_look(&age, 0, came, 0, 0);
        for (int64_t now_ms = 0; came < MESSAGES - 40; now_ms += 100) {
            int burst = draw(&state, 40);
            for (int i = 0; i < burst; i++) {
                came_ms[came++] = now_ms;
            }
            bool is_stuck = draw(&state, 4) == 0;
            int most = is_stuck ? 0 : draw(&state, 60);
            taken = taken + most < came ? taken + most : came;
            if (draw(&state, 10) == 0) {
                int64_t bound_ms = mg_queue_age_look(&age, now_ms, came - taken, taken, 0);
                int64_t truth_ms = taken < came ? now_ms - came_ms[taken] : 0;
                ck_assert_msg(!age.is_known || bound_ms >= truth_ms, "seed %u: bound %ld, truth %ld", seed,
                              (long)bound_ms, (long)truth_ms);
                ck_assert(taken < came || bound_ms == 0);
            }
        }
        ck_assert(age.is_known);
    }
}
END_TEST

/* Would catch: memory that grows, or a bound that becomes useless when there are more looks than room. */
START_TEST(many_looks_are_thinned_and_the_bound_stays_close)
{
    /* A million lie there and ten thousand a look are taken: after a hundred looks the first is passed. */
    int64_t taken = 0;
    for (int look = 0; look < 400; look++) {
        int64_t bound_ms = mg_queue_age_look(&age, look * INT64_C(1000), 1000000, taken, 0);
        ck_assert_int_le(age.count, MG_QUEUE_LOOKS_MAX);
        ck_assert_int_ge(bound_ms, look < 100 ? look * 1000 : 100000);
        ck_assert_int_le(bound_ms, look < 100 ? look * 1000 : 108000);
        taken += 10000;
    }
}
END_TEST

/* Would catch: messages on their way, counted as taken from the queue. */
START_TEST(messages_on_their_way_are_waited_for_too)
{
    (void)mg_queue_age_look(&age, 0, 0, 0, 0);
    (void)mg_queue_age_look(&age, 1000, 10, 0, 5);
    ck_assert_int_eq(mg_queue_age_look(&age, 2000, 10, 14, 5), 2000);
    ck_assert_int_eq(mg_queue_age_look(&age, 3000, 10, 15, 5), 2000);
}
END_TEST

/* Would catch: messages that have lain there for hours, with an age that counts from the first look. */
START_TEST(messages_at_the_first_look_are_of_unknown_age)
{
    (void)mg_queue_age_look(&age, 0, 10, 0, 5);
    ck_assert(!age.is_known);
    (void)mg_queue_age_look(&age, 1000, 10, 14, 5);
    ck_assert(!age.is_known); /* one of them may be left */
    ck_assert_int_eq(mg_queue_age_look(&age, 2000, 10, 15, 5), 2000);
    ck_assert(age.is_known);
    ck_assert_int_eq(mg_queue_age_look(&age, 3000, 10, 15, 5), 3000);
    ck_assert(age.is_known); /* for good */
    age = (struct mg_queue_age){0};
    (void)mg_queue_age_look(&age, 4000, 10, 0, 5);
    (void)mg_queue_age_look(&age, 5000, 0, 0, 5);
    ck_assert(age.is_known);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue_age");
    TCase *tests = tcase_create("queue_age");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, an_empty_queue_has_no_age);
    tcase_add_test(tests, while_nothing_is_taken_it_grows);
    tcase_add_test(tests, a_taken_message_makes_it_young_again);
    tcase_add_test(tests, it_is_never_below_the_truth);
    tcase_add_test(tests, many_looks_are_thinned_and_the_bound_stays_close);
    tcase_add_test(tests, messages_on_their_way_are_waited_for_too);
    tcase_add_test(tests, messages_at_the_first_look_are_of_unknown_age);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
