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

static void lane_limit(struct mg_lane *lane, int64_t concurrency, double rate_per_s)
{
    const struct mg_service *service = lane->service;
    if (concurrency == 0 || concurrency > service->concurrency) {
        concurrency = service->concurrency;
    }
    if (rate_per_s <= 0 || (service->rate_per_s > 0 && rate_per_s > service->rate_per_s)) {
        rate_per_s = service->rate_per_s;
    }
    bool is_same = lane->limiter.concurrency == concurrency && !(lane->limiter.rate_per_s < rate_per_s) &&
                   !(lane->limiter.rate_per_s > rate_per_s);
    if (is_same) {
        return;
    }
    mg_log(MG_LOG_INFO, "limits changed", MG_LOG_TEXT("service", service->name),
           MG_LOG_NUMBER("concurrency", concurrency), MG_LOG_NUMBER("rate", (int64_t)rate_per_s));
    mg_limiter_limit(&lane->limiter, (int)concurrency, rate_per_s, mg_clock_boot_ms());
    mg_lane_consume(lane);
}

/* An agent that is no longer named, because its reports are late, keeps its share: it has done nothing to
 * lose it. */
static void limits_obey(struct mg_lane *lane, const struct mg_service_control *control)
{
    const struct mg_share *share = share_find(control, lane->agent->instance);
    if (!control->is_limited) {
        lane->control.is_named = false;
        lane_limit(lane, 0, 0);
    } else if (share != NULL) {
        lane->control.is_named = true;
        lane_limit(lane, share->concurrency, share->rate_per_s);
    } else if (!lane->control.is_named) {
        lane_limit(lane, NEWCOMER_CONCURRENCY, 0);
    }
}

static void pause_obey(struct mg_lane *lane, bool is_paused)
{
    if (lane->control.is_paused == is_paused) {
        return;
    }
    lane->control.is_paused = is_paused;
    mg_log(is_paused ? MG_LOG_WARN : MG_LOG_INFO,
           is_paused ? "paused by an operator" : "pause by an operator ended",
           MG_LOG_TEXT("service", lane->service->name));
    if (is_paused) {
        mg_lane_answer_unserved(lane);
    }
}

static void word_obey(struct mg_lane *lane, enum mg_breaker_word word)
{
    if (mg_breaker_obey(&lane->breaker, word, mg_clock_boot_ms())) {
        mg_lane_breaker_changed(lane);
    }
}

/* A new leader without knowledge changes nothing: its predecessor's word expires, or is sent again. */
static void down_obey(struct mg_lane *lane, const struct mg_service_control *control)
{
    if (control->is_undecided) {
        return;
    }
    bool is_prober = strcmp(control->prober, lane->agent->instance) == 0;
    lane->control.word_boot_ms = lane->control.heard_boot_ms;
    snprintf(lane->control.prober, sizeof lane->control.prober, "%s", control->prober);
    word_obey(lane, !control->is_down ? MG_WORD_UP : is_prober ? MG_WORD_PROBE : MG_WORD_DOWN);
}

void mg_lane_doubt_word(struct mg_lane *lane)
{
    if (mg_clock_boot_ms() - lane->control.word_boot_ms >= MG_SERVICE_DOWN_VALID_MS) {
        word_obey(lane, MG_WORD_NONE);
    }
}

static bool control_read(struct mg_lane *lane, struct mg_slice body, struct mg_service_control *ret_control)
{
    struct mg_err err;
    enum mg_class class = mg_service_control_parse(body, ret_control, &err);
    if (class == MG_OK && strcmp(ret_control->service, lane->service->name) != 0) {
        class = mg_err_set(&err, MG_BAD_INPUT, "it names service %s", ret_control->service);
    }
    if (class == MG_OK) {
        mg_once_reset(&lane->control.unreadable_logged);
    } else if (mg_once_set(&lane->control.unreadable_logged)) {
        mg_log(MG_LOG_WARN,
               "cannot read a control message of the service; its previous settings stay in force",
               MG_LOG_TEXT("service", lane->service->name), MG_LOG_TEXT("why", err.text));
    }
    return class == MG_OK;
}

static void on_heard(void *arg, struct mg_slice body)
{
    struct mg_lane *lane = arg;
    mg_agent_turn(lane->agent);
    struct mg_control *known = &lane->control;
    struct mg_service_control control;
    int64_t now_ms = mg_clock_boot_ms();
    if (!control_read(lane, body, &control)) {
        return;
    }
    if (control.epoch < known->epoch && now_ms - known->heard_boot_ms < MG_SERVICE_CONTROL_SILENT_MS) {
        return; /* from a former leader that has not yet detected its successor */
    }
    bool is_new = control.version != known->version || control.is_paused != known->is_paused;
    known->epoch = control.epoch;
    known->version = control.version;
    known->heard_boot_ms = now_ms;
    if (control.sent_at_ms != 0) {
        bool is_fresh = now_ms - lane->agent->awake_since_boot_ms >= MG_SKEW_ROOM_MS;
        mg_agent_note_time(lane->agent, now_ms, control.sent_at_ms,
                           is_fresh ? MG_SAMPLE_WORD : MG_SAMPLE_QUEUED);
    }
    limits_obey(lane, &control);
    pause_obey(lane, control.is_paused);
    down_obey(lane, &control);
    if (is_new) {
        mg_agent_report(lane->agent);
    }
    mg_idle_arm(lane->pump);
}

enum mg_class mg_lane_listen(struct mg_lane *lane, struct mg_err *err)
{
    char exchange[MG_QUEUE_NAME_SIZE], prefix[MG_QUEUE_NAME_SIZE];
    mg_topology_control_exchange(lane->service->name, exchange);
    mg_topology_control_queue(lane->service->name, prefix);
    return mg_broker_hear(lane->agent->broker, exchange, prefix, on_heard, lane, err);
}
