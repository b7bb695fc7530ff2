/*
 * Messages that may be what ends their handlers (law 13, nothing lost). When a process ends, all that it has
 * in hand counts one delivery more, up to the limit at which the broker sets messages aside; so little may be
 * in hand beside a suspect. What may be consumed follows from what is in hand:
 *
 * A queue gives first what came back. So each consumer begins with one message at a time, and goes on so
 * until one comes that is no suspect. While a suspect is in hand, no consumer has more than one. Most
 * suspects are innocent (a store that was away has them given back by each scheduler in turn). One that comes
 * again all the same is isolated: nothing is consumed until it has ended.
 */
#ifndef MG_CORE_SUSPECTS_H
#define MG_CORE_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

/* From here on a message is a suspect: it may be what made two handlers fail. */
#define MG_SUSPECT_COUNT 2
/* From here on it is isolated. Low enough that its neighbours are far from the queues' limit of 20. */
#define MG_ISOLATED_COUNT 5
/* Consumers of one process, at most. */
#define MG_SUSPECT_CONSUMERS_MAX 32

enum mg_suspicion {
    MG_SUSPECT_NOT,
    MG_SUSPECT_BESIDE, /* one message of each queue may be in hand beside it */
    MG_SUSPECT_ISOLATED,
};

struct mg_suspects { /* zeroed: at the start */
    int in_hand;     /* isolated ones, too */
    int isolated;
    bool is_trusted[MG_SUSPECT_CONSUMERS_MAX]; /* what came last was no suspect */
};

enum mg_suspicion mg_suspects_judge(uint32_t delivery_count);
/* Both: true if the prefetches are others now. */
bool mg_suspects_came(struct mg_suspects *suspects, int consumer, enum mg_suspicion suspicion);
bool mg_suspects_ended(struct mg_suspects *suspects, enum mg_suspicion suspicion);
/* How many messages a consumer may have in hand that would otherwise have `prefetch`; 0: it is to pause. */
uint16_t mg_suspects_prefetch(const struct mg_suspects *suspects, int consumer, uint16_t prefetch);

#endif
