/* Expressions in a workflow: computed values, and ${= …} in its templates. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "workflow/workflow.h"

#define STEP(name, body)                                                                                     \
    "{\"step\":\"" name                                                                                      \
    "\",\"service\":\"s\",\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/a\","                    \
    "\"body\":" body "}}"
#define WORKFLOW(values, steps)                                                                              \
    "{\"workflow\":\"w\",\"version\":1,\"values\":" values ",\"steps\":[" steps "]}"

static const struct {
    const char *body, *result, *says;
} BODIES[] = {
    {"{\"amount\":\"${= values.gross}\"}", "{\"amount\":15.08}", NULL},
    {"{\"amount\":\"${=payload.total + 1}\",\"n\":\"${/payload/total}\"}", "{\"amount\":15.00,\"n\":14.00}",
     NULL},
    {"\"Order ${= order.id} over ${= values.gross} ${/order_id}\"", "\"Order o-1 over 15.08 o-1\"", NULL},
    {"[\"${= payload.name}\",\"a ${= payload.name}\"]", "[\"M\\u00fcll\",\"a M\xc3\xbcll\"]", NULL},
    {"\"${= has(payload.coupon) ? payload.coupon : null}\"", "null", NULL},
    {"\"${= payload.items}\"", "[ 1, 2.0 ]", NULL},
    {"\"${= payload.total > 10 && 'x' in [\\\"x\\\", '}']}\"", "true", NULL},
    {"\"${= results.one.id + '/' + string(results.one.n)}\"", "\"r-1/7.50\"", NULL},
    {"\"${= values.from_result}\"", "15.00", NULL},
    {"\"$${= 1}\"", "\"${= 1}\"", NULL},
    {"[\"${= order.accepted_at}\",\"a ${= order.accepted_at + '/' + order.priority}\"]",
     "[\"2026-01-31T12:34:56.700Z\",\"a 2026-01-31T12:34:56.700Z/normal\"]", NULL},
    {"\"${= time(order.accepted_at) + duration('36h')}\"", "\"2026-02-02T00:34:56.700Z\"", NULL},
    {"\"${= payload.coupon}\"", NULL,
     "could not render \"do\" of step \"two\": body: column 9: there is no member \"coupon\" (payload.coupon)"},
    {"\"a ${= payload.items}\"", NULL, "its value is an array"},
    {"\"a ${= payload.coupon} b\"", NULL, "there is no member \"coupon\""},
    {"\"${= values.bad}\"", NULL,
     "has a number and a text, which do not go together (payload.total == payload.name)"},
};

static const char VALUES[] =
    "{\"gross\":\" round(values.net * 1.077, 2) \",\"net\":\"payload.total\",\"from_result\":\"results.one.n * 2\","
    "\"bad\":\"payload.total == payload.name\"}";

static enum mg_class parse(const char *text, struct mg_workflow **ret_workflow, struct mg_err *err)
{
    return mg_workflow_parse(mg_slice_of(text), NULL, ret_workflow, err);
}

START_TEST(an_expression_is_rendered_as_its_value)
{
    char text[2000], request[500];
    struct mg_workflow *workflow;
    struct mg_slice results[MG_STEPS_MAX] = {mg_slice_of("{\"id\":\"r-1\",\"n\":7.50}")};
    struct mg_buf buf;
    struct mg_err err = {MG_OK, ""};
    (void)snprintf(text, sizeof(text), WORKFLOW("%s", STEP("one", "1") "," STEP("two", "%s")), VALUES,
                   BODIES[_i].body);
    ck_assert_msg(parse(text, &workflow, &err) == MG_OK, "%s", err.text);
    for (int round = 0; round < 2; round++) { /* the same bytes each time (law 8, derived identities) */
        struct mg_render_input input = {
            .workflow = workflow,
            .order_id = "o-1",
            .payload = mg_slice_of("{\"total\": 14.00, \"name\": \"M\\u00fcll\", \"items\": [ 1, 2.0 ]}"),
            .results = results,
            .accepted_at_ms = INT64_C(1769862896700)};
        mg_buf_init(&buf, 10000);
        enum mg_class class = mg_workflow_render(&input, 1, MG_KIND_DO, "k", "k", &buf, &err);
        if (BODIES[_i].result != NULL) {
            ck_assert_msg(class == MG_OK, "%s", err.text);
            (void)snprintf(request, sizeof(request), "{\"method\":\"POST\",\"path\":\"/a\",\"body\":%s}",
                           BODIES[_i].result);
            ck_assert_str_eq(buf.data, request);
        } else {
            ck_assert_int_eq(class, MG_PERMANENT);
            ck_assert_msg(strstr(err.text, BODIES[_i].says) != NULL, "%s", err.text);
        }
        mg_buf_finish(&buf);
    }
    mg_workflow_destroy(workflow);
}
END_TEST

