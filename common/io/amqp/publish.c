/*
 * Publishing with confirms. Messages stand in one line in order of publishing. The front is sent and waits
 * for confirms; the rest waits for the connection, for room in the socket, or for the end of an alarm. The
 * frames are made here one by one: the library's publish blocks on a full socket and can hang on a silent
 * broker.
 *
 * An exchange that refuses a publish (no right, or missing) closes the channel, and with it the confirms of
 * all others. So at each reconnect a message that no queue gets is sent to that exchange first, before any
 * other. The broker is not up meanwhile.
 *
 * A returned message carries no tag, so each message carries its own in a header. The return comes before the
 * confirm that covers it, and finds the message by that tag. Every message ends exactly once, at the latest
 * by its time-out. publish_stuck.c sees to that, and to a queue that stops the channel.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "io/amqp/broker_parts.h"

#define WINDOW_MESSAGES 2048 /* some 100 ms of one broker's throughput */
/* Bounds memory. Below it, one message of any size is still taken. */
#define WINDOW_BYTES               MG_OUTGOING_BODY_MAX
#define CONFIRM_TIMEOUT_DEFAULT_MS 10000 /* a broker that syncs slowly answers within seconds */
#define HEAD_BYTES                 8192  /* more than a publish method and a header frame with all texts */
#define HEADERS_MAX                5
#define PROBE_KEY                  "makegood.probe" /* no queue has this key: the message comes back */
/* A confirm takes milliseconds; with the time between two probes below 5 s. */
#define SILENT_MAX_MS 3000

static void publish_opened(struct mg_link *link);
static void publish_lost(struct mg_link *link);
static void publish_method(struct mg_link *link, const amqp_method_t *method);
static void publish_header(struct mg_link *link, const amqp_method_t *method,
                           const amqp_basic_properties_t *properties, uint64_t body_size);
static void publish_body(struct mg_link *link, amqp_bytes_t piece);
static void publish_complete(struct mg_link *link);
static bool publish_channel_closed(struct mg_link *link, const amqp_channel_close_t *close);
static void publish_probe(struct mg_publisher *publisher);
static void publish_ask(struct mg_publisher *publisher, const char *exchange, bool is_mandatory);
static void publish_on_idle(void *arg);
static void publish_flush(struct mg_publisher *publisher);

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
    case MG_PUBLISH_UNSENT:
        return "unsent";
    case MG_PUBLISH_OUTCOME_COUNT:
        break;
    }
    return "?";
}

static enum mg_class publisher_init(struct mg_publisher *publisher, struct mg_broker_base *base,
                                    const char *role, struct mg_err *err)
{
    publisher->next_tag = 1;
    mg_outgoing_init(&publisher->line);
    publisher->flush = mg_idle_create(base->loop, publish_on_idle, publisher);
    publisher->expiry = mg_timer_create(base->loop, mg_publish_on_expiry, publisher);
    if (publisher->flush == NULL || publisher->expiry == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare publishing: no memory");
    }
    publisher->link.is_confirming = true;
    return mg_link_init(&publisher->link, base, role, &publish_events, publisher, err);
}

enum mg_class mg_publish_init(struct mg_publishing *publishing, struct mg_broker_base *base,
                              const struct mg_broker_options *options, struct mg_err *err)
{
    static const char *const labels[] = {"outcome=\"confirmed\"", "outcome=\"refused\"",
                                         "outcome=\"returned\"", "outcome=\"unknown\"", "outcome=\"unsent\""};
    struct mg_publish_metrics *published = &publishing->metrics;
    publishing->confirm_timeout_ms =
        options->confirm_timeout_ms > 0 ? options->confirm_timeout_ms : CONFIRM_TIMEOUT_DEFAULT_MS;
    for (int i = 0; i < MG_PUBLISH_OUTCOME_COUNT; i++) {
        published->outcomes[i] = mg_metrics_series(options->metrics, MG_COUNTER, "makegood_published_total",
                                                   labels[i], "Messages published, by their outcome.");
    }
    published->confirm_seconds =
        mg_metrics_series(options->metrics, MG_HISTOGRAM, "makegood_publish_confirm_seconds", NULL,
                          "From publishing to the broker's confirm.");
    published->outstanding =
        mg_metrics_series(options->metrics, MG_GAUGE, "makegood_publish_outstanding", NULL,
                          "Messages published and not yet confirmed, sent or waiting.");
    publishing->apart.is_apart = true;
    publishing->main.publishing = publishing->apart.publishing = publishing;
    enum mg_class class = publisher_init(&publishing->main, base, "publish", err);
    return class == MG_OK ? publisher_init(&publishing->apart, base, "publish apart", err) : class;
}

