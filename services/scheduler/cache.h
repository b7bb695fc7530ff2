/* Orders as this process last wrote them. */
#ifndef MG_SCHEDULER_CACHE_H
#define MG_SCHEDULER_CACHE_H

#include "base/buf.h"
#include "io/store/store.h"

#define MG_CACHE_HEADS 4096 /* a power of two; the cache holds some thousand orders */
struct mg_cached;
struct mg_cache {
    struct mg_cached *heads[MG_CACHE_HEADS];
    struct mg_cached *oldest, *newest;
    size_t bytes, bytes_max;
};

/* Older entries are dropped. An order that ended elsewhere may be archived a day later (MG_HOT_MIN_MS),
 * and its id may return as a new order with the same versions. */
#define MG_CACHE_AGE_MAX_MS (INT64_C(3600) * 1000)
/* Some thousand orders of a few KiB, as many as are under way at full load. Others are read again. */
#define MG_CACHE_MAX_BYTES ((size_t)16 * 1024 * 1024)
/* Removes an entry: one block of memory, which the caller frees with free(). NULL: this process did not
 * write the order, or not lately. */
struct mg_cached *mg_cache_take(struct mg_cache *cache, const char *order_id, int64_t now_boot_ms);
/* The record, in `arena`; its texts stay in `cached`. NULL: no memory. Names and services of the steps are
 * absent: they belong to the workflow. */
struct mg_order_record *mg_cached_record(const struct mg_cached *cached, struct mg_arena *arena);
/* Keeps a copy of an order just written. The order must not be in the cache. */
void mg_cache_put(struct mg_cache *cache, struct mg_order_record *record, int64_t now_boot_ms);
void mg_cache_clear(struct mg_cache *cache);
uint32_t mg_order_hash(const char *order_id);

#endif
