/*
 * Deliveries in hand, and telling the broker what became of them. All that were given back during one turn of
 * the loop are told together. An ack with `multiple` covers every tag up to its own, so it may only reach to
 * below the first delivery still held; those above are acked one by one. Otherwise a crash would lose what
 * was still being worked on.
 *
 * Tags belong to one connection. A delivery of an earlier one is only freed: the broker has already given it
 * again.
 */
#include <stdlib.h>
#include <string.h>

#include "io/broker_parts.h"

#define ACK_BYTES 64 /* an ack, nack or reject on the wire is 21 to 30 bytes */

enum verdict { VERDICT_HELD, VERDICT_ACK, VERDICT_REJECT, VERDICT_REQUEUE };

struct mg_held {
    struct mg_delivery delivery; /* first: a delivery's address is its holder's */
    struct mg_held *previous, *next;
    uint64_t tag, generation;
    enum verdict verdict;
    size_t body_capacity;
    char *body;
    char text[]; /* properties, then the body; each ends with NUL */
};

static void acks_on_idle(void *arg);
static void acks_settle(struct mg_broker *broker, struct mg_delivery *delivery, enum verdict verdict);

enum mg_class mg_acks_init(struct mg_broker *broker, struct mg_err *err)
{
    broker->acks.flush = mg_idle_create(broker->loop, acks_on_idle, broker);
    if (broker->acks.flush == NULL)
        return mg_err_set(err, MG_TRANSIENT, "could not prepare acknowledging: no memory");
    return MG_OK;
}

/* Deliveries that the receiver has not given back end here too; the broker gives them to somebody else. */
void mg_acks_finish(struct mg_broker *broker)
{
    mg_acks_flush(broker);
    mg_acks_forget(broker);
    while (broker->acks.first != NULL) {
        struct mg_held *held = broker->acks.first;
        broker->acks.first = held->next;
        free(held);
    }
    broker->acks.last = NULL;
    if (broker->acks.flush != NULL) mg_idle_destroy(broker->acks.flush);
    broker->acks.flush = NULL;
}

/* ---- arriving ---- */

static struct mg_slice acks_copy(char **at, struct mg_slice text)
{
    if (text.data == NULL) return text;
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

struct mg_delivery *mg_acks_begin(struct mg_broker *broker, const amqp_basic_deliver_t *method,
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
        mg_amqp_slice(method->exchange),
        mg_amqp_slice(method->routing_key),
    };
    size_t size = body_bytes + 1;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        size += texts[i].len + 1;
    struct mg_held *held = malloc(sizeof(*held) + size);
    if (held == NULL) return NULL;
    *held = (struct mg_held){
        .tag = method->delivery_tag, .generation = broker->consume.generation, .body_capacity = body_bytes};

    char *at = held->text;
    struct mg_delivery *delivery = &held->delivery;
    struct mg_slice *const targets[] = {
        &delivery->message_id,  &delivery->correlation_id, &delivery->reply_to,
        &delivery->type,        &delivery->app_id,         &delivery->user_id,
        &delivery->traceparent, &delivery->exchange,       &delivery->routing_key,
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *targets[i] = acks_copy(&at, texts[i]);
    held->body = at;
    held->body[0] = '\0';
    int64_t count = mg_amqp_header_number(properties, "x-delivery-count");
    delivery->delivery_count = count <= 0 ? 0 : count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;
    delivery->is_redelivered = method->redelivered || mg_amqp_header_number(properties, MG_HEADER_AGAIN) != 0;
    free(broker->acks.arriving);
    broker->acks.arriving = held;
    broker->acks.arrived_bytes = 0;
    return delivery;
}

void mg_acks_append(struct mg_broker *broker, amqp_bytes_t piece)
{
    struct mg_ack_part *acks = &broker->acks;
    struct mg_held *held = acks->arriving;
    if (held == NULL || piece.len == 0 || piece.len > held->body_capacity - acks->arrived_bytes)
        return; /* oversized: read past */
    memcpy(held->body + acks->arrived_bytes, piece.bytes, piece.len);
    acks->arrived_bytes += piece.len;
}

struct mg_delivery *mg_acks_complete(struct mg_broker *broker)
{
    struct mg_ack_part *acks = &broker->acks;
    struct mg_held *held = acks->arriving;
    if (held == NULL) return NULL;
    acks->arriving = NULL;
    held->body[acks->arrived_bytes] = '\0';
    held->delivery.body = (struct mg_slice){.data = held->body, .len = acks->arrived_bytes};
    held->previous = acks->last;
    if (acks->last != NULL)
        acks->last->next = held;
    else
        acks->first = held;
    acks->last = held;
    return &held->delivery;
}

/* ---- giving back ---- */

void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    acks_settle(broker, delivery, VERDICT_ACK);
}

