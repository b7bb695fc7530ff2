/*
 * What a process tells of a queue: how many messages lie there, who takes them, and how old the oldest can be
 * (base/queue_age.h). Several processes may tell of the same queue: each from what it knows.
 */
#ifndef MG_BASE_QUEUE_METRICS_H
#define MG_BASE_QUEUE_METRICS_H

#include "base/metrics.h"
#include "base/queue_age.h"

struct mg_queue_metrics {
    struct mg_metric *messages, *consumers, *oldest;
    struct mg_queue_age age;
};

/* Shown from the first look on. */
void mg_queue_metrics_init(struct mg_queue_metrics *queue, struct mg_metrics *metrics, const char *name);
/* The queue was seen. How old its oldest message can be is shown when it is known, or when messages of an
 * unknown age have lain there for a minute since the first look. consumers -1: there is no such queue;
 * `taken` and `unsure` as of mg_queue_age_look. */
void mg_queue_metrics_seen(struct mg_queue_metrics *queue, int64_t ready, int64_t consumers, int64_t taken,
                           int64_t unsure);
void mg_queue_metrics_silence(struct mg_queue_metrics *queue); /* until it is seen again, with a new age */

#endif
