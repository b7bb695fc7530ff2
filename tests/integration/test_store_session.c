/*
 * The session: calls in flight when it dies, its return, and servers that it refuses to use.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

static void setup_without_store(void)
{
    rig_open(&rig);
}

static bool was_down(const struct rig *at)
{
    return at->downs > 0;
}

static bool was_down_and_is_up(const struct rig *at)
{
    return at->downs > 0 && rig_is_up(at);
}

#define TERMINATE                                                                                            \
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'store-test'"           \
    " AND datname = current_database()"

/* Would catch: a call that is never answered, a lost call that is answered as done, and a store that does not
 * come back. */
START_TEST(calls_of_a_session_that_is_killed_are_transient_and_it_comes_back)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT 1 FROM order_process FOR UPDATE");
    record.order.version = 2;
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 1, &event, "r-1");
    mg_store_commit(rig.store, &write, 1, rig_done, &rig);
    rig_wait(&rig, rig_is_locked_out);
    rig_admin(&rig, "ROLLBACK; " TERMINATE);
    rig_wait_answer(&rig);
    /* The commit had got the lock before the backend died, or its outcome is unknown. */
    if (rig.err.class != MG_OK) {
        ck_assert_int_eq(rig.err.class, MG_TRANSIENT);
    }
    rig_wait(&rig, was_down_and_is_up);
    const struct mg_order_record *loaded = rig_load_one(&rig, "o-1");
    if (loaded->order.version == 1) {
        rig_commit(&rig, &write, 1);
        ck_assert_int_eq(write.result, MG_WRITE_DONE);
    }
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_event WHERE cause = 'r-1'"), "1");
}
END_TEST

START_TEST(a_call_that_hangs_in_the_killed_backend_is_transient)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT 1 FROM order_process FOR UPDATE");
    record.order.version = 2;
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 1, &event, "r-1");
    mg_store_commit(rig.store, &write, 1, rig_done, &rig);
    mg_store_commit(rig.store, &write, 1, rig_done, &rig); /* one more in the queue behind it */
    rig_wait(&rig, rig_is_locked_out);
    rig_admin(&rig, TERMINATE);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_TRANSIENT);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_TRANSIENT);
    rig_admin(&rig, "ROLLBACK");
    rig_wait(&rig, rig_is_up);
    ck_assert_uint_eq(rig_load_one(&rig, "o-1")->order.version, 1);
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
}
END_TEST

/* A migration changes a column beneath a prepared statement. Would catch: a statement that fails for the rest
 * of the session's life. */
START_TEST(a_statement_that_a_migration_has_outdated_is_prepared_in_a_new_session)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    (void)rig_load_one(&rig, "o-1");
    rig_admin(&rig, "ALTER TABLE order_process ALTER COLUMN workflow TYPE varchar");
    struct mg_load load = {.order_id = "o-1"};
    rig_load(&rig, &load, 1);
    ck_assert_int_eq(rig.err.class, MG_TRANSIENT);
    rig_wait(&rig, was_down_and_is_up);
    ck_assert_str_eq(rig_load_one(&rig, "o-1")->workflow, "fulfilment");
    rig_admin(&rig, "ALTER TABLE order_process ALTER COLUMN workflow TYPE text");
}
END_TEST

static void forbidden(void *arg, const struct mg_err *err)
{
    (void)arg;
    (void)err;
    ck_abort_msg("a destroyed store must not answer");
}

static bool is_committed(const struct rig *at)
{
    (void)at;
    return strcmp(rig_value(&rig, "SELECT version FROM order_process"), "2") == 0;
}

/* The answer of COMMIT is lost. Would catch: a second effect when the decision is run again. */
START_TEST(a_commit_whose_answer_was_lost_conflicts_when_run_again_and_shows_what_it_did)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    record.order.version = 2;
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 1, &event, "r-1");
    mg_store_commit(rig.store, &write, 1, forbidden, NULL);
    while (!is_committed(&rig)) {
        (void)0; /* the loop stalls, so that the answer stays unread */
    }
    mg_store_destroy(rig.store);
    rig_start_with(&rig, (struct mg_store_options){0}, true);
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_CONFLICT);
    struct mg_load load = {"o-1", mg_slice_of("r-1"), false};
    rig_load(&rig, &load, 1);
    ck_assert(rig.loaded->orders[0].event != NULL);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_event WHERE cause = 'r-1'"), "1");
}
END_TEST

