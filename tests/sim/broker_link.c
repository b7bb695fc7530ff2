/*
 * A connection, both its ends. Frames arrive at the other end in the same order some time later, as events.
 * Frames that are on their way at a cut, or are sent after it, are lost.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "io/amqp/topology.h"

#define LINKS_MAX      256
#define HOP_US         300  /* a hop on one machine's network */
#define SPACING_US     5    /* between two frames of one connection: a cut can fall between them */
#define ACK_TYPICAL_US 2000 /* acks are collected before they are sent */

struct frame;

/* A connection's channel for publishes. All other publishes wait behind one to a queue that accepts
 * nothing. */
struct channel {
    int number; /* counts the channels that replaced each other */
    struct frame *first, *last;
};

struct sim_link {
    struct mg_broker *broker;
    struct sim_node *node;
    uint32_t life;
    bool is_open;           /* at the broker's end */
    int64_t up_us, down_us; /* arrival of the last frame sent, in each direction */
    struct sim_unacked *first, *last;
    struct channel shared, apart;
    const char *listeners[MG_LISTENERS_MAX]; /* the exchanges that it listens to; NULL: none */
};

static struct {
    struct sim_link *links[LINKS_MAX];
    int count;
} open_links;

enum frame_kind {
    FRAME_OPENED,
    FRAME_PUBLISH,
    FRAME_END,
    FRAME_CONSUME,
    FRAME_LISTEN,
    FRAME_CAST,
    FRAME_CLOSE,
    FRAME_LOST,
    FRAME_BLOCKED,
    FRAME_DELIVER,
    FRAME_CAST_DOWN,
    FRAME_CONFIRM
};

struct frame {
    struct frame *next; /* in its channel */
    enum frame_kind kind;
    struct sim_link *link;
    struct channel *channel;
    int channel_number;
    struct sim_outgoing *outgoing;
    struct sim_message *message;
    struct sim_unacked *unacked;
    struct sim_queue *queue;
    enum sim_end end;
    int consumer, prefetch, listener;
    int64_t rank;
    const char *exchange;
    enum mg_publish_outcome outcome;
    bool is_blocked;
};

static void up_arrived(void *arg);
static void down_arrived(void *arg);

static void frame_send(struct frame frame, bool is_up, int64_t typical_us)
{
    struct sim_link *link = frame.link;
    struct frame *copy = malloc(sizeof(*copy));
    assert(copy != NULL);
    *copy = frame;
    int64_t *last_us = is_up ? &link->up_us : &link->down_us;
    int64_t at_us = sim_now_us() + sim_draw_delay_us(typical_us);
    *last_us = at_us > *last_us + SPACING_US ? at_us : *last_us + SPACING_US;
    if (is_up) {
        sim_after(NULL, *last_us - sim_now_us(), up_arrived, copy);
    } else if (link->node->is_alive && link->node->life == link->life) {
        sim_after(link->node, *last_us - sim_now_us(), down_arrived, copy);
    } else {
        if (frame.kind == FRAME_CAST_DOWN) {
            sim_message_release(frame.message);
        }
        free(copy);
    }
}

/* ---- the broker's end ---- */

static void unacked_remove(struct sim_unacked *unacked)
{
    struct sim_link *link = unacked->link;
    *(unacked->previous != NULL ? &unacked->previous->next : &link->first) = unacked->next;
    *(unacked->next != NULL ? &unacked->next->previous : &link->last) = unacked->previous;
    unacked->is_settled = true;
}

void sim_link_deliver(struct sim_link *link, int consumer, struct sim_queue *queue,
                      struct sim_message *message)
{
    struct sim_unacked *unacked = calloc(1, sizeof(*unacked));
    assert(unacked != NULL);
    *unacked = (struct sim_unacked){.previous = link->last, .link = link, .queue = queue, .message = message};
    *(link->last != NULL ? &link->last->next : &link->first) = unacked;
    link->last = unacked;
    sim_message_hold(message); /* for the service */
    bool is_again =
        message->is_redelivered || (message->is_again && mg_topology_is_again_believed(message->exchange));
    unacked->delivery = (struct mg_delivery){.consumer = consumer,
                                             .is_redelivered = is_again,
                                             .delivery_count = message->delivery_count,
                                             .given_count = message->delivery_count,
                                             .body = message->body,
                                             .message_id = message->message_id,
                                             .correlation_id = message->correlation_id,
                                             .reply_to = message->reply_to,
                                             .type = message->type,
                                             .app_id = message->app_id,
                                             .traceparent = message->traceparent,
                                             .exchange = message->exchange,
                                             .routing_key = message->routing_key};
    frame_send((struct frame){.kind = FRAME_DELIVER, .link = link, .unacked = unacked}, false, HOP_US);
}

