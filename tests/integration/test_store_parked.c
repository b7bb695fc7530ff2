/*
 * Parked steps. The leader asks about them by service, while the gate is open and as far as there is room.
 * The sweep leaves them alone, and its deadlines do not wait behind them.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#define ASK_AGAIN_MS 3000
#define DAY_MS       86400000

static struct rig rig;
static struct mg_sweep_options sweep_options;
static struct mg_parked_room rooms[4];
static struct mg_parked_options options;
static int64_t now_ms;

static void setup(void)
{
    rig_start(&rig);
    rig_admin(&rig, "UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
    rig_admin(&rig, "DELETE FROM service_control");
    sweep_options = (struct mg_sweep_options){.epoch = 7,
                                              .holder = "me",
                                              .limit = 100,
                                              .ask_again_ms = ASK_AGAIN_MS,
                                              .overdue_limit = 100,
                                              .step_limit = 1000};
    rooms[0] = (struct mg_parked_room){"inventory", false, 100};
    options = (struct mg_parked_options){
        .epoch = 7, .holder = "me", .ask_again_ms = ASK_AGAIN_MS, .rooms = rooms, .room_count = 1};
    rig_load(&rig, NULL, 0);
    now_ms = rig.loaded->now_ms;
}

static void teardown(void)
{
    rig_finish(&rig);
}

static struct mg_step parked_step(int64_t due_ago_ms)
{
    return (struct mg_step){.state = MG_STEP_WAITING,
                            .reason = MG_REASON_SERVICE_PAUSED,
                            .attempt = 2,
                            .due_at_ms = now_ms - due_ago_ms};
}

static void store_parked(const char *order_id, const struct mg_step *step, int64_t complete_by_ms,
                         bool is_high)
{
    static struct mg_order_record record;
    order_make(&record, order_id);
    record.is_high = is_high;
    record.order.state = MG_ORDER_PROCESSING;
    record.order.complete_by_ms = complete_by_ms;
    record.order.wake_at_ms = now_ms - 60000;
    order_store(&rig, &record, step);
}

static const char *asked(void)
{
    static char text[512];
    text[0] = '\0';
    for (int i = 0; i < rig.parked.due_count; i++) {
        size_t len = strlen(text);
        ck_assert_int_eq(rig.dues[i].ask, MG_CAUSE_DUE);
        ck_assert(rig.dues[i].is_parked);
        ck_assert_uint_eq(rig.dues[i].attempt, 2);
        snprintf(text + len, sizeof(text) - len, "%s%s", len > 0 ? " " : "", rig.dues[i].order_id);
    }
    return text;
}

static const char *ask(void)
{
    rig_ask_parked(&rig, &options);
    ck_assert(rig.parked.is_leader);
    return asked();
}

static int64_t wake_in_ms(const char *order_id)
{
    return rig_load_one(&rig, order_id)->order.wake_at_ms - rig.sweep.now_ms;
}

/* Would catch: a queue that is flooded when its gate opens, and steps that overtake earlier ones. */
START_TEST(as_many_are_asked_about_as_there_is_room_for_and_the_oldest_first)
{
    for (int i = 0; i < 3; i++) {
        char order_id[16];
        struct mg_step step = parked_step(1000 * (i + 1));
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        store_parked(order_id, &step, 0, false);
    }
    rooms[0].room = 2;
    ck_assert_str_eq(ask(), "o-2 o-1");
    ck_assert_int_eq(rig.parked.queue_count, 1);
    ck_assert_str_eq(rig.parked_queues[0].service, "inventory");
    ck_assert(rig.parked_queues[0].is_open && !rig.parked_queues[0].is_high);
    ck_assert_int_eq(rig.parked_queues[0].asked, 2);
    /* A step that was asked about is left alone for a while. */
    ck_assert_str_eq(ask(), "o-0");
    ck_assert_str_eq(ask(), "");
    rig_admin(&rig, "UPDATE order_step SET parked_until = parked_until - interval '3 seconds'");
    rooms[0].room = 100;
    ck_assert_str_eq(ask(), "o-2 o-1 o-0");
}
END_TEST

