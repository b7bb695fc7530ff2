/* Further checks of a definition, for its author: references into the payload, and texts that are not. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "workflow/proof.h"

#define INPUT                                                                                                \
    "{\"city\":\"text\",\"email?\":\"text\",\"price\":\"number\",\"more\":\"any\","                          \
    "\"home?\":{\"street\":\"text\",\"floor?\":\"number\"},\"items\":[{\"sku\":\"text\",\"gift?\":\"text\"}]}"
/* Workflows of two steps: members before the steps, in the first one, in its `do`, and in the second. */
#define WORKFLOW(top, first, action, second)                                                                 \
    "{\"workflow\":\"w\",\"version\":1,\"input\":" INPUT "," top                                             \
    "\"steps\":[{\"step\":\"one\",\"service\":\"s\",\"undo\":\"none\"," first                                \
    "\"do\":{\"method\":\"POST\"," action "}},"                                                              \
    "{\"step\":\"two\",\"service\":\"s\",\"undo\":\"none\"," second "}]}"
#define BODY(body) "\"path\":\"/a\",\"body\":" body
#define PATH(path) "\"path\":\"" path "\""
#define PLAIN      "\"do\":{\"method\":\"POST\",\"path\":\"/b\"}"
#define OF(body)   WORKFLOW("", "", BODY(body), PLAIN)

static const struct {
    const char *definition, *says; /* NULL: it is good */
} PROOFS[] = {
    {OF("\"${/payload/city}\""), NULL},
    {OF("\"${/payload}\""), NULL},
    {OF("\"${/payload/cityy}\""),
     "/steps/0/do/body: payload.cityy: \"input\" has no member \"cityy\"; did you mean \"city\"?"},
    {WORKFLOW("", "", PATH("/x/${/payload/zip}"), PLAIN),
     "/steps/0/do/path: payload.zip: \"input\" has no member"},
    {OF("\"${/payload/price * /payload/nights}\""), "\"input\" has no member \"price * \""},
    {OF("\"${/payload/more/of/this}\""), NULL},
    {OF("\"${/payload/items/0/sku}\""), NULL},
    {OF("\"${/payload/items/0/skuu}\""), "payload.items[0].skuu: \"input\" has no member \"skuu\""},
    {OF("\"${/payload/items/0/gift}\""), "payload.items[0].gift is optional in \"input\""},
    {OF("\"${/payload/email}\""),
     "payload.email is optional in \"input\", and without it the request fails; ask first"},
    {OF("\"${= payload.email}\""), "payload.email is optional"},
    {OF("\"${= payload.email != null}\""), "payload.email is optional"},
    {OF("\"${= has(payload.email) ? payload.email : null}\""), NULL},
    {OF("\"${= has(payload.email) && payload.email != ''}\""), NULL},
    {OF("\"${= has(payload.city) ? payload.email : null}\""), "payload.email is optional"},
    {OF("\"${= has(payload.email) ? null : payload.email}\""), "payload.email is optional"},
    {OF("\"${= payload[\\\"email\\\"]}\""), "is optional"},
    {OF("\"${/payload/home/street}\""), "payload.home is optional"},
    {OF("\"${= has(payload.home) ? payload.home.street : ''}\""), NULL},
    {OF("\"${= has(payload.home.street) ? payload.home.street : ''}\""), NULL},
    {OF("\"${= has(payload.home) ? payload.home.floor : 0}\""), "payload.home.floor is optional"},
    {OF("\"${= has(payload.home.floor) ? payload.home.floor : 0}\""), NULL},
    {WORKFLOW("\"values\":{\"mail\":\"payload.email\"},", "", BODY("\"${= values.mail}\""), PLAIN),
     "payload.email is optional"},
    {WORKFLOW("\"values\":{\"mail\":\"payload.email\"},", "",
              BODY("\"${= has(payload.email) ? values.mail : ''}\""), PLAIN),
     NULL},
    {WORKFLOW("", "\"when\":\"has(payload.email)\",", BODY("\"${/payload/email}\""), PLAIN), NULL},
    {WORKFLOW("", "\"when\":\"has(payload.email) || payload.price > 1\",", BODY("\"${/payload/email}\""),
              PLAIN),
     "payload.email is optional"},
    {WORKFLOW("", "\"when\":\"payload.email != ''\",", BODY("1"), PLAIN),
     "/steps/0/when: payload.email is optional"},
    {WORKFLOW(
         "",
         "\"require\":[{\"that\":\"has(payload.email)\",\"text\":\"x\"},{\"that\":\"payload.email != ''\",\"text\":\"y\"}],",
         BODY("\"${/payload/email}\""), PLAIN),
     NULL},
    {WORKFLOW("\"require\":[{\"that\":\"has(payload.email)\",\"text\":\"x\"}],", "",
              BODY("\"${/payload/email}\""), PLAIN),
     NULL},
    {WORKFLOW("", "\"when\":\"has(payload.email)\",", BODY("1"),
              "\"needs\":[\"one\"],\"do\":{\"method\":\"POST\",\"path\":\"/${/payload/email}\"}"),
     NULL},
    {WORKFLOW("", "\"when\":\"has(payload.email)\",", BODY("1"),
              "\"do\":{\"method\":\"POST\",\"path\":\"/${/payload/email}\"}"),
     "/steps/1/do/path: payload.email is optional"},
    {WORKFLOW("", "\"refused_when\":\"result.to == payload.email\",", BODY("1"), PLAIN),
     "/steps/0/refused_when: payload.email is optional"},
    {WORKFLOW("\"output\":{\"mail\":\"${/payload/email}\"},", "", BODY("1"), PLAIN),
     "/output: payload.email is optional"},
    {WORKFLOW("\"labels\":{\"mail\":\"${/payload/email}\"},", "", BODY("1"), PLAIN), NULL},
    {WORKFLOW("\"labels\":{\"mail\":\"${/payload/emial}\"},", "", BODY("1"), PLAIN),
     "/labels/mail: payload.emial: \"input\" has no member"},
    {"{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"one\",\"service\":\"s\",\"undo\":\"none\","
     "\"do\":{\"method\":\"POST\",\"path\":\"/${/payload/any}\"}}]}",
     NULL},
};

