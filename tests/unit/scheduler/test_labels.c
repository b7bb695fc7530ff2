/*
 * Labels at intake: an order is stored with them, or refused with the reason if one cannot be made. Each test
 * names the failure that it would catch.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "core/key.h"
#include "stage.h"

#define LABELLED                                                                                             \
    "{\"workflow\":\"two\",\"version\":1,\"labels\":{\"first\":\"${/payload/items/0}\","                     \
    "\"second\":\"${/payload/items/1}\",\"order\":\"no ${/order_id}\"},\"steps\":["                          \
    "{\"step\":\"reserve\",\"service\":\"inventory\",\"do\":{\"method\":\"POST\",\"path\":\"/r\"},"          \
    "\"undo\":\"none\"}]}"

static void setup(void)
{
    stage_start();
    fake_store.definition = LABELLED;
}

static void submit(const char *order_id, const char *items)
{
    stage_submit_from(order_id, items, "client", false);
    stage_settle();
}

static void assert_label(const struct mg_order_record *record, int index, const char *name, const char *value)
{
    ck_assert_int_lt(index, record->label_count);
    ck_assert_str_eq(record->labels[index].name, name);
    ck_assert_msg(mg_slice_is(record->labels[index].value, value), "%.*s",
                  (int)record->labels[index].value.len, record->labels[index].value.data);
}

/* Would catch: a label without the digits of its number, and one for a value that is not there. */
START_TEST(an_order_is_stored_with_its_labels)
{
    submit("o1", "[14.00,null]");
    const struct mg_order_record *record = fake_store_order("o1");
    ck_assert_ptr_nonnull(record);
    ck_assert_int_eq(record->label_count, 2);
    assert_label(record, 0, "first", "14.00");
    assert_label(record, 1, "order", "no o1");
}
END_TEST

/* Would catch: a label that is cut, or an order that is accepted without it. */
START_TEST(a_label_that_cannot_be_made_refuses_the_submission)
{
    char items[MG_LABEL_VALUE_MAX + 16] = "[\"";
    memset(items + 2, 'x', MG_LABEL_VALUE_MAX + 1);
    memcpy(items + 2 + MG_LABEL_VALUE_MAX + 1, "\"]", 3);
    submit("o1", items);
    submit("o2", "[[1]]");
    ck_assert_ptr_null(fake_store_order("o1"));
    ck_assert_ptr_null(fake_store_order("o2"));
    ck_assert_int_eq(fake_store.commits, 0);
    ck_assert_int_eq(fake_broker_count("submission"), 2); /* kept in orders.rejected */
    ck_assert_int_eq(fake_broker_count("status"), 2);
    const char *body = fake_broker_last("status")->body;
    ck_assert_msg(strstr(body, "/labels/first of workflow \\\"two\\\": reference ${/payload/items/0}") !=
                      NULL,
                  "%s", body);
    submit("o1", "[\"short\"]"); /* the id is still free */
    ck_assert_ptr_nonnull(fake_store_order("o1"));
}
END_TEST

/* Would catch: labels of a later version of the order, which are written again or lost from the cached copy.
 */
START_TEST(labels_are_written_once)
{
    submit("o1", "[14.00]");
    stage_answer("o1.reserve#1");
    ck_assert_int_eq(stage_order("o1"), MG_ORDER_PROCESSED);
    ck_assert_int_eq(fake_store_order("o1")->label_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler labels");
    TCase *tests = tcase_create("labels");
    tcase_add_checked_fixture(tests, setup, stage_finish);
    tcase_add_test(tests, an_order_is_stored_with_its_labels);
    tcase_add_test(tests, a_label_that_cannot_be_made_refuses_the_submission);
    tcase_add_test(tests, labels_are_written_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
