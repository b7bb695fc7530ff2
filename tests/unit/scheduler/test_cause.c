/*
 * What is recorded of a cause: the failure of a step, by which operators search and failures are counted, and
 * the changes of state, which stories, pages and reports read.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"
#include "wire/reply.h"

#define DOUBTING                                                                                             \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"complete_within\":\"10s\",\"on_unknown\":\"verify\",\"retry\":{\"attempts\":2,\"backoff\":\"1s\"},"   \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"verify\":{\"method\":\"GET\",\"path\":\"/r\"},"          \
    "\"undo\":\"none\"}]}"

static void due(uint32_t attempt)
{
    fake_store.ahead_ms += 5000; /* its backoff is over */
    stage_act("due-%u o1 due step=reserve attempt=%u by=s", attempt, attempt);
}

static bool has_error(const char *code)
{
    return mg_slice_is(fake_store_record("o1")->steps[0].error_code, code);
}

/* Would catch: an operator misled because the answer to a verify is recorded as the step's failure. */
START_TEST(the_cause_of_a_failed_step_is_the_answer_to_its_do)
{
    fake_store.definition = DOUBTING;
    stage_begin("o1");
    for (uint32_t attempt = 1; attempt <= 3; attempt += 2) {
        stage_answer("o1.reserve#%d transient maybe http_500 over", attempt);
        ck_assert_int_eq(fake_store_order("o1")->order.steps[0].kind, MG_KIND_VERIFY);
        stage_answer("o1.reserve#%d verify absent http_404", attempt + 1);
        ck_assert(has_error("http_500"));
        due(attempt + 1);
    }
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_FAILED);
    ck_assert(has_error("http_500"));
}
END_TEST

static void reply(uint32_t attempt, const char *kind, const char *outcome, const char *code)
{
    stage_answer("o1.reserve#%d %s %s maybe %s over", attempt, kind, outcome, code);
}

/* Would catch: a failed verify that is recorded nowhere; the failure of an earlier attempt, shown for work
 * that was accepted since. */
START_TEST(the_answer_to_a_verify_stands_where_nothing_else_is_known)
{
    fake_store.definition = DOUBTING;
    stage_begin("o1");
    reply(1, "do", "transient", "http_500");
    reply(2, "verify", "transient", "http_503"); /* it is verified again */
    ck_assert(has_error("http_500"));
    due(2);
    reply(3, "verify", "accepted", "http_202");
    ck_assert(has_error("http_500"));
    stage_begin("o2");
    stage_answer("o2.reserve#1 unknown over");
    stage_answer("o2.reserve#2 verify transient http_401");
    ck_assert(mg_slice_is(fake_store_record("o2")->steps[0].error_code, "http_401"));
}
END_TEST

/* ---- in the client's statuses ---- */

#define TWO(on_failure)                                                                                      \
    "{\"workflow\":\"two\",\"version\":1,\"complete_within\":\"15m\",\"on_failure\":\"" on_failure "\","     \
    "\"on_expiry\":\"compensate\",\"steps\":["                                                               \
    "{\"step\":\"reserve\",\"service\":\"inventory\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","  \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},"                                                          \
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r/${/do_key}\",\"retry\":{\"attempts\":1}}},"               \
    "{\"step\":\"charge\",\"service\":\"payment\",\"complete_within\":\"10s\","                              \
    "\"on_unknown\":\"retry\",\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"

#define DECLINED "{\"step\":\"charge\",\"code\":\"card_declined\",\"text\":\"no cover\",\"status\":422}"
#define OPERATOR "{\"code\":\"operator\",\"text\":\"an operator decided it\"}"

static void step_reply(const char *step, uint32_t attempt, const char *kind, const char *outcome)
{
    stage_answer("o1.%s#%u %s %s %s over", step, attempt, kind, outcome,
                 strcmp(outcome, "done") == 0 ? "yes" : "no http_503");
}

static void decline(void)
{
    stage_begin("o1");
    step_reply("reserve", 1, "do", "done");
    stage_answer(
        "o1.charge#1 permanent http_422/card_declined message='no cover' body=\"{\\\"code\\\":7}\" over");
}

