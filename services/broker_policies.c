/* See broker_policies.h. */
#include "broker_policies.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "broker_api.h"

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
