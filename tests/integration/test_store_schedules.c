/* Schedules in the real database: one writer moves a schedule on, an order is final, and each civil time is
 * one instant. */
#include <stdio.h>
#include <string.h>

#include "io/store/schedules.h"
#include "store_fixture.h"

#define SLOT INT64_C(1774747800000) /* 2026-03-29T01:30:00Z */
#define HOUR INT64_C(3600000)

static struct rig rig;
static int64_t found[MG_UPCOMING_MAX];
static enum mg_change_result changed;
static bool is_leader;
static struct mg_due_slot first_due;
static char definition[64], open_orders[64];
static struct mg_slot_row slot_row;

static void on_change(void *arg, enum mg_change_result result, uint64_t version, const struct mg_err *err)
{
    changed = result;
    rig.version = (int64_t)version;
    rig_done(arg, err);
}

static void on_slots(void *arg, const int64_t *slots, int count, const struct mg_err *err)
{
    rig.row_count = count;
    for (int i = 0; i < count; i++) {
        found[i] = slots[i];
    }
    rig_done(arg, err);
}

static void on_due(void *arg, bool is_its, int64_t now_ms, const struct mg_due_slot *slots, int count,
                   const struct mg_err *err)
{
    (void)now_ms;
    is_leader = is_its;
    rig.row_count = count;
    first_due = count > 0 ? slots[0] : (struct mg_due_slot){.schedule = ""};
    rig_done(arg, err);
}

static void on_slot(void *arg, const struct mg_slot_row *row, const struct mg_err *err)
{
    slot_row = row != NULL ? *row : (struct mg_slot_row){.is_found = false};
    snprintf(definition, sizeof(definition), "%.*s", (int)slot_row.definition.len, slot_row.definition.data);
    snprintf(open_orders, sizeof(open_orders), "%.*s", (int)slot_row.open.len, slot_row.open.data);
    rig_done(arg, err);
}

static void on_zone(void *arg, bool is_zone, int64_t now_ms, int64_t civil_ms, const struct mg_err *err)
{
    (void)now_ms;
    rig.is_found = is_zone;
    rig.version = civil_ms;
    rig_done(arg, err);
}

