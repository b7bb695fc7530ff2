/* /metrics: this process's own and those of all agents that serve, read from them at that moment. */
#ifndef MG_AGENTS_SCRAPE_H
#define MG_AGENTS_SCRAPE_H

#include "agents/posts.h"
#include "base/metrics.h"
#include "io/http/client.h"
#include "io/http/server.h"

struct mg_metrics_text {
    struct mg_slice text; /* Prometheus text format 0.0.4, as mg_metrics_render writes it */
    const char *agent;    /* value of a label `agent`, put in front of each sample's others; NULL: none */
};

/* Appends all samples, each family's together under its first HELP and TYPE, as the format requires. */
void mg_metrics_merge(const struct mg_metrics_text *texts, int count, struct mg_buf *ret_text);

struct mg_scraper {
    struct mg_http_client *client;
    const struct mg_posts *posts;
    const struct mg_metrics *metrics; /* this process's own */
};

/* Answers a request for /metrics. An agent that gives no answer in time is left out. */
void mg_scrape(const struct mg_scraper *scraper, struct mg_http_exchange *request);

#endif
