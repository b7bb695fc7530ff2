/* Creates, connects and destroys the gateway's parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/call.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/pg/dsn.h"
#include "io/vitals.h"
#include "memory_option.h"
#include "reread.h"
#include "wire/http_url.h"

#define STATEMENT_TIMEOUT "5s"                                   /* its statements take milliseconds */
#define HANDLED_MAX       (MG_WAITS_MAX + MG_STREAMS_MAX + 500u) /* 500: calls in hand */
#define NO_MEMORY         "could not start the gateway: no memory"

/* Names the first thing that is not served beside those that are; "": all are. */
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

bool mg_gateway_is_ready(void *arg, char *ret_reason, size_t size)
{
    const struct mg_gateway *gateway = arg;
    bool is_ready = mg_store_is_ready(gateway->store, ret_reason, size) &&
                    mg_commander_is_up(gateway->commander, ret_reason, size) &&
                    mg_vitals_are_good(gateway->vitals, ret_reason, size) &&
                    mg_store_reads_fail_ms(gateway->store, ret_reason, size) == 0 &&
                    mg_clients_remark(gateway->clients, ret_reason, size);
    if (is_ready && ret_reason[0] == '\0') { /* the queue of one client stops no other */
        remark_make(gateway, ret_reason, size);
    }
    return is_ready;
}

static struct mg_http_server_options http_options(const struct mg_gateway_options *options,
                                                  struct mg_gateway *gateway)
{
    const size_t memory = gateway != NULL ? gateway->memory_bytes : 0;
    return (struct mg_http_server_options){.address = options->listen,
                                           .cert_file = options->cert_file,
                                           .key_file = options->key_file,
                                           .is_plaintext_allowed = options->broker.is_plaintext_allowed,
                                           .metrics = gateway != NULL ? gateway->metrics : NULL,
                                           .is_ready = mg_gateway_is_ready,
                                           .handle = mg_gateway_route,
                                           .takes_pieces = mg_gateway_takes_pieces,
                                           .admit = mg_gateway_admit,
                                           .arg = gateway,
                                           .idle_ms = options->keep_alive_ms,
                                           .handled_max = HANDLED_MAX,
                                           .body_max = (size_t)options->body_max,
                                           .bodies_max = memory / MG_GATEWAY_MEMORY_BODIES,
                                           .unsent_max = memory / MG_GATEWAY_MEMORY_UNSENT,
                                           .held =
                                               gateway != NULL ? mg_http_held_series(gateway->metrics) : NULL,
                                           .answers_problems = true};
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

enum mg_class mg_gateway_check(const struct mg_gateway_options *options, struct mg_err *err)
{
    const struct mg_http_server_options http = http_options(options, NULL);
    size_t memory_bytes;
    enum mg_class class = mg_http_server_check(&http, err);
    if (class == MG_OK) {
        class = mg_memory_option_check(options->memory_budget, &memory_bytes, err);
    }
    if (class == MG_OK) {
        class = mg_broker_check_address(&options->broker, err);
    }
    if (class == MG_OK) {
        class = mg_dsn_check(options->pg_dsn, options->broker.is_plaintext_allowed, err);
    }
    if (class == MG_OK) {
        class = origins_check(options->origins, err);
    }
    if (class == MG_OK) {
        class = mg_clients_check(options, err);
    }
    return class == MG_OK ? mg_hooks_check(options, err) : class;
}

static void store_changed(void *arg, bool is_up, const char *reason)
{
    (void)arg;
    if (is_up) {
        mg_log(MG_LOG_INFO, "database up", MG_LOG_NONE);
    } else {
        mg_log(MG_LOG_WARN, "database down", MG_LOG_TEXT("reason", reason));
    }
}

/* The gateway goes on: it answers 503 until the schema is migrated. */
static void store_refused(void *arg, const char *reason)
{
    (void)arg;
    mg_log(MG_LOG_ERROR, "cannot use this database", MG_LOG_TEXT("reason", reason));
}

/* Posts and reads end within seconds by time-outs of their own. */
static void account(void *arg, struct mg_beat *ret_beat)
{
    const struct mg_gateway *gateway = arg;
    ret_beat->in_hand = mg_observers_count(gateway->observers);
    ret_beat->stands_ms = mg_store_reads_fail_ms(gateway->store, ret_beat->reason, sizeof(ret_beat->reason));
    if (gateway->hooks != NULL && ret_beat->stands_ms == 0) {
        remark_make(gateway, ret_beat->reason, sizeof(ret_beat->reason));
    }
}

static enum mg_class stores_create(struct mg_gateway *gateway, struct mg_err *err)
{
    struct mg_store_options options = {.dsn = gateway->options->pg_dsn,
                                       .name = "makegood gateway",
                                       .is_plaintext_allowed = gateway->options->broker.is_plaintext_allowed,
                                       .is_unsafe_durability_allowed = true, /* it writes nothing */
                                       .statement_timeout = STATEMENT_TIMEOUT,
                                       .is_reader = true,
                                       .metrics = gateway->metrics,
                                       .on_state = store_changed,
                                       .on_refused = store_refused,
                                       .arg = gateway};
    enum mg_class class = mg_store_create(gateway->loop, &options, &gateway->store, err);
    /* Both stores reach the same server, so only the first one logs its state. */
    options.name = "makegood gateway, lists";
    options.is_reader = false;
    options.on_state = NULL;
    options.on_refused = NULL;
    if (class == MG_OK) {
        class = mg_store_create(gateway->loop, &options, &gateway->listing_store, err);
    }
    return class;
}

static enum mg_class servers_connect(struct mg_gateway *gateway, struct mg_err *err)
{
    const struct mg_gateway_options *options = gateway->options;
    enum mg_class class = stores_create(gateway, err);
    if (class == MG_OK) {
        class = mg_commander_create(gateway->loop, &options->broker, MG_EXCHANGE_GATEWAY, "makegood gateway",
                                    gateway->metrics, &gateway->commander, err);
    }
    if (class != MG_OK) {
        return class;
    }
    gateway->broker = mg_commander_broker(gateway->commander);
    mg_instance_name(gateway->instance, sizeof(gateway->instance));
    const struct mg_vitals_of vitals = {.store = gateway->store,
                                        .broker = gateway->broker,
                                        .probe_exchange = MG_EXCHANGE_GATEWAY,
                                        .kind = "gateway",
                                        .instance = gateway->instance,
                                        .account = account,
                                        .arg = gateway,
                                        .is_reader = true};
    gateway->vitals = mg_vitals_create(gateway->loop, &vitals);
    return gateway->vitals != NULL ? MG_OK : mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
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
    if (gateway->hooks == NULL) {
        return err->class;
    }
    const struct mg_http_server_options http = http_options(gateway->options, gateway);
    return mg_http_server_create(gateway->loop, &http, &gateway->http, err);
}

enum mg_class mg_gateway_create(struct mg_loop *loop, const struct mg_gateway_options *options,
                                struct mg_gateway **ret_gateway, struct mg_err *err)
{
    enum mg_class class = mg_gateway_check(options, err);
    if (class != MG_OK) {
        return class;
    }
    struct mg_gateway *gateway = calloc(1, sizeof(*gateway));
    if (gateway == NULL) {
        return mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    }
    gateway->options = options;
    gateway->memory_bytes = mg_memory_budget(options->memory_budget, mg_memory_limit(NULL, NULL));
    gateway->loop = loop;
    gateway->batches_until_ms = INT64_MAX;
    TAILQ_INIT(&gateway->calls);
    gateway->metrics = mg_metrics_create();
    class = gateway->metrics != NULL ? parts_create(gateway, err) : mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    if (class != MG_OK) {
        mg_gateway_destroy(gateway);
        return class;
    }
    *ret_gateway = gateway;
    return MG_OK;
}

void mg_gateway_destroy(struct mg_gateway *gateway)
{
    if (gateway == NULL) {
        return;
    }
    mg_vitals_end(gateway->vitals);
    mg_http_server_destroy(gateway->http); /* first, because requests wait for the parts below */
    mg_vitals_destroy(gateway->vitals);
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
        free(call);
    }
    mg_metrics_destroy(gateway->metrics);
    free(gateway);
}

