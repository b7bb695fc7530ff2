/* Definitions: read into the plan with their defaults, refused with every mistake, rendered into the same
 * bytes again. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "workflow/workflow.h"

static char *file_read(const char *path)
{
    char full[512];
    (void)snprintf(full, sizeof(full), "%s/%s", MG_SOURCE_DIR, path);
    FILE *file = fopen(full, "re");
    ck_assert_msg(file != NULL, "cannot open %s", full);
    char *text = calloc(1, 1 << 20);
    ck_assert_ptr_nonnull(text);
    size_t len = fread(text, 1, (1 << 20) - 1, file);
    ck_assert_uint_gt(len, 0);
    (void)fclose(file); /* only read */
    return text;
}

static struct mg_workflow *parse(const char *text)
{
    struct mg_err err = {MG_OK, ""};
    struct mg_workflow *workflow = NULL;
    ck_assert_msg(mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    return workflow;
}

#define DO         "\"do\":{\"method\":\"POST\",\"path\":\"/x\"}"
#define NONE       "\"undo\":\"none\""
#define VERIFY     "\"verify\":{\"method\":\"GET\",\"path\":\"/by/${/do_key}\"}"
#define OWN_UNDO   "\"undo\":{\"method\":\"POST\",\"path\":\"/${/results/a/id}/refund\"}"
#define OWN_VERIFY "\"verify\":{\"method\":\"GET\",\"path\":\"/${/results/a/id}\"}"

/* Catches: a default that differs from the documented one of the schema. */
START_TEST(absent_members_have_the_documented_defaults)
{
    struct mg_workflow *w = parse(
        "{\"workflow\":\"w\",\"version\":3,\"steps\":[{\"step\":\"a\",\"service\":\"s\"," DO
        ",\"undo\":{\"method\":\"DELETE\",\"path\":\"/x\"}},{\"step\":\"b\",\"service\":\"s\"," DO "," NONE
        ",\"complete_within\":\"1m\",\"retry\":{\"cool_down\":\"10m\",\"backoff\":\"40s\"}}]}");
    const struct mg_step_plan *a = &w->plan.steps[0], *b = &w->plan.steps[1];
    ck_assert_str_eq(w->name, "w");
    ck_assert_int_eq(w->version, 3);
    ck_assert_int_eq(w->plan.complete_within_ms, 0);
    ck_assert_int_eq(w->plan.on_failure, MG_ON_FAILURE_COMPENSATE);
    ck_assert_int_eq(w->plan.on_expiry, MG_ON_FAILURE_COMPENSATE);
    ck_assert_int_eq(a->complete_within_ms, 30000);
    ck_assert_int_eq(a->undo_complete_within_ms, 30000);
    ck_assert_int_eq(a->finish_within_ms, 0);
    ck_assert_int_eq(a->poll_ms, 5000);
    ck_assert_uint_eq(a->retry.attempts, 5);
    ck_assert_int_eq(a->retry.backoff_ms, 500);
    ck_assert_int_eq(a->retry.max_backoff_ms, 30000);
    ck_assert_uint_eq(a->retry.cool_downs, 0);
    ck_assert_uint_eq(a->undo_retry.attempts, 10);
    ck_assert_int_eq(a->on_unknown, MG_ON_UNKNOWN_RETRY);
    ck_assert(a->has_undo && !a->has_verify && !a->is_pivot && !a->is_at_most_once && !a->is_absent_final);
    ck_assert_uint_eq(a->after, 0);
    ck_assert_uint_eq(b->after, 1);
    ck_assert(!b->has_undo);
    ck_assert_int_eq(b->complete_within_ms, 60000);
    ck_assert_uint_eq(b->retry.cool_downs, 1);
    ck_assert_int_eq(b->retry.cool_down_ms, 600000);
    ck_assert_int_eq(b->retry.max_backoff_ms, 40000);
    mg_workflow_destroy(w);
}
END_TEST

START_TEST(every_member_is_read)
{
    char *text = file_read("proto/examples/workflow/valid/parallel.json");
    struct mg_workflow *w = parse(text);
    const struct mg_step_plan *invoice = &w->plan.steps[2];
    memset(text, 'x', strlen(text)); /* the workflow must live from its own copy */
    free(text);
    ck_assert_int_eq(w->plan.on_failure, MG_ON_FAILURE_ERROR);
    ck_assert_int_eq(w->plan.on_expiry, MG_ON_FAILURE_ERROR);
    ck_assert_int_eq(w->plan.complete_within_ms, 3600000);
    ck_assert_uint_eq(w->plan.steps[1].after, 0);
    ck_assert(w->plan.steps[1].is_pivot && w->plan.steps[1].has_undo);
    ck_assert_uint_eq(invoice->after, 3);
    ck_assert(invoice->is_at_most_once && invoice->is_absent_final && invoice->has_verify &&
              !invoice->has_undo);
    ck_assert_uint_eq(invoice->retry.attempts, 1);
    ck_assert_int_eq(invoice->on_unknown, MG_ON_UNKNOWN_VERIFY);
    ck_assert_int_eq(invoice->finish_within_ms, 7200000);
    ck_assert_int_eq(invoice->poll_ms, 60000);
    ck_assert_int_eq(mg_workflow_step_index(w, mg_slice_of("invoice")), 2);
    ck_assert_int_eq(mg_workflow_step_index(w, mg_slice_of("inv")), -1);
    ck_assert_int_eq(mg_workflow_step_index(w, mg_slice_of("")), -1);
    ck_assert_str_eq(w->steps[2].actions[MG_KIND_DO].method, "PUT");
    ck_assert(mg_slice_is(w->steps[2].actions[MG_KIND_VERIFY].path, "/invoice?key=${/do_key}"));
    ck_assert(!w->steps[2].actions[MG_KIND_UNDO].is_present);
    mg_workflow_destroy(w);
}
END_TEST

struct gathered {
    int count;
    char all[8192];
};

static void gather(void *arg, struct mg_json_place place, const char *pointer, const char *text)
{
    ck_assert_int_gt(place.line, 0);
    struct gathered *gathered = arg;
    size_t len = strlen(gathered->all);
    (void)snprintf(gathered->all + len, sizeof(gathered->all) - len, "%s: %s\n", pointer, text);
    gathered->count++;
}

/* Catches: a reader that stops at the first mistake, so that a definition is repaired one mistake a run. */
START_TEST(all_mistakes_are_listed_at_once)
{
    static const char TEXT[] =
        "{\"workflow\":\"W\",\"version\":0,\"on_failur\":\"error\",\"steps\":["
        "{\"step\":\"a\",\"service\":\"s\",\"complete_within\":30,"
        "\"do\":{\"method\":\"GET\",\"path\":\"x\",\"body\":1}," NONE "},"
        "{\"step\":\"b\",\"service\":\"s\",\"after\":[\"aa\"],\"complete_within\":\"1 s\"," DO
        ",\"undo\":{\"method\":\"DELETE\","
        "\"path\":\"/${/results/b}\"}}]}";
    static const char *const SAYS[] = {
        "/workflow: ",
        "/version: ",
        "/on_failur: no such member; did you mean \"on_failure\"?",
        "/steps/0/complete_within: \"30\" is no duration; write digits and one unit of ms, s, m, h, d",
        "/steps/0/do/path: ",
        "/steps/0/do/body: a GET has no body",
        "/steps/1/after/0: there is no step \"aa\"",
        "/steps/1/complete_within: \"1 s\" is no duration",
        "/steps/1/undo/path: ${/results/b}: an undo may run when the result never came"};
    struct gathered gathered = {0};
    struct mg_mistakes mistakes = {gather, &gathered};
    struct mg_workflow *workflow = NULL;
    struct mg_err err;
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of(TEXT), &mistakes, &workflow, &err), MG_BAD_INPUT);
    ck_assert_ptr_null(workflow);
    ck_assert_int_eq(gathered.count, 9);
    for (size_t i = 0; i < sizeof(SAYS) / sizeof(SAYS[0]); i++) {
        ck_assert_msg(strstr(gathered.all, SAYS[i]) != NULL, "%s is missing in\n%s", SAYS[i], gathered.all);
    }
    ck_assert_msg(strstr(err.text, "(and 8 more)") != NULL, "%s", err.text);
}
END_TEST

