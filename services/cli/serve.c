/* See serve.h. */
#include "serve.h"

#include <signal.h>

#include "base/log.h"
#include "notify.h"

#define TEARDOWN_MAX_MS 5000 /* after the drain */

struct serving {
    struct mg_cli *cli;
    const struct mg_server *server;
    void *instance;
    struct mg_timer *drain_timer;
    bool is_draining;
};

static void on_drained(void *arg)
{
    mg_loop_stop(((struct serving *)arg)->cli->loop);
}

static void on_late(void *arg)
{
    mg_log(MG_LOG_WARN, "drain timeout: requests in hand get no answer; their clients send them again",
           MG_LOG_NONE);
    on_drained(arg);
}

static void on_end(void *arg)
{
    struct serving *serving = arg;
    int64_t timeout_ms = serving->cli->options.drain_timeout_ms;
    if (serving->is_draining || serving->instance == NULL) {
        mg_loop_stop(serving->cli->loop);
        return;
    }
    serving->is_draining = true;
    mg_log(MG_LOG_INFO, "stopping: answering the requests in hand", MG_LOG_NONE);
    mg_notify_stopping(timeout_ms + TEARDOWN_MAX_MS);
    mg_timer_start(serving->drain_timer, timeout_ms, 0);
    serving->server->drain(serving->instance, timeout_ms, on_drained, serving);
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

static enum mg_exit_code serving_run(struct serving *serving, const void *options)
{
    struct mg_loop *loop = serving->cli->loop;
    struct mg_err err;
    if (serving->drain_timer == NULL || !mg_loop_on_signal(loop, SIGTERM, on_end, serving) ||
        !mg_loop_on_signal(loop, SIGINT, on_end, serving) ||
        !mg_loop_on_signal(loop, SIGHUP, on_hangup, serving)) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
    }
    if (serving->server->create(loop, options, &serving->instance, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    enum mg_exit_code code = instance_run(serving);
    serving->server->destroy(serving->instance);
    if (code == MG_EXIT_DONE) {
        mg_log(MG_LOG_INFO, "stopped", MG_LOG_NONE);
    }
    return code;
}

enum mg_exit_code mg_serve(struct mg_cli *cli, const struct mg_server *server, const void *options)
{
    struct serving serving = {.cli = cli, .server = server};
    mg_log_open(server->name, "", MG_LOG_INFO);
    serving.drain_timer = mg_timer_create(cli->loop, on_late, &serving);
    enum mg_exit_code code = serving_run(&serving, options);
    mg_timer_destroy(serving.drain_timer);
    return code;
}
