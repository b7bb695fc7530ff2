/* See scrape.h. */
#include "agents/scrape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AGENT_TIMEOUT_MS 2000                /* below Prometheus's shortest usual period, 5 s */
#define TEXT_MAX_BYTES   (16u * 1024 * 1024) /* MG_AGENTS_MAX agents of 256 KiB */
#define TYPE             "text/plain; version=0.0.4; charset=utf-8"

/* ---- metrics of several processes as one text ---- */

#define HELP "# HELP "

static bool begins(struct mg_slice line, const char *words)
{
    size_t len = strlen(words);
    return line.len >= len && memcmp(line.data, words, len) == 0;
}

/* The name of the family that a HELP line begins; absent for another line. */
static struct mg_slice family_of(struct mg_slice line)
{
    if (!begins(line, HELP)) {
        return (struct mg_slice){NULL, 0};
    }
    const char *name = line.data + sizeof(HELP) - 1;
    size_t rest = line.len - (sizeof(HELP) - 1);
    const char *blank = memchr(name, ' ', rest);
    return (struct mg_slice){name, blank != NULL ? (size_t)(blank - name) : rest};
}

/* The part of `text` after the family's HELP line; absent: the text has no such family. */
static struct mg_slice family_find(struct mg_slice text, struct mg_slice name)
{
    while (text.len > 0) {
        struct mg_slice found = family_of(mg_slice_line_take(&text));
        if (found.data != NULL && mg_slice_equal(found, name)) {
            return text;
        }
    }
    return (struct mg_slice){NULL, 0};
}

static void sample_append(struct mg_slice line, const char *agent, struct mg_buf *ret_text)
{
    size_t name = 0;
    while (name < line.len && line.data[name] != '{' && line.data[name] != ' ') {
        name++;
    }
    bool has_labels = name < line.len && line.data[name] == '{';
    mg_buf_append(ret_text, line.data, name);
    if (agent != NULL) {
        mg_buf_printf(ret_text, "{agent=\"%s\"%s", agent, has_labels ? "," : "}");
        name += has_labels ? 1 : 0;
    }
    mg_buf_append(ret_text, line.data + name, line.len - name);
    mg_buf_append_text(ret_text, "\n");
}

/* The samples at the beginning of `rest`, up to the next family. `with_type`: its TYPE line, too. */
static void family_append(struct mg_slice rest, const char *agent, bool with_type, struct mg_buf *ret_text)
{
    struct mg_slice line;
    while (rest.len > 0 && family_of(line = mg_slice_line_take(&rest)).data == NULL) {
        if (!begins(line, "#")) {
            sample_append(line, agent, ret_text);
        } else if (with_type) {
            mg_buf_append_slice(ret_text, line);
            mg_buf_append_text(ret_text, "\n");
        }
    }
}

static bool is_in_earlier(const struct mg_metrics_text *texts, int count, struct mg_slice name)
{
    for (int i = 0; i < count; i++) {
        if (family_find(texts[i].text, name).data != NULL) {
            return true;
        }
    }
    return false;
}

void mg_metrics_merge(const struct mg_metrics_text *texts, int count, struct mg_buf *ret_text)
{
    for (int i = 0; i < count; i++) {
        struct mg_slice rest = texts[i].text;
        while (rest.len > 0) {
            struct mg_slice line = mg_slice_line_take(&rest), name = family_of(line);
            if (name.data == NULL || is_in_earlier(texts, i, name)) {
                continue;
            }
            mg_buf_append_slice(ret_text, line);
            mg_buf_append_text(ret_text, "\n");
            family_append(rest, texts[i].agent, true, ret_text);
            for (int later = i + 1; later < count; later++) {
                struct mg_slice more = family_find(texts[later].text, name);
                if (more.data != NULL) {
                    family_append(more, texts[later].agent, false, ret_text);
                }
            }
        }
    }
}

/* ---- reading them ---- */

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
