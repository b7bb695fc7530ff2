/* makegood-supervisor: options, start, loop, end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/id.h"
#include "base/log.h"
#include "broker_options.h"
#include "io/topology.h"
#include "supervisor.h"

enum { EXIT_USAGE = 2 };

static void store_refused(void *arg, const char *reason)
{
    struct supervisor *supervisor = arg;
    mg_log(MG_LOG_ERROR, "cannot use this database", MG_LOG_TEXT("reason", reason));
    supervisor->exit_code = EXIT_FAILURE;
    mg_loop_stop(supervisor->loop);
}

static void broker_changed(void *arg, bool is_up, const char *reason)
{
    mg_log(is_up ? MG_LOG_INFO : MG_LOG_WARN, is_up ? "broker up" : "broker down",
           MG_LOG_TEXT("reason", reason));
    if (is_up) {
        supervisor_lead_soon(arg);
    }
}

static void delivery_came(void *arg, struct mg_delivery *delivery)
{
    mg_broker_reject(((struct supervisor *)arg)->broker, delivery); /* it consumes nothing */
}

static void stop_asked(void *arg)
{
    mg_log(MG_LOG_INFO, "stopping", MG_LOG_NONE);
    supervisor_lead_stop(arg);
}

static void metrics_make(struct supervisor *supervisor)
{
    struct mg_metrics *metrics = supervisor->metrics;
    supervisor->leading = mg_metrics_series(metrics, MG_GAUGE, "makegood_supervisor_leading", NULL,
                                            "1 while this process leads");
    supervisor->sweeps =
        mg_metrics_series(metrics, MG_COUNTER, "makegood_sweeps_total", NULL, "sweeps answered");
    supervisor->sweep_seconds = mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_sweep_seconds", NULL,
                                                  "how long the database took for a sweep");
    supervisor->unasked = mg_metrics_series(metrics, MG_COUNTER, "makegood_asks_unconfirmed_total", NULL,
                                            "asks that the broker did not confirm; they are asked again");
    supervisor->violations = mg_metrics_series(metrics, MG_COUNTER, "makegood_invariant_violations", NULL,
                                               "open orders found with nothing that will move them");
    supervisor->held_back = mg_metrics_series(metrics, MG_GAUGE, "makegood_overdue_held_back", NULL,
                                              "overdue attempts that the brake on mass expiry holds back");
    static const enum mg_cause_kind asks[] = {MG_CAUSE_OVERDUE, MG_CAUSE_DUE, MG_CAUSE_EXPIRED,
                                              MG_CAUSE_NUDGE, MG_CAUSE_OWED};
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        char label[64];
        (void)snprintf(label, sizeof(label), "ask=\"%s\"", mg_cause_name(asks[i]));
        supervisor->asked[asks[i]] = mg_metrics_series(metrics, MG_COUNTER, "makegood_asks_total", label,
                                                       "commands published for what was due");
    }
}

static enum mg_class parts_open(struct supervisor *supervisor, struct mg_err *err)
{
    struct mg_store_options store = {.dsn = supervisor->options.pg_dsn,
                                     .is_plaintext_allowed = supervisor->options.broker.is_plaintext_allowed,
                                     .name = "makegood-supervisor",
                                     .is_unsafe_durability_allowed =
                                         supervisor->options.is_unsafe_durability_allowed,
                                     .is_leader_session = true,
                                     .metrics = supervisor->metrics,
                                     .on_state = supervisor_lead_session,
                                     .on_refused = store_refused,
                                     .arg = supervisor};
    struct mg_broker_options broker = {
        .address = supervisor->options.broker,
        .name = "makegood-supervisor",
        .check_queues = {MG_QUEUE_COMMANDS, MG_QUEUE_ALERTS, MG_QUEUE_DEAD, NULL},
        .metrics = supervisor->metrics,
        .on_delivery = delivery_came,
        .on_state = broker_changed,
        .arg = supervisor};
    enum mg_class class = mg_store_create(supervisor->loop, &store, &supervisor->store, err);
    if (class == MG_OK) {
        class = mg_broker_create(supervisor->loop, &broker, &supervisor->broker, err);
    }
    if (class == MG_OK && supervisor->options.http[0] != '\0') {
        struct mg_http_server_options http = {.address = supervisor->options.http,
                                              .metrics = supervisor->metrics,
                                              .is_ready = supervisor_lead_is_ready,
                                              .arg = supervisor};
        class = mg_http_server_create(supervisor->loop, &http, &supervisor->http, err);
    }
    return class;
}

static void parts_close(struct supervisor *supervisor)
{
    mg_http_server_destroy(supervisor->http);
    mg_timer_destroy(supervisor->lead_timer);
    mg_timer_destroy(supervisor->sweep_timer);
    mg_timer_destroy(supervisor->watch_timer);
    if (supervisor->broker != NULL) {
        mg_broker_destroy(supervisor->broker);
    }
    mg_store_destroy(supervisor->store);
}

