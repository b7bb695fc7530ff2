/*
 * A flood of messages that no process of the run can read: from a part that was upgraded before the others,
 * or from a faulty one. Processes return them for newer instances, keep room for other messages, and finally
 * set them aside.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "broker.h"
#include "core/newer.h"
#include "io/amqp/topology.h"
#include "nodes.h"

#define FLOOD_MAX 1500 /* about twice the largest prefetch */
/* The rounds that each has at least: the scheduler's count for those that find no room to wait. */
#define ROUNDS_MIN 5
#define LOOK_US    1000000
#define BODY       "{\"v\":99,\"order_id\":\"x\"}"

static int floods;

static struct mg_message draw(void)
{
    static char queue[MG_QUEUE_NAME_SIZE];
    switch (sim_draw(3)) {
    case 0:
        return (struct mg_message){
            .exchange = MG_EXCHANGE_REPLIES, .routing_key = MG_QUEUE_REPLIES, .type = "reply"};
    case 1:
        return (struct mg_message){
            .exchange = MG_EXCHANGE_COMMANDS, .routing_key = MG_QUEUE_COMMANDS, .type = "command"};
    default:
        mg_topology_request_queue(sim_service_name((int)sim_draw((uint64_t)sim_service_count())),
                                  sim_draw(2) == 0, queue);
        return (struct mg_message){.exchange = MG_EXCHANGE_REQUESTS, .routing_key = queue, .type = "request"};
    }
}

static void look(void *arg)
{
    sim_nodes_look();
    sim_after(NULL, LOOK_US, look, arg);
}

static void on_flood(void *arg)
{
    struct mg_message message = draw();
    message.body = mg_slice_of(BODY);
    int count = (int)sim_draw_between(1, FLOOD_MAX);
    sim_happened(SIM_NEWER_FLOOD);
    sim_trace("flood: %d of a newer version for %s", count, message.routing_key);
    for (int i = 0; i < count && !sim_broker_is_down(); i++) {
        char id[48];
        (void)snprintf(id, sizeof(id), "newer-%d-%d", floods, i);
        message.message_id = id;
        (void)sim_broker_take(sim_message_create(&message, (struct mg_slice){NULL, 0}));
    }
    if (floods++ == 0) {
        look(arg);
    }
}

void sim_newer_check(const char *where, int held, int prefetch)
{
    int room = prefetch / MG_NEWER_SHARE > 0 ? prefetch / MG_NEWER_SHARE : 1;
    if (held > room) {
        sim_violated("newer_leave_room", "%d messages of a newer version wait in %s, of a prefetch of %d",
                     held, where, prefetch);
    }
}

bool sim_newer_may_die(const struct sim_message *message)
{
    return mg_slice_is(message->body, BODY) && message->delivery_count >= ROUNDS_MIN;
}

void sim_newer_start(void)
{
    sim_every(SIM_NEWER_FLOOD, on_flood);
}
