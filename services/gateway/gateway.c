/* Creates, connects and destroys the gateway's parts. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "database_reader.h"
#include "gateway/call.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/vitals.h"
#include "memory_option.h"
#include "wire/http_url.h"

#define STATEMENT_TIMEOUT "5s"                                   /* its statements take milliseconds */
#define HANDLED_MAX       (MG_WAITS_MAX + MG_STREAMS_MAX + 500u) /* 500: calls in hand */
#define NO_MEMORY         "could not start the gateway: no memory"

/* Names the first thing that is not served alongside those that are; "": all are. */
static void remark_make(const struct mg_gateway *gateway, char *ret_remark, size_t size)
{
    char reason[MG_ERR_TEXT_MAX];
    mg_hooks_remark(gateway->hooks, ret_remark, size);
    if (ret_remark[0] == '\0' &&
        (!mg_store_is_ready(gateway->listing_store, reason, sizeof(reason)) ||
         mg_store_reads_fail_ms(gateway->listing_store, reason, sizeof(reason)) > 0)) {
        (void)snprintf(ret_remark, size, "orders cannot be listed: %s", reason);
    }
}

/* Whether orders can be posted. */
static bool gateway_is_ready(void *arg, char *ret_reason, size_t size)
{
    const struct mg_gateway *gateway = arg;
    bool is_ready = mg_store_is_ready(gateway->store, ret_reason, size) &&
                    mg_commander_is_up(gateway->commander, ret_reason, size) &&
                    mg_vitals_are_good(gateway->process->vitals, ret_reason, size) &&
                    mg_store_reads_fail_ms(gateway->store, ret_reason, size) == 0 &&
                    mg_clients_remark(gateway->clients, ret_reason, size);
    if (is_ready && ret_reason[0] == '\0') { /* the queue of one client stops no other */
        remark_make(gateway, ret_reason, size);
    }
    return is_ready;
}

static void gateway_serve(struct mg_process *process, struct mg_http_server_options *http)
{
    const struct mg_gateway_options *options = process->own;
    http->is_ready = gateway_is_ready;
    http->handle = mg_gateway_route;
    http->takes_pieces = mg_gateway_takes_pieces;
    http->admit = mg_gateway_admit;
    http->arg = process->service;
    http->idle_ms = options->keep_alive_ms;
    http->handled_max = HANDLED_MAX;
    http->body_max = (size_t)options->body_max;
    http->bodies_max = options->memory_bytes / MG_GATEWAY_MEMORY_BODIES;
    http->unsent_max = options->memory_bytes / MG_GATEWAY_MEMORY_UNSENT;
    http->held = process->metrics != NULL ? mg_http_held_series(process->metrics) : NULL;
    http->answers_problems = true;
}

static enum mg_class origins_check(const struct mg_list *origins, struct mg_err *err)
{
    for (int i = 0; i < origins->count; i++) {
        if (!mg_http_origin_is(origins->items[i])) {
            return mg_err_set(
                err, MG_BAD_INPUT,
                "--cors-origin %.200s: no page has this origin; write one as browsers do, "
                "https://shop.example.org or http://localhost:3000, without a path or default port",
                origins->items[i]);
        }
    }
    return MG_OK;
}

static enum mg_class gateway_check(struct mg_process *process, struct mg_err *err)
{
    struct mg_gateway_options *options = process->own;
    options->process = &process->options;
    enum mg_class class = mg_memory_option_check(options->memory_budget, &options->memory_bytes, err);
    if (class == MG_OK) {
        class = origins_check(options->origins, err);
    }
    if (class == MG_OK) {
        class = mg_clients_check(options, err);
    }
    class = class == MG_OK ? mg_hooks_check(options, err) : class;
    return class == MG_OK ? mg_callbacks_check(options, err) : class;
}

/* Posts and reads end within seconds by time-outs of their own. */
static void gateway_account(void *arg, struct mg_beat *ret_beat)
{
    const struct mg_gateway *gateway = arg;
    ret_beat->in_hand = mg_observers_count(gateway->observers);
    ret_beat->stands_ms = mg_store_reads_fail_ms(gateway->store, ret_beat->reason, sizeof(ret_beat->reason));
    if (gateway->hooks != NULL && ret_beat->stands_ms == 0) {
        remark_make(gateway, ret_beat->reason, sizeof(ret_beat->reason));
    }
}

static enum mg_class servers_connect(struct mg_gateway *gateway, struct mg_err *err)
{
    struct mg_process *process = gateway->process;
    const struct mg_reader reader = {.name = "makegood gateway",
                                     .timeout = STATEMENT_TIMEOUT,
                                     .beside_name = "makegood gateway, lists",
                                     .beside_timeout = STATEMENT_TIMEOUT};
    enum mg_class class = mg_reader_open(process, &reader, &gateway->store, &gateway->listing_store, err);
    process->store = gateway->store;
    if (class == MG_OK) {
        class = mg_commander_create(gateway->loop, &process->options.broker, MG_EXCHANGE_GATEWAY,
                                    "makegood gateway", gateway->metrics, &gateway->commander, err);
    }
    if (class == MG_OK) {
        process->broker = gateway->broker = mg_commander_broker(gateway->commander);
        process->probe_exchange = MG_EXCHANGE_GATEWAY;
    }
    return class;
}

