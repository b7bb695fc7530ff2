/*
 * Labels: written with their order or not at all, found at once, and gone with the order into the archive.
 * The lists by label and the search read through indexes, for any number of orders with the same value.
 */
#include "store_fixture.h"

#include <stdio.h>
#include <string.h>

#include "core/key.h"

static struct rig rig;

static void setup(void)
{
    rig_start(&rig);
}

static void teardown(void)
{
    rig_finish(&rig);
}

/* ---- writing ---- */

static struct mg_write_pair {
    struct mg_order_record record;
    struct mg_event_record event;
    struct mg_order_write write;
    struct mg_label labels[MG_LABELS_MAX];
} pair[3];

static struct mg_order_write *order_with(int index, const char *order_id, const char *customer,
                                         const char *country)
{
    struct mg_write_pair *made = &pair[index];
    order_make(&made->record, order_id);
    made->labels[0] = (struct mg_label){"customer", mg_slice_of(customer)};
    made->labels[1] = (struct mg_label){"country", mg_slice_of(country)};
    made->record.labels = made->labels;
    made->record.label_count = country != NULL ? 2 : customer != NULL ? 1 : 0;
    made->write = write_make(&made->record, 0, &made->event, order_id);
    made->write.changed_steps = 1;
    return &made->write;
}

static void commit_three(void)
{
    struct mg_order_write writes[3];
    for (int i = 0; i < 3; i++) {
        writes[i] = pair[i].write;
    }
    rig_commit(&rig, writes, 3);
    for (int i = 0; i < 3; i++) {
        pair[i].write.result = writes[i].result;
    }
}

/* Would catch: a label that is lost, in another order's rows, or of another moment than its order. */
START_TEST(labels_are_written_with_their_order)
{
    (void)order_with(0, "o-1", "17", "CH");
    (void)order_with(1, "o-2", NULL, NULL);
    (void)order_with(2, "o-3", "M\xc3\xbcller \"&\" Co", NULL);
    commit_three();
    ck_assert_str_eq(
        rig_value(&rig,
                  "SELECT string_agg(order_id || ' ' || name || '=' || value, ', ' ORDER BY order_id, name)"
                  " FROM order_label"),
        "o-1 country=CH, o-1 customer=17, o-3 customer=M\xc3\xbcller \"&\" Co");
    ck_assert_str_eq(
        rig_value(&rig, "SELECT count(*) FROM order_label JOIN order_process USING (order_id, created_at)"),
        "3");
    const char *const first[] = {"o-1"}, *const second[] = {"o-2"};
    assert_has(rig_report(&rig, MG_REPORT_ORDER, first, 1),
               "labels={ \"country\" : \"CH\", \"customer\" : \"17\" }");
    assert_has(rig_report(&rig, MG_REPORT_ORDER, second, 1), "labels={}");
    assert_has(rig_value(&rig, "SELECT makegood_dossier('o-1')->'labels'"),
               "{ \"country\" : \"CH\", \"customer\" : \"17\" }");
}
END_TEST

/* Would catch: labels of a second order of the same id, and labels that are written again with an update. */
START_TEST(an_order_keeps_the_labels_that_it_came_with)
{
    (void)order_with(0, "o-1", "17", NULL);
    (void)order_with(1, "o-2", NULL, NULL);
    (void)order_with(2, "o-3", NULL, NULL);
    commit_three();
    (void)order_with(0, "o-1", "18", "DE");
    (void)order_with(1, "o-4", "19", NULL);
    (void)order_with(2, "o-3", NULL, NULL);
    pair[2].record.labels = pair[0].labels;
    pair[2].record.label_count = 1;
    pair[2].record.order.version = pair[2].event.version = 2;
    pair[2].write = write_make(&pair[2].record, 1, &pair[2].event, "again");
    commit_three();
    ck_assert_int_eq(pair[0].write.result, MG_WRITE_CONFLICT);
    ck_assert_int_eq(pair[1].write.result, MG_WRITE_DONE);
    ck_assert_int_eq(pair[2].write.result, MG_WRITE_DONE);
    ck_assert_str_eq(
        rig_value(&rig,
                  "SELECT string_agg(order_id || ' ' || name || '=' || value, ', ' ORDER BY order_id, name)"
                  " FROM order_label"),
        "o-1 customer=17, o-4 customer=19");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_labels");
    TCase *tests = tcase_create("labels");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, labels_are_written_with_their_order);
    tcase_add_test(tests, an_order_keeps_the_labels_that_it_came_with);
    suite_add_tcase(suite, tests);
    return store_main(suite, "store_labels");
}
