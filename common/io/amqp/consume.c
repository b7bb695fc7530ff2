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
static void consume_next(struct mg_consuming *consuming);
static void consume_on_timer(void *arg);
static int consume_tag_index(const struct mg_consuming *consuming, amqp_bytes_t tag);

static const struct mg_link_events consume_events = {
    .opened = consume_opened,
    .lost = consume_lost,
    .method = consume_method,
    .header = consume_header,
    .body = consume_body,
    .complete = consume_complete,
    .writable = consume_writable,
};

enum mg_class mg_consume_init(struct mg_consuming *consuming, struct mg_metrics *metrics, struct mg_err *err)
{
    consuming->deliveries = mg_metrics_series(metrics, MG_COUNTER, "makegood_deliveries_total", NULL,
                                              "Messages that came from the broker.");
    consuming->redeliveries = mg_metrics_series(metrics, MG_COUNTER, "makegood_redeliveries_total", NULL,
                                                "Messages that the broker had delivered before.");
    consuming->passed =
        mg_metrics_series(metrics, MG_COUNTER, "makegood_passed_total", NULL,
                          "Messages given back unread, because the memory for those in hand had no room.");
    consuming->reconsume = mg_timer_create(consuming->base->loop, consume_on_timer, consuming);
    if (consuming->reconsume == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare consuming: no memory");
    }
    struct mg_link *link = &consuming->link;
    enum mg_class class = mg_link_init(link, consuming->base, "consume", &consume_events, consuming, err);
    for (int i = 0; i < consuming->consumer_count; i++) {
        link->queues[link->queue_count++] = consuming->consumers[i].queue;
    }
    return class;
}

void mg_consume_finish(struct mg_consuming *consuming)
{
    mg_link_finish(&consuming->link);
    mg_timer_destroy(consuming->reconsume);
    consuming->reconsume = NULL;
}

void mg_broker_consume_private(struct mg_broker *broker, uint16_t prefetch,
                               void (*named)(void *arg, int consumer, const char *queue), void *arg)
{
    if (broker->consuming.named != NULL || broker->consuming.consumer_count >= MG_CONSUMER_SLOTS) {
        return; /* there is one private queue */
    }
    broker->consuming.consumers[broker->consuming.consumer_count++] =
        (struct mg_consumer_slot){.prefetch = prefetch,
                                  .body_max_bytes = broker->consuming.body_max_bytes,
                                  .is_private = true,
                                  .is_wanted = true,
                                  .is_awaited = true};
    broker->consuming.named = named;
    broker->consuming.named_arg = arg;
    mg_link_start(&broker->consuming.link);
}

void mg_broker_pause(struct mg_broker *broker, int consumer)
{
    if (consumer < 0 || consumer >= broker->consuming.consumer_count) {
        return;
    }
    broker->consuming.consumers[consumer].is_wanted = false;
    broker->consuming.consumers[consumer].is_awaited = false;
    mg_timer_start(broker->consuming.reconsume, 0, 0); /* deferred: no callback runs within the caller */
}

void mg_broker_resume(struct mg_broker *broker, int consumer, uint16_t prefetch)
{
    if (consumer < 0 || consumer >= broker->consuming.consumer_count) {
        return;
    }
    broker->consuming.consumers[consumer].prefetch = prefetch > 0 ? prefetch : 1;
    broker->consuming.consumers[consumer].is_wanted = true;
    mg_timer_start(broker->consuming.reconsume, 0, 0);
}

bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer)
{
    const struct mg_consumer_slot *slot = &broker->consuming.consumers[consumer];
    return !slot->is_wanted && slot->state == MG_CONSUMER_OFF;
}

size_t mg_broker_held_bytes(const struct mg_broker *broker, int consumer)
{
    return broker->consuming.consumers[consumer].held_bytes;
}

void mg_broker_set_rank(struct mg_broker *broker, int64_t rank)
{
    if (broker->consuming.rank == rank) {
        return;
    }
    broker->consuming.rank = rank;
    mg_timer_start(broker->consuming.reconsume, 0, 0);
}

int mg_broker_prefetch(const struct mg_broker *broker, int consumer)
{
    const struct mg_consumer_slot *slot = &broker->consuming.consumers[consumer];
    bool is_on = slot->state == MG_CONSUMER_ON && slot->is_wanted && !slot->is_full;
    return is_on ? slot->prefetch_sent : 0;
}

