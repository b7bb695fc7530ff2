/*
 * An order's steps as people see them: all steps of its workflow, also those that have not begun, and for
 * each the reason why it is where it is. The tool, its explanation and the console have their words from
 * here.
 */
#ifndef MG_OPERATOR_STEPS_H
#define MG_OPERATOR_STEPS_H

#include "base/buf.h"
#include "operator/table.h"

/* The state of a step without a row, while its order can reach it and after that. No word of words.def. */
#define MG_STEPS_NOT_YET     "not yet"
#define MG_STEPS_NOT_REACHED "not reached"

/* The first column that mg_steps_complete adds:
 *
 * | the step is             | `why`                                                                    |
 * |-------------------------|--------------------------------------------------------------------------|
 * | skipped by its guard    | "values.gross > 500.00 was 65.00 > 500.00", or the step that it needs    |
 * | skipped by an operator  | "an operator decided it"                                                 |
 * | skipped by its time-out | "no signal ended its wait in time"                                       |
 * | refused by its guard    | "the total must be above 0 (payload.total > 0 was 0 > 0)", or the fault  |
 * | waiting for a signal    | "waits for signal approved until … (1 of 2, by ann); then it fails"      |
 * | to wait for one         | "signal approved came early, by ann at …"                                |
 * | not yet, with a guard   | "it runs when payload.express, after step score"                         |
 * | any other               | SQL NULL                                                                 |
 */
#define MG_STEPS_WHY "why"
/* Two further columns: the attempts that the step's policy has counted in its present direction, and the
 * number that it allows before a cool-down or the end. SQL NULL: the step calls nothing, has not begun, or
 * its definition is unknown. */
#define MG_STEPS_COUNTED "attempts_counted"
#define MG_STEPS_ALLOWED "attempts_allowed"

/* Copies the rows of MG_REPORT_ORDER_STEPS, with the columns above, and with a row for each step that has
 * none, after them in the definition's order. `definition` is that of the order's version; absent or
 * unreadable: no rows are added. False: out of memory; the caller frees the part that was made. */
bool mg_steps_complete(const struct mg_table *order, const struct mg_table *steps, struct mg_slice definition,
                       struct mg_table *ret_steps);
/* Whether the guard of this step has refused it. */
bool mg_steps_is_refused(const struct mg_table *steps, int row);

#endif
