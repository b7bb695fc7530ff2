/* See set_aside.h. */
#include "set_aside.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* An operator's word counts within seconds. */
#define MG_SET_ASIDE_TICKS (2000 / MG_TICK_MS)

static void on_listed(void *arg, const char (*order_ids)[MG_ORDER_ID_MAX + 1], int count,
                      const struct mg_err *err)
{
    struct mg_set_asides *set_aside = arg;
    size_t size = (size_t)count * sizeof(*order_ids);
    set_aside->is_asking = false;
    if (err != NULL) { /* the last list stays: it is asked for again */
        mg_log(MG_LOG_DEBUG, "could not list the orders that are set aside", MG_LOG_TEXT("why", err->text));
        return;
    }
    char(*kept)[MG_ORDER_ID_MAX + 1] = count > 0 ? malloc(size) : NULL;
    if (kept == NULL && count > 0) {
        return;
    }
    if (count > 0) {
        memcpy(kept, order_ids, size);
    }
    free(set_aside->order_ids);
    set_aside->order_ids = kept;
    set_aside->count = count;
}

void mg_set_aside_look(struct mg_set_asides *set_aside)
{
    const struct mg_shared *shared = set_aside->shared;
    if (++set_aside->ticks < MG_SET_ASIDE_TICKS || set_aside->is_asking || !shared->is_store_up) {
        return;
    }
    set_aside->ticks = 0;
    set_aside->is_asking = true;
    mg_store_list_aside(shared->options->beats != NULL ? shared->options->beats : shared->store, on_listed,
                        set_aside);
}

static int compare(const void *order_id, const void *listed)
{
    return strcmp(order_id, listed);
}

bool mg_set_aside_has(const struct mg_set_asides *set_aside, const char *order_id)
{
    return set_aside->count > 0 && bsearch(order_id, set_aside->order_ids, (size_t)set_aside->count,
                                           sizeof(*set_aside->order_ids), compare) != NULL;
}

void mg_set_aside_finish(struct mg_set_asides *set_aside)
{
    free(set_aside->order_ids);
    set_aside->order_ids = NULL;
    set_aside->count = 0;
}
