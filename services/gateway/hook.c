/*
 * One webhook: takes statuses from its client's queue and posts them to its target.
 *
 * Each order's statuses go out in the order of `seq`, without gaps, as far as first copies go. A status whose
 * predecessors were not sent by this process may have overtaken them, as after statuses that were owed, or
 * may be the first one after a restart. Then these are read from the order's history and sent before it,
 * perhaps once more. So repeats are possible, and order needs no other state than the queue.
 */
#include "gateway/hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/window.h"
#include "io/amqp/topology.h"
#include "io/http/client.h"

/* Deliveries in hand: some for each request under way, so that one slow order leaves work for the others. */
#define PREFETCH    64
#define BODY_MAX    (256 * 1024)   /* a status is below, with its output of 64 KiB */
#define BYTES_MAX   (1024u * 1024) /* of deliveries in hand; the broker keeps the others */
#define BYTES_MIN   (64u * 1024)   /* a larger one is taken alone */
#define TIMEOUT_MS  15000          /* of a request; Standard Webhooks recommends 15 s to 30 s */
#define CONNECT_MS  5000
#define IDLE_MS     15000       /* common servers keep an idle connection for longer */
#define ANSWER_MAX  (64 * 1024) /* more is not read: only its status counts */
#define HEADERS_MAX (16 * 1024)
/* A third of the broker's time-out for a delivery (consumer_timeout, 30 min), after which it would end the
 * connection. */
#define HELD_MAX_MS (10 * 60 * 1000)
/* Reads of earlier statuses: at once, their rows, and the bytes that are kept of one. */
#define READS_MAX      2
#define READ_ROWS      "16"
#define READ_BYTES_MAX (256 * 1024)
#define READ_AGAIN_MS  1000 /* after a read that failed */
#define VALUE_MAX      512  /* a header; four signatures have 190 bytes */

enum { COLUMN_SEQ = 2, COLUMN_BODY = 4 };

/* A read of an order's statuses before the first one of its line. */
struct earlier {
    LIST_ENTRY(earlier) entry;
    struct mg_hook *hook; /* NULL: it is gone */
    struct mg_window_line *line;
    bool is_archive;
};

struct mg_hook {
    struct mg_gateway *gateway;
    struct mg_hook_target target;
    char queue[MG_QUEUE_NAME_SIZE];
    struct mg_broker *broker;
    struct mg_http_client *http;
    struct mg_timer *timer; /* for the next line that waits */
    struct mg_window window;
    LIST_HEAD(, earlier) reads;
    int read_count;
    struct mg_metric *delivered, *failed, *given_up, *failing, *oldest, *queue_up;
};

static void hook_pump(struct mg_hook *hook);

/* ---- statuses ---- */

static void status_remove(struct mg_window_line *line, struct mg_window_status *status)
{
    TAILQ_REMOVE(&line->statuses, status, entry);
    free(status);
}

static void status_ack(struct mg_hook *hook, struct mg_window_line *line, struct mg_window_status *status)
{
    if (status->delivery != NULL) {
        mg_broker_ack(hook->broker, status->delivery);
    }
    status_remove(line, status);
}

/* Acks the status, and other copies of it, as they come after a lost connection to the broker. Other bytes of
 * the same seq are another status: the database has lost its newest part (proto/status.schema.json). */
static void status_ack_all(struct mg_hook *hook, struct mg_window_line *line, struct mg_window_status *status)
{
    struct mg_window_status *other, *next;
    for (other = TAILQ_FIRST(&line->statuses); other != NULL; other = next) {
        next = TAILQ_NEXT(other, entry);
        if (other != status && other->identity.seq == status->identity.seq &&
            mg_slice_equal(other->body, status->body)) {
            status_ack(hook, line, other);
        }
    }
    status_ack(hook, line, status);
}

/* ---- sending ---- */

/* The last status of an order that this process knows to be taken; 0: none. */
static int64_t last_seq(const struct mg_hook *hook, const char *order_id)
{
    int64_t last = mg_window_last(&hook->window, order_id);
    return last > 0 ? last : 0;
}

