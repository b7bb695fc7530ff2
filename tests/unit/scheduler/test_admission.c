/* A submission that its workflow refuses becomes no order; the client and orders.rejected have the reason. */
#include <check.h>
#include <string.h>

#include "../refusals.h"
#include "../suite.h"
#include "base/json_write.h"
#include "stage.h"

static void finish(void)
{
    stage_finish();
}

/* Would catch: an order that is accepted and turned back in the same moment, and a code or a reason that only
 * the gateway gives. */
START_TEST(each_order_of_the_table_is_rejected_with_code_and_reason)
{
    struct refusal refusal;
    struct mg_buf expected;
    char body[2048];
    stage_start();
    mg_buf_init(&expected, sizeof(body));
    if (refusal_read(_i, &refusal)) {
        fake_store.definition = refusal.definition;
        (void)snprintf(body, sizeof(body), "{\"order_id\":\"o1\",\"workflow\":\"two\",\"payload\":%s}",
                       refusal.payload);
        fake_broker_deliver(&(struct fake_delivery){.consumer = MG_LANE_NORMAL,
                                                    .body = body,
                                                    .message_id = "o1",
                                                    .reply_to = "client",
                                                    .correlation_id = "c1"});
        stage_settle();
        ck_assert_ptr_null(fake_store_order("o1"));
        ck_assert_str_eq(fake_broker_last("submission")->queue, "orders.rejected");
        ck_assert_str_eq(fake_broker_last("submission")->reason, refusal.reason);
        struct mg_json_writer json = mg_json_spaced(&expected);
        mg_json_array_begin(&json);
        mg_json_element_text(&json, mg_slice_of(refusal.reason));
        const char *status = fake_broker_last("status")->body;
        ck_assert_msg(strstr(status, expected.data + 1) != NULL, "%s", status);
        (void)snprintf(body, sizeof(body), "\"code\":\"%s\"", refusal.code);
        ck_assert_msg(strstr(status, body) != NULL, "%s", status);
    }
    mg_buf_finish(&expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_admission");
    TCase *cases = tcase_create("admission");
    tcase_add_checked_fixture(cases, NULL, finish);
    tcase_add_loop_test(cases, each_order_of_the_table_is_rejected_with_code_and_reason, 0, REFUSALS_MIN);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
