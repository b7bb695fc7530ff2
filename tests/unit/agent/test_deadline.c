/* The estimate of the database's clock from requests alone, and the time that a deadline leaves for a
 * call. */
#include <check.h>

#include "../suite.h"
#include "serving/deadline.h"

/* Boot time 1,000 s is wall time WALL here, and the database's clock stands `behind_ms` behind this
 * machine's. */
#define BOOT INT64_C(1000000)
#define WALL INT64_C(1700000000000)

static struct mg_skew skew;

static void setup(void)
{
    mg_skew_init(&skew, 2000, BOOT);
}

/* A request arrives `at_ms` after the beginning, after `transit_ms` on the way. */
static void arrive(int64_t at_ms, int64_t behind_ms, int64_t transit_ms, bool is_fresh)
{
    (void)mg_skew_note(&skew, BOOT + at_ms, WALL + at_ms, WALL + at_ms - behind_ms - transit_ms,
                       is_fresh ? MG_SAMPLE_FRESH : MG_SAMPLE_QUEUED);
}

/* A control message of the supervisor arrives. */
static void hear(int64_t at_ms, int64_t behind_ms, int64_t transit_ms)
{
    (void)mg_skew_note(&skew, BOOT + at_ms, WALL + at_ms, WALL + at_ms - behind_ms - transit_ms,
                       MG_SAMPLE_CONTROL);
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
    ck_assert_int_eq(now_error_ms(100, 0), 0); /* so an age of 40 s is judged as 40 s */
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

START_TEST(a_measured_difference_is_kept_for_a_backlog_and_never_beyond_the_limit)
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

/* One request every 250 ms over this time; the database's clock is `behind_ms` behind this machine's. */
static void flow(int64_t from_ms, int64_t to_ms, int64_t behind_ms)
{
    for (int64_t at_ms = from_ms; at_ms < to_ms; at_ms += 250) {
        arrive(at_ms, behind_ms, 2, true);
    }
}

/* The same, with one control message of the supervisor every second. */
static void flow_with_controls(int64_t from_ms, int64_t to_ms, int64_t behind_ms)
{
    for (int64_t at_ms = from_ms; at_ms < to_ms; at_ms += 250) {
        arrive(at_ms, behind_ms, 2, true);
        if (at_ms % 1000 == 500) {
            hear(at_ms, behind_ms, 150);
        }
    }
}

/* Catches: an agent that judges every request late for a minute, because the least difference of that minute
 * is from before the step. */
START_TEST(a_clock_that_went_back_is_noticed_within_a_second)
{
    static const int64_t STEPS_MS[] = {1500, 30000, 3600000};
    for (size_t i = 0; i < sizeof(STEPS_MS) / sizeof(STEPS_MS[0]); i++) {
        setup();
        flow(0, 40000, 0);
        arrive(40000, STEPS_MS[i], 2, true);
        ck_assert_int_eq(now_error_ms(40000, STEPS_MS[i]), STEPS_MS[i] - 2);
        flow_with_controls(40250, 41000, STEPS_MS[i]);
        ck_assert_int_eq(now_error_ms(40750, STEPS_MS[i]), -2);
        ck_assert(mg_skew_is_known(&skew, BOOT + 40750));
        flow(41000, 45000, 0); /* and forward again */
        ck_assert_int_eq(now_error_ms(45000, 0), -2);
    }
}
END_TEST

/* Catches: agents that detect the step only while a supervisor leads, or only while orders come. */
START_TEST(requests_alone_or_control_messages_alone_show_that_the_clock_went_back)
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

/* Catches: a minute of silence after a database clock that was far ahead for a moment. */
START_TEST(one_message_of_a_clock_that_was_ahead_for_a_moment_is_forgotten)
{
    flow(0, 40000, 0);
    arrive(40010, -3600000, 2, true);
    ck_assert_int_eq(now_error_ms(40010, 0), 3600000 - 2);
    flow(40250, 41500, 0);
    ck_assert_int_eq(now_error_ms(41500, 0), -2);
}
END_TEST

/* Catches: requests held up by a broker, a network or a stopped scheduler, taken for a clock that went back.
 * The agent would call long after complete-by. */
START_TEST(messages_held_up_together_are_no_step_back_of_the_clock)
{
    flow(0, 40000, 0);
    for (int i = 0; i < 500; i++) { /* sent in one moment, delivered over a second and a half */
        arrive(70000 + 3 * i, 0, 30000 + 3 * i, true);
    }
    ck_assert_int_eq(now_error_ms(71500, 0), -2);
    flow(75000, 76000, 0);
    for (int i = 0; i < 500; i++) { /* sent over thirty seconds, delivered over a second */
        arrive(80000 + 2 * i, 0, 30000 - 58 * i, true);
    }
    ck_assert_int_eq(now_error_ms(81000, 0), -2);
    for (int i = 0; i < 40; i++) { /* like a step, except for one message in between that came as usual */
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

/* The clock is seen as usual for long enough; by it the request is late. */
static void assert_late_once_that_is_seen(struct mg_deadline *deadline, int64_t at_ms, int64_t behind_ms)
{
    ck_assert_int_eq(judge(deadline, at_ms), MG_DEADLINE_IN_DOUBT);
    flow(at_ms, at_ms + 1000, behind_ms);
    ck_assert_int_eq(judge(deadline, at_ms + 999), MG_DEADLINE_IN_DOUBT);
    arrive(at_ms + 1002, behind_ms, 2, true);
    ck_assert_int_eq(judge(deadline, at_ms + 1002), MG_DEADLINE_LATE);
}

/* Catches: a request that is dropped in silence because the clock jumped while it was in hand. */
START_TEST(the_time_left_to_a_fresh_request_moves_with_no_clock)
{
    flow(0, 10000, 0);
    struct mg_deadline request = request_of(10000, 900, 0, 5000, true);
    ck_assert_int_eq(judge(&request, 10000), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 10000), 5000);
    flow_with_controls(10000, 12000, -3600000);
    ck_assert_int_eq(left_ms(&request, 12000), 3000);
    flow_with_controls(12000, 14000, 3600000);
    ck_assert_int_eq(left_ms(&request, 14000), 1000);
    ck_assert_int_eq(judge(&request, 14999), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(judge(&request, 15000), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: attempts that are used up by the first requests after the step. */
START_TEST(a_request_of_a_clock_that_went_back_is_held_until_that_is_known_and_then_called)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(40000, 2, 30000, 5000, true);
    arrive(40000, 30000, 2, true);
    ck_assert_int_eq(judge(&request, 40000), MG_DEADLINE_IN_DOUBT);
    /* A scheduler that has not detected the step yet sends evidence against it. */
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
    assert_late_once_that_is_seen(&queued, 44000, 0);
    struct mg_deadline of_new_clock = request_of(50000, 3500, 0, 3000, false);
    assert_late_once_that_is_seen(&of_new_clock, 50000, 0);
}
END_TEST

/* Catches: a call after complete-by because a clock went forward some time ago and back again. */
START_TEST(a_step_forward_that_was_taken_back_spares_nothing)
{
    flow(0, 40000, 0);
    flow_with_controls(40000, 42000, -20000);
    flow_with_controls(42000, 45000, 0);
    struct mg_deadline queued = request_of(45000, 6000, 0, 5000, false);
    assert_late_once_that_is_seen(&queued, 45000, 0);
}
END_TEST

/* Catches: a call an hour after complete-by, for a request that waited in a queue while the clock went back
 * by an hour. */
START_TEST(a_request_queued_while_the_clock_was_ahead_is_not_called)
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

/* Catches: a call after complete-by following an outage, because the first message after it had a shorter
 * transit. */
START_TEST(a_backlog_that_gets_shorter_is_no_step_forward)
{
    for (int i = 0; i < 20; i++) { /* to a machine with a clock that is itself a minute behind */
        arrive(i, -60000, 40000 - 1500 * i, false);
    }
    flow(100, 1100, -60000);
    struct mg_deadline queued = request_of(1100, 13000, -60000, 5000, false);
    assert_late_once_that_is_seen(&queued, 1100, -60000);
}
END_TEST

/* Catches: a call long after complete-by when a stopped scheduler continues and its last messages arrive. */
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

/* Catches: a request in doubt that is held until its attempt is used up, or called with too little time
 * left. */
START_TEST(without_any_other_sample_doubt_ends_with_half_of_the_time_or_as_it_may_last)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(40000, 30000, 0, 5000, true);
    arrive(40000, 0, 30000, true);
    ck_assert_int_eq(judge(&request, 42400), MG_DEADLINE_IN_DOUBT);
    struct mg_deadline unshown = request;
    ck_assert_int_eq(judge(&request, 42401), MG_DEADLINE_NOT_CALLED);
    ck_assert_int_eq(left_ms(&request, 42401), 2599);
    ck_assert_int_eq(judge(&unshown, 45000), MG_DEADLINE_LATE);
    request = request_of(40000, 30000, 0, 20000, true);
    ck_assert_int_eq(judge(&request, 44499), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 44500), MG_DEADLINE_NOT_CALLED);
}
END_TEST

/* Catches: attempts that are used up between a step and its first evidence, because of evidence from before
 * the step. */
START_TEST(a_queued_request_is_late_by_a_clock_seen_after_its_receipt)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(40000, 30000, 0, 5000, false);
    assert_late_once_that_is_seen(&request, 40000, 0);
    request = request_of(50000, 30000, 0, 5000, false); /* no evidence */
    ck_assert_int_eq(judge(&request, 50000), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 54499), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 54500), MG_DEADLINE_LATE);
    arrive(60000, 30000, 2, true); /* possibly a step */
    request = request_of(60000, 2, 30000, 5000, false);
    ck_assert_int_eq(judge(&request, 60000), MG_DEADLINE_IN_DOUBT);
    flow_with_controls(60250, 61000, 30000);
    ck_assert_int_eq(judge(&request, 60750), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 60750), 4250);
}
END_TEST

