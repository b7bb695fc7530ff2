/*
 * What `makegood top` asks each second, while tables are large: each statement looks at what is open, through
 * an index, and nowhere at all there is.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finished orders, each with four events and one closed alert; and open ones. */
#define FINISHED "20000"
#define OPEN     "300"
/* Pages of 8 KiB: each open row of its own page, and the way to it, three times over. Of the tables there are
 * some 2000. */
#define BUFFERS_MAX 2000

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
    rig_admin(
        &rig,
        "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)"
        " SELECT 'o-' || n, 1, 'w', 1, repeat('x', 500), sha256(n::text::bytea), false"
        " FROM generate_series(1, " FINISHED " + " OPEN ") n;"
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation,"
        "  failure_count, locked_by, wake_at, workflow, workflow_version, revision, is_high, wants_step_status)"
        " SELECT 'o-' || n, CASE WHEN n > " FINISHED " THEN 'processing' ELSE 'processed' END, 'processed',"
        "  'none', 4, 2, 0, 0, 'test', CASE WHEN n > " FINISHED
        " THEN now() + interval '1 day' END, 'w', 1, 1,"
        "  false, false FROM generate_series(1, " FINISHED " + " OPEN ") n;"
        "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, owed)"
        " SELECT 'o-' || n, v, 'reply', 'c', 'test', 1, n % 5000 = 0 FROM generate_series(1, " FINISHED ") n,"
        "  generate_series(1, 4) v;"
        "INSERT INTO operator_alert (code, subject, order_id, text, closed_at, workflow, step, service, signature)"
        " SELECT 'order_error', 'o-' || n, 'o-' || n, repeat('y', 200), CASE WHEN n > 50 THEN now() END,"
        "  'w', 's', 'payment', 'declined' FROM generate_series(1, " FINISHED ") n;"
        "INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency)"
        " VALUES ('payment', 'a', 'closed', true, 3, 8), ('payment', 'b', 'open', true, 1, 8);"
        "ANALYZE");
    /* As the store sets its sessions (store.c). */
    rig_admin(&rig, "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off");
}

static void teardown(void)
{
    rig_admin(&rig, "TRUNCATE orders, order_process, order_event, operator_alert, service_state");
    rig_finish(&rig);
}

/* The plan as it was run, lines one below the other. */
static const char *plan_of(enum mg_report report, const char *params)
{
    static char plan[65536];
    char sql[65536];
    snprintf(sql, sizeof sql, "PREPARE looked_at AS %s", mg_store_report_sql(report));
    rig_admin(&rig, sql);
    snprintf(sql, sizeof sql, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) EXECUTE looked_at%s", params);
    PGresult *result = PQexec(rig.admin, sql);
    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQresultErrorMessage(result));
    plan[0] = '\0';
    for (int row = 0; row < PQntuples(result); row++) {
        size_t len = strlen(plan);
        snprintf(plan + len, sizeof plan - len, "%s\n", PQgetvalue(result, row, 0));
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

static const struct watched {
    enum mg_report report;
    const char *params;
    bool is_count; /* of many rows: a limit below it bounds how many are looked at */
} WATCHED[] = {
    {MG_REPORT_LEADER, "", false},      {MG_REPORT_CONTROLLED, "", false},
    {MG_REPORT_ACCEPTED, "", false},    {MG_REPORT_FIGURES, "", true},
    {MG_REPORT_OLDEST, "('50')", true}, {MG_REPORT_FAILURE_GROUPS, "('', '', '', '', '', '', '50')", true},
};

/* Catches a statement that reads a whole table each second: the database would be busy with its watcher. */
START_TEST(a_look_reads_what_is_open_and_not_what_there_is)
{
    const struct watched *watched = &WATCHED[_i];
    const char *plan = plan_of(watched->report, watched->params);
    static const char *const large[] = {"orders", "order_process", "order_event", "operator_alert"};
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        char whole[64];
        snprintf(whole, sizeof whole, "Seq Scan on %s ", large[i]);
        ck_assert_msg(strstr(plan, whole) == NULL, "%s", plan);
    }
    ck_assert_msg(strstr(plan, "order_process_pkey") == NULL && strstr(plan, "operator_alert_pkey") == NULL,
                  "%s", plan);
    ck_assert_msg(buffers_of(plan) <= BUFFERS_MAX, "%s", plan);
    ck_assert_msg(!watched->is_count || strstr(plan, "->  Limit") != NULL, "%s", plan);
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
        snprintf(at->text + len, sizeof at->text - len, "%s=%.*s ", mg_rows_column(rows, column),
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
    tcase_add_loop_test(tcase, a_look_reads_what_is_open_and_not_what_there_is, 0,
                        sizeof WATCHED / sizeof WATCHED[0]);
    tcase_add_test(tcase, the_oldest_comes_first_and_what_is_stored_is_counted);
    suite_add_tcase(suite, tcase);
    return store_main(suite, "watch");
}