static enum mg_class parts_create(struct mg_gateway *gateway, struct mg_err *err)
{
    enum mg_class class = servers_connect(gateway, err);
    if (class != MG_OK) {
        return class;
    }
    gateway->meets = mg_meets_create(gateway);
    gateway->recent = mg_recent_create();
    gateway->kept = mg_kept_create();
    gateway->observers = mg_observers_create(gateway);
    gateway->waits = mg_waits_create(gateway);
    gateway->lists = mg_lists_create(gateway);
    gateway->streams = mg_streams_create(gateway);
    gateway->batches = mg_batches_create(gateway);
    if (gateway->meets == NULL || gateway->recent == NULL || gateway->kept == NULL ||
        gateway->observers == NULL || gateway->waits == NULL || gateway->lists == NULL ||
        gateway->streams == NULL || gateway->batches == NULL) {
        return mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    }
    gateway->clients = mg_clients_create(gateway, err);
    gateway->hooks = gateway->clients != NULL ? mg_hooks_create(gateway, err) : NULL;
    gateway->callbacks = gateway->hooks != NULL ? mg_callbacks_create(gateway, err) : NULL;
    return gateway->callbacks != NULL ? MG_OK : err->class;
}

static enum mg_class gateway_create(struct mg_process *process, struct mg_err *err)
{
    struct mg_gateway *gateway = calloc(1, sizeof(*gateway));
    if (gateway == NULL) {
        return mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    }
    process->service = gateway;
    gateway->process = process;
    gateway->options = process->own;
    gateway->loop = process->loop;
    gateway->metrics = process->metrics;
    gateway->batches_until_ms = INT64_MAX;
    TAILQ_INIT(&gateway->calls);
    return parts_create(gateway, err);
}

static void gateway_destroy(struct mg_process *process)
{
    struct mg_gateway *gateway = process->service;
    if (gateway == NULL) {
        return;
    }
    mg_callbacks_destroy(gateway->callbacks);
    mg_hooks_destroy(gateway->hooks);
    mg_clients_destroy(gateway->clients);
    mg_commander_destroy(gateway->commander);
    mg_store_destroy(gateway->store);
    mg_store_destroy(gateway->listing_store);
    mg_batches_destroy(gateway->batches);
    mg_streams_destroy(gateway->streams);
    mg_lists_destroy(gateway->lists);
    mg_waits_destroy(gateway->waits);
    mg_observers_destroy(gateway->observers);
    mg_kept_destroy(gateway->kept);
    mg_recent_destroy(gateway->recent);
    mg_meets_destroy(gateway->meets);
    while (!TAILQ_EMPTY(&gateway->calls)) {
        struct mg_call *call = TAILQ_FIRST(&gateway->calls);
        TAILQ_REMOVE(&gateway->calls, call, entry);
        free(call->payload);
        free(call);
    }
    free(gateway);
}

static void gateway_drain(void *arg)
{
    struct mg_gateway *gateway = arg;
    gateway->is_draining = true;
    gateway->batches_until_ms = mg_clock_boot_ms() + gateway->process->options.drain_timeout_ms / 2;
    mg_process_drain_requests(gateway->process);
}

/* The frame's own connections have accepted the new values; so these fail only without memory. */
static void gateway_reload(struct mg_process *process)
{
    const struct mg_gateway *gateway = process->service;
    struct mg_err err;
    if (mg_store_set_dsn(gateway->listing_store, process->options.pg_dsn, &err) != MG_OK ||
        mg_hooks_set_amqp_url(gateway->hooks, process->options.broker.url, &err) != MG_OK) {
        mg_process_reread(process, "pg-dsn for lists and amqp-url for webhooks", false, &err);
    }
    mg_process_reread_file(process, "tokens-file", mg_clients_reload(gateway->clients, &err), &err);
    if (gateway->options->webhooks_file[0] != '\0') {
        mg_process_reread_file(process, "webhooks-file", mg_hooks_reload(gateway->hooks, &err), &err);
    }
    if (gateway->options->callback_secret_file[0] != '\0') {
        mg_process_reread_file(process, "callback-secret-file", mg_callbacks_reload(gateway->callbacks, &err),
                               &err);
    }
}

const struct mg_process_service MG_GATEWAY = {
    .name = "gateway",
    .has_store = true,
    .is_reader = true,
    .check = gateway_check,
    .create = gateway_create,
    .serve = gateway_serve,
    .is_ready = gateway_is_ready,
    .account = gateway_account,
    .drain = gateway_drain,
    .reload = gateway_reload,
    .destroy = gateway_destroy,
};
