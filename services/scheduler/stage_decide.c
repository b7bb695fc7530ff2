/*
 * The causes of a batch, one by one. The lane selects the file that applies a cause to its order; the core
 * decides (fold.c).
 */
#include "stages.h"

#include "base/failpoint.h"
#include "base/log.h"
#include "fold.h"
#include "lanes.h"

size_t mg_batch_made(const struct mg_batch *batch)
{
    return mg_arena_used(batch->arena) + batch->outbox->made_bytes - batch->made_before;
}

static void item_decide(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_order_record *record = item->fold->record;
    if (item->fold->refused != NULL) {
        return; /* to its place aside (batch.c) */
    }
    if (item->fold->is_unreadable || (record != NULL && item->fold->workflow == NULL)) {
        mg_log(MG_LOG_ERROR,
               "an order or its workflow cannot be read here; its messages are left for another instance",
               MG_LOG_TEXT("order_id", item->order_id),
               MG_LOG_TEXT("workflow", record != NULL ? record->workflow : ""));
        /* A supervisor's command is acked: it is sent again anyway. Left to others, it would be requeued
         * until it is a dead letter, and its next copy alongside it. */
        item->end = mg_command_comes_again(item) ? MG_END_ACK : MG_END_NEWER;
        return;
    }
    if (item->fold->is_guessed && record == NULL && item->workflow == NULL) {
        /* A new order without a workflow is refused, so a read must prove that it is new. */
        item->is_undecided = true;
        return;
    }
    switch (item->work->lane) {
    case MG_LANE_REPLIES:
        mg_settle_decide(batch, item);
        break;
    case MG_LANE_COMMANDS:
    case MG_LANE_SIGNALS:
        mg_command_decide(batch, item);
        break;
    case MG_LANE_HIGH:
    case MG_LANE_NORMAL:
        mg_intake_decide(batch, item);
        break;
    case MG_LANE_INTERNAL:
        if (item->work->is_cancel || item->work->keyed != NULL) {
            mg_command_decide(batch, item);
        } else {
            mg_unpublishable_decide(batch, item);
        }
        break;
    case MG_LANE_COUNT:
        break;
    }
    mg_fold_close_item(batch, item);
}

void mg_batch_decide(struct mg_batch *batch)
{
    MG_FAILPOINT(SCHEDULER_LOADED);
    batch->writes = mg_arena_alloc(batch->arena, (size_t)batch->fold_count * sizeof(*batch->writes));
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        item->fold->has_failed = item->fold->has_failed || batch->writes == NULL;
        if (i > 0 && mg_batch_made(batch) > batch->shared->options->memory_bytes / MG_MEMORY_MADE) {
            item->is_undecided = true; /* in the next batch, which is smaller */
        } else if (!item->fold->has_failed) {
            item_decide(batch, item);
        }
    }
}
