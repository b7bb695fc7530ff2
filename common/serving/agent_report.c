/*
 * The agent's reports: service reports to the schedulers (on change, and often enough that silence is
 * significant), /readyz and the metrics. Reports are advice. Each is sent once and never repeated: the next
 * one is newer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "base/clock.h"
#include "base/log.h"

/* A newer report follows within five seconds. It also tries whether a mute agent's replies are taken again.
 */
static void on_report_published(void *arg, enum mg_publish_outcome outcome)
{
    mg_served_note_published(arg, outcome);
}

/* Whether this process can do its work right. The broker is left out: without it no report goes out. */
bool mg_agent_is_sound(const struct mg_agent *agent, char *ret_reason, size_t size)
{
    int64_t ahead_ms;
    if (agent->is_draining) {
        snprintf(ret_reason, size, "stopping");
        return false;
    }
    /* A clock that is known to be wrong does no harm: deadlines are judged by the estimate of the
     * database's clock. The metric shows the difference, which must be corrected before this process
     * starts anew. */
    int64_t now_boot_ms = mg_clock_boot_ms();
    if (!mg_skew_is_known(&agent->skew, now_boot_ms) &&
        mg_skew_measure(&agent->skew, now_boot_ms, mg_clock_wall_ms(), &ahead_ms) &&
        (ahead_ms > agent->skew.limit_ms || ahead_ms < -agent->skew.limit_ms)) {
        snprintf(ret_reason, size,
                 "this machine's clock is %" PRId64 " ms %s of the database's; synchronise it",
                 ahead_ms > 0 ? ahead_ms : -ahead_ms, ahead_ms > 0 ? "ahead" : "behind");
        return false;
    }
    ret_reason[0] = '\0';
    return true;
}

/* An open breaker does not make the agent unready: the remote is away, and taking this process out of
 * service would mend nothing. The report to the schedulers and the metric show it. */
bool mg_agent_is_ready(void *arg, char *ret_reason, size_t size)
{
    const struct mg_agent *agent = arg;
    if (!mg_broker_is_up(agent->broker, ret_reason, size)) {
        return false;
    }
    for (int i = 0; i < agent->served_count; i++) {
        if (mg_served_mute_reason(&agent->served[i], ret_reason, size)) {
            return false;
        }
    }
    return mg_agent_is_sound(agent, ret_reason, size);
}

/* The calls so far, and the service's failures. */
static void calls_take(const struct mg_served *served, struct mg_service_report *report)
{
    const struct mg_executor *executor = served->agent->executor;
    const struct mg_failures *failures = &served->failures;
    struct mg_call_figures *calls = &report->calls;
    int64_t boot_ms = mg_clock_boot_ms(), rest_ms = mg_breaker_rest_ms(&served->breaker, boot_ms);
    report->has_calls = executor->measure != NULL && executor->measure(served, calls);
    calls->failing_since_ms = failures->since_ms;
    calls->probe_at_ms =
        rest_ms > 0 ? mg_skew_now_ms(&served->agent->skew, boot_ms, mg_clock_wall_ms()) + rest_ms : 0;
    calls->error_at_ms = failures->last_ms;
    snprintf(calls->error_code, sizeof(calls->error_code), "%s", failures->code);
    snprintf(calls->error_text, sizeof(calls->error_text), "%s", failures->text);
}

static void report_served(struct mg_served *served, bool is_ready, const char *reason)
{
    struct mg_agent *agent = served->agent;
    struct mg_service_report report = {
        .breaker = mg_breaker_reported(&served->breaker),
        .is_ready = is_ready,
        .in_flight = served->limiter.in_flight,
        .concurrency = served->limiter.concurrency,
        .control_version = served->control.version,
        .process = (uint64_t)agent->started_ms,
        .sequence = ++agent->report_count,
        .is_prober = served->breaker.service_health == MG_HEALTH_PROBE,
    };
    memcpy(report.service, served->service->name, sizeof(report.service));
    snprintf(report.instance, sizeof(report.instance), "%s", agent->instance);
    if (reason[0] == '\0' && mg_served_token_fault(served)[0] != '\0') {
        snprintf(report.reason, sizeof(report.reason), "%s", mg_served_token_fault(served));
    } else if (reason[0] == '\0' && served->breaker.service_health == MG_HEALTH_DOWN) {
        snprintf(report.reason, sizeof(report.reason), "down for most agents; %s probes",
                 served->control.prober);
    } else if (reason[0] == '\0' && served->breaker.service_health == MG_HEALTH_PROBE) {
        snprintf(report.reason, sizeof(report.reason), "down for most agents; this one probes");
    } else {
        snprintf(report.reason, sizeof(report.reason), "%s", reason);
    }
    calls_take(served, &report);
    served->reported = report.breaker;
    struct mg_buf body;
    struct mg_err err;
    mg_buf_init(&body, sizeof(report) * 6 + 512); /* every character escaped, and the names of the members */
    mg_service_report_write(&report, &body);
    struct mg_message message = {
        .exchange = served->reply_exchange,
        .routing_key = MG_QUEUE_REPLIES,
        .type = "service_report",
        .body = mg_buf_slice(&body),
    };
    if (body.failed ||
        mg_broker_publish(agent->broker, &message, on_report_published, served, &err) != MG_OK) {
        mg_log(MG_LOG_DEBUG, "service report not sent", MG_LOG_TEXT("service", served->service->name));
    }
    mg_buf_finish(&body);
}

