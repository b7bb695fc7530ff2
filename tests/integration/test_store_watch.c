/*
 * The queries of `makegood top` and the console, over large tables. Each statement reads open rows, rows by
 * key, or a bounded number of rows, always through an index. None reads a whole table.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finished orders, each with a step, four events and one closed alert, and in a bulk action; and open ones.
 * So many of them fail that the newest closed alert is newer than any open one. */
#define FINISHED "20000"
#define OPEN     "300"
#define FAILING  "50"
#define BULK     "00000000-0000-4000-8000-000000000001"
/* The pages of 8 KiB that a statement may touch. The tables have more: some 400 of bulk_order, 800 to 2000
 * of the others. PAGES_OPEN: each open row on a page of its own, twice over. The others: each failing row
 * with its order and the way there; rows of one key; a page of the console, 50 to 200 rows; tables that do
 * not grow with orders. */
/* Each order counted is found in two tables by its key, and its steps in a third. */
#define PAGES_STEPS   (12L * MG_STEPS_COUNTED_ORDERS)
#define PAGES_OPEN    700
#define PAGES_FAILING 400
#define PAGES_MOVED   1800 /* each open row, its step, and the row again by its key */
#define PAGES_KEY     100
#define PAGES_LIST    500 /* fifty rows, each with a step */
#define PAGES_SMALL   60
/* The newest 10,000 orders, which a filter searches: each with its row of order_process, by key. */
#define PAGES_SOUGHT (10000 * 5)
/* The newest 1,000 of one client, each with its row and labels. */
#define PAGES_OF_CLIENT (1000 * 12)

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
    rig_admin(
        &rig,
        "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, client)"
        " SELECT 'o-' || n, 1, 'w', 1, to_json(repeat('x', 500)), sha256(n::text::bytea), false,"
        "  CASE WHEN n % 2000 = 7 THEN 'depot' ELSE 'shop' END FROM generate_series(1, " FINISHED " + " OPEN
        ") n;"
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation,"
        "  failure_count, locked_by, wake_at, workflow, workflow_version, revision, is_high, wants_step_status)"
        " SELECT 'o-' || n, CASE WHEN n > " FINISHED " THEN 'processing' ELSE 'processed' END, 'processed',"
        "  'none', 4, 2, 0, 0, 'test', CASE WHEN n > " FINISHED
        " THEN now() + interval '1 day' END, 'w', 1, 1,"
        "  false, false FROM generate_series(1, " FINISHED " + " OPEN ") n;"
        "INSERT INTO order_label (order_id, name, value, created_at) SELECT 'o-' || n, l, '7', now()"
        "  FROM generate_series(1, " FINISHED ") n, unnest('{m,n}'::text[]) l;"
        "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, owed)"
        " SELECT 'o-' || n, v, 'reply', 'c', 'test', 1, n % 5000 = 0 FROM generate_series(1, " FINISHED ") n,"
        "  generate_series(1, 4) v;"
        "INSERT INTO operator_alert (code, subject, order_id, text, closed_at, workflow, step, service, error_code)"
        " SELECT 'order_error', 'o-' || n, 'o-' || n, repeat('y', 200), CASE WHEN n > " FAILING
        " THEN now() END,"
        "  'w', 's', 'payment', 'declined' FROM generate_series(1, " FINISHED ") n;"
        "INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe, is_undo_dispatched,"
        "  is_refused, is_accepted, attempt, failure_count, cool_down_count, generation)"
        " SELECT 'o-' || n, 's', 0, 'payment', 'done', 'do', 'none', false, false, false, false, 1, 0, 0, 0"
        "  FROM generate_series(1, " FINISHED ") n;"
        "INSERT INTO workflow (name, version, definition) SELECT 'w', n, '{}' FROM generate_series(1, 50) n;"
        "INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent, state, orders, ended_at)"
        " SELECT left('" BULK
        "', -3) || lpad(n::text, 3, '0'), 'resume', '{}', 'r', 'otto', 5, 5, 10, 'done', " FINISHED ", now()"
        "  FROM generate_series(1, 200) n;"
        "INSERT INTO bulk_order (bulk_id, n, order_id, version, goal, result)"
        " SELECT '" BULK "', n, 'o-' || n, 4, 'processed', 'done' FROM generate_series(1, " FINISHED ") n;"
        "INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency)"
        " VALUES ('payment', 'a', 'closed', true, 3, 8), ('payment', 'b', 'open', true, 1, 8);"
        "ANALYZE");
    /* The store sets its sessions so, too (store.c). */
    rig_admin(&rig, "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off");
}

