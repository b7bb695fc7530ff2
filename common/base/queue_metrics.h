/*
 * Metrics of a queue: its messages, its consumers, and the bound for the age of its oldest message
 * (mg_queue_age_look). Several processes may report the same queue, each from its own looks.
 */
#ifndef MG_BASE_QUEUE_METRICS_H
#define MG_BASE_QUEUE_METRICS_H

#include "base/metrics.h"

/*
 * An upper bound for the age of a queue's oldest message, from the queue's depth and the number of messages
 * taken. It needs no time stamp in messages and only this machine's clock.
 *
 * Each look stores the count of taken messages at which all messages of that look are gone (queues are first
 * in, first out). The youngest look that has reached its count bounds the age: the queue's first message
 * arrived after it. While no message is taken the bound grows. Messages of the very first look have an
 * unknown age. While some of them may be left, there is no bound, only the time since that look. If several
 * processes bound the same queue, the least bound is right. Messages that were requeued count as new.
 */
/* When this many looks wait, every other one is dropped. The bound is then as coarse as their distance, some
 * hundredths of the age. */
#define MG_QUEUE_LOOKS_MAX 64

struct mg_queue_age {
    struct mg_queue_look {
        int64_t at_ms;
        int64_t gone_at; /* the count of taken messages at which all messages of this look are gone */
    } looks[MG_QUEUE_LOOKS_MAX];
    int count;     /* 0: no look yet */
    bool is_known; /* all messages of the first look are gone */
};

/* Records a look and returns the bound in ms; 0: the queue is empty. Until `is_known` it is the time since
 * the first look, and bounds only messages that arrived later. `taken`: messages taken since any fixed
 * moment, rather too few than too many. `unsure`: messages of this look that `taken` may count later,
 * although they were not in the queue at this look. */
int64_t mg_queue_age_look(struct mg_queue_age *age, int64_t now_ms, int64_t depth, int64_t taken,
                          int64_t unsure);

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
