/*
 * Agents' reports about their services (law 7, waiting is not failing), from the replies' queue into the
 * table service_state. Every scheduler reads that table with its next load. Reports concern no order, so they
 * bypass the batches: one call to the store at a time, with the newest report of each agent.
 */
#include "report_intake.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "io/amqp/topology.h"
#include "wire/reply.h"

#define MG_REPORTS_AT_ONCE 64 /* further reports go with the next call */
#define MG_REPORT_RETRY_MS 200
/* The texts of the last error, each byte escaped, and the numbers. */
#define CALLS_BYTES_MAX (6 * sizeof(struct mg_call_figures) + 512)

struct mg_agent_report {
    TAILQ_ENTRY(mg_agent_report) entry;
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

void mg_reports_init(struct mg_reports *reports, struct mg_shared *shared)
{
    reports->shared = shared;
    TAILQ_INIT(&reports->waiting);
    TAILQ_INIT(&reports->in_hand);
}

void mg_reports_add(struct mg_reports *reports, struct mg_work *work)
{
    struct mg_err err = {MG_TRANSIENT, "no memory"};
    struct mg_agent_report *report = calloc(1, sizeof(*report));
    enum mg_class class = MG_TRANSIENT;
    if (report != NULL) {
        class = mg_service_report_parse(work->delivery->body, &report->report, &err);
    }
    if (class == MG_OK && !mg_topology_is_reply_of(work->delivery->exchange, report->report.service)) {
        class = mg_err_set(&err, MG_BAD_INPUT, "it names service %s, but arrived through exchange %s",
                           report->report.service, work->delivery->exchange.data);
    }
    if (class != MG_OK) {
        mg_log(MG_LOG_WARN, "could not accept a service report", MG_LOG_TEXT("why", err.text));
        free(report);
        /* Out of memory drops the report: the next one comes within seconds. */
        enum mg_end end = class == MG_STALE ? MG_END_NEWER : MG_END_ACK;
        mg_work_settle(&reports->shared->works, work, class == MG_BAD_INPUT ? MG_END_REJECT : end);
        return;
    }
    mg_metric_add(reports->shared->series.reports, 1);
    report->work = work;
    struct mg_agent_reports *waiting = &reports->waiting;
    struct mg_agent_report *old = TAILQ_FIRST(waiting), *gone = NULL;
    while (old != NULL && !is_same_agent(&old->report, &report->report)) {
        old = TAILQ_NEXT(old, entry);
    }
    if (old != NULL && is_older(&report->report, &old->report)) {
        gone = report;
    } else if (old != NULL) {
        TAILQ_INSERT_BEFORE(old, report, entry);
        TAILQ_REMOVE(waiting, old, entry);
        gone = old;
    } else {
        TAILQ_INSERT_TAIL(waiting, report, entry);
    }
    if (gone != NULL) {
        mg_work_settle(&reports->shared->works, gone->work, MG_END_ACK);
        free(gone);
    }
    mg_reports_flush(reports);
}

static void on_reported(void *arg, const struct mg_err *err)
{
    struct mg_reports *reports = arg;
    struct mg_agent_reports over = TAILQ_HEAD_INITIALIZER(over);
    TAILQ_CONCAT(&over, &reports->in_hand, entry);
    if (err != NULL) {
        mg_log(MG_LOG_WARN, "could not store service reports", MG_LOG_TEXT("why", err->text));
    }
    while (!TAILQ_EMPTY(&over)) { /* on failure too: a newer report comes within seconds */
        struct mg_agent_report *report = TAILQ_FIRST(&over);
        TAILQ_REMOVE(&over, report, entry);
        mg_work_settle(&reports->shared->works, report->work, MG_END_ACK);
        free(report);
    }
    if (err != NULL) {
        mg_timer_start(reports->shared->store_retry, MG_REPORT_RETRY_MS, 0);
    }
    mg_reports_flush(reports);
    mg_scheduler_wake(reports->shared);
}

/* `calls` holds the calls as JSON until the row is sent; without memory they are left out. */
static struct mg_service_state row_of(const struct mg_service_report *report, struct mg_buf *calls)
{
    mg_buf_init(calls, CALLS_BYTES_MAX);
    if (report->has_calls) {
        struct mg_json_writer json = mg_json_compact(calls);
        mg_call_figures_write(&report->calls, &json);
    }
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
                                     .is_prober = report->is_prober,
                                     .calls = report->has_calls && !calls->failed ? mg_buf_slice(calls)
                                                                                  : (struct mg_slice){0}};
}

void mg_reports_flush(struct mg_reports *reports)
{
    if (TAILQ_EMPTY(&reports->waiting) || !TAILQ_EMPTY(&reports->in_hand) || !reports->shared->is_store_up ||
        mg_timer_is_active(reports->shared->store_retry)) {
        return;
    }
    struct mg_service_state rows[MG_REPORTS_AT_ONCE];
    struct mg_buf calls[MG_REPORTS_AT_ONCE];
    int count = 0;
    do {
        struct mg_agent_report *report = TAILQ_FIRST(&reports->waiting);
        TAILQ_REMOVE(&reports->waiting, report, entry);
        TAILQ_INSERT_TAIL(&reports->in_hand, report, entry);
        rows[count] = row_of(&report->report, &calls[count]);
        count++;
    } while (!TAILQ_EMPTY(&reports->waiting) && count < MG_REPORTS_AT_ONCE);
    mg_store_put_service_states(reports->shared->store, rows, count, on_reported, reports);
    for (int i = 0; i < count; i++) {
        mg_buf_finish(&calls[i]);
    }
}

void mg_reports_finish(struct mg_reports *reports)
{
    TAILQ_CONCAT(&reports->waiting, &reports->in_hand, entry);
    while (!TAILQ_EMPTY(&reports->waiting)) {
        struct mg_agent_report *report = TAILQ_FIRST(&reports->waiting);
        TAILQ_REMOVE(&reports->waiting, report, entry);
        free(report);
    }
}
