/*
 * io/amqp/broker.h for the services. The real client keeps five connections, this one keeps one, so a cut
 * breaks all at once. Shared publishes and publishes apart have a channel each (broker_line.c), which is
 * replaced alone.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "broker.h"
#include "io/amqp/topology.h"
#include "kernel.h"

#define WATCHES_MAX    64
#define CONNECT_US     5000
#define BACKOFF_MAX_US 2000000
#define HOP_US         300

struct watch {
    struct mg_broker *broker;
    char queue[128];
    int64_t period_us;
    mg_queue_seen_fn *seen;
    void *arg;
    bool is_asked, is_let_go;
    int64_t ready, consumers;
};

struct listener {
    char exchange[MG_QUEUE_NAME_SIZE];
    mg_received_fn *received;
    void *arg;
};

struct mg_broker {
    struct mg_broker_options options;
    struct sim_node *node;
    uint32_t life;
    struct sim_link *link; /* NULL: there is none */
    bool is_open, is_blocked, is_connecting, is_said_up, is_destroyed;
    int64_t backoff_us;
    uint16_t prefetch[MG_CONSUMERS_MAX]; /* 0: paused */
    int unsent[MG_CONSUMERS_MAX];
    struct sim_line shared, apart;
    struct mg_unanswered unanswered;
    struct watch watches[WATCHES_MAX];
    int watch_count;
    struct listener listeners[MG_LISTENERS_MAX];
    int listener_count;
};

static void connect_try(void *arg);

/* ---- the connection ---- */

static void connect_later(struct mg_broker *broker)
{
    if (broker->is_destroyed || broker->is_connecting) {
        return;
    }
    broker->is_connecting = true;
    sim_after(broker->node, broker->backoff_us / 2 + (int64_t)sim_draw((uint64_t)broker->backoff_us),
              connect_try, broker);
    broker->backoff_us = 2 * broker->backoff_us < BACKOFF_MAX_US ? 2 * broker->backoff_us : BACKOFF_MAX_US;
}

static void lines_flush(struct mg_broker *broker)
{
    sim_line_flush(&broker->shared);
    sim_line_flush(&broker->apart);
}

static bool has_queue(const char *name)
{
    const struct sim_queue *queue = sim_queue_find(mg_slice_of(name));
    return queue != NULL && queue->exists;
}

/* Queues to consume and queues to check must exist. */
static const char *missing_queue(const struct mg_broker *broker)
{
    for (int i = 0; i < broker->options.consumer_count; i++) {
        if (!has_queue(broker->options.consumers[i].queue)) {
            return broker->options.consumers[i].queue;
        }
    }
    for (int i = 0; broker->options.check_queues[i] != NULL; i++) {
        if (!has_queue(broker->options.check_queues[i])) {
            return broker->options.check_queues[i];
        }
    }
    return NULL;
}

static void connect_try(void *arg)
{
    struct mg_broker *broker = arg;
    broker->is_connecting = false;
    if (broker->is_destroyed) {
        return;
    }
    if (sim_broker_is_down() || missing_queue(broker) != NULL) {
        connect_later(broker);
        return;
    }
    broker->link = sim_link_open(broker, broker->node);
}

void sim_broker_say_state(struct mg_broker *broker, const char *reason)
{
    bool is_up = mg_broker_is_up(broker, NULL, 0);
    if (is_up != broker->is_said_up) {
        broker->is_said_up = is_up;
        sim_trace("broker %s", is_up ? "up" : reason);
        broker->options.on_state(broker->options.arg, is_up, is_up ? "" : reason);
    }
}

static void consume(struct mg_broker *broker, int consumer)
{
    struct sim_queue *queue = sim_queue_find(mg_slice_of(broker->options.consumers[consumer].queue));
    sim_link_consume(broker->link, queue, consumer, broker->prefetch[consumer], broker->options.rank);
}

