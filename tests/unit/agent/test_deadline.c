/* What the database's clock says, from requests alone; and what is left of a deadline for a call. */
#include <check.h>

#include "../suite.h"
#include "deadline.h"

/* Boot time 1,000 s is wall time WALL here, and the database's clock stands `behind_ms` behind this
 * machine's. */
#define BOOT INT64_C(1000000)
#define WALL INT64_C(1700000000000)

static struct mg_skew skew;

static void setup(void)
{
    mg_skew_init(&skew, 2000, BOOT);
}

/* A request that took `transit_ms` to come here, arriving `at_ms` after the beginning. */
static void arrive(int64_t at_ms, int64_t behind_ms, int64_t transit_ms, bool is_fresh)
{
    (void)mg_skew_note(&skew, BOOT + at_ms, WALL + at_ms, WALL + at_ms - behind_ms - transit_ms,
                       is_fresh ? MG_SAMPLE_FRESH : MG_SAMPLE_QUEUED);
}

/* The supervisor's word. */
static void hear(int64_t at_ms, int64_t behind_ms, int64_t transit_ms)
{
    (void)mg_skew_note(&skew, BOOT + at_ms, WALL + at_ms, WALL + at_ms - behind_ms - transit_ms,
                       MG_SAMPLE_WORD);
}

static int64_t now_error_ms(int64_t at_ms, int64_t behind_ms)
{
    return mg_skew_now_ms(&skew, BOOT + at_ms, WALL + at_ms) - (WALL + at_ms - behind_ms);
}

START_TEST(without_requests_the_wall_clock_is_believed)
{
    int64_t ahead_ms;
    ck_assert_int_eq(mg_skew_now_ms(&skew, BOOT, WALL), WALL);
    ck_assert(!mg_skew_measure(&skew, BOOT, WALL, &ahead_ms));
}
END_TEST

START_TEST(fresh_requests_show_a_clock_that_is_ahead_and_correct_it)
{
    int64_t ahead_ms;
    for (int i = 0; i < 5; i++) {
        arrive(i * 300, 5000, 3 + i, true);
    }
    ck_assert(mg_skew_measure(&skew, BOOT + 1300, WALL + 1300, &ahead_ms));
    ck_assert_int_eq(ahead_ms, 5003);
    ck_assert_int_eq(now_error_ms(1300, 5000), -3);
    ck_assert(mg_skew_is_known(&skew, BOOT + 1300));
}
END_TEST

START_TEST(a_backlog_is_not_taken_for_a_clock_that_is_ahead)
{
    int64_t ahead_ms;
    for (int i = 0; i < 100; i++) {
        arrive(i, 0, 40000 + i, false);
    }
    ck_assert(!mg_skew_measure(&skew, BOOT + 100, WALL + 100, &ahead_ms));
    ck_assert_int_eq(now_error_ms(100, 0), 0); /* so what is 40 s old is judged 40 s old */
}
END_TEST

START_TEST(one_request_from_the_future_proves_a_clock_that_is_behind)
{
    int64_t ahead_ms;
    arrive(0, -7000, 2, false);
    ck_assert(mg_skew_measure(&skew, BOOT, WALL, &ahead_ms));
    ck_assert_int_eq(ahead_ms, -6998);
    ck_assert_int_eq(now_error_ms(0, -7000), -2);
}
END_TEST

START_TEST(the_least_of_the_last_minute_counts_and_older_ones_do_not)
{
    int64_t ahead_ms;
    for (int i = 0; i < 5; i++) {
        arrive(i * 300, 1000, 1, true);
    }
    for (int i = 0; i < 3; i++) {
        arrive(59000 + i, 1000, 500, true);
    }
    ck_assert(mg_skew_measure(&skew, BOOT + 59500, WALL + 59500, &ahead_ms));
    ck_assert_int_eq(ahead_ms, 1001);
    ck_assert(mg_skew_measure(&skew, BOOT + 61000, WALL + 61000, &ahead_ms));
    ck_assert_int_eq(ahead_ms, 1500);
    ck_assert(!mg_skew_measure(&skew, BOOT + 200000, WALL + 200000, &ahead_ms));
}
END_TEST