static void teardown(void)
{
    rig_admin(
        &rig,
        "TRUNCATE orders, order_process, order_step, order_event, order_label, operator_alert, service_state,"
        " workflow, bulk, bulk_order");
    rig_finish(&rig);
}

/* The executed plan, its lines one below the other. */
static const char *plan_of(enum mg_report report, const char *params)
{
    static char plan[65536];
    char sql[65536];
    snprintf(sql, sizeof(sql), "PREPARE looked_at AS %s", mg_store_report_sql(report));
    rig_admin(&rig, sql);
    snprintf(sql, sizeof(sql), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE looked_at%s", params);
    PGresult *result = PQexec(rig.admin, sql);
    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(result));
    if (strncmp(PQgetvalue(result, 0, 0), "Function Scan", strlen("Function Scan")) == 0) {
        PQclear(result); /* a function's first call in a session reads catalogues, too */
        result = PQexec(rig.admin, sql);
        ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(result));
    }
    plan[0] = '\0';
    for (int row = 0; row < PQntuples(result); row++) {
        size_t len = strlen(plan);
        snprintf(plan + len, sizeof(plan) - len, "%s\n", PQgetvalue(result, row, 0));
    }
    PQclear(result);
    rig_admin(&rig, "DEALLOCATE looked_at");
    return plan;
}

static long buffers_of(const char *plan)
{
    const char *line = strstr(plan, "Buffers: shared");
    const char *end = line == NULL ? NULL : strchr(line, '\n'),
               *hit = line == NULL ? NULL : strstr(line, "hit=");
    const char *read = line == NULL ? NULL : strstr(line, "read=");
    long sum = hit != NULL && hit < end ? strtol(hit + 4, NULL, 10) : 0;
    return sum + (read != NULL && read < end ? strtol(read + 5, NULL, 10) : 0);
}

#define NOTHING "'', '', '', '', ''" /* five filters that match all */

