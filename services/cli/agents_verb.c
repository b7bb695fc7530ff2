/* `agents`: runs an agent for each service file of a folder until SIGTERM. */
#include <signal.h>

#include "agents/agents.h"
#include "base/log.h"
#include "notify.h"
#include "verbs.h"

#define TEARDOWN_MAX_MS 25000 /* after the agents' drain: their own bound, and a kill */

struct serving {
    struct mg_cli *cli;
    struct mg_agents *agents;
};

static void on_end(void *arg)
{
    struct serving *serving = arg;
    mg_notify_stopping(serving->cli->options.drain_timeout_ms + TEARDOWN_MAX_MS);
    mg_log(MG_LOG_INFO, "stopping: the agents drain", MG_LOG_NONE);
    mg_agents_drain(serving->agents);
}

static void on_hangup(void *arg)
{
    struct serving *serving = arg;
    mg_notify_reloading();
    mg_agents_reload(serving->agents);
    mg_notify_reloaded();
}

static struct mg_agents_options options_of(const struct mg_cli *cli)
{
    const struct mg_cli_options *options = &cli->options;
    return (struct mg_agents_options){.folders = &cli->words,
                                      .agent_config = options->agent_config,
                                      .listen = options->listen,
                                      .cert_file = options->listen_cert_file,
                                      .key_file = options->listen_key_file,
                                      .is_plaintext_allowed = options->broker.is_plaintext_allowed,
                                      .drain_timeout_ms = options->drain_timeout_ms};
}

enum mg_exit_code mg_agents_verb_check(const struct mg_cli *cli)
{
    struct mg_err err;
    if (cli->words.count == 0) {
        return mg_cli_fail(MG_EXIT_USAGE, "name the folder: makegood agents FOLDER");
    }
    const struct mg_agents_options options = options_of(cli);
    return mg_agents_check(&options, &err) == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
}

static enum mg_exit_code verb_agents(struct mg_cli *cli)
{
    const struct mg_agents_options options = options_of(cli);
    struct serving serving = {.cli = cli};
    struct mg_err err;
    mg_log_open("agents", "", MG_LOG_INFO);
    /* Signals wait for the loop, which runs once the agents are there. */
    if (!mg_loop_on_signal(cli->loop, SIGTERM, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGINT, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGHUP, on_hangup, &serving)) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
    }
    if (mg_agents_create(cli->loop, &options, &serving.agents, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    struct mg_notify *notify = mg_notify_create(cli->loop, mg_agents_is_ready, serving.agents);
    if (notify == NULL) {
        mg_agents_destroy(serving.agents);
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory");
    }
    mg_log(MG_LOG_INFO, "started", MG_LOG_TEXT("version", MG_VERSION),
           MG_LOG_TEXT("folder", cli->words.items[0]), MG_LOG_NUMBER("port", mg_agents_port(serving.agents)));
    mg_loop_run(cli->loop);
    mg_notify_destroy(notify);
    mg_agents_destroy(serving.agents);
    mg_log(MG_LOG_INFO, "stopped", MG_LOG_NONE);
    return MG_EXIT_DONE;
}

const struct mg_verb MG_AGENTS_VERBS[] = {
    {"agents", NULL, "FOLDER...", 1, MG_LIST_MAX, MG_EXTRA_AGENTS | MG_EXTRA_APART, MG_PRINTS_NOTHING,
     verb_agents, "runs an agent for each service file of folders, and follows the folders"},
    {0}};
