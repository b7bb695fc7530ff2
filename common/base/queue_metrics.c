/* See queue_metrics.h. */
#include "base/queue_metrics.h"
#include "base/clock.h"
#include <stdio.h>

/* ---- the bound of the age: the first look in the list gives it ---- */

/* Drops every other look, but never the first and the last. */
static void looks_thin(struct mg_queue_age *age)
{
    int kept = 1;
    for (int i = 2; i < age->count; i += 2) {
        age->looks[kept++] = age->looks[i];
    }
    if (age->count % 2 == 0) {
        age->looks[kept++] = age->looks[age->count - 1];
    }
    age->count = kept;
}

/* Drops the looks before the youngest one that has lost all its messages; they are obsolete. */
static void looks_pass(struct mg_queue_age *age, int64_t taken)
{
    int passed = 0;
    for (int i = 0; i < age->count; i++) {
        if (taken >= age->looks[i].gone_at) {
            passed = i;
            age->is_known = true;
        }
    }
    for (int i = passed; i < age->count; i++) {
        age->looks[i - passed] = age->looks[i];
    }
    age->count -= passed;
}

int64_t mg_queue_age_look(struct mg_queue_age *age, int64_t now_ms, int64_t depth, int64_t taken,
                          int64_t unsure)
{
    if (depth <= 0) { /* every later message is younger than this */
        age->looks[0] = (struct mg_queue_look){now_ms, taken};
        age->count = 1;
        age->is_known = true;
        return 0;
    }
    looks_pass(age, taken);
    if (age->count == MG_QUEUE_LOOKS_MAX) {
        looks_thin(age);
    }
    age->looks[age->count++] = (struct mg_queue_look){now_ms, taken + depth + unsure};
    return now_ms - age->looks[0].at_ms;
}

/* ---- metrics ---- */

/* A queue's name in AMQP (255 bytes) and the label's own characters. */
#define LABELS_SIZE 272
/* A message that has been in the queue for this long is old, even if its exact age is unknown: no alert has a
 * higher bound. */
#define OLD_MS 60000

void mg_queue_metrics_silence(struct mg_queue_metrics *queue)
{
    queue->age.count = 0;
    queue->age.is_known = false;
    mg_metric_silence(queue->messages);
    mg_metric_silence(queue->consumers);
    mg_metric_silence(queue->oldest);
}

void mg_queue_metrics_init(struct mg_queue_metrics *queue, struct mg_metrics *metrics, const char *name)
{
    char labels[LABELS_SIZE];
    (void)snprintf(labels, sizeof(labels), "queue=\"%s\"", name);
    queue->messages = mg_metrics_series(metrics, MG_GAUGE, "makegood_queue_messages", labels,
                                        "messages of a queue that are ready and not delivered");
    queue->consumers = mg_metrics_series(metrics, MG_GAUGE, "makegood_queue_consumers", labels,
                                         "consumers of a queue; -1: there is no such queue");
    queue->oldest = mg_metrics_series(
        metrics, MG_GAUGE, "makegood_queue_oldest_age_seconds", labels,
        "upper bound for the age of a queue's messages, except those from before this process first looked; of "
        "several processes the least value is right");
    mg_queue_metrics_silence(queue);
}

void mg_queue_metrics_seen(struct mg_queue_metrics *queue, int64_t ready, int64_t in_hand, int64_t consumers,
                           int64_t taken, int64_t unsure)
{
    int64_t age_ms = mg_queue_age_look(&queue->age, mg_clock_boot_ms(), ready + in_hand, taken, unsure);
    mg_metric_set(queue->messages, (double)ready);
    mg_metric_set(queue->consumers, (double)consumers);
    if (queue->age.is_known || age_ms >= OLD_MS) {
        mg_metric_set(queue->oldest, (double)age_ms / 1000.0);
    } else { /* a small number would be the least of all processes, and count as right */
        mg_metric_silence(queue->oldest);
    }
}
