/*
 * A process that has come to rest gives back what its load needed. The allocator keeps what was freed, for
 * the next to ask; under load that is right, afterwards it is megabytes for nobody.
 */
#ifndef MG_BASE_REST_H
#define MG_BASE_REST_H

#include <stdbool.h>
#include <stdint.h>

/* Nothing done for so long is rest: longer than any pause within a load, and than a batch that fails and is
 * tried again. To come back from it costs a page fault for each page that is used again, some 2 ms in all. */
#define MG_REST_AFTER_MS 2000

/* All zero at first. */
struct mg_rest {
    uint64_t work; /* as told last */
    int64_t since_boot_ms;
    bool is_at_rest;
};

/* To be called every now and then with the number of all pieces of work so far, whatever is counted. When
 * that has stood still for long enough, free memory goes back to the system; once, until there is work again.
 */
void mg_rest_look(struct mg_rest *rest, uint64_t work, int64_t now_boot_ms);

#endif
