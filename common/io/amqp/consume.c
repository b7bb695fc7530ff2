/*
 * Consuming. One function drives each consumer slot from its actual to its wanted state. It sends one request
 * at a time on the one channel (declare the private queue, set the prefetch, consume, cancel). So connect,
 * pause, resume and a cancel by the broker share the same code. Deliveries are put together here and passed
 * on whole.
 *
 * A body above the limit is read and dropped; the delivery is marked oversized, and the receiver decides.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "io/amqp/broker_parts.h"

#define TAG_SIZE           32
#define CANCELLED_PAUSE_MS 1000 /* after the broker cancelled a consumer (its queue moves or is gone) */
#define QUESTION_BYTES     1024 /* more than any request of this file */
#define LOOK_MS            5000
/* A queue that shows no consumer for this long, though this process consumes it, has lost ours. It is longer
 * than the election of a queue's leader: without a leader, or with a slow one, RabbitMQ reports no
 * consumers. */
#define LOST_MS 30000

static void consume_opened(struct mg_link *link);
static void consume_lost(struct mg_link *link);
static void consume_method(struct mg_link *link, const amqp_method_t *method);
static void consume_header(struct mg_link *link, const amqp_method_t *method,
                           const amqp_basic_properties_t *properties, uint64_t body_size);
static void consume_body(struct mg_link *link, amqp_bytes_t piece);
static void consume_complete(struct mg_link *link);
static void consume_writable(struct mg_link *link);
static void consume_next(struct mg_broker *broker);
static void consume_on_timer(void *arg);
static int consume_tag_index(const struct mg_broker *broker, amqp_bytes_t tag);

static const struct mg_link_events consume_events = {
    .opened = consume_opened,
    .lost = consume_lost,
    .method = consume_method,
    .header = consume_header,
    .body = consume_body,
    .complete = consume_complete,
    .writable = consume_writable,
};

enum mg_class mg_consume_init(struct mg_broker *broker, struct mg_err *err)
{
    broker->reconsume = mg_timer_create(broker->loop, consume_on_timer, broker);
    if (broker->reconsume == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare consuming: no memory");
    }
    struct mg_link *link = &broker->consume;
    enum mg_class class = mg_link_init(link, broker, "consume", &consume_events, err);
    for (int i = 0; i < broker->consumer_count; i++) {
        link->queues[link->queue_count++] = broker->consumers[i].queue;
    }
    for (int i = 0; i < broker->check_count && broker->consumer_count > 0; i++) {
        link->queues[link->queue_count++] = broker->check_queues[i];
    }
    return class;
}

void mg_consume_finish(struct mg_broker *broker)
{
    mg_link_finish(&broker->consume);
    mg_timer_destroy(broker->reconsume);
    broker->reconsume = NULL;
}

void mg_broker_consume_private(struct mg_broker *broker, uint16_t prefetch,
                               void (*named)(void *arg, int consumer, const char *queue), void *arg)
{
    if (broker->named != NULL || broker->consumer_count >= MG_CONSUMER_SLOTS) {
        return; /* there is one private queue */
    }
    broker->consumers[broker->consumer_count++] =
        (struct mg_consumer_slot){.prefetch = prefetch,
                                  .body_max_bytes = broker->body_max_bytes,
                                  .is_private = true,
                                  .is_wanted = true,
                                  .is_awaited = true};
    broker->named = named;
    broker->named_arg = arg;
    mg_link_start(&broker->consume);
}

void mg_broker_pause(struct mg_broker *broker, int consumer)
{
    if (consumer < 0 || consumer >= broker->consumer_count) {
        return;
    }
    broker->consumers[consumer].is_wanted = false;
    broker->consumers[consumer].is_awaited = false;
    mg_timer_start(broker->reconsume, 0, 0); /* deferred: no callback runs within the caller */
}

void mg_broker_resume(struct mg_broker *broker, int consumer, uint16_t prefetch)
{
    if (consumer < 0 || consumer >= broker->consumer_count) {
        return;
    }
    broker->consumers[consumer].prefetch = prefetch > 0 ? prefetch : 1;
    broker->consumers[consumer].is_wanted = true;
    mg_timer_start(broker->reconsume, 0, 0);
}

bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer)
{
    const struct mg_consumer_slot *slot = &broker->consumers[consumer];
    return !slot->is_wanted && slot->state == MG_CONSUMER_OFF;
}

size_t mg_broker_held_bytes(const struct mg_broker *broker, int consumer)
{
    return broker->consumers[consumer].held_bytes;
}

void mg_broker_set_rank(struct mg_broker *broker, int64_t rank)
{
    if (broker->rank == rank) {
        return;
    }
    broker->rank = rank;
    mg_timer_start(broker->reconsume, 0, 0);
}