#define BUSY_REQUESTS 100

/* Every request waits for `waits_ms` and has 8 s; only control messages are fresh. The clock goes back by 30
 * s. */
static void busy_agent(int control_period_ms, int phase_ms, int waits_ms)
{
    struct mg_deadline requests[BUSY_REQUESTS];
    bool is_admitted[BUSY_REQUESTS] = {false};
    int count = 0, step_ms = 20000 + phase_ms;
    setup();
    for (int at_ms = 0; at_ms < step_ms + 12000; at_ms += 10) {
        if (at_ms % control_period_ms == 0) {
            hear(at_ms, at_ms < step_ms ? 0 : 30000, 5);
        }
        int since_ms = at_ms - step_ms - waits_ms;
        if (since_ms >= 0 && since_ms % 80 == 0 && count < BUSY_REQUESTS) {
            arrive(at_ms, 30000, waits_ms, false);
            requests[count++] = request_of(at_ms, waits_ms, 30000, 8000, false);
        }
        for (int i = 0; i < count; i++) {
            if (!is_admitted[i]) {
                enum mg_deadline_verdict verdict = judge(&requests[i], at_ms);
                ck_assert_int_ne(verdict, MG_DEADLINE_LATE);
                is_admitted[i] = verdict == MG_DEADLINE_IN_TIME;
            }
        }
    }
    for (int i = 0; i < BUSY_REQUESTS; i++) {
        ck_assert(is_admitted[i]);
    }
}

