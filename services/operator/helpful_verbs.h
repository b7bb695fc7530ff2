/* The verbs that would help an order now, by the core itself (core/verbs.h). */
#ifndef MG_OPERATOR_HELPFUL_VERBS_H
#define MG_OPERATOR_HELPFUL_VERBS_H

#include "base/json_write.h"
#include "core/verbs.h"
#include "json/json.h"
#include "operator/table.h"

/* From an order's reports and its workflow's definition, which may be absent or unreadable. Attempts that may
 * still act are not counted: a verb may be refused for some seconds. */

/* Writes them as the member `verbs`: resume, restart, compensate, cancel, finish, and the names of the steps
 * for settle, skip and repeat; `absent` has the state of each step after `settle --outcome absent`. No member
 * if they are not known. `is_holding`: the order holds up a line. */
void mg_operator_verbs_write_json(struct mg_json_writer *json, const struct mg_table *order,
                                  const struct mg_table *steps, struct mg_slice definition, bool is_holding);
/* Appends them to a sentence: "resume or compensate it; settle step charge". */
void mg_operator_verbs_write(struct mg_buf *out, const struct mg_table *order, const struct mg_table *steps,
                             struct mg_slice definition);

#endif
