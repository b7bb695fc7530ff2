/* `gateway`: serves clients over HTTP until SIGTERM. */
#include <signal.h>

#include "base/log.h"
#include "gateway/gateway.h"
#include "notify.h"
#include "verbs.h"

#define TEARDOWN_MAX_MS 5000 /* a request without an answer is repeated by its client */

struct serving {
    struct mg_cli *cli;
    struct mg_gateway *gateway;
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
    if (serving->gateway != NULL) {
        mg_gateway_reload(serving->gateway);
    }
    mg_notify_reloaded();
}

static struct mg_gateway_options options_of(const struct mg_cli *cli)
{
    const struct mg_cli_options *options = &cli->options;
    return (struct mg_gateway_options){.listen = options->listen,
                                       .cert_file = options->listen_cert_file,
                                       .key_file = options->listen_key_file,
                                       .tokens_file = options->tokens_file,
                                       .rate_per_s = options->client_rate,
                                       .body_max = options->body_max,
                                       .origins = &options->cors_origins,
                                       .broker = options->broker,
                                       .pg_dsn = options->pg_dsn,
                                       .config = cli->config};
}

enum mg_exit_code mg_gateway_verb_check(const struct mg_cli *cli)
{
    const struct mg_gateway_options options = options_of(cli);
    struct mg_err err;
    return mg_gateway_check(&options, &err) == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
}

static enum mg_exit_code verb_gateway(struct mg_cli *cli)
{
    const struct mg_gateway_options options = options_of(cli);
    struct serving serving = {.cli = cli};
    struct mg_err err;
    mg_log_open("gateway", "", MG_LOG_INFO);
    if (!mg_loop_on_signal(cli->loop, SIGTERM, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGINT, on_end, &serving) ||
        !mg_loop_on_signal(cli->loop, SIGHUP, on_hangup, &serving)) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory or descriptors");
    }
    if (mg_gateway_create(cli->loop, &options, &serving.gateway, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    struct mg_notify *notify = mg_notify_create(cli->loop, mg_gateway_is_ready, serving.gateway);
    if (notify == NULL) {
        mg_gateway_destroy(serving.gateway);
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory");
    }
    mg_log(MG_LOG_INFO, "started", MG_LOG_TEXT("version", MG_VERSION), MG_LOG_TEXT("listen", options.listen),
           MG_LOG_NUMBER("port", mg_gateway_port(serving.gateway)));
    mg_loop_run(cli->loop);
    mg_notify_destroy(notify);
    mg_gateway_destroy(serving.gateway);
    mg_log(MG_LOG_INFO, "stopped", MG_LOG_NONE);
    return MG_EXIT_DONE;
}

const struct mg_verb MG_GATEWAY_VERBS[] = {
    {"gateway", NULL, "", 0, 0, MG_EXTRA_GATEWAY, MG_PRINTS_NOTHING, verb_gateway,
     "serves clients over HTTP: they post orders, read them, wait for their end, and cancel them"},
    {0}};
