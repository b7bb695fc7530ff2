/*
 * A statement over many rows does not fail for all of them because of one. After a failure the store finds
 * the rows that the statement is refused for, by halves, and sends it again without them. They are passed by
 * for a while: each is tried alone, at intervals that grow while it is refused. Until one is refused, the
 * statement costs no more than alone.
 *
 * Most statements find their rows themselves, and a row is named by its order. Others are given their rows;
 * then one that is left out is lost, so only such come here as are written again before long. Values that
 * cannot be stored are a mistake of the caller, and the call fails as a whole.
 *
 * The columns by which each statement can be hurt. A test walks these rows with values that cannot be
 * converted, with triggers that refuse an update by each class of SQLSTATE, and with rows locked by another
 * session:
 *
 *   statement           reads, converts                              writes
 *   sweep               order_process: no text but ids and states;   order_process.wake_at; order_step.
 *                       its times; order_step: the same              parked_high, parked_until
 *   ask_parked          order_step: times, service, reason;          order_step.parked_high, parked_until
 *                       order_process.process_state;
 *                       service_state, service_control
 *   ask_owed            order_event: times; order_process.seq;       order_event.owed_asked_at; reply_queue
 *                       reply_queue
 *   wake                order_process.wake_at                        order_process.wake_at
 *   put_service_states  service_state: its times                     service_state
 *   write_alerts        operator_alert: code, subject                operator_alert
 *
 * None reads a payload, a result or a status: damage there hurts none of them. A page of order_process that
 * cannot be read at all hurts the question for the keys, too: then the statement fails as a whole, and its
 * caller reports that. Retention (makegood_retire) finds its own by bites of one.
 */
#ifndef MG_IO_STORE_PASS_BY_H
#define MG_IO_STORE_PASS_BY_H

#include "io/store/store_private.h"

/* Rows passed by at once: more have a cause that is not theirs. */
#define MG_PASSED_MAX 64

struct mg_many_sql {
    const struct mg_sql *before; /* sent before it, without parameters; NULL: none */
    /* Its last parameter, a text[] that is added here, holds the keys to leave out. */
    struct mg_sql all;
    struct mg_sql keys;  /* the same parameters: the keys that it would take, as one column */
    struct mg_sql among; /* the same parameters: it takes no keys but those of the last */
    const char *noun;    /* what a key names; for people */
    const char *verb;    /* "swept", for people */
    bool is_given; /* its rows are given: a refused one is tried with the others when its pause is over */
};

/* Sends `many`; `fn` gets the answer of the last run. `params` is taken over, even if nothing is sent. */
void mg_store_send_many(struct mg_store *store, const struct mg_many_sql *many, struct mg_pg_params *params,
                        mg_pg_fn *fn, void *arg);

/* Fails on purpose, with its parameter in the error: only a failure rolls back the statements before it in
 * the same call. */
extern const struct mg_sql MG_STORE_ROLL_BACK;

#endif
