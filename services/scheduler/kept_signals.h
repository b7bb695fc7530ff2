/*
 * The signals that have come for an order and have not ended a step: order_step.open, a JSON object.
 *
 *   {"since":"2026-11-29T09:00:00.000Z","key":"paid/ch_17","from":["client:psp"],
 *    "signals":[{"id":"evt_1","by":"client:shop","at":"2026-11-29T10:00:00.000Z","payload":{"ok":true}}]}
 *
 * A step that has not begun keeps signals for all steps with its signal's name: the first that begins to wait
 * is offered each, in the order in which they came. It takes those of its senders that its conditions read as
 * a yes or a no, so many as it needs. The others are kept for the next step of the name, or have no use.
 *
 * A step that waits has those that it counts; they end with its wait. `since` is there while it waits, and
 * `key`, "NAME/KEY", with `from` while it waits for a signal with a key: by these it is found (migrations
 * 0038 and 0041).
 */
#ifndef MG_SCHEDULER_KEPT_SIGNALS_H
#define MG_SCHEDULER_KEPT_SIGNALS_H

#include "item.h"

/* More than a step needs, so that a refusal after doubts is kept, too. With the maximum of a
 * payload this is half a megabyte of an order's rows. */
#define MG_KEPT_SIGNALS_MAX 8
/* Signals for which no condition of a step holds. Each is an event of the order's story. */
#define MG_IDLE_SIGNALS_MAX 100

struct mg_signal {
    struct mg_slice id, by, payload; /* payload: JSON */
};

/* The sum of a step's signals. */
struct mg_signal_sum {
    enum mg_signal_fact fact;
    struct mg_slice payload;         /* DONE and REFUSED: of the signal that ends the step */
    char why[MG_ERROR_TEXT_MAX + 1]; /* REFUSED: the condition, with its values */
    struct mg_slice by;              /* REFUSED: its sender */
};

/* Changes of `open` of other steps, because one takes the signals that they keep. */
struct mg_signal_moves {
    int count;
    struct mg_signal_move {
        int step;
        struct mg_slice open; /* absent: it keeps nothing any more */
    } * steps;
};

/* The parts of a key "NAME/KEY". False: it has none, or is absent. */
bool mg_kept_signals_key_split(struct mg_slice key, struct mg_slice *ret_signal, struct mg_slice *ret_key);
/* The step, if it waits with a key, looks for kept signals after the commit. */
void mg_kept_signals_note_key(struct mg_fold *fold, int step);
int mg_kept_signals_count(struct mg_slice open);
/* The number of those that came to the step while it waits, and meant nothing to it. */
int mg_kept_signals_idle_count(struct mg_slice open);
/* True if a signal of this id is kept. */
bool mg_kept_signals_has(struct mg_slice open, struct mg_slice id);
/* True if a kept signal is of this sender. */
bool mg_kept_signals_has_sender(struct mg_slice open, struct mg_slice by);
/* The text with one more signal. Absent: no memory. */
struct mg_slice mg_kept_signals_add(struct mg_batch *batch, struct mg_slice open,
                                    const struct mg_signal *signal);
/* The text with one more that means nothing. Absent: no memory. */
struct mg_slice mg_kept_signals_add_idle(struct mg_batch *batch, struct mg_slice open);
/* The text of a step that begins to wait, with this key (absent: none); absent, if the signals that were kept
 * end it at once (`ret_sum`), or with `has_failed` of the fold. */
struct mg_slice mg_kept_signals_begin(struct mg_batch *batch, struct mg_fold *fold, int step,
                                      struct mg_slice key, struct mg_signal_moves *ret_moves,
                                      struct mg_signal_sum *ret_sum);
/* After a decision: a step that waits no more has no signals. One that has not begun keeps its own, also when
 * its order begins anew: their senders were told that they count. */
void mg_kept_signals_end(struct mg_fold *fold, const struct mg_decision *decision);
/* The fact of a step that waits, by the signals that it has, as in `open`. */
void mg_kept_signals_sum(const struct mg_fold *fold, int step, struct mg_slice open,
                         struct mg_signal_sum *ret_sum);

#endif
