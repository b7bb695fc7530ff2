/* Reach: query, headers, encode, accept and response of an action, from the definition to the agent's view of
 * the request. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "suite.h"
#include "wire/http_header.h"
#include "wire/request.h"
#include "workflow/workflow.h"

#define AT_MS INT64_C(1769862896789)

static const char PAYLOAD[] =
    "{\"n\":14.00,\"t\":true,\"z\":null,\"o\":{\"a\":1},\"city\":\"M\xc3\xbcnster & Co.~*\",\"e\":\"\","
    "\"line\":\"a\\r\\nX-Evil: 1\",\"del\":\"\\u007f\",\"blank\":\"  \",\"f\":{\"a\":\"x y\",\"b\":2.50}}";

static struct mg_arena *arena;
static struct mg_err err;
static struct mg_buf rendered, message;

static void set_up(void)
{
    arena = mg_arena_create(1 << 20);
    ck_assert_ptr_nonnull(arena);
    err = (struct mg_err){MG_OK, ""};
    mg_buf_init(&rendered, 100000);
    mg_buf_init(&message, 200000);
}

static void tear_down(void)
{
    mg_arena_destroy(arena);
    mg_buf_finish(&rendered);
    mg_buf_finish(&message);
}

static enum mg_class parse(const char *members, struct mg_workflow **ret_workflow)
{
    char text[4096];
    (void)snprintf(text, sizeof(text),
                   "{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"a\",\"service\":\"s\","
                   "\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/x\",%s}}]}",
                   members);
    return mg_workflow_parse(mg_slice_of(text), NULL, ret_workflow, &err);
}

static enum mg_class render(const char *members, int *ret_version)
{
    struct mg_workflow *workflow = NULL;
    struct mg_slice results[MG_STEPS_MAX] = {{0}};
    ck_assert_msg(parse(members, &workflow) == MG_OK, "%s", err.text);
    struct mg_render_input input = {
        .workflow = workflow, .order_id = "o-1", .payload = mg_slice_of(PAYLOAD), .results = results};
    enum mg_class class = mg_workflow_render(&input, 0, MG_KIND_DO, "o-1.a.do", "o-1.a.do", &rendered, &err);
    *ret_version = mg_workflow_request_version(workflow, 0, MG_KIND_DO);
    mg_workflow_destroy(workflow);
    return class;
}

/* As an agent reads the request that was rendered last. */
static enum mg_class take(int version, const char *request_member, struct mg_request *ret_request)
{
    struct mg_request request = {.order_id = "o-1",
                                 .step = "a",
                                 .service = "s",
                                 .attempt = 1,
                                 .idempotency_key = "o-1.a.do",
                                 .do_key = "o-1.a.do",
                                 .complete_by_ms = AT_MS,
                                 .sent_at_ms = AT_MS,
                                 .version = version,
                                 .request = mg_slice_of(request_member)};
    mg_buf_clear(&message);
    mg_request_write(&request, &message);
    return mg_request_parse(mg_buf_slice(&message), arena, ret_request, &err);
}

