/* See bulk_fixture.h. */
#include "bulk_fixture.h"

#include <stdio.h>

struct rig rig;
struct mg_bulk_started started;

void fail_orders(int first, int last, const char *step, const char *service)
{
    char sql[1400];
    snprintf(
        sql, sizeof(sql),
        "INSERT INTO order_process (order_id, process_state, goal, reason, version, seq, generation, failure_count,"
        " locked_by, workflow, workflow_version, revision, is_high, wants_step_status)"
        " SELECT 'o-' || i, 'error', 'processed', 'step_failed', 7, 1, 0, 1, 'me', 'fulfilment', 1, 1, false, false"
        " FROM generate_series(%d, %d) AS i;"
        "INSERT INTO operator_alert (code, subject, order_id, text, workflow, step, service, error_code, signature,"
        " opened_at) SELECT 'order_error', 'o-' || i, 'o-' || i, 'x', 'fulfilment', '%s', '%s', 'http_422',"
        " 'http_422: no card', clock_timestamp() - interval '1 hour' + i * interval '1 ms'"
        " FROM generate_series(%d, %d) AS i",
        first, last, step, service, first, last);
    rig_admin(&rig, sql);
}

void bulk_setup(void)
{
    rig_open(&rig);
    rig_admin(&rig, "TRUNCATE order_process, order_event, operator_alert, operator_action, bulk, bulk_order");
    rig_admin(&rig, "UPDATE bulk_runner SET epoch = 0, holder = '', seen_at = NULL");
    rig_start_with(&rig, (struct mg_store_options){.is_leader_session = true, .lead = MG_LEAD_BULK}, true);
}

void bulk_teardown(void)
{
    rig_finish(&rig);
}

void bulk_on_started(void *arg, const struct mg_bulk_started *answer, const struct mg_err *err)
{
    started = answer != NULL ? *answer : (struct mg_bulk_started){.is_new = false};
    rig_done(arg, err);
}

struct mg_failure_filter all_failures(void)
{
    return (struct mg_failure_filter){"", "", "", "", "", "", ""};
}

void bulk_start_with(const char *bulk_id, struct mg_failure_filter filter)
{
    struct mg_bulk_start start = {.bulk_id = bulk_id,
                                  .verb = MG_CAUSE_RESUME,
                                  .filter = filter,
                                  .reason = "a \"reason\"",
                                  .by = "anna",
                                  .canary = 2,
                                  .stop_percent = 10,
                                  .rate_per_s = "2.5"};
    mg_store_start_bulk(rig.store, &start, bulk_on_started, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

void bulk_start(const char *bulk_id, const char *step)
{
    struct mg_failure_filter filter = all_failures();
    filter.step = step;
    bulk_start_with(bulk_id, filter);
}
