/* makegood-scheduler: its options, and its part in the life cycle of a service process. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "manual.h"
#include "memory_option.h"
#include "process.h"
#include "scheduler.h"

/* With the token, an address that services of all kinds store. */
#define CALLBACK_URL_MAX 512

static struct mg_scheduler_options options;
static char statement_timeout[32];
static int64_t statement_ms, body_max, depth_max, members_max, memory_budget;
static const char *trace_sample;
static uint64_t trace_threshold;
static struct mg_callback_secrets callback_secrets;
static const char *callback_secret_file;
static struct mg_definition *definitions; /* read, and not yet passed to the scheduler */

static const struct mg_option option_table[] = {
    {"workflows", MG_OPTION_TEXT, &options.workflows_dir, "", 0, 0, false, "DIR",
     "directory of definitions (*.json) to load at the start; the database role makegood_scheduler may not "
     "load them: use makegood workflow load"},
    {"window", MG_OPTION_INTEGER, &options.window, "1000", 1, 1000000, false, "N",
     "maximum requests waiting in a service's queue; more would only age there"},
    {"prefetch", MG_OPTION_INTEGER, &options.prefetch, "256", 1, 2000, false, "N",
     "maximum unacknowledged messages per queue; three times as many of replies"},
    {"batch", MG_OPTION_INTEGER, &options.batch, "256", 1, MG_BATCH_MAX, false, "N",
     "maximum causes in one commit; more only make it longer"},
    {"body-max", MG_OPTION_INTEGER, &body_max, "262144", 1024, 900 * 1024, false, "BYTES",
     "maximum size of a submission's body; larger messages slow a broker down for all"},
    {"depth-max", MG_OPTION_INTEGER, &depth_max, "32", 1, 1000, false, "N",
     "maximum nesting of JSON; bounds recursion"},
    {"members-max", MG_OPTION_INTEGER, &members_max, "32768", 1, 1000000, false, "N",
     "maximum members and elements of one JSON text; bounds memory and time"},
    {"statement-timeout", MG_OPTION_DURATION, &statement_ms, "5s", 500, 10000, false, "DURATION",
     "longest time of one statement of the database; a slow order holds up the others of its batch for as "
     "long, once"},
    {"quiesce", MG_OPTION_DURATION, &options.quiesce_ms, "3s", 1, 60000, false, "DURATION",
     "time after an attempt's complete-by until it can no longer act; covers clock skew of 2s"},
    {"park", MG_OPTION_DURATION, &options.park_ms, "1s", 1, 3600000, false, "DURATION",
     "wait of a parked step until it is checked again"},
    {"owed-for", MG_OPTION_DURATION, &options.owed_for_ms, "1d", 1000, 30 * INT64_C(86400000), false,
     "DURATION",
     "time for which a status is published again while its client's queue does not take it; longer than "
     "clients are away"},
    {"trace-sample", MG_OPTION_TEXT, &trace_sample, "0.01", 0, 0, false, "SHARE",
     "share of the orders without traceparent that get spans, 0 to 1; the same for all schedulers, or traces "
     "have gaps"},
    {"callback-url", MG_OPTION_TEXT, &options.callback_url, "", 0, 0, false, "URL",
     "address of the gateway's callbacks, as services reach it: https://orders.example.com/v1/callbacks; needs "
     "--callback-secret-file"},
    {"callback-secret-file", MG_OPTION_TEXT, &callback_secret_file, "", 0, 0, false, "FILE",
     "secrets of callbacks, one a line, the same as the gateways'; the first makes the tokens"},
    {"drain-timeout", MG_OPTION_DURATION, &options.drain_timeout_ms, "10s", 1, 600000, false, "DURATION",
     "time for work in hand to finish after SIGTERM; shorter than the process manager's stop timeout"},
    MG_MEMORY_OPTION(memory_budget),
    {0},
};

static enum mg_class callbacks_check(struct mg_err *err)
{
    options.callback_secrets = &callback_secrets;
    if ((options.callback_url[0] == '\0') != (callback_secret_file[0] == '\0')) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "--callback-url and --callback-secret-file belong together; give both, or none");
    }
    if (options.callback_url[0] == '\0') {
        return MG_OK;
    }
    size_t len = strlen(options.callback_url);
    bool is_url =
        strncmp(options.callback_url, "http://", 7) == 0 || strncmp(options.callback_url, "https://", 8) == 0;
    if (!is_url || len > CALLBACK_URL_MAX || strpbrk(options.callback_url, "\"\\ ?#") != NULL ||
        options.callback_url[len - 1] == '/') {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "--callback-url %.80s: expected an address without query and without \"/\" at its end, as in "
            "https://orders.example.com/v1/callbacks",
            options.callback_url);
    }
    return mg_callback_secrets_read(callback_secret_file, &callback_secrets, err);
}

