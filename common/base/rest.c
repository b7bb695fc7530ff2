/* See rest.h. Without malloc_trim(3) glibc gives back only the very end of the heap. */
#include "base/rest.h"

#include <malloc.h>

void mg_rest_look(struct mg_rest *rest, uint64_t work, int64_t now_boot_ms)
{
    if (rest->work != work) {
        *rest = (struct mg_rest){.work = work, .since_boot_ms = now_boot_ms};
    } else if (!rest->is_at_rest && now_boot_ms - rest->since_boot_ms >= MG_REST_AFTER_MS) {
        rest->is_at_rest = true;
        (void)malloc_trim(0);
    }
}
