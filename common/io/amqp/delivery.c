/*
 * Deliveries in hand, and their acks, rejects and requeues.
 *
 * An ack with `multiple` covers every tag up to its own. It may only reach to below the first delivery still
 * held; otherwise a crash would lose work in hand. Each ack is an entry in its queue's log, so one `multiple`
 * ack is by far the cheapest. An ack above a delivery still held therefore waits a little for that delivery.
 * It goes out alone after ACK_WAIT_MS, or when its consumer begins to run out of prefetch. A late ack has one
 * cost: after a crash, the deliveries without an ack are redelivered.
 *
 * Tags belong to one connection. A delivery of an earlier connection is only freed: the broker has already
 * redelivered it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "io/amqp/consuming.h"
#include "io/amqp/topology.h"

#define ACK_BYTES   64 /* an ack, nack or reject on the wire is 21 to 30 bytes */
#define ACK_WAIT_MS 20 /* several commits and confirms: deliveries mostly settle in order */

/* Limits of acks_flush: acks given at or before this time go out alone. */
#define ACKED_NEVER  (-1)
#define ACKED_AT_ALL INT64_MAX

struct mg_held {
    struct mg_delivery delivery; /* first: a delivery's address is its holder's */
    TAILQ_ENTRY(mg_held) entry;
    uint64_t tag;
    uint32_t round; /* of its consumer */
    enum mg_disposition disposition;
    bool is_stray;  /* belongs to an earlier connection */
    bool is_passed; /* found no room, so its body was not kept */
    size_t bytes;
    int64_t acked_boot_ms;
    size_t body_capacity;
    char *body;
    char text[]; /* properties, then the body; each ends with NUL */
};

static void acks_on_idle(void *arg);
static void acks_on_timer(void *arg);
static void acks_flush(struct mg_consuming *consuming, int64_t acked_until_boot_ms);

enum mg_class mg_acks_init(struct mg_consuming *consuming, struct mg_err *err)
{
    struct mg_ack_part *acks = &consuming->acks;
    TAILQ_INIT(&acks->held);
    TAILQ_INIT(&acks->refused);
    TAILQ_INIT(&acks->strays);
    acks->flush = mg_idle_create(consuming->base->loop, acks_on_idle, consuming);
    acks->overdue = mg_timer_create(consuming->base->loop, acks_on_timer, consuming);
    if (acks->flush == NULL || acks->overdue == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not prepare acknowledging: no memory");
    }
    return MG_OK;
}

static void held_free(struct mg_consuming *consuming, struct mg_held *held)
{
    if (held == NULL) {
        return;
    }
    int consumer = held->delivery.consumer;
    if (consumer >= 0) {
        consuming->consumers[consumer].held_bytes -= held->bytes;
        mg_room_freed(consuming, consumer);
    }
    free(held);
}

static void held_free_all(struct mg_consuming *consuming, struct mg_held_list *list)
{
    while (!TAILQ_EMPTY(list)) {
        struct mg_held *held = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, held, entry);
        held_free(consuming, held);
    }
}

/* Frees deliveries still held too; the broker redelivers them to another consumer. */
void mg_acks_finish(struct mg_consuming *consuming)
{
    struct mg_ack_part *acks = &consuming->acks;
    acks_flush(consuming, ACKED_AT_ALL);
    mg_acks_forget(consuming);
    held_free_all(consuming, &acks->strays);
    if (acks->flush != NULL) {
        mg_idle_destroy(acks->flush);
    }
    mg_timer_destroy(acks->overdue);
    acks->flush = NULL;
    acks->overdue = NULL;
}

/* ---- arriving ---- */

static struct mg_slice acks_copy(char **at, struct mg_slice text)
{
    if (text.data == NULL) {
        return text;
    }
    char *copy = *at;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *at += text.len + 1;
    return (struct mg_slice){.data = copy, .len = text.len};
}

static struct mg_slice acks_property(const amqp_basic_properties_t *properties, amqp_flags_t flag,
                                     amqp_bytes_t bytes)
{
    return (properties->_flags & flag) == 0 ? (struct mg_slice){0} : mg_amqp_slice(bytes);
}

static uint32_t acks_count(const amqp_basic_properties_t *properties, const char *header)
{
    int64_t count = mg_amqp_header_number(properties, header);
    return count <= 0 ? 0 : count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
}

/* A delivery from the default exchange may be a dead letter sent back: its header names the exchange that
 * proved its sender. Elsewhere the broker names the exchange, and the header is the sender's own. */