/* Catches: a hostile definition that makes the search for hints cost minutes. */
START_TEST(mistakes_beyond_a_hundred_are_only_counted)
{
    struct gathered gathered = {0};
    struct mg_mistakes mistakes = {gather, &gathered};
    struct mg_workflow *workflow = NULL;
    struct mg_err err;
    struct mg_buf text;
    mg_buf_init(&text, 250000);
    mg_buf_append_text(&text,
                       "{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"a\",\"service\":\"s\"," DO
                       "," NONE ",\"after\":[");
    for (int i = 0; i < 4500; i++) {
        mg_buf_printf(&text, "%s\"n%d\"", i > 0 ? "," : "", i);
    }
    mg_buf_append_text(&text, "]}]");
    for (int i = 0; i < 4500; i++) {
        mg_buf_printf(&text, ",\"versiom%d\":1", i);
    }
    mg_buf_append_text(&text, "}");
    ck_assert_int_eq(mg_workflow_parse(mg_buf_slice(&text), &mistakes, &workflow, &err), MG_BAD_INPUT);
    ck_assert_int_eq(gathered.count, 100);
    ck_assert_msg(strstr(err.text, "(and 8999 more)") != NULL, "%s", err.text);
    mg_buf_finish(&text);
}
END_TEST

static const struct {
    const char *steps, *says; /* `says` NULL: accepted */
} STEPS[] = {
    {"{\"step\":\"a\",\"service\":\"s\"," DO "," NONE "},{\"step\":\"a\",\"service\":\"s\"," DO "," NONE "}",
     "/steps/1/step: \"a\" is already"},
    {"{\"step\":\"a\",\"service\":\"s\",\"after\":[\"c\"]," DO "," NONE
     "},{\"step\":\"b\",\"service\":\"s\"," DO "," NONE "},{\"step\":\"c\",\"service\":\"s\"," DO "," NONE
     "}",
     "/steps/0/after: a cycle: \"a\", \"b\", \"c\""},
    {"{\"step\":\"a\",\"service\":\"s\",\"after\":[\"b\"]," DO "," NONE
     "},{\"step\":\"b\",\"service\":\"s\",\"after\":[]," DO "," NONE "}",
     NULL},
    {"{\"step\":\"a\",\"service\":\"s\",\"after\":[7]," DO "," NONE "}", "/steps/0/after/0: a number"},
    {"{\"step\":\"a\",\"service\":\"s\",\"complete_within\":\"20m\"," DO "," NONE "}", NULL},
    {"{\"step\":\"a\",\"service\":\"s\",\"complete_within\":\"1201s\"," DO "," NONE "}", "up to \"20m\""},
    {"{\"step\":\"a\",\"service\":\"s\",\"at_most_once\":true,\"retry\":{\"attempts\":1}," DO "," NONE "}",
     NULL},
    {"{\"step\":\"a\",\"service\":\"s\",\"at_most_once\":true,\"retry\":{\"cool_down\":\"1m\"}," DO "," NONE
     "}",
     "/steps/0/retry"},
    {"{\"step\":\"a\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\",\"body\":\"${/"
     "results}\"}," NONE "}",
     "refers to nothing"},
    {"{\"step\":\"a\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\",\"body\":\"${/order_id/"
     "x}\"}," NONE "}",
     "refers to nothing"},
    {"{\"step\":\"a\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\",\"body\":\"${/"
     "payloads}\"}," NONE "}",
     "refers to nothing"},
    {"{\"step\":\"a\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x/../y\"}," NONE "}",
     "\"..\""},
    {"{\"step\":\"a\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\\u0020y\"}," NONE "}",
     "without blanks"},
    /* a result of a step that is before by way of another is there */
    {"{\"step\":\"a\",\"service\":\"s\"," DO "," NONE "},{\"step\":\"b\",\"service\":\"s\"," DO "," NONE
     "},{\"step\":\"c\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${/results/a/"
     "id}\"},\"undo\":{\"method\":\"DELETE\","
     "\"path\":\"/${/results/b/id}\"}}",
     NULL},
    /* the step's own result, and the way to it */
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"repeat\"," DO "," OWN_UNDO "}", NULL},
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"verify\"," DO "," VERIFY "," OWN_UNDO "}", NULL},
    {"{\"step\":\"a\",\"service\":\"s\"," DO "," OWN_UNDO "}",
     "/steps/0/undo/path: ${/results/a/id}: an undo may run when the result never came; give the step "
     "\"learn\""},
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"ask\"," DO "," OWN_UNDO "}", "/steps/0/learn: "},
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"verify\"," DO "," OWN_UNDO "}",
     "/steps/0/learn: \"verify\" without a \"verify\" action"},
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"repeat\"," DO "," NONE "}",
     "/steps/0/learn: the step's undo does not refer"},
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"repeat\",\"at_most_once\":true," DO "," OWN_UNDO "}",
     "/steps/0/learn: \"repeat\" would call"},
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"verify\",\"at_most_once\":true," DO "," VERIFY
     "," OWN_UNDO "}",
     NULL},
    {"{\"step\":\"a\",\"service\":\"s\",\"learn\":\"repeat\",\"pivot\":true," DO "," OWN_UNDO "}",
     "/steps/0/learn: \"repeat\" could carry out the pivot"},
    {"{\"step\":\"a\",\"service\":\"s\"," DO "," OWN_VERIFY "," NONE "}",
     "/steps/0/verify/path: ${/results/a/id}: a verify runs when the result never came"},
    {"{\"step\":\"a\",\"service\":\"s\",\"finish_within\":\"1m\"," DO "," OWN_VERIFY "," NONE "}",
     "/steps/0/on_unknown: a lost answer leaves"},
    {"{\"step\":\"a\",\"service\":\"s\",\"finish_within\":\"1m\",\"on_unknown\":\"retry\"," DO "," OWN_VERIFY
     "," NONE "}",
     NULL},
    {"{\"step\":\"a\",\"service\":\"s\",\"finish_within\":\"1m\",\"on_unknown\":\"retry\","
     "\"learn\":\"verify\"," DO "," OWN_VERIFY "," OWN_UNDO "}",
     "/steps/0/learn: the \"verify\" itself refers"},
    {"{\"step\":\"a\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${/results/a/id}\"},"
     "\"learn\":\"repeat\"," OWN_UNDO "}",
     "/steps/0/do/path: ${/results/a/id}: the step's own result does not exist yet"},
};

