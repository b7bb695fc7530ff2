/*
 * One damaged order among others: each statement over many orders that the supervisor sends, with each kind
 * of damage. The others are found and moved, the one is named, and it is not asked for again at once. The
 * table of statements is that of io/store/pass_by.h.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "io/store/owed.h"

#define ORDERS  8
#define DAMAGED "o-3"

static struct rig rig;

/* ---- the statements ---- */

static const char ORDERS_DUE[] =
    "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
    "  locked_by, wake_at, workflow, workflow_version, revision, is_high, wants_step_status)"
    " SELECT 'o-' || n, 'processing', 'processed', 'none', 2, 2, 0, 0, 'test',"
    "  now() - interval '1 minute' + n * interval '1 ms', 'w', 1, 1, false, false FROM generate_series(0, 7) n;"
    "INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe, is_undo_dispatched,"
    "  is_refused, is_accepted, attempt, failure_count, cool_down_count, generation, due_at)"
    " SELECT order_id, 'reserve', 0, 'inventory', 'waiting', 'do', 'service_paused', false, false, false,"
    "  false, 1, 0, 0, 0, wake_at FROM order_process";
static const char ORDERS_PARKED[] =
    "UPDATE order_process SET wake_at = now() + interval '1 day';"
    "UPDATE order_step SET parked_high = false, parked_until = now() - interval '1 minute'";
static const char ORDERS_OWED[] =
    "UPDATE order_process SET wake_at = NULL, process_state = 'processed';"
    "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, at, attempt, statuses, owed)"
    " SELECT order_id, 2, 'submitted', 'c', 'x', now() - interval '1 hour', 0, '[]', true FROM order_process";
static const char ORDERS_ASLEEP[] = "UPDATE order_process SET wake_at = now() + interval '1 day'";

static void on_due(void *arg, bool is_leader, const struct mg_due *dues, int count, const struct mg_err *err)
{
    struct rig *at = arg;
    at->sweep.is_leader = is_leader;
    at->sweep.due_count = count;
    for (int i = 0; i < count; i++) {
        at->dues[i] = dues[i];
    }
    rig_done(arg, err);
}

static void on_woken(void *arg, bool is_leader, bool is_full, const struct mg_err *err)
{
    ck_assert(err != NULL || (is_leader && !is_full));
    rig_done(arg, err);
}

static int dues_without_damaged(int count)
{
    for (int i = 0; i < count; i++) {
        ck_assert_str_ne(rig.dues[i].order_id, DAMAGED);
    }
    return count;
}

static const struct mg_sweep_options SWEEP_OPTIONS = {.epoch = 7,
                                                      .holder = "me",
                                                      .limit = 100,
                                                      .ask_again_ms = 100000,
                                                      .overdue_limit = 100,
                                                      .step_limit = 1000};

static int sweep(void)
{
    rig_sweep(&rig, &SWEEP_OPTIONS);
    return dues_without_damaged(rig.sweep.due_count);
}

static int ask_parked(void)
{
    static const struct mg_parked_room ROOM = {"inventory", false, 100};
    static const struct mg_parked_options OPTIONS = {
        .epoch = 7, .holder = "me", .ask_again_ms = 100000, .rooms = &ROOM, .room_count = 1};
    rig_ask_parked(&rig, &OPTIONS);
    return dues_without_damaged(rig.parked.due_count);
}

