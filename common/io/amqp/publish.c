/*
 * Publishing with confirms. Messages stand in one line in order of publishing; the front of it is sent and
 * waits for confirms, the rest waits for the connection, for room in the socket, or for the end of an alarm.
 * Frames are made here one by one and not by the library's publish, which blocks on a full socket and can
 * hang on a silent broker.
 *
 * An exchange that refused a publish (no right, or not there) closes the channel, and with it the confirms of
 * all others. So it is asked again with a message that goes to no queue, at each reconnect, before anything
 * else is sent; the broker is not up meanwhile.
 *
 * A message that ends as unknown while the broker is up has a queue that takes nothing; its owner should
 * leave that alone. Those that end so with a connection that stood still are to be sent again.
 *
 * A returned message carries no tag; so each message carries its own in a header, and the return, which comes
 * before the confirm that covers it, finds it by that. Every message ends exactly once, at the latest by its
 * time-out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "io/amqp/outgoing.h"
#include "io/amqp/parts.h"

#define WINDOW_MESSAGES 2048 /* some 100 ms of what one broker moves in a second */
/* Bounds memory; one message of any size is still taken below it. */
#define WINDOW_BYTES               MG_OUTGOING_BODY_MAX
#define CONFIRM_TIMEOUT_DEFAULT_MS 10000 /* a broker that syncs slowly answers within seconds */
#define EXPIRY_PERIOD_MS           100
#define HEAD_BYTES                 8192 /* more than a publish method and a header frame with all its texts */
#define HEADERS_MAX                5
#define PROBE_KEY                  "makegood.probe" /* no queue has it: what goes there comes back */
/* So long a part of a confirm's time-out may pass without a word; less while one queue is found out. */
#define STUCK_SHARE   2
#define CAREFUL_SHARE 4
#define SILENT_MAX_MS 3000 /* a confirm takes milliseconds; with the time between two probes below 5 s */

static void publish_opened(struct mg_link *link);
static void publish_lost(struct mg_link *link);
static void publish_method(struct mg_link *link, const amqp_method_t *method);
static void publish_header(struct mg_link *link, const amqp_method_t *method,
                           const amqp_basic_properties_t *properties, uint64_t body_size);
static void publish_body(struct mg_link *link, amqp_bytes_t piece);
static void publish_complete(struct mg_link *link);
static bool publish_channel_closed(struct mg_link *link, const amqp_channel_close_t *close);
static void publish_probe(struct mg_broker *broker);
static void publish_ask(struct mg_broker *broker, const char *exchange, bool is_mandatory);
static void publish_on_idle(void *arg);
static void publish_on_expiry(void *arg);
static void publish_flush(struct mg_broker *broker);
static void publish_settle(struct mg_broker *broker, struct mg_outgoing *message,
                           enum mg_publish_outcome outcome);

static const struct mg_link_events publish_events = {
    .opened = publish_opened,
    .lost = publish_lost,
    .method = publish_method,
    .header = publish_header,
    .body = publish_body,
    .complete = publish_complete,
    .writable = publish_opened,
    .channel_closed = publish_channel_closed,
};

const char *mg_publish_outcome_name(enum mg_publish_outcome outcome)
{
    switch (outcome) {
    case MG_PUBLISH_CONFIRMED:
        return "confirmed";
    case MG_PUBLISH_REFUSED:
        return "refused";
    case MG_PUBLISH_RETURNED:
        return "returned";
    case MG_PUBLISH_UNKNOWN:
        return "unknown";
    }
    return "?";
}