void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    mg_acks_settle(&broker->consuming, delivery, MG_ACKED);
}

int mg_broker_unsent_acks(const struct mg_broker *broker, int consumer)
{
    return broker->consuming.consumers[consumer].unsent_acks;
}

void mg_broker_reject(struct mg_broker *broker, struct mg_delivery *delivery)
{
    mg_acks_settle(&broker->consuming, delivery, MG_REJECTED);
}

void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery)
{
    mg_acks_settle(&broker->consuming, delivery, MG_REQUEUED);
}

/* ---- the connection ---- */

static void consume_opened(struct mg_link *link)
{
    struct mg_consuming *consuming = link->owner;
    for (int i = 0; i < consuming->consumer_count; i++) {
        consuming->consumers[i].is_awaited = consuming->consumers[i].is_wanted;
    }
    consume_next(consuming);
}

static void consume_lost(struct mg_link *link)
{
    struct mg_consuming *consuming = link->owner;
    mg_acks_forget(consuming);
    for (int i = 0; i < consuming->consumer_count; i++) {
        struct mg_consumer_slot *slot = &consuming->consumers[i];
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
    mg_acks_flush(link->owner);
    consume_next(link->owner);
}

static void consume_on_timer(void *arg)
{
    struct mg_consuming *consuming = arg;
    mg_broker_enter(consuming->base);
    consume_next(consuming);
    mg_broker_leave(consuming->base);
}

/* No two consumers of a connection share a tag. If a restarted consumer reuses the tag while old deliveries
 * are unsettled, quorum queues assume that messages were lost on the way. RabbitMQ 3.10 then fails while it
 * looks for them and ends the connection, which counts as one more delivery of each. */
static void consume_tag(int index, uint32_t round, char ret_tag[TAG_SIZE])
{
    (void)snprintf(ret_tag, TAG_SIZE, "mg-%d-%" PRIu32, index, round);
}

static bool consume_start(struct mg_consuming *consuming, int index)
{
    struct mg_consumer_slot *slot = &consuming->consumers[index];
    struct mg_link *link = &consuming->link;
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
        .value = {.kind = AMQP_FIELD_KIND_I64, .value = {.i64 = consuming->rank}},
    };
    consume.arguments = (amqp_table_t){.num_entries = 1, .entries = &priority};
    slot->state = MG_CONSUMER_STARTING;
    slot->given = 0;
    slot->prefetch_sent = prefetch;
    slot->rank_sent = consuming->rank;
    return mg_link_send(link, AMQP_BASIC_QOS_METHOD, &qos) &&
           mg_link_send(link, AMQP_BASIC_CONSUME_METHOD, &consume);
}

static bool consume_stop(struct mg_consuming *consuming, int index)
{
    char tag[TAG_SIZE];
    consume_tag(index, consuming->consumers[index].round, tag);
    amqp_basic_cancel_t cancel = {.consumer_tag = amqp_cstring_bytes(tag)};
    consuming->consumers[index].state = MG_CONSUMER_STOPPING;
    mg_idle_arm(consuming->acks.flush); /* acks may have waited for the stop */
    return mg_link_send(&consuming->link, AMQP_BASIC_CANCEL_METHOD, &cancel);
}

/* Sends the next request, if none is waiting for its answer. */
static void consume_next(struct mg_consuming *consuming)
{
    struct mg_link *link = &consuming->link;
    if (!link->is_open || link->answer_by_boot_ms != 0) {
        return;
    }
    int64_t now = mg_clock_boot_ms();
    for (int i = 0; i < consuming->consumer_count; i++) {
        struct mg_consumer_slot *slot = &consuming->consumers[i];
        bool is_on = slot->state == MG_CONSUMER_ON;
        /* Prefetch and rank cannot change under a consumer: the old one is stopped, and a new one started. */
        bool is_outdated = is_on && (slot->prefetch_sent > mg_room_prefetch(slot) ||
                                     mg_room_is_outgrown(slot) || slot->rank_sent != consuming->rank);
        bool is_wanted = slot->is_wanted && !slot->is_full;
        if (is_on == is_wanted && !is_outdated) {
            continue;
        }
        if (!is_on && slot->not_before_boot_ms > now) {
            mg_timer_start(consuming->reconsume, slot->not_before_boot_ms - now, 0);
            continue;
        }
        if (mg_link_has_room(link, QUESTION_BYTES) &&
            (is_on ? consume_stop(consuming, i) : consume_start(consuming, i))) {
            mg_link_asked(link);
        }
        return;
    }
}

