/*
 * The output of a processed order, and the refusal of a submission whose first step could not be sent. Each
 * test names the failure that it would catch.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

#define STEP(name, service, after, body)                                                                     \
    "{\"step\":\"" name "\",\"service\":\"" service "\",\"after\":[" after "],\"retry\":{\"attempts\":3},"   \
    "\"do\":{\"method\":\"POST\",\"path\":\"/x\",\"body\":" body "},\"undo\":\"none\"}"
#define WORKFLOW(output, steps)                                                                              \
    "{\"workflow\":\"two\",\"version\":1,\"on_failure\":\"error\",\"output\":" output ",\"steps\":[" steps   \
    "]}"
#define STEPS                                                                                                \
    STEP("reserve", "inventory", "", "{\"items\":\"${/payload/items}\"}")                                    \
    "," STEP("charge", "payment", "\"reserve\"", "{}")

#define OUTPUT(output) WORKFLOW(output, STEPS)

static void start_with(const char *definition)
{
    stage_start();
    fake_store.definition = definition;
}

static void finish(void)
{
    stage_finish();
}

static void submit(const char *items)
{
    stage_submit_from("o1", items, "client", false);
    stage_settle();
}

static void done(const char *step)
{
    stage_answer("o1.%s#1", step);
}

static void go_to_the_end(const char *items)
{
    submit(items);
    done("reserve");
    done("charge");
}

static bool was_sent_as(const char *type, const char *text)
{
    for (int i = 0; i < fake_broker.count; i++) {
        const struct fake_published *published = &fake_broker.published[i];
        if (strcmp(published->type, type) == 0 && strstr(published->body, text) != NULL) {
            return true;
        }
    }
    return false;
}

static bool was_sent(const char *text)
{
    return was_sent_as("status", text);
}

static const struct mg_event_record *last_event(void)
{
    return fake_store_event("o1", fake_store_event_count("o1") - 1);
}

/* Would catch: 14.00 that arrives as 14, or an output of the last step's result that is not there yet. */
START_TEST(a_processed_order_brings_its_output_digit_for_digit)
{
    start_with(OUTPUT("{ \"ref\": \"${/results/charge/ref}\", \"items\": \"${/payload/items}\","
                      " \"id\": \"order ${/order_id}\" }"));
    go_to_the_end("[14.00]");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    const char *body = fake_broker_last("status")->body;
    ck_assert_msg(strstr(body, "\"status\":\"processed\"") != NULL, "%s", body);
    ck_assert_msg(strstr(body, "\"output\":{\"ref\":7.50,\"items\":[14.00],\"id\":\"order o1\"}}") != NULL,
                  "%s", body);
    ck_assert_int_eq(last_event()->statuses.len, strlen(body) + 2);
    ck_assert_int_eq(strncmp(last_event()->statuses.data + 1, body, strlen(body)), 0);
}
END_TEST

/* Would catch: a number of a client or a service that breaks its order, because no variable holds it. */
START_TEST(an_output_may_have_any_number)
{
    static const char ITEMS[] = "[123456789012345678901234567890,-1.50e400,1e400000]";
    char expected[128];
    start_with(OUTPUT("[\"${/payload/items}\",\"${/results/charge}\"]"));
    submit(ITEMS);
    done("reserve");
    stage_answer("o1.charge#1 result=12345678901234567890");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    (void)snprintf(expected, sizeof(expected), "\"output\":[%s,12345678901234567890]}", ITEMS);
    const char *body = fake_broker_last("status")->body;
    ck_assert_msg(strstr(body, expected) != NULL, "%s", body);
    (void)snprintf(expected, sizeof(expected), "{\"items\":%s}", ITEMS);
    ck_assert(was_sent_as("request", expected));
    submit(ITEMS); /* the same bytes once more */
    ck_assert_str_eq(fake_broker_last("status")->body, body);
}
END_TEST

/* Would catch: an output made anew for each repetition, with other bytes (law 8, derived identities). */
START_TEST(a_repeated_submission_brings_the_same_bytes)
{
    start_with(OUTPUT("{\"ref\":\"${/results/charge/ref}\",\"items\":\"${/payload/items}\"}"));
    go_to_the_end("[14.00]");
    char first[1024];
    (void)snprintf(first, sizeof(first), "%s", fake_broker_last("status")->body);
    for (int i = 0; i < 3; i++) {
        int statuses = fake_broker_count("status");
        if (i == 1) {
            mg_cache_clear(&stage_scheduler->cache); /* as in another instance */
        }
        stage_submit_from("o1", "[14.00]", i == 2 ? "another" : "client", false);
        stage_settle();
        ck_assert_int_gt(fake_broker_count("status"), statuses);
        ck_assert_str_eq(fake_broker_last("status")->body, first);
    }
}
END_TEST