static struct mg_slice acks_origin(const amqp_basic_deliver_t *method,
                                   const amqp_basic_properties_t *properties)
{
    struct mg_slice noted =
        method->exchange.len == 0 ? mg_amqp_header_text(properties, MG_HEADER_ORIGIN) : (struct mg_slice){0};
    return noted.data != NULL ? noted : mg_amqp_slice(method->exchange);
}

static bool acks_has_died(const amqp_basic_properties_t *properties)
{
    return (properties->_flags & AMQP_BASIC_HEADERS_FLAG) != 0 &&
           mg_amqp_table_find(&properties->headers, "x-death") != NULL;
}

size_t mg_acks_body_max(size_t body_max_bytes, const amqp_basic_deliver_t *method,
                        const amqp_basic_properties_t *properties)
{
    bool is_forged = acks_has_died(properties) && mg_topology_is_of_one(acks_origin(method, properties));
    return is_forged && body_max_bytes < MG_REQUEUE_BODY_MAX ? MG_REQUEUE_BODY_MAX : body_max_bytes;
}

struct mg_delivery *mg_acks_begin(struct mg_consuming *consuming, int consumer,
                                  const amqp_basic_deliver_t *method,
                                  const amqp_basic_properties_t *properties, size_t body_bytes)
{
    const struct mg_slice texts[] = {
        acks_property(properties, AMQP_BASIC_MESSAGE_ID_FLAG, properties->message_id),
        acks_property(properties, AMQP_BASIC_CORRELATION_ID_FLAG, properties->correlation_id),
        acks_property(properties, AMQP_BASIC_REPLY_TO_FLAG, properties->reply_to),
        acks_property(properties, AMQP_BASIC_TYPE_FLAG, properties->type),
        acks_property(properties, AMQP_BASIC_APP_ID_FLAG, properties->app_id),
        acks_property(properties, AMQP_BASIC_USER_ID_FLAG, properties->user_id),
        mg_amqp_header_text(properties, MG_HEADER_TRACEPARENT),
        acks_origin(method, properties),
        mg_amqp_slice(method->routing_key),
    };
    size_t size = body_bytes + 1;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size += texts[i].len + 1;
    }
    struct mg_held *held = malloc(sizeof(*held) + size);
    if (held == NULL) {
        return NULL;
    }
    *held = (struct mg_held){
        .tag = method->delivery_tag, .body_capacity = body_bytes, .bytes = sizeof(*held) + size};
    held->delivery.consumer = consumer;
    if (consumer >= 0) {
        held->round = consuming->consumers[consumer].round;
        consuming->consumers[consumer].held_bytes += held->bytes;
        consuming->consumers[consumer].given++;
    }

    char *at = held->text;
    struct mg_delivery *delivery = &held->delivery;
    struct mg_slice *const targets[] = {
        &delivery->message_id,  &delivery->correlation_id, &delivery->reply_to,
        &delivery->type,        &delivery->app_id,         &delivery->user_id,
        &delivery->traceparent, &delivery->exchange,       &delivery->routing_key,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *targets[i] = acks_copy(&at, texts[i]);
    }
    held->body = at;
    held->body[0] = '\0';
    if (method->redelivered) { /* on a first delivery the counts are the sender's own headers */
        delivery->delivery_count = acks_count(properties, "x-delivery-count");
        delivery->given_count = acks_count(properties, "x-acquired-count");
    }
    if (delivery->given_count < delivery->delivery_count) {
        delivery->given_count = delivery->delivery_count;
    }
    delivery->is_redelivered =
        method->redelivered || (mg_topology_is_again_believed(mg_amqp_slice(method->exchange)) &&
                                mg_amqp_header_number(properties, MG_HEADER_AGAIN) != 0);
    delivery->has_died = acks_has_died(properties);
    held_free(consuming, consuming->acks.arriving);
    consuming->acks.arriving = held;
    consuming->acks.arrived_bytes = 0;
    return delivery;
}

void mg_acks_append(struct mg_consuming *consuming, amqp_bytes_t piece)
{
    struct mg_ack_part *acks = &consuming->acks;
    struct mg_held *held = acks->arriving;
    if (held == NULL || piece.len == 0 || piece.len > held->body_capacity - acks->arrived_bytes) {
        return; /* oversized: the body is read and dropped */
    }
    memcpy(held->body + acks->arrived_bytes, piece.bytes, piece.len);
    acks->arrived_bytes += piece.len;
}

