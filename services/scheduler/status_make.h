/* Statuses of orders, as published and stored. */
#ifndef MG_SCHEDULER_STATUS_MAKE_H
#define MG_SCHEDULER_STATUS_MAKE_H

#include "outbox.h"

#include "io/store/owed.h"

/* A status message, as published and stored. */
struct mg_status_text {
    uint64_t version; /* of the event that keeps it; 0: no event does */
    uint64_t seq;     /* 0: the body cannot be read */
    enum mg_status status;
    struct mg_slice body;
};
struct mg_status_text mg_status_text_of(struct mg_slice body); /* in no event */
/* Reads the status at `index` of an event. False: there are no more. */
bool mg_status_kept(const struct mg_event_record *event, int index, struct mg_status_text *ret_status);
/* Creates the send of a status to the order's client. NULL: the order has no reply queue, the status
 * cannot be read, or no memory. */
struct mg_send *mg_status_send(struct mg_outbox *outbox, struct mg_work *work,
                               const struct mg_order_record *record, const struct mg_status_text *status);

#endif
