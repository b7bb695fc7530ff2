/* See event_heap.h. */
#include "event_heap.h"

#include <stdlib.h>

#define ROOM_FIRST 1024

static bool is_before(const struct mg_event *a, const struct mg_event *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->number < b->number;
}

static void swap(struct mg_event *a, struct mg_event *b)
{
    struct mg_event kept = *a;
    *a = *b;
    *b = kept;
}

bool mg_event_heap_push(struct mg_event_heap *heap, const struct mg_event *event)
{
    if (heap->count == heap->room) {
        size_t room = heap->room == 0 ? ROOM_FIRST : 2 * heap->room;
        struct mg_event *wider = realloc(heap->events, room * sizeof(*wider));
        if (wider == NULL) {
            return false;
        }
        heap->events = wider;
        heap->room = room;
    }
    size_t at = heap->count++;
    heap->events[at] = *event;
    heap->events[at].number = heap->planned++;
    while (at > 0 && is_before(&heap->events[at], &heap->events[(at - 1) / 2])) {
        swap(&heap->events[at], &heap->events[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    return true;
}

const struct mg_event *mg_event_heap_first(const struct mg_event_heap *heap)
{
    return heap->count > 0 ? &heap->events[0] : NULL;
}

struct mg_event mg_event_heap_pop(struct mg_event_heap *heap)
{
    struct mg_event first = heap->events[0];
    heap->events[0] = heap->events[--heap->count];
    for (size_t at = 0, child; (child = 2 * at + 1) < heap->count; at = child) {
        bool is_right = child + 1 < heap->count && is_before(&heap->events[child + 1], &heap->events[child]);
        child += is_right ? 1 : 0;
        if (!is_before(&heap->events[child], &heap->events[at])) {
            break;
        }
        swap(&heap->events[child], &heap->events[at]);
    }
    return first;
}

void mg_event_heap_finish(struct mg_event_heap *heap)
{
    free(heap->events);
    heap->events = NULL;
    heap->count = heap->room = 0;
}
