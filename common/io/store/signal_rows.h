/*
 * Signals with a key: each finds the order with a step that waits for that key, whichever of the two comes
 * first.
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

/* ---- for the scheduler ---- */

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

/* An order, and its wait with a key, which is over. */
struct mg_wait_over {
    const char *order_id;
    struct mg_slice signal, key;
    int64_t ends_at_ms;
};
/* For each: whether a signal is kept for the order that came before the end. Its look was lost, with its
 * process or its message. */
typedef void mg_store_matches_fn(void *arg, const bool *is_matched, const struct mg_err *err);
void mg_store_find_matches(struct mg_store *store, const struct mg_wait_over *waits, int count,
                           mg_store_matches_fn *done, void *arg);

/* The signal is for no order any more, unless it is sent again: the one with its key refuses it. */
void mg_store_refuse_signal(struct mg_store *store, const char *signal, const char *key,
                            const char *signal_id, mg_store_done_fn *done, void *arg);

/* A kept signal for which an order waits: the look that finds the other was lost. */
struct mg_lost_signal {
    char signal[MG_NAME_MAX + 1], key[MG_KEPT_TEXT_MAX + 1], signal_id[MG_KEPT_TEXT_MAX + 1];
};
#define MG_LOST_SIGNALS_MAX 100
/* At most 10,000 kept signals are read, those after a key (both "": from the first on). `next`: its signal
 * and key are where the next question goes on, "" from the first. */
typedef void mg_store_lost_fn(void *arg, const struct mg_lost_signal *signals, int count,
                              const struct mg_lost_signal *next, const struct mg_err *err);
void mg_store_find_lost_signals(struct mg_store *store, const char *after_signal, const char *after_key,
                                mg_store_lost_fn *done, void *arg);

/* ---- for the supervisor ---- */

struct mg_kept_figures {
    int64_t forgotten, unmatched; /* deleted by this call; of these, those that no order had taken */
    int64_t kept, oldest_ms;      /* that no order has taken: at most 10,000 are counted; age of the oldest */
    int64_t late;                 /* of these, those that are kept for `late_for_ms` already */
    char signal[MG_KEPT_TEXT_MAX + 1], signal_id[MG_KEPT_TEXT_MAX + 1],
        by[MG_KEPT_TEXT_MAX + 1]; /* of the oldest */
};
typedef void mg_store_forget_signals_fn(void *arg, const struct mg_kept_figures *figures,
                                        const struct mg_err *err);
/* Deletes at most `bite` signals, a day after the last moment at which an order can take them: 8 days after
 * they came. Nothing is deleted if (epoch, holder) does not lead. */
void mg_store_forget_signals(struct mg_store *store, uint64_t epoch, const char *holder, int64_t bite,
                             int64_t late_for_ms, mg_store_forget_signals_fn *done, void *arg);

#endif
