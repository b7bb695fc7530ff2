/*
 * The last status sent to a client. It is read once for an order, however many requests for it are in the
 * batch, and from the newest event backwards.
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

#define REPETITIONS 256
#define TELLING     64

/* Counts from now on in `parsed` the JSON arrays of statuses that are parsed. */
static void parsing_count(void)
{
    char sql[128];
    rig_admin(&rig, "CREATE SEQUENCE public.parsed;"
                    "GRANT ALL ON SEQUENCE public.parsed TO PUBLIC;"
                    "CREATE FUNCTION public.json_array_elements(json) RETURNS SETOF json LANGUAGE plpgsql"
                    " VOLATILE AS $$ BEGIN PERFORM nextval('public.parsed');"
                    " RETURN QUERY SELECT * FROM pg_catalog.json_array_elements($1); END $$");
    snprintf(sql, sizeof(sql), "ALTER DATABASE %s SET search_path = public, pg_catalog",
             rig_value(&rig, "SELECT current_database()"));
    rig_admin(&rig, sql);
    mg_store_destroy(rig.store);
    rig_start_with(&rig, (struct mg_store_options){0}, true);
}

/* An order of `count` events, each of which keeps a status of the order's state, with its own number. */
static void story_make(int count)
{
    static struct mg_order_record record;
    char sql[640];
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    snprintf(
        sql, sizeof(sql),
        "DELETE FROM order_event; UPDATE order_process SET version = %d;"
        "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, attempt, statuses, owed)"
        " SELECT 'o-1', n, 'reattached', 'c-' || n, 'x', 0,"
        "  json_build_array(json_build_object('seq', n, 'status', 'accepted')), n = 1"
        " FROM generate_series(1, %d) n",
        count, count);
    rig_admin(&rig, sql);
}

/* Law 2, ack after effects. Would catch: a client that posts one order again and again, each message of which
 * reads all its events while all others wait. */
START_TEST(an_order_that_is_asked_about_often_is_read_once)
{
    static struct mg_load loads[REPETITIONS];
    story_make(TELLING);
    parsing_count();
    for (int i = 0; i < REPETITIONS; i++) {
        loads[i] = (struct mg_load){"o-1", {NULL, 0}, i > 0};
    }
    rig_load(&rig, loads, REPETITIONS);
    const struct mg_loaded *orders = rig.loaded->orders;
    ck_assert(orders[0].sent_status.data == NULL); /* not requested */
    for (int i = 1; i < REPETITIONS; i++) {
        ck_assert_uint_eq(orders[i].sent_version, TELLING);
        ck_assert(mg_slice_is(orders[i].sent_status, "{\"seq\" : 64, \"status\" : \"accepted\"}"));
        ck_assert(orders[i].is_owed);
    }
    int64_t parsed = strtoll(rig_value(&rig, "SELECT nextval('parsed') - 1"), NULL, 10);
    ck_assert_msg(parsed >= 1 && parsed <= 2, "%d arrays were read", (int)parsed);
}
END_TEST

/* Would catch: a status that is not found after many events, and an order that reads them all at each
 * repetition. */
START_TEST(statuses_sent_long_ago_are_found_and_recent_ones_nearby)
{
    const struct mg_load load = {"o-1", {NULL, 0}, true};
    story_make(3 * MG_SENT_EVENTS_MAX);
    rig_admin(&rig, "UPDATE order_event SET statuses = NULL WHERE version > 2");
    rig_load(&rig, &load, 1);
    ck_assert_uint_eq(rig.loaded->orders[0].sent_version, 2);
    ck_assert(rig.loaded->orders[0].is_owed);
    char sql[256];
    snprintf(sql, sizeof(sql),
             "UPDATE order_event e SET statuses = o.statuses FROM order_event o"
             " WHERE o.version = 2 AND e.version = %d",
             2 * MG_SENT_EVENTS_MAX + 1);
    rig_admin(&rig, sql);
    rig_load(&rig, &load, 1);
    ck_assert_uint_eq(rig.loaded->orders[0].sent_version, 2 * MG_SENT_EVENTS_MAX + 1);
    ck_assert(!rig.loaded->orders[0].is_owed); /* further back than the read looks */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: sent");
    TCase *test = tcase_create("sent");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, statuses_sent_long_ago_are_found_and_recent_ones_nearby);
    tcase_add_test(test, an_order_that_is_asked_about_often_is_read_once); /* last: it changes a function */
    suite_add_tcase(suite, test);
    return store_main(suite, "sent");
}
