/* Labels: a definition's templates are checked with it, and an order's values are made as they are written.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "workflow/workflow.h"

#define STEPS                                                                                                \
    "\"steps\":[{\"step\":\"a\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":"    \
    "\"none\"}]"
#define TEN "0123456789"

static struct mg_workflow *workflow;
static struct mg_arena *arena;
static struct mg_slice values[MG_LABELS_MAX];
static struct mg_err err;

static void setup(void)
{
    arena = mg_arena_create(1 << 20);
    ck_assert_ptr_nonnull(arena);
    workflow = NULL;
}

static void teardown(void)
{
    mg_workflow_destroy(workflow);
    mg_arena_destroy(arena);
}

static enum mg_class parse(const char *labels)
{
    char text[8192];
    (void)snprintf(text, sizeof(text), "{\"workflow\":\"w\",\"version\":1,\"labels\":%s," STEPS "}", labels);
    return mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err);
}

static enum mg_class render_again(const char *order_id, const char *payload)
{
    const struct mg_render_input input = {.workflow = workflow,
                                          .order_id = order_id,
                                          .payload = mg_slice_of(payload),
                                          .accepted_at_ms = INT64_C(1769862896000)};
    return mg_workflow_labels_render(&input, arena, values, &err);
}

static enum mg_class render(const char *labels, const char *payload)
{
    ck_assert_msg(parse(labels) == MG_OK, "%s", err.text);
    return render_again("order-7", payload);
}

/* Catches: a number that passes through a double, a boolean as 1, a text with its quotes. */
START_TEST(a_value_is_the_text_as_it_came)
{
    ck_assert_int_eq(render("{\"price\":\"${/payload/price}\",\"big\":\"${/payload/big}\","
                            "\"paid\":\"${/payload/paid}\",\"name\":\"${/payload/name}\","
                            "\"both\":\"${/order_id}/${/payload/price}\",\"team\":\"blue\"}",
                            "{\"price\":14.00,\"big\":9007199254740993,\"paid\":true,"
                            "\"name\":\"M\\u00fcller \\\"&\\\" Co\"}"),
                     MG_OK);
    const char *const expected[] = {
        "14.00", "9007199254740993", "true", "M\xc3\xbcller \"&\" Co", "order-7/14.00", "blue"};
    ck_assert_int_eq(workflow->label_count, 6);
    for (int i = 0; i < 6; i++) {
        ck_assert_msg(mg_slice_is(values[i], expected[i]), "%s: %.*s", workflow->labels[i].name,
                      (int)values[i].len, values[i].data);
    }
}
END_TEST

START_TEST(a_value_that_is_not_there_makes_no_label)
{
    ck_assert_int_eq(
        render("{\"missing\":\"${/payload/a}\",\"nothing\":\"${/payload/b}\","
               "\"part\":\"x-${/payload/b}\",\"empty\":\"${/payload/c}\",\"d\":\"${/payload/d}\"}",
               "{\"b\":null,\"c\":\"\",\"d\":0}"),
        MG_OK);
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(values[i].data);
    }
    ck_assert(mg_slice_is(values[4], "0"));
}
END_TEST

/* The bound is in bytes: 64 characters of two bytes each still fit. */
START_TEST(a_value_of_128_bytes_fits_and_one_of_129_is_named)
{
    char payload[512], text[129] = "";
    for (int i = 0; i < 64; i++) {
        memcpy(text + strlen(text), "\xc3\xa4", 3);
    }
    (void)snprintf(payload, sizeof(payload), "{\"customer\":\"%s\"}", text);
    ck_assert_int_eq(render("{\"customer\":\"${/payload/customer}\"}", payload), MG_OK);
    ck_assert(mg_slice_is(values[0], text));
    (void)snprintf(payload, sizeof(payload), "{\"customer\":\"%sx\"}", text);
    ck_assert_int_eq(render_again("o", payload), MG_PERMANENT);
    ck_assert_str_eq(
        err.text,
        "/labels/customer of workflow \"w\": the value of \"${/payload/customer}\" is above 128 bytes");
}
END_TEST

/* Catches: half a character in a reason, where a template longer than a message shows is cut. */
START_TEST(a_template_is_shown_up_to_a_character)
{
    char labels[512], payload[256], text[79] = "";
    memset(text, 'x', sizeof(text) - 1);
    (void)snprintf(labels, sizeof(labels), "{\"l\":\"%s\xc3\xa4${/payload/v}\"}",
                   text + 1); /* 77, then two of 80 */
    (void)snprintf(payload, sizeof(payload), "{\"v\":\"%s\"}", text);
    ck_assert_int_eq(render(labels, payload), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, "x\xc3\xa4$\" is above"));
    mg_workflow_destroy(workflow);
    workflow = NULL;
    (void)snprintf(labels, sizeof(labels), "{\"l\":\"x%s\xc3\xa4${/payload/v}\"}",
                   text); /* 79, then two of 80 */
    ck_assert_int_eq(render(labels, payload), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, "xx\" is above"));
}
END_TEST

