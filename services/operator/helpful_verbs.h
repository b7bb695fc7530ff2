/* The verbs that would help an order now, by the core itself (core/verbs.h). */
#ifndef MG_OPERATOR_HELPFUL_VERBS_H
#define MG_OPERATOR_HELPFUL_VERBS_H

#include "core/verbs.h"
#include "json/json.h"
#include "operator/table.h"

/* From an order's reports and its workflow's definition. False: absent or unreadable, or no memory. Attempts
 * that may still act are not counted: a verb may be refused for some seconds. */
bool mg_operator_verbs(const struct mg_table *order, const struct mg_table *steps, struct mg_slice definition,
                       struct mg_verbs *ret_verbs);
/* Appends them to a sentence: "resume or compensate it; settle step charge". */
void mg_operator_verbs_write(struct mg_buf *out, const struct mg_table *order, const struct mg_table *steps,
                             struct mg_slice definition);

#endif