static int supervisor_run(struct supervisor *supervisor)
{
    struct mg_err err;
    supervisor->loop = mg_loop_create();
    supervisor->metrics = mg_metrics_create();
    if (supervisor->loop == NULL || supervisor->metrics == NULL) {
        mg_log(MG_LOG_ERROR, "could not start: no memory or descriptors", MG_LOG_NONE);
        return EXIT_FAILURE;
    }
    metrics_make(supervisor);
    enum mg_class class = parts_open(supervisor, &err);
    if (class != MG_OK) {
        mg_log(MG_LOG_ERROR, "could not start", MG_LOG_TEXT("reason", err.text));
        supervisor->exit_code = class == MG_BAD_INPUT ? EXIT_USAGE : EXIT_FAILURE;
    } else if (!supervisor_lead_start(supervisor)) {
        mg_log(MG_LOG_ERROR, "could not start: no memory", MG_LOG_NONE);
        supervisor->exit_code = EXIT_FAILURE;
    } else {
        (void)mg_loop_on_signal(supervisor->loop, SIGTERM, stop_asked, supervisor);
        (void)mg_loop_on_signal(supervisor->loop, SIGINT, stop_asked, supervisor);
        mg_log(MG_LOG_INFO, "started", MG_LOG_TEXT("version", MG_VERSION));
        mg_loop_run(supervisor->loop);
        mg_log(MG_LOG_INFO, "stopped", MG_LOG_NUMBER("exit_code", supervisor->exit_code));
    }
    parts_close(supervisor);
    mg_loop_destroy(supervisor->loop);
    mg_metrics_destroy(supervisor->metrics);
    return supervisor->exit_code;
}

int main(int argc, char **argv)
{
    static struct supervisor supervisor;
    struct supervisor_options *to = &supervisor.options;
    const struct mg_option options[] = {
        MG_BROKER_OPTIONS(to->broker),
        {"pg-dsn", MG_OPTION_TEXT, &to->pg_dsn, "", 0, 0, true, "DSN",
         "the database, straight to the server: no transaction pooler; empty: libpq's PG* environment"},
        {"http", MG_OPTION_TEXT, &to->http, "", 0, 0, false, "HOST:PORT",
         "where /healthz, /readyz and /metrics answer"},
        {"instance", MG_OPTION_TEXT, &to->instance, "", 0, 0, false, "NAME",
         "names this process; default host:pid"},
        {"log-level", MG_OPTION_TEXT, &to->log_level, "info", 0, 0, false, "LEVEL",
         "debug, info, warn or error"},
        {"sweep-period", MG_OPTION_DURATION, &to->sweep_period_ms, "250ms", 10, 60000, false, "DURATION",
         "how often to look for what is due; bounds how late a deadline is noticed"},
        {"sweep-batch", MG_OPTION_INTEGER, &to->sweep_batch, "500", 1, 2000, false, "N",
         "orders looked at in one sweep; bounds the statement and the messages that follow it"},
        {"ask-again", MG_OPTION_DURATION, &to->ask_again_ms, "2s", 100, 600000, false, "DURATION",
         "what was asked and is still due is asked again after this; longer than a busy scheduler takes"},
        {"lead-period", MG_OPTION_DURATION, &to->lead_period_ms, "500ms", 50, 60000, false, "DURATION",
         "how often a standby tries to lead; bounds how long nobody sweeps after a leader's death"},
        {"gap", MG_OPTION_DURATION, &to->gap_ms, "3s", 100, 600000, false, "DURATION",
         "no sweep for longer than this is a gap; deadlines that passed in it get a grace"},
        {"grace", MG_OPTION_DURATION, &to->grace_ms, "3s", 0, 600000, false, "DURATION",
         "how long after a gap its deadlines are left alone, for replies that waited out the same outage"},
        {"overdue-limit", MG_OPTION_INTEGER, &to->overdue_limit, "200", 1, 2000, false, "N",
         "overdue attempts judged in one sweep; a brake on mass expiry when a clock jumps"},
        {"unsafe-durability", MG_OPTION_FLAG, &to->is_unsafe_durability_allowed, NULL, 0, 0, false, NULL,
         "run on a database that may lose what it has confirmed"},
        {0}};
    const struct mg_program program = {
        "makegood-supervisor", "Finds steps that are overdue or due and asks the schedulers to see to them.",
        "[options]", options};
    struct mg_config *config = NULL;
    enum mg_config_action action = MG_CONFIG_RUN;
    struct mg_err err;
    enum mg_log_level level = MG_LOG_INFO;
    if (mg_config_load(&program, argc, argv, &config, &action, NULL, &err) != MG_OK) {
        (void)fprintf(stderr, "makegood-supervisor: %s\n", err.text);
        return EXIT_USAGE;
    }
    int exit_code = EXIT_SUCCESS;
    if (!mg_log_level_parse(to->log_level, &level)) {
        (void)fprintf(stderr, "makegood-supervisor: --log-level %s: expected debug, info, warn or error\n",
                      to->log_level);
        exit_code = EXIT_USAGE;
    } else if (action != MG_CONFIG_EXIT &&
               (mg_broker_check_address(&to->broker, &err) != MG_OK ||
                mg_store_check_dsn(to->pg_dsn, to->broker.is_plaintext_allowed, &err) != MG_OK)) {
        (void)fprintf(stderr, "makegood-supervisor: %s\n", err.text);
        exit_code = EXIT_USAGE;
    } else if (action == MG_CONFIG_RUN) {
        if (to->instance[0] != '\0') {
            (void)snprintf(supervisor.holder, sizeof(supervisor.holder), "%s", to->instance);
        } else {
            mg_instance_name(supervisor.holder, sizeof(supervisor.holder));
        }
        mg_log_open("supervisor", supervisor.holder, level);
        exit_code = supervisor_run(&supervisor);
    }
    mg_config_destroy(config);
    return exit_code;
}
