/* makegood-agent: its own options, and the agent's part in the life of a service's process. */
#include <stdio.h>

#include "agent.h"
#include "base/log.h"
#include "manual.h"
#include "memory_option.h"
#include "process.h"

static struct mg_agent agent;
static struct mg_agent_options options;
static int64_t memory_budget;

static const struct mg_option option_table[] = {
    {.name = "service",
     .type = MG_OPTION_LIST,
     .target = &options.service_files,
     .value_name = "FILE",
     .help =
         "service file to serve; may be given several times, up to 16 (two queues each on one connection)"},
    {.name = "drain-timeout",
     .type = MG_OPTION_DURATION,
     .target = &options.drain_timeout_ms,
     .default_value = "30s",
     .min = 0,
     .max = 20 * 60 * 1000,
     .value_name = "DURATION",
     .help = "how long calls under way may go on after SIGTERM; no step's complete-by is longer than 20m"},
    {.name = "concurrency",
     .type = MG_OPTION_INTEGER,
     .target = &options.concurrency,
     .default_value = "0",
     .min = 0,
     .max = 4096,
     .value_name = "N",
     .help =
         "calls in flight for each service, instead of the service file's; 0: as the file says; one has a "
         "descriptor each"},
    {.name = "skew-limit",
     .type = MG_OPTION_DURATION,
     .target = &options.skew_limit_ms,
     .default_value = "2s",
     .min = 100,
     .max = 60 * 1000,
     .value_name = "DURATION",
     .help =
         "the agent is not ready while its clock differs more from the database's and it cannot correct it; "
         "quiescing allows for 2s"},
    MG_MEMORY_OPTION(memory_budget),
    {.name = NULL},
};

static enum mg_class agent_check(struct mg_process *process, struct mg_err *err)
{
    process->service = &agent;
    options.broker = process->options.broker;
    options.instance = process->instance;
    enum mg_class class = mg_memory_option_check(memory_budget, &options.memory_bytes, err);
    return class == MG_OK ? mg_agent_load(&agent, &options, err) : class;
}

static enum mg_class agent_create(struct mg_process *process, struct mg_err *err)
{
    options.spans = process->spans;
    enum mg_class class = mg_agent_start(&agent, process->loop, process->metrics, err);
    process->broker = agent.broker;
    process->probe_exchange = agent.lanes[0].reply_exchange;
    for (int i = 0; i < agent.lane_count && class == MG_OK; i++) {
        const struct mg_service *service = agent.lanes[i].service;
        mg_log(MG_LOG_INFO, "serving", MG_LOG_TEXT("service", service->name),
               MG_LOG_TEXT("url", service->url), MG_LOG_NUMBER("concurrency", service->concurrency));
    }
    return class;
}

/* libcurl reads the files by itself at each new connection. This check logs their faults at once, before a
 * connection fails. */
static void certificates_reread(struct mg_process *process, struct mg_lane *lane)
{
    const struct mg_service *service = lane->service;
    char what[MG_NAME_MAX + 32];
    struct mg_err err;
    if (service->ca_file == NULL && service->client_cert_file == NULL) return;
    (void)snprintf(what, sizeof what, "certificates of %s", service->name);
    bool is_good = mg_lane_check_certificates(lane, &err) == MG_OK;
    mg_http_client_reload(lane->http, !is_good);
    if (is_good)
        mg_process_reread(process, what, true, NULL);
    else
        mg_log(MG_LOG_ERROR,
               "bad certificate files: open connections go on, new ones fail until they are repaired",
               MG_LOG_TEXT("what", what), MG_LOG_TEXT("reason", err.text));
}

/* Re-reads tokens and certificates. */
static void agent_reload(struct mg_process *process)
{
    for (int i = 0; i < agent.lane_count; i++) {
        struct mg_lane *lane = &agent.lanes[i];
        char what[MG_NAME_MAX + 32];
        struct mg_err err;
        int count = 0;
        bool is_new = false;
        (void)snprintf(what, sizeof what, "headers of %s", lane->service->name);
        if (mg_service_reread_headers(lane->service, &count, &is_new, &err) != MG_OK) {
            mg_process_reread(process, what, false, &err);
        } else if (count > 0) {
            mg_process_reread(process, what, is_new, NULL);
        }
        certificates_reread(process, lane);
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
    .drain_timeout_ms = &options.drain_timeout_ms,
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
