/* See serve.h. */
#include "serve.h"

#include <signal.h>

#include "base/log.h"
#include "notify.h"

#define TEARDOWN_MAX_MS 5000 /* a server has no work in hand that must be finished */

struct serving {
    struct mg_cli *cli;
    const struct mg_server *server;
    void *instance;
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
    if (serving->instance != NULL) {
        serving->server->reload(serving->instance);
    }
    mg_notify_reloaded();
}

static enum mg_exit_code instance_run(struct serving *serving)
{
    const struct mg_server *server = serving->server;
    struct mg_cli *cli = serving->cli;
    struct mg_notify *notify = mg_notify_create(cli->loop, server->is_ready, serving->instance);
    if (notify == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory");
    }
    mg_log(MG_LOG_INFO, "started", MG_LOG_TEXT("version", MG_VERSION),
           MG_LOG_TEXT("listen", cli->options.listen),
           MG_LOG_NUMBER("port", server->port(serving->instance)));
    mg_loop_run(cli->loop);
    mg_notify_destroy(notify);
    return MG_EXIT_DONE;
}

enum mg_exit_code mg_serve(struct mg_cli *cli, const struct mg_server *server, const void *options)
{
    struct serving serving = {.cli = cli, .server = server};
    struct mg_err err;
    mg_log_open(server->name, "", MG_LOG_INFO);
    if (!mg_loop_on_signal(cli->loop, SIGTERM, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGINT, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGHUP, on_hangup, &serving)) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
    }
    if (server->create(cli->loop, options, &serving.instance, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    enum mg_exit_code code = instance_run(&serving);
    server->destroy(serving.instance);
    if (code == MG_EXIT_DONE) {
        mg_log(MG_LOG_INFO, "stopped", MG_LOG_NONE);
    }
    return code;
}
