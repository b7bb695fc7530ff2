/* Statuses of orders as they go out and are kept. */
#ifndef MG_SCHEDULER_STATUS_H
#define MG_SCHEDULER_STATUS_H

#include "outbox.h"

#include "io/store/owed.h"

/* A status message as it goes out and is kept. */
struct mg_status_text {
    uint64_t version; /* of the event that keeps it; 0: it is kept nowhere */
    uint64_t seq;     /* 0: it cannot be read */
    enum mg_status status;
    struct mg_slice body;
};
struct mg_status_text mg_status_text_of(struct mg_slice body); /* kept nowhere */
/* The status that an event keeps at `index`; false: there are no more. */
bool mg_status_kept(const struct mg_event_record *event, int index, struct mg_status_text *ret_status);
/* A status of an order, on its way to the order's client; NULL: nobody asked, it cannot be read, or no
 * memory.
 */
struct mg_send *mg_status_send(struct mg_scheduler *scheduler, struct mg_work *work,
                               const struct mg_order_record *record, const struct mg_status_text *status);

#endif
