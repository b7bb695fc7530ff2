/* The leader's control messages to agents, with operator settings and the agents' common view: their times,
 * their receivers, and the division of a limit. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "world.h"

static void setup(void)
{
    (void)fake_start();
}

static const char *const PAUSED[][FAKE_COLUMNS] = {{"payment", "3", "t", "0", "0", "a"},
                                                   {"payment", "3", "t", "0", "0", "b"}};
static const char *const RESUMED[][FAKE_COLUMNS] = {{"payment", "4", "f", "0", "0", "a"}};
static const char *const LIMITED[][FAKE_COLUMNS] = {
    {"carrier", "1", "f", "0", "0.5", ""},  {"inventory", "9", "f", "2", "0", "x"},
    {"inventory", "9", "f", "2", "0", "y"}, {"inventory", "9", "f", "2", "0", "z"},
    {"payment", "5", "f", "7", "30", "a"},  {"payment", "5", "f", "7", "30", "b"},
    {"payment", "5", "f", "7", "30", "c"}};

/* No operator setting; the agents' breakers of the service open one after the other. */
static const char *const WELL[][FAKE_COLUMNS] = {{"payment", "0", "f", "0", "0", "a", "closed", "t"},
                                                 {"payment", "0", "f", "0", "0", "b", "closed", "t"}};
static const char *const DOUBTFUL[][FAKE_COLUMNS] = {{"payment", "0", "f", "0", "0", "a", "closed", "t"},
                                                     {"payment", "0", "f", "0", "0", "b", "open", "t"}};
static const char *const DOWN[][FAKE_COLUMNS] = {{"payment", "0", "f", "0", "0", "a", "open", "t"},
                                                 {"payment", "0", "f", "0", "0", "b", "open", "t"}};
static const char *const LEFT_OVER[][FAKE_COLUMNS] = {{"payment", "0", "f", "0", "0", "a", "open", "t"},
                                                      {"payment", "0", "f", "0", "0", "b", "closed", "t"}};
static const char *const LEAVING[][FAKE_COLUMNS] = {{"payment", "0", "f", "0", "0", "a", "open", "f"},
                                                    {"payment", "0", "f", "0", "0", "b", "open", "t"}};
static const char *const BACK[][FAKE_COLUMNS] = {{"payment", "0", "f", "0", "0", "b", "closed", "t"}};

/* While the service is down: no agent has a valid report; then one without the control message, then the
 * prober. */
static const char *const LIMITED_AND_UNHEARD[][FAKE_COLUMNS] = {{"payment", "5", "f", "7", "0", ""}};
static const char *const NEWCOMER[][FAKE_COLUMNS] = {
    {"payment", "5", "f", "7", "0", "b", "closed", "t", "1", "f", "f"}};
static const char *const WITH_PROBER[][FAKE_COLUMNS] = {
    {"payment", "5", "f", "7", "0", "b", "closed", "t", "1", "f", "f"},
    {"payment", "5", "f", "7", "0", "c", "open", "t", "1", "t", "t"}};

static void wanted(const char *const (*cells)[FAKE_COLUMNS], int count)
{
    fake.wanted = cells;
    fake.wanted_count = count;
}

/* Would catch: supervisors that all publish control messages. */
START_TEST(only_the_leader_speaks)
{
    wanted(PAUSED, 2);
    fake_pass(50);
    fake_answer_lead(false, 0);
    fake_pass(5000);
    ck_assert_int_eq(fake.cast_count, 0);
}
END_TEST

/* Would catch: an operator's setting that is published late, or a hundred times a second. */
START_TEST(a_change_is_sent_within_a_look_and_what_stays_once_a_second)
{
    wanted(PAUSED, 2);
    fake_lead(100);
    ck_assert_int_eq(fake.cast_count, 1);
    ck_assert_str_eq(fake.casts[0].service, "payment");
    ck_assert_uint_eq(fake.casts[0].version, 3);
    ck_assert_uint_eq(fake.casts[0].epoch, 7);
    ck_assert(fake.casts[0].is_paused && !fake.casts[0].is_limited);
    fake_pass_quietly(4000);
    ck_assert_int_ge(fake.cast_count, 4);
    ck_assert_int_le(fake.cast_count, 5);
    int before = fake.cast_count;
    wanted(RESUMED, 1);
    fake_pass_quietly(250);
    ck_assert_int_eq(fake.cast_count, before + 1);
    ck_assert_uint_eq(fake.casts[before].version, 4);
    ck_assert(!fake.casts[before].is_paused);
}
END_TEST