static const struct {
    const char *members, *request; /* NULL: unrenderable, and `says` names the cause */
    int version;
    const char *says;
} ACTIONS[] = {
    /* an old definition's bytes stay as they were */
    {"\"body\":{ \"n\" : \"${/payload/n}\" }", "{\"method\":\"POST\",\"path\":\"/x\",\"body\":{\"n\":14.00}}",
     1, NULL},
    {"\"encode\":\"json\",\"body\":1", "{\"method\":\"POST\",\"path\":\"/x\",\"body\":1}", 1, NULL},
    {"\"query\":{\"b\":\"${/payload/city}\",\"a z\":\"${/payload/n}\",\"t\":true,\"e\":\"\"}",
     "{\"method\":\"POST\",\"path\":\"/x?b=M%C3%BCnster%20%26%20Co.~%2A&a%20z=14.00&t=true&e=\"}", 1, NULL},
    {"\"query\":{}", "{\"method\":\"POST\",\"path\":\"/x\"}", 1, NULL},
    {"\"query\":{\"a\":\"${/payload/z}\"}", NULL, 1, "query \"a\": its value is null"},
    {"\"query\":{\"a\":\"${/payload/missing}\"}", NULL, 1, "query: reference ${/payload/missing}"},
    {"\"headers\":{\"X-Tenant\":\"t-${/payload/n}\",\"If-Match\":7},\"accept\":\"text/csv\"",
     "{\"method\":\"POST\",\"path\":\"/x\",\"headers\":{\"Accept\":\"text/csv\",\"X-Tenant\":\"t-14.00\","
     "\"If-Match\":\"7\"}}",
     2, NULL},
    {"\"headers\":{\"X-A\":\"${/payload/line}\"}", NULL, 2,
     "header \"X-A\": its value cannot be sent: it holds a control"},
    {"\"headers\":{\"X-A\":\"${/payload/del}\"}", NULL, 2, "control character"},
    {"\"headers\":{\"X-A\":\"${/payload/e}\"}", NULL, 2, "it is empty"},
    {"\"headers\":{\"X-A\":\"${/payload/blank}\"}", NULL, 2, "it is empty"},
    {"\"headers\":{\"X-A\":\"${/payload/o}\"}", NULL, 2, "header \"X-A\": its value is an object"},
    {"\"response\":\"text\"", "{\"method\":\"POST\",\"path\":\"/x\",\"response\":\"text\"}", 2, NULL},
    {"\"encode\":\"form\",\"body\":{\"city name\":\"${/payload/city}\",\"amount\":\"${/payload/n}\",\"ok\":true}",
     "{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"application/x-www-form-urlencoded\",\"body\":"
     "\"city+name=M%C3%BCnster+%26+Co.%7E*&amount=14.00&ok=true\"}",
     2, NULL},
    {"\"encode\":\"form\",\"body\":\"${/payload/f}\"",
     "{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"application/x-www-form-urlencoded\",\"body\":"
     "\"a=x+y&b=2.50\"}",
     2, NULL},
    {"\"encode\":\"form\",\"body\":{\"a\":\"${/payload/o}\"}", NULL, 2, "body \"a\": its value is an object"},
    {"\"encode\":\"form\",\"body\":\"${/payload/n}\"", NULL, 2, "\"form\" needs an object"},
    {"\"encode\":\"text\",\"body\":\"order ${/order_id}\\n\"",
     "{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"text/plain; charset=utf-8\",\"body\":\"order "
     "o-1\\n\"}",
     2, NULL},
    {"\"encode\":\"text\",\"body\":\"${/payload/n}\"",
     "{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"text/plain; charset=utf-8\",\"body\":\"14.00\"}",
     2, NULL},
    {"\"encode\":\"text\",\"body\":\"${/payload/o}\"", NULL, 2, "\"text\" needs a string"},
};

/* Catches: bytes under a key that differ from those promised, and a value that turns a call into another. */
START_TEST(an_action_is_rendered)
{
    int version = 0;
    enum mg_class class = render(ACTIONS[_i].members, &version);
    ck_assert_int_eq(version, ACTIONS[_i].version);
    if (ACTIONS[_i].request == NULL) {
        ck_assert_int_eq(class, MG_PERMANENT);
        ck_assert_msg(strstr(err.text, ACTIONS[_i].says) != NULL, "%s", err.text);
        return;
    }
    struct mg_request request;
    ck_assert_msg(class == MG_OK, "%s", err.text);
    ck_assert_str_eq(rendered.data, ACTIONS[_i].request);
    ck_assert_msg(take(version, rendered.data, &request) == MG_OK, "%s", err.text);
}
END_TEST

