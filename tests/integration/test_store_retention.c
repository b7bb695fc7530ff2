/*
 * Retention in the real database: when orders leave the tables, how complete the archive is, a look's cost in
 * pages, and the archive's days.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/store/retention.h"
#include "io/store/sql.h"
#include "store_fixture.h"

#define EPOCH 7
#define HOT_TABLES                                                                                             \
    "(SELECT count(*) FROM orders) + (SELECT count(*) FROM order_process) + (SELECT count(*) FROM order_step)" \
    " + (SELECT count(*) FROM order_event) + (SELECT count(*) FROM operator_alert) + (SELECT count(*) FROM order_label)"
#define TODAY "(now() AT TIME ZONE 'UTC')::date"

static struct rig rig;
static struct mg_retire_answer answer;

/* ---- days ---- */

struct taken {
    int begun, ended, given_up, lines;
    int fails_at; /* the export fails at this line; 0: at none */
    bool fails_at_end;
    char day[32], last[4096];
    const char *at_end; /* an operator's statement while the command ends; NULL: none */
};
static struct taken taken;

static enum mg_class taken_begin(void *arg, const char *day, struct mg_err *err)
{
    struct taken *at = arg;
    (void)err;
    at->begun++;
    snprintf(at->day, sizeof(at->day), "%s", day);
    return MG_OK;
}

static enum mg_class taken_put(void *arg, struct mg_slice line, struct mg_err *err)
{
    struct taken *at = arg;
    at->lines++;
    snprintf(at->last, sizeof(at->last), "%.*s", (int)line.len, line.data);
    return at->lines == at->fails_at ? mg_err_set(err, MG_PERMANENT, "the test takes no more") : MG_OK;
}

static enum mg_class taken_end(void *arg, struct mg_err *err)
{
    struct taken *at = arg;
    at->ended++;
    if (at->at_end != NULL) {
        rig_admin(&rig, at->at_end);
    }
    return at->fails_at_end ? mg_err_set(err, MG_PERMANENT, "the command ended with 1") : MG_OK;
}

static void taken_give_up(void *arg)
{
    ((struct taken *)arg)->given_up++;
}

static const struct mg_day_export TO = {taken_begin, taken_put, taken_end, taken_give_up, &taken};

#define DETACH_WAIT_MS 1000
static char said[4096]; /* all output lines of one run */

static void note(void *arg, const char *line)
{
    size_t len = strlen(arg);
    snprintf((char *)arg + len, sizeof(said) - len, "%s\n", line);
}

static enum mg_class retain(const struct mg_day_export *to)
{
    rig.err.class = MG_OK;
    rig.err.text[0] = '\0';
    said[0] = '\0';
    return mg_store_retain(store_dsn(), to, DETACH_WAIT_MS, note, said, &rig.err);
}

#define DAYS(condition)                                                                                      \
    rig_value(&rig, "SELECT count(*) FROM (" MG_SQL_PART_archive_days ") d WHERE " condition)

/* ---- orders ---- */

/* Orders o-1 to o-`count` that were processed an hour ago, each with a step and two events. */
static void orders_end(int count)
{
    char sql[2048];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO orders (order_id, revision, workflow, workflow_version, payload, digest, is_high)"
        " SELECT 'o-' || n, 1, 'w', 1, E'{\"price\" :\\n 14.00}', sha256(n::text::bytea), false"
        " FROM generate_series(1, %d) n;"
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation,"
        "  failure_count, locked_by, workflow, workflow_version, revision, reply_to, is_high, wants_step_status,"
        "  updated_at)"
        " SELECT 'o-' || n, 'processed', 'processed', 'none', 2, 2, 0, 0, 'x', 'w', 1, 1, 'q', false, true,"
        "  clock_timestamp() - interval '1 hour' FROM generate_series(1, %d) n;"
        "INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe,"
        "  is_undo_dispatched, is_refused, is_accepted, attempt, failure_count, cool_down_count, generation,"
        "  result, do_digest)"
        " SELECT 'o-' || n, 'charge', 0, 'payment', 'done', 'do', 'none', false, false, false, false, 1, 0, 0,"
        "  0, '{\"id\": 1.50}', sha256('x') FROM generate_series(1, %d) n;"
        "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, transitions, statuses,"
        "  owed)"
        " SELECT 'o-' || n, v, 'reply', n || '.' || v, 'x', v, '[{\"from\":\"pending\",\"to\":\"processed\"}]',"
        "  '[{\"v\":1,\"seq\":1,\"status\":\"processed\",\"output\":[14.00]}]', false FROM generate_series(1, %d) n, generate_series(1, 2) v",
        count, count, count, count);
    rig_admin(&rig, sql);
}

