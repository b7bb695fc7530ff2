/*
 * A statement over many orders that it finds itself (the sweep and its like) does not fail for all of them
 * because of one. After a failure the store finds the orders that the statement is refused for, by halves,
 * and sends it again without them. They are passed by for a while: each is tried alone, and more seldom the
 * longer it is refused. Until one is refused, the statement costs no more than alone.
 *
 * The columns by which each statement can be hurt. A test walks these rows with values that cannot be
 * converted, with triggers that refuse an update by each class of SQLSTATE, and with rows locked by another
 * session:
 *
 *   statement   reads, converts                             writes
 *   sweep       order_process: no text but ids and states;  order_process.wake_at; order_step.parked_high,
 *               its times; order_step: the same             parked_until
 *   ask_parked  order_step: times, service, reason;         order_step.parked_high, parked_until
 *               order_process.process_state; service_state,
 *               service_control
 *   ask_owed    order_event: times; order_process.seq;      order_event.owed_asked_at; reply_queue
 *               reply_queue
 *   wake        order_process.wake_at                       order_process.wake_at
 *
 * None reads a payload, a result or a status: damage there hurts none of them. A page of order_process that
 * cannot be read at all hurts the question for the keys, too: then the statement fails as a whole, and its
 * caller reports that. Retention (makegood_retire) finds its own by bites of one.
 */
#ifndef MG_IO_STORE_PASS_BY_H
#define MG_IO_STORE_PASS_BY_H

#include "io/store/private.h"

/* Orders passed by at once: more have a cause that is not theirs. */
#define MG_PASSED_MAX 64

struct mg_many_sql {
    const struct mg_sql *before; /* sent before it, without parameters; NULL: none */
    /* Its last parameter, a text[] that is added here, holds the orders to leave out. */
    struct mg_sql all;
    struct mg_sql keys;  /* the same parameters: the orders that it would take, as one column */
    struct mg_sql among; /* the same parameters: it takes no orders but those of the last */
    const char *verb;    /* "swept", for people */
};

/* Sends `many`; `fn` gets the answer of the last run. `params` is taken over, even if nothing is sent. */
void mg_store_send_many(struct mg_store *store, const struct mg_many_sql *many, struct mg_pg_params *params,
                        mg_pg_fn *fn, void *arg);

#endif
