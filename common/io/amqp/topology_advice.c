/*
 * The command that makes a queue or an exchange, derived from its name. Those of services and clients are
 * made only if `broker apply` gets the name. Text only; no broker is needed.
 */
#include <stdio.h>
#include <string.h>

#include "io/amqp/topology.h"

#define APPLY "makegood broker apply"

/* Prefix and suffix of a service's or client's name, the option that takes it, and a flag next to it or "".
 */
static const struct {
    const char *prefix, *suffix, *option, *flag;
} PATTERNS[] = {
    {"agent.", ".requests", "--service", ""},
    {"agent.", ".requests.high", "--service", ""},
    {MG_EXCHANGE_REPLIES ".", "", "--service", ""},
    {MG_EXCHANGE_CONTROL ".", "", "--service", ""},
    {MG_CLIENT_PREFIX, ".statuses", "--client", ""},
    {MG_CLIENT_PREFIX, MG_WEBHOOK_SUFFIX, "--client", " --webhook"},
    {MG_INTAKE_PREFIX, "", "--client", ""},
    {MG_SIGNALS_PREFIX, "", "--client", ""},
};

/* " --service parcels" for an object of that service; "" for one that apply always makes. Returns the flag.
 */
static const char *option_write(const char *name, char ret_option[MG_QUEUE_NAME_SIZE])
{
    size_t len = strlen(name);
    ret_option[0] = '\0';
    for (size_t i = 0; i < sizeof(PATTERNS) / sizeof(PATTERNS[0]); i++) {
        size_t before = strlen(PATTERNS[i].prefix), behind = strlen(PATTERNS[i].suffix);
        if (len > before + behind && strncmp(name, PATTERNS[i].prefix, before) == 0 &&
            strcmp(name + len - behind, PATTERNS[i].suffix) == 0) {
            (void)snprintf(ret_option, MG_QUEUE_NAME_SIZE, " %s %.*s", PATTERNS[i].option,
                           (int)(len - before - behind), name + before);
            return PATTERNS[i].flag;
        }
    }
    return "";
}

/* As a whole word: "--service pay" is not in "--service payment". */
static bool has_option(const char *command, const char *option)
{
    size_t len = strlen(option);
    for (const char *at = command; (at = strstr(at, option)) != NULL; at += len) {
        if (at[len] == '\0' || at[len] == ' ') {
            return true;
        }
    }
    return false;
}

static void option_add(char command[MG_APPLY_COMMAND_SIZE], const char *option)
{
    size_t len = strlen(command);
    if (option[0] != '\0' && len + strlen(option) < MG_APPLY_COMMAND_SIZE && !has_option(command, option)) {
        memcpy(command + len, option, strlen(option) + 1);
    }
}

void mg_topology_apply_command(const char *const *names, int count, char ret_command[MG_APPLY_COMMAND_SIZE])
{
    char option[MG_QUEUE_NAME_SIZE];
    (void)snprintf(ret_command, MG_APPLY_COMMAND_SIZE, APPLY);
    for (int i = 0; i < count; i++) {
        const char *flag = option_write(names[i], option);
        option_add(ret_command, option);
        option_add(ret_command, flag);
    }
}

/* "NOT_FOUND - no queue 'agent.parcels.requests' in vhost '/'": RabbitMQ names the missing object first. */
void mg_topology_apply_command_for(struct mg_slice text, char ret_command[MG_APPLY_COMMAND_SIZE])
{
    char name[MG_QUEUE_NAME_SIZE] = "";
    const char *begin = text.len > 0 ? memchr(text.data, '\'', text.len) : NULL;
    size_t left = begin != NULL ? text.len - (size_t)(begin + 1 - text.data) : 0;
    const char *end = left > 0 ? memchr(begin + 1, '\'', left) : NULL;
    if (end != NULL) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)(end - begin - 1), begin + 1);
    }
    const char *const names[] = {name};
    mg_topology_apply_command(names, 1, ret_command);
}
