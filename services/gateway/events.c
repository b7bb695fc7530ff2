/*
 * The statuses of an order as server-sent events (WHATWG HTML, 9.2). They are read from the order's history,
 * byte for byte as its client gets them over AMQP. A stream begins after the `seq` that its client names, so
 * a client that comes back, here or at another gateway, misses none. Observed changes (observe.c) cause the
 * reads; a stream alone asks nothing.
 *
 * A stream ends after the status of an end, and at the latest after STREAM_MAX_MS: so its client keeps it
 * no longer than that after it has lost its token. A client that comes back after the last status of an
 * ended order gets 204, at which browsers stop to come back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"

#define STREAMS_OF_CLIENT_MAX 100   /* a tenth of all: one client leaves places for others */
#define READS_MAX             8     /* at once; the database has other work */
#define PAGE_ROWS             100   /* of MG_REPORT_STATUSES_OF_CLIENT */
#define TICK_MS               100   /* between two looks for pauses, ends and unsent bytes */
#define HEARTBEAT_MS          15000 /* proxies end a silence of 30 s and more */
#define STREAM_MAX_MS         (INT64_C(15) * 60 * 1000)
#define UNSENT_MAX            (64u * 1024) /* with this many the next statuses wait; their client reads slowly */
#define SLOW_MS               20000        /* with unsent bytes for so long a client is cut off */
#define UNKNOWN_WAIT_MS       5000 /* a posted order is in the queue for milliseconds; by then it is taken */
#define EVENT_MAX             (256u * 1024) /* a status is below, with its output of 64 KiB */
#define SEQ_DIGITS_MAX        18
#define ID_HEADER             "Last-Event-ID"
#define BEGINNING             "retry: 2000\n\n" /* the browser's delay before it comes back */

enum { COLUMN_STATE, COLUMN_VERSION, COLUMN_SEQ, COLUMN_STATUS, COLUMN_BODY };

struct stream {
    TAILQ_ENTRY(stream) entry;
    struct mg_streams *streams;
    struct mg_http_stream *http;
    struct mg_client *client;
    struct mg_observer observer;
    char order_id[MG_ORDER_ID_MAX + 1];
    int64_t seq;                            /* of the last status written */
    int64_t version;                        /* of the order after the cause of that status */
    int64_t began_ms, written_ms, empty_ms; /* empty: the last look that found no unsent bytes */
    bool is_due;                            /* there are perhaps statuses to read */
    bool is_reading;
    bool is_closed; /* and freed once nothing is being read */
};

struct mg_streams {
    struct mg_gateway *gateway;
    struct mg_timer *timer; /* runs while there are streams */
    TAILQ_HEAD(, stream) all;
    int count, reads;
    struct mg_metric *gauge, *statuses, *cuts;
};

/* ---- writing ---- */

/* Appends `json` as the data of an event. A line end can only stand between its tokens. */
static void data_append(struct mg_buf *event, struct mg_slice json)
{
    mg_buf_append_text(event, "data: ");
    for (size_t at = 0; at < json.len;) {
        const char *rest = json.data + at;
        size_t len = 0;
        while (at + len < json.len && rest[len] != '\n' && rest[len] != '\r') {
            len++;
        }
        mg_buf_append(event, rest, len);
        at += len;
        if (at < json.len) {
            mg_buf_append_text(event, "\ndata: ");
            at++;
        }
    }
}

/* False: the client is cut off, because a later status must not come without this one. */
static bool status_write(struct stream *stream, const struct mg_rows *rows, int row)
{
    struct mg_slice word = mg_rows_value(rows, row, COLUMN_STATUS);
    struct mg_buf event;
    mg_buf_init(&event, EVENT_MAX);
    mg_buf_printf(&event, "id: %lld\nevent: %.*s\n", (long long)mg_rows_int(rows, row, COLUMN_SEQ),
                  (int)word.len, word.data);
    data_append(&event, mg_rows_value(rows, row, COLUMN_BODY));
    mg_buf_append_text(&event, "\n\n");
    bool is_written = !event.failed && mg_http_stream_write(stream->http, mg_buf_slice(&event));
    mg_buf_finish(&event);
    if (!is_written) {
        mg_http_stream_cut(stream->http);
        return false;
    }
    stream->seq = mg_rows_int(rows, row, COLUMN_SEQ);
    stream->version = mg_rows_int(rows, row, COLUMN_VERSION);
    stream->written_ms = mg_clock_boot_ms();
    mg_metric_add(stream->streams->statuses, 1);
    return true;
}

