/*
 * Owed statuses. A queue that takes nothing is tried by one order at a time, at growing intervals. Once it
 * takes one, all its statuses are sent. A status owed for too long is given up. The cost of a question does
 * not grow with the number of owed statuses.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "io/store/owed.h"
#include "io/store/pass_by.h"

#define DAY_MS INT64_C(86400000)

static struct rig rig;
static struct mg_ask_owed options;
static struct mg_given_up given_up[8];
static int given_up_count;

static void setup(void)
{
    rig_start(&rig);
    rig_admin(&rig, "UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
    options = (struct mg_ask_owed){.epoch = 7, .holder = "me", .limit = 100, .ask_again_ms = 2000};
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* Ended orders o-1 to o-`count` of a client, each with one event. */
static void orders_make(int first, int count, const char *reply_to)
{
    char sql[2048];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation,"
        "  failure_count, locked_by, workflow, workflow_version, revision, reply_to, is_high, wants_step_status)"
        " SELECT 'o-' || n, 'processed', 'processed', 'none', 1, n, 0, 0, 'x', 'w', 1, 1, '%s', false, false"
        "  FROM generate_series(%d, %d) n;"
        "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, at, attempt, statuses, owed)"
        " SELECT 'o-' || n, 1, 'submitted', 'c', 'x', clock_timestamp() - interval '1 hour'"
        "   + n * interval '1 microsecond', 0, '[{\"v\":1,\"seq\":1}]', false FROM generate_series(%d, %d) n",
        reply_to, first, first + count - 1, first, first + count - 1);
    rig_admin(&rig, sql);
}

static void on_marked(void *arg, const struct mg_given_up *from, int count, const struct mg_err *err)
{
    given_up_count = count;
    for (int i = 0; i < count && i < 8; i++) {
        given_up[i] = from[i];
    }
    rig_done(arg, err);
}

