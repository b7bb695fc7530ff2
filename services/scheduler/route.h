/* The dispatch of a delivery on its arrival. */
#ifndef MG_SCHEDULER_ROUTE_H
#define MG_SCHEDULER_ROUTE_H

struct mg_delivery;
struct mg_scheduler;

/* To the inbox if it may concern an order; else to the service reports or to the dead letters. */
void mg_route_delivery(struct mg_scheduler *scheduler, struct mg_delivery *delivery);

#endif
