/*
 * The sweep with very many overdue steps at once. Its work grows linearly with the steps that it looks at,
 * and their number has a limit. Beyond it orders are left whole. Attempts of one service that all fail to end
 * delay no deadline of another service.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/store/pass_by.h"

static struct rig rig;
static struct mg_sweep_options options;

static void setup(void)
{
    rig_start(&rig);
    rig_admin(&rig, "UPDATE supervisor_leader SET epoch = 7, holder = 'me'");
    options = (struct mg_sweep_options){.epoch = 7,
                                        .holder = "me",
                                        .limit = 500,
                                        .ask_again_ms = 3000,
                                        .overdue_limit = 200,
                                        .step_limit = 4096};
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* Orders "<service>-<n>" with running steps only. The first deadline passed `ago_s` seconds ago and is also
 * the time of the next look; each further order's is a millisecond later. */
static void store_running(const char *service, int orders, int steps, int ago_s)
{
    char sql[2048];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation,"
        "  failure_count, locked_by, wake_at, workflow, workflow_version, revision, is_high, wants_step_status)"
        " SELECT '%s-' || n, 'processing', 'processed', 'none', 2, 2, 0, 0, 'test',"
        "  now() - interval '%d seconds' + n * interval '1 millisecond', 'w', 1, 1, false, false"
        " FROM generate_series(1, %d) n;"
        "INSERT INTO order_step (order_id, step, position, service, state, kind, reason, maybe,"
        "  is_undo_dispatched, is_refused, is_accepted, attempt, failure_count, cool_down_count, generation,"
        "  complete_by)"
        " SELECT order_id, 's' || m, m - 1, '%s', 'running', 'do', 'none', false, false, false, false, 1, 0,"
        "  0, 0, wake_at FROM order_process, generate_series(1, %d) m WHERE order_id LIKE '%s-%%'",
        service, ago_s, orders, service, steps, service);
    rig_admin(&rig, sql);
}

static int asked_of(const char *service)
{
    int count = 0;
    for (int i = 0; i < rig.sweep.due_count; i++) {
        count += strncmp(rig.dues[i].order_id, service, strlen(service)) == 0;
    }
    return count;
}

/* Would catch: a deadline that waits until all older ones of another service are judged. The first case has
 * more orders than a sweep looks at, the second more steps. */
START_TEST(a_service_with_very_many_overdue_attempts_holds_up_no_other)
{
    static const int ORDERS[] = {500, 200};
    for (int i = 0; i < 2; i++) {
        rig_admin(&rig, "TRUNCATE order_process, order_step");
        store_running("a", ORDERS[i], 64, 60);
        store_running("b", 1, 1, 1);
        rig_sweep(&rig, &options);
        ck_assert_int_eq(rig.sweep.due_count, options.overdue_limit);
        ck_assert_int_eq(asked_of("b"), 1);
        ck_assert_int_eq(asked_of("a"), options.overdue_limit - 1);
        ck_assert(rig.sweep.is_full);
    }
}
END_TEST

/* Of each service the oldest come first, and a service that is alone has the whole brake. */
START_TEST(the_brake_gives_each_service_its_turns)
{
    store_running("a", 20, 1, 60);
    store_running("b", 3, 1, 30);
    store_running("c", 20, 1, 10);
    options.overdue_limit = 11;
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 11);
    ck_assert_int_eq(rig.sweep.overdue_total, 43);
    ck_assert_int_eq(asked_of("a"), 4);
    ck_assert_int_eq(asked_of("b"), 3);
    ck_assert_int_eq(asked_of("c"), 4);
    for (int i = 0; i < rig.sweep.due_count; i++) {
        ck_assert_int_le(strtol(rig.dues[i].order_id + 2, NULL, 10), 4);
    }
    rig_admin(&rig,
              "UPDATE order_process SET wake_at = wake_at - interval '1 hour' WHERE order_id LIKE 'c-%'");
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 11);
    ck_assert_int_eq(asked_of("c"), 11);
}
END_TEST

/* Would catch: held-back orders that return long before their turn, and take the places of newly due
 * ones. */
