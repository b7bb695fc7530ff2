/* The schema: migrations are applied once, in order, whole or not at all; its words are those of
 * words.def, the columns of an order's tables those of columns.def. */
#include "store_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/words.h"
#include "io/store/columns.def"

static struct rig rig;
static char folder[64], database[64], dsn[2048];

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
    rig_open(&rig);
    snprintf(folder, sizeof(folder), "/tmp/mg-migrations-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char sql[128];
    snprintf(database, sizeof(database), "mg_migrate_%d", (int)getpid());
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8'", database);
    rig_admin(&rig, sql);
    store_dsn_of(database, dsn, sizeof(dsn));
    write_file("0001_first.sql", "CREATE TABLE a (x int); INSERT INTO a VALUES (1);");
    write_file("0002_second.sql", "ALTER TABLE a ADD y int;");
    write_file("README.md", "not SQL");
    write_file("0003_notes.txt", "not SQL either");
}

static void teardown(void)
{
    char command[128];
    snprintf(command, sizeof(command), "DROP DATABASE %s WITH (FORCE)", database);
    rig_admin(&rig, command);
    static const char *const FILES[] = {"0001_first.sql", "0002_second.sql", "0003_third.sql",
                                        "README.md",      "0003_notes.txt",  "grants.sql"};
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", folder, FILES[i]);
        (void)unlink(path); /* not each test writes each */
    }
    ck_assert_int_eq(rmdir(folder), 0);
    rig_finish(&rig);
}

static char lines[1024];

static void add_line(void *arg, const char *line)
{
    (void)arg;
    size_t len = strlen(lines);
    snprintf(lines + len, sizeof(lines) - len, "%s;", line);
}

static enum mg_class migrate(struct mg_err *err)
{
    lines[0] = '\0';
    return mg_store_migrate(
        &(struct mg_migrate_options){
            .dsn = dsn, .directory = folder, .lock_wait_ms = 6000, .report = add_line},
        err);
}

/* A value from the migrated database. */
static const char *value(const char *sql)
{
    PGconn *conn = PQconnectdb(dsn);
    PGresult *result = PQexec(conn, sql);
    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQerrorMessage(conn));
    snprintf(rig.text, sizeof(rig.text), "%s", PQntuples(result) == 0 ? "" : PQgetvalue(result, 0, 0));
    PQclear(result);
    PQfinish(conn);
    return rig.text;
}

START_TEST(files_are_applied_in_order_and_once)
{
    struct mg_err err;
    ck_assert_msg(migrate(&err) == MG_OK, "%s", err.text);
    ck_assert_str_eq(lines, "applied 0001_first.sql;applied 0002_second.sql;");
    ck_assert_int_eq(migrate(&err), MG_OK);
    ck_assert_str_eq(lines, "the schema is up to date;");
    ck_assert_str_eq(value("SELECT count(*) FROM a"), "1");
    write_file("0003_third.sql", "INSERT INTO a VALUES (2, 2);");
    ck_assert_int_eq(migrate(&err), MG_OK);
    ck_assert_str_eq(lines, "applied 0003_third.sql;");
    ck_assert_str_eq(
        value("SELECT string_agg(version || name, ' ' ORDER BY version) FROM makegood_migration"),
        "10001_first.sql 20002_second.sql 30003_third.sql");
}
END_TEST

START_TEST(a_file_that_fails_leaves_nothing_of_itself)
{
    struct mg_err err;
    write_file("0003_third.sql", "CREATE TABLE b (x int); INSERT INTO nowhere VALUES (1);");
    ck_assert_int_ne(migrate(&err), MG_OK);
    ck_assert_msg(strstr(err.text, "0003_third.sql") != NULL && strstr(err.text, "nowhere") != NULL, "%s",
                  err.text);
    ck_assert_str_eq(value("SELECT to_regclass('b') IS NULL AND to_regclass('a') IS NOT NULL"), "t");
    ck_assert_str_eq(value("SELECT max(version) FROM makegood_migration"), "2");
}
END_TEST

