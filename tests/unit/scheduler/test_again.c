/*
 * Re-creation of effects (law 3, re-creation): the effects of a refused request, a cause that is never
 * delivered twice, and of messages in hand when the store failed. Each test names the failure that it would
 * catch.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

/* Two independent steps that are tried again soon. */
#define BESIDE                                                                                                   \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"steps\":["                                \
    "{\"step\":\"a\",\"service\":\"inventory\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","            \
    "\"retry\":{\"attempts\":9,\"backoff\":\"1s\",\"max_backoff\":\"1s\"},"                                      \
    "\"do\":{\"method\":\"POST\",\"path\":\"/a\"},\"undo\":\"none\"},"                                           \
    "{\"step\":\"b\",\"service\":\"payment\",\"after\":[],\"complete_within\":\"10s\",\"on_unknown\":\"retry\"," \
    "\"retry\":{\"attempts\":9,\"backoff\":\"1s\",\"max_backoff\":\"1s\"},"                                      \
    "\"do\":{\"method\":\"POST\",\"path\":\"/b\"},\"undo\":\"none\"}]}"

/* The supervisor's command when step a is due, delivered first or again. */
static void ask_a(bool is_again)
{
    stage_command("due-a o1 due step=a attempt=1 by=s %s", is_again ? "again" : "");
}

static int requests_of(const char *correlation)
{
    int count = 0;
    for (int i = 0; i < fake_broker.count; i++) {
        bool is_request = strcmp(fake_broker.published[i].type, "request") == 0;
        count += is_request && strcmp(fake_broker.published[i].correlation, correlation) == 0 ? 1 : 0;
    }
    return count;
}

/* Both steps wait. `due-a` sends a's second attempt, and the broker refuses its request. Meanwhile b has come
 * due, and the decision on the refusal sends it. */
static void refusal_sends_b(void)
{
    fake_store.definition = BESIDE;
    stage_begin("o1");
    stage_reply("o1.a#1 transient");
    stage_answer("o1.b#1 transient");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_WAITING);
    fake_store_record("o1")->order.steps[1].due_at_ms += 60000;
    fake_store_bump("o1");
    stage_pass(5000);
    fake_broker.is_held = true;
    ask_a(false);
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_RUNNING);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_WAITING);
    stage_pass(120000);
    fake_broker.fails_type = "request";
    fake_broker.failure = MG_PUBLISH_REFUSED;
    fake_broker_confirm();
    fake_broker.fails_type = NULL;
}

/* Would catch: an order that waits for a time-out because a process died between the commit of a refused
 * request and its effects. Causes from outside are delivered again; the refusal is not. */
START_TEST(effects_of_a_refused_request_are_made_again_with_their_cause)
{
    refusal_sends_b();
    int acked = fake_broker.acked;
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_RUNNING);
    ck_assert_int_eq(requests_of("o1.b.2.do"), 1);
    ck_assert_int_eq(fake_broker.acked, acked); /* not before the broker has confirmed b's request */
    ask_a(true); /* as after the death of its first handler: nothing of b went out */
    stage_settle();
    ck_assert_int_eq(requests_of("o1.b.2.do"), 2);
    ck_assert(fake_broker_last("request")->is_again);
    ck_assert(fake_store_order("o1")->order.steps[1].is_maybe);
    ck_assert_int_eq(requests_of("o1.a.2.do"), 1); /* it is not awaited any more */
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(fake_broker.acked, acked + 2);
}
END_TEST

/* Would catch: requests that are made again with a message that did not cause them. */
START_TEST(effects_of_a_refused_request_are_made_again_with_no_other_cause)
{
    refusal_sends_b();
    fake_broker.is_held = false;
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_RUNNING);
    stage_submit("o1", true);
    stage_answer("o1.a#1 transient again");
    ck_assert_int_eq(requests_of("o1.b.2.do"), 1);
    ck_assert_int_eq(requests_of("o1.a.2.do"), 1);
}
END_TEST

/* Would catch: a refusal and its effects, lost with its COMMIT. */
START_TEST(a_refusal_whose_commit_is_unknown_makes_its_effects)
{
    const enum fake_commit kinds[] = {FAKE_COMMIT_UNKNOWN_DONE, FAKE_COMMIT_UNKNOWN_LOST};
    refusal_sends_b();
    fake_store.next_commit = kinds[_i];
    stage_settle();
    ck_assert_int_eq(requests_of("o1.b.2.do"), 0);
    fake_broker.is_held = false;
    fake_loop_advance(6000); /* past the backoff */
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_RUNNING);
    ck_assert_int_eq(requests_of("o1.b.2.do"), 1);
    ck_assert_int_eq(fake_broker.acked, 4);
}
END_TEST

/* Would catch: a duplicate that sends a request again because the store was away at its first read. */
START_TEST(a_duplicate_publishes_nothing_though_the_store_was_away)
{
    stage_submit_from("o1", "[1]", NULL, false);
    stage_settle();
    int count = fake_broker.count;
    fake_store.lost_loads = 1;
    stage_submit_from("o1", "[1]", NULL, false);
    stage_settle();
    ck_assert_int_eq(fake_store.lost_loads, 0);
    ck_assert_int_eq(fake_broker.acked, 1);
    fake_loop_advance(6000); /* past the backoff */
    stage_settle();
    ck_assert_int_eq(fake_broker.acked, 2);
    ck_assert_int_eq(fake_broker.count, count);
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
}
END_TEST

/* Would catch the same for a duplicate in one batch with another order's write and an unknown outcome. */
START_TEST(a_duplicate_publishes_nothing_though_its_neighbours_commit_is_unknown)
{
    const enum fake_commit kinds[] = {FAKE_COMMIT_UNKNOWN_DONE, FAKE_COMMIT_UNKNOWN_LOST};
    stage_submit_from("o1", "[1]", NULL, false);
    stage_settle();
    stage_submit_from("o1", "[1]", NULL, false);
    stage_submit_from("o2", "[1]", NULL, false);
    fake_store.next_commit = kinds[_i];
    stage_settle();
    fake_loop_advance(6000); /* past the backoff */
    stage_settle();
    ck_assert_int_eq(fake_broker.acked, 3);
    ck_assert_int_eq(requests_of("o1.reserve.1.do"), 1);
    ck_assert_int_eq(requests_of("o2.reserve.1.do"), 1);
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler again");
    TCase *again = tcase_create("again");
    tcase_add_checked_fixture(again, stage_start, stage_finish);
    tcase_add_test(again, effects_of_a_refused_request_are_made_again_with_their_cause);
    tcase_add_test(again, effects_of_a_refused_request_are_made_again_with_no_other_cause);
    tcase_add_loop_test(again, a_refusal_whose_commit_is_unknown_makes_its_effects, 0, 2);
    tcase_add_test(again, a_duplicate_publishes_nothing_though_the_store_was_away);
    tcase_add_loop_test(again, a_duplicate_publishes_nothing_though_its_neighbours_commit_is_unknown, 0, 2);
    suite_add_tcase(suite, again);
    return run_suite(suite);
}
