/* `console`: serves the operator's web page until SIGTERM. */
#include "console/console.h"
#include "serve.h"
#include "verbs.h"

static struct mg_console_options options_of(const struct mg_cli *cli)
{
    const struct mg_cli_options *options = &cli->options;
    return (struct mg_console_options){.listen = options->listen,
                                       .cert_file = options->listen_cert_file,
                                       .key_file = options->listen_key_file,
                                       .keep_alive_ms = options->keep_alive_ms,
                                       .tokens_file = options->tokens_file,
                                       .proxy = {.user_header = options->proxy_user_header,
                                                 .groups_header = options->proxy_groups_header,
                                                 .operator_groups = &options->proxy_operator_groups},
                                       .hosts = &options->hosts,
                                       .memory_budget = options->memory_budget,
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

static enum mg_class server_create(struct mg_loop *loop, const void *options, void **ret_server,
                                   struct mg_err *err)
{
    struct mg_console *console = NULL;
    enum mg_class class = mg_console_create(loop, options, &console, err);
    *ret_server = console;
    return class;
}

static int server_port(const void *server)
{
    return mg_console_port(server);
}

static void server_reload(void *server)
{
    mg_console_reload(server);
}

static void server_drain(void *server, int64_t timeout_ms, void (*drained)(void *arg), void *arg)
{
    (void)timeout_ms; /* each of its requests has a shorter one */
    mg_console_drain(server, drained, arg);
}

static void server_destroy(void *server)
{
    mg_console_destroy(server);
}

static enum mg_exit_code verb_console(struct mg_cli *cli)
{
    static const struct mg_server server = {.name = "console",
                                            .create = server_create,
                                            .is_ready = mg_console_is_ready,
                                            .port = server_port,
                                            .reload = server_reload,
                                            .drain = server_drain,
                                            .destroy = server_destroy};
    const struct mg_console_options options = options_of(cli);
    return mg_serve(cli, &server, &options);
}

const struct mg_verb MG_CONSOLE_VERBS[] = {
    {"console", NULL, "", 0, 0, MG_EXTRA_CONSOLE, MG_PRINTS_NOTHING, verb_console,
     "serves a web page with the same data and, for operators, the same actions"},
    {0}};