START_TEST(parked_steps_that_are_not_due_are_left)
{
    struct mg_step step = parked_step(-3000);
    store_parked("o-1", &step, 0, false);
    ck_assert_str_eq(ask(), "");
    ck_assert_int_eq(rig.parked.queue_count, 1);
}
END_TEST

/* Would catch: steps that wait for as long as a clock was ahead, even if that is half a minute. */
START_TEST(a_step_parked_by_a_clock_ahead_is_asked_about)
{
    struct mg_step hour = parked_step(-3600000), half_minute = parked_step(-30000);
    store_parked("o-1", &half_minute, 0, false);
    store_parked("o-2", &hour, 0, false);
    ck_assert_str_eq(ask(), "o-1 o-2");
}
END_TEST

/* Would catch: critical steps that wait behind a million others. */
START_TEST(each_queue_of_a_service_has_its_own_room)
{
    struct mg_step first = parked_step(5000), second = parked_step(1000);
    store_parked("o-normal", &first, 0, false);
    store_parked("o-high", &second, 0, true);
    rooms[0].is_high = true;
    ck_assert_str_eq(ask(), "o-high");
    ck_assert_int_eq(rig.parked.queue_count, 2);
    ck_assert(!rig.parked_queues[0].is_high && rig.parked_queues[1].is_high);
}
END_TEST

#define CROWD 300 /* above MG_PARKED_QUEUES_MAX */

/* One parked step for each of as many services. */
static void crowd_store(void)
{
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, 0, false);
    char sql[1024];
    snprintf(sql, sizeof(sql),
             "CREATE TEMPORARY TABLE one AS SELECT * FROM order_step;"
             "DO $$ BEGIN FOR i IN 1..%d LOOP"
             "  UPDATE one SET step = 's' || i, position = i %% 60 + 1, service = 's' || to_char(i, 'FM000');"
             "  INSERT INTO order_step SELECT * FROM one; END LOOP; END $$;"
             "DROP TABLE one",
             CROWD);
    rig_admin(&rig, sql);
}

/* Would catch: services behind the first 256, the steps of which are never asked about although their queues
 * have room. */
START_TEST(of_more_services_than_one_answer_names_each_is_asked_about)
{
    char name[8];
    crowd_store();
    rooms[0].service = name;
    for (int i = 1; i <= CROWD; i += CROWD - 1) {
        snprintf(name, sizeof(name), "s%03d", i);
        ck_assert_str_eq(ask(), "o-1");
        ck_assert_int_eq(rig.parked.queue_count, MG_PARKED_QUEUES_MAX);
    }
    /* The answer's last service names the next one to begin with; the final answer ends with the last service
     * of all. */
    const struct mg_parked_queue *last = &rig.parked_queues[MG_PARKED_QUEUES_MAX - 1];
    snprintf(options.after.service, sizeof(options.after.service), "%s", last->service);
    ck_assert_str_eq(last->service, "s239"); /* the first one is o-1's own */
    ck_assert_str_eq(ask(), "");
    ck_assert_int_eq(rig.parked.queue_count, CROWD + 1 - MG_PARKED_QUEUES_MAX);
    ck_assert_str_eq(rig.parked_queues[0].service, "s240");
    ck_assert_str_eq(rig.parked_queues[rig.parked.queue_count - 1].service, "s300");
}
END_TEST

/* Would catch: steps that are asked about behind a closed gate. A new leader must find the state of the gate
 * in the database, its only source. */
START_TEST(behind_a_closed_gate_nothing_is_asked)
{
    static const struct {
        const char *close, *open;
    } GATES[] = {
        {"INSERT INTO service_control (service, is_paused, version, reason, by_whom) VALUES ('inventory', true, 1, 'r', 'me')",
         "UPDATE service_control SET is_paused = false"},
        {"INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency)"
         " VALUES ('inventory', 'a-1', 'open', true, 0, 1)",
         "UPDATE service_state SET breaker = 'closed'"},
        {"UPDATE service_state SET is_ready = false", "UPDATE service_state SET is_ready = true"}};
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, 0, false);
    for (size_t i = 0; i < sizeof(GATES) / sizeof(GATES[0]); i++) {
        rig_admin(&rig, GATES[i].close);
        ck_assert_str_eq(ask(), "");
        ck_assert_int_eq(rig.parked.queue_count, 1);
        ck_assert(!rig.parked_queues[0].is_open);
        rig_admin(&rig, GATES[i].open);
        ck_assert_str_eq(ask(), "o-1");
        rig_admin(&rig, "UPDATE order_step SET parked_until = parked_until - interval '3 seconds'");
    }
}
END_TEST