static void status_taken(struct mg_hook *hook, struct mg_window_line *line)
{
    if (hook->window.is_down) {
        mg_log(MG_LOG_INFO, "a webhook's target takes statuses again",
               MG_LOG_TEXT("client", hook->target.client));
    }
    mg_metric_add(hook->delivered, 1);
    mg_window_settle(&hook->window, line->sent);
    status_ack_all(hook, line, line->sent);
    mg_window_taken(&hook->window, line, mg_clock_boot_ms());
}

/* Sets a status aside (law 13, nothing lost): a dead letter raises an alert. One that was read from the
 * history stays there. */
static void status_give_up(struct mg_hook *hook, struct mg_window_line *line, struct mg_window_status *status,
                           const char *why)
{
    mg_log(MG_LOG_ERROR, "a webhook's target refuses a status and takes others; the status is set aside",
           MG_LOG_TEXT("client", hook->target.client), MG_LOG_TEXT("order_id", status->identity.order_id),
           MG_LOG_NUMBER("seq", status->identity.seq), MG_LOG_TEXT("why", why));
    mg_metric_add(hook->given_up, 1);
    mg_window_settle(&hook->window, status);
    if (status->delivery != NULL) {
        mg_broker_reject(hook->broker, status->delivery);
    }
    status_remove(line, status);
    line->failures = 0;
    line->retry_at_ms = 0;
}

static void status_failed(struct mg_hook *hook, struct mg_window_line *line, int64_t retry_after_ms,
                          const char *why)
{
    mg_metric_add(hook->failed, 1);
    if (mg_window_failed(&hook->window, line, retry_after_ms, mg_random_u64(), mg_clock_boot_ms())) {
        mg_log(MG_LOG_WARN,
               "a webhook's target takes no statuses; they wait, and one at a time is tried again",
               MG_LOG_TEXT("client", hook->target.client), MG_LOG_TEXT("why", why));
    }
}

/* The target cannot take more for now; the answer is not about this status. */
static bool is_busy(const struct mg_http_answer *answer)
{
    return answer->status == 429 || (answer->status == 503 && answer->retry_after_ms >= 0);
}

static void status_refused(struct mg_hook *hook, struct mg_window_line *line,
                           const struct mg_http_answer *answer)
{
    struct mg_window_status *status = line->sent;
    char answered[32];
    const char *why = answer->sent == MG_SENT_YES ? answered : answer->reason;
    bool is_refusal = !is_busy(answer) && !mg_window_is_outdated(&hook->window, line);
    (void)snprintf(answered, sizeof(answered), "status %d", answer->status);
    status_failed(hook, line, answer->retry_after_ms, why);
    if (is_refusal && mg_window_refused(&hook->window, status, mg_clock_boot_ms())) {
        status_give_up(hook, line, status, why);
    }
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct mg_window_line *line = arg;
    struct mg_hook *hook = line->owner;
    bool has_status = answer->sent == MG_SENT_YES || answer->is_body_bad;
    if (has_status && answer->status >= 200 && answer->status < 300) {
        status_taken(hook, line);
    } else {
        status_refused(hook, line, answer);
    }
    hook_pump(hook);
}

/* Writes the value of webhook-signature after its name. False: no memory. */
static bool signature_write(const struct mg_hook *hook, const char *id, int64_t at_s, struct mg_slice body,
                            char ret_header[VALUE_MAX])
{
    struct mg_buf value;
    mg_buf_init_fixed(&value, ret_header, VALUE_MAX);
    mg_buf_append_text(&value, "webhook-signature: ");
    mg_webhook_sign(&hook->target.secrets, id, at_s, body, &value);
    return !value.failed;
}

