/* The tables alongside the orders: services' gates, alerts, workflow definitions, and the operator's reports.
 */
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

static enum mg_reason gate_of(const char *service)
{
    rig_load(&rig, NULL, 0);
    ck_assert_int_eq(rig.err.class, MG_OK);
    for (int i = 0; i < rig.loaded->service_count; i++) {
        if (strcmp(rig.loaded->services[i].service, service) == 0) {
            return rig.loaded->services[i].gate;
        }
    }
    return MG_REASON_NO_CONSUMER; /* no agent has reported */
}

static void report_state(const char *instance, const char *breaker, bool is_ready)
{
    struct mg_service_state states[] = {
        /* replaced by the next of the same batch */
        {.service = "payment", .instance = instance, .breaker = "half_open", .concurrency = 1, .reason = ""},
        {.service = "payment",
         .instance = instance,
         .breaker = breaker,
         .is_ready = is_ready,
         .in_flight = 3,
         .concurrency = 8,
         .reason = "because",
         .control_version = 4},
    };
    mg_store_put_service_states(rig.store, states, 2, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

/* Law 7, waiting is not failing. Would catch: requests that are sent into an open breaker, and a service that
 * stays shut by a report of a dead agent. */
START_TEST(a_service_is_closed_only_if_all_its_agents_report_it)
{
    ck_assert_int_eq(gate_of("payment"), MG_REASON_NO_CONSUMER);
    report_state("a", "open", true);
    ck_assert_int_eq(gate_of("payment"), MG_REASON_BREAKER_OPEN);
    report_state("b", "half_open", true);
    ck_assert_int_eq(gate_of("payment"), MG_REASON_NONE);
    report_state("b", "closed", false);
    ck_assert_int_eq(gate_of("payment"), MG_REASON_SERVICE_PAUSED);
    rig_admin(
        &rig,
        "UPDATE service_state SET reported_at = reported_at - interval '16 seconds' WHERE instance = 'b'");
    ck_assert_int_eq(gate_of("payment"), MG_REASON_BREAKER_OPEN);
    rig_admin(&rig, "UPDATE service_state SET reported_at = reported_at - interval '2 hours'");
    ck_assert_int_eq(gate_of("payment"), MG_REASON_NO_CONSUMER);
    report_state("c", "closed", true);
    ck_assert_str_eq(rig_value(&rig, "SELECT string_agg(instance, ',') FROM service_state"), "c");
}
END_TEST

static bool is_probing(const char *service)
{
    enum mg_reason gate = gate_of(service);
    bool is_told = false;
    for (int i = 0; i < rig.loaded->service_count; i++) {
        is_told = is_told || (strcmp(rig.loaded->services[i].service, service) == 0 &&
                              rig.loaded->services[i].is_probing);
    }
    ck_assert(!is_told || gate == MG_REASON_NONE);
    return is_told;
}

/* Would catch: steps that are all sent as probes, one after the other, where one probe is enough. */
START_TEST(a_service_is_probed_while_none_of_its_agents_has_found_it_well)
{
    ck_assert(!is_probing("payment"));
    report_state("a", "open", true);
    ck_assert(!is_probing("payment"));
    report_state("b", "half_open", true);
    ck_assert(is_probing("payment"));
    report_state("a", "closed", false); /* an agent that is not ready counts neither way */
    ck_assert(is_probing("payment"));
    rig_admin(&rig, "INSERT INTO service_control (service, is_paused, version, reason, by_whom)"
                    " VALUES ('payment', true, 1, 'r', 'me')");
    ck_assert(!is_probing("payment"));
    rig_admin(&rig, "UPDATE service_control SET is_paused = false");
    ck_assert(is_probing("payment"));
    report_state("a", "closed", true);
    ck_assert(!is_probing("payment"));
    rig_admin(&rig, "UPDATE service_state SET breaker = 'half_open'");
    ck_assert(is_probing("payment"));
    rig_admin(&rig, "UPDATE service_state SET reported_at = reported_at - interval '16 seconds'");
    ck_assert(!is_probing("payment"));
}
END_TEST

static void report_in_order(uint64_t process, uint64_t sequence, const char *breaker, bool is_prober)
{
    const struct mg_service_state state = {.service = "payment",
                                           .instance = "a",
                                           .breaker = breaker,
                                           .is_ready = true,
                                           .concurrency = 8,
                                           .reason = "",
                                           .process = process,
                                           .sequence = sequence,
                                           .is_prober = is_prober};
    mg_store_put_service_states(rig.store, &state, 1, rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

/* Would catch: a report that was overtaken on its way and stays in the table until the next one. Would also
 * catch a restarted agent that is ignored because it counts from 1 again, and a report of an earlier version,
 * which has no number. */
START_TEST(of_an_agents_reports_the_newest_stands_whatever_their_order)
{
    static const char SAID[] = "SELECT breaker || ' ' || is_prober FROM service_state";
    report_in_order(7, 2, "closed", true);
    report_in_order(7, 1, "open", false);
    ck_assert_str_eq(rig_value(&rig, SAID), "closed true");
    report_in_order(7, 2, "half_open", false);
    ck_assert_str_eq(rig_value(&rig, SAID), "closed true");
    report_in_order(7, 3, "half_open", false);
    ck_assert_str_eq(rig_value(&rig, SAID), "half_open false");
    report_in_order(6, 1, "open", false);
    ck_assert_str_eq(rig_value(&rig, SAID), "open false");
    report_in_order(0, 0, "closed", false);
    ck_assert_str_eq(rig_value(&rig, SAID), "closed false");
    report_in_order(0, 0, "half_open", false);
    ck_assert_str_eq(rig_value(&rig, SAID), "half_open false");
}
END_TEST

static void on_setting_put(void *arg, enum mg_change_result result, uint64_t version,
                           const struct mg_err *err)
{
    struct rig *at = arg;
    at->row_count = (int)result;
    at->version = (int64_t)version;
    rig_done(at, err);
}

static enum mg_change_result put_setting(struct mg_service_setting wanted)
{
    if (wanted.service == NULL) {
        wanted.service = "payment";
    }
    wanted.reason = "a \"reason\"";
    wanted.by = "anna";
    mg_store_put_setting(rig.store, &wanted, on_setting_put, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
    return (enum mg_change_result)rig.row_count;
}

#define ROW(columns) rig_value(&rig, "SELECT " columns " FROM service_control")

/* Would catch: requests to a service that an operator has paused, and a pause that outlives its end. */
START_TEST(a_pause_shuts_a_service_until_it_is_over)
{
    report_state("a", "closed", true);
    ck_assert_int_eq(gate_of("payment"), MG_REASON_NONE);
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_PAUSE}), MG_CHANGE_DONE);
    ck_assert_int_eq(rig.version, 1);
    ck_assert_int_eq(gate_of("payment"), MG_REASON_SERVICE_PAUSED);
    report_state("a", "open", true); /* the operator's setting comes before the agents' reports */
    ck_assert_int_eq(gate_of("payment"), MG_REASON_SERVICE_PAUSED);
    rig_admin(&rig, "DELETE FROM service_state");
    ck_assert_int_eq(gate_of("payment"), MG_REASON_SERVICE_PAUSED);
    ck_assert_int_eq(gate_of("carrier"), MG_REASON_NO_CONSUMER);
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_RESUME, .version = 1}),
                     MG_CHANGE_DONE);
    ck_assert_int_eq(gate_of("payment"), MG_REASON_NO_CONSUMER);
    ck_assert_int_eq(
        put_setting((struct mg_service_setting){.verb = MG_SETTING_PAUSE, .version = 2, .pause_ms = 60000}),
        MG_CHANGE_DONE);
    ck_assert_int_eq(gate_of("payment"), MG_REASON_SERVICE_PAUSED);
    ck_assert_str_eq(ROW("paused_until - set_at BETWEEN interval '59 seconds' AND interval '61 seconds'"),
                     "t");
    rig_admin(&rig, "UPDATE service_control SET paused_until = clock_timestamp()");
    ck_assert_int_eq(gate_of("payment"), MG_REASON_NO_CONSUMER);
}
END_TEST