/* An order without further statuses has one row, without a status. */
static int status_count(const struct mg_rows *rows)
{
    int count = mg_rows_count(rows);
    return count == 1 && mg_rows_is_null(rows, 0, COLUMN_SEQ) ? 0 : count;
}

static bool has_ended(const struct mg_rows *rows)
{
    return mg_is_end(mg_rows_value(rows, 0, COLUMN_STATE));
}

/* Writes the statuses for which the client has room. Without room, or after a full page, the stream stays
 * due. After the last status of an ended order it ends. */
static void page_write(struct stream *stream, const struct mg_rows *rows)
{
    int count = status_count(rows), row = 0;
    while (row < count && mg_http_stream_unsent(stream->http) < UNSENT_MAX) {
        if (!status_write(stream, rows, row++)) {
            return;
        }
    }
    if (row < count || count == PAGE_ROWS) {
        stream->is_due = true;
    } else if (has_ended(rows)) {
        mg_http_stream_end(stream->http);
    }
}

/* ---- reading ---- */

static void statuses_ask(struct mg_gateway *gateway, const struct mg_client *client, const char *order_id,
                         int64_t seq, int64_t version, mg_store_rows_fn *done, void *arg)
{
    char seq_text[24], version_text[24], rows_text[24];
    (void)snprintf(seq_text, sizeof(seq_text), "%lld", (long long)seq);
    (void)snprintf(version_text, sizeof(version_text), "%lld", (long long)version);
    (void)snprintf(rows_text, sizeof(rows_text), "%d", PAGE_ROWS);
    mg_store_report(gateway->store, MG_REPORT_STATUSES_OF_CLIENT,
                    (const char *[]){mg_client_name(client), order_id, seq_text, version_text, rows_text}, 5,
                    done, arg);
}

static void on_page(void *arg, const struct mg_rows *rows, const struct mg_err *err);

static void stream_read(struct stream *stream)
{
    struct mg_streams *streams = stream->streams;
    stream->is_due = false;
    stream->is_reading = true;
    streams->reads++;
    TAILQ_REMOVE(&streams->all, stream, entry); /* the others come first now */
    TAILQ_INSERT_TAIL(&streams->all, stream, entry);
    statuses_ask(streams->gateway, stream->client, stream->order_id, stream->seq, stream->version, on_page,
                 stream);
}

/* Reads for the streams that are due, READS_MAX at once. */
static void due_read(struct mg_streams *streams)
{
    struct stream *next, *stream = TAILQ_FIRST(&streams->all);
    for (int left = streams->count; left > 0 && streams->reads < READS_MAX; left--, stream = next) {
        next = TAILQ_NEXT(stream, entry);
        if (stream->is_due && !stream->is_reading && mg_http_stream_unsent(stream->http) < UNSENT_MAX) {
            stream_read(stream);
        }
    }
}

/* An order that is no longer found has been moved to the archive. */
static void on_page(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct stream *stream = arg;
    struct mg_streams *streams = stream->streams;
    stream->is_reading = false;
    streams->reads--;
    if (stream->is_closed) {
        free(stream);
    } else if (err != NULL) {
        stream->is_due = true; /* at the next tick */
        return;
    } else if (mg_rows_count(rows) == 0) {
        mg_http_stream_end(stream->http);
    } else {
        page_write(stream, rows);
    }
    due_read(streams);
}

/* ---- the life of a stream ---- */

static void on_changed(void *arg, bool is_end)
{
    (void)is_end;
    struct stream *stream = arg;
    stream->is_due = true;
    due_read(stream->streams);
}