static void publisher_finish(struct mg_publisher *publisher)
{
    mg_link_finish(&publisher->link);
    mg_outgoing_free_all(&publisher->line);
    if (publisher->flush != NULL) {
        mg_idle_destroy(publisher->flush);
    }
    mg_timer_destroy(publisher->expiry);
    publisher->flush = NULL;
    publisher->expiry = NULL;
}

void mg_publish_finish(struct mg_publishing *publishing)
{
    publisher_finish(&publishing->main);
    publisher_finish(&publishing->apart);
}

static struct mg_outgoing *first_of(const struct mg_publisher *publisher)
{
    return TAILQ_FIRST(&publisher->line.all);
}

/* ---- taking a message ---- */

static size_t publisher_room(const struct mg_publisher *publisher)
{
    bool is_full = publisher->line.bytes >= WINDOW_BYTES || publisher->line.count >= WINDOW_MESSAGES;
    return publisher->link.base->is_closing || is_full ? 0
                                                       : (size_t)(WINDOW_MESSAGES - publisher->line.count);
}

size_t mg_broker_publish_room(const struct mg_broker *broker)
{
    return publisher_room(&broker->publishing.apart) == 0 ? 0 : publisher_room(&broker->publishing.main);
}

enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err)
{
    struct mg_publishing *publishing = &broker->publishing;
    bool is_apart = mg_unanswered_has(&publishing->unanswered, mg_slice_of(message->routing_key));
    struct mg_publisher *publisher = is_apart ? &publishing->apart : &publishing->main;
    enum mg_class class = mg_outgoing_check(message, err);
    if (class != MG_OK) {
        return class;
    }
    if (publisher_room(publisher) == 0) {
        return mg_err_set(err, MG_TRANSIENT,
                          "could not publish: %d messages of %zu bytes wait for their confirms",
                          publisher->line.count, publisher->line.bytes);
    }
    struct mg_outgoing *outgoing = mg_outgoing_create(message);
    if (outgoing == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not publish: no memory");
    }
    outgoing->done = done;
    outgoing->arg = arg;
    outgoing->published_boot_ms = mg_clock_boot_ms();
    mg_publish_append(publisher, outgoing);
    return MG_OK;
}

/* ---- sending ---- */

static void publish_on_idle(void *arg)
{
    struct mg_publisher *publisher = arg;
    struct mg_broker_base *base = publisher->link.base;
    mg_broker_enter(base);
    mg_link_drain(&publisher->link);
    publish_flush(publisher);
    mg_broker_leave(base);
}

static void publish_opened(struct mg_link *link)
{
    publish_flush(link->owner);
}

static bool publish_send_head(struct mg_publisher *publisher, struct mg_outgoing *message)
{
    message->tag = publisher->next_tag++;
    message->state = MG_OUTGOING_SENDING;
    publisher->ring[message->tag % MG_RING_SIZE] = message;

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
        if (texts[i].text.data == NULL) {
            continue;
        }
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
                  (message->app_id.data != NULL ? AMQP_BASIC_APP_ID_FLAG : 0U) |
                  (message->reason.data != NULL ? AMQP_BASIC_TIMESTAMP_FLAG : 0U),
        .content_type = amqp_cstring_bytes("application/json"),
        .delivery_mode = AMQP_DELIVERY_PERSISTENT,
        .headers = {.num_entries = count, .entries = headers},
        .type = mg_amqp_bytes(message->type),
        .message_id = mg_amqp_bytes(message->message_id),
        .correlation_id = mg_amqp_bytes(message->correlation_id),
        .reply_to = mg_amqp_bytes(message->reply_to),
        .app_id = mg_amqp_bytes(message->app_id),
        /* the moment of a refusal, for people who look for it */
        .timestamp = message->reason.data != NULL ? (uint64_t)(mg_clock_wall_ms() / 1000) : 0,
    };
    amqp_basic_publish_t method = {.exchange = mg_amqp_bytes(message->exchange),
                                   .routing_key = mg_amqp_bytes(message->routing_key),
                                   .mandatory = 1};
    amqp_frame_t header = {.frame_type = AMQP_FRAME_HEADER, .channel = MG_AMQP_CHANNEL};
    header.payload.properties.class_id = AMQP_BASIC_CLASS;
    header.payload.properties.body_size = message->body.len;
    header.payload.properties.decoded = &properties;
    return mg_link_send(&publisher->link, AMQP_BASIC_PUBLISH_METHOD, &method) &&
           mg_link_send_frame(&publisher->link, &header);
}

/* Sends one message as far as there is room. False: a part is left; it follows when there is room, or
 * never. */