static void mark(int first, int count, bool is_owed, bool is_retry, const char *reply_to)
{
    static struct mg_owed marks[256];
    static char ids[256][24];
    for (int i = 0; i < count; i++) {
        snprintf(ids[i], sizeof(ids[i]), "o-%d", first + i);
        marks[i] = (struct mg_owed){ids[i], 1, is_owed, is_retry, reply_to};
    }
    mg_store_mark_owed(rig.store, marks, count, DAY_MS, on_marked, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

static void on_asked(void *arg, bool is_leader, const struct mg_due *dues, int count,
                     const struct mg_err *err)
{
    rig.sweep.is_leader = is_leader;
    rig.sweep.due_count = count;
    for (int i = 0; i < count && i < 256; i++) {
        rig.dues[i] = dues[i];
    }
    rig_done(arg, err);
}

/* Returns the number of orders to be tried. */
static int ask(void)
{
    mg_store_ask_owed(rig.store, &options, on_asked, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return rig.sweep.due_count;
}

/* Moves the stored times back, as if `interval` had passed. */
static void pass(const char *interval)
{
    char sql[512];
    snprintf(sql, sizeof(sql),
             "UPDATE reply_queue SET since = since - interval '%s', tried_at = tried_at - interval '%s',"
             "  ask_at = ask_at - interval '%s';"
             "UPDATE order_event SET at = at - interval '%s', owed_asked_at = owed_asked_at - interval '%s'",
             interval, interval, interval, interval, interval);
    rig_admin(&rig, sql);
}

/* Seconds until the queue is tried again. */
static double waits_s(void)
{
    return strtod(rig_value(&rig, "SELECT extract(epoch FROM ask_at - clock_timestamp()) FROM reply_queue"),
                  NULL);
}

/* Would catch: clients gone for good, each order of which costs as much as if it alone were owed. */
START_TEST(a_queue_that_takes_nothing_is_tried_with_one_order)
{
    orders_make(1, 50, "gone");
    mark(1, 50, true, false, "gone");
    ck_assert_int_eq(ask(), 0); /* it was tried just now */
    pass("2 seconds");
    ck_assert_int_eq(ask(), 1);
    ck_assert_str_eq(rig.dues[0].order_id, "o-1");
    ck_assert_int_eq(rig.dues[0].ask, MG_CAUSE_OWED);
    ck_assert_uint_eq(rig.dues[0].version, 1);
    ck_assert_uint_eq(rig.dues[0].seq, 1);
    ck_assert_int_eq(ask(), 0);
    pass("2 seconds"); /* no result has come: the ask may be lost */
    ck_assert_int_eq(ask(), 1);
}
END_TEST

/* Would catch: a queue that is tried as often after hours as after seconds, or never again. */
START_TEST(a_queue_that_takes_nothing_for_long_is_tried_more_seldom)
{
    static const struct {
        const char *since;
        double waits_s;
    } cases[] = {{"8 minutes", 30}, {"16 hours", 3600}, {"9 days", 4 * 3600}};
    orders_make(1, 2, "gone");
    mark(1, 2, true, false, "gone");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sql[128];
        snprintf(sql, sizeof(sql),
                 "UPDATE reply_queue SET ask_at = now(), since = clock_timestamp() - interval '%s'",
                 cases[i].since);
        rig_admin(&rig, sql);
        rig_admin(&rig, "UPDATE order_event SET owed_asked_at = NULL");
        ck_assert_int_eq(ask(), 1);
        mark(1, 1, true, true, "gone");
        ck_assert_msg(waits_s() > cases[i].waits_s - 15 && waits_s() < cases[i].waits_s + 15,
                      "%s: %f s, not %f", cases[i].since, waits_s(), cases[i].waits_s);
        mark(2, 1, true, false, "gone"); /* a status of another order moves the retry neither way */
        ck_assert(waits_s() > cases[i].waits_s - 15);
    }
}
END_TEST

/* Law 2, ack after effects. Would catch: a client with one queue per order, all gone, that delays the retries
 * of all other clients. If the oldest came first regardless of client, its retries would fill every
 * question. */
START_TEST(one_clients_gone_queues_hold_up_no_others)
{
    enum { GONE = 250 };
    orders_make(1, GONE, "client.other.gone");
    orders_make(GONE + 1, 1, "client.shop.second");
    orders_make(GONE + 2, 1, "anybody");
    rig_admin(
        &rig,
        "UPDATE order_event SET owed = true, owed_to = CASE order_id WHEN 'o-251' THEN 'client.shop.second'"
        "  WHEN 'o-252' THEN 'anybody' ELSE 'client.other.' || order_id END;"
        "INSERT INTO reply_queue (name, since, tried_at, ask_at) SELECT owed_to, now(), now(),"
        "  now() - interval '1 minute' FROM order_event;"
        "UPDATE reply_queue SET ask_at = now() - interval '1 second' WHERE name NOT LIKE 'client.other.%'");
    int count = ask(), seen = 0;
    for (int i = 0; i < count; i++) {
        seen += strcmp(rig.dues[i].order_id, "o-251") == 0 || strcmp(rig.dues[i].order_id, "o-252") == 0;
    }
    ck_assert_int_eq(seen, 2);
    ck_assert_int_eq(count, 100); /* and no retry is left out */
    ck_assert_int_eq(ask(), 100);
}
END_TEST

/* Would catch: thousands that each wait separately although their client is back, and a status that is sent
 * twice. */
START_TEST(when_a_queue_takes_one_the_others_follow)
{
    orders_make(1, 250, "back");
    mark(1, 250, true, false, "back");
    pass("1 hour");
    ck_assert_int_eq(ask(), 1);
    mark(1, 1, false, true, "back");
    ck_assert_int_eq(ask(), 100);
    ck_assert_int_eq(ask(), 0); /* those are on their way */
    mark(2, 100, false, true, "back");
    ck_assert_int_eq(ask(), 100);
    mark(102, 50, false, true, "back"); /* while the rest is on its way */
    ck_assert_int_eq(ask(), 49);
    mark(152, 99, false, true, "back");
    ck_assert_int_eq(ask(), 0);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_event WHERE owed"), "0");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM reply_queue"), "0"); /* and nothing is left */
}
END_TEST

