/* Creates, connects and destroys the console's parts. */
#include "console/console.h"
#include "io/pg/dsn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/id.h"
#include "base/log.h"
#include "console/server.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/vitals.h"
#include "memory_option.h"
#include "reread.h"

#define STATEMENT_TIMEOUT                                                                                    \
    "2s" /* pages take milliseconds; an overloaded machine must still show its state on them */
#define HANDLED_MAX 256u /* 64 event streams, and the other requests of their browsers */

bool mg_console_is_ready(void *arg, char *ret_reason, size_t size)
{
    const struct mg_console *console = arg;
    return mg_store_is_ready(console->store, ret_reason, size) &&
           mg_store_is_ready(console->changing_store, ret_reason, size) &&
           mg_vitals_are_good(console->vitals, ret_reason, size) &&
           mg_store_reads_fail_ms(console->store, ret_reason, size) == 0;
}

static struct mg_http_server_options http_options(const struct mg_console_options *options,
                                                  struct mg_console *console)
{
    const size_t memory = console != NULL ? console->memory_bytes : 0;
    return (struct mg_http_server_options){.address = options->listen,
                                           .cert_file = options->cert_file,
                                           .key_file = options->key_file,
                                           .is_plaintext_allowed = options->broker.is_plaintext_allowed,
                                           .metrics = console != NULL ? console->metrics : NULL,
                                           .is_ready = mg_console_is_ready,
                                           .handle = mg_route_request,
                                           .admit = mg_route_admit,
                                           .arg = console,
                                           .idle_ms = options->keep_alive_ms,
                                           .handled_max = HANDLED_MAX,
                                           .bodies_max = memory / MG_CONSOLE_MEMORY_BODIES,
                                           .unsent_max = memory / MG_CONSOLE_MEMORY_UNSENT,
                                           .held = console != NULL ? mg_http_held_series(console->metrics)
                                                                   : NULL};
}

static bool is_loopback(const char *listen)
{
    char host[128];
    const char *colon = strrchr(listen, ':');
    (void)snprintf(host, sizeof(host), "%.*s", colon != NULL ? (int)(colon - listen) : 0, listen);
    return mg_host_is_loopback(host);
}

enum mg_class mg_console_check(const struct mg_console_options *options, struct mg_err *err)
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
    if (class != MG_OK) {
        return class;
    }
    class = mg_proxy_check(options, err);
    if (class != MG_OK) {
        return class;
    }
    if (options->tokens_file[0] != '\0') {
        return mg_tokens_check(options, err);
    }
    if (!is_loopback(options->listen)) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "could not listen on %s: other machines could read all orders; restrict access with --tokens-file",
            options->listen);
    }
    return MG_OK;
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

/* The console goes on: its pages report the reason until the schema is migrated. */
static void store_refused(void *arg, const char *reason)
{
    (void)arg;
    mg_log(MG_LOG_ERROR, "cannot use this database", MG_LOG_TEXT("reason", reason));
}

static enum mg_class stores_create(struct mg_console *console, struct mg_err *err)
{
    struct mg_store_options options = {.dsn = console->options->pg_dsn,
                                       .name = "makegood console",
                                       .is_plaintext_allowed = console->options->broker.is_plaintext_allowed,
                                       .is_unsafe_durability_allowed = true, /* it moves no orders */
                                       .statement_timeout = STATEMENT_TIMEOUT,
                                       .is_reader = true,
                                       .metrics = console->metrics,
                                       .on_state = store_changed,
                                       .on_refused = store_refused,
                                       .arg = console};
    enum mg_class class = mg_store_create(console->loop, &options, &console->store, err);
    /* Both stores reach the same server, so only the first one logs its state. */
    options.name = "makegood console, changes";
    options.is_reader = false;
    options.statement_timeout = NULL;
    options.on_state = NULL;
    options.on_refused = NULL;
    if (class == MG_OK) {
        class = mg_store_create(console->loop, &options, &console->changing_store, err);
    }
    return class;
}

/* Every console has a bulk runner, so bulk actions go on while any console runs. One runner leads. */
static enum mg_class runner_start(struct mg_console *console, struct mg_err *err)
{
    char holder[128];
    mg_instance_name(holder, sizeof(holder));
    const struct mg_bulk_runner_options options = {.pg_dsn = console->options->pg_dsn,
                                                   .broker = console->options->broker,
                                                   .holder = holder,
                                                   .metrics = console->metrics};
    return mg_bulk_runner_start(console->loop, &options, &console->runner, err);
}

