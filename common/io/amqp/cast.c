/*
 * Casts: a message goes transient and unconfirmed to a fanout exchange, and no queue stores it for absent
 * listeners. Each listener has a queue of its own behind the exchange; the queue ends with its
 * connection. A listener that missed a message gets the next one.
 *
 * Casts have a connection of their own, made at first use: for a missing exchange or right the broker closes
 * this channel and no other. The failure is logged once and retried, and stops no other work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/log.h"
#include "io/amqp/broker_parts.h"
#include "io/amqp/topology.h"

#define REFUSED_PAUSE_MS 10000 /* each request that the broker refuses is an error in its log */
#define QUESTION_BYTES   1024
#define HEAD_BYTES       1024
#define TAG_SIZE         24
/* Bounds the queue of a listener that does not read. Each message replaces the earlier ones, so older ones
 * may go. */
#define LISTENER_QUEUE_LENGTH 16

static void cast_opened(struct mg_link *link);
static void cast_lost(struct mg_link *link);
static void queue_take(struct mg_listener *listener, const amqp_queue_declare_ok_t *made)
{
    struct mg_slice name = mg_amqp_slice(made->queue);
    if (name.len > MG_AMQP_SHORT_MAX) {
        name.len = 0; /* a short string of the protocol is never longer */
    }
    if (name.len > 0) {
        memcpy(listener->queue, name.data, name.len);
    }
    listener->queue[name.len] = '\0';
}

static void cast_method(struct mg_link *link, const amqp_method_t *method);
static void cast_header(struct mg_link *link, const amqp_method_t *method,
                        const amqp_basic_properties_t *properties, uint64_t body_size);
static void cast_body(struct mg_link *link, amqp_bytes_t piece);
static void cast_complete(struct mg_link *link);
static bool cast_channel_closed(struct mg_link *link, const amqp_channel_close_t *close);
static void cast_on_timer(void *arg);

static const struct mg_link_events cast_events = {
    .opened = cast_opened,
    .lost = cast_lost,
    .method = cast_method,
    .header = cast_header,
    .body = cast_body,
    .complete = cast_complete,
    .writable = cast_opened,
    .channel_closed = cast_channel_closed,
};

enum mg_class mg_casts_init(struct mg_cast_part *part, struct mg_broker_base *base, struct mg_err *err)
{
    mg_buf_init(&part->body, MG_CAST_BYTES_MAX);
    part->asked = part->receiving = -1;
    part->retry = mg_timer_create(base->loop, cast_on_timer, part);
    if (part->retry == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare for broadcasts: no memory");
    }
    return mg_link_init(&part->link, base, "cast", &cast_events, part, err);
}

void mg_casts_finish(struct mg_cast_part *part)
{
    mg_link_finish(&part->link);
    mg_timer_destroy(part->retry);
    part->retry = NULL;
    mg_buf_finish(&part->body);
    for (int i = 0; i < part->listener_count; i++) {
        free(part->listeners[i].exchange);
        free(part->listeners[i].prefix);
    }
    part->listener_count = 0;
}

/* ---- listening ---- */

enum mg_class mg_broker_listen(struct mg_broker *broker, const char *exchange, const char *queue_prefix,
                               mg_received_fn *received, void *arg, struct mg_err *err)
{
    struct mg_cast_part *part = &broker->casts;
    if (part->listener_count == MG_LISTENERS_MAX) {
        return mg_err_set(err, MG_PERMANENT,
                          "could not subscribe to exchange %s: already subscribed to %d, the maximum",
                          exchange, MG_LISTENERS_MAX);
    }
    if (strlen(exchange) > MG_AMQP_SHORT_MAX || strlen(queue_prefix) + MG_UUID_SIZE > MG_AMQP_SHORT_MAX) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "could not subscribe to an exchange: its name is longer than %d bytes",
                          MG_AMQP_SHORT_MAX);
    }
    struct mg_listener listener = {
        .exchange = strdup(exchange), .prefix = strdup(queue_prefix), .received = received, .arg = arg};
    if (listener.exchange == NULL || listener.prefix == NULL) {
        free(listener.exchange);
        free(listener.prefix);
        return mg_err_set(err, MG_TRANSIENT, "could not subscribe to exchange %s: no memory", exchange);
    }
    part->listeners[part->listener_count++] = listener;
    mg_link_start(&part->link);
    return MG_OK;
}

