/*
 * Orders as this process last wrote them, so that a reply to one needs no read. An entry is a guess: another
 * instance may have written since. So it serves only decisions that are written, because the guard of the
 * write detects a wrong guess (law 4, version guard). A cause with nothing to write, or one that is too late,
 * needs a read.
 *
 * Taking an order removes it, and its batch puts it back after the write. So there is no entry during a
 * write, or after one with an unknown result. The cache is cleared with each session of the store: after a
 * failover the store may have lost its last commits and taken others.
 */
#include "cache.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "io/store/columns.def"

/* `bytes` holds the record up to its `order`, then the order and the steps' records up to the last step.
 * After them stand the texts of all slices, each with a NUL. */
struct mg_cached {
    struct mg_cached *next;          /* of the same hash */
    struct mg_cached *older, *newer; /* in the order of writing */
    size_t size;
    int64_t put_boot_ms;
    char order_id[MG_ORDER_ID_MAX + 1];
    _Alignas(max_align_t) char bytes[];
};

#define HEAD_SIZE offsetof(struct mg_order_record, order)
static_assert(HEAD_SIZE % _Alignof(struct mg_order) == 0, "an order follows the head as it is");

#define ONE_TEXT(member)  +1
#define FIND_TEXT(member) *at = &(member), at += (member).data != NULL;
#define TEXTS_OF_ORDER    (0 MG_ORDER_COLUMNS(MG_TEXTS, ONE_TEXT) MG_PAYLOAD_COLUMNS(MG_TEXTS, ONE_TEXT))
#define TEXTS_OF_STEP     (0 MG_STEP_COLUMNS(MG_TEXTS, ONE_TEXT))
#define TEXTS_MAX         (TEXTS_OF_ORDER + TEXTS_OF_STEP * MG_STEPS_MAX)

/* Lists the present slices of a record, in an order that depends only on its number of steps. A copy of it
 * lists the same ones. Returns their number. */
static int texts_find(struct mg_order_record *record, struct mg_slice *ret_texts[TEXTS_MAX + 1])
{
    struct mg_slice **at = ret_texts;
    MG_ORDER_COLUMNS(MG_TEXTS, FIND_TEXT);
    MG_PAYLOAD_COLUMNS(MG_TEXTS, FIND_TEXT);
    for (int i = 0; i < record->order.step_count; i++) {
        struct mg_step_record *more = &record->steps[i];
        MG_STEP_COLUMNS(MG_TEXTS, FIND_TEXT);
    }
    return (int)(at - ret_texts);
}

uint32_t mg_order_hash(const char *order_id)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *at = order_id; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 16777619u;
    }
    return hash;
}

/* The link to an order's entry, or the end of its list. */
static struct mg_cached **place_of(struct mg_cache *cache, const char *order_id)
{
    struct mg_cached **at = &cache->heads[mg_order_hash(order_id) % MG_CACHE_HEADS];
    while (*at != NULL && strcmp((*at)->order_id, order_id) != 0) {
        at = &(*at)->next;
    }
    return at;
}

static struct mg_cached *entry_take(struct mg_cache *cache, const char *order_id)
{
    struct mg_cached **place = place_of(cache, order_id), *cached = *place;
    if (cached == NULL) {
        return NULL;
    }
    *place = cached->next;
    *(cached->older != NULL ? &cached->older->newer : &cache->oldest) = cached->newer;
    *(cached->newer != NULL ? &cached->newer->older : &cache->newest) = cached->older;
    cache->bytes -= cached->size;
    return cached;
}

struct mg_cached *mg_cache_take(struct mg_cache *cache, const char *order_id, int64_t now_boot_ms)
{
    struct mg_cached *cached = entry_take(cache, order_id);
    if (cached != NULL && now_boot_ms - cached->put_boot_ms > MG_CACHE_AGE_MAX_MS) {
        free(cached);
        return NULL;
    }
    return cached;
}

struct mg_order_record *mg_cached_record(const struct mg_cached *cached, struct mg_arena *arena)
{
    const char *at = cached->bytes;
    const struct mg_order *order = (const void *)(at + HEAD_SIZE);
    size_t steps_size = (size_t)order->step_count * sizeof(struct mg_step_record);
    /* Cut after its last step: clearing room for all possible ones costs more than the rest. */
    struct mg_order_record *record =
        mg_arena_alloc(arena, offsetof(struct mg_order_record, steps) + steps_size);
    if (record == NULL) {
        return NULL;
    }
    memcpy(record, at, HEAD_SIZE);
    at += HEAD_SIZE;
    record->labels = NULL; /* of another batch */
    record->label_count = 0;
    memcpy(&record->order, order, mg_order_size(order));
    at += mg_order_size(order);
    memcpy(record->steps, at, steps_size);
    at += steps_size;
    struct mg_slice *texts[TEXTS_MAX + 1]; /* the last is never filled */
    int text_count = texts_find(record, texts);
    for (int i = 0; i < text_count; i++) {
        texts[i]->data = at;
        at += texts[i]->len + 1;
    }
    return record;
}

static void newest_add(struct mg_cache *cache, struct mg_cached *cached)
{
    struct mg_cached **head = &cache->heads[mg_order_hash(cached->order_id) % MG_CACHE_HEADS];
    cached->next = *head;
    *head = cached;
    cached->older = cache->newest;
    *(cache->newest != NULL ? &cache->newest->newer : &cache->oldest) = cached;
    cache->newest = cached;
    cache->bytes += cached->size;
}

void mg_cache_put(struct mg_cache *cache, struct mg_order_record *record, int64_t now_boot_ms)
{
    size_t steps_size = (size_t)record->order.step_count * sizeof(record->steps[0]);
    size_t size = sizeof(struct mg_cached) + HEAD_SIZE + mg_order_size(&record->order) + steps_size;
    struct mg_slice *texts[TEXTS_MAX + 1]; /* the last is never filled */
    int text_count = texts_find(record, texts);
    for (int i = 0; i < text_count; i++) {
        size += texts[i]->len + 1;
    }
    struct mg_cached *cached = size <= cache->bytes_max ? malloc(size) : NULL;
    if (cached == NULL) { /* the order will be read */
        return;
    }
    *cached = (struct mg_cached){.size = size, .put_boot_ms = now_boot_ms};
    memcpy(cached->order_id, record->order_id, sizeof(cached->order_id));
    char *at = cached->bytes;
    memcpy(at, record, HEAD_SIZE);
    at += HEAD_SIZE;
    memcpy(at, &record->order, mg_order_size(&record->order));
    at += mg_order_size(&record->order);
    memcpy(at, record->steps, steps_size);
    at += steps_size;
    for (int i = 0; i < text_count; i++) {
        if (texts[i]->data != NULL) {
            memcpy(at, texts[i]->data, texts[i]->len);
            at[texts[i]->len] = '\0';
            at += texts[i]->len + 1;
        }
    }
    while (cache->bytes + size > cache->bytes_max) {
        free(entry_take(cache, cache->oldest->order_id));
    }
    newest_add(cache, cached);
}

void mg_cache_clear(struct mg_cache *cache)
{
    while (cache->oldest != NULL) {
        free(entry_take(cache, cache->oldest->order_id));
    }
}