static void status_send(struct mg_hook *hook, struct mg_window_line *line, struct mg_window_status *status)
{
    char id[MG_UUID_SIZE], id_header[VALUE_MAX], time_header[VALUE_MAX], signature[VALUE_MAX];
    const char *ca_file = hook->gateway->options->webhook_ca_file;
    int64_t now_s = mg_clock_wall_ms() / 1000;
    struct mg_http_call *call;
    struct mg_err err;
    mg_webhook_id(&status->identity, status->body, id);
    (void)snprintf(id_header, sizeof(id_header), "webhook-id: %s", id);
    (void)snprintf(time_header, sizeof(time_header), "webhook-timestamp: %lld", (long long)now_s);
    const char *const headers[] = {"Content-Type: application/json", id_header, time_header, signature, NULL};
    const struct mg_http_request request = {.method = "POST",
                                            .url = hook->target.url,
                                            .headers = headers,
                                            .body = status->body,
                                            .timeout_ms = TIMEOUT_MS,
                                            .proxy = hook->target.proxy,
                                            .ca_file = ca_file[0] != '\0' ? ca_file : NULL};
    if (!signature_write(hook, id, now_s, status->body, signature)) {
        mg_window_defer(&hook->window, line, mg_clock_boot_ms() + READ_AGAIN_MS);
        return;
    }
    line->sent = status;
    if (mg_http_client_call(hook->http, &request, on_answer, line, &call, &err) != MG_OK) {
        status_failed(hook, line, -1, err.text);
    }
}

/* ---- earlier statuses, from the history ---- */

/* NULL: no memory. */
static struct mg_window_status *status_copy(const char *order_id, int64_t seq, struct mg_slice body)
{
    struct mg_window_status *status = malloc(sizeof(*status) + body.len);
    struct mg_err err;
    if (status == NULL) {
        return NULL;
    }
    *status = (struct mg_window_status){.body = {(const char *)(status + 1), body.len}};
    memcpy(status + 1, body.data, body.len);
    if (mg_status_identify(body, &status->identity, &err) !=
        MG_OK) { /* of a newer version: its age stays unknown */
        status->identity.at_ms = INT64_MAX;
    }
    (void)snprintf(status->identity.order_id, sizeof(status->identity.order_id), "%s", order_id);
    status->identity.seq = (uint64_t)seq;
    return status;
}

/* Adds the rows before `end`, as far as memory goes; the others are read in their turn. Returns their number,
 * or -1 without memory for the first. */
static int rows_take(struct mg_hook *hook, struct mg_window_line *line, const struct mg_rows *rows,
                     int64_t end)
{
    size_t bytes = 0;
    int count = 0;
    for (int row = 0; row < mg_rows_count(rows) && bytes < READ_BYTES_MAX; row++) {
        if (mg_rows_is_null(rows, row, COLUMN_SEQ) || mg_rows_int(rows, row, COLUMN_SEQ) >= end) {
            break;
        }
        struct mg_slice body = mg_rows_value(rows, row, COLUMN_BODY);
        struct mg_window_status *status =
            status_copy(line->order_id, mg_rows_int(rows, row, COLUMN_SEQ), body);
        if (status == NULL) {
            return count > 0 ? count : -1;
        }
        (void)mg_window_add(&hook->window, status); /* the line is there already */
        bytes += body.len;
        count++;
    }
    return count;
}

static void on_earlier(void *arg, const struct mg_rows *rows, const struct mg_err *err);

static void earlier_ask(struct earlier *earlier)
{
    struct mg_hook *hook = earlier->hook;
    const char *order_id = earlier->line->order_id;
    char behind[24];
    (void)snprintf(behind, sizeof(behind), "%lld", (long long)last_seq(hook, order_id));
    if (earlier->is_archive) {
        mg_store_report(hook->gateway->store, MG_REPORT_ARCHIVED_STATUSES_OF_CLIENT,
                        (const char *[]){hook->target.client, order_id, behind, READ_ROWS}, 4, on_earlier,
                        earlier);
    } else {
        mg_store_report(hook->gateway->store, MG_REPORT_STATUSES_OF_CLIENT,
                        (const char *[]){hook->target.client, order_id, behind, "0", READ_ROWS}, 5,
                        on_earlier, earlier);
    }
}

static void earlier_end(struct earlier *earlier)
{
    if (earlier->hook != NULL) {
        LIST_REMOVE(earlier, entry);
        earlier->hook->read_count--;
    }
    free(earlier);
}