START_TEST(what_was_measured_is_kept_for_a_backlog_but_never_beyond_the_limit)
{
    for (int i = 0; i < 5; i++) {
        arrive(i * 300, 1500, 1, true);
    }
    arrive(300000, 1500, 60000, false);
    ck_assert_int_eq(now_error_ms(300000, 1500), -1);
    setup();
    for (int i = 0; i < 5; i++) {
        arrive(i * 300, 600000, 1, true);
    }
    arrive(300000, 600000, 60000, false);
    ck_assert_int_eq(now_error_ms(300000, 600000), 598000); /* in doubt too early, never too late */
}
END_TEST

/* ---- the database's clock goes back ---- */

/* For so long one request every 250 ms; the database's clock is so far behind this machine's. */
static void flow(int64_t from_ms, int64_t to_ms, int64_t behind_ms)
{
    for (int64_t at_ms = from_ms; at_ms < to_ms; at_ms += 250) {
        arrive(at_ms, behind_ms, 2, true);
    }
}

/* The same, and the supervisor is heard once a second. */
static void flow_with_words(int64_t from_ms, int64_t to_ms, int64_t behind_ms)
{
    for (int64_t at_ms = from_ms; at_ms < to_ms; at_ms += 250) {
        arrive(at_ms, behind_ms, 2, true);
        if (at_ms % 1000 == 500) {
            hear(at_ms, behind_ms, 150);
        }
    }
}

/* Catches: an agent that takes every request for late for a minute, because the least difference of that
 * minute is from before the step. */
START_TEST(a_clock_that_went_back_is_noticed_within_a_second)
{
    static const int64_t STEPS_MS[] = {1500, 30000, 3600000};
    for (size_t i = 0; i < sizeof STEPS_MS / sizeof STEPS_MS[0]; i++) {
        setup();
        flow(0, 40000, 0);
        arrive(40000, STEPS_MS[i], 2, true);
        ck_assert_int_eq(now_error_ms(40000, STEPS_MS[i]), STEPS_MS[i] - 2);
        flow_with_words(40250, 41000, STEPS_MS[i]);
        ck_assert_int_eq(now_error_ms(40750, STEPS_MS[i]), -2);
        ck_assert(mg_skew_is_known(&skew, BOOT + 40750));
        flow(41000, 45000, 0); /* and forward again */
        ck_assert_int_eq(now_error_ms(45000, 0), -2);
    }
}
END_TEST

/* Catches: agents that know it only while a supervisor leads, and such as know it only while orders come. */
START_TEST(requests_alone_or_words_alone_show_that_the_clock_went_back)
{
    flow(0, 40000, 0);
    flow(40000, 41000, 30000);
    ck_assert_int_eq(now_error_ms(41000, 30000), 30000 - 2);
    flow(41000, 41250, 30000);
    ck_assert_int_eq(now_error_ms(41250, 30000), -2);
    for (int i = 0; i < 3; i++) {
        hear(50000 + 1000 * i, 60000, 150 - 20 * i);
    }
    ck_assert_int_eq(now_error_ms(52000, 60000), -110);
}
END_TEST

/* Catches: a minute of silence behind a database clock that was far ahead for a moment. */
START_TEST(one_message_of_a_clock_that_was_ahead_for_a_moment_is_forgotten)
{
    flow(0, 40000, 0);
    arrive(40010, -3600000, 2, true);
    ck_assert_int_eq(now_error_ms(40010, 0), 3600000 - 2);
    flow(40250, 41500, 0);
    ck_assert_int_eq(now_error_ms(41500, 0), -2);
}
END_TEST

/* Catches: requests that a broker, a network or a stopped scheduler held up, taken for a clock that went
 * back: the agent would call long after complete-by. */