/* Would catch: an operator's change that blindly undoes another's; a limit that a pause erases; a change
 * without an author on record. */
START_TEST(the_wanted_state_is_changed_by_version_and_recorded)
{
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_PAUSE, .service = "nobodys"}),
                     MG_CHANGE_NOT_FOUND);
    ck_assert_str_eq(rig_value(&rig, "SELECT count(*) FROM operator_action"), "0");
    report_state("a", "closed", true);
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_LIMIT, .concurrency = "6"}),
                     MG_CHANGE_DONE);
    ck_assert_str_eq(ROW("concurrency || ' ' || (rate_per_s IS NULL) || ' ' || is_paused"), "6 true false");
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_PAUSE}), MG_CHANGE_CONFLICT);
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_PAUSE, .version = 2}),
                     MG_CHANGE_CONFLICT);
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_PAUSE, .version = 1}),
                     MG_CHANGE_DONE);
    ck_assert_int_eq(
        put_setting((struct mg_service_setting){.verb = MG_SETTING_LIMIT, .version = 2, .rate_per_s = "2.5"}),
        MG_CHANGE_DONE);
    ck_assert_str_eq(ROW("concurrency || ' ' || rate_per_s || ' ' || is_paused || ' ' || version"),
                     "6 2.5 true 3");
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_RESUME, .version = 3}),
                     MG_CHANGE_DONE);
    ck_assert_int_eq(
        put_setting((struct mg_service_setting){.verb = MG_SETTING_LIMIT, .version = 4, .concurrency = "0"}),
        MG_CHANGE_DONE);
    ck_assert_str_eq(ROW("(concurrency IS NULL) || ' ' || rate_per_s || ' ' || is_paused"), "true 2.5 false");
    ck_assert_str_eq(
        rig_value(&rig, "SELECT string_agg(verb || ':' || (detail->>'version'), ', ' ORDER BY action_id)"
                        " FROM operator_action WHERE by_whom = 'anna' AND subject = 'payment'"
                        " AND role = session_user AND reason = 'a \"reason\"'"),
        "service limit:1, service pause:2, service limit:3, service resume:4, service limit:5");
}
END_TEST

