/*
 * How old the oldest message of a queue can be at most, for one who sees how many lie there and knows how
 * many were taken. No message need carry a time, and nobody's clock is trusted but this one.
 *
 * Each look is remembered with the number that must have been taken until all that lay there then are gone
 * (queues are first in, first out). The youngest look for which that has come bounds the age: what is first
 * in the queue now came later. While nothing is taken the bound grows. What lay there at the first look of
 * all came nobody knows when: as long as some of it may be left there is no bound, but the time since that
 * look. Of several who bound the same queue the least is right. Messages that were given back to the queue
 * count as new.
 */
#ifndef MG_BASE_QUEUE_AGE_H
#define MG_BASE_QUEUE_AGE_H

#include <stdbool.h>
#include <stdint.h>

/* When so many looks wait for their messages to be taken, every other one is forgotten: the bound is then as
 * coarse as they lie apart, some hundredths of the age. */
#define MG_QUEUE_LOOKS_MAX 64

struct mg_queue_age {
    struct mg_queue_look {
        int64_t at_ms;
        int64_t gone_at; /* all that lay there are gone when so many have been taken */
    } looks[MG_QUEUE_LOOKS_MAX];
    int count;     /* 0: nobody has looked yet */
    bool is_known; /* nothing is left of what lay there at the first look */
};

/* Notes a look and returns the bound, in ms; 0: the queue is empty. Until `is_known` it is the time since the
 * first look, and bounds only what came after it. `taken`: messages that have been taken since whenever,
 * rather too few than too many; `unsure`: how many of those that lay there may be counted in `taken` later,
 * though they were out of the queue (or not yet in it) at this look. */
int64_t mg_queue_age_look(struct mg_queue_age *age, int64_t now_ms, int64_t depth, int64_t taken,
                          int64_t unsure);

#endif