/* Catches: the same, end to end: each request in hand of an agent without room, at nearly every step. */
START_TEST(a_busy_agent_drops_nothing_of_a_clock_that_went_back)
{
    static const int PERIODS_MS[] = {1000, 1250};
    for (size_t i = 0; i < sizeof(PERIODS_MS) / sizeof(PERIODS_MS[0]); i++) {
        for (int phase_ms = 0; phase_ms < PERIODS_MS[i]; phase_ms += 50) {
            busy_agent(PERIODS_MS[i], phase_ms, 0);
            busy_agent(PERIODS_MS[i], phase_ms, 200);
        }
    }
}
END_TEST

/* No recent evidence: a request that waited arrives, is in doubt, and no message confirms it. */
static void doubt_run_out(void)
{
    flow(0, 40000, 0);
    struct mg_deadline request = request_of(50000, 30000, 0, 5000, false);
    ck_assert_int_eq(judge(&request, 50000), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 54500), MG_DEADLINE_LATE);
}

/* Catches: a backlog that never ends where one request at a time may be in hand. Each is held for so long
 * that those after it are late, too. */
START_TEST(a_backlog_costs_one_doubt)
{
    doubt_run_out();
    for (int64_t at_ms = 54502; at_ms < 57500; at_ms += 2) {
        struct mg_deadline next = request_of(at_ms, 30000, 0, 20000, false);
        ck_assert_int_eq(judge(&next, at_ms), MG_DEADLINE_LATE);
    }
    struct mg_deadline later = request_of(57500, 30000, 0, 20000, false);
    ck_assert_int_eq(judge(&later, 57500), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&later, 61999), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&later, 62000), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: a full queue after an outage that is held up further, one prefetch every few seconds. */
