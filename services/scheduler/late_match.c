/* See late_match.h. */
#include "late_match.h"

#include "io/store/signal_rows.h"
#include "json/json.h"
#include "kept_signals.h"
#include "line_room.h"

/* "NAME/KEY" of the open step, if the item ends its wait; absent: it ends none with a key, or no memory. */
static struct mg_slice key_of(struct mg_batch *batch, const struct mg_item *item, int64_t *ret_ends_at_ms)
{
    const struct mg_slice none = {NULL, 0};
    const struct mg_command *command = item->command;
    const struct mg_fold *fold = item->fold;
    if (command == NULL || command->kind != MG_CAUSE_DUE || fold->record == NULL || fold->workflow == NULL) {
        return none;
    }
    int step = mg_workflow_step_index(fold->workflow->workflow, mg_slice_of(command->step));
    if (step < 0 || !mg_step_is_open(&fold->record->order.steps[step])) {
        return none;
    }
    struct mg_slice open = fold->record->steps[step].open;
    *ret_ends_at_ms = fold->record->order.steps[step].due_at_ms;
    mg_buf_clear(&batch->scratch);
    if (open.data == NULL || *ret_ends_at_ms == 0 || *ret_ends_at_ms > batch->now_ms ||
        !mg_json_string(mg_json_find(open, "/key"), &batch->scratch)) {
        return none;
    }
    return mg_arena_copy(batch->arena, mg_buf_slice(&batch->scratch));
}

static bool wait_take(struct mg_batch *batch, struct mg_item *item, struct mg_wait_over *ret_wait)
{
    ret_wait->order_id = item->order_id;
    return mg_kept_signals_key_split(key_of(batch, item, &ret_wait->ends_at_ms), &ret_wait->signal,
                                     &ret_wait->key);
}

static void on_matches(void *arg, const bool *is_matched, const struct mg_err *err)
{
    struct mg_batch *batch = arg;
    int count = 0;
    if (err != NULL) {
        batch->done(batch, err);
        return;
    }
    for (int i = 0; i < batch->item_count; i++) {
        if (batch->items[i].is_wait_over) {
            batch->items[i].is_matched = is_matched[count++];
        }
    }
    mg_batch_lines_ask(batch);
}

void mg_batch_matches_ask(struct mg_batch *batch)
{
    int most = 0, count = 0;
    for (int i = 0; i < batch->item_count; i++) {
        const struct mg_command *command = batch->items[i].command;
        most += command != NULL && command->kind == MG_CAUSE_DUE ? 1 : 0;
    }
    struct mg_wait_over *waits =
        most > 0 ? mg_arena_alloc(batch->arena, (size_t)most * sizeof(*waits)) : NULL;
    for (int i = 0; i < batch->item_count && waits != NULL; i++) {
        struct mg_item *item = &batch->items[i];
        item->is_wait_over = wait_take(batch, item, &waits[count]);
        count += item->is_wait_over ? 1 : 0;
    }
    if (count > 0) {
        mg_store_find_matches(batch->shared->store, waits, count, on_matches, batch);
    } else {
        mg_batch_lines_ask(batch);
    }
}

bool mg_late_match_look(struct mg_item *item, int step)
{
    if (item->is_matched) {
        item->fold->opened |= UINT64_C(1) << step;
    }
    return item->is_matched;
}
