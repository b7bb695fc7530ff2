/*
 * Shrinks a failing run: fewer orders, and without each fault that it does not need. Dropping a fault changes
 * the later draws, so this is a search and no proof. The final run violates the same invariant.
 */
#include <stdio.h>
#include <string.h>

#include "run.h"

static bool still_fails(const struct sim_options *options, const char *violated)
{
    struct sim_result result;
    sim_run(options, &result);
    return strcmp(result.violated, violated) == 0;
}

void sim_shrink(const struct sim_options *options, const struct sim_result *result)
{
    struct sim_options least = *options;
    least.is_traced = false;
    least.faults = result->faults;
    while (least.orders > 1) {
        struct sim_options fewer = least;
        fewer.orders = least.orders / 2;
        if (!still_fails(&fewer, result->violated)) {
            break;
        }
        least = fewer;
    }
    for (int i = 0; i < SIM_FAULT_COUNT; i++) {
        struct sim_options fewer = least;
        fewer.faults &= ~(UINT64_C(1) << i);
        if (fewer.faults != least.faults && still_fails(&fewer, result->violated)) {
            least = fewer;
        }
    }
    struct sim_result small;
    sim_run(&least, &small);
    (void)printf("  shrunk to: %s: %s\n    ", small.violated, small.what);
    sim_print_command(&least);
}
