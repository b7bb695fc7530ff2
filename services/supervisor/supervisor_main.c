/* makegood-supervisor: its own options, and the supervisor's part in the life of a service's process. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "io/amqp/topology.h"
#include "manual.h"
#include "process.h"
#include "supervisor.h"

/* Ten times the duration of the largest count on an idle machine. */
#define COUNT_TIMEOUT "2s"

static struct mg_supervisor supervisor;

static const struct mg_option option_table[] = {
    {"sweep-period", MG_OPTION_DURATION, &supervisor.options.sweep_period_ms, "250ms", 10, 60000, false,
     "DURATION", "time between two sweeps for due orders; bounds how late a deadline is noticed"},
    {"sweep-batch", MG_OPTION_INTEGER, &supervisor.options.sweep_batch, "500", 1, 2000, false, "N",
     "maximum orders in one sweep; bounds the statement and the messages that follow it"},
    {"ask-again", MG_OPTION_DURATION, &supervisor.options.ask_again_ms, "2s", 100, 600000, false, "DURATION",
     "time after which a check of an order that is still due is requested again; longer than a busy "
     "scheduler takes"},
    {"lead-period", MG_OPTION_DURATION, &supervisor.options.lead_period_ms, "500ms", 50, 60000, false,
     "DURATION",
     "time between a standby's attempts to lead; bounds the time without sweeps after a leader's death"},
    {"gap", MG_OPTION_DURATION, &supervisor.options.gap_ms, "3s", 100, 600000, false, "DURATION",
     "shortest time between two sweeps that counts as a gap: deadlines that pass in it get a grace; a "
     "sweep that takes longer raises an alert, and is no gap"},
    {"grace", MG_OPTION_DURATION, &supervisor.options.grace_ms, "3s", 0, 600000, false, "DURATION",
     "time after a gap in which its deadlines are not judged, for replies that the same outage delayed"},
    {"overdue-limit", MG_OPTION_INTEGER, &supervisor.options.overdue_limit, "200", 1, 2000, false, "N",
     "maximum overdue attempts judged in one sweep, from each service in turn; bounds mass expiry after a "
     "clock jump"},
    {"window", MG_OPTION_INTEGER, &supervisor.options.window, "1000", 1, 1000000, false, "N",
     "maximum requests waiting in a service's queue, the same as for the schedulers; checks of parked "
     "steps are requested as far as there is room"},
    {0},
};

static void store_refused(void *arg, const char *reason)
{
    mg_log(MG_LOG_ERROR, "cannot use this database", MG_LOG_TEXT("reason", reason));
    mg_process_end(arg, EXIT_FAILURE);
}

static void session_changed(void *arg, bool is_up, const char *reason)
{
    (void)arg;
    mg_supervisor_lead_session(&supervisor, is_up, reason);
}

static void broker_changed(void *arg, bool is_up, const char *reason)
{
    mg_log(is_up ? MG_LOG_INFO : MG_LOG_WARN, is_up ? "broker up" : "broker down",
           MG_LOG_TEXT("reason", reason));
    if (is_up) {
        mg_supervisor_lead_soon(arg);
    }
}

static void delivery_came(void *arg, struct mg_delivery *delivery)
{
    mg_broker_reject(((struct mg_supervisor *)arg)->broker, delivery); /* it consumes nothing */
}

