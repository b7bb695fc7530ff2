/* `console`: serves the operator's web page until SIGTERM. */
#include <signal.h>

#include "base/log.h"
#include "console/console.h"
#include "notify.h"
#include "verbs.h"

#define TEARDOWN_MAX_MS 5000 /* the console has no work in hand that must be finished */

struct serving {
    struct mg_cli *cli;
    struct mg_console *console;
};

static void on_end(void *arg)
{
    mg_notify_stopping(TEARDOWN_MAX_MS);
    mg_loop_stop(((struct serving *)arg)->cli->loop);
}

static void on_hangup(void *arg)
{
    struct serving *serving = arg;
    mg_notify_reloading();
    if (serving->console != NULL) {
        mg_console_reload(serving->console);
    }
    mg_notify_reloaded();
}

static struct mg_console_options options_of(const struct mg_cli *cli)
{
    const struct mg_cli_options *options = &cli->options;
    return (struct mg_console_options){.listen = options->listen,
                                       .cert_file = options->listen_cert_file,
                                       .key_file = options->listen_key_file,
                                       .tokens_file = options->tokens_file,
                                       .proxy = {.user_header = options->proxy_user_header,
                                                 .groups_header = options->proxy_groups_header,
                                                 .operator_groups = &options->proxy_operator_groups},
                                       .hosts = &options->hosts,
                                       .broker = options->broker,
                                       .pg_dsn = options->pg_dsn,
                                       .config = cli->config};
}

enum mg_exit_code mg_console_verb_check(const struct mg_cli *cli)
{
    const struct mg_console_options options = options_of(cli);
    struct mg_err err;
    return mg_console_check(&options, &err) == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
}

static enum mg_exit_code verb_console(struct mg_cli *cli)
{
    const struct mg_console_options options = options_of(cli);
    struct serving serving = {.cli = cli};
    struct mg_err err;
    mg_log_open("console", "", MG_LOG_INFO);
    if (!mg_loop_on_signal(cli->loop, SIGTERM, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGINT, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGHUP, on_hangup, &serving)) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
    }
    if (mg_console_create(cli->loop, &options, &serving.console, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    struct mg_notify *notify = mg_notify_create(cli->loop, mg_console_is_ready, serving.console);
    if (notify == NULL) {
        mg_console_destroy(serving.console);
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory");
    }
    mg_log(MG_LOG_INFO, "started", MG_LOG_TEXT("version", MG_VERSION), MG_LOG_TEXT("listen", options.listen),
           MG_LOG_NUMBER("port", mg_console_port(serving.console)));
    mg_loop_run(cli->loop);
    mg_notify_destroy(notify);
    mg_console_destroy(serving.console);
    mg_log(MG_LOG_INFO, "stopped", MG_LOG_NONE);
    return MG_EXIT_DONE;
}

const struct mg_verb MG_CONSOLE_VERBS[] = {
    {"console", NULL, "", 0, 0, MG_EXTRA_CONSOLE, MG_PRINTS_NOTHING, verb_console,
     "serves a web page with the same data and, for operators, the same actions"},
    {0}};