static void change(enum mg_schedule_verb verb, uint64_t version)
{
    const struct mg_schedule_change wanted = {.verb = verb,
                                              .schedule = "nightly",
                                              .reason = "a test",
                                              .by = "anna",
                                              .version = version,
                                              .workflow = "settle",
                                              .zone = "Europe/Zurich",
                                              .definition = mg_slice_of("{\"a\": 1}"),
                                              .upcoming_count = 2,
                                              .upcoming = {SLOT, SLOT + 24 * HOUR},
                                              .next_at_ms = SLOT + 5};
    mg_store_change_schedule(rig.store, &wanted, on_change, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

static void settle(int64_t slot_ms, enum mg_slot_end end, const char *order_id, uint64_t version,
                   bool is_moved)
{
    const struct mg_slot_write slot = {.schedule = "nightly",
                                       .order_id = order_id,
                                       .slot_ms = slot_ms,
                                       .end = end,
                                       .slots = end == MG_SLOT_END_MISSED ? 3 : 1,
                                       .text = "why",
                                       .by = "me",
                                       .version = version,
                                       .is_moved = is_moved,
                                       .upcoming_count = 1,
                                       .upcoming = {slot_ms + 24 * HOUR},
                                       .next_at_ms = slot_ms + 24 * HOUR + 7};
    mg_store_settle_slot(rig.store, &slot, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

static const char *state(void)
{
    return rig_value(
        &rig,
        "SELECT version || ' ' || extract(epoch FROM next_slot)::bigint - 1774747800 || ' ' || skipped || ' '"
        " || is_paused FROM schedule");
}

static void setup(void)
{
    rig_start(&rig);
    rig_admin(&rig, "DELETE FROM schedule; DELETE FROM schedule_run; DELETE FROM operator_action");
    change(MG_SCHEDULE_LOAD, 0);
    ck_assert_int_eq(changed, MG_CHANGE_DONE);
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* Would catch: a slot that two writers count, or one that moves a schedule which an operator has changed. */
START_TEST(one_writer_moves_a_schedule_on_from_its_slot)
{
    settle(SLOT, MG_SLOT_END_MISSED, NULL, 1, true);
    settle(SLOT, MG_SLOT_END_MISSED, NULL, 1, true);
    ck_assert_str_eq(state(), "1 86400 3 false");
    ck_assert_str_eq(rig_value(&rig, "SELECT extract(epoch FROM next_at - next_slot) * 1000 FROM schedule"),
                     "7.000000");
    change(MG_SCHEDULE_LOAD, 1);
    settle(SLOT, MG_SLOT_END_OVERLAP, NULL, 1, true);
    ck_assert_str_eq(state(), "2 0 3 false"); /* of another version */
    settle(SLOT + HOUR, MG_SLOT_END_OVERLAP, NULL, 2, true);
    ck_assert_str_eq(state(), "2 0 3 false"); /* not its next slot */
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM schedule_run"), "2");
}
END_TEST

/* Would catch: a slot with an order that a second writer records as missed, and one that is never run again.
 */
START_TEST(an_order_is_the_final_end_of_a_slot)
{
    settle(SLOT, MG_SLOT_END_MISSED, NULL, 1, false);
    settle(SLOT, MG_SLOT_END_ORDER, "o-1", 1, true);
    settle(SLOT, MG_SLOT_END_REFUSED, NULL, 1, true);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(what || ' ' || order_id, ',') FROM schedule_run"),
                     "order o-1");
    ck_assert_str_eq(state(), "1 86400 0 false");
}
END_TEST

/* Would catch: a table that grows with each slot, and an open order that holds no later slot back, because
 * its row has gone. */
START_TEST(the_newest_rows_of_a_schedule_are_kept)
{
    rig_admin(
        &rig,
        "INSERT INTO schedule_run (name, slot, what, slots, text, by_whom)"
        " SELECT 'nightly', '2026-01-01'::timestamptz + n * interval '1 minute', 'missed', 1, '', '' FROM generate_series(1, 300) n");
    struct mg_order_record record;
    struct mg_event_record event;
    order_make(&record, "o-open");
    struct mg_order_write write = write_make(&record, 0, &event, "c-open");
    rig_commit(&rig, &write, 1);
    rig_admin(
        &rig,
        "UPDATE schedule_run SET what = 'order', order_id = 'o-open' WHERE slot = (SELECT min(slot) FROM schedule_run)");
    settle(SLOT, MG_SLOT_END_ORDER, "o-1", 1, true);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM schedule_run"), "202");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM schedule_run WHERE what = 'order'"), "2");
}
END_TEST

/* Would catch: a night without a run, or one with two. */
START_TEST(a_civil_time_is_one_instant_also_when_the_clock_changes)
{
    /* 02:30 of 2026-03-28, 29, 30 and of 2026-10-25, 26 in Zurich, in minutes of the calendar */
    static const int64_t minutes[] = {29577750, 29579190, 29580630, 29881590, 29883030};
    mg_store_find_slots(rig.store, "Europe/Zurich", minutes, 5, SLOT - 24 * HOUR, on_slots, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.row_count, 4);
    ck_assert_int_eq(found[0], SLOT);                   /* 03:30 summer time */
    ck_assert_int_eq(found[1], SLOT + 23 * HOUR);       /* 02:30 summer time */
    ck_assert_int_eq(found[2], INT64_C(1792891800000)); /* 2026-10-25T01:30:00Z, the second one */
    ck_assert_int_eq(found[3], INT64_C(1792978200000)); /* a day later */
    mg_store_look_zone(rig.store, "Europe/Zurich", SLOT, on_zone, &rig);
    rig_wait_answer(&rig);
    ck_assert(rig.is_found);
    ck_assert_int_eq(rig.version, SLOT + 2 * HOUR);
    mg_store_look_zone(rig.store, "Europe/Zuerich", SLOT, on_zone, &rig);
    rig_wait_answer(&rig);
    ck_assert(!rig.is_found);
}
END_TEST

/* Would catch: a change that overwrites another one, or that leaves no trace. */
START_TEST(a_change_holds_for_the_version_that_it_was_made_on)
{
    change(MG_SCHEDULE_LOAD, 0);
    ck_assert_int_eq(changed, MG_CHANGE_CONFLICT);
    change(MG_SCHEDULE_PAUSE, 1);
    ck_assert_str_eq(state(), "2 0 1 true");
    ck_assert_str_eq(rig_value(&rig, "SELECT what || ': ' || text FROM schedule_run"),
                     "missed: the schedule was paused before its order was made");
    change(MG_SCHEDULE_RESUME, 1);
    ck_assert_int_eq(changed, MG_CHANGE_CONFLICT);
    change(MG_SCHEDULE_RESUME, 2);
    ck_assert_str_eq(state(), "3 0 1 false");
    change(MG_SCHEDULE_DELETE, 2);
    ck_assert_int_eq(changed, MG_CHANGE_CONFLICT);
    change(MG_SCHEDULE_DELETE, 3);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(verb, ',' ORDER BY at) FROM operator_action"),
                     "schedule load,schedule pause,schedule resume,schedule delete");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM schedule"), "0");
}
END_TEST

/* Would catch: more schedules than the leader's question and the pages are made for. */
START_TEST(schedules_are_bounded)
{
    rig_admin(
        &rig,
        "DELETE FROM schedule; INSERT INTO schedule (name, workflow, zone, definition, upcoming, version, by_whom, reason)"
        " SELECT 's-' || n, 'w', 'UTC', '{}', '{}', 1, '', '' FROM generate_series(1, 1000) n");
    change(MG_SCHEDULE_LOAD, 0);
    ck_assert_int_eq(changed, MG_CHANGE_CONFLICT);
}
END_TEST

/* Would catch: a paused schedule that is asked for, and a slot that is judged without the orders before it.
 */
START_TEST(due_slots_and_the_orders_before_are_found)
{
    mg_store_ask_schedules(rig.store, 1, "me", on_due, &rig);
    rig_wait_answer(&rig);
    ck_assert(!is_leader);
    ck_assert_str_eq(first_due.schedule, "nightly");
    ck_assert_int_eq(first_due.slot_ms, SLOT);
    ck_assert_int_eq(first_due.due_at_ms, SLOT + 5);
    struct mg_order_record record;
    struct mg_event_record event;
    order_make(&record, "o-1");
    struct mg_order_write write = write_make(&record, 0, &event, "c-1");
    const struct mg_slot_write slot = {.schedule = "nightly",
                                       .order_id = "o-1",
                                       .slot_ms = SLOT,
                                       .slots = 1,
                                       .text = "",
                                       .by = "me",
                                       .version = 1,
                                       .is_moved = true};
    write.slot = &slot;
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
    mg_store_load_slot(rig.store, "nightly", SLOT, on_slot, &rig);
    rig_wait_answer(&rig);
    ck_assert_str_eq(definition, "{\"a\": 1}");
    ck_assert(slot_row.has_order);
    ck_assert_str_eq(open_orders, "");
    ck_assert_int_eq(slot_row.next_slot_ms, 0); /* it has none any more */
    ck_assert_int_eq(slot_row.slot_civil_ms, SLOT + 2 * HOUR);
    mg_store_load_slot(rig.store, "nightly", SLOT + HOUR, on_slot, &rig);
    rig_wait_answer(&rig);
    ck_assert(!slot_row.has_order);
    ck_assert_str_eq(open_orders, "o-1");
    ck_assert_int_eq(slot_row.ended_at_ms, 0);
    rig_admin(
        &rig,
        "UPDATE order_process SET process_state = 'compensated', updated_at = 'epoch'::timestamptz + interval '7 s'");
    mg_store_load_slot(rig.store, "nightly", SLOT + HOUR, on_slot, &rig);
    rig_wait_answer(&rig);
    ck_assert_str_eq(open_orders, "");
    ck_assert_int_eq(slot_row.ended_at_ms, 7000);
    mg_store_ask_schedules(rig.store, 1, "me", on_due, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.row_count, 0);
}
END_TEST

/* Would catch: a slot that is lost while it waits, and one that an operator's change has to wait for. */
START_TEST(a_slot_that_waits_stays_the_next_one)
{
    static const char LATER[] =
        "SELECT next_slot = 'epoch'::timestamptz + interval '1774747800 s' AND next_at > clock_timestamp() FROM schedule";
    mg_store_delay_slot(rig.store, "nightly", SLOT, 2, 60000, rig_done, &rig);
    rig_wait_answer(&rig);
    mg_store_delay_slot(rig.store, "nightly", SLOT + HOUR, 1, 60000, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_str_eq(rig_value(&rig, LATER), "f"); /* another version, or another slot */
    mg_store_delay_slot(rig.store, "nightly", SLOT, 1, 60000, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_str_eq(rig_value(&rig, LATER), "t");
}
END_TEST

/* An order of a slot, in a write of its own. */
struct firing {
    struct mg_order_record record;
    struct mg_event_record event;
    struct mg_slot_write slot;
    struct mg_order_write write;
};

static struct mg_order_write *fire(struct firing *firing, const char *order_id, int64_t slot_ms)
{
    order_make(&firing->record, order_id);
    firing->slot = (struct mg_slot_write){.schedule = "nightly",
                                          .order_id = order_id,
                                          .slot_ms = slot_ms,
                                          .slots = 1,
                                          .text = "",
                                          .by = "me",
                                          .version = 1,
                                          .is_moved = true,
                                          .upcoming_count = 1,
                                          .upcoming = {slot_ms + 24 * HOUR},
                                          .next_at_ms = slot_ms + 24 * HOUR};
    firing->write = write_make(&firing->record, 0, &firing->event, "c-1");
    firing->write.slot = &firing->slot;
    return &firing->write;
}

/* slot_once. Would catch: a slot that two schedulers make an order of, each, or that one of them records as
 * missed after the other has made its order. */
START_TEST(two_writers_of_one_slot_make_one_order)
{
    enum { ROUNDS = 40 };
    static struct rig other;
    static struct firing firings[2];
    rig_start(&other);
    for (int i = 0; i < ROUNDS; i++) {
        char order_id[16];
        int64_t slot_ms = SLOT + i * 24 * HOUR;
        (void)snprintf(order_id, sizeof(order_id), "slot-%d", i);
        struct mg_order_write *one = fire(&firings[0], order_id, slot_ms),
                              *two = fire(&firings[1], order_id, slot_ms);
        struct mg_slot_write missed = firings[1].slot;
        missed.end = MG_SLOT_END_MISSED;
        bool is_missed = i % 4 == 3;
        mg_store_commit(rig.store, one, 1, rig_done, &rig);
        if (is_missed) {
            mg_store_settle_slot(other.store, &missed, rig_done, &other);
        } else {
            mg_store_commit(other.store, two, 1, rig_done, &other);
        }
        rig_wait_answer(&rig);
        rig_wait_answer(&other);
        int done = (one->result == MG_WRITE_DONE) + (!is_missed && two->result == MG_WRITE_DONE);
        ck_assert_msg(done == 1, "round %d: %d of two writers have made the order", i, done);
    }
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) || ' ' || count(DISTINCT order_id) || ' ' ||"
                                     " count(*) FILTER (WHERE what = 'order') FROM schedule_run"),
                     "40 40 40");
    ck_assert_str_eq(rig_value(&rig, "SELECT (extract(epoch FROM next_slot)::bigint - 1774747800) / 86400"
                                     " FROM schedule"),
                     "40");
    rig_finish(&other);
}
END_TEST

