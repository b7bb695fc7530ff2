/*
 * The sweep. A due order is asked about once; any other is left and looked at when it is due. A former leader
 * asks nothing and moves nothing.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/loop.h"

#define ASK_AGAIN_MS 3000

static struct rig rig;
static struct mg_sweep_options options;
static int64_t now_ms;

static void setup(void)
{
    rig_start(&rig);
    rig_admin(&rig, "UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
    options = (struct mg_sweep_options){.epoch = 7,
                                        .holder = "me",
                                        .limit = 100,
                                        .ask_again_ms = ASK_AGAIN_MS,
                                        .overdue_limit = 100,
                                        .step_limit = 1000};
    rig_load(&rig, NULL, 0);
    now_ms = rig.loaded->now_ms;
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* Stores an order that is due for a look now, with one step (if given). */
static void store_order(const char *order_id, enum mg_order_state state, const struct mg_step *step,
                        int64_t complete_by_ms)
{
    static struct mg_order_record record;
    order_make(&record, order_id);
    record.order.state = state;
    record.order.seq = 4;
    record.order.complete_by_ms = complete_by_ms;
    record.order.wake_at_ms = now_ms - 60000;
    order_store(&rig, &record, step);
}

static const struct mg_due *find_due(const char *order_id)
{
    for (int i = 0; i < rig.sweep.due_count; i++) {
        if (strcmp(rig.dues[i].order_id, order_id) == 0) {
            return &rig.dues[i];
        }
    }
    return NULL;
}

static int64_t wake_at_ms(const char *order_id)
{
    return rig_load_one(&rig, order_id)->order.wake_at_ms;
}

static void assert_near(int64_t actual_ms, int64_t expected_ms)
{
    ck_assert_msg(actual_ms >= expected_ms - 10 && actual_ms <= expected_ms + 2000, "%lld is not near %lld",
                  (long long)actual_ms, (long long)expected_ms);
}

/* Would catch: an overdue attempt that no command ends, and one that is asked about at every sweep. */
START_TEST(an_attempt_past_its_complete_by_is_overdue_once)
{
    static const enum mg_step_state STATES[] = {MG_STEP_RUNNING, MG_STEP_UNDO_RUNNING};
    for (int i = 0; i < 2; i++) {
        struct mg_step step = {.state = STATES[i], .attempt = 3, .complete_by_ms = now_ms - 5};
        store_order(i == 0 ? "o-1" : "o-2", MG_ORDER_PROCESSING, &step, 0);
    }
    rig_sweep(&rig, &options);
    ck_assert(rig.sweep.is_leader);
    ck_assert_int_eq(rig.sweep.due_count, 2);
    ck_assert_int_eq(rig.sweep.overdue_total, 2);
    ck_assert(!rig.sweep.is_full);
    for (int i = 0; i < 2; i++) {
        const struct mg_due *due = find_due(i == 0 ? "o-1" : "o-2");
        ck_assert_int_eq(due->ask, MG_CAUSE_OVERDUE);
        ck_assert_str_eq(due->step, "reserve");
        ck_assert_uint_eq(due->attempt, 3);
        ck_assert_uint_eq(due->version, 1);
        ck_assert_uint_eq(due->seq, 4);
        ck_assert_int_eq(due->due_at_ms, now_ms - 5);
        ck_assert(!due->is_stuck);
    }
    assert_near(wake_at_ms("o-1"), rig.sweep.now_ms + ASK_AGAIN_MS);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    ck_assert_str_eq(rig_value(&rig, "SELECT max(version) FROM order_process"), "1");
}
END_TEST

