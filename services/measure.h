/*
 * Metrics that every process reports about itself: CPU, memory and descriptors under their standard
 * Prometheus names, its version, and the lag of its loop.
 */
#ifndef MG_MEASURE_H
#define MG_MEASURE_H

#include "base/loop.h"
#include "base/metrics.h"

struct mg_measure;

/* NULL: no memory. Before the loop runs; destroyed before the loop and the metrics. */
struct mg_measure *mg_measure_create(struct mg_loop *loop, struct mg_metrics *metrics);
void mg_measure_destroy(struct mg_measure *measure); /* accepts NULL */

#endif
