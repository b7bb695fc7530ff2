/* Schema 16 over a database of schema 15 with bulk actions under way: everything has its new name, the runner
 * and the operators go on where they were. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bulk_fixture.h"

#define FORMER_SCHEMA 15

static char folder[64], database[64], dsn[2048];
static PGconn *admin; /* of the upgraded database; the rig's is of another */
static struct mg_bulk_row row;
static struct mg_bulk_order_row order;
static int row_count, order_count;
static bool is_written;
static int64_t asked_count;

static void run(const char *sql)
{
    PGresult *result = PQexec(admin, sql);
    ck_assert_msg(PQresultStatus(result) == PGRES_COMMAND_OK, "%s", PQerrorMessage(admin));
    PQclear(result);
}

static const char *value(const char *sql)
{
    PGresult *result = PQexec(admin, sql);
    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQerrorMessage(admin));
    snprintf(rig.text, sizeof(rig.text), "%s", PQntuples(result) == 0 ? "" : PQgetvalue(result, 0, 0));
    PQclear(result);
    return rig.text;
}

/* Links, in the test's folder, to the migrations up to the former schema. */
static void former_migrations_link(void)
{
    DIR *dir = opendir(store_migrations());
    ck_assert_ptr_nonnull(dir);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        long version = strtol(entry->d_name, NULL, 10);
        if (version < 1 || version > FORMER_SCHEMA) {
            continue;
        }
        char from[2048], to[512];
        snprintf(from, sizeof(from), "%s/%s", store_migrations(), entry->d_name);
        snprintf(to, sizeof(to), "%s/%s", folder, entry->d_name);
        ck_assert_int_eq(symlink(from, to), 0);
    }
    (void)closedir(dir); /* read only */
}

static void former_migrations_unlink(void)
{
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        (void)unlink(path); /* not of "." and ".." */
    }
    (void)closedir(dir); /* read only */
    ck_assert_int_eq(rmdir(folder), 0);
}

static void migrate(const char *from)
{
    struct mg_err err;
    ck_assert_msg(mg_store_migrate(&(struct mg_migrate_options){.dsn = dsn, .directory = from}, &err) ==
                      MG_OK,
                  "%s", err.text);
}

/* One bulk action runs: o-1 is done, o-2's command is out, o-3 waits. Another has stopped by itself. */
static void fill(void)
{
    run("INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
        " locked_by, workflow, workflow_version, revision, is_high, wants_step_status)"
        " SELECT 'o-' || i, 'error', 'processed', 'step_failed', CASE i WHEN 3 THEN 7 ELSE 9 END, 1, 0, 1, 'me',"
        "  'fulfilment', 1, 1, false, false FROM generate_series(1, 4) i;"
        "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, reason, owed)"
        " SELECT 'o-' || i, v, 'resume', 'cause-' || i, 'anna', 0, 'it is mended (batch " A ")', false"
        " FROM generate_series(1, 2) i, generate_series(8, 9) v;"
        "INSERT INTO batch (batch_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent, state,"
        " is_tried, version, orders, waiting, asked, done, asked_to) VALUES ('" A
        "', 'resume', '{}', 'it is mended',"
        " 'anna', 1, 2.5, 10, 'running', true, 2, 3, 1, 1, 1, 2);"
        "INSERT INTO batch (batch_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent, orders,"
        " waiting) VALUES ('" B "', 'cancel', '{}', 'over', 'bert', 1, 1, 10, 1, 1);"
        "UPDATE batch SET state = 'stopped', stopped_itself = true, skipped = 1, waiting = 0, version = 3,"
        " ended_at = clock_timestamp(), why = '1 failed again: makegood batch show " B " --result failed'"
        " WHERE batch_id = '" B "';"
        "INSERT INTO batch_order (batch_id, n, order_id, version, goal, result, asked_at, ended_at, text) VALUES"
        " ('" A "', 1, 'o-1', 7, 'processed', 'done', clock_timestamp(), clock_timestamp(), NULL),"
        " ('" A "', 2, 'o-2', 7, 'processed', 'asked', clock_timestamp(), NULL, NULL),"
        " ('" A "', 3, 'o-3', 7, 'processed', 'waiting', NULL, NULL, NULL),"
        " ('" B "', 1, 'o-4', 7, 'processed', 'skipped', NULL, clock_timestamp(), 'the batch stopped');"
        "INSERT INTO operator_action (by_whom, verb, subject, reason, detail) VALUES"
        " ('anna', 'batch start', '" A "', 'it is mended', '{}'), ('runner-1', 'batch stopped', '" B
        "', 'x', '{}'),"
        " ('anna', 'dead drop', 'batch', 'another word', '{}');"
        "UPDATE batch_runner SET epoch = 4, holder = 'runner-1', seen_at = clock_timestamp()");
    ck_assert_str_eq(value("SELECT count(*) FROM operator_alert WHERE code = 'batch_stopped'"), "1");
}

