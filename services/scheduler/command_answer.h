/* The result of a command, for its sender. */
#ifndef MG_SCHEDULER_COMMAND_ANSWER_H
#define MG_SCHEDULER_COMMAND_ANSWER_H

#include "outbox.h"

#include "wire/command.h"

/* The message with the result, in no outbox yet. NULL: the sender wants no answer or may have none, or there is no
 * memory. `delivery` (NULL: none) is the command's. */
struct mg_send *mg_command_answer_make(struct mg_outbox *outbox, struct mg_work *work,
                                       const struct mg_delivery *delivery,
                                       const struct mg_command_result *result);
/* The same for the command that `work` is, into the outbox. */
void mg_command_answer_work(struct mg_outbox *outbox, struct mg_work *work,
                            const struct mg_command_result *result);

#endif
