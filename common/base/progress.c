/* See progress.h. */
#include "base/progress.h"

void mg_progress_look(struct mg_progress *progress, uint64_t ended, bool waits, int64_t now_boot_ms)
{
    if (!waits || ended != progress->ended) {
        progress->since_boot_ms = 0;
    } else if (progress->since_boot_ms == 0) {
        progress->since_boot_ms = now_boot_ms;
    }
    progress->ended = ended;
}

int64_t mg_progress_stands_ms(const struct mg_progress *progress, int64_t now_boot_ms)
{
    int64_t stands_ms = progress->since_boot_ms != 0 ? now_boot_ms - progress->since_boot_ms : 0;
    return stands_ms >= MG_STANDSTILL_AFTER_MS ? stands_ms : 0;
}
