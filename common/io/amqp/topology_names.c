/*
 * The names of queues and exchanges, and the rights that follow from a name. Text only, no broker is needed,
 * so the simulator uses this file as the services do.
 */
#include <stdio.h>
#include <string.h>

#include "io/amqp/connection.h"
#include "io/amqp/topology.h"

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

/* The default exchange has no name. */
static bool is_default(struct mg_slice exchange)
{
    return exchange.len == 0;
}

bool mg_topology_is_reply_of(struct mg_slice exchange, const char *service)
{
    char own[MG_QUEUE_NAME_SIZE];
    mg_topology_reply_exchange(service, own);
    return is_default(exchange) || mg_slice_is(exchange, own) || mg_slice_is(exchange, MG_EXCHANGE_REPLIES);
}

/* No dot: client.a.b.* would belong to client a and to client a.b. */
static bool is_client_name(struct mg_slice name)
{
    return name.len > 0 && memchr(name.data, '.', name.len) == NULL;
}

/* The client's name behind `prefix`. */
static bool client_behind(struct mg_slice exchange, const char *prefix, struct mg_slice *ret_client)
{
    size_t skipped = strlen(prefix);
    if (!topology_starts_with(exchange, prefix)) {
        return false;
    }
    struct mg_slice client = {exchange.data + skipped, exchange.len - skipped};
    if (is_client_name(client)) {
        *ret_client = client;
    }
    return is_client_name(client);
}

enum mg_commander mg_topology_commander(struct mg_slice exchange, struct mg_slice *ret_client)
{
    struct mg_slice client = mg_slice_of("");
    bool is_clients = client_behind(exchange, MG_SIGNALS_PREFIX, &client);
    if (ret_client != NULL) {
        *ret_client = client;
    }
    if (is_clients) {
        return MG_COMMANDER_CLIENT;
    }
    if (mg_slice_is(exchange, MG_EXCHANGE_CALLBACKS)) {
        return MG_COMMANDER_CALLBACK;
    }
    if (mg_slice_is(exchange, MG_EXCHANGE_SUPERVISOR)) {
        return MG_COMMANDER_SUPERVISOR;
    }
    if (mg_slice_is(exchange, MG_EXCHANGE_GATEWAY)) {
        return MG_COMMANDER_GATEWAY;
    }
    bool is_operators = is_default(exchange) || mg_slice_is(exchange, MG_EXCHANGE_COMMANDS);
    return is_operators ? MG_COMMANDER_OPERATOR : MG_COMMANDER_NONE;
}

bool mg_topology_client(struct mg_slice exchange, struct mg_slice *ret_client)
{
    if (client_behind(exchange, MG_INTAKE_PREFIX, ret_client)) {
        return true;
    }
    if (!is_default(exchange) && !mg_slice_is(exchange, MG_EXCHANGE_INTAKE)) {
        return false;
    }
    *ret_client = mg_slice_of("");
    return true;
}

void mg_topology_signal_exchange(const char *client, char ret_exchange[MG_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret_exchange, MG_QUEUE_NAME_SIZE, MG_SIGNALS_PREFIX "%s", client);
}

void mg_topology_webhook_queue(const char *client, char ret_queue[MG_QUEUE_NAME_SIZE])
{
    (void)snprintf(ret_queue, MG_QUEUE_NAME_SIZE, MG_CLIENT_PREFIX "%s" MG_WEBHOOK_SUFFIX, client);
}

static bool is_webhook_queue(struct mg_slice queue)
{
    size_t len = strlen(MG_WEBHOOK_SUFFIX);
    return topology_starts_with(queue, MG_CLIENT_PREFIX) && queue.len >= len &&
           memcmp(queue.data + queue.len - len, MG_WEBHOOK_SUFFIX, len) == 0;
}

static bool is_between(struct mg_slice queue, const char *prefix, const char *suffix)
{
    size_t before = strlen(prefix), behind = strlen(suffix);
    return queue.len > before + behind && topology_starts_with(queue, prefix) &&
           memcmp(queue.data + queue.len - behind, suffix, behind) == 0;
}

enum mg_queue_kind mg_topology_kind(struct mg_slice queue)
{
    if (is_between(queue, SERVICE_PREFIX, SERVICE_SUFFIX) ||
        is_between(queue, SERVICE_PREFIX, SERVICE_SUFFIX_HIGH)) {
        return MG_QUEUE_OF_SERVICE;
    }
    if (is_between(queue, MG_CLIENT_PREFIX, MG_WEBHOOK_SUFFIX)) {
        return MG_QUEUE_OF_WEBHOOK;
    }
    return is_between(queue, MG_CLIENT_PREFIX, MG_STATUSES_SUFFIX) ? MG_QUEUE_OF_CLIENT : MG_QUEUE_OF_OTHERS;
}

bool mg_topology_is_queue_of(struct mg_slice client, struct mg_slice queue)
{
    if (client.len == 0) {
        return !is_webhook_queue(queue);
    }
    size_t prefix = strlen(MG_CLIENT_PREFIX);
    return queue.len > prefix + client.len && topology_starts_with(queue, MG_CLIENT_PREFIX) &&
           memcmp(queue.data + prefix, client.data, client.len) == 0 &&
           queue.data[prefix + client.len] == '.';
}

bool mg_topology_is_control_of(struct mg_slice exchange, const char *control_exchange)
{
    return mg_slice_is(exchange, MG_EXCHANGE_CONTROL) || mg_slice_is(exchange, control_exchange);
}

bool mg_topology_is_of_one(struct mg_slice exchange)
{
    return topology_starts_with(exchange, REPLY_PREFIX) || topology_starts_with(exchange, MG_INTAKE_PREFIX) ||
           topology_starts_with(exchange, MG_SIGNALS_PREFIX);
}

bool mg_topology_is_again_believed(struct mg_slice exchange)
{
    return is_default(exchange) || mg_slice_is(exchange, MG_EXCHANGE_REQUESTS);
}

bool mg_topology_is_reserved(struct mg_slice queue)
{
    static const char *const prefixes[] = {"orders.",   "agent.", "scheduler.",
                                           "operator.", "dead.",  "makegood."};
    if (queue.data == NULL || queue.len == 0 || queue.len > MG_AMQP_SHORT_MAX) {
        return true;
    }
    for (size_t i = 0; i < queue.len; i++) {
        unsigned char c = (unsigned char)queue.data[i];
        if (c < 0x20 || c == 0x7F) { /* bytes above are UTF-8 text, which the broker judges */
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (topology_starts_with(queue, prefixes[i])) {
            return true;
        }
    }
    return topology_starts_with(queue, "amq.") && !topology_starts_with(queue, "amq.gen-") &&
           !mg_topology_is_direct_reply(queue);
}

bool mg_topology_is_direct_reply(struct mg_slice queue)
{
    return topology_starts_with(queue, "amq.rabbitmq.reply-to");
}
