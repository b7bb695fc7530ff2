/*
 * Each kind of message has a reader of its own, selected by the lane.
 */
#include "stages.h"

#include <string.h>

#include "lanes.h"

static bool item_read(struct mg_batch *batch, struct mg_item *item)
{
    switch (item->work->lane) {
    case MG_LANE_REPLIES:
        return mg_settle_read(batch, item);
    case MG_LANE_COMMANDS:
    case MG_LANE_SIGNALS:
        return mg_command_read(batch, item);
    case MG_LANE_HIGH:
    case MG_LANE_NORMAL:
        return mg_intake_read(batch, item);
    case MG_LANE_INTERNAL:
        if (item->work->is_cancel) {
            return mg_cancel_read(batch, item);
        }
        return item->work->keyed != NULL ? mg_keyed_signal_read(batch, item)
                                         : mg_unpublishable_read(batch, item);
    case MG_LANE_COUNT:
        break;
    }
    return false;
}

void mg_batch_read(struct mg_batch *batch)
{
    for (int i = 0; i < batch->work_count; i++) {
        struct mg_item *item = &batch->items[batch->item_count];
        memset(item, 0, sizeof(*item));
        item->work = batch->works[i];
        item->first_event = -1;
        if (item_read(batch, item)) {
            batch->item_count++;
        }
    }
}