static void setup(void)
{
    char sql[128];
    rig_open(&rig);
    snprintf(folder, sizeof(folder), "/tmp/mg-former-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(database, sizeof(database), "mg_former_%d", (int)getpid());
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8'", database);
    rig_admin(&rig, sql);
    store_dsn_of(database, dsn, sizeof(dsn));
    former_migrations_link();
    migrate(folder);
    admin = PQconnectdb(dsn);
    ck_assert_msg(PQstatus(admin) == CONNECTION_OK, "%s", PQerrorMessage(admin));
    fill();
    migrate(store_migrations());
    PQreset(admin); /* a migration may end the sessions of programs, and this one is not of psql */
}

static void teardown(void)
{
    char sql[128];
    PQfinish(admin);
    snprintf(sql, sizeof(sql), "DROP DATABASE %s WITH (FORCE)", database);
    rig_admin(&rig, sql);
    former_migrations_unlink();
    rig_finish(&rig);
}

/* Would catch: an object, or a function's text, that keeps the former name. */
START_TEST(nothing_keeps_the_former_name)
{
    ck_assert_str_eq(
        value(
            "SELECT string_agg(name, ' ') FROM ("
            " SELECT relname::text AS name FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
            " UNION ALL SELECT attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
            "  WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v')"
            " UNION ALL SELECT conname FROM pg_constraint WHERE connamespace = current_schema()::regnamespace"
            " UNION ALL SELECT typname FROM pg_type WHERE typnamespace = current_schema()::regnamespace"
            " UNION ALL SELECT proname || prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
            " UNION ALL SELECT tgname FROM pg_trigger"
            " UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint) n WHERE name LIKE '%batch%'"),
        "");
    ck_assert_str_eq(
        value("SELECT string_agg(verb || ' ' || subject, ', ' ORDER BY action_id) FROM operator_action"),
        "bulk start " A ", bulk stopped " B ", dead drop batch");
    ck_assert_str_eq(value("SELECT code || ' ' || subject || ' ' || text FROM operator_alert"),
                     "bulk_stopped " B " 1 failed again: makegood bulk show " B " --result failed");
    ck_assert_str_eq(value("SELECT text FROM bulk_order WHERE text IS NOT NULL"), "the bulk action stopped");
    ck_assert_str_eq(value("SELECT why FROM bulk WHERE why IS NOT NULL"),
                     "1 failed again: makegood bulk show " B " --result failed");
    ck_assert_str_eq(
        value("SELECT count(*) || min(reason) || max(reason) FROM order_event WHERE version = 8"),
        "2it is mended (bulk action " A ")it is mended (bulk action " A ")");
}
END_TEST

/* Would catch: an alert that is no longer raised, or is raised with the rights of an operator. */
START_TEST(a_stop_raises_the_alert_under_its_new_name)
{
    run("DELETE FROM operator_alert; UPDATE bulk SET stopped_itself = true, why = 'x' WHERE bulk_id = '" A
        "'");
    ck_assert_str_eq(value("SELECT code || ' ' || subject FROM operator_alert"), "bulk_stopped " A);
    ck_assert_str_eq(
        value("SELECT bool_and(prosecdef AND 'search_path=public, pg_temp' = ANY (proconfig)) FROM pg_proc"
              " WHERE proname IN ('makegood_bulk_alert', 'makegood_retire')"),
        "t");
    ck_assert_str_eq(value("SELECT has_function_privilege('public',"
                           " 'makegood_retire(bigint, text, integer)', 'EXECUTE')"),
                     "f");
}
END_TEST

static void on_looked(void *arg, const struct mg_bulk_look *found, const struct mg_err *err)
{
    row_count = order_count = 0;
    if (found != NULL) {
        row_count = found->count;
        order_count = found->order_count;
        if (row_count == 1) {
            row = found->rows[0];
        }
        if (order_count == 1) {
            order = found->orders[0];
        }
    }
    rig_done(arg, err);
}

static void look(void)
{
    mg_store_look_at_bulk(rig.store, on_looked, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    ck_assert_int_eq(row_count, 1);
    ck_assert_int_eq(order_count, 1);
}

static void on_written(void *arg, const struct mg_bulk_written *written, const struct mg_err *err)
{
    is_written = written != NULL && written->is_leader && written->is_written;
    asked_count = written != NULL ? written->asked : 0;
    rig_done(arg, err);
}

/* Would catch: a list that begins anew or stalls; an epoch that an earlier runner also has. */
START_TEST(an_open_bulk_action_goes_on)
{
    rig_start_with(
        &rig, (struct mg_store_options){.dsn = dsn, .is_leader_session = true, .lead = MG_LEAD_BULK}, true);
    rig_lead(&rig, "runner-2");
    ck_assert(rig.lead.is_leader);
    ck_assert_uint_eq(rig.lead.epoch, 5);
    look();
    ck_assert_str_eq(row.bulk_id, A);
    ck_assert_int_eq(row.bulk.state, MG_BULK_RUNNING);
    ck_assert_int_eq(row.bulk.spacing_us, 400000);
    ck_assert_str_eq(order.order_id, "o-2");
    ck_assert_str_eq(order.cause, "cause-2");
    const struct mg_bulk_ended ended = {order.n, MG_BULK_RESULT_DONE, ""};
    const struct mg_bulk_write write = {
        .row = &row,
        .ended = &ended,
        .ended_count = 1,
        .plan = {MG_BULK_RUNNING, true, 1, row.bulk.next_us, MG_BULK_GOES_ON}};
    mg_store_write_bulk(rig.store, &write, on_written, &rig);
    rig_wait_answer(&rig);
    ck_assert(is_written);
    ck_assert_int_eq(asked_count, 1);
    look();
    ck_assert_str_eq(order.order_id, "o-3");
    ck_assert_int_eq(row.bulk.done, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: bulk actions over an upgrade");
    TCase *test = tcase_create("bulk_upgrade");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, nothing_keeps_the_former_name);
    tcase_add_test(test, a_stop_raises_the_alert_under_its_new_name);
    tcase_add_test(test, an_open_bulk_action_goes_on);
    suite_add_tcase(suite, test);
    return store_main(suite, "bulk_upgrade");
}