static void listener_tag(int index, char ret_tag[TAG_SIZE])
{
    (void)snprintf(ret_tag, TAG_SIZE, "mg-ear-%d", index);
}

/* The broker names the queue (amq.gen-…), and the user's configure right covers only such names. No exchange
 * can have such a name, so an agent cannot make one. Older rights allow only the prefix; then the name must
 * be one that no earlier connection still holds. */
static void listener_name(struct mg_listener *listener, char ret_queue[MG_AMQP_SHORT_MAX + 1])
{
    ret_queue[0] = '\0';
    if (!listener->is_named_here) {
        return;
    }
    char unique[MG_UUID_SIZE];
    mg_uuid_random(unique);
    (void)snprintf(ret_queue, MG_AMQP_SHORT_MAX + 1, "%s%s", listener->prefix, unique);
}

/* A passive declare of the exchange comes first, and needs the right to read it at most. Otherwise a queue
 * that cannot be bound would stay. */
static bool listener_ask(struct mg_link *link, struct mg_listener *listener, int index)
{
    amqp_bytes_t exchange = amqp_cstring_bytes(listener->exchange),
                 queue = amqp_cstring_bytes(listener->queue);
    amqp_table_entry_t length = {
        .key = amqp_cstring_bytes("x-max-length"),
        .value = {.kind = AMQP_FIELD_KIND_I32, .value = {.i32 = LISTENER_QUEUE_LENGTH}}};
    char tag[TAG_SIZE], name[MG_AMQP_SHORT_MAX + 1];
    listener_tag(index, tag);
    listener_name(listener, name);
    amqp_exchange_declare_t find = {.exchange = exchange, .type = amqp_cstring_bytes("fanout"), .passive = 1};
    amqp_queue_declare_t make = {.queue = amqp_cstring_bytes(name),
                                 .exclusive = 1,
                                 .auto_delete = 1,
                                 .arguments = {.num_entries = 1, .entries = &length}};
    amqp_queue_bind_t bind = {.queue = queue, .exchange = exchange};
    amqp_basic_consume_t consume = {
        .queue = queue, .consumer_tag = amqp_cstring_bytes(tag), .no_ack = 1, .exclusive = 1};
    switch (listener->stage) {
    case MG_LISTENER_OFF:
        return mg_link_send(link, AMQP_EXCHANGE_DECLARE_METHOD, &find);
    case MG_LISTENER_FOUND:
        return mg_link_send(link, AMQP_QUEUE_DECLARE_METHOD, &make);
    case MG_LISTENER_MADE:
        return mg_link_send(link, AMQP_QUEUE_BIND_METHOD, &bind);
    case MG_LISTENER_BOUND:
        return mg_link_send(link, AMQP_BASIC_CONSUME_METHOD, &consume);
    case MG_LISTENER_ON:
        break;
    }
    return false;
}

/* Sends the next request, if none is waiting for its answer. */
static void cast_next(struct mg_cast_part *part)
{
    struct mg_link *link = &part->link;
    if (!link->is_open || link->is_reopening || part->asked >= 0) {
        return;
    }
    int64_t now_ms = mg_clock_boot_ms();
    for (int i = 0; i < part->listener_count; i++) {
        struct mg_listener *listener = &part->listeners[i];
        if (listener->stage == MG_LISTENER_ON) {
            continue;
        }
        if (listener->not_before_boot_ms > now_ms) {
            mg_timer_start(part->retry, listener->not_before_boot_ms - now_ms, 0);
            continue;
        }
        if (!mg_link_has_room(link, QUESTION_BYTES)) {
            return;
        }
        part->asked = i;
        if (listener_ask(link, listener, i)) {
            mg_link_asked(link);
        }
        return;
    }
}

