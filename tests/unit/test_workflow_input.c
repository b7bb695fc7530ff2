/* The shape of a payload: the members of a submission, and the types that expressions over it have. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "workflow/workflow.h"

static const char INPUT[] =
    "{\"customer\":\"text\",\"total\":\"number\",\"ship_at\":\"time?\",\"gift\":\"boolean?\","
    "\"free\":\"any?\",\"address?\":{\"zip\":\"text\"},"
    "\"items\":[{\"sku\":\"text\",\"qty\":\"number\",\"tags?\":[\"text\"]}]}";

static enum mg_class parse(const char *input, const char *body, struct mg_workflow **ret_workflow,
                           struct mg_err *err)
{
    char text[2000];
    (void)snprintf(
        text, sizeof(text),
        "{\"workflow\":\"w\",\"version\":1,\"input\":%s,\"steps\":[{\"step\":\"one\",\"service\":\"s\","
        "\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/a\",\"body\":%s}}]}",
        input, body);
    return mg_workflow_parse(mg_slice_of(text), NULL, ret_workflow, err);
}

#define PLAIN "\"customer\":\"c\",\"total\":1"
static const struct {
    const char *payload, *says; /* NULL: it is taken */
} PAYLOADS[] = {
    {"{" PLAIN ",\"items\":[]}", NULL},
    {" {" PLAIN
     ",\"items\":[{\"sku\":\"a\",\"qty\":1.50,\"tags\":[\"x\"]}],\"ship_at\":\"2026-01-31T12:00:00+01:00\","
     "\"gift\":false,\"free\":[1,null],\"address\":{\"zip\":\"8000\"}} ",
     NULL},
    {"{}",
     "/payload/customer: is missing; a string is expected; /payload/total: is missing; a number is expected; "
     "/payload/items: is missing; an array is expected"},
    {"{" PLAIN "}", "/payload/items: is missing; an array is expected"},
    {"{" PLAIN ",\"items\":{}}", "/payload/items: an object; an array is expected"},
    {"{" PLAIN ",\"items\":[{\"sku\":\"a\",\"qty\":\"2\"}]}",
     "/payload/items/0/qty: a string; a number is expected"},
    {"{" PLAIN ",\"items\":[{\"sku\":\"a\",\"qty\":2},{\"sku\":\"a\"}]}", "/payload/items/1/qty: is missing"},
    {"{" PLAIN ",\"items\":[{\"sku\":\"a\",\"qty\":2,\"tags\":[\"x\",3]}]}",
     "/payload/items/0/tags/1: a number; a string is expected"},
    {"{" PLAIN ",\"items\":[],\"ship_att\":\"x\"}",
     "/payload/ship_att: no such member; did you mean \"ship_at\"?"},
    {"{" PLAIN ",\"items\":[],\"colour\":\"x\"}",
     "/payload/colour: no such member in the workflow's input; leave it out"},
    {"{" PLAIN ",\"items\":[],\"ship_at\":\"tomorrow\"}",
     "/payload/ship_at: \"tomorrow\" is no time; an RFC 3339 time as \"2026-01-31T12:34:56Z\", in UTC of the "
     "years 1 to 9999, is expected"},
    {"{" PLAIN ",\"items\":[],\"ship_at\":\"9999-12-31T23:59:59-05:00\"}",
     "/payload/ship_at: \"9999-12-31T23:59:59-05:00\" is no time; an RFC 3339 time as \"2026-01-31T12:34:56Z\", "
     "in UTC of the years 1 to 9999, is expected"},
    {"{" PLAIN ",\"items\":[],\"ship_at\":null}",
     "/payload/ship_at: null; an RFC 3339 time as "
     "\"2026-01-31T12:34:56Z\", in UTC of the years 1 to 9999, is expected, or leave the member out"},
    {"{" PLAIN ",\"items\":[],\"address\":{}}", "/payload/address/zip: is missing"},
    {"{" PLAIN ",\"items\":[],\"gift\":1}", "/payload/gift: a number; a boolean is expected"},
    {"{\"customer\":\"c\",\"total\":1.2345678901234567890123456789012345,\"items\":[]}",
     "/payload/total: a number of more than 34 digits"},
    {"{\"\\u0063ustomer\":\"c\",\"total\":1,\"items\":[]}", NULL},
};