enum mg_class mg_publish_init(struct mg_broker *broker, const struct mg_broker_options *options,
                              struct mg_err *err)
{
    static const char *const labels[] = {"outcome=\"confirmed\"", "outcome=\"refused\"",
                                         "outcome=\"returned\"", "outcome=\"unknown\""};
    struct mg_publish_part *part = &broker->publishes;
    part->next_tag = 1;
    broker->confirm_timeout_ms =
        options->confirm_timeout_ms > 0 ? options->confirm_timeout_ms : CONFIRM_TIMEOUT_DEFAULT_MS;
    for (int i = 0; i <= MG_PUBLISH_UNKNOWN; i++)
        part->outcomes[i] = mg_metrics_series(options->metrics, MG_COUNTER, "makegood_published_total",
                                              labels[i], "Messages published, by what became of them.");
    part->confirm_seconds =
        mg_metrics_series(options->metrics, MG_HISTOGRAM, "makegood_publish_confirm_seconds", NULL,
                          "From publishing to the broker's confirm.");
    part->outstanding = mg_metrics_series(options->metrics, MG_GAUGE, "makegood_publish_outstanding", NULL,
                                          "Messages published and not yet confirmed, sent or waiting.");
    part->flush = mg_idle_create(broker->loop, publish_on_idle, broker);
    part->expiry = mg_timer_create(broker->loop, publish_on_expiry, broker);
    if (part->flush == NULL || part->expiry == NULL)
        return mg_err_set(err, MG_TRANSIENT, "could not prepare publishing: no memory");
    broker->publish.is_confirming = true;
    return mg_link_init(&broker->publish, broker, "publish", &publish_events, err);
}

void mg_publish_finish(struct mg_broker *broker)
{
    struct mg_publish_part *part = &broker->publishes;
    mg_link_finish(&broker->publish);
    while (part->first != NULL) {
        struct mg_outgoing *message = part->first;
        part->first = message->next;
        free(message);
    }
    part->last = part->unsent = NULL;
    if (part->flush != NULL) mg_idle_destroy(part->flush);
    mg_timer_destroy(part->expiry);
    part->flush = NULL;
    part->expiry = NULL;
}

/* ---- taking a message ---- */

enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err)
{
    struct mg_publish_part *part = &broker->publishes;
    enum mg_class class = mg_outgoing_check(message, err);
    if (class != MG_OK) return class;
    if (mg_broker_publish_room(broker) == 0)
        return mg_err_set(err, MG_TRANSIENT,
                          "could not publish: %d messages of %zu bytes wait for their confirms", part->count,
                          part->bytes);
    struct mg_outgoing *outgoing = mg_outgoing_create(message);
    if (outgoing == NULL) return mg_err_set(err, MG_TRANSIENT, "could not publish: no memory");
    outgoing->done = done;
    outgoing->arg = arg;
    outgoing->published_boot_ms = mg_clock_boot_ms();
    outgoing->previous = part->last;
    if (part->last != NULL)
        part->last->next = outgoing;
    else
        part->first = outgoing;
    part->last = outgoing;
    if (part->unsent == NULL) part->unsent = outgoing;
    part->count++;
    part->bytes += outgoing->body.len;
    mg_metric_set(part->outstanding, part->count);
    mg_idle_arm(part->flush);
    if (!mg_timer_is_active(part->expiry)) mg_timer_start(part->expiry, EXPIRY_PERIOD_MS, EXPIRY_PERIOD_MS);
    return MG_OK;
}

size_t mg_broker_publish_room(const struct mg_broker *broker)
{
    const struct mg_publish_part *part = &broker->publishes;
    if (broker->is_closing || part->bytes >= WINDOW_BYTES || part->count >= WINDOW_MESSAGES) return 0;
    return (size_t)(WINDOW_MESSAGES - part->count);
}

/* ---- sending ---- */

static void publish_on_idle(void *arg)
{
    struct mg_broker *broker = arg;
    mg_broker_enter(broker);
    mg_link_drain(&broker->publish);
    publish_flush(broker);
    mg_broker_leave(broker);
}

static void publish_opened(struct mg_link *link)
{
    publish_flush(link->broker);
}