static void end_arrived(const struct frame *frame)
{
    struct sim_unacked *unacked = frame->unacked;
    if (unacked->is_settled) {
        return;
    }
    unacked_remove(unacked);
    int consumer = unacked->delivery.consumer;
    switch (frame->end) {
    case SIM_END_ACK:
        sim_queue_acked(unacked->queue, frame->link, consumer, unacked->message);
        break;
    case SIM_END_REJECT:
        sim_queue_rejected(unacked->queue, frame->link, consumer, unacked->message);
        break;
    case SIM_END_REQUEUE:
        sim_queue_requeued(unacked->queue, frame->link, consumer, unacked->message);
        break;
    }
}

static void publish_arrived(const struct frame *frame)
{
    static const enum mg_publish_outcome OUTCOMES[] = {[SIM_TAKEN] = MG_PUBLISH_CONFIRMED,
                                                       [SIM_NACKED] = MG_PUBLISH_REFUSED,
                                                       [SIM_RETURNED] = MG_PUBLISH_RETURNED};
    enum sim_taken taken = sim_broker_take(frame->message);
    if (taken == SIM_TAKEN && sim_happens(SIM_BROKER_LOST_CONFIRM)) {
        if (sim_draw(2) == 0) {
            sim_link_cut(frame->link);
        }
        return; /* the service gets no answer */
    }
    frame_send((struct frame){.kind = FRAME_CONFIRM,
                              .link = frame->link,
                              .outgoing = frame->outgoing,
                              .outcome = OUTCOMES[taken]},
               false, HOP_US);
}

/* Sent to all current listeners. A queue that ends with its connection keeps the message for no other. */
static void cast_arrived(struct sim_message *message)
{
    char exchange[MG_QUEUE_NAME_SIZE];
    mg_topology_control_exchange(message->routing_key.data, exchange);
    for (int i = 0; i < open_links.count; i++) {
        struct sim_link *link = open_links.links[i];
        for (int listener = 0; listener < MG_LISTENERS_MAX; listener++) {
            if (link->listeners[listener] != NULL && strcmp(link->listeners[listener], exchange) == 0) {
                sim_message_hold(message);
                frame_send(
                    (struct frame){
                        .kind = FRAME_CAST_DOWN, .link = link, .listener = listener, .message = message},
                    false, HOP_US);
            }
        }
    }
}

/* ---- a channel that is stopped ---- */

static const struct sim_queue *queue_of(const struct frame *frame)
{
    return sim_queue_find(frame->message->routing_key);
}

/* True: the frame waits there. */
static bool channel_holds(struct frame *frame)
{
    struct channel *channel = frame->channel;
    if (channel->first == NULL && !sim_is_taken_nowhere(frame->message->routing_key)) {
        return false;
    }
    frame->next = NULL;
    *(channel->first != NULL ? &channel->last->next : &channel->first) = frame;
    channel->last = frame;
    if (channel->first == frame) {
        sim_minority_stops(frame->link->node, queue_of(frame), channel == &frame->link->apart);
    }
    return true;
}

static struct frame *channel_take(struct channel *channel)
{
    struct frame *first = channel->first;
    channel->first = first->next;
    return first;
}

/* Frames that wait there may still arrive: the broker's end detects the loss of the other one late. */
static void channel_end(struct channel *channel)
{
    const struct sim_queue *queue = channel->first != NULL ? queue_of(channel->first) : NULL;
    channel->number++;
    while (channel->first != NULL) {
        struct frame *frame = channel_take(channel);
        sim_minority_keep(queue, frame->message);
        free(frame);
    }
}

static void channel_go_on(struct channel *channel)
{
    while (channel->first != NULL && !sim_is_taken_nowhere(channel->first->message->routing_key)) {
        struct frame *frame = channel_take(channel);
        publish_arrived(frame); /* may cut the link, and end the channel */
        free(frame);
    }
}

