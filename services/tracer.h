/*
 * The path of a process's spans to a collector. Without a URL no tracer exists, and no span is made, derived
 * or kept. No order ever waits for a span or fails because of one.
 */
#ifndef MG_TRACER_H
#define MG_TRACER_H

#include "base/err.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/trace.h"

struct mg_tracer_options {
    const char *url, *ca_file; /* "": none; the system's CAs */
    bool is_plaintext_allowed;
};

/* MG_BAD_INPUT: the URL, or the file. */
enum mg_class mg_tracer_check(const struct mg_tracer_options *options, struct mg_err *err) MG_MUSTCHECK;

struct mg_tracer;

/* `service` and `instance` name the process in its spans. */
enum mg_class mg_tracer_create(struct mg_loop *loop, const struct mg_tracer_options *options,
                               const char *service, const char *instance, struct mg_metrics *metrics,
                               struct mg_tracer **ret_tracer, struct mg_err *err) MG_MUSTCHECK;
void mg_tracer_take(void *tracer, const struct mg_span *span); /* as a sink's `take` */
void mg_tracer_reload(struct mg_tracer *tracer);               /* the CA's file */
/* Sends the waiting spans, for 2 s at most. It runs the loop, which must have no other user left. */
void mg_tracer_flush(struct mg_tracer *tracer);
void mg_tracer_destroy(struct mg_tracer *tracer); /* accepts NULL */

#endif
