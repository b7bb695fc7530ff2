/* The meaning of a good answer: done_when and refused_when over its body. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "workflow/answer_conditions.h"

#define WORKFLOW(undo, members)                                                                               \
    "{\"workflow\":\"w\",\"version\":1,\"values\":{\"limit\":\"payload.limit * 2\",\"late\":"                 \
    "\"results.after.n\"},\"steps\":["                                                                        \
    "{\"step\":\"before\",\"service\":\"s\",\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/a\"}}," \
    "{\"step\":\"charge\",\"service\":\"s\",\"undo\":" undo ",\"do\":{\"method\":\"POST\",\"path\":\"/a\"},"  \
    "\"verify\":{\"method\":\"GET\",\"path\":\"/a\"}," members "},"                                           \
    "{\"step\":\"after\",\"service\":\"s\",\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/a\"}}]}"
#define BOTH          "\"done_when\":\"result.state == 'SETTLED'\",\"refused_when\":\"result.state == 'DECLINED'\""
#define UNDO(members) "{\"method\":\"POST\",\"path\":\"/u\"," members "}"
#define POLL          ",\"finish_within\":\"1h\""

static struct mg_workflow *workflow;

static void load_with(const char *undo, const char *members)
{
    char text[3000];
    struct mg_err err = {MG_OK, ""};
    (void)snprintf(text, sizeof(text), WORKFLOW("%s", "%s"), undo, members);
    ck_assert_msg(mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err) == MG_OK, "%s", err.text);
}

static void load(const char *members)
{
    load_with("\"none\"", members);
}

static const struct {
    const char *members, *says, *undo; /* NULL: none */
} MISTAKES[] = {
    {"\"done_when\":\"result.state = 'x'\"", "/steps/1/done_when: column 14: ", NULL},
    {"\"done_when\":\"rezult.state == 'x'\"",
     "/steps/1/done_when: column 1: no such name \"rezult\"; did you mean \"result\"?", NULL},
    {"\"refused_when\":\"size(result.list)\"", "/steps/1/refused_when: it is a number; a condition is needed",
     NULL},
    {"\"done_when\":\"payload.total > 1\"", "/steps/1/done_when: it does not look at the answer", NULL},
    {"\"done_when\":\"true\"", "/steps/1/done_when: it does not look at the answer", NULL},
    {"\"done_when\":\"\"", "/steps/1/done_when: column 1: ", NULL},
    {"\"done_when\":true", "/steps/1/done_when: ", NULL},
    {"\"done_when\":\"result.n == results.charge.n\"",
     "/steps/1/done_when: results.charge is the step's own result, which is not kept yet; write \"result\"",
     NULL},
    {"\"done_when\":\"result.n == results.after.n\"",
     "/steps/1/done_when: step \"after\" is not before this one", NULL},
    {"\"done_when\":\"result.n == values.late\"", "/steps/1/done_when: step \"after\" is not before this one",
     NULL},
    {"\"done_when\":\"result.ok\",\"refused_when\":\"result.ok\"",
     "/steps/1/refused_when: the same as \"done_when\"", NULL},
    {"\"pivot\":false", "/steps/1/undo/done_when: column 14: ", UNDO("\"done_when\":\"result.state = 'x'\"")},
    {"\"pivot\":false", "/steps/1/undo/done_when: it does not look at the answer",
     UNDO("\"done_when\":\"payload.total > 1\"")},
    {"\"pivot\":false", "/steps/1/undo/refused_when: the same as \"done_when\"",
     UNDO("\"done_when\":\"result.ok\",\"refused_when\":\"result.ok\"")},
};

START_TEST(a_mistake_in_a_condition_has_its_pointer)
{
    char text[3000];
    struct mg_err err = {MG_OK, ""};
    (void)snprintf(text, sizeof(text), WORKFLOW("%s", "%s"),
                   MISTAKES[_i].undo != NULL ? MISTAKES[_i].undo : "\"none\"", MISTAKES[_i].members);
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of(text), NULL, &workflow, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, MISTAKES[_i].says) != NULL, "%s", err.text);
}
END_TEST

/* `result` is the answer's only where its meaning is asked for. */
START_TEST(a_template_cannot_refer_to_the_answer)
{
    struct mg_err err = {MG_OK, ""};
    static const char TEXT[] =
        "{\"workflow\":\"w\",\"version\":1,\"output\":\"${= result.n}\",\"steps\":[{\"step\":\"a\","
        "\"service\":\"s\",\"undo\":\"none\",\"do\":{\"method\":\"POST\",\"path\":\"/a\"}}]}";
    ck_assert_int_eq(mg_workflow_parse(mg_slice_of(TEXT), NULL, &workflow, &err), MG_BAD_INPUT);
    ck_assert_msg(strstr(err.text, "did you mean \"results\"?") != NULL, "%s", err.text);
}
END_TEST