/* Would catch: a limit that each of three replicas takes whole; parts that add up to less; agents with no
 * call at all. */
START_TEST(a_limit_is_divided_among_those_that_report)
{
    wanted(LIMITED, 7);
    fake_lead(100);
    ck_assert_int_eq(fake.cast_count, 3);
    const struct mg_service_control *carrier = &fake.casts[0], *inventory = &fake.casts[1],
                                    *payment = &fake.casts[2];
    ck_assert(carrier->is_limited);
    ck_assert_int_eq(carrier->share_count, 0);
    ck_assert_int_eq(inventory->share_count, 3);
    ck_assert_int_eq(payment->share_count, 3);
    int64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(inventory->shares[i].concurrency, 1);
        ck_assert_double_eq(inventory->shares[i].rate_per_s, 0);
        ck_assert_double_eq(payment->shares[i].rate_per_s, 10);
        sum += payment->shares[i].concurrency;
    }
    ck_assert_int_eq(sum, 7);
    ck_assert_str_eq(payment->shares[2].instance, "c");
    ck_assert_int_eq(payment->shares[2].concurrency, 2);
}
END_TEST

static const struct mg_service_control *last_cast(void)
{
    return &fake.casts[fake.cast_count - 1];
}

/* Would catch: an outage that each agent finds by itself, at the expense of its orders; an end of it that is
 * never published. */
START_TEST(the_finding_of_most_agents_is_sent_to_all_within_a_look)
{
    wanted(WELL, 2);
    fake_lead(100);
    ck_assert(!last_cast()->is_down && last_cast()->is_undecided);
    ck_assert_uint_eq(last_cast()->version, 0);
    wanted(DOUBTFUL, 2);
    fake_pass_quietly(250);
    ck_assert(!last_cast()->is_down);
    wanted(DOWN, 2);
    fake_pass_quietly(250);
    ck_assert(last_cast()->is_down && !last_cast()->is_undecided);
    ck_assert_str_eq(last_cast()->prober, "a");
    wanted(LEAVING, 2);
    fake_pass_quietly(250);
    ck_assert_str_eq(last_cast()->prober, "b");
    wanted(BACK, 1);
    int before = fake.cast_count;
    fake_pass_quietly(250);
    ck_assert_int_eq(fake.cast_count, before + 1);
    ck_assert(!last_cast()->is_down && !last_cast()->is_undecided && last_cast()->prober[0] == '\0');
}
END_TEST

/* Would catch: a leader that still uses its findings from an earlier lead. */
START_TEST(a_leader_that_leads_again_asks_anew)
{
    wanted(DOWN, 2);
    fake_lead(100);
    ck_assert(last_cast()->is_down);
    fake_answer_sweep(NULL, 0);
    mg_supervisor_lead_session(fake_supervisor(), false, "gone");
    wanted(LEFT_OVER, 2);
    mg_supervisor_lead_session(fake_supervisor(), true, "");
    fake_lead(100);
    ck_assert(!last_cast()->is_down && last_cast()->is_undecided);
}
END_TEST

/* Would catch: a leader that closes the breakers of agents without a report yet, because it is new or the
 * database was away; one that stays silent until all have reported. */
START_TEST(a_new_leader_sends_the_adopted_health_and_undecided_before)
{
    wanted(LIMITED_AND_UNHEARD, 1);
    fake_lead(100);
    ck_assert(!last_cast()->is_down && last_cast()->is_undecided && last_cast()->is_limited);
    wanted(NEWCOMER, 1);
    fake_pass_quietly(250);
    ck_assert(!last_cast()->is_down && last_cast()->is_undecided);
    wanted(WITH_PROBER, 2);
    fake_pass_quietly(250);
    ck_assert(last_cast()->is_down && !last_cast()->is_undecided);
    ck_assert_str_eq(last_cast()->prober, "c");
}
END_TEST