static const struct {
    const char *text, *says;
} MISTAKES[] = {
    {WORKFLOW("{\"a\":\"payload.x +\"}", STEP("one", "1")),
     "/values/a: column 12: a value is expected where the expression ends"},
    {WORKFLOW("{\"a\":\"values.b\",\"b\":\"values.c + 1\",\"c\":\"values.a\"}", STEP("one", "1")),
     "/values/a: a circle: values.a needs itself"},
    {WORKFLOW("{\"a\":\"values.a\"}", STEP("one", "1")), "/values/a: a circle"},
    {WORKFLOW("{\"a\":12}", STEP("one", "1")), "/values/a: a number; an expression is expected"},
    {WORKFLOW("{\"Net\":\"1\"}", STEP("one", "1")), "/values/Net: a value's name has small letters"},
    {WORKFLOW("[]", STEP("one", "1")), "/values"},
    {WORKFLOW("{}", STEP("one", "\"${= values.x}\"")),
     "/steps/0/do/body: ${=values.x}: column 1: no such name"},
    {WORKFLOW("{\"gross\":\"1\"}", STEP("one", "\"${= values.gros}\"")), "did you mean \"values.gross\"?"},
    {WORKFLOW("{}", STEP("one", "\"${= results.one.x}\"")), "the step's own result does not exist yet"},
    {WORKFLOW("{}", STEP("one", "\"${= results.two.x}\"") "," STEP("two", "1")),
     "step \"two\" is not before this one"},
    {WORKFLOW("{\"a\":\"values.b\",\"b\":\"results.two.x\"}",
              STEP("one", "\"${= values.a}\"") "," STEP("two", "1")),
     "step \"two\" is not before this one"},
    {WORKFLOW("{}", STEP("one", "\"${= results.tow.x}\"") "," STEP("two", "1")),
     "\"results.tow\" is not there; did you mean \"results.two\"?"},
    {WORKFLOW("{}", STEP("one", "\"${= payload.x\"")), "without \"}\""},
    {WORKFLOW("{}", STEP("one", "\"${= 1 == 'a'}\"")), "they can never be equal"},
};

START_TEST(a_mistake_in_an_expression_is_found_when_the_definition_is)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err err = {MG_OK, ""};
    ck_assert_int_eq(parse(MISTAKES[_i].text, &workflow, &err), MG_BAD_INPUT);
    ck_assert_ptr_null(workflow);
    ck_assert_msg(strstr(err.text, MISTAKES[_i].says) != NULL, "%s", err.text);
}
END_TEST

/* Catches: a value that would refuse a step which does not use it. */
START_TEST(a_value_is_evaluated_where_it_is_used)
{
    struct mg_workflow *workflow;
    struct mg_err err = {MG_OK, ""};
    const char *text = WORKFLOW("{\"later\":\"results.two.x\",\"ok\":\"payload.total\"}",
                                STEP("one", "\"${= values.ok}\"") "," STEP("two", "1"));
    ck_assert_msg(parse(text, &workflow, &err) == MG_OK, "%s", err.text);
    mg_workflow_destroy(workflow);
}
END_TEST

/* Catches: an output whose expressions are not evaluated, and a trial of a result that leaves its expressions
 * out. */
START_TEST(an_output_and_an_undo_may_have_expressions)
{
    static const char TEXT[] =
        "{\"workflow\":\"w\",\"version\":1,\"output\":{\"sum\":\"${= results.one.n + 1}\"},\"steps\":[{"
        "\"step\":\"one\",\"service\":\"s\",\"learn\":\"repeat\",\"do\":{\"method\":\"POST\",\"path\":\"/a\"},"
        "\"undo\":{\"method\":\"DELETE\",\"path\":\"/a/${= results.one.id + '-x'}\"}}]}";
    struct mg_workflow *workflow;
    struct mg_slice results[MG_STEPS_MAX] = {mg_slice_of("{\"n\":7.50}")};
    struct mg_buf buf;
    struct mg_err err = {MG_OK, ""};
    ck_assert_msg(parse(TEXT, &workflow, &err) == MG_OK, "%s", err.text);
    struct mg_render_input input = {
        .workflow = workflow, .order_id = "o-1", .payload = mg_slice_of("{}"), .results = results};
    mg_buf_init(&buf, 10000);
    ck_assert_int_eq(mg_workflow_render_output(&input, &buf, &err), MG_OK);
    ck_assert_str_eq(buf.data, "{\"sum\":8.50}");
    mg_buf_clear(&buf);
    results[0] = mg_slice_of("{}");
    ck_assert_int_eq(mg_workflow_render_output(&input, &buf, &err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, "there is no member \"n\""));
    ck_assert_int_eq(mg_workflow_undo_check(workflow, 0, mg_slice_of("{\"id\":\"i\"}"), &err), MG_OK);
    ck_assert_int_eq(mg_workflow_undo_check(workflow, 0, mg_slice_of("{}"), &err), MG_PERMANENT);
    mg_buf_finish(&buf);
    mg_workflow_destroy(workflow);
}
END_TEST

