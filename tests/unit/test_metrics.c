/* Metrics: the text format as Prometheus reads it, and a number of series that cannot grow without bound. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/metrics.h"
#include "suite.h"

static struct mg_metrics *metrics;
static struct mg_buf text;

static void set_up(void)
{
    metrics = mg_metrics_create();
    ck_assert_ptr_nonnull(metrics);
    mg_buf_init(&text, 1 << 20);
}

static void tear_down(void)
{
    mg_buf_finish(&text);
    mg_metrics_destroy(metrics);
}

static const char *render(void)
{
    mg_buf_clear(&text);
    mg_metrics_render(metrics, &text);
    ck_assert(!text.failed);
    return text.data;
}

/* Catches: the format broken anywhere: order, escapes, blanks, numbers. */
START_TEST(series_of_one_name_stand_together_under_one_head)
{
    struct mg_metric *a =
        mg_metrics_series(metrics, MG_COUNTER, "replies_total", "service=\"a\"", "back\\slash\nfeed");
    struct mg_metric *other = mg_metrics_series(metrics, MG_GAUGE, "in_flight", NULL, "calls under way");
    struct mg_metric *b = mg_metrics_series(metrics, MG_COUNTER, "replies_total", "service=\"b\"", "ignored");
    mg_metric_add(a, 1);
    mg_metric_add(a, 2);
    mg_metric_set(other, -2.5);
    mg_metric_add(b, 4);
    const char *expected = "# HELP replies_total back\\\\slash\\nfeed\n"
                           "# TYPE replies_total counter\n"
                           "replies_total{service=\"a\"} 3\n"
                           "replies_total{service=\"b\"} 4\n"
                           "# HELP in_flight calls under way\n"
                           "# TYPE in_flight gauge\n"
                           "in_flight -2.5\n"
                           "# HELP makegood_metrics_overflow_total ";
    ck_assert_int_eq(strncmp(render(), expected, strlen(expected)), 0);
}
END_TEST

/* Catches: two series for one thing, each with half of the count. */
START_TEST(asking_again_gives_the_same_series)
{
    struct mg_metric *a = mg_metrics_series(metrics, MG_COUNTER, "x_total", "k=\"1\"", "x");
    ck_assert_ptr_eq(mg_metrics_series(metrics, MG_COUNTER, "x_total", "k=\"1\"", "x"), a);
    ck_assert_ptr_ne(mg_metrics_series(metrics, MG_COUNTER, "x_total", "k=\"2\"", "x"), a);
    ck_assert_ptr_ne(mg_metrics_series(metrics, MG_COUNTER, "x_total", NULL, "x"), a);
}
END_TEST

