/* Agents' reports about their services, on their way into the store. */
#ifndef MG_SCHEDULER_REPORT_INTAKE_H
#define MG_SCHEDULER_REPORT_INTAKE_H

#include "shared.h"

struct mg_agent_report;

/* One call to the store at a time. */
struct mg_reports {
    struct mg_shared *shared;
    TAILQ_HEAD(mg_agent_reports, mg_agent_report) waiting, in_hand;
};

void mg_reports_init(struct mg_reports *reports, struct mg_shared *shared);
void mg_reports_add(struct mg_reports *reports, struct mg_work *work);
void mg_reports_flush(struct mg_reports *reports);
void mg_reports_finish(struct mg_reports *reports);

#endif