static const struct {
    const char *members, *says;
} MISTAKES[] = {
    {"\"headers\":{\"X-A:\":\"1\"}", "/steps/0/do/headers/X-A:: not a header's name"},
    {"\"headers\":{\"\":\"1\"}", "not a header's name"},
    {"\"headers\":{\"X\\u002dA\":\"1\"}", "not a header's name"},
    {"\"headers\":{\"host\":\"1\"}", "/steps/0/do/headers/host: the agent sets this header"},
    {"\"headers\":{\"AUTHORIZATION\":\"1\"}", "the agent sets this header"},
    {"\"headers\":{\"Idempotency-Key\":\"1\"}", "the agent sets this header"},
    {"\"headers\":{\"Transfer-Encoding\":\"1\"}", "the agent sets this header"},
    {"\"headers\":{\"X-Makegood-Order\":\"1\"}", "the agent sets this header"},
    {"\"headers\":{\"Traceparent\":\"1\"}", "the agent sets this header"},
    {"\"headers\":{\"Content-Type\":\"1\"}", "the agent sets this header"},
    {"\"headers\":{\"Accept\":\"1\"}", "write the member \"accept\""},
    {"\"headers\":{\"X-A\":\"1\",\"x-a\":\"2\"}", "given twice"},
    {"\"headers\":{\"X-A\":null}", "/steps/0/do/headers/X-A: null"},
    {"\"headers\":{\"X-A\":[\"1\"]}", "/steps/0/do/headers/X-A: an array"},
    {"\"headers\":\"X-A: 1\"", "/steps/0/do/headers"},
    {"\"headers\":{\"X-A\":\"${/results/b/id}\"}", "/steps/0/do/headers/X-A: there is no step \"b\""},
    {"\"headers\":{\"X-A\":\"a\\r\\nb\"}",
     "/steps/0/do/headers/X-A: its value cannot be sent: it holds a control character, which no header may; "
     "use 1 to 4096 bytes, all in one line"},
    {"\"headers\":{\"X-A\":\"a\\r\\n${/payload/n}\"}",
     "/steps/0/do/headers/X-A: its value cannot be sent: it holds a control character"},
    {"\"headers\":{\"X-A\":\"${= payload.a}$${\\u007f\"}",
     "/steps/0/do/headers/X-A: its value cannot be sent"},
    {"\"headers\":{\"X-A\":\"\"}", "/steps/0/do/headers/X-A: its value cannot be sent: it is empty"},
    {"\"headers\":{\"X-B\":\"b\",\"X-A\":\"  \"}", "/steps/0/do/headers/X-A: its value cannot be sent"},
    {"\"query\":{\"a\":{}}", "/steps/0/do/query/a: an object"},
    {"\"query\":{\"a\":\"${/nothing}\"}", "/steps/0/do/query/a: ${/nothing} refers to nothing"},
    {"\"encode\":\"xml\",\"body\":1", "/steps/0/do/encode"},
    {"\"encode\":\"form\"", "/steps/0/do/encode: there is no \"body\""},
    {"\"encode\":\"form\",\"body\":{\"a\":{\"b\":1}}", "/steps/0/do/body/a: an object"},
    {"\"encode\":\"form\",\"body\":[1]", "/steps/0/do/body: an array; a form is an object"},
    {"\"encode\":\"form\",\"body\":\"a=1\"", "/steps/0/do/body: a string; a form is an object"},
    {"\"encode\":\"text\",\"body\":{\"a\":1}", "/steps/0/do/body: an object; a text is a string"},
    {"\"accept\":\"json\"", "/steps/0/do/accept: not a media type"},
    {"\"accept\":\"\"", "/steps/0/do/accept: not a media type"},
    {"\"accept\":\"text/a\\r\\nX: 1\"", "/steps/0/do/accept: not a media type"},
    {"\"response\":\"xml\"", "/steps/0/do/response"},
};

START_TEST(a_mistake_is_named_with_its_place)
{
    struct mg_workflow *workflow = NULL;
    ck_assert_msg(parse(MISTAKES[_i].members, &workflow) == MG_BAD_INPUT, "%s", MISTAKES[_i].members);
    ck_assert_msg(strstr(err.text, MISTAKES[_i].says) != NULL, "%s", err.text);
}
END_TEST

/* Catches: a definition whose request no server, or no agent, would take. */
START_TEST(headers_and_parameters_are_bounded)
{
    struct mg_workflow *workflow = NULL;
    for (int most = 0; most < 2; most++) {
        struct mg_buf members;
        int count = most == 0 ? MG_ACTION_HEADERS_MAX + 1 : 33;
        mg_buf_init(&members, 4000);
        mg_buf_printf(&members, "\"%s\":{", most == 0 ? "headers" : "query");
        for (int i = 0; i < count; i++) {
            mg_buf_printf(&members, "%s\"n%d\":1", i > 0 ? "," : "", i);
        }
        mg_buf_append_text(&members, "}");
        ck_assert_int_eq(parse(members.data, &workflow), MG_BAD_INPUT);
        mg_buf_finish(&members);
    }
    char name[MG_HEADER_NAME_MAX + 2], text[256];
    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(text, sizeof(text), "\"headers\":{\"%s\":1}", name);
    ck_assert_int_eq(parse(text, &workflow), MG_BAD_INPUT);
    (void)snprintf(text, sizeof(text), "\"headers\":{\"%s\":1}", name + 1);
    ck_assert_msg(parse(text, &workflow) == MG_OK, "%s", err.text);
    mg_workflow_destroy(workflow);
}
END_TEST

#define LITERAL_HEADER                                                                                          \
    "{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"a\",\"service\":\"s\",\"undo\":\"none\",\"do\":{" \
    "\"method\":\"POST\",\"path\":\"/x\",\"headers\":{\"X-A\":\"%s\"}}}]}"

/* Catches: a literal value that every order would turn back, and a template that is judged before it is
 * filled in. */
START_TEST(a_literal_header_is_one_line)
{
    struct mg_workflow *workflow = NULL;
    char value[MG_HEADER_VALUE_MAX + 2], text[MG_HEADER_VALUE_MAX + 200];
    memset(value, 'a', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    (void)snprintf(text, sizeof(text), LITERAL_HEADER, value);
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "/steps/0/do/headers/X-A: its value cannot be sent: it is above") != NULL,
                  "%s", err.text);
    (void)snprintf(text, sizeof(text), LITERAL_HEADER, value + 1);
    ck_assert_msg(mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    mg_workflow_destroy(workflow);
    ck_assert_msg(parse("\"headers\":{\"X-A\":\"${= payload.a +\\n1 }\",\"X-B\":\"$${\",\"X-C\":-1e3}",
                        &workflow) == MG_OK,
                  "%s", err.text);
    mg_workflow_destroy(workflow);
}
END_TEST

