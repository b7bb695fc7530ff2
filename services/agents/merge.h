/* Metrics of several processes as one text. */
#ifndef MG_AGENTS_MERGE_H
#define MG_AGENTS_MERGE_H

#include "base/buf.h"

struct mg_metrics_text {
    struct mg_slice text; /* Prometheus text format 0.0.4, as mg_metrics_render writes it */
    const char *agent;    /* value of a label `agent`, put in front of each sample's others; NULL: none */
};

/* Appends all samples, each family's together under its first HELP and TYPE, as the format requires. */
void mg_metrics_merge(const struct mg_metrics_text *texts, int count, struct mg_buf *ret_text);

#endif
