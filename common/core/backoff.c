/* Exponential backoff with full jitter. */
#include "core/backoff.h"

int64_t mg_backoff_ms(int64_t base_ms, int64_t max_ms, uint32_t failures, int64_t retry_after_ms,
                      uint64_t random)
{
    int64_t ceiling = base_ms < 1 ? 1 : base_ms;
    for (uint32_t i = 0; i < failures && ceiling < max_ms; i++) {
        ceiling = ceiling > INT64_MAX / 2 ? max_ms : ceiling * 2;
    }
    if (max_ms >= 1 && ceiling > max_ms) {
        ceiling = max_ms;
    }
    int64_t wait_ms = 1 + (int64_t)(random % (uint64_t)ceiling);
    if (retry_after_ms > MG_RETRY_AFTER_MAX_MS) {
        retry_after_ms = MG_RETRY_AFTER_MAX_MS;
    }
    return wait_ms < retry_after_ms ? retry_after_ms : wait_ms;
}
