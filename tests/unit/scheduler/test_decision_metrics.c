/* The scheduler's metrics of its orders: counted once, when stored, under the names of their services. */
#include <check.h>
#include <stdio.h>

#include "../page.h"
#include "../suite.h"
#include "stage.h"

static bool shows(const char *line)
{
    return page_shows(stage_scheduler->shared.metrics, line);
}

/* Would catch: a figure that is no longer counted, or has another name. */
START_TEST(an_order_leaves_its_figures)
{
    stage_begin("o1");
    ck_assert(shows("\nmakegood_attempts_total{service=\"inventory\",kind=\"do\"} 1\n"));
    ck_assert(shows("\nmakegood_attempts_total{service=\"payment\",kind=\"do\"} 0\n"));
    ck_assert(shows("\nmakegood_step_seconds_count{service=\"inventory\"} 0\n"));
    stage_answer("o1.reserve#1");
    fake_store.ahead_ms = 31000;
    mg_cache_clear(&stage_scheduler->cache); /* the state is read anew, and so is the time */
    stage_answer("o1.charge#1");
    ck_assert(shows("\nmakegood_submissions_total{outcome=\"accepted\"} 1\n"));
    ck_assert(shows("\nmakegood_orders_total{workflow=\"two\",state=\"processing\"} 1\n"));
    ck_assert(shows("\nmakegood_orders_total{workflow=\"two\",state=\"processed\"} 1\n"));
    ck_assert(shows("\nmakegood_outcomes_total{service=\"payment\",outcome=\"done\"} 1\n"));
    ck_assert(shows("\nmakegood_step_seconds_count{service=\"inventory\"} 1\n"));
    ck_assert(shows("\nmakegood_step_seconds_bucket{service=\"payment\",le=\"30\"} 0\n"));
    ck_assert(shows("\nmakegood_step_seconds_bucket{service=\"payment\",le=\"60\"} 1\n"));
    ck_assert(shows("\nmakegood_statuses_sent_total{status=\"accepted\"} 1\n"));
    ck_assert(shows("\nmakegood_statuses_sent_total{status=\"processed\"} 1\n"));
    ck_assert(shows("\nmakegood_batch_causes_sum 3\n"));
    ck_assert(shows("\nmakegood_commit_seconds_count 3\n"));
}
END_TEST

/* Would catch: a service whose codes fill the metrics, and a code that breaks their page. */
START_TEST(failures_are_counted_by_a_bounded_number_of_codes)
{
    struct mg_gate *gate = mg_gates_of(&stage_scheduler->gates, "inventory");
    struct mg_metrics *all = stage_scheduler->shared.metrics;
    stage_begin("o1");
    stage_answer("o1.reserve#1 permanent http_422/SOLD_OUT");
    ck_assert(shows("\nmakegood_failures_total{service=\"inventory\",code=\"http_422/SOLD_OUT\"} 1\n"));
    ck_assert(shows("\nmakegood_failures_total{service=\"inventory\",code=\"other\"} 0\n"));
    const struct mg_metric *other = mg_service_metrics_failure(&gate->metrics, all, "inventory", "a\"b");
    ck_assert_ptr_eq(other, mg_service_metrics_failure(&gate->metrics, all, "inventory", ""));
    for (int i = 1; i <= 20; i++) {
        char code[32];
        (void)snprintf(code, sizeof(code), "http_400/n-%d", i);
        const struct mg_metric *metric = mg_service_metrics_failure(&gate->metrics, all, "inventory", code);
        ck_assert_int_eq(metric == other, i >= MG_FAILURE_CODES_MAX);
        ck_assert_ptr_eq(metric, mg_service_metrics_failure(&gate->metrics, all, "inventory", code));
    }
}
END_TEST

/* Would catch: repeats and refusals counted as orders. */
START_TEST(submissions_are_counted_by_outcome)
{
    stage_begin("o1");
    stage_begin("o1");
    stage_submit_from("o1", "[15.00]", "client", false);
    stage_settle();
    ck_assert(shows("\nmakegood_submissions_total{outcome=\"accepted\"} 1\n"));
    ck_assert(shows("\nmakegood_submissions_total{outcome=\"repeated\"} 1\n"));
    ck_assert(shows("\nmakegood_submissions_total{outcome=\"rejected\"} 1\n"));
    ck_assert(shows("\nmakegood_statuses_sent_total{status=\"rejected\"} 1\n"));
}
END_TEST

