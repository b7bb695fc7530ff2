/* Messages on their way to the scheduler (play.h). */
#include "play.h"

void mg_play_await(struct mg_play *play, const struct mg_coming *coming)
{
    struct mg_coming *copy = mg_arena_alloc(play->rehearsal->arena, sizeof(*copy));
    struct mg_coming **place = &play->coming;
    if (copy == NULL) {
        play->has_failed = true;
        return;
    }
    while (*place != NULL && (*place)->at_ms <= coming->at_ms) {
        place = &(*place)->next;
    }
    *copy = *coming;
    copy->next = *place;
    *place = copy;
}
