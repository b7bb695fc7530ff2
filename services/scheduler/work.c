/*
 * The life of a piece of work. Its end is the callback `on_settled`, which decides the fate of the delivery
 * (ack.c).
 */
#include "work.h"

#include <stdlib.h>

#include "io/amqp/topology.h"

struct mg_work *mg_work_create(struct mg_works *works, enum mg_lane lane)
{
    struct mg_work *work = calloc(1, sizeof(*work));
    if (work == NULL) {
        return NULL;
    }
    work->lane = lane;
    LIST_INSERT_HEAD(&works->all, work, entry);
    works->count++;
    return work;
}

void mg_work_free(struct mg_works *works, struct mg_work *work)
{
    LIST_REMOVE(work, entry);
    works->count--;
    free(work->keyed);
    mg_arena_destroy(work->memory);
    free(work);
}

void mg_work_hold(struct mg_work *work)
{
    work->pending++;
}

void mg_work_release(struct mg_works *works, struct mg_work *work)
{
    work->pending--;
    if (work->pending == 0 && work->is_settled) {
        works->on_settled(works->arg, work);
    }
}

void mg_work_settle(struct mg_works *works, struct mg_work *work, enum mg_end end)
{
    work->is_settled = true;
    work->end = end;
    if (work->pending == 0) {
        works->on_settled(works->arg, work);
    }
}

void mg_work_give_up(struct mg_work *work)
{
    while (work != NULL && work->origin != NULL) {
        work = work->origin;
    }
    if (work != NULL) {
        work->end = MG_END_LEAVE;
    }
}

bool mg_work_is_forged(const struct mg_work *work)
{
    return work->delivery->has_died && mg_topology_is_of_one(work->delivery->exchange);
}

enum mg_end mg_end_of_unread(enum mg_class class)
{
    if (class == MG_STALE) {
        return MG_END_NEWER;
    }
    return class == MG_BAD_INPUT ? MG_END_REJECT : MG_END_LEAVE;
}

void mg_work_list_append(struct mg_work_list *list, struct mg_work *work)
{
    work->next = NULL;
    if (list->last != NULL) {
        list->last->next = work;
    } else {
        list->first = work;
    }
    list->last = work;
    list->count++;
}

void mg_work_list_prepend(struct mg_work_list *list, struct mg_work *work)
{
    work->next = list->first;
    list->first = work;
    if (list->last == NULL) {
        list->last = work;
    }
    list->count++;
}

struct mg_work *mg_work_list_pop(struct mg_work_list *list)
{
    struct mg_work *work = list->first;
    if (work != NULL) {
        list->first = work->next;
        list->last = list->first != NULL ? list->last : NULL;
        list->count--;
        work->next = NULL;
    }
    return work;
}
