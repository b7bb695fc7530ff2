/*
 * Quorum queues without their majority. A channel that publishes to such a queue stops there, and the broker
 * confirms none of its later publishes either. When the majority returns, the channel continues. Messages of
 * channels closed meanwhile may be in the queue or not.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker.h"
#include "io/amqp/topology.h"
#include "nodes.h"
#include "orders.h"

/* Up to the time that an order may take; or so short that no process detects it. */
#define SHORT_MAX_US 8000000
#define LONG_MAX_US  90000000

struct kept {
    struct kept *next;
    const struct sim_queue *queue; /* waits for this queue's majority */
    struct sim_message *message;
};

/* A process has detected that this queue accepts nothing. */
struct found {
    struct found *next;
    const struct sim_node *node;
    const struct sim_queue *queue;
    uint32_t life;
    int outage;
};

static struct {
    struct kept *first, **end;
    struct found *found;
} minority = {.end = &minority.first};

bool sim_queue_takes_nothing(const struct sim_queue *queue)
{
    return queue->outage_ends_us != 0;
}

bool sim_is_taken_nowhere(struct mg_slice routing_key)
{
    const struct sim_queue *queue = sim_queue_find(routing_key);
    return queue != NULL && sim_queue_takes_nothing(queue);
}

/* ---- messages that may arrive after an outage ---- */

void sim_minority_keep(const struct sim_queue *queue, struct sim_message *message)
{
    /* A message for another queue only waited behind; its arrival is rare. NULL: the channel goes on again,
     * and its first message is for a queue that does not exist. */
    bool is_its_own = sim_queue_find(message->routing_key) == queue;
    if (queue == NULL || !sim_queue_takes_nothing(queue) || sim_draw(is_its_own ? 2 : 8) != 0) {
        sim_message_release(message);
        return;
    }
    struct kept *kept = malloc(sizeof(*kept));
    assert(kept != NULL);
    *kept = (struct kept){NULL, queue, message};
    *minority.end = kept;
    minority.end = &kept->next;
}

bool sim_minority_keeps(const char *message_id)
{
    for (const struct kept *kept = minority.first; kept != NULL; kept = kept->next) {
        if (mg_slice_is(kept->message->message_id, message_id)) {
            return true;
        }
    }
    return false;
}

/* Each goes to its own queue; if that accepts nothing either, it waits there. */
static void kept_arrive(const struct sim_queue *queue)
{
    struct kept *all = minority.first;
    minority.first = NULL;
    minority.end = &minority.first;
    while (all != NULL) {
        struct kept *kept = all;
        all = kept->next;
        if (kept->queue == queue) {
            sim_trace("it was kept: %s %s", kept->message->routing_key.data,
                      kept->message->message_id.data != NULL ? kept->message->message_id.data : "");
            (void)sim_broker_take(kept->message);
            free(kept);
        } else {
            kept->next = NULL;
            *minority.end = kept;
            minority.end = &kept->next;
        }
    }
}

/* ---- stopped processes ---- */

static struct found *found_of(const struct sim_node *node, const struct sim_queue *queue)
{
    struct found *found = minority.found;
    while (found != NULL && (found->node != node || found->queue != queue || found->life != node->life ||
                             found->outage != queue->outages)) {
        found = found->next;
    }
    return found;
}

void sim_minority_found(const struct sim_node *node, struct mg_slice name)
{
    const struct sim_queue *queue = sim_queue_find(name);
    if (queue == NULL || !sim_queue_takes_nothing(queue) || found_of(node, queue) != NULL) {
        return;
    }
    struct found *found = malloc(sizeof(*found));
    assert(found != NULL);
    *found = (struct found){minority.found, node, queue, node->life, queue->outages};
    minority.found = found;
}

void sim_minority_stops(const struct sim_node *node, const struct sim_queue *queue, bool is_apart)
{
    sim_trace("%s stands still%s before %s", node->name, is_apart ? " apart" : "", queue->name);
    if (is_apart) {
        return;
    }
    sim_happened(SIM_BROKER_MINORITY);
    sim_check_stopped();
    if (found_of(node, queue) != NULL) {
        sim_violated("stopped_once",
                     "%s has found out that %s takes nothing, and stands still before it again", node->name,
                     queue->name);
    }
}

/* ---- the fault ---- */

static struct sim_queue *draw_queue(void)
{
    char name[MG_QUEUE_NAME_SIZE];
    switch (sim_draw(8)) {
    case 0:
    case 1:
    case 2:
        mg_topology_request_queue(sim_service_name((int)sim_draw((uint64_t)sim_service_count())),
                                  sim_draw(4) == 0, name);
        break;
    case 3:
    case 4:
    case 5:
        (void)snprintf(name, sizeof(name), "client.c%d.first", (int)sim_draw(SIM_CLIENTS));
        break;
    case 6:
        (void)snprintf(name, sizeof(name), "%s", sim_draw(2) == 0 ? MG_QUEUE_REPLIES : MG_QUEUE_COMMANDS);
        break;
    default:
        return sim_queue_at((int)sim_draw((uint64_t)sim_queue_count()));
    }
    return sim_queue_find(mg_slice_of(name));
}

static void outage_end(struct sim_queue *queue)
{
    sim_trace("%s has its majority again", queue->name);
    queue->outage_ends_us = 0;
    kept_arrive(queue);
    sim_links_go_on();
    sim_queue_push(queue);
}

static void on_end(void *arg)
{
    struct sim_queue *queue = arg;
    if (sim_queue_takes_nothing(queue) && queue->outage_ends_us <= sim_now_us()) {
        outage_end(queue);
    }
}

void sim_minority_begin(struct sim_queue *queue, int64_t for_us)
{
    if (!queue->exists || sim_queue_takes_nothing(queue)) {
        return;
    }
    sim_trace("%s loses its majority for %lld ms", queue->name, (long long)(for_us / 1000));
    queue->outages++;
    queue->outage_ends_us = sim_now_us() + for_us;
    sim_after(NULL, for_us, on_end, queue);
}

static void on_minority(void *arg)
{
    (void)arg;
    struct sim_queue *queue = draw_queue();
    sim_minority_begin(queue, sim_draw_between(1000000, sim_draw(4) == 0 ? SHORT_MAX_US : LONG_MAX_US));
}

void sim_minority_heal(void)
{
    for (int i = 0; i < sim_queue_count(); i++) {
        if (sim_queue_takes_nothing(sim_queue_at(i))) {
            outage_end(sim_queue_at(i));
        }
    }
}

void sim_minority_start(void)
{
    if (!sim_is_minority_run()) {
        sim_every(SIM_BROKER_MINORITY, on_minority);
    }
}