void sim_links_go_on(void)
{
    for (int i = 0; i < open_links.count;) {
        struct sim_link *link = open_links.links[i];
        channel_go_on(&link->shared);
        channel_go_on(&link->apart);
        i += i < open_links.count && open_links.links[i] == link ? 1 : 0;
    }
}

static void up_arrived(void *arg)
{
    struct frame *frame = arg;
    struct sim_link *link = frame->link;
    bool is_message = frame->kind == FRAME_PUBLISH || frame->kind == FRAME_CAST;
    if (is_message && link->is_open && sim_broker_blocked_until_us() > sim_now_us()) {
        sim_after(NULL, sim_broker_blocked_until_us() - sim_now_us(), up_arrived, frame);
        return;
    }
    bool is_of_old_channel = frame->kind == FRAME_PUBLISH && frame->channel_number != frame->channel->number;
    if (frame->kind == FRAME_PUBLISH && link->is_open && !is_of_old_channel && channel_holds(frame)) {
        return;
    }
    if (link->is_open && !is_of_old_channel) {
        switch (frame->kind) {
        case FRAME_PUBLISH:
            publish_arrived(frame);
            break;
        case FRAME_END:
            end_arrived(frame);
            break;
        case FRAME_CONSUME:
            if (frame->prefetch > 0) {
                sim_queue_subscribe(frame->queue, link, frame->consumer, frame->prefetch, frame->rank);
            } else {
                sim_queue_unsubscribe(frame->queue, link, frame->consumer);
            }
            break;
        case FRAME_LISTEN:
            link->listeners[frame->listener] = frame->exchange;
            break;
        case FRAME_CAST:
            cast_arrived(frame->message);
            break;
        case FRAME_CLOSE:
            sim_link_cut(link);
            break;
        case FRAME_OPENED:
        case FRAME_LOST:
        case FRAME_BLOCKED:
        case FRAME_DELIVER:
        case FRAME_CAST_DOWN:
        case FRAME_CONFIRM:
            break;
        }
    } else if (frame->kind == FRAME_PUBLISH) {
        sim_message_release(frame->message);
    }
    if (frame->kind == FRAME_CAST) {
        sim_message_release(frame->message);
    }
    if (frame->kind ==
        FRAME_END) { /* the service gave it up; the broker has taken it back or has finished it */
        free(frame->unacked);
    }
    free(frame);
}

void sim_link_cut(struct sim_link *link)
{
    if (!link->is_open) {
        return;
    }
    link->is_open = false;
    for (int i = 0; i < open_links.count; i++) {
        if (open_links.links[i] == link) { /* keeps the order: a draw among them depends on the seed */
            open_links.count--;
            for (; i < open_links.count; i++) {
                open_links.links[i] = open_links.links[i + 1];
            }
        }
    }
    for (int i = 0; i < sim_queue_count(); i++) {
        for (int consumer = 0; consumer < MG_CONSUMERS_MAX; consumer++) {
            sim_queue_unsubscribe(sim_queue_at(i), link, consumer);
        }
    }
    while (link->last != NULL) { /* the newest first: each goes to the front */
        struct sim_unacked *unacked = link->last;
        unacked_remove(unacked);
        sim_queue_requeued(unacked->queue, link, unacked->delivery.consumer, unacked->message);
    }
    channel_end(&link->shared);
    channel_end(&link->apart);
    frame_send((struct frame){.kind = FRAME_LOST, .link = link}, false, HOP_US);
}

void sim_link_tell_blocked(struct sim_link *link, bool is_blocked)
{
    frame_send((struct frame){.kind = FRAME_BLOCKED, .link = link, .is_blocked = is_blocked}, false, HOP_US);
}

bool sim_link_has_copy(const struct sim_message *message)
{
    for (int i = 0; i < open_links.count; i++) {
        for (const struct sim_unacked *one = open_links.links[i]->first; one != NULL; one = one->next) {
            if (one->message != message && mg_slice_equal(one->message->message_id, message->message_id)) {
                return true;
            }
        }
    }
    return false;
}

int sim_link_count(void)
{
    return open_links.count;
}

struct sim_link *sim_link_at(int index)
{
    return open_links.links[index];
}

struct sim_node *sim_link_node(const struct sim_link *link)
{
    return link->node;
}

/* ---- the service's end ---- */