/* Catches: a rule of the whole definition that is not held, or holds where it should not. */
START_TEST(a_definition_is_checked_as_a_whole)
{
    char text[2048];
    struct mg_err err = {MG_OK, ""};
    struct mg_workflow *workflow = NULL;
    (void)snprintf(text, sizeof(text), "{\"workflow\":\"w\",\"version\":1,\"steps\":[%s]}", STEPS[_i].steps);
    enum mg_class class = mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err);
    if (STEPS[_i].says == NULL) {
        ck_assert_msg(class == MG_OK, "%s", err.text);
    } else {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_msg(strstr(err.text, STEPS[_i].says) != NULL, "%s", err.text);
    }
    mg_workflow_destroy(workflow);
}
END_TEST

static const struct {
    const char *result, *says; /* `result` NULL: none is known; `says` NULL: the undo can be built */
} OWN_RESULTS[] = {
    {"{\"id\":\"ch_1\",\"amount\":0}", NULL},
    {"{\"id\":\"ch_1\",\"amount\":null}", "${/results/a/amount}: there is no such value"},
    {"{\"id\":\"ch_1\",\"amount\":\"\"}", "${/results/a/amount}: there is no such value"},
    {"{\"id\":7,\"amount\":14.00}", NULL},
    {NULL, "${/results/a/id}: there is no such value"},
    {"null", "${/results/a/id}: there is no such value"},
    {"{\"amount\":1}", "${/results/a/id}: there is no such value"},
    {"{\"id\":\"\",\"amount\":1}", "there is no such value"},
    {"{\"id\":null,\"amount\":1}", "there is no such value"},
    {"{\"id\":\"..\",\"amount\":1}", "path: "},
    {"{\"id\":\"ch_1\"}", "${/results/a/amount}: there is no such value"},
};

