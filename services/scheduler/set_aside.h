/*
 * The orders that are set aside, as last read from the database. An operator may set aside an order with
 * which nothing is wrong, so no refusal would tell of it. The list is read every few seconds, and a batch
 * costs nothing more while it is empty.
 */
#ifndef MG_SCHEDULER_SET_ASIDE_H
#define MG_SCHEDULER_SET_ASIDE_H

#include "shared.h"

#include "io/store/store.h"

struct mg_set_asides {
    struct mg_shared *shared;
    char (*order_ids)[MG_ORDER_ID_MAX + 1]; /* sorted by their bytes; owned */
    int count;
    int ticks; /* since the last question */
    bool is_asking;
};

void mg_set_aside_look(struct mg_set_asides *set_aside); /* call it every tick */
bool mg_set_aside_has(const struct mg_set_asides *set_aside, const char *order_id);
void mg_set_aside_finish(struct mg_set_asides *set_aside);

#endif
