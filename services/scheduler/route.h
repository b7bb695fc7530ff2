/* The dispatch of a delivery on its arrival. */
#ifndef MG_SCHEDULER_ROUTE_H
#define MG_SCHEDULER_ROUTE_H

#include "inbox.h"
#include "outbox.h"
#include "report_intake.h"

/* To the inbox if it may concern an order; else to the service reports or to the dead letters. */
void mg_route_delivery(struct mg_inbox *inbox, struct mg_outbox *outbox, struct mg_reports *reports,
                       struct mg_delivery *delivery);

#endif
