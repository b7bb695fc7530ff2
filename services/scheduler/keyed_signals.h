/*
 * Signals with a key. Such a signal is kept in the store first, then its order is looked for; an order that
 * has begun to wait with a key looks for kept signals after its commit (io/store/signal_rows.h). What a look
 * finds is a further cause of the order, decided in a batch as every other, and followed by another look
 * until none finds anything. The ack of the first message waits for the last one, and its redelivery makes
 * the effects of all of them again (law 3, re-creation): a message of a signal finds an order for this signal
 * alone, or the one that has it; a look of an order finds this order alone, and the next causes have the
 * order's cause as its root (chain.h).
 */
#ifndef MG_SCHEDULER_KEYED_SIGNALS_H
#define MG_SCHEDULER_KEYED_SIGNALS_H

#include "inbox.h"
#include "item.h"
#include "outbox.h"

#include "io/store/signal_rows.h"
#include "wire/command.h"

/* The id that a sender gave, with the sender, as two may give one id: "ID/CLIENT", or of an operator
 * "ID//NAME". */
#define MG_KEYED_ID_SIZE (MG_COMMAND_ID_MAX + 2 + MG_COMMAND_BY_MAX + 1)
/* The longest identity of a cause is that of a signal with a key. */
#define MG_KEYED_ROOT_SIZE (MG_NAME_MAX + 1 + MG_KEYED_ID_SIZE + 1 + MG_SIGNAL_KEY_MAX + 1)

/* Whose look it is. */
struct mg_looker {
    char order_id[MG_ORDER_ID_MAX + 1]; /* an order's own look; "": a signal's, for any order */
    char root[MG_KEYED_ROOT_SIZE];      /* of the causes that follow; "": the signal that is found */
};

/* Where a look leads: a kept signal and its order. Of one piece of internal work. */
struct mg_keyed_signal {
    struct mg_looker looker;
    char order_id[MG_ORDER_ID_MAX + 1];
    char signal[MG_NAME_MAX + 1], signal_id[MG_KEYED_ID_SIZE], key[MG_SIGNAL_KEY_MAX + 1];
    char by[MG_COMMAND_BY_MAX + 1], client[MG_NAME_MAX + 1];
    bool is_client;          /* its sender is a client, else an operator */
    bool is_own;             /* the origin is the signal's own message, whose sender gets an answer */
    struct mg_slice payload; /* after the struct */
};

/* The id that its sender gave, without the sender. */
void mg_keyed_command_id(const char *signal_id, char ret_command_id[static MG_COMMAND_ID_MAX + 1]);

struct mg_look;
LIST_HEAD(mg_look_list, mg_look);

struct mg_keyed {
    struct mg_inbox *inbox;
    struct mg_outbox *outbox;
    struct mg_look_list looks; /* under way */
    /* The search for lost looks. */
    bool is_searching;
    int64_t searched_boot_ms;
    struct mg_lost_signal after; /* it goes on after this key */
};

void mg_keyed_init(struct mg_keyed *keyed, struct mg_inbox *inbox, struct mg_outbox *outbox);
void mg_keyed_finish(struct mg_keyed *keyed);
/* Takes over the work, a command SIGNAL with a key: it is settled once the signal is kept, and its answer
 * sent. */
void mg_keyed_signal_keep(struct mg_keyed *keyed, struct mg_work *work, const struct mg_command *command);
/* Looks for kept signals of the key "NAME/KEY", with which a step of the item's order waits. The ack of the
 * item's work waits for it. */
void mg_keyed_look(struct mg_keyed *keyed, const struct mg_item *item, struct mg_slice key);
/* Call it often. A look can be lost with its process and its message, or with the newest rows after a
 * failover. So from time to time kept signals are compared with the orders that wait, and the looks of those
 * that belong together are made again. */
void mg_keyed_search(struct mg_keyed *keyed);
/* The end of internal work with a kept signal. `is_next`: look for the next one. `is_refused`: the order with
 * its key refuses this one. */
void mg_keyed_end(struct mg_keyed *keyed, struct mg_work *work, bool is_next, bool is_refused);

#endif
