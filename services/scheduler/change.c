/* See change.h. */
#include "change.h"

#include "io/store/store.h"

enum { READ, ORDER, STEP, PAYLOAD, LABEL, ALERT_OPENED, ALERT_CLOSED, LINE };

static void add(struct mg_changes *changes, const char *workflow, int table, bool is_new, int index,
                int state)
{
    const int parts[] = {table, is_new, index, state};
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (const char *c = workflow; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    }
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        hash = (hash ^ (unsigned)parts[i]) * 1099511628211U;
    }
    unsigned slot =
        (unsigned)(hash ^ hash >> 32) % MG_CHANGE_SLOTS; /* the upper half alone hardly has the last part */
    changes->bits[slot / 64] |= UINT64_C(1) << slot % 64;
}

struct mg_changes mg_changes_of(const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const char *workflow = record->workflow;
    struct mg_changes changes = {{0}};
    bool is_new = write->expected_version == 0;
    add(&changes, workflow, ORDER, is_new, 0, (int)record->order.state);
    if (is_new || write->is_payload_changed) {
        add(&changes, workflow, PAYLOAD, is_new, 0, 0);
    }
    if (is_new && record->label_count > 0) {
        add(&changes, workflow, LABEL, true, 0, 0);
    }
    if (write->line.joins || write->line.begins || write->line.leaves) { /* of no workflow, as an alert */
        add(&changes, "", LINE, write->line.joins, 0, 0);
    }
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        if ((write->changed_steps >> i & 1) != 0) {
            bool is_new_step = (record->stored_steps >> i & 1) == 0;
            add(&changes, workflow, STEP, is_new_step, i, (int)record->order.steps[i].state);
        }
    }
    for (int i = 0; i < write->alert_count; i++) { /* of no workflow: one table for all */
        const struct mg_alert_write *alert = &write->alerts[i];
        add(&changes, "", alert->is_closed ? ALERT_CLOSED : ALERT_OPENED, !alert->is_closed, 0, 0);
    }
    return changes;
}

struct mg_changes mg_changes_of_read(void)
{
    struct mg_changes changes = {{0}};
    add(&changes, "", READ, false, 0, 0);
    return changes;
}

void mg_change_log_add(struct mg_change_log *log, const struct mg_changes *changes)
{
    log->count++;
    for (unsigned slot = 0; slot < MG_CHANGE_SLOTS; slot++) {
        if ((changes->bits[slot / 64] >> slot % 64 & 1) != 0) {
            log->last[slot] = log->count;
        }
    }
}

bool mg_change_log_has(const struct mg_change_log *log, const struct mg_changes *changes, uint64_t since)
{
    for (unsigned slot = 0; slot < MG_CHANGE_SLOTS; slot++) {
        bool is_of_them = (changes->bits[slot / 64] >> slot % 64 & 1) != 0;
        if (is_of_them && log->last[slot] <= since) {
            return false;
        }
    }
    return true;
}