static struct mg_workflow *read(const char *definition)
{
    struct mg_workflow *workflow;
    struct mg_err err = {MG_OK, ""};
    ck_assert_msg(mg_workflow_parse(mg_slice_of(definition), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    return workflow;
}

START_TEST(references_into_the_payload_are_proved_by_input)
{
    struct mg_workflow *workflow = read(PROOFS[_i].definition);
    struct mg_err err = {MG_OK, ""};
    enum mg_class class = mg_workflow_prove(workflow, NULL, &err);
    ck_assert_msg(class == (PROOFS[_i].says == NULL ? MG_OK : MG_BAD_INPUT), "%s", err.text);
    ck_assert_msg(PROOFS[_i].says == NULL || strstr(err.text, PROOFS[_i].says) != NULL, "%s", err.text);
    mg_workflow_destroy(workflow);
}
END_TEST

static const struct {
    const char *action, *says; /* NULL: nothing */
} HINTS[] = {
    {BODY("{\"a\":\"${/payload/city}\",\"b\":{\"c\":{}}}"), NULL},
    {BODY("\"{{payload.city}}\""), "/steps/0/do/body: \"{{payload.city}}\" goes out as it is"},
    {BODY("\"$payload.city\""), "\"$payload.city\" goes out as it is"},
    {BODY("\"US$5, $${x}\""), NULL},
    {PATH("/x/{id}"), "/steps/0/do/path: \"{id}\" goes out as it is"},
    {PATH("/x/${/payload/city}"), NULL},
    {BODY("\"${/payload/more/price * 2}\""), "arithmetic is an expression"},
};

static void on_hint(void *arg, const char *pointer, const char *text)
{
    (void)snprintf(arg, 400, "%s: %s", pointer, text);
}

START_TEST(texts_that_look_like_references_are_named)
{
    char definition[1000], said[400] = "";
    (void)snprintf(definition, sizeof(definition), WORKFLOW("", "", "%s", PLAIN), HINTS[_i].action);
    struct mg_workflow *workflow = read(definition);
    mg_workflow_hints(workflow, on_hint, said);
    ck_assert_msg((HINTS[_i].says == NULL) == (said[0] == '\0'), "%s", said);
    ck_assert_msg(HINTS[_i].says == NULL || strstr(said, HINTS[_i].says) != NULL, "%s", said);
    mg_workflow_destroy(workflow);
}
END_TEST

#define UNDONE(step, method, path, more)                                                                     \
    "{\"workflow\":\"w\",\"version\":1,\"steps\":[{\"step\":\"a\",\"service\":\"s\"," step                   \
    "\"do\":{\"method\":\"POST\",\"path\":\"/a\"},\"undo\":{\"method\":\"" method "\",\"path\":\"" path      \
    "\"" more "}}]}"
#define JUDGED "\"done_when\":\"result.ok\","

static const struct {
    const char *definition;
    bool is_named;
} UNDOS[] = {
    {UNDONE(JUDGED, "POST", "/cancel", ""), true},
    {UNDONE("", "POST", "/refunds", ""), true},
    {UNDONE("", "PUT", "/a/refund", ""), true},
    {UNDONE(JUDGED, "POST", "/cancel", ",\"done_when\":\"result.ok\""), false},
    {UNDONE("", "POST", "/refunds", ",\"refused_when\":\"result.failed\""), false},
    {UNDONE("", "POST", "/refunds", ",\"response\":\"text\""), false},
    {UNDONE(JUDGED, "DELETE", "/a", ""), false},
    {UNDONE("", "POST", "/cancel", ""), false},
};

START_TEST(an_undo_that_could_not_notice_a_refusal_is_named)
{
    char said[400] = "";
    struct mg_workflow *workflow = read(UNDOS[_i].definition);
    mg_workflow_hints(workflow, on_hint, said);
    ck_assert_msg((strstr(said, "/steps/0/undo: every 2xx counts as undone") != NULL) == UNDOS[_i].is_named,
                  "%s", said);
    ck_assert(UNDOS[_i].is_named || said[0] == '\0');
    mg_workflow_destroy(workflow);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("workflow_proof");
    TCase *tests = tcase_create("workflow_proof");
    tcase_add_loop_test(tests, references_into_the_payload_are_proved_by_input, 0, COUNT(PROOFS));
    tcase_add_loop_test(tests, texts_that_look_like_references_are_named, 0, COUNT(HINTS));
    tcase_add_loop_test(tests, an_undo_that_could_not_notice_a_refusal_is_named, 0, COUNT(UNDOS));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
