/* Guards of steps in the scheduler: the verdict is decided in the fold of its cause, and its reason is kept.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

#define STEP(name, service, more)                                                                            \
    "{\"step\":\"" name "\",\"service\":\"" service "\"," more                                               \
    "\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"}"
#define WORKFLOW(more, steps)                                                                                \
    "{\"workflow\":\"two\",\"version\":1,\"on_failure\":\"error\"," more "\"steps\":[" steps "]}"

static void submit(const char *definition, const char *items)
{
    fake_store.definition = definition;
    stage_submit_from("o1", items, "client", false);
    stage_settle();
}

static int sent(const char *type, const char *text)
{
    int count = 0;
    for (int i = 0; i < fake_broker.count; i++) {
        const struct fake_published *published = &fake_broker.published[i];
        count += strcmp(published->type, type) == 0 && strstr(published->body, text) != NULL;
    }
    return count;
}

/* The first event of the order with this cause. */
static const struct mg_event_record *event_of(enum mg_cause_kind kind)
{
    for (int i = 0; i < fake_store_event_count("o1"); i++) {
        if (fake_store_event("o1", i)->cause_kind == kind) {
            return fake_store_event("o1", i);
        }
    }
    return NULL;
}

/* Would catch: a request of a skipped step, a step that runs without those that it needs, a reason without
 * values.
 */
START_TEST(a_step_whose_condition_is_false_sends_nothing)
{
    submit(
        WORKFLOW("", STEP("reserve", "inventory", "\"when\":\"size(payload.items) > 5\",") "," STEP(
                         "wrap", "inventory", "\"needs\":[\"reserve\"],") "," STEP("charge", "payment", "")),
        "[3.00]");
    ck_assert_int_eq(sent("request", "\"reserve\""), 0);
    ck_assert_int_eq(sent("request", "\"wrap\""), 0);
    ck_assert_int_eq(sent("request", "\"charge\""), 1);
    const struct mg_event_record *event = event_of(MG_CAUSE_FACTS);
    ck_assert_ptr_nonnull(event);
    ck_assert_msg(mg_slice_is(event->reason, "size(payload.items) > 5 was 1 > 5"), "%.*s",
                  (int)event->reason.len, event->reason.data);
    ck_assert_ptr_nonnull(strstr(event->transitions.data, "\"reason\":\"when_false\""));
    ck_assert_ptr_nonnull(strstr(event->transitions.data, "\"reason\":\"needs_skipped\""));
    stage_answer("o1.charge#1");
    ck_assert_int_eq(sent("status", "\"processed\""), 1);
}
END_TEST

/* Would catch: a verdict that does not count any more, and yet stands with its step as its failure. */
START_TEST(a_verdict_behind_a_refusal_leaves_its_step_alone)
{
    submit(
        WORKFLOW(
            "",
            STEP("reserve", "inventory", "\"after\":[],\"require\":[{\"that\":\"size(payload.items) > 5\",\"text\":\"few\"}],") "," STEP(
                "charge", "payment", "\"after\":[],\"when\":\"size(payload.items) > 5\",")),
        "[3.00]");
    const struct mg_order_record *record = fake_store_order("o1");
    ck_assert_int_eq(record->order.state, MG_ORDER_ERROR);
    ck_assert(mg_slice_is(record->steps[0].error_code, "requirement"));
    ck_assert_int_eq(record->order.steps[1].state, MG_STEP_PENDING);
    ck_assert_ptr_null(record->steps[1].error_code.data);
    ck_assert_ptr_null(record->steps[1].error_text.data);
}
END_TEST

/* Would catch: a step that may have happened, and is passed by or refused without that reason. */
START_TEST(a_step_that_may_have_happened_is_not_skipped)
{
    submit(WORKFLOW("", STEP("reserve", "inventory", "") "," STEP("charge", "payment",
                                                                  "\"when\":\"size(payload.items) > 5\",")),
           "[3.00]");
    fake_store_record("o1")->order.steps[1].is_maybe = true; /* as a restart leaves it */
    fake_store_bump("o1");
    stage_answer("o1.reserve#1");
    const struct mg_order_record *record = fake_store_order("o1");
    ck_assert_int_eq(record->order.steps[1].state, MG_STEP_FAILED);
    ck_assert(mg_slice_is(record->steps[1].error_code, "skip_refused"));
    ck_assert(
        mg_slice_is(record->steps[1].error_text,
                    "it would be skipped, but an earlier attempt may have happened (size(payload.items) > 5 "
                    "was 1 > 5)"));
    ck_assert_int_eq(sent("status", "\"code\":\"skip_refused\",\"text\":\"it would be skipped, but"), 1);
}
END_TEST

#define FEW    "\"require\":[{\"that\":\"size(payload.items) > 5\",\"text\":\"too few items\"}],"
#define REASON "too few items (size(payload.items) > 5 was 1 > 5)"