static const struct {
    const char *members, *result; /* NULL: the answer gave none */
    enum mg_answer_meaning meaning;
    const char *why;
} ANSWERS[] = {
    {BOTH, "{\"state\":\"SETTLED\"}", MG_ANSWER_DONE, ""},
    {BOTH, "{\"state\":\"DECLINED\"}", MG_ANSWER_REFUSED,
     "refused: refused_when: result.state == 'DECLINED' was 'DECLINED' == 'DECLINED'"},
    {BOTH, "{\"state\":\"PENDING\"}", MG_ANSWER_OPEN,
     "not done yet: done_when: result.state == 'SETTLED' was 'PENDING' == 'SETTLED'"},
    {BOTH, "{\"status\":\"SETTLED\"}", MG_ANSWER_UNCLEAR,
     "the answer is not clear: done_when: column 8: there is no member \"state\""},
    {BOTH, "{\"state\":7}", MG_ANSWER_UNCLEAR, "done_when: column 14: "},
    {BOTH, NULL, MG_ANSWER_UNCLEAR, "the answer is not clear: done_when: column 1: "},
    {BOTH, "[]", MG_ANSWER_UNCLEAR, "the answer is not clear: done_when: "},
    /* An error counts only if the other condition does not hold. */
    {"\"done_when\":\"result.ok\",\"refused_when\":\"result.error.code == 7\"", "{\"ok\":true}",
     MG_ANSWER_DONE, ""},
    {"\"done_when\":\"result.ok\",\"refused_when\":\"result.error.code == 7\"", "{\"error\":{\"code\":7}}",
     MG_ANSWER_REFUSED, "refused: refused_when: result.error.code == 7 was 7 == 7"},
    {"\"done_when\":\"result.ok\",\"refused_when\":\"result.error.code == 7\"", "{\"ok\":false}",
     MG_ANSWER_UNCLEAR, "refused_when: column 8: there is no member \"error\""},
    {"\"done_when\":\"result.n > 1\",\"refused_when\":\"result.n > 2\"", "{\"n\":3}", MG_ANSWER_UNCLEAR,
     "done_when and refused_when both hold"},
    {"\"refused_when\":\"result.state == 'DECLINED'\"", "{\"state\":\"ANY\"}", MG_ANSWER_DONE, ""},
    {"\"refused_when\":\"result.state == 'DECLINED'\"", "{}", MG_ANSWER_UNCLEAR,
     "there is no member \"state\""},
    {"\"done_when\":\"result.ok\"", "{\"ok\":false}", MG_ANSWER_OPEN,
     "not done yet: done_when: result.ok was false"},
    /* The other names, and numbers with their digits. */
    {"\"done_when\":\"result.paid == values.limit\"", "{\"paid\":28.00}", MG_ANSWER_DONE, ""},
    {"\"done_when\":\"result.paid == values.limit\"", "{\"paid\":28.01}", MG_ANSWER_OPEN,
     "not done yet: done_when: result.paid == values.limit was 28.01 == 28.00"},
    {"\"done_when\":\"result.order == order.id && result.ref == results.before.ref\"",
     "{\"order\":\"o-1\",\"ref\":\"r\"}", MG_ANSWER_DONE, ""},
    {"\"done_when\":\"time(result.at) > time(order.accepted_at)\"", "{\"at\":\"2026-01-31T12:34:56.701Z\"}",
     MG_ANSWER_DONE, ""},
    {"\"refused_when\":\"result.at == order.accepted_at\"", "{\"at\":\"2026-01-31T12:34:56.700Z\"}",
     MG_ANSWER_REFUSED, "'2026-01-31T12:34:56.700Z' == '2026-01-31T12:34:56.700Z'"},
};

static struct mg_slice RESULTS[MG_STEPS_MAX];

static struct mg_render_input input_of(void)
{
    RESULTS[0] = mg_slice_of("{\"ref\":\"r\"}");
    return (struct mg_render_input){.workflow = workflow,
                                    .order_id = "o-1",
                                    .payload = mg_slice_of("{\"limit\": 14.00}"),
                                    .results = RESULTS,
                                    .accepted_at_ms = INT64_C(1769862896700)};
}

static const struct mg_conditions *conditions(void)
{
    return &workflow->steps[1].conditions;
}

