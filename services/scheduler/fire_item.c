/*
 * The command to fire a slot, in the batch: a submission by the schedule, which intake.c admits as a
 * client's. Its cause is the slot, for each sender of the command: the order's first event shows it (law 8,
 * derived identities).
 */
#include "lanes.h"

#include <stdio.h>
#include <string.h>

#include "slot_fire.h"

/* No order is made. An operator may give the command again, when an earlier order has ended. */
static bool fire_end(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_fire *fire = item->work->fire;
    if (!fire->is_found) {
        mg_command_miss(batch, item, "there is no such schedule");
    } else {
        bool has_ended = fire->verdict != MG_SLOT_STALE && fire->verdict != MG_SLOT_WAITS;
        mg_command_refuse(batch, item, true, has_ended ? fire->text : "the slot is not due");
    }
    return false;
}

bool mg_fire_read(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_command *command = item->command;
    struct mg_fire *fire = item->work->fire;
    char order_id[MG_UUID_SIZE];
    mg_schedule_order_id(command->schedule, command->slot_ms, order_id);
    if (strcmp(order_id, command->order_id) != 0) {
        mg_command_refuse(batch, item, false, "the order_id is not that of the slot");
        return false;
    }
    if (fire == NULL || !fire->is_judged) {
        mg_fires_ask(batch->fires, item->work, command);
        return false;
    }
    if (!fire->is_found || (fire->verdict != MG_SLOT_FIRES && fire->verdict != MG_SLOT_HAS_ORDER)) {
        return fire_end(batch, item);
    }
    item->submission = &fire->submission;
    memcpy(item->digest, fire->digest, sizeof(item->digest));
    item->client = mg_slice_of("");
    item->order_id = command->order_id;
    item->cause = mg_slice_of(mg_arena_printf(batch->arena, "fire:%s", command->order_id));
    item->wants_event = true;
    return true;
}

void mg_fire_decide(struct mg_batch *batch, struct mg_item *item)
{
    mg_intake_decide(batch, item);
    if (item->is_undecided || item->fold->has_failed || item->end != MG_END_ACK) {
        return;
    }
    if (item->submitted == MG_SUBMITTED_REJECTED) {
        mg_command_result(batch, item, MG_COMMAND_INVALID, item->why);
    } else if (item->fold->record == NULL) {
        mg_command_result(batch, item, MG_COMMAND_NOT_FOUND,
                          "the slot has its order, which has left the tables");
    } else {
        const uint8_t *digest = item->fold->record->digest;
        bool is_new = item->submitted == MG_SUBMITTED_ACCEPTED;
        bool is_same = memcmp(digest, item->digest, sizeof(item->digest)) == 0;
        mg_command_result(batch, item, MG_COMMAND_DONE,
                          is_new    ? "the order is made"
                          : is_same ? "the slot has its order"
                                    : "the slot has its order, of an earlier definition of the schedule, and "
                                      "keeps it");
    }
}

/* A work without a delivery: the order of an earlier slot, which a later one takes the place of. */
bool mg_cancel_read(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_fire *fire = item->work->origin->fire;
    struct mg_command *command = mg_arena_alloc(batch->arena, sizeof(*command));
    if (command == NULL) {
        mg_work_settle(&batch->shared->works, item->work, MG_END_LEAVE);
        mg_work_give_up(item->work->origin);
        return false;
    }
    char at[MG_TIME_TEXT_SIZE];
    mg_time_format(fire->slot_ms, at);
    command->kind = MG_CAUSE_CANCEL;
    memcpy(command->order_id, item->work->order_id, sizeof(command->order_id));
    mg_uuid_derived(mg_slice_of(fire->order_id), mg_slice_of(command->order_id), command->command_id);
    (void)snprintf(command->by, sizeof(command->by), "schedule %s", fire->schedule);
    (void)snprintf(command->reason, sizeof(command->reason), "overlap: the slot %s takes its place", at);
    item->command = command;
    item->order_id = command->order_id;
    item->cause = mg_slice_of(command->command_id);
    item->wants_event = true;
    return true;
}