/* ---- answers ---- */

/* The slot that sent the request of this answer; NULL: no such request. */
static struct mg_consumer_slot *consume_asked(struct mg_consuming *consuming, enum mg_consumer_state state,
                                              int index)
{
    bool is_ours = index >= 0 && consuming->consumers[index].state == state;
    return is_ours ? &consuming->consumers[index] : NULL;
}

static bool consume_take_name(struct mg_consuming *consuming, const amqp_queue_declare_ok_t *ok)
{
    for (int i = 0; i < consuming->consumer_count; i++) {
        struct mg_consumer_slot *slot = &consuming->consumers[i];
        if (slot->state != MG_CONSUMER_NAMING) {
            continue;
        }
        slot->state = MG_CONSUMER_OFF;
        slot->queue = strndup(ok->queue.bytes, ok->queue.len);
        if (slot->queue == NULL) {
            mg_link_fail(&consuming->link, MG_TROUBLE_UNREACHABLE, "no memory");
        }
        return true;
    }
    return false;
}

static void consume_take_cancel(struct mg_link *link, const amqp_basic_cancel_t *cancel)
{
    struct mg_consuming *consuming = link->owner;
    int index = consume_tag_index(consuming, cancel->consumer_tag);
    if (index < 0) {
        return;
    }
    struct mg_consumer_slot *slot = &consuming->consumers[index];
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
    mg_acks_give_back_passed(consuming, index);
    if (slot->state == MG_CONSUMER_ON) {
        slot->state = MG_CONSUMER_OFF; /* else the answer to a request of ours is still to come */
    }
    slot->is_awaited = true;
    slot->not_before_boot_ms = mg_clock_boot_ms() + CANCELLED_PAUSE_MS;
    consuming->base->changed(consuming->base->arg);
}

static void consume_method(struct mg_link *link, const amqp_method_t *method)
{
    struct mg_consuming *consuming = link->owner;
    struct mg_consumer_slot *slot;
    int index;
    switch (method->id) {
    case AMQP_QUEUE_DECLARE_OK_METHOD:
        if (!consume_take_name(consuming, method->decoded)) {
            return;
        }
        break;
    case AMQP_BASIC_CONSUME_OK_METHOD:
        index =
            consume_tag_index(consuming, ((const amqp_basic_consume_ok_t *)method->decoded)->consumer_tag);
        slot = consume_asked(consuming, MG_CONSUMER_STARTING, index);
        if (slot == NULL) {
            return;
        }
        bool is_named = slot->is_private && slot->is_awaited;
        slot->state = MG_CONSUMER_ON;
        slot->lost_since_boot_ms = 0;
        slot->is_awaited = false;
        if (is_named) {
            consuming->named(consuming->named_arg, index, slot->queue);
        }
        break;
    case AMQP_BASIC_CANCEL_OK_METHOD:
        index = consume_tag_index(consuming, ((const amqp_basic_cancel_ok_t *)method->decoded)->consumer_tag);
        slot = consume_asked(consuming, MG_CONSUMER_STOPPING, index);
        if (slot == NULL) {
            return;
        }
        slot->state = MG_CONSUMER_OFF;
        mg_acks_give_back_passed(consuming, index);
        break;
    case AMQP_BASIC_CANCEL_METHOD:
        consume_take_cancel(link, method->decoded);
        consume_next(consuming);
        return;
    default: /* qos-ok, and methods of newer brokers */
        return;
    }
    if (!link->is_open) {
        return;
    }
    mg_link_answered(link);
    consume_next(consuming);
    consuming->base->changed(consuming->base->arg);
}

/* ---- consumers that the broker forgot ---- */