/* Would catch: a wait without end, or an empty step of the schema that counts as applied. */
START_TEST(a_file_that_is_empty_or_a_pipe_is_refused)
{
    struct mg_err err;
    char path[512];
    write_file("0003_third.sql", "");
    ck_assert_int_eq(migrate(&err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "0003_third.sql: it is empty, or no regular file") != NULL, "%s",
                  err.text);
    (void)snprintf(path, sizeof(path), "%s/0003_third.sql", folder);
    ck_assert_int_eq(remove(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* without a writer */
    ck_assert_int_eq(migrate(&err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "0003_third.sql: it is empty, or no regular file") != NULL, "%s",
                  err.text);
}
END_TEST

/* Would catch: two histories under one number. */
START_TEST(an_applied_file_must_not_change)
{
    struct mg_err err;
    ck_assert_int_eq(migrate(&err), MG_OK);
    write_file("0001_first.sql", "CREATE TABLE a (x bigint);");
    ck_assert_int_eq(migrate(&err), MG_PERMANENT);
    ck_assert_msg(strstr(err.text, "0001_first.sql") != NULL, "%s", err.text);
}
END_TEST

START_TEST(a_database_that_is_ahead_of_the_folder_is_left_alone)
{
    struct mg_err err;
    write_file("0003_third.sql", "SELECT 1;");
    ck_assert_int_eq(migrate(&err), MG_OK);
    char path[256];
    snprintf(path, sizeof(path), "%s/0003_third.sql", folder);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(migrate(&err), MG_PERMANENT);
    ck_assert_msg(strstr(err.text, "0003_third.sql") != NULL, "%s", err.text);
}
END_TEST

static void *migrate_on_thread(void *arg)
{
    enum mg_class *class = arg;
    struct mg_err err;
    *class = mg_store_migrate(&(struct mg_migrate_options){.dsn = dsn, .directory = folder}, &err);
    return NULL;
}

/* Would catch: a race of two simultaneous migrations, and one that gives up because the other takes long. */
START_TEST(migrating_at_the_same_time_applies_each_file_once)
{
    enum { COUNT = 6 };
    write_file("0003_third.sql", "SELECT pg_sleep(0.2); INSERT INTO a VALUES (2, 2);");
    pthread_t threads[COUNT];
    enum mg_class classes[COUNT];
    ck_assert_int_eq(setenv("PGOPTIONS", "-c lock_timeout=50ms", 1), 0); /* as roles.sql sets one */
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, migrate_on_thread, &classes[i]), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert_int_eq(classes[i], MG_OK);
    }
    ck_assert_int_eq(unsetenv("PGOPTIONS"), 0);
    ck_assert_str_eq(value("SELECT count(*) FROM a"), "2");
    ck_assert_str_eq(value("SELECT count(*) FROM makegood_migration"), "3");
}
END_TEST

/* Would catch: a schema that admits programs which it was not written to serve. */
START_TEST(a_file_names_the_programs_that_it_serves)
{
    struct mg_err err;
    write_file("0003_third.sql", "-- serves programs from schema 2\nSELECT 1;");
    ck_assert_msg(migrate(&err) == MG_OK, "%s", err.text);
    ck_assert_str_eq(
        value("SELECT string_agg(serves_from::text, ' ' ORDER BY version) FROM makegood_migration"), "1 2 2");
}
END_TEST

START_TEST(a_file_that_serves_programs_of_the_future_is_bad_input)
{
    struct mg_err err;
    write_file("0003_third.sql", "-- serves programs from schema 4\nSELECT 1;");
    ck_assert_int_eq(migrate(&err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "0003_third.sql") != NULL, "%s", err.text);
}
END_TEST

