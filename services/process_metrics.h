/*
 * Metrics that every process reports about itself: CPU, memory and descriptors under their standard
 * Prometheus names, its version, and the lag of its loop.
 */
#ifndef MG_PROCESS_METRICS_H
#define MG_PROCESS_METRICS_H

#include "base/loop.h"
#include "base/metrics.h"

struct mg_process_metrics;

/* NULL: no memory. Before the loop runs; destroyed before the loop and the metrics. */
struct mg_process_metrics *mg_process_metrics_create(struct mg_loop *loop, struct mg_metrics *metrics);
void mg_process_metrics_destroy(struct mg_process_metrics *own); /* accepts NULL */

#endif
