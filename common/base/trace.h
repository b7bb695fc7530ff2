/*
 * Traces: the context that travels with an order (W3C Trace Context, https://www.w3.org/TR/trace-context/),
 * and its exported spans.
 *
 * Span ids are derived from the span's subject, never drawn and never stored. So a repeated handling, in any
 * process, makes the same span again, and derives its parent's id without having received it.
 */
#ifndef MG_BASE_TRACE_H
#define MG_BASE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define MG_TRACE_ID_SIZE    16
#define MG_SPAN_ID_SIZE     8
#define MG_TRACEPARENT_SIZE 56 /* of version 00, and NUL */

/* The flags that version 00 defines; others are not passed on (§3.2.2.5). */
enum { MG_TRACE_SAMPLED = 1, MG_TRACE_RANDOM = 2 };

struct mg_trace {
    uint8_t trace_id[MG_TRACE_ID_SIZE];
    uint8_t parent_id[MG_SPAN_ID_SIZE]; /* parent of the next span; all zero: none */
    unsigned int flags;
};

/* Reads a traceparent, strictly; of a version above 00 only the fields of 00. False: invalid, and
 * `*ret_trace` is untouched. */
bool mg_trace_parse(struct mg_slice traceparent, struct mg_trace *ret_trace);
void mg_trace_write(const struct mg_trace *trace, char ret_text[MG_TRACEPARENT_SIZE]); /* version 00 */

bool mg_trace_has_parent(const struct mg_trace *trace);

/* The trace of an order without a traceparent from its client: without a parent, not sampled. */
void mg_trace_of_order(const char *order_id, struct mg_trace *ret_trace);

/* A share ("0.01", "1") as the threshold of mg_trace_is_chosen. False: it is not a number from 0 to 1. */
bool mg_trace_threshold_parse(const char *share, uint64_t *ret_threshold);
/* Decides by the trace's last 56 bits, as OpenTelemetry's samplers of that share do, so all processes
 * agree. */
bool mg_trace_is_chosen(const struct mg_trace *trace, uint64_t threshold);

/* The id of the span `what` with that identity: "attempt", "<order>.<step>.<attempt>.<kind>". */
void mg_span_id(const char *what, const char *identity, uint8_t ret_id[MG_SPAN_ID_SIZE]);

/* OpenTelemetry's numbers. */
enum mg_span_kind { MG_SPAN_INTERNAL = 1, MG_SPAN_CLIENT = 3, MG_SPAN_CONSUMER = 5 };

struct mg_span_attribute {
    const char *name;
    const char *text; /* NULL: `number` is the value */
    int64_t number;
};
#define MG_SPAN_ATTRIBUTES_MAX 16

/* All pointers are borrowed. A span never holds a payload, a result or a header's value. */
struct mg_span {
    struct mg_trace trace; /* with the span's parent */
    uint8_t id[MG_SPAN_ID_SIZE];
    const char *name;
    enum mg_span_kind kind;
    int64_t begin_us, end_us; /* since 1970 */
    bool is_error;
    struct mg_span_attribute attributes[MG_SPAN_ATTRIBUTES_MAX];
    int attribute_count;
};
void mg_span_put_text(struct mg_span *span, const char *name, const char *text);
void mg_span_put_number(struct mg_span *span, const char *name, int64_t number);

/* The receiver of spans, and the sampling threshold. */
struct mg_span_sink {
    void (*take)(void *arg, const struct mg_span *span); /* never waits, never fails */
    void *arg;
    uint64_t threshold; /* for traces without a client's decision */
};

#endif