START_TEST(a_value_that_is_no_text_is_named)
{
    ck_assert_int_eq(render("{\"customer\":\"${/payload/customer}\"}", "{\"customer\":{\"id\":17}}"),
                     MG_PERMANENT);
    ck_assert_msg(strstr(err.text, "/labels/customer of workflow \"w\": reference ${/payload/customer}") ==
                          err.text &&
                      strstr(err.text, "its value is an object") != NULL,
                  "%s", err.text);
    ck_assert_int_eq(render_again("o", "{\"customer\":[17]}"), MG_PERMANENT);
    ck_assert_msg(strstr(err.text, "its value is an array") != NULL, "%s", err.text);
}
END_TEST

/* Catches: a number that is rounded, a null or a fault that becomes no label in silence, and a label that
 * could only be made once a step has a result. */
START_TEST(a_label_may_be_an_expression_over_the_payload)
{
    static const struct {
        const char *expression, *text;
    } REFUSED[] = {
        {"payload.coupon + 'x'", "coupon"},
        {"payload.none", "its value is null"},
        {"payload.items", "its value is an array"},
        {"payload.total > 'a'", "column"},
    };
    char labels[256];
    const char *payload = "{\"total\":14.00,\"none\":null,\"items\":[1],\"paid\":true}";
    ck_assert_int_eq(render("{\"gross\":\"${= payload.total * 2}\",\"paid\":\"${= payload.paid}\","
                            "\"size\":\"x-${= payload.total > 500 ? 'large' : 'small'}\","
                            "\"same\":\"${= payload.total}\",\"id\":\"${= order.id}\","
                            "\"at\":\"${= order.accepted_at}\"}",
                            payload),
                     MG_OK);
    const char *const expected[] = {"28.00", "true",    "x-small",
                                    "14.00", "order-7", "2026-01-31T12:34:56.000Z"};
    for (int i = 0; i < 6; i++) {
        ck_assert_msg(mg_slice_is(values[i], expected[i]), "%d: %.*s", i, (int)values[i].len, values[i].data);
    }
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        mg_workflow_destroy(workflow);
        workflow = NULL;
        (void)snprintf(labels, sizeof(labels), "{\"l\":\"${= %s}\"}", REFUSED[i].expression);
        ck_assert_int_eq(render(labels, payload), MG_PERMANENT);
        ck_assert_msg(strstr(err.text, "/labels/l of workflow \"w\": ") == err.text &&
                          strstr(err.text, REFUSED[i].text) != NULL,
                      "%s", err.text);
    }
    mg_workflow_destroy(workflow);
    workflow = NULL;
    ck_assert_int_eq(parse("{\"l\":\"${= results.a.id}\"}"), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "before any step has a result") != NULL, "%s", err.text);
    ck_assert_int_eq(parse("{\"l\":\"${= null}\"}"), MG_BAD_INPUT);
    ck_assert_int_eq(parse("{\"l\":\"${= payloda.x}\"}"), MG_BAD_INPUT);
}
END_TEST

static const struct {
    const char *labels, *pointer, *text;
} MISTAKES[] = {
    {"{}", "/labels", "0 labels; a workflow has 1 to 8"},
    {"{\"a\":\"1\",\"b\":\"1\",\"c\":\"1\",\"d\":\"1\",\"e\":\"1\",\"f\":\"1\",\"g\":\"1\",\"h\":\"1\",\"i\":"
     "\"1\"}",
     "/labels", "9 labels; a workflow has 1 to 8"},
    {"[\"customer\"]", "/labels", "an array"},
    {"{\"Customer\":\"x\"}", "/labels/Customer", "no name of a label"},
    {"{\"a-b\":\"x\"}", "/labels/a-b", "no name of a label"},
    {"{\"a23456789012345678901234567890123\":\"x\"}", "/labels/a23456789012345678901234567890123",
     "no name of a label; it has 1 to 32"},
    {"{\"n\":17}", "/labels/n", "a number; a text is expected"},
    {"{\"n\":\"\"}", "/labels/n", "an empty text is no label"},
    {"{\"n\":\"${/results/a/id}\"}", "/labels/n", "it refers to ${/payload/…} and ${/order_id} only"},
    {"{\"n\":\"${/payloads}\"}", "/labels/n", "it refers to ${/payload/…} and ${/order_id} only"},
    {"{\"n\":\"${/do_key}\"}", "/labels/n", "it refers to ${/payload/…} and ${/order_id} only"},
    {"{\"n\":\"${/payload/a\"}", "/labels/n", "without \"}\""},
    {"{\"n\":\"" TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "012345678\"}", "/labels/n",
     "129 bytes; a label has at most 128"},
};

START_TEST(a_wrong_label_is_refused_with_its_place)
{
    ck_assert_int_eq(parse(MISTAKES[_i].labels), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, MISTAKES[_i].pointer) != NULL &&
                      strstr(err.text, MISTAKES[_i].text) != NULL,
                  "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("labels");
    TCase *tests = tcase_create("labels");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_value_is_the_text_as_it_came);
    tcase_add_test(tests, a_value_that_is_not_there_makes_no_label);
    tcase_add_test(tests, a_value_of_128_bytes_fits_and_one_of_129_is_named);
    tcase_add_test(tests, a_template_is_shown_up_to_a_character);
    tcase_add_test(tests, a_value_that_is_no_text_is_named);
    tcase_add_test(tests, a_label_may_be_an_expression_over_the_payload);
    tcase_add_loop_test(tests, a_wrong_label_is_refused_with_its_place, 0,
                        (int)(sizeof(MISTAKES) / sizeof(MISTAKES[0])));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