/* Catches: a result that is taken for known and cannot be built into the undo, or the reverse. Other
 * references are of no account: no answer of this step can fill them. */
START_TEST(a_result_is_known_if_the_undo_can_be_built_with_it)
{
    struct mg_workflow *w = parse(
        "{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"a\",\"service\":\"s\",\"learn\":\"repeat\"," DO
        ",\"undo\":{\"method\":\"POST\",\"path\":\"/${/results/a/id}/refund\",\"body\":{\"of\":"
        "\"${/results/a/amount}\",\"for\":\"${/payload/none}\"}}}]}");
    struct mg_err err = {MG_OK, ""};
    struct mg_slice result = mg_slice_of(OWN_RESULTS[_i].result);
    enum mg_class class = mg_workflow_undo_check(w, 0, result, &err);
    ck_assert(w->plan.steps[0].needs_result && w->steps[0].uses_own_result);
    if (OWN_RESULTS[_i].says == NULL) {
        ck_assert_msg(class == MG_OK, "%s", err.text);
    } else {
        ck_assert_int_eq(class, MG_PERMANENT);
        ck_assert_msg(strstr(err.text, OWN_RESULTS[_i].says) != NULL, "%s", err.text);
    }
    mg_workflow_destroy(w);
}
END_TEST

START_TEST(sixty_four_steps_are_the_most)
{
    for (int count = 64; count <= 65; count++) {
        struct mg_buf text;
        struct mg_err err = {MG_OK, ""};
        struct mg_workflow *workflow = NULL;
        mg_buf_init(&text, 100000);
        mg_buf_append_text(&text, "{\"workflow\":\"w\",\"version\":1,\"steps\":[");
        for (int i = 0; i < count; i++) {
            mg_buf_printf(&text, "%s{\"step\":\"s%d\",\"service\":\"s\"," DO "," NONE "}", i > 0 ? "," : "",
                          i);
        }
        mg_buf_append_text(&text, "]}");
        enum mg_class class = mg_workflow_parse(mg_buf_slice(&text), NULL, &workflow, &err);
        ck_assert_msg(class == (count == 64 ? MG_OK : MG_BAD_INPUT), "%d: %s", count, err.text);
        if (count == 64) {
            ck_assert_uint_eq(workflow->plan.steps[63].after, UINT64_C(1) << 62);
        }
        mg_workflow_destroy(workflow);
        mg_buf_finish(&text);
    }
}
END_TEST