/* An order that the history lacks, as one of another client does, has no other statuses. */
static void on_earlier(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct earlier *earlier = arg;
    struct mg_hook *hook = earlier->hook;
    struct mg_window_line *line = earlier->line;
    if (hook == NULL) {
        earlier_end(earlier);
        return;
    }
    int64_t first = (int64_t)TAILQ_FIRST(&line->statuses)->identity.seq;
    int count = err == NULL ? rows_take(hook, line, rows, first) : -1;
    if (count == 0 && mg_rows_count(rows) == 0 && !earlier->is_archive) {
        earlier->is_archive = true;
        earlier_ask(earlier);
        return;
    }
    if (count == 0) {
        mg_window_note(&hook->window, line->order_id, first - 1);
    }
    earlier_end(earlier);
    if (count >= 0) {
        mg_window_resume(&hook->window);
    }
    mg_window_defer(&hook->window, line, count >= 0 ? 0 : mg_clock_boot_ms() + READ_AGAIN_MS);
    hook_pump(hook);
}

/* While READS_MAX are under way, the line goes when one ends: after a restart all lines have to be read. */
static void earlier_read(struct mg_hook *hook, struct mg_window_line *line)
{
    bool has_room = hook->read_count < READS_MAX;
    struct earlier *earlier = has_room ? calloc(1, sizeof(*earlier)) : NULL;
    if (earlier == NULL) {
        line->is_put_off = !has_room;
        mg_window_defer(&hook->window, line, mg_clock_boot_ms() + READ_AGAIN_MS);
        return;
    }
    *earlier = (struct earlier){.hook = hook, .line = line};
    LIST_INSERT_HEAD(&hook->reads, earlier, entry);
    hook->read_count++;
    earlier_ask(earlier);
}

/* ---- turns ---- */

static void line_begin(struct mg_hook *hook, struct mg_window_line *line)
{
    struct mg_window_status *first = TAILQ_FIRST(&line->statuses);
    if (first == NULL) {
        mg_window_drop(&hook->window, line);
    } else if ((int64_t)first->identity.seq > last_seq(hook, line->order_id) + 1) {
        earlier_read(hook, line);
    } else {
        status_send(hook, line, first);
    }
}

static void hook_pump(struct mg_hook *hook)
{
    struct mg_window_line *line;
    int64_t wait_ms = -1;
    while ((line = mg_window_next(&hook->window, mg_clock_boot_ms(), &wait_ms)) != NULL) {
        line_begin(hook, line);
    }
    if (wait_ms >= 0) {
        mg_timer_start(hook->timer, wait_ms, 0);
    }
}

static void on_timer(void *arg)
{
    hook_pump(arg);
}

/* ---- the queue ---- */

static void delivery_take(struct mg_hook *hook, struct mg_delivery *delivery,
                          const struct mg_status_identity *identity)
{
    struct mg_window_status *status = calloc(1, sizeof(*status));
    struct mg_window_line *line = NULL;
    if (status != NULL) {
        *status =
            (struct mg_window_status){.delivery = delivery, .identity = *identity, .body = delivery->body};
        line = mg_window_add(&hook->window, status);
    }
    if (line == NULL) {
        free(status);
        mg_broker_requeue(hook->broker, delivery);
        return;
    }
    line->owner = hook;
    hook_pump(hook);
}

static void on_delivery(void *arg, struct mg_delivery *delivery)
{
    struct mg_hook *hook = arg;
    struct mg_status_identity identity;
    struct mg_err err = {.text = "too large"};
    if (!delivery->is_oversized && mg_status_identify(delivery->body, &identity, &err) == MG_OK) {
        delivery_take(hook, delivery, &identity);
        return;
    }
    mg_log(MG_LOG_WARN, "a message in a webhook's queue is no status; it is set aside",
           MG_LOG_TEXT("queue", hook->queue), MG_LOG_TEXT("why", err.text));
    mg_broker_reject(hook->broker, delivery);
}

static void on_broker(void *arg, bool is_up, const char *reason)
{
    const struct mg_hook *hook = arg;
    if (is_up) {
        mg_log(MG_LOG_INFO, "a webhook's queue is read", MG_LOG_TEXT("queue", hook->queue));
    } else {
        mg_log(MG_LOG_WARN, "a webhook's queue cannot be read", MG_LOG_TEXT("queue", hook->queue),
               MG_LOG_TEXT("reason", reason));
    }
}

/* ---- the hook ---- */

