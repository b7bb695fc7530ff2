/*
 * The bindings that an exchange or a queue needs, by its name: what topology.c makes. Text only. The signals
 * that a client may send follow from no name, so the bindings of its exchange for them are not listed.
 */
#include <stdio.h>
#include <string.h>

#include "io/amqp/topology.h"

/* `rest` is the name after the prefix. */
static bool begins(const char *name, const char *prefix, const char **ret_rest)
{
    size_t len = strlen(prefix);
    *ret_rest = name + (strncmp(name, prefix, len) == 0 ? len : 0);
    return *ret_rest != name && **ret_rest != '\0';
}

static void put(struct mg_topology_binding *binding, const char *source, const char *destination,
                const char *key, bool is_to_exchange)
{
    binding->is_to_exchange = is_to_exchange;
    (void)snprintf(binding->source, sizeof(binding->source), "%s", source);
    (void)snprintf(binding->destination, sizeof(binding->destination), "%s", destination);
    (void)snprintf(binding->key, sizeof(binding->key), "%s", key);
}

static const struct {
    const char *exchange, *queue;
} FIXED[] = {
    {MG_EXCHANGE_DEAD, MG_QUEUE_DEAD},          {MG_EXCHANGE_INTAKE, MG_QUEUE_INTAKE},
    {MG_EXCHANGE_INTAKE, MG_QUEUE_INTAKE_HIGH}, {MG_EXCHANGE_REPLIES, MG_QUEUE_REPLIES},
    {MG_EXCHANGE_COMMANDS, MG_QUEUE_COMMANDS},  {MG_EXCHANGE_SUPERVISOR, MG_QUEUE_COMMANDS},
    {MG_EXCHANGE_GATEWAY, MG_QUEUE_COMMANDS},   {MG_EXCHANGE_ALERTS, MG_QUEUE_ALERTS},
};

static bool of_exchange(const char *name, int index, struct mg_topology_binding *ret_binding)
{
    static const char *const INTAKE[] = {MG_QUEUE_INTAKE, MG_QUEUE_INTAKE_HIGH};
    const char *rest;
    for (size_t i = 0; i < sizeof(FIXED) / sizeof(FIXED[0]); i++) {
        if (strcmp(name, FIXED[i].exchange) == 0 && index-- == 0) {
            put(ret_binding, name, FIXED[i].queue, FIXED[i].queue, false);
            return true;
        }
    }
    if (index == 0 && strcmp(name, MG_EXCHANGE_CALLBACKS) == 0) {
        put(ret_binding, name, MG_QUEUE_SIGNALS, MG_CALLBACK_KEY, false);
        return true;
    }
    if (index == 0 && begins(name, MG_EXCHANGE_REPLIES ".", &rest)) {
        put(ret_binding, name, MG_QUEUE_REPLIES, MG_QUEUE_REPLIES, false);
        return true;
    }
    if (index == 0 && begins(name, MG_EXCHANGE_CONTROL ".", &rest)) {
        put(ret_binding, MG_EXCHANGE_CONTROL, name, rest, true);
        return true;
    }
    if (index >= 0 && index < 2 && begins(name, MG_INTAKE_PREFIX, &rest)) {
        put(ret_binding, name, INTAKE[index], INTAKE[index], false);
        return true;
    }
    return false;
}

bool mg_topology_binding_of(struct mg_slice name, bool is_exchange, int index,
                            struct mg_topology_binding *ret_binding)
{
    char text[MG_QUEUE_NAME_SIZE];
    (void)snprintf(text, sizeof(text), "%.*s", (int)name.len, name.data);
    if (is_exchange) {
        return of_exchange(text, index, ret_binding);
    }
    if (index == 0 && mg_topology_kind(name) == MG_QUEUE_OF_SERVICE) {
        put(ret_binding, MG_EXCHANGE_REQUESTS, text, text, false);
        return true;
    }
    return false;
}