/* A definition, whether its step goes out for one item, and what is sent to the client and the operator. */
static const struct {
    const char *definition;
    int requests;
    const char *sent[2][2];
} VERDICTS[] = {
    {WORKFLOW("", STEP("reserve", "inventory", "\"when\":\"size(payload.items) == 1\",")), 1, {{NULL}}},
    {WORKFLOW("", STEP("reserve", "inventory", FEW)),
     0,
     {{"status", "\"code\":\"requirement\",\"text\":\"" REASON "\""}, {"alert", "; step reserve: " REASON}}},
    {WORKFLOW("", STEP("reserve", "inventory", "\"when\":\"payload.coupon == 1\",")),
     0,
     {{"status", "there is no member \\\"coupon\\\""}}},
    {WORKFLOW(FEW, STEP("reserve", "inventory", "")),
     0,
     {{"status", "requirement: " REASON}, {"status", "\"cause\":{\"code\":\"requirement\","}}},
};

/* Would catch: an error that passes for false; a refusal that its client cannot understand; an order that is
 * taken against `require` of its workflow. */
START_TEST(a_verdict_has_its_effect_and_its_reason)
{
    submit(VERDICTS[_i].definition, "[3.00]");
    ck_assert_int_eq(sent("request", "\"reserve\""), VERDICTS[_i].requests);
    for (int i = 0; i < 2 && VERDICTS[_i].sent[i][0] != NULL; i++) {
        ck_assert_int_eq(sent(VERDICTS[_i].sent[i][0], VERDICTS[_i].sent[i][1]), 1);
    }
    ck_assert(VERDICTS[_i].requests == 0 || event_of(MG_CAUSE_FACTS) != NULL);
}
END_TEST

/* Below the events that the fake store keeps; each asking anew about all others would be far above. */
#define GUARDS 48

/* Would catch: guards that ask about each other until the list of follow-ups is full. */
START_TEST(many_guards_are_decided_in_one_fold)
{
    char text[16000];
    size_t len = (size_t)snprintf(text, sizeof(text), "{\"workflow\":\"two\",\"version\":1,\"steps\":[");
    for (int i = 0; i < GUARDS; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len,
                                "%s{\"step\":\"s%d\",\"service\":\"payment\",\"after\":[],"
                                "\"when\":\"size(payload.items) > 5\",\"undo\":\"none\","
                                "\"do\":{\"method\":\"POST\",\"path\":\"/x\"}}",
                                i > 0 ? "," : "", i);
    }
    (void)snprintf(text + len, sizeof(text) - len, "]}");
    submit(text, "[3.00]");
    ck_assert_int_eq(sent("status", "\"processed\""), 1);
    ck_assert_int_eq(fake_store_event_count("o1"), 1 + GUARDS);
}
END_TEST

static void command(const char *id, const char *words)
{
    stage_act("%s o1 %s to=me", id, words);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("command_result")->body, "\"done\""));
}

static void refuse_charge(uint32_t attempt)
{
    stage_answer("o1.charge#%d permanent", attempt);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
}

/* Would catch: a charge for a reservation that was undone before the order began again, because the step that
 * made it is skipped this time. */
START_TEST(a_skip_of_a_restarted_order_leaves_no_result_of_before)
{
    submit(WORKFLOW(
               "", "{\"step\":\"reserve\",\"service\":\"inventory\",\"when\":\"size(payload.items) < 2\","
                   "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},"
                   "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/do_key}\"}},"
                   "{\"step\":\"charge\",\"service\":\"payment\",\"do\":{\"method\":\"POST\",\"path\":\"/c\","
                   "\"body\":{\"of\":\"${= has(results.reserve) ? results.reserve.ref : null}\"}},"
                   "\"undo\":\"none\"}"),
           "[3.00]");
    stage_answer("o1.reserve#1");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "{\"of\":7.50}"));
    refuse_charge(1);
    command("c-1", "resume by=ann set=[{\"pointer\":\"/items\",\"value\":[1,2]}]");
    refuse_charge(2);
    command("c-2", "compensate by=ann");
    stage_answer("o1.reserve#2 undo");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_COMPENSATED);
    command("c-3", "restart by=ann");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_SKIPPED);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "{\"of\":null}"));
}
END_TEST

#define ACCEPTED                                                                                             \
    "{\"step\":\"reserve\",\"service\":\"inventory\",\"finish_within\":\"1h\",\"learn\":\"verify\","         \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"verify\":{\"method\":\"GET\",\"path\":\"/r\"},"          \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/results/reserve/ref}/${/payload/items/0}\"}}"
#define ASKING                                                                                               \
    "{\"step\":\"charge\",\"service\":\"payment\",\"undo\":\"none\",\"do\":{\"method\":\"POST\","            \
    "\"path\":\"/c\",\"body\":[\"${= has(results.reserve)}\",\"${= state.reserve}\","                        \
    "\"${= state.reserve == 'done' ? results.reserve.ref : 0}\"]}}"