/* Would catch: a leader that asks about all steps when the first one is the probe. */
START_TEST(a_gate_that_is_open_for_a_probe_is_reported_as_such)
{
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, 0, false);
    ck_assert_str_eq(ask(), "o-1");
    ck_assert(!rig.parked_queues[0].is_probing);
    rig_admin(
        &rig,
        "INSERT INTO service_state (service, instance, breaker, is_ready, in_flight, concurrency)"
        " VALUES ('inventory', 'a-1', 'open', true, 0, 1), ('inventory', 'a-2', 'half_open', true, 0, 1)");
    ck_assert_str_eq(ask(), "");
    ck_assert(rig.parked_queues[0].is_open && rig.parked_queues[0].is_probing);
    rig_admin(&rig, "UPDATE service_state SET breaker = 'closed' WHERE instance = 'a-2'");
    ck_assert_str_eq(ask(), "");
    ck_assert(rig.parked_queues[0].is_open && !rig.parked_queues[0].is_probing);
}
END_TEST

/* Would catch: a sweep that touches a parked step again and again, and an order that no query looks at. */
START_TEST(the_sweep_meets_a_parked_step_once)
{
    struct mg_step step = parked_step(1000);
    store_parked("o-bounded", &step, now_ms + 40000, false);
    store_parked("o-unbounded", &step, 0, false);
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    ck_assert_int_eq(rig_load_one(&rig, "o-bounded")->order.wake_at_ms, now_ms + 40000);
    ck_assert_int_eq(wake_in_ms("o-unbounded"), DAY_MS);
}
END_TEST

/* Would catch: an order that passes its deadline while it is parked, and does not expire. */
START_TEST(a_parked_order_expires_in_time)
{
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, now_ms - 10, false);
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 1);
    ck_assert_int_eq(rig.dues[0].ask, MG_CAUSE_EXPIRED);
}
END_TEST

/* Would catch: a deadline that waits until all steps woken by a clock's step back are asked about. */
START_TEST(woken_steps_leave_room_for_deadlines)
{
    struct mg_step waiting = {.state = MG_STEP_WAITING, .attempt = 2, .due_at_ms = now_ms + 3600000};
    struct mg_step running = {.state = MG_STEP_RUNNING, .attempt = 2, .complete_by_ms = now_ms - 10};
    for (int i = 0; i < 8; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        store_parked(order_id, &waiting, 0, false);
    }
    rig_admin(&rig, "UPDATE order_process SET wake_at = 'epoch'::timestamptz + interval '1 millisecond'");
    store_parked("o-running", &running, 0, false);
    sweep_options.limit = 4;
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 4);
    ck_assert_str_eq(rig.dues[0].order_id, "o-running");
    ck_assert(rig.sweep.is_full);
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 4);
}
END_TEST

/* Law 7, waiting is not failing. Would catch: a deadline that is asked about after the waits, and is left out
 * where there is no room. */
START_TEST(deadlines_are_asked_about_before_waits)
{
    struct mg_step waiting = {.state = MG_STEP_WAITING, .attempt = 2, .due_at_ms = now_ms - 5000};
    struct mg_step running = {.state = MG_STEP_RUNNING, .attempt = 2, .complete_by_ms = now_ms - 10};
    store_parked("o-waiting", &waiting, 0, false);
    store_parked("o-running", &running, 0, false);
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 2);
    ck_assert_str_eq(rig.dues[0].order_id, "o-running");
}
END_TEST