struct sim_link *sim_link_open(struct mg_broker *broker, struct sim_node *node)
{
    struct sim_link *link = calloc(1, sizeof(*link));
    assert(link != NULL && open_links.count < LINKS_MAX);
    *link = (struct sim_link){.broker = broker, .node = node, .life = node->life, .is_open = true};
    open_links.links[open_links.count++] = link;
    frame_send((struct frame){.kind = FRAME_OPENED, .link = link}, false, HOP_US);
    return link;
}

void sim_link_publish(struct sim_link *link, struct sim_outgoing *outgoing, bool is_apart)
{
    struct sim_message *message = outgoing->message;
    struct channel *channel = is_apart ? &link->apart : &link->shared;
    sim_message_hold(message);
    sim_check_left(message);
    if (sim_happens(SIM_BROKER_LOST_PUBLISH)) {
        sim_message_release(message);
        sim_link_cut(link);
        return;
    }
    frame_send((struct frame){.kind = FRAME_PUBLISH,
                              .link = link,
                              .channel = channel,
                              .channel_number = channel->number,
                              .outgoing = outgoing,
                              .message = message},
               true, HOP_US);
}

void sim_link_replace_channel(struct sim_link *link, bool is_apart)
{
    if (link->is_open) {
        channel_end(is_apart ? &link->apart : &link->shared);
    }
}

void sim_link_end(struct sim_link *link, struct sim_unacked *unacked, enum sim_end end)
{
    if (sim_happens(SIM_BROKER_LOST_ACK)) {
        sim_link_cut(link);
        return;
    }
    frame_send((struct frame){.kind = FRAME_END, .link = link, .unacked = unacked, .end = end}, true,
               end == SIM_END_ACK ? ACK_TYPICAL_US : HOP_US);
}

void sim_link_consume(struct sim_link *link, struct sim_queue *queue, int consumer, int prefetch,
                      int64_t rank)
{
    frame_send((struct frame){.kind = FRAME_CONSUME,
                              .link = link,
                              .queue = queue,
                              .consumer = consumer,
                              .prefetch = prefetch,
                              .rank = rank},
               true, HOP_US);
}

void sim_link_listen(struct sim_link *link, int listener, const char *exchange)
{
    frame_send((struct frame){.kind = FRAME_LISTEN, .link = link, .listener = listener, .exchange = exchange},
               true, HOP_US);
}

void sim_link_cast(struct sim_link *link, struct sim_message *message)
{
    if (sim_happens(SIM_BROKER_LOST_PUBLISH)) { /* alone: it has a connection of its own */
        sim_message_release(message);
        return;
    }
    frame_send((struct frame){.kind = FRAME_CAST, .link = link, .message = message}, true, HOP_US);
}

bool sim_link_is_stopped(const struct sim_link *link, int consumer)
{
    for (int i = 0; i < sim_queue_count(); i++) {
        const struct sim_subscription *one = sim_queue_at(i)->subscriptions;
        for (; one != NULL; one = one->next) {
            if (one->link == link && one->consumer == consumer) {
                return false;
            }
        }
    }
    for (const struct sim_unacked *one = link->first; one != NULL; one = one->next) {
        if (one->delivery.consumer == consumer && one->delivery.arrived_boot_ms == 0) {
            return false;
        }
    }
    return true;
}

void sim_link_close(struct sim_link *link)
{
    frame_send((struct frame){.kind = FRAME_CLOSE, .link = link}, true, HOP_US);
}

static void down_arrived(void *arg)
{
    struct frame *frame = arg;
    struct mg_broker *broker = frame->link->broker;
    switch (frame->kind) {
    case FRAME_OPENED:
        sim_broker_opened(broker, frame->link);
        break;
    case FRAME_LOST:
        sim_broker_lost(broker, frame->link);
        break;
    case FRAME_BLOCKED:
        sim_broker_set_blocked(broker, frame->link, frame->is_blocked);
        break;
    case FRAME_DELIVER:
        sim_broker_delivered(broker, frame->unacked);
        break;
    case FRAME_CAST_DOWN:
        sim_broker_receive_cast(broker, frame->link, frame->listener, frame->message);
        sim_message_release(frame->message);
        break;
    case FRAME_CONFIRM:
        sim_line_confirmed(frame->outgoing, frame->outcome);
        break;
    case FRAME_PUBLISH:
    case FRAME_END:
    case FRAME_CONSUME:
    case FRAME_LISTEN:
    case FRAME_CAST:
    case FRAME_CLOSE:
        break;
    }
    free(frame);
}
