/* Starting bulk actions in the real database: one list per order, one bulk action per filter, a bound on the
 * length. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_fixture.h"

/* Would catch: a second list of the same orders, and a bulk action that takes orders reserved for people. */
START_TEST(a_bulk_action_is_a_list_of_orders_in_error_the_oldest_failure_first)
{
    fail_orders(1, 6, "charge", "payment");
    fail_orders(7, 8, "ship", "carrier");
    rig_admin(&rig, "UPDATE order_process SET process_state = 'processing' WHERE order_id = 'o-2';"
                    "UPDATE order_process SET reason = 'state_lost' WHERE order_id = 'o-3';"
                    "UPDATE operator_alert SET closed_at = clock_timestamp() WHERE order_id = 'o-4';"
                    "INSERT INTO operator_alert (code, subject, order_id, text, workflow, step) VALUES"
                    " ('outcome_unknown', 'o-5.charge', 'o-5', 'x', 'fulfilment', 'charge')");
    bulk_start(A, "charge");
    ck_assert(started.is_new);
    ck_assert_str_eq(started.bulk_id, A);
    ck_assert_int_eq(started.state, MG_BULK_CANARY);
    ck_assert_int_eq(started.orders, 3);
    ck_assert_str_eq(rig_value(&rig,
                               "SELECT string_agg(order_id || ':' || version || result, ' ' ORDER BY n) FROM"
                               " bulk_order"),
                     "o-1:7waiting o-5:7waiting o-6:7waiting");
    ck_assert_str_eq(rig_value(&rig, "SELECT filter || waiting || rate_per_s || by_whom FROM bulk"),
                     "{\"step\": \"charge\"}32.5anna");
    ck_assert_str_eq(rig_value(&rig,
                               "SELECT verb || ' ' || subject || ' ' || reason || ' ' || (detail->>'orders')"
                               " FROM operator_action"),
                     "bulk start " A " a \"reason\" 3");
}
END_TEST

START_TEST(starting_the_same_again_returns_the_one_under_way)
{
    fail_orders(1, 3, "charge", "payment");
    bulk_start(A, "charge");
    fail_orders(4, 5, "charge", "payment"); /* since then */
    bulk_start(B, "charge");
    ck_assert(!started.is_new);
    ck_assert_str_eq(started.bulk_id, A);
    ck_assert_int_eq(started.orders, 3);
    bulk_start(A, "ship"); /* one id is one bulk action, with any filter */
    ck_assert(!started.is_new);
    ck_assert_str_eq(started.bulk_id, A);
    bulk_start(C, ""); /* another filter: only orders that are in no open bulk action */
    ck_assert(started.is_new);
    ck_assert_int_eq(started.orders, 2);
    ck_assert_int_eq(started.open_bulk, 2);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM operator_action"), "2");
}
END_TEST

START_TEST(a_bulk_action_of_nothing_is_none)
{
    bulk_start(A, "charge");
    ck_assert_str_eq(started.bulk_id, "");
    ck_assert_int_eq(started.open_bulk, 0);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM bulk"), "0");
}
END_TEST

START_TEST(bulk_actions_that_are_open_are_bounded)
{
    fail_orders(1, MG_BULK_OPEN_MAX + 1, "charge", "payment");
    for (int i = 1; i <= MG_BULK_OPEN_MAX + 1; i++) {
        char bulk_id[MG_UUID_SIZE], moment[32];
        snprintf(bulk_id, sizeof(bulk_id), "bulk-%d", i);
        /* One per filter: the oldest remaining orders, in turn. */
        snprintf(moment, sizeof(moment), "%s",
                 rig_value(&rig, "SELECT floor(extract(epoch FROM max(opened_at)) * 1000)::bigint - 1000"
                                 " FROM operator_alert"));
        struct mg_failure_filter filter = all_failures();
        char since[32];
        snprintf(since, sizeof(since), "%lld", strtoll(moment, NULL, 10) + i);
        filter.since = since;
        rig_admin(&rig, "UPDATE bulk_order SET result = 'skipped'");
        bulk_start_with(bulk_id, filter);
        ck_assert(started.is_new == (i <= MG_BULK_OPEN_MAX));
    }
    ck_assert_str_eq(started.bulk_id, "");
    ck_assert_int_eq(started.open_bulk, MG_BULK_OPEN_MAX);
}
END_TEST

/* ---- two starts at once ---- */

/* The other start is the admin's session: it has listed o-1 to o-3 and not yet committed. Would catch: a list
 * that is numbered before the other's orders are found in it. The runner walks the numbers, so they may have
 * no holes. */
START_TEST(two_that_start_at_once_have_lists_without_holes)
{
    fail_orders(1, 6, "charge", "payment");
    rig_admin(&rig,
              "BEGIN; SELECT pg_advisory_xact_lock(19783, 4);"
              "INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent,"
              " orders, waiting) VALUES ('" B "', 'resume', '{}', 'r', 'b', 1, 1, 10, 3, 3);"
              "INSERT INTO bulk_order (bulk_id, n, order_id, version, goal)"
              " SELECT '" B "', i, 'o-' || i, 7, 'processed' FROM generate_series(1, 3) AS i");
    struct mg_bulk_start wanted = {.bulk_id = A,
                                   .verb = MG_CAUSE_RESUME,
                                   .filter = {"", "charge", "", "", "", "", ""},
                                   .reason = "r",
                                   .by = "anna",
                                   .rate_per_s = "1"};
    mg_store_start_bulk(rig.store, &wanted, bulk_on_started, &rig);
    rig_wait(&rig, rig_is_locked_out);
    rig_admin(&rig, "COMMIT");
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    ck_assert_int_eq(started.orders, 3);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(n || order_id, ' ' ORDER BY n) FROM bulk_order"
                                     " WHERE bulk_id = '" A "'"),
                     "1o-4 2o-5 3o-6");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: starting bulk actions");
    TCase *test = tcase_create("bulk_start");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, bulk_setup, bulk_teardown);
    tcase_add_test(test, a_bulk_action_is_a_list_of_orders_in_error_the_oldest_failure_first);
    tcase_add_test(test, starting_the_same_again_returns_the_one_under_way);
    tcase_add_test(test, a_bulk_action_of_nothing_is_none);
    tcase_add_test(test, bulk_actions_that_are_open_are_bounded);
    tcase_add_test(test, two_that_start_at_once_have_lists_without_holes);
    suite_add_tcase(suite, test);
    return store_main(suite, "bulk_start");
}
