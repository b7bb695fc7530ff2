/* See world.h. */
#include "world.h"

void mg_world_plan(struct mg_world *world, int64_t at_ms, int kind, struct mg_lone_order *lone, int step)
{
    const struct mg_event event = {.at_ms = at_ms,
                                   .kind = kind,
                                   .about = lone,
                                   .step = step,
                                   .attempt =
                                       lone != NULL && step >= 0 ? lone->order->steps[step].attempt : 0};
    if (!mg_event_heap_push(&world->events, &event)) {
        world->has_failed = true;
    } else if (lone != NULL) {
        lone->refs++;
    }
}

void mg_world_release(struct mg_world *world, struct mg_lone_order *lone)
{
    if (--lone->refs == 0 && lone->is_over) {
        TAILQ_INSERT_HEAD(&world->free, lone, entry);
    }
}
