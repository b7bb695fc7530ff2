/* The broker's memory, see broker.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "io/amqp/topology.h"

#define QUEUES_MAX 64
/* As in common/io/amqp/topology.c: a message with so many deliveries is a dead letter. */
#define DELIVERY_LIMIT 20
#define SLOW_MAX_US    5000000

struct coming;

static struct {
    struct sim_queue queues[QUEUES_MAX];
    int count;
    struct coming *coming;
    bool has_ranks;
} server;

/* ---- messages ---- */

static struct mg_slice text_put(char **at, struct mg_slice text)
{
    if (text.data == NULL) {
        return text;
    }
    struct mg_slice copy = {*at, text.len};
    memcpy(*at, text.data, text.len);
    (*at)[text.len] = '\0';
    *at += text.len + 1;
    return copy;
}

struct sim_message *sim_message_create(const struct mg_message *from, struct mg_slice app_id)
{
    struct mg_slice texts[] = {mg_slice_of(from->exchange),
                               mg_slice_of(from->routing_key),
                               mg_slice_of(from->type),
                               mg_slice_of(from->message_id),
                               mg_slice_of(from->correlation_id),
                               mg_slice_of(from->reply_to),
                               mg_slice_of(from->traceparent),
                               mg_slice_of(from->reason),
                               app_id,
                               from->body};
    size_t size = sizeof(struct sim_message);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        size += texts[i].len + 1;
    }
    struct sim_message *message = malloc(size);
    assert(message != NULL);
    *message = (struct sim_message){.owners = 1, .is_again = from->is_again, .published_us = sim_now_us()};
    char *at = (char *)(message + 1);
    struct mg_slice *const to[] = {&message->exchange,    &message->routing_key,    &message->type,
                                   &message->message_id,  &message->correlation_id, &message->reply_to,
                                   &message->traceparent, &message->reason,         &message->app_id,
                                   &message->body};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        *to[i] = text_put(&at, texts[i]);
    }
    return message;
}

static struct sim_message *message_copy(const struct sim_message *message)
{
    struct mg_message from = {.exchange = message->exchange.data,
                              .routing_key = message->routing_key.data,
                              .type = message->type.data,
                              .message_id = message->message_id.data,
                              .correlation_id = message->correlation_id.data,
                              .reply_to = message->reply_to.data,
                              .traceparent = message->traceparent.data,
                              .reason = message->reason.data,
                              .is_again = message->is_again,
                              .body = message->body};
    return sim_message_create(&from, message->app_id);
}

void sim_message_hold(struct sim_message *message)
{
    message->owners++;
}

void sim_message_release(struct sim_message *message)
{
    if (--message->owners == 0) {
        free(message);
    }
}

static void lose(struct sim_message *message)
{
    sim_check_lost(message);
    sim_message_release(message);
}

/* ---- queues ---- */

struct sim_queue *sim_queue_find(struct mg_slice name)
{
    for (int i = 0; i < server.count; i++) {
        if (mg_slice_is(name, server.queues[i].name)) {
            return &server.queues[i];
        }
    }
    return NULL;
}

struct sim_queue *sim_queue_declare(const char *name)
{
    struct sim_queue *queue = sim_queue_find(mg_slice_of(name));
    if (queue == NULL) {
        assert(server.count < QUEUES_MAX && strlen(name) < sizeof(queue->name));
        queue = &server.queues[server.count++];
        memcpy(queue->name, name, strlen(name));
    }
    queue->exists = true;
    return queue;
}

int sim_queue_count(void)
{
    return server.count;
}

struct sim_queue *sim_queue_at(int index)
{
    return &server.queues[index];
}

static void put_before(struct sim_queue *queue, struct sim_message *message, struct sim_message *next)
{
    message->next = next;
    message->previous = next != NULL ? next->previous : queue->last;
    *(message->previous != NULL ? &message->previous->next : &queue->first) = message;
    *(next != NULL ? &next->previous : &queue->last) = message;
    queue->ready++;
}

