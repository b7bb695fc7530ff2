/* Orders that are set aside: the row, its alert, and the operator's line. */
#include "store_fixture.h"

#include <stdio.h>
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

static void on_changed(void *arg, bool changed, const struct mg_err *err)
{
    struct rig *of = arg;
    of->is_changed[0] = changed;
    rig_done(of, err);
}

static void on_read(void *arg, const char *by, const char *reason, const struct mg_err *err)
{
    struct rig *of = arg;
    of->is_found = by != NULL;
    snprintf(of->text, sizeof(of->text), "%s: %s", by != NULL ? by : "", reason != NULL ? reason : "");
    rig_done(of, err);
}

static void on_listed(void *arg, const char (*order_ids)[MG_ORDER_ID_MAX + 1], int count,
                      const struct mg_err *err)
{
    struct rig *of = arg;
    of->text[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t len = strlen(of->text);
        snprintf(of->text + len, sizeof(of->text) - len, "%s ", order_ids[i]);
    }
    rig_done(of, err);
}

/* Would catch: a list by the database's collation, in which a search by bytes finds nothing. */
START_TEST(the_list_is_sorted_by_the_bytes_of_the_ids)
{
    rig_admin(
        &rig,
        "INSERT INTO order_aside VALUES ('b', now(), 'x', 'x'), ('B', now(), 'x', 'x'), ('a-1', now(), 'x', 'x')");
    mg_store_list_aside(rig.store, on_listed, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
    ck_assert_str_eq(rig.text, "B a-1 b ");
}
END_TEST

typedef void change_fn(struct mg_store *, const struct mg_aside *, mg_store_changed_fn *, void *);

static bool is_changed(change_fn *change, struct mg_aside aside)
{
    change(rig.store, &aside, on_changed, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
    return rig.is_changed[0];
}

static const struct mg_aside BY_SCHEDULER = {"o-1", "scheduler-1", "XX001: missing chunk", false};
static const struct mg_aside BY_ANN = {"o-1", "ann", "its row is damaged", true};

/* Would catch: an order that is set aside without an alert, and an alert that outlives the readmission. */
START_TEST(an_order_is_set_aside_once_and_readmitted)
{
    ck_assert(is_changed(mg_store_set_aside, BY_SCHEDULER));
    ck_assert(!is_changed(mg_store_set_aside, BY_ANN));
    mg_store_read_aside(rig.store, "o-1", on_read, &rig);
    rig_wait_answer(&rig);
    ck_assert(rig.is_found);
    ck_assert_str_eq(rig.text, "scheduler-1: XX001: missing chunk");
    ck_assert_str_eq(
        rig_value(&rig, "SELECT code || ' ' || subject || ' ' || order_id || ' ' || text FROM operator_alert"
                        " WHERE closed_at IS NULL"),
        "set_aside o-1 o-1 set aside by scheduler-1: XX001: missing chunk");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM operator_action"), "0");

    ck_assert(is_changed(mg_store_readmit, BY_ANN));
    ck_assert(!is_changed(mg_store_readmit, BY_ANN));
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM order_aside"), "0");
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM operator_alert WHERE closed_at IS NULL"), "0");
    ck_assert_str_eq(rig_value(&rig,
                               "SELECT by_whom || ' ' || verb || ' ' || subject || ' ' || reason || ' ' ||"
                               " (detail->>'by_whom') FROM operator_action"),
                     "ann order readmit o-1 its row is damaged scheduler-1");
    mg_store_read_aside(rig.store, "o-1", on_read, &rig);
    rig_wait_answer(&rig);
    ck_assert(!rig.is_found);
}
END_TEST

/* Would catch: a verb that reads or locks damaged or locked rows. */
START_TEST(an_operator_sets_a_locked_order_aside)
{
    rig_admin(&rig, "INSERT INTO order_aside VALUES ('o-0', now(), 'x', 'x')");
    rig_admin(&rig, "BEGIN; LOCK TABLE orders, order_process, order_step, order_event");
    ck_assert(is_changed(mg_store_set_aside, BY_ANN));
    ck_assert(is_changed(mg_store_readmit, BY_ANN));
    rig_admin(&rig, "ROLLBACK");
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(verb, ', ' ORDER BY action_id) FROM operator_action"),
                     "order set-aside, order readmit");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store_aside");
    TCase *aside = tcase_create("aside");
    tcase_add_checked_fixture(aside, setup, teardown);
    tcase_add_test(aside, an_order_is_set_aside_once_and_readmitted);
    tcase_add_test(aside, an_operator_sets_a_locked_order_aside);
    tcase_add_test(aside, the_list_is_sorted_by_the_bytes_of_the_ids);
    suite_add_tcase(suite, aside);
    return store_main(suite, "store_aside");
}
