/*
 * Messages of a version above the reader's (law 13, nothing lost). They are given back, because another
 * instance may be able to read them. The number of returns is bounded, and so is their share of the reader's
 * prefetch. A quorum queue puts returned messages in front; other messages pass only while this process holds
 * the newer ones.
 */
#ifndef MG_CORE_NEWER_H
#define MG_CORE_NEWER_H

#include <stdint.h>

/* After this many deliveries no running instance can read the message. The queues' delivery limit is 20; a
 * message that the broker dead-letters carries no reason. */
#define MG_NEWER_DELIVERIES_MAX 15
/* Messages that wait to be given back take at most one in this many of the prefetch. */
#define MG_NEWER_SHARE 4

enum mg_newer {
    MG_NEWER_HOLD,      /* give it back after a while */
    MG_NEWER_GIVE_BACK, /* at once: the maximum is held already */
    MG_NEWER_SET_ASIDE, /* to the dead letters */
};

/* Decides about a message with `given_count` earlier deliveries, while `held` others wait here. A message
 * without room is given back until its deliveries reach `at_once_max`, then set aside. */
enum mg_newer mg_newer_judge(uint32_t given_count, int held, int prefetch, uint32_t at_once_max);

#endif
