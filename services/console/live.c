/*
 * Live events. One poller serves all viewers; it runs once a second while there are any. Its reports are
 * shared with those of pages (report_cache.c); each event is written once and sent to all streams. The viewer
 * of an order gets an event when the order's version has changed, and then reads the order.
 *
 * A stream ends with its session, within a second. Every stream ends after a while, and the browser opens
 * the next one: so a user whom a proxy names loses it soon after the permission.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "console/console_parts.h"
#include "core/key.h"
#include "core/model.h"
#include "operator/document.h"

#define LISTENERS_MAX 64
#define PERIOD_MS     1000
#define LISTEN_MAX_MS (INT64_C(15) * 60 * 1000)
#define EVENT_MAX     (1024u * 1024)

struct listener {
    LIST_ENTRY(listener) entry;
    struct mg_live *live;
    struct mg_http_stream *stream;
    char order_id[MG_ORDER_ID_MAX + 1]; /* "": none */
    int64_t version;                    /* last version sent; 0: none yet */
    int64_t began_ms;
    uint64_t session; /* 0: none, it needs none or a proxy has named the user */
};

struct mg_live {
    struct mg_console *console;
    struct mg_timer *timer;
    LIST_HEAD(, listener) listeners;
    int count, turn; /* turn: the listener with the first order of the next report */
    bool is_asking_overview, is_asking_versions;
    bool is_ended;
};

/* `json` must have no line ends outside of strings; inside strings they are escaped. */
static void event_make(struct mg_buf *event, const char *name, struct mg_slice json)
{
    mg_buf_init(event, EVENT_MAX);
    mg_buf_printf(event, "event: %s\ndata: ", name);
    size_t at = event->len;
    mg_buf_append_slice(event, json);
    for (; at < event->len; at++) {
        event->data[at] = event->data[at] == '\n' ? ' ' : event->data[at];
    }
    mg_buf_append_text(event, "\n\n");
}

/* Sends an event to all listeners. If a write fails, the server closes that stream later. */
static void all_send(struct mg_live *live, const char *name, struct mg_slice json)
{
    struct mg_buf event;
    event_make(&event, name, json);
    struct listener *listener;
    LIST_FOREACH(listener, &live->listeners, entry)
    {
        if (event.failed) {
            break;
        }
        (void)mg_http_stream_write(listener->stream, mg_buf_slice(&event));
    }
    mg_buf_finish(&event);
}

static void on_overview(void *arg, unsigned int status, struct mg_slice json)
{
    struct mg_live *live = arg;
    live->is_asking_overview = false;
    all_send(live, status == 200 ? "overview" : "trouble", json);
}

/* Finds an order's version in the answer to mg_query_versions: [{"order_id": …, "version": …, …}, …]. */
static bool version_find(struct mg_slice versions, const char *order_id, int64_t *ret_version)
{
    struct mg_slice name, row;
    for (struct mg_json_walk walk = mg_json_walk_of(versions); mg_json_walk_next(&walk, &name, &row);) {
        if (mg_json_string_is(mg_json_find(row, "/order_id"), mg_slice_of(order_id))) {
            return mg_document_integer(row, "/version", ret_version);
        }
    }
    return false;
}

static void version_send(struct listener *listener)
{
    struct mg_buf event;
    char memory[MG_ORDER_ID_MAX + 64];
    struct mg_buf text;
    mg_buf_init_fixed(&text, memory, sizeof(memory));
    struct mg_json_writer json = mg_json_spaced(&text);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "order_id", listener->order_id);
    mg_json_member_int(&json, "version", listener->version);
    mg_json_object_end(&json);
    event_make(&event, "order", mg_buf_slice(&text));
    (void)mg_http_stream_write(listener->stream, mg_buf_slice(&event));
    mg_buf_finish(&event);
}

static void on_versions(void *arg, unsigned int status, struct mg_slice json)
{
    struct mg_live *live = arg;
    live->is_asking_versions = false;
    if (status != 200) {
        return; /* asked again in a second */
    }
    struct listener *listener;
    LIST_FOREACH(listener, &live->listeners, entry)
    {
        int64_t version = 0;
        if (listener->order_id[0] != '\0' && version_find(json, listener->order_id, &version) &&
            version != listener->version) {
            listener->version = version;
            version_send(listener);
        }
    }
}

/* Writes each order once, as many as a parameter holds. The first one without room comes first the next
 * time. */
static void order_ids_write(struct mg_live *live, char ret_ids[MG_PARAM_SIZE])
{
    const char *ids[LISTENERS_MAX];
    int count = 0;
    size_t len = 0;
    ret_ids[0] = '\0';
    const struct listener *listener;
    LIST_FOREACH(listener, &live->listeners, entry)
    {
        ids[count++] = listener->order_id;
    }
    int first = live->turn;
    for (int i = 0; i < count; i++) {
        const char *id = ids[(first + i) % count];
        bool is_new = id[0] != '\0';
        for (int before = 0; before < i; before++) {
            is_new = is_new && strcmp(ids[(first + before) % count], id) != 0;
        }
        if (is_new && len + strlen(id) + 1 >= MG_PARAM_SIZE) {
            live->turn = (first + i) % count;
            return;
        }
        if (is_new) {
            len += (size_t)snprintf(ret_ids + len, MG_PARAM_SIZE - len, "%s%s", len > 0 ? " " : "", id);
        }
    }
}