START_TEST(a_wait_that_is_over_is_due)
{
    static const enum mg_step_state STATES[] = {MG_STEP_PENDING, MG_STEP_WAITING, MG_STEP_UNKNOWN,
                                                MG_STEP_UNDO_PENDING, MG_STEP_UNDO_WAITING};
    for (int i = 0; i < 5; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        struct mg_step step = {.state = STATES[i], .attempt = 2, .due_at_ms = now_ms - 1};
        store_order(order_id, MG_ORDER_PROCESSING, &step, 0);
    }
    struct mg_step done = {.state = MG_STEP_DONE, .due_at_ms = now_ms - 1};
    store_order("o-done", MG_ORDER_PROCESSING, &done, 0);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 6);
    for (int i = 0; i < 5; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        ck_assert_int_eq(find_due(order_id)->ask, MG_CAUSE_DUE);
        ck_assert_uint_eq(find_due(order_id)->attempt, 2);
    }
    ck_assert_int_eq(find_due("o-done")->ask, MG_CAUSE_NUDGE);
    ck_assert_int_eq(rig.sweep.overdue_total, 0);
}
END_TEST

/* Would catch: an order that is never looked at again after a lost push, or at every sweep. */
START_TEST(steps_that_are_not_due_are_examined_when_they_are)
{
    struct mg_step running = {.state = MG_STEP_RUNNING, .complete_by_ms = now_ms + 50000};
    store_order("o-running", MG_ORDER_PROCESSING, &running, now_ms + 90000);
    struct mg_step waiting = {.state = MG_STEP_WAITING, .due_at_ms = now_ms + 95000};
    store_order("o-waiting", MG_ORDER_PROCESSING, &waiting, now_ms + 90000);
    struct mg_step doubted = {.state = MG_STEP_UNKNOWN};
    store_order("o-doubted", MG_ORDER_PROCESSING, &doubted, 0);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    ck_assert_int_eq(wake_at_ms("o-running"), now_ms + 50000);
    ck_assert_int_eq(wake_at_ms("o-waiting"), now_ms + 90000);
    assert_near(wake_at_ms("o-doubted"), rig.sweep.now_ms + 60000);
}
END_TEST

START_TEST(an_order_past_its_complete_by_has_expired_while_it_goes_forward)
{
    struct mg_step running = {.state = MG_STEP_RUNNING, .complete_by_ms = now_ms + 50000};
    store_order("o-forward", MG_ORDER_PROCESSING, &running, now_ms - 2);
    store_order("o-back", MG_ORDER_COMPENSATING, &running, now_ms - 2);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 1);
    const struct mg_due *due = find_due("o-forward");
    ck_assert_int_eq(due->ask, MG_CAUSE_EXPIRED);
    ck_assert_str_eq(due->step, "");
    ck_assert_int_eq(due->due_at_ms, now_ms - 2);
    ck_assert_int_eq(wake_at_ms("o-back"), now_ms + 50000);
}
END_TEST

/* Would catch: an open order without any pending message or time, which stalls for ever. */
START_TEST(an_open_order_in_which_nothing_moves_is_nudged)
{
    struct mg_step pending = {.state = MG_STEP_PENDING};
    store_order("o-pending", MG_ORDER_PENDING, NULL, 0);
    store_order("o-stuck", MG_ORDER_PROCESSING, &pending, 0);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 2);
    ck_assert_int_eq(find_due("o-pending")->ask, MG_CAUSE_NUDGE);
    ck_assert(!find_due("o-pending")->is_stuck);
    ck_assert_int_eq(find_due("o-stuck")->ask, MG_CAUSE_NUDGE);
    ck_assert(find_due("o-stuck")->is_stuck);
}
END_TEST

/* Would catch: an order that stalls while its end is deferred, after a clock set forward passed it. No
 * scheduler continues it without a cause. */
START_TEST(an_order_whose_end_is_left_is_nudged_once_no_scheduler_waits_for_the_verdict)
{
    struct mg_step pending = {.state = MG_STEP_PENDING},
                   running = {.state = MG_STEP_RUNNING, .complete_by_ms = now_ms + 50000};
    store_order("o-left", MG_ORDER_PROCESSING, &pending, now_ms - MG_EXPIRY_COMMAND_MS - 5);
    store_order("o-soon", MG_ORDER_PROCESSING, &pending, now_ms - MG_EXPIRY_COMMAND_MS + 10000);
    store_order("o-moving", MG_ORDER_PROCESSING, &running, now_ms - MG_EXPIRY_COMMAND_MS - 5);
    store_order("o-judged", MG_ORDER_PROCESSING, &pending, now_ms - 10 * MG_EXPIRY_COMMAND_MS);
    options.grace_after_ms = now_ms - 2 * MG_EXPIRY_COMMAND_MS;
    options.grace_before_ms = now_ms;
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 2);
    ck_assert_int_eq(find_due("o-left")->ask, MG_CAUSE_NUDGE);
    ck_assert(!find_due("o-left")->is_stuck);
    ck_assert_int_eq(find_due("o-judged")->ask, MG_CAUSE_EXPIRED);
    assert_near(wake_at_ms("o-left"), rig.sweep.now_ms + ASK_AGAIN_MS);
}
END_TEST

