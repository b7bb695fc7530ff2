/* The number of known agents of one service is bounded, so that no service takes the room of others. */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* `count` agents of a service, "PREFIX-00000" and so on, in calls as schedulers make them. */
static void report_many(const char *service, const char *prefix, int count)
{
    struct mg_service_state states[64];
    char names[64][16];
    for (int done = 0; done < count;) {
        int size = 0;
        for (; size < 64 && done < count; size++, done++) {
            snprintf(names[size], sizeof(names[size]), "%s-%05d", prefix, done);
            states[size] = (struct mg_service_state){.service = service,
                                                     .instance = names[size],
                                                     .breaker = "closed",
                                                     .is_ready = true,
                                                     .concurrency = 1,
                                                     .reason = ""};
        }
        mg_store_put_service_states(rig.store, states, size, rig_done, &rig);
        rig_wait_answer(&rig);
        ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    }
}

static int64_t kept(const char *prefix)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM service_state WHERE instance LIKE '%s-%%'", prefix);
    return strtoll(rig_value(&rig, sql), NULL, 10);
}

static void make_older(const char *interval)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "UPDATE service_state SET reported_at = reported_at - interval '%s'",
             interval);
    rig_admin(&rig, sql);
}

/* Law 14, everything bounded. Would catch: an agent's user that fills the table with names, and thereby keeps
 * the other agents of its service out. */
START_TEST(a_service_has_so_many_agents_and_those_that_are_known_stay)
{
    report_many("carrier", "honest", 2);
    report_many("carrier", "flood", MG_SERVICE_INSTANCES_MAX + 100);
    ck_assert_int_eq(kept("flood"), MG_SERVICE_INSTANCES_MAX - 2);
    make_older("12 seconds"); /* one report of each is late */
    report_many("carrier", "other", 100);
    ck_assert_int_eq(kept("other"), 0);
    report_many("carrier", "honest", 2);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM service_state WHERE instance LIKE 'honest-%'"
                                     " AND reported_at > clock_timestamp() - interval '10 seconds'"),
                     "2");
    report_many("payment", "own", 3);
    ck_assert_int_eq(kept("own"), 3);
    make_older("10 seconds");
    report_many("carrier", "other", 100);
    ck_assert_int_eq(kept("other"), 100);
    ck_assert_int_eq(kept("honest"), 2);
    ck_assert_int_eq(kept("flood"), 0);
    ck_assert_int_eq(kept("own"), 3);
}
END_TEST

/* Would catch: names stamped by a clock that was ahead, which keep all others out until the clock gets
 * there. */
START_TEST(names_of_the_future_keep_no_agent_out)
{
    report_many("carrier", "flood", MG_SERVICE_INSTANCES_MAX);
    make_older("-1 hour");
    report_many("carrier", "honest", 2);
    ck_assert_int_eq(kept("honest"), 2);
    ck_assert_int_eq(kept("flood"), 0);
}
END_TEST

/* Law 14, everything bounded. Would catch: a report that is cut off after a service with very many agents.
 * The leader would then send nothing to the services behind it in the alphabet. */
START_TEST(a_service_with_very_many_agents_hides_no_other_from_the_leader)
{
    report_many("payment", "own", 1);
    rig_admin(&rig, "INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency)"
                    " SELECT 'carrier', 'x' || n, 'closed', true, 0, 1 FROM generate_series(1, 10100) n");
    rig_report(&rig, MG_REPORT_CONTROL, NULL, 0);
    ck_assert_int_eq(rig.row_count, MG_SERVICE_INSTANCES_MAX + 1);
    rig_admin(&rig, "DELETE FROM service_state WHERE service = 'carrier' AND instance <> 'x1'");
    assert_has(rig_report(&rig, MG_REPORT_CONTROL, NULL, 0), "service=payment");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: instances");
    TCase *test = tcase_create("instances");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, a_service_has_so_many_agents_and_those_that_are_known_stay);
    tcase_add_test(test, names_of_the_future_keep_no_agent_out);
    tcase_add_test(test, a_service_with_very_many_agents_hides_no_other_from_the_leader);
    suite_add_tcase(suite, test);
    return store_main(suite, "instances");
}
