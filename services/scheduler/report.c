/*
 * Agents' reports about their services (law 7, waiting is not failing), from the replies' queue into the
 * table service_state. Every scheduler reads that table with its next load. Reports concern no order, so they
 * bypass the batches: one call to the store at a time, with the newest report of each agent.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "scheduler.h"
#include "wire/reply.h"

#define MG_REPORTS_AT_ONCE 64 /* further reports go with the next call */
#define MG_REPORT_RETRY_MS 200

struct mg_agent_report {
    struct mg_agent_report *next;
    struct mg_work *work;
    struct mg_service_report report;
};

/* True if `report` is older than another one of the same agent process: a redelivered report arrives late. */
static bool is_older(const struct mg_service_report *report, const struct mg_service_report *than)
{
    return report->process != 0 && report->process == than->process && report->sequence < than->sequence;
}

static bool is_same_agent(const struct mg_service_report *a, const struct mg_service_report *b)
{
    return strcmp(a->service, b->service) == 0 && strcmp(a->instance, b->instance) == 0;
}

void mg_reports_add(struct mg_scheduler *scheduler, struct mg_work *work)
{
    struct mg_err err = {MG_TRANSIENT, "no memory"};
    struct mg_agent_report *report = calloc(1, sizeof(*report));
    enum mg_class class = MG_TRANSIENT;
    if (report != NULL) {
        class = mg_service_report_parse(work->delivery->body, &report->report, &err);
    }
    if (class == MG_OK && !mg_topology_is_reply_of(work->delivery->exchange, report->report.service))
        class = mg_err_set(&err, MG_BAD_INPUT, "it speaks of %s and came through %s", report->report.service,
                           work->delivery->exchange.data);
    if (class != MG_OK) {
        mg_log(MG_LOG_WARN, "a service report cannot be taken", MG_LOG_TEXT("why", err.text));
        free(report);
        /* Out of memory drops the report: the next one comes within seconds. */
        enum mg_end end = class == MG_STALE ? MG_END_NEWER : MG_END_ACK;
        mg_work_settle(&scheduler->works, work, class == MG_BAD_INPUT ? MG_END_REJECT : end);
        return;
    }
    mg_metric_add(scheduler->counters.reports, 1);
    report->work = work;
    struct mg_agent_report **at = &scheduler->reports.first;
    while (*at != NULL && !is_same_agent(&(*at)->report, &report->report)) {
        at = &(*at)->next;
    }
    if (*at != NULL && is_older(&report->report, &(*at)->report)) {
        mg_work_settle(&scheduler->works, work, MG_END_ACK);
        free(report);
    } else if (*at != NULL) { /* replaces an older report of the same agent */
        struct mg_agent_report *old = *at;
        report->next = old->next;
        *at = report;
        mg_work_settle(&scheduler->works, old->work, MG_END_ACK);
        free(old);
    } else {
        *at = report;
    }
    mg_reports_flush(scheduler);
}

static void on_reported(void *arg, const struct mg_err *err)
{
    struct mg_scheduler *scheduler = arg;
    struct mg_agent_report *report = scheduler->reports.in_hand;
    scheduler->reports.in_hand = NULL;
    if (err != NULL) {
        mg_log(MG_LOG_WARN, "could not store service reports", MG_LOG_TEXT("why", err->text));
    }
    while (report != NULL) { /* on failure too: a newer report comes within seconds */
        struct mg_agent_report *next = report->next;
        mg_work_settle(&scheduler->works, report->work, MG_END_ACK);
        free(report);
        report = next;
    }
    if (err != NULL) {
        mg_timer_start(scheduler->store_retry, MG_REPORT_RETRY_MS, 0);
    }
    mg_reports_flush(scheduler);
    mg_scheduler_wake(scheduler);
}

static struct mg_service_state row_of(const struct mg_service_report *report)
{
    return (struct mg_service_state){.service = report->service,
                                     .instance = report->instance,
                                     .breaker = mg_breaker_state_name(report->breaker),
                                     .is_ready = report->is_ready,
                                     .in_flight = report->in_flight,
                                     .concurrency = report->concurrency,
                                     .reason = report->reason,
                                     .control_version = report->control_version,
                                     .process = report->process,
                                     .sequence = report->sequence,
                                     .is_prober = report->is_prober};
}

void mg_reports_flush(struct mg_scheduler *scheduler)
{
    if (scheduler->reports.first == NULL || scheduler->reports.in_hand != NULL || !scheduler->is_store_up ||
        mg_timer_is_active(scheduler->store_retry)) {
        return;
    }
    struct mg_service_state rows[MG_REPORTS_AT_ONCE];
    int count = 0;
    struct mg_agent_report *last = scheduler->reports.first;
    rows[count++] = row_of(&last->report);
    while (last->next != NULL && count < MG_REPORTS_AT_ONCE) {
        last = last->next;
        rows[count++] = row_of(&last->report);
    }
    scheduler->reports.in_hand = scheduler->reports.first;
    scheduler->reports.first = last->next;
    last->next = NULL;
    mg_store_put_service_states(scheduler->store, rows, count, on_reported, scheduler);
}

static void reports_free(struct mg_agent_report *report)
{
    while (report != NULL) {
        struct mg_agent_report *next = report->next;
        free(report);
        report = next;
    }
}

void mg_reports_finish(struct mg_scheduler *scheduler)
{
    reports_free(scheduler->reports.first);
    reports_free(scheduler->reports.in_hand);
    scheduler->reports.first = scheduler->reports.in_hand = NULL;
}