void mg_agent_report(struct mg_agent *agent)
{
    if (!mg_broker_can_publish(agent->broker)) {
        return;
    }
    char reason[MG_ERROR_TEXT_MAX + 1];
    bool is_ready = mg_agent_is_sound(agent, reason, sizeof(reason));
    for (int i = 0; i < agent->served_count; i++) {
        report_served(&agent->served[i], is_ready, reason);
    }
}

void mg_served_set_gauges(struct mg_served *served)
{
    int waiting = 0;
    for (int i = 0; i < MG_LINE_COUNT; i++) {
        waiting += served->lines[i].waiting_count;
    }
    mg_metric_set(served->metrics.waiting, waiting);
    mg_metric_set(served->metrics.in_flight, served->limiter.in_flight);
    mg_metric_set(served->metrics.concurrency, served->limiter.concurrency);
    mg_metric_set(served->metrics.breaker, served->breaker.state);
    mg_metric_set(served->metrics.down, served->breaker.service_health > MG_HEALTH_UP
                                            ? served->breaker.service_health - MG_HEALTH_UP
                                            : 0);
    mg_metric_set(served->metrics.paused, served->control.is_paused);
    mg_metric_set(served->metrics.mute, mg_served_is_mute(served));
}

struct mg_metric *mg_served_series(struct mg_served *served, enum mg_metric_type type, const char *name,
                                   const char *label, const char *value, const char *help)
{
    char labels[MG_NAME_MAX + 64];
    if (label == NULL) {
        snprintf(labels, sizeof(labels), "service=\"%s\"", served->service->name);
    } else {
        snprintf(labels, sizeof(labels), "service=\"%s\",%s=\"%s\"", served->service->name, label, value);
    }
    return mg_metrics_series(served->agent->metrics, type, name, labels, help);
}

void mg_served_register_metrics(struct mg_served *served)
{
    struct mg_served_metrics *metrics = &served->metrics;
    for (int i = 0; i < MG_OUTCOME_COUNT; i++) {
        metrics->replies[i] =
            mg_served_series(served, MG_COUNTER, "makegood_agent_replies_total", "outcome",
                             mg_outcome_name((enum mg_outcome)i), "replies confirmed by the broker");
    }
    metrics->late = mg_served_series(served, MG_COUNTER, "makegood_agent_late_total", NULL, NULL,
                                     "requests dropped in silence because their complete-by had passed");
    metrics->malformed =
        mg_served_series(served, MG_COUNTER, "makegood_agent_malformed_total", NULL, NULL,
                         "messages dead-lettered because they are no request of this service");
    metrics->reply_again =
        mg_served_series(served, MG_COUNTER, "makegood_agent_reply_again_total", NULL, NULL,
                         "replies that the broker did not take and that were offered again");
    metrics->breaker = mg_served_series(served, MG_GAUGE, "makegood_agent_breaker_state", NULL, NULL,
                                        "circuit breaker: 0 closed, 1 open, 2 half-open");
    metrics->down =
        mg_served_series(served, MG_GAUGE, "makegood_agent_service_down", NULL, NULL,
                         "the service is down for most agents: 1 another one probes it, 2 this one does");
    metrics->paused = mg_served_series(served, MG_GAUGE, "makegood_agent_paused", NULL, NULL,
                                       "1 while an operator has paused the service");
    metrics->mute = mg_served_series(served, MG_GAUGE, "makegood_agent_mute", NULL, NULL,
                                     "1 while the broker takes no reply, so that no call is begun");
    metrics->in_flight =
        mg_served_series(served, MG_GAUGE, "makegood_agent_in_flight", NULL, NULL, "calls under way");
    metrics->concurrency = mg_served_series(served, MG_GAUGE, "makegood_agent_concurrency", NULL, NULL,
                                            "calls that may be under way at once");
    metrics->waiting = mg_served_series(served, MG_GAUGE, "makegood_agent_waiting", NULL, NULL,
                                        "requests in hand that wait for a call");
}
