/* The life of a service's process: options, checks, start, loop, end. See process.h. */
#include "process.h"
#include "io/pg/dsn.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/harden.h"
#include "base/id.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/print.h"
#include "broker_checks.h"
#include "broker_options.h"
#include "io/http/server.h"
#include "io/vitals.h"
#include "notify.h"
#include "process_metrics.h"
#include "tracer.h"

enum { EXIT_ENDED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define OPTIONS_MAX   64
#define INSTANCE_SIZE 128
#define REREAD_SIZE   2048
/* Bound of the teardown after the drain. It waits for connections being made; the bound of each handshake
 * is lower. */
#define TEARDOWN_MAX_MS 15000

struct process {
    struct mg_process shared; /* first: the service's callbacks hand it back */
    char program[64];
    const struct mg_process_service *service;
    struct mg_option options[OPTIONS_MAX];
    const struct mg_option *connections; /* the first of them */
    struct mg_http_server *http_server;
    struct mg_notify *notify;
    struct mg_process_metrics *own_metrics;
    struct mg_timer *drain_timer; /* of requests; NULL: they do not drain */
    struct mg_tracer *tracer;     /* NULL: tracing is off */
    struct mg_span_sink spans;
    bool is_closing; /* the targets of signals are gone */
    char instance[INSTANCE_SIZE];
    char reread[REREAD_SIZE]; /* the results of this SIGHUP */
    int exit_code;
};

/* ---- options ---- */

static int options_add(struct process *process, int count, const struct mg_option *options, size_t more)
{
    assert((size_t)count + more < OPTIONS_MAX);
    memcpy(process->options + count, options, more * sizeof(*options));
    return count + (int)more;
}

/* The service's own options, then the common ones, then those of connections. */
static void options_make(struct process *process)
{
    struct mg_process_options *to = &process->shared.options;
    const struct mg_option common[] = {
        {"instance", MG_OPTION_TEXT, &to->instance, "", 0, 0, false, "NAME",
         "name of this process in logs, reports and tables; if not given, host, pid and start time"},
        {"log-level", MG_OPTION_TEXT, &to->log_level, "info", 0, 0, false, "LEVEL",
         "lowest level of logged messages: debug, info, warn or error"},
    };
    const struct mg_option connections[] = {
        MG_BROKER_OPTIONS(to->broker),
        {"http", MG_OPTION_TEXT, &to->http, "127.0.0.1:0", 0, 0, false, "ADDRESS:PORT",
         "listen address of /healthz, /readyz and /metrics; port 0 takes a free port and logs it; empty: "
         "none"},
        {"http-cert-file", MG_OPTION_TEXT, &to->http_cert_file, "", 0, 0, false, "FILE",
         "certificate (PEM) for https at that address; required if other machines can connect"},
        {"http-key-file", MG_OPTION_TEXT, &to->http_key_file, "", 0, 0, false, "FILE",
         "private key (PEM) of that certificate"},
    };
    const struct mg_option of_store[] = {
        {"pg-dsn", MG_OPTION_TEXT, &to->pg_dsn, "", 0, 0, true, "DSN",
         "PostgreSQL, as a connection string of libpq; empty: libpq's PG* environment"},
        {"unsafe-durability", MG_OPTION_FLAG, &to->is_unsafe_durability_allowed, NULL, 0, 0, false, NULL,
         "accept a server that may lose commits (fsync or synchronous_commit off); for tests"},
    };
    const struct mg_option of_spans[] = {
        {"otlp-url", MG_OPTION_TEXT, &to->otlp_url, "", 0, 0, false, "URL",
         "collector of trace spans by OTLP/HTTP, such as http://127.0.0.1:4318, with or without its path; "
         "empty: no spans"},
        {"otlp-ca-file", MG_OPTION_TEXT, &to->otlp_ca_file, "", 0, 0, false, "FILE",
         "CA certificates (PEM) for the collector's certificate; empty: the system's CAs"},
    };
    int count = 0;
    for (const struct mg_option *own = process->service->options; own->name != NULL; own++) {
        process->options[count++] = *own;
    }
    count = options_add(process, count, common, sizeof(common) / sizeof(common[0]));
    process->connections = &process->options[count];
    count = options_add(process, count, connections, sizeof(connections) / sizeof(connections[0]));
    if (process->service->has_spans) {
        count = options_add(process, count, of_spans, sizeof(of_spans) / sizeof(of_spans[0]));
    }
    if (process->service->has_store) {
        (void)options_add(process, count, of_store, sizeof(of_store) / sizeof(of_store[0]));
    }
}

static struct mg_tracer_options tracer_options(const struct process *process)
{
    const struct mg_process_options *options = &process->shared.options;
    return (struct mg_tracer_options){.url = options->otlp_url,
                                      .ca_file = options->otlp_ca_file,
                                      .is_plaintext_allowed = options->broker.is_plaintext_allowed};
}

static bool wants_spans(const struct process *process)
{
    return process->service->has_spans && process->shared.options.otlp_url[0] != '\0';
}

/* The service's own readiness, and whether its servers answer. */
static bool process_is_ready(void *arg, char *ret_reason, size_t size)
{
    const struct process *process = arg;
    return process->service->is_ready(process->shared.service, ret_reason, size) &&
           mg_vitals_are_good(process->shared.vitals, ret_reason, size);
}

static struct mg_http_server_options http_options(struct process *process)
{
    struct mg_process *shared = &process->shared;
    struct mg_http_server_options http = {.address = shared->options.http,
                                          .cert_file = shared->options.http_cert_file,
                                          .key_file = shared->options.http_key_file,
                                          .is_plaintext_allowed = shared->options.broker.is_plaintext_allowed,
                                          .metrics = shared->metrics,
                                          .is_ready = process_is_ready,
                                          .arg = process};
    if (process->service->serve != NULL) {
        process->service->serve(shared, &http);
    }
    return http;
}

/* Where --http is empty, no probe is answered. A program for clients is nothing without its address. */
static bool wants_http(const struct process *process)
{
    return process->service->serve != NULL || process->shared.options.http[0] != '\0';
}

static enum mg_class options_check(struct process *process, enum mg_log_level *ret_level, struct mg_err *err)
{
    struct mg_process *shared = &process->shared;
    const struct mg_process_options *options = &shared->options;
    if (!mg_log_level_parse(options->log_level, ret_level)) {
        return mg_err_set(err, MG_BAD_INPUT, "--log-level %s: expected debug, info, warn or error",
                          options->log_level);
    }
    if (options->instance[0] == '\0') {
        mg_instance_name(process->instance, sizeof(process->instance));
    } else {
        (void)snprintf(process->instance, sizeof(process->instance), "%s", options->instance);
    }
    shared->instance = process->instance;
    enum mg_class class = MG_OK;
    if (options->broker.url != NULL) {
        class = mg_broker_check_address(&options->broker, err);
    }
    if (class == MG_OK) {
        class = mg_broker_api_check(&options->broker, err);
    }
    const struct mg_http_server_options http = http_options(process);
    if (class == MG_OK && wants_http(process)) {
        class = mg_http_server_check(&http, err);
    }
    if (class == MG_OK && process->service->has_store) {
        class = mg_dsn_check(options->pg_dsn, options->broker.is_plaintext_allowed, err);
    }
    if (class == MG_OK && wants_spans(process)) {
        const struct mg_tracer_options tracer = tracer_options(process);
        class = mg_tracer_check(&tracer, err);
    }
    if (class == MG_OK && process->service->check != NULL) {
        class = process->service->check(shared, err);
    }
    return class;
}

/* ---- signals ---- */

static void on_stop_signal(void *arg)
{
    struct process *process = arg;
    if (process->is_closing) {
        return; /* its end is bounded */
    }
    mg_notify_stopping(process->shared.options.drain_timeout_ms + TEARDOWN_MAX_MS);
    mg_vitals_end(process->shared.vitals);
    process->service->drain(process->shared.service);
}

static void on_drained(void *arg)
{
    mg_loop_stop(((struct process *)arg)->shared.loop);
}

static void on_late(void *arg)
{
    mg_log(MG_LOG_WARN, "drain timeout: requests in hand get no answer; their clients send them again",
           MG_LOG_NONE);
    on_drained(arg);
}

void mg_process_drain_requests(struct mg_process *shared)
{
    struct process *process = (struct process *)shared;
    bool is_second = process->drain_timer != NULL;
    process->drain_timer = is_second ? process->drain_timer : mg_timer_create(shared->loop, on_late, process);
    if (is_second || process->drain_timer == NULL) {
        mg_loop_stop(shared->loop);
        return;
    }
    mg_log(MG_LOG_INFO, "stopping: answering the requests in hand", MG_LOG_NONE);
    mg_timer_start(process->drain_timer, shared->options.drain_timeout_ms, 0);
    mg_http_server_drain(process->http_server, on_drained, process);
}

static enum mg_class take_amqp_url(void *arg, const char *text, struct mg_err *err)
{
    struct mg_process *shared = &((struct process *)arg)->shared;
    enum mg_class class = mg_broker_set_url(shared->broker, text, err);
    shared->options.broker.url = class == MG_OK ? text : shared->options.broker.url;
    return class;
}

static enum mg_class take_pg_dsn(void *arg, const char *text, struct mg_err *err)
{
    struct mg_process *shared = &((struct process *)arg)->shared;
    enum mg_class class = mg_store_set_dsn(shared->store, text, err);
    if (class == MG_OK && shared->beats != NULL) {
        class = mg_store_set_dsn(shared->beats, text, err);
    }
    shared->options.pg_dsn = class == MG_OK ? text : shared->options.pg_dsn;
    return class;
}

static void secret_reread(struct process *process, const char *name, mg_config_take_fn *take)
{
    enum mg_config_reread state = MG_REREAD_NO_FILE;
    struct mg_err err;
    if (mg_config_reread_secret(process->shared.config, name, take, process, &state, &err) != MG_OK) {
        mg_process_reread(&process->shared, name, false, &err);
    } else if (state != MG_REREAD_NO_FILE) {
        mg_process_reread(&process->shared, name, state == MG_REREAD_NEW, NULL);
    }
}

static void http_reread(struct process *process)
{
    struct mg_err err;
    if (process->shared.options.http_cert_file[0] == '\0') {
        return;
    }
    const char *option = process->service->serve != NULL ? "listen-cert-file" : "http-cert-file";
    mg_process_reread_file(&process->shared, option, mg_http_server_reload(process->http_server, &err), &err);
}

static void tracer_reread(struct process *process)
{
    const struct mg_tracer_options options = tracer_options(process);
    struct mg_err err;
    if (options.ca_file[0] == '\0') {
        return;
    }
    enum mg_class class = mg_tracer_check(&options, &err);
    if (class == MG_OK) {
        mg_tracer_reload(process->tracer);
    }
    mg_process_reread_file(&process->shared, "otlp-ca-file", class, &err);
}

void mg_process_reread(struct mg_process *shared, const char *what, bool is_new, const struct mg_err *err)
{
    struct process *process = (struct process *)shared;
    size_t len = strlen(process->reread);
    if (err != NULL) {
        mg_log(MG_LOG_ERROR, "could not read a file again; its previous contents stay in use",
               MG_LOG_TEXT("what", what), MG_LOG_TEXT("reason", err->text));
        return;
    }
    (void)snprintf(process->reread + len, sizeof(process->reread) - len, "%s%s (%s)", len > 0 ? ", " : "",
                   what, is_new ? "new" : "unchanged");
}

void mg_process_reread_file(struct mg_process *shared, const char *what, enum mg_class class,
                            const struct mg_err *err)
{
    mg_process_reread(shared, what, true, class != MG_OK ? err : NULL);
}

static void on_hangup(void *arg)
{
    struct process *process = arg;
    if (process->is_closing) {
        return;
    }
    mg_notify_reloading();
    process->reread[0] = '\0';
    if (process->shared.broker != NULL) {
        secret_reread(process, "amqp-url", take_amqp_url);
    }
    if (process->shared.store != NULL) {
        secret_reread(process, "pg-dsn", take_pg_dsn);
    }
    if (process->http_server != NULL) {
        http_reread(process);
    }
    if (process->tracer != NULL) {
        tracer_reread(process);
    }
    if (process->service->reload != NULL) {
        process->service->reload(&process->shared);
    }
    mg_log(MG_LOG_INFO, "SIGHUP: files read again; new connections use them",
           MG_LOG_TEXT("read", process->reread[0] != '\0' ? process->reread : "none"));
    mg_notify_reloaded();
}

/* ---- start and end ---- */

static enum mg_class spans_open(struct process *process, struct mg_err *err)
{
    struct mg_process *shared = &process->shared;
    if (!wants_spans(process)) {
        return MG_OK;
    }
    const struct mg_tracer_options options = tracer_options(process);
    enum mg_class class = mg_tracer_create(shared->loop, &options, process->program, process->instance,
                                           shared->metrics, &process->tracer, err);
    process->spans = (struct mg_span_sink){.take = mg_tracer_take, .arg = process->tracer};
    if (class == MG_OK) {
        shared->spans = &process->spans;
    }
    return class;
}

static enum mg_class vitals_open(struct process *process, struct mg_err *err)
{
    struct mg_process *shared = &process->shared;
    const struct mg_process_service *service = process->service;
    const struct mg_vitals_of of = {.store = shared->store,
                                    .beats = shared->beats,
                                    .broker = shared->probe_exchange != NULL ? shared->broker : NULL,
                                    .probe_exchange = shared->probe_exchange,
                                    .kind = service->account != NULL ? service->name : NULL,
                                    .instance = shared->instance,
                                    .account = service->account,
                                    .arg = shared->service,
                                    .is_reader = service->is_reader};
    shared->vitals = mg_vitals_create(shared->loop, &of);
    return shared->vitals != NULL ? MG_OK : mg_err_set(err, MG_TRANSIENT, "no memory");
}

static enum mg_class process_open(struct process *process, struct mg_err *err)
{
    struct mg_process *shared = &process->shared;
    const struct mg_process_service *service = process->service;
    shared->loop = mg_loop_create();
    shared->metrics = mg_metrics_create();
    /* Signals first, before any other thread exists: from here on they wait for the loop. */
    if (shared->loop == NULL || shared->metrics == NULL ||
        !mg_loop_on_signal(shared->loop, SIGTERM, on_stop_signal, process) ||
        !mg_loop_on_signal(shared->loop, SIGINT, on_stop_signal, process) ||
        !mg_loop_on_signal(shared->loop, SIGHUP, on_hangup, process)) {
        return mg_err_set(err, MG_TRANSIENT, "no memory or no file descriptors");
    }
    process->own_metrics = mg_process_metrics_create(shared->loop, shared->metrics);
    if (process->own_metrics == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "no memory");
    }
    enum mg_class class = MG_OK;
    if (!service->is_onlooker) {
        mg_broker_bindings_log(&shared->options.broker);
        class = mg_broker_policies_admit(&shared->options.broker, err);
    }
    if (class == MG_OK) {
        class = spans_open(process, err);
    }
    if (class == MG_OK) {
        class = service->create(shared, err);
    }
    if (class == MG_OK) {
        class = vitals_open(process, err);
    }
    if (class == MG_OK && wants_http(process)) {
        const struct mg_http_server_options options = http_options(process);
        class = mg_http_server_create(shared->loop, &options, &process->http_server, err);
    }
    if (process->http_server != NULL) {
        mg_notify_port(mg_http_server_port(process->http_server));
    }
    if (class != MG_OK) {
        return class;
    }
    process->notify = mg_notify_create(shared->loop, process_is_ready, process);
    if (process->notify == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "no memory");
    }
    return class;
}

