/*
 * The submissions that this gateway has published in the last minutes, by order. The database learns of an
 * order only when a scheduler has taken it from the queue. Until then a repetition with other bytes, or by
 * another client, is detected here. Another gateway does not detect it, nor this one after a restart; the
 * scheduler then rejects the second submission.
 *
 * A table of fixed size, in which a new entry replaces an old one of the same place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"

#define PLACES  65536u                    /* 4 MB: 40 s at 1,500 orders a second */
#define KEPT_MS (INT64_C(10) * 60 * 1000) /* beyond any usual wait in the queue */

/* Digests are cut: collisions are out of reach all the same. */
struct entry {
    uint8_t order[16], client[16];
    uint8_t submission[16];
    int64_t at_ms; /* by the clock since boot; 0: free */
};

struct mg_recent {
    struct entry entries[PLACES];
};

struct mg_recent *mg_recent_create(void)
{
    return calloc(1, sizeof(struct mg_recent));
}

void mg_recent_destroy(struct mg_recent *recent)
{
    free(recent);
}

static struct entry *place_of(struct mg_recent *recent, const char *order_id, uint8_t ret_order[16])
{
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(mg_slice_of(order_id), digest);
    memcpy(ret_order, digest, 16);
    return &recent->entries[((size_t)digest[16] << 8 | digest[17]) % PLACES];
}

/* NULL: it is not known. */
static struct entry *entry_find(struct mg_recent *recent, const char *order_id)
{
    uint8_t order[16];
    struct entry *entry = place_of(recent, order_id, order);
    bool is_kept = entry->at_ms != 0 && mg_clock_boot_ms() - entry->at_ms <= KEPT_MS &&
                   memcmp(entry->order, order, sizeof(order)) == 0;
    return is_kept ? entry : NULL;
}

static bool is_of(const struct entry *entry, const char *client)
{
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(mg_slice_of(client), digest);
    return memcmp(entry->client, digest, sizeof(entry->client)) == 0;
}

bool mg_recent_is_other(struct mg_recent *recent, const char *client, const char *order_id,
                        const uint8_t digest[MG_SHA256_SIZE])
{
    const struct entry *entry = entry_find(recent, order_id);
    return entry != NULL &&
           (!is_of(entry, client) || memcmp(entry->submission, digest, sizeof(entry->submission)) != 0);
}

bool mg_recent_has(struct mg_recent *recent, const char *client, const char *order_id)
{
    const struct entry *entry = entry_find(recent, order_id);
    return entry != NULL && is_of(entry, client);
}

void mg_recent_note(struct mg_recent *recent, const char *client, const char *order_id,
                    const uint8_t digest[MG_SHA256_SIZE])
{
    uint8_t order[16], client_digest[MG_SHA256_SIZE];
    struct entry *entry = place_of(recent, order_id, order);
    mg_sha256(mg_slice_of(client), client_digest);
    memcpy(entry->order, order, sizeof(entry->order));
    memcpy(entry->client, client_digest, sizeof(entry->client));
    memcpy(entry->submission, digest, sizeof(entry->submission));
    entry->at_ms = mg_clock_boot_ms();
}

void mg_recent_forget(struct mg_recent *recent, const char *client, const char *order_id)
{
    struct entry *entry = entry_find(recent, order_id);
    if (entry != NULL && is_of(entry, client)) {
        entry->at_ms = 0;
    }
}