void sim_broker_opened(struct mg_broker *broker, struct sim_link *link)
{
    if (broker->link != link || broker->is_destroyed) {
        return;
    }
    broker->is_open = true;
    broker->is_blocked = sim_broker_blocked_until_us() > sim_now_us();
    broker->backoff_us = CONNECT_US;
    memset(broker->unsent, 0, sizeof(broker->unsent));
    for (int i = 0; i < broker->options.consumer_count; i++) {
        if (broker->prefetch[i] > 0) {
            consume(broker, i);
        }
    }
    for (int i = 0; i < broker->listener_count; i++) {
        sim_link_listen(link, i, broker->listeners[i].exchange);
    }
    sim_line_reopen(&broker->shared);
    sim_line_reopen(&broker->apart);
    sim_broker_say_state(broker, "blocked");
    lines_flush(broker);
}

void sim_broker_lost(struct mg_broker *broker, struct sim_link *link)
{
    if (broker->link != link || broker->is_destroyed) {
        return;
    }
    broker->link = NULL;
    broker->is_open = false;
    sim_broker_say_state(broker, "connection lost");
    sim_line_lost(&broker->shared);
    sim_line_lost(&broker->apart);
    connect_later(broker);
}

void sim_broker_set_blocked(struct mg_broker *broker, struct sim_link *link, bool is_blocked)
{
    if (broker->link == link && broker->is_open && !broker->is_destroyed) {
        broker->is_blocked = is_blocked;
        sim_broker_say_state(broker, "blocked");
        lines_flush(broker);
    }
}

bool mg_broker_is_up(const struct mg_broker *broker, char *ret_reason, size_t size)
{
    bool is_up = broker->is_open && !broker->is_blocked && !broker->shared.is_replaced;
    if (size > 0) {
        (void)snprintf(ret_reason, size, "%s", is_up ? "" : "the broker is away");
    }
    return is_up;
}

bool mg_broker_can_publish(const struct mg_broker *broker)
{
    return mg_broker_is_up(broker, NULL, 0);
}

bool mg_broker_is_barred(const struct mg_broker *broker)
{
    return broker->is_open && broker->is_blocked;
}

enum mg_class mg_broker_create(struct mg_loop *loop, const struct mg_broker_options *options,
                               struct mg_broker **ret_broker, struct mg_err *err)
{
    (void)loop;
    if (!sim_has_memory()) {
        return mg_err_set(err, MG_TRANSIENT, "could not create the broker: no memory");
    }
    struct mg_broker *broker = calloc(1, sizeof(*broker));
    assert(broker != NULL);
    broker->options = *options;
    broker->node = sim_node();
    broker->life = broker->node->life;
    broker->backoff_us = CONNECT_US;
    sim_line_init(&broker->shared, broker, broker->node, options->confirm_timeout_ms, &broker->unanswered,
                  &broker->apart);
    sim_line_init(&broker->apart, broker, broker->node, options->confirm_timeout_ms, &broker->unanswered,
                  NULL);
    for (int i = 0; i < options->consumer_count; i++) {
        broker->prefetch[i] = options->consumers[i].prefetch;
    }
    connect_later(broker);
    *ret_broker = broker;
    return MG_OK;
}

void mg_broker_destroy(struct mg_broker *broker)
{
    if (broker->link != NULL) {
        sim_link_close(broker->link);
    }
    broker->is_destroyed = true; /* frames on their way still refer to it */
}

/* ---- deliveries ---- */

void sim_broker_delivered(struct mg_broker *broker, struct sim_unacked *unacked)
{
    if (broker->link != unacked->link || broker->is_destroyed) {
        sim_message_release(unacked->message);
        return;
    }
    const struct sim_message *message = unacked->message;
    unacked->delivery.arrived_boot_ms = mg_clock_boot_ms();
    sim_trace("< %s %s%s", unacked->queue->name,
              message->message_id.data != NULL ? message->message_id.data : "",
              unacked->delivery.is_redelivered ? " again" : "");
    broker->options.on_delivery(broker->options.arg, &unacked->delivery);
}

