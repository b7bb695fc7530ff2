/*
 * A piece of work: a delivery, or a request that could not be published, from its coming to its ack. It ends
 * when it is settled and nothing that follows from it is pending any more. All stages stand on this; it
 * calls none of them.
 */
#ifndef MG_SCHEDULER_WORK_H
#define MG_SCHEDULER_WORK_H

#include "core/model.h"
#include "core/suspects.h"
#include "io/amqp/broker.h"

/* Where work waits. The first four are the consumers of the broker, in this order. */
enum mg_lane {
    MG_LANE_REPLIES,
    MG_LANE_COMMANDS,
    MG_LANE_HIGH,
    MG_LANE_NORMAL,
    MG_LANE_INTERNAL, /* requests that the broker did not take, or perhaps did not */
    MG_LANE_COUNT
};
#define MG_LANE_CONSUMERS MG_LANE_INTERNAL

enum mg_end {
    MG_END_ACK,
    MG_END_REJECT, /* to the dead-letter exchange */
    MG_END_LEAVE,  /* no memory, or it cannot be stored now: for later */
    MG_END_NEWER,  /* of a newer version: for another instance, so long as there may be one */
};

/* A delivery, or a request that could not be published, until it is acked. */
struct mg_work {
    struct mg_work *next; /* in its list */
    struct mg_work *all_prev, *all_next;
    enum mg_lane lane;
    struct mg_delivery *delivery; /* NULL in the internal lane */
    bool is_again;                /* law 3, re-creation: it may have been committed before */
    enum mg_suspicion suspicion;
    bool is_alone;       /* may spoil its neighbours: a batch of its own */
    bool is_guess_wrong; /* its order is read before it is decided again */
    bool is_settled;
    enum mg_end end;          /* what becomes of the delivery when nothing is pending any more */
    int pending;              /* confirms, marks and follow-ups that must come before the ack */
    int conflicts;            /* rounds lost to other instances */
    int shortages;            /* rounds for which, alone, there was no memory */
    int64_t leave_at_boot_ms; /* end LEAVE or NEWER: when it goes back */
    bool is_held_as_newer;    /* it takes a place among the few that wait so */

    /* of the internal lane */
    struct mg_work *origin; /* whose ack waits for this */
    char order_id[MG_ORDER_ID_MAX + 1];
    char step[MG_NAME_MAX + 1];
    uint32_t attempt;
    enum mg_kind kind;
    enum mg_executed executed; /* NO: the broker surely does not have it */
    bool is_republished;       /* nobody knows whether the broker has it: it goes out once more */
};

struct mg_work_list {
    struct mg_work *first, *last;
    int count;
};

/* Everything in hand. */
struct mg_works {
    struct mg_work *all;
    int count;
    struct mg_work_list left; /* settled with LEAVE or NEWER, and to be given back later */
    /* A work is settled, and nothing of it is pending. The callback frees the work or keeps it. */
    void (*on_settled)(void *arg, struct mg_work *work);
    void *arg;
};

struct mg_work *mg_work_create(struct mg_works *works, enum mg_lane lane); /* NULL: no memory */
void mg_work_free(struct mg_works *works, struct mg_work *work);
void mg_work_hold(struct mg_work *work);                            /* one thing more before the ack */
void mg_work_release(struct mg_works *works, struct mg_work *work); /* may free it */
void mg_work_settle(struct mg_works *works, struct mg_work *work, enum mg_end end); /* may free it */
/* What follows from a cause that is settled, and not yet acked, cannot be done or stored: it is left, to come
 * again and re-create its effects (law 3, re-creation). NULL: there is no cause. */
void mg_work_give_up(struct mg_work *work);

/* It came with x-death through an exchange that proves its sender: it must not die so (route.c). */
bool mg_work_is_forged(const struct mg_work *work);

/* What becomes of a delivery that could not be read for a reason of this class. */
enum mg_end mg_end_of_unread(enum mg_class class);

void mg_work_list_append(struct mg_work_list *list, struct mg_work *work);
void mg_work_list_prepend(struct mg_work_list *list, struct mg_work *work);
struct mg_work *mg_work_list_pop(struct mg_work_list *list); /* NULL: it is empty */

#endif
