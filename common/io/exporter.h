/*
 * Sends spans to a collector in batches, over HTTP, and never at anybody's expense: whoever gives a span does
 * not wait for it, what the collector does not take is dropped and counted, and memory is bounded.
 *
 * A batch is 256 spans, or what has come within a second. One is under way at a time. A collector that says
 * "later" (429, 502, 503, 504), or is not there, is asked once more, after what its Retry-After says, within
 * bounds; then the batch is dropped. Meanwhile others wait, 4,096 at most: the newest are dropped, so that
 * what is kept is whole.
 */
#ifndef MG_IO_EXPORTER_H
#define MG_IO_EXPORTER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"

#define MG_EXPORTER_RING    4096 /* some seconds of full load; each is about a kilobyte */
#define MG_EXPORTER_BATCH   256  /* some hundred kilobytes: far below what collectors take at once (4 MiB) */
#define MG_EXPORTER_WAIT_MS 1000

struct mg_exporter_options {
    const char *url, *ca_file; /* borrowed; ca_file "": the system's CAs */
    struct mg_slice head,
        tail;              /* a body is the head, spans with commas between them, and the tail; borrowed */
    size_t span_max_bytes; /* a larger one is dropped */
    int64_t (*rejected)(struct mg_slice answer); /* how many spans of a batch it says were not taken */
    struct mg_metrics *metrics;
};

struct mg_exporter;

enum mg_class mg_exporter_create(struct mg_loop *loop, const struct mg_exporter_options *options,
                                 struct mg_exporter **ret_exporter, struct mg_err *err) MG_MUSTCHECK;
void mg_exporter_destroy(struct mg_exporter *exporter);                   /* drops what waits; accepts NULL */
void mg_exporter_add(struct mg_exporter *exporter, struct mg_slice span); /* copied */
void mg_exporter_drop(struct mg_exporter *exporter);   /* one that could not be written counts all the same */
void mg_exporter_reload(struct mg_exporter *exporter); /* new connections read the CA's file anew */
/* Sends what waits, for so long at most, and drops the rest; then `done`, once, and never from within.
 * Nothing may be added any more. */
void mg_exporter_flush(struct mg_exporter *exporter, int64_t within_ms, mg_loop_fn *done, void *arg);

#endif
