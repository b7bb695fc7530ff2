/*
 * Steps that wait for a signal: the status about it, and the end of a wait whose signal is kept under its
 * key.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"
#include "wire/command.h"

#define APPROVED(more)                                                                                        \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"approve\",\"wait\":{\"signal\":\"approved\"," \
    "\"within\":\"10s\"" more "}},"                                                                           \
    "{\"step\":\"charge\",\"service\":\"payment\",\"do\":{\"method\":\"POST\",\"path\":\"/c\"},"              \
    "\"undo\":\"none\"}]}"
#define KEYED APPROVED(",\"key\":\"payload.items[0]\"")

static void setup(void)
{
    stage_start();
    stage_scheduler->inbox.up_boot_ms = 0; /* no signal of an outage is to be read */
}

static void submit(const char *notify)
{
    static const char FORMAT[] =
        "{\"order_id\":\"o1\",\"workflow\":\"two\",\"payload\":{\"items\":[\"ch_1\"]}%s}";
    char body[256];
    snprintf(body, sizeof(body), FORMAT, notify);
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                .body = body,
                                                .message_id = "o1",
                                                .reply_to = "client",
                                                .correlation_id = "c1"});
    stage_settle();
}

static bool told(const char *text)
{
    return fake_broker_last("status") != NULL && strstr(fake_broker_last("status")->body, text) != NULL;
}

/* Would catch: a client that asks for statuses and never hears that a person has its order. */
START_TEST(a_wait_is_a_status_for_clients_that_ask_for_steps)
{
    fake_store.definition = APPROVED(",\"title\":\"An \\\"order\\\"\"");
    submit(",\"notify\":\"steps\"");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_broker_count("status"), 2);
    ck_assert_msg(
        told("\"seq\":2,\"status\":\"waiting\",") &&
            told("\"step\":\"approve\",\"signal\":\"approved\",\"title\":\"An \\\"order\\\"\",\"until\":\""),
        "%s", fake_broker_last("status")->body);
    stage_act("s-1 o1 signal signal=approved by=ann payload={}");
    ck_assert(told("\"seq\":3,\"status\":\"step_completed\""));
}
END_TEST

/* Would catch: an order that is said to wait, and does not. */
START_TEST(a_wait_that_a_kept_signal_ends_is_no_status)
{
    fake_store.definition =
        "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"charge\",\"service\":\"payment\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"},"
        "{\"step\":\"approve\",\"wait\":{\"signal\":\"approved\",\"within\":\"10s\"}}]}";
    submit(",\"notify\":\"steps\"");
    stage_act("s-1 o1 signal signal=approved by=ann payload={}");
    stage_answer("o1.charge#1");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert(told("\"seq\":4,\"status\":\"processed\"")); /* after those of the two steps */
}
END_TEST

/* Would catch: a restart that throws away a signal, after its sender was told that it counts. */
START_TEST(a_kept_signal_counts_after_a_restart)
{
    fake_store.definition =
        "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"charge\",\"service\":\"payment\","
        "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"},"
        "{\"step\":\"approve\",\"wait\":{\"signal\":\"approved\",\"within\":\"10s\"}}]}";
    submit("");
    stage_act("s-1 o1 signal signal=approved by=ann payload={}");
    stage_act("x-1 o1 cancel by=ann");
    stage_answer("o1.charge#1 permanent");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_CANCELLED);
    stage_act("x-2 o1 restart by=ann");
    stage_answer("o1.charge#2");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
}
END_TEST

START_TEST(a_wait_is_no_status_for_other_clients)
{
    fake_store.definition = APPROVED("");
    submit("");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_broker_count("status"), 1);
}
END_TEST

/* Would catch: an order that fails for want of a signal that had come in time. */
START_TEST(a_wait_is_not_over_while_a_signal_is_kept_for_it)
{
    fake_store.definition = KEYED;
    submit("");
    int looks = fake_store.looks;
    stage_act("due-1 o1 due step=approve attempt=1 by=s");
    ck_assert_str_eq(fake_store.wait_over, ""); /* it is not over */
    stage_pass(10001);
    fake_store.is_matched = true;
    stage_act("due-1 o1 due step=approve attempt=1 by=s");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    ck_assert_int_eq(fake_store.looks, looks + 1);
    ck_assert_int_eq(strncmp(fake_store.wait_over, "o1 approved ch_1 ", 17), 0);
    fake_store.is_matched = false; /* another order has it now */
    stage_act("due-1 o1 due step=approve attempt=1 by=s");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_FAILED);
}
END_TEST

