/*
 * Pauses, resumes and runs schedules, by the same store calls and the same command as the tool. The row of
 * operator_action is written with the change; that of a run before its command.
 */
#include <stdio.h>
#include <string.h>

#include "console/change_request.h"
#include "core/key.h"
#include "operator/slot_plan.h"

static void schedule_change(struct mg_change *change, const struct mg_slot_plan *plan)
{
    struct mg_schedule_change wanted = {.verb = plan != NULL ? MG_SCHEDULE_RESUME : MG_SCHEDULE_PAUSE,
                                        .schedule = change->id,
                                        .reason = change->reason,
                                        .by = change->by,
                                        .version = change->version};
    if (plan != NULL) {
        wanted.upcoming_count = plan->count;
        memcpy(wanted.upcoming, plan->slots, sizeof(wanted.upcoming));
        wanted.next_at_ms = plan->next_at_ms;
    }
    mg_store_change_schedule(change->console->changing_store, &wanted, mg_change_stored, change);
}

static void on_plan(void *arg, const struct mg_slot_plan *plan, const struct mg_err *err)
{
    struct mg_change *change = arg;
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
    } else {
        schedule_change(change, plan);
    }
}

/* A dialog may be open for an hour. A database that takes the other's place may have an earlier clock. */
#define RUN_OLD_MS   (INT64_C(60) * 60 * 1000)
#define RUN_AHEAD_MS (INT64_C(60) * 1000)

/* The moment of the run is a slot like any other: the database's now when the page asked. So a second click,
 * or one after a lost answer, is the same slot and the same order. */
static void run_begin(struct mg_change *change, int64_t now_ms)
{
    struct mg_command *command = &change->command;
    int64_t slot_ms = command->slot_ms;
    char order_id[MG_UUID_SIZE];
    if (slot_ms < now_ms - RUN_OLD_MS || slot_ms > now_ms + RUN_AHEAD_MS) {
        mg_change_end(change, 400, "slot: expected the moment at which the page asked; reload the page");
        return;
    }
    mg_schedule_order_id(change->id, slot_ms, order_id);
    *command = (struct mg_command){.kind = MG_CAUSE_FIRE, .slot_ms = slot_ms};
    mg_uuid_random(command->command_id);
    (void)snprintf(command->order_id, sizeof(command->order_id), "%s", order_id);
    memcpy(command->schedule, change->id, strlen(change->id) + 1); /* a valid name fits */
    (void)snprintf(command->by, sizeof(command->by), "%s", change->by);
    (void)snprintf(command->reason, sizeof(command->reason), "%s", change->reason);
    change->note(change);
}

static void on_row(void *arg, const struct mg_slot_row *row, const struct mg_err *err)
{
    struct mg_change *change = arg;
    struct mg_err fault;
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
    } else if (!row->is_found) {
        mg_change_end(change, 404, "unknown schedule");
    } else if (strcmp(change->verb, "run") == 0) {
        run_begin(change, row->now_ms);
    } else if (mg_schedule_parse(row->definition, NULL, &change->schedule, &fault) != MG_OK) {
        mg_change_end(change, 503, fault.text);
    } else {
        mg_slot_plan_find(change->console->changing_store, change->schedule, 0, on_plan, change);
    }
}

const char *mg_console_schedule_change(struct mg_change *change, struct mg_slice body)
{
    bool is_pause = strcmp(change->verb, "pause") == 0, is_run = strcmp(change->verb, "run") == 0;
    change->version = mg_member_number(body, "/version");
    if (!mg_name_is_valid(change->id, strlen(change->id))) {
        return "invalid schedule name";
    }
    if (!is_pause && !is_run && strcmp(change->verb, "resume") != 0) {
        return "unknown verb";
    }
    if (!is_run && change->version == 0) {
        return "version: expected the version of the schedule as shown";
    }
    change->command.slot_ms = (int64_t)mg_member_number(body, "/slot");
    if (is_pause) {
        schedule_change(change, NULL);
    } else {
        mg_store_load_slot(change->console->changing_store, change->id, 0, on_row, change);
    }
    return NULL;
}