static bool publish_send(struct mg_publisher *publisher, struct mg_outgoing *message)
{
    struct mg_link *link = &publisher->link;
    if (message->state == MG_OUTGOING_WAITING &&
        (!mg_link_has_room(link, HEAD_BYTES) || !publish_send_head(publisher, message))) {
        return false;
    }
    while (message->sent_bytes < message->body.len) {
        size_t size = message->body.len - message->sent_bytes;
        if (size > MG_LINK_BODY_FRAME_MAX) {
            size = MG_LINK_BODY_FRAME_MAX;
        }
        if (!mg_link_has_room(link, size)) {
            return false;
        }
        amqp_frame_t frame = {.frame_type = AMQP_FRAME_BODY, .channel = MG_AMQP_CHANNEL};
        frame.payload.body_fragment =
            mg_amqp_bytes((struct mg_slice){.data = message->body.data + message->sent_bytes, .len = size});
        if (!mg_link_send_frame(link, &frame)) {
            return false;
        }
        message->sent_bytes += size;
    }
    message->state = MG_OUTGOING_SENT;
    message->sent_boot_ms = mg_clock_boot_ms();
    return true;
}

/* The next message has the same queue as the oldest unconfirmed one. */
static bool is_of_first_queue(const struct mg_publisher *publisher)
{
    return mg_slice_equal(first_of(publisher)->routing_key, publisher->line.unsent->routing_key);
}

/* A message that has begun goes on even while the broker blocks publishers: half a message is useless. */
static void publish_flush(struct mg_publisher *publisher)
{
    struct mg_link *link = &publisher->link;
    if (link->is_open && publisher->is_doubted) {
        publish_probe(publisher);
    }
    if (!link->is_open || publisher->is_doubted || publisher->line.unsent == NULL) {
        return;
    }
    mg_link_cork(link, true);
    while (publisher->line.unsent != NULL) {
        struct mg_outgoing *message = publisher->line.unsent;
        bool is_ring_full =
            first_of(publisher)->tag != 0 && publisher->next_tag - first_of(publisher)->tag >= MG_RING_SIZE;
        bool must_wait =
            link->is_blocked || is_ring_full || (publisher->is_apart && !is_of_first_queue(publisher));
        if (message->state == MG_OUTGOING_WAITING && must_wait) {
            break;
        }
        if (!publish_send(publisher, message)) {
            break; /* no room, or the connection is lost and the line has changed */
        }
        publisher->line.unsent = TAILQ_NEXT(message, entry);
    }
    mg_link_cork(link, false);
    MG_FAILPOINT(MESSAGES_SENT);
}

/* ---- an exchange that refused ---- */

/* "access to exchange 'makegood.replies' in vhost …", "no exchange 'makegood.replies' in vhost …" */
static bool publish_channel_closed(struct mg_link *link, const amqp_channel_close_t *close)
{
    struct mg_publisher *publisher = link->owner;
    struct mg_slice text = mg_amqp_slice(close->reply_text);
    char words[MG_AMQP_SHORT_MAX + 1];
    (void)snprintf(words, sizeof(words), "%.*s", (int)text.len, text.data);
    char *name = strstr(words, "exchange '");
    char *end = name == NULL ? NULL : strchr(name + strlen("exchange '"), '\'');
    if (close->class_id != AMQP_BASIC_CLASS || end == NULL) {
        return false;
    }
    *end = '\0';
    name += strlen("exchange '");
    (void)snprintf(publisher->doubted, sizeof(publisher->doubted), "%s",
                   strcmp(name, "amq.default") == 0 ? "" : name);
    publisher->is_doubted = true;
    return false;
}

/* Publishes a message without a body that no queue gets. */
static void publish_ask(struct mg_publisher *publisher, const char *exchange, bool is_mandatory)
{
    publisher->next_tag++;
    amqp_basic_properties_t none = {0};
    amqp_basic_publish_t method = {.exchange = amqp_cstring_bytes(exchange),
                                   .routing_key = amqp_cstring_bytes(PROBE_KEY),
                                   .mandatory = is_mandatory};
    amqp_frame_t header = {.frame_type = AMQP_FRAME_HEADER, .channel = MG_AMQP_CHANNEL};
    header.payload.properties.class_id = AMQP_BASIC_CLASS;
    header.payload.properties.decoded = &none;
    if (mg_link_send(&publisher->link, AMQP_BASIC_PUBLISH_METHOD, &method)) {
        (void)mg_link_send_frame(&publisher->link, &header); /* if lost: the next connection does */
    }
}

static void publish_probe(struct mg_publisher *publisher)
{
    if (publisher->is_probing || !mg_link_has_room(&publisher->link, HEAD_BYTES)) {
        return;
    }
    publisher->is_probing = true;
    publish_ask(publisher, publisher->doubted, true);
}

