/* Spontaneous faults of the broker: broken connections, alarms, absence, and loss of its contents. */
#include "broker.h"
#include "io/amqp/topology.h"
#include "nodes.h"

#define AWAY_MAX_US  20000000 /* a restart, or an alarm until a person clears it */
#define HEARTBEAT_US 20000000 /* the broker cuts a connection that is silent for so long */
#define DEATH_MAX_US 1500     /* frames that a dying process sent within this time still arrive */

static struct {
    int64_t down_until_us, blocked_until_us;
} state;

bool sim_broker_is_down(void)
{
    return sim_now_us() < state.down_until_us;
}

int64_t sim_broker_blocked_until_us(void)
{
    return state.blocked_until_us;
}

static void cut_all(void)
{
    while (sim_link_count() > 0) {
        sim_link_cut(sim_link_at(0));
    }
}

static void cut_of(const struct sim_node *node)
{
    for (int i = 0; i < sim_link_count();) {
        if (sim_link_node(sim_link_at(i)) == node) {
            sim_link_cut(sim_link_at(i));
        } else {
            i++;
        }
    }
}

/* ---- a node's ---- */

static void on_death(void *node)
{
    cut_of(node);
}

void sim_broker_node_died(struct sim_node *node)
{
    sim_after(NULL, sim_draw_between(0, DEATH_MAX_US), on_death, node);
}

static void on_silence(void *arg)
{
    const struct sim_node *node = arg;
    if (node->paused_until_us > sim_now_us()) {
        cut_of(node);
    }
}

void sim_broker_node_paused(struct sim_node *node)
{
    sim_after(NULL, HEARTBEAT_US, on_silence, node);
}

/* ---- by itself ---- */

static void on_cut(void *arg)
{
    (void)arg;
    if (sim_link_count() > 0) {
        sim_happened(SIM_BROKER_CUT);
        sim_link_cut(sim_link_at((int)sim_draw((uint64_t)sim_link_count())));
    }
}

static void tell_blocked(bool is_blocked)
{
    for (int i = 0; i < sim_link_count(); i++) {
        sim_link_tell_blocked(sim_link_at(i), is_blocked);
    }
}

static void on_unblocked(void *arg)
{
    (void)arg;
    if (state.blocked_until_us <= sim_now_us()) {
        tell_blocked(false);
    }
}

static void on_blocked(void *arg)
{
    (void)arg;
    sim_happened(SIM_BROKER_BLOCKED);
    int64_t for_us = sim_draw_between(1000000, AWAY_MAX_US);
    state.blocked_until_us = sim_now_us() + for_us;
    tell_blocked(true);
    sim_after(NULL, for_us, on_unblocked, NULL);
}

static void go_down(void)
{
    state.down_until_us = sim_now_us() + sim_draw_between(500000, AWAY_MAX_US);
    cut_all();
}

static void on_down(void *arg)
{
    (void)arg;
    sim_happened(SIM_BROKER_DOWN);
    go_down();
}

/* A queue that the sweep can repair after its loss; NULL: there is none yet. */
static struct sim_queue *draw_inner_queue(void)
{
    struct sim_queue *queue = sim_queue_at((int)sim_draw((uint64_t)sim_queue_count()));
    struct mg_slice name = mg_slice_of(queue->name);
    bool is_inner = queue->read == NULL && !mg_slice_is(name, MG_QUEUE_INTAKE) &&
                    !mg_slice_is(name, MG_QUEUE_INTAKE_HIGH);
    return is_inner && queue->exists && !sim_queue_takes_nothing(queue) ? queue : NULL;
}

static void on_purge(void *arg)
{
    (void)arg;
    struct sim_queue *queue = draw_inner_queue();
    if (queue != NULL) {
        sim_happened(SIM_BROKER_PURGE);
        sim_trace("purged: %d of %s", queue->ready, queue->name);
        sim_queue_purge(queue);
    }
}

static void on_declared(void *arg)
{
    ((struct sim_queue *)arg)->exists = true;
}

/* Its consumers are cancelled, and connect anew until the queue exists again. */
static void on_delete(void *arg)
{
    (void)arg;
    struct sim_queue *queue = draw_inner_queue();
    if (queue != NULL) {
        sim_happened(SIM_BROKER_DELETE);
        sim_trace("deleted: %s", queue->name);
        queue->exists = false;
        sim_queue_purge(queue);
        while (queue->subscriptions != NULL) {
            sim_link_cut(queue->subscriptions->link);
        }
        sim_after(NULL, sim_draw_between(500000, AWAY_MAX_US), on_declared, queue);
    }
}

static void on_reset(void *arg)
{
    (void)arg;
    sim_happened(SIM_BROKER_RESET);
    go_down();
    for (int i = 0; i < sim_queue_count(); i++) {
        sim_queue_purge(sim_queue_at(i));
    }
}

void sim_broker_heal(void)
{
    state.down_until_us = state.blocked_until_us = 0;
    tell_blocked(false);
    sim_minority_heal();
    for (int i = 0; i < sim_queue_count(); i++) {
        sim_queue_at(i)->exists = true;
    }
}

void sim_broker_start(void)
{
    sim_queues_start();
    static const char *const QUEUES[] = {MG_QUEUE_INTAKE,   MG_QUEUE_INTAKE_HIGH, MG_QUEUE_REPLIES,
                                         MG_QUEUE_COMMANDS, MG_QUEUE_SIGNALS,     MG_QUEUE_ALERTS,
                                         MG_QUEUE_REJECTED, MG_QUEUE_DEAD};
    for (size_t i = 0; i < sizeof(QUEUES) / sizeof(QUEUES[0]); i++) {
        (void)sim_queue_declare(QUEUES[i]);
    }
    for (int i = 0; i < 2 * sim_service_count(); i++) {
        char queue[MG_QUEUE_NAME_SIZE];
        mg_topology_request_queue(sim_service_name(i / 2), i % 2 == 1, queue);
        (void)sim_queue_declare(queue);
    }
    sim_every(SIM_BROKER_CUT, on_cut);
    sim_every(SIM_BROKER_BLOCKED, on_blocked);
    sim_every(SIM_BROKER_DOWN, on_down);
    sim_every(SIM_BROKER_PURGE, on_purge);
    sim_every(SIM_BROKER_DELETE, on_delete);
    sim_minority_start();
    sim_every(SIM_BROKER_RESET, on_reset);
}