static void on_alerts(void *arg, const bool *is_changed, int count, const struct mg_err *err)
{
    struct rig *at = arg;
    memset(at->is_changed, 0, sizeof(at->is_changed));
    for (int i = 0; i < count; i++) {
        at->is_changed[i] = is_changed[i];
    }
    rig_done(at, err);
}

static void write_alerts(const struct mg_alert_write *alerts, int count)
{
    mg_store_write_alerts(rig.store, alerts, count, on_alerts, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

/* Would catch: an alert that is published at every look, or not at all. */
START_TEST(an_alert_is_new_once_until_it_is_closed)
{
    struct mg_alert_write alerts[] = {
        {MG_ALERT_DEAD_LETTER, false, "dead.letters", "", mg_slice_of("x"), NULL},
        {MG_ALERT_POISONED, false, "m-1", "o-1", mg_slice_of("y"), NULL},
        {MG_ALERT_MASS_EXPIRY, true, "all", "", {NULL, 0}, NULL},
    };
    write_alerts(alerts, 3);
    ck_assert(rig.is_changed[0] && rig.is_changed[1] && !rig.is_changed[2]);
    write_alerts(alerts, 3);
    ck_assert(!rig.is_changed[0] && !rig.is_changed[1] && !rig.is_changed[2]);
    alerts[0].is_closed = true;
    write_alerts(alerts, 1);
    ck_assert(rig.is_changed[0]);
    write_alerts(alerts, 1);
    ck_assert(!rig.is_changed[0]);
    alerts[0].is_closed = false;
    write_alerts(alerts, 1);
    ck_assert(rig.is_changed[0]);
}
END_TEST

static int64_t acked_alerts;

static void on_acked(void *arg, int64_t alerts, const struct mg_err *err)
{
    acked_alerts = alerts;
    rig_done(arg, err);
}

static bool ack(int64_t alert_id)
{
    const struct mg_alert_ack wanted = {.alert_id = alert_id, .by = "anna", .reason = "I look"};
    mg_store_ack_alert(rig.store, &wanted, on_acked, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
    return acked_alerts > 0;
}

START_TEST(an_open_alert_is_acknowledged_once)
{
    struct mg_alert_write alert = {MG_ALERT_DEAD_LETTER, false, "dead.letters", "", mg_slice_of("x"), NULL};
    write_alerts(&alert, 1);
    int64_t id = (int64_t)strtoll(rig_value(&rig, "SELECT max(alert_id) FROM operator_alert"), NULL, 10);
    ck_assert(!ack(id + 1000));
    ck_assert(ack(id));
    ck_assert(!ack(id));
    ck_assert_str_eq(rig_value(&rig, "SELECT acked_by FROM operator_alert WHERE closed_at IS NULL"),
                     "anna: I look");
}
END_TEST

/* Would catch: an alert of an unknown kind that a tool has acknowledged, and that stays open for good. */
START_TEST(an_alert_of_what_happened_once_is_closed_though_it_was_acknowledged)
{
    rig_admin(&rig, "INSERT INTO operator_alert (code, subject, text, acked_at, acked_by)"
                    " VALUES ('bulk_stopped', 'b', 'x', clock_timestamp(), 'bert')");
    int64_t id = (int64_t)strtoll(rig_value(&rig, "SELECT max(alert_id) FROM operator_alert"), NULL, 10);
    ck_assert(ack(id));
    ck_assert_str_eq(rig_value(&rig, "SELECT acked_by FROM operator_alert WHERE closed_at IS NOT NULL"),
                     "anna: I look");
    ck_assert(!ack(id));
}
END_TEST

/* Orders fail one by one, at step charge for one cause or for another. */
static void failures_insert(const char *subjects, const char *error)
{
    char sql[512];
    snprintf(sql, sizeof(sql),
             "INSERT INTO operator_alert (code, subject, text, workflow, step, error_code)"
             " SELECT 'order_error', s, 'x', 'known', 'charge', %s FROM unnest('%s'::text[]) s",
             error, subjects);
    rig_admin(&rig, sql);
}

static const char *unknown_alerts(void)
{
    return rig_value(&rig, "SELECT coalesce(string_agg(subject, ',' ORDER BY subject), 'none')"
                           " FROM operator_alert WHERE workflow = 'known' AND closed_at IS NULL"
                           " AND acked_by IS DISTINCT FROM 'anna: I look'");
}

/* Would catch: a cause that is unknown again after the repair of the orders that failed first, although a
 * person works on it and later ones are open. */
START_TEST(a_cause_stays_known_while_any_of_its_alerts_is_open)
{
    failures_insert("{p1,p2}", "'http_503'");
    ck_assert(ack((int64_t)strtoll(rig_value(&rig, "SELECT max(alert_id) FROM operator_alert"), NULL, 10)));
    failures_insert("{p3}", "'http_503'");
    rig_admin(&rig, "UPDATE operator_alert SET closed_at = clock_timestamp() WHERE subject IN ('p1', 'p2')");
    failures_insert("{p4}", "'http_503'");
    rig_admin(&rig, "UPDATE operator_alert SET closed_at = clock_timestamp() WHERE subject = 'p3'");
    ck_assert_str_eq(unknown_alerts(), "none");
    failures_insert("{q1}", "'http_409'"); /* other causes are unknown */
    failures_insert("{q2}", "NULL");
    rig_admin(&rig, "UPDATE operator_alert SET closed_at = clock_timestamp() WHERE subject = 'p4'");
    failures_insert("{q3}", "'http_503'"); /* and so is this one once all of it was over */
    ck_assert_str_eq(unknown_alerts(), "q1,q2,q3");
    rig_admin(&rig, "DELETE FROM operator_alert WHERE workflow = 'known'");
}
END_TEST

static void on_workflow(void *arg, bool found, int64_t version, struct mg_slice definition,
                        const struct mg_err *err)
{
    struct rig *at = arg;
    at->is_found = found;
    at->version = version;
    snprintf(at->text, sizeof(at->text), "%.*s", (int)definition.len, found ? definition.data : "");
    rig_done(at, err);
}

static void get(int64_t version)
{
    mg_store_get_workflow(rig.store, "fulfilment", version, on_workflow, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
}

static enum mg_class put(int64_t version, const char *definition)
{
    mg_store_put_workflow(rig.store, "fulfilment", version, mg_slice_of(definition), rig_done, &rig);
    rig_wait_answer(&rig);
    return rig.err.class;
}

START_TEST(a_workflow_version_keeps_its_content)
{
    get(0);
    ck_assert(!rig.is_found);
    ck_assert_int_eq(put(1, "{\"a\": 1.00}"), MG_OK);
    ck_assert_int_eq(put(3, "{\"a\": 3}"), MG_OK);
    ck_assert_int_eq(put(1, "{\"a\": 1.00}"), MG_OK);
    ck_assert_int_eq(put(1, "{\"a\": 1.0}"), MG_PERMANENT);
    ck_assert_msg(strstr(rig.err.text, "\"fulfilment\" version 1") != NULL, "%s", rig.err.text);
    get(0);
    ck_assert_int_eq(rig.version, 3);
    get(1);
    ck_assert(rig.is_found);
    ck_assert_str_eq(rig.text, "{\"a\": 1.00}");
    get(2);
    ck_assert(!rig.is_found);
}
END_TEST

static const char *report(enum mg_report which, const char *a, const char *b, const char *c)
{
    return rig_report(&rig, which, (const char *[]){a, b, c},
                      a == NULL   ? 0
                      : b == NULL ? 1
                      : c == NULL ? 2
                                  : 3);
}

static const char *report_orders(const char *state, const char *workflow, const char *limit)
{
    return rig_report(&rig, MG_REPORT_ORDERS, (const char *[]){state, workflow, "", "", "", limit, "", ""},
                      MG_ORDERS_PARAMS);
}

/* Would catch: a report with a statement that the server does not take, and times that are not RFC 3339. */
START_TEST(each_report_answers)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    record.order.complete_by_ms = 1700000000123;
    record.order.state = MG_ORDER_PROCESSING;
    struct mg_step step = {.state = MG_STEP_WAITING, .due_at_ms = 1700000000007};
    order_store(&rig, &record, &step);
    report_state("a", "open", true);
    struct mg_alert_write alert = {MG_ALERT_DEAD_LETTER,        false, "dead.letters", "",
                                   mg_slice_of("look at them"), NULL};
    write_alerts(&alert, 1);
    ck_assert_int_eq(put(1, "{}"), MG_OK);
    assert_has(report_orders("", "fulfilment", "10"), "complete_by=2023-11-14T22:13:20.123Z");
    ck_assert_int_eq(rig.row_count, 1);
    assert_has(report_orders("error", "", "10"), "order_id=- ");
    assert_has(report_orders("", "", "0"), "order_id=- ");
    ck_assert_int_eq(rig.row_count, 1);
    assert_has(report(MG_REPORT_ORDER, "o-1", NULL, NULL), "payload={\"price\":14.00}");
    assert_has(report(MG_REPORT_ORDER_STEPS, "o-1", NULL, NULL), "due_at=2023-11-14T22:13:20.007Z");
    assert_has(report(MG_REPORT_ORDER_EVENTS, "o-1", NULL, NULL), "cause=m-1");
    assert_has(report(MG_REPORT_ALERTS, "open", "10", NULL), "text=look at them");
    assert_has(report(MG_REPORT_ALERTS, "all", "10", NULL), "closed_at=-");
    assert_has(report(MG_REPORT_WORKFLOWS, NULL, NULL, NULL), "open_orders=0");
    assert_has(report(MG_REPORT_WORKFLOW_STEPS, NULL, NULL, NULL),
               "done=0 failed=0 unknown=0 waiting=1 running=0 undone=0 skipped=0 looked_at=1");
    rig_admin(&rig, "UPDATE orders SET received_at = clock_timestamp() - interval '25 hours'");
    report(MG_REPORT_WORKFLOW_STEPS, NULL, NULL, NULL);
    ck_assert_int_eq(rig.row_count, 0);
    assert_has(report(MG_REPORT_SERVICES, NULL, NULL, NULL), "breaker=open");
    assert_has(report(MG_REPORT_CONTROL, NULL, NULL, NULL),
               "service=payment version=0 is_paused=f concurrency=0 rate_per_s=0 instance=a breaker=open");
    ck_assert_int_eq(put_setting((struct mg_service_setting){.verb = MG_SETTING_LIMIT, .concurrency = "6"}),
                     MG_CHANGE_DONE);
    assert_has(
        report(MG_REPORT_CONTROL, NULL, NULL, NULL),
        "service=payment version=1 is_paused=f concurrency=6 rate_per_s=0 instance=a breaker=open is_ready=t");
    assert_has(rig.text, "process=0 is_prober=f is_calling=t");
    assert_has(report(MG_REPORT_CONTROLLED, NULL, NULL, NULL), "service=payment state=breaker open since=- ");
    assert_has(rig.text, "agents=1 obeying=1 in_flight=3 capacity=8 breakers_open=1 concurrency=6");
    assert_has(report(MG_REPORT_LEADER, NULL, NULL, NULL), "epoch=0");
    assert_has(report(MG_REPORT_COUNTS, NULL, NULL, NULL), "state=processing orders=1");
    assert_has(report(MG_REPORT_STUCK, NULL, NULL, NULL), "order_id=o-1"); /* open, without wake_at */
    char version[32];
    snprintf(version, sizeof(version), "schema_version=%d", MG_SCHEMA_VERSION);
    assert_has(report(MG_REPORT_SETTINGS, NULL, NULL, NULL), version);
    assert_has(rig.text, "fsync=on synchronous_commit=on in_recovery=f encoding=UTF8");
}
END_TEST

static void workflow_store(const char *name, int64_t version, const char *service)
{
    char definition[128];
    snprintf(definition, sizeof(definition), "{\"steps\": [{\"step\": \"a\", \"service\": \"%s\"}]}",
             service);
    mg_store_put_workflow(rig.store, name, version, mg_slice_of(definition), rig_done, &rig);
    rig_wait_answer(&rig);
    ck_assert_int_eq(rig.err.class, MG_OK);
}

/* Would catch: a service that no operator sees because no agent of it has ever reported; the same where only
 * an open order's older version names it; and one reported missing though no order uses it any more. */
START_TEST(a_service_that_orders_need_is_known_without_an_agent)
{
    static struct mg_order_record record;
    workflow_store("fulfilment", 1, "travle");
    assert_has(report(MG_REPORT_CONTROLLED, NULL, NULL, NULL), "service=travle state=no agent");
    assert_has(rig.text, "waiting=0 agents=0");
    assert_has(rig.text, "is_used=t");
    workflow_store("fulfilment", 2, "travel");
    assert_has(report(MG_REPORT_CONTROLLED, NULL, NULL, NULL), "service=travel state=no agent");
    ck_assert_ptr_null(strstr(rig.text, "travle"));
    order_make(&record, "o-1");
    record.order.state = MG_ORDER_PROCESSING;
    record.order.wake_at_ms = 1700000000007;
    struct mg_step step = {.state = MG_STEP_WAITING, .due_at_ms = 1700000000007};
    order_store(&rig, &record, &step);
    assert_has(report(MG_REPORT_KEPT_SERVICES, NULL, NULL, NULL), "service=travle");
    ck_assert_int_eq(rig.row_count, 1);
    rig_admin(&rig, "UPDATE order_process SET wake_at = NULL, process_state = 'cancelled';"
                    "INSERT INTO service_control (service, is_paused, version, reason, by_whom)"
                    " VALUES ('greeting', false, 2, 'it was down', 'ann')");
    assert_has(report(MG_REPORT_CONTROLLED, NULL, NULL, NULL), "service=greeting state=not used");
    assert_has(rig.text, "is_used=f");
    report(MG_REPORT_KEPT_SERVICES, NULL, NULL, NULL);
    ck_assert_int_eq(rig.row_count, 0);
}
END_TEST

static const char *unneeded(void)
{
    return report(MG_REPORT_UNNEEDED_ALERTS, NULL, NULL, NULL);
}

/* Would catch: an alert that stays open for ever, and one that is closed while an order waits for it. */
START_TEST(an_alert_is_needed_while_a_step_waits_for_its_service)
{
    static struct mg_order_record record;
    rig_admin(&rig, "INSERT INTO operator_alert (code, subject, text, opened_at) VALUES"
                    " ('unpublishable', 'payment', 'x', clock_timestamp() - interval '11 seconds'),"
                    " ('unpublishable', 'travle', 'x', clock_timestamp() - interval '11 seconds'),"
                    " ('unpublishable', 'new', 'x', clock_timestamp()),"
                    " ('dead_letter', 'dead.letters', 'x', clock_timestamp() - interval '11 seconds')");
    order_make(&record, "o-1");
    record.order.state = MG_ORDER_PROCESSING;
    record.order.wake_at_ms = 1700000000007;
    struct mg_step step = {.state = MG_STEP_WAITING, .due_at_ms = 1700000000007};
    order_store(&rig, &record, &step);
    rig_admin(&rig, "UPDATE order_step SET service = 'payment'");
    assert_has(unneeded(), "subject=travle");
    ck_assert_int_eq(rig.row_count, 1);
    rig_admin(&rig, "UPDATE order_step SET state = 'done'");
    unneeded();
    ck_assert_int_eq(rig.row_count, 2);
    rig_admin(&rig, "UPDATE order_step SET state = 'undo_waiting'");
    unneeded();
    ck_assert_int_eq(rig.row_count, 1);
    rig_admin(&rig, "UPDATE order_process SET wake_at = NULL, process_state = 'cancelled'");
    unneeded();
    ck_assert_int_eq(rig.row_count, 2);
}
END_TEST

static void woken_and_seen(const char *seconds_ago)
{
    char sql[256];
    snprintf(sql, sizeof(sql),
             "UPDATE order_process SET wake_at = to_timestamp(0.001);"
             "UPDATE supervisor_leader SET seen_at = clock_timestamp() - interval '%s seconds'",
             seconds_ago);
    rig_admin(&rig, sql);
}

/* Would catch: a report that calls every order stuck between its waking and its sweep, and one that calls
 * none so. */
/* Would catch: a dead agent that counts as alive for as long as the clock was put back, and holds the role of
 * prober. */
START_TEST(agents_gone_before_a_step_back_of_the_clock_stay_gone)
{
    report_state("a", "half_open", true);
    report_state("b", "open", true);
    rig_admin(&rig,
              "UPDATE service_state SET reported_at = reported_at + interval '1 hour' WHERE instance = 'a'");
    assert_has(report(MG_REPORT_CONTROL, NULL, NULL, NULL), "instance=b");
    ck_assert_ptr_null(strstr(rig.text, "instance=a"));
    assert_has(report(MG_REPORT_CONTROLLED, NULL, NULL, NULL), "agents=1");
    /* Would catch: agents that receive nothing, not even the time, until they have reported again. */
    rig_admin(&rig, "UPDATE service_state SET reported_at = reported_at + interval '1 hour'");
    assert_has(report(MG_REPORT_CONTROL, NULL, NULL, NULL), "service=payment version=0");
    ck_assert_int_eq(rig.row_count, 1);
    assert_has(rig.text, "instance= breaker= ");
    assert_has(rig.text, " now_ms=1");
}
END_TEST

START_TEST(a_woken_order_is_stuck_only_if_no_sweep_comes)
{
    static struct mg_order_record record;
    order_make(&record, "o-1");
    record.order.state = MG_ORDER_PROCESSING;
    struct mg_step step = {.state = MG_STEP_WAITING, .due_at_ms = 1700000000007};
    order_store(&rig, &record, &step);
    woken_and_seen("1");
    report(MG_REPORT_STUCK, NULL, NULL, NULL);
    ck_assert_int_eq(rig.row_count, 0);
    woken_and_seen("61");
    report(MG_REPORT_STUCK, NULL, NULL, NULL);
    ck_assert_int_eq(rig.row_count, 1);
    woken_and_seen("1");
    rig_admin(&rig, "UPDATE order_process SET wake_at = clock_timestamp() - interval '61 seconds'");
    report(MG_REPORT_STUCK, NULL, NULL, NULL);
    ck_assert_int_eq(rig.row_count, 1);
    woken_and_seen("1");
    rig_admin(&rig, "UPDATE order_step SET due_at = NULL");
    report(MG_REPORT_STUCK, NULL, NULL, NULL);
    ck_assert_int_eq(rig.row_count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store: services");
    TCase *test = tcase_create("services");
    tcase_set_timeout(test, 60);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, a_service_is_closed_only_if_all_its_agents_report_it);
    tcase_add_test(test, a_service_is_probed_while_none_of_its_agents_has_found_it_well);
    tcase_add_test(test, of_an_agents_reports_the_newest_stands_whatever_their_order);
    tcase_add_test(test, agents_gone_before_a_step_back_of_the_clock_stay_gone);
    tcase_add_test(test, a_pause_shuts_a_service_until_it_is_over);
    tcase_add_test(test, the_wanted_state_is_changed_by_version_and_recorded);
    tcase_add_test(test, an_alert_is_new_once_until_it_is_closed);
    tcase_add_test(test, an_open_alert_is_acknowledged_once);
    tcase_add_test(test, an_alert_of_what_happened_once_is_closed_though_it_was_acknowledged);
    tcase_add_test(test, a_cause_stays_known_while_any_of_its_alerts_is_open);
    tcase_add_test(test, a_workflow_version_keeps_its_content);
    tcase_add_test(test, each_report_answers);
    tcase_add_test(test, a_service_that_orders_need_is_known_without_an_agent);
    tcase_add_test(test, an_alert_is_needed_while_a_step_waits_for_its_service);
    tcase_add_test(test, a_woken_order_is_stuck_only_if_no_sweep_comes);
    suite_add_tcase(suite, test);
    return store_main(suite, "services");
}