static void metrics_make(struct mg_hook *hook)
{
    struct mg_metrics *metrics = hook->gateway->metrics;
    char labels[MG_TOKEN_NAME_SIZE + 16];
    (void)snprintf(labels, sizeof(labels), "client=\"%s\"", hook->target.client);
    hook->delivered = mg_metrics_series(metrics, MG_COUNTER, "makegood_webhook_delivered_total", labels,
                                        "statuses that the client's target has taken");
    hook->failed = mg_metrics_series(metrics, MG_COUNTER, "makegood_webhook_failed_total", labels,
                                     "requests that the client's target has not answered with 2xx");
    hook->given_up = mg_metrics_series(metrics, MG_COUNTER, "makegood_webhook_given_up_total", labels,
                                       "statuses set aside because their target takes others and not these");
    hook->failing =
        mg_metrics_series(metrics, MG_GAUGE, "makegood_webhook_failing_seconds", labels,
                          "time since which the client's target has taken no status; 0: it takes them");
    hook->oldest = mg_metrics_series(metrics, MG_GAUGE, "makegood_webhook_oldest_age_seconds", labels,
                                     "age of the oldest status in hand; 0: none is");
    hook->queue_up = mg_metrics_series(metrics, MG_GAUGE, "makegood_webhook_queue_up", labels,
                                       "1: the queue of the client's webhook is read");
}

static enum mg_class parts_create(struct mg_hook *hook, size_t bytes, struct mg_err *err)
{
    struct mg_loop *loop = hook->gateway->loop;
    char name[MG_QUEUE_NAME_SIZE];
    (void)snprintf(name, sizeof(name), "makegood gateway, webhook of %s", hook->target.client);
    const struct mg_http_client_options http = {.max_connections = MG_WINDOW_CALLS_MAX,
                                                .connect_timeout_ms = CONNECT_MS,
                                                .idle_connection_ms = IDLE_MS,
                                                .max_body_bytes = ANSWER_MAX,
                                                .max_header_bytes = HEADERS_MAX};
    const struct mg_broker_options broker = {.address = hook->gateway->options->process->broker,
                                             .name = name,
                                             .consumers = {{.queue = hook->queue,
                                                            .prefetch = PREFETCH,
                                                            .bytes_max = bytes < BYTES_MIN   ? BYTES_MIN
                                                                         : bytes < BYTES_MAX ? bytes
                                                                                             : BYTES_MAX}},
                                             .consumer_count = 1,
                                             .only_consumes = true,
                                             .body_max_bytes = BODY_MAX,
                                             .on_delivery = on_delivery,
                                             .on_state = on_broker,
                                             .arg = hook};
    hook->timer = mg_timer_create(loop, on_timer, hook);
    if (!mg_window_init(&hook->window) || hook->timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not serve the webhook of %s: no memory",
                          hook->target.client);
    }
    hook->window.calls = hook->target.concurrency;
    enum mg_class class = mg_http_client_create(loop, &http, &hook->http, err);
    return class == MG_OK ? mg_broker_create(loop, &broker, &hook->broker, err) : class;
}

static const char *text_or_none(const char *text)
{
    return text != NULL ? text : "";
}

/* Moves the contents. */
static void target_take(struct mg_hook *hook, struct mg_hook_target *target)
{
    free(hook->target.url);
    free(hook->target.proxy);
    hook->target = *target;
    target->url = target->proxy = NULL;
    mg_webhook_secrets_wipe(&target->secrets);
}

enum mg_class mg_hook_create(struct mg_gateway *gateway, struct mg_hook_target *target, size_t bytes,
                             struct mg_hook **ret_hook, struct mg_err *err)
{
    struct mg_hook *hook = calloc(1, sizeof(*hook));
    if (hook == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not serve the webhook of %s: no memory", target->client);
    }
    hook->gateway = gateway;
    LIST_INIT(&hook->reads);
    target_take(hook, target);
    mg_topology_webhook_queue(hook->target.client, hook->queue);
    metrics_make(hook);
    enum mg_class class = parts_create(hook, bytes, err);
    if (class != MG_OK) {
        mg_hook_destroy(hook);
        return class;
    }
    *ret_hook = hook;
    return MG_OK;
}

