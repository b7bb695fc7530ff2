/*
 * The supervisor: finds what is due and asks the schedulers to see to it. It changes no order and no step,
 * knows no payload and no service; the little it writes (its row, alerts, the wake-up hints of what it asked)
 * is fenced by its epoch. Several may run; the advisory lock lets one lead (lead.c). The leader sweeps
 * (sweep.c), publishes what it found as commands (ask.c) and keeps the alerts that belong to no order
 * (watch.c).
 */
#ifndef MG_SUPERVISOR_H
#define MG_SUPERVISOR_H

#include "base/config.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "io/broker.h"
#include "io/http_server.h"
#include "io/store.h"

struct supervisor_options {
    const char *amqp_url, *pg_dsn, *http, *instance, *log_level;
    int64_t sweep_period_ms, sweep_batch, ask_again_ms, lead_period_ms;
    int64_t gap_ms, grace_ms, overdue_limit;
    bool is_unsafe_durability_allowed;
};

/* The conditions that the leader watches; each is one alert, open while the condition holds. */
enum watched { WATCHED_DEAD_LETTERS, WATCHED_MASS_EXPIRY, WATCHED_STUCK_ORDERS, WATCHED_COUNT };

struct supervisor {
    struct supervisor_options options;
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_store *store;
    struct mg_broker *broker;
    struct mg_http_server *http;
    struct mg_timer *lead_timer, *sweep_timer, *watch_timer;
    char holder[128]; /* names this process in the leader's row */
    bool is_stopping;
    int exit_code;

    /* lead.c */
    bool is_leader, is_electing;
    uint64_t epoch;
    char refusal[256]; /* why this session can never lead; "" if it can */

    /* sweep.c */
    bool is_sweeping;
    int64_t swept_at_ms;                                     /* database clock */
    int64_t grace_after_ms, grace_before_ms, grace_until_ms; /* 0: no grace is running */

    /* watch.c */
    bool is_writing_alerts;
    bool is_raised[WATCHED_COUNT];
    int64_t seen_at_boot_ms[WATCHED_COUNT]; /* when the condition was last found */
    char seen_text[WATCHED_COUNT][256];

    struct mg_metric *leading, *sweeps, *sweep_seconds, *asked[MG_CAUSE_COUNT], *unasked, *violations,
        *held_back;
};

void supervisor_lead_start(struct supervisor *supervisor);
void supervisor_lead_lost(struct supervisor *supervisor, const char *why);
void supervisor_lead_stop(struct supervisor *supervisor); /* gives the lock back, then ends the loop */

void supervisor_sweep_start(struct supervisor *supervisor); /* on taking the lead */

/* Publishes one due thing as a command. False: no room; what is left stays due in the table. */
bool supervisor_ask(struct supervisor *supervisor, const struct mg_due *due);

void supervisor_watch_start(struct supervisor *supervisor);
void supervisor_watch_saw(struct supervisor *supervisor, enum watched watched, const char *text);

#endif