static void on_closed(void *arg)
{
    struct stream *stream = arg;
    struct mg_streams *streams = stream->streams;
    mg_observe_end(streams->gateway->observers, &stream->observer);
    mg_client_release(stream->client);
    TAILQ_REMOVE(&streams->all, stream, entry);
    mg_metric_set(streams->gauge, --streams->count);
    if (streams->count == 0) {
        mg_timer_stop(streams->timer);
    }
    stream->is_closed = true;
    if (!stream->is_reading) {
        free(stream);
    }
}

/* Cuts off a client that has not read for too long, ends an old stream, and writes comments into pauses. */
static void stream_look(struct stream *stream, int64_t now_ms)
{
    if (mg_http_stream_unsent(stream->http) == 0) {
        stream->empty_ms = now_ms;
    }
    if (now_ms - stream->empty_ms >= SLOW_MS) {
        stream->empty_ms = now_ms;
        mg_metric_add(stream->streams->cuts, 1);
        mg_http_stream_cut(stream->http);
    } else if (now_ms - stream->began_ms >= STREAM_MAX_MS || stream->streams->gateway->is_draining) {
        mg_http_stream_end(stream->http);
    } else if (now_ms - stream->written_ms >= HEARTBEAT_MS) {
        stream->written_ms = now_ms;
        (void)mg_http_stream_write(stream->http, mg_slice_of(":\n\n"));
    }
}

static void on_tick(void *arg)
{
    struct mg_streams *streams = arg;
    int64_t now_ms = mg_clock_boot_ms();
    struct stream *stream;
    TAILQ_FOREACH(stream, &streams->all, entry)
    {
        stream_look(stream, now_ms);
    }
    due_read(streams);
}

struct mg_streams *mg_streams_create(struct mg_gateway *gateway)
{
    struct mg_streams *streams = calloc(1, sizeof(*streams));
    if (streams == NULL) {
        return NULL;
    }
    streams->gateway = gateway;
    TAILQ_INIT(&streams->all);
    streams->timer = mg_timer_create(gateway->loop, on_tick, streams);
    if (streams->timer == NULL) {
        free(streams);
        return NULL;
    }
    streams->gauge = mg_metrics_series(gateway->metrics, MG_GAUGE, "makegood_gateway_event_streams", NULL,
                                       "streams of statuses that clients read");
    streams->statuses = mg_metrics_series(gateway->metrics, MG_COUNTER, "makegood_gateway_events_total", NULL,
                                          "statuses written to streams");
    streams->cuts = mg_metrics_series(gateway->metrics, MG_COUNTER, "makegood_gateway_slow_streams_total",
                                      NULL, "streams that were cut off because their client did not read");
    return streams;
}

void mg_streams_destroy(struct mg_streams *streams)
{
    if (streams != NULL) {
        mg_timer_destroy(streams->timer);
    }
    free(streams);
}

/* ---- the request ---- */

static int streams_of(const struct mg_streams *streams, const struct mg_client *client)
{
    const struct stream *stream;
    int count = 0;
    TAILQ_FOREACH(stream, &streams->all, entry)
    {
        count += stream->client == client;
    }
    return count;
}

/* True: the call has been refused. */
static bool is_refused(struct mg_call *call)
{
    const struct mg_streams *streams = call->gateway->streams;
    if (streams_of(streams, call->client) >= STREAMS_OF_CLIENT_MAX) {
        mg_call_refuse(call, 429, "client %s reads %d streams of events already, the maximum",
                       mg_client_name(call->client), STREAMS_OF_CLIENT_MAX);
        return true;
    }
    if (streams->count >= MG_STREAMS_MAX) {
        mg_call_refuse(call, 503, "all clients together read %d streams of events already, the maximum",
                       MG_STREAMS_MAX);
        return true;
    }
    return false;
}

static struct stream *stream_create(const struct mg_call *call)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        return NULL;
    }
    stream->streams = call->gateway->streams;
    stream->client = call->client;
    stream->seq = call->after_seq;
    stream->began_ms = stream->written_ms = stream->empty_ms = mg_clock_boot_ms();
    (void)snprintf(stream->order_id, sizeof(stream->order_id), "%s", call->order_id);
    stream->observer = (struct mg_observer){.client = mg_client_name(stream->client),
                                            .order_id = stream->order_id,
                                            .changed = on_changed,
                                            .arg = stream};
    return stream;
}

