/*
 * makegood-agent: options, checks, loop, end. Exit codes: 0 ended as asked, 1 could not run, 2 usage or
 * configuration.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/log.h"
#include "broker_options.h"

enum { EXIT_RAN = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static struct mg_agent_options options;

static const struct mg_option option_table[] = {
    {.name = "service",
     .type = MG_OPTION_LIST,
     .target = &options.service_files,
     .value_name = "FILE",
     .help =
         "service file to serve; may be given several times, up to 16 (two queues each on one connection)"},
    MG_BROKER_OPTIONS(options.broker),
    {.name = "http",
     .type = MG_OPTION_TEXT,
     .target = &options.http_address,
     .default_value = "127.0.0.1:0",
     .value_name = "ADDRESS:PORT",
     .help = "where /healthz, /readyz and /metrics are answered; port 0 takes a free one and logs it; empty: "
             "nowhere"},
    {.name = "instance",
     .type = MG_OPTION_TEXT,
     .target = &options.instance,
     .value_name = "NAME",
     .help = "name of this process in logs and reports; host, pid and start time if not given"},
    {.name = "log-level",
     .type = MG_OPTION_TEXT,
     .target = &options.log_level,
     .default_value = "info",
     .value_name = "LEVEL",
     .help = "debug, info, warn or error"},
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
     .max = 2000,
     .value_name = "N",
     .help = "calls in flight for each service, instead of the service file's; 0: as the file says; a quorum "
             "queue "
             "allows no more than 2000 unacknowledged messages"},
    {.name = "skew-limit",
     .type = MG_OPTION_DURATION,
     .target = &options.skew_limit_ms,
     .default_value = "2s",
     .min = 100,
     .max = 60 * 1000,
     .value_name = "DURATION",
     .help =
         "the agent is not ready while its clock differs more from the database's; quiescing allows for 2s"},
    {.name = NULL},
};

static const struct mg_program program = {
    .name = "makegood-agent",
    .summary = "Calls remote services for Makegood's schedulers: takes requests from RabbitMQ, calls over "
               "HTTP, replies.",
    .usage = "--service FILE [options]",
    .options = option_table,
};

static struct mg_agent agent;

/* SIGHUP would end the process if nobody took it; there is nothing to read again. */
static void on_hangup(void *arg)
{
    (void)arg;
    mg_log(MG_LOG_INFO, "SIGHUP ignored: service files are read at start only", MG_LOG_NONE);
}

static int complain(const struct mg_err *err)
{
    fprintf(stderr, "makegood-agent: %s\n", err->text);
    return err->class == MG_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
}

static void announce(void)
{
    char url[256];
    mg_url_redact(options.broker.url, url, sizeof url);
    for (int i = 0; i < agent.lane_count; i++) {
        mg_log(MG_LOG_INFO, "serving", MG_LOG_TEXT("service", agent.lanes[i].service->name),
               MG_LOG_TEXT("url", agent.lanes[i].service->url),
               MG_LOG_NUMBER("concurrency", agent.lanes[i].service->concurrency));
    }
    mg_log(MG_LOG_INFO, "agent up", MG_LOG_TEXT("version", MG_VERSION), MG_LOG_TEXT("broker", url),
           MG_LOG_NUMBER("http_port", agent.http_server ? mg_http_server_port(agent.http_server) : 0));
}

static int run(void)
{
    struct mg_err err;
    struct mg_loop *loop = mg_loop_create();
    if (loop == NULL) {
        mg_err_set(&err, MG_TRANSIENT, "could not start: no memory or no file descriptors");
        return complain(&err);
    }
    int status = EXIT_RAN;
    if (mg_agent_start(&agent, loop, &err) != MG_OK) {
        status = complain(&err);
    } else if (!mg_loop_on_signal(loop, SIGTERM, mg_agent_drain, &agent) ||
               !mg_loop_on_signal(loop, SIGINT, mg_agent_drain, &agent) ||
               !mg_loop_on_signal(loop, SIGHUP, on_hangup, &agent)) {
        mg_err_set(&err, MG_TRANSIENT, "could not start: cannot take signals");
        status = complain(&err);
    } else {
        mg_log_open("agent", agent.instance, agent.log_level);
        announce();
        mg_loop_run(loop);
        mg_log(MG_LOG_INFO, "agent down", MG_LOG_NONE);
    }
    mg_agent_finish(&agent);
    mg_loop_destroy(loop);
    return status;
}

static enum mg_class check(struct mg_err *err)
{
    enum mg_class class = mg_agent_load(&agent, &options, err);
    if (class == MG_OK && !mg_log_level_parse(options.log_level, &agent.log_level)) {
        return mg_err_set(err, MG_BAD_INPUT, "log-level %s: must be debug, info, warn or error",
                          options.log_level);
    }
    if (class == MG_OK) {
        class = mg_broker_check_address(&options.broker, err);
    }
    return class;
}

int main(int argc, char **argv)
{
    struct mg_config *config = NULL;
    enum mg_config_action action = MG_CONFIG_EXIT;
    struct mg_list words = {.count = 0};
    struct mg_err err;
    int status = EXIT_RAN;
    if (mg_config_load(&program, argc, argv, &config, &action, &words, &err) != MG_OK) {
        return complain(&err);
    }
    if (action != MG_CONFIG_EXIT && words.count > 0) {
        mg_err_set(&err, MG_BAD_INPUT, "unexpected word %s: give service files with --service FILE",
                   words.items[0]);
        status = complain(&err);
    } else if (action != MG_CONFIG_EXIT && check(&err) != MG_OK) {
        status = complain(&err);
    } else if (action == MG_CONFIG_RUN) {
        status = run();
    } else if (action == MG_CONFIG_CHECK) {
        printf("configuration is good: %d service%s\n", agent.lane_count, agent.lane_count == 1 ? "" : "s");
    }
    mg_agent_finish(&agent);
    mg_config_destroy(config);
    return status;
}