/* Rights may change with each version; the grants remove rights that were given by hand. */
START_TEST(grants_are_applied_each_time)
{
    struct mg_err err;
    write_file("grants.sql", "INSERT INTO a VALUES (7, 7);");
    ck_assert_msg(migrate(&err) == MG_OK, "%s", err.text);
    ck_assert_int_eq(migrate(&err), MG_OK);
    ck_assert_str_eq(lines, "the schema is up to date;applied grants.sql to those of its roles that exist;");
    ck_assert_str_eq(value("SELECT count(*) FROM a WHERE x = 7"), "2");
    write_file("grants.sql", "INSERT INTO a VALUES (8, 8); GRANT SELECT ON nothing TO nobody;");
    ck_assert_int_ne(migrate(&err), MG_OK);
    ck_assert_str_eq(value("SELECT count(*) FROM a WHERE x = 8"), "0");
}
END_TEST

/* The statements of a program of schema 1: it keeps its record in makegood_schema and runs on version 1
 * only. */
START_TEST(a_record_of_schema_1_is_taken_over_and_its_programs_go_on)
{
    struct mg_err err;
    ck_assert_int_eq(migrate(&err), MG_OK);
    (void)value(
        "CREATE TABLE makegood_schema AS SELECT version, name, sha256, applied_at FROM makegood_migration"
        " WHERE version = 1; DROP TABLE makegood_migration; ALTER TABLE a DROP y; SELECT 1");
    ck_assert_int_eq(migrate(&err), MG_OK);
    ck_assert_str_eq(lines, "applied 0002_second.sql;");
    ck_assert_str_eq(value("SELECT string_agg(version || ':' || serves_from, ' ' ORDER BY version) FROM"
                           " makegood_migration"),
                     "1:1 2:2");
}
END_TEST

/* The view of 0002: programs of schema 1 see version 1 until a file is applied that does not serve them. */
START_TEST(programs_of_schema_1_see_what_they_know_while_they_are_served)
{
    struct rig own;
    rig_open(&own);
    ck_assert_str_eq(rig_value(&own, "SELECT coalesce(max(version), 0) FROM makegood_schema"), "1");
    rig_admin(&own,
              "INSERT INTO makegood_migration (version, name, sha256, serves_from) VALUES (98, '', '', 1)");
    ck_assert_str_eq(rig_value(&own, "SELECT coalesce(max(version), 0) FROM makegood_schema"), "1");
    rig_admin(&own, "UPDATE makegood_migration SET serves_from = 2 WHERE version = 98");
    ck_assert_str_eq(rig_value(&own, "SELECT coalesce(max(version), 0) FROM makegood_schema"), "98");
    rig_admin(&own, "DELETE FROM makegood_migration WHERE version = 98");
    rig_finish(&own);
}
END_TEST

/* ---- plans, and locks of others ---- */

#define PLAN "-- serves programs from schema 1\n-- a plan of statements\n"

/* Would catch: a statement of a plan in a transaction, which an index that is built alongside programs cannot
 * have; a plan that is recorded before its end; one that begins anew. */
START_TEST(a_plan_goes_on_where_it_was_interrupted)
{
    struct mg_err err;
    write_file("0003_third.sql",
               PLAN "SELECT 'INSERT INTO a VALUES (3, 3)' WHERE NOT EXISTS (SELECT FROM a WHERE x = 3)"
                    " UNION ALL SELECT 'CREATE INDEX CONCURRENTLY third ON ' || CASE WHEN to_regclass('b') IS"
                    " NULL THEN 'nowhere' ELSE 'b' END || ' (x)' WHERE to_regclass('third') IS NULL");
    ck_assert_int_eq(migrate(&err), MG_PERMANENT);
    ck_assert_msg(strstr(err.text, "0003_third.sql (the statements before are kept") != NULL, "%s", err.text);
    ck_assert_str_eq(value("SELECT count(*) FROM makegood_migration"), "2");
    (void)value("CREATE TABLE b (x int); SELECT 1");
    ck_assert_msg(migrate(&err) == MG_OK, "%s", err.text);
    ck_assert_str_eq(value("SELECT count(*) FROM a WHERE x = 3"), "1");
    ck_assert_str_eq(value("SELECT indisvalid FROM pg_index WHERE indexrelid = 'third'::regclass"), "t");
    ck_assert_str_eq(value("SELECT count(*) FROM makegood_migration"), "3");
}
END_TEST