/* The last status to the client, and its cause. */
static void expect_status(const char *status, const char *cause)
{
    char text[64];
    const char *body = fake_broker_last("status")->body;
    struct mg_slice found = mg_json_find(mg_slice_of(body), "/cause");
    (void)snprintf(text, sizeof(text), "\"status\":\"%s\"", status);
    ck_assert_msg(strstr(body, text) != NULL, "%s", body);
    if (cause == NULL) {
        ck_assert_msg(found.data == NULL, "%s", body);
    } else {
        ck_assert_msg(mg_slice_is(found, cause), "%s", body);
    }
}

/* Would catch: a client that learns that a step failed and not why; an undo's failure in place of the cause.
 */
START_TEST(a_client_gets_the_cause_in_the_services_words)
{
    fake_store.definition = TWO("compensate");
    decline();
    expect_status("compensating", DECLINED);
    ck_assert(mg_slice_is(fake_store_record("o1")->failure, DECLINED));
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[1].error_message, "no cover"));
    ck_assert(mg_slice_is(fake_store_record("o1")->steps[1].error_body, "{\"code\":7}"));
    step_reply("reserve", 2, "undo", "permanent");
    expect_status("error", "{\"step\":\"reserve\",\"code\":\"http_503\",\"status\":503}");
    stage_pass(15000); /* the refused request is not made again */
    stage_act("resume o1 resume by=ann");
    expect_status("compensating", DECLINED);
    step_reply("reserve", 3, "undo", "done");
    expect_status("compensated", DECLINED);
    stage_begin("o1"); /* the same once more, from the stored rows */
    expect_status("compensated", DECLINED);
}
END_TEST

/* An operator's command after a step has failed, and the cause from then on; a reply, and the end with its
 * cause. */
static const struct {
    const char *command, *cause, *reply, *end, *cause_at_end;
} DECISIONS[] = {
    {"resume", NULL, "o1.charge#2 over", "processed", NULL},
    {"cancel", OPERATOR, "o1.reserve#2 undo over", "cancelled", OPERATOR},
    {"compensate", DECLINED, "o1.reserve#2 undo over", "compensated", DECLINED},
};

/* Would catch: a cause of an earlier failure in an order that went forward since; a cancellation that is
 * shown as a failure of the step before it; an operator's compensation that hides from the client why the
 * order failed. */
START_TEST(the_cause_follows_the_decision_of_the_operator)
{
    fake_store.definition = TWO("error");
    decline();
    expect_status("error", DECLINED);
    stage_act("c-1 o1 %s by=ann", DECISIONS[_i].command);
    if (DECISIONS[_i].cause != NULL) {
        expect_status("compensating", DECISIONS[_i].cause);
    } else {
        ck_assert_ptr_null(fake_store_record("o1")->failure.data);
    }
    stage_answer("%s", DECISIONS[_i].reply);
    expect_status(DECISIONS[_i].end, DECISIONS[_i].cause_at_end);
}
END_TEST

START_TEST(the_cause_of_an_expiry_is_its_reason)
{
    fake_store.definition = TWO("compensate");
    stage_begin("o1");
    step_reply("reserve", 1, "do", "done");
    fake_store.ahead_ms += 16 * 60 * 1000;
    stage_act("late o1 expired by=s");
    expect_status("compensating", "{\"code\":\"order_expired\",\"text\":\"the order's complete-by passed\"}");
}
END_TEST

/* Would catch: "a step failed" in place of the reason, once the undo of the step has begun; the code of a
 * poll that went wrong on the way. */
START_TEST(the_cause_of_work_that_is_not_finished_in_time_is_this)
{
    fake_store.definition =
        "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","
        "\"complete_within\":\"10s\",\"finish_within\":\"40s\",\"poll\":\"5s\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"verify\":{\"method\":\"GET\",\"path\":\"/r\"},"
        "\"undo\":{\"method\":\"DELETE\",\"path\":\"/r\"}}]}";
    stage_begin("o1");
    stage_answer("o1.reserve#1 accepted over");
    due(1);
    stage_answer("o1.reserve#2 verify transient http_503 over");
    stage_pass(60 * 1000);
    due(2);
    stage_answer("o1.reserve#3 verify accepted over");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDO_RUNNING);
    expect_status("compensating", "{\"step\":\"reserve\",\"code\":\"finish_expired\","
                                  "\"text\":\"the service did not finish accepted work in time\"}");
}
END_TEST

