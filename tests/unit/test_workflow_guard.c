/* Guards of a workflow: read, checked and evaluated. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "workflow/workflow.h"

#define STEP(name, more)                                                                                     \
    "{\"step\":\"" name "\",\"service\":\"s\"," more                                                         \
    "\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/a\"}}"
#define WORKFLOW(order, steps)                                                                               \
    "{\"workflow\":\"w\",\"version\":1,\"values\":{\"gross\":\"round(payload.total * 1.077, 2)\"}," order    \
    "\"steps\":[" steps "]}"
#define OF_THIRD(more) WORKFLOW("", STEP("one", "") "," STEP("two", "") "," STEP("three", more))

static const char PAYLOAD[] = "{\"total\": 60.35, \"name\": \"x\"}";

static struct mg_workflow *parse(const char *text)
{
    struct mg_workflow *workflow;
    struct mg_err err = {MG_OK, ""};
    ck_assert_msg(mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    return workflow;
}

static const struct {
    const char *guard;
    uint64_t skipped;
    enum mg_fact fact;
    const char *text, *why;
} VERDICTS[] = {
    {"\"when\":\"values.gross > 50.00\",", 0, MG_FACT_GO, NULL, ""},
    {"\"when\":\"values.gross > 500.00\",", 0, MG_FACT_SKIP, NULL,
     "values.gross > 500.00 was 65.00 > 500.00"},
    {"\"when\":\"state.one == 'done'\",", 0, MG_FACT_GO, NULL, ""},
    {"\"when\":\"state.one == 'done'\",", 1, MG_FACT_SKIP, NULL, "'skipped' == 'done'"},
    {"\"when\":\"state.one == 'skipped' && state.two == 'done'\",", 1, MG_FACT_GO, NULL, ""},
    {"\"when\":\"has(results.one)\",", 1, MG_FACT_SKIP, NULL,
     ""}, /* the result of a skipped step does not count */
    {"\"when\":\"results.one.n == 7.5\",", 0, MG_FACT_GO, NULL, ""},
    {"\"when\":\"payload.coupon == 'X'\",", 0, MG_FACT_ERROR, NULL,
     "when: column 9: there is no member \"coupon\""},
    {"\"require\":[{\"that\":\"payload.total > 0\",\"text\":\"a\"},{\"that\":\"payload.total > 100\",\"text\":\"too small\"}],",
     0, MG_FACT_REFUSE, "too small", "payload.total > 100 was 60.35 > 100"},
    {"\"when\":\"values.gross > 500\",\"require\":[{\"that\":\"payload.coupon\",\"text\":\"a\"}],", 0,
     MG_FACT_SKIP, NULL, "was 65.00 > 500"},
    {"\"require\":[{\"that\":\"payload.coupon == 1\",\"text\":\"a\"}],", 0, MG_FACT_ERROR, NULL,
     "require: column"},
    {"\"when\":\"order.priority == 'high'\",", 0, MG_FACT_GO, NULL, ""},
    {"\"when\":\"time(order.accepted_at) < time('2026-01-31T13:34:56.701+01:00')\",", 0, MG_FACT_GO, NULL,
     ""},
    {"\"when\":\"order.accepted_at >= '2026-02'\",", 0, MG_FACT_SKIP, NULL,
     "order.accepted_at >= '2026-02' was '2026-01-31T12:34:56.700Z' >= '2026-02'"},
    {"\"require\":[{\"that\":\"order.accepted_at < '2026'\",\"text\":\"too late\"}],", 0, MG_FACT_REFUSE,
     "too late", "was '2026-01-31T12:34:56.700Z' < '2026'"},
    {"", 0, MG_FACT_GO, NULL, ""},
};

/* Catches: a missing member that passes for false, a skipped step's result that counts, another verdict for
 * the same input. */
START_TEST(a_guard_decides_by_what_is_stored)
{
    char text[2000];
    struct mg_slice results[MG_STEPS_MAX] = {mg_slice_of("{\"n\":7.50}")}, said;
    struct mg_buf why;
    (void)snprintf(text, sizeof(text), OF_THIRD("%s"), VERDICTS[_i].guard);
    struct mg_workflow *workflow = parse(text);
    struct mg_render_input input = {.workflow = workflow,
                                    .order_id = "o-1",
                                    .payload = mg_slice_of(PAYLOAD),
                                    .results = results,
                                    .skipped = VERDICTS[_i].skipped,
                                    .accepted_at_ms = INT64_C(1769862896700),
                                    .is_high = true};
    results[0] = VERDICTS[_i].skipped == 0 ? results[0] : (struct mg_slice){NULL, 0};
    for (int round = 0; round < 2; round++) {
        mg_buf_init(&why, 1000);
        ck_assert_int_eq(mg_workflow_guard_decide(&input, 2, &said, &why), VERDICTS[_i].fact);
        ck_assert(mg_slice_is(said, VERDICTS[_i].text != NULL ? VERDICTS[_i].text : "") ||
                  (said.data == NULL && VERDICTS[_i].text == NULL));
        mg_buf_append_text(&why, ".");
        ck_assert_msg(strstr(why.data, VERDICTS[_i].why) != NULL, "%s", why.data);
        mg_buf_finish(&why);
    }
    ck_assert_int_eq(workflow->plan.steps[2].has_guard, VERDICTS[_i].guard[0] != '\0');
    ck_assert_int_eq(workflow->has_guards, VERDICTS[_i].guard[0] != '\0');
    mg_workflow_destroy(workflow);
}
END_TEST