static enum mg_class render(const struct mg_workflow *w, int step, enum mg_kind kind, const char *payload,
                            const struct mg_slice *results, struct mg_buf *buf, struct mg_err *err)
{
    struct mg_render_input input = {
        .workflow = w, .order_id = "o-1", .payload = mg_slice_of(payload), .results = results};
    mg_buf_init(buf, 100000);
    return mg_workflow_render(&input, step, kind, "o-1.key.undo", "o-1.key.do", buf, err);
}

/* Catches: bytes that do not arrive as submitted, and a second rendering that differs from the first. */
START_TEST(a_request_carries_the_bytes_as_they_came)
{
    static const char PAYLOAD[] = "{\"items\" : [ {\"price\":14.00 } ],\"n\":\"M\xc3\xbcnster \\\"x\\\"\"}";
    char *text = file_read("deploy/sample/workflows/fulfilment.json");
    struct mg_workflow *w = parse(text);
    struct mg_slice results[MG_STEPS_MAX] = {{0}};
    struct mg_buf first, second, undo;
    struct mg_err err = {MG_OK, ""};
    free(text);
    ck_assert_msg(render(w, 0, MG_KIND_DO, PAYLOAD, results, &first, &err) == MG_OK, "%s", err.text);
    ck_assert_str_eq(first.data,
                     "{\"method\":\"POST\",\"path\":\"/reservations\",\"body\":{\"order\":\"o-1\",\"items\":"
                     "[ {\"price\":14.00 } ],\"payload\":{\"items\" : [ {\"price\":14.00 } ],"
                     "\"n\":\"M\xc3\xbcnster \\\"x\\\"\"}}}");
    ck_assert_int_eq(render(w, 0, MG_KIND_DO, PAYLOAD, results, &second, &err), MG_OK);
    ck_assert_str_eq(first.data, second.data);
    ck_assert_int_eq(mg_json_check(mg_buf_slice(&first), &MG_JSON_LIMITS_DEFAULT, &err), MG_OK);
    ck_assert_int_eq(render(w, 0, MG_KIND_UNDO, PAYLOAD, results, &undo, &err), MG_OK);
    ck_assert_str_eq(undo.data, "{\"method\":\"DELETE\",\"path\":\"/reservations/by-key/o-1.key.do\"}");
    mg_buf_finish(&first);
    mg_buf_finish(&second);
    mg_buf_finish(&undo);
    mg_workflow_destroy(w);
}
END_TEST

