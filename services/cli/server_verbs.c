/* `console`, `gateway` and `agents`: programs that run until SIGTERM, as the services do (process.h); and
 * `dev`, all of Makegood on this machine. */
#include <limits.h>

#include "agents/agents.h"
#include "base/file.h"
#include "base/log.h"
#include "console/console.h"
#include "dev/dev.h"
#include "gateway/gateway.h"
#include "verb_table.h"

/* With the frame's own bound this is above the one at which an agent is killed (agents/posts.c). */
#define KILL_MS 10000

static struct mg_process_options common_options(const struct mg_cli_options *options)
{
    return (struct mg_process_options){.broker = options->broker,
                                       .pg_dsn = options->pg_dsn,
                                       .http = options->listen,
                                       .http_cert_file = options->listen_cert_file,
                                       .http_key_file = options->listen_key_file,
                                       .instance = options->instance,
                                       .log_level = options->log_level,
                                       .drain_timeout_ms = options->drain_timeout_ms};
}

static enum mg_exit_code serve(const struct mg_cli *cli, const struct mg_process_service *service,
                               const struct mg_process_options *options, void *own)
{
    const struct mg_process given = {.options = *options, .config = cli->config, .own = own};
    struct mg_err err;
    return mg_process_serve(service, &given, cli->only_checks, &err) == MG_OK ? MG_EXIT_DONE
                                                                              : mg_cli_fail_err(&err);
}

static enum mg_exit_code verb_console(struct mg_cli *cli)
{
    const struct mg_cli_options *options = &cli->options;
    const struct mg_process_options common = common_options(options);
    struct mg_console_options own = {.keep_alive_ms = options->keep_alive_ms,
                                     .tokens_file = options->tokens_file,
                                     .proxy = {.user_header = options->proxy_user_header,
                                               .groups_header = options->proxy_groups_header,
                                               .operator_groups = &options->proxy_operator_groups},
                                     .hosts = &options->hosts,
                                     .memory_budget = options->memory_budget};
    return serve(cli, &MG_CONSOLE, &common, &own);
}

static enum mg_exit_code verb_gateway(struct mg_cli *cli)
{
    const struct mg_cli_options *options = &cli->options;
    const struct mg_process_options common = common_options(options);
    struct mg_gateway_options own = {.keep_alive_ms = options->keep_alive_ms,
                                     .tokens_file = options->tokens_file,
                                     .webhooks_file = options->webhooks_file,
                                     .webhook_ca_file = options->webhook_ca_file,
                                     .callback_secret_file = options->callback_secret_file,
                                     .rate_per_s = options->client_rate,
                                     .body_max = options->body_max,
                                     .memory_budget = options->memory_budget,
                                     .origins = &options->cors_origins};
    return serve(cli, &MG_GATEWAY, &common, &own);
}

static enum mg_exit_code verb_agents(struct mg_cli *cli)
{
    struct mg_process_options common = common_options(&cli->options);
    struct mg_agents_options own = {.folders = &cli->words,
                                    .agent_config = cli->options.agent_config,
                                    .drain_timeout_ms = cli->options.drain_timeout_ms};
    if (cli->words.count == 0) {
        return mg_cli_fail(MG_EXIT_USAGE, "name the folder: makegood agents FOLDER");
    }
    common.drain_timeout_ms += KILL_MS;
    return serve(cli, &MG_AGENTS, &common, &own);
}

static enum mg_exit_code verb_dev(struct mg_cli *cli)
{
    char programs[PATH_MAX], migrations[PATH_MAX];
    const struct mg_cli_options *options = &cli->options;
    struct mg_err err;
    mg_log_open("dev", "", MG_LOG_WARN);
    if (!mg_file_programs(programs, sizeof(programs))) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not find the folder of makegood's programs");
    }
    const struct mg_dev_options dev = {.services = &options->services,
                                       .workflows = options->workflows_dir,
                                       .state = options->state,
                                       .webhook_url = options->webhook_url,
                                       .gateway = options->gateway,
                                       .console = options->console,
                                       .broker = options->broker,
                                       .pg_dsn = options->pg_dsn,
                                       .migrations =
                                           mg_migrations_folder(cli, migrations, sizeof(migrations)),
                                       .programs = programs};
    return mg_dev_run(cli->loop, &dev, &err) == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
}

const struct mg_verb MG_SERVER_VERBS[] = {
    {"console", NULL, "", 0, 0, MG_EXTRA_CONSOLE, MG_PRINTS_NOTHING, verb_console,
     "serves a web page with the same data and, for operators, the same actions", 0},
    {"gateway", NULL, "", 0, 0, MG_EXTRA_GATEWAY, MG_PRINTS_NOTHING, verb_gateway,
     "serves clients over HTTP: they post orders, one by one or in batches, read and follow them, wait for their end, signal and cancel them",
     0},
    {"agents", NULL, "FOLDER...", 1, MG_LIST_MAX, MG_EXTRA_AGENTS | MG_EXTRA_APART, MG_PRINTS_NOTHING,
     verb_agents, "runs an agent for each service file of folders, and follows the folders", 0},
    {0}};

const struct mg_verb MG_DEV_VERBS[] = {
    {"dev", NULL, "", 0, 0, MG_EXTRA_DEV, MG_PRINTS_NOTHING, verb_dev,
     "runs all of Makegood on this machine for development, with private servers", 0},
    {0}};