/* Catches: `needs` that orders nothing, or that takes the step before it in the list as well. */
START_TEST(needs_are_also_an_order)
{
    struct mg_workflow *workflow = parse(
        WORKFLOW("", STEP("one", "") "," STEP("two", "") "," STEP("three", "\"needs\":[\"one\"],") "," STEP(
                         "four", "\"needs\":[\"one\"],\"after\":[\"three\"],")));
    ck_assert_uint_eq(workflow->plan.steps[2].needs, 1);
    ck_assert_uint_eq(workflow->plan.steps[2].after, 1);
    ck_assert_uint_eq(workflow->plan.steps[3].needs, 1);
    ck_assert_uint_eq(workflow->plan.steps[3].after, 5);
    ck_assert(workflow->has_guards && !workflow->plan.steps[2].has_guard);
    mg_workflow_destroy(workflow);
}
END_TEST

/* Catches: an order that is taken against its definition's requirement, or refused without the values. */
START_TEST(an_order_is_held_against_its_requirements)
{
    struct mg_err err = {MG_OK, ""};
    struct mg_workflow *workflow =
        parse(WORKFLOW("\"require\":[{\"that\":\"values.gross > 1\",\"text\":\"the total is too small\"}],",
                       STEP("one", "")));
    struct mg_render_input input = {.workflow = workflow, .order_id = "o-1", .payload = mg_slice_of(PAYLOAD)};
    ck_assert_int_eq(mg_workflow_admit(&input, &err), MG_OK);
    input.payload = mg_slice_of("{\"total\":0.10}");
    ck_assert_int_eq(mg_workflow_admit(&input, &err), MG_PERMANENT);
    ck_assert_str_eq(err.text, "requirement: the total is too small (values.gross > 1 was 0.11 > 1)");
    input.payload = mg_slice_of("{}");
    ck_assert_int_eq(mg_workflow_admit(&input, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "there is no member \"total\""));
    mg_workflow_destroy(workflow);
    workflow = parse(
        WORKFLOW("\"require\":[{\"that\":\"order.accepted_at < '2026'\",\"text\":\"the sale is over\"}],",
                 STEP("one", "")));
    input.workflow = workflow;
    input.accepted_at_ms = INT64_C(1767225599999);
    ck_assert_int_eq(mg_workflow_admit(&input, &err), MG_OK);
    input.accepted_at_ms++;
    ck_assert_int_eq(mg_workflow_admit(&input, &err), MG_PERMANENT);
    ck_assert_str_eq(
        err.text,
        "requirement: the sale is over (order.accepted_at < '2026' was '2026-01-01T00:00:00.000Z' < '2026')");
    mg_workflow_destroy(workflow);
}
END_TEST

/* Catches: an order that is refused for a value that only a step after a condition needs. */
START_TEST(a_guarded_step_needs_nothing_of_a_payload)
{
    static const char DO[] =
        "{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"one\",\"service\":\"s\",%s"
        "\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/a/${/payload/id}\"}}]}";
    char text[500];
    for (int is_guarded = 0; is_guarded < 2; is_guarded++) {
        (void)snprintf(text, sizeof(text), DO, is_guarded ? "\"when\":\"has(payload.id)\"," : "");
        struct mg_workflow *workflow = parse(text);
        ck_assert_int_eq(mg_workflow_lacks(workflow, mg_slice_of("{}")) == NULL, is_guarded);
        mg_workflow_destroy(workflow);
    }
}
END_TEST

static const struct {
    const char *text, *says;
} MISTAKES[] = {
    {OF_THIRD("\"when\":\"1 < 2\","), "/steps/2/when: always true: 1 < 2; leave it out"},
    {OF_THIRD("\"when\":\"size(payload.a)\","), "/steps/2/when"},
    {OF_THIRD("\"when\":\"values.gros > 1\","), "values.gross"},
    {OF_THIRD("\"when\":\"state.three == 'done'\","), "/steps/2/when: step \"three\" is not before this one"},
    {OF_THIRD("\"after\":[],\"when\":\"results.one.n == 1\","), "step \"one\" is not before this one"},
    {OF_THIRD("\"require\":[],"), "/steps/2/require: 0 requirements"},
    {OF_THIRD("\"require\":[{\"that\":\"payload.a\"}],"), "text"},
    {OF_THIRD("\"require\":[{\"that\":\"results.three.a == 1\",\"text\":\"x\"}],"),
     "/steps/2/require/0/that: step \"three\" is not before"},
    {OF_THIRD("\"needs\":[\"three\"],"), "/steps/2/needs/0: a step cannot come after itself"},
    {OF_THIRD("\"needs\":[\"on\"],"), "/steps/2/needs/0: there is no step \"on\""},
    {WORKFLOW("\"require\":[{\"that\":\"results.one.a == 1\",\"text\":\"x\"}],", STEP("one", "")),
     "/require/0/that: step \"one\" has no result yet when an order comes in"},
    {WORKFLOW("", STEP("one", "\"needs\":[\"two\"],") "," STEP("two", "")), "a cycle"},
};

START_TEST(a_mistake_in_a_guard_is_found_when_the_definition_is)
{
    struct mg_workflow *workflow;
    struct mg_err err = {MG_OK, ""};
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of(MISTAKES[_i].text), NULL, &workflow, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, MISTAKES[_i].says) != NULL, "%s", err.text);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("workflow_guard");
    TCase *tests = tcase_create("workflow_guard");
    tcase_add_loop_test(tests, a_guard_decides_by_what_is_stored, 0, COUNT(VERDICTS));
    tcase_add_test(tests, needs_are_also_an_order);
    tcase_add_test(tests, an_order_is_held_against_its_requirements);
    tcase_add_test(tests, a_guarded_step_needs_nothing_of_a_payload);
    tcase_add_loop_test(tests, a_mistake_in_a_guard_is_found_when_the_definition_is, 0, COUNT(MISTAKES));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