struct mg_delivery *mg_acks_complete(struct mg_consuming *consuming)
{
    struct mg_ack_part *acks = &consuming->acks;
    struct mg_held *held = acks->arriving;
    if (held == NULL) {
        return NULL;
    }
    acks->arriving = NULL;
    TAILQ_INSERT_TAIL(&acks->held, held, entry); /* a passed one too: no `multiple` ack may cover it */
    if (held->is_passed) {
        return NULL;
    }
    held->body[acks->arrived_bytes] = '\0';
    held->delivery.body = (struct mg_slice){.data = held->body, .len = acks->arrived_bytes};
    return &held->delivery;
}

void mg_acks_pass(struct mg_consuming *consuming)
{
    consuming->acks.arriving->is_passed = true;
}

/* Requeues passed deliveries once the consumer is stopped. Before that the broker would give them to this
 * same consumer again. */
void mg_acks_give_back_passed(struct mg_consuming *consuming, int consumer)
{
    struct mg_ack_part *acks = &consuming->acks;
    struct mg_held *held, *next;
    for (held = TAILQ_FIRST(&acks->held); held != NULL; held = next) {
        next = TAILQ_NEXT(held, entry);
        if (held->is_passed && held->delivery.consumer == consumer) {
            mg_acks_settle(consuming, &held->delivery, MG_REQUEUED);
        }
    }
}

/* ---- giving back ---- */

void mg_acks_settle(struct mg_consuming *consuming, struct mg_delivery *delivery,
                    enum mg_disposition disposition)
{
    struct mg_ack_part *acks = &consuming->acks;
    struct mg_held *held = (struct mg_held *)delivery;
    if (held->is_stray) {
        TAILQ_REMOVE(&acks->strays, held, entry);
        held_free(consuming, held);
        return;
    }
    held->disposition = disposition;
    if (disposition == MG_ACKED) {
        held->acked_boot_ms = mg_clock_boot_ms();
        consuming->consumers[delivery->consumer].unsent_acks++;
        acks->unsent++;
    } else {
        TAILQ_REMOVE(&acks->held, held, entry);
        TAILQ_INSERT_TAIL(&acks->refused, held, entry);
    }
    mg_idle_arm(acks->flush);
}

/* ---- sending acks ---- */

static void acks_on_idle(void *arg)
{
    struct mg_consuming *consuming = arg;
    mg_broker_enter(consuming->base);
    mg_acks_flush(consuming);
    mg_broker_leave(consuming->base);
}

static void acks_on_timer(void *arg)
{
    struct mg_consuming *consuming = arg;
    mg_broker_enter(consuming->base);
    acks_flush(consuming, mg_clock_boot_ms() - ACK_WAIT_MS);
    mg_broker_leave(consuming->base);
}

void mg_acks_flush(struct mg_consuming *consuming)
{
    acks_flush(consuming, ACKED_NEVER);
}

static void held_finish(struct mg_consuming *consuming, struct mg_held_list *list, struct mg_held *held)
{
    int consumer = held->delivery.consumer;
    if (held->disposition == MG_ACKED) {
        consuming->consumers[consumer].unsent_acks--;
        consuming->acks.unsent--;
    }
    if (consumer >= 0 && held->round == consuming->consumers[consumer].round) {
        consuming->consumers[consumer].given--;
    }
    TAILQ_REMOVE(list, held, entry);
    held_free(consuming, held);
}

/* False: no room, or the connection and with it the lists are lost. The functions below return the same. */
static bool acks_send(struct mg_consuming *consuming, const struct mg_held *held, bool is_multiple)
{
    struct mg_link *link = &consuming->link;
    if (!mg_link_has_room(link, ACK_BYTES)) {
        return false;
    }
    amqp_basic_ack_t ack = {.delivery_tag = held->tag, .multiple = is_multiple};
    amqp_basic_nack_t nack = {.delivery_tag = held->tag, .requeue = 1};
    amqp_basic_reject_t reject = {.delivery_tag = held->tag};
    switch (held->disposition) {
    case MG_HELD:
    case MG_ACKED:
        return mg_link_send(link, AMQP_BASIC_ACK_METHOD, &ack);
    case MG_REJECTED:
        return mg_link_send(link, AMQP_BASIC_REJECT_METHOD, &reject);
    case MG_REQUEUED:
        return mg_link_send(link, AMQP_BASIC_NACK_METHOD, &nack);
    }
    return false;
}