START_TEST(an_agent_reads_what_was_rendered)
{
    struct mg_request request;
    int version = 0;
    ck_assert_int_eq(
        render("\"headers\":{\"X-A\":\"${/payload/city}\"},\"accept\":\"text/plain\",\"response\":\"text\","
               "\"encode\":\"text\",\"body\":\"a\\\"b\"",
               &version),
        MG_OK);
    ck_assert_msg(take(version, rendered.data, &request) == MG_OK, "%s", err.text);
    ck_assert_int_eq(request.version, MG_REQUEST_VERSION_REACH);
    ck_assert_str_eq(request.headers[0], "Accept: text/plain");
    ck_assert_str_eq(request.headers[1], "X-A: M\xc3\xbcnster & Co.~*");
    ck_assert_ptr_null(request.headers[2]);
    ck_assert(mg_slice_is(request.content_type, "text/plain; charset=utf-8"));
    ck_assert(mg_slice_is(request.content, "a\"b"));
    ck_assert(request.is_text_answer);
}
END_TEST

static const struct {
    const char *request;
    enum mg_class class;
} REQUESTS[] = {
    {"{\"method\":\"GET\",\"path\":\"/x\",\"headers\":{\"X-A\":\"1\"}}", MG_OK},
    {"{\"method\":\"GET\",\"path\":\"/x\",\"headers\":{}}", MG_OK},
    {"{\"method\":\"GET\",\"path\":\"/x\",\"headers\":{\"X-A\":1}}", MG_BAD_INPUT},
    {"{\"method\":\"GET\",\"path\":\"/x\",\"headers\":{\"X-A\":\"1\\r\\nHost: b\"}}", MG_BAD_INPUT},
    {"{\"method\":\"GET\",\"path\":\"/x\",\"headers\":{\"X A\":\"1\"}}", MG_BAD_INPUT},
    {"{\"method\":\"GET\",\"path\":\"/x\",\"headers\":{\"Authorization\":\"Bearer x\"}}", MG_BAD_INPUT},
    {"{\"method\":\"GET\",\"path\":\"/x\",\"headers\":{\"Content-Length\":\"1\"}}", MG_BAD_INPUT},
    {"{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"a/b\",\"body\":\"\"}", MG_OK},
    {"{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"a/b\"}", MG_BAD_INPUT},
    {"{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"a/b\",\"body\":{}}", MG_BAD_INPUT},
    {"{\"method\":\"POST\",\"path\":\"/x\",\"content_type\":\"a/b\\r\\nX: 1\",\"body\":\"\"}", MG_BAD_INPUT},
    {"{\"method\":\"POST\",\"path\":\"/x\",\"response\":\"xml\"}", MG_STALE}, /* a newer scheduler's word */
};

/* The agent's own check: what a scheduler let through, or another sender made up, does not split a call. */
START_TEST(an_agent_checks_what_came)
{
    struct mg_request request;
    enum mg_class class = take(2, REQUESTS[_i].request, &request);
    ck_assert_msg(class == REQUESTS[_i].class, "%s: %s", REQUESTS[_i].request, err.text);
}
END_TEST

/* Catches: a reader of version 1 that would make a call without the headers of its request. */
START_TEST(a_later_version_is_left_for_a_newer_agent)
{
    struct mg_request request;
    ck_assert_int_eq(take(2, "{\"method\":\"GET\",\"path\":\"/x\"}", &request), MG_OK);
    ck_assert_ptr_nonnull(strstr(message.data, "{\"v\":2,"));
    ck_assert_int_eq(take(MG_REQUEST_VERSION_JUDGED, "{\"method\":\"GET\",\"path\":\"/x\"}", &request),
                     MG_OK);
    ck_assert_int_eq(take(4, "{\"method\":\"GET\",\"path\":\"/x\"}", &request), MG_STALE);
    ck_assert_int_eq(take(0, "{\"method\":\"GET\",\"path\":\"/x\"}", &request), MG_OK);
    ck_assert_ptr_nonnull(strstr(message.data, "{\"v\":1,"));
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("reach");
    TCase *tests = tcase_create("reach");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, an_action_is_rendered, 0, COUNT(ACTIONS));
    tcase_add_loop_test(tests, a_mistake_is_named_with_its_place, 0, COUNT(MISTAKES));
    tcase_add_test(tests, headers_and_parameters_are_bounded);
    tcase_add_test(tests, a_literal_header_is_one_line);
    tcase_add_test(tests, an_agent_reads_what_was_rendered);
    tcase_add_loop_test(tests, an_agent_checks_what_came, 0, COUNT(REQUESTS));
    tcase_add_test(tests, a_later_version_is_left_for_a_newer_agent);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