/* Would catch: the same control message at each look, because one agent makes calls. */
START_TEST(calls_that_begin_and_end_are_no_news)
{
    static const char *const CALLING[][FAKE_COLUMNS] = {
        {"payment", "0", "f", "0", "0", "a", "closed", "t", "1", "f", "t"}};
    static const char *const IDLE[][FAKE_COLUMNS] = {
        {"payment", "0", "f", "0", "0", "a", "closed", "t", "1", "f", "f"}};
    wanted(CALLING, 1);
    fake_lead(100);
    int before = fake.cast_count;
    wanted(IDLE, 1);
    fake_pass_quietly(500);
    ck_assert_int_eq(fake.cast_count, before);
}
END_TEST

/* Would catch: a message about the wrong service, when there are more than can be watched. */
START_TEST(of_too_many_services_the_first_are_watched)
{
    static char names[MG_SUPERVISOR_SERVICES_MAX + 1][8];
    for (int i = 0; i <= MG_SUPERVISOR_SERVICES_MAX; i++) {
        const char *const row[1][FAKE_COLUMNS] = {{names[i], "0", "f", "0", "0", "a", "open", "t"}};
        snprintf(names[i], sizeof(names[i]), "s%d", i);
        wanted(row, 1);
        if (i == 0) {
            fake_lead(100);
        } else {
            fake_pass_quietly(250);
        }
        ck_assert_str_eq(last_cast()->service, names[i]);
        ck_assert(last_cast()->is_down == (i < MG_SUPERVISOR_SERVICES_MAX));
        ck_assert(last_cast()->is_undecided != last_cast()->is_down);
        fake.cast_count = 0;
    }
}
END_TEST

/* Would catch: a former leader that goes on publishing; a leader that goes silent after its session with the
 * database was away for a while. */
START_TEST(it_speaks_as_long_as_it_leads_and_can_read)
{
    wanted(PAUSED, 2);
    fake_lead(100);
    fake.is_wanted_unreadable = true;
    int before = fake.cast_count;
    int warnings = fake_log.warnings;
    fake_pass_quietly(3000);
    ck_assert_int_eq(fake.cast_count, before);
    ck_assert_int_eq(fake_log.warnings, warnings + 1);
    fake.is_wanted_unreadable = false;
    fake_pass_quietly(250);
    ck_assert_int_eq(fake.cast_count, before + 1);
    mg_supervisor_lead_lost(fake_supervisor(), "the test says so");
    fake.is_store_up = false;
    fake_pass(3000);
    ck_assert_int_eq(fake.cast_count, before + 1);
}
END_TEST

/* Would catch: agents without the database's clock while they have no requests; agents that receive a time
 * several seconds old. */
START_TEST(the_database_s_time_is_sent_unless_it_was_read_slowly)
{
    static const char *const TIMED[][FAKE_COLUMNS] = {
        {"payment", "0", "f", "0", "0", "a", "closed", "t", "1", "f", "f", "1769862886017"}};
    wanted(TIMED, 1);
    fake_lead(100);
    ck_assert_int_eq(last_cast()->sent_at_ms, INT64_C(1769862886017));
    fake.wanted_takes_ms = 251;
    fake_pass_quietly(1500);
    ck_assert_int_ge(fake.cast_count, 2);
    ck_assert_int_eq(last_cast()->sent_at_ms, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("supervisor relay");
    TCase *tests = tcase_create("relay");
    tcase_add_checked_fixture(tests, setup, fake_finish);
    tcase_add_test(tests, only_the_leader_speaks);
    tcase_add_test(tests, a_change_is_sent_within_a_look_and_what_stays_once_a_second);
    tcase_add_test(tests, a_limit_is_divided_among_those_that_report);
    tcase_add_test(tests, the_finding_of_most_agents_is_sent_to_all_within_a_look);
    tcase_add_test(tests, a_leader_that_leads_again_asks_anew);
    tcase_add_test(tests, a_new_leader_sends_the_adopted_health_and_undecided_before);
    tcase_add_test(tests, calls_that_begin_and_end_are_no_news);
    tcase_add_test(tests, of_too_many_services_the_first_are_watched);
    tcase_add_test(tests, it_speaks_as_long_as_it_leads_and_can_read);
    tcase_add_test(tests, the_database_s_time_is_sent_unless_it_was_read_slowly);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
