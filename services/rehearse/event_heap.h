/* The events that are still to come, by time: a binary heap. Equal moments keep the order of their plan. */
#ifndef MG_REHEARSE_EVENT_HEAP_H
#define MG_REHEARSE_EVENT_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mg_event {
    int64_t at_ms;
    uint64_t number; /* of its plan; set by the heap */
    void *about;
    int kind, step;
    uint32_t attempt;
};

struct mg_event_heap { /* zeroed: empty */
    struct mg_event *events;
    size_t count, room;
    uint64_t planned;
};

/* False: no memory. */
bool mg_event_heap_push(struct mg_event_heap *heap, const struct mg_event *event);
const struct mg_event *mg_event_heap_first(const struct mg_event_heap *heap); /* NULL: empty */
struct mg_event mg_event_heap_pop(struct mg_event_heap *heap);                /* of one that is not empty */
void mg_event_heap_finish(struct mg_event_heap *heap);

#endif
