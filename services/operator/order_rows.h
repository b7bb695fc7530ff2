/* An order as the core has it, from its reports' rows. */
#ifndef MG_OPERATOR_ORDER_ROWS_H
#define MG_OPERATOR_ORDER_ROWS_H

#include "operator/table.h"
#include "workflow/workflow.h"

/* Milliseconds since 1970 of a report's moment; 0: none. */
int64_t mg_moment_of(const char *text);
/* Of a row of MG_REPORT_ORDER_STEPS. A step without a row of its own, "not yet" for example, stays as it is.
 */
void mg_step_of_row(const struct mg_table *steps, int row, struct mg_step *ret_step);
/* From the rows of MG_REPORT_ORDER and MG_REPORT_ORDER_STEPS, of which columns may be missing: the order has
 * then what mg_order_init gives it. False: a word is unknown. */
bool mg_order_of_rows(const struct mg_table *row, const struct mg_table *steps,
                      const struct mg_workflow *workflow, struct mg_order *ret_order);

#endif