/* Would catch: a full queue that takes one now and then, and is flooded each time. */
START_TEST(a_queue_that_refuses_one_of_many_is_tried_with_one_again)
{
    orders_make(1, 50, "full");
    mark(1, 50, true, false, "full");
    pass("1 hour");
    ck_assert_int_eq(ask(), 1);
    mark(1, 1, false, true, "full");
    mark(2, 1, true, true, "full");
    pass("4 seconds");
    ck_assert_int_eq(ask(), 1);
}
END_TEST

/* Would catch: statuses that are owed from their commit on and are never tried. */
START_TEST(an_owed_status_that_was_not_tried_is_retried_after_a_second)
{
    orders_make(1, 3, "client");
    rig_admin(&rig,
              "UPDATE order_event SET owed = true, at = clock_timestamp() WHERE order_id = 'o-1';"
              "UPDATE order_event SET owed = true, at = clock_timestamp() + interval '1 hour'"
              " WHERE order_id = 'o-2';"
              "UPDATE order_event SET owed = true, owed_asked_at = clock_timestamp() + interval '1 hour'"
              " WHERE order_id = 'o-3'");
    ck_assert_int_eq(ask(), 2); /* of the future: by a clock that was ahead */
    ck_assert_int_eq(ask(), 0);
    pass("1 second");
    ck_assert_int_eq(ask(), 1);
    ck_assert_str_eq(rig.dues[0].order_id, "o-1");
    mark(1, 1, false, true, "");
    pass("2 seconds");
    ck_assert_int_eq(ask(), 2);
}
END_TEST

/* Would catch: statuses that wait for hours because a clock that was ahead set the time of their retry. */
START_TEST(a_step_back_of_the_clock_delays_no_status)
{
    orders_make(1, 2, "away");
    mark(1, 2, true, false, "away");
    rig_admin(&rig, "UPDATE reply_queue SET tried_at = clock_timestamp() + interval '1 hour',"
                    "  ask_at = clock_timestamp() + interval '5 hours';"
                    "UPDATE order_event SET owed_asked_at = clock_timestamp() + interval '1 hour'");
    ck_assert_int_eq(ask(), 1);
    ck_assert(waits_s() <= 2);
    ck_assert_int_eq(ask(), 0);
}
END_TEST

/* Would catch: the same, if the clock was set only while the retry was under way. */
START_TEST(a_clock_that_was_ahead_when_a_retry_failed_delays_no_status)
{
    orders_make(1, 2, "away");
    mark(1, 2, true, false, "away");
    pass("2 seconds");
    ck_assert_int_eq(ask(), 1);
    pass("1 hour"); /* the clock is set ahead */
    mark(1, 1, true, true, "away");
    pass("-1 hour"); /* and right again */
    pass("2 seconds");
    ck_assert_int_eq(ask(), 1);
    ck_assert(waits_s() <= 2);
}
END_TEST

/* Would catch: the same, if the clock was ahead when the retry began and right when it failed. */
START_TEST(a_clock_that_is_right_when_a_retry_fails_delays_no_status)
{
    orders_make(1, 2, "away");
    mark(1, 2, true, false, "away");
    pass("2 seconds");
    ck_assert_int_eq(ask(), 1);
    pass("-1 hour"); /* that was by a clock ahead */
    mark(1, 1, true, true, "away");
    ck_assert_int_eq(ask(), 1);
    ck_assert(waits_s() <= 2);
}
END_TEST

/* Would catch: statuses that stay with the queue that their client has left. */
START_TEST(statuses_are_owed_to_the_present_attachment_of_the_order)
{
    orders_make(1, 2, "left");
    rig_admin(&rig, "UPDATE order_process SET reply_to = 'new' WHERE order_id = 'o-2'");
    mark(1, 2, true, false, "left");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(owed_to, ' ' ORDER BY order_id) FROM order_event"),
                     "left new");
    pass("2 seconds");
    ck_assert_int_eq(ask(), 2); /* one of each queue */
    rig_admin(&rig, "UPDATE order_process SET reply_to = 'new'");
    mark(1, 1, true, true, "new");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(owed_to, ' ' ORDER BY order_id) FROM order_event"),
                     "new new");
}
END_TEST