static void on_woken(void *arg, bool is_leader, bool is_full, const struct mg_err *err)
{
    struct rig *at = arg;
    at->sweep.is_leader = is_leader;
    at->sweep.is_full = is_full;
    rig_done(at, err);
}

static void wake(uint64_t epoch, int limit)
{
    mg_store_wake(rig.store, epoch, "me", limit, on_woken, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

/* Would catch: orders that sleep for as long as the database's clock was ahead, whichever process set their
 * time; and a verdict on an attempt that still has time. */
START_TEST(the_woken_are_asked_about_all_their_waits)
{
    struct mg_step running = {.state = MG_STEP_RUNNING, .attempt = 1, .complete_by_ms = now_ms + 3600000};
    struct mg_step waiting = {.state = MG_STEP_WAITING, .attempt = 2, .due_at_ms = now_ms + 3600000};
    struct mg_step doubted = {.state = MG_STEP_UNKNOWN};
    store_order("o-running", MG_ORDER_PROCESSING, &running, now_ms + 7200000);
    store_order("o-waiting", MG_ORDER_PROCESSING, &waiting, 0);
    store_order("o-doubted", MG_ORDER_PROCESSING, &doubted, 0);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    wake(6, 100);
    ck_assert(!rig.sweep.is_leader);
    ck_assert_int_eq(wake_at_ms("o-running"), now_ms + 3600000);
    wake(7, 2);
    ck_assert(rig.sweep.is_leader && rig.sweep.is_full);
    wake(7, 2);
    ck_assert(!rig.sweep.is_full);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 1);
    ck_assert_int_eq(find_due("o-waiting")->ask, MG_CAUSE_DUE);
    assert_near(wake_at_ms("o-waiting"), rig.sweep.now_ms + ASK_AGAIN_MS);
    ck_assert_int_eq(wake_at_ms("o-running"), now_ms + 3600000);
    assert_near(wake_at_ms("o-doubted"), rig.sweep.now_ms + 60000);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 0);
}
END_TEST

static bool is_woken_or_waiting(const struct rig *at)
{
    return at->answers > 0 || rig_is_locked_out(at);
}

/* Would catch: an order that sleeps on because another session wrote it at that moment. */
START_TEST(an_order_that_is_being_written_is_woken_too)
{
    struct mg_step waiting = {.state = MG_STEP_WAITING, .attempt = 2, .due_at_ms = now_ms + 3600000};
    for (int i = 0; i < 3; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        store_order(order_id, MG_ORDER_PROCESSING, &waiting, 0);
    }
    rig_sweep(&rig, &options);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "UPDATE order_process SET version = 2 WHERE order_id = 'o-1'");
    mg_store_wake(rig.store, 7, "me", 100, on_woken, &rig);
    rig_wait(&rig, is_woken_or_waiting);
    rig_admin(&rig, "COMMIT");
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    ck_assert(!rig.sweep.is_full);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 3);
}
END_TEST

/* Would catch: more asks than the broker has room for. Orders left out would be woken anew with all others,
 * and the sweep would see the same orders for ever. */
