/*
 * Metrics of a queue: its messages, its consumers, and the bound for the age of its oldest message
 * (base/queue_age.h). Several processes may report the same queue, each from its own looks.
 */
#ifndef MG_BASE_QUEUE_METRICS_H
#define MG_BASE_QUEUE_METRICS_H

#include "base/metrics.h"
#include "base/queue_age.h"

struct mg_queue_metrics {
    struct mg_metric *messages, *consumers, *oldest;
    struct mg_queue_age age;
};

/* The series appear with the first look. */
void mg_queue_metrics_init(struct mg_queue_metrics *queue, struct mg_metrics *metrics, const char *name);
/* Records a look at the queue. `in_hand`: its messages that this process holds, which wait as those that are
 * ready. The age of the oldest message appears when it is known, or one minute after
 * the first look if messages of unknown age are still there. consumers -1: the queue does not exist. `taken`
 * and `unsure` as of mg_queue_age_look. */
void mg_queue_metrics_seen(struct mg_queue_metrics *queue, int64_t ready, int64_t in_hand, int64_t consumers,
                           int64_t taken, int64_t unsure);
void mg_queue_metrics_silence(struct mg_queue_metrics *queue); /* until the next look, with a new age */

#endif