static void lines_free(struct mg_hook *hook)
{
    while (!TAILQ_EMPTY(&hook->window.lines)) {
        struct mg_window_line *line = TAILQ_FIRST(&hook->window.lines);
        while (!TAILQ_EMPTY(&line->statuses)) {
            status_remove(line, TAILQ_FIRST(&line->statuses));
        }
        mg_window_drop(&hook->window, line);
    }
}

void mg_hook_destroy(struct mg_hook *hook)
{
    struct earlier *earlier;
    if (hook == NULL) {
        return;
    }
    mg_http_client_destroy(hook->http);
    LIST_FOREACH(earlier, &hook->reads, entry)
    {
        earlier->hook = NULL;
    }
    if (hook->window.memory != NULL) {
        lines_free(hook);
        mg_window_finish(&hook->window);
    }
    mg_broker_destroy(hook->broker); /* with the deliveries that the lines held */
    mg_timer_destroy(hook->timer);
    mg_metric_silence(hook->failing);
    mg_metric_silence(hook->oldest);
    mg_metric_silence(hook->queue_up);
    free(hook->target.url);
    free(hook->target.proxy);
    mg_webhook_secrets_wipe(&hook->target.secrets);
    free(hook);
}

const char *mg_hook_client(const struct mg_hook *hook)
{
    return hook->target.client;
}

const char *mg_hook_queue(const struct mg_hook *hook)
{
    return hook->queue;
}

void mg_hook_set_target(struct mg_hook *hook, struct mg_hook_target *target)
{
    bool is_moved = strcmp(hook->target.url, target->url) != 0 ||
                    strcmp(text_or_none(hook->target.proxy), text_or_none(target->proxy)) != 0;
    target_take(hook, target);
    hook->window.calls = hook->target.concurrency;
    if (is_moved) {
        mg_window_retarget(&hook->window);
        hook_pump(hook);
    }
}

enum mg_class mg_hook_set_amqp_url(struct mg_hook *hook, const char *url, struct mg_err *err)
{
    return mg_broker_set_url(hook->broker, url, err);
}

void mg_hook_reload_certificates(struct mg_hook *hook)
{
    mg_http_client_reload(hook->http, false);
}

bool mg_hook_is_up(const struct mg_hook *hook, char *ret_reason, size_t size)
{
    return mg_broker_is_up(hook->broker, ret_reason, size);
}

/* Gives back what has been held for long, with all of its line, so that its order stays. The broker delivers
 * it again at once. */
static void line_refresh(struct mg_hook *hook, struct mg_window_line *line, int64_t now_ms)
{
    struct mg_window_status *status;
    bool is_old = false;
    TAILQ_FOREACH(status, &line->statuses, entry)
    {
        is_old =
            is_old || (status->delivery != NULL && now_ms - status->delivery->arrived_boot_ms >= HELD_MAX_MS);
    }
    if (!is_old || line->is_busy) {
        return;
    }
    while ((status = TAILQ_FIRST(&line->statuses)) != NULL) {
        if (status->delivery != NULL) {
            mg_broker_requeue(hook->broker, status->delivery);
        }
        status_remove(line, status);
    }
    mg_window_drop(&hook->window, line);
}

void mg_hook_look(struct mg_hook *hook)
{
    struct mg_window_line *line, *next;
    int64_t now_ms = mg_clock_boot_ms(), wall_ms = mg_clock_wall_ms(), oldest_at_ms = wall_ms;
    for (line = TAILQ_FIRST(&hook->window.lines); line != NULL; line = next) {
        const struct mg_window_status *status;
        next = TAILQ_NEXT(line, entry);
        TAILQ_FOREACH(status, &line->statuses, entry)
        {
            oldest_at_ms = status->identity.at_ms < oldest_at_ms ? status->identity.at_ms : oldest_at_ms;
        }
        line_refresh(hook, line, now_ms);
    }
    int64_t since_ms = hook->window.failing_since_ms;
    mg_metric_set(hook->oldest, (double)(wall_ms - oldest_at_ms) / 1000);
    mg_metric_set(hook->queue_up, mg_broker_is_up(hook->broker, NULL, 0));
    mg_metric_set(hook->failing, since_ms != 0 ? (double)(now_ms - since_ms) / 1000 : 0);
}