START_TEST(a_wait_without_a_key_ends_without_a_look)
{
    fake_store.definition = APPROVED("");
    submit("");
    stage_pass(10001);
    fake_store.is_matched = true;
    stage_act("due-1 o1 due step=approve attempt=1 by=s");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_FAILED);
    ck_assert_str_eq(fake_store.wait_over, "");
}
END_TEST

#define TWO_WAITS                                                                                            \
    "{\"workflow\":\"two\",\"version\":1,\"on_failure\":\"error\",\"steps\":["                               \
    "{\"step\":\"small\",\"wait\":{\"signal\":\"approved\",\"within\":\"10s\"}},"                            \
    "{\"step\":\"large\",\"wait\":{\"signal\":\"approved\",\"within\":\"10s\"}}]}"

/* The question of a step as a page shows it now. */
static const char *shown_of(const char *step, uint32_t attempt)
{
    static char shown[MG_SHOWN_SIZE];
    mg_shown_make(step, attempt, fake_store_order("o1")->payload, shown);
    return shown;
}

static bool answered(const char *text)
{
    return fake_broker_last("command_result") != NULL &&
           strstr(fake_broker_last("command_result")->body, text) != NULL;
}

/* Would catch: the answer of a stale page that approves another question, which it did not show. */
START_TEST(an_answer_counts_only_for_the_question_that_was_shown)
{
    char small[MG_SHOWN_SIZE];
    fake_store.definition = TWO_WAITS;
    submit("");
    snprintf(small, sizeof(small), "%s", shown_of("small", 1));
    stage_act("s-1 o1 signal signal=approved by=ann to=tool shown=\"%s\"", shown_of("large", 1));
    ck_assert(answered("the question has changed since it was shown"));
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    stage_act("s-2 o1 signal signal=approved by=ann to=tool shown=\"%s\"", small);
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    stage_act("s-3 o1 signal signal=approved by=bob to=tool shown=\"%s\"", small);
    ck_assert(answered("\"signal\":\"refused\"") && answered("the question has changed since it was shown"));
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_WAITING);
    stage_act("s-2 o1 signal signal=approved by=ann to=tool shown=\"%s\"", small);
    ck_assert(answered("\"signal\":\"duplicate\"")); /* its answer may have been lost */
    stage_act("s-4 o1 signal signal=approved by=bob to=tool shown=\"%s\"", shown_of("large", 1));
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
}
END_TEST

/* Would catch: a signature under a payload that another operator has put there meanwhile. */
START_TEST(an_answer_counts_only_for_the_payload_that_was_shown)
{
    char before[MG_SHOWN_SIZE];
    fake_store.definition = TWO_WAITS;
    submit("");
    mg_shown_make("small", 1, mg_slice_of("{\"items\":[\"ch_0\"]}"), before);
    stage_act("s-1 o1 signal signal=approved by=ann to=tool shown=\"%s\"", before);
    ck_assert(answered("the question has changed since it was shown"));
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
}
END_TEST

/* Would catch: an operator's signal for one step that ends the next one of the same signal. */
START_TEST(a_signal_that_names_its_step_is_for_no_other)
{
    fake_store.definition = TWO_WAITS;
    submit("");
    stage_act("s-1 o1 signal signal=approved step=small by=ann to=tool");
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    stage_act("s-2 o1 signal signal=approved step=small by=bob to=tool");
    ck_assert(answered("\"signal\":\"late\""));
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_WAITING);
    stage_act("s-3 o1 signal signal=approved step=smal by=bob to=tool");
    ck_assert(answered("no step of the order's workflow waits for this signal"));
    stage_act("s-4 o1 signal signal=approved step=large by=bob to=tool");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("waits");
    TCase *tests = tcase_create("waits");
    tcase_add_checked_fixture(tests, setup, stage_finish);
    tcase_add_test(tests, a_wait_is_a_status_for_clients_that_ask_for_steps);
    tcase_add_test(tests, a_wait_that_a_kept_signal_ends_is_no_status);
    tcase_add_test(tests, a_kept_signal_counts_after_a_restart);
    tcase_add_test(tests, a_wait_is_no_status_for_other_clients);
    tcase_add_test(tests, a_wait_is_not_over_while_a_signal_is_kept_for_it);
    tcase_add_test(tests, a_wait_without_a_key_ends_without_a_look);
    tcase_add_test(tests, an_answer_counts_only_for_the_question_that_was_shown);
    tcase_add_test(tests, an_answer_counts_only_for_the_payload_that_was_shown);
    tcase_add_test(tests, a_signal_that_names_its_step_is_for_no_other);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
