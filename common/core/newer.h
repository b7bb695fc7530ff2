/*
 * Messages of a version above the reader's (law 13, nothing lost). Another instance may be able to read them,
 * so they are given back; but a bounded number of times, and without filling the reader's prefetch: a quorum
 * queue puts what comes back in front, so that what a process holds of them is all that lets other messages
 * pass.
 */
#ifndef MG_CORE_NEWER_H
#define MG_CORE_NEWER_H

#include <stdint.h>

/* After so many deliveries no running instance can read it. The queues' delivery limit is 20, and a message
 * that is ended by the broker is one of which nobody said why. */
#define MG_NEWER_DELIVERIES_MAX 15
/* One in so many of the prefetch may be a message that waits to be given back. */
#define MG_NEWER_SHARE 4

enum mg_newer {
    MG_NEWER_HOLD,      /* give it back after a while */
    MG_NEWER_GIVE_BACK, /* at once: there are too many to hold */
    MG_NEWER_SET_ASIDE, /* to the dead letters */
};

/* What becomes of one that was given out `given_count` times before, while `held` others wait here.
 * `at_once_max`: what finds no room among those is given back until it was given out so often. */
enum mg_newer mg_newer_judge(uint32_t given_count, int held, int prefetch, uint32_t at_once_max);

#endif