static bool publish_send_head(struct mg_broker *broker, struct mg_outgoing *message)
{
    struct mg_publish_part *part = &broker->publishes;
    message->tag = part->next_tag++;
    message->state = OUTGOING_SENDING;
    part->ring[message->tag % MG_RING_SIZE] = message;

    amqp_table_entry_t headers[HEADERS_MAX] = {{.key = amqp_cstring_bytes(MG_HEADER_PUBLISH)}};
    int count = 1;
    headers[0].value.kind = AMQP_FIELD_KIND_I64;
    headers[0].value.value.i64 = (int64_t)message->tag;
    if (message->is_again) {
        headers[count] = (amqp_table_entry_t){.key = amqp_cstring_bytes(MG_HEADER_AGAIN)};
        headers[count].value.kind = AMQP_FIELD_KIND_BOOLEAN;
        headers[count++].value.value.boolean = 1;
    }
    const struct {
        const char *name;
        struct mg_slice text;
    } texts[] = {{MG_HEADER_REASON, message->reason},
                 {MG_HEADER_ORIGIN, message->origin},
                 {MG_HEADER_TRACEPARENT, message->traceparent}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].text.data == NULL) continue;
        headers[count] = (amqp_table_entry_t){.key = amqp_cstring_bytes(texts[i].name)};
        headers[count].value.kind = AMQP_FIELD_KIND_UTF8;
        headers[count++].value.value.bytes = mg_amqp_bytes(texts[i].text);
    }
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_HEADERS_FLAG |
                  (message->type.data != NULL ? AMQP_BASIC_TYPE_FLAG : 0U) |
                  (message->message_id.data != NULL ? AMQP_BASIC_MESSAGE_ID_FLAG : 0U) |
                  (message->correlation_id.data != NULL ? AMQP_BASIC_CORRELATION_ID_FLAG : 0U) |
                  (message->reply_to.data != NULL ? AMQP_BASIC_REPLY_TO_FLAG : 0U) |
                  (message->app_id.data != NULL ? AMQP_BASIC_APP_ID_FLAG : 0U),
        .content_type = amqp_cstring_bytes("application/json"),
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .headers = {.num_entries = count, .entries = headers},
        .type = mg_amqp_bytes(message->type),
        .message_id = mg_amqp_bytes(message->message_id),
        .correlation_id = mg_amqp_bytes(message->correlation_id),
        .reply_to = mg_amqp_bytes(message->reply_to),
        .app_id = mg_amqp_bytes(message->app_id),
    };
    amqp_basic_publish_t method = {.exchange = mg_amqp_bytes(message->exchange),
                                   .routing_key = mg_amqp_bytes(message->routing_key),
                                   .mandatory = 1};
    amqp_frame_t header = {.frame_type = AMQP_FRAME_HEADER, .channel = MG_AMQP_CHANNEL};
    header.payload.properties.class_id = AMQP_BASIC_CLASS;
    header.payload.properties.body_size = message->body.len;
    header.payload.properties.decoded = &properties;
    return mg_link_send(&broker->publish, AMQP_BASIC_PUBLISH_METHOD, &method) &&
           mg_link_send_frame(&broker->publish, &header);
}

/* Sends one message as far as there is room. False: not wholly; the rest follows when there is room, or
 * never. */
static bool publish_send(struct mg_broker *broker, struct mg_outgoing *message)
{
    struct mg_link *link = &broker->publish;
    if (message->state == OUTGOING_WAITING &&
        (!mg_link_has_room(link, HEAD_BYTES) || !publish_send_head(broker, message)))
        return false;
    while (message->sent_bytes < message->body.len) {
        size_t size = message->body.len - message->sent_bytes;
        if (size > MG_LINK_BODY_FRAME_MAX) size = MG_LINK_BODY_FRAME_MAX;
        if (!mg_link_has_room(link, size)) return false;
        amqp_frame_t frame = {.frame_type = AMQP_FRAME_BODY, .channel = MG_AMQP_CHANNEL};
        frame.payload.body_fragment =
            mg_amqp_bytes((struct mg_slice){.data = message->body.data + message->sent_bytes, .len = size});
        if (!mg_link_send_frame(link, &frame)) return false;
        message->sent_bytes += size;
    }
    message->state = OUTGOING_SENT;
    message->sent_boot_ms = mg_clock_boot_ms();
    return true;
}

