/* The wait before the next attempt: exponential, with full jitter, capped. A service's Retry-After is
 * respected. */
#ifndef MG_CORE_BACKOFF_H
#define MG_CORE_BACKOFF_H

#include <stdint.h>

/* The longest Retry-After, as in a reply. An order's time is shorter. */
#define MG_RETRY_AFTER_MAX_MS (365 * INT64_C(24) * 3600 * 1000)
/* Where no time of an order or of accepted work bounds the wait. A moment in place of seconds, a common
 * mistake, costs an hour so, and a service that means longer is asked hourly, within the step's attempts. */
#define MG_RETRY_AFTER_UNBOUNDED_MS (INT64_C(3600) * 1000)

/*
 * Returns a wait between 0 and min(max_ms, base_ms * 2^failures), uniform by `random`, at least 1 ms. It is
 * never below `retry_after_ms` (-1: none), clamped to MG_RETRY_AFTER_MAX_MS. `failures` counts from 0.
 */
int64_t mg_backoff_ms(int64_t base_ms, int64_t max_ms, uint32_t failures, int64_t retry_after_ms,
                      uint64_t random);

#endif