START_TEST(a_plan_without_end_is_stopped)
{
    struct mg_err err;
    write_file("0003_third.sql", PLAN "SELECT 'SELECT 1'");
    ck_assert_int_eq(migrate(&err), MG_BUG);
}
END_TEST

static PGconn *holder_begin(void)
{
    char text[2304];
    snprintf(text, sizeof(text), "%s application_name=long-report", dsn);
    PGconn *conn = PQconnectdb(text);
    PQclear(PQexec(conn, "BEGIN"));
    PGresult *result = PQexec(conn, "SELECT count(*) FROM a");
    ck_assert_msg(PQresultStatus(result) == PGRES_TUPLES_OK, "%s", PQerrorMessage(conn));
    PQclear(result);
    return conn;
}

static void *read_on_thread(void *arg)
{
    PGconn *conn = PQconnectdb(dsn);
    bool *is_held_up = arg;
    for (int i = 0; i < 60; i++) { /* six seconds */
        PGresult *result =
            PQexec(conn, "SET lock_timeout = '2s'; SELECT pg_sleep(0.1); SELECT count(*) FROM a");
        *is_held_up = *is_held_up || PQresultStatus(result) != PGRES_TUPLES_OK;
        PQclear(result);
    }
    PQfinish(conn);
    return NULL;
}

/* Would catch: programs that stand behind a migration which waits, and one that does not tell for what. */
START_TEST(a_migration_waits_for_a_lock_in_short_tries_and_names_its_holder)
{
    struct mg_err err;
    char holder[128];
    ck_assert_int_eq(migrate(&err), MG_OK);
    PGconn *conn = holder_begin();
    snprintf(holder, sizeof(holder),
             "0003_third.sql waits for session %d of user %s, \"long-report\", in a"
             " transaction since ",
             PQbackendPID(conn), PQuser(conn));
    write_file("0003_third.sql", "ALTER TABLE a ADD z int;");
    pthread_t reader;
    bool is_held_up = false;
    ck_assert_int_eq(pthread_create(&reader, NULL, read_on_thread, &is_held_up), 0);
    ck_assert_int_eq(migrate(&err), MG_TRANSIENT);
    ck_assert_int_eq(pthread_join(reader, NULL), 0);
    ck_assert(!is_held_up);
    assert_has(lines, holder);
    assert_has(err.text, "(nothing of it was kept): a lock was not free within 6 s: it waits for session");
    PQfinish(conn);
    ck_assert_msg(migrate(&err) == MG_OK, "%s", err.text);
    ck_assert_str_eq(lines, "applied 0003_third.sql;");
}
END_TEST

/* Would catch: a key of a new table that is sorted by the rules of a system's library, which change. The
 * column orders.client keeps its collation, because a change would break the prepared statements of running
 * programs; the one report that reads orders_client names the collation (store_watch). */
START_TEST(every_key_compares_by_its_bytes)
{
    static const char COLLATED[] =
        "SELECT string_agg(x.indexrelid::regclass || '.' || a.attname, ' ')"
        " FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid,"
        " unnest(x.indcollation, x.indkey) k (collation_id, attnum), pg_attribute a"
        " WHERE c.relnamespace = 'public'::regnamespace AND a.attrelid = x.indrelid AND a.attnum = k.attnum"
        " AND k.collation_id <> 0"
        " AND (k.collation_id <> '\"C\"'::regcollation OR (a.attcollation <> '\"C\"'::regcollation"
        "  AND x.indexrelid::regclass::text NOT IN ('orders_client', 'operator_alert_known')))";
    struct rig own;
    rig_open(&own);
    ck_assert_str_eq(rig_value(&own, COLLATED), "");
    rig_admin(&own, "CREATE TABLE future (id text PRIMARY KEY)");
    ck_assert_str_eq(rig_value(&own, COLLATED), "future_pkey.id");
    rig_admin(&own, "DROP TABLE future");
    rig_finish(&own);
}
END_TEST