/* ---- the connection ---- */

static void consume_opened(struct mg_link *link)
{
    for (int i = 0; i < link->broker->consumer_count; i++) {
        link->broker->consumers[i].is_awaited = link->broker->consumers[i].is_wanted;
    }
    consume_next(link->broker);
}

static void consume_lost(struct mg_link *link)
{
    struct mg_broker *broker = link->broker;
    mg_acks_forget(broker);
    for (int i = 0; i < broker->consumer_count; i++) {
        struct mg_consumer_slot *slot = &broker->consumers[i];
        slot->state = MG_CONSUMER_OFF;
        slot->is_full = false;
        slot->not_before_boot_ms = 0;
        if (slot->is_private) {
            free(slot->queue);
            slot->queue = NULL;
        }
    }
}

static void consume_writable(struct mg_link *link)
{
    mg_acks_flush(link->broker);
    consume_next(link->broker);
}

static void consume_on_timer(void *arg)
{
    struct mg_broker *broker = arg;
    mg_broker_enter(broker);
    consume_next(broker);
    mg_broker_leave(broker);
}

/* No two consumers of a connection share a tag. If a restarted consumer reuses the tag while old deliveries
 * are unsettled, quorum queues assume that messages were lost on the way. RabbitMQ 3.10 then fails while it
 * looks for them and ends the connection, which counts as one more delivery of each. */
static void consume_tag(int index, uint32_t round, char ret_tag[TAG_SIZE])
{
    (void)snprintf(ret_tag, TAG_SIZE, "mg-%d-%" PRIu32, index, round);
}

static bool consume_start(struct mg_broker *broker, int index)
{
    struct mg_consumer_slot *slot = &broker->consumers[index];
    struct mg_link *link = &broker->consume;
    char tag[TAG_SIZE];
    if (slot->is_private && slot->queue == NULL) {
        amqp_queue_declare_t declare = {.queue = amqp_cstring_bytes(""), .exclusive = 1, .auto_delete = 1};
        slot->state = MG_CONSUMER_NAMING;
        return mg_link_send(link, AMQP_QUEUE_DECLARE_METHOD, &declare);
    }
    consume_tag(index, ++slot->round, tag);
    /* Not global: it applies to the next consumer. The broker answers both requests in order. */
    uint16_t prefetch = mg_room_prefetch(slot);
    amqp_basic_qos_t qos = {.prefetch_count = prefetch};
    amqp_basic_consume_t consume = {.queue = amqp_cstring_bytes(slot->queue),
                                    .consumer_tag = amqp_cstring_bytes(tag)};
    amqp_table_entry_t priority = {
        .key = amqp_cstring_bytes("x-priority"),
        .value = {.kind = AMQP_FIELD_KIND_I64, .value = {.i64 = broker->rank}},
    };
    consume.arguments = (amqp_table_t){.num_entries = 1, .entries = &priority};
    slot->state = MG_CONSUMER_STARTING;
    slot->given = 0;
    slot->prefetch_sent = prefetch;
    slot->rank_sent = broker->rank;
    return mg_link_send(link, AMQP_BASIC_QOS_METHOD, &qos) &&
           mg_link_send(link, AMQP_BASIC_CONSUME_METHOD, &consume);
}

static bool consume_stop(struct mg_broker *broker, int index)
{
    char tag[TAG_SIZE];
    consume_tag(index, broker->consumers[index].round, tag);
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes(tag)};
    broker->consumers[index].state = MG_CONSUMER_STOPPING;
    mg_idle_arm(broker->acks.flush); /* acks may have waited for the stop */
    return mg_link_send(&broker->consume, AMQP_BASIC_CANCEL_METHOD, &cancel);
}

/* Sends the next request, if none is waiting for its answer. */
static void consume_next(struct mg_broker *broker)
{
    struct mg_link *link = &broker->consume;
    if (!link->is_open || link->answer_by_boot_ms != 0) {
        return;
    }
    int64_t now = mg_clock_boot_ms();
    for (int i = 0; i < broker->consumer_count; i++) {
        struct mg_consumer_slot *slot = &broker->consumers[i];
        bool is_on = slot->state == MG_CONSUMER_ON;
        /* Prefetch and rank cannot change under a consumer: the old one is stopped, and a new one started. */
        bool is_outdated = is_on && (slot->prefetch_sent > mg_room_prefetch(slot) ||
                                     mg_room_is_outgrown(slot) || slot->rank_sent != broker->rank);
        bool is_wanted = slot->is_wanted && !slot->is_full;
        if (is_on == is_wanted && !is_outdated) {
            continue;
        }
        if (!is_on && slot->not_before_boot_ms > now) {
            mg_timer_start(broker->reconsume, slot->not_before_boot_ms - now, 0);
            continue;
        }
        if (mg_link_has_room(link, QUESTION_BYTES) &&
            (is_on ? consume_stop(broker, i) : consume_start(broker, i))) {
            mg_link_asked(link);
        }
        return;
    }
}