static void scheduler_reload(struct mg_process *process)
{
    struct mg_callback_secrets renewed;
    struct mg_err err;
    if (callback_secret_file[0] == '\0') {
        return;
    }
    enum mg_class class = mg_callback_secrets_read(callback_secret_file, &renewed, &err);
    bool is_new = class == MG_OK && memcmp(&renewed, &callback_secrets, sizeof(renewed)) != 0;
    if (class == MG_OK) {
        callback_secrets = renewed;
    }
    mg_process_reread(process, "callback secrets", is_new, class == MG_OK ? NULL : &err);
    mg_callback_secrets_wipe(&renewed);
}

static enum mg_class scheduler_check(struct mg_process *process, struct mg_err *err)
{
    options.broker = process->options.broker;
    options.pg_dsn = process->options.pg_dsn;
    options.is_unsafe_durability_allowed = process->options.is_unsafe_durability_allowed;
    options.instance = process->instance;
    process->options.drain_timeout_ms = options.drain_timeout_ms;
    (void)snprintf(statement_timeout, sizeof(statement_timeout), "%" PRId64 "ms", statement_ms);
    options.statement_timeout = statement_timeout;
    options.limits = (struct mg_json_limits){.max_bytes = (size_t)body_max,
                                             .max_depth = (int)depth_max,
                                             .max_members = (int)members_max,
                                             .any_number = true};
    if (!mg_trace_threshold_parse(trace_sample, &trace_threshold)) {
        return mg_err_set(err, MG_BAD_INPUT, "--trace-sample %s: expected a number from 0 to 1",
                          trace_sample);
    }
    enum mg_class class = mg_memory_option_check(memory_budget, &options.memory_bytes, err);
    if (class == MG_OK) {
        class = callbacks_check(err);
    }
    if (class != MG_OK || options.workflows_dir[0] == '\0') {
        return class;
    }
    return mg_definitions_read(options.workflows_dir, &definitions, err);
}

static void on_end(void *process, int exit_code)
{
    mg_process_end(process, exit_code);
}

static enum mg_class scheduler_create(struct mg_process *process, struct mg_err *err)
{
    struct mg_scheduler *scheduler = NULL;
    struct mg_definition *given = definitions;
    definitions = NULL;
    options.spans = process->spans;
    if (process->spans != NULL) {
        process->spans->threshold = trace_threshold;
    }
    options.on_end = on_end;
    options.arg = process;
    /* Heartbeats wait for no statement about orders. */
    const struct mg_store_options beats = {.dsn = options.pg_dsn,
                                           .is_plaintext_allowed = options.broker.is_plaintext_allowed,
                                           .name = "makegood-scheduler heartbeat",
                                           .is_unsafe_durability_allowed =
                                               options.is_unsafe_durability_allowed,
                                           .statement_timeout = statement_timeout};
    enum mg_class class = mg_store_create(process->loop, &beats, &process->beats, err);
    if (class == MG_OK) {
        options.beats = process->beats;
        class = mg_scheduler_create(process->loop, &options, process->metrics, given, &scheduler, err);
    } else {
        mg_definitions_destroy(given);
    }
    if (scheduler != NULL) {
        process->service = scheduler;
        process->broker = scheduler->shared.broker;
        process->store = scheduler->shared.store;
        process->probe_exchange = MG_EXCHANGE_REQUESTS;
    }
    return class;
}

static void scheduler_drain(void *scheduler)
{
    mg_scheduler_drain(scheduler);
}

static void scheduler_destroy(struct mg_process *process)
{
    mg_scheduler_destroy(process->service);
    mg_store_destroy(process->beats);
    mg_definitions_destroy(definitions);
}

static const struct mg_process_service scheduler_service = {
    .name = "scheduler",
    .summary = "carries orders through their workflows: takes submissions, replies and commands, decides, "
               "stores, dispatches",
    .usage = "[options]",
    .manual = &mg_manual_scheduler,
    .options = option_table,
    .has_store = true,
    .has_spans = true,
    .check = scheduler_check,
    .create = scheduler_create,
    .is_ready = mg_scheduler_is_ready,
    .account = mg_scheduler_account,
    .reload = scheduler_reload,
    .drain = scheduler_drain,
    .destroy = scheduler_destroy,
};

int main(int argc, char **argv)
{
    return mg_process_main(&scheduler_service, argc, argv);
}
