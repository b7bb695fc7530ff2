/* Signals with a key: they are kept for their order, and deleted after a while; waits, and the signals that
 * came before their end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/store/signal_rows.h"
#include "store_fixture.h"

#define DAY_MS INT64_C(86400000)

static struct rig rig;
static struct mg_kept_figures figures;
static bool matched[4];

static void setup(void)
{
    rig_start(&rig);
    rig_admin(&rig, "TRUNCATE signal_by_key; UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
}

static void teardown(void)
{
    rig_finish(&rig);
}

static void on_forgotten(void *arg, const struct mg_kept_figures *given, const struct mg_err *err)
{
    figures = given != NULL ? *given : (struct mg_kept_figures){.forgotten = -1};
    rig_done(arg, err);
}

static void forget(uint64_t epoch, int64_t bite)
{
    mg_store_forget_signals(rig.store, epoch, "me", bite, DAY_MS, on_forgotten, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
}

/* Of a name, with an id, that came so many days ago. */
static void signal_add(const char *id, const char *days, const char *taken_by)
{
    char sql[512];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO signal_by_key (signal, signal_id, key, payload, by_whom, client, received_at, taken_by)"
        " VALUES ('paid', '%s', 'ch_1', '1', 'client:psp', 'psp', clock_timestamp() - interval '%s days', %s)",
        id, days, taken_by);
    rig_admin(&rig, sql);
}

static const char *left(void)
{
    return rig_value(&rig, "SELECT string_agg(signal_id, ' ' ORDER BY signal_id) FROM signal_by_key");
}

/* Would catch: a table that grows for ever, and a row that goes while an order has its signal in hand. */
START_TEST(old_signals_are_deleted_taken_or_not)
{
    signal_add("a", "8.01", "'o-1'");
    signal_add("b", "8.02", "NULL");
    signal_add("c", "7.9", "'o-2'");
    signal_add("d", "7.1", "NULL");
    signal_add("e", "2", "NULL");
    signal_add("f", "0", "NULL");
    signal_add("g", "0", "''");
    forget(7, 10);
    ck_assert_str_eq(left(), "c d e f g");
    ck_assert_int_eq(figures.forgotten, 2);
    ck_assert_int_eq(figures.unmatched, 1);
    ck_assert_int_eq(figures.kept, 2); /* no order takes d any more */
    ck_assert_int_eq(figures.late, 1);
    ck_assert_int_ge(figures.oldest_ms, 2 * DAY_MS);
    ck_assert_str_eq(figures.signal, "paid");
    ck_assert_str_eq(figures.signal_id, "e");
    ck_assert_str_eq(figures.by, "client:psp");
    rig_admin(&rig, "DELETE FROM signal_by_key");
    forget(7, 10);
    ck_assert_int_eq(figures.forgotten + figures.kept + figures.late + figures.oldest_ms, 0);
    ck_assert_str_eq(figures.signal, "");
}
END_TEST

/* Law 9, one leader. */
START_TEST(a_former_leader_deletes_no_signal)
{
    signal_add("a", "9", "NULL");
    signal_add("b", "10", "NULL");
    signal_add("c", "11", "NULL");
    forget(6, 10);
    ck_assert_str_eq(left(), "a b c");
    forget(7, 2);
    ck_assert_str_eq(left(), "a"); /* the oldest first */
}
END_TEST

static void on_matches(void *arg, const bool *is_matched, const struct mg_err *err)
{
    if (is_matched != NULL) {
        memcpy(matched, is_matched, sizeof(matched));
    }
    rig_done(arg, err);
}

static void wait_add(const char *order_id, const char *key, int due_s)
{
    struct mg_order_record record;
    struct mg_event_record event;
    char sql[512];
    order_make(&record, order_id);
    struct mg_order_write write = write_make(&record, 0, &event, "c");
    write.changed_steps = 1;
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
    snprintf(
        sql, sizeof(sql),
        "UPDATE order_step SET state = 'waiting', open = '{\"since\":\"x\",\"key\":\"paid/%s\",\"signals\":[]}',"
        " due_at = clock_timestamp() + interval '%d s' WHERE order_id = '%s' AND position = 0",
        key, due_s, order_id);
    rig_admin(&rig, sql);
}

static int64_t now_ms(void)
{
    return strtoll(rig_value(&rig, "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"),
                   NULL, 10);
}

