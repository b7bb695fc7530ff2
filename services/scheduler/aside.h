/*
 * Orders that wait by themselves, because the database refuses their rows while it works for others (law 13,
 * nothing lost). Their causes wait here in the order of arrival, and so do later ones. Each order is tried
 * again alone, with growing pauses; batches of other orders go on in between. After a bound the order is set
 * aside: its causes are dead-lettered, and an alert names order and reason. Orders whose faults are alike, by
 * their SQLSTATE, are not, unless another order was stored by the same kinds of change since (change.h); nor
 * is a crowd of them. They are reported as a standstill and go on by themselves.
 */
#ifndef MG_SCHEDULER_ASIDE_H
#define MG_SCHEDULER_ASIDE_H

#include "change.h"
#include "inbox.h"
#include "item.h"
#include "set_aside.h"

/* One order that waits. */
struct mg_aside_order {
    TAILQ_ENTRY(mg_aside_order) entry;
    struct mg_asides *aside;
    char order_id[MG_ORDER_ID_MAX + 1];
    struct mg_work_list works; /* may be empty: the count of tries goes on with the next cause */
    int64_t since_boot_ms, retry_boot_ms;
    uint32_t tries;
    enum mg_refusal refusal;
    /* Of the last try; text and SQLSTATE are the database's. */
    struct mg_changes changes;
    bool is_read; /* its rows could not be read, so nothing was written */
    bool is_new;  /* it is not stored yet */
    char text[MG_REFUSAL_TEXT_SIZE], sqlstate[MG_SQLSTATE_SIZE];
    uint64_t stored_before; /* the log's count when this SQLSTATE was first seen */
    bool is_trying;         /* its works are in the batch in hand */
    bool is_asking;         /* a call about it is open at the store */
    bool is_listed;         /* it was not refused: the list has it (set_aside.h) */
};

struct mg_asides {
    struct mg_shared *shared;
    struct mg_inbox *inbox;
    struct mg_set_asides *set_aside;
    struct mg_alerts *alerts;
    TAILQ_HEAD(, mg_aside_order) orders;
    struct mg_change_log log; /* of other orders while some waited: the proof that a fault is not of all */
    int order_count, held[MG_LANE_COUNT];
    size_t bytes;
    struct mg_buf account;
    bool is_patient; /* the last retry: one order, and a statement may take its whole time */
    bool was_last;   /* the last batch was a retry: the next is of others, if there are any */
};

void mg_aside_init(struct mg_asides *aside, struct mg_inbox *inbox, struct mg_set_asides *set_aside,
                   struct mg_alerts *alerts);
void mg_aside_finish(struct mg_asides *aside); /* the works are freed elsewhere */
/* A fold was refused; its works wait here from now on. */
void mg_aside_refuse(struct mg_asides *aside, struct mg_batch *batch, struct mg_fold *fold);
/* The fold is stored: its order waits no longer. */
void mg_aside_stored(struct mg_asides *aside, const struct mg_fold *fold);
/* Takes items of waiting orders out of a batch that was read. */
void mg_aside_join(struct mg_asides *aside, struct mg_batch *batch);
/* The works of orders whose pause is over; 0: none, or it is another batch's turn. */
int mg_aside_take(struct mg_asides *aside, struct mg_work **ret_works, int max);
/* A retry has ended, stored, refused or neither. */
void mg_aside_tried(struct mg_asides *aside);
bool mg_aside_is_due(const struct mg_asides *aside);
void mg_aside_look(struct mg_asides *aside);      /* forgets orders without causes; every tick */
void mg_aside_give_back(struct mg_asides *aside); /* requeues all; tries stay counted */
/* Those that have waited for a while, for the heartbeat (process_state.orders_aside); valid until the next
 * call. */
struct mg_slice mg_aside_account(struct mg_asides *aside);
/* The oldest order that waits with others for a fault of all, and their number; NULL: none does. */
const struct mg_aside_order *mg_aside_crowd(const struct mg_asides *aside, int *ret_count);

#endif