/* Ends the call. NULL: it got 503. */
static struct stream *stream_open(struct mg_call *call)
{
    struct mg_streams *streams = call->gateway->streams;
    struct stream *stream = stream_create(call);
    if (stream == NULL || !mg_observe_begin(streams->gateway->observers, &stream->observer)) {
        free(stream);
        mg_call_refuse(call, 503, "no memory for a stream of events");
        return NULL;
    }
    mg_client_hold(call->client);
    TAILQ_INSERT_TAIL(&streams->all, stream, entry);
    mg_metric_set(streams->gauge, ++streams->count);
    if (streams->count == 1) {
        mg_timer_start(streams->timer, TICK_MS, TICK_MS);
    }
    stream->http = mg_call_stream(call, mg_slice_of(BEGINNING), on_closed, stream);
    if (stream->http == NULL) {
        on_closed(stream);
        return NULL;
    }
    return stream;
}

static void on_statuses(void *arg, const struct mg_rows *rows, const struct mg_err *err);

static void archive_ask(struct mg_call *call)
{
    char seq[24], limit[24];
    (void)snprintf(seq, sizeof(seq), "%lld", (long long)call->after_seq);
    (void)snprintf(limit, sizeof(limit), "%d", PAGE_ROWS);
    call->is_archive_read = true;
    mg_store_report(call->gateway->store, MG_REPORT_ARCHIVED_STATUSES_OF_CLIENT,
                    (const char *[]){mg_client_name(call->client), call->order_id, seq, limit}, 4,
                    on_statuses, call);
}

static void order_ask(struct mg_call *call)
{
    call->is_archive_read = false;
    statuses_ask(call->gateway, call->client, call->order_id, call->after_seq, 0, on_statuses, call);
}

/* The client has no such order in the tables, or not yet. */
static void unknown_answer(struct mg_call *call)
{
    call->is_unknown = true;
    if (mg_recent_has(call->gateway->recent, mg_client_name(call->client), call->order_id)) {
        (void)stream_open(call);
    } else if (!mg_wait_begin(call, order_ask)) {
        mg_call_refuse(call, 404, "client %s has no order %s", mg_client_name(call->client), call->order_id);
    }
}

/* From the tables, then from the archive: a stream of more than a page ends after it, and its client comes
 * back for the next one. */
static void on_statuses(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_call *call = arg;
    if (call->request == NULL || err != NULL) {
        mg_call_refuse(call, 503, "could not look up the order: %s", err != NULL ? err->text : "the end");
    } else if (is_refused(call)) {
        return;
    } else if (mg_rows_count(rows) == 0 && !call->is_archive_read) {
        archive_ask(call);
    } else if (mg_rows_count(rows) == 0) {
        unknown_answer(call);
    } else if (has_ended(rows) && status_count(rows) == 0) {
        mg_call_answer(call, 204, (struct mg_slice){0});
    } else {
        struct stream *stream = stream_open(call);
        if (stream != NULL) {
            page_write(stream, rows);
        }
    }
}

/* Reads the number of the last status that the client has. The header is a browser's own, and newer than the
 * address. False: it is not valid. */
static bool after_read(const struct mg_call *call, int64_t *ret_seq)
{
    const char *header = mg_http_exchange_header(call->request, ID_HEADER);
    const char *text = header != NULL ? header : mg_http_exchange_query(call->request, "after");
    size_t len = text != NULL ? strlen(text) : 0;
    *ret_seq = text != NULL ? strtoll(text, NULL, 10) : 0;
    return text == NULL || (len > 0 && len <= SEQ_DIGITS_MAX && strspn(text, "0123456789") == len &&
                            mg_http_exchange_header_count(call->request, ID_HEADER) <= 1);
}

void mg_events_run(struct mg_call *call)
{
    if (!after_read(call, &call->after_seq)) {
        mg_call_refuse(call, 400, ID_HEADER " or after: expected the seq of a status, such as 4");
        return;
    }
    if (!is_refused(call)) {
        call->wait_until_ms = mg_clock_boot_ms() + UNKNOWN_WAIT_MS;
        order_ask(call);
    }
}