START_TEST(what_was_held_up_together_is_no_clock_that_went_back)
{
    flow(0, 40000, 0);
    for (int i = 0; i < 500; i++) { /* sent in one moment, given out over a second and a half */
        arrive(70000 + 3 * i, 0, 30000 + 3 * i, true);
    }
    ck_assert_int_eq(now_error_ms(71500, 0), -2);
    flow(75000, 76000, 0);
    for (int i = 0; i < 500; i++) { /* sent over thirty seconds, given out over a second */
        arrive(80000 + 2 * i, 0, 30000 - 58 * i, true);
    }
    ck_assert_int_eq(now_error_ms(81000, 0), -2);
    for (int i = 0; i < 40; i++) { /* like a step, but for one message in between that came as usual */
        arrive(90000 + 100 * i, 0, i % 5 == 4 ? 5 : 20000, true);
    }
    ck_assert_int_eq(now_error_ms(94000, 0), -2);
}
END_TEST

static struct mg_deadline request_of(int64_t received_ms, int64_t sent_ago_ms, int64_t behind_ms,
                                     int64_t within_ms, bool is_fresh)
{
    int64_t sent_at_ms = WALL + received_ms - sent_ago_ms - behind_ms;
    return (struct mg_deadline){.complete_by_ms = sent_at_ms + within_ms,
                                .sent_at_ms = sent_at_ms,
                                .received_boot_ms = BOOT + received_ms,
                                .is_fresh = is_fresh};
}

static enum mg_deadline_verdict judge(struct mg_deadline *deadline, int64_t at_ms)
{
    return mg_deadline_judge(deadline, &skew, BOOT + at_ms, WALL + at_ms);
}

static int64_t left_ms(const struct mg_deadline *deadline, int64_t at_ms)
{
    return mg_deadline_left_ms(deadline, &skew, BOOT + at_ms, WALL + at_ms);
}

/* Catches: a request that is dropped in silence because the clock jumped while it was in hand. */
START_TEST(what_a_fresh_request_has_left_does_not_move_with_any_clock)
{
    flow(0, 10000, 0);
    struct mg_deadline request = request_of(10000, 900, 0, 5000, true);
    ck_assert_int_eq(judge(&request, 10000), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 10000), 5000);
    flow_with_words(10000, 12000, -3600000);
    ck_assert_int_eq(left_ms(&request, 12000), 3000);
    flow_with_words(12000, 14000, 3600000);
    ck_assert_int_eq(left_ms(&request, 14000), 1000);
    ck_assert_int_eq(judge(&request, 14999), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(judge(&request, 15000), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: attempts that are burnt by the first requests after the step. */
START_TEST(a_request_of_a_clock_that_went_back_is_held_until_that_is_known_and_then_called)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(40000, 2, 30000, 5000, true);
    arrive(40000, 30000, 2, true);
    ck_assert_int_eq(judge(&request, 40000), MG_DEADLINE_IN_DOUBT);
    /* A scheduler that does not know of the step yet speaks against it. */
    arrive(40100, 0, 2, true);
    ck_assert_int_eq(judge(&request, 40100), MG_DEADLINE_IN_DOUBT);
    flow(40200, 41450, 30000);
    ck_assert_int_eq(judge(&request, 41450), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 41450), 3550);
}
END_TEST

