/* The scheduler's spans: one tree for each order, each span once, when it is stored. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../span_recorder.h"
#include "../suite.h"
#include "stage.h"

#define TRACE     "0af7651916cd43dd8448eb211c80319c"
#define CLIENT    "b7ad6b7169203331"
#define SAMPLED   "00-" TRACE "-" CLIENT "-01"
#define UNSAMPLED "00-" TRACE "-" CLIENT "-00"

static struct mg_span_sink sink = {.take = span_keep};

static void set_up(void)
{
    recorded_count = 0;
    sink.threshold = UINT64_MAX; /* below every trace but the clients' sampled ones */
    stage_spans = &sink;
    stage_traceparent = SAMPLED;
    stage_start();
}

static void tear_down(void)
{
    stage_finish();
    stage_spans = NULL;
    stage_traceparent = NULL;
}

/* The request as its agent gets it. */
static const char *requested(void)
{
    const struct fake_published *last = fake_broker_last("request");
    ck_assert_ptr_nonnull(last);
    ck_assert(last->traceparent[0] == '\0' || strstr(last->body, last->traceparent) != NULL);
    return last->traceparent;
}

/* Catches: a tree with a branch missing; a span under the wrong parent; a span sent before its event is
 * stored. */
START_TEST(an_order_is_one_tree_below_its_client)
{
    stage_begin("o1");
    ck_assert_int_eq(recorded_count, 0);                               /* nothing has ended */
    ck_assert_str_eq(requested(), "00-" TRACE "-488d6ad1479ac5af-01"); /* attempt/o1.reserve.1.do */
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(recorded_count, 1);
    stage_answer("o1.charge#1");
    ck_assert_int_eq(recorded_count, 3);
    ck_assert_str_eq(recorded[0].name, "do reserve");
    ck_assert_str_eq(recorded[0].id, "488d6ad1479ac5af");
    ck_assert_str_eq(recorded[0].parent, "5826ace2448d39d6"); /* order/o1 */
    ck_assert(span_has(&recorded[0], " makegood.outcome=done"));
    ck_assert(!recorded[0].span.is_error);
    const struct recorded *order = strcmp(recorded[1].name, "order two") == 0 ? &recorded[1] : &recorded[2];
    const struct recorded *charge = order == &recorded[1] ? &recorded[2] : &recorded[1];
    ck_assert_str_eq(charge->name, "do charge");
    ck_assert_str_eq(charge->parent, order->id);
    ck_assert_str_eq(order->name, "order two");
    ck_assert_str_eq(order->id, "5826ace2448d39d6");
    ck_assert_str_eq(order->parent, CLIENT);
    ck_assert(span_has(order, " makegood.outcome=processed"));
    for (int i = 0; i < recorded_count; i++) {
        ck_assert_str_eq(recorded[i].trace, TRACE);
        ck_assert_int_le(order->span.begin_us, recorded[i].span.begin_us);
        ck_assert_int_le(recorded[i].span.begin_us, recorded[i].span.end_us);
        ck_assert_int_le(recorded[i].span.end_us, order->span.end_us);
        ck_assert(!span_has(&recorded[i], "14.00")); /* payload */
        ck_assert(!span_has(&recorded[i], "7.50"));  /* result */
    }
}
END_TEST

/* Catches: a client without sampling that gets a trace, or a context that does not go on as it came. */
START_TEST(a_context_that_the_client_does_not_sample_is_passed_on_unchanged)
{
    stage_finish();
    sink.threshold = 0; /* all others would be */
    stage_traceparent = UNSAMPLED;
    stage_start();
    stage_begin("o1");
    ck_assert_str_eq(requested(), UNSAMPLED);
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1");
    ck_assert_int_eq(recorded_count, 0);
}
END_TEST

/* Catches: a trace that would have another name in another scheduler. */
START_TEST(an_order_without_a_trace_gets_one_of_its_own)
{
    stage_finish();
    sink.threshold = 0;
    stage_traceparent = NULL;
    stage_start();
    stage_begin("o1");
    ck_assert_str_eq(requested(), "00-2352da7280f1decc3acf1ba84eb945c9-488d6ad1479ac5af-01");
    stage_answer("o1.reserve#1");
    ck_assert_str_eq(recorded[0].trace, "2352da7280f1decc3acf1ba84eb945c9");
    ck_assert_ptr_null(fake_store_order("o1")->traceparent.data); /* nothing is stored that was not there */
}
END_TEST

