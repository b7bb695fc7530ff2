/* See command_note.h. */
#include "operator/command_note.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/json_write.h"

static void verb_write(const struct mg_command *command, char *ret_verb, size_t size)
{
    bool is_fire = command->kind == MG_CAUSE_FIRE;
    bool is_keyed = command->kind == MG_CAUSE_SIGNAL && command->order_id[0] == '\0';
    (void)snprintf(ret_verb, size, "%s %s",
                   is_fire    ? "schedule"
                   : is_keyed ? "signal"
                              : "order",
                   is_fire && command->is_backfill ? "backfill"
                   : is_fire                       ? "run"
                   : is_keyed                      ? "send"
                                                   : mg_cause_name(command->kind));
}

static void text_put(struct mg_json_writer *json, const char *name, const char *text)
{
    if (text[0] != '\0') {
        mg_json_member_string(json, name, text);
    }
}

static void sets_put(struct mg_json_writer *json, const struct mg_command *command)
{
    if (command->set_count == 0) {
        return;
    }
    mg_json_member_array(json, "set");
    for (int i = 0; i < command->set_count; i++) {
        mg_json_element_object(json);
        mg_json_member_text(json, "pointer", command->sets[i].pointer);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

static void detail_write(const struct mg_command *command, const char *via, struct mg_buf *ret_detail)
{
    struct mg_json_writer json = mg_json_spaced(ret_detail);
    mg_json_object_begin(&json);
    mg_json_member_word(&json, "via", via);
    if (command->kind != MG_CAUSE_SIGNAL && command->kind != MG_CAUSE_FIRE) { /* the order's event names it */
        mg_json_member_word(&json, "command", command->command_id);
    }
    if (command->version > 0) {
        mg_json_member_int(&json, "version", (int64_t)command->version);
    }
    text_put(&json, "step", command->step);
    text_put(&json, "signal", command->signal);
    if (command->kind == MG_CAUSE_SETTLE) {
        mg_json_member_word(&json, "outcome", mg_outcome_name(command->outcome));
    }
    if (command->is_repeat) {
        mg_json_member_bool(&json, "repeat", true);
    }
    if (command->is_without_output) {
        mg_json_member_bool(&json, "without_output", true);
    }
    if (command->kind == MG_CAUSE_FIRE) {
        char slot[MG_TIME_TEXT_SIZE];
        mg_time_format(command->slot_ms, slot);
        mg_json_member_word(&json, "slot", slot);
        mg_json_member_string(&json, "order_id", command->order_id);
    }
    sets_put(&json, command);
    mg_json_object_end(&json);
}

void mg_command_note_make(const struct mg_command *command, const char *via, struct mg_command_note *ret)
{
    struct mg_buf detail;
    verb_write(command, ret->verb, sizeof(ret->verb));
    mg_buf_init_fixed(&detail, ret->detail, sizeof(ret->detail));
    detail_write(command, via, &detail);
    if (detail.failed) { /* 16 long pointers of a repair: the order's next revision shows it */
        struct mg_command bare = *command;
        bare.set_count = 0;
        mg_buf_init_fixed(&detail, ret->detail, sizeof(ret->detail));
        detail_write(&bare, via, &detail);
    }
    const char *subject = command->kind == MG_CAUSE_FIRE ? command->schedule
                          : command->order_id[0] != '\0' ? command->order_id
                                                         : command->key;
    ret->action = (struct mg_operator_action){.by = command->by,
                                              .verb = ret->verb,
                                              .subject = subject,
                                              .reason = command->reason,
                                              .detail = mg_buf_slice(&detail)};
}
