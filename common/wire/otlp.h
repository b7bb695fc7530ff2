/*
 * Spans in a collector's format: OTLP/HTTP with JSON (https://opentelemetry.io/docs/specs/otlp/). It is
 * protobuf's JSON mapping, except for hexadecimal identities. Numbers of 64 bits are strings, enums are
 * numbers, names are in lowerCamelCase, and default values are left out.
 *
 * A body is the head, an array of spans, and the tail.
 */
#ifndef MG_WIRE_OTLP_H
#define MG_WIRE_OTLP_H

#include "base/trace.h"

#define MG_OTLP_TAIL "}]}]}"
/* The largest span: sixteen short texts, among them an order's id and two names, escaped. */
#define MG_OTLP_SPAN_MAX_BYTES 4096

/* The common head of all spans: their process. */
void mg_otlp_write_head(const char *service, const char *instance, struct mg_buf *ret_head);
void mg_otlp_write_span(const struct mg_span *span, struct mg_buf *ret_span);

/* The number of spans that the collector rejected in an answer of success (`partialSuccess`); 0 if the answer
 * has no readable number. */
int64_t mg_otlp_read_rejected(struct mg_slice answer);

#endif
