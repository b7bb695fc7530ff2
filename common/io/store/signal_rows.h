/*
 * Signals with a key: each finds the order whose step waits for that key, whichever of the two comes first.
 *
 * Both sides write, commit, then look. A signal is kept first and looked up after; an order writes its key
 * with the step that opens and looks after its commit. So at least one of the two sees both, and no lock is
 * needed. The order takes the signal in the commit of its own change (mg_order_write.taken), guarded by the
 * row: no other order takes it as well. A taken signal stays, so that its sender's second copy is known.
 */
#ifndef MG_IO_STORE_SIGNAL_ROWS_H
#define MG_IO_STORE_SIGNAL_ROWS_H

#include "io/store/store.h"

/* Bytes of a signal's name, id, key and sender: no command has more. */
#define MG_KEPT_TEXT_MAX 256

struct mg_kept_signal {
    const char *signal, *signal_id, *key;
    const char *by;          /* the sender, for people */
    const char *client;      /* the sender's client, "" for one of a shared exchange; NULL: an operator */
    struct mg_slice payload; /* JSON */
};

enum mg_keep_result {
    MG_KEEP_DONE,  /* kept now, or kept before and not taken yet: look for its order */
    MG_KEEP_TAKEN, /* an order has taken it */
    MG_KEEP_FULL,  /* 10,000 of this name and sender are kept, and no order waits for this one */
};
/* `taken_by`: the order that has it, until the callback returns; "": none, or refused. */
typedef void mg_store_keep_fn(void *arg, enum mg_keep_result result, const char *taken_by,
                              const struct mg_err *err);
void mg_store_keep_signal(struct mg_store *store, const struct mg_kept_signal *signal, mg_store_keep_fn *done,
                          void *arg);

struct mg_signal_query {
    const char *signal, *key;
    const char *signal_id; /* this signal alone; "": any */
    const char *order_id;  /* for this order alone; "": for any */
};

/* The oldest signal that is kept under the key, and the order that waits for it of this sender; `order_id`
 * NULL: there is no such pair. The answer lives until the callback returns. */
typedef void mg_store_match_fn(void *arg, const char *order_id, const struct mg_kept_signal *signal,
                               const struct mg_err *err);
void mg_store_match_signal(struct mg_store *store, const struct mg_signal_query *query,
                           mg_store_match_fn *done, void *arg);

/* The signal is for no order any more, unless it is sent again: the one with its key refuses it. */
void mg_store_refuse_signal(struct mg_store *store, const char *signal, const char *key,
                            const char *signal_id, mg_store_done_fn *done, void *arg);

#endif
