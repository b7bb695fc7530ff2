/*
 * The submissions that this gateway has published in the last minutes, by order. The database learns of an
 * order only when a scheduler has taken it from the queue. Until then a repetition with other bytes, or by
 * another client, is detected here. Another gateway does not detect it, nor this one after a restart; the
 * scheduler then rejects the second submission.
 *
 * A ring, in which a new order replaces the oldest, with chains of equal hashes through it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"

#define PLACES  MG_RECENT_MAX
#define CHAINS  PLACES
#define KEPT_MS (INT64_C(10) * 60 * 1000) /* beyond any usual wait in the queue */

/* Digests are cut: collisions are out of reach all the same. */
struct entry {
    uint8_t order[16], client[16];
    uint8_t submission[16];
    int64_t at_ms;      /* of the last post, by the clock since boot */
    uint32_t posts;     /* that may be in the queue; 0: free */
    struct entry *next; /* in its chain */
};

struct mg_recent {
    struct entry ring[PLACES];
    struct entry *chains[CHAINS];
    size_t oldest;
};

struct mg_recent *mg_recent_create(void)
{
    return calloc(1, sizeof(struct mg_recent));
}

void mg_recent_destroy(struct mg_recent *recent)
{
    free(recent);
}

static struct entry **chain_of(struct mg_recent *recent, const uint8_t order[16])
{
    uint32_t hash;
    memcpy(&hash, order, sizeof(hash));
    return &recent->chains[hash % CHAINS];
}

static void digest_make(const char *text, uint8_t ret_digest[16])
{
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(mg_slice_of(text), digest);
    memcpy(ret_digest, digest, 16);
}

/* NULL: it is not known. */
static struct entry *entry_find(struct mg_recent *recent, const char *order_id)
{
    uint8_t order[16];
    digest_make(order_id, order);
    for (struct entry *entry = *chain_of(recent, order); entry != NULL; entry = entry->next) {
        if (memcmp(entry->order, order, sizeof(order)) == 0) {
            return mg_clock_boot_ms() - entry->at_ms <= KEPT_MS ? entry : NULL;
        }
    }
    return NULL;
}

static void entry_remove(struct mg_recent *recent, struct entry *entry)
{
    struct entry **link = chain_of(recent, entry->order);
    while (*link != entry) {
        link = &(*link)->next;
    }
    *link = entry->next;
    *entry = (struct entry){.posts = 0};
}

static struct entry *entry_add(struct mg_recent *recent, const char *client, const char *order_id,
                               const uint8_t digest[MG_SHA256_SIZE])
{
    struct entry *entry = &recent->ring[recent->oldest];
    recent->oldest = (recent->oldest + 1) % PLACES;
    if (entry->posts > 0) {
        entry_remove(recent, entry);
    }
    digest_make(order_id, entry->order);
    digest_make(client, entry->client);
    memcpy(entry->submission, digest, sizeof(entry->submission));
    struct entry **chain = chain_of(recent, entry->order);
    entry->next = *chain;
    *chain = entry;
    return entry;
}

static bool is_of(const struct entry *entry, const char *client)
{
    uint8_t digest[16];
    digest_make(client, digest);
    return memcmp(entry->client, digest, sizeof(digest)) == 0;
}

static bool is_same(const struct entry *entry, const char *client, const uint8_t digest[MG_SHA256_SIZE])
{
    return is_of(entry, client) && memcmp(entry->submission, digest, sizeof(entry->submission)) == 0;
}

bool mg_recent_is_other(struct mg_recent *recent, const char *client, const char *order_id,
                        const uint8_t digest[MG_SHA256_SIZE])
{
    const struct entry *entry = entry_find(recent, order_id);
    return entry != NULL && !is_same(entry, client, digest);
}

bool mg_recent_has(struct mg_recent *recent, const char *client, const char *order_id)
{
    const struct entry *entry = entry_find(recent, order_id);
    return entry != NULL && is_of(entry, client);
}

void mg_recent_note(struct mg_recent *recent, const char *client, const char *order_id,
                    const uint8_t digest[MG_SHA256_SIZE])
{
    struct entry *entry = entry_find(recent, order_id);
    if (entry == NULL) {
        entry = entry_add(recent, client, order_id, digest);
    }
    entry->posts++;
    entry->at_ms = mg_clock_boot_ms();
}

void mg_recent_forget(struct mg_recent *recent, const char *client, const char *order_id)
{
    struct entry *entry = entry_find(recent, order_id);
    if (entry != NULL && is_of(entry, client) && --entry->posts == 0) {
        entry_remove(recent, entry);
    }
}
