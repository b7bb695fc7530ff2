/*
 * How many calls one process makes at a time and per second for one service, and which of two waiting lines
 * is served next. Pure: the time comes in as an argument.
 */
#ifndef MG_SERVING_LIMITER_H
#define MG_SERVING_LIMITER_H

#include <stdbool.h>
#include <stdint.h>

/* After this many high jobs in a row a waiting normal one is taken: high goes first, and normal still
 * moves. */
#define MG_HIGH_RUN_MAX 4

struct mg_limiter {
    int concurrency, in_flight;
    double rate_per_s; /* 0: no limit */
    double tokens, tokens_max;
    int64_t refilled_ms;
    int high_run;
};

void mg_limiter_init(struct mg_limiter *limiter, int concurrency, double rate_per_s, int64_t now_ms);

/* Sets other limits. Calls under way beyond them end by themselves. */
void mg_limiter_limit(struct mg_limiter *limiter, int concurrency, double rate_per_s, int64_t now_ms);

/* 0: a call may begin now. Above 0: ask again in that many ms. -1: all slots are taken. */
int64_t mg_limiter_wait_ms(struct mg_limiter *limiter, int64_t now_ms);
void mg_limiter_take(struct mg_limiter *limiter); /* after wait_ms returned 0 */
void mg_limiter_release(struct mg_limiter *limiter);

/* Which line is next; at least one must have a waiting job. */
bool mg_limiter_next_is_high(struct mg_limiter *limiter, bool has_high, bool has_normal);

/* How many messages to hold at once: one for each slot, and some for replies on their way. At most a second
 * of a limited rate is held, so that messages do not wait here while another instance could serve them. */
uint16_t mg_limiter_prefetch(const struct mg_limiter *limiter);

#endif