/* The next message goes where the oldest unconfirmed one has gone. */
static bool is_of_first_queue(const struct mg_publish_part *part)
{
    return mg_slice_equal(part->first->exchange, part->unsent->exchange) &&
           mg_slice_equal(part->first->routing_key, part->unsent->routing_key);
}

/* A message that has begun goes on even when the broker has blocked publishers: half of it is worth nothing.
 */
static void publish_flush(struct mg_broker *broker)
{
    struct mg_publish_part *part = &broker->publishes;
    struct mg_link *link = &broker->publish;
    if (link->is_open && part->is_doubted) publish_probe(broker);
    if (!link->is_open || part->is_doubted || part->unsent == NULL) return;
    mg_link_cork(link, true);
    while (part->unsent != NULL) {
        struct mg_outgoing *message = part->unsent;
        bool is_ring_full = part->first->tag != 0 && part->next_tag - part->first->tag >= MG_RING_SIZE;
        bool must_wait = link->is_blocked || is_ring_full || (part->is_careful && !is_of_first_queue(part));
        if (message->state == OUTGOING_WAITING && must_wait) break;
        if (!publish_send(broker, message))
            break; /* no room, or the connection was lost and the line is another */
        part->unsent = message->next;
    }
    mg_link_cork(link, false);
    MG_FAILPOINT(MESSAGES_SENT);
}

/* ---- an exchange that refused ---- */

/* "access to exchange 'makegood.replies' in vhost …", "no exchange 'makegood.replies' in vhost …" */
static bool publish_channel_closed(struct mg_link *link, const amqp_channel_close_t *close)
{
    struct mg_publish_part *part = &link->broker->publishes;
    struct mg_slice text = mg_amqp_slice(close->reply_text);
    char words[MG_AMQP_SHORT_MAX + 1];
    (void)snprintf(words, sizeof(words), "%.*s", (int)text.len, text.data);
    char *name = strstr(words, "exchange '");
    char *end = name == NULL ? NULL : strchr(name + strlen("exchange '"), '\'');
    if (close->class_id != AMQP_BASIC_CLASS || end == NULL) return false;
    *end = '\0';
    name += strlen("exchange '");
    (void)snprintf(part->doubted, sizeof(part->doubted), "%s", strcmp(name, "amq.default") == 0 ? "" : name);
    part->is_doubted = true;
    return false;
}

/* A message without a body that no queue gets. */
static void publish_ask(struct mg_broker *broker, const char *exchange, bool is_mandatory)
{
    broker->publishes.next_tag++;
    amqp_basic_properties_t none = {0};
    amqp_basic_publish_t method = {.exchange = amqp_cstring_bytes(exchange),
                                   .routing_key = amqp_cstring_bytes(PROBE_KEY),
                                   .mandatory = is_mandatory};
    amqp_frame_t header = {.frame_type = AMQP_FRAME_HEADER, .channel = MG_AMQP_CHANNEL};
    header.payload.properties.class_id = AMQP_BASIC_CLASS;
    header.payload.properties.decoded = &none;
    if (mg_link_send(&broker->publish, AMQP_BASIC_PUBLISH_METHOD, &method))
        (void)mg_link_send_frame(&broker->publish, &header); /* lost: the next connection asks again */
}

static void publish_probe(struct mg_broker *broker)
{
    struct mg_publish_part *part = &broker->publishes;
    if (part->is_probing || !mg_link_has_room(&broker->publish, HEAD_BYTES)) return;
    part->is_probing = true;
    publish_ask(broker, part->doubted, true);
}

/* Nothing but the probe was sent: whatever the broker says of it, it was let in. */
static void publish_take_probe(struct mg_broker *broker, const amqp_method_t *method)
{
    if (method->id != AMQP_BASIC_ACK_METHOD && method->id != AMQP_BASIC_NACK_METHOD) return;
    broker->publishes.is_doubted = false;
    mg_broker_state_changed(broker);
    if (broker->publish.is_open) publish_flush(broker);
}

/* ---- whether the broker answers ---- */

