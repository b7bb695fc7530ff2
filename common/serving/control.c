/*
 * Operator settings and health of a service. The leading supervisor sends them to all of its agents, at each
 * change and once a second. A paused service is not called: waiting requests are answered so that their steps
 * are parked and no attempt is used up. Of a limited service each agent process has a share, which can only
 * lower the limits of the service file. A process without a share makes one call at a time. A service that is
 * down for most agents is probed by one agent and called by no other. The message carries the database's
 * time, so that an agent without requests has it, too.
 */
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"
#include "base/log.h"
#include "wire/service_control.h"

/* Limit of a process that has no share yet; it gets one with its next report. */
#define NEWCOMER_CONCURRENCY 1

static const struct mg_share *share_find(const struct mg_service_control *control, const char *instance)
{
    for (int i = 0; i < control->share_count; i++) {
        if (strcmp(control->shares[i].instance, instance) == 0) {
            return &control->shares[i];
        }
    }
    return NULL;
}

static void served_limit(struct mg_served *served, int64_t concurrency, double rate_per_s)
{
    const struct mg_service *service = served->service;
    if (concurrency == 0 || concurrency > service->concurrency) {
        concurrency = service->concurrency;
    }
    if (rate_per_s <= 0 || (service->rate_per_s > 0 && rate_per_s > service->rate_per_s)) {
        rate_per_s = service->rate_per_s;
    }
    bool is_same = served->limiter.concurrency == concurrency && !(served->limiter.rate_per_s < rate_per_s) &&
                   !(served->limiter.rate_per_s > rate_per_s);
    if (is_same) {
        return;
    }
    mg_log(MG_LOG_INFO, "limits changed", MG_LOG_TEXT("service", service->name),
           MG_LOG_NUMBER("concurrency", concurrency), MG_LOG_NUMBER("rate", (int64_t)rate_per_s));
    mg_limiter_limit(&served->limiter, (int)concurrency, rate_per_s, mg_clock_boot_ms());
    mg_served_consume(served);
}

/* An agent that is no longer named, because its reports are late, keeps its share: it has done nothing to
 * lose it. */
static void limits_apply(struct mg_served *served, const struct mg_service_control *control)
{
    const struct mg_share *share = share_find(control, served->agent->instance);
    if (!control->is_limited) {
        served->control.is_named = false;
        served_limit(served, 0, 0);
    } else if (share != NULL) {
        served->control.is_named = true;
        served_limit(served, share->concurrency, share->rate_per_s);
    } else if (!served->control.is_named) {
        served_limit(served, NEWCOMER_CONCURRENCY, 0);
    }
}

static void pause_apply(struct mg_served *served, bool is_paused)
{
    if (served->control.is_paused == is_paused) {
        return;
    }
    served->control.is_paused = is_paused;
    mg_log(is_paused ? MG_LOG_WARN : MG_LOG_INFO,
           is_paused ? "paused by an operator" : "pause by an operator ended",
           MG_LOG_TEXT("service", served->service->name));
    if (is_paused) {
        mg_served_answer_uncalled(served);
    }
}

static void health_follow(struct mg_served *served, enum mg_service_health service_health)
{
    if (mg_breaker_follow(&served->breaker, service_health, mg_clock_boot_ms())) {
        mg_served_breaker_changed(served);
    }
}

/* A new leader without knowledge changes nothing: the health that its predecessor sent expires, or is sent
 * again. */
static void health_apply(struct mg_served *served, const struct mg_service_control *control)
{
    if (control->is_undecided) {
        return;
    }
    bool is_prober = strcmp(control->prober, served->agent->instance) == 0;
    served->control.health_boot_ms = served->control.received_boot_ms;
    snprintf(served->control.prober, sizeof(served->control.prober), "%s", control->prober);
    health_follow(served, !control->is_down ? MG_HEALTH_UP : is_prober ? MG_HEALTH_PROBE : MG_HEALTH_DOWN);
}

void mg_served_expire_health(struct mg_served *served)
{
    if (mg_clock_boot_ms() - served->control.health_boot_ms >= MG_SERVICE_DOWN_VALID_MS) {
        health_follow(served, MG_HEALTH_UNKNOWN);
    }
}

static bool control_read(struct mg_served *served, struct mg_slice body,
                         struct mg_service_control *ret_control)
{
    struct mg_err err;
    enum mg_class class = mg_service_control_parse(body, ret_control, &err);
    if (class == MG_OK && strcmp(ret_control->service, served->service->name) != 0) {
        class = mg_err_set(&err, MG_BAD_INPUT, "it names service %s", ret_control->service);
    }
    if (class == MG_OK) {
        mg_once_reset(&served->control.unreadable_logged);
    } else if (mg_once_set(&served->control.unreadable_logged)) {
        mg_log(MG_LOG_WARN,
               "cannot read a control message of the service; its previous settings stay in force",
               MG_LOG_TEXT("service", served->service->name), MG_LOG_TEXT("why", err.text));
    }
    return class == MG_OK;
}

static void on_control(void *arg, struct mg_slice body)
{
    struct mg_served *served = arg;
    mg_agent_turn(served->agent);
    struct mg_control *known = &served->control;
    struct mg_service_control control;
    int64_t now_ms = mg_clock_boot_ms();
    if (!control_read(served, body, &control)) {
        return;
    }
    if (control.epoch < known->epoch && now_ms - known->received_boot_ms < MG_SERVICE_CONTROL_SILENT_MS) {
        return; /* from a former leader that has not yet detected its successor */
    }
    bool is_new = control.version != known->version || control.is_paused != known->is_paused;
    known->epoch = control.epoch;
    known->version = control.version;
    known->received_boot_ms = now_ms;
    if (control.sent_at_ms != 0) {
        bool is_fresh = now_ms - served->agent->awake_since_boot_ms >= MG_SKEW_ROOM_MS;
        mg_agent_note_time(served->agent, now_ms, control.sent_at_ms,
                           is_fresh ? MG_SAMPLE_CONTROL : MG_SAMPLE_QUEUED);
    }
    limits_apply(served, &control);
    pause_apply(served, control.is_paused);
    health_apply(served, &control);
    if (is_new) {
        mg_agent_report(served->agent);
    }
    mg_idle_arm(served->pump);
}

enum mg_class mg_served_listen(struct mg_served *served, struct mg_err *err)
{
    char exchange[MG_QUEUE_NAME_SIZE], prefix[MG_QUEUE_NAME_SIZE];
    mg_topology_control_exchange(served->service->name, exchange);
    mg_topology_control_queue(served->service->name, prefix);
    return mg_broker_listen(served->agent->broker, exchange, prefix, on_control, served, err);
}