static void due(const char *step)
{
    stage_act("d-1 o1 due step=%s attempt=1 by=s", step);
}

/* Would catch: the result of accepted work, kept for its undo, that later steps use though an operator
 * skipped the work; and an undo that has lost it. */
START_TEST(a_kept_result_of_a_skipped_step_is_for_its_undo_alone)
{
    submit(WORKFLOW("", ACCEPTED "," ASKING), "[3.00]");
    stage_answer("o1.reserve#1 accepted maybe over");
    stage_act("s-1 o1 skip step=reserve by=ann to=amq.gen-tool");
    ck_assert_int_eq(sent("request", "[false,\"skipped\",0]"), 1);
    stage_answer("o1.charge#1 permanent");
    stage_act("r-1 o1 resume by=ann set=[{\"pointer\":\"/items\",\"value\":[4]}] to=amq.gen-tool");
    ck_assert_int_eq(sent("command_result", "its undo would no longer fit"), 1);
    stage_act("c-1 o1 compensate by=ann to=amq.gen-tool");
    stage_pass(60000);
    due("reserve");
    ck_assert_int_eq(sent("request", "/r/7.50/3.00"), 1);
}
END_TEST

#define ASKING_ALWAYS                                                                                        \
    "{\"step\":\"charge\",\"service\":\"payment\",\"complete_within\":\"10s\",\"retry\":{\"attempts\":1},"   \
    "\"on_unknown\":\"retry\",\"learn\":\"repeat\",\"do\":{\"method\":\"POST\",\"path\":\"/c\","             \
    "\"body\":[\"${= has(results.reserve)}\",\"${= state.reserve}\"]},"                                      \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/c/${/results/charge/ref}/${= state.reserve}\"}}"

/* Would catch: a step that counts as done for others while it is undone, though it was skipped: a do that is
 * repeated with other bytes (law 8, derived identities), and an undo that does not fit its do. */
START_TEST(a_step_stays_skipped_for_others_while_it_is_undone)
{
    submit(WORKFLOW("", ACCEPTED "," ASKING_ALWAYS), "[3.00]");
    stage_answer("o1.reserve#1 accepted maybe over");
    stage_act("s-1 o1 skip step=reserve by=ann to=amq.gen-tool");
    ck_assert_int_eq(sent("request", "[false,\"skipped\"]"), 1);
    stage_answer("o1.charge#1 transient maybe http_503 over");
    stage_act("c-1 o1 compensate by=ann to=amq.gen-tool");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_PENDING);
    ck_assert_int_eq(sent("request", "[false,\"skipped\"]"), 2);
    stage_answer("o1.charge#2 do over");
    ck_assert_int_eq(sent("request", "/c/7.50/skipped"), 1);
}
END_TEST

/* Law 8, derived identities. Catches: a skipped step that is settled as done, so that the request of a step
 * after it, which is out, would carry other bytes at its next attempt. */
START_TEST(a_skipped_step_is_not_settled_against_a_request_that_is_out)
{
    submit(WORKFLOW("", ACCEPTED "," ASKING), "[3.00]");
    stage_answer("o1.reserve#1 accepted maybe over");
    stage_act("s-1 o1 skip step=reserve by=ann to=amq.gen-tool");
    ck_assert_int_eq(sent("request", "[false,\"skipped\",0]"), 1);
    stage_act("s-2 o1 %s to=amq.gen-tool",
              _i == 0 ? "settle step=reserve outcome=done by=ann"
                      : "settle step=reserve outcome=done by=ann result={\"ref\":7.50}");
    ck_assert_int_eq(sent("command_result", "a request of step charge was made without this step"), 1);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_SKIPPED);
    stage_act("s-3 o1 settle step=reserve outcome=absent by=ann to=amq.gen-tool");
    ck_assert_int_eq(sent("command_result", "made without"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_guard");
    TCase *tests = tcase_create("scheduler_guard");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, a_step_whose_condition_is_false_sends_nothing);
    tcase_add_loop_test(tests, a_verdict_has_its_effect_and_its_reason, 0,
                        (int)(sizeof(VERDICTS) / sizeof(VERDICTS[0])));
    tcase_add_test(tests, a_verdict_behind_a_refusal_leaves_its_step_alone);
    tcase_add_test(tests, a_step_that_may_have_happened_is_not_skipped);
    tcase_add_test(tests, many_guards_are_decided_in_one_fold);
    tcase_add_test(tests, a_skip_of_a_restarted_order_leaves_no_result_of_before);
    tcase_add_test(tests, a_kept_result_of_a_skipped_step_is_for_its_undo_alone);
    tcase_add_test(tests, a_step_stays_skipped_for_others_while_it_is_undone);
    tcase_add_loop_test(tests, a_skipped_step_is_not_settled_against_a_request_that_is_out, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
