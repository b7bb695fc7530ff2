/* Each row and text of an order that a reading brings and a decision uses, damaged: nothing is decided. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "passing.h"

/* ---- damages ---- */

static void version_of_no_workflow(struct mg_order_record *record)
{
    record->workflow_version = 77;
}

static void workflow_of_no_row(struct mg_order_record *record)
{
    (void)snprintf(record->workflow, sizeof(record->workflow), "gone");
}

static void payload_cut(struct mg_order_record *record)
{
    record->payload = mg_slice_of("{broken");
}

static void result_cut(struct mg_order_record *record)
{
    record->steps[0].result = mg_slice_of("{\"id\":");
}

static void undo_result_cut(struct mg_order_record *record)
{
    record->steps[0].undo_result = mg_slice_of("");
}

static void failure_cut(struct mg_order_record *record)
{
    record->failure = mg_slice_of("step_failed");
}

static void step_of_another_name(struct mg_order_record *record)
{
    record->step_names[0] = "other";
}

static void step_of_another_service(struct mg_order_record *record)
{
    record->services[0] = "{broken";
}

static void step_of_another_place(struct mg_order_record *record)
{
    record->stored_steps = UINT64_C(1) << 40;
    record->step_names[40] = record->step_names[0];
    record->services[40] = record->services[0];
}

/* Of a workflow that is not in the cache. */
static void definition_is(struct mg_order_record *record, const char *definition)
{
    (void)snprintf(record->workflow, sizeof(record->workflow), "other");
    fake_store.workflow = "other";
    fake_store.definition = definition;
}

static void definition_cut(struct mg_order_record *record)
{
    definition_is(record, "{broken");
}

static void definition_of_another_workflow(struct mg_order_record *record)
{
    definition_is(record, STAGE_DEFINITION);
}

static const struct {
    void (*damage)(struct mg_order_record *record);
    const char *reason;
} DAMAGES[] = {
    {version_of_no_workflow, "the database has no version 77 of workflow two"},
    {workflow_of_no_row, "the database has no version 1 of workflow gone"},
    {definition_cut, "the database has no sound version 1 of workflow other"},
    {definition_of_another_workflow, "the database has no sound version 1 of workflow other"},
    {payload_cut, "its payload is no JSON"},
    {result_cut, "the result of step \\\"reserve\\\" is no JSON"},
    {undo_result_cut, "the result of step \\\"reserve\\\" is no JSON"},
    {failure_cut, "its failure is no JSON"},
    {step_of_another_name, "its row of step 0 is of \\\"other\\\", the workflow's is reserve"},
    {step_of_another_service, "is of service \\\"{broken\\\", the workflow's of"},
    {step_of_another_place, "its row of step 40 is of \\\"reserve\\\", the workflow's is not there"},
};
#define DAMAGE_COUNT (int)(sizeof(DAMAGES) / sizeof(DAMAGES[0]))

/* ---- the damaged order alongside a sound one ---- */

/* Would catch: damage that is judged as the order's own failure, so that its paid steps are undone; damage
 * that is left to a newer scheduler, which is not there, without an alert. */
START_TEST(a_damaged_order_is_set_aside_and_not_judged)
{
    stage_submit("o1", false);
    stage_begin("o2");
    fake_store_bump("o1"); /* not as it is in the cache */
    const struct mg_order_record sound = *fake_store_record("o1");
    DAMAGES[_i].damage(fake_store_record("o1"));
    reply("o1");
    reply("o2");
    pass(15000);
    ck_assert_int_eq(stage_step("o2", 1), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_store_event_count("o1"), 1);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
    ck_assert_int_eq(fake_broker.rejected, 1); /* its reply is kept */
    ck_assert_int_eq(fake_broker.requeued, 0);
    ck_assert_int_eq(fake_broker_count("alert"), 1);
    const char *alert = fake_broker_last("alert")->body;
    ck_assert_msg(strstr(alert, "\"alert\":\"set_aside\"") != NULL, "%s", alert);
    ck_assert_msg(strstr(alert, DAMAGES[_i].reason) != NULL, "no %s in: %s", DAMAGES[_i].reason, alert);
    *fake_store_record("o1") = sound;
    fake_store.aside = NULL; /* readmitted */
    reply("o1");
    pass(250);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
}
END_TEST

/* Would catch: a submission that is left to newer schedulers, and an alert that asks for an upgrade, since
 * the stored definition of its workflow is broken. */
START_TEST(a_submission_of_a_damaged_workflow_is_set_aside_with_a_status)
{
    const struct fake_delivery submission = {
        .consumer = MG_LANE_NORMAL,
        .body = "{\"order_id\":\"o1\",\"workflow\":\"other\",\"payload\":{}}",
        .message_id = "o1"};
    stage_begin("o2");
    fake_store.workflow = "other";
    fake_store.definition = "{broken";
    fake_broker_deliver(&submission);
    reply("o2");
    pass(15000);
    ck_assert_int_eq(stage_step("o2", 1), MG_STEP_RUNNING);
    ck_assert_int_eq(fake_broker.rejected, 1);
    ck_assert_int_eq(fake_broker.requeued, 0);
    const char *alert = fake_broker_last("alert")->body;
    ck_assert_msg(strstr(alert, "\"alert\":\"set_aside\"") != NULL &&
                      strstr(alert, "the database has no sound version 1 of workflow other") != NULL,
                  "%s", alert);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler damage");
    TCase *damage = tcase_create("damage");
    tcase_add_checked_fixture(damage, stage_start, stage_finish);
    tcase_add_loop_test(damage, a_damaged_order_is_set_aside_and_not_judged, 0, DAMAGE_COUNT);
    tcase_add_test(damage, a_submission_of_a_damaged_workflow_is_set_aside_with_a_status);
    suite_add_tcase(suite, damage);
    return run_suite(suite);
}