START_TEST(results_go_into_later_requests)
{
    char *text = file_read("proto/examples/workflow/valid/parallel.json");
    struct mg_workflow *w = parse(text);
    struct mg_slice results[MG_STEPS_MAX] = {{0}};
    struct mg_buf buf;
    struct mg_err err = {MG_OK, ""};
    free(text);
    results[0] = mg_slice_of("{\"id\":\"F/7\"}");
    results[1] = mg_slice_of("{\"id\":14.00}");
    ck_assert_msg(render(w, 2, MG_KIND_DO, "{}", results, &buf, &err) == MG_OK, "%s", err.text);
    ck_assert_str_eq(
        buf.data, "{\"method\":\"PUT\",\"path\":\"/invoice/F%2F7\",\"body\":{\"text\":\"flight F/7 and hotel "
                  "14.00, ${literal}\",\"all\":{\"id\":14.00}}}");
    mg_buf_finish(&buf);
    results[0] = (struct mg_slice){0};
    ck_assert_int_eq(render(w, 2, MG_KIND_DO, "{}", results, &buf, &err), MG_PERMANENT);
    ck_assert_msg(strstr(err.text, "\"do\" of step \"invoice\": path: reference ${/results/flight/id}") !=
                      NULL,
                  "%s", err.text);
    mg_buf_finish(&buf);
    results[0] = mg_slice_of("{\"id\":\"..\"}"); /* a result must not climb out of the service's URL */
    ck_assert_int_eq(render(w, 2, MG_KIND_DO, "{}", results, &buf, &err), MG_PERMANENT);
    mg_buf_finish(&buf);
    ck_assert_int_eq(render(w, 0, MG_KIND_UNDO, "{}", results, &buf, &err), MG_BUG);
    mg_buf_finish(&buf);
    mg_workflow_destroy(w);
}
END_TEST

static const struct {
    const char *output, *says; /* `says` NULL: accepted */
} OUTPUTS[] = {
    {"null", NULL},
    {"\"${/results/b}\"", NULL},
    {"{\"a\":[\"${/order_id}\",\"${/payload}\",\"for ${/payload/who}\",\"${/results/a/x}\"]}", NULL},
    {"\"${/results/c}\"", "/output: there is no step \"c\""},
    {"\"${/results}\"", "/output: ${/results} refers to nothing"},
    {"[\"${/do_key}\"]",
     "/output/0: ${/do_key} refers to nothing; there are ${/order_id}, ${/payload/…} and"},
    {"[\"${/idempotency_key}\"]", "/output/0: ${/idempotency_key} refers to nothing"},
    {"{\"${/order_id}\":1}", "/output/${~1order_id}: \"${\" in a member's name"},
    {"\"${/order_id\"", "/output: \"${\" without \"}\""},
};

/* Catches: an output that is known to fail only when an order has been carried out. */
START_TEST(an_output_is_checked_when_it_is_loaded)
{
    char text[1024];
    struct mg_err err = {MG_OK, ""};
    struct mg_workflow *workflow = NULL;
    (void)snprintf(text, sizeof(text),
                   "{\"workflow\":\"w\",\"version\":1,\"output\":%s,\"steps\":["
                   "{\"step\":\"a\",\"service\":\"s\"," DO "," NONE "},"
                   "{\"step\":\"b\",\"service\":\"s\"," DO "," NONE "}]}",
                   OUTPUTS[_i].output);
    enum mg_class class = mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err);
    if (OUTPUTS[_i].says == NULL) {
        ck_assert_msg(class == MG_OK, "%s", err.text);
    } else {
        ck_assert_int_eq(class, MG_BAD_INPUT);
        ck_assert_msg(strstr(err.text, OUTPUTS[_i].says) != NULL, "%s", err.text);
    }
    mg_workflow_destroy(workflow);
}
END_TEST

