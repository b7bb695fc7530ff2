/*
 * The sender of a signal, and the steps that take its signals. A client is proven by its exchange. An
 * operator's name is its own word, which may not look like a client's.
 */
#ifndef MG_SCHEDULER_SIGNAL_SENDER_H
#define MG_SCHEDULER_SIGNAL_SENDER_H

#include "item.h"

/* NULL: the operator may send signals as `by`. Else why not. */
const char *mg_signal_by_fault(const char *by);
/* True if the step takes signals of the sender: "client:NAME", any other text is an operator's. */
bool mg_signal_may_send(struct mg_slice by, const struct mg_order_record *record,
                        const struct mg_signal_wait *wait);
/* The senders that the step names, as a JSON array: "operator", "client:NAME". */
void mg_signal_senders_write(const struct mg_order_record *record, const struct mg_signal_wait *wait,
                             struct mg_buf *ret_json);

#endif
