/* See broker_checks.h. */
#include "broker_checks.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "json/scan.h"

/* ---- bindings ---- */

#define LINE_SIZE MG_ERR_TEXT_MAX

struct bindings {
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
    struct mg_slice none, binding;
    for (struct mg_json_walk walk = mg_json_walk_of(bindings); mg_json_walk_next(&walk, &none, &binding);) {
        if (is_text(binding, "/source", needed->source) &&
            is_text(binding, "/destination", needed->destination) &&
            is_text(binding, "/destination_type", needed->is_to_exchange ? "exchange" : "queue") &&
            is_text(binding, "/routing_key", needed->key)) {
            return true;
        }
    }
    return false;
}

static void missing_report(struct bindings *found, const struct mg_topology_binding *binding)
{
    char line[LINE_SIZE], command[MG_APPLY_COMMAND_SIZE];
    const char *names[] = {binding->source, binding->destination};
    mg_topology_apply_command(names, 2, command);
    (void)snprintf(line, sizeof(line), "binding of exchange %.*s to %.*s: missing; run: %.*s",
                   MG_QUEUE_NAME_SIZE, binding->source, MG_QUEUE_NAME_SIZE, binding->destination,
                   MG_APPLY_COMMAND_SIZE - 64, command);
    if (found->count++ == 0) {
        memcpy(found->first, line, sizeof(line));
    }
    found->report(found->arg, line);
}

/* Exchanges and queues that are missing themselves are named by other checks. */
static void list_judge(struct bindings *found, enum mg_api_list list)
{
    struct mg_slice none, object;
    struct mg_slice bindings = mg_buf_slice(&found->api.lists[MG_API_BINDINGS]);
    struct mg_json_walk walk = mg_json_walk_of(mg_buf_slice(&found->api.lists[list]));
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
                missing_report(found, &needed);
            }
        }
    }
}

enum mg_class mg_broker_bindings_check(const struct mg_broker_address *address,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       struct mg_err *err)
{
    static const enum mg_api_list OF_BINDINGS[] = {MG_API_QUEUES, MG_API_EXCHANGES, MG_API_BINDINGS};
    struct bindings found = {.api = {.address = address}, .report = report, .arg = arg};
    enum mg_class class = mg_broker_api_open(&found.api, err);
    for (size_t i = 0; i < sizeof(OF_BINDINGS) / sizeof(OF_BINDINGS[0]) && class == MG_OK; i++) {
        class = mg_broker_api_read(&found.api, OF_BINDINGS[i], err);
        class = class == MG_OK
                    ? mg_policy_list_check(mg_buf_slice(&found.api.lists[OF_BINDINGS[i]]), "objects", err)
                    : class;
    }
    if (class == MG_OK) {
        list_judge(&found, MG_API_QUEUES);
        list_judge(&found, MG_API_EXCHANGES);
    }
    mg_broker_api_close(&found.api);
    if (class == MG_OK && found.count > 0) {
        class = mg_err_set(err, MG_PERMANENT, "%s", found.first);
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

/* ---- policies ---- */

const char MG_BROKER_POLICY_COMMAND[] =
    "rabbitmqctl set_policy " MG_POLICY_NAME " '" MG_POLICY_PATTERN "' '" MG_POLICY_DEFINITION
    "' --priority " MG_POLICY_PRIORITY_TEXT " --apply-to queues";

struct findings {
    void (*report)(void *arg, const char *line);
    void *arg;
    int count;
    char first[MG_ERR_TEXT_MAX];
};

static void on_found(void *arg, const char *line)
{
    struct findings *findings = arg;
    if (findings->count++ == 0) {
        (void)snprintf(findings->first, sizeof(findings->first), "%.*s", (int)sizeof(findings->first) - 1,
                       line);
    }
    findings->report(findings->arg, line);
}

static enum mg_class findings_judge(const struct findings *findings, struct mg_err *err)
{
    if (findings->count == 0) {
        return MG_OK;
    }
    if (findings->count == 1) {
        return mg_err_set(err, MG_PERMANENT, "%s", findings->first);
    }
    return mg_err_set(err, MG_PERMANENT, "%.*s; and %d more", MG_ERR_TEXT_MAX - 32, findings->first,
                      findings->count - 1);
}

static const enum mg_api_list READ[] = {MG_API_QUEUES, MG_API_EXCHANGES, MG_API_POLICIES,
                                        MG_API_OPERATOR_POLICIES};

enum mg_class mg_broker_policies_check(const struct mg_broker_address *address,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       struct mg_err *err)
{
    struct mg_broker_api api = {.address = address};
    struct findings findings = {.report = report, .arg = arg};
    enum mg_class class = mg_broker_api_open(&api, err);
    for (size_t i = 0; i < sizeof(READ) / sizeof(READ[0]) && class == MG_OK; i++) {
        class = mg_broker_api_read(&api, READ[i], err);
    }
    if (class == MG_OK) {
        const struct mg_policy_lists lists = {.queues = mg_buf_slice(&api.lists[MG_API_QUEUES]),
                                              .exchanges = mg_buf_slice(&api.lists[MG_API_EXCHANGES]),
                                              .policies = mg_buf_slice(&api.lists[MG_API_POLICIES]),
                                              .operator_policies =
                                                  mg_buf_slice(&api.lists[MG_API_OPERATOR_POLICIES])};
        const struct mg_policy_judge judge = {.vhost = api.vhost.data,
                                              .limit_of = mg_topology_delivery_limit,
                                              .found = on_found,
                                              .arg = &findings};
        class = mg_policies_judge(&lists, &judge, err);
    }
    mg_broker_api_close(&api);
    return class == MG_OK ? findings_judge(&findings, err) : class;
}

static void on_refused(void *arg, const char *line)
{
    (void)arg;
    mg_log(MG_LOG_ERROR, "a policy of the broker loses or changes messages", MG_LOG_TEXT("policy", line));
}

enum mg_class mg_broker_policies_admit(const struct mg_broker_address *address, struct mg_err *err)
{
    if (!mg_broker_has_api(address)) {
        return MG_OK;
    }
    enum mg_class class = mg_broker_policies_check(address, on_refused, NULL, err);
    if (class == MG_OK || class == MG_PERMANENT) {
        return class;
    }
    mg_log(MG_LOG_WARN, "the policies of the broker are not known", MG_LOG_TEXT("reason", err->text));
    return MG_OK;
}

enum mg_class mg_broker_policy_apply(const struct mg_broker_address *address,
                                     void (*report)(void *arg, const char *line), void *arg,
                                     struct mg_err *err)
{
    struct mg_broker_api api = {.address = address};
    struct mg_buf body;
    mg_buf_init(&body, MG_POLICY_LISTS_MAX_BYTES);
    enum mg_class class = mg_broker_api_open(&api, err);
    if (class == MG_OK) {
        class = mg_broker_api_read(&api, MG_API_POLICIES, err);
    }
    if (class == MG_OK) {
        class = mg_policy_write(mg_buf_slice(&api.lists[MG_API_POLICIES]), &body, err);
    }
    if (class == MG_OK) {
        class =
            mg_broker_api_call(&api, "PUT", "policies", "/" MG_POLICY_NAME, mg_buf_slice(&body), NULL, err);
    }
    if (class == MG_OK) {
        report(arg, "policy " MG_POLICY_NAME ": set, priority " MG_POLICY_PRIORITY_TEXT);
    }
    mg_buf_finish(&body);
    mg_broker_api_close(&api);
    return class;
}
