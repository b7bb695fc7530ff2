/*
 * A step that waits for a signal, in words: its signal, its time-out with the consequence, and the
 * signatures. The signals are those of order_step.open (scheduler/kept_signals.h).
 */
#ifndef MG_OPERATOR_AWAITED_H
#define MG_OPERATOR_AWAITED_H

#include "operator/table.h"
#include "workflow/workflow.h"

/* Appends "waits for signal approved until 2026-11-29T10:00:00.000Z (1 of 2, by ann); then it fails". `row`
 * is that of the step in MG_REPORT_ORDER_STEPS. */
void mg_awaited_write(struct mg_buf *out, const struct mg_workflow *workflow, int step,
                      const struct mg_table *steps, int row);
/* Appends "signal approved came early, by ann at 2026-11-29T10:00:00.000Z"; nothing if none has come. */
void mg_awaited_early_write(struct mg_buf *out, const struct mg_workflow *workflow, int step,
                            const struct mg_table *steps, int row);

/* The cursor SINCE/ORDER/POSITION of a page of MG_REPORT_AWAITING. */
bool mg_awaiting_cursor_is_valid(const char *text);
/* The senders of the signal: "operators, the order's client, client psp". */
void mg_awaited_senders_write(struct mg_buf *out, const struct mg_signal_wait *signal);

#endif