/* Catches: an undo that can never be built, a need of a later step's do, or one that is listed twice. */
START_TEST(the_needs_of_first_steps_and_of_undos_are_found)
{
    static const struct {
        const char *payload, *lacks;
        int step;
    } CASES[] = {
        {"{}", "/a/id", 0},
        {"{\"a\":{\"id\":null}}", "/b", 0},
        {"{\"a\":{\"id\":null},\"b\":0}", "/e", 0},
        {"{\"a\":{\"id\":null},\"b\":0,\"e\":1}", "/q", 2},
        {"{\"a\":{\"id\":null},\"b\":0,\"e\":1,\"q\":1,\"h\":2,\"c\":[1]}", "/c/1", 2},
        {"{\"a\":{\"id\":null},\"b\":0,\"e\":1,\"c\":[1,2]}", "/q", 2},
        {"{\"a\":{\"id\":null},\"b\":0,\"e\":1,\"c\":[1,2],\"q\":1}", "/h", 2},
        {"{\"a\":{\"id\":null},\"b\":0,\"e\":1,\"c\":[1,2],\"q\":1,\"h\":2}", NULL, 0},
    };
    struct mg_workflow *w = parse(
        "{\"workflow\":\"w\",\"version\":1,\"steps\":["
        "{\"step\":\"x\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${/payload/a/id}\","
        "\"body\":[\"${/payload/b}\",\"${/payload}\",\"$${/payload/d}\"]},"
        "\"undo\":{\"method\":\"DELETE\",\"path\":\"/${/payload/e}\"}},"
        "{\"step\":\"y\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${/payload/f}\"}," NONE
        "},"
        "{\"step\":\"z\",\"service\":\"s\",\"after\":[],\"do\":{\"method\":\"POST\",\"path\":\"/x\","
        "\"query\":{\"q\":\"${/payload/q}\"},\"headers\":{\"X-H\":\"${/payload/h}\"},"
        "\"body\":[\"${/payload/b}\",\"${/payload/c/1}\"]}," NONE "}]}");
    int count = 0;
    for (const struct mg_payload_need *need = w->needs; need != NULL; need = need->next) {
        count++;
    }
    ck_assert_int_eq(count, 6);
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct mg_payload_need *lack = mg_workflow_lacks(w, mg_slice_of(CASES[i].payload));
        ck_assert_msg((lack == NULL) == (CASES[i].lacks == NULL), "%s", CASES[i].payload);
        if (lack != NULL) {
            ck_assert_str_eq(lack->pointer, CASES[i].lacks);
            ck_assert_int_eq(lack->step, CASES[i].step);
        }
    }
    count = 0;
    for (const struct mg_payload_need *lack = mg_workflow_lacks(w, mg_slice_of("{\"b\":0,\"q\":1}"));
         lack != NULL; lack = mg_workflow_lacks_behind(lack, mg_slice_of("{\"b\":0,\"q\":1}"))) {
        count++;
    }
    ck_assert_int_eq(count, 4); /* /a/id, /e, /h, /c/1 */
    mg_workflow_destroy(w);
}
END_TEST

/* Catches: a need of an expression that is missed, and one without which it has a value. */
START_TEST(the_needs_of_expressions_are_those_without_which_they_have_no_value)
{
    static const char *const NEEDS[] = {"/a/0/id", "/m~1n", "/list", "/from", "/deep", "/also"};
    struct mg_workflow *w = parse(
        "{\"workflow\":\"w\",\"version\":1,\"values\":{\"deep\":\"payload.deep + 1\","
        "\"net\":\"payload.from * values.deep\",\"other\":\"payload.other\"},\"steps\":["
        "{\"step\":\"x\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${= payload.a[0].id}\",\"body\":["
        "\"${= payload['m/n'] == null}\",\"${= payload.list.all(i, i == payload.loop)}\","
        "\"${= has(payload.asked) ? payload.asked : 0}\",\"${= payload.left == 1 || payload.right == 1}\","
        "\"n ${= values.net + values.deep}\",\"${= size(payload.list) > 1 ? values.other : 0}\","
        "\"${= order.id}\",\"${= payload}\"],\"headers\":{\"X-H\":\"${= string(payload.also)}\"}}," NONE "},"
        "{\"step\":\"y\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${= payload.f}\"}," NONE
        "}]}");
    uint64_t found = 0;
    for (const struct mg_payload_need *need = w->needs; need != NULL; need = need->next) {
        int i = 0;
        while (i < 6 && strcmp(NEEDS[i], need->pointer) != 0) {
            i++;
        }
        ck_assert_msg(i < 6, "%s", need->pointer);
        ck_assert_int_eq(need->step, 0);
        found |= UINT64_C(1) << i;
    }
    ck_assert_uint_eq(found, 0x3f);
    ck_assert_ptr_null(mg_workflow_lacks(w, mg_slice_of("{\"a\":[{\"id\":1}],\"m/n\":2,\"list\":[],"
                                                        "\"from\":3,\"deep\":4,\"also\":5}")));
    mg_workflow_destroy(w);
}
END_TEST

