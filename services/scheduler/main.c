/*
 * makegood-scheduler: options, start, signals, end. A mistake in options or definitions is exit 2 before
 * anything is connected; a store that must not be used is exit 1; SIGTERM and SIGINT drain and are exit 0.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/log.h"
#include "broker_options.h"
#include "io/http_server.h"
#include "scheduler.h"

struct settings {
    struct mg_scheduler_options scheduler;
    const char *http, *log_level;
    int64_t body_max, depth_max, members_max;
};

struct process {
    struct mg_loop *loop;
    struct mg_scheduler *scheduler;
    int exit_code;
};

static void on_end(void *arg, int exit_code)
{
    struct process *process = arg;
    process->exit_code = exit_code;
    mg_loop_stop(process->loop);
}

static void on_signal(void *arg)
{
    struct process *process = arg;
    mg_scheduler_drain(process->scheduler);
}

static enum mg_class settings_load(int argc, char **argv, struct settings *settings,
                                   struct mg_config **ret_config, enum mg_config_action *ret_action,
                                   struct mg_err *err)
{
    struct mg_scheduler_options *to = &settings->scheduler;
    const struct mg_option options[] = {
        MG_BROKER_OPTIONS(to->broker),
        {"pg-dsn", MG_OPTION_TEXT, &to->pg_dsn, NULL, 0, 0, true, "DSN",
         "PostgreSQL, as libpq reads it; without it the PG* environment counts"},
        {"workflows", MG_OPTION_TEXT, &to->workflows_dir, "", 0, 0, false, "DIR",
         "definitions (*.json) to load at the start"},
        {"http", MG_OPTION_TEXT, &settings->http, "", 0, 0, false, "ADDRESS:PORT",
         "where /healthz, /readyz and /metrics are answered; empty: nowhere"},
        {"instance", MG_OPTION_TEXT, &to->instance, "", 0, 0, false, "NAME",
         "this process in logs, locked_by and events; host:pid:start by itself"},
        {"window", MG_OPTION_INTEGER, &to->window, "1000", 1, 1000000, false, "N",
         "requests that may wait in a service's queue; more would only age there"},
        {"prefetch", MG_OPTION_INTEGER, &to->prefetch, "256", 1, 2000, false, "N",
         "unacked messages of each queue; quorum queues take no more than 2000"},
        {"batch", MG_OPTION_INTEGER, &to->batch, "256", 1, MG_BATCH_MAX, false, "N",
         "causes of one commit; more only make it longer"},
        {"body-max", MG_OPTION_INTEGER, &settings->body_max, "262144", 1024, 900 * 1024, false, "BYTES",
         "largest body of a submission; what brokers move without harm to others"},
        {"depth-max", MG_OPTION_INTEGER, &settings->depth_max, "32", 1, 1000, false, "N",
         "deepest nesting of JSON; no order is deeper, and it bounds recursion"},
        {"members-max", MG_OPTION_INTEGER, &settings->members_max, "10000", 1, 1000000, false, "N",
         "members and elements of one JSON text; bounds memory and time"},
        {"quiesce", MG_OPTION_DURATION, &to->quiesce_ms, "3s", 1, 60000, false, "DURATION",
         "after an attempt's complete-by, until it can no longer act: clock skew of 2 s and a little"},
        {"park", MG_OPTION_DURATION, &to->park_ms, "1s", 1, 3600000, false, "DURATION",
         "how long a step waits for its service before it is asked for again"},
        {"drain-timeout", MG_OPTION_DURATION, &to->drain_timeout_ms, "10s", 1, 600000, false, "DURATION",
         "how long SIGTERM waits for what is in hand; below what the supervisor of processes allows"},
        {"log-level", MG_OPTION_TEXT, &settings->log_level, "info", 0, 0, false, "LEVEL",
         "debug, info, warn or error"},
        {"unsafe-durability", MG_OPTION_FLAG, &to->is_unsafe_durability_allowed, NULL, 0, 0, false, NULL,
         "go on with a server that may lose commits (fsync or synchronous_commit off); for tests"},
        {0}};
    const struct mg_program program = {.name = "makegood-scheduler",
                                       .summary =
                                           "carries orders through their workflows: takes submissions, "
                                           "replies and commands, decides, stores, dispatches",
                                       .usage = "[options]",
                                       .options = options};
    return mg_config_load(&program, argc, argv, ret_config, ret_action, NULL, err);
}

static enum mg_class settings_finish(struct settings *settings, char *instance, size_t size,
                                     enum mg_log_level *ret_level, struct mg_err *err)
{
    struct mg_scheduler_options *options = &settings->scheduler;
    options->limits = (struct mg_json_limits){.max_bytes = (size_t)settings->body_max,
                                              .max_depth = (int)settings->depth_max,
                                              .max_members = (int)settings->members_max};
    if (options->instance[0] == '\0') {
        mg_instance_name(instance, size);
        options->instance = instance;
    }
    if (!mg_log_level_parse(settings->log_level, ret_level)) {
        return mg_err_set(err, MG_BAD_INPUT, "--log-level %s: one of debug, info, warn, error is right",
                          settings->log_level);
    }
    enum mg_class class = mg_broker_check_address(&options->broker, err);
    return class == MG_OK ? mg_store_check_dsn(options->pg_dsn, options->broker.is_plaintext_allowed, err)
                          : class;
}

static int failure(const struct mg_err *err)
{
    fprintf(stderr, "makegood-scheduler: %s\n", err->text);
    return err->class == MG_BAD_INPUT ? 2 : 1;
}

/* A second SIGTERM while all is being taken down must not turn a clean end into a death by signal. */
static void signals_block(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* Connects, runs until told to end, and takes everything down again. */
static int run(struct settings *settings, struct mg_definition *definitions)
{
    struct process process = {.loop = mg_loop_create()};
    struct mg_metrics *metrics = mg_metrics_create();
    struct mg_http_server *server = NULL;
    struct mg_err err = {MG_TRANSIENT, "no memory or no descriptors"};
    enum mg_class class = process.loop != NULL && metrics != NULL ? MG_OK : MG_TRANSIENT;
    settings->scheduler.on_end = on_end;
    settings->scheduler.arg = &process;
    if (class == MG_OK) {
        class = mg_scheduler_create(process.loop, &settings->scheduler, metrics, definitions,
                                    &process.scheduler, &err);
    } else {
        mg_definitions_destroy(definitions);
    }
    if (class == MG_OK && settings->http[0] != '\0') {
        struct mg_http_server_options options = {settings->http, metrics, mg_scheduler_is_ready,
                                                 process.scheduler};
        class = mg_http_server_create(process.loop, &options, &server, &err);
    }
    if (class == MG_OK && !(mg_loop_on_signal(process.loop, SIGTERM, on_signal, &process) &&
                            mg_loop_on_signal(process.loop, SIGINT, on_signal, &process))) {
        class = mg_err_set(&err, MG_PERMANENT, "cannot handle SIGTERM");
    }
    if (class == MG_OK) {
        char amqp[256];
        mg_url_redact(settings->scheduler.broker.url, amqp, sizeof(amqp));
        mg_log(MG_LOG_INFO, "started", MG_LOG_TEXT("version", MG_VERSION), MG_LOG_TEXT("amqp", amqp),
               MG_LOG_NUMBER("http_port", server != NULL ? mg_http_server_port(server) : 0));
        mg_loop_run(process.loop);
        signals_block();
        mg_log(MG_LOG_INFO, "stopped", MG_LOG_NUMBER("exit_code", process.exit_code));
    } else {
        process.exit_code = failure(&err);
    }
    mg_http_server_destroy(server);
    mg_scheduler_destroy(process.scheduler);
    mg_metrics_destroy(metrics);
    if (process.loop != NULL) {
        mg_loop_destroy(process.loop);
    }
    return process.exit_code;
}

int main(int argc, char **argv)
{
    struct settings settings = {.http = ""};
    struct mg_config *config = NULL;
    struct mg_definition *definitions = NULL;
    enum mg_config_action action;
    enum mg_log_level level = MG_LOG_INFO;
    char instance[128];
    struct mg_err err;
    enum mg_class class = settings_load(argc, argv, &settings, &config, &action, &err);
    if (class != MG_OK) {
        return failure(&err);
    }
    int exit_code = 0;
    if (action != MG_CONFIG_EXIT) {
        class = settings_finish(&settings, instance, sizeof(instance), &level, &err);
        if (class == MG_OK && settings.scheduler.workflows_dir[0] != '\0') {
            class = mg_definitions_read(settings.scheduler.workflows_dir, &definitions, &err);
        }
        exit_code = class != MG_OK ? failure(&err) : 0;
    }
    if (class == MG_OK && action == MG_CONFIG_RUN) {
        signal(SIGPIPE, SIG_IGN);
        mg_log_open("scheduler", settings.scheduler.instance, level);
        exit_code = run(&settings, definitions);
    } else {
        mg_definitions_destroy(definitions);
    }
    mg_config_destroy(config);
    return exit_code;
}