/* ---- answers ---- */

/* The slot that sent the request of this answer; NULL: no such request. */
static struct mg_consumer_slot *consume_asked(struct mg_broker *broker, enum mg_consumer_state state,
                                              int index)
{
    bool is_ours = index >= 0 && broker->consumers[index].state == state;
    return is_ours ? &broker->consumers[index] : NULL;
}

static bool consume_take_name(struct mg_broker *broker, const amqp_queue_declare_ok_t *ok)
{
    for (int i = 0; i < broker->consumer_count; i++) {
        struct mg_consumer_slot *slot = &broker->consumers[i];
        if (slot->state != MG_CONSUMER_NAMING) {
            continue;
        }
        slot->state = MG_CONSUMER_OFF;
        slot->queue = strndup(ok->queue.bytes, ok->queue.len);
        if (slot->queue == NULL) {
            mg_link_fail(&broker->consume, MG_TROUBLE_UNREACHABLE, "no memory");
        }
        return true;
    }
    return false;
}

static void consume_take_cancel(struct mg_link *link, const amqp_basic_cancel_t *cancel)
{
    struct mg_broker *broker = link->broker;
    int index = consume_tag_index(broker, cancel->consumer_tag);
    if (index < 0) {
        return;
    }
    struct mg_consumer_slot *slot = &broker->consumers[index];
    amqp_basic_cancel_ok_t ok = {.consumer_tag = cancel->consumer_tag};
    if (!cancel->nowait && mg_link_has_room(link, QUESTION_BYTES) &&
        !mg_link_send(link, AMQP_BASIC_CANCEL_OK_METHOD, &ok)) {
        return;
    }
    if (slot->is_private) { /* its queue is gone: a new queue has a new name, so a new connection is made */
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "the private queue is gone");
        return;
    }
    (void)snprintf(link->reason, sizeof(link->reason), "the broker cancelled the consumer of %s",
                   slot->queue);
    mg_acks_give_back_passed(broker, index);
    if (slot->state == MG_CONSUMER_ON) {
        slot->state = MG_CONSUMER_OFF; /* else the answer to a request of ours is still to come */
    }
    slot->is_awaited = true;
    slot->not_before_boot_ms = mg_clock_boot_ms() + CANCELLED_PAUSE_MS;
    mg_broker_state_changed(broker);
}

static void consume_method(struct mg_link *link, const amqp_method_t *method)
{
    struct mg_broker *broker = link->broker;
    struct mg_consumer_slot *slot;
    int index;
    switch (method->id) {
    case AMQP_QUEUE_DECLARE_OK_METHOD:
        if (!consume_take_name(broker, method->decoded)) {
            return;
        }
        break;
    case AMQP_BASIC_CONSUME_OK_METHOD:
        index = consume_tag_index(broker, ((const amqp_basic_consume_ok_t *)method->decoded)->consumer_tag);
        slot = consume_asked(broker, MG_CONSUMER_STARTING, index);
        if (slot == NULL) {
            return;
        }
        bool is_named = slot->is_private && slot->is_awaited;
        slot->state = MG_CONSUMER_ON;
        slot->lost_since_boot_ms = 0;
        slot->is_awaited = false;
        if (is_named) {
            broker->named(broker->named_arg, index, slot->queue);
        }
        break;
    case AMQP_BASIC_CANCEL_OK_METHOD:
        index = consume_tag_index(broker, ((const amqp_basic_cancel_ok_t *)method->decoded)->consumer_tag);
        slot = consume_asked(broker, MG_CONSUMER_STOPPING, index);
        if (slot == NULL) {
            return;
        }
        slot->state = MG_CONSUMER_OFF;
        mg_acks_give_back_passed(broker, index);
        break;
    case AMQP_BASIC_CANCEL_METHOD:
        consume_take_cancel(link, method->decoded);
        consume_next(broker);
        return;
    default: /* qos-ok, and methods of newer brokers */
        return;
    }
    if (!link->is_open) {
        return;
    }
    mg_link_answered(link);
    consume_next(broker);
    mg_broker_state_changed(broker);
}

/* ---- consumers that the broker forgot ---- */

