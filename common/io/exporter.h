/*
 * Sends spans to a collector in batches, over HTTP, without cost to the sender. The sender never waits, spans
 * that the collector does not take are dropped and counted, and memory is bounded.
 *
 * A batch is 256 spans, or those of one second. One batch is sent at a time. If the collector answers 429,
 * 502, 503 or 504, or is unreachable, the batch is sent once more after its Retry-After, within bounds. Then
 * the batch is dropped. Meanwhile at most 4,096 spans wait; then the newest are dropped, so that the kept
 * ones are complete.
 */
#ifndef MG_IO_EXPORTER_H
#define MG_IO_EXPORTER_H

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"

#define MG_EXPORTER_RING    4096 /* some seconds of full load; each is about a kilobyte */
#define MG_EXPORTER_BATCH   256  /* some hundred kilobytes: far below the limit of collectors (4 MiB) */
#define MG_EXPORTER_WAIT_MS 1000

struct mg_exporter_options {
    const char *url, *ca_file;  /* borrowed; ca_file "": the system's CAs */
    struct mg_slice head, tail; /* a body is the head, an array of spans, and the tail; borrowed */
    size_t span_max_bytes;      /* a larger one is dropped */
    int64_t (*rejected)(struct mg_slice answer); /* number of rejected spans in the collector's answer */
    struct mg_metrics *metrics;
};

struct mg_exporter;

enum mg_class mg_exporter_create(struct mg_loop *loop, const struct mg_exporter_options *options,
                                 struct mg_exporter **ret_exporter, struct mg_err *err) MG_MUSTCHECK;
/* drops waiting spans; accepts NULL */
void mg_exporter_destroy(struct mg_exporter *exporter);
void mg_exporter_add(struct mg_exporter *exporter, struct mg_slice span); /* copied */
void mg_exporter_drop(struct mg_exporter *exporter);   /* counts a span that could not be written */
void mg_exporter_reload(struct mg_exporter *exporter); /* new connections read the CA file again */
/* Sends the waiting spans for at most `within_ms`, and drops the rest. Then calls `done` once, never from
 * within this function. Add no span after it. */
void mg_exporter_flush(struct mg_exporter *exporter, int64_t within_ms, mg_loop_fn *done, void *arg);

#endif