/* Would catch: several open orders of one schedule, which writers have judged at one moment, in one commit or
 * in several. */
START_TEST(of_several_orders_that_may_not_overlap_one_is_written)
{
    enum { ORDERS = 6 };
    static struct rig other;
    static struct firing firings[ORDERS];
    struct mg_order_write writes[ORDERS];
    rig_start(&other);
    for (int i = 0; i < ORDERS; i++) {
        static const char *const IDS[ORDERS] = {"run-0", "run-1", "run-2", "run-3", "run-4", "run-5"};
        (void)fire(&firings[i], IDS[i], SLOT + i);
        firings[i].slot.is_exclusive = true;
        firings[i].slot.is_moved = false;
        writes[i] = firings[i].write;
    }
    mg_store_commit(rig.store, writes, ORDERS / 2, rig_done, &rig);
    mg_store_commit(other.store, &writes[ORDERS / 2], ORDERS / 2, rig_done, &other);
    rig_wait_answer(&rig);
    rig_wait_answer(&other);
    int done = 0, conflicts = 0;
    for (int i = 0; i < ORDERS; i++) {
        done += writes[i].result == MG_WRITE_DONE;
        conflicts += writes[i].result == MG_WRITE_CONFLICT;
    }
    ck_assert_int_eq(done, 1);
    ck_assert_int_eq(conflicts, ORDERS - 1);
    ck_assert_str_eq(
        rig_value(&rig, "SELECT fired || ' ' || (SELECT count(*) FROM schedule_run) || ' ' ||"
                        " (SELECT count(*) FROM order_process WHERE order_id LIKE 'run-%') FROM schedule"),
        "1 1 1");
    rig_finish(&other);
}
END_TEST