START_TEST(a_folder_without_files_is_bad_input)
{
    struct mg_err err;
    ck_assert_int_eq(
        mg_store_migrate(&(struct mg_migrate_options){.dsn = dsn, .directory = "/nonexistent"}, &err),
        MG_BAD_INPUT);
}
END_TEST

/* ---- words ---- */

#define AS_WORD(NAME, word, ...) word " "
static const struct {
    const char *domain, *words;
} DOMAINS[] = {
    {
        "makegood_order_state",
#define MG_ORDER_STATE AS_WORD
#include "core/words.def"
    },
    {
        "makegood_step_state",
#define MG_STEP_STATE AS_WORD
#include "core/words.def"
    },
    {
        "makegood_cause",
#define MG_CAUSE AS_WORD
#include "core/words.def"
    },
    {
        "makegood_kind",
#define MG_KIND AS_WORD
#include "core/words.def"
    },
    {
        "makegood_goal",
#define MG_GOAL AS_WORD
#include "core/words.def"
    },
    {
        "makegood_reason",
#define MG_REASON AS_WORD
#include "core/words.def"
    },
    {
        "makegood_alert",
#define MG_ALERT AS_WORD
#include "core/words.def"
    },
    {
        "makegood_bulk_state",
#define MG_BULK_STATE AS_WORD
#include "core/words.def"
    },
    {
        "makegood_bulk_result",
#define MG_BULK_RESULT AS_WORD
#include "core/words.def"
    },
};

/* Would catch: a word that the core has and the database refuses, or the other way round. */
START_TEST(the_schema_has_the_words_of_words_def)
{
    struct rig own;
    rig_open(&own);
    for (size_t i = 0; i < sizeof(DOMAINS) / sizeof(DOMAINS[0]); i++) {
        char sql[512];
        snprintf(
            sql, sizeof(sql),
            "SELECT string_agg(m[1], ' ' ORDER BY n) || ' ' FROM pg_constraint c,"
            " regexp_matches(pg_get_constraintdef(c.oid), '''([a-z_]+)''', 'g') WITH ORDINALITY AS r(m, n)"
            " WHERE c.contypid = '%s'::regtype",
            DOMAINS[i].domain);
        ck_assert_str_eq(rig_value(&own, sql), DOMAINS[i].words);
    }
    rig_finish(&own);
}
END_TEST

/* ---- columns ---- */

#define AS_ROW(name, type, ...) ", ('" #name "', '" #type "')"
/* The columns that stand in only one of the two, or are of another type. */
#define DIFFERENCE(table, columns)                                                                            \
    "WITH listed (name, type) AS (VALUES ('order_id', 'text')" columns(                                       \
        MG_ANY,                                                                                               \
        AS_ROW) "),"                                                                                          \
                " found AS (SELECT column_name::text AS name, CASE data_type WHEN 'timestamp with time zone'" \
                "   THEN 'timestamptz' WHEN 'integer' THEN 'bigint' ELSE data_type END AS type"               \
                "  FROM information_schema.columns WHERE table_schema = 'public' AND table_name = '" table    \
                "')"                                                                                          \
                " SELECT string_agg(name || ' ' || type || CASE WHEN l IS NULL THEN ' is not in columns.def'" \
                "   ELSE ' is not in " table "' END, ', ')"                                                   \
                " FROM listed l FULL JOIN found f USING (name, type) WHERE l IS NULL OR f IS NULL"