static void delivery_end(struct mg_broker *broker, struct mg_delivery *delivery, enum sim_end end)
{
    static const char *const NAMES[] = {"ack", "reject", "requeue"};
    struct sim_unacked *unacked =
        (struct sim_unacked *)(void *)((char *)delivery - offsetof(struct sim_unacked, delivery));
    struct sim_message *message = unacked->message;
    bool is_accepted = broker->link == unacked->link && broker->is_open && !broker->is_destroyed;
    sim_trace("%s %s %s%s", NAMES[end], unacked->queue->name,
              message->message_id.data != NULL ? message->message_id.data : "",
              is_accepted ? "" : " (of no avail)");
    if (end == SIM_END_ACK && is_accepted && !unacked->is_settled) { /* else the broker has taken it back */
        struct sim_node *node = sim_node();
        sim_node_leave(); /* the checker's memory belongs to the world */
        sim_check_acked(message, unacked->queue);
        sim_node_enter(node);
    }
    if (is_accepted) {
        sim_link_end(broker->link, unacked, end);
    }
    sim_message_release(message);
}

void mg_broker_ack(struct mg_broker *broker, struct mg_delivery *delivery)
{
    delivery_end(broker, delivery, SIM_END_ACK);
}

void mg_broker_reject(struct mg_broker *broker, struct mg_delivery *delivery)
{
    delivery_end(broker, delivery, SIM_END_REJECT);
}

void mg_broker_requeue(struct mg_broker *broker, struct mg_delivery *delivery)
{
    delivery_end(broker, delivery, SIM_END_REQUEUE);
}

int mg_broker_unsent_acks(const struct mg_broker *broker, int consumer)
{
    (void)broker;
    (void)consumer;
    return 0;
}

int mg_broker_prefetch(const struct mg_broker *broker, int consumer)
{
    return broker->prefetch[consumer];
}

bool mg_broker_is_stopped(const struct mg_broker *broker, int consumer)
{
    return broker->prefetch[consumer] == 0 &&
           (broker->link == NULL || sim_link_is_stopped(broker->link, consumer));
}

void mg_broker_pause(struct mg_broker *broker, int consumer)
{
    mg_broker_resume(broker, consumer, 0);
}

void mg_broker_resume(struct mg_broker *broker, int consumer, uint16_t prefetch)
{
    if (broker->prefetch[consumer] == prefetch) {
        return;
    }
    broker->prefetch[consumer] = prefetch;
    if (broker->is_open && !broker->is_destroyed) {
        consume(broker, consumer);
    }
}

void mg_broker_set_rank(struct mg_broker *broker, int64_t rank)
{
    if (broker->options.rank == rank) {
        return;
    }
    broker->options.rank = rank;
    for (int i = 0; i < broker->options.consumer_count && broker->is_open && !broker->is_destroyed; i++) {
        if (broker->prefetch[i] > 0) {
            consume(broker, i);
        }
    }
}

/* ---- publishing ---- */

struct sim_link *sim_broker_link(const struct mg_broker *broker)
{
    return broker->is_open && !broker->is_blocked && !broker->is_destroyed ? broker->link : NULL;
}

bool sim_broker_is_destroyed(const struct mg_broker *broker)
{
    return broker->is_destroyed;
}

enum mg_class mg_broker_publish(struct mg_broker *broker, const struct mg_message *message,
                                mg_published_fn *done, void *arg, struct mg_err *err)
{
    bool is_apart = mg_unanswered_has(&broker->unanswered, mg_slice_of(message->routing_key));
    return sim_line_publish(is_apart ? &broker->apart : &broker->shared, message, done, arg, err);
}

size_t mg_broker_publish_room(const struct mg_broker *broker)
{
    return sim_line_room(&broker->shared);
}

/* ---- queue depth ---- */

static void watch_answer(void *arg)
{
    struct watch *watch = arg;
    watch->is_asked = false;
    if (!watch->broker->is_destroyed && watch->broker->is_open) {
        if (!watch->is_let_go) {
            watch->seen(watch->arg, watch->queue, watch->ready, watch->consumers);
        }
    }
}

static void watch_look(void *arg)
{
    struct watch *watch = arg;
    const struct sim_queue *queue = sim_queue_find(mg_slice_of(watch->queue));
    bool exists = queue != NULL && queue->exists;
    watch->ready = exists ? queue->ready : 0;
    watch->consumers = exists ? sim_queue_consumers(queue) : -1;
    struct sim_node *node = watch->broker->node;
    if (node->is_alive && node->life == watch->broker->life) {
        sim_after(node, HOP_US, watch_answer, watch);
    }
}