/* The words of a refusal, and the cause of its step's failure. */
static const char *const CAUSES[][2] = {
    {"http_422/SOLD_OUT", "{\"step\":\"reserve\",\"code\":\"SOLD_OUT\",\"status\":422}"},
    {"http_503", "{\"step\":\"reserve\",\"code\":\"http_503\",\"status\":503}"},
    {"http_42", "{\"step\":\"reserve\",\"code\":\"http_42\"}"},
    {"http_4222", "{\"step\":\"reserve\",\"code\":\"http_4222\"}"},
    {"refused/SOLD_OUT", "{\"step\":\"reserve\",\"code\":\"SOLD_OUT\"}"},
    {"refused", "{\"step\":\"reserve\",\"code\":\"refused\"}"},
    {"answer_unclear", "{\"step\":\"reserve\",\"code\":\"answer_unclear\"}"},
    {"timeout", "{\"step\":\"reserve\",\"code\":\"timeout\"}"},
    {"unsendable",
     "{\"step\":\"reserve\",\"code\":\"unsendable\"}"}, /* the agent's own text stays with the operator */
    {"http_422 message=no\\u001b[31m\\n\\u202ecover",   /* one plain line */
     "{\"step\":\"reserve\",\"code\":\"http_422\",\"text\":\"no [31m  cover\",\"status\":422}"},
};

/* Would catch: a status in a cause that no status refused, or a class of errors in front of the service's
 * code; hosts and addresses of the inside that reach a client; a text that steers the terminal of a client or
 * an operator. */
START_TEST(a_cause_has_the_words_of_the_service_and_no_others)
{
    fake_store.definition = TWO("compensate");
    stage_begin("o1");
    stage_answer("o1.reserve#1 permanent %s over", CAUSES[_i][0]);
    expect_status("compensated", CAUSES[_i][1]);
}
END_TEST

START_TEST(a_rejection_has_a_code)
{
    stage_begin("o1");
    stage_submit_from("o1", "[15.00]", "client", false);
    stage_settle();
    expect_status("rejected",
                  "{\"code\":\"conflict\",\"text\":\"conflict: another order has this order_id; give "
                  "the new one an id of its own\"}");
}
END_TEST

/* Would catch: the absence that an undo found, shown as the failure of its step. */
START_TEST(an_absence_found_by_an_undo_is_no_failure)
{
    fake_store.definition = TWO("compensate");
    decline();
    stage_answer("o1.reserve#2 undo absent http_404");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_UNDONE);
    ck_assert_ptr_null(fake_store_record("o1")->steps[0].error_code.data);
}
END_TEST

/* Would catch: a body of an agent in another language that fills the row of a step. */
START_TEST(a_body_is_cut_however_long_it_comes)
{
    static char body[20 * 1024];
    memset(body, 'x', sizeof(body) - 1);
    body[0] = body[sizeof(body) - 2] = '"';
    fake_store.definition = TWO("error");
    stage_begin("o1");
    char text[sizeof(body) + 512];
    (void)snprintf(
        text, sizeof(text),
        "{\"v\":1,\"order_id\":\"o1\",\"step\":\"reserve\",\"attempt\":1,\"kind\":\"do\",\"outcome\":"
        "\"permanent\",\"executed\":\"no\",\"error\":{\"code\":\"x\",\"body\":%s}}",
        body);
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_REPLIES, .type = "reply", .body = text});
    stage_settle();
    ck_assert_uint_eq(fake_store_record("o1")->steps[0].error_body.len, MG_ERROR_KEEP_MAX);
}
END_TEST