static struct sim_message *take_first(struct sim_queue *queue)
{
    struct sim_message *message = queue->first;
    queue->first = message->next;
    *(queue->first != NULL ? &queue->first->previous : &queue->last) = NULL;
    message->previous = message->next = NULL;
    queue->ready--;
    return message;
}

int sim_queue_consumers(const struct sim_queue *queue)
{
    int count = 0;
    for (const struct sim_subscription *one = queue->subscriptions; one != NULL; one = one->next) {
        count++;
    }
    return count;
}

/* A consumer with room and the highest rank; several take turns; NULL: none has room. */
static struct sim_subscription *next_with_room(struct sim_queue *queue)
{
    int count = sim_queue_consumers(queue), turn = 0;
    struct sim_subscription *best = NULL;
    for (int i = 0; i < count; i++) {
        struct sim_subscription *one = queue->subscriptions;
        for (int k = (queue->next_subscription + i) % count; k > 0; k--) {
            one = one->next;
        }
        if (one->unacked < one->prefetch && (best == NULL || one->rank > best->rank)) {
            best = one;
            turn = (queue->next_subscription + i + 1) % count;
        }
    }
    queue->next_subscription = best != NULL ? turn : queue->next_subscription;
    return best;
}

void sim_queue_push(struct sim_queue *queue)
{
    struct sim_subscription *to;
    while (queue->first != NULL && !sim_queue_takes_nothing(queue) && (to = next_with_room(queue)) != NULL) {
        struct sim_message *message = take_first(queue);
        to->unacked++;
        queue->unacked++;
        sim_link_deliver(to->link, to->consumer, queue, message);
    }
}

/* ---- arriving messages ---- */

struct coming {
    struct coming *next;
    struct sim_queue *queue;
    struct sim_message *message;
};

static void queue_put(struct sim_queue *queue, struct sim_message *message)
{
    struct sim_message *next = NULL;
    if (queue->ready > 0 && sim_happens(SIM_BROKER_REORDER)) {
        next = queue->first;
        for (uint64_t i = sim_draw((uint64_t)queue->ready); i > 0; i--) {
            next = next->next;
        }
    }
    put_before(queue, message, next);
    sim_queue_push(queue);
}

static void came(void *arg)
{
    struct coming *coming = arg, **at = &server.coming;
    while (*at != coming) {
        at = &(*at)->next;
    }
    *at = coming->next;
    coming->queue->coming--;
    if (coming->queue->exists) {
        queue_put(coming->queue, coming->message);
    } else {
        lose(coming->message);
    }
    free(coming);
}

static void queue_add(struct sim_queue *queue, struct sim_message *message)
{
    if (!sim_happens(SIM_BROKER_SLOW)) {
        queue_put(queue, message);
        return;
    }
    struct coming *coming = malloc(sizeof(*coming));
    assert(coming != NULL);
    *coming = (struct coming){server.coming, queue, message};
    server.coming = coming;
    queue->coming++;
    sim_after(NULL, sim_draw_between(1000, SLOW_MAX_US), came, coming);
}

enum sim_taken sim_broker_take(struct sim_message *message)
{
    struct sim_queue *queue = sim_queue_find(message->routing_key);
    enum sim_taken taken = SIM_TAKEN;
    if (queue != NULL && sim_queue_takes_nothing(queue)) { /* the world awaits no answer */
        sim_minority_keep(queue, message);
        return SIM_NACKED;
    }
    if (queue == NULL || !queue->exists || sim_happens(SIM_BROKER_RETURN)) {
        taken = SIM_RETURNED;
    } else if (sim_happens(SIM_BROKER_NACK)) {
        taken = SIM_NACKED;
    }
    if (taken == SIM_NACKED && mg_slice_is(message->routing_key, MG_QUEUE_REJECTED)) {
        sim_check_published(message); /* it is full: the refused message is reported, and not kept */
    }
    if (taken != SIM_TAKEN) {
        sim_message_release(message);
        return taken;
    }
    sim_check_published(message);
    if (queue->read != NULL) {
        queue->read(queue, message);
        sim_message_release(message);
        return SIM_TAKEN;
    }
    /* Only publishers send twice. Requests are sent twice by Makegood itself, which marks the second one. */
    bool is_request = mg_slice_is(message->type, "request");
    struct sim_message *twin =
        !is_request && sim_happens(SIM_BROKER_DUPLICATE) ? message_copy(message) : NULL;
    queue_add(queue, message);
    if (twin != NULL) {
        queue_add(queue, twin);
    }
    return SIM_TAKEN;
}