static void watch_ask(struct watch *watch)
{
    if (!watch->is_asked && !watch->is_let_go && watch->broker->is_open) {
        watch->is_asked = true;
        sim_after(NULL, HOP_US, watch_look, watch);
    }
}

static void watch_turn(void *arg)
{
    struct watch *watch = arg;
    if (watch->broker->is_destroyed) {
        return;
    }
    watch_ask(watch);
    sim_after(watch->broker->node, watch->period_us, watch_turn, watch);
}

enum mg_class mg_broker_watch_queue(struct mg_broker *broker, const char *queue, int64_t period_ms,
                                    mg_queue_seen_fn *seen, void *arg, struct mg_err *err)
{
    for (int i = 0; i < broker->watch_count; i++) {
        struct watch *watch = &broker->watches[i];
        if (strcmp(watch->queue, queue) == 0) {
            if (watch->is_let_go) {
                watch->is_let_go = false;
                watch_ask(watch);
            }
            return MG_OK;
        }
    }
    if (broker->watch_count == WATCHES_MAX) {
        return mg_err_set(err, MG_PERMANENT, "more than %d queues are watched", WATCHES_MAX);
    }
    if (!sim_has_memory()) {
        return mg_err_set(err, MG_TRANSIENT, "could not watch queue %s: no memory", queue);
    }
    struct watch *watch = &broker->watches[broker->watch_count++];
    *watch = (struct watch){.broker = broker, .period_us = period_ms * 1000, .seen = seen, .arg = arg};
    (void)snprintf(watch->queue, sizeof(watch->queue), "%s", queue);
    sim_after(broker->node, HOP_US, watch_turn, watch);
    return MG_OK;
}

void mg_broker_unwatch_queue(struct mg_broker *broker, const char *queue)
{
    for (int i = 0; i < broker->watch_count; i++) {
        if (strcmp(broker->watches[i].queue, queue) == 0) {
            broker->watches[i].is_let_go = true;
        }
    }
}

void mg_broker_look(struct mg_broker *broker, const char *queue)
{
    for (int i = 0; i < broker->watch_count; i++) {
        if (strcmp(broker->watches[i].queue, queue) == 0) {
            watch_ask(&broker->watches[i]);
        }
    }
}

/* ---- broadcasts, to all current listeners ---- */

void mg_broker_cast(struct mg_broker *broker, const char *exchange, const char *routing_key, const char *type,
                    struct mg_slice body)
{
    struct sim_link *link = sim_broker_link(broker);
    assert(strcmp(exchange, MG_EXCHANGE_CONTROL) == 0);
    if (link != NULL && body.len <= MG_CAST_BYTES_MAX) {
        const struct mg_message cast = {
            .exchange = exchange, .routing_key = routing_key, .type = type, .body = body};
        sim_trace("cast %s %s", type, routing_key);
        sim_link_cast(link, sim_message_create(&cast, mg_slice_of(NULL)));
    }
}

enum mg_class mg_broker_listen(struct mg_broker *broker, const char *exchange, const char *queue_prefix,
                               mg_received_fn *received, void *arg, struct mg_err *err)
{
    (void)queue_prefix;
    if (broker->listener_count == MG_LISTENERS_MAX) {
        return mg_err_set(err, MG_PERMANENT,
                          "could not subscribe to exchange %s: already subscribed to %d, the maximum",
                          exchange, MG_LISTENERS_MAX);
    }
    if (!sim_has_memory()) {
        return mg_err_set(err, MG_TRANSIENT, "could not subscribe to exchange %s: no memory", exchange);
    }
    struct listener *listener = &broker->listeners[broker->listener_count++];
    *listener = (struct listener){.received = received, .arg = arg};
    (void)snprintf(listener->exchange, sizeof(listener->exchange), "%s", exchange);
    if (broker->is_open && !broker->is_destroyed) {
        sim_link_listen(broker->link, broker->listener_count - 1, listener->exchange);
    }
    return MG_OK;
}

void sim_broker_receive_cast(struct mg_broker *broker, struct sim_link *link, int listener,
                             const struct sim_message *message)
{
    if (broker->link == link && !broker->is_destroyed) {
        sim_trace("received a cast of %s", broker->listeners[listener].exchange);
        broker->listeners[listener].received(broker->listeners[listener].arg, message->body);
    }
}
