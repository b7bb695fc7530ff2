/* Callbacks of services in the scheduler, and signals with a key, after a lost look. Each test names the
 * failure that it would catch. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "stage.h"

#define WORK                                                                                                 \
    "\"service\":\"payment\",\"finish_within\":\"10m\",\"poll\":\"15s\",\"complete_within\":\"10s\","        \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\",\"body\":{\"to\":\"${/callback_url}\"}},"                   \
    "\"verify\":{\"method\":\"GET\",\"path\":\"/c\"},\"undo\":{\"method\":\"DELETE\",\"path\":\"/c\"}"
#define CALLED                                                                                               \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","        \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"},\"undo\":\"none\"},{\"step\":\"charge\"," WORK "}]}"
/* The wait is alongside a call. */
#define KEYED                                                                                                 \
    "{\"workflow\":\"two\",\"version\":1,\"steps\":[{\"step\":\"approve\",\"wait\":{\"signal\":\"approved\"," \
    "\"key\":\"payload.items[0]\",\"within\":\"1h\",\"from\":[\"client:psp\"]}},"                             \
    "{\"step\":\"ship\",\"service\":\"carrier\",\"after\":[],\"do\":{\"method\":\"POST\",\"path\":\"/s\"},"   \
    "\"undo\":\"none\"},{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"approve\"],"                \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\"},\"undo\":\"none\"}]}"

static void call_back_of(int generation, const char *callback_id, const char *payload)
{
    stage_act(
        "%s o1 signal step=charge generation=%d by=callback payload=%s to=amq.gen-1 via=makegood.callbacks",
        callback_id, generation, payload);
}

static void call_back(const char *callback_id, const char *payload)
{
    call_back_of(0, callback_id, payload);
}

static bool was_told(const char *text)
{
    const struct fake_published *last = fake_broker_last("command_result");
    return last != NULL && strstr(last->body, text) != NULL;
}

/* The charge is accepted, and the order is cancelled and undone. */
static void work_undo(void)
{
    stage_begin("o1");
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1 accepted maybe over");
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_WAITING);
    stage_act("c-1 o1 cancel by=ann reason=late");
    stage_pass(20000); /* until the do can act no more */
    stage_act("c-2 o1 due step=charge attempt=1 by=s via=makegood.commands.supervisor");
    stage_answer("o1.charge#2 undo");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_CANCELLED);
}

/* Would catch: a callback that its service gives up, because the answer is "late". */
START_TEST(a_callback_before_the_call_may_come_again)
{
    fake_store.definition = CALLED;
    stage_begin("o1");
    call_back("b-1", "{\"state\":\"settled\"}");
    ck_assert(was_told("\"invalid\"") && was_told("\"may_pass\":true"));
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1 accepted maybe over");
    call_back("b-1", "{\"state\":\"settled\"}");
    ck_assert(was_told("\"taken\""));
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
}
END_TEST

static struct mg_callback_secrets secrets;

/* The first line of the file, or both. */
static void secrets_are(const char *first, const char *second)
{
    char text[2 * MG_CALLBACK_SECRET_MAX];
    struct mg_err err;
    (void)snprintf(text, sizeof(text), "%s\n%s", first, second);
    ck_assert_int_eq(mg_callback_secrets_parse(mg_slice_of(text), &secrets, &err), MG_OK);
    stage_options.callback_url = "https://orders.example.com/v1/callbacks";
    stage_options.callback_secrets = &secrets;
}

#define OLD_SECRET "0123456789abcdef0123456789abcdef"
#define NEW_SECRET "fedcba9876543210fedcba9876543210"

/* Law 8, derived identities. Would catch: a service that refuses a key with another body, after the secret
 * was renewed, and a charge that stands because the refusal is read as a proof. */
START_TEST(a_key_has_the_same_address_after_the_secret_was_renewed)
{
    fake_store.definition = CALLED;
    secrets_are(OLD_SECRET, "");
    stage_begin("o1");
    stage_answer("o1.reserve#1");
    char body[1024];
    (void)snprintf(body, sizeof(body), "%s", strstr(fake_broker_last("request")->body, "https://orders"));
    if (_i == 0) {
        secrets_are(NEW_SECRET, OLD_SECRET);
    } else {
        secrets_are(NEW_SECRET, "");
    }
    stage_reply("o1.charge#1 transient no");
    stage_settle();
    stage_pass(60000);
    stage_act("due-1 o1 due step=charge attempt=1 by=s via=makegood.commands.supervisor");
    if (_i == 0) {
        const char *again = fake_broker_last("request")->body;
        ck_assert_ptr_nonnull(strstr(again, "\"attempt\":2"));
        ck_assert_str_eq(strstr(again, "https://orders"), body);
    } else {
        ck_assert_int_eq(stage_step("o1", 1), MG_STEP_FAILED); /* and not other bytes under the key */
    }
}
END_TEST