/* Runs before any ack with `multiple`, which would cover these tags too. */
static bool acks_send_refused(struct mg_consuming *consuming)
{
    struct mg_held_list *refused = &consuming->acks.refused;
    while (!TAILQ_EMPTY(refused)) {
        if (!acks_send(consuming, TAILQ_FIRST(refused), false)) {
            return false;
        }
        held_finish(consuming, refused, TAILQ_FIRST(refused));
    }
    return true;
}

/* Covers all acks below the first delivery still held with one `multiple` ack. */
static bool acks_send_first(struct mg_consuming *consuming)
{
    struct mg_held_list *list = &consuming->acks.held;
    const struct mg_held *held, *last = NULL;
    TAILQ_FOREACH(held, list, entry)
    {
        if (held->disposition == MG_HELD) {
            break;
        }
        last = held;
    }
    if (last == NULL) {
        return true;
    }
    if (!acks_send(consuming, last, last != TAILQ_FIRST(list))) {
        return false;
    }
    uint64_t tag = last->tag;
    while (!TAILQ_EMPTY(list) && TAILQ_FIRST(list)->tag <= tag) {
        held_finish(consuming, list, TAILQ_FIRST(list));
    }
    return true;
}

/* Acks above the first held delivery that are at least this old, one by one. */
static bool acks_send_above(struct mg_consuming *consuming, int64_t acked_until_boot_ms)
{
    struct mg_held_list *list = &consuming->acks.held;
    struct mg_held *held, *next;
    for (held = TAILQ_FIRST(list); held != NULL; held = next) {
        next = TAILQ_NEXT(held, entry);
        if (held->disposition != MG_ACKED || held->acked_boot_ms > acked_until_boot_ms) {
            continue;
        }
        if (!acks_send(consuming, held, false)) {
            return false;
        }
        held_finish(consuming, list, held);
    }
    return true;
}

/* The broker counts unsent acks against the prefetch. When they fill half of it, the consumer may run dry
 * while its held deliveries wait for something slow. */
static bool is_any_pressed(const struct mg_consuming *consuming)
{
    for (int i = 0; i < consuming->consumer_count; i++) {
        const struct mg_consumer_slot *slot = &consuming->consumers[i];
        if (slot->unsent_acks > 0 && 2 * slot->unsent_acks >= slot->prefetch_sent) {
            return true;
        }
    }
    return false;
}

static void acks_send_all(struct mg_consuming *consuming, int64_t acked_until_boot_ms)
{
    struct mg_link *link = &consuming->link;
    mg_link_cork(link, true);
    if (acks_send_refused(consuming) && acks_send_first(consuming)) {
        if (is_any_pressed(consuming)) {
            acked_until_boot_ms = ACKED_AT_ALL;
        }
        if (acked_until_boot_ms != ACKED_NEVER) {
            (void)acks_send_above(consuming, acked_until_boot_ms);
        }
    }
    mg_link_cork(link, false);
    MG_FAILPOINT(ACKS_SENT);
}

/* An ack makes the broker send more. While a consumer is about to be stopped, acks therefore wait. */
static void acks_flush(struct mg_consuming *consuming, int64_t acked_until_boot_ms)
{
    struct mg_ack_part *acks = &consuming->acks;
    if (!consuming->link.is_open || (acks->unsent == 0 && TAILQ_EMPTY(&acks->refused))) {
        return;
    }
    bool must_wait = mg_room_is_growing(consuming);
    if (!must_wait) {
        acks_send_all(consuming, acked_until_boot_ms);
    }
    if ((must_wait || acks->unsent > 0) && !mg_timer_is_active(acks->overdue)) {
        mg_timer_start(acks->overdue, ACK_WAIT_MS, 0);
    }
}

void mg_acks_forget(struct mg_consuming *consuming)
{
    struct mg_ack_part *acks = &consuming->acks;
    while (!TAILQ_EMPTY(&acks->held)) {
        struct mg_held *held = TAILQ_FIRST(&acks->held);
        if (held->disposition == MG_ACKED) {
            held_finish(consuming, &acks->held, held);
            continue;
        }
        TAILQ_REMOVE(&acks->held, held, entry);
        if (held->is_passed) {
            held_free(consuming, held);
            continue;
        }
        held->is_stray = true;
        TAILQ_INSERT_TAIL(&acks->strays, held, entry);
    }
    held_free_all(consuming, &acks->refused);
    held_free(consuming, acks->arriving);
    acks->arriving = NULL;
    acks->last_tag = 0;
}