static void process_close(struct process *process)
{
    mg_notify_destroy(process->notify);
    mg_http_server_destroy(process->http_server); /* its requests wait for parts of the program */
    mg_timer_destroy(process->drain_timer);
    mg_vitals_destroy(process->shared.vitals);
    mg_process_metrics_destroy(process->own_metrics);
    process->is_closing = true;
    process->service->destroy(&process->shared);
    if (process->tracer != NULL) {
        mg_tracer_flush(process->tracer); /* the loop has no other user left */
    }
    mg_tracer_destroy(process->tracer);
    mg_loop_destroy(process->shared.loop);
    mg_metrics_destroy(process->shared.metrics);
}

static void started_log(const struct process *process)
{
    const struct mg_process_options *options = &process->shared.options;
    char broker[256] = "";
    if (options->broker.url != NULL) {
        mg_url_redact(options->broker.url, broker, sizeof(broker));
    }
    mg_log(MG_LOG_INFO, "started", MG_LOG_TEXT("version", MG_VERSION), MG_LOG_TEXT("broker", broker),
           MG_LOG_TEXT("listen", options->http),
           MG_LOG_NUMBER(process->service->serve != NULL ? "port" : "http_port",
                         process->http_server != NULL ? mg_http_server_port(process->http_server) : 0));
}

