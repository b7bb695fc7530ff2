/* One leader: the lock, the epoch, and the remaining rights of a leader that lost its session. */
#include "store_fixture.h"

#include <string.h>

static struct rig first, second;

static void start_leader(struct rig *rig)
{
    rig_open(rig);
    rig_start_with(rig, (struct mg_store_options){.is_leader_session = true}, true);
}

static void setup(void)
{
    rig_open(&first);
    rig_admin(&first, "TRUNCATE operator_alert");
    rig_admin(&first, "UPDATE supervisor_leader SET epoch = 0, holder = '', seen_at = NULL, swept_at = NULL");
    rig_start_with(&first, (struct mg_store_options){.is_leader_session = true}, true);
    start_leader(&second);
}

static void teardown(void)
{
    rig_finish(&first);
    rig_finish(&second);
}

static void on_alerts(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct rig *rig = arg;
    memset(rig->is_changed, 0, sizeof(rig->is_changed));
    for (int i = 0; i < count; i++) {
        rig->is_changed[i] = is_changed[i];
    }
    rig_done(rig, err);
}

static bool opens_alert_of(struct rig *rig, const char *subject, const char *text)
{
    struct mg_alert_write alert = {MG_ALERT_MASS_EXPIRY, false, subject, "", mg_slice_of(text), NULL};
    mg_store_write_alerts(rig->store, &alert, 1, on_alerts, rig);
    rig_wait_answer(rig);
    ck_assert_int_eq(rig->err.class, MG_OK);
    return rig->is_changed[0];
}

static bool opens_alert(struct rig *rig, const char *subject)
{
    return opens_alert_of(rig, subject, "x");
}

/* Would catch: an alert that names the reason of an hour ago. */
START_TEST(an_open_alert_has_the_last_text_of_its_leader)
{
    static const char TEXT[] = "SELECT text FROM operator_alert WHERE closed_at IS NULL";
    rig_lead(&first, "a");
    rig_lead(&second, "b");
    ck_assert(opens_alert_of(&first, "s", "locked"));
    ck_assert(!opens_alert_of(&first, "s", "no room"));
    ck_assert_str_eq(rig_value(&first, TEXT), "no room");
    ck_assert(!opens_alert_of(&second, "s", "of another"));
    ck_assert_str_eq(rig_value(&first, TEXT), "no room");
}
END_TEST

/* Would catch: an alert about a message that was requeued or dropped long ago. */
START_TEST(poisoned_messages_are_over_when_no_dead_letter_is_left)
{
    struct mg_alert_write gone = {MG_ALERT_DEAD_LETTER, true, "dead.letters", "", mg_slice_of("x"), NULL};
    rig_lead(&first, "a");
    rig_admin(&first,
              "INSERT INTO operator_alert (code, subject, text, opened_at) VALUES"
              " ('poisoned', 'o-1', 'x', now() - interval '2 minutes'), ('poisoned', 'o-2', 'x', now()),"
              " ('poisoned', 'orders.rejected', 'x', now() - interval '2 minutes')");
    mg_store_write_alerts(first.store, &gone, 1, on_alerts, &first);
    rig_wait_answer(&first);
    ck_assert_int_eq(first.err.class, MG_OK);
    ck_assert_str_eq(rig_value(&first, "SELECT string_agg(subject, ' ' ORDER BY subject) FROM operator_alert"
                                       " WHERE closed_at IS NULL"),
                     "o-2 orders.rejected");
}
END_TEST

/* The stores' loops run separately, as in two processes. `rig` tries until it leads. */
static void tick(void *arg)
{
    mg_loop_stop(((struct rig *)arg)->loop);
}

static void lead_at_last(struct rig *rig, const char *holder)
{
    struct mg_timer *timer = mg_timer_create(rig->loop, tick, rig);
    for (int i = 0; i < 150; i++) {
        rig_lead(rig, holder);
        if (rig->err.class == MG_OK && rig->lead.is_leader) {
            break;
        }
        mg_timer_start(timer, 100, 0);
        mg_loop_run(rig->loop);
    }
    mg_timer_destroy(timer);
    ck_assert(rig->lead.is_leader);
}

static bool was_down(const struct rig *rig)
{
    return rig->downs > 0;
}

START_TEST(of_two_sessions_one_leads)
{
    rig_lead(&first, "a");
    ck_assert(first.lead.is_leader && !first.is_refused);
    ck_assert_uint_eq(first.lead.epoch, 1);
    ck_assert_int_eq(first.lead.swept_at_ms, 0);
    ck_assert_int_gt(first.lead.now_ms, 1700000000000);
    rig_lead(&second, "b");
    ck_assert(!second.lead.is_leader && !second.is_refused);
    ck_assert_str_eq(rig_value(&first, "SELECT epoch || holder FROM supervisor_leader"), "1a");
    ck_assert(opens_alert(&first, "s"));
    ck_assert(!opens_alert(&first, "s"));  /* the alert is already open */
    ck_assert(!opens_alert(&second, "t")); /* it does not lead */
}
END_TEST

START_TEST(resignation_makes_room_at_once)
{
    rig_lead(&first, "a");
    mg_store_stop_leading(first.store, rig_done, &first);
    rig_wait_answer(&first);
    ck_assert_int_eq(first.err.class, MG_OK);
    rig_lead(&second, "b");
    ck_assert(second.lead.is_leader);
    ck_assert_uint_eq(second.lead.epoch, 2);
    ck_assert(!opens_alert(&first, "s"));
}
END_TEST

/* Law 9, one leader. Would catch: a lock that outlives its session, and an old leader with writes that still
 * count. */
START_TEST(a_leader_whose_session_is_killed_is_succeeded_and_fenced)
{
    rig_lead(&first, "a");
    rig_admin(&second,
              "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1"
              " AND classid = 19783 AND database = (SELECT oid FROM pg_database WHERE datname ="
              " current_database())");
    lead_at_last(&second, "b");
    ck_assert_uint_eq(second.lead.epoch, 2);
    rig_wait(&first, was_down);
    rig_wait(&first, rig_is_up);
    ck_assert(!opens_alert(&first, "s"));
    rig_lead(&first, "a");
    ck_assert(!first.lead.is_leader);
    ck_assert(opens_alert(&second, "s"));
}
END_TEST

/* Would catch: a stopped process (its loop stalls here) that keeps the lock for ever. */
START_TEST(a_leader_that_is_stopped_loses_its_lock)
{
    rig_lead(&first, "a");
    lead_at_last(&second, "b");
    ck_assert_uint_eq(second.lead.epoch, 2);
    rig_wait(&first, was_down);
}
END_TEST

START_TEST(an_ordinary_session_cannot_lead)
{
    struct rig rig;
    rig_open(&rig);
    rig_start_with(&rig, (struct mg_store_options){0}, true);
    rig_lead(&rig, "c");
    ck_assert_int_eq(rig.err.class, MG_PERMANENT);
    rig_finish(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: lead");
    TCase *test = tcase_create("lead");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, of_two_sessions_one_leads);
    tcase_add_test(test, an_open_alert_has_the_last_text_of_its_leader);
    tcase_add_test(test, poisoned_messages_are_over_when_no_dead_letter_is_left);
    tcase_add_test(test, resignation_makes_room_at_once);
    tcase_add_test(test, a_leader_whose_session_is_killed_is_succeeded_and_fenced);
    tcase_add_test(test, a_leader_that_is_stopped_loses_its_lock);
    tcase_add_test(test, an_ordinary_session_cannot_lead);
    suite_add_tcase(suite, test);
    return store_main(suite, "lead");
}
