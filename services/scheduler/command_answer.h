/* The result of a command, for its sender. */
#ifndef MG_SCHEDULER_COMMAND_ANSWER_H
#define MG_SCHEDULER_COMMAND_ANSWER_H

#include "item.h"
#include "outbox.h"

#include "wire/command.h"

/* Sends the result of the command that `work` is, unless its sender wants no answer or may have none. */
void mg_command_answer_work(struct mg_outbox *outbox, struct mg_work *work,
                            const struct mg_command_result *result);
/* The message with the result of the item's command, in no outbox yet; NULL as above. `record` NULL: there is
 * no such order, or it does not matter. */
struct mg_send *mg_command_result_make(struct mg_batch *batch, const struct mg_item *item,
                                       enum mg_command_verdict verdict, enum mg_signal_outcome signal,
                                       bool may_pass, const struct mg_order_record *record, const char *text);
/* Answers a command that was decided on, or is invalid, with the order's change; its work goes on. */
void mg_command_answer_signal(struct mg_batch *batch, struct mg_item *item, enum mg_command_verdict verdict,
                              enum mg_signal_outcome signal, bool may_pass, const char *text);

#endif
