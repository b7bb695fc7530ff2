/* See exporter.h. */
#include "io/exporter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/log.h"
#include "base/once.h"
#include "io/http/client.h"

/* A collector that needs longer for a batch does not keep up. */
#define CALL_TIMEOUT_MS    5000
#define CONNECT_TIMEOUT_MS 2000
/* Below the keep-alive of common servers, above the wait between batches. */
#define IDLE_CONNECTION_MS 4000
/* Before the second try without a Retry-After, and the longest wait: older spans are of no use. */
#define RETRY_MS     1000
#define RETRY_MAX_MS 30000
/* An answer is empty, or one sentence about rejected spans. */
#define ANSWER_MAX_BYTES  (64 * 1024)
#define HEADERS_MAX_BYTES (16 * 1024)

struct mg_exporter {
    struct mg_exporter_options options;
    struct mg_http_client *http;
    struct mg_http_call *call;              /* the running call with the batch */
    struct mg_timer *timer;                 /* the next batch, or the second try */
    struct mg_idle *idle;                   /* the same, due now */
    struct mg_slice ring[MG_EXPORTER_RING]; /* each a copy of our own */
    size_t first, count;
    struct mg_buf body; /* the current batch */
    size_t in_hand;     /* its spans */
    bool is_second_try;
    struct mg_once failure_logged;
    struct mg_metric *sent, *dropped;

    bool is_flushing;
    struct mg_timer *flush_timer;
    mg_loop_fn *done;
    void *done_arg;
};

/* ---- the ring ---- */

static void dropped(struct mg_exporter *exporter, size_t count)
{
    mg_metric_add(exporter->dropped, (double)count);
}

static char *span_copy(struct mg_slice span)
{
    char *copy = malloc(span.len + 1);
    if (copy != NULL) {
        memcpy(copy, span.data, span.len);
        copy[span.len] = '\0';
    }
    return copy;
}

static struct mg_slice span_take(struct mg_exporter *exporter)
{
    struct mg_slice span = exporter->ring[exporter->first];
    exporter->first = (exporter->first + 1) % MG_EXPORTER_RING;
    exporter->count--;
    return span;
}

static void span_free(struct mg_slice span)
{
    free((void *)(uintptr_t)span.data);
}

static void ring_drop(struct mg_exporter *exporter)
{
    dropped(exporter, exporter->count);
    while (exporter->count > 0) {
        span_free(span_take(exporter));
    }
}

void mg_exporter_add(struct mg_exporter *exporter, struct mg_slice span)
{
    bool has_room = exporter->count < MG_EXPORTER_RING && span.len <= exporter->options.span_max_bytes;
    char *copy = has_room ? span_copy(span) : NULL;
    if (copy == NULL) {
        dropped(exporter, 1);
        return;
    }
    exporter->ring[(exporter->first + exporter->count++) % MG_EXPORTER_RING] =
        (struct mg_slice){copy, span.len};
    if (exporter->in_hand > 0) {
        return; /* the end of the current batch starts the next */
    }
    if (exporter->count >= MG_EXPORTER_BATCH) {
        mg_idle_arm(exporter->idle);
    } else if (!mg_timer_is_active(exporter->timer)) {
        mg_timer_start(exporter->timer, MG_EXPORTER_WAIT_MS, 0);
    }
}

void mg_exporter_drop(struct mg_exporter *exporter)
{
    dropped(exporter, 1);
}

/* ---- a batch ---- */

static void batch_make(struct mg_exporter *exporter)
{
    mg_buf_clear(&exporter->body);
    mg_buf_append_slice(&exporter->body, exporter->options.head);
    struct mg_json_writer json = mg_json_compact(&exporter->body);
    mg_json_array_begin(&json);
    for (; exporter->count > 0 && exporter->in_hand < MG_EXPORTER_BATCH; exporter->in_hand++) {
        struct mg_slice span = span_take(exporter);
        mg_json_element_raw(&json, span);
        span_free(span);
    }
    mg_json_array_end(&json);
    mg_buf_append_slice(&exporter->body, exporter->options.tail);
}

static void flush_over(void *arg)
{
    struct mg_exporter *exporter = arg;
    mg_timer_stop(exporter->flush_timer);
    mg_timer_stop(exporter->timer);
    if (exporter->call != NULL) {
        mg_http_call_cancel(exporter->call);
    }
    exporter->call = NULL;
    size_t left = exporter->in_hand + exporter->count;
    dropped(exporter, exporter->in_hand);
    exporter->in_hand = 0;
    ring_drop(exporter);
    if (left > 0) {
        mg_log(MG_LOG_WARN, "the collector did not accept all spans in time", MG_LOG_NUMBER("dropped", left));
    }
    mg_loop_fn *done = exporter->done;
    exporter->done = NULL;
    if (done != NULL) {
        done(exporter->done_arg);
    }
}

/* The batch has ended; schedules the next one, now or later. */
static void batch_over(struct mg_exporter *exporter, size_t rejected)
{
    size_t count = exporter->in_hand;
    rejected = rejected < count ? rejected : count;
    mg_metric_add(exporter->sent, (double)(count - rejected));
    dropped(exporter, rejected);
    exporter->in_hand = 0;
    exporter->is_second_try = false;
    if (exporter->is_flushing || exporter->count >= MG_EXPORTER_BATCH) {
        mg_idle_arm(exporter->idle);
    } else if (exporter->count > 0) {
        mg_timer_start(exporter->timer, MG_EXPORTER_WAIT_MS, 0);
    }
}

