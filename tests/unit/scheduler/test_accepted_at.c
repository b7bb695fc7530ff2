/* The moment of acceptance: each message of an order has that of the order's row, at any time and in any
 * instance (law 8, derived identities). Each test names the failure that it would catch. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/clock.h"
#include "stage.h"

#define AT "\"body\":{\"at\":\"${= order.accepted_at}\"}"
/* Both steps, the undo of the first one, a condition, a label and the output have the moment. */
#define TIMED                                                                                                \
    "{\"workflow\":\"two\",\"version\":1,\"labels\":{\"at\":\"${= order.accepted_at}\"},"                    \
    "\"output\":{\"at\":\"${= order.accepted_at}\"},\"steps\":["                                             \
    "{\"step\":\"reserve\",\"service\":\"inventory\",\"complete_within\":\"10s\",\"on_unknown\":\"retry\","  \
    "\"retry\":{\"attempts\":3,\"backoff\":\"1ms\",\"max_backoff\":\"1ms\"},"                                \
    "\"do\":{\"method\":\"POST\",\"path\":\"/r\"," AT "},\"undo\":{\"method\":\"POST\",\"path\":\"/u\"," AT  \
    "}},{\"step\":\"charge\",\"service\":\"payment\",\"complete_within\":\"10s\","                           \
    "\"when\":\"time(order.accepted_at) > time('2020-01-01T00:00:00Z')\","                                   \
    "\"do\":{\"method\":\"POST\",\"path\":\"/c\"," AT "},\"undo\":\"none\"}]}"

static void submit(bool is_again)
{
    stage_submit_from("o1", "[3.00]", "client", is_again);
    stage_settle();
}

/* As a member `at` of a message. */
static const char *moment_of_row(void)
{
    static char text[MG_TIME_TEXT_SIZE + 16];
    char moment[MG_TIME_TEXT_SIZE];
    mg_time_format(fake_store_order("o1")->created_at_ms, moment);
    (void)snprintf(text, sizeof(text), "\"at\":\"%s\"", moment);
    return text;
}

static void assert_sent(int number)
{
    int count = 0;
    for (int i = 0; i < fake_broker.count; i++) {
        const struct fake_published *published = &fake_broker.published[i];
        if (strcmp(published->type, "request") == 0) {
            ck_assert_msg(strstr(published->body, moment_of_row()) != NULL, "%s", published->body);
            count++;
        }
    }
    ck_assert_int_eq(count, number);
}

/* Would catch: a moment that is that of the message in hand, or of the process. */
START_TEST(each_request_has_the_moment_of_the_row)
{
    int64_t before_ms = mg_clock_wall_ms();
    stage_start();
    fake_store.definition = TIMED;
    submit(false);
    int64_t accepted_at_ms = fake_store_order("o1")->created_at_ms;
    ck_assert(accepted_at_ms >= before_ms && accepted_at_ms <= mg_clock_wall_ms());
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, moment_of_row())); /* `at` of `accepted` */
    assert_sent(1);
    stage_pass(3000);
    submit(true);
    assert_sent(2);
    stage_pass(3000);
    mg_cache_clear(&stage_scheduler->cache); /* as in another instance */
    stage_answer("o1.reserve#1 transient");
    stage_pass(1000);
    stage_act("due-1 o1 due step=reserve attempt=1 by=s");
    assert_sent(3);
    stage_pass(1000);
    stage_answer("o1.reserve#2");
    assert_sent(4); /* charge: its condition is true */
    ck_assert_int_eq(fake_store_order("o1")->created_at_ms, accepted_at_ms);
    stage_finish();
}
END_TEST

START_TEST(an_undo_has_the_moment_of_the_row)
{
    stage_start();
    fake_store.definition = TIMED;
    submit(false);
    stage_answer("o1.reserve#1");
    stage_pass(3000);
    mg_cache_clear(&stage_scheduler->cache);
    stage_answer("o1.charge#1 permanent");
    ck_assert_ptr_nonnull(strstr(fake_broker_last("request")->body, "\"path\":\"/u\""));
    assert_sent(3);
    stage_finish();
}
END_TEST

/* Would catch: a label or an output with another moment than the requests. */
START_TEST(label_and_output_have_the_moment_of_the_row)
{
    stage_start();
    fake_store.definition = TIMED;
    submit(false);
    const struct mg_order_record *record = fake_store_order("o1");
    char moment[MG_TIME_TEXT_SIZE];
    mg_time_format(record->created_at_ms, moment);
    ck_assert_int_eq(record->label_count, 1);
    ck_assert(mg_slice_is(record->labels[0].value, moment));
    stage_pass(3000);
    stage_answer("o1.reserve#1");
    stage_answer("o1.charge#1");
    const char *output = strstr(fake_broker_last("status")->body, "\"output\":{");
    ck_assert_ptr_nonnull(output);
    ck_assert_ptr_nonnull(strstr(output, moment_of_row()));
    stage_finish();
}
END_TEST

/* Would catch: a moment of a commit that came to nothing, or a second one after a commit with a lost
 * answer. */
START_TEST(an_unknown_commit_keeps_its_moment)
{
    static const enum fake_commit KINDS[] = {FAKE_COMMIT_UNKNOWN_DONE, FAKE_COMMIT_UNKNOWN_LOST};
    stage_start();
    fake_store.definition = TIMED;
    fake_store.next_commit = KINDS[_i];
    submit(false);
    ck_assert_int_eq(fake_broker.count, 0);
    stage_pass(6000);
    fake_loop_advance(6000); /* past the backoff */
    stage_settle();
    assert_sent(1);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, moment_of_row()));
    stage_finish();
}
END_TEST

/* Would catch: a refusal that outlives its moment, and an order without the moment that its requirement met.
 */
START_TEST(a_refused_submission_has_no_moment_and_is_judged_anew)
{
    char definition[1024], opens[MG_TIME_TEXT_SIZE];
    mg_time_format(mg_clock_wall_ms() + 3600000, opens);
    (void)snprintf(definition, sizeof(definition),
                   "{\"workflow\":\"two\",\"version\":1,\"require\":[{\"that\":\"order.accepted_at >= '%s'\","
                   "\"text\":\"not open yet\"}],\"steps\":[{\"step\":\"reserve\",\"service\":\"inventory\","
                   "\"do\":{\"method\":\"POST\",\"path\":\"/r\"," AT "},\"undo\":\"none\"}]}",
                   opens);
    stage_start();
    fake_store.definition = definition;
    submit(false);
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"rejected\""));
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "not open yet (order.accepted_at >= "));
    ck_assert_ptr_null(fake_store_order("o1"));
    stage_pass(3600000);
    submit(true); /* its process died before the ack */
    ck_assert_ptr_nonnull(strstr(fake_broker_last("status")->body, "\"accepted\""));
    assert_sent(1);
    stage_finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_accepted_at");
    TCase *test = tcase_create("all");
    tcase_add_test(test, each_request_has_the_moment_of_the_row);
    tcase_add_test(test, an_undo_has_the_moment_of_the_row);
    tcase_add_test(test, label_and_output_have_the_moment_of_the_row);
    tcase_add_loop_test(test, an_unknown_commit_keeps_its_moment, 0, 2);
    tcase_add_test(test, a_refused_submission_has_no_moment_and_is_judged_anew);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