static void cast_on_timer(void *arg)
{
    struct mg_cast_part *part = arg;
    mg_broker_enter(part->link.base);
    cast_next(part);
    mg_broker_leave(part->link.base);
}

static void cast_opened(struct mg_link *link)
{
    cast_next(link->owner);
}

/* A consumed queue is deleted by the broker in its own time. One without a consumer is still there, and is
 * bound by its name. */
static void ears_stop(struct mg_cast_part *part)
{
    part->asked = part->receiving = -1;
    for (int i = 0; i < part->listener_count; i++) {
        struct mg_listener *listener = &part->listeners[i];
        if (listener->stage == MG_LISTENER_ON) {
            listener->queue[0] = '\0';
        }
        listener->stage = MG_LISTENER_OFF;
    }
}

static void cast_lost(struct mg_link *link)
{
    struct mg_cast_part *part = link->owner;
    ears_stop(part);
    mg_once_reset(&part->refusal_logged);
    for (int i = 0; i < part->listener_count; i++) {
        part->listeners[i].queue[0] = '\0';
    }
}

static void cast_method(struct mg_link *link, const amqp_method_t *method)
{
    struct mg_cast_part *part = link->owner;
    if (method->id == AMQP_BASIC_CANCEL_METHOD) {
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "the queue for broadcasts was deleted");
        return;
    }
    bool is_answer = method->id == AMQP_EXCHANGE_DECLARE_OK_METHOD ||
                     method->id == AMQP_QUEUE_DECLARE_OK_METHOD || method->id == AMQP_QUEUE_BIND_OK_METHOD ||
                     method->id == AMQP_BASIC_CONSUME_OK_METHOD;
    if (!is_answer || part->asked < 0) {
        return;
    }
    struct mg_listener *listener = &part->listeners[part->asked];
    part->asked = -1;
    mg_link_answered(link);
    if (method->id == AMQP_QUEUE_DECLARE_OK_METHOD) {
        queue_take(listener, method->decoded);
    }
    listener->stage++;
    if (listener->stage == MG_LISTENER_FOUND && listener->queue[0] != '\0') {
        listener->stage = MG_LISTENER_MADE;
    }
    if (listener->stage == MG_LISTENER_ON && mg_once_reset(&listener->refusal_logged)) {
        mg_log(MG_LOG_INFO, "broadcasts are received again", MG_LOG_TEXT("exchange", listener->exchange));
    }
    cast_next(link->owner);
}

/* A refused name is tried once in the other way before the refusal counts, so rights of both kinds work. */
static bool name_otherwise(struct mg_listener *listener, int code)
{
    if (listener->stage == MG_LISTENER_MADE && code == AMQP_NOT_FOUND) {
        listener->queue[0] = '\0'; /* it may be gone */
    }
    if (listener->stage != MG_LISTENER_FOUND || code != AMQP_ACCESS_REFUSED) {
        return false;
    }
    listener->is_named_here = !listener->is_named_here;
    return listener->is_named_here;
}

/* A listener's request or a cast was refused. The refusal is logged once, until one succeeds. */
static bool cast_channel_closed(struct mg_link *link, const amqp_channel_close_t *close)
{
    struct mg_cast_part *part = link->owner;
    int code = close->reply_code;
    if (code != AMQP_NOT_FOUND && code != AMQP_ACCESS_REFUSED) {
        return false;
    }
    struct mg_listener *listener = part->asked >= 0 ? &part->listeners[part->asked] : NULL;
    if (listener != NULL && name_otherwise(listener, code)) {
        mg_link_answered(link);
        ears_stop(part);
        return true;
    }
    int64_t not_before_boot_ms = mg_clock_boot_ms() + REFUSED_PAUSE_MS;
    if (mg_once_set(listener != NULL ? &listener->refusal_logged : &part->refusal_logged)) {
        char why[MG_LINK_REASON_SIZE], advice[MG_ADVICE_SIZE];
        amqp_method_number_t refused = (amqp_method_number_t)close->class_id << 16 | close->method_id;
        mg_amqp_advice(code, refused, close->reply_text, advice);
        (void)snprintf(why, sizeof(why), "%.*s%s",
                       (int)(close->reply_text.len < 255 ? close->reply_text.len : 255),
                       (const char *)close->reply_text.bytes, advice);
        mg_log(MG_LOG_WARN,
               listener != NULL ? "cannot receive broadcasts; the service runs without them, and retries"
                                : "cannot publish broadcasts; publishing is retried",
               MG_LOG_TEXT("exchange", listener != NULL ? listener->exchange : ""), MG_LOG_TEXT("why", why));
    }
    if (listener != NULL) {
        listener->not_before_boot_ms = not_before_boot_ms;
        mg_link_answered(link);
    } else {
        part->not_before_boot_ms = not_before_boot_ms;
    }
    ears_stop(part);
    return true;
}