/* Would catch: statuses that are owed for ever, are given up while they may arrive, or vanish. */
START_TEST(statuses_owed_for_too_long_are_given_up_and_kept)
{
    orders_make(1, 4, "gone");
    orders_make(5, 1, "other");
    mark(1, 4, true, false, "gone");
    mark(5, 1, true, false, "other");
    rig_admin(&rig, "UPDATE order_event SET at = clock_timestamp() - interval '25 hours'"
                    " WHERE order_id IN ('o-1', 'o-2', 'o-5')");
    mark(3, 1, true, false, "gone");
    ck_assert_int_eq(given_up_count, 0); /* no retry has been made since */
    mark(1, 1, true, true, "gone");
    ck_assert_int_eq(given_up_count, 1);
    ck_assert_str_eq(given_up[0].queue, "gone");
    ck_assert_int_eq(given_up[0].count, 2);
    ck_assert_int_eq(given_up[0].alerts_open, 0);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ' ' ORDER BY order_id) FROM order_event"
                                     " WHERE NOT owed AND given_up_at IS NOT NULL AND statuses IS NOT NULL"),
                     "o-1 o-2");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ' ' ORDER BY order_id) FROM order_event"
                                     " WHERE owed"),
                     "o-3 o-4 o-5");
    mark(1, 1, true, true, "gone"); /* of another, slower scheduler */
    ck_assert_str_eq(rig_value(&rig, "SELECT owed FROM order_event WHERE order_id = 'o-1'"), "f");
    mark(1, 1, false, true, "gone"); /* and one that has arrived after all */
    ck_assert_str_eq(rig_value(&rig, "SELECT given_up_at IS NULL FROM order_event WHERE order_id = 'o-1'"),
                     "t");
}
END_TEST

/* Would catch: an unbounded number of alerts when one call gives up many queues. */
START_TEST(each_queue_counts_the_alerts_of_those_before_it)
{
    static const char *const NAMES[] = {"a", "b", "c"};
    static const char *const IDS[] = {"o-1", "o-2", "o-3"};
    struct mg_owed marks[3];
    for (int i = 0; i < 3; i++) {
        orders_make(1 + i, 1, NAMES[i]);
        mark(1 + i, 1, true, false, NAMES[i]);
        marks[i] = (struct mg_owed){IDS[i], 1, true, true, NAMES[i]};
    }
    rig_admin(&rig,
              "UPDATE order_event SET at = at - interval '2 days';"
              "INSERT INTO operator_alert (code, subject, text) VALUES ('statuses_given_up', 'x', 'x')");
    mg_store_mark_owed(rig.store, marks, 3, DAY_MS, on_marked, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(given_up_count, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(given_up[i].queue, NAMES[i]);
        ck_assert_int_eq(given_up[i].alerts_open, 1 + i);
    }
}
END_TEST

/* Would catch: a portion that grows with the number of owed statuses, and a next portion that waits for
 * hours. */
START_TEST(owed_statuses_are_given_up_in_bounded_batches)
{
    orders_make(1, 600, "gone");
    rig_admin(&rig,
              "UPDATE order_event SET owed = true, owed_to = 'gone', at = at - interval '2 days';"
              "INSERT INTO reply_queue (name, since, tried_at, ask_at) VALUES ('gone', now(), now(),"
              "  now() + interval '1 hour');"
              "INSERT INTO operator_alert (code, subject, text) VALUES ('statuses_given_up', 'x', 'x')");
    mark(600, 1, true, true, "gone");
    ck_assert_int_eq(given_up[0].count, 500);
    ck_assert_int_eq(given_up[0].alerts_open, 1);
    ck_assert_int_eq(ask(), 1);
    mark(600, 1, true, true, "gone");
    ck_assert_int_eq(given_up[0].count, 100);
    pass("1 day");
    ck_assert_int_eq(ask(), 0);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM reply_queue"), "0");
}
END_TEST

/* Would catch: a queue's row that is deleted while a status of it is being marked; no later question would
 * name that status. The question's clock does not move between its read and its lock, for as long as the mark
 * takes. */
START_TEST(a_queue_that_is_marked_meanwhile_is_not_forgotten)
{
    orders_make(1, 1, "gone");
    rig_admin(&rig, "INSERT INTO reply_queue (name, since, tried_at, ask_at) VALUES ('gone', now(), now(),"
                    "  now() - interval '1 second')");
    rig_admin(
        &rig,
        "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE SET lock_timeout = 0 AS $$"
        " BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN pg_catalog.clock_timestamp(); END $$;"
        "SELECT pg_advisory_lock(4711)");
    char sql[128];
    snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET search_path = public, pg_catalog",
             rig_value(&rig, "SELECT current_database()"));
    rig_admin(&rig, sql);
    mg_store_destroy(rig.store);
    rig_start_with(&rig, (struct mg_store_options){0}, true);
    mg_store_ask_owed(rig.store, &options, on_asked, &rig);
    rig_wait(&rig, rig_is_locked_out);
    rig_admin(&rig, "UPDATE order_event SET owed = true, owed_to = 'gone';"
                    "UPDATE reply_queue SET marks = marks + 1; SELECT pg_advisory_unlock(4711)");
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM reply_queue"), "1");
    ck_assert_int_eq(ask(), 1);
}
END_TEST