START_TEST(the_woken_stay_so_when_there_are_more_asks_than_the_limit)
{
    for (int i = 0; i < 4; i++) {
        char sql[512], order_id[16];
        struct mg_step waiting = {.state = MG_STEP_WAITING, .attempt = 2, .due_at_ms = now_ms + 3600000};
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        store_order(order_id, MG_ORDER_PROCESSING, &waiting, 0);
        snprintf(sql, sizeof(sql),
                 "CREATE TEMPORARY TABLE s AS SELECT * FROM order_step WHERE order_id = '%s';"
                 "UPDATE s SET step = 'second'; INSERT INTO order_step SELECT * FROM s; DROP TABLE s",
                 order_id);
        rig_admin(&rig, sql);
    }
    rig_sweep(&rig, &options);
    wake(7, 100);
    options.limit = 3;
    for (int i = 0; i < 4; i++) {
        rig_sweep(&rig, &options);
        ck_assert_int_eq(rig.sweep.due_count, 2);
    }
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    wake(7, 100);
    options.limit = 1; /* one order is always asked about, whole */
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 2);
}
END_TEST

/* Law 7, waiting is not failing. Would catch: a storm of expiries after an outage. */
START_TEST(deadlines_that_passed_in_the_gap_get_their_grace)
{
    struct mg_step in_gap = {.state = MG_STEP_RUNNING, .attempt = 1, .complete_by_ms = now_ms - 5000};
    struct mg_step before = {.state = MG_STEP_RUNNING, .attempt = 1, .complete_by_ms = now_ms - 20000};
    struct mg_step after = {.state = MG_STEP_RUNNING, .attempt = 1, .complete_by_ms = now_ms - 1000};
    struct mg_step waiting = {.state = MG_STEP_WAITING, .due_at_ms = now_ms - 5000};
    struct mg_step signal = {
        .state = MG_STEP_WAITING, .reason = MG_REASON_AWAITING_SIGNAL, .due_at_ms = now_ms - 5000};
    store_order("o-gap", MG_ORDER_PROCESSING, &in_gap, now_ms - 6000);
    store_order("o-before", MG_ORDER_PROCESSING, &before, 0);
    store_order("o-after", MG_ORDER_PROCESSING, &after, 0);
    store_order("o-waiting", MG_ORDER_PROCESSING, &waiting, 0);
    store_order("o-signal", MG_ORDER_PROCESSING, &signal, 0);
    options.grace_after_ms = now_ms - 10000;
    options.grace_before_ms = now_ms - 3000;
    options.gap_after_ms = _i == 0 ? now_ms - 10000 : 0; /* 0: a gap; 1: a clock that was set */
    options.gap_before_ms = _i == 0 ? now_ms - 3000 : 0;
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, _i == 0 ? 3 : 4);
    ck_assert_int_eq(find_due("o-signal") == NULL, _i == 0);
    ck_assert(find_due("o-gap") == NULL);
    ck_assert(find_due("o-before") != NULL && find_due("o-after") != NULL && find_due("o-waiting") != NULL);
    ck_assert_int_eq(rig.sweep.overdue_total, 2);
    assert_near(wake_at_ms("o-gap"), rig.sweep.now_ms + ASK_AGAIN_MS);
}
END_TEST

/* Sets the moments at which an order was created and last written: ms before now. */
static void date_order(const char *order_id, int64_t created_ms, int64_t updated_ms)
{
    char sql[512];
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE order_process SET created_at = to_timestamp(%lld / 1000.0),"
                   " updated_at = to_timestamp(%lld / 1000.0) WHERE order_id = '%s'",
                   (long long)(now_ms - created_ms), (long long)(now_ms - updated_ms), order_id);
    rig_admin(&rig, sql);
}

/* The clock went back by an hour 100 s ago and is right again for 20 s. Would catch: a deadline from before
 * that rests for an hour; one that was set meanwhile, or in doubt, and is judged. An order's complete-by
 * counts from its creation, an attempt from the order's latest write. */