/* Would catch: a status without output, or none, because the scheduler died between commit and publish. */
START_TEST(a_cause_that_comes_again_brings_the_same_output)
{
    start_with(OUTPUT("{\"ref\":\"${/results/charge/ref}\"}"));
    submit("[14.00]");
    done("reserve");
    fake_store.next_commit = FAKE_COMMIT_UNKNOWN_DONE;
    done("charge");
    fake_loop_advance(6000); /* past the backoff */
    stage_settle();
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert(was_sent("\"output\":{\"ref\":7.50}"));
    int statuses = fake_broker_count("status");
    stage_answer("o1.charge#1 again");
    ck_assert_int_eq(fake_broker_count("status"), statuses + 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"output\":{\"ref\":7.50}"));
}
END_TEST

/* Would catch: an order that is processed without its output, a gap in the statuses' numbers, or an operator
 * that gets no evidence of the missing value. */
START_TEST(an_output_without_a_value_is_an_error_that_a_repair_ends)
{
    start_with(OUTPUT("{\"to\":\"${/payload/items/1}\"}"));
    go_to_the_end("[14.00]");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    ck_assert_int_eq(fake_store_order("o1")->order.reason, MG_REASON_UNRENDERABLE);
    ck_assert(!was_sent("processed"));
    const char *body = fake_broker_last("status")->body;
    ck_assert_msg(strstr(body, "\"status\":\"error\"") != NULL, "%s", body);
    ck_assert_msg(strstr(body, "\"seq\":2") != NULL, "%s", body);
    ck_assert_msg(strstr(body, "unrenderable") != NULL, "%s", body);
    ck_assert_msg(strstr(body, "${/payload/items/1}") != NULL, "%s", body);
    ck_assert(was_sent_as("alert", "could not render the output: reference ${/payload/items/1}"));
    ck_assert_msg(memmem(last_event()->reason.data, last_event()->reason.len, "/payload/items/1", 16) != NULL,
                  "%.*s", (int)last_event()->reason.len, last_event()->reason.data);

    stage_act("r-1 o1 resume by=ann reason=try to=amq.gen-tool");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    ck_assert(!was_sent("processed"));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"seq\":3"));

    stage_act("r-2 o1 resume by=ann set=[{\"pointer\":\"/items\",\"value\":[1,2.0]}] to=amq.gen-tool");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    body = fake_broker_last("status")->body;
    ck_assert_msg(strstr(body, "\"seq\":4,\"status\":\"processed\"") != NULL, "%s", body);
    ck_assert_msg(strstr(body, "\"output\":{\"to\":2.0}") != NULL, "%s", body);
    ck_assert_int_eq(fake_broker_count("request"), 2); /* the steps are not done again */
}
END_TEST

/* Would catch: an order that can only end without its output, since an answer lacks a value. */
START_TEST(an_output_gets_a_missing_value_from_the_operator)
{
    start_with(OUTPUT("{\"to\":\"${/results/charge/to}\"}"));
    go_to_the_end("[14.00]");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    stage_act(
        "s-1 o1 settle step=charge outcome=done by=ann reason=asked result={\"to\":7.10} to=amq.gen-tool");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"output\":{\"to\":7.10}"));
    ck_assert_int_eq(fake_broker_count("request"), 2);
}
END_TEST

/* Would catch: the result of a step that was skipped, taken for an empty value. */
START_TEST(a_skipped_step_gives_no_value_to_the_output)
{
    start_with(OUTPUT("{\"ref\":\"${/results/charge}\"}"));
    submit("[14.00]");
    done("reserve");
    stage_answer("o1.charge#1 permanent");
    stage_act("s-1 o1 skip step=charge by=ann to=amq.gen-tool");
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_SKIPPED);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_ERROR);
    ck_assert(!was_sent("processed"));
}
END_TEST

/* `count` references to the same items. */
static const char *repeated(char *definition, size_t size, int count)
{
    size_t len = (size_t)snprintf(
        definition, size, "%s", "{\"workflow\":\"two\",\"version\":1,\"on_failure\":\"error\",\"output\":[");
    for (int i = 0; i < count; i++) {
        len += (size_t)snprintf(definition + len, size - len, "%s\"${/payload/items}\"", i > 0 ? "," : "");
    }
    (void)snprintf(definition + len, size - len, "%s", "],\"steps\":[" STEPS "]}");
    return definition;
}

