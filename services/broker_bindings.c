/* See broker_bindings.h. */
#include "broker_bindings.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "json/scan.h"

#define LINE_SIZE MG_ERR_TEXT_MAX

struct findings {
    struct mg_broker_api api;
    void (*report)(void *arg, const char *line);
    void *arg;
    int count;
    char first[LINE_SIZE];
};

static bool is_text(struct mg_slice object, const char *pointer, const char *text)
{
    return mg_json_string_is(mg_json_find(object, pointer), mg_slice_of(text));
}

static bool is_there(struct mg_slice bindings, const struct mg_topology_binding *needed)
{
    struct mg_json_walk walk;
    struct mg_slice none, binding;
    mg_json_walk_begin(&walk, bindings);
    while (mg_json_walk_next(&walk, &none, &binding)) {
        if (is_text(binding, "/source", needed->source) &&
            is_text(binding, "/destination", needed->destination) &&
            is_text(binding, "/destination_type", needed->is_to_exchange ? "exchange" : "queue") &&
            is_text(binding, "/routing_key", needed->key)) {
            return true;
        }
    }
    return false;
}

static void missing_report(struct findings *findings, const struct mg_topology_binding *binding)
{
    char line[LINE_SIZE], command[MG_APPLY_COMMAND_SIZE];
    const char *names[] = {binding->source, binding->destination};
    mg_topology_apply_command(names, 2, command);
    (void)snprintf(line, sizeof(line), "binding of exchange %.*s to %.*s: missing; run: %.*s",
                   MG_QUEUE_NAME_SIZE, binding->source, MG_QUEUE_NAME_SIZE, binding->destination,
                   MG_APPLY_COMMAND_SIZE - 64, command);
    if (findings->count++ == 0) {
        memcpy(findings->first, line, sizeof(line));
    }
    findings->report(findings->arg, line);
}

/* Exchanges and queues that are missing themselves are named by other checks. */
static void list_judge(struct findings *findings, enum mg_api_list list)
{
    struct mg_json_walk walk;
    struct mg_slice none, object;
    struct mg_slice bindings = mg_buf_slice(&findings->api.lists[MG_API_BINDINGS]);
    mg_json_walk_begin(&walk, mg_buf_slice(&findings->api.lists[list]));
    while (mg_json_walk_next(&walk, &none, &object)) {
        char memory[MG_QUEUE_NAME_SIZE];
        struct mg_buf name;
        struct mg_topology_binding needed;
        mg_buf_init_fixed(&name, memory, sizeof(memory));
        bool is_read = mg_json_string(mg_json_find(object, "/name"), &name) && !name.failed;
        for (int i = 0;
             is_read && mg_topology_binding_of(mg_buf_slice(&name), list == MG_API_EXCHANGES, i, &needed);
             i++) {
            if (!is_there(bindings, &needed)) {
                missing_report(findings, &needed);
            }
        }
    }
}

enum mg_class mg_broker_bindings_check(const struct mg_broker_address *address,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       struct mg_err *err)
{
    static const enum mg_api_list READ[] = {MG_API_QUEUES, MG_API_EXCHANGES, MG_API_BINDINGS};
    struct findings findings = {.api = {.address = address}, .report = report, .arg = arg};
    enum mg_class class = mg_broker_api_open(&findings.api, err);
    for (size_t i = 0; i < sizeof(READ) / sizeof(READ[0]) && class == MG_OK; i++) {
        class = mg_broker_api_read(&findings.api, READ[i], err);
        class = class == MG_OK
                    ? mg_policy_list_check(mg_buf_slice(&findings.api.lists[READ[i]]), "objects", err)
                    : class;
    }
    if (class == MG_OK) {
        list_judge(&findings, MG_API_QUEUES);
        list_judge(&findings, MG_API_EXCHANGES);
    }
    mg_broker_api_close(&findings.api);
    if (class == MG_OK && findings.count > 0) {
        class = mg_err_set(err, MG_PERMANENT, "%s", findings.first);
    }
    return class;
}

static void on_missing(void *arg, const char *line)
{
    (void)arg;
    mg_log(MG_LOG_ERROR, "a binding of the broker is missing", MG_LOG_TEXT("binding", line));
}

void mg_broker_bindings_log(const struct mg_broker_address *address)
{
    struct mg_err err;
    if (mg_broker_has_api(address) &&
        mg_broker_bindings_check(address, on_missing, NULL, &err) == MG_TRANSIENT) {
        mg_log(MG_LOG_WARN, "the bindings of the broker are not known", MG_LOG_TEXT("reason", err.text));
    }
}