/* Reports overload; pages keep their current data. */
static void busy_send(struct mg_live *live)
{
    char memory[64];
    struct mg_buf text;
    mg_buf_init_fixed(&text, memory, sizeof(memory));
    mg_error_write(&text, "the console is overloaded");
    all_send(live, "trouble", mg_buf_slice(&text));
}

static void overview_ask(struct mg_live *live)
{
    struct mg_query query;
    mg_query_overview(&query);
    live->is_asking_overview = true;
    if (!mg_ask_for_self(live->console->asker, &query, on_overview, live)) {
        live->is_asking_overview = false;
        busy_send(live);
    }
}

static void versions_ask(struct mg_live *live)
{
    struct mg_query query;
    char order_ids[MG_PARAM_SIZE];
    order_ids_write(live, order_ids);
    if (order_ids[0] == '\0') {
        return;
    }
    mg_query_versions(order_ids, &query);
    live->is_asking_versions = true;
    if (!mg_ask_for_self(live->console->asker, &query, on_versions, live)) {
        live->is_asking_versions = false;
        busy_send(live);
    }
}

static void on_tick(void *arg)
{
    struct mg_live *live = arg;
    int64_t now_ms = mg_clock_boot_ms();
    struct listener *listener;
    LIST_FOREACH(listener, &live->listeners, entry)
    {
        bool is_permitted =
            listener->session == 0 || mg_session_is_open(live->console->sessions, listener->session);
        if (now_ms - listener->began_ms > LISTEN_MAX_MS || !is_permitted || live->is_ended) {
            mg_http_stream_end(listener->stream);
        }
    }
    if (!live->is_asking_overview) {
        overview_ask(live);
    }
    if (!live->is_asking_versions) {
        versions_ask(live);
    }
}

static void on_closed(void *arg)
{
    struct listener *listener = arg;
    struct mg_live *live = listener->live;
    LIST_REMOVE(listener, entry);
    free(listener);
    if (--live->count == 0) {
        mg_timer_stop(live->timer);
    }
}

struct mg_live *mg_live_create(struct mg_console *console)
{
    struct mg_live *live = calloc(1, sizeof(*live));
    if (live == NULL) {
        return NULL;
    }
    live->console = console;
    live->timer = mg_timer_create(console->loop, on_tick, live);
    if (live->timer == NULL) {
        free(live);
        return NULL;
    }
    return live;
}

void mg_live_end(struct mg_live *live)
{
    live->is_ended = true;
    if (live->count > 0) {
        mg_timer_start(live->timer, 1, PERIOD_MS);
    }
}

void mg_live_destroy(struct mg_live *live)
{
    if (live != NULL) {
        mg_timer_destroy(live->timer);
    }
    free(live);
}

void mg_live_listen(struct mg_live *live, struct mg_http_exchange *request, const struct mg_visitor *visitor)
{
    const char *order_id = mg_http_exchange_query(request, "order");
    struct mg_http_header headers[MG_ANSWER_HEADERS_MAX];
    if (order_id != NULL && !mg_order_id_is_valid(order_id, strlen(order_id))) {
        mg_answer_error(request, 400, "order: invalid order id");
        return;
    }
    struct listener *listener = live->count < LISTENERS_MAX ? calloc(1, sizeof(*listener)) : NULL;
    if (listener == NULL) {
        mg_answer_error(request, 503, "%d pages are connected already, the maximum", LISTENERS_MAX);
        return;
    }
    listener->session = visitor->session;
    (void)snprintf(listener->order_id, sizeof(listener->order_id), "%s", order_id != NULL ? order_id : "");
    listener->live = live;
    listener->began_ms = mg_clock_boot_ms();
    static const struct mg_http_header at_once[] = {{"X-Accel-Buffering", "no"},
                                                    {NULL, NULL}}; /* nginx must not buffer */
    mg_answer_headers(headers, at_once);
    const struct mg_http_response begin = {
        .status = 200,
        .type = "text/event-stream; charset=utf-8",
        .body = mg_slice_of("retry: 2000\n\n"), /* the browser's delay before it reconnects */
        .headers = headers};
    listener->stream = mg_http_stream_open(request, &begin, on_closed, listener);
    if (listener->stream == NULL) {
        free(listener);
        return;
    }
    LIST_INSERT_HEAD(&live->listeners, listener, entry);
    if (live->count++ == 0) {
        mg_timer_start(live->timer, 1, PERIOD_MS);
    }
}
