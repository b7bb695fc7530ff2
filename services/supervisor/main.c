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

static struct supervisor supervisor;

static const struct mg_option option_table[] = {
    {"sweep-period", MG_OPTION_DURATION, &supervisor.options.sweep_period_ms, "250ms", 10, 60000, false,
     "DURATION", "how often to look for what is due; bounds how late a deadline is noticed"},
    {"sweep-batch", MG_OPTION_INTEGER, &supervisor.options.sweep_batch, "500", 1, 2000, false, "N",
     "orders looked at in one sweep; bounds the statement and the messages that follow it"},
    {"ask-again", MG_OPTION_DURATION, &supervisor.options.ask_again_ms, "2s", 100, 600000, false, "DURATION",
     "what was asked and is still due is asked again after this; longer than a busy scheduler takes"},
    {"lead-period", MG_OPTION_DURATION, &supervisor.options.lead_period_ms, "500ms", 50, 60000, false,
     "DURATION", "how often a standby tries to lead; bounds how long nobody sweeps after a leader's death"},
    {"gap", MG_OPTION_DURATION, &supervisor.options.gap_ms, "3s", 100, 600000, false, "DURATION",
     "nothing judged for longer than this is a gap: deadlines that passed in it get a grace; a sweep that "
     "takes longer raises an alert, and is no gap"},
    {"grace", MG_OPTION_DURATION, &supervisor.options.grace_ms, "3s", 0, 600000, false, "DURATION",
     "how long after a gap its deadlines are left alone, for replies that waited out the same outage"},
    {"overdue-limit", MG_OPTION_INTEGER, &supervisor.options.overdue_limit, "200", 1, 2000, false, "N",
     "overdue attempts judged in one sweep, from each service in turn; a brake on mass expiry when a clock jumps"},
    {"window", MG_OPTION_INTEGER, &supervisor.options.window, "1000", 1, 1000000, false, "N",
     "requests that may wait in a service's queue, as the schedulers have it; parked steps are asked about as "
     "far as there is room"},
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
    supervisor_lead_session(&supervisor, is_up, reason);
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
                                              .on_state = supervisor_count_session,
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
    supervisor_metrics_make(&supervisor, process->metrics);
    enum mg_class class = mg_store_create(process->loop, &store, &supervisor.store, err);
    if (class == MG_OK) {
        class = mg_store_create(process->loop, &counting, &supervisor.counting, err);
    }
    if (class == MG_OK) {
        class = mg_broker_create(process->loop, &broker, &supervisor.broker, err);
    }
    if (class == MG_OK && !supervisor_lead_start(&supervisor, &SUPERVISOR_DUTIES)) {
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
        mg_log(MG_LOG_WARN, "counting goes on with the DSN as it was", MG_LOG_TEXT("reason", err.text));
    }
}

static void supervisor_drain(void *arg)
{
    mg_log(MG_LOG_INFO, "stopping", MG_LOG_NONE);
    supervisor_lead_stop(arg);
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
    supervisor_relay_finish(&supervisor);
    if (supervisor.broker != NULL) {
        mg_broker_destroy(supervisor.broker);
    }
    mg_store_destroy(supervisor.counting);
    mg_store_destroy(supervisor.store);
}

static const struct mg_process_service supervisor_service = {
    .name = "supervisor",
    .summary = "finds steps that are overdue or due and asks the schedulers to see to them",
    .usage = "[options]",
    .manual = &mg_manual_supervisor,
    .options = option_table,
    .has_store = true,
    .create = supervisor_create,
    .is_ready = supervisor_lead_is_ready,
    .drain = supervisor_drain,
    .reload = supervisor_reload,
    .destroy = supervisor_destroy,
};

int main(int argc, char **argv)
{
    return mg_process_main(&supervisor_service, argc, argv);
}