START_TEST(a_payload_is_held_against_the_shape)
{
    struct mg_workflow *workflow;
    struct mg_err err = {MG_OK, ""};
    ck_assert_msg(parse(INPUT, "1", &workflow, &err) == MG_OK, "%s", err.text);
    enum mg_class class = mg_workflow_payload_check(workflow, mg_slice_of(PAYLOADS[_i].payload), &err);
    if (PAYLOADS[_i].says == NULL) {
        ck_assert_msg(class == MG_OK, "%s", err.text);
    } else {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_msg(strncmp(err.text, PAYLOADS[_i].says, strlen(PAYLOADS[_i].says)) == 0, "%s", err.text);
    }
    mg_workflow_destroy(workflow);
}
END_TEST

START_TEST(without_a_shape_any_payload_is_taken)
{
    struct mg_workflow *workflow;
    struct mg_err err;
    ck_assert_int_eq(
        mg_workflow_parse(mg_slice_of("{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"one\","
                                      "\"service\":\"s\",\"undo\":\"none\",\"do\":{\"method\":\"GET\","
                                      "\"path\":\"/a\"}}]}"),
                          NULL, &workflow, &err),
        MG_OK);
    ck_assert_int_eq(mg_workflow_payload_check(workflow, mg_slice_of("{\"a\":[null]}"), &err), MG_OK);
    mg_workflow_destroy(workflow);
}
END_TEST

static const struct {
    const char *input, *body, *says; /* NULL: it is right */
} DEFINITIONS[] = {
    {"{\"a\":\"txt\"}", "1", "/input/a: no such type; did you mean \"text\"?"},
    {"{\"a\":\"colour\"}", "1", "/input/a: no such type; there are \"text\", \"number\""},
    {"{\"a\":1}", "1", "/input/a: a number; a type is expected"},
    {"{\"a\":[]}", "1", "/input/a: a list has the shape of its elements, once"},
    {"{\"a\":[\"text\",\"number\"]}", "1", "/input/a: a list has the shape of its elements, once"},
    {"\"text\"", "1", "/input: a string"},
    {INPUT, "\"${= payload.totl}\"", "payload has no member \"totl\"; did you mean \"total\"?"},
    {INPUT, "\"${= payload.total == 'x'}\"", "payload.total is a number and 'x' is a text"},
    {INPUT, "\"${= payload.items.sum(i, i.sku)}\"", "sum() needs a number; i.sku is a text"},
    {INPUT, "\"${= payload.items.sum(i, i.qty) + payload.total}\"", NULL},
    {INPUT, "\"${= payload.free.anything}\"", NULL},
    {INPUT, "\"${= has(payload.ship_at) ? time(payload.ship_at) : time('2026-01-31T00:00:00Z')}\"", NULL},
};

START_TEST(a_shape_is_checked_and_gives_types)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err err = {MG_OK, ""};
    enum mg_class class = parse(DEFINITIONS[_i].input, DEFINITIONS[_i].body, &workflow, &err);
    if (DEFINITIONS[_i].says == NULL) {
        ck_assert_msg(class == MG_OK, "%s", err.text);
    } else {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_msg(strstr(err.text, DEFINITIONS[_i].says) != NULL, "%s", err.text);
    }
    mg_workflow_destroy(workflow);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("workflow_input");
    TCase *tests = tcase_create("workflow_input");
    tcase_add_loop_test(tests, a_payload_is_held_against_the_shape, 0, COUNT(PAYLOADS));
    tcase_add_test(tests, without_a_shape_any_payload_is_taken);
    tcase_add_loop_test(tests, a_shape_is_checked_and_gives_types, 0, COUNT(DEFINITIONS));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
