/* The refusals of a new order by its workflow, and their words. */
#include <check.h>
#include <string.h>

#include "refusals.h"
#include "suite.h"
#include "workflow/admission.h"

#define MEMORY (64u * 1024)

static struct mg_admission judge(const char *definition, const char *payload, struct mg_arena *arena)
{
    struct mg_workflow *workflow = NULL;
    struct mg_admission admission;
    struct mg_err err = {MG_OK, ""};
    ck_assert_msg(mg_workflow_parse(mg_slice_of(definition), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    const struct mg_render_input input = {
        .workflow = workflow, .order_id = "o-1", .payload = mg_slice_of(payload), .accepted_at_ms = 1};
    mg_admission_judge(&input, arena, &admission);
    mg_workflow_destroy(workflow);
    return admission;
}

static const char *code_of(enum mg_admission_verdict verdict)
{
    static const char *const codes[] = {[MG_ADMITTED] = "admitted",
                                        [MG_REFUSED_PAYLOAD] = "invalid",
                                        [MG_REFUSED_REQUIREMENT] = "requirement",
                                        [MG_REFUSED_EXPRESSION] = "expression",
                                        [MG_ADMISSION_NO_MEMORY] = "no memory"};
    return codes[verdict];
}

/* Would catch: an order that is taken and then turned back at once, and a refusal that helps no person. */
START_TEST(each_order_of_the_table_is_refused_for_its_reason)
{
    struct mg_arena *arena = mg_arena_create(MEMORY);
    struct refusal refusal;
    for (int i = 0; refusal_read(i, &refusal); i++) {
        struct mg_admission admission = judge(refusal.definition, refusal.payload, arena);
        ck_assert_str_eq(admission.reason, refusal.reason);
        ck_assert_str_eq(code_of(admission.verdict), refusal.code);
    }
    mg_arena_destroy(arena);
}
END_TEST

/* Would catch: labels that are lost between the judgement and the order. */
START_TEST(an_order_that_is_admitted_has_its_labels)
{
    struct mg_arena *arena = mg_arena_create(MEMORY);
    struct mg_admission admission = judge(
        "{\"workflow\":\"w\",\"version\":1,\"labels\":{\"a\":\"${/payload/a}\",\"b\":\"${/payload/b}\"},"
        "\"steps\":[{\"step\":\"s\",\"service\":\"s\",\"undo\":\"none\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/x\"}}]}",
        "{\"b\":\"7\"}", arena);
    ck_assert_str_eq(code_of(admission.verdict), "admitted");
    ck_assert_ptr_null(admission.labels[0].data);
    ck_assert(mg_slice_is(admission.labels[1], "7"));
    mg_arena_destroy(arena);
}
END_TEST

START_TEST(an_order_for_which_there_is_no_memory_is_not_refused)
{
    struct mg_arena *arena = mg_arena_create(1);
    struct mg_admission admission =
        judge("{\"workflow\":\"w\",\"version\":1,\"labels\":{\"a\":\"${/payload/a}\"},"
              "\"steps\":[{\"step\":\"s\",\"service\":\"s\",\"undo\":\"none\","
              "\"do\":{\"method\":\"POST\",\"path\":\"/x\"}}]}",
              "{\"a\":\"a text of some length\"}", arena);
    ck_assert_str_eq(code_of(admission.verdict), "no memory");
    mg_arena_destroy(arena);
}
END_TEST

START_TEST(a_workflow_that_is_not_loaded_is_named_with_its_version)
{
    struct mg_submission submission = {.workflow = "w"};
    char reason[MG_STATUS_REASON_MAX + 1];
    mg_admission_unknown(&submission, reason);
    ck_assert_str_eq(reason, "/workflow: no workflow \"w\" has been loaded");
    submission.workflow_version = 3;
    mg_admission_unknown(&submission, reason);
    ck_assert_str_eq(reason, "/workflow: no workflow \"w\" of version 3 has been loaded");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admission");
    TCase *cases = tcase_create("admission");
    tcase_add_test(cases, each_order_of_the_table_is_refused_for_its_reason);
    tcase_add_test(cases, an_order_that_is_admitted_has_its_labels);
    tcase_add_test(cases, an_order_for_which_there_is_no_memory_is_not_refused);
    tcase_add_test(cases, a_workflow_that_is_not_loaded_is_named_with_its_version);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