static const struct mg_watched {
    enum mg_report report;
    const char *params;
    long buffers_max;
    bool is_count; /* of many rows: a limit below it bounds how many are looked at */
} WATCHED[] = {
    /* top */
    {MG_REPORT_ACCEPTED, "", PAGES_SMALL, false},
    {MG_REPORT_OLDEST, "('50')", PAGES_OPEN, true},
    /* the lists of the tool */
    {MG_REPORT_STUCK, "", PAGES_MOVED, true},
    {MG_REPORT_ORDERS, "(" NOTHING ", '50', '', '')", PAGES_LIST, true},
    {MG_REPORT_ORDERS, "('error', '', '', '', '', '50', '', '')", PAGES_LIST, true},
    {MG_REPORT_ORDERS, "('processing', '', '', '', '', '50', '', '')", PAGES_OPEN, true},
    {MG_REPORT_ORDERS, "('processed', 'none', '', '', 'o-7777', '50', '', '')", PAGES_SOUGHT, true},
    {MG_REPORT_ORDERS, "('error', '', '', '', '', '50', '{\"n\":\"1\"}', '')", PAGES_LIST, true},
    /* both */
    {MG_REPORT_LEADER, "", PAGES_SMALL, false},
    {MG_REPORT_CONTROLLED, "", PAGES_SMALL, false},
    {MG_REPORT_FIGURES, "('true')", PAGES_OPEN, true},
    {MG_REPORT_UNNEEDED_ALERTS, "", PAGES_SMALL, false},
    {MG_REPORT_KEPT_SERVICES, "", PAGES_OPEN, true},
    {MG_REPORT_FAILURE_GROUPS, "(" NOTHING ", '', '50', '')", PAGES_FAILING, true},
    /* the console */
    {MG_REPORT_SETTINGS, "", PAGES_SMALL, false},
    {MG_REPORT_SERVICES, "", PAGES_SMALL, false},
    {MG_REPORT_SERVICE_MINUTES, "('')", PAGES_SMALL, false},
    {MG_REPORT_ORDER_MINUTES, "", PAGES_SMALL, false},
    {MG_REPORT_WORKFLOWS, "", PAGES_OPEN, true},
    {MG_REPORT_WORKFLOW, "('w')", PAGES_KEY, false},
    {MG_REPORT_WORKFLOW_STEPS, "", PAGES_STEPS, true},
    {MG_REPORT_VERSIONS, "('o-1 o-2 o-3')", PAGES_KEY, false},
    /* the gateway */
    {MG_REPORT_CHANGES, "('o-1 o-2 o-3', '3 4 0', 'shop depot shop')", PAGES_KEY, false},
    {MG_REPORT_CLIENT_ORDERS, "('', '', '', '', '', '50', '', 'shop')", PAGES_LIST, true},
    {MG_REPORT_CLIENT_ORDERS, "('cancelled', '', '', '', '4102444800000000/o-7777', '50', '', 'shop')",
     PAGES_OF_CLIENT, true},
    {MG_REPORT_CLIENT_ORDERS, "('processed', '', '', '', '', '50', '', 'depot')", PAGES_KEY, true},
    {MG_REPORT_CLIENT_ORDERS, "('cancelled', '', '', '', '', '50', '{\"n\":\"7\",\"m\":\"7\"}', 'shop')",
     PAGES_OF_CLIENT, true},
    {MG_REPORT_CLIENT_ORDERS, "('', '', '', '', '', '50', '{\"n\":\"7\"}', 'depot')", PAGES_LIST, true},
    {MG_REPORT_SUBMISSIONS_MEET, "('o-1 o-2 o-none', 'w w v', '0 1 0')", PAGES_KEY, false},
    {MG_REPORT_ARCHIVED_ORDER_OF_CLIENT, "('shop', 'o-20')", PAGES_KEY, false},
    {MG_REPORT_ARCHIVED_STATUSES_OF_CLIENT, "('shop', 'o-20', '0', '100')", PAGES_KEY, false},
    {MG_REPORT_STATUSES_OF_CLIENT, "('shop', 'o-20', '0', '0', '100')", PAGES_KEY, false},
    /* the console */
    {MG_REPORT_PAGE_OPEN, "(" NOTHING ", '50')", PAGES_OPEN, true},
    {MG_REPORT_PAGE_PARKED, "('payment', '', '50')", PAGES_OPEN, true},
    {MG_REPORT_PAGE_DUE, "('600000', '50')", PAGES_OPEN, true},
    {MG_REPORT_PAGE_OPEN, "('pending', 'w', '-3600000', '', 'o-20100', '50')", PAGES_OPEN, true},
    {MG_REPORT_ORDERS, "(" NOTHING ", '50', '', '')", PAGES_LIST, true},
    {MG_REPORT_ORDERS, "('', '', '', '', '4102444800000000/o-7777', '50', '', '')", PAGES_LIST, true},
    {MG_REPORT_ORDERS, "('', '', '', '-100', '', '50', '', '')", PAGES_LIST, true},
    {MG_REPORT_ORDERS, "('', 'none', '', '', '', '50', '', '')", PAGES_SOUGHT, true},
    {MG_REPORT_ORDERS, "('processed', '', '', '', '', '50', '', '')", PAGES_SOUGHT, true},
    {MG_REPORT_ORDERS, "('cancelled', '', '', '', '', '50', '', '')", PAGES_LIST, true},
    {MG_REPORT_FAILURES, "(" NOTHING ", '', '', '50', '')", PAGES_FAILING, true},
    {MG_REPORT_FAILURES, "('w', 's', 'decl', 'payment', '-3600000', '', '30', '50', '{\"n\":\"1\"}')",
     PAGES_FAILING, true},
    {MG_REPORT_FAILURES_LOOKED_AT, "('', '', '')", PAGES_FAILING, true},
    {MG_REPORT_ALERTS, "('open', '200')", PAGES_FAILING, true},
    {MG_REPORT_ALERTS, "('all', '200')", PAGES_LIST, true},
    {MG_REPORT_ALERT_CAUSES, "('200')", PAGES_FAILING, true},
    {MG_REPORT_ACTIONS, "('', '', '', '', '', '50')", PAGES_LIST, true},
    {MG_REPORT_ACTIONS, "('-3600000', '-100', 'otto', 'o-20', '30', '50')", PAGES_LIST, true},
    {MG_REPORT_ORDER, "('o-20')", PAGES_KEY, false},
    {MG_REPORT_ORDER_STEPS, "('o-20')", PAGES_KEY, false},
    {MG_REPORT_DOSSIER, "('o-20')", PAGES_KEY, false},
    {MG_REPORT_ARCHIVED_ORDER, "('o-20')", PAGES_KEY, false},
    {MG_REPORT_ARCHIVED_STEPS, "('o-20')", PAGES_KEY, false},
    {MG_REPORT_ARCHIVED_DOSSIER, "('o-20')", PAGES_KEY, false},
    {MG_REPORT_BULK_CHOICE, "(" NOTHING ", '', '')", PAGES_FAILING, true},
    {MG_REPORT_BULK_LIST, "('50')", PAGES_LIST, true},
    {MG_REPORT_BULK, "('" BULK "')", PAGES_KEY, false},
    {MG_REPORT_BULK_ORDERS, "('" BULK "', '', '9000', '100')", PAGES_LIST, true},
    {MG_REPORT_BULK_RUNNER, "", PAGES_SMALL, false},
};