START_TEST(steps_held_back_return_when_they_may_go)
{
    store_running("a", 3, 32, 60);
    options.overdue_limit = 8;
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 8);
    /* Of each service the first held-back order is 1, 25 and 57 places beyond the limit. */
    ck_assert_str_eq(rig_value(&rig,
                               "SELECT string_agg(round(extract(epoch FROM p.wake_at - l.seen_at))::text, ' '"
                               " ORDER BY order_id) FROM order_process p, supervisor_leader l"),
                     "1 1 2");
}
END_TEST

static long looked_at(void)
{
    return strtol(rig_value(&rig, "SELECT count(*) FROM order_process WHERE wake_at > now()"), NULL, 10);
}

/* Would catch: a sweep not bounded in its work by a number of orders, and an order of which it sees only a
 * part. */
START_TEST(a_sweep_looks_at_so_many_steps_and_leaves_the_orders_beyond)
{
    store_running("a", 6, 8, 60);
    options.step_limit = 20;
    for (int sweep = 1; sweep <= 3; sweep++) {
        rig_sweep(&rig, &options);
        ck_assert_int_eq(rig.sweep.due_count, 16);
        ck_assert_int_eq(looked_at(), 2 * sweep);
        ck_assert_int_eq(rig.sweep.is_full, sweep < 3);
    }
    store_running("b", 3, 64, 60);
    rig_sweep(&rig, &options);
    ck_assert_int_eq(rig.sweep.due_count, 64); /* one order is always looked at, whole */
    ck_assert_int_eq(looked_at(), 7);
    ck_assert(rig.sweep.is_full);
}
END_TEST

/* Rows that the nodes of a plan returned or discarded. */
static double rows_of(const char *line, double *loops)
{
    const char *actual = strstr(line, "(actual rows="), *removed = strstr(line, "Rows Removed by ");
    if (actual != NULL) {
        const char *at = strstr(actual, "loops=");
        *loops = at == NULL ? 1 : strtod(at + strlen("loops="), NULL);
        return strtod(actual + strlen("(actual rows="), NULL) * *loops;
    }
    const char *at = removed == NULL ? NULL : strchr(removed, ':');
    return at == NULL ? 0 : strtod(at + 1, NULL) * *loops;
}

static double work_of_a_sweep(int orders)
{
    rig_admin(&rig, "TRUNCATE order_process, order_step");
    store_running("a", orders, 32, 60);
    PGresult *plan =
        PQexec(rig.admin, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF)"
                          " EXECUTE q(7, 'me', 500, 2000, 0, 0, 200, 9000, 0, 0, 0, 0, 0, 0, 0, '{}')");
    ck_assert_msg(PQresultStatus(plan) == PGRES_TUPLES_OK, "%s", PQerrorMessage(rig.admin));
    double work = 0, loops = 1;
    for (int row = 0; row < PQntuples(plan); row++) {
        work += rows_of(PQgetvalue(plan, row, 0), &loops);
    }
    PQclear(plan);
    return work;
}

/* Would catch: a statement that compares all orders with all steps: four times the work for twice as many. */
START_TEST(a_sweep_costs_as_much_as_it_has_steps)
{
    static char prepare[32768];
    rig_admin(&rig, "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off");
    snprintf(prepare, sizeof(prepare), "PREPARE q AS %s", MG_STORE_SWEEP.all.text);
    rig_admin(&rig, prepare);
    double once = work_of_a_sweep(100), twice = work_of_a_sweep(200);
    ck_assert_msg(twice < 2.5 * once, "%.0f rows for 100 orders, %.0f for 200", once, twice);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: sweep of very much");
    TCase *test = tcase_create("wide");
    tcase_set_timeout(test, 120);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, a_service_with_very_many_overdue_attempts_holds_up_no_other);
    tcase_add_test(test, the_brake_gives_each_service_its_turns);
    tcase_add_test(test, steps_held_back_return_when_they_may_go);
    tcase_add_test(test, a_sweep_looks_at_so_many_steps_and_leaves_the_orders_beyond);
    tcase_add_test(test, a_sweep_costs_as_much_as_it_has_steps);
    suite_add_tcase(suite, test);
    return store_main(suite, "wide");
}