/* Would catch: an output that is cut, a status that no reader takes, or one byte too few. The items have 99
 * bytes, so that n of them with their commas and brackets have 100 n + 1. */
START_TEST(an_output_ends_at_its_limit_and_is_never_cut)
{
    static const struct {
        int count;
        bool fits;
    } CASES[] = {{655, true}, {656, false}};
    char definition[32 * 1024], items[128];
    (void)snprintf(items, sizeof(items), "\"%097d\"", 7);
    ck_assert_int_eq(MG_OUTPUT_MAX_BYTES, 65536);
    start_with(repeated(definition, sizeof(definition), CASES[_i].count));
    go_to_the_end(items);
    ck_assert_int_eq(stage_order("o1"), CASES[_i].fits ? MG_ORDER_PROCESSED : MG_ORDER_ERROR);
    ck_assert_int_eq(was_sent("processed"), CASES[_i].fits);
    if (CASES[_i].fits) {
        ck_assert_int_gt(strlen(fake_broker_last("status")->body), 65501);
    } else {
        const char *body = fake_broker_last("status")->body;
        ck_assert_msg(strstr(body, "65536 bytes") != NULL, "%s", body);
    }
}
END_TEST

/* Would catch: a status that is stored and can never be read again. A result may be as deep as a message. */
START_TEST(an_output_that_no_status_can_hold_is_an_error)
{
    char items[128] = "", *at = items;
    for (int i = 0; i < 30; i++) {
        *at++ = '[';
    }
    for (int i = 0; i < 30; i++) {
        *at++ = ']';
    }
    *at = '\0';
    start_with(_i == 0 ? OUTPUT("[\"${/payload/items}\"]") : OUTPUT("[[\"${/payload/items}\"]]"));
    go_to_the_end(items);
    ck_assert_int_eq(stage_order("o1"), _i == 0 ? MG_ORDER_PROCESSED : MG_ORDER_ERROR);
    ck_assert_int_eq(was_sent("processed"), _i == 0);
}
END_TEST

/* Would catch: an output of a decision that was lost to another instance. */
START_TEST(a_lost_write_makes_the_output_anew)
{
    start_with(OUTPUT("{\"ref\":\"${/results/charge/ref}\"}"));
    submit("[14.00]");
    done("reserve");
    fake_store.next_commit = FAKE_COMMIT_CONFLICT;
    done("charge");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"output\":{\"ref\":7.50}"));
}
END_TEST

/* ---- refused at intake ---- */

#define FORK                                                                                                 \
    WORKFLOW("\"\"", STEP("reserve", "inventory", "", "{\"items\":\"${/payload/items/0/sku}\"}") "," STEP(   \
                         "charge", "payment", "",                                                            \
                         "{\"who\":\"for ${= payload.who}\"}") "," STEP("book", "carrier", "\"reserve\"",    \
                                                                        "\"${/payload/"                      \
                                                                        "later}\""))

static void submit_payload(const char *order_id, const char *payload)
{
    char body[512];
    (void)snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"workflow\":\"two\"%s%s}", order_id,
                   payload[0] != '\0' ? ",\"payload\":" : "", payload);
    fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                .body = body,
                                                .message_id = order_id,
                                                .reply_to = "client",
                                                .correlation_id = "c1"});
    stage_settle();
}

/* Would catch: an order that is accepted, and compensated in the same moment. */
START_TEST(a_submission_that_its_first_steps_cannot_use_is_refused)
{
    static const struct {
        const char *payload, *reason;
    } CASES[] = {
        {"{\"who\":\"ann\"}", "payload has no member \"/items/0/sku\"; step \"reserve\" needs it"},
        {"",
         "payload has no member \"/items/0/sku\"; step \"reserve\" needs it; nor \"/who\", for \"charge\""},
        {"{\"items\":[{\"sku\":1}],\"whom\":2}", "payload has no member \"/who\"; step \"charge\" needs it"},
    };
    start_with(FORK);
    submit_payload("o1", CASES[_i].payload);
    ck_assert_ptr_null(fake_store_order("o1"));
    ck_assert_int_eq(fake_broker_count("submission"), 1);
    ck_assert_str_eq(fake_broker_last("submission")->queue, "orders.rejected");
    ck_assert_str_eq(fake_broker_last("submission")->reason, CASES[_i].reason);
    char escaped[512], *at = escaped;
    for (const char *from = CASES[_i].reason; *from != '\0'; from++) {
        if (*from == '"') {
            *at++ = '\\';
        }
        *at++ = *from;
    }
    *at = '\0';
    const char *body = fake_broker_last("status")->body;
    ck_assert_msg(strstr(body, "\"status\":\"rejected\"") != NULL, "%s", body);
    ck_assert_msg(strstr(body, escaped) != NULL, "%s", body);
    ck_assert_int_eq(fake_broker_count("request"), 0);
    ck_assert_int_eq(fake_broker.acked, 1);
}
END_TEST