/* Would catch: questions of a former leader that still change rows. */
START_TEST(a_former_leader_asks_nothing)
{
    orders_make(1, 1, "away");
    mark(1, 1, true, false, "away");
    pass("2 seconds");
    options.epoch = 6;
    ck_assert_int_eq(ask(), 0);
    ck_assert(!rig.sweep.is_leader);
    options.epoch = 7;
    ck_assert_int_eq(ask(), 1);
    ck_assert(rig.sweep.is_leader);
}
END_TEST

/* Pages that the question read, as PostgreSQL counts them. */
static int pages_read(void)
{
    char sql[256];
    const char *statements[] = {"BEGIN", MG_STORE_BY_KEY.text, NULL, "ROLLBACK; DEALLOCATE q"};
    int pages = 0;
    static char prepare[16384];
    snprintf(prepare, sizeof(prepare), "PREPARE q AS %s", MG_STORE_ASK_OWED.all.text);
    rig_admin(&rig, prepare);
    snprintf(sql, sizeof(sql),
             "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) EXECUTE q(7, 'me', 500, 2000, '{}')");
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (statements[i] != NULL) {
            rig_admin(&rig, statements[i]);
            continue;
        }
        PGresult *plan = PQexec(rig.admin, sql);
        ck_assert_msg(PQresultStatus(plan) == PGRES_TUPLES_OK, "%s", PQerrorMessage(rig.admin));
        for (int row = 0; row < PQntuples(plan); row++) {
            const char *line = PQgetvalue(plan, row, 0), *hit = strstr(line, "shared hit=");
            const char *read = strstr(line, " read=");
            ck_assert_msg(strstr(line, "Seq Scan on order_") == NULL && strstr(line, "Bitmap") == NULL &&
                              strstr(line, "Hash Join") == NULL && strstr(line, "Merge Join") == NULL,
                          "%s", line);
            if (strstr(line, "Planning:") != NULL) {
                break;
            }
            int here = (int)((hit != NULL ? strtoll(hit + 11, NULL, 10) : 0) +
                             (read != NULL ? strtoll(read + 6, NULL, 10) : 0));
            pages = here > pages ? here : pages; /* a node's count includes the nodes below it */
        }
        PQclear(plan);
    }
    return pages;
}

/* Would catch: a sweep that costs more as more is owed. The load is one queue that is gone, as many queues as
 * orders of one client, or as many clients; each before and after ANALYZE. */