static enum mg_class supervisor_create(struct mg_process *process, struct mg_err *err)
{
    struct mg_store_options store = {.dsn = process->options.pg_dsn,
                                     .is_plaintext_allowed = process->options.broker.is_plaintext_allowed,
                                     .name = "makegood-supervisor",
                                     .is_unsafe_durability_allowed =
                                         process->options.is_unsafe_durability_allowed,
                                     .is_leader_session = true,
                                     .metrics = process->metrics,
                                     .on_state = session_changed,
                                     .on_refused = store_refused,
                                     .arg = process};
    /* Only the figures depend on this session; the leading session reports all states that matter. */
    const struct mg_store_options counting = {.dsn = process->options.pg_dsn,
                                              .is_plaintext_allowed = store.is_plaintext_allowed,
                                              .name = "makegood-supervisor counting",
                                              .is_unsafe_durability_allowed =
                                                  store.is_unsafe_durability_allowed,
                                              .statement_timeout = COUNT_TIMEOUT,
                                              .on_state = mg_supervisor_count_session,
                                              .arg = &supervisor};
    struct mg_broker_options broker = {
        .address = process->options.broker,
        .name = "makegood-supervisor",
        .check_queues = {MG_QUEUE_COMMANDS, MG_QUEUE_ALERTS, MG_QUEUE_DEAD, NULL},
        .metrics = process->metrics,
        .on_delivery = delivery_came,
        .on_state = broker_changed,
        .arg = &supervisor};
    process->service = &supervisor;
    supervisor.loop = process->loop;
    (void)snprintf(supervisor.holder, sizeof(supervisor.holder), "%s", process->instance);
    mg_supervisor_metrics_make(&supervisor, process->metrics);
    enum mg_class class = mg_store_create(process->loop, &store, &supervisor.store, err);
    if (class == MG_OK) {
        class = mg_store_create(process->loop, &counting, &supervisor.counting, err);
    }
    if (class == MG_OK) {
        class = mg_broker_create(process->loop, &broker, &supervisor.broker, err);
    }
    if (class == MG_OK && !mg_supervisor_lead_start(&supervisor, &MG_SUPERVISOR_DUTIES)) {
        class = mg_err_set(err, MG_TRANSIENT, "no memory");
    }
    process->store = supervisor.store;
    process->broker = supervisor.broker;
    process->probe_exchange = MG_EXCHANGE_SUPERVISOR;
    return class;
}

/* The leading session has accepted this DSN, or has logged its refusal. */
static void supervisor_reload(struct mg_process *process)
{
    struct mg_err err;
    if (mg_store_set_dsn(supervisor.counting, process->options.pg_dsn, &err) != MG_OK) {
        mg_log(MG_LOG_WARN, "could not use the new DSN for counting; the previous one stays in use",
               MG_LOG_TEXT("reason", err.text));
    }
}

static void supervisor_drain(void *arg)
{
    mg_log(MG_LOG_INFO, "stopping", MG_LOG_NONE);
    mg_supervisor_lead_stop(arg);
}

static void supervisor_destroy(struct mg_process *process)
{
    (void)process;
    mg_timer_destroy(supervisor.lead_timer);
    mg_timer_destroy(supervisor.sweep_timer);
    mg_timer_destroy(supervisor.watch_timer);
    mg_timer_destroy(supervisor.count_timer);
    mg_timer_destroy(supervisor.retire_timer);
    mg_timer_destroy(supervisor.unneeded_timer);
    mg_timer_destroy(supervisor.processes_timer);
    mg_timer_destroy(supervisor.turns_timer);
    mg_timer_destroy(supervisor.lines_timer);
    mg_timer_destroy(supervisor.signals_timer);
    mg_timer_destroy(supervisor.minutes_timer);
    mg_supervisor_relay_finish(&supervisor);
    if (supervisor.broker != NULL) {
        mg_broker_destroy(supervisor.broker);
    }
    mg_store_destroy(supervisor.counting);
    mg_store_destroy(supervisor.store);
}

static const struct mg_process_service supervisor_service = {
    .name = "supervisor",
    .summary = "finds overdue and due orders in the database and requests that the schedulers check them",
    .usage = "[options]",
    .manual = &mg_manual_supervisor,
    .options = option_table,
    .has_store = true,
    .create = supervisor_create,
    .is_ready = mg_supervisor_lead_is_ready,
    .account = mg_supervisor_account,
    .drain = supervisor_drain,
    .reload = supervisor_reload,
    .destroy = supervisor_destroy,
};

int main(int argc, char **argv)
{
    return mg_process_main(&supervisor_service, argc, argv);
}