START_TEST(an_answer_means_what_the_conditions_make_of_it)
{
    char why[MG_ERROR_TEXT_MAX + 1];
    const char *result = ANSWERS[_i].result;
    load(ANSWERS[_i].members);
    struct mg_render_input input = input_of();
    struct mg_slice body = result != NULL ? mg_slice_of(result) : (struct mg_slice){NULL, 0};
    ck_assert_int_eq(mg_workflow_answer(&input, conditions(), body, (struct mg_slice){NULL, 0}, why),
                     ANSWERS[_i].meaning);
    ck_assert_msg(strstr(why, ANSWERS[_i].why) != NULL, "%s", why);
    ck_assert(ANSWERS[_i].meaning != MG_ANSWER_DONE || why[0] == '\0');
    mg_workflow_destroy(workflow);
}
END_TEST

START_TEST(a_result_that_was_left_out_is_named_as_such)
{
    char why[MG_ERROR_TEXT_MAX + 1];
    load(BOTH);
    struct mg_render_input input = input_of();
    ck_assert_int_eq(mg_workflow_answer(&input, conditions(), (struct mg_slice){NULL, 0},
                                        mg_slice_of("the result is larger than the service file allows"),
                                        why),
                     MG_ANSWER_UNCLEAR);
    ck_assert_ptr_nonnull(strstr(why, "done_when: the result is larger than the service file allows"));
    mg_workflow_destroy(workflow);
}
END_TEST

START_TEST(a_long_reason_is_cut_at_a_character)
{
    char members[900], why[MG_ERROR_TEXT_MAX + 1];
    size_t len = (size_t)snprintf(members, sizeof(members), "\"done_when\":\"result.state == '");
    for (int i = 0; i < 200; i++) {
        memcpy(members + len, "\xc3\xbc", 2);
        len += 2;
    }
    (void)snprintf(members + len, sizeof(members) - len, "'\"");
    load(members);
    struct mg_render_input input = input_of();
    ck_assert_int_eq(mg_workflow_answer(&input, conditions(), mg_slice_of("{\"state\":\"x\"}"),
                                        (struct mg_slice){NULL, 0}, why),
                     MG_ANSWER_OPEN);
    ck_assert_uint_le(strlen(why), MG_ERROR_TEXT_MAX);
    ck_assert_uint_eq(mg_utf8_cut(mg_slice_of(why), strlen(why)), strlen(why));
    mg_workflow_destroy(workflow);
}
END_TEST

/* ---- the reply ---- */

#define REFUSED_BODY "{\"state\":\"DECLINED\",\"code\":\"card declined!\",\"message\":\"no \\u00fc\"}"