static void release(void *arg)
{
    rig_admin(arg, "COMMIT");
}

/* Would catch: a lock time-out that is taken for a fault of the row or of the whole store. */
START_TEST(a_locked_order_is_refused_for_now_and_written_later)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT 1 FROM order_process FOR UPDATE");
    record.order.version = 2;
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 1, &event, "r-1");
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_int_eq(write.result, MG_WRITE_REFUSED);
    ck_assert_int_eq(write.refusal, MG_REFUSAL_PASSING);
    rig_admin(&rig, "COMMIT");
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
}
END_TEST

static void keep_alerts_written(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    (void)is_changed;
    (void)count;
    rig_done(arg, err);
}

static void write_alert(void)
{
    static const struct mg_alert_write alert = {
        .alert = MG_ALERT_UNPUBLISHABLE, .subject = "inventory", .order_id = "", .text = {"full", 4}};
    mg_store_write_alerts(rig.store, &alert, 1, keep_alerts_written, &rig);
}

/* A table is locked when a statement on it is first used, so that it cannot be prepared. Would catch: a
 * session that is given up for that, with the calls of all others; a call that returns another reason; and a
 * statement that counts as prepared from then on. */
START_TEST(a_statement_whose_preparing_waits_too_long_is_prepared_anew)
{
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "LOCK TABLE operator_alert IN ACCESS EXCLUSIVE MODE");
    write_alert();
    write_alert(); /* sent with the first, before its answer is in */
    mg_store_put_workflow(rig.store, "w", 1, mg_slice_of("{}"), rig_done, &rig);
    int transients = 0, done = 0; /* the workflow needs nothing of that table: it overtakes them */
    while (transients + done < 3) {
        rig_wait_answer(&rig); /* lock_timeout is 2 s */
        if (rig.err.class == MG_TRANSIENT) {
            assert_has(rig.err.text, "lock timeout");
        }
        transients += rig.err.class == MG_TRANSIENT;
        done += rig.err.class == MG_OK;
    }
    ck_assert_int_eq(transients, 2);
    rig_admin(&rig, "ROLLBACK");
    write_alert();
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM operator_alert"), "1");
    ck_assert_int_eq(rig.downs, 0);
}
END_TEST

/* Would catch: a write of orders that fails because one of its statements could not be prepared in time. */
START_TEST(a_commit_whose_preparing_waits_too_long_is_run_again)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 0, &event, "s-1");
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "LOCK TABLE order_event IN ACCESS EXCLUSIVE MODE");
    struct mg_timer *timer = mg_timer_create(rig.loop, release, &rig);
    mg_timer_start(timer, 2600, 0);
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
    ck_assert_int_eq(rig.downs, 0);
}
END_TEST

/* A client called `name` that has sent `sql` without its Sync, like a process stopped in the midst. */
static PGconn *stall(const char *name, const char *sql)
{
    char dsn[2304]; /* one of the rig, and a name */
    snprintf(dsn, sizeof(dsn), "%s application_name=%s", store_dsn(), name);
    PGconn *conn = PQconnectdb(dsn);
    ck_assert_msg(PQstatus(conn) == CONNECTION_OK, "%s", PQerrorMessage(conn));
    ck_assert_int_eq(PQenterPipelineMode(conn), 1);
    ck_assert_int_eq(PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0), 1);
    ck_assert_int_eq(PQflush(conn), 0);
    char waits[128];
    snprintf(waits, sizeof(waits),
             "SELECT count(*) FROM pg_stat_activity WHERE pid = %d AND wait_event = 'ClientRead' AND"
             " query <> ''",
             PQbackendPID(conn));
    while (strcmp(rig_value(&rig, waits), "1") != 0) {
        (void)0; /* until the server has run the received part */
    }
    return conn;
}