/* Would catch: steps parked by a scheduler of the previous version, asked about at each sweep for hours. */
START_TEST(the_sweep_marks_what_is_not_marked)
{
    struct mg_step step = parked_step(1000), retry = step;
    retry.reason = MG_REASON_REPLY_TRANSIENT;
    store_parked("o-1", &step, 0, true);
    store_parked("o-2", &retry, 0, false);
    rig_admin(&rig, "UPDATE order_step SET parked_high = NULL, parked_until = NULL");
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 2);
    ck_assert_str_eq(rig_value(&rig, "SELECT order_id FROM order_step WHERE parked_high"), "o-1");
    rig_admin(&rig, "UPDATE order_process SET wake_at = wake_at - interval '1 hour'");
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 1);
    ck_assert_str_eq(rig.dues[0].order_id, "o-2");
    rooms[0].is_high = true;
    rig_admin(&rig, "UPDATE order_step SET parked_until = parked_until - interval '3 seconds'");
    ck_assert_str_eq(ask(), "o-1");
}
END_TEST

/* Would catch: an attempt that counts as parked because a scheduler of the previous version sent it. */
START_TEST(a_mark_that_was_left_behind_is_taken_away)
{
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, 0, false);
    rig_admin(
        &rig,
        "UPDATE order_step SET state = 'running', reason = 'none', complete_by = now() - interval '1 second'");
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 1);
    ck_assert_int_eq(rig.dues[0].ask, MG_CAUSE_OVERDUE);
    ck_assert_str_eq(ask(), "");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_step WHERE parked_high IS NOT NULL"), "0");
}
END_TEST

/* Would catch: steps of orders in error that are asked about for ever, before all steps that can go out. */
START_TEST(waiting_steps_of_an_ended_order_are_not_asked_about)
{
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, 0, false);
    rig_admin(&rig, "UPDATE order_process SET process_state = 'error'");
    ck_assert_str_eq(ask(), "");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_step WHERE parked_high IS NOT NULL"), "0");
    rig_admin(&rig, "UPDATE order_process SET process_state = 'processing'");
    rig_sweep(&rig, &sweep_options);
    ck_assert_int_eq(rig.sweep.due_count, 1);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_step WHERE parked_high IS NOT NULL"), "1");
}
END_TEST

START_TEST(steps_that_are_no_longer_parked_are_not_marked)
{
    static struct mg_order_record record;
    struct mg_event_record event;
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, 0, false);
    record = *rig_load_one(&rig, "o-1");
    record.order.version = 2;
    record.order.steps[0].state = MG_STEP_RUNNING;
    struct mg_order_write write = write_make(&record, 1, &event, "m-2");
    write.changed_steps = 1;
    rig_commit(&rig, &write, 1);
    ck_assert_str_eq(ask(), "");
    ck_assert_int_eq(rig.parked.queue_count, 0);
}
END_TEST

START_TEST(a_former_leader_asks_nothing)
{
    struct mg_step step = parked_step(1000);
    store_parked("o-1", &step, 0, false);
    options.epoch = 6;
    rig_ask_parked(&rig, &options);
    ck_assert(!rig.parked.is_leader);
    ck_assert_int_eq(rig.parked.due_count, 0);
    options.epoch = 7;
    ck_assert_str_eq(ask(), "o-1");
}
END_TEST

/* Would catch: an index that a plain step enters or leaves. Each update of such a step would then write all
 * indexes. A plain step never has `open`. */
START_TEST(no_index_stands_on_what_a_plain_step_changes)
{
    ck_assert_str_eq(
        rig_value(&rig,
                  "SELECT string_agg(pg_get_indexdef(indexrelid), '; ' ORDER BY indexrelid::regclass::text)"
                  " FROM pg_index WHERE indrelid = 'order_step'::regclass"),
        "CREATE INDEX order_step_key ON public.order_step USING btree ((((open)::json ->> 'key'::text)) COLLATE \"C\")"
        " WHERE (open IS NOT NULL); "
        "CREATE INDEX order_step_parked ON public.order_step USING btree (service, parked_high, parked_until)"
        " WHERE (parked_high IS NOT NULL); "
        "CREATE UNIQUE INDEX order_step_pkey ON public.order_step USING btree (order_id, step); "
        "CREATE INDEX order_step_since ON public.order_step USING btree ((((open)::json ->> 'since'::text)) COLLATE \"C\", order_id,"
        " \"position\") WHERE (open IS NOT NULL)");
}
END_TEST

static int64_t parked_count;
static bool is_avoided;

