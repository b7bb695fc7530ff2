/*
 * Spans as a collector takes them: OTLP/HTTP with JSON (https://opentelemetry.io/docs/specs/otlp/), which is
 * protobuf's JSON mapping, but for identities, which are hexadecimal. Numbers of 64 bits are strings, enums
 * numbers, names are in lowerCamelCase, and what has its default value is left out.
 *
 * A body is the head, spans with commas between them, and the tail.
 */
#ifndef MG_WIRE_OTLP_H
#define MG_WIRE_OTLP_H

#include "base/trace.h"

#define MG_OTLP_TAIL "]}]}]}"
/* A span at its largest: sixteen short texts, and an order's id and two names among them, escaped. */
#define MG_OTLP_SPAN_MAX_BYTES 4096

/* What is the same of all spans: the process that they come from. */
void mg_otlp_write_head(const char *service, const char *instance, struct mg_buf *ret_head);
void mg_otlp_write_span(const struct mg_span *span, struct mg_buf *ret_span);

/* How many spans the collector says, in an answer of success, that it did not take (`partialSuccess`); 0 if
 * it says nothing that can be read. */
int64_t mg_otlp_read_rejected(struct mg_slice answer);

#endif
