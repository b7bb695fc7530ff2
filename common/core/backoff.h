/* How long to wait before the next attempt: exponential, full jitter, capped; a service's Retry-After is
 * honoured. */
#ifndef MG_CORE_BACKOFF_H
#define MG_CORE_BACKOFF_H

#include <stdint.h>

/* The longest a Retry-After can hold up a step; beyond this a cool-down is the right tool. */
#define MG_RETRY_AFTER_MAX_MS (10 * 60 * 1000)

/*
 * A moment between 0 and min(max_ms, base_ms * 2^failures), evenly by `random`, at least 1 ms; but no sooner
 * than `retry_after_ms` (-1: none), clamped to MG_RETRY_AFTER_MAX_MS. `failures` counts from 0.
 */
int64_t mg_backoff_ms(int64_t base_ms, int64_t max_ms, uint32_t failures, int64_t retry_after_ms,
                      uint64_t random);

#endif