static void matches_find(int64_t ends_at_ms)
{
    static const char *const ORDERS[] = {"o-1", "o-2", "o-3", "o-4"};
    static const char *const KEYS[] = {"ch_1", "ch_1", "ch_2", "ch_1"};
    struct mg_wait_over waits[4];
    for (int i = 0; i < 4; i++) {
        waits[i] = (struct mg_wait_over){ORDERS[i], mg_slice_of("paid"), mg_slice_of(KEYS[i]), ends_at_ms};
    }
    memset(matched, 0, sizeof(matched));
    mg_store_find_matches(rig.store, waits, 4, on_matches, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
}

/* Would catch: a wait that ends although its signal came in time, one that a signal of another, of a late or
 * of a taken one holds up for ever. */
START_TEST(a_kept_signal_is_of_one_order_whose_wait_is_over)
{
    wait_add("o-1", "ch_1", 7);
    wait_add("o-2", "ch_1", 5);
    wait_add("o-3", "ch_2", 5);
    int64_t before_ms = now_ms();
    matches_find(before_ms);
    ck_assert(!matched[0] && !matched[1] && !matched[2] && !matched[3]);
    signal_add("a", "0", "NULL");
    matches_find(before_ms - 1000);
    ck_assert(!matched[0] && !matched[1]); /* it came after the end */
    matches_find(now_ms() + 1000);
    ck_assert(!matched[0] && matched[1] && !matched[2] && !matched[3]);
    rig_admin(&rig, "UPDATE order_step SET state = 'done' WHERE order_id = 'o-2'");
    matches_find(now_ms() + 1000);
    ck_assert(matched[0] && !matched[1]);
    rig_admin(&rig, "UPDATE signal_by_key SET taken_by = ''");
    matches_find(now_ms() + 1000);
    ck_assert(!matched[0]);
    rig_admin(
        &rig,
        "UPDATE signal_by_key SET taken_by = NULL, received_at = clock_timestamp() - interval '7.1 days'");
    matches_find(now_ms() + 1000);
    ck_assert(!matched[0]);
}
END_TEST

static char lost[64];

static void on_lost(void *arg, const struct mg_lost_signal *signals, int count,
                    const struct mg_lost_signal *next, const struct mg_err *err)
{
    size_t len = 0;
    lost[0] = '\0';
    for (int i = 0; i < count; i++) {
        len += (size_t)snprintf(&lost[len], sizeof(lost) - len, "%s/%s/%s ", signals[i].signal,
                                signals[i].key, signals[i].signal_id);
    }
    ck_assert_str_eq(next->signal, "");
    rig_done(arg, err);
}

static const char *lost_find(const char *after_key)
{
    mg_store_find_lost_signals(rig.store, after_key[0] != '\0' ? "paid" : "", after_key, on_lost, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return lost;
}

/* Would catch: a kept signal and an order that wait for one another until the end; a look at each signal, or
 * at one that is on its way, or that the order refuses. */
START_TEST(a_kept_signal_for_which_an_order_waits_is_found)
{
    signal_add("a", "0", "NULL");
    rig_admin(&rig, "UPDATE signal_by_key SET received_at = clock_timestamp() - interval '20 seconds'");
    signal_add("b", "0", "NULL"); /* just now */
    ck_assert_str_eq(lost_find(""), "");
    wait_add("o-lost", "ch_1", 60);
    ck_assert_str_eq(lost_find(""), "paid/ch_1/a ");
    ck_assert_str_eq(lost_find("ch_0"), "paid/ch_1/a ");
    ck_assert_str_eq(lost_find("ch_1"), "");
    rig_admin(
        &rig,
        "UPDATE order_step SET open = '{\"key\":\"paid/ch_1\",\"from\":[\"client:shop\"],\"signals\":[]}'"
        " WHERE order_id = 'o-lost' AND position = 0");
    ck_assert_str_eq(lost_find(""), "");
    rig_admin(
        &rig,
        "UPDATE order_step SET open = '{\"key\":\"paid/ch_1\",\"from\":[\"client:psp\"],\"signals\":[]}'"
        " WHERE order_id = 'o-lost' AND position = 0");
    ck_assert_str_eq(lost_find(""), "paid/ch_1/a ");
    rig_admin(&rig, "UPDATE signal_by_key SET taken_by = 'o-1'");
    ck_assert_str_eq(lost_find(""), "");
    rig_admin(
        &rig,
        "UPDATE signal_by_key SET taken_by = NULL, received_at = clock_timestamp() - interval '7.1 days'");
    ck_assert_str_eq(lost_find(""), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store signals");
    TCase *tests = tcase_create("store signals");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, old_signals_are_deleted_taken_or_not);
    tcase_add_test(tests, a_former_leader_deletes_no_signal);
    tcase_add_test(tests, a_kept_signal_is_of_one_order_whose_wait_is_over);
    tcase_add_test(tests, a_kept_signal_for_which_an_order_waits_is_found);
    suite_add_tcase(suite, tests);
    return store_main(suite, "signals");
}
