/* Lines (world.h): the orders of a definition with `sequence`, one at a time for each key. The profile has
 * the number of keys; each order has one of them by chance. */
#include <stdlib.h>

#include "world.h"

bool mg_lines_open(struct mg_world *world)
{
    if (world->plan->sequence == MG_SEQUENCE_NONE) {
        return true;
    }
    world->lines = calloc((size_t)world->profile->lines, sizeof(*world->lines));
    for (int64_t i = 0; world->lines != NULL && i < world->profile->lines; i++) {
        TAILQ_INIT(&world->lines[i].orders);
    }
    return world->lines != NULL;
}

bool mg_lines_admit(struct mg_world *world, struct mg_lone_order *lone)
{
    if (world->lines == NULL) {
        return true;
    }
    lone->line = (int64_t)(mg_stream_next(&lone->stream) % (uint64_t)world->profile->lines);
    return world->lines[lone->line].count < world->workflow->sequence.at_most;
}

/* The message that a place at the head sends: to the new order itself, or after another one has left. */
static void head_tell(struct mg_world *world, struct mg_world_line *line)
{
    struct mg_lone_order *head = TAILQ_FIRST(&line->orders);
    if (head != NULL) {
        mg_world_plan(world, world->now_ms, MG_EVENT_TURN, head, -1);
    }
}

static void place_take(struct mg_world *world, struct mg_lone_order *lone)
{
    struct mg_world_line *line = &world->lines[lone->line];
    struct mg_line_tally *tally = &world->tally->lines;
    TAILQ_INSERT_TAIL(&line->orders, lone, place);
    lone->has_place = true;
    lone->refs++;
    line->count++;
    tally->longest = (uint64_t)line->count > tally->longest ? (uint64_t)line->count : tally->longest;
    if (line->count == 1) {
        head_tell(world, line);
    } else {
        tally->waited++;
    }
}

static void place_give(struct mg_world *world, struct mg_lone_order *lone)
{
    struct mg_world_line *line = &world->lines[lone->line];
    TAILQ_REMOVE(&line->orders, lone, place);
    lone->has_place = false;
    line->count--;
    mg_world_release(world, lone);
}

void mg_lines_effect(struct mg_world *world, struct mg_lone_order *lone, enum mg_effect_kind effect)
{
    if (effect == MG_EFFECT_LINE_JOIN) {
        place_take(world, lone);
    } else if (effect == MG_EFFECT_LINE_BEGIN && world->now_ms > lone->submitted_ms) {
        mg_quantiles_add(&world->tally->lines.time_ms, world->now_ms - lone->submitted_ms);
    } else if (effect == MG_EFFECT_LINE_LEAVE && lone->has_place) {
        place_give(world, lone);
        head_tell(world, &world->lines[lone->line]);
    }
}

void mg_lines_close(struct mg_world *world)
{
    for (int64_t i = 0; world->lines != NULL && i < world->profile->lines; i++) {
        struct mg_lone_order *lone;
        while ((lone = TAILQ_FIRST(&world->lines[i].orders)) != NULL) {
            place_give(world, lone);
        }
    }
    free(world->lines);
}