static const struct {
    const char *expression, *result;
    bool is_known;
} OWN[] = {
    {"results.a.id + order.id", "{\"id\":\"i\"}", true},
    {"results.a.id + order.id", NULL, false},
    {"results.a.id + order.id", "{}", false},
    {"results.a.id + order.id", "{\"id\":\"\"}", false},
    {"results.a.id", "{\"id\":\"\"}", false},
    {"string(results.a.id)", "{\"id\":null}", false},
    {"values.both", "{\"id\":\"i\"}", true},
    {"values.both", "{\"x\":\"i\"}", false},
    {"values.both", NULL, false},
    {"results.a.list[1].id + payload.x", "{\"list\":[{},{\"id\":\"i\"}]}", true},
    {"results.a.list[1].id + payload.x", "{\"list\":[{\"id\":\"i\"}]}", false},
    {"results.a['i-d'] + payload.x", "{\"i-d\":\"i\"}", true},
    {"results.a['i-d'] + payload.x", NULL, false},
    {"results.a['i-d'] + payload.x", "{\"x\":1}", false},
    {"results.a.b[r'id'] + payload.x", "{\"b\":{\"id\":\"i\"}}", true},
    {"results.a.b[r'id'] + payload.x", "{}", false},
    {"results.a.b[r'id'] + payload.x", "{\"b\":{\"x\":1}}", false},
    {"has(results.a.id) ? results.a.id + order.id : order.id", "{}", true},
    {"results.a.at > order.accepted_at ? results.a.id : 'none'", "{\"at\":\"2026\",\"id\":\"i\"}", true},
};

/* Catches: an undo that goes out, or is given up, without its step's result, because the expression with that
 * result also uses something else. */