static enum mg_class parts_create(struct mg_console *console, struct mg_err *err)
{
    const struct mg_console_options *options = console->options;
    console->url = strdup(options->broker.url);
    console->sessions = mg_sessions_create(options, err);
    if (console->sessions == NULL) {
        return err->class;
    }
    console->asker = mg_asker_create(console);
    console->live = mg_live_create(console);
    console->dead = mg_dead_create(console);
    console->queues = mg_queues_create(console);
    if (console->queues == NULL || console->url == NULL || console->asker == NULL || console->live == NULL ||
        console->dead == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start the console: no memory");
    }
    enum mg_class class = stores_create(console, err);
    const struct mg_vitals_of vitals = {.store = console->store}; /* the broker is used only for actions */
    if (class == MG_OK) {
        console->vitals = mg_vitals_create(console->loop, &vitals);
    }
    if (class == MG_OK && console->vitals == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not start the console: no memory");
    }
    if (class == MG_OK) {
        class = runner_start(console, err);
    }
    if (class == MG_OK) {
        class = mg_commander_create(console->loop, &options->broker, MG_EXCHANGE_COMMANDS, "makegood console",
                                    NULL, &console->commander, err);
    }
    if (class != MG_OK) {
        return class;
    }
    const struct mg_http_server_options http = http_options(options, console);
    return mg_http_server_create(console->loop, &http, &console->http, err);
}

enum mg_class mg_console_create(struct mg_loop *loop, const struct mg_console_options *options,
                                struct mg_console **ret_console, struct mg_err *err)
{
    enum mg_class class = mg_console_check(options, err);
    if (class != MG_OK) {
        return class;
    }
    struct mg_console *console = calloc(1, sizeof(*console));
    if (console == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start the console: no memory");
    }
    console->options = options;
    console->memory_bytes = mg_memory_budget(options->memory_budget, mg_memory_limit(NULL, NULL));
    console->loop = loop;
    console->metrics = mg_metrics_create();
    class = console->metrics == NULL ? mg_err_set(err, MG_TRANSIENT, "could not start the console: no memory")
                                     : parts_create(console, err);
    if (class != MG_OK) {
        mg_console_destroy(console);
        return class;
    }
    *ret_console = console;
    return MG_OK;
}

void mg_console_destroy(struct mg_console *console)
{
    if (console == NULL) {
        return;
    }
    mg_http_server_destroy(console->http); /* first, because requests wait for the parts below */
    mg_live_destroy(console->live);
    mg_dead_destroy(console->dead);
    mg_commander_destroy(console->commander);
    mg_bulk_runner_stop(console->runner);
    mg_vitals_destroy(console->vitals);
    mg_store_destroy(console->changing_store);
    mg_store_destroy(console->store);
    mg_changes_free(console);
    mg_asker_destroy(console->asker);
    mg_queues_destroy(console->queues);
    mg_sessions_destroy(console->sessions);
    mg_metrics_destroy(console->metrics);
    free(console->url);
    free(console);
}

void mg_console_drain(struct mg_console *console, void (*drained)(void *arg), void *arg)
{
    mg_live_end(console->live);
    mg_http_server_drain(console->http, drained, arg);
}

int mg_console_port(const struct mg_console *console)
{
    return mg_http_server_port(console->http);
}

static enum mg_class take_url(void *arg, const char *text, struct mg_err *err)
{
    struct mg_console *console = arg;
    char *url = strdup(text);
    if (url == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not keep the URL: no memory");
    }
    enum mg_class class = mg_commander_set_url(console->commander, url, err);
    if (class == MG_OK) {
        class = mg_bulk_runner_set_url(console->runner, url, err);
    }
    if (class != MG_OK) {
        free(url);
        return class;
    }
    free(console->url);
    console->url = url;
    return MG_OK;
}

static enum mg_class take_dsn(void *arg, const char *text, struct mg_err *err)
{
    struct mg_console *console = arg;
    enum mg_class class = mg_store_set_dsn(console->store, text, err);
    if (class == MG_OK) {
        class = mg_store_set_dsn(console->changing_store, text, err);
    }
    if (class == MG_OK) {
        class = mg_bulk_runner_set_dsn(console->runner, text, err);
    }
    return class;
}

void mg_console_reload(struct mg_console *console)
{
    struct mg_config *config = console->options->config;
    struct mg_err err;
    if (config != NULL) {
        mg_reread_secret(config, "amqp-url", take_url, console);
        mg_reread_secret(config, "pg-dsn", take_dsn, console);
    }
    if (console->options->tokens_file[0] != '\0') {
        mg_reread_log("tokens-file", mg_sessions_reload(console->sessions, &err), &err);
    }
    if (console->options->cert_file[0] != '\0') {
        mg_reread_log("listen-cert-file", mg_http_server_reload(console->http, &err), &err);
    }
}