/* Would catch: the result of a submission counted while it is a guess, and again when it is certain. */
START_TEST(the_outcome_of_a_submission_counts_once_it_is_known)
{
    stage_begin("o1");
    mg_cache_clear(&stage_scheduler->cache); /* as in another instance: the order is taken for new */
    stage_submit("o1", false);
    stage_submit_from("o1", "[14.00]", NULL, false);
    stage_submit_from("o1", "[15.00]", NULL, false);
    stage_settle();
    ck_assert(shows("\nmakegood_conflicts_total 1\n"));
    ck_assert(shows("\nmakegood_submissions_total{outcome=\"accepted\"} 1\n"));
    ck_assert(shows("\nmakegood_submissions_total{outcome=\"repeated\"} 2\n"));
    ck_assert(shows("\nmakegood_submissions_total{outcome=\"rejected\"} 1\n"));
}
END_TEST

/* Would catch: a decision that another instance overtook, counted with the one that took its place. */
START_TEST(a_repeated_decision_counts_once)
{
    stage_begin("o1");
    fake_store.next_commit = FAKE_COMMIT_CONFLICT;
    stage_answer("o1.reserve#1");
    ck_assert(shows("\nmakegood_conflicts_total 1\n"));
    ck_assert(shows("\nmakegood_outcomes_total{service=\"inventory\",outcome=\"done\"} 1\n"));
    ck_assert(shows("\nmakegood_step_seconds_count{service=\"inventory\"} 1\n"));
    ck_assert(shows("\nmakegood_attempts_total{service=\"payment\",kind=\"do\"} 1\n"));
    stage_answer("o1.reserve#1"); /* an old one: it ends nothing */
    ck_assert(shows("\nmakegood_outcomes_total{service=\"inventory\",outcome=\"done\"} 1\n"));
}
END_TEST

/* Would catch: the second copy of a request counted as a second attempt. */
START_TEST(a_request_that_goes_out_again_is_one_attempt)
{
    stage_begin("o1");
    stage_submit("o1", true);
    stage_settle();
    ck_assert_int_eq(fake_broker_count("request"), 2);
    ck_assert(shows("\nmakegood_attempts_total{service=\"inventory\",kind=\"do\"} 1\n"));
}
END_TEST

/* Would catch: queues without metrics. */
START_TEST(its_queues_are_reported)
{
    stage_begin("o1");
    ck_assert(!shows("makegood_queue_messages{")); /* no queue has been seen yet */
    fake_broker.queue_ready = 4;
    fake_broker.queue_consumers = 2;
    fake_broker_seen();
    ck_assert(shows("\nmakegood_queue_messages{queue=\"orders.intake\"} 4\n"));
    ck_assert(shows("\nmakegood_queue_messages{queue=\"scheduler.replies\"} 4\n"));
    ck_assert(shows("\nmakegood_queue_consumers{queue=\"agent.payment.requests\"} 2\n"));
    ck_assert(!shows("makegood_queue_oldest_age_seconds{")); /* the time of their arrival is unknown */
    fake_broker.queue_ready = 0;
    fake_broker_seen();
    ck_assert(shows("\nmakegood_queue_oldest_age_seconds{queue=\"agent.payment.requests.high\"} 0\n"));
}
END_TEST

/* Would catch: one process that lost the broker, with a last figure that hides how old messages get
 * elsewhere. */
START_TEST(without_a_broker_no_queues_are_reported)
{
    stage_begin("o1");
    fake_broker_seen();
    ck_assert(shows("makegood_queue_messages{queue=\"orders.intake\"}"));
    fake_broker.options.on_state(fake_broker.options.arg, false, "gone");
    ck_assert(!shows("makegood_queue_messages{") && !shows("makegood_queue_oldest_age_seconds{"));
    fake_broker.options.on_state(fake_broker.options.arg, true, NULL);
    fake_broker_seen();
    ck_assert(shows("makegood_queue_messages{queue=\"agent.payment.requests\"}"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler decision metrics");
    TCase *tests = tcase_create("decision metrics");
    tcase_add_checked_fixture(tests, stage_start, stage_finish);
    tcase_add_test(tests, an_order_leaves_its_figures);
    tcase_add_test(tests, failures_are_counted_by_a_bounded_number_of_codes);
    tcase_add_test(tests, submissions_are_counted_by_outcome);
    tcase_add_test(tests, the_outcome_of_a_submission_counts_once_it_is_known);
    tcase_add_test(tests, a_repeated_decision_counts_once);
    tcase_add_test(tests, a_request_that_goes_out_again_is_one_attempt);
    tcase_add_test(tests, its_queues_are_reported);
    tcase_add_test(tests, without_a_broker_no_queues_are_reported);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
