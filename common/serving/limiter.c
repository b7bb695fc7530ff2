/* See limiter.h. */
#include "limiter.h"

#include <assert.h>

#include "io/amqp/broker.h"

/* A burst of a tenth of a second smooths the grain of timers and does not burden the remote. */
#define BURST_S 0.1
/* At a rate near zero the wait for a token overflows an integer; the caller asks again after this time. */
#define WAIT_MAX_MS 60000

/* Requests held alongside each one that is called. From HELD_IN_FULL_FROM slots on the number is full, below
 * that it falls: 24 alongside 32 slots, 3 alongside 16, none alongside 8. A request holds no slot while its
 * reply waits for the confirm, or its ack waits to be sent (amqp/delivery.c). Under load that takes some five
 * times as long as a short call. An agent that holds too few leaves the machine idle while its queue is long.
 * But a request held here cannot go to an agent with free slots, and a service with few calls at once has
 * long ones. At most HELD_MAX requests are on that way at a time: it takes some 50 ms, and no process makes
 * 10,000 calls a second. */
#define HELD_PER_SLOT     3
#define HELD_IN_FULL_FROM 64
#define HELD_MAX          512

void mg_limiter_init(struct mg_limiter *limiter, int concurrency, double rate_per_s, int64_t now_ms)
{
    assert(concurrency > 0 && rate_per_s >= 0);
    double burst = rate_per_s * BURST_S;
    *limiter = (struct mg_limiter){
        .concurrency = concurrency,
        .rate_per_s = rate_per_s,
        .tokens_max = burst > 1 ? burst : 1,
        .refilled_ms = now_ms,
    };
    limiter->tokens = limiter->tokens_max;
}

void mg_limiter_limit(struct mg_limiter *limiter, int concurrency, double rate_per_s, int64_t now_ms)
{
    struct mg_limiter before = *limiter;
    mg_limiter_init(limiter, concurrency, rate_per_s, now_ms);
    limiter->in_flight = before.in_flight;
    limiter->high_run = before.high_run;
    if (before.rate_per_s > 0 && before.tokens < limiter->tokens) { /* a new limit is no new burst */
        limiter->tokens = before.tokens;
    }
}

int64_t mg_limiter_wait_ms(struct mg_limiter *limiter, int64_t now_ms)
{
    if (limiter->in_flight >= limiter->concurrency) {
        return -1;
    }
    if (limiter->rate_per_s <= 0) {
        return 0;
    }
    limiter->tokens += limiter->rate_per_s * (double)(now_ms - limiter->refilled_ms) / 1000.0;
    limiter->refilled_ms = now_ms;
    if (limiter->tokens > limiter->tokens_max) {
        limiter->tokens = limiter->tokens_max;
    }
    if (limiter->tokens >= 1) {
        return 0;
    }
    double wait_ms = (1 - limiter->tokens) * 1000.0 / limiter->rate_per_s;
    return wait_ms < WAIT_MAX_MS ? (int64_t)wait_ms + 1 : WAIT_MAX_MS;
}

void mg_limiter_take(struct mg_limiter *limiter)
{
    assert(limiter->in_flight < limiter->concurrency);
    limiter->in_flight++;
    if (limiter->rate_per_s > 0) {
        limiter->tokens -= 1;
    }
}

void mg_limiter_release(struct mg_limiter *limiter)
{
    assert(limiter->in_flight > 0);
    limiter->in_flight--;
}

bool mg_limiter_next_is_high(struct mg_limiter *limiter, bool has_high, bool has_normal)
{
    assert(has_high || has_normal);
    if (!has_high || (has_normal && limiter->high_run >= MG_HIGH_RUN_MAX)) {
        limiter->high_run = 0;
        return false;
    }
    limiter->high_run += has_normal ? 1 : 0;
    return true;
}

uint16_t mg_limiter_prefetch(const struct mg_limiter *limiter)
{
    int64_t slots = limiter->concurrency;
    int64_t held = HELD_PER_SLOT * slots;
    if (slots < HELD_IN_FULL_FROM) {
        held = held * slots * slots / (HELD_IN_FULL_FROM * HELD_IN_FULL_FROM);
    }
    int64_t prefetch = slots + (held < HELD_MAX ? held : HELD_MAX);
    if (limiter->rate_per_s > 0 && limiter->rate_per_s < (double)prefetch) {
        prefetch = (int64_t)limiter->rate_per_s;
    }
    if (prefetch < 1) {
        return 1;
    }
    return prefetch > MG_PREFETCH_MAX ? MG_PREFETCH_MAX : (uint16_t)prefetch;
}
