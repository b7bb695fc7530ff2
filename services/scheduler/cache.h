/* Orders as this process wrote them last. */
#ifndef MG_SCHEDULER_CACHE_H
#define MG_SCHEDULER_CACHE_H

#include "base/buf.h"
#include "io/store/store.h"

#define MG_CACHE_HEADS 4096 /* a power of two; some thousand orders are in it */
struct mg_cached;
struct mg_cache {
    struct mg_cached *heads[MG_CACHE_HEADS];
    struct mg_cached *oldest, *newest;
    size_t bytes, bytes_max;
};

/* An order that ended elsewhere may leave for the archive a day later (MG_HOT_MIN_MS), and its id be that of
 * a new one, with the same versions: so what was written longer ago is forgotten. */
#define MG_CACHE_AGE_MAX_MS (INT64_C(3600) * 1000)
/* Some thousand orders of a few KiB, as many as are under way at full load. What is above is read again. */
#define MG_CACHE_MAX_BYTES ((size_t)16 * 1024 * 1024)
/* One block of memory, to be freed with free(). NULL: this process did not write it, or not lately. */
struct mg_cached *mg_cache_take(struct mg_cache *cache, const char *order_id, int64_t now_boot_ms);
/* The record in `arena`, its texts in `cached`; NULL: no memory. Of its steps' names and services nothing is
 * kept: they are the workflow's. */
struct mg_order_record *mg_cached_record(const struct mg_cached *cached, struct mg_arena *arena);
/* Keeps a copy of what has just been written; the order must not be in the cache. */
void mg_cache_put(struct mg_cache *cache, struct mg_order_record *record, int64_t now_boot_ms);
void mg_cache_clear(struct mg_cache *cache);
uint32_t mg_order_hash(const char *order_id);

#endif
