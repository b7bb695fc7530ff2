/*
 * The orders of one batch that have been asked for and have not ended: which commands are to go out, what was
 * answered, and what became of each. All of it can be lost: the next look at the tables makes it anew, and a
 * command that is sent once more is the same cause.
 */
#ifndef MG_OPERATOR_BATCH_ORDERS_H
#define MG_OPERATOR_BATCH_ORDERS_H

#include "io/store/batch.h"
#include "operator/command_client.h"

struct mg_batch_item;

struct mg_batch_orders {
    struct mg_batch_row row;              /* as it was last seen, and how many are untaken */
    struct mg_batch_item *items, *before; /* of this look and of the one before, by n */
    int item_count;
    struct mg_batch_ended *ended; /* by this look; their texts are the items' */
    int ended_count;
};

bool mg_batch_orders_init(struct mg_batch_orders *orders); /* false: no memory */
void mg_batch_orders_finish(struct mg_batch_orders *orders);
/* The `batch`-th of what was looked at. */
void mg_batch_orders_take(struct mg_batch_orders *orders, int batch, const struct mg_batches *looked);
/* The commands that are due: those that this process has not sent, and those without an answer for long. What
 * cannot go out now is due again at the next call. */
void mg_batch_orders_send(struct mg_batch_orders *orders, struct mg_command_client *client);
/* False: it is no answer to one of these. */
bool mg_batch_orders_answer(struct mg_batch_orders *orders, const struct mg_command_result *result);
/* What was sent is not answered any more: all is due. */
void mg_batch_orders_forget_sent(struct mg_batch_orders *orders);

#endif