/* Logs one line for many failures in a row. */
static void failed(struct mg_exporter *exporter, const char *why)
{
    if (mg_once_set(&exporter->failure_logged)) {
        mg_log(MG_LOG_WARN, "the collector does not accept spans; they are dropped, orders are not affected",
               MG_LOG_TEXT("url", exporter->options.url), MG_LOG_TEXT("why", why));
    }
    batch_over(exporter, exporter->in_hand);
}

static bool is_worth_another(const struct mg_http_answer *answer)
{
    return answer->sent == MG_SENT_NO || answer->status == 429 || answer->status == 502 ||
           answer->status == 503 || answer->status == 504;
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct mg_exporter *exporter = arg;
    exporter->call = NULL;
    if (answer->sent == MG_SENT_YES && answer->status >= 200 && answer->status < 300) {
        if (mg_once_reset(&exporter->failure_logged)) {
            mg_log(MG_LOG_INFO, "the collector accepts spans again", MG_LOG_NONE);
        }
        int64_t rejected = exporter->options.rejected(answer->body);
        batch_over(exporter, rejected > 0 ? (size_t)rejected : 0);
    } else if (is_worth_another(answer) && !exporter->is_second_try && !exporter->is_flushing) {
        int64_t after_ms = answer->retry_after_ms >= 0 ? answer->retry_after_ms : RETRY_MS;
        exporter->is_second_try = true;
        mg_timer_start(exporter->timer, after_ms < RETRY_MAX_MS ? after_ms : RETRY_MAX_MS, 0);
    } else {
        char status[32];
        (void)snprintf(status, sizeof(status), "it answered %d", answer->status);
        failed(exporter, answer->status != 0 ? status : answer->reason);
    }
}

static void batch_send(struct mg_exporter *exporter)
{
    static const char *const HEADERS[] = {"Content-Type: application/json", NULL};
    const char *ca_file = exporter->options.ca_file;
    const struct mg_http_request request = {.method = "POST",
                                            .url = exporter->options.url,
                                            .headers = HEADERS,
                                            .body = mg_buf_slice(&exporter->body),
                                            .timeout_ms = CALL_TIMEOUT_MS,
                                            .ca_file = ca_file[0] != '\0' ? ca_file : NULL};
    struct mg_err err = {.text = "no memory for a batch"};
    if (exporter->body.failed ||
        mg_http_client_call(exporter->http, &request, on_answer, exporter, &exporter->call, &err) != MG_OK) {
        exporter->call = NULL;
        failed(exporter, err.text);
    }
}

static void on_turn(void *arg)
{
    struct mg_exporter *exporter = arg;
    if (exporter->call != NULL) {
        return;
    }
    mg_timer_stop(exporter->timer);
    if (exporter->in_hand == 0) {
        batch_make(exporter);
    }
    if (exporter->in_hand > 0) {
        batch_send(exporter);
    } else if (exporter->is_flushing) {
        flush_over(exporter);
    }
}

void mg_exporter_flush(struct mg_exporter *exporter, int64_t within_ms, mg_loop_fn *done, void *arg)
{
    exporter->is_flushing = true;
    exporter->done = done;
    exporter->done_arg = arg;
    mg_timer_start(exporter->flush_timer, within_ms, 0);
    mg_idle_arm(exporter->idle);
}

/* ---- lifetime ---- */

void mg_exporter_reload(struct mg_exporter *exporter)
{
    mg_http_client_reload(exporter->http, false);
}

enum mg_class mg_exporter_create(struct mg_loop *loop, const struct mg_exporter_options *options,
                                 struct mg_exporter **ret_exporter, struct mg_err *err)
{
    const struct mg_http_client_options http = {.max_connections = 1, /* one batch at a time */
                                                .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                                .idle_connection_ms = IDLE_CONNECTION_MS,
                                                .max_body_bytes = ANSWER_MAX_BYTES,
                                                .max_header_bytes = HEADERS_MAX_BYTES};
    struct mg_exporter *exporter = calloc(1, sizeof(*exporter));
    if (exporter == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not make the exporter: no memory");
    }
    exporter->options = *options;
    mg_buf_init(&exporter->body,
                options->head.len + options->tail.len + MG_EXPORTER_BATCH * (options->span_max_bytes + 1));
    exporter->timer = mg_timer_create(loop, on_turn, exporter);
    exporter->flush_timer = mg_timer_create(loop, flush_over, exporter);
    exporter->idle = mg_idle_create(loop, on_turn, exporter);
    exporter->sent = mg_metrics_series(options->metrics, MG_COUNTER, "makegood_spans_sent_total", NULL,
                                       "spans that the collector has taken");
    exporter->dropped =
        mg_metrics_series(options->metrics, MG_COUNTER, "makegood_spans_dropped_total", NULL,
                          "spans that the collector did not take, or for which there was no room");
    enum mg_class class = MG_TRANSIENT;
    if (exporter->timer == NULL || exporter->flush_timer == NULL || exporter->idle == NULL) {
        (void)mg_err_set(err, class, "could not make the exporter: no memory");
    } else {
        class = mg_http_client_create(loop, &http, &exporter->http, err);
    }
    if (class != MG_OK) {
        mg_exporter_destroy(exporter);
        return class;
    }
    *ret_exporter = exporter;
    return MG_OK;
}

void mg_exporter_destroy(struct mg_exporter *exporter)
{
    if (exporter == NULL) {
        return;
    }
    mg_http_client_destroy(exporter->http); /* running calls end without a callback; accepts NULL */
    ring_drop(exporter);
    mg_timer_destroy(exporter->timer);
    mg_timer_destroy(exporter->flush_timer);
    if (exporter->idle != NULL) {
        mg_idle_destroy(exporter->idle);
    }
    mg_buf_finish(&exporter->body);
    free(exporter);
}