START_TEST(a_question_reads_no_more_however_much_is_owed)
{
    static const char *const owners[] = {"'gone'", "'gone.' || order_id", "'client.one.' || order_id",
                                         "'client.' || order_id || '.gone'"};
    int few, many;
    for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
        char sql[512];
        rig_admin(&rig, "TRUNCATE order_process, order_event, reply_queue; ANALYZE order_event, reply_queue");
        for (int round = 0; round < 2; round++) {
            orders_make(round * 300 + 1, round == 0 ? 300 : 50000, "gone");
            snprintf(
                sql, sizeof(sql),
                "UPDATE order_event SET owed = true, owed_to = %s WHERE NOT owed;"
                "INSERT INTO reply_queue (name, since, tried_at, ask_at) SELECT DISTINCT owed_to, now(), now(),"
                "  now() - interval '1 second' - (hashtext(owed_to) & 1023) * interval '1 microsecond'"
                " FROM order_event ON CONFLICT DO NOTHING",
                owners[i]);
            rig_admin(&rig, sql);
            *(round == 0 ? &few : &many) = pages_read();
        }
        ck_assert_msg(many < few * 3 / 2 + 100, "%s: %d pages of 300, %d of 50300", owners[i], few, many);
        rig_admin(&rig, "ANALYZE order_event, reply_queue, order_process");
        many = pages_read();
        ck_assert_msg(many < few * 3 / 2 + 100, "%s: %d pages of 300, %d of 50300", owners[i], few, many);
    }
}
END_TEST

/* Would catch: unreadable statuses that are tried every few seconds for ever, in place of all younger
 * ones. */
START_TEST(statuses_that_cannot_be_read_are_a_failed_retry)
{
    const struct mg_owed unread = {"o-1", 0, true, true, ""};
    orders_make(1, 2, "gone");
    mark(1, 2, true, false, "gone");
    pass("16 minutes");
    ck_assert_int_eq(ask(), 1);
    ck_assert_str_eq(rig.dues[0].order_id, "o-1");
    mg_store_mark_owed(rig.store, &unread, 1, DAY_MS, on_marked, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    ck_assert_double_ge(waits_s(), 50);
    ck_assert_int_eq(given_up_count, 0);
    pass("1 day");
    rig_admin(&rig, "UPDATE order_event SET at = clock_timestamp() WHERE order_id = 'o-2'");
    ck_assert_int_eq(ask(), 1);
    mg_store_mark_owed(rig.store, &unread, 1, DAY_MS, on_marked, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(given_up_count, 1);
    ck_assert_str_eq(given_up[0].queue, "gone");
    ck_assert_int_eq((int)given_up[0].count, 1);
    pass("4 hours");
    ck_assert_int_eq(ask(), 1);
    ck_assert_str_eq(rig.dues[0].order_id, "o-2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owed");
    TCase *test = tcase_create("owed");
    tcase_set_timeout(test, 120);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, a_queue_that_takes_nothing_is_tried_with_one_order);
    tcase_add_test(test, a_queue_that_takes_nothing_for_long_is_tried_more_seldom);
    tcase_add_test(test, one_clients_gone_queues_hold_up_no_others);
    tcase_add_test(test, when_a_queue_takes_one_the_others_follow);
    tcase_add_test(test, a_queue_that_refuses_one_of_many_is_tried_with_one_again);
    tcase_add_test(test, an_owed_status_that_was_not_tried_is_retried_after_a_second);
    tcase_add_test(test, a_step_back_of_the_clock_delays_no_status);
    tcase_add_test(test, a_clock_that_was_ahead_when_a_retry_failed_delays_no_status);
    tcase_add_test(test, a_clock_that_is_right_when_a_retry_fails_delays_no_status);
    tcase_add_test(test, statuses_are_owed_to_the_present_attachment_of_the_order);
    tcase_add_test(test, statuses_owed_for_too_long_are_given_up_and_kept);
    tcase_add_test(test, each_queue_counts_the_alerts_of_those_before_it);
    tcase_add_test(test, owed_statuses_are_given_up_in_bounded_batches);
    tcase_add_test(test, a_former_leader_asks_nothing);
    tcase_add_test(test, a_question_reads_no_more_however_much_is_owed);
    tcase_add_test(test, statuses_that_cannot_be_read_are_a_failed_retry);
    tcase_add_test(test, a_queue_that_is_marked_meanwhile_is_not_forgotten); /* last: it changes the clock */
    suite_add_tcase(suite, test);
    return store_main(suite, "owed");
}
