/*
 * The causes of a batch, by lane: submissions (intake.c), replies and requests that the broker did not take
 * (settle.c), commands (command_apply.c, fire_item.c).
 */
#ifndef MG_SCHEDULER_LANES_H
#define MG_SCHEDULER_LANES_H

#include "item.h"

/* Each `read` turns a delivery into an item. False: the work is settled, it needs no order. Each `decide`
 * applies the item to its fold. */
bool mg_intake_read(struct mg_batch *batch, struct mg_item *item);
void mg_intake_decide(struct mg_batch *batch, struct mg_item *item);
enum mg_callback_end {
    MG_CALLBACK_TAKEN,
    MG_CALLBACK_OPEN,  /* by it the work is not finished; the item's `why` has the reason */
    MG_CALLBACK_AGAIN, /* before the call, or a refusal while an attempt may still act: the service calls
                          again later */
    MG_CALLBACK_LATE,
};
/* A service's later word about accepted work: the item's command is a callback to this step. */
enum mg_callback_end mg_callback_decide(struct mg_batch *batch, struct mg_item *item, int step);
bool mg_settle_read(struct mg_batch *batch, struct mg_item *item);
void mg_settle_decide(struct mg_batch *batch, struct mg_item *item);
bool mg_command_read(struct mg_batch *batch, struct mg_item *item);
void mg_command_decide(struct mg_batch *batch, struct mg_item *item);
/* A supervisor's command is sent until nothing is due, so it may be dropped. Not so one that was delivered
 * before: it may be decided, and the statuses of that decision are published again by this delivery alone. */
bool mg_command_comes_again(const struct mg_item *item);
/* Answers a command that is not carried out, and settles its work. `may_pass`: it may be given again. */
void mg_command_refuse(struct mg_batch *batch, struct mg_item *item, bool may_pass, const char *text);
/* A kept signal with a key, found for its order: internal work. It is decided as a command. */
bool mg_keyed_signal_read(struct mg_batch *batch, struct mg_item *item);
/* command_answer.c: the result for a command that asked for one, with its order's messages. */
void mg_command_result(struct mg_batch *batch, struct mg_item *item, enum mg_command_verdict verdict,
                       const char *text);
/* Answers that the command cannot be read; its work is settled by the caller. */
void mg_command_unread(struct mg_batch *batch, struct mg_item *item, const char *text);
/* Answers that there is no such order, and settles the command's work. */
void mg_command_miss(struct mg_batch *batch, struct mg_item *item, const char *text);
/* fire_item.c: a slot of a schedule; and the order of an earlier slot, which is cancelled for a later one. */
bool mg_fire_read(struct mg_batch *batch, struct mg_item *item);
void mg_fire_decide(struct mg_batch *batch, struct mg_item *item);
bool mg_cancel_read(struct mg_batch *batch, struct mg_item *item);
bool mg_unpublishable_read(struct mg_batch *batch, struct mg_item *item);
void mg_unpublishable_decide(struct mg_batch *batch, struct mg_item *item);

#endif
