/* See scrape.h. */
#include "agents/scrape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/merge.h"

#define AGENT_TIMEOUT_MS 2000                /* below Prometheus's shortest usual period, 5 s */
#define TEXT_MAX_BYTES   (16u * 1024 * 1024) /* MG_AGENTS_MAX agents of 256 KiB */
#define TYPE             "text/plain; version=0.0.4; charset=utf-8"

struct scrape;
struct part {
    struct scrape *scrape;
    struct mg_http_call *call; /* NULL: it has ended */
    char agent[MG_NAME_MAX + 1];
    char *text; /* NULL: no answer */
    size_t len;
};

struct scrape {
    const struct mg_scraper *scraper;
    struct mg_http_exchange *request;
    struct part parts[MG_AGENTS_MAX];
    int count, open;
};

static void scrape_destroy(struct scrape *scrape)
{
    for (int i = 0; i < scrape->count; i++) {
        if (scrape->parts[i].call != NULL) {
            mg_http_call_cancel(scrape->parts[i].call);
        }
        free(scrape->parts[i].text);
    }
    free(scrape);
}

static void on_gone(void *arg)
{
    scrape_destroy(arg);
}

static void answer_text(struct mg_http_exchange *request, const struct mg_buf *text)
{
    const struct mg_http_response good = {.status = 200, .type = TYPE, .body = mg_buf_slice(text)};
    const struct mg_http_response bad = {
        .status = 500, .type = "text/plain", .body = mg_slice_of("no memory for the metrics\n")};
    mg_http_answer(request, text->failed ? &bad : &good);
}

static void scrape_answer(struct scrape *scrape)
{
    struct mg_metrics_text texts[MG_AGENTS_MAX + 1];
    struct mg_buf own, all;
    int count = 1;
    mg_buf_init(&own, TEXT_MAX_BYTES);
    mg_buf_init(&all, TEXT_MAX_BYTES);
    mg_metrics_render(scrape->scraper->metrics, &own);
    mg_buf_fail_with(&all, &own);
    texts[0] = (struct mg_metrics_text){mg_buf_slice(&own), NULL};
    for (int i = 0; i < scrape->count; i++) {
        const struct part *part = &scrape->parts[i];
        if (part->text != NULL) {
            texts[count++] = (struct mg_metrics_text){{part->text, part->len}, part->agent};
        }
    }
    mg_metrics_merge(texts, count, &all);
    answer_text(scrape->request, &all);
    mg_buf_finish(&own);
    mg_buf_finish(&all);
    scrape_destroy(scrape);
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct part *part = arg;
    part->call = NULL;
    if (answer->sent == MG_SENT_YES && answer->status == 200 && answer->body.len > 0) {
        part->text = malloc(answer->body.len);
    }
    if (part->text != NULL) {
        memcpy(part->text, answer->body.data, answer->body.len);
        part->len = answer->body.len;
    }
    if (--part->scrape->open == 0) {
        scrape_answer(part->scrape);
    }
}

static void part_begin(void *arg, const struct mg_agents_child *child)
{
    struct scrape *scrape = arg;
    struct part *part = &scrape->parts[scrape->count];
    char url[64];
    struct mg_err err;
    if (child->notified.port == 0 || scrape->count == MG_AGENTS_MAX) {
        return;
    }
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/metrics", child->notified.port);
    (void)snprintf(part->agent, sizeof(part->agent), "%s", child->name);
    part->scrape = scrape;
    const struct mg_http_request request = {.method = "GET", .url = url, .timeout_ms = AGENT_TIMEOUT_MS};
    if (mg_http_client_call(scrape->scraper->client, &request, on_answer, part, &part->call, &err) == MG_OK) {
        scrape->count++;
        scrape->open++;
    }
}

void mg_scrape(const struct mg_scraper *scraper, struct mg_http_exchange *request)
{
    struct scrape *scrape = calloc(1, sizeof(*scrape));
    if (scrape == NULL) {
        const struct mg_http_response answer = {.status = 503};
        mg_http_answer(request, &answer);
        return;
    }
    scrape->scraper = scraper;
    scrape->request = request;
    mg_posts_walk(scraper->posts, part_begin, scrape);
    if (scrape->open == 0) {
        scrape_answer(scrape);
    } else {
        mg_http_exchange_on_gone(request, on_gone, scrape);
    }
}
