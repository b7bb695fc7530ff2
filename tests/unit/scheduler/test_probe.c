/* A service that was down is probed by one request for all. The steps that wait for it stay parked,
 * unwritten, until its agents have the result. */
#include <check.h>
#include <stdio.h>

#include "../suite.h"
#include "stage.h"

static const char *const WAITING[] = {"o1", "o2", "o3"};
#define WAITING_COUNT ((int)(sizeof(WAITING) / sizeof(WAITING[0])))

static int asked; /* part of each command's id */

static void say(enum mg_reason gate, bool is_probing)
{
    fake_store.service =
        (struct mg_service_row){.service = "inventory", .gate = gate, .is_probing = is_probing};
}

/* The supervisor's command that a parked step may go on. */
static void ask(const char *order_id)
{
    stage_command("c-%d %s due step=reserve attempt=0 by=s", ++asked, order_id);
}

static void ask_all(void)
{
    for (int i = 0; i < WAITING_COUNT; i++) {
        ask(WAITING[i]);
    }
    stage_settle();
}

static int running(void)
{
    int count = 0;
    for (int i = 0; i < WAITING_COUNT; i++) {
        count += stage_step(WAITING[i], 0) == MG_STEP_RUNNING;
    }
    return count;
}

static int events(void)
{
    int count = 0;
    for (int i = 0; i < WAITING_COUNT; i++) {
        count += fake_store_event_count(WAITING[i]);
    }
    return count;
}

/* Three orders that wait for a breaker which is open. */
static void setup(void)
{
    asked = 0;
    stage_start();
    stage_begin("o0"); /* its workflow makes the services known */
    say(MG_REASON_BREAKER_OPEN, false);
    ask("o0"); /* changes nothing, and reads the gates */
    stage_settle();
    for (int i = 0; i < WAITING_COUNT; i++) {
        stage_submit(WAITING[i], false);
    }
    stage_settle();
    ck_assert_int_eq(running(), 0);
    ck_assert_int_eq(events(), WAITING_COUNT);
    fake_store.ahead_ms = 2000; /* their waits are over */
}

/* Would catch: each look of an hour's outage in each order's story. */
START_TEST(while_a_service_is_probed_one_step_goes_out)
{
    say(MG_REASON_NONE, true);
    ask_all();
    ck_assert_int_eq(running(), 1);
    ck_assert_int_eq(events(), WAITING_COUNT + 1);
    stage_begin("o4"); /* another order does not try for itself */
    ck_assert_int_eq(stage_step("o4", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_store_order("o4")->order.steps[0].reason, MG_REASON_BREAKER_OPEN);
    ask_all();
    ck_assert_int_eq(running(), 1);
    ck_assert_int_eq(events(), WAITING_COUNT + 1);
}
END_TEST

/* Would catch: steps that stay parked when the service is well again. */
START_TEST(once_it_is_found_well_all_go_out)
{
    say(MG_REASON_NONE, true);
    ask_all();
    say(MG_REASON_NONE, false);
    ask_all();
    ck_assert_int_eq(running(), WAITING_COUNT);
}
END_TEST

/* Would catch: a service that is probed once and never again. */
START_TEST(each_probing_has_its_own_probe)
{
    say(MG_REASON_NONE, true);
    ask_all();
    say(MG_REASON_BREAKER_OPEN, false);
    ask_all();
    ck_assert_int_eq(running(), 1);
    say(MG_REASON_NONE, true);
    ask_all();
    ck_assert_int_eq(running(), 2);
}
END_TEST

/* Would catch: an agent that needs several probes, and gets one a second. */
START_TEST(a_probe_that_went_well_is_followed_at_once)
{
    say(MG_REASON_NONE, true);
    ask("o1");
    stage_settle();
    stage_answer("o1.reserve#1 transient http_503");
    ask("o2");
    stage_settle();
    ck_assert_int_eq(running(), 0); /* that one failed: the agents' report will follow */
    stage_answer("o0.reserve#1");
    ask_all();
    ck_assert_int_eq(running(), 1);
}
END_TEST

/* Would catch: a probe without a successor after its agent died. */
START_TEST(a_probe_without_an_answer_is_followed_by_another)
{
    say(MG_REASON_NONE, true);
    ask_all();
    for (struct mg_gate *gate = stage_scheduler->gates.first; gate != NULL; gate = gate->next) {
        gate->probed_boot_ms -= gate->probed_boot_ms != 0 ? 1000 : 0;
    }
    ask_all();
    ck_assert_int_eq(running(), 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler probe");
    TCase *tests = tcase_create("probe");
    tcase_add_checked_fixture(tests, setup, stage_finish);
    tcase_add_test(tests, while_a_service_is_probed_one_step_goes_out);
    tcase_add_test(tests, once_it_is_found_well_all_go_out);
    tcase_add_test(tests, each_probing_has_its_own_probe);
    tcase_add_test(tests, a_probe_that_went_well_is_followed_at_once);
    tcase_add_test(tests, a_probe_without_an_answer_is_followed_by_another);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
