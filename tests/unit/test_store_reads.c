/* Reports that fail: which of their failures are the store's, and for how long. */
#include <check.h>
#include <string.h>

#include "fake_clock.h"
#include "io/store/store_private.h"
#include "suite.h"

static struct mg_store store;

static void setup(void)
{
    memset(&store, 0, sizeof(store));
    fake_clock_pass(3600000);
}

static void teardown(void)
{
    mg_reads_finish(&store);
}

/* A report about this one thing has its answer. `sqlstate`: NULL, it succeeded. */
static void answered(enum mg_report report, const char *thing, const char *sqlstate)
{
    const struct mg_err err = {.text = "the server refuses it"};
    const struct mg_pg_answer answer = {.fault = MG_PG_WRONG,
                                        .sqlstate = sqlstate != NULL ? sqlstate : "",
                                        .err = sqlstate != NULL ? &err : NULL};
    mg_reads_note(&store, report, "order", (struct mg_slice){thing, strlen(thing) + 1}, 1, &answer);
}

static int64_t fails_for_ms(void)
{
    char reason[MG_ERR_TEXT_MAX];
    int64_t fail_ms = mg_store_reads_fail_ms(&store, reason, sizeof(reason));
    ck_assert(fail_ms == 0 || strstr(reason, "the server refuses it") != NULL);
    return fail_ms;
}

/* Catches: a gateway that is taken out of service by the one request that a client repeats. */
START_TEST(the_failing_request_of_one_client_is_not_the_stores)
{
    for (int i = 0; i < 30; i++) {
        answered(MG_REPORT_ORDER, "o1", "22021");
        fake_clock_pass(1000);
        ck_assert_int_eq(fails_for_ms(), 0);
    }
}
END_TEST

/* Catches: a statement that the server refuses for each order, while the process is ready. */
START_TEST(requests_for_different_things_that_fail_are_the_stores)
{
    answered(MG_REPORT_ORDER, "o1", "54000");
    fake_clock_pass(MG_READS_FAIL_MS - 1);
    answered(MG_REPORT_ORDER, "o2", "54000");
    ck_assert_int_eq(fails_for_ms(), 0);
    fake_clock_pass(1);
    ck_assert_int_eq(fails_for_ms(), MG_READS_FAIL_MS);
    answered(MG_REPORT_ORDER_EVENTS, "o3", NULL); /* of another table */
    ck_assert_int_eq(fails_for_ms(), MG_READS_FAIL_MS);
    answered(MG_REPORT_ORDER, "o3", NULL);
    ck_assert_int_eq(fails_for_ms(), 0);
}
END_TEST

/* Catches: one that is never ready again, since nobody asks it what it could not answer. */
START_TEST(a_failure_that_no_request_repeats_is_forgotten)
{
    answered(MG_REPORT_ORDER, "o1", "54000");
    answered(MG_REPORT_ORDER, "o2", "54000");
    fake_clock_pass(MG_READS_FAIL_MS);
    ck_assert_int_eq(fails_for_ms(), MG_READS_FAIL_MS);
    fake_clock_pass(MG_READS_FAIL_MS);
    ck_assert_int_eq(fails_for_ms(), 0);
}
END_TEST

/* Catches: a locked table that a single request meets, and a lost session that is taken for one. */
START_TEST(a_lock_time_out_alone_is_the_tables)
{
    const struct mg_err err = {.text = "no session"};
    const struct mg_pg_answer lost = {.fault = MG_PG_LOST, .sqlstate = "", .err = &err};
    mg_reads_note(&store, MG_REPORT_ORDER, "order", (struct mg_slice){"o1", 3}, 1, &lost);
    fake_clock_pass(MG_READS_FAIL_MS);
    ck_assert_int_eq(fails_for_ms(), 0);
    answered(MG_REPORT_ORDER, "o1", "55P03");
    fake_clock_pass(MG_READS_FAIL_MS);
    ck_assert_int_eq(fails_for_ms(), MG_READS_FAIL_MS);
}
END_TEST

/* Catches: a gateway that one missing right, since granted, keeps out of service, as no client asks it again.
 */
START_TEST(a_report_without_its_right_is_repeated_until_it_succeeds)
{
    answered(MG_REPORT_ORDER, "o1", "54000");
    ck_assert(!mg_reads_must_repeat(&store));
    answered(MG_REPORT_ORDER, "o1", "42501");
    ck_assert(mg_reads_must_repeat(&store));
    fake_clock_pass(3600000); /* without an answer */
    ck_assert(mg_reads_must_repeat(&store));
    answered(MG_REPORT_ORDER, "o1", NULL);
    ck_assert(!mg_reads_must_repeat(&store));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store reads");
    TCase *cases = tcase_create("reports");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, the_failing_request_of_one_client_is_not_the_stores);
    tcase_add_test(cases, requests_for_different_things_that_fail_are_the_stores);
    tcase_add_test(cases, a_failure_that_no_request_repeats_is_forgotten);
    tcase_add_test(cases, a_lock_time_out_alone_is_the_tables);
    tcase_add_test(cases, a_report_without_its_right_is_repeated_until_it_succeeds);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
