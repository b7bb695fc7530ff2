/*
 * Counters, gauges and histograms of one process, rendered in the Prometheus text format (version 0.0.4).
 * Names are given whole ("makegood_replies_total"). Label sets are few and bounded, and never hold an order's
 * id.
 */
#ifndef MG_BASE_METRICS_H
#define MG_BASE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Maximum of series of one process; more means a label that grows. A scheduler has up to 26 for each service
 * (six of them of its two queues, up to nine of its failures' codes), seven for each workflow and some two
 * hundred others. So there is room for about seventy services. */
#define MG_METRICS_MAX 2048

enum mg_metric_type {
    MG_COUNTER,
    MG_GAUGE,
    MG_HISTOGRAM,       /* of seconds: buckets from 1 ms to 60 s */
    MG_HISTOGRAM_SIZES, /* of numbers of things: buckets of powers of two to 1024 */
};

/* Buckets of a histogram of seconds, by their upper bounds: 1, 2.5, 5, 10, 25, 50, 100, 250, 500 ms, 1, 2.5,
 * 5, 10, 30, 60 s. */
#define MG_METRIC_BUCKETS 15

struct mg_metrics;
struct mg_metric; /* one series */

struct mg_metrics *mg_metrics_create(void);
void mg_metrics_destroy(struct mg_metrics *metrics);
/* Finds or makes the series. `labels` as in the text format without braces (`service="payment"`), or NULL. A
 * name has one type. Never NULL: above MG_METRICS_MAX all further series share one named
 * makegood_metrics_overflow_total. */
struct mg_metric *mg_metrics_series(struct mg_metrics *metrics, enum mg_metric_type type, const char *name,
                                    const char *labels, const char *help);
void mg_metric_add(struct mg_metric *metric, double amount);
void mg_metric_set(struct mg_metric *metric, double value);
/* Hides a gauge until it is set again: no value is better than an outdated one. */
void mg_metric_silence(struct mg_metric *metric);
void mg_metric_observe(struct mg_metric *metric, double value);
double mg_metric_value(const struct mg_metric *metric); /* a histogram gives its count */
/* The observations in each bucket alone; above the last bound they are in none. False: the series had no
 * room, and nothing is known. */
bool mg_metric_buckets(const struct mg_metric *histogram, uint64_t ret_counts[MG_METRIC_BUCKETS]);
/* The sum of the counters of a name with labels that contain this text. */
double mg_metrics_sum(const struct mg_metrics *metrics, const char *name, const char *label);
/* Calls `fn` before each rendering, for values that are read at that moment and not counted. One for each
 * process. */
void mg_metrics_on_render(struct mg_metrics *metrics, void (*fn)(void *arg), void *arg);
void mg_metrics_render(const struct mg_metrics *metrics, struct mg_buf *buf);

#endif
