/*
 * A process at rest gives back the memory that its load needed. The allocator keeps freed memory for the next
 * request. Under load that is right; afterwards it is megabytes without use.
 */
#ifndef MG_BASE_REST_H
#define MG_BASE_REST_H

#include <stdbool.h>
#include <stdint.h>

/* Without work for this long a process is at rest: longer than any pause within a load, and than a failed
 * batch with its retry. Leaving rest costs a page fault for each page that is used again, some 2 ms in
 * all. */
#define MG_REST_AFTER_MS 2000

/* Starts as all zero. */
struct mg_rest {
    uint64_t work; /* count of the last call */
    int64_t since_boot_ms;
    bool is_at_rest;
};

/* Call it regularly with the total count of any kind of work. When the count has not changed for
 * MG_REST_AFTER_MS, free memory goes back to the system, once for each rest. */
void mg_rest_look(struct mg_rest *rest, uint64_t work, int64_t now_boot_ms);

#endif
