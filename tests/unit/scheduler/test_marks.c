/* Marks of owed statuses that the store refuses for one order: the others go on, and their causes are acked.
 */
#include <check.h>
#include <stdio.h>

#include "../suite.h"
#include "passing.h"

#define ORDERS 20
/* One mark alone, then 19, 9, 4, 2 … with the refused one at any place, and as many again until all are in.
 */
#define CALLS_MAX 40
#define SOON_MS   5000

static void setup(void)
{
    stage_start();
    fake_broker.fails_type = "status";
    fake_broker.failure = MG_PUBLISH_RETURNED;
}

static void submit_all(void)
{
    char order_id[16];
    for (int i = 0; i < ORDERS; i++) {
        (void)snprintf(order_id, sizeof(order_id), "o%d", i);
        stage_submit_from(order_id, "[14.00]", "client", false);
    }
}

/* Would catch: one damaged or locked row for which no status is ever marked as owed, so that no cause with
 * such a status is acked; and an order that is tried alone as often as the others come. */
START_TEST(a_mark_that_is_refused_costs_itself)
{
    fake_store.refused_mark = "o7";
    submit_all();
    pass(10000);
    ck_assert_int_eq(fake_store.marks, ORDERS - 1);
    ck_assert_int_le(fake_store.mark_calls, CALLS_MAX);
    ck_assert_int_eq(fake_broker.acked, ORDERS - 1);
    fake_store.refused_mark = NULL;
    pass(SOON_MS);
    ck_assert_int_eq(fake_store.marks, ORDERS);
    ck_assert_int_eq(fake_broker.acked, ORDERS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler_marks");
    TCase *marks = tcase_create("marks");
    tcase_add_checked_fixture(marks, setup, stage_finish);
    tcase_add_test(marks, a_mark_that_is_refused_costs_itself);
    suite_add_tcase(suite, marks);
    return run_suite(suite);
}
