/*
 * The signals that have come for a step and have not ended it: order_step.open, a JSON object. A step that
 * has not begun keeps them until it does; one that needs several signals counts them.
 *
 *   {"since":"2026-11-29T09:00:00.000Z","key":"paid/ch_17",
 *    "signals":[{"id":"evt_1","by":"client:shop","at":"2026-11-29T10:00:00.000Z","payload":{"ok":true}}]}
 *
 * `since` is there while the step waits, and `key`, "NAME/KEY", while it waits for a signal with a key: by
 * these the step is found (migration 0038).
 */
#ifndef MG_SCHEDULER_KEPT_SIGNALS_H
#define MG_SCHEDULER_KEPT_SIGNALS_H

#include "item.h"

/* A step needs fewer, so that a refusal after doubts is kept, too. With the maximum of a
 * payload this is half a megabyte of an order's rows. */
#define MG_KEPT_SIGNALS_MAX 8

struct mg_signal {
    struct mg_slice id, by, payload; /* payload: JSON */
};

/* What the signals of a step come to. */
struct mg_signal_sum {
    enum mg_signal_fact fact;
    struct mg_slice payload;         /* DONE and REFUSED: of the signal that ends the step */
    char why[MG_ERROR_TEXT_MAX + 1]; /* REFUSED: the condition, with its values */
    struct mg_slice by;              /* REFUSED: its sender */
};

/* The step, if it waits with a key, looks for kept signals after the commit. */
void mg_kept_signals_note_key(struct mg_fold *fold, int step);
int mg_kept_signals_count(struct mg_slice open);
/* True if a kept signal is of this sender. */
bool mg_kept_signals_has_sender(struct mg_slice open, struct mg_slice by);
/* The text with one more signal. Absent: no memory. */
struct mg_slice mg_kept_signals_add(struct mg_batch *batch, struct mg_slice open,
                                    const struct mg_signal *signal);
/* The text of a step that begins to wait, with this key ("": none). Absent, with `has_failed` of the fold: no
 * memory. */
struct mg_slice mg_kept_signals_begin(struct mg_batch *batch, struct mg_fold *fold, struct mg_slice open,
                                      const char *key);
/* Steps that wait no more, by the decision, keep their signals alone: the order may begin again. */
void mg_kept_signals_end(struct mg_batch *batch, struct mg_fold *fold);
/* The fact of a step by the signals that have come so far: its own, as in `open`, and those of skipped steps
 * before it that wait for the same. In the order of their coming. */
void mg_kept_signals_sum(const struct mg_fold *fold, int step, struct mg_slice open,
                         struct mg_signal_sum *ret_sum);

#endif