START_TEST(a_backlog_costs_one_doubt_however_long_it_is)
{
    int doubts = 0;
    struct mg_deadline request = {.received_boot_ms = 0};
    flow(0, 40000, 0);
    for (int64_t at_ms = 40000; at_ms < 70000; at_ms += 10) {
        if (at_ms % 1250 == 0) {
            hear(at_ms, 0, 5);
        }
        bool is_next = request.received_boot_ms == 0; /* one at a time may be in hand */
        request = is_next ? request_of(at_ms, 30000, 0, 20000, false) : request;
        enum mg_deadline_verdict verdict = judge(&request, at_ms);
        ck_assert(verdict == MG_DEADLINE_LATE || verdict == MG_DEADLINE_IN_DOUBT);
        doubts += is_next && verdict == MG_DEADLINE_IN_DOUBT ? 1 : 0;
        request.received_boot_ms = verdict == MG_DEADLINE_LATE ? 0 : request.received_boot_ms;
    }
    ck_assert_int_eq(doubts, 1);
}
END_TEST

/* Catches: the same, where requests have less time than a doubt. */
START_TEST(a_backlog_of_short_requests_costs_one_doubt)
{
    flow(0, 40000, 0);
    for (int64_t at_ms = 50000; at_ms < 54500; at_ms += 1000) {
        struct mg_deadline brief = request_of(at_ms, 5000, 0, 1000, false);
        ck_assert_int_eq(judge(&brief, at_ms), MG_DEADLINE_IN_DOUBT);
        ck_assert_int_eq(judge(&brief, at_ms + 1000), MG_DEADLINE_LATE);
    }
    struct mg_deadline next = request_of(55000, 5000, 0, 1000, false);
    ck_assert_int_eq(judge(&next, 55000), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: attempts that are used up in a backlog after the clock went back. */
START_TEST(a_doubt_that_ran_out_proves_nothing_about_a_later_step)
{
    doubt_run_out();
    struct mg_deadline request = request_of(55000, 2, 3600000, 5000, false); /* older than those before it */
    ck_assert_int_eq(judge(&request, 55000), MG_DEADLINE_IN_DOUBT);
    flow(55100, 56350, 3600000);
    ck_assert_int_eq(judge(&request, 56350), MG_DEADLINE_IN_TIME);
    ck_assert_int_eq(left_ms(&request, 56350), 3650);
}
END_TEST

/* Catches: attempts that are used up just before the last of the messages that prove a step. */
START_TEST(no_doubt_has_run_out_while_messages_show_a_step)
{
    flow(0, 40000, 0);
    struct mg_deadline first = request_of(50000, 2, 30000, 20000, false);
    ck_assert_int_eq(judge(&first, 50000), MG_DEADLINE_IN_DOUBT);
    hear(52000, 30000, 150);
    hear(53250, 30000, 150);
    ck_assert_int_eq(judge(&first, 54500), MG_DEADLINE_LATE);
    struct mg_deadline next = request_of(54505, 1000, 30000, 20000, false);
    ck_assert_int_eq(judge(&next, 54505), MG_DEADLINE_IN_DOUBT);
    hear(54510, 30000, 150);
    ck_assert_int_eq(judge(&next, 54605), MG_DEADLINE_IN_TIME);
}
END_TEST

/* Catches: a backlog that never ends because one message was held up long ago and none has come since. */
START_TEST(one_message_of_long_ago_shows_no_step)
{
    flow(0, 40000, 0);
    arrive(41000, 0, 30000, true);
    struct mg_deadline request = request_of(50000, 30000, 0, 5000, false);
    ck_assert_int_eq(judge(&request, 50000), MG_DEADLINE_IN_DOUBT);
    ck_assert_int_eq(judge(&request, 54500), MG_DEADLINE_LATE);
    request = request_of(54502, 30000, 0, 5000, false);
    ck_assert_int_eq(judge(&request, 54502), MG_DEADLINE_LATE);
}
END_TEST

/* Catches: more time than the sender gave, where the only clock is a wall clock that is behind. */
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

/* Catches: an agent that is stopped right after its start and takes old messages for fresh ones. */
START_TEST(a_standstill_before_the_first_turn_is_detected)
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
    tcase_set_timeout(tcase, 60); /* half a minute of the clock in steps of 10 ms, alongside other tests */
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, without_requests_the_wall_clock_is_believed);
    tcase_add_test(tcase, fresh_requests_show_a_clock_that_is_ahead_and_correct_it);
    tcase_add_test(tcase, a_backlog_is_not_taken_for_a_clock_that_is_ahead);
    tcase_add_test(tcase, one_request_from_the_future_proves_a_clock_that_is_behind);
    tcase_add_test(tcase, the_least_of_the_last_minute_counts_and_older_ones_do_not);
    tcase_add_test(tcase, a_measured_difference_is_kept_for_a_backlog_and_never_beyond_the_limit);
    tcase_add_test(tcase, a_wall_clock_that_jumps_does_not_move_a_measured_database_clock);
    tcase_add_test(tcase, a_standstill_before_the_first_turn_is_detected);
    tcase_add_test(tcase, a_clock_that_went_back_is_noticed_within_a_second);
    tcase_add_test(tcase, requests_alone_or_control_messages_alone_show_that_the_clock_went_back);
    tcase_add_test(tcase, one_message_of_a_clock_that_was_ahead_for_a_moment_is_forgotten);
    tcase_add_test(tcase, messages_held_up_together_are_no_step_back_of_the_clock);
    tcase_add_test(tcase, the_time_left_to_a_fresh_request_moves_with_no_clock);
    tcase_add_test(tcase, a_request_of_a_clock_that_went_back_is_held_until_that_is_known_and_then_called);
    tcase_add_test(tcase, a_request_of_before_a_step_forward_has_the_time_that_its_sender_gave_it);
    tcase_add_test(tcase, a_step_forward_that_was_taken_back_spares_nothing);
    tcase_add_test(tcase, a_request_queued_while_the_clock_was_ahead_is_not_called);
    tcase_add_test(tcase, a_backlog_that_gets_shorter_is_no_step_forward);
    tcase_add_test(tcase, a_fresh_request_that_was_held_up_is_not_called_as_soon_as_that_is_known);
    tcase_add_test(tcase, without_any_other_sample_doubt_ends_with_half_of_the_time_or_as_it_may_last);
    tcase_add_test(tcase, a_queued_request_is_late_by_a_clock_seen_after_its_receipt);
    tcase_add_test(tcase, a_busy_agent_drops_nothing_of_a_clock_that_went_back);
    tcase_add_test(tcase, a_backlog_costs_one_doubt);
    tcase_add_test(tcase, a_backlog_costs_one_doubt_however_long_it_is);
    tcase_add_test(tcase, a_backlog_of_short_requests_costs_one_doubt);
    tcase_add_test(tcase, a_doubt_that_ran_out_proves_nothing_about_a_later_step);
    tcase_add_test(tcase, no_doubt_has_run_out_while_messages_show_a_step);
    tcase_add_test(tcase, one_message_of_long_ago_shows_no_step);
    tcase_add_test(tcase, no_clock_gives_a_request_more_than_its_sender_did);
    tcase_add_test(tcase, the_budget_keeps_a_margin_and_is_never_more_than_what_is_left);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