static void assert_bounded(const struct mg_watched *watched)
{
    const char *plan = plan_of(watched->report, watched->params);
    static const char *const large[] = {"orders",      "order_process",  "order_step",
                                        "order_event", "operator_alert", "bulk_order"};
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        char whole[64];
        snprintf(whole, sizeof(whole), "Seq Scan on %s ", large[i]);
        ck_assert_msg(strstr(plan, whole) == NULL, "%.3000s", plan);
    }
    ck_assert_msg(!watched->is_count || strstr(plan, "->  Limit") != NULL || strncmp(plan, "Limit", 5) == 0,
                  "%.3000s", plan);
    ck_assert_msg(buffers_of(plan) <= watched->buffers_max, "%ld pages, more than %ld:\n%.3000s",
                  buffers_of(plan), watched->buffers_max, plan);
}

/* Would catch: a statement that reads a whole table each second, or at each click. The database would be busy
 * with its watchers. */
START_TEST(a_look_reads_what_is_open_and_not_what_there_is)
{
    for (size_t i = 0; i < sizeof(WATCHED) / sizeof(WATCHED[0]); i++) {
        assert_bounded(&WATCHED[i]);
    }
}
END_TEST

static void on_row(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct rig *at = arg;
    at->row_count = rows == NULL ? -1 : mg_rows_count(rows);
    at->text[0] = '\0';
    for (int column = 0; at->row_count > 0 && column < mg_rows_column_count(rows); column++) {
        struct mg_slice value = mg_rows_value(rows, 0, column);
        size_t len = strlen(at->text);
        snprintf(at->text + len, sizeof(at->text) - len, "%s=%.*s ", mg_rows_column(rows, column),
                 (int)value.len, value.data == NULL ? "" : value.data);
    }
    rig_done(at, err);
}

static const char *first_row(enum mg_report report, const char *const *params, int count)
{
    mg_store_report(rig.store, report, params, count, on_row, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return rig.text;
}

START_TEST(the_oldest_comes_first_and_what_is_stored_is_counted)
{
    rig_admin(&rig,
              "UPDATE order_process SET created_at = now() - interval '2 hours' WHERE order_id = 'o-20123';"
              "UPDATE order_process SET created_at = now() - interval '9 hours', process_state = 'error'"
              " WHERE order_id = 'o-20124'");
    const char *row = first_row(MG_REPORT_OLDEST, (const char *[]){"7"}, 1);
    ck_assert_msg(strncmp(row, "order_id=o-20123 workflow=w state=processing reason=none age_ms=7200", 68) ==
                      0,
                  "%s", row);
    ck_assert_int_eq(rig.row_count, 7);
    row = first_row(MG_REPORT_CONTROLLED, NULL, 0);
    ck_assert_msg(strstr(row, "in_flight=4 capacity=16 breakers_open=1 ") != NULL, "%s", row);
    rig_admin(&rig, "SELECT pg_stat_force_next_flush()");
    row = first_row(MG_REPORT_ACCEPTED, NULL, 0);
    ck_assert_msg(strstr(row, "accepted=") != NULL && strtol(strstr(row, "accepted=") + 9, NULL, 10) >= 20300,
                  "%s", row);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store watch");
    TCase *tcase = tcase_create("looks");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_look_reads_what_is_open_and_not_what_there_is);
    tcase_add_test(tcase, the_oldest_comes_first_and_what_is_stored_is_counted);
    suite_add_tcase(suite, tcase);
    return store_main(suite, "watch");
}
