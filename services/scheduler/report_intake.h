/* Agents' reports about their services, on their way into the store. */
#ifndef MG_SCHEDULER_REPORT_INTAKE_H
#define MG_SCHEDULER_REPORT_INTAKE_H

#include "work.h"

struct mg_agent_report;
struct mg_scheduler;

/* One call to the store at a time. */
struct mg_reports {
    TAILQ_HEAD(mg_agent_reports, mg_agent_report) waiting, in_hand;
};

void mg_reports_add(struct mg_scheduler *scheduler, struct mg_work *work);
void mg_reports_flush(struct mg_scheduler *scheduler);
void mg_reports_finish(struct mg_scheduler *scheduler);

#endif