static enum mg_class process_run(struct process *process, struct mg_err *err)
{
    mg_memory_settle();
    enum mg_class class = process_open(process, err);
    if (class != MG_OK) {
        return class;
    }
    started_log(process);
    mg_loop_run(process->shared.loop);
    mg_log(MG_LOG_INFO, "stopped", MG_LOG_NUMBER("exit_code", process->exit_code));
    return MG_OK;
}

enum mg_class mg_process_serve(const struct mg_process_service *service, const struct mg_process *given,
                               bool only_checks, struct mg_err *err)
{
    struct process process = {.shared = *given, .service = service};
    enum mg_log_level level = MG_LOG_INFO;
    enum mg_class class = options_check(&process, &level, err);
    if (class == MG_OK && !only_checks) {
        mg_log_open(service->name, process.instance, level);
        class = process_run(&process, err);
    }
    process_close(&process);
    return class;
}

void mg_process_end(struct mg_process *shared, int exit_code)
{
    ((struct process *)shared)->exit_code = exit_code;
    mg_loop_stop(shared->loop);
}

int mg_process_main(const struct mg_process_service *service, int argc, char **argv)
{
    struct process process = {.service = service};
    enum mg_config_action action = MG_CONFIG_RUN;
    enum mg_log_level level = MG_LOG_INFO;
    char hardening[MG_HARDENING_SIZE];
    struct mg_err err;
    mg_harden(hardening);
    options_make(&process);
    (void)snprintf(process.program, sizeof(process.program), "makegood-%s", service->name);
    const struct mg_program program = {.name = process.program,
                                       .summary = service->summary,
                                       .usage = service->usage,
                                       .options = process.options,
                                       .connections = process.connections,
                                       .manual = service->manual};
    enum mg_class class = mg_config_load(&program, argc, argv, &process.shared.config, &action, NULL, &err);
    if (class == MG_OK && action != MG_CONFIG_EXIT) {
        class = options_check(&process, &level, &err);
    }
    if (class != MG_OK) {
        mg_print(stderr, "%s: %s\n", process.program, err.text);
    } else if (action == MG_CONFIG_CHECK) {
        (void)puts("configuration is good");
    } else if (action == MG_CONFIG_RUN) {
        mg_log_open(service->name, process.instance, level);
        mg_log(MG_LOG_DEBUG, "hardened", MG_LOG_TEXT("by", hardening));
        class = process_run(&process, &err);
        if (class != MG_OK) {
            mg_log(MG_LOG_ERROR, "could not start", MG_LOG_TEXT("reason", err.text));
        }
    }
    process_close(&process);
    mg_config_destroy(process.shared.config);
    if (class != MG_OK) {
        return class == MG_BAD_INPUT ? EXIT_USAGE : EXIT_FAILED;
    }
    return process.exit_code;
}