/* Catches: requests that are not called because the clock was set forward while they were on their way. */
START_TEST(a_request_of_before_a_step_forward_has_the_time_that_its_sender_gave_it)
{
    flow(0, 40000, 3600000);
    arrive(40000, 0, 2, true); /* the step */
    struct mg_deadline fresh = request_of(40050, 100, 3600000, 5000, true);
    ck_assert_int_eq(judge(&fresh, 40050), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&fresh, 40050), 5000);
    flow(40100, 44000, 0);
    struct mg_deadline queued = request_of(44000, 4500, 3600000, 5000, false);
    ck_assert_int_eq(judge(&queued, 44000), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&queued, 44000), 502);
    queued = request_of(44000, 5500, 3600000, 5000, false);
    ck_assert_int_eq(judge(&queued, 44000), MG_DEADLINE_LATE);
    struct mg_deadline of_new_clock = request_of(44000, 3500, 0, 3000, false);
    ck_assert_int_eq(judge(&of_new_clock, 44000), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: a call after complete-by, since a clock went forward some time ago and back again. */
START_TEST(a_step_forward_that_was_taken_back_spares_nothing)
{
    flow(0, 40000, 0);
    flow_with_words(40000, 42000, -20000);
    flow_with_words(42000, 45000, 0);
    struct mg_deadline queued = request_of(45000, 6000, 0, 5000, false);
    ck_assert_int_eq(judge(&queued, 45000), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: a call an hour after complete-by, of what waited in a queue while the clock went back by an hour.
 */
START_TEST(what_waited_in_a_queue_since_a_clock_was_ahead_is_not_called)
{
    flow(0, 40000, 0);
    struct mg_deadline queued = request_of(40000, 1200000, -3600000, 5000, false);
    arrive(40000, -3600000, 1200000, false);
    ck_assert_int_eq(now_error_ms(40000, 0), -2);
    ck_assert_int_eq(judge(&queued, 40000), MG_DEADLINE_NOT_CALLED);
    ck_assert_int_eq(left_ms(&queued, 40000), 5000);                       /* for the answer */
    struct mg_deadline fresh = request_of(50000, 2, -3600000, 5000, true); /* now it is ahead again */
    arrive(50000, -3600000, 2, true);
    ck_assert_int_eq(judge(&fresh, 50000), MG_DEADLINE_IN_TIME);
}
END_TEST

/* Catches: a call after complete-by behind an outage, since the first message after it came sooner. */
START_TEST(a_backlog_that_gets_shorter_is_no_step_forward)
{
    for (int i = 0; i < 20; i++) { /* to a machine whose own clock is a minute behind */
        arrive(i, -60000, 40000 - 1500 * i, false);
    }
    flow(100, 1100, -60000);
    struct mg_deadline queued = request_of(1100, 13000, -60000, 5000, false);
    ck_assert_int_eq(judge(&queued, 1100), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: a call long after complete-by, when a stopped scheduler goes on and its last messages arrive. */
START_TEST(a_fresh_request_that_was_held_up_is_not_called_as_soon_as_that_is_known)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(40000, 30000, 0, 5000, true);
    arrive(40000, 0, 30000, true);
    ck_assert_int_eq(judge(&request, 40000), MG_DEADLINE_IN_DOUBT);
    flow(40250, 41000, 0);
    ck_assert_int_eq(judge(&request, 40999), MG_DEADLINE_IN_DOUBT);
    flow(41000, 41250, 0);
    ck_assert_int_eq(judge(&request, 41250), MG_DEADLINE_NOT_CALLED);
    ck_assert_int_eq(left_ms(&request, 41250), 3750); /* for the answer */
}
END_TEST

/* Catches: a request in doubt that is held until its attempt is burnt, or called with too little time left.
 */
START_TEST(without_any_other_word_doubt_ends_with_half_of_the_time_or_after_three_seconds)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(40000, 30000, 0, 5000, true);
    arrive(40000, 0, 30000, true);
    ck_assert_int_eq(judge(&request, 42400), MG_DEADLINE_IN_DOUBT);
    struct mg_deadline untold = request;
    ck_assert_int_eq(judge(&request, 42401), MG_DEADLINE_NOT_CALLED);
    ck_assert_int_eq(left_ms(&request, 42401), 2599);
    ck_assert_int_eq(judge(&untold, 45000), MG_DEADLINE_LATE);
    request = request_of(40000, 30000, 0, 20000, true);
    ck_assert_int_eq(judge(&request, 42999), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 43000), MG_DEADLINE_NOT_CALLED);
}
END_TEST

/* Catches: a full queue behind an outage that is held up further, one prefetch every few seconds. */
START_TEST(what_waited_in_a_queue_is_late_at_once_where_the_clock_was_seen_of_late)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(40000, 30000, 0, 5000, false);
    ck_assert_int_eq(judge(&request, 40000), MG_DEADLINE_LATE);
    request = request_of(50000, 30000, 0, 5000, false); /* nothing was seen for 10 s */
    ck_assert_int_eq(judge(&request, 50000), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 52999), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 53000), MG_DEADLINE_LATE);
    arrive(60000, 30000, 2, true); /* a step, perhaps */
    request = request_of(60000, 2, 30000, 5000, false);
    ck_assert_int_eq(judge(&request, 60000), MG_DEADLINE_IN_DOUBT);
    flow_with_words(60250, 61000, 30000);
    ck_assert_int_eq(judge(&request, 60750), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 60750), 4250);
}
END_TEST

