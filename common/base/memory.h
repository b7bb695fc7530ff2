/* The memory limit of this process, and the share of it for messages. */
#ifndef MG_BASE_MEMORY_H
#define MG_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The least limit in bytes, of the process's control groups (v1 and v2) and of the machine's memory. `root`
 * is the mount point of control groups and `self` the list of this process's groups; NULL: Linux's defaults.
 * An unreadable limit is no limit. */
int64_t mg_memory_limit(const char *root, const char *self);

/* Below this a message of the largest size would hardly fit alongside the data made from it. */
#define MG_MEMORY_BUDGET_MIN (16 * 1024 * 1024)
/* The default's maximum on a large machine: beyond this, larger batches gain nothing. */
#define MG_MEMORY_BUDGET_DEFAULT_MAX (512 * 1024 * 1024)

/* The bytes for messages and the data made from them: `asked`, or for 0 half of `limit`. The other half is
 * for the process itself, for buffers of connections, and for bursts. */
size_t mg_memory_budget(int64_t asked, int64_t limit);

/* Large pieces return to the system as soon as they are freed, regardless of earlier frees. */
void mg_memory_settle(void);

#endif