/* ---- consumers ---- */

void sim_queue_subscribe(struct sim_queue *queue, struct sim_link *link, int consumer, int prefetch,
                         int64_t rank)
{
    struct sim_subscription **at = &queue->subscriptions;
    while (*at != NULL && ((*at)->link != link || (*at)->consumer != consumer)) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = calloc(1, sizeof(**at));
        assert(*at != NULL);
        (*at)->link = link;
        (*at)->consumer = consumer;
    }
    (*at)->prefetch = prefetch;
    (*at)->rank = server.has_ranks ? rank : 0;
    sim_queue_push(queue);
}

void sim_queue_unsubscribe(struct sim_queue *queue, const struct sim_link *link, int consumer)
{
    for (struct sim_subscription **at = &queue->subscriptions; *at != NULL; at = &(*at)->next) {
        if ((*at)->link == link && (*at)->consumer == consumer) {
            struct sim_subscription *gone = *at;
            *at = gone->next;
            free(gone);
            return;
        }
    }
}

static void settle(struct sim_queue *queue, const struct sim_link *link, int consumer)
{
    queue->unacked--;
    for (struct sim_subscription *one = queue->subscriptions; one != NULL; one = one->next) {
        if (one->link == link && one->consumer == consumer) {
            one->unacked -= one->unacked > 0 ? 1 : 0;
        }
    }
}

void sim_queue_acked(struct sim_queue *queue, const struct sim_link *link, int consumer,
                     struct sim_message *message)
{
    settle(queue, link, consumer);
    sim_message_release(message);
    sim_queue_push(queue);
}

static void bury(const struct sim_queue *queue, struct sim_message *message, const char *why)
{
    sim_check_dead(queue, message, why);
    sim_message_release(message);
}

void sim_queue_rejected(struct sim_queue *queue, const struct sim_link *link, int consumer,
                        struct sim_message *message)
{
    settle(queue, link, consumer);
    bury(queue, message, "rejected");
    sim_queue_push(queue);
}

void sim_queue_requeued(struct sim_queue *queue, const struct sim_link *link, int consumer,
                        struct sim_message *message)
{
    settle(queue, link, consumer);
    message->is_redelivered = true;
    if (!queue->exists) {
        lose(message);
    } else if (++message->delivery_count > DELIVERY_LIMIT) {
        bury(queue, message, "delivery_limit");
    } else {
        sim_check_copied(message);
        put_before(queue, message, queue->first);
        sim_queue_push(queue);
    }
}

static bool is_copy(const struct sim_message *one, const struct sim_message *message)
{
    return one != message && mg_slice_equal(one->message_id, message->message_id);
}

bool sim_broker_has_copy(const struct sim_queue *queue, const struct sim_message *message)
{
    for (const struct sim_message *one = queue->first; one != NULL; one = one->next) {
        if (is_copy(one, message)) {
            return true;
        }
    }
    for (const struct coming *one = server.coming; one != NULL; one = one->next) {
        if (is_copy(one->message, message)) {
            return true;
        }
    }
    return sim_link_has_copy(message);
}

int sim_broker_backlog(const char **ret_queue)
{
    int count = 0;
    for (int i = 0; i < server.count; i++) {
        const struct sim_queue *queue = &server.queues[i];
        int here = queue->ready + queue->unacked + queue->coming;
        count += here;
        *ret_queue = here > 0 ? queue->name : *ret_queue;
    }
    return count;
}

void sim_queues_start(void)
{
    server.has_ranks = sim_draw(2) == 0;
}

void sim_queue_purge(struct sim_queue *queue)
{
    while (queue->first != NULL) {
        lose(take_first(queue));
    }
}