static void on_counted(void *arg, int64_t parked, bool avoided, const struct mg_err *err)
{
    parked_count = parked;
    is_avoided = avoided;
    rig_done(arg, err);
}

static int64_t count_parked(const char *service, bool is_high, int64_t limit)
{
    mg_store_count_parked(rig.store, service, is_high, limit, on_counted, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return parked_count;
}

START_TEST(parked_steps_are_counted_up_to_a_limit)
{
    for (int i = 0; i < 3; i++) {
        char order_id[16];
        struct mg_step step = parked_step(1000);
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        store_parked(order_id, &step, 0, i == 2);
    }
    ck_assert_int_eq(count_parked("inventory", false, 10), 2);
    ck_assert_int_eq(count_parked("inventory", false, 1), 1);
    ck_assert_int_eq(count_parked("inventory", true, 10), 1);
    ck_assert_int_eq(count_parked("payment", false, 10), 0);
}
END_TEST

static bool is_service_avoided(const char *definitions)
{
    rig_admin(&rig, "DELETE FROM workflow");
    rig_admin(&rig, definitions);
    (void)count_parked("inventory", false, 1);
    return is_avoided;
}

/* Would catch: an old version, or a damaged one, that decides. */
START_TEST(a_workflow_that_does_without_a_service_is_found)
{
#define INSERT       "INSERT INTO workflow (name, version, definition) VALUES "
#define NEEDS(other) "'{\"steps\":[{\"service\":\"" other "\"},{\"service\":\"inventory\"}]}'"
#define DOES_WITHOUT "'{\"steps\":[{\"service\":\"payment\"}]}'"
    ck_assert(!is_service_avoided("SELECT 1"));
    ck_assert(!is_service_avoided(INSERT "('a', 1, " NEEDS("payment") "), ('b', 1, " NEEDS("courier") ")"));
    ck_assert(is_service_avoided(INSERT "('a', 1, " NEEDS("payment") "), ('b', 1, " DOES_WITHOUT ")"));
    ck_assert(!is_service_avoided(INSERT "('a', 1, " DOES_WITHOUT "), ('a', 2, " NEEDS("payment") ")"));
    ck_assert(is_service_avoided(INSERT "('a', 1, " NEEDS("payment") "), ('a', 2, " DOES_WITHOUT ")"));
    ck_assert(is_service_avoided(INSERT "('a', 1, " NEEDS("payment") "), ('b', 1, '{\"steps\":')"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_parked");
    TCase *tcase = tcase_create("parked");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, as_many_are_asked_about_as_there_is_room_for_and_the_oldest_first);
    tcase_add_test(tcase, parked_steps_that_are_not_due_are_left);
    tcase_add_test(tcase, a_step_parked_by_a_clock_ahead_is_asked_about);
    tcase_add_test(tcase, each_queue_of_a_service_has_its_own_room);
    tcase_add_test(tcase, of_more_services_than_one_answer_names_each_is_asked_about);
    tcase_add_test(tcase, behind_a_closed_gate_nothing_is_asked);
    tcase_add_test(tcase, a_gate_that_is_open_for_a_probe_is_reported_as_such);
    tcase_add_test(tcase, the_sweep_meets_a_parked_step_once);
    tcase_add_test(tcase, a_parked_order_expires_in_time);
    tcase_add_test(tcase, woken_steps_leave_room_for_deadlines);
    tcase_add_test(tcase, deadlines_are_asked_about_before_waits);
    tcase_add_test(tcase, the_sweep_marks_what_is_not_marked);
    tcase_add_test(tcase, a_mark_that_was_left_behind_is_taken_away);
    tcase_add_test(tcase, waiting_steps_of_an_ended_order_are_not_asked_about);
    tcase_add_test(tcase, steps_that_are_no_longer_parked_are_not_marked);
    tcase_add_test(tcase, a_former_leader_asks_nothing);
    tcase_add_test(tcase, parked_steps_are_counted_up_to_a_limit);
    tcase_add_test(tcase, a_workflow_that_does_without_a_service_is_found);
    tcase_add_test(tcase, no_index_stands_on_what_a_plain_step_changes);
    suite_add_tcase(suite, tcase);
    return store_main(suite, "parked");
}
