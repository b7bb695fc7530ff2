/* Creates, connects and destroys the console's parts. */
#include "console/console.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "console/console_parts.h"
#include "database_reader.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/vitals.h"
#include "memory_option.h"

#define STATEMENT_TIMEOUT                                                                                    \
    "2s" /* pages take milliseconds; an overloaded machine must still show its state on them */
#define HANDLED_MAX 256u /* 64 event streams, and the other requests of their browsers */

/* Whether pages can show data. */
static bool console_is_ready(void *arg, char *ret_reason, size_t size)
{
    const struct mg_console *console = arg;
    return mg_store_is_ready(console->store, ret_reason, size) &&
           mg_store_is_ready(console->changing_store, ret_reason, size) &&
           mg_vitals_are_good(console->process->vitals, ret_reason, size) &&
           mg_store_reads_fail_ms(console->store, ret_reason, size) == 0;
}

static void console_serve(struct mg_process *process, struct mg_http_server_options *http)
{
    const struct mg_console_options *options = process->own;
    http->is_ready = console_is_ready;
    http->handle = mg_route_request;
    http->admit = mg_route_admit;
    http->arg = process->service;
    http->idle_ms = options->keep_alive_ms;
    http->handled_max = HANDLED_MAX;
    http->bodies_max = options->memory_bytes / MG_CONSOLE_MEMORY_BODIES;
    http->unsent_max = options->memory_bytes / MG_CONSOLE_MEMORY_UNSENT;
    http->held = process->metrics != NULL ? mg_http_held_series(process->metrics) : NULL;
}

static bool is_loopback(const char *listen)
{
    char host[128];
    const char *colon = strrchr(listen, ':');
    (void)snprintf(host, sizeof(host), "%.*s", colon != NULL ? (int)(colon - listen) : 0, listen);
    return mg_host_is_loopback(host);
}

static enum mg_class console_check(struct mg_process *process, struct mg_err *err)
{
    struct mg_console_options *options = process->own;
    options->process = &process->options;
    enum mg_class class = mg_memory_option_check(options->memory_budget, &options->memory_bytes, err);
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
    if (!is_loopback(process->options.http)) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "could not listen on %s: other machines could read all orders; restrict access with --tokens-file",
            process->options.http);
    }
    return MG_OK;
}

/* Every console has a bulk runner, so bulk actions go on while any console runs. One runner leads. */
static enum mg_class runner_start(struct mg_console *console, struct mg_err *err)
{
    const struct mg_bulk_runner_options options = {.pg_dsn = console->process->options.pg_dsn,
                                                   .broker = console->process->options.broker,
                                                   .holder = console->process->instance,
                                                   .metrics = console->metrics};
    return mg_bulk_runner_start(console->loop, &options, &console->runner, err);
}

static enum mg_class parts_create(struct mg_console *console, struct mg_err *err)
{
    console->sessions = mg_sessions_create(console->options, err);
    if (console->sessions == NULL) {
        return err->class;
    }
    console->asker = mg_asker_create(console);
    console->live = mg_live_create(console);
    console->dead = mg_dead_create(console);
    console->queues = mg_queues_create(console);
    if (console->queues == NULL || console->asker == NULL || console->live == NULL || console->dead == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start the console: no memory");
    }
    const struct mg_reader reader = {
        .name = "makegood console", .timeout = STATEMENT_TIMEOUT, .beside_name = "makegood console, changes"};
    enum mg_class class =
        mg_reader_open(console->process, &reader, &console->store, &console->changing_store, err);
    if (class == MG_OK) {
        class = runner_start(console, err);
    }
    if (class == MG_OK) {
        class = mg_commander_create(console->loop, &console->process->options.broker, MG_EXCHANGE_COMMANDS,
                                    "makegood console", NULL, &console->commander, err);
    }
    return class;
}

static enum mg_class console_create(struct mg_process *process, struct mg_err *err)
{
    struct mg_console *console = calloc(1, sizeof(*console));
    if (console == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start the console: no memory");
    }
    process->service = console;
    console->process = process;
    console->options = process->own;
    console->loop = process->loop;
    console->metrics = process->metrics;
    enum mg_class class = parts_create(console, err);
    process->store = console->store;
    process->broker = console->commander != NULL ? mg_commander_broker(console->commander) : NULL;
    return class;
}

static void console_destroy(struct mg_process *process)
{
    struct mg_console *console = process->service;
    if (console == NULL) {
        return;
    }
    mg_live_destroy(console->live);
    mg_dead_destroy(console->dead);
    mg_commander_destroy(console->commander);
    mg_bulk_runner_stop(console->runner);
    mg_store_destroy(console->changing_store);
    mg_store_destroy(console->store);
    mg_changes_free(console);
    mg_asker_destroy(console->asker);
    mg_queues_destroy(console->queues);
    mg_sessions_destroy(console->sessions);
    free(console);
}

static void console_drain(void *arg)
{
    struct mg_console *console = arg;
    mg_live_end(console->live);
    mg_process_drain_requests(console->process);
}

/* The frame's own connections have accepted the new values; so these fail only without memory. */
static void console_reload(struct mg_process *process)
{
    const struct mg_console *console = process->service;
    const struct mg_process_options *options = &process->options;
    struct mg_err err;
    if (mg_store_set_dsn(console->changing_store, options->pg_dsn, &err) != MG_OK ||
        mg_bulk_runner_set_dsn(console->runner, options->pg_dsn, &err) != MG_OK ||
        mg_bulk_runner_set_url(console->runner, options->broker.url, &err) != MG_OK) {
        mg_process_reread(process, "pg-dsn and amqp-url for actions", false, &err);
    }
    if (console->options->tokens_file[0] != '\0') {
        mg_process_reread_file(process, "tokens-file", mg_sessions_reload(console->sessions, &err), &err);
    }
}

const struct mg_process_service MG_CONSOLE = {
    .name = "console",
    .has_store = true,
    .is_onlooker = true, /* and its actions name their queues */
    .check = console_check,
    .create = console_create,
    .serve = console_serve,
    .is_ready = console_is_ready,
    .drain = console_drain,
    .reload = console_reload,
    .destroy = console_destroy,
};