/* Only the probe was sent. Either answer proves that the exchange accepts publishes. */
static void publish_take_probe(struct mg_publisher *publisher, const amqp_method_t *method)
{
    if (method->id != AMQP_BASIC_ACK_METHOD && method->id != AMQP_BASIC_NACK_METHOD) {
        return;
    }
    publisher->is_doubted = false;
    publisher->link.base->changed(publisher->link.base->arg);
    if (publisher->link.is_open) {
        publish_flush(publisher);
    }
}

/* ---- answers of the broker ---- */

static bool is_answer_awaited(const struct mg_publisher *publisher)
{
    return publisher->awaited_boot_ms > publisher->link.received_boot_ms;
}

/* A sent or half-sent message serves as a probe too; no probe may begin within one. */
void mg_broker_probe(struct mg_broker *broker, const char *exchange)
{
    struct mg_publisher *publisher = &broker->publishing.main;
    struct mg_link *link = &publisher->link;
    if (!link->is_open || link->is_blocked || publisher->is_doubted || is_answer_awaited(publisher)) {
        return;
    }
    publisher->awaited_boot_ms = mg_clock_boot_ms();
    if (first_of(publisher) != NULL) {
        return;
    }
    mg_broker_enter(&broker->base);
    if (mg_link_has_room(link, HEAD_BYTES)) {
        publish_ask(publisher, exchange, false);
    }
    mg_broker_leave(&broker->base);
}

bool mg_broker_is_silent(const struct mg_broker *broker)
{
    const struct mg_publisher *publisher = &broker->publishing.main;
    return publisher->link.is_open && is_answer_awaited(publisher) &&
           mg_clock_boot_ms() - publisher->awaited_boot_ms > SILENT_MAX_MS;
}

/* ---- outcomes ---- */

static void publish_take_confirm(struct mg_publisher *publisher, uint64_t tag, bool is_multiple,
                                 enum mg_publish_outcome outcome)
{
    if (!is_multiple) {
        struct mg_outgoing *message = publisher->ring[tag % MG_RING_SIZE];
        if (message != NULL && message->tag == tag) { /* else it has timed out */
            mg_publish_settle(publisher, message, outcome);
        }
        return;
    }
    /* Tag 0 covers all. Sent messages stand in front, in order. */
    uint64_t generation = publisher->link.generation;
    while (first_of(publisher) != NULL && first_of(publisher)->state == MG_OUTGOING_SENT &&
           (tag == 0 || first_of(publisher)->tag <= tag) && publisher->link.is_open &&
           generation == publisher->link.generation) {
        mg_publish_settle(publisher, first_of(publisher), outcome);
    }
}

static void publish_method(struct mg_link *link, const amqp_method_t *method)
{
    struct mg_publisher *publisher = link->owner;
    if (publisher->is_doubted) {
        publish_take_probe(publisher, method);
        return;
    }
    if (method->id == AMQP_BASIC_ACK_METHOD) {
        const amqp_basic_ack_t *ack = method->decoded;
        publish_take_confirm(publisher, ack->delivery_tag, ack->multiple, MG_PUBLISH_CONFIRMED);
    } else if (method->id == AMQP_BASIC_NACK_METHOD) {
        const amqp_basic_nack_t *nack = method->decoded;
        publish_take_confirm(publisher, nack->delivery_tag, nack->multiple, MG_PUBLISH_REFUSED);
    } else {
        return;
    }
    if (link->is_open && publisher->line.unsent != NULL) {
        mg_idle_arm(publisher->flush); /* the ring may have been full */
    }
}

static void publish_header(struct mg_link *link, const amqp_method_t *method,
                           const amqp_basic_properties_t *properties, uint64_t body_size)
{
    (void)body_size;
    if (method->id != AMQP_BASIC_RETURN_METHOD) {
        return;
    }
    uint64_t tag = (uint64_t)mg_amqp_header_number(properties, MG_HEADER_PUBLISH);
    struct mg_outgoing *message = ((const struct mg_publisher *)link->owner)->ring[tag % MG_RING_SIZE];
    if (message != NULL && message->tag == tag) {
        message->is_returned = true;
    }
}

static void publish_body(struct mg_link *link, amqp_bytes_t piece)
{
    (void)link;
    (void)piece; /* our own message, returned */
}

static void publish_complete(struct mg_link *link)
{
    (void)link;
}

/* Sent messages may or may not have arrived: they end as unknown. Waiting ones wait for the next
 * connection. */
static void publish_lost(struct mg_link *link)
{
    struct mg_publisher *publisher = link->owner;
    publisher->next_tag = 1;
    publisher->is_probing = false;
    publisher->awaited_boot_ms = 0;
    memset(publisher->ring, 0, sizeof(publisher->ring));
    while (first_of(publisher) != NULL && first_of(publisher)->tag != 0) {
        mg_publish_settle(publisher, first_of(publisher), MG_PUBLISH_UNKNOWN);
    }
}
