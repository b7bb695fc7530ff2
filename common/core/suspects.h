/*
 * Messages that may be the cause of crashed handlers (law 13, nothing lost). When a process ends, each
 * message in hand counts one more delivery, up to the limit at which the broker sets it aside. So few
 * messages may be in hand alongside a suspect. The messages in hand determine the prefetches:
 *
 * A queue delivers returned messages first. So each consumer begins with one message at a time, until one
 * comes that is no suspect. While a suspect is in hand, each consumer has at most one message. Most suspects
 * are innocent: each scheduler in turn gives them back while the store is away. A suspect that is
 * redelivered after that is isolated: nothing is consumed until it has ended.
 */
#ifndef MG_CORE_SUSPECTS_H
#define MG_CORE_SUSPECTS_H

#include <stdbool.h>
#include <stdint.h>

/* From this delivery count on a message is a suspect: it may have crashed two handlers. */
#define MG_SUSPECT_COUNT 2
/* From this count on it is isolated. Low enough that its neighbours stay far below the queues' limit of
 * 20. */
#define MG_ISOLATED_COUNT 5
/* Maximum of consumers of one process. */
#define MG_SUSPECT_CONSUMERS_MAX 32

enum mg_suspicion {
    MG_SUSPECT_NOT,
    MG_SUSPECT_BESIDE, /* one message of each queue may be in hand alongside it */
    MG_SUSPECT_ISOLATED,
};

struct mg_suspects { /* starts as all zero */
    int in_hand;     /* including isolated ones */
    int isolated;
    bool is_trusted[MG_SUSPECT_CONSUMERS_MAX]; /* its last message was no suspect */
};

enum mg_suspicion mg_suspects_judge(uint32_t delivery_count);
/* Both return true if the prefetches have changed. */
bool mg_suspects_came(struct mg_suspects *suspects, int consumer, enum mg_suspicion suspicion);
bool mg_suspects_ended(struct mg_suspects *suspects, enum mg_suspicion suspicion);
/* The prefetch of a consumer; `prefetch` is its normal value. 0: the consumer pauses. */
uint16_t mg_suspects_prefetch(const struct mg_suspects *suspects, int consumer, uint16_t prefetch);

#endif