START_TEST(a_deadline_from_before_a_step_back_is_judged_by_its_own_clock)
{
    static const struct {
        const char *order_id;
        int64_t created_ms, updated_ms;
        bool is_high_order, is_high_step;
    } ORDERS[] = {
        {"o-before", 5000000, 200000, true, true},       {"o-written-low", 200000, 3650000, true, false},
        {"o-written-since", 200000, 10000, true, false}, {"o-low", 3650000, 3640000, false, false},
        {"o-edge", 100000, 100000, true, true},          {"o-unknown", 8000001, 8000001, false, false},
        {"o-known", 8000000, 3700001, true, true}};
    int count = (int)(sizeof(ORDERS) / sizeof(ORDERS[0]));
    struct mg_step running = {.state = MG_STEP_RUNNING, .attempt = 1, .complete_by_ms = now_ms - 30000};
    for (int i = 0; i < count; i++) {
        store_order(ORDERS[i].order_id, MG_ORDER_PROCESSING, &running, now_ms - 40000);
        date_order(ORDERS[i].order_id, ORDERS[i].created_ms, ORDERS[i].updated_ms);
    }
    options.grace_after_ms = now_ms - 3600000;
    options.grace_before_ms = now_ms - 20000;
    options.grace_high_after_ms = now_ms - 3000;
    options.high =
        (struct mg_high_clock){now_ms - 8000000, now_ms - 100000, now_ms - 3700000, now_ms - 3620000};
    rig_sweep(&rig, &options);
    int asked = 0;
    for (int i = 0; i < count; i++) {
        asked += ORDERS[i].is_high_order + ORDERS[i].is_high_step;
        for (int k = 0; k < rig.sweep.due_count; k++) {
            const struct mg_due *due = &rig.dues[k];
            if (strcmp(due->order_id, ORDERS[i].order_id) == 0) {
                bool is_order = due->ask == MG_CAUSE_EXPIRED;
                ck_assert(is_order ? ORDERS[i].is_high_order : ORDERS[i].is_high_step);
                ck_assert_int_eq(due->set_at_ms,
                                 now_ms - (is_order ? ORDERS[i].created_ms : ORDERS[i].updated_ms));
            }
        }
    }
    ck_assert_int_eq(rig.sweep.due_count, asked);
    ck_assert_int_eq(rig.sweep.overdue_total, asked);
}
END_TEST

START_TEST(the_brake_holds_back_the_latest_and_nothing_else)
{
    for (int i = 0; i < 5; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        struct mg_step step = {.state = MG_STEP_RUNNING, .attempt = 1, .complete_by_ms = now_ms - 100 + i};
        store_order(order_id, MG_ORDER_PROCESSING, &step, 0);
    }
    struct mg_step waiting = {.state = MG_STEP_WAITING, .due_at_ms = now_ms - 1};
    store_order("o-waiting", MG_ORDER_PROCESSING, &waiting, 0);
    options.overdue_limit = 2;
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 3);
    ck_assert(find_due("o-0") != NULL && find_due("o-1") != NULL && find_due("o-waiting") != NULL);
    ck_assert_int_eq(rig.sweep.overdue_total, 5);
    assert_near(wake_at_ms("o-4"), rig.sweep.now_ms + 1000);
    ck_assert_int_lt(wake_at_ms("o-4"), wake_at_ms("o-0"));
}
END_TEST

START_TEST(a_full_sweep_reports_it_and_the_next_takes_the_rest)
{
    for (int i = 0; i < 5; i++) {
        char order_id[16];
        snprintf(order_id, sizeof(order_id), "o-%d", i);
        store_order(order_id, MG_ORDER_PENDING, NULL, 0);
    }
    options.limit = 3;
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 3);
    ck_assert(rig.sweep.is_full);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 2);
    ck_assert(!rig.sweep.is_full);
}
END_TEST

static bool is_swept_ahead(void)
{
    return strcmp(rig_value(&rig, "SELECT swept_at > now() FROM supervisor_leader"), "t") == 0;
}

/* The leader ends between the clock's step back and the waking. Would catch: a next leader without a record
 * of the step. */
START_TEST(how_far_the_clock_was_ahead_is_kept_until_all_are_woken)
{
    store_order("o-1", MG_ORDER_PENDING, NULL, now_ms + 3600000);
    store_order("o-2", MG_ORDER_PENDING, NULL, now_ms + 3600000);
    rig_admin(&rig, "UPDATE supervisor_leader SET swept_at = now() + interval '1 hour'");
    rig_sweep(&rig, &options);
    ck_assert(is_swept_ahead());
    wake(7, 1);
    ck_assert(is_swept_ahead());
    wake(7, 100);
    ck_assert(!is_swept_ahead());
}
END_TEST

