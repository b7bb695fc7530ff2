/* See line_room.h. */
#include "line_room.h"

static bool has_line(const struct mg_item *item)
{
    return item->submission != NULL && item->fold->record == NULL && item->workflow != NULL &&
           item->workflow->workflow->plan.sequence != MG_SEQUENCE_NONE;
}

/* A key that cannot be made is told by the decision. */
static void key_find(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_render_input input = {.workflow = item->workflow->workflow,
                                          .order_id = item->order_id,
                                          .payload = item->submission->payload,
                                          .accepted_at_ms = batch->now_ms,
                                          .is_high =
                                              item->submission->is_high || item->work->lane == MG_LANE_HIGH};
    struct mg_err err;
    if (mg_workflow_line_key(&input, batch->arena, &item->line_key, &err) != MG_OK) {
        item->line_key = (struct mg_slice){NULL, 0};
    }
}

static void on_lengths(void *arg, const int64_t *lengths, const struct mg_err *err)
{
    struct mg_batch *batch = arg;
    int count = 0;
    for (int i = 0; i < batch->item_count && lengths != NULL; i++) {
        if (batch->items[i].line_key.data != NULL) {
            batch->items[i].line_length = lengths[count++];
        }
    }
    batch->done(batch, err);
}

void mg_batch_lines_ask(struct mg_batch *batch)
{
    int count = 0, line_count = 0;
    for (int i = 0; i < batch->item_count; i++) {
        line_count += has_line(&batch->items[i]) ? 1 : 0;
    }
    struct mg_slice *keys =
        line_count > 0 ? mg_arena_alloc(batch->arena, (size_t)line_count * sizeof(*keys)) : NULL;
    for (int i = 0; i < batch->item_count && keys != NULL; i++) {
        struct mg_item *item = &batch->items[i];
        if (has_line(item)) {
            key_find(batch, item);
        }
        if (item->line_key.data != NULL) {
            keys[count++] = item->line_key;
        }
    }
    if (count > 0) {
        mg_store_line_lengths(batch->shared->store, keys, count, on_lengths, batch);
    } else {
        batch->done(batch, NULL);
    }
}

bool mg_line_is_full(const struct mg_batch *batch, const struct mg_item *item, struct mg_slice key)
{
    int64_t length = item->line_length;
    for (const struct mg_item *other = batch->items; other < item; other++) {
        length += other->fold->line.joins && mg_slice_equal(other->fold->line.key, key) ? 1 : 0;
    }
    return length >= item->workflow->workflow->sequence.at_most;
}