/* Would catch: a column that a migration adds and no list has, or the other way round. */
START_TEST(the_tables_have_the_columns_of_columns_def)
{
    static const char *const DIFFERENCES[] = {
        DIFFERENCE("order_process", MG_ORDER_COLUMNS), DIFFERENCE("order_step", MG_STEP_COLUMNS),
        DIFFERENCE("orders", MG_PAYLOAD_COLUMNS),      DIFFERENCE("order_event", MG_EVENT_COLUMNS),
        DIFFERENCE("order_label", MG_LABEL_COLUMNS),   DIFFERENCE("operator_alert", MG_ALERT_COLUMNS)};
    struct rig own;
    rig_open(&own);
    for (size_t i = 0; i < sizeof(DIFFERENCES) / sizeof(DIFFERENCES[0]); i++) {
        ck_assert_str_eq(rig_value(&own, DIFFERENCES[i]), "");
    }
    rig_finish(&own);
}
END_TEST

START_TEST(the_program_was_written_for_the_newest_file)
{
    struct rig own;
    rig_open(&own);
    ck_assert_int_eq(strtoll(rig_value(&own, "SELECT max(version) FROM makegood_migration"), NULL, 10),
                     MG_SCHEMA_VERSION);
    rig_finish(&own);
}
END_TEST

START_TEST(the_pattern_sees_its_own_four_words)
{
    static struct mg_order_record record;
    struct rig own;
    rig_start(&own);
    for (int state = 0; state < MG_ORDER_STATE_COUNT; state++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", state);
        order_make(&record, order_id);
        record.order.state = (enum mg_order_state)state;
        record.order.failure_count = 3;
        order_store(&own, &record, NULL);
    }
    ck_assert_str_eq(rig_value(&own,
                               "SELECT string_agg(ProcessState, ' ' ORDER BY OrderID) FROM pattern_process"
                               " WHERE LockedBy = 'test:1' AND CompleteBy IS NULL AND FailureCount = 3"),
                     "Pending Processing Processed Processing Processed Processed Error");
    rig_finish(&own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: schema");
    TCase *migrations = tcase_create("migrations"), *words = tcase_create("words");
    tcase_set_timeout(migrations, 60);
    tcase_set_timeout(words, 60);
    tcase_add_checked_fixture(migrations, setup, teardown);
    tcase_add_test(migrations, files_are_applied_in_order_and_once);
    tcase_add_test(migrations, a_file_that_fails_leaves_nothing_of_itself);
    tcase_add_test(migrations, a_file_that_is_empty_or_a_pipe_is_refused);
    tcase_add_test(migrations, an_applied_file_must_not_change);
    tcase_add_test(migrations, a_database_that_is_ahead_of_the_folder_is_left_alone);
    tcase_add_test(migrations, migrating_at_the_same_time_applies_each_file_once);
    tcase_add_test(migrations, a_file_names_the_programs_that_it_serves);
    tcase_add_test(migrations, a_file_that_serves_programs_of_the_future_is_bad_input);
    tcase_add_test(migrations, grants_are_applied_each_time);
    tcase_add_test(migrations, a_record_of_schema_1_is_taken_over_and_its_programs_go_on);
    tcase_add_test(migrations, a_plan_goes_on_where_it_was_interrupted);
    tcase_add_test(migrations, a_plan_without_end_is_stopped);
    tcase_add_test(migrations, a_migration_waits_for_a_lock_in_short_tries_and_names_its_holder);
    tcase_add_test(migrations, a_folder_without_files_is_bad_input);
    tcase_add_test(words, every_key_compares_by_its_bytes);
    tcase_add_test(words, the_schema_has_the_words_of_words_def);
    tcase_add_test(words, the_tables_have_the_columns_of_columns_def);
    tcase_add_test(words, the_program_was_written_for_the_newest_file);
    tcase_add_test(words, programs_of_schema_1_see_what_they_know_while_they_are_served);
    tcase_add_test(words, the_pattern_sees_its_own_four_words);
    suite_add_tcase(suite, migrations);
    suite_add_tcase(suite, words);
    return store_main(suite, "schema");
}
