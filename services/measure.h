/*
 * What every process tells of itself among its metrics: its CPU, memory and descriptors under the names that
 * every Prometheus knows, its version, and how late its loop is.
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
