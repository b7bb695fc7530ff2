/*
 * The names of queues and exchanges, and what a name says of who may use it. Text alone: no broker is asked,
 * so that the simulator stands on this file as the services do.
 */
#include <stdio.h>
#include <string.h>

#include "io/broker_amqp.h"
#include "io/topology.h"

#define SERVICE_PREFIX      "agent."
#define SERVICE_SUFFIX      ".requests"
#define SERVICE_SUFFIX_HIGH ".requests.high"
#define SERVICE_CONTROL     ".control."
#define REPLY_PREFIX        MG_EXCHANGE_REPLIES "."
#define CONTROL_PREFIX      MG_EXCHANGE_CONTROL "."

void mg_topology_request_queue(const char *service, bool is_high, char ret_queue[MG_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret_queue, MG_QUEUE_NAME_SIZE, SERVICE_PREFIX "%s%s", service,
                   is_high ? SERVICE_SUFFIX_HIGH : SERVICE_SUFFIX);
}

static bool topology_starts_with(struct mg_slice text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

void mg_topology_reply_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret_exchange, MG_QUEUE_NAME_SIZE, REPLY_PREFIX "%s", service);
}

void mg_topology_control_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret_exchange, MG_QUEUE_NAME_SIZE, CONTROL_PREFIX "%s", service);
}

void mg_topology_control_queue(const char *service, char ret_prefix[MG_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret_prefix, MG_QUEUE_NAME_SIZE, SERVICE_PREFIX "%s" SERVICE_CONTROL, service);
}

bool mg_topology_is_reply_of(struct mg_slice exchange, const char *service)
{
    char own[MG_QUEUE_NAME_SIZE];
    mg_topology_reply_exchange(service, own);
    return !topology_starts_with(exchange, REPLY_PREFIX) || mg_slice_is(exchange, own);
}

bool mg_topology_is_queue_of(struct mg_slice exchange, struct mg_slice queue)
{
    if (!topology_starts_with(exchange, MG_INTAKE_PREFIX)) return true;
    char own[MG_QUEUE_NAME_SIZE];
    size_t skipped = strlen(MG_INTAKE_PREFIX);
    int len = snprintf(own, sizeof(own), MG_CLIENT_PREFIX "%.*s.", (int)(exchange.len - skipped),
                       exchange.data + skipped);
    return len > 0 && (size_t)len < sizeof(own) && topology_starts_with(queue, own);
}

bool mg_topology_is_reserved(struct mg_slice queue)
{
    static const char *const prefixes[] = {"orders.",   "agent.", "scheduler.",
                                           "operator.", "dead.",  "makegood."};
    if (queue.data == NULL || queue.len == 0 || queue.len > MG_AMQP_SHORT_MAX) return true;
    for (size_t i = 0; i < queue.len; i++) {
        unsigned char c = (unsigned char)queue.data[i];
        if (c < 0x20 || c == 0x7F) /* bytes above are UTF-8 text, which is the broker's to judge */
            return true;
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (topology_starts_with(queue, prefixes[i])) return true;
    }
    return topology_starts_with(queue, "amq.") && !topology_starts_with(queue, "amq.gen-") &&
           !mg_topology_is_direct_reply(queue);
}

bool mg_topology_is_direct_reply(struct mg_slice queue)
{
    return topology_starts_with(queue, "amq.rabbitmq.reply-to");
}