/* A new connection resets the state of this check. */
void mg_consume_seen(void *arg, const char *queue, int64_t consumers)
{
    struct mg_consuming *consuming = arg;
    int64_t now = mg_clock_boot_ms();
    for (int i = 0; i < consuming->consumer_count; i++) {
        struct mg_consumer_slot *slot = &consuming->consumers[i];
        if (slot->is_private || strcmp(slot->queue, queue) != 0) {
            continue;
        }
        bool is_missing = slot->state == MG_CONSUMER_ON && consumers <= 0;
        if (!is_missing || slot->lost_since_boot_ms == 0) {
            slot->lost_since_boot_ms = is_missing ? now : 0;
        } else if (now - slot->lost_since_boot_ms >= LOST_MS) {
            slot->lost_since_boot_ms = 0;
            mg_link_fail(&consuming->link, MG_TROUBLE_UNREACHABLE,
                         "the broker has forgotten the consumer of %s", queue);
        }
    }
}

/* ---- deliveries ---- */

static void consume_header(struct mg_link *link, const amqp_method_t *method,
                           const amqp_basic_properties_t *properties, uint64_t body_size)
{
    struct mg_consuming *consuming = link->owner;
    if (method->id != AMQP_BASIC_DELIVER_METHOD) {
        return;
    }
    const amqp_basic_deliver_t *deliver = method->decoded;
    if (deliver->delivery_tag <= consuming->acks.last_tag) { /* a `multiple` ack would cover others */
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "delivery %" PRIu64 " came behind %" PRIu64,
                     deliver->delivery_tag, consuming->acks.last_tag);
        return;
    }
    consuming->acks.last_tag = deliver->delivery_tag;
    int index = consume_tag_index(consuming, deliver->consumer_tag);
    struct mg_consumer_slot *slot = index >= 0 ? &consuming->consumers[index] : NULL;
    size_t body_max = slot != NULL ? slot->body_max_bytes : consuming->body_max_bytes;
    bool is_oversized = body_size > mg_acks_body_max(body_max, method->decoded, properties);
    bool is_kept = !is_oversized && (slot == NULL || mg_room_takes(slot, (size_t)body_size));
    struct mg_delivery *delivery =
        mg_acks_begin(consuming, index, deliver, properties, is_kept ? (size_t)body_size : 0);
    if (delivery == NULL) {
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "no memory for a message of %" PRIu64 " bytes", body_size);
        return;
    }
    delivery->is_oversized = is_oversized;
    delivery->arrived_boot_ms = mg_clock_boot_ms();
    if (slot != NULL) {
        mg_room_note_size(consuming, slot, is_oversized ? 0 : body_size);
        mg_room_guess(slot);
    }
    if (slot != NULL && mg_room_is_outgrown(slot)) {
        mg_timer_start(consuming->reconsume, 0, 0);
    }
    if (is_kept || is_oversized) {
        return;
    }
    mg_acks_pass(consuming);
    mg_metric_add(consuming->passed, 1);
    slot->is_full = true;
    mg_timer_start(consuming->reconsume, 0, 0);
}

static void consume_body(struct mg_link *link, amqp_bytes_t piece)
{
    mg_acks_append(link->owner, piece);
}

static void consume_complete(struct mg_link *link)
{
    struct mg_consuming *consuming = link->owner;
    struct mg_delivery *delivery = mg_acks_complete(consuming);
    if (delivery == NULL) {
        return;
    }
    mg_metric_add(consuming->deliveries, 1);
    if (delivery->is_redelivered) {
        mg_metric_add(consuming->redeliveries, 1);
    }
    if (delivery->consumer < 0) { /* cannot happen: every consumer is one of ours */
        mg_link_fail(link, MG_TROUBLE_UNREACHABLE, "a message came for an unknown consumer");
        mg_acks_settle(consuming, delivery, MG_REQUEUED);
        return;
    }
    consuming->on_delivery(consuming->arg, delivery);
}

/* The slot, in any round: deliveries on their way still arrive after the next round has begun. */
static int consume_tag_index(const struct mg_consuming *consuming, amqp_bytes_t tag)
{
    char start[TAG_SIZE];
    for (int i = 0; i < consuming->consumer_count; i++) {
        size_t len = (size_t)snprintf(start, sizeof(start), "mg-%d-", i);
        if (tag.len > len && memcmp(tag.bytes, start, len) == 0) {
            return i;
        }
    }
    return -1;
}
