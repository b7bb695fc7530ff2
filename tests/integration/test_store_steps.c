/* The steps of workflows, as the console's page of workflows counts them in the orders of the last day. */
#include "store_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

static void order_store_steps(const char *order_id, int64_t version, const char *const *names, int count)
{
    static struct mg_order_record record;
    struct mg_event_record event;
    order_make(&record, order_id);
    record.workflow_version = version;
    record.order.step_count = count;
    for (int i = 0; i < count; i++) {
        record.step_names[i] = names[i];
        record.services[i] = "inventory";
        record.order.steps[i].state = MG_STEP_DONE;
    }
    struct mg_order_write write = write_make(&record, 0, &event, "m-1");
    write.changed_steps = (UINT64_C(1) << count) - 1;
    rig_commit(&rig, &write, 1);
    ck_assert_int_eq(write.result, MG_WRITE_DONE);
}

/* The steps of the report and the orders that each is done in: "reserve 1 charge 1". */
static void assert_counted(const char *expected)
{
    static const char STEP[] = "step=", DONE[] = "done=";
    char counted[256] = "";
    rig_report(&rig, MG_REPORT_WORKFLOW_STEPS, NULL, 0);
    for (const char *at = rig.text; (at = strstr(at, STEP)) != NULL;) {
        const char *name = at + strlen(STEP), *done = strstr(name, DONE) + strlen(DONE);
        size_t len = strlen(counted);
        (void)snprintf(counted + len, sizeof(counted) - len, "%s%.*s %ld", len > 0 ? " " : "",
                       (int)strcspn(name, " "), name, strtol(done, NULL, 10));
        at = done;
    }
    ck_assert_str_eq(counted, expected);
}

/* Would catch: steps by their names, so that no order can be followed along the page. */
START_TEST(the_steps_of_a_workflow_come_in_its_order)
{
    order_store_steps("o-1", 1, (const char *const[]){"reserve", "charge", "book"}, 3);
    assert_counted("reserve 1 charge 1 book 1");
    /* The newest version counts, and a step that it lacks keeps its place. */
    order_store_steps("o-2", 2, (const char *const[]){"charge", "reserve"}, 2);
    assert_counted("charge 2 reserve 2 book 1");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: steps");
    TCase *test = tcase_create("steps");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, the_steps_of_a_workflow_come_in_its_order);
    suite_add_tcase(suite, test);
    return store_main(suite, "steps");
}