static bool is_connected(PGconn *conn)
{
    char there[96];
    snprintf(there, sizeof(there), "SELECT count(*) FROM pg_stat_activity WHERE pid = %d",
             PQbackendPID(conn));
    return strcmp(rig_value(&rig, there), "1") == 0;
}

/* A writer is stopped between the pieces of its write. Would catch: orders that stay locked until it wakes,
 * and a session of another client that is ended for it. */
START_TEST(a_writer_that_was_stopped_in_the_midst_does_not_keep_its_locks)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    PGconn *writer = stall("store-test", "UPDATE order_process SET version = version");
    PGconn *stranger = stall("stranger", "SELECT 1");
    record.order.version = 2;
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 1, &event, "r-1");
    do {
        rig_commit(&rig, &write, 1);
        ck_assert_int_eq(rig.err.class, MG_OK);
        write.is_hasty = true; /* as an order that waits by itself */
    } while (write.result == MG_WRITE_REFUSED);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
    ck_assert(!is_connected(writer));
    ck_assert(is_connected(stranger));
    PQfinish(writer);
    PQfinish(stranger);
}
END_TEST

/* Would catch: a queue without end. */
START_TEST(too_many_calls_are_refused_and_all_are_answered)
{
    enum { COUNT = 1100 };
    for (int i = 0; i < COUNT; i++) {
        mg_store_put_workflow(rig.store, "w", 1, mg_slice_of("{}"), rig_done, &rig);
    }
    ck_assert_int_eq(rig.answers, 0); /* never from within the call */
    for (int i = 0; i < COUNT; i++) {
        rig_wait_answer(&rig);
    }
    ck_assert_int_gt(rig.transients, 0);
    ck_assert_int_lt(rig.transients, 100);
    ck_assert(rig_is_up(&rig));
    ck_assert_int_eq(rig.downs, 0);
}
END_TEST

START_TEST(a_missing_server_is_logged_once_and_calls_are_transient)
{
    rig_start_with(&rig, (struct mg_store_options){.dsn = "host=127.0.0.1 port=1 dbname=x user=x"}, false);
    rig_wait(&rig, was_down);
    mg_store_put_workflow(rig.store, "w", 1, mg_slice_of("{}"), rig_done, &rig);
    ck_assert_int_eq(rig.answers, 0);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_TRANSIENT);
    for (int i = 0; i < 3; i++) {
        mg_store_put_workflow(rig.store, "w", 1, mg_slice_of("{}"), rig_done, &rig);
        rig_wait_answer(&rig);
    }
    ck_assert_int_eq(rig.downs, 1);
    ck_assert_int_eq(rig.ups, 0);
}
END_TEST

START_TEST(a_connection_string_that_cannot_be_read_is_bad_input)
{
    struct mg_store_options options = {.dsn = "host=x nonsense=1"};
    struct mg_err err;
    ck_assert_int_eq(mg_store_create(rig.loop, &options, &rig.store, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "nonsense") != NULL, "%s", err.text);
    ck_assert_ptr_null(rig.store);
}
END_TEST

/* The newest row of the record names another version; the schema itself stays. */
static void schema_pretend(int version, int serves_from)
{
    char sql[256];
    snprintf(
        sql, sizeof(sql),
        "UPDATE makegood_migration SET version = %d, serves_from = %d WHERE version = (SELECT max(version)"
        " FROM makegood_migration)",
        version, serves_from);
    rig_admin(&rig, sql);
}

START_TEST(a_schema_that_does_not_serve_this_program_is_refused_and_taken_when_it_does)
{
    schema_pretend(99, 98);
    rig_start_with(&rig, (struct mg_store_options){0}, false);
    rig_wait(&rig, rig_is_refused);
    ck_assert_msg(strstr(rig.refused, "version 99, which serves programs from version 98 on") != NULL, "%s",
                  rig.refused);
    ck_assert(!rig_is_up(&rig));
    mg_store_put_workflow(rig.store, "w", 1, mg_slice_of("{}"), rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_TRANSIENT);
    schema_pretend(99, MG_SCHEMA_VERSION);
    rig_wait(&rig, rig_is_up);
    schema_pretend(MG_SCHEMA_VERSION, MG_SCHEMA_VERSION);
}
END_TEST