/* Would catch: money that has moved after the undo without an alert; one alert for each copy. */
START_TEST(work_that_is_done_after_its_undo_is_an_alert_with_the_body_kept)
{
    fake_store.definition = CALLED;
    work_undo();
    int events = fake_store_event_count("o1"), alerts = fake_broker_count("alert");
    call_back("b-1", "{\"state\":\"settled\",\"sum\":14.00}");
    ck_assert(was_told("\"late\""));
    ck_assert_int_eq(fake_broker_count("alert"), alerts + 1);
    const char *alert = fake_broker_last("alert")->body;
    ck_assert_msg(strstr(alert, "\"late_callback\"") != NULL && strstr(alert, "o1.charge") != NULL &&
                      strstr(alert, "money may have moved") != NULL,
                  "%s", alert);
    struct mg_slice open = fake_store_order("o1")->steps[1].open;
    ck_assert_msg(open.data != NULL && memmem(open.data, open.len, "14.00", 5) != NULL, "%.*s", (int)open.len,
                  open.data != NULL ? open.data : "");
    ck_assert_int_eq(fake_store_event_count("o1"), events + 1);
    call_back("b-1", "{\"state\":\"settled\",\"sum\":14.00}");
    ck_assert(was_told("\"late\""));
    ck_assert_int_eq(fake_store_event_count("o1"), events + 1);
    ck_assert_int_eq(fake_broker_count("alert"), alerts + 1);
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_CANCELLED);
}
END_TEST

/* Would catch: an alert about the copy of a callback, although its work counts. */
START_TEST(a_second_callback_about_work_that_counts_is_no_alert)
{
    fake_store.definition = CALLED;
    stage_begin("o1");
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1 accepted maybe over");
    call_back("b-1", "1");
    int alerts = fake_broker_count("alert");
    call_back("b-2", "2");
    ck_assert(was_told("\"late\""));
    ck_assert_int_eq(fake_broker_count("alert"), alerts);
}
END_TEST

/* Would catch: two payments of one order, of which the one under the refused request's key is told to nobody;
 * one that ends the step although its key has another request. */
START_TEST(work_of_an_earlier_request_is_an_alert_and_ends_nothing)
{
    fake_store.definition = CALLED;
    stage_begin("o1");
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1 permanent over");
    stage_act("c-1 o1 restart by=ann reason=again");
    ck_assert_int_eq(fake_store_order("o1")->order.steps[1].generation, 1);
    stage_answer("o1.charge#2 accepted maybe over");
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_WAITING);
    int alerts = fake_broker_count("alert");
    for (int i = 0; i < 2; i++) {
        call_back("b-1", "{\"sum\":14.00}");
        ck_assert(was_told("\"late\""));
    }
    ck_assert_int_eq(fake_broker_count("alert"), alerts + 1);
    ck_assert(strstr(fake_broker_last("alert")->body, "\"late_callback\"") != NULL);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_WAITING);
    call_back_of(2, "b-2", "1"); /* the database has lost that request */
    ck_assert(was_told("\"late\""));
    ck_assert_int_eq(fake_broker_count("alert"), alerts + 1);
    call_back_of(1, "b-3", "1");
    ck_assert(was_told("\"taken\""));
    struct mg_slice open = fake_store_order("o1")->steps[1].open;
    ck_assert(open.data != NULL && memmem(open.data, open.len, "14.00", 5) != NULL);
}
END_TEST

static void search(void)
{
    fake_clock_pass(30000);
    mg_keyed_search(&stage_scheduler->keyed);
}

static void lost_look(void)
{
    fake_store.definition = KEYED;
    stage_submit_from("o1", "[\"ch_1\"]", "client", false);
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING);
    fake_store.lost_key = "ch_1";
    fake_store.match_order = "o1";
    fake_store.match = (struct mg_kept_signal){.signal = "approved",
                                               .signal_id = "s-1/psp",
                                               .key = "ch_1",
                                               .by = "client:psp",
                                               .client = "psp",
                                               .payload = mg_slice_of("{\"ok\":true}")};
}

/* Would catch: a kept signal and a waiting order that stay apart until the wait is over. */
START_TEST(a_lost_look_is_made_again_within_half_a_minute)
{
    lost_look();
    mg_keyed_search(&stage_scheduler->keyed);
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_WAITING); /* it was searched just now */
    search();
    stage_settle();
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq(stage_step("o1", 2), MG_STEP_RUNNING);
}
END_TEST

/* Would catch: a commit with a lost answer, after which no request is sent: another cause's lost round
 * ends the signal's work. */
START_TEST(a_signal_makes_its_effects_again_although_its_order_changes_meanwhile)
{
    lost_look();
    search();
    int requests = fake_broker_count("request");
    fake_store.next_commit = FAKE_COMMIT_UNKNOWN_DONE;
    int commits = fake_store.commits;
    while (fake_store.commits == commits) { /* until the commit is stored, and its answer is lost */
        bool has_run = fake_loop_turn();
        ck_assert(fake_store_answer() || has_run);
    }
    ck_assert_int_eq(stage_step("o1", 0), MG_STEP_DONE);
    ck_assert_int_eq(fake_broker_count("request"), requests); /* of the charge */
    stage_reply("o1.ship#1");
    fake_store.conflicts = 1; /* another scheduler writes the order between */
    fake_loop_pass(10000);
    stage_settle();
    fake_loop_pass(10000);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), requests + 1);
    ck_assert_int_eq(stage_step("o1", 1), MG_STEP_DONE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("callbacks");
    TCase *tests = tcase_create("callbacks");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, a_callback_before_the_call_may_come_again);
    tcase_add_loop_test(tests, a_key_has_the_same_address_after_the_secret_was_renewed, 0, 2);
    tcase_add_test(tests, work_that_is_done_after_its_undo_is_an_alert_with_the_body_kept);
    tcase_add_test(tests, a_second_callback_about_work_that_counts_is_no_alert);
    tcase_add_test(tests, work_of_an_earlier_request_is_an_alert_and_ends_nothing);
    tcase_add_test(tests, a_lost_look_is_made_again_within_half_a_minute);
    tcase_add_test(tests, a_signal_makes_its_effects_again_although_its_order_changes_meanwhile);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
