/* See batch_fixture.h. */
#include "batch_fixture.h"

#include <stdio.h>

struct rig rig;
struct mg_batch_started started;

void fail_orders(int first, int last, const char *step, const char *service)
{
    char sql[1400];
    snprintf(
        sql, sizeof sql,
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

void batch_setup(void)
{
    rig_open(&rig);
    rig_admin(&rig,
              "TRUNCATE order_process, order_event, operator_alert, operator_action, batch, batch_order");
    rig_admin(&rig, "UPDATE batch_runner SET epoch = 0, holder = '', seen_at = NULL");
    rig_start_with(&rig, (struct mg_store_options){.is_leader_session = true, .lead = MG_LEAD_BATCHES}, true);
}

void batch_teardown(void)
{
    rig_finish(&rig);
}

void batch_on_started(void *arg, const struct mg_batch_started *answer, const struct mg_err *err)
{
    started = answer != NULL ? *answer : (struct mg_batch_started){.is_new = false};
    rig_done(arg, err);
}

struct mg_failure_filter all_failures(void)
{
    return (struct mg_failure_filter){"", "", "", "", "", ""};
}

void batch_start_with(const char *batch_id, struct mg_failure_filter filter)
{
    struct mg_batch_start start = {.batch_id = batch_id,
                                   .verb = MG_CAUSE_RESUME,
                                   .filter = filter,
                                   .reason = "a \"reason\"",
                                   .by = "anna",
                                   .canary = 2,
                                   .stop_percent = 10,
                                   .rate_per_s = "2.5"};
    mg_store_start_batch(rig.store, &start, batch_on_started, &rig);
    rig_wait_answer(&rig);
    ck_assert_msg(rig.err.class == MG_OK, "%s", rig.err.text);
}

void batch_start(const char *batch_id, const char *step)
{
    struct mg_failure_filter filter = all_failures();
    filter.step = step;
    batch_start_with(batch_id, filter);
}
