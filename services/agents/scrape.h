/* /metrics: this process's own and those of all agents that serve, read from them at that moment. */
#ifndef MG_AGENTS_SCRAPE_H
#define MG_AGENTS_SCRAPE_H

#include "agents/posts.h"
#include "base/metrics.h"
#include "io/http/client.h"
#include "io/http/server.h"

struct mg_scraper {
    struct mg_http_client *client;
    const struct mg_posts *posts;
    const struct mg_metrics *metrics; /* this process's own */
};

/* Answers a request for /metrics. An agent that gives no answer in time is left out. */
void mg_scrape(const struct mg_scraper *scraper, struct mg_http_exchange *request);

#endif