/* Nothing was seen of late; a request that waited comes, is in doubt, and nothing speaks for it. */
static void doubt_run_out(void)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(50000, 30000, 0, 5000, false);
    ck_assert_int_eq(judge(&request, 50000), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 53000), MG_DEADLINE_LATE);
}

/* Catches: a backlog that never ends, where one request at a time may be in hand: each is held for so long
 * that those behind it come late, too. */
START_TEST(a_backlog_costs_one_doubt)
{
    doubt_run_out();
    for (int64_t at_ms = 53002; at_ms < 54500; at_ms += 2) {
        struct mg_deadline next = request_of(at_ms, 30000, 0, 20000, false);
        ck_assert_int_eq(judge(&next, at_ms), MG_DEADLINE_LATE);
    }
    struct mg_deadline later = request_of(54500, 30000, 0, 20000, false);
    ck_assert_int_eq(judge(&later, 54500), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&later, 57499), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&later, 57500), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: the same, where requests have less time than a doubt. */
START_TEST(a_backlog_of_short_requests_costs_one_doubt)
{
    flow(0, 40000, 0);
    for (int64_t at_ms = 50000; at_ms < 53000; at_ms += 1000) {
        struct mg_deadline brief = request_of(at_ms, 5000, 0, 1000, false);
        ck_assert_int_eq(judge(&brief, at_ms), MG_DEADLINE_IN_DOUBT);
        ck_assert_int_eq(judge(&brief, at_ms + 1000), MG_DEADLINE_LATE);
    }
    struct mg_deadline next = request_of(53000, 5000, 0, 1000, false);
    ck_assert_int_eq(judge(&next, 53000), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: attempts that are burnt behind a backlog, after the clock went back. */
START_TEST(a_doubt_that_ran_out_says_nothing_of_a_later_step)
{
    doubt_run_out();
    struct mg_deadline request = request_of(53500, 2, 3600000, 5000, false); /* older than those before it */
    ck_assert_int_eq(judge(&request, 53500), MG_DEADLINE_IN_DOUBT);
    flow(53600, 54850, 3600000);
    ck_assert_int_eq(judge(&request, 54850), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 54850), 3650);
}
END_TEST

/* Catches: attempts that are burnt just before the last of the words that prove a step. */
START_TEST(no_doubt_has_run_out_while_messages_show_a_step)
{
    flow(0, 40000, 0);
    struct mg_deadline first = request_of(50000, 2, 30000, 20000, false);
    ck_assert_int_eq(judge(&first, 50000), MG_DEADLINE_IN_DOUBT);
    hear(51020, 30000, 150);
    hear(52020, 30000, 150);
    ck_assert_int_eq(judge(&first, 53000), MG_DEADLINE_LATE);
    struct mg_deadline next = request_of(53005, 1000, 30000, 20000, false);
    ck_assert_int_eq(judge(&next, 53005), MG_DEADLINE_IN_DOUBT);
    hear(53020, 30000, 150);
    ck_assert_int_eq(judge(&next, 53105), MG_DEADLINE_IN_TIME);
}
END_TEST

/* Catches: a backlog that never ends, since one message was held up long ago and none has come since. */
START_TEST(one_message_of_long_ago_shows_no_step)
{
    flow(0, 40000, 0);
    arrive(41000, 0, 30000, true);
    struct mg_deadline request = request_of(50000, 30000, 0, 5000, false);
    ck_assert_int_eq(judge(&request, 50000), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 53000), MG_DEADLINE_LATE);
    request = request_of(53002, 30000, 0, 5000, false);
    ck_assert_int_eq(judge(&request, 53002), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: more time than the sender gave, from a wall clock that is behind and the only one there is. */
START_TEST(no_clock_gives_a_request_more_than_its_sender_did)
{
    struct mg_deadline request = request_of(0, 0, -60000, 5000, false);
    ck_assert_int_eq(judge(&request, 0), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 0), 5000);
    ck_assert_int_eq(judge(&request, 5000), MG_DEADLINE_LATE);
}
END_TEST

START_TEST(a_wall_clock_that_jumps_does_not_move_a_measured_database_clock)
{
    for (int i = 0; i < 3; i++) {
        arrive(i, 0, 1, true);
    }
    int64_t jumped_ms = mg_skew_now_ms(&skew, BOOT + 1000, WALL + 1000 + 3600000);
    ck_assert_int_eq(jumped_ms, WALL + 1000 - 1);
}
END_TEST

/* Catches: an agent that is stopped right after it began, and takes what waited for it for fresh. */
START_TEST(who_stood_still_before_the_first_turn_knows_it)
{
    ck_assert(mg_skew_stood_still(&skew, BOOT + MG_STANDSTILL_MS + 1));
    ck_assert(!mg_skew_stood_still(&skew, BOOT + 2 * MG_STANDSTILL_MS + 1));
}
END_TEST

START_TEST(the_budget_keeps_a_margin_and_is_never_more_than_what_is_left)
{
    ck_assert_int_eq(mg_deadline_budget_ms(10000), 9750);
    ck_assert_int_eq(mg_deadline_budget_ms(400), 300);
    ck_assert_int_eq(mg_deadline_budget_ms(1), 1);
    ck_assert_int_eq(mg_deadline_budget_ms(0), 0);
    ck_assert_int_eq(mg_deadline_budget_ms(-5), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent deadline");
    TCase *tcase = tcase_create("deadline");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, without_requests_the_wall_clock_is_believed);
    tcase_add_test(tcase, fresh_requests_show_a_clock_that_is_ahead_and_correct_it);
    tcase_add_test(tcase, a_backlog_is_not_taken_for_a_clock_that_is_ahead);
    tcase_add_test(tcase, one_request_from_the_future_proves_a_clock_that_is_behind);
    tcase_add_test(tcase, the_least_of_the_last_minute_counts_and_older_ones_do_not);
    tcase_add_test(tcase, what_was_measured_is_kept_for_a_backlog_but_never_beyond_the_limit);
    tcase_add_test(tcase, a_wall_clock_that_jumps_does_not_move_a_measured_database_clock);
    tcase_add_test(tcase, who_stood_still_before_the_first_turn_knows_it);
    tcase_add_test(tcase, a_clock_that_went_back_is_noticed_within_a_second);
    tcase_add_test(tcase, requests_alone_or_words_alone_show_that_the_clock_went_back);
    tcase_add_test(tcase, one_message_of_a_clock_that_was_ahead_for_a_moment_is_forgotten);
    tcase_add_test(tcase, what_was_held_up_together_is_no_clock_that_went_back);
    tcase_add_test(tcase, what_a_fresh_request_has_left_does_not_move_with_any_clock);
    tcase_add_test(tcase, a_request_of_a_clock_that_went_back_is_held_until_that_is_known_and_then_called);
    tcase_add_test(tcase, a_request_of_before_a_step_forward_has_the_time_that_its_sender_gave_it);
    tcase_add_test(tcase, a_step_forward_that_was_taken_back_spares_nothing);
    tcase_add_test(tcase, what_waited_in_a_queue_since_a_clock_was_ahead_is_not_called);
    tcase_add_test(tcase, a_backlog_that_gets_shorter_is_no_step_forward);
    tcase_add_test(tcase, a_fresh_request_that_was_held_up_is_not_called_as_soon_as_that_is_known);
    tcase_add_test(tcase, without_any_other_word_doubt_ends_with_half_of_the_time_or_after_three_seconds);
    tcase_add_test(tcase, what_waited_in_a_queue_is_late_at_once_where_the_clock_was_seen_of_late);
    tcase_add_test(tcase, a_backlog_costs_one_doubt);
    tcase_add_test(tcase, a_backlog_of_short_requests_costs_one_doubt);
    tcase_add_test(tcase, a_doubt_that_ran_out_says_nothing_of_a_later_step);
    tcase_add_test(tcase, no_doubt_has_run_out_while_messages_show_a_step);
    tcase_add_test(tcase, one_message_of_long_ago_shows_no_step);
    tcase_add_test(tcase, no_clock_gives_a_request_more_than_its_sender_did);
    tcase_add_test(tcase, the_budget_keeps_a_margin_and_is_never_more_than_what_is_left);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