/* Law 9, one leader. Would catch: a leader that wakes from a pause and goes on with its old epoch. */
START_TEST(a_leader_of_an_earlier_epoch_changes_nothing)
{
    store_order("o-1", MG_ORDER_PENDING, NULL, 0);
    int64_t before_ms = wake_at_ms("o-1");
    options.epoch = 6;
    rig_sweep(&rig, &options);
    ck_assert(!rig.sweep.is_leader);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    ck_assert_int_eq(wake_at_ms("o-1"), before_ms);
    options.epoch = 7;
    options.holder = "another";
    rig_sweep(&rig, &options);
    ck_assert(!rig.sweep.is_leader);
    ck_assert_str_eq(rig_value(&rig, "SELECT swept_at IS NULL FROM supervisor_leader"), "t");
}
END_TEST

static void on_swept(void *arg, const struct mg_sweep_answer *answer, const struct mg_err *err)
{
    struct rig *at = arg;
    if (answer != NULL) {
        at->sweep = *answer;
    }
    rig_done(at, err);
}

/* Would catch: a fence that is only read. A take-over under way must be waited for; a plain EXISTS lets the
 * old leader pass. */
START_TEST(a_take_over_under_way_is_waited_for)
{
    store_order("o-1", MG_ORDER_PENDING, NULL, 0);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "UPDATE supervisor_leader SET epoch = 8, holder = 'other'");
    mg_store_sweep(rig.store, &options, on_swept, &rig);
    rig_wait(&rig, rig_is_locked_out);
    rig_admin(&rig, "COMMIT");
    rig_wait_answer(&rig);
    ck_assert(!rig.sweep.is_leader);
    ck_assert_int_eq(rig.sweep.due_count, 0);
    ck_assert_int_eq(wake_at_ms("o-1"), now_ms - 60000);
}
END_TEST

/* Would catch: a sweep that waits for a commit, or that moves wake_at of an order that it has not seen
 * whole. */
START_TEST(a_row_that_is_being_written_is_left_alone)
{
    store_order("o-1", MG_ORDER_PENDING, NULL, 0);
    store_order("o-2", MG_ORDER_PENDING, NULL, 0);
    rig_admin(&rig, "BEGIN");
    rig_admin(&rig, "UPDATE order_process SET version = 2 WHERE order_id = 'o-1'");
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 1);
    ck_assert_str_eq(rig.dues[0].order_id, "o-2");
    rig_admin(&rig, "COMMIT");
    ck_assert_int_eq(wake_at_ms("o-1"), now_ms - 60000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: sweep");
    TCase *test = tcase_create("sweep");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, an_attempt_past_its_complete_by_is_overdue_once);
    tcase_add_test(test, a_wait_that_is_over_is_due);
    tcase_add_test(test, steps_that_are_not_due_are_examined_when_they_are);
    tcase_add_test(test, an_order_past_its_complete_by_has_expired_while_it_goes_forward);
    tcase_add_test(test, an_open_order_in_which_nothing_moves_is_nudged);
    tcase_add_test(test, an_order_whose_end_is_left_is_nudged_once_no_scheduler_waits_for_the_verdict);
    tcase_add_test(test, the_woken_are_asked_about_all_their_waits);
    tcase_add_test(test, an_order_that_is_being_written_is_woken_too);
    tcase_add_test(test, how_far_the_clock_was_ahead_is_kept_until_all_are_woken);
    tcase_add_test(test, the_woken_stay_so_when_there_are_more_asks_than_the_limit);
    tcase_add_loop_test(test, deadlines_that_passed_in_the_gap_get_their_grace, 0, 2);
    tcase_add_test(test, a_deadline_from_before_a_step_back_is_judged_by_its_own_clock);
    tcase_add_test(test, the_brake_holds_back_the_latest_and_nothing_else);
    tcase_add_test(test, a_full_sweep_reports_it_and_the_next_takes_the_rest);
    tcase_add_test(test, a_leader_of_an_earlier_epoch_changes_nothing);
    tcase_add_test(test, a_take_over_under_way_is_waited_for);
    tcase_add_test(test, a_row_that_is_being_written_is_left_alone);
    suite_add_tcase(suite, test);
    return store_main(suite, "sweep");
}