/* Would catch: a backfill that is held up, and one that a slot after it does not see. */
START_TEST(an_order_that_may_overlap_counts_for_the_others)
{
    static struct firing firings[3];
    struct mg_order_write writes[3];
    for (int i = 0; i < 3; i++) {
        static const char *const IDS[] = {"run-0", "run-1", "run-2"};
        writes[i] = *fire(&firings[i], IDS[i], SLOT + i);
        firings[i].slot.is_moved = false;
        firings[i].slot.is_exclusive = i == 2;
        writes[i].slot = &firings[i].slot;
    }
    rig_commit(&rig, writes, 2);
    ck_assert(writes[0].result == MG_WRITE_DONE && writes[1].result == MG_WRITE_DONE);
    mg_store_load_slot(rig.store, "nightly", SLOT + 2, on_slot, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(slot_row.fired, 2);
    rig_commit(&rig, &writes[2], 1);
    ck_assert_int_eq(writes[2].result, MG_WRITE_CONFLICT);
    firings[2].slot.fired = 2;
    rig_commit(&rig, &writes[2], 1);
    ck_assert_int_eq(writes[2].result, MG_WRITE_DONE);
}
END_TEST

/* Would catch: a schedule that is deleted and loaded again while one of its orders is open, and starts
 * another. */
START_TEST(open_orders_outlive_their_schedule)
{
    static struct firing firings[2];
    struct mg_order_write writes[2] = {*fire(&firings[0], "run-0", SLOT),
                                       *fire(&firings[1], "run-1", SLOT + HOUR)};
    rig_commit(&rig, &writes[0], 1);
    rig_commit(&rig, &writes[1], 1);
    rig_admin(&rig, "UPDATE order_process SET process_state = 'processed' WHERE order_id = 'run-0'");
    change(MG_SCHEDULE_DELETE, 1);
    ck_assert_int_eq(changed, MG_CHANGE_DONE);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(order_id, ' ') FROM schedule_run"), "run-1");
    change(MG_SCHEDULE_LOAD, 0);
    mg_store_load_slot(rig.store, "nightly", SLOT + 2 * HOUR, on_slot, &rig);
    rig_wait_answer(&rig);
    ck_assert_str_eq(open_orders, "run-1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store schedules");
    TCase *tests = tcase_create("store schedules");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, one_writer_moves_a_schedule_on_from_its_slot);
    tcase_add_test(tests, an_order_is_the_final_end_of_a_slot);
    tcase_add_test(tests, the_newest_rows_of_a_schedule_are_kept);
    tcase_add_test(tests, a_civil_time_is_one_instant_also_when_the_clock_changes);
    tcase_add_test(tests, a_change_holds_for_the_version_that_it_was_made_on);
    tcase_add_test(tests, schedules_are_bounded);
    tcase_add_test(tests, due_slots_and_the_orders_before_are_found);
    tcase_add_test(tests, a_slot_that_waits_stays_the_next_one);
    tcase_add_test(tests, two_writers_of_one_slot_make_one_order);
    tcase_add_test(tests, of_several_orders_that_may_not_overlap_one_is_written);
    tcase_add_test(tests, an_order_that_may_overlap_counts_for_the_others);
    tcase_add_test(tests, open_orders_outlive_their_schedule);
    suite_add_tcase(suite, tests);
    return store_main(suite, "schedules");
}
