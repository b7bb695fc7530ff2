/* See unanswered.h. */
#include "io/amqp/unanswered.h"

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
#define FNV_OFFSET 14695981039346656037U
#define FNV_PRIME  1099511628211U

static uint64_t hash_append(uint64_t hash, struct mg_slice text)
{
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * FNV_PRIME;
    return (hash ^ 0xFFU) * FNV_PRIME; /* 0xFF ends the text: no UTF-8 has this byte */
}

static int queue_find(const struct mg_unanswered *unanswered, struct mg_slice exchange,
                      struct mg_slice routing_key)
{
    if (unanswered->count == 0) return -1;
    uint64_t hash = hash_append(hash_append(FNV_OFFSET, exchange), routing_key);
    for (int i = 0; i < unanswered->count; i++) {
        if (unanswered->queues[i] == hash) return i;
    }
    return -1;
}

void mg_unanswered_add(struct mg_unanswered *unanswered, struct mg_slice exchange,
                       struct mg_slice routing_key)
{
    if (queue_find(unanswered, exchange, routing_key) >= 0) return;
    int at = unanswered->oldest;
    if (unanswered->count < MG_UNANSWERED_MAX)
        at = unanswered->count++;
    else
        unanswered->oldest = (unanswered->oldest + 1) % MG_UNANSWERED_MAX;
    unanswered->queues[at] = hash_append(hash_append(FNV_OFFSET, exchange), routing_key);
}

bool mg_unanswered_has(const struct mg_unanswered *unanswered, struct mg_slice exchange,
                       struct mg_slice routing_key)
{
    return queue_find(unanswered, exchange, routing_key) >= 0;
}

void mg_unanswered_remove(struct mg_unanswered *unanswered, struct mg_slice exchange,
                          struct mg_slice routing_key)
{
    int at = queue_find(unanswered, exchange, routing_key);
    if (at >= 0) unanswered->queues[at] = unanswered->queues[--unanswered->count];
}
