/*
 * A piece of work: a delivery, or a request that could not be published, from its arrival to its ack. It ends
 * when it is settled and none of its consequences is pending. All stages depend on this file; it calls none
 * of them.
 */
#ifndef MG_SCHEDULER_WORK_H
#define MG_SCHEDULER_WORK_H

#include <sys/queue.h>

#include "base/buf.h"
#include "core/model.h"
#include "core/suspects.h"
#include "io/amqp/broker.h"

/* The lists in which work waits. The first five are the broker's consumers, in this order. */
enum mg_lane {
    MG_LANE_REPLIES,
    MG_LANE_COMMANDS,
    MG_LANE_SIGNALS,
    MG_LANE_HIGH,
    MG_LANE_NORMAL,
    MG_LANE_INTERNAL, /* requests that the broker did not confirm */
    MG_LANE_COUNT
};
#define MG_LANE_CONSUMERS MG_LANE_INTERNAL

enum mg_end {
    MG_END_ACK,
    MG_END_REJECT, /* to the dead-letter exchange */
    MG_END_LEAVE,  /* no memory, or it cannot be stored now: requeued later */
    MG_END_NEWER,  /* of a newer version: for another instance, while there may be one */
};

/* The messages that follow from work. */
enum mg_send_kind {
    MG_SEND_REQUEST,
    MG_SEND_STATUS,
    MG_SEND_ALERT,    /* also stored in operator_alert */
    MG_SEND_REJECTED, /* a refused submission for orders.rejected, or a forged message for dead.letters */
    MG_SEND_TURN,   /* to an order that has its turn in line; the turn stays in the store until it is taken */
    MG_SEND_RESULT, /* an answer to a command, or a status about no order: best effort, never owed */
    MG_SEND_KIND_COUNT
};

struct mg_fire; /* slot_fire.h */

struct mg_work {
    struct mg_work *next;      /* in its list */
    LIST_ENTRY(mg_work) entry; /* among all work in hand */
    enum mg_lane lane;
    struct mg_delivery *delivery; /* NULL in the internal lane */
    bool is_again;                /* law 3, re-creation: may have been committed before */
    enum mg_suspicion suspicion;
    bool is_alone;       /* may fail its neighbours: gets a batch of its own */
    bool is_guess_wrong; /* its order is read before the next decision */
    bool is_settled;
    enum mg_end end;          /* applies to the delivery once nothing is pending */
    int pending;              /* confirms, marks and follow-ups that the ack waits for */
    int conflicts;            /* rounds lost to other instances */
    int shortages;            /* rounds without enough memory, alone in its batch */
    int64_t leave_at_boot_ms; /* end LEAVE or NEWER: time of the requeue */
    bool is_held_as_newer;    /* counted in mg_newer_queue.held_count */
    /* Of a command that fires a slot, once it is asked for; in `memory`, which is the work's own. NULL: none.
     */
    struct mg_fire *fire;
    struct mg_arena *memory;

    /* of the internal lane */
    struct mg_work *origin; /* its ack waits for this work */
    char order_id[MG_ORDER_ID_MAX + 1];
    char step[MG_NAME_MAX + 1];
    uint32_t attempt;
    enum mg_kind kind;
    enum mg_executed executed;     /* NO: the broker certainly does not have it */
    bool is_republished;           /* outcome unknown: the request is published once more */
    struct mg_keyed_signal *keyed; /* it is no request, but a kept signal for its order; owned */
    bool is_cancel;                /* no request: the order is cancelled, for a later slot of its schedule */
};

struct mg_work_list {
    struct mg_work *first, *last;
    int count;
};

/* All work in hand. */
struct mg_works {
    LIST_HEAD(, mg_work) all;
    int count;
    struct mg_work_list left; /* settled with LEAVE or NEWER, to be requeued later */
    int apart_count;          /* with orders that wait by themselves (aside.h) */
    /* A work is settled and nothing of it is pending. The callback frees or keeps it. */
    void (*on_settled)(void *arg, struct mg_work *work);
    void *arg;
};

struct mg_work *mg_work_create(struct mg_works *works, enum mg_lane lane); /* NULL: no memory */
void mg_work_free(struct mg_works *works, struct mg_work *work);
void mg_work_hold(struct mg_work *work);                            /* one more condition of the ack */
void mg_work_release(struct mg_works *works, struct mg_work *work); /* may free it */
void mg_work_settle(struct mg_works *works, struct mg_work *work, enum mg_end end); /* may free it */
/* A consequence of a settled, unacked cause cannot be done or stored. The cause is left: its redelivery
 * re-creates the effects (law 3, re-creation). NULL: there is no cause. */
void mg_work_give_up(struct mg_work *work);

/* True if it carries x-death and came through an exchange that proves its sender. Such a message must not
 * be dead-lettered as it is (route.c). */
bool mg_work_is_forged(const struct mg_work *work);

/* The end of a delivery that could not be read, by the class of the error. */
enum mg_end mg_end_of_unread(enum mg_class class);

void mg_work_list_append(struct mg_work_list *list, struct mg_work *work);
void mg_work_list_prepend(struct mg_work_list *list, struct mg_work *work);
struct mg_work *mg_work_list_pop(struct mg_work_list *list); /* NULL: it is empty */

#endif
