/*
 * The orders of one bulk action that are marked and have not ended: the due commands, their answers, and the
 * result of each order. A crash may lose all of it. The next look at the tables restores it, and a command
 * that is sent again is the same cause.
 */
#ifndef MG_OPERATOR_BULK_ORDERS_H
#define MG_OPERATOR_BULK_ORDERS_H

#include "io/store/bulk.h"
#include "operator/command_client.h"

struct mg_bulk_item;

struct mg_bulk_orders {
    struct mg_bulk_row row;              /* as of the last look; untaken counted here */
    struct mg_bulk_item *items, *before; /* of this look and of the one before, sorted by n */
    int item_count;
    struct mg_bulk_ended *ended; /* found by this look; the texts belong to the items */
    int ended_count;
};

bool mg_bulk_orders_init(struct mg_bulk_orders *orders); /* false: out of memory */
void mg_bulk_orders_finish(struct mg_bulk_orders *orders);
/* Takes over row number `bulk` of the look, with its orders. */
void mg_bulk_orders_take(struct mg_bulk_orders *orders, int bulk, const struct mg_bulk_look *looked);
/* Sends the due commands: commands that this process has not sent, and commands without an answer in time.
 * A command that cannot be sent now stays due. */
void mg_bulk_orders_send(struct mg_bulk_orders *orders, struct mg_command_client *client);
/* False: the answer belongs to no order of this bulk action. */
bool mg_bulk_orders_answer(struct mg_bulk_orders *orders, const struct mg_command_result *result);
/* Makes all commands due again: the reply queue has changed, so answers to earlier commands are lost. */
void mg_bulk_orders_forget_sent(struct mg_bulk_orders *orders);

#endif