void mg_broker_reject(struct mg_broker *broker, struct mg_delivery *delivery)
{
    acks_settle(broker, delivery, VERDICT_REJECT);
}

void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery)
{
    acks_settle(broker, delivery, VERDICT_REQUEUE);
}

static void acks_settle(struct mg_broker *broker, struct mg_delivery *delivery, enum verdict verdict)
{
    struct mg_ack_part *acks = &broker->acks;
    struct mg_held *held = (struct mg_held *)delivery;
    if (held->previous != NULL)
        held->previous->next = held->next;
    else
        acks->first = held->next;
    if (held->next != NULL)
        held->next->previous = held->previous;
    else
        acks->last = held->previous;
    held->previous = held->next = NULL;
    if (!broker->consume.is_open || held->generation != broker->consume.generation) {
        free(held);
        return;
    }
    held->verdict = verdict;
    if (acks->settled_last != NULL)
        acks->settled_last->next = held;
    else
        acks->settled_first = held;
    acks->settled_last = held;
    mg_idle_arm(acks->flush);
}

static void acks_on_idle(void *arg)
{
    struct mg_broker *broker = arg;
    mg_broker_enter(broker);
    mg_acks_flush(broker);
    mg_broker_leave(broker);
}

static bool acks_send(struct mg_link *link, const struct mg_held *held)
{
    if (!mg_link_has_room(link, ACK_BYTES)) return false;
    amqp_basic_ack_t ack = {.delivery_tag = held->tag};
    amqp_basic_nack_t nack = {.delivery_tag = held->tag, .requeue = 1};
    amqp_basic_reject_t reject = {.delivery_tag = held->tag};
    switch (held->verdict) {
    case VERDICT_HELD:
    case VERDICT_ACK:
        return mg_link_send(link, AMQP_BASIC_ACK_METHOD, &ack);
    case VERDICT_REJECT:
        return mg_link_send(link, AMQP_BASIC_REJECT_METHOD, &reject);
    case VERDICT_REQUEUE:
        return mg_link_send(link, AMQP_BASIC_NACK_METHOD, &nack);
    }
    return false;
}

/* Tells what cannot go into one ack with the rest: rejects, and acks above the first delivery held. False: no
 * room, or the connection was lost and with it the list. */
static bool acks_send_singles(struct mg_broker *broker, uint64_t held_from)
{
    struct mg_held **at = &broker->acks.settled_first;
    while (*at != NULL) {
        struct mg_held *held = *at;
        if (held->verdict == VERDICT_ACK && held->tag < held_from) {
            at = &held->next;
            continue;
        }
        if (!acks_send(&broker->consume, held)) return false;
        *at = held->next;
        free(held);
    }
    return true;
}

/* What is left in the list after the singles are acks below the first delivery still held. Everything else
 * below the highest of them has been told already, rejects included, so one ack may cover them all. */
void mg_acks_flush(struct mg_broker *broker)
{
    struct mg_ack_part *acks = &broker->acks;
    struct mg_link *link = &broker->consume;
    if (acks->settled_first == NULL || !link->is_open) return;
    uint64_t held_from =
        UINT64_MAX; /* deliveries of earlier connections stand in front and count for nothing */
    for (const struct mg_held *held = acks->first; held != NULL; held = held->next) {
        if (held->generation == link->generation) {
            held_from = held->tag;
            break;
        }
    }
    mg_link_cork(link, true);
    bool is_told = acks_send_singles(broker, held_from);
    if (is_told && acks->settled_first != NULL && mg_link_has_room(link, ACK_BYTES)) {
        uint64_t highest = 0;
        for (const struct mg_held *held = acks->settled_first; held != NULL; held = held->next)
            highest = held->tag > highest ? held->tag : highest;
        amqp_basic_ack_t ack = {.delivery_tag = highest, .multiple = acks->settled_first->next != NULL};
        if (mg_link_send(link, AMQP_BASIC_ACK_METHOD, &ack)) {
            while (acks->settled_first != NULL) {
                struct mg_held *held = acks->settled_first;
                acks->settled_first = held->next;
                free(held);
            }
        }
    }
    acks->settled_last = acks->settled_first;
    while (acks->settled_last != NULL && acks->settled_last->next != NULL)
        acks->settled_last = acks->settled_last->next;
    mg_link_cork(link, false);
}

void mg_acks_forget(struct mg_broker *broker)
{
    struct mg_ack_part *acks = &broker->acks;
    while (acks->settled_first != NULL) {
        struct mg_held *held = acks->settled_first;
        acks->settled_first = held->next;
        free(held);
    }
    acks->settled_last = NULL;
    free(acks->arriving);
    acks->arriving = NULL;
}