static void example_check(const char *text, const char *expected)
{
    struct mg_buf payload;
    struct mg_workflow *w = parse(text);
    mg_buf_init(&payload, 65536);
    mg_workflow_example(w, &payload);
    mg_buf_append(&payload, "", 1);
    ck_assert(!payload.failed);
    ck_assert_str_eq(payload.data, expected);
    mg_buf_finish(&payload);
    mg_workflow_destroy(w);
}

/* Catches: an example without a value that a later step, a guard, a label or the output needs; one that its
 * own workflow refuses. */
START_TEST(an_example_has_what_the_definition_refers_to)
{
    example_check(
        "{\"workflow\":\"w\",\"version\":1,\"output\":{\"o\":\"${/payload/out/put}\",\"p\":\"${/payload}\"},"
        "\"labels\":{\"l\":\"${/payload/label}\"},\"values\":{\"v\":\"payload.value + 1\"},"
        "\"require\":[{\"that\":\"payload.guard > 0\",\"text\":\"none\"}],\"steps\":["
        "{\"step\":\"x\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${/payload/a}\","
        "\"body\":[\"${/payload/list/0/id}\",\"${/payload/flat/0}\",\"$${/payload/no}\"]}," NONE "},"
        "{\"step\":\"y\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/${/payload/b}\","
        "\"body\":[\"${/payload/c}\",\"${/payload/c/d}\",\"${= has(payload.maybe)}\"]}," NONE "}]}",
        "{\"a\":\"…\",\"list\":[{\"id\":\"…\"}],\"flat\":[\"…\"],\"b\":\"…\",\"c\":{\"d\":\"…\"},"
        "\"guard\":\"…\",\"value\":\"…\",\"label\":\"…\",\"out\":{\"put\":\"…\"}}");
    example_check(
        "{\"workflow\":\"w\",\"version\":1,\"input\":{\"n\":\"number\",\"t\":\"time\",\"l\":[{\"b\":\"boolean\"}],"
        "\"left?\":\"text\",\"o?\":{\"q\":\"number\",\"r?\":\"number\"}},\"steps\":["
        "{\"step\":\"x\",\"service\":\"s\",\"do\":{\"method\":\"POST\",\"path\":\"/x\","
        "\"body\":[\"${/payload/n}\",\"${/payload/o/r}\"]}," NONE "}]}",
        "{\"n\":1,\"t\":\"2030-01-01T00:00:00Z\",\"l\":[{\"b\":true}],\"o\":{\"q\":1,\"r\":1}}");
}
END_TEST

/* A pointer that is too long for a message is not cut to another one. */
START_TEST(a_need_has_its_whole_pointer)
{
    char text[1024], name[300] = "";
    memset(name, 'n', sizeof(name) - 1);
    (void)snprintf(text, sizeof(text),
                   "{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"x\",\"service\":\"s\",\"do\":{"
                   "\"method\":\"POST\",\"path\":\"/\",\"body\":\"${= payload.%s}\"}," NONE "}]}",
                   name);
    struct mg_workflow *w = parse(text);
    ck_assert_ptr_null(w->needs);
    mg_workflow_destroy(w);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("workflow");
    TCase *tests = tcase_create("workflow");
    tcase_add_test(tests, absent_members_have_the_documented_defaults);
    tcase_add_test(tests, every_member_is_read);
    tcase_add_test(tests, all_mistakes_are_listed_at_once);
    tcase_add_test(tests, mistakes_beyond_a_hundred_are_only_counted);
    tcase_add_loop_test(tests, a_definition_is_checked_as_a_whole, 0, COUNT(STEPS));
    tcase_add_loop_test(tests, a_result_is_known_if_the_undo_can_be_built_with_it, 0, COUNT(OWN_RESULTS));
    tcase_add_test(tests, sixty_four_steps_are_the_most);
    tcase_add_test(tests, a_request_carries_the_bytes_as_they_came);
    tcase_add_test(tests, results_go_into_later_requests);
    tcase_add_loop_test(tests, an_output_is_checked_when_it_is_loaded, 0, COUNT(OUTPUTS));
    tcase_add_test(tests, the_needs_of_first_steps_and_of_undos_are_found);
    tcase_add_test(tests, the_needs_of_expressions_are_those_without_which_they_have_no_value);
    tcase_add_test(tests, an_example_has_what_the_definition_refers_to);
    tcase_add_test(tests, a_need_has_its_whole_pointer);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
