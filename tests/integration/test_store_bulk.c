/* Bulk actions in the real database, as operators change them and the runner drives them. Changes are fenced
 * by version and by epoch; no statement scans a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bulk_fixture.h"

static struct mg_bulk_row rows[MG_BULK_OPEN_MAX];
static struct mg_bulk_order_row orders[64];
static int row_count, order_count, asked_count;
static bool is_leader, is_written, is_alerted;

/* ---- operators ---- */

static void on_changed(void *arg, enum mg_change_result result, uint64_t version, const struct mg_err *err)
{
    struct rig *at = arg;
    at->row_count = (int)result;
    at->version = (int64_t)version;
    rig_done(at, err);
}

static enum mg_change_result change(const char *bulk_id, enum mg_bulk_wish wish, uint64_t version)
{
    struct mg_bulk_change wanted = {
        .bulk_id = bulk_id, .wish = wish, .version = version, .reason = "because", .by = "bert"};
    mg_store_change_bulk(rig.store, &wanted, on_changed, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return (enum mg_change_result)rig.row_count;
}

#define ROW(columns) rig_value(&rig, "SELECT " columns " FROM bulk WHERE bulk_id = '" A "'")

/* Would catch: a second operator's change that undoes the first one's, and changes without an author on
 * record. */
START_TEST(operators_change_a_bulk_action_by_its_version)
{
    fail_orders(1, 3, "charge", "payment");
    ck_assert_int_eq(change(A, MG_BULK_WISH_PAUSE, 1), MG_CHANGE_NOT_FOUND);
    bulk_start(A, "charge");
    ck_assert_int_eq(change(A, MG_BULK_WISH_RESUME, 1), MG_CHANGE_CONFLICT);
    ck_assert_int_eq(change(A, MG_BULK_WISH_PAUSE, 2), MG_CHANGE_CONFLICT);
    ck_assert_int_eq(change(A, MG_BULK_WISH_PAUSE, 1), MG_CHANGE_DONE);
    ck_assert_int_eq(rig.version, 2);
    ck_assert_int_eq(change(A, MG_BULK_WISH_PAUSE, 2), MG_CHANGE_CONFLICT);
    ck_assert_int_eq(change(A, MG_BULK_WISH_RESUME, 2), MG_CHANGE_DONE);
    ck_assert_str_eq(ROW("state"), "canary");
    rig_admin(&rig, "UPDATE bulk SET is_tried = true");
    ck_assert_int_eq(change(A, MG_BULK_WISH_PAUSE, 3), MG_CHANGE_DONE);
    ck_assert_int_eq(change(A, MG_BULK_WISH_RESUME, 4), MG_CHANGE_DONE);
    ck_assert_str_eq(ROW("state"), "running");
    ck_assert_int_eq(change(A, MG_BULK_WISH_STOP, 5), MG_CHANGE_DONE);
    ck_assert_str_eq(ROW("state || waiting || skipped || why || (ended_at IS NOT NULL)"),
                     "stopped03becausetrue");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM bulk_order WHERE result = 'skipped'"), "3");
    ck_assert_int_eq(change(A, MG_BULK_WISH_RESUME, 6), MG_CHANGE_CONFLICT);
    ck_assert_str_eq(
        rig_value(&rig, "SELECT string_agg(verb || by_whom, ' ' ORDER BY action_id) FROM operator_action"),
        "bulk startanna bulk pausebert bulk resumebert bulk pausebert bulk resumebert bulk stopbert");
    bulk_start(B, "charge"); /* a skipped order can be taken again */
    ck_assert_int_eq(started.orders, 3);
}
END_TEST

/* ---- the runner ---- */

static void on_looked(void *arg, const struct mg_bulk_look *found, const struct mg_err *err)
{
    row_count = order_count = 0;
    if (found != NULL) {
        row_count = found->count;
        order_count = found->order_count;
        memcpy(rows, found->rows, (size_t)row_count * sizeof(rows[0]));
        ck_assert_int_le(order_count, (int)(sizeof(orders) / sizeof(orders[0])));
        memcpy(orders, found->orders, (size_t)order_count * sizeof(orders[0]));
    }
    rig_done(arg, err);
}

static void look(void)
{
    mg_store_look_at_bulk(rig.store, on_looked, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

static void on_written(void *arg, const struct mg_bulk_written *written, const struct mg_err *err)
{
    asked_count = 0;
    if (written != NULL) {
        is_leader = written->is_leader;
        is_written = written->is_written;
        is_alerted = written->is_alerted;
        asked_count = (int)written->asked;
    }
    rig_done(arg, err);
}

static void write_as(enum mg_bulk_state state, int64_t ask, const struct mg_bulk_ended *ended,
                     int ended_count)
{
    struct mg_bulk_write write = {
        .row = &rows[0],
        .ended = ended,
        .ended_count = ended_count,
        .plan = {state, state != MG_BULK_CANARY, ask, INT64_C(1900000000123456), MG_BULK_GOES_ON},
        .why = state == MG_BULK_STOPPED ? "2 of 2 failed" : NULL};
    mg_store_write_bulk(rig.store, &write, on_written, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

START_TEST(a_runner_takes_orders_in_turn_and_records_their_outcome)
{
    fail_orders(1, 6, "charge", "payment");
    bulk_start(A, "charge");
    rig_lead(&rig, "runner-1");
    ck_assert(rig.lead.is_leader);
    look();
    ck_assert_int_eq(row_count, 1);
    ck_assert_int_eq(order_count, 0);
    ck_assert_str_eq(rows[0].reason, "a \"reason\"");
    ck_assert_int_eq(rows[0].verb, MG_CAUSE_RESUME);
    ck_assert_int_eq(rows[0].bulk.spacing_us, 400000);
    ck_assert_int_eq(rows[0].bulk.waiting, 6);
    ck_assert_int_gt(rows[0].bulk.now_us, rows[0].bulk.next_us);
    write_as(MG_BULK_CANARY, 2, NULL, 0);
    ck_assert(is_leader && is_written && !is_alerted);
    ck_assert_int_eq(asked_count, 2);
    rig_admin(&rig,
              "UPDATE order_process SET version = 9, process_state = 'processed' WHERE order_id = 'o-1';"
              "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, transitions,"
              " owed) VALUES ('o-1', 8, 'resume', 'the cause', 'me', 0, '[]', false)");
    look();
    ck_assert_int_eq(order_count, 2);
    ck_assert_int_eq(rows[0].bulk.next_us, INT64_C(1900000000123456));
    ck_assert_int_eq(orders[0].order.state, MG_ORDER_PROCESSED);
    ck_assert_uint_eq(orders[0].order.order_version, 9);
    ck_assert_str_eq(orders[0].cause, "the cause");
    ck_assert_uint_eq(orders[1].order.order_version, 7);
    ck_assert_str_eq(orders[1].cause, "");
    struct mg_bulk_ended ended[] = {{orders[0].n, MG_BULK_RESULT_DONE, ""},
                                    {orders[1].n, MG_BULK_RESULT_FAILED, "in error again"}};
    write_as(MG_BULK_RUNNING, 3, ended, 2);
    ck_assert_int_eq(asked_count, 3);
    ck_assert_str_eq(
        ROW("state || ' ' || version || is_tried || waiting || asked || done || failed || asked_to"),
        "running 2true1"
        "3"
        "1"
        "1"
        "5");
    look();
    ck_assert_str_eq(orders[0].order_id, "o-3");
    ck_assert_uint_eq(orders[0].order.version, 7);
    ck_assert_int_eq(rows[0].bulk.recent_failed, 1);
    ck_assert_int_eq(rows[0].bulk.done, 1);
}
END_TEST

START_TEST(a_bulk_action_that_stops_reports_it_once_and_ends_with_its_last_order)
{
    fail_orders(1, 6, "charge", "payment");
    bulk_start(A, "charge");
    rig_lead(&rig, "runner-1");
    look();
    write_as(MG_BULK_CANARY, 2, NULL, 0);
    look();
    struct mg_bulk_ended first = {orders[0].n, MG_BULK_RESULT_FAILED, "x"};
    write_as(MG_BULK_STOPPED, 0, &first, 1);
    ck_assert(is_written && is_alerted);
    ck_assert_str_eq(ROW("state || waiting || asked || failed || skipped || why || (ended_at IS NULL)"),
                     "stopped01142 of 2 failedtrue");
    ck_assert_str_eq(rig_value(&rig, "SELECT text FROM operator_alert WHERE code = 'bulk_stopped'"
                                     " AND closed_at IS NULL AND subject = '" A "'"),
                     "2 of 2 failed");
    ck_assert_str_eq(
        rig_value(&rig, "SELECT by_whom || verb FROM operator_action ORDER BY action_id DESC LIMIT 1"),
        "runner-1bulk stopped");
    look();
    ck_assert_int_eq(row_count, 1);
    ck_assert_int_eq(order_count, 1);
    struct mg_bulk_ended second = {orders[0].n, MG_BULK_RESULT_DONE, ""};
    write_as(MG_BULK_STOPPED, 0, &second, 1);
    ck_assert(is_written && !is_alerted);
    look();
    ck_assert_int_eq(row_count, 0);
    ck_assert_str_eq(ROW("asked || ' ' || done || (ended_at IS NOT NULL)"), "0 1true");
}
END_TEST

/* Would catch: a runner that undoes a pause set in between, and a runner that goes on after another took
 * over. */
START_TEST(a_runner_is_fenced_by_operators_and_by_its_successor)
{
    fail_orders(1, 6, "charge", "payment");
    bulk_start(A, "charge");
    look();
    write_as(MG_BULK_CANARY, 2, NULL, 0);
    ck_assert(!is_leader && !is_written);
    rig_lead(&rig, "runner-1");
    ck_assert_uint_eq(rig.lead.epoch, 1);
    look();
    ck_assert_int_eq(change(A, MG_BULK_WISH_PAUSE, 1), MG_CHANGE_DONE);
    write_as(MG_BULK_CANARY, 2, NULL, 0);
    ck_assert(is_leader && !is_written);
    ck_assert_int_eq(asked_count, 0);
    ck_assert_str_eq(ROW("state || asked"), "paused0");
    ck_assert_int_eq(change(A, MG_BULK_WISH_RESUME, 2), MG_CHANGE_DONE);
    look();
    rig_admin(&rig, "UPDATE bulk_runner SET epoch = epoch + 1, holder = 'runner-2'");
    write_as(MG_BULK_CANARY, 2, NULL, 0);
    ck_assert(!is_leader && !is_written);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM bulk_order WHERE result = 'asked'"), "0");
}
END_TEST

static void on_kept(void *arg, bool changed, const struct mg_err *err)
{
    struct rig *at = arg;
    at->is_found = changed;
    rig_done(at, err);
}

static bool keeps(void)
{
    mg_store_keep_bulk(rig.store, on_kept, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
    return rig.is_found;
}

START_TEST(the_lock_of_runners_is_not_that_of_supervisors)
{
    struct rig other;
    rig_open(&other);
    rig_start_with(&other, (struct mg_store_options){.is_leader_session = true}, true);
    rig_admin(&rig, "UPDATE supervisor_leader SET epoch = 0, holder = '', seen_at = NULL");
    rig_lead(&other, "supervisor-1");
    ck_assert(other.lead.is_leader);
    ck_assert(!keeps());
    rig_lead(&rig, "runner-1");
    ck_assert(rig.lead.is_leader);
    ck_assert(keeps());
    ck_assert_str_eq(rig_value(&rig, "SELECT holder || epoch FROM bulk_runner WHERE seen_at IS NOT NULL"),
                     "runner-11");
    ck_assert_str_eq(rig_value(&rig, "SELECT holder FROM supervisor_leader"), "supervisor-1");
    rig_finish(&other);
    rig_open(&other);
    rig_start_with(&other, (struct mg_store_options){.is_leader_session = true, .lead = MG_LEAD_BULK}, true);
    rig_lead(&other, "runner-2");
    ck_assert(!other.lead.is_leader && !other.is_refused);
    rig_finish(&other);
}
END_TEST

/* Would catch: a stop rule that looks at the orders sent last. An order that fails by a time-out ends long
 * after those. */
START_TEST(the_last_outcomes_decide_whether_it_stops)
{
    fail_orders(1, 300, "charge", "payment");
    bulk_start(A, "charge");
    rig_admin(
        &rig,
        "UPDATE bulk_order SET asked_at = clock_timestamp(), result = CASE WHEN n <= 50 THEN 'failed' ELSE 'done' END,"
        " ended_at = clock_timestamp() - CASE WHEN n <= 50 THEN interval '1 s' ELSE interval '1 min' END;"
        "UPDATE bulk SET waiting = 0, asked_to = 300, failed = 50, done = 250");
    look();
    ck_assert_int_eq(rows[0].bulk.recent_failed, MG_BULK_RECENT);
}
END_TEST

/* Would catch: a stop rule that is blind to new failures for as long as the clock was put back, because
 * earlier ends seem newer. */
START_TEST(an_outcome_before_a_step_back_of_the_clock_is_not_the_newest)
{
    fail_orders(1, MG_BULK_RECENT + 4, "charge", "payment");
    bulk_start(A, "charge");
    rig_lead(&rig, "runner-1");
    rig_admin(&rig, "UPDATE bulk_order SET asked_at = clock_timestamp(), result = 'done',"
                    " ended_at = clock_timestamp() + interval '1 hour' WHERE n > 4;"
                    "UPDATE bulk SET waiting = 4, done = orders - 4");
    look();
    write_as(MG_BULK_RUNNING, 4, NULL, 0);
    for (int ended_before = 0; ended_before < 4; ended_before += 2) {
        look();
        ck_assert_int_eq(rows[0].bulk.recent_failed, ended_before);
        ck_assert_int_eq(order_count, 4 - ended_before);
        struct mg_bulk_ended ended[] = {{orders[0].n, MG_BULK_RESULT_FAILED, "in error again"},
                                        {orders[1].n, MG_BULK_RESULT_FAILED, "in error again"}};
        write_as(MG_BULK_RUNNING, 0, ended, 2);
    }
    look();
    ck_assert_int_eq(rows[0].bulk.recent_failed, 4);
}
END_TEST

/* Would catch: an order that fails anew and is undone, and is counted as a success. */
START_TEST(each_outcome_is_compared_with_the_request)
{
    static const char *const EXPECTED[] = {
        "resume processed compensated t",   "resume processed cancelled t",    "resume processed processed f",
        "resume compensated compensated f", "resume compensated processed f",  "cancel processed cancelled f",
        "cancel processed processed t",     "compensate cancelled cancelled f"};
    fail_orders(1, 1, "charge", "payment");
    bulk_start(A, "charge");
    rig_lead(&rig, "runner-1");
    look();
    write_as(MG_BULK_CANARY, 1, NULL, 0);
    for (size_t i = 0; i < sizeof(EXPECTED) / sizeof(EXPECTED[0]); i++) {
        char verb[16], goal[16], state[16], is_turned, sql[400];
        ck_assert_int_eq(sscanf(EXPECTED[i], "%15s %15s %15s %c", verb, goal, state, &is_turned), 4);
        snprintf(sql, sizeof(sql),
                 "UPDATE bulk SET verb = '%s'; UPDATE bulk_order SET goal = '%s';"
                 "UPDATE order_process SET version = 9, process_state = '%s', goal = 'compensated'",
                 verb, goal, state);
        rig_admin(&rig, sql);
        look();
        ck_assert_int_eq(order_count, 1);
        ck_assert_msg(orders[0].order.is_turned == (is_turned == 't'), "%s", EXPECTED[i]);
    }
}
END_TEST

/* Measured by the server's own counters at the end of the session. Would catch: a statement that scans a
 * table, or the list of a bulk action, several times a second. */
START_TEST(the_runner_reads_by_key)
{
    /* TRUNCATE counts as a read of the table; its session reports that a second later. */
    rig_admin(&rig, "SELECT pg_stat_force_next_flush()");
    rig_admin(&rig, "SELECT pg_stat_reset()");
    fail_orders(1, 5000, "charge", "payment");
    bulk_start(A, "charge");
    rig_admin(&rig, "INSERT INTO bulk_order (bulk_id, n, order_id, version, goal, result, asked_at, ended_at)"
                    " SELECT '" A
                    "', 1000000 + i, 'x-' || i, 7, 'processed', 'done', clock_timestamp(), clock_timestamp()"
                    " FROM generate_series(1, 20000) AS i");
    rig_lead(&rig, "runner-1");
    look();
    for (int i = 0; i < 20; i++) {
        struct mg_bulk_ended ended[8];
        int count = 0;
        for (; count < order_count && count < 8; count++) {
            ended[count] = (struct mg_bulk_ended){orders[count].n, MG_BULK_RESULT_SKIPPED, ""};
        }
        write_as(MG_BULK_RUNNING, 8, ended, count);
        ck_assert(is_written);
        look();
    }
    mg_store_destroy(rig.store); /* its end flushes its read counters to the server's statistics */
    rig.store = NULL;
    static const char READ[] =
        "SELECT coalesce(string_agg(relname, ' '), '') FROM pg_stat_user_tables WHERE seq_scan > 0 AND relname IN"
        " ('order_process', 'order_event', 'operator_alert', 'bulk_order')";
    static const char IS_TOLD[] =
        "SELECT n_tup_upd >= 300 FROM pg_stat_user_tables WHERE relname = 'bulk_order'";
    for (int i = 0; i < 100 && strcmp(rig_value(&rig, IS_TOLD), "t") != 0; i++) {
        rig_admin(&rig, "SELECT pg_sleep(0.1), pg_stat_clear_snapshot()");
    }
    ck_assert_str_eq(rig_value(&rig, IS_TOLD), "t");
    ck_assert_str_eq(rig_value(&rig, READ), "");
    /* Of 5,000 orders each of the 20 turns reads some dozens by each key. */
    ck_assert_int_lt(
        strtoll(rig_value(&rig, "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname ="
                                " 'bulk_order' AND indexrelname <> 'bulk_order_open'"),
                NULL, 10),
        20000);
}
END_TEST

START_TEST(reports_list_bulk_actions)
{
    static const char *const charge[] = {"", "charge", "", "", "", "", ""}, *const none[] = {"w", "", "", "",
                                                                                             "",  "", ""};
    static const char *const ship[] = {"", "", "http_422", "x carrier", "-7200000", "", ""};
    static const char *const one[] = {A}, *const limit[] = {"10"};
    static const char *const of_bulk[] = {A, "asked", "0", "10"}, *const behind[] = {A, "", "3", "1"};
    fail_orders(1, 6, "charge", "payment");
    fail_orders(7, 8, "ship", "carrier");
    rig_admin(&rig, "UPDATE order_process SET process_state = 'processing' WHERE order_id = 'o-2'");
    assert_has(rig_report(&rig, MG_REPORT_BULK_CHOICE, charge, 7),
               "orders=5 not_in_error=1 of_lost_state=0 in_other_bulk=0");
    assert_has(rig_report(&rig, MG_REPORT_BULK_CHOICE, ship, 7), "orders=2");
    assert_has(rig_report(&rig, MG_REPORT_BULK_CHOICE, none, 7), "orders=0");
    bulk_start(A, "charge");
    assert_has(rig_report(&rig, MG_REPORT_BULK_CHOICE, charge, 7),
               "orders=0 not_in_error=1 of_lost_state=0 in_other_bulk=5");
    rig_lead(&rig, "runner-1");
    look();
    write_as(MG_BULK_CANARY, 2, NULL, 0);
    assert_has(rig_report(&rig, MG_REPORT_BULK_LIST, limit, 1),
               "state=canary version=1 orders=5 waiting=3 asked=2 done=0");
    assert_has(rig_report(&rig, MG_REPORT_BULK, one, 1), "filter={\"step\": \"charge\"} by_whom=anna");
    assert_has(rig_report(&rig, MG_REPORT_BULK_ORDERS, of_bulk, 4), "order_id=o-1 result=asked state=error");
    ck_assert_int_eq(rig.row_count, 2);
    assert_has(rig_report(&rig, MG_REPORT_BULK_ORDERS, behind, 4), "n=4 order_id=o-5 result=waiting");
    ck_assert_int_eq(rig.row_count, 1);
    assert_has(rig_report(&rig, MG_REPORT_BULK_RUNNER, NULL, 0), "holder=runner-1 epoch=1");
    assert_has(rig.text, "open_bulk=1");
    ck_assert(strstr(rig.text, "age_ms=-") == NULL);
    mg_store_stop_leading(rig.store, rig_done, &rig);
    rig_wait_answer(&rig);
    assert_has(rig_report(&rig, MG_REPORT_BULK_RUNNER, NULL, 0), "age_ms=- ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: bulk actions");
    TCase *test = tcase_create("bulk");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, bulk_setup, bulk_teardown);
    tcase_add_test(test, operators_change_a_bulk_action_by_its_version);
    tcase_add_test(test, a_runner_takes_orders_in_turn_and_records_their_outcome);
    tcase_add_test(test, a_bulk_action_that_stops_reports_it_once_and_ends_with_its_last_order);
    tcase_add_test(test, a_runner_is_fenced_by_operators_and_by_its_successor);
    tcase_add_test(test, the_lock_of_runners_is_not_that_of_supervisors);
    tcase_add_test(test, the_last_outcomes_decide_whether_it_stops);
    tcase_add_test(test, an_outcome_before_a_step_back_of_the_clock_is_not_the_newest);
    tcase_add_test(test, each_outcome_is_compared_with_the_request);
    tcase_add_test(test, the_runner_reads_by_key);
    tcase_add_test(test, reports_list_bulk_actions);
    suite_add_tcase(suite, test);
    return store_main(suite, "bulk");
}