START_TEST(an_undo_lacks_its_result_in_an_expression)
{
    char text[1024];
    struct mg_workflow *workflow = NULL;
    struct mg_err err = {MG_OK, ""};
    (void)snprintf(
        text, sizeof(text),
        "{\"workflow\":\"w\",\"version\":1,\"values\":{\"id\":\"results.a.id\",\"both\":\"values.id + order.id\"},"
        "\"steps\":[{\"step\":\"a\",\"service\":\"s\",\"learn\":\"repeat\",\"do\":{\"method\":\"POST\",\"path\":\"/\"},"
        "\"undo\":{\"method\":\"POST\",\"path\":\"/\",\"body\":{\"id\":\"${= %s}\"}}}]}",
        OWN[_i].expression);
    ck_assert_msg(mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    struct mg_slice result =
        OWN[_i].result != NULL ? mg_slice_of(OWN[_i].result) : (struct mg_slice){NULL, 0};
    ck_assert_msg(mg_workflow_undo_check(workflow, 0, result, &err) ==
                      (OWN[_i].is_known ? MG_OK : MG_PERMANENT),
                  "%s of %s: %s", OWN[_i].expression, OWN[_i].result, err.text);
    mg_workflow_destroy(workflow);
}
END_TEST

/* ---- at the door ---- */

#define CART_STEP(name, more, undo)                                                                          \
    "{\"step\":\"" name "\",\"service\":\"s\"," more                                                         \
    "\"do\":{\"method\":\"POST\",\"path\":\"/a\",\"body\":{\"net\":\"${= values.net}\"}},"                   \
    "\"undo\":{\"method\":\"POST\",\"path\":\"/b\",\"body\":" undo "}}"
#define NET "{\"net\":\"payload.items.sum(i, i.qty * i.price)\"}"

/* A payload of so many lines, each of 59 bytes or a few more. */
static char *cart_make(int lines)
{
    struct mg_buf text;
    mg_buf_init(&text, (size_t)lines * 64 + 64);
    mg_buf_append_text(&text, "{\"weight\":2,\"items\":[");
    for (int i = 0; i < lines; i++) {
        mg_buf_printf(&text, "%s{\"sku\":\"article-%06d\",\"qty\":%d,\"price\":19.90,\"w\":0.25}",
                      i > 0 ? "," : "", i, i % 9 + 1);
    }
    mg_buf_append_text(&text, "]}");
    ck_assert(!text.failed);
    return text.data;
}

static enum mg_class admit(const char *definition, const char *payload, struct mg_err *err)
{
    struct mg_workflow *workflow;
    *err = (struct mg_err){MG_OK, ""};
    ck_assert_msg(parse(definition, &workflow, err) == MG_OK, "%s", err->text);
    struct mg_render_input input = {.workflow = workflow, .order_id = "o-1", .payload = mg_slice_of(payload)};
    enum mg_class class = mg_workflow_admit(&input, err);
    mg_workflow_destroy(workflow);
    return class;
}

/* Catches: a bound on steps that refuses sums over a cart which the limit of bytes admits. */
START_TEST(sums_over_the_largest_cart_are_computed)
{
    struct mg_err err;
    char *cart = cart_make(4000);
    ck_assert_uint_le(strlen(cart), 256 * 1024);
    ck_assert_uint_gt(strlen(cart), 210 * 1024);
    ck_assert_msg(
        admit(WORKFLOW(NET, CART_STEP("one", "",
                                      "{\"a\":\"${= values.net + values.net + payload.items.sum(i, i.qty * "
                                      "i.w)}\"}")),
              cart, &err) == MG_OK,
        "%s", err.text);
    free(cart);
}
END_TEST

/* A value that no step can compute is refused before the order is accepted, unless a guard leaves the step
 * out. */
static const struct {
    const char *definition, *says; /* NULL: it is admitted */
} DOORS[] = {
    {WORKFLOW(NET, CART_STEP("one", "", "{\"a\":\"${= values.net}\"}")), NULL},
    {WORKFLOW("{}", STEP("one", "\"${= divide(1, payload.weight - 2, 2)}\"")),
     "expression: \"do\" of step \"one\": column 1: "},
    {WORKFLOW(NET, STEP("one", "1") "," CART_STEP("two", "", "{\"a\":\"${= payload.missing}\"}")),
     "expression: \"undo\" of step \"two\": column 9: there is no member \"missing\""},
    {WORKFLOW("{}", STEP("one", "1") "," STEP("two", "\"${= payload.items[0].sku + payload.weight}\"")),
     NULL} /* a later do may be repaired */,
    {WORKFLOW(NET,
              CART_STEP("one", "\"when\":\"has(payload.missing)\",", "{\"a\":\"${= payload.missing}\"}")),
     NULL},
    {WORKFLOW(NET, CART_STEP("one", "\"when\":\"payload.weight == 2\",", "{\"a\":\"${= payload.missing}\"}")),
     "\"undo\" of step \"one\""},
    {WORKFLOW(NET, CART_STEP("one", "\"when\":\"payload.weight > 2\",", "{\"a\":1}") "," CART_STEP(
                       "two", "\"needs\":[\"one\"],", "{\"a\":\"${= payload.missing}\"}")),
     NULL},
    {WORKFLOW(NET, CART_STEP("one", "", "{\"a\":1}") "," CART_STEP("two", "\"when\":\"results.one.ok\",",
                                                                   "{\"a\":\"${= payload.missing}\"}")),
     NULL},
    {WORKFLOW(NET, CART_STEP("one", "\"require\":[{\"that\":\"has(payload.missing)\",\"text\":\"x\"}],",
                             "{\"a\":\"${= payload.missing}\"}")),
     NULL},
    {WORKFLOW("{\"bad\":\"payload.missing + results.one.n\"}",
              STEP("one", "1") "," STEP("two", "\"${= values.bad}\"")),
     NULL},
};

START_TEST(a_value_that_can_never_be_computed_is_refused_at_the_door)
{
    struct mg_err err;
    char *cart = cart_make(3);
    enum mg_class class = admit(DOORS[_i].definition, cart, &err);
    ck_assert_msg(class == (DOORS[_i].says == NULL ? MG_OK : MG_BAD_INPUT), "%d: %s", (int)class, err.text);
    ck_assert_msg(DOORS[_i].says == NULL || strstr(err.text, DOORS[_i].says) != NULL, "%s", err.text);
    free(cart);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("workflow_exprs");
    TCase *tests = tcase_create("workflow_exprs");
    tcase_add_loop_test(tests, an_expression_is_rendered_as_its_value, 0, COUNT(BODIES));
    tcase_add_loop_test(tests, a_mistake_in_an_expression_is_found_when_the_definition_is, 0,
                        COUNT(MISTAKES));
    tcase_add_test(tests, a_value_is_evaluated_where_it_is_used);
    tcase_add_test(tests, an_output_and_an_undo_may_have_expressions);
    tcase_add_loop_test(tests, an_undo_lacks_its_result_in_an_expression, 0, COUNT(OWN));
    tcase_add_test(tests, sums_over_the_largest_cart_are_computed);
    tcase_add_loop_test(tests, a_value_that_can_never_be_computed_is_refused_at_the_door, 0, COUNT(DOORS));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