START_TEST(an_older_schema_is_refused_with_what_to_do)
{
    char reason[256];
    ck_assert(!mg_schema_serves(MG_SCHEMA_VERSION - 1, 1, reason, sizeof(reason)));
    ck_assert_msg(strstr(reason, "makegood db migrate") != NULL, "%s", reason);
}
END_TEST

START_TEST(a_database_without_schema_is_refused_but_not_by_the_migrating_tool)
{
    char dsn[2048];
    store_dsn_of("template1", dsn, sizeof(dsn));
    rig_start_with(&rig, (struct mg_store_options){.dsn = dsn}, false);
    rig_wait(&rig, rig_is_refused);
    ck_assert_msg(strstr(rig.refused, "makegood db migrate") != NULL, "%s", rig.refused);
    mg_store_destroy(rig.store);
    rig_start_with(&rig, (struct mg_store_options){.dsn = dsn, .skips_schema_check = true}, true);
}
END_TEST

START_TEST(a_server_that_forgets_commits_is_refused_unless_allowed)
{
    char sql[256];
    snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET synchronous_commit = off", PQdb(rig.admin));
    rig_admin(&rig, sql);
    rig_start_with(&rig, (struct mg_store_options){0}, false);
    rig_wait(&rig, rig_is_refused);
    ck_assert_msg(strstr(rig.refused, "synchronous_commit is off") != NULL, "%s", rig.refused);
    mg_store_destroy(rig.store);
    rig_start_with(&rig, (struct mg_store_options){.is_unsafe_durability_allowed = true}, true);
    snprintf(sql, sizeof(sql), "ALTER DATABASE %s RESET synchronous_commit", PQdb(rig.admin));
    rig_admin(&rig, sql);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: session");
    TCase *up = tcase_create("with a session"), *down = tcase_create("without");
    tcase_set_timeout(up, 60);
    tcase_set_timeout(down, 60);
    tcase_add_checked_fixture(up, setup, teardown);
    tcase_add_checked_fixture(down, setup_without_store, teardown);
    tcase_add_test(up, calls_of_a_session_that_is_killed_are_transient_and_it_comes_back);
    tcase_add_test(up, a_call_that_hangs_in_the_killed_backend_is_transient);
    tcase_add_test(up, a_commit_whose_answer_was_lost_conflicts_when_run_again_and_shows_what_it_did);
    tcase_add_test(up, a_statement_that_a_migration_has_outdated_is_prepared_in_a_new_session);
    tcase_add_test(up, a_locked_order_is_refused_for_now_and_written_later);
    tcase_add_test(up, a_statement_whose_preparing_waits_too_long_is_prepared_anew);
    tcase_add_test(up, a_commit_whose_preparing_waits_too_long_is_run_again);
    tcase_add_test(up, a_writer_that_was_stopped_in_the_midst_does_not_keep_its_locks);
    tcase_add_test(up, too_many_calls_are_refused_and_all_are_answered);
    tcase_add_test(down, a_missing_server_is_logged_once_and_calls_are_transient);
    tcase_add_test(down, a_connection_string_that_cannot_be_read_is_bad_input);
    tcase_add_test(down, a_schema_that_does_not_serve_this_program_is_refused_and_taken_when_it_does);
    tcase_add_test(down, an_older_schema_is_refused_with_what_to_do);
    tcase_add_test(down, a_database_without_schema_is_refused_but_not_by_the_migrating_tool);
    tcase_add_test(down, a_server_that_forgets_commits_is_refused_unless_allowed);
    suite_add_tcase(suite, up);
    suite_add_tcase(suite, down);
    return store_main(suite, "session");
}