static bool is_answer_awaited(const struct mg_broker *broker)
{
    return broker->publishes.awaited_boot_ms > broker->publish.heard_boot_ms;
}

/* A message that is sent or half sent is a question, too; none may begin within it. */
void mg_broker_probe(struct mg_broker *broker, const char *exchange)
{
    struct mg_publish_part *part = &broker->publishes;
    struct mg_link *link = &broker->publish;
    if (!link->is_open || link->is_blocked || part->is_doubted || is_answer_awaited(broker)) return;
    part->awaited_boot_ms = mg_clock_boot_ms();
    if (part->first != NULL) return;
    mg_broker_enter(broker);
    if (mg_link_has_room(link, HEAD_BYTES)) publish_ask(broker, exchange, false);
    mg_broker_leave(broker);
}

bool mg_broker_is_silent(const struct mg_broker *broker)
{
    return broker->publish.is_open && is_answer_awaited(broker) &&
           mg_clock_boot_ms() - broker->publishes.awaited_boot_ms > SILENT_MAX_MS;
}

/* ---- outcomes ---- */

static void publish_settle(struct mg_broker *broker, struct mg_outgoing *message,
                           enum mg_publish_outcome outcome)
{
    struct mg_publish_part *part = &broker->publishes;
    if (message->previous != NULL)
        message->previous->next = message->next;
    else
        part->first = message->next;
    if (message->next != NULL)
        message->next->previous = message->previous;
    else
        part->last = message->previous;
    if (part->unsent == message) part->unsent = message->next;
    if (message->tag != 0 && part->ring[message->tag % MG_RING_SIZE] == message)
        part->ring[message->tag % MG_RING_SIZE] = NULL;
    bool is_last_answered = outcome != MG_PUBLISH_UNKNOWN && part->first == NULL;
    part->is_careful = part->is_careful && !is_last_answered;
    part->count--;
    part->bytes -= message->body.len;
    mg_metric_set(part->outstanding, part->count);
    if (outcome == MG_PUBLISH_CONFIRMED && message->is_returned) outcome = MG_PUBLISH_RETURNED;
    mg_published_fn *done = message->done;
    void *arg = message->arg;
    double seconds = (double)(mg_clock_boot_ms() - message->published_boot_ms) / 1000.0;
    bool is_told = message->is_told;
    free(message);
    if (is_told) return;
    mg_metric_add(part->outcomes[outcome], 1);
    if (outcome != MG_PUBLISH_UNKNOWN) mg_metric_observe(part->confirm_seconds, seconds);
    if (done != NULL) done(arg, outcome);
}

static void publish_take_confirm(struct mg_broker *broker, uint64_t tag, bool is_multiple,
                                 enum mg_publish_outcome outcome)
{
    struct mg_publish_part *part = &broker->publishes;
    if (!is_multiple) {
        struct mg_outgoing *message = part->ring[tag % MG_RING_SIZE];
        if (message != NULL && message->tag == tag) /* else its time was up */
            publish_settle(broker, message, outcome);
        return;
    }
    /* Tag 0 means all; what is sent stands in front, in order. */
    uint64_t generation = broker->publish.generation;
    while (part->first != NULL && part->first->state == OUTGOING_SENT &&
           (tag == 0 || part->first->tag <= tag) && broker->publish.is_open &&
           generation == broker->publish.generation)
        publish_settle(broker, part->first, outcome);
}

static void publish_method(struct mg_link *link, const amqp_method_t *method)
{
    struct mg_broker *broker = link->broker;
    if (broker->publishes.is_doubted) {
        publish_take_probe(broker, method);
        return;
    }
    if (method->id == AMQP_BASIC_ACK_METHOD) {
        const amqp_basic_ack_t *ack = method->decoded;
        publish_take_confirm(broker, ack->delivery_tag, ack->multiple, MG_PUBLISH_CONFIRMED);
    } else if (method->id == AMQP_BASIC_NACK_METHOD) {
        const amqp_basic_nack_t *nack = method->decoded;
        publish_take_confirm(broker, nack->delivery_tag, nack->multiple, MG_PUBLISH_REFUSED);
    } else {
        return;
    }
    if (link->is_open && broker->publishes.unsent != NULL)
        mg_idle_arm(broker->publishes.flush); /* the ring may have been full */
}