/* Compares the transitions of an event to the byte, but for the moment of a wait. */
static void assert_transitions(int event, const char *expected)
{
    static const char mark[] = "\"due_at\":\"", moment[] = "2026-01-31T12:34:56.789Z";
    char text[2048];
    struct mg_slice given = fake_store_event("o1", event)->transitions;
    ck_assert_uint_lt(given.len, sizeof(text));
    (void)snprintf(text, sizeof(text), "%.*s", (int)given.len, given.data);
    char *at = strstr(text, mark);
    if (at != NULL) {
        at += strlen(mark);
        ck_assert_msg(strnlen(at, sizeof(moment)) == sizeof(moment) && at[strlen(moment) - 1] == 'Z', "%s",
                      text);
        memcpy(at, moment, strlen(moment));
    }
    ck_assert_str_eq(text, expected);
}

/* Would catch: a change of the form in which an event is kept for good. */
START_TEST(the_changes_of_state_are_kept_in_one_form)
{
    stage_begin("o1");
    stage_answer("o1.reserve#1 transient");
    assert_transitions(
        0, "[{\"step\":\"reserve\",\"from\":\"pending\",\"to\":\"running\",\"attempt\":1,\"kind\":\"do\","
           "\"reason\":\"none\"},{\"from\":\"pending\",\"to\":\"processing\",\"reason\":\"none\"}]");
    assert_transitions(
        1, "[{\"step\":\"reserve\",\"from\":\"running\",\"to\":\"waiting\",\"attempt\":1,\"kind\":\"do\","
           "\"reason\":\"reply_transient\",\"due_at\":\"2026-01-31T12:34:56.789Z\"}]");
}
END_TEST

/* Would catch: attempts used up by a token endpoint that is down, and a step that waits without its cause. */
START_TEST(a_reply_without_an_access_token_counts_nothing)
{
    stage_begin("o1");
    stage_answer("o1.reserve#1 transient token_unavailable");
    const struct mg_order *order = &fake_store_order("o1")->order;
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(order->steps[0].reason, MG_REASON_BREAKER_OPEN);
    ck_assert_uint_eq(order->failure_count, 0);
    ck_assert_uint_eq(order->steps[0].failure_count, 0);
    ck_assert(has_error("token_unavailable"));
}
END_TEST

#define REACHING                                                                                             \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\",\"headers\":{\"X-A\":\"${/order_id}\"}},\"undo\":\"none\"}]}"

/* Would catch: a request that an agent of the version before takes, and sends without its headers. */
START_TEST(a_request_with_headers_has_a_version_of_its_own)
{
    fake_store.definition = REACHING;
    stage_begin("o1");
    const char *body = fake_broker_last("request")->body;
    ck_assert_msg(strstr(body, "{\"v\":2,") == body, "%s", body);
    ck_assert_ptr_nonnull(strstr(body, "\"headers\":{\"X-A\":\"o1\"}"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler: cause");
    TCase *test = tcase_create("cause");
    tcase_add_checked_fixture(test, stage_start, stage_finish);
    tcase_add_test(test, the_cause_of_a_failed_step_is_the_answer_to_its_do);
    tcase_add_test(test, the_answer_to_a_verify_stands_where_nothing_else_is_known);
    tcase_add_test(test, the_changes_of_state_are_kept_in_one_form);
    tcase_add_test(test, a_reply_without_an_access_token_counts_nothing);
    tcase_add_test(test, a_request_with_headers_has_a_version_of_its_own);
    tcase_add_test(test, a_client_gets_the_cause_in_the_services_words);
    tcase_add_loop_test(test, the_cause_follows_the_decision_of_the_operator, 0,
                        (int)(sizeof(DECISIONS) / sizeof(DECISIONS[0])));
    tcase_add_test(test, the_cause_of_an_expiry_is_its_reason);
    tcase_add_loop_test(test, a_cause_has_the_words_of_the_service_and_no_others, 0,
                        (int)(sizeof(CAUSES) / sizeof(CAUSES[0])));
    tcase_add_test(test, the_cause_of_work_that_is_not_finished_in_time_is_this);
    tcase_add_test(test, a_rejection_has_a_code);
    tcase_add_test(test, an_absence_found_by_an_undo_is_no_failure);
    tcase_add_test(test, a_body_is_cut_however_long_it_comes);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