static void on_retired(void *arg, const struct mg_retire_answer *from, const struct mg_err *err)
{
    if (from != NULL) {
        answer = *from;
    }
    rig_done(arg, err);
}

static enum mg_retire_outcome retire_as(uint64_t epoch, const char *holder, int bite)
{
    mg_store_retire(rig.store, epoch, holder, bite, on_retired, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return answer.outcome;
}

static int64_t retire(int bite)
{
    ck_assert_int_eq(retire_as(EPOCH, "me", bite), MG_RETIRE_MOVED);
    return answer.moved;
}

static const char *archived(void)
{
    return rig_value(&rig,
                     "SELECT string_agg(order_id, ' ' ORDER BY order_id COLLATE \"C\") FROM order_archive");
}

/* Existing days stay from test to test. The table's check refuses so short a time, so the tests drop it. */
static void setup(void)
{
    rig_start(&rig);
    rig_admin(
        &rig,
        "SET client_min_messages = warning; TRUNCATE order_archive; ALTER TABLE retention DROP CONSTRAINT IF EXISTS retention_hot;"
        " UPDATE retention SET hot = '0', keep = NULL, page = 0, failed_ids = '{}', failed_at = NULL, failed_why = NULL;"
        " UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
    taken = (struct taken){0};
    ck_assert_msg(retain(NULL) == MG_OK, "%s", rig.err.text);
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* Would catch: a former leader that goes on, orders that leave without a policy, and a portion that is lost
 * with its day. */
START_TEST(only_the_leader_moves_and_only_by_a_policy)
{
    orders_end(3);
    ck_assert_int_eq(retire_as(EPOCH - 1, "me", 10), MG_RETIRE_FENCED);
    ck_assert_int_eq(retire_as(EPOCH, "another", 10), MG_RETIRE_FENCED);
    rig_admin(&rig, "UPDATE retention SET hot = NULL");
    ck_assert_int_eq(retire_as(EPOCH, "me", 10), MG_RETIRE_OFF);
    rig_admin(&rig, "UPDATE retention SET hot = '0'");
    rig_admin(&rig, "DO $$ BEGIN EXECUTE 'DROP TABLE order_archive_' || to_char(now() AT TIME ZONE 'UTC',"
                    " 'YYYYMMDD'); END $$");
    ck_assert_int_eq(retire_as(EPOCH, "me", 10), MG_RETIRE_NO_PARTITION);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_process"), "3");
    ck_assert_int_eq(retain(NULL), MG_OK);
    ck_assert_int_eq(retire(10), 3);
    ck_assert_str_eq(archived(), "o-1 o-2 o-3");
    ck_assert_str_eq(rig_value(&rig, "SELECT " HOT_TABLES), "0");
}
END_TEST

/* Would catch: an order that leaves while another row still needs it. Each order here is held back by one
 * reason alone. */
START_TEST(rows_that_are_still_needed_stay)
{
    orders_end(12);
    rig_admin(
        &rig,
        "UPDATE order_process SET process_state = 'error' WHERE order_id = 'o-2';"
        "UPDATE order_process SET process_state = 'compensating' WHERE order_id = 'o-3';"
        "UPDATE order_process SET wake_at = now() WHERE order_id = 'o-4';"
        "UPDATE order_event SET owed = true WHERE order_id = 'o-5' AND version = 1;"
        "INSERT INTO operator_alert (code, subject, order_id, text) VALUES ('undo_failed', 'o-6.charge', 'o-6', 'x');"
        "INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent)"
        " VALUES ('b', 'resume', '{}', 'x', 'x', 5, 5, 10);"
        "INSERT INTO bulk_order (bulk_id, n, order_id, version, goal, result)"
        " VALUES ('b', 1, 'o-7', 1, 'processed', 'asked'), ('b', 2, 'o-8', 1, 'processed', 'done');"
        "UPDATE order_process SET updated_at = now() WHERE order_id = 'o-9';"
        "UPDATE retention SET hot = '1 minute';"
        "UPDATE order_event SET given_up_at = now() WHERE order_id = 'o-12'; -- no longer owed\n"
        "INSERT INTO operator_alert (code, subject, order_id, text, closed_at)"
        " VALUES ('order_error', 'o-11', 'o-11', 'x', now())");
    rig_admin(&rig, "BEGIN; SELECT FROM order_process WHERE order_id = 'o-10' FOR NO KEY UPDATE");
    ck_assert_int_eq(retire(100), 4);
    ck_assert_str_eq(archived(), "o-1 o-11 o-12 o-8");
    ck_assert_str_eq(rig_value(&rig,
                               "SELECT dossier->'events'->0->>'given_up_at' IS NOT NULL FROM order_archive"
                               " WHERE order_id = 'o-12'"),
                     "t");
    ck_assert_int_ge(answer.oldest_ms, 3600000);
    rig_admin(&rig, "COMMIT");
    ck_assert_int_eq(retire(100), 1);
    ck_assert_str_eq(archived(), "o-1 o-10 o-11 o-12 o-8");
    rig_admin(&rig, "UPDATE order_process SET process_state = 'cancelled', wake_at = NULL,"
                    "  updated_at = now() - interval '1 hour';"
                    "UPDATE order_event SET owed = false; UPDATE operator_alert SET closed_at = now();"
                    "UPDATE bulk_order SET result = 'failed'");
    ck_assert_int_eq(retire(100), 7);
    ck_assert_str_eq(rig_value(&rig, "SELECT " HOT_TABLES), "0");
    ck_assert_int_eq(retire(100), 0);
}
END_TEST

/* Would catch: a portion of any size, and orders that a walk never reaches. */
START_TEST(a_bite_is_bounded_and_all_are_found)
{
    orders_end(50);
    ck_assert_int_eq(retire(20), 20);
    ck_assert(answer.is_full && !answer.is_round);
    ck_assert_int_eq(retire(20), 20);
    ck_assert(answer.is_full);
    ck_assert_int_eq(retire(20), 10);
    ck_assert(!answer.is_full && answer.is_round);
    /* More pages than one look covers: each is looked at once in a round. */
    rig_admin(&rig, "TRUNCATE order_archive; UPDATE retention SET hot = '30 minutes'");
    orders_end(3000);
    int looks = 0;
    for (int64_t moved = 0; moved < 3000 && looks < 60; looks++) {
        moved += retire(200);
    }
    ck_assert_str_eq(rig_value(&rig, "SELECT " HOT_TABLES), "0");
}
END_TEST

/* Would catch: an archive that holds less of an order than the tables did, or other values. */
START_TEST(archived_rows_equal_the_original_ones)
{
    static const struct {
        enum mg_report hot, archived;
    } pairs[] = {{MG_REPORT_ORDER, MG_REPORT_ARCHIVED_ORDER},
                 {MG_REPORT_ORDER_STEPS, MG_REPORT_ARCHIVED_STEPS},
                 {MG_REPORT_ORDER_EVENTS, MG_REPORT_ARCHIVED_EVENTS},
                 {MG_REPORT_DOSSIER, MG_REPORT_ARCHIVED_DOSSIER}};
    char before[4][4096];
    const char *const id[] = {"o-1"};
    orders_end(1);
    rig_admin(
        &rig,
        "INSERT INTO workflow (name, version, definition) VALUES ('w', 1, E'{\"steps\" :\\n []}');"
        "INSERT INTO order_label SELECT order_id, 'customer', E'a \"quoted\"', created_at FROM order_process;"
        "INSERT INTO operator_alert (code, subject, order_id, text, closed_at)"
        " VALUES ('order_error', 'o-1', 'o-1', E'a \"quoted\"\\n\\u00e9', now())");
    for (int i = 0; i < 4; i++) {
        PGresult *rows =
            PQexecParams(rig.admin, mg_store_report_sql(pairs[i].hot), 1, NULL, id, NULL, NULL, 0);
        size_t len = 0;
        ck_assert_msg(PQresultStatus(rows) == PGRES_TUPLES_OK, "%s", PQerrorMessage(rig.admin));
        for (int cell = 0; cell < PQntuples(rows) * PQnfields(rows); cell++) {
            int row = cell / PQnfields(rows), column = cell % PQnfields(rows);
            len += (size_t)snprintf(before[i] + len, sizeof(before[i]) - len, "%s=%s|", PQfname(rows, column),
                                    PQgetvalue(rows, row, column));
        }
        PQclear(rows);
    }
    ck_assert_ptr_nonnull(strstr(before[0], "|output=[14.00]|")); /* of the order, and of its dossier */
    ck_assert_int_eq(retire(10), 1);
    ck_assert_str_eq(rig_value(&rig, "SELECT dossier->>'output' FROM order_archive"), "[14.00]");
    ck_assert_str_eq(rig_value(&rig, "SELECT " HOT_TABLES), "0");
    for (int i = 0; i < 4; i++) {
        PGresult *rows =
            PQexecParams(rig.admin, mg_store_report_sql(pairs[i].archived), 1, NULL, id, NULL, NULL, 0);
        char after[4096] = "";
        size_t len = 0;
        ck_assert_msg(PQresultStatus(rows) == PGRES_TUPLES_OK, "%s", PQerrorMessage(rig.admin));
        ck_assert_int_gt(PQntuples(rows), 0);
        for (int cell = 0; cell < PQntuples(rows) * PQnfields(rows); cell++) {
            int row = cell / PQnfields(rows), column = cell % PQnfields(rows);
            if (strcmp(PQfname(rows, column), "archived_on") == 0) {
                continue;
            }
            len += (size_t)snprintf(after + len, sizeof(after) - len, "%s=%s|", PQfname(rows, column),
                                    PQgetvalue(rows, row, column));
        }
        PQclear(rows);
        char *moment = strstr(after, "\"exported_at\" : ");
        if (moment != NULL) {
            memcpy(moment, strstr(before[i], "\"exported_at\" : "), 42);
        }
        ck_assert_str_eq(after, before[i]);
    }
}
END_TEST

/* Would catch: a look that reads tables instead of pages: at a million orders it would occupy the server each
 * second. The figures are the server's own counters, since a function's plans are not shown. */
START_TEST(a_look_reads_some_pages_and_no_table)
{
#define SEQ_SCANS                                                                                              \
    "SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE relname IN ('orders', 'order_process', 'order_step'," \
    " 'order_event', 'operator_alert', 'bulk_order')"
#define BLOCKS                                                                                               \
    "SELECT sum(heap_blks_hit + heap_blks_read) FROM pg_statio_user_tables WHERE relname = 'order_process'"
    char scans[32], look[64];
    orders_end(20000);
    rig_admin(&rig,
              "INSERT INTO operator_alert (code, subject, order_id, text, closed_at)"
              " SELECT 'order_error', order_id, order_id, 'x', now() FROM order_process;"
              "INSERT INTO bulk (bulk_id, verb, filter, reason, by_whom, canary, rate_per_s, stop_percent)"
              " VALUES ('b', 'resume', '{}', 'x', 'x', 5, 5, 10);"
              "INSERT INTO bulk_order (bulk_id, n, order_id, version, goal, result)"
              " SELECT 'b', row_number() OVER (), order_id, 1, 'processed', 'done' FROM order_process;"
              "UPDATE retention SET hot = '10 days'; ANALYZE");
    ck_assert_int_gt(strtol(rig_value(&rig, "SELECT pg_relation_size('order_process') / 8192"), NULL, 10),
                     500);
    rig_admin(&rig, "SELECT pg_stat_force_next_flush()");
    snprintf(scans, sizeof(scans), "%s", rig_value(&rig, SEQ_SCANS));
    long before = strtol(rig_value(&rig, BLOCKS), NULL, 10);
    rig_admin(&rig, "SELECT makegood_retire(7, 'me', 100)"); /* none is old enough */
    rig_admin(&rig, "SELECT pg_stat_force_next_flush()");
    long read = strtol(rig_value(&rig, BLOCKS), NULL, 10) - before;
    ck_assert_int_ge(read, 64);
    ck_assert_int_le(read, 2 * 64 + 10);

    rig_admin(&rig, "UPDATE retention SET hot = '10 minutes', page = 0");
    snprintf(look, sizeof(look), "%s", rig_value(&rig, "SELECT moved FROM makegood_retire(7, 'me', 100)"));
    ck_assert_str_eq(look, "100");
    rig_admin(&rig, "SELECT pg_stat_force_next_flush()");
    ck_assert_str_eq(rig_value(&rig, SEQ_SCANS), scans);
}
END_TEST

/* Would catch: a look for one order that reads whole days of the archive. */
START_TEST(an_archived_order_is_found_by_its_id)
{
#define ARCHIVE_BLOCKS                                                                                       \
    "SELECT sum(idx_blks_hit + idx_blks_read + heap_blks_hit + heap_blks_read) FROM pg_statio_user_tables"   \
    " WHERE relname LIKE 'order_archive_%'"
    const char *const id[] = {"o-7777"};
    rig_admin(&rig,
              "INSERT INTO order_archive (archived_on, order_id, workflow, process_state, ended_at, dossier)"
              " SELECT " TODAY ", 'o-' || n, 'w', 'processed', now(), '{}' FROM generate_series(1, 20000) n;"
              "ANALYZE order_archive");
    rig_admin(&rig, "SELECT pg_stat_force_next_flush()");
    long before = strtol(rig_value(&rig, ARCHIVE_BLOCKS), NULL, 10);
    PGresult *rows =
        PQexecParams(rig.admin, mg_store_report_sql(MG_REPORT_ARCHIVED_DOSSIER), 1, NULL, id, NULL, NULL, 0);
    ck_assert_int_eq(PQntuples(rows), 1);
    PQclear(rows);
    rig_admin(&rig, "SELECT pg_stat_force_next_flush()");
    long looked_at = strtol(rig_value(&rig, ARCHIVE_BLOCKS), NULL, 10) - before;
    ck_assert_int_ge(looked_at, 1);
    ck_assert_int_le(looked_at, 20); /* an empty day has one, this one three and the row's */
}
END_TEST

/* Would catch: one order that keeps all others in the tables, and one that is passed by without an alert. */
START_TEST(an_order_that_cannot_be_moved_is_passed_by_and_named)
{
    orders_end(20);
    rig_admin(&rig, "UPDATE orders SET payload = '{broken' WHERE order_id = 'o-1'");
    mg_store_retire(rig.store, EPOCH, "me", 10, on_retired, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_ne(rig.err.class, MG_OK); /* only a portion of one order names the culprit */
    ck_assert_msg(strstr(rig.err.text, "broken") == NULL, "it tells of a payload: %s", rig.err.text);
    rig.err.class = MG_OK;
    int64_t moved = 0;
    for (int looks = 0; looks < 40 && moved < 19; looks++) {
        moved += retire(1);
    }
    ck_assert_int_eq(moved, 19);
    ck_assert_int_eq(retire(10), 0);
    ck_assert(answer.is_round);
    ck_assert_msg(strstr(answer.failure, "order o-1: ") == answer.failure, "%s", answer.failure);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ' ') FROM order_process"), "o-1");
    rig_admin(&rig, "UPDATE orders SET payload = '{}' WHERE order_id = 'o-1';"
                    "UPDATE retention SET failed_at = now() - interval '1 hour'");
    ck_assert_int_eq(retire(10), 0); /* the round that it is passed by in ends */
    ck_assert_int_eq(retire(10), 1);
    ck_assert_int_eq(retire(10), 0);
    ck_assert_str_eq(answer.failure, "");
}
END_TEST

/* Would catch: an order with one locked row that keeps all others in the tables for as long as the lock
 * lasts. */
START_TEST(an_order_with_a_locked_step_is_passed_by_and_named)
{
    orders_end(20);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "SELECT FROM order_step WHERE order_id = 'o-1' FOR UPDATE");
    for (int looks = 0; looks < 22; looks++) {
        (void)retire(1);
    }
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ' ') FROM order_process"), "o-1");
    ck_assert_msg(strstr(answer.failure, "order o-1: canceling statement due to lock timeout") ==
                      answer.failure,
                  "%s", answer.failure);
    rig_admin(&rig, "ROLLBACK");
}
END_TEST

/* ---- operators ---- */

/* Would catch: a policy that lets orders leave while their clients still use them, and a policy without an
 * author on record. */
START_TEST(a_policy_is_a_day_at_least_and_names_its_author)
{
    struct mg_retention wanted = {.has_hot = true, .hot_ms = MG_HOT_MIN_MS - 1, .reason = "why", .by = "ann"};
    rig_admin(&rig, "UPDATE retention SET hot = NULL;"
                    "ALTER TABLE retention ADD CONSTRAINT retention_hot CHECK (hot >= interval '1 day')");
    mg_store_set_retention(rig.store, &wanted, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_ne(rig.err.class, MG_OK);
    wanted.hot_ms = 3 * MG_HOT_MIN_MS;
    mg_store_set_retention(rig.store, &wanted, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    wanted =
        (struct mg_retention){.has_keep = true, .keep_ms = 9 * MG_HOT_MIN_MS, .reason = "it", .by = "bert"};
    mg_store_set_retention(rig.store, &wanted, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_str_eq(
        rig_value(&rig, "SELECT hot || ' ' || keep || ' ' || by_whom || ' ' || reason FROM retention"),
        "72:00:00 216:00:00 bert it");
    wanted = (struct mg_retention){.has_hot = true, .reason = "stop", .by = "bert"};
    mg_store_set_retention(rig.store, &wanted, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_str_eq(rig_value(&rig, "SELECT hot IS NULL AND keep IS NOT NULL FROM retention"), "t");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(by_whom || reason, ' ' ORDER BY action_id) FROM"
                                     " operator_action WHERE verb = 'db vacuum-policy'"),
                     "annwhy bertit bertstop");
}
END_TEST

/* ---- the owner ---- */

static void old_day_make(void)
{
    rig_admin(
        &rig,
        "CREATE TABLE order_archive_20200131 PARTITION OF order_archive FOR VALUES FROM"
        " ('2020-01-31') TO ('2020-02-01');"
        "INSERT INTO order_archive (archived_on, order_id, workflow, process_state, ended_at, dossier)"
        " SELECT '2020-01-31', 'o-' || n, 'w', 'processed', now(), ('{\"n\":' || E'\\n' || n || '}')::json"
        " FROM generate_series(1, 250) n;"
        "UPDATE retention SET keep = '30 days'");
}

/* Would catch: a day that is dropped before its rows were exported, one that is never dropped, and lines that
 * hold no row. */
START_TEST(a_day_is_dropped_when_it_was_taken_whole)
{
    setenv("PGOPTIONS", "-c datestyle=German", 1);
    old_day_make();
    taken.fails_at = 150;
    ck_assert_int_eq(retain(&TO), MG_PERMANENT);
    ck_assert_msg(strstr(rig.err.text, "could not export 2020-01-31, which is kept") != NULL, "%s",
                  rig.err.text);
    ck_assert_int_eq(taken.given_up, 1);
    ck_assert_int_eq(taken.ended, 0);
    taken = (struct taken){.fails_at_end = true};
    ck_assert_int_eq(retain(&TO), MG_PERMANENT);
    ck_assert_int_eq(taken.lines, 250);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_archive"), "250");
    taken = (struct taken){0};
    ck_assert_int_eq(retain(&TO), MG_OK);
    ck_assert_int_eq(taken.lines, 250);
    ck_assert_int_eq(taken.ended, 1);
    ck_assert_str_eq(taken.day, "2020-01-31");
    ck_assert_str_eq(taken.last, "{\"n\": 99}");
    ck_assert_str_eq(DAYS("day < " TODAY), "0");
    taken = (struct taken){0};
    ck_assert_int_eq(retain(&TO), MG_OK); /* again, it finds nothing to do */
    ck_assert_int_eq(taken.begun, 0);
}
END_TEST

/* Would catch: a drop that readers have to wait for, and one that stays half done after an interruption. */
START_TEST(a_reader_delays_no_archiving_and_an_interrupted_one_is_finished)
{
    old_day_make();
    rig_admin(&rig, "BEGIN; SELECT count(*) FROM order_archive");
    ck_assert_int_eq(retain(&TO), MG_TRANSIENT);
    ck_assert_int_eq(taken.lines, 250);
    rig_admin(&rig, "COMMIT");
    ck_assert_str_eq(DAYS("is_pending"), "1");
    taken = (struct taken){0};
    ck_assert_int_eq(retain(&TO), MG_OK);
    ck_assert_int_eq(taken.lines, 250); /* the first receiver may have lost it: that run broke off */
    ck_assert_str_eq(DAYS("day < " TODAY), "0");

    old_day_make();
    rig_admin(&rig, "ALTER TABLE order_archive DETACH PARTITION order_archive_20200131;"
                    " COMMENT ON TABLE order_archive_20200131 IS " MG_SQL_ARCHIVE_MARK);
    taken = (struct taken){0};
    ck_assert_int_eq(retain(&TO), MG_OK);
    ck_assert_int_eq(taken.lines, 250);
    ck_assert_str_eq(DAYS("day < " TODAY), "0");
}
END_TEST

/* Would catch: a day that is dropped although an operator detached it to keep it, or although the policy now
 * keeps it. */
START_TEST(a_day_detached_by_another_session_is_left_alone)
{
    old_day_make();
    rig_admin(&rig, "ALTER TABLE order_archive DETACH PARTITION order_archive_20200131");
    ck_assert_int_eq(retain(&TO), MG_OK);
    ck_assert_str_eq(said,
                     "left order_archive_20200131 alone, which is no part of the archive: this did not detach"
                     " it, or it is to be kept\n");
    rig_admin(&rig, "COMMENT ON TABLE order_archive_20200131 IS " MG_SQL_ARCHIVE_MARK
                    "; UPDATE retention SET keep = NULL");
    ck_assert_int_eq(retain(&TO), MG_OK);
    ck_assert_int_eq(taken.begun, 0);
    ck_assert_str_eq(DAYS("is_detached"), "1");
    rig_admin(&rig, "DROP TABLE order_archive_20200131");

    /* A day that could not be detached is not marked as detached. */
    old_day_make();
    rig_admin(&rig, "BEGIN; LOCK TABLE order_archive IN SHARE UPDATE EXCLUSIVE MODE");
    ck_assert_int_eq(retain(NULL), MG_TRANSIENT);
    rig_admin(&rig, "COMMIT");
    ck_assert_str_eq(DAYS("is_marked OR is_pending"), "0");
    ck_assert_str_eq(DAYS("day < " TODAY), "1");
    ck_assert_int_eq(retain(NULL), MG_OK);
}
END_TEST

/* Would catch: a run that goes on by a withdrawn policy, and one that stops at a day that cannot be
 * exported. */
START_TEST(each_day_goes_by_the_policy_as_it_is_and_for_itself)
{
    old_day_make();
    rig_admin(&rig, "CREATE TABLE order_archive_20200201 PARTITION OF order_archive FOR VALUES FROM"
                    " ('2020-02-01') TO ('2020-02-02')");
    taken = (struct taken){.at_end = "UPDATE retention SET keep = NULL"};
    ck_assert_int_eq(retain(&TO), MG_OK);
    ck_assert_str_eq(said, "exported 2020-01-31\nkept 2020-01-31: it is not to go any more\n");
    ck_assert_str_eq(DAYS("NOT is_detached AND NOT is_marked AND day < " TODAY), "2");

    rig_admin(&rig, "UPDATE retention SET keep = '30 days'");
    taken = (struct taken){.fails_at = 1};
    ck_assert_int_eq(retain(&TO), MG_PERMANENT);
    ck_assert_msg(strstr(rig.err.text, "could not export 2020-01-31, which is kept") != NULL, "%s",
                  rig.err.text);
    ck_assert_str_eq(said, "exported 2020-02-01\ndropped 2020-02-01\n");
    taken = (struct taken){0};
    ck_assert_int_eq(retain(&TO), MG_OK);
}
END_TEST

/* Would catch: days that are missing when they are needed, and two processes that make the same day. */
START_TEST(days_are_there_a_week_before_they_are_needed)
{
    ck_assert_str_eq(DAYS("NOT is_detached AND day BETWEEN " TODAY " AND " TODAY " + 7"), "8");
    rig_admin(&rig, "SELECT pg_advisory_lock(19783, 5)");
    rig_admin(&rig, "DO $$ BEGIN EXECUTE 'DROP TABLE order_archive_' || to_char(now() AT TIME ZONE 'UTC',"
                    " 'YYYYMMDD'); END $$");
    ck_assert_int_eq(retain(NULL), MG_STALE);
    ck_assert_str_eq(DAYS("NOT is_detached"), "8"); /* orders need them, even during an export */
    rig_admin(&rig, "SELECT pg_advisory_unlock(19783, 5)");
    ck_assert_int_eq(retain(NULL), MG_OK);
    ck_assert_str_eq(DAYS("true"), "8");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store retention");
    TCase *tcase = tcase_create("retention");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, only_the_leader_moves_and_only_by_a_policy);
    tcase_add_test(tcase, rows_that_are_still_needed_stay);
    tcase_add_test(tcase, a_bite_is_bounded_and_all_are_found);
    tcase_add_test(tcase, archived_rows_equal_the_original_ones);
    tcase_add_test(tcase, a_look_reads_some_pages_and_no_table);
    tcase_add_test(tcase, an_archived_order_is_found_by_its_id);
    tcase_add_test(tcase, an_order_that_cannot_be_moved_is_passed_by_and_named);
    tcase_add_test(tcase, an_order_with_a_locked_step_is_passed_by_and_named);
    tcase_add_test(tcase, a_policy_is_a_day_at_least_and_names_its_author);
    tcase_add_test(tcase, a_day_is_dropped_when_it_was_taken_whole);
    tcase_add_test(tcase, a_reader_delays_no_archiving_and_an_interrupted_one_is_finished);
    tcase_add_test(tcase, a_day_detached_by_another_session_is_left_alone);
    tcase_add_test(tcase, each_day_goes_by_the_policy_as_it_is_and_for_itself);
    tcase_add_test(tcase, days_are_there_a_week_before_they_are_needed);
    suite_add_tcase(suite, tcase);
    return store_main(suite, "retention");
}
