/* The kinds of change in a write, and when each was stored last. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "change.h"
#include "io/store/store.h"

static struct mg_order_record record;
static struct mg_order_write write;
static struct mg_change_log change_log;

/* An order that runs; its first step becomes done, and the second begins. */
static void setup(void)
{
    memset(&record, 0, sizeof(record));
    memset(&change_log, 0, sizeof(change_log));
    (void)snprintf(record.workflow, sizeof(record.workflow), "three");
    record.order.state = MG_ORDER_PROCESSING;
    record.order.step_count = 3;
    record.stored_steps = 1;
    record.order.steps[0].state = MG_STEP_DONE;
    record.order.steps[1].state = MG_STEP_RUNNING;
    write = (struct mg_order_write){.record = &record, .expected_version = 1, .changed_steps = 3};
}

/* Would catch: orders that are judged since others were stored by changes which the fault does not hit. */
START_TEST(a_write_is_a_witness_of_its_own_kinds_alone)
{
    static const struct mg_alert_write ALERT = {.alert = MG_ALERT_POISONED, .subject = "o", .order_id = "o"};
    const struct mg_changes done = mg_changes_of(&write);
    struct mg_order_record other = record;
    struct mg_order_write same = write, others[8];
    for (int i = 0; i < 8; i++) {
        others[i] = write;
    }
    struct mg_order_record records[6];
    for (int i = 0; i < 6; i++) {
        records[i] = record;
        others[i].record = &records[i];
    }
    records[0].order.steps[0].state = MG_STEP_FAILED;
    records[1].order.state = MG_ORDER_COMPENSATING;
    records[2].stored_steps = 0; /* inserted, not updated */
    (void)snprintf(records[3].workflow, sizeof(records[3].workflow), "four");
    others[4].changed_steps = 1;    /* no step begins */
    others[5].expected_version = 0; /* a new order */
    for (int i = 0; i < 6; i++) {
        struct mg_changes changes = mg_changes_of(&others[i]);
        memset(&change_log, 0, sizeof(change_log));
        mg_change_log_add(&change_log, &changes);
        ck_assert_msg(!mg_change_log_has(&change_log, &done, 0), "%d", i);
    }
    same.record = &other;
    struct mg_changes changes = mg_changes_of(&same);
    mg_change_log_add(&change_log, &changes);
    ck_assert(mg_change_log_has(&change_log, &done, 0));
    others[6].alerts = &ALERT;
    others[6].alert_count = 1;
    changes = mg_changes_of(&others[6]);
    ck_assert(!mg_change_log_has(&change_log, &changes, 0));
    others[7].is_payload_changed = true;
    changes = mg_changes_of(&others[7]);
    ck_assert(!mg_change_log_has(&change_log, &changes, 0));
    others[7] = write;
    others[7].line.leaves = true;
    changes = mg_changes_of(&others[7]);
    ck_assert(!mg_change_log_has(&change_log, &changes, 0));
    changes = mg_changes_of_read();
    ck_assert(!mg_change_log_has(&change_log, &changes, 0));
}
END_TEST

/* Would catch: a witness from before the fault. */
START_TEST(a_witness_is_of_later)
{
    const struct mg_changes done = mg_changes_of(&write), read = mg_changes_of_read();
    mg_change_log_add(&change_log, &done);
    uint64_t since = change_log.count;
    ck_assert(!mg_change_log_has(&change_log, &done, since));
    mg_change_log_add(&change_log, &read);
    ck_assert(!mg_change_log_has(&change_log, &done, since));
    ck_assert(mg_change_log_has(&change_log, &read, since));
    mg_change_log_add(&change_log, &done);
    ck_assert(mg_change_log_has(&change_log, &done, since));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler change");
    TCase *change = tcase_create("change");
    tcase_add_checked_fixture(change, setup, NULL);
    tcase_add_test(change, a_write_is_a_witness_of_its_own_kinds_alone);
    tcase_add_test(change, a_witness_is_of_later);
    suite_add_tcase(suite, change);
    return run_suite(suite);
}