static const struct {
    const char *members, *result;
    enum mg_kind kind;
    enum mg_outcome outcome;
    enum mg_executed executed;
    enum mg_outcome becomes;
    enum mg_executed proves;
    bool may_still_act, is_changed;
    const char *code;
    const char *undo; /* NULL: none */
} REPLIES[] = {
    {BOTH POLL, "{\"state\":\"SETTLED\"}", MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_DONE,
     MG_EXECUTED_YES, false, true, "", NULL},
    {BOTH POLL, "{\"state\":\"PENDING\"}", MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_ACCEPTED,
     MG_EXECUTED_MAYBE, false, true, "not_done_yet", NULL},
    {BOTH, "{\"state\":\"PENDING\"}", MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_UNKNOWN,
     MG_EXECUTED_MAYBE, true, true, "not_done_yet", NULL},
    {BOTH POLL, "{}", MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE,
     true, true, "answer_unclear", NULL},
    {BOTH POLL, NULL, MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE,
     true, true, "answer_unclear", NULL},
    {BOTH, REFUSED_BODY, MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO,
     false, true, "refused/card_declined", NULL},
    /* An earlier try or copy may have acted: the refusal of this one proves nothing about it. */
    {BOTH, REFUSED_BODY, MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_MAYBE, MG_OUTCOME_PERMANENT,
     MG_EXECUTED_MAYBE, false, true, "refused/card_declined", NULL},
    /* 202: the service may still begin the work, with any body. */
    {BOTH POLL, REFUSED_BODY, MG_KIND_DO, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, MG_OUTCOME_PERMANENT,
     MG_EXECUTED_MAYBE, false, true, "refused/card_declined", NULL},
    {BOTH POLL, "{\"state\":\"SETTLED\"}", MG_KIND_DO, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE,
     MG_OUTCOME_DONE, MG_EXECUTED_MAYBE, true, true, "", NULL},
    {BOTH POLL, NULL, MG_KIND_DO, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, MG_OUTCOME_ACCEPTED,
     MG_EXECUTED_MAYBE, false, true, "not_done_yet", NULL},
    {"\"refused_when\":\"result.state == 'DECLINED'\"" POLL, "{\"state\":\"x\"}", MG_KIND_DO,
     MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, false, true, "", NULL},
    {BOTH POLL, "{\"state\":\"PENDING\"}", MG_KIND_VERIFY, MG_OUTCOME_DONE, MG_EXECUTED_YES,
     MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, false, true, "not_done_yet", NULL},
    {BOTH, "{\"state\":\"PENDING\"}", MG_KIND_VERIFY, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_UNKNOWN,
     MG_EXECUTED_MAYBE, false, true, "not_done_yet", NULL},
    {BOTH POLL, "{}", MG_KIND_VERIFY, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE,
     false, true, "answer_unclear", NULL},
    {BOTH POLL, "{\"state\":\"DECLINED\"}", MG_KIND_VERIFY, MG_OUTCOME_DONE, MG_EXECUTED_YES,
     MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, false, true, "refused", NULL},
    {BOTH POLL, REFUSED_BODY, MG_KIND_UNDO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_DONE,
     MG_EXECUTED_YES, false, false, "", NULL},
    {BOTH POLL, REFUSED_BODY, MG_KIND_DO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_OUTCOME_TRANSIENT,
     MG_EXECUTED_MAYBE, false, false, "", NULL},
    {"\"pivot\":false", REFUSED_BODY, MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_DONE,
     MG_EXECUTED_YES, false, false, "", NULL},
    {"\"pivot\":false", "{\"state\":\"SETTLED\"}", MG_KIND_UNDO, MG_OUTCOME_DONE, MG_EXECUTED_YES,
     MG_OUTCOME_DONE, MG_EXECUTED_YES, false, true, "", UNDO(BOTH)},
    {"\"pivot\":false", REFUSED_BODY, MG_KIND_UNDO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_PERMANENT,
     MG_EXECUTED_NO, false, true, "refused/card_declined", UNDO(BOTH)},
    {BOTH POLL, "{\"state\":\"PENDING\"}", MG_KIND_UNDO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_UNKNOWN,
     MG_EXECUTED_MAYBE, false, true, "not_done_yet", UNDO(BOTH)},
    {BOTH POLL, "{\"state\":\"PENDING\"}", MG_KIND_UNDO, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE,
     MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, true, true, "not_done_yet", UNDO(BOTH)},
    {BOTH POLL, NULL, MG_KIND_UNDO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE,
     false, true, "answer_unclear", UNDO(BOTH)},
    {BOTH POLL, REFUSED_BODY, MG_KIND_UNDO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, MG_OUTCOME_TRANSIENT,
     MG_EXECUTED_MAYBE, false, false, "", UNDO(BOTH)},
    {"\"pivot\":false", REFUSED_BODY, MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, MG_OUTCOME_DONE,
     MG_EXECUTED_YES, false, false, "", UNDO(BOTH)},
};

START_TEST(a_reply_becomes_what_its_answer_means)
{
    const char *result = REPLIES[_i].result;
    struct mg_reply reply = {.kind = REPLIES[_i].kind,
                             .outcome = REPLIES[_i].outcome,
                             .executed = REPLIES[_i].executed,
                             .result = result != NULL ? mg_slice_of(result) : (struct mg_slice){NULL, 0}};
    load_with(REPLIES[_i].undo != NULL ? REPLIES[_i].undo : "\"none\"", REPLIES[_i].members);
    struct mg_render_input input = input_of();
    ck_assert_int_eq(mg_workflow_answer_judge(&input, 1, &reply), REPLIES[_i].is_changed);
    ck_assert_int_eq(reply.outcome, REPLIES[_i].becomes);
    ck_assert_int_eq(reply.executed, REPLIES[_i].proves);
    ck_assert_int_eq(reply.may_still_act, REPLIES[_i].may_still_act);
    ck_assert_str_eq(reply.error_code, REPLIES[_i].code);
    bool is_refused = reply.error_reason == MG_ERROR_REASON_REFUSED;
    ck_assert_int_eq(reply.is_refused_by_body, is_refused);
    if (is_refused && strcmp(result, REFUSED_BODY) == 0) {
        ck_assert(mg_slice_is(reply.error_message, "\"no \\u00fc\""));
    }
    mg_workflow_destroy(workflow);
}
END_TEST

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
    Suite *suite = suite_create("workflow_answer");
    TCase *tests = tcase_create("workflow_answer");
    tcase_add_loop_test(tests, a_mistake_in_a_condition_has_its_pointer, 0, COUNT(MISTAKES));
    tcase_add_test(tests, a_template_cannot_refer_to_the_answer);
    tcase_add_loop_test(tests, an_answer_means_what_the_conditions_make_of_it, 0, COUNT(ANSWERS));
    tcase_add_test(tests, a_result_that_was_left_out_is_named_as_such);
    tcase_add_test(tests, a_long_reason_is_cut_at_a_character);
    tcase_add_loop_test(tests, a_reply_becomes_what_its_answer_means, 0, COUNT(REPLIES));
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