/* Catches: a sampling share of 0 with which every order is traced. */
START_TEST(an_order_that_is_not_chosen_has_no_trace)
{
    stage_traceparent = NULL;
    stage_begin("o1");
    ck_assert_str_eq(requested(), "");
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(recorded_count, 0);
}
END_TEST

/* Catches: an invalid context that is stored and passed on. */
START_TEST(a_broken_context_is_none)
{
    stage_traceparent = "00-" TRACE "-0000000000000000-01";
    stage_begin("o1");
    ck_assert_str_eq(requested(), "");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING); /* and costs the order nothing */
}
END_TEST

/* Catches: a context that is changed although spans are off. */
START_TEST(without_a_collector_the_context_is_passed_on_unchanged)
{
    stage_finish();
    stage_spans = NULL;
    stage_start();
    stage_begin("o1");
    ck_assert_str_eq(requested(), SAMPLED);
    stage_answer("o1.reserve#1");
    ck_assert_str_eq(requested(), SAMPLED);
    ck_assert_int_eq(recorded_count, 0);
}
END_TEST

/* Catches: a span of a decision that another instance overtook, besides that of the one that took its place;
 * a repeat with a second span. */
START_TEST(a_repeated_decision_is_recorded_once)
{
    stage_begin("o1");
    fake_store.next_commit = FAKE_COMMIT_CONFLICT;
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(recorded_count, 1);
    stage_answer("o1.reserve#1"); /* an old one: it ends nothing */
    ck_assert_int_eq(recorded_count, 1);
}
END_TEST

/* Catches: failures that look like successes, and an undo that is missing from the tree. */
START_TEST(failures_are_recorded_as_errors)
{
    stage_begin("o1");
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1 permanent");
    ck_assert_int_eq(recorded_count, 2);
    ck_assert(span_has(&recorded[1], " makegood.outcome=permanent"));
    ck_assert(recorded[1].span.is_error);
    stage_answer("o1.reserve#2 undo");
    ck_assert_int_eq(recorded_count, 4);
    const struct recorded *order = strcmp(recorded[2].name, "order two") == 0 ? &recorded[2] : &recorded[3];
    const struct recorded *undo = order == &recorded[2] ? &recorded[3] : &recorded[2];
    ck_assert_str_eq(undo->name, "undo reserve");
    ck_assert(span_has(order, " makegood.outcome=compensated"));
    ck_assert(!order->span.is_error);
}
END_TEST

/* Catches: an attempt without an answer, missing from the tree. */
START_TEST(an_attempt_that_expires_is_recorded)
{
    stage_begin("o1");
    stage_pass(11000);
    stage_act("c1 o1 overdue step=reserve attempt=1 by=test");
    ck_assert_int_eq(recorded_count, 1);
    ck_assert_str_eq(recorded[0].name, "do reserve");
    ck_assert(span_has(&recorded[0], " makegood.outcome=expired"));
    ck_assert(recorded[0].span.is_error);
    ck_assert_int_ge(recorded[0].span.end_us - recorded[0].span.begin_us, INT64_C(10000000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler trace");
    TCase *tests = tcase_create("trace");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, an_order_is_one_tree_below_its_client);
    tcase_add_test(tests, a_context_that_the_client_does_not_sample_is_passed_on_unchanged);
    tcase_add_test(tests, an_order_without_a_trace_gets_one_of_its_own);
    tcase_add_test(tests, an_order_that_is_not_chosen_has_no_trace);
    tcase_add_test(tests, a_broken_context_is_none);
    tcase_add_test(tests, without_a_collector_the_context_is_passed_on_unchanged);
    tcase_add_test(tests, a_repeated_decision_is_recorded_once);
    tcase_add_test(tests, failures_are_recorded_as_errors);
    tcase_add_test(tests, an_attempt_that_expires_is_recorded);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