/* ---- incoming casts ---- */

static void cast_header(struct mg_link *link, const amqp_method_t *method,
                        const amqp_basic_properties_t *properties, uint64_t body_size)
{
    struct mg_cast_part *part = link->owner;
    (void)properties;
    part->receiving = -1;
    mg_buf_clear(&part->body);
    /* not a cast of ours */
    if (method->id != AMQP_BASIC_DELIVER_METHOD || body_size > MG_CAST_BYTES_MAX) {
        return;
    }
    const amqp_basic_deliver_t *deliver = method->decoded;
    for (int i = 0; i < part->listener_count; i++) {
        char tag[TAG_SIZE];
        listener_tag(i, tag);
        if (mg_slice_is(mg_amqp_slice(deliver->consumer_tag), tag) &&
            mg_topology_is_control_of(mg_amqp_slice(deliver->exchange), part->listeners[i].exchange)) {
            part->receiving = i;
        }
    }
}

static void cast_body(struct mg_link *link, amqp_bytes_t piece)
{
    struct mg_cast_part *part = link->owner;
    if (part->receiving >= 0) {
        mg_buf_append(&part->body, piece.bytes, piece.len);
    }
}

static void cast_complete(struct mg_link *link)
{
    struct mg_cast_part *part = link->owner;
    if (part->receiving < 0 || part->body.failed) {
        return; /* no memory: the next cast replaces it */
    }
    const struct mg_listener *listener = &part->listeners[part->receiving];
    part->receiving = -1;
    listener->received(listener->arg, mg_buf_slice(&part->body));
}

/* ---- casting ---- */

void mg_broker_cast(struct mg_broker *broker, const char *exchange, const char *routing_key, const char *type,
                    struct mg_slice body)
{
    struct mg_cast_part *part = &broker->casts;
    struct mg_link *link = &part->link;
    mg_link_start(link);
    if (!link->is_open || link->is_reopening || link->is_blocked || body.len > MG_CAST_BYTES_MAX ||
        mg_clock_boot_ms() < part->not_before_boot_ms || !mg_link_has_room(link, HEAD_BYTES + body.len)) {
        return;
    }
    amqp_basic_properties_t properties = {
        ._flags = AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_TYPE_FLAG,
        .content_type = amqp_cstring_bytes("application/json"),
        .delivery_mode = AMQP_DELIVERY_NONPERSISTENT,
        .type = amqp_cstring_bytes(type),
    };
    amqp_basic_publish_t method = {.exchange = amqp_cstring_bytes(exchange),
                                   .routing_key = amqp_cstring_bytes(routing_key)};
    amqp_frame_t header = {.frame_type = AMQP_FRAME_HEADER, .channel = MG_AMQP_CHANNEL};
    header.payload.properties.class_id = AMQP_BASIC_CLASS;
    header.payload.properties.body_size = body.len;
    header.payload.properties.decoded = &properties;
    amqp_frame_t content = {.frame_type = AMQP_FRAME_BODY, .channel = MG_AMQP_CHANNEL};
    content.payload.body_fragment = mg_amqp_bytes(body);
    mg_link_cork(link, true);
    if (mg_link_send(link, AMQP_BASIC_PUBLISH_METHOD, &method) && mg_link_send_frame(link, &header)) {
        (void)mg_link_send_frame(link, &content); /* lost with its connection: the next cast replaces it */
    }
    mg_link_cork(link, false);
}