/* A new connection resets the state of this check. */
static void consume_seen(struct mg_broker *broker, const char *queue, int64_t consumers)
{
    int64_t now = mg_clock_boot_ms();
    for (int i = 0; i < broker->consumer_count; i++) {
        struct mg_consumer_slot *slot = &broker->consumers[i];
        if (slot->is_private || strcmp(slot->queue, queue) != 0) {
            continue;
        }
        bool is_missing = slot->state == MG_CONSUMER_ON && consumers <= 0;
        if (!is_missing || slot->lost_since_boot_ms == 0) {
            slot->lost_since_boot_ms = is_missing ? now : 0;
        } else if (now - slot->lost_since_boot_ms >= LOST_MS) {
            slot->lost_since_boot_ms = 0;
            mg_link_fail(&broker->consume, MG_TROUBLE_UNREACHABLE,
                         "the broker has forgotten the consumer of %s", queue);
        }
    }
}

enum mg_class mg_consume_watch(struct mg_broker *broker, struct mg_err *err)
{
    enum mg_class class = MG_OK;
    broker->watches.looked = consume_seen;
    for (int i = 0; i < broker->consumer_count && class == MG_OK; i++) {
        const struct mg_consumer_slot *slot = &broker->consumers[i];
        if (!slot->is_private) {
            class = mg_broker_watch_queue(broker, slot->queue, LOOK_MS, NULL, NULL, err);
        }
    }
    return class;
}

/* ---- deliveries ---- */

static void consume_header(struct mg_link *link, const amqp_method_t *method,
                           const amqp_basic_properties_t *properties, uint64_t body_size)
{
    struct mg_broker *broker = link->broker;
    if (method->id != AMQP_BASIC_DELIVER_METHOD) {
        return;
    }
    const amqp_basic_deliver_t *deliver = method->decoded;
    if (deliver->delivery_tag <= broker->acks.last_tag) { /* a `multiple` ack would cover others */
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "delivery %" PRIu64 " came behind %" PRIu64,
                     deliver->delivery_tag, broker->acks.last_tag);
        return;
    }
    broker->acks.last_tag = deliver->delivery_tag;
    int index = consume_tag_index(broker, deliver->consumer_tag);
    struct mg_consumer_slot *slot = index >= 0 ? &broker->consumers[index] : NULL;
    size_t body_max = slot != NULL ? slot->body_max_bytes : broker->body_max_bytes;
    bool is_oversized = body_size > mg_acks_body_max(body_max, method->decoded, properties);
    bool is_kept = !is_oversized && (slot == NULL || mg_room_takes(slot, (size_t)body_size));
    struct mg_delivery *delivery =
        mg_acks_begin(broker, index, deliver, properties, is_kept ? (size_t)body_size : 0);
    if (delivery == NULL) {
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "no memory for a message of %" PRIu64 " bytes", body_size);
        return;
    }
    delivery->is_oversized = is_oversized;
    delivery->arrived_boot_ms = mg_clock_boot_ms();
    if (slot != NULL) {
        mg_room_note_size(broker, slot, is_oversized ? 0 : body_size);
        mg_room_guess(slot);
    }
    if (slot != NULL && mg_room_is_outgrown(slot)) {
        mg_timer_start(broker->reconsume, 0, 0);
    }
    if (is_kept || is_oversized) {
        return;
    }
    mg_acks_pass(broker);
    mg_metric_add(broker->passed, 1);
    slot->is_full = true;
    mg_timer_start(broker->reconsume, 0, 0);
}

static void consume_body(struct mg_link *link, amqp_bytes_t piece)
{
    mg_acks_append(link->broker, piece);
}

static void consume_complete(struct mg_link *link)
{
    struct mg_broker *broker = link->broker;
    struct mg_delivery *delivery = mg_acks_complete(broker);
    if (delivery == NULL) {
        return;
    }
    mg_metric_add(broker->deliveries, 1);
    if (delivery->is_redelivered) {
        mg_metric_add(broker->redeliveries, 1);
    }
    if (delivery->consumer < 0) { /* cannot happen: every consumer is one of ours */
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "a message came for an unknown consumer");
        mg_broker_requeue(broker, delivery);
        return;
    }
    broker->on_delivery(broker->arg, delivery);
}

/* The slot, in any round: deliveries on their way still arrive after the next round has begun. */
static int consume_tag_index(const struct mg_broker *broker, amqp_bytes_t tag)
{
    char start[TAG_SIZE];
    for (int i = 0; i < broker->consumer_count; i++) {
        size_t len = (size_t)snprintf(start, sizeof(start), "mg-%d-", i);
        if (tag.len > len && memcmp(tag.bytes, start, len) == 0) {
            return i;
        }
    }
    return -1;
}
