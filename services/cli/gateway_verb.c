/* `gateway`: serves clients over HTTP until SIGTERM. */
#include "broker_policies.h"
#include "gateway/gateway.h"
#include "serve.h"
#include "verbs.h"

static struct mg_gateway_options options_of(const struct mg_cli *cli)
{
    const struct mg_cli_options *options = &cli->options;
    return (struct mg_gateway_options){.listen = options->listen,
                                       .cert_file = options->listen_cert_file,
                                       .key_file = options->listen_key_file,
                                       .keep_alive_ms = options->keep_alive_ms,
                                       .tokens_file = options->tokens_file,
                                       .webhooks_file = options->webhooks_file,
                                       .webhook_ca_file = options->webhook_ca_file,
                                       .rate_per_s = options->client_rate,
                                       .body_max = options->body_max,
                                       .memory_budget = options->memory_budget,
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

static enum mg_class server_create(struct mg_loop *loop, const void *options, void **ret_server,
                                   struct mg_err *err)
{
    struct mg_gateway *gateway = NULL;
    enum mg_class class =
        mg_broker_policies_admit(&((const struct mg_gateway_options *)options)->broker, err);
    if (class == MG_OK) {
        class = mg_gateway_create(loop, options, &gateway, err);
    }
    *ret_server = gateway;
    return class;
}

static int server_port(const void *server)
{
    return mg_gateway_port(server);
}

static void server_reload(void *server)
{
    mg_gateway_reload(server);
}

static void server_drain(void *server, int64_t timeout_ms, void (*drained)(void *arg), void *arg)
{
    mg_gateway_drain(server, timeout_ms, drained, arg);
}

static void server_destroy(void *server)
{
    mg_gateway_destroy(server);
}

static enum mg_exit_code verb_gateway(struct mg_cli *cli)
{
    static const struct mg_server server = {.name = "gateway",
                                            .create = server_create,
                                            .is_ready = mg_gateway_is_ready,
                                            .port = server_port,
                                            .reload = server_reload,
                                            .drain = server_drain,
                                            .destroy = server_destroy};
    const struct mg_gateway_options options = options_of(cli);
    return mg_serve(cli, &server, &options);
}

const struct mg_verb MG_GATEWAY_VERBS[] = {
    {"gateway", NULL, "", 0, 0, MG_EXTRA_GATEWAY, MG_PRINTS_NOTHING, verb_gateway,
     "serves clients over HTTP: they post orders, one by one or in batches, read and follow them, wait for their end, and cancel them"},
    {0}};
