/*
 * The path from a step's request back to the message that it follows from. A request that the broker refused
 * is a cause, too, and may send requests of other steps. So is a kept signal that an order has found. But
 * both end with this process and are never redelivered. So the cause of such a step has two parts,
 * the root, the external cause that is not acked yet, and the one that followed from it. The request is made
 * again when either part is redelivered (law 3, re-creation). A cause that follows from such a one has the
 * same root, so there are never more than two parts.
 */
#include "chain.h"

#include <string.h>

/* The unit separator. No identity of a cause has it: ids, names and keys exclude control characters. */
#define SEPARATOR '\x1f'

struct mg_slice mg_chain_root(struct mg_slice step_cause)
{
    const char *end = step_cause.data != NULL ? memchr(step_cause.data, SEPARATOR, step_cause.len) : NULL;
    return end != NULL ? (struct mg_slice){step_cause.data, (size_t)(end - step_cause.data)} : step_cause;
}

struct mg_slice mg_chain_cause(struct mg_batch *batch, const struct mg_item *item)
{
    if (item->root.data == NULL) {
        return item->cause;
    }
    return mg_slice_of(mg_arena_printf(batch->arena, "%.*s%c%.*s", (int)item->root.len, item->root.data,
                                       SEPARATOR, (int)item->cause.len, item->cause.data));
}

bool mg_chain_is_sent_by(struct mg_slice step_cause, struct mg_slice cause)
{
    if (step_cause.data == NULL || step_cause.len <= cause.len) {
        return mg_slice_equal(step_cause, cause);
    }
    size_t rest = step_cause.len - cause.len; /* the separator and the other part */
    bool is_root =
        step_cause.data[cause.len] == SEPARATOR && memcmp(step_cause.data, cause.data, cause.len) == 0;
    bool is_last =
        step_cause.data[rest - 1] == SEPARATOR && memcmp(step_cause.data + rest, cause.data, cause.len) == 0;
    return is_root || is_last;
}
