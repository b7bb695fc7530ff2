/*
 * The submissions that this gateway has published in the last minutes, by client and order. The database
 * learns of an order only when a scheduler has taken it from the queue. Until then a repetition with other
 * bytes is detected here. Another gateway does not detect it; the scheduler then rejects the second
 * submission.
 *
 * A table of fixed size, in which a new entry replaces an old one of the same place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gateway/call.h"

#define PLACES         65536u                    /* 3 MB: 40 s at 1,500 orders a second */
#define KEPT_MS        (INT64_C(10) * 60 * 1000) /* beyond any usual wait in the queue */
#define NAME_MAX_BYTES 256

struct entry {
    uint8_t identity[16]; /* of client and order */
    uint8_t digest[16];   /* of the submission; collisions are out of reach */
    int64_t at_ms;        /* by the clock since boot; 0: free */
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

static size_t place_of(const char *client, const char *order_id, uint8_t ret_identity[16])
{
    char name[NAME_MAX_BYTES];
    uint8_t digest[MG_SHA256_SIZE];
    struct mg_buf text;
    mg_buf_init_fixed(&text, name, sizeof(name));
    mg_buf_printf(&text, "%s %s", client, order_id); /* neither has a blank */
    mg_sha256(mg_buf_slice(&text), digest);
    memcpy(ret_identity, digest, 16);
    return ((size_t)digest[16] << 8 | digest[17]) % PLACES;
}

static const struct entry *entry_find(const struct mg_recent *recent, const char *client,
                                      const char *order_id)
{
    uint8_t identity[16];
    const struct entry *entry = &recent->entries[place_of(client, order_id, identity)];
    bool is_kept = entry->at_ms != 0 && mg_clock_boot_ms() - entry->at_ms <= KEPT_MS &&
                   memcmp(entry->identity, identity, sizeof(identity)) == 0;
    return is_kept ? entry : NULL;
}

enum mg_recent_match mg_recent_match(const struct mg_recent *recent, const char *client, const char *order_id,
                                     const uint8_t digest[MG_SHA256_SIZE])
{
    const struct entry *entry = entry_find(recent, client, order_id);
    if (entry == NULL) {
        return MG_RECENT_NONE;
    }
    return memcmp(entry->digest, digest, sizeof(entry->digest)) == 0 ? MG_RECENT_SAME : MG_RECENT_OTHER;
}

bool mg_recent_has(const struct mg_recent *recent, const char *client, const char *order_id)
{
    return entry_find(recent, client, order_id) != NULL;
}

void mg_recent_note(struct mg_recent *recent, const char *client, const char *order_id,
                    const uint8_t digest[MG_SHA256_SIZE])
{
    uint8_t identity[16];
    struct entry *entry = &recent->entries[place_of(client, order_id, identity)];
    memcpy(entry->identity, identity, sizeof(identity));
    memcpy(entry->digest, digest, sizeof(entry->digest));
    entry->at_ms = mg_clock_boot_ms();
}

void mg_recent_forget(struct mg_recent *recent, const char *client, const char *order_id)
{
    uint8_t identity[16];
    struct entry *entry = &recent->entries[place_of(client, order_id, identity)];
    if (memcmp(entry->identity, identity, sizeof(identity)) == 0) {
        entry->at_ms = 0;
    }
}