void mg_gateway_drain(struct mg_gateway *gateway, int64_t timeout_ms, void (*drained)(void *arg), void *arg)
{
    mg_vitals_end(gateway->vitals);
    gateway->is_draining = true;
    gateway->batches_until_ms = mg_clock_boot_ms() + timeout_ms / 2;
    mg_http_server_drain(gateway->http, drained, arg);
}

int mg_gateway_port(const struct mg_gateway *gateway)
{
    return mg_http_server_port(gateway->http);
}

/* ---- reading files again ---- */

static enum mg_class take_url(void *arg, const char *text, struct mg_err *err)
{
    struct mg_gateway *gateway = arg;
    enum mg_class class = mg_commander_set_url(gateway->commander, text, err);
    return class == MG_OK ? mg_hooks_set_amqp_url(gateway->hooks, text, err) : class;
}

static enum mg_class take_dsn(void *arg, const char *text, struct mg_err *err)
{
    struct mg_gateway *gateway = arg;
    enum mg_class class = mg_store_set_dsn(gateway->store, text, err);
    return class == MG_OK ? mg_store_set_dsn(gateway->listing_store, text, err) : class;
}

void mg_gateway_reload(struct mg_gateway *gateway)
{
    struct mg_config *config = gateway->options->config;
    struct mg_err err;
    if (config != NULL) {
        mg_reread_secret(config, "amqp-url", take_url, gateway);
        mg_reread_secret(config, "pg-dsn", take_dsn, gateway);
    }
    mg_reread_log("tokens-file", mg_clients_reload(gateway->clients, &err), &err);
    if (gateway->options->webhooks_file[0] != '\0') {
        mg_reread_log("webhooks-file", mg_hooks_reload(gateway->hooks, &err), &err);
    }
    if (gateway->options->cert_file[0] != '\0') {
        mg_reread_log("listen-cert-file", mg_http_server_reload(gateway->http, &err), &err);
    }
}
