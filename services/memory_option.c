/* See memory_option.h. */
#include "memory_option.h"

#include <inttypes.h>

enum mg_class mg_memory_option_check(int64_t asked, size_t *ret_bytes, struct mg_err *err)
{
    if (asked > 0 && asked < MG_MEMORY_BUDGET_MIN) {
        return mg_err_set(err, MG_BAD_INPUT, "--memory-budget %" PRId64 ": expected 0, or %d and more", asked,
                          MG_MEMORY_BUDGET_MIN);
    }
    *ret_bytes = mg_memory_budget(asked, mg_memory_limit(NULL, NULL));
    return MG_OK;
}