/* Would catch: a reason as long as the definition. */
START_TEST(a_refusal_names_eight_missing_members)
{
    start_with(
        WORKFLOW("\"\"", STEP("reserve", "inventory", "",
                              "[\"${/payload/a}\",\"${/payload/b}\",\"${/payload/c}\",\"${/payload/d}\","
                              "\"${/payload/e}\",\"${/payload/f}\",\"${/payload/g}\",\"${/payload/h}\","
                              "\"${/payload/i}\"]")));
    submit_payload("o1", "{}");
    ck_assert_ptr_null(fake_store_order("o1"));
    const char *reason = fake_broker_last("submission")->reason;
    ck_assert_msg(strstr(reason, "; nor \"/h\", for \"reserve\"") != NULL, "%s", reason);
    ck_assert_msg(strstr(reason, "/i\"") == NULL, "%s", reason);
}
END_TEST

/* Would catch: a refusal because of a step that may never run, or whose payload may be repaired meanwhile;
 * or because of a value that is there. */
START_TEST(a_need_of_a_later_step_refuses_no_order)
{
    start_with(FORK);
    submit_payload("o1", "{\"items\":[{\"sku\":null}],\"who\":\"\"}");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSING);
    ck_assert_int_eq(fake_broker_count("request"), 2);
    ck_assert_int_eq(fake_broker_count("submission"), 0);
}
END_TEST

/* Would catch: a refusal by guess. The order exists, and only a read shows it. */
START_TEST(an_order_of_that_id_is_looked_for_before_the_refusal)
{
    start_with(FORK);
    submit_payload("o0", "{\"items\":[{\"sku\":1}],\"who\":2}");
    submit_payload("o1", "{\"items\":[{\"sku\":1}],\"who\":2}");
    mg_cache_clear(&stage_scheduler->cache); /* as in another instance */
    submit_payload("o1", "{}");
    ck_assert_int_eq(fake_broker_count("submission"), 1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->reason, "conflict"));
    submit_payload("o2", "{}");
    ck_assert_int_eq(fake_broker_count("submission"), 2);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("submission")->reason, "/items/0/sku"));
    ck_assert_ptr_null(fake_store_order("o2"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_output");
    TCase *output = tcase_create("output");
    tcase_add_checked_fixture(output, NULL, finish);
    tcase_add_test(output, a_processed_order_brings_its_output_digit_for_digit);
    tcase_add_test(output, an_output_may_have_any_number);
    tcase_add_test(output, a_repeated_submission_brings_the_same_bytes);
    tcase_add_test(output, a_cause_that_comes_again_brings_the_same_output);
    tcase_add_test(output, an_output_without_a_value_is_an_error_that_a_repair_ends);
    tcase_add_test(output, an_output_gets_a_missing_value_from_the_operator);
    tcase_add_test(output, a_skipped_step_gives_no_value_to_the_output);
    tcase_add_loop_test(output, an_output_ends_at_its_limit_and_is_never_cut, 0, 2);
    tcase_add_loop_test(output, an_output_that_no_status_can_hold_is_an_error, 0, 2);
    tcase_add_test(output, a_lost_write_makes_the_output_anew);
    suite_add_tcase(suite, output);
    TCase *intake = tcase_create("intake");
    tcase_add_checked_fixture(intake, NULL, finish);
    tcase_add_loop_test(intake, a_submission_that_its_first_steps_cannot_use_is_refused, 0, 3);
    tcase_add_test(intake, a_refusal_names_eight_missing_members);
    tcase_add_test(intake, a_need_of_a_later_step_refuses_no_order);
    tcase_add_test(intake, an_order_of_that_id_is_looked_for_before_the_refusal);
    suite_add_tcase(suite, intake);
    return run_suite(suite);
}