/* Catches: buckets that are not cumulative, a bound that is on the wrong side, a sum without its count. */
START_TEST(a_histogram_counts_cumulatively)
{
    struct mg_metric *seconds =
        mg_metrics_series(metrics, MG_HISTOGRAM, "call_seconds", "service=\"a\"", "x");
    mg_metric_observe(seconds, 0.001);
    mg_metric_observe(seconds, 0.0011);
    mg_metric_observe(seconds, 60);
    mg_metric_observe(seconds, 61);
    mg_metric_observe(seconds, (double)NAN);
    ck_assert_double_eq(mg_metric_value(seconds), 4);
    const char *page = render();
    ck_assert_ptr_nonnull(strstr(page, "# TYPE call_seconds histogram\n"));
    ck_assert_ptr_nonnull(strstr(page, "call_seconds_bucket{service=\"a\",le=\"0.001\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(page, "call_seconds_bucket{service=\"a\",le=\"0.0025\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(page, "call_seconds_bucket{service=\"a\",le=\"30\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(page, "call_seconds_bucket{service=\"a\",le=\"60\"} 3\n"));
    ck_assert_ptr_nonnull(strstr(page, "call_seconds_bucket{service=\"a\",le=\"+Inf\"} 4\n"));
    ck_assert_ptr_nonnull(strstr(page, "call_seconds_sum{service=\"a\"} 121.0021\n"));
    ck_assert_ptr_nonnull(strstr(page, "call_seconds_count{service=\"a\"} 4\n"));
    seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "bare_seconds", NULL, NULL);
    mg_metric_observe(seconds, 1);
    page = render();
    ck_assert_ptr_nonnull(strstr(page, "bare_seconds_bucket{le=\"1\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(page, "bare_seconds_sum 1\nbare_seconds_count 1\n"));
}
END_TEST

/* Catches: sizes in buckets of seconds, all of them above the last. */
START_TEST(a_histogram_of_sizes_has_buckets_of_its_own)
{
    struct mg_metric *sizes = mg_metrics_series(metrics, MG_HISTOGRAM_SIZES, "batch_causes", NULL, "x");
    mg_metric_observe(sizes, 1);
    mg_metric_observe(sizes, 75);
    mg_metric_observe(sizes, 1024);
    mg_metric_observe(sizes, 1025);
    const char *page = render();
    ck_assert_ptr_nonnull(strstr(page, "# TYPE batch_causes histogram\n"));
    ck_assert_ptr_nonnull(strstr(page, "batch_causes_bucket{le=\"1\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(page, "batch_causes_bucket{le=\"64\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(page, "batch_causes_bucket{le=\"128\"} 2\n"));
    ck_assert_ptr_nonnull(strstr(page, "batch_causes_bucket{le=\"1024\"} 3\n"));
    ck_assert_ptr_nonnull(strstr(page, "batch_causes_bucket{le=\"+Inf\"} 4\n"));
    ck_assert_ptr_nonnull(strstr(page, "batch_causes_sum 2125\nbatch_causes_count 4\n"));
}
END_TEST

/* Catches: an old number that stays on the page when its value is no longer available. */
START_TEST(a_silent_gauge_is_not_shown)
{
    struct mg_metric *a = mg_metrics_series(metrics, MG_GAUGE, "depth", "queue=\"a\"", "x");
    struct mg_metric *b = mg_metrics_series(metrics, MG_GAUGE, "depth", "queue=\"b\"", "x");
    mg_metric_set(a, 3);
    mg_metric_set(b, 4);
    mg_metric_silence(a);
    ck_assert_ptr_null(strstr(render(), "queue=\"a\""));
    ck_assert_ptr_nonnull(strstr(text.data, "depth{queue=\"b\"} 4\n"));
    mg_metric_set(a, 5);
    ck_assert_ptr_nonnull(strstr(render(), "depth{queue=\"a\"} 5\n"));
}
END_TEST

static void set_seven(void *arg)
{
    mg_metric_set(arg, 7);
}

/* Catches: a value that is read at each scrape, shown as of the last one. */
START_TEST(values_are_read_before_each_page)
{
    struct mg_metric *gauge = mg_metrics_series(metrics, MG_GAUGE, "g", NULL, "x");
    mg_metrics_on_render(metrics, set_seven, gauge);
    ck_assert_ptr_nonnull(strstr(render(), "\ng 7\n"));
}
END_TEST

/* Catches: numbers that Prometheus cannot read, or counts that lose their last digits. */
START_TEST(numbers_are_written_as_prometheus_reads_them)
{
    struct mg_metric *gauge = mg_metrics_series(metrics, MG_GAUGE, "g", NULL, "x");
    static const struct {
        double value;
        const char *line;
    } cases[] = {{(double)NAN, "\ng NaN\n"},
                 {(double)INFINITY, "\ng +Inf\n"},
                 {-(double)INFINITY, "\ng -Inf\n"},
                 {123456789012345, "\ng 123456789012345\n"},
                 {0.1, "\ng 0.1\n"},
                 {0, "\ng 0\n"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        mg_metric_set(gauge, cases[i].value);
        ck_assert_msg(strstr(render(), cases[i].line) != NULL, "case %zu: %s", i, text.data);
    }
}
END_TEST

/* Catches: a label that grows (an order's id) and takes the process's memory with it. */
START_TEST(past_the_limit_all_series_share_one)
{
    char labels[32];
    struct mg_metric *first = NULL, *last = NULL;
    for (int i = 0; i < MG_METRICS_MAX; i++) {
        (void)snprintf(labels, sizeof(labels), "order=\"%d\"", i);
        last = mg_metrics_series(metrics, MG_COUNTER, "orders_total", labels, "x");
        first = first ? first : last;
        mg_metric_add(last, 1);
    }
    ck_assert_double_eq(mg_metric_value(last), 1);
    struct mg_metric *over = mg_metrics_series(metrics, MG_COUNTER, "orders_total", "order=\"a\"", "x");
    struct mg_metric *also = mg_metrics_series(metrics, MG_HISTOGRAM, "more_seconds", NULL, "x");
    ck_assert_ptr_eq(over, also);
    mg_metric_add(over, 100);
    mg_metric_set(over, 100);
    mg_metric_observe(also, 100);
    ck_assert_ptr_nonnull(strstr(render(), "\nmakegood_metrics_overflow_total 3\n"));
    ck_assert_ptr_eq(mg_metrics_series(metrics, MG_COUNTER, "orders_total", "order=\"0\"", "x"), first);
}
END_TEST

/* Catches: one caller's endless label that uses up all series; a NULL where a series was promised. */
START_TEST(an_endless_label_ends_in_the_overflow)
{
    size_t size = 1 << 20;
    char *labels = malloc(size);
    ck_assert_ptr_nonnull(labels);
    memset(labels, 'x', size - 1);
    labels[size - 1] = '\0';
    struct mg_metric *metric = mg_metrics_series(metrics, MG_COUNTER, "x_total", labels, "x");
    ck_assert_ptr_nonnull(metric);
    mg_metric_add(metric, 1);
    ck_assert_ptr_nonnull(strstr(render(), "\nmakegood_metrics_overflow_total 1\n"));
    free(labels);
}
END_TEST

/* Would catch: calls that all look quick, and orders of one state that count for another. */
START_TEST(a_histogram_gives_its_buckets_and_a_name_the_sum_of_its_series)
{
    uint64_t counts[MG_METRIC_BUCKETS];
    struct mg_metric *seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "call_seconds", NULL, "x");
    mg_metric_observe(seconds, 0.001);
    mg_metric_observe(seconds, 0.0011);
    mg_metric_observe(seconds, 59);
    mg_metric_observe(seconds, 61);
    ck_assert(mg_metric_buckets(seconds, counts));
    ck_assert_uint_eq(counts[0], 1);
    ck_assert_uint_eq(counts[1], 1);
    ck_assert_uint_eq(counts[MG_METRIC_BUCKETS - 1], 1);
    ck_assert_double_eq(mg_metric_value(seconds), 4);
    mg_metric_add(mg_metrics_series(metrics, MG_COUNTER, "orders", "workflow=\"a\",state=\"done\"", "x"), 3);
    mg_metric_add(mg_metrics_series(metrics, MG_COUNTER, "orders", "workflow=\"b\",state=\"done\"", "x"), 4);
    mg_metric_add(mg_metrics_series(metrics, MG_COUNTER, "orders", "workflow=\"b\",state=\"open\"", "x"), 9);
    mg_metric_add(mg_metrics_series(metrics, MG_COUNTER, "others", "state=\"done\"", "x"), 9);
    ck_assert_double_eq(mg_metrics_sum(metrics, "orders", "state=\"done\""), 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tests = tcase_create("metrics");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, series_of_one_name_stand_together_under_one_head);
    tcase_add_test(tests, asking_again_gives_the_same_series);
    tcase_add_test(tests, a_histogram_counts_cumulatively);
    tcase_add_test(tests, a_histogram_of_sizes_has_buckets_of_its_own);
    tcase_add_test(tests, a_silent_gauge_is_not_shown);
    tcase_add_test(tests, values_are_read_before_each_page);
    tcase_add_test(tests, numbers_are_written_as_prometheus_reads_them);
    tcase_add_test(tests, past_the_limit_all_series_share_one);
    tcase_add_test(tests, an_endless_label_ends_in_the_overflow);
    tcase_add_test(tests, a_histogram_gives_its_buckets_and_a_name_the_sum_of_its_series);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
