/* makegood-agent: its own options, and the agent's part in the life of a service's process. */
#include <stdio.h>

#include "base/log.h"
#include "http_agent.h"
#include "manual.h"
#include "memory_option.h"
#include "process.h"

static struct mg_agent agent;
static struct mg_serving_options options;
static struct mg_list service_files;
static int64_t memory_budget, concurrency;

static const struct mg_option option_table[] = {
    {.name = "service",
     .type = MG_OPTION_LIST,
     .target = &service_files,
     .value_name = "FILE",
     .help = "service file to serve; at most 16, because each has two queues on the same connection"},
    {.name = "drain-timeout",
     .type = MG_OPTION_DURATION,
     .target = &options.drain_timeout_ms,
     .default_value = "30s",
     .min = 0,
     .max = 20 * 60 * 1000,
     .value_name = "DURATION",
     .help = "time for calls in progress to end after SIGTERM; a step's complete-by is at most 20m"},
    {.name = "concurrency",
     .type = MG_OPTION_INTEGER,
     .target = &concurrency,
     .default_value = "0",
     .min = 0,
     .max = 4096,
     .value_name = "N",
     .help = "maximum calls in flight per service; 0: the value of the service file; each call takes a file "
             "descriptor"},
    {.name = "skew-limit",
     .type = MG_OPTION_DURATION,
     .target = &options.skew_limit_ms,
     .default_value = "2s",
     .min = 100,
     .max = 60 * 1000,
     .value_name = "DURATION",
     .help = "difference from the database's clock above which an agent that cannot correct it is not ready; "
             "quiescing allows for 2s"},
    MG_MEMORY_OPTION(memory_budget),
    {.name = NULL},
};

static enum mg_class agent_check(struct mg_process *process, struct mg_err *err)
{
    process->service = &agent;
    options.broker = process->options.broker;
    options.instance = process->instance;
    process->options.drain_timeout_ms = options.drain_timeout_ms;
    enum mg_class class = mg_memory_option_check(memory_budget, &options.memory_bytes, err);
    return class == MG_OK ? mg_agent_load(&agent, &options, &service_files, (int)concurrency, err) : class;
}

static enum mg_class agent_create(struct mg_process *process, struct mg_err *err)
{
    options.spans = process->spans;
    enum mg_class class = mg_agent_start(&agent, process->loop, process->metrics, err);
    process->broker = agent.broker;
    process->probe_exchange = agent.served[0].reply_exchange;
    for (int i = 0; i < agent.served_count && class == MG_OK; i++) {
        const struct mg_service *service = agent.served[i].service;
        mg_log(MG_LOG_INFO, "serving", MG_LOG_TEXT("service", service->name),
               MG_LOG_TEXT("url", service->url), MG_LOG_NUMBER("concurrency", service->concurrency));
    }
    return class;
}

/* libcurl reads the files by itself at each new connection. This check logs their faults at once, before a
 * connection fails. */
static void certificates_reread(struct mg_process *process, struct mg_served *served)
{
    const struct mg_service *service = served->service;
    char what[MG_NAME_MAX + 32];
    struct mg_err err;
    if (service->ca_file == NULL && service->client_cert_file == NULL) {
        return;
    }
    (void)snprintf(what, sizeof(what), "certificates of %s", service->name);
    bool is_good = mg_served_check_certificates(served, &err) == MG_OK;
    mg_http_client_reload(mg_remote_of(served)->http, !is_good);
    if (is_good) {
        mg_process_reread(process, what, true, NULL);
    } else {
        mg_log(MG_LOG_ERROR,
               "bad certificate files: open connections stay, new ones fail until the files are repaired",
               MG_LOG_TEXT("what", what), MG_LOG_TEXT("reason", err.text));
    }
}

/* The secrets of `auth`. An access token in use stays; the next one is fetched with the new secret. */
static void secrets_reread(struct mg_process *process, struct mg_served *served)
{
    char what[MG_NAME_MAX + 32];
    struct mg_err err;
    int count = 0;
    bool is_new = false;
    (void)snprintf(what, sizeof(what), "auth of %s", served->service->name);
    if (mg_service_reread_auth(served->service, &count, &is_new, &err) != MG_OK) {
        mg_process_reread(process, what, false, &err);
    } else if (count > 0) {
        mg_process_reread(process, what, is_new, NULL);
    }
    struct mg_token *token = mg_remote_of(served)->token;
    if (token != NULL) {
        mg_token_reload(token);
    }
}

/* Re-reads tokens and certificates. */
static void agent_reload(struct mg_process *process)
{
    for (int i = 0; i < agent.served_count; i++) {
        struct mg_served *served = &agent.served[i];
        char what[MG_NAME_MAX + 32];
        struct mg_err err;
        int count = 0;
        bool is_new = false;
        (void)snprintf(what, sizeof(what), "headers of %s", served->service->name);
        if (mg_service_reread_headers(served->service, &count, &is_new, &err) != MG_OK) {
            mg_process_reread(process, what, false, &err);
        } else if (count > 0) {
            mg_process_reread(process, what, is_new, NULL);
        }
        secrets_reread(process, served);
        certificates_reread(process, served);
    }
}

static void agent_destroy(struct mg_process *process)
{
    (void)process;
    mg_agent_finish(&agent);
}

static const struct mg_process_service agent_service = {
    .name = "agent",
    .summary = "calls remote services for Makegood's schedulers: takes requests from RabbitMQ, calls over "
               "HTTP, replies",
    .usage = "--service FILE [options]",
    .manual = &mg_manual_agent,
    .options = option_table,
    .has_spans = true,
    .check = agent_check,
    .create = agent_create,
    .is_ready = mg_agent_is_ready,
    .drain = mg_agent_drain,
    .reload = agent_reload,
    .destroy = agent_destroy,
};

int main(int argc, char **argv)
{
    return mg_process_main(&agent_service, argc, argv);
}
