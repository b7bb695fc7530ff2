/* See unanswered.h. */
#include "io/amqp/unanswered.h"

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
#define FNV_OFFSET 14695981039346656037U
#define FNV_PRIME  1099511628211U

static uint64_t hash_of(struct mg_slice queue)
{
    uint64_t hash = FNV_OFFSET;
    for (size_t i = 0; i < queue.len; i++) {
        hash = (hash ^ (unsigned char)queue.data[i]) * FNV_PRIME;
    }
    return hash;
}

static int queue_find(const struct mg_unanswered *unanswered, struct mg_slice queue)
{
    if (unanswered->count == 0) {
        return -1;
    }
    uint64_t hash = hash_of(queue);
    for (int i = 0; i < unanswered->count; i++) {
        if (unanswered->queues[i] == hash) {
            return i;
        }
    }
    return -1;
}

void mg_unanswered_add(struct mg_unanswered *unanswered, struct mg_slice queue)
{
    if (queue_find(unanswered, queue) >= 0) {
        return;
    }
    int at = unanswered->oldest;
    if (unanswered->count < MG_UNANSWERED_MAX) {
        at = unanswered->count++;
    } else {
        unanswered->oldest = (unanswered->oldest + 1) % MG_UNANSWERED_MAX;
    }
    unanswered->queues[at] = hash_of(queue);
}

bool mg_unanswered_has(const struct mg_unanswered *unanswered, struct mg_slice queue)
{
    return queue_find(unanswered, queue) >= 0;
}

void mg_unanswered_remove(struct mg_unanswered *unanswered, struct mg_slice queue)
{
    int at = queue_find(unanswered, queue);
    if (at >= 0) {
        unanswered->queues[at] = unanswered->queues[--unanswered->count];
    }
}
