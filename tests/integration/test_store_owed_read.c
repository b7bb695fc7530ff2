/* The owed statuses of an order are read to be sent again: the oldest first, regardless of the order's other
 * contents. */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#include "io/store/owed.h"

#define DAY_MS INT64_C(86400000)

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

static void on_marked(void *arg, const struct mg_given_up *given_up, int count, const struct mg_err *err)
{
    (void)given_up, (void)count;
    rig_done(arg, err);
}

static void on_owed(void *arg, const struct mg_order_record *record, const struct mg_event_record *events,
                    int count, const struct mg_err *err)
{
    struct rig *at = arg;
    at->is_found = record != NULL;
    at->owed_count = count;
    for (int i = 0; i < count && i < 8; i++) {
        at->owed_versions[i] = events[i].version;
        snprintf(at->owed_statuses[i], sizeof(at->owed_statuses[i]), "%.*s", (int)events[i].statuses.len,
                 events[i].statuses.data);
    }
    rig_done(at, err);
}

START_TEST(owed_statuses_are_read_oldest_first_until_they_are_settled)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    struct mg_event_record event;
    struct mg_order_write write = write_make(&record, 0, &event, "m");
    event.statuses = mg_slice_of("[1]");
    event.is_owed = true;
    rig_commit(&rig, &write, 1);
    record.order.version = 2;
    write = write_make(&record, 1, &event, "r");
    event.statuses = mg_slice_of("[2]");
    event.is_owed = true;
    rig_commit(&rig, &write, 1);
    mg_store_load_owed(rig.store, "o-1", on_owed, &rig);
    rig_wait_answer(&rig);
    ck_assert(rig.is_found);
    ck_assert_int_eq(rig.owed_count, 2);
    ck_assert_uint_eq(rig.owed_versions[0], 1);
    ck_assert_str_eq(rig.owed_statuses[1], "[2]");
    struct mg_owed settled[] = {{"o-1", 2, false, true, ""}, {"o-1", 1, false, true, ""}};
    mg_store_mark_owed(rig.store, settled, 2, DAY_MS, on_marked, &rig);
    rig_wait_answer(&rig);
    mg_store_load_owed(rig.store, "o-1", on_owed, &rig);
    rig_wait_answer(&rig);
    ck_assert(rig.is_found);
    ck_assert_int_eq(rig.owed_count, 0);
}
END_TEST

/* Would catch: an order with more results than the memory set aside: its owed statuses are never read, and
 * later ones wait behind them. */
START_TEST(owed_statuses_are_read_from_orders_of_any_size)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    record.reply_to = mg_slice_of("client");
    struct mg_step step = {.state = MG_STEP_DONE, .attempt = 1};
    order_store(&rig, &record, &step);
    rig_admin(&rig, "UPDATE order_event SET statuses = '[1]', owed = true;"
                    "UPDATE order_step SET result = to_json(repeat('x', 300000));"
                    "CREATE TEMPORARY TABLE one AS SELECT * FROM order_step;"
                    "DO $$ BEGIN FOR i IN 1..63 LOOP"
                    "  UPDATE one SET step = 's' || i, position = i;"
                    "  INSERT INTO order_step SELECT * FROM one; END LOOP; END $$;"
                    "DROP TABLE one");
    mg_store_load_owed(rig.store, "o-1", on_owed, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    ck_assert(rig.is_found);
    ck_assert_int_eq(rig.owed_count, 1);
    ck_assert_str_eq(rig.owed_statuses[0], "[1]");
}
END_TEST

/* Would catch: statuses of many events that together exceed the memory set aside. */
START_TEST(of_large_statuses_as_many_are_read_as_there_is_room_for)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    order_store(&rig, &record, NULL);
    rig_admin(
        &rig,
        "INSERT INTO order_event (order_id, version, cause_kind, cause, by_whom, at, attempt, statuses, owed)"
        " SELECT 'o-1', n, 'reply', 'c' || n, 'x', clock_timestamp(), 0,"
        "  to_json(repeat('x', 3000000)), true FROM generate_series(2, 9) n");
    mg_store_load_owed(rig.store, "o-1", on_owed, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    ck_assert_int_eq(rig.owed_count, 2);
    ck_assert_uint_eq(rig.owed_versions[0], 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owed_read");
    TCase *test = tcase_create("owed_read");
    tcase_set_timeout(test, 120);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, owed_statuses_are_read_oldest_first_until_they_are_settled);
    tcase_add_test(test, owed_statuses_are_read_from_orders_of_any_size);
    tcase_add_test(test, of_large_statuses_as_many_are_read_as_there_is_room_for);
    suite_add_tcase(suite, test);
    return store_main(suite, "owed_read");
}
