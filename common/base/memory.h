/* How much memory this process may have, and how much of it messages may take. */
#ifndef MG_BASE_MEMORY_H
#define MG_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The least limit among those of the process's control groups (v1 and v2) and the machine's memory, in bytes.
 * `root` is where control groups are mounted and `self` the list of those that the process is in; NULL: as
 * Linux has them. What cannot be read is no limit. */
int64_t mg_memory_limit(const char *root, const char *self);

/* Below this a message of the largest size would hardly fit beside what is made of it. */
#define MG_MEMORY_BUDGET_MIN (16 * 1024 * 1024)
/* Of a large machine no process takes more unasked: beyond this, larger batches gain nothing. */
#define MG_MEMORY_BUDGET_DEFAULT_MAX (512 * 1024 * 1024)

/* The bytes that messages, and what is made of them, may take: `asked`, or for 0 half of `limit`. The other
 * half is for what a process has without any message, for its connections' buffers, and for what a limit is
 * there to spare: a burst. */
size_t mg_memory_budget(int64_t asked, int64_t limit);

/* Large pieces go back to the system as soon as they are freed, whatever was freed before. */
void mg_memory_settle(void);

#endif