static void publish_header(struct mg_link *link, const amqp_method_t *method,
                           const amqp_basic_properties_t *properties, uint64_t body_size)
{
    (void)body_size;
    if (method->id != AMQP_BASIC_RETURN_METHOD) return;
    uint64_t tag = (uint64_t)mg_amqp_header_number(properties, MG_HEADER_PUBLISH);
    struct mg_outgoing *message = link->broker->publishes.ring[tag % MG_RING_SIZE];
    if (message != NULL && message->tag == tag) message->is_returned = true;
}

static void publish_body(struct mg_link *link, amqp_bytes_t piece)
{
    (void)link;
    (void)piece; /* it is our own message coming back */
}

static void publish_complete(struct mg_link *link)
{
    (void)link;
}

/* What was sent may or may not have arrived; what waits goes on waiting for the next connection. */
static void publish_lost(struct mg_link *link)
{
    struct mg_broker *broker = link->broker;
    struct mg_publish_part *part = &broker->publishes;
    part->next_tag = 1;
    part->is_probing = false;
    part->awaited_boot_ms = 0;
    memset(part->ring, 0, sizeof(part->ring));
    while (part->first != NULL && part->first->tag != 0)
        publish_settle(broker, part->first, MG_PUBLISH_UNKNOWN);
}

/* The line is in order of time. A message half on the wire cannot leave it, but it is told once and stepped
 * over; what stands before it has expired before it. */
static struct mg_outgoing *publish_expired(const struct mg_publish_part *part, int64_t latest_boot_ms)
{
    struct mg_outgoing *message = part->first;
    if (message != NULL && message->is_told) message = message->next;
    return message != NULL && message->published_boot_ms <= latest_boot_ms ? message : NULL;
}

/* Nothing is heard although messages are out. RabbitMQ's channel works in order, and stands still before a
 * quorum queue that has lost its majority (rabbit_fifo_client waits for a leader). Whose queue it is cannot
 * be told while messages to several are out. So the next connection sends to one at a time; if it stands
 * still, too, the oldest message ends while the broker is up: it was its queue. */
static void publish_unstick(struct mg_broker *broker)
{
    struct mg_publish_part *part = &broker->publishes;
    struct mg_link *link = &broker->publish;
    int64_t now = mg_clock_boot_ms();
    int64_t patience_ms = broker->confirm_timeout_ms / (part->is_careful ? CAREFUL_SHARE : STUCK_SHARE);
    if (!link->is_open || link->is_blocked || part->is_doubted || part->first == NULL ||
        part->first->state != OUTGOING_SENT || now - link->heard_boot_ms < patience_ms ||
        now - part->first->sent_boot_ms < patience_ms)
        return;
    if (part->is_careful) publish_settle(broker, part->first, MG_PUBLISH_UNKNOWN);
    part->is_careful = true;
    if (link->is_open) mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "nothing is confirmed any more");
}

static void publish_on_expiry(void *arg)
{
    struct mg_broker *broker = arg;
    struct mg_publish_part *part = &broker->publishes;
    mg_broker_enter(broker);
    publish_unstick(broker);
    int64_t latest_boot_ms = mg_clock_boot_ms() - broker->confirm_timeout_ms;
    for (;;) {
        struct mg_outgoing *message = publish_expired(part, latest_boot_ms);
        if (message == NULL) break;
        if (message->state != OUTGOING_SENDING) {
            publish_settle(broker, message, MG_PUBLISH_UNKNOWN);
            continue;
        }
        message->is_told = true;
        mg_metric_add(part->outcomes[MG_PUBLISH_UNKNOWN], 1);
        if (message->done != NULL) message->done(message->arg, MG_PUBLISH_UNKNOWN);
    }
    if (part->first == NULL && part->expiry != NULL) mg_timer_stop(part->expiry);
    mg_broker_leave(broker);
}