static int ask_owed(void)
{
    static const struct mg_ask_owed OPTIONS = {
        .epoch = 7, .holder = "me", .limit = 100, .ask_again_ms = 100000};
    mg_store_ask_owed(rig.store, &OPTIONS, on_due, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return dues_without_damaged(rig.sweep.due_count);
}

static int wake(void)
{
    mg_store_wake(rig.store, 7, "me", 100, on_woken, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    const char *woken =
        rig_value(&rig, "SELECT count(*) FROM order_process WHERE wake_at < 'epoch'::timestamptz"
                        " + interval '1 second'");
    int count = woken[0] - '0';
    rig_admin(&rig, "UPDATE order_process SET wake_at = now() + interval '1 day' WHERE order_id <> '" DAMAGED
                    "' AND wake_at < now()");
    return count;
}

static const struct {
    const char *name, *setup;
    int (*run)(void);    /* returns the number of orders found or woken */
    const char *written; /* the table that is updated for each order */
    const char
        *infinite; /* a statement that leaves a moment which no number stands for; NULL: none is read */
    bool waits_for_locks;
} STATEMENTS[] = {
    {"sweep", "", sweep, "order_process",
     "UPDATE order_step SET due_at = '-infinity' WHERE order_id = '" DAMAGED "'", false},
    {"ask_parked", ORDERS_PARKED, ask_parked, "order_step",
     "UPDATE order_step SET due_at = '-infinity' WHERE order_id = '" DAMAGED "'", false},
    {"ask_owed", ORDERS_OWED, ask_owed, "order_event", NULL, false},
    {"wake", ORDERS_ASLEEP, wake, "order_process", NULL, true},
};
#define STATEMENT_COUNT (int)(sizeof(STATEMENTS) / sizeof(STATEMENTS[0]))

static void setup(int statement)
{
    rig_start(&rig);
    rig_admin(&rig, "UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
    rig_admin(&rig, ORDERS_DUE);
    rig_admin(&rig, STATEMENTS[statement].setup[0] != '\0' ? STATEMENTS[statement].setup : "SELECT 1");
}

/* ---- what must hold ---- */

static const char *why_passed(const char *order_id)
{
    struct mg_passed_row passed[4];
    int count = mg_store_passed_rows(rig.store, passed, 4);
    for (int i = 0; i < count && i < 4; i++) {
        if (strcmp(passed[i].key, order_id) == 0) {
            ck_assert_int_eq(count, 1);
            return passed[i].why;
        }
    }
    return NULL;
}

static void assert_named(const char *cell, const char *part)
{
    const char *why = why_passed(DAMAGED);
    ck_assert_msg(why != NULL, "%s: the damaged order is not named", cell);
    ck_assert_msg(strstr(why, part) != NULL, "%s: no %s in: %s", cell, part, why);
}

/* ---- refused updates ---- */

/* At least one of each class that leaves the session as it is (PostgreSQL documentation, appendix A). */
static const char *const CODES[] = {"03000", "09000", "0A000", "0F001", "0Z002", "20000", "21000", "22P05",
                                    "23514", "24000", "27000", "2B000", "2D000", "2F002", "34000", "38000",
                                    "39000", "3B001", "3D000", "3F000", "40001", "40P01", "42501", "42P01",
                                    "44000", "53100", "53200", "54000", "55000", "55P03", "57014", "58030",
                                    "F0000", "HV000", "P0001", "P0002", "XX000", "XX001", "XX002"};
#define CODE_COUNT (int)(sizeof(CODES) / sizeof(CODES[0]))

static void refuse(const char *table, const char *code)
{
    char sql[1024];
    snprintf(sql, sizeof(sql),
             "CREATE SEQUENCE IF NOT EXISTS refusals; SELECT setval('refusals', 1);"
             "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
             "  PERFORM nextval('refusals'); RAISE EXCEPTION 'a damaged row' USING ERRCODE = '%s'; END $$;"
             "CREATE TRIGGER refuse BEFORE UPDATE ON %s FOR EACH ROW WHEN (OLD.order_id = '" DAMAGED "')"
             " EXECUTE FUNCTION refuse()",
             code, table);
    rig_admin(&rig, sql);
}

static void allow(const char *table)
{
    char sql[128];
    snprintf(sql, sizeof(sql), "DROP TRIGGER refuse ON %s", table);
    rig_admin(&rig, sql);
}

/* The sweep with all codes, the others with each second one in turn. Would catch: one order's refused update
 * that stops a statement for all orders, for any reason; and an order that is tried by each sweep again, so
 * that each sweep fails first. */
START_TEST(an_order_whose_update_is_refused_costs_itself)
{
    int statement = _i < CODE_COUNT ? 0 : (_i - CODE_COUNT) % (STATEMENT_COUNT - 1) + 1;
    const char *code = CODES[_i % CODE_COUNT], *table = STATEMENTS[statement].written;
    char cell[64];
    snprintf(cell, sizeof(cell), "%s, %s", STATEMENTS[statement].name, code);
    setup(statement);
    refuse(table, code);
    int found = STATEMENTS[statement].run();
    ck_assert_msg(found == ORDERS - 1, "%s: %d orders of %d", cell, found, ORDERS - 1);
    assert_named(cell, code);
    char before[32];
    snprintf(before, sizeof(before), "%s", rig_value(&rig, "SELECT last_value FROM refusals"));
    for (int i = 0; i < 3; i++) {
        (void)STATEMENTS[statement].run();
    }
    ck_assert_str_eq(rig_value(&rig, "SELECT last_value FROM refusals"), before);
    allow(table);
    rig_finish(&rig);
}
END_TEST

/* ---- values ---- */

START_TEST(an_order_with_a_moment_that_no_number_stands_for_costs_itself)
{
    setup(_i);
    if (STATEMENTS[_i].infinite != NULL) {
        rig_admin(&rig, STATEMENTS[_i].infinite);
        ck_assert_int_eq(STATEMENTS[_i].run(), ORDERS - 1);
        assert_named(STATEMENTS[_i].name, "0A000");
    }
    rig_finish(&rig);
}
END_TEST

/* ---- locks ---- */

/* Would catch: a statement that waits for one order's row for all others: `SELECT … FOR UPDATE`, left open in
 * a session. */
START_TEST(an_order_that_another_session_keeps_locked_costs_itself)
{
    setup(_i);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT FROM order_process p LEFT JOIN order_step s USING (order_id)"
                    " WHERE p.order_id = '" DAMAGED "' FOR UPDATE OF p");
    rig_admin(&rig, "SELECT FROM order_step WHERE order_id = '" DAMAGED "' FOR UPDATE");
    rig_admin(&rig, "SELECT FROM order_event WHERE order_id = '" DAMAGED "' FOR UPDATE");
    int found = STATEMENTS[_i].run();
    rig_admin(&rig, "ROLLBACK");
    ck_assert_int_eq(found, ORDERS - 1);
    if (STATEMENTS[_i].waits_for_locks) {
        assert_named(STATEMENTS[_i].name, "55P03");
    } else {
        ck_assert(why_passed(DAMAGED) == NULL);
    }
    rig_finish(&rig);
}
END_TEST

/* The sweep marks a step that an older scheduler has parked. Would catch: a sweep that waits for that row. */
START_TEST(a_step_that_another_session_keeps_locked_is_swept_unmarked)
{
    setup(0);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT FROM order_step WHERE order_id = '" DAMAGED "' FOR UPDATE");
    rig_sweep(&rig, &SWEEP_OPTIONS);
    rig_admin(&rig, "ROLLBACK");
    ck_assert_int_eq(rig.sweep.due_count, ORDERS);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_step WHERE parked_high IS NOT NULL"), "7");
    ck_assert(why_passed(DAMAGED) == NULL);
    rig_finish(&rig);
}
END_TEST

/* Would catch: commands without end for an order that schedulers leave alone. */
START_TEST(an_order_that_is_set_aside_is_left_out)
{
    setup(_i);
    rig_admin(&rig, "INSERT INTO order_aside (order_id, by_whom, reason) VALUES ('" DAMAGED "', 'ann', 'r')");
    ck_assert_int_eq(STATEMENTS[_i].run(), ORDERS - 1);
    ck_assert(why_passed(DAMAGED) == NULL);
    rig_finish(&rig);
}
END_TEST

/* ---- what is no order's fault ---- */

static void on_swept(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err)
{
    (void)answer;
    rig_done(arg, err);
}

/* Would catch: orders set aside one by one for a cause that all of them have. */
START_TEST(a_refusal_of_all_orders_is_a_failure_and_passes_none_by)
{
    setup(0);
    rig_admin(&rig,
              "INSERT INTO order_process SELECT (jsonb_populate_record(p, jsonb_build_object('order_id',"
              " p.order_id || '-' || n))).* FROM order_process p, generate_series(1, 4) n");
    rig_admin(&rig, "CREATE SEQUENCE IF NOT EXISTS refusals;"
                    "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                    "  RAISE EXCEPTION 'all are damaged' USING ERRCODE = '53100'; END $$;"
                    "CREATE TRIGGER refuse BEFORE UPDATE ON order_process FOR EACH ROW"
                    " EXECUTE FUNCTION refuse()");
    mg_store_sweep(rig.store, &SWEEP_OPTIONS, on_swept, &rig);
    rig_wait_answer(&rig);
    ck_assert(rig.err.class != MG_OK);
    assert_has(rig.err.text, "53100");
    struct mg_passed_row passed;
    ck_assert_int_eq(mg_store_passed_rows(rig.store, &passed, 1), 0);
    allow("order_process");
    rig_sweep(&rig, &SWEEP_OPTIONS);
    ck_assert_int_eq(rig.sweep.due_count, 5 * ORDERS);
    rig_finish(&rig);
}
END_TEST

/* ---- rows that are given ---- */

static void put_reports(void)
{
    static const char *const AGENTS[] = {"a-1", "a-2", "a-3", "a-4", "a-5"};
    struct mg_service_state states[5];
    for (int i = 0; i < 5; i++) {
        states[i] = (struct mg_service_state){.service = "inventory",
                                              .instance = AGENTS[i],
                                              .breaker = "closed",
                                              .is_ready = true,
                                              .reason = "",
                                              .process = 1,
                                              .sequence = (uint64_t)mg_clock_boot_us()};
    }
    mg_store_put_service_states(rig.store, states, 5, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

static void on_alerts(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct rig *at = arg;
    for (int i = 0; err == NULL && i < count; i++) {
        at->is_changed[i] = is_changed[i];
    }
    rig_done(arg, err);
}

static void put_alerts(bool is_closed)
{
    static const char *const SUBJECTS[] = {"s-1", "s-2", "s-3"};
    struct mg_alert_write alerts[3];
    for (int i = 0; i < 3; i++) {
        alerts[i] = (struct mg_alert_write){.alert = MG_ALERT_UNPUBLISHABLE,
                                            .is_closed = is_closed,
                                            .subject = SUBJECTS[i],
                                            .text = mg_slice_of("x")};
    }
    mg_store_write_alerts(rig.store, alerts, 3, on_alerts, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

/* Would catch: one agent's row, locked or damaged, for which no service's reports are stored, so that all
 * services look as if they had no agent. */
START_TEST(an_agent_with_a_row_that_is_locked_costs_its_own_report)
{
    setup(0);
    put_reports();
    rig_admin(&rig, "UPDATE service_state SET reported_at = now() - interval '1 minute'");
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT FROM service_state WHERE instance = 'a-3' FOR UPDATE");
    put_reports();
    ck_assert_ptr_nonnull(strstr(why_passed("inventory/a-3"), "55P03"));
    int64_t least_ms = INT64_MAX; /* of three: a busy machine may need a second for one */
    for (int i = 0; i < 3; i++) {
        int64_t before_ms = mg_clock_boot_ms(), took_ms;
        put_reports();
        took_ms = mg_clock_boot_ms() - before_ms;
        least_ms = took_ms < least_ms ? took_ms : least_ms;
    }
    ck_assert_int_lt(least_ms, 1500); /* no lock is waited for any more: 2 s each time */
    rig_admin(&rig, "ROLLBACK");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(instance, ' ') FROM service_state"
                                     " WHERE reported_at < now() - interval '30 seconds'"),
                     "a-3");
    rig_finish(&rig);
}
END_TEST

START_TEST(an_alert_with_a_row_that_is_locked_keeps_no_other_from_being_closed)
{
    setup(0);
    put_alerts(false);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT FROM operator_alert WHERE subject = 's-2' FOR UPDATE");
    put_alerts(true);
    rig_admin(&rig, "ROLLBACK");
    ck_assert_ptr_nonnull(strstr(why_passed("unpublishable/s-2"), "55P03"));
    ck_assert(rig.is_changed[0] && !rig.is_changed[1] && rig.is_changed[2]);
    rig_finish(&rig);
}
END_TEST

/* ---- reports ---- */

static const char STORED[] =
    "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high, client)"
    " SELECT order_id, 1, 'w', 1, '{\"price\":14.00}', sha256('x'), false, 'shop' FROM order_process;"
    "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, transitions, statuses, owed)"
    " SELECT order_id, 2, 'reply', 'c', 'x', 1, '[]',"
    "  '[{\"v\":1,\"seq\":1,\"status\":\"processed\",\"output\":[14.00]}]', false FROM order_process;"
    "UPDATE order_process SET process_state = 'processed', wake_at = NULL WHERE order_id IN ('o-2', 'o-3');"
    "INSERT INTO workflow (name, version, definition) VALUES ('w', 1, '{\"steps\":[{\"service\":\"inventory\"}]}'),"
    "  ('v', 1, '{\"steps\":[{\"service\":\"payment\"}]}')";

/* Kills the parts of a payload of some 60 KB, which lie next to the table. */
static const char PAYLOAD_LOST[] =
    "CREATE EXTENSION IF NOT EXISTS pg_surgery;"
    "UPDATE orders SET payload = (SELECT '\"' || string_agg(md5(n::text), '') || '\"' FROM generate_series(1, 2000) n)"
    " WHERE order_id = '" DAMAGED "';"
    "DO $$ DECLARE beside regclass := (SELECT reltoastrelid FROM pg_class WHERE oid = 'orders'::regclass);"
    "  ids tid[]; BEGIN"
    "  EXECUTE format('SELECT array_agg(ctid) FROM %s', beside) INTO ids;"
    "  PERFORM heap_force_kill(beside, ids); END $$";

static const struct {
    const char *sql;
    const char *shown; /* by the report of the order itself; NULL: it shows nothing of it */
} VALUES[] = {
    {PAYLOAD_LOST, "missing chunk number 0"},
    {"UPDATE orders SET payload = '{broken' WHERE order_id = '" DAMAGED "'", "(22P02)"},
    {"UPDATE order_process SET failure = '{broken' WHERE order_id = '" DAMAGED "'", "(22P02)"},
    {"UPDATE order_step SET result = '{broken' WHERE order_id = '" DAMAGED "'", NULL},
    {"UPDATE order_event SET statuses = '[{\"status\":\"processed\",\"a\":\"\\u0000\"}]' WHERE order_id = '" DAMAGED
     "'",
     "event 2: its statuses cannot be read: unsupported Unicode escape sequence (22P05)"},
    {"UPDATE order_event SET statuses = '14' WHERE order_id = '" DAMAGED "'", "its statuses cannot be read"},
    {"UPDATE workflow SET definition = '{broken' WHERE name = 'w'", NULL},
    {"UPDATE order_process SET created_at = '-infinity', updated_at = '-infinity' WHERE order_id = '" DAMAGED
     "'",
     NULL},
    {"UPDATE orders SET received_at = '-infinity' WHERE order_id = '" DAMAGED "'", NULL},
};
#define VALUE_COUNT (int)(sizeof(VALUES) / sizeof(VALUES[0]))

static const struct {
    enum mg_report report;
    const char *params[9];
    int count;
} REPORTS[] = {
    {MG_REPORT_ORDERS, {"", "", "", "", "", "50", "", ""}, 8},
    {MG_REPORT_PAGE_OPEN, {"", "", "", "", "", "50"}, 6},
    {MG_REPORT_ORDERS, {"", "", "", "", "", "8", "", ""}, 8},
    {MG_REPORT_CLIENT_ORDERS, {"", "", "", "", "", "50", "", "shop"}, 8},
    {MG_REPORT_PAGE_PARKED, {"payment", "", "50"}, 3},
    {MG_REPORT_PAGE_DUE, {"600000", "50"}, 2},
    {MG_REPORT_FIND, {"o-", "50"}, 2},
    {MG_REPORT_ORDER, {DAMAGED}, 1},
    {MG_REPORT_ORDER_STEPS, {DAMAGED}, 1},
    {MG_REPORT_ORDER_EVENTS, {DAMAGED}, 1},
    {MG_REPORT_DOSSIER, {DAMAGED}, 1},
    {MG_REPORT_ORDER_OF_CLIENT, {"shop", "o-2"}, 2},
    {MG_REPORT_FIGURES, {"true"}, 1},
    {MG_REPORT_OLDEST, {"5"}, 1},
    {MG_REPORT_STUCK, {NULL}, 0},
    {MG_REPORT_OWED, {NULL}, 0},
    {MG_REPORT_WORKFLOWS, {NULL}, 0},
    {MG_REPORT_WORKFLOW_STEPS, {NULL}, 0},
    {MG_REPORT_CONTROLLED, {NULL}, 0},
    {MG_REPORT_KEPT_SERVICES, {NULL}, 0},
};
#define REPORT_COUNT (int)(sizeof(REPORTS) / sizeof(REPORTS[0]))

static void on_rows(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct rig *at = arg;
    at->row_count = err == NULL ? mg_rows_count(rows) : -1;
    at->text[0] = '\0';
    for (int i = 0; err == NULL && at->row_count > 0 && i < mg_rows_column_count(rows); i++) {
        struct mg_slice value = mg_rows_value(rows, 0, i);
        size_t len = strlen(at->text);
        snprintf(at->text + len, sizeof(at->text) - len, "%.*s ", (int)(value.len < 200 ? value.len : 200),
                 value.data == NULL ? "" : value.data);
    }
    rig_done(arg, err);
}

/* Would catch: a list, a page or a figure that one damaged value turns into an error, and a damaged value
 * whose order says nothing of it. */
START_TEST(a_value_that_cannot_be_read_costs_no_report_and_is_named)
{
    setup(0);
    rig_admin(&rig, STORED);
    rig_admin(&rig, VALUES[_i].sql);
    for (int i = 0; i < REPORT_COUNT; i++) {
        mg_store_report(rig.store, REPORTS[i].report, REPORTS[i].params, REPORTS[i].count, on_rows, &rig);
        rig_wait_answer(&rig);
        ck_assert_msg(rig.err.class == MG_OK, "report %d, value %d: %s", i, _i, rig.err.text);
        if (i == 0 || REPORTS[i].report == MG_REPORT_FIND) {
            ck_assert_int_eq(rig.row_count, ORDERS);
        } else if (REPORTS[i].report == MG_REPORT_ORDER && VALUES[_i].shown != NULL) {
            assert_has(rig.text, VALUES[_i].shown);
        } else if (REPORTS[i].report == MG_REPORT_CONTROLLED) {
            ck_assert_int_ge(rig.row_count, 1);
        }
    }
    rig_finish(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_damaged");
    TCase *test = tcase_create("damaged");
    tcase_set_timeout(test, 60);
    tcase_add_loop_test(test, an_order_whose_update_is_refused_costs_itself, 0, CODE_COUNT * 3 / 2);
    tcase_add_loop_test(test, an_order_with_a_moment_that_no_number_stands_for_costs_itself, 0,
                        STATEMENT_COUNT);
    tcase_add_loop_test(test, an_order_that_another_session_keeps_locked_costs_itself, 0, STATEMENT_COUNT);
    TCase *reports = tcase_create("reports");
    tcase_set_timeout(reports, 60);
    tcase_add_loop_test(reports, a_value_that_cannot_be_read_costs_no_report_and_is_named, 0, VALUE_COUNT);
    tcase_add_loop_test(test, an_order_that_is_set_aside_is_left_out, 0, STATEMENT_COUNT);
    tcase_add_test(test, an_agent_with_a_row_that_is_locked_costs_its_own_report);
    tcase_add_test(test, an_alert_with_a_row_that_is_locked_keeps_no_other_from_being_closed);
    tcase_add_test(test, a_step_that_another_session_keeps_locked_is_swept_unmarked);
    tcase_add_test(test, a_refusal_of_all_orders_is_a_failure_and_passes_none_by);
    suite_add_tcase(suite, test);
    suite_add_tcase(suite, reports);
    return store_main(suite, "damaged");
}
