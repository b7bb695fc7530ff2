/*
 * Commands: one table lists the members of each command; the reader and the writer both use it. A command
 * carries the attempt and version that were the basis of its decision, so that the scheduler can check
 * whether they still hold.
 */
#include "wire/command.h"

#include <stdio.h>

#include "base/clock.h"
#include "core/key.h"
#include "json/reader.h"
#include "wire/message_write.h"

static const char *const NAMES[] = {
    "v",       "command_id", "command",    "order_id", "step", "attempt",  "version",        "seq",
    "outcome", "result",     "by",         "reason",   "set",  "repeat",   "without_output", "signal",
    "key",     "payload",    "generation", "schedule", "slot", "backfill", "shown",          NULL};
static const char *const SET_NAMES[] = {"pointer", "value", NULL};

static const struct {
    enum mg_cause_kind kind;
    bool has_step, has_attempt, has_seq, has_outcome, has_set, has_generation;
    int64_t attempt_min; /* a waiting step may have attempt 0: never sent */
} COMMANDS[] = {
    {MG_CAUSE_OVERDUE, true, true, false, false, false, false, 1},
    {MG_CAUSE_DUE, true, true, false, false, false, false, 0},
    {MG_CAUSE_EXPIRED, false, false, false, false, false, false, 0},
    {MG_CAUSE_NUDGE, false, false, false, false, false, false, 0},
    {MG_CAUSE_OWED, false, false, true, false, false, false, 0},
    {MG_CAUSE_FIRE, false, false, false, false, false, false, 0},
    {MG_CAUSE_SIGNAL, false, false, false, false, false, false, 0},
    {MG_CAUSE_TURN, false, false, false, false, false, true, 0},
    {MG_CAUSE_RESUME, false, false, false, false, true, false, 0},
    {MG_CAUSE_RESTART, false, false, false, false, false, false, 0},
    {MG_CAUSE_SETTLE, true, false, false, true, false, false, 0},
    {MG_CAUSE_SKIP, true, false, false, false, false, false, 0},
    {MG_CAUSE_COMPENSATE, false, false, false, false, false, false, 0},
    {MG_CAUSE_CANCEL, false, false, false, false, false, false, 0},
    {MG_CAUSE_RELEASE, false, false, false, false, false, false, 0},
};
#define COMMAND_COUNT ((int)(sizeof(COMMANDS) / sizeof(COMMANDS[0])))

static int command_index(enum mg_cause_kind kind)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (COMMANDS[i].kind == kind) {
            return i;
        }
    }
    return -1;
}

bool mg_command_id_is_valid(const char *text, size_t len)
{
    return mg_order_id_is_valid(text, len); /* a UUID, or any id of the sender in the same characters */
}

bool mg_signal_key_is_valid(const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        unsigned char byte = (unsigned char)text[i];
        size_t bytes = mg_utf8_len(text + i, len - i);
        bool is_c1 = byte == 0xc2 && bytes == 2 && (unsigned char)text[i + 1] < 0xa0; /* U+0080 to U+009F */
        if (bytes == 0 || byte < ' ' || byte == 0x7f || is_c1) {
            return false;
        }
        i += bytes;
    }
    return len > 0 && len <= MG_SIGNAL_KEY_MAX;
}

bool mg_shown_is_valid(const char *text, size_t len)
{
    return len == MG_SHOWN_SIZE - 1 && strspn(text, "0123456789abcdef") >= len;
}

static void digest_write(struct mg_slice bytes, char ret_text[MG_SHOWN_SIZE])
{
    uint8_t digest[MG_SHA256_SIZE];
    mg_sha256(bytes, digest);
    *mg_hex_write(digest, sizeof(digest), ret_text) = '\0';
}

void mg_shown_make(const char *step, uint32_t attempt, struct mg_slice payload, char ret_shown[MG_SHOWN_SIZE])
{
    char of_payload[MG_SHOWN_SIZE], text[MG_NAME_MAX + MG_SHOWN_SIZE + 16];
    digest_write(payload, of_payload);
    (void)snprintf(text, sizeof(text), "%s\n%u\n%s", step, attempt, of_payload);
    digest_write(mg_slice_of(text), ret_shown);
}

enum mg_class mg_signal_payload_check(struct mg_slice text, struct mg_err *err)
{
    struct mg_json_limits limits = MG_JSON_LIMITS_DATA;
    if (text.len > MG_SIGNAL_PAYLOAD_MAX) {
        return mg_err_set(err, MG_BAD_INPUT, "%zu bytes; the payload of a signal has up to %d", text.len,
                          MG_SIGNAL_PAYLOAD_MAX);
    }
    limits.max_depth--; /* the command is a level around it, and has members of its own */
    limits.max_members -= MG_JSON_NAMES_MAX;
    return mg_json_check(text, &limits, err);
}

static void signal_write(struct mg_json_writer *json, const struct mg_command *command)
{
    mg_message_put_text_if(json, "key", command->key);
    mg_message_put_text_if(json, "signal", command->signal);
    mg_message_put_text_if(json, "step", command->step);
    mg_message_put_text_if(json, "shown", command->shown);
    if (command->signal[0] == '\0') {
        mg_json_member_int(json, "generation", command->generation);
    }
    if (command->payload.data != NULL) {
        mg_json_member_raw(json, "payload", command->payload);
    }
}

static void write_slot(struct mg_json_writer *json, const struct mg_command *command)
{
    char at[MG_TIME_TEXT_SIZE];
    mg_time_format(command->slot_ms, at);
    mg_message_put_text(json, "schedule", command->schedule);
    mg_json_member_word(json, "slot", at);
    if (command->is_backfill) {
        mg_json_member_bool(json, "backfill", true);
    }
}

void mg_command_write(const struct mg_command *command, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);
    int index = command_index(command->kind);

    if (index < 0) { /* not a command; every caller detects the failed body */
        ret_body->failed = true;
        return;
    }
    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_message_put_text(&json, "command_id", command->command_id);
    mg_json_member_word(&json, "command", mg_cause_name(command->kind));
    mg_message_put_text_if(&json, "order_id", command->order_id);
    if (command->kind == MG_CAUSE_SIGNAL) {
        signal_write(&json, command);
    }
    if (COMMANDS[index].has_step || command->is_repeat) {
        mg_message_put_text(&json, "step", command->step);
    }
    if (COMMANDS[index].has_attempt) {
        mg_json_member_int(&json, "attempt", command->attempt);
    }
    if (command->version > 0) {
        mg_json_member_int(&json, "version", (int64_t)command->version);
    }
    if (COMMANDS[index].has_generation) {
        mg_json_member_int(&json, "generation", command->generation);
    }
    if (COMMANDS[index].has_seq) {
        mg_json_member_int(&json, "seq", (int64_t)command->seq);
    }
    if (COMMANDS[index].has_outcome) {
        mg_json_member_word(&json, "outcome", mg_outcome_name(command->outcome));
    }
    if (command->result.data != NULL) {
        mg_json_member_raw(&json, "result", command->result);
    }
    if (command->kind == MG_CAUSE_FIRE) {
        write_slot(&json, command);
    }
    mg_message_put_text(&json, "by", command->by);
    mg_message_put_text_if(&json, "reason", command->reason);
    if (COMMANDS[index].has_set && command->set_count > 0) {
        mg_json_member_array(&json, "set");
        for (int i = 0; i < command->set_count; i++) {
            mg_json_element_object(&json);
            mg_json_member_text(&json, "pointer", command->sets[i].pointer);
            mg_json_member_raw(&json, "value", command->sets[i].value);
            mg_json_object_end(&json);
        }
        mg_json_array_end(&json);
    }
    if (command->is_repeat) {
        mg_json_member_bool(&json, "repeat", true);
    }
    if (command->is_without_output) {
        mg_json_member_bool(&json, "without_output", true);
    }
    mg_json_object_end(&json);
}

static void read_set(const struct mg_json_object *object, struct mg_slice entry, struct mg_arena *arena,
                     struct mg_command *command)
{
    char pointer[MG_JSON_POINTER_SIZE], text[MG_COMMAND_POINTER_MAX + 1];
    struct mg_json_object set;
    struct mg_json_faults *faults = object->faults;
    int i = command->set_count;

    if (i >= MG_COMMAND_SETS_MAX) {
        mg_json_member_fault(object, MG_BAD_INPUT, "set", "more than %d repairs; send several commands",
                             MG_COMMAND_SETS_MAX);
        return;
    }
    (void)snprintf(pointer, sizeof(pointer), "/set/%d", i);
    if (!mg_json_object_open(&set, faults, entry, pointer, SET_NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return;
    }
    struct mg_slice quoted = mg_json_get_typed(&set, "pointer", MG_REQUIRED, MG_JSON_STRING);
    command->sets[i].value = mg_json_get(&set, "value", MG_REQUIRED);
    if (quoted.data == NULL) {
        return;
    }
    struct mg_buf plain;
    mg_buf_init(&plain, sizeof(text));
    (void)mg_json_string(quoted, &plain); /* a checked string; one that is too long sets `failed` */
    (void)snprintf(text, sizeof(text), "%.*s", (int)plain.len, plain.len > 0 ? plain.data : "");
    if (plain.is_out_of_memory) {
        mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be read: no memory");
    } else if (plain.failed || text[0] != '/' || !mg_json_pointer_is_valid(text)) {
        mg_json_member_fault(
            &set, MG_BAD_INPUT, "pointer",
            "\"%.60s\" is no JSON pointer into the payload; write \"/member/…\", up to %d bytes", text,
            MG_COMMAND_POINTER_MAX);
    } else {
        command->sets[i].pointer = mg_arena_copy(arena, mg_buf_slice(&plain));
        if (command->sets[i].pointer.data == NULL) {
            mg_json_fault(faults, MG_TRANSIENT, pointer, "could not be kept: no memory");
        }
    }
    mg_buf_finish(&plain);
    command->set_count++;
}

static void read_result(const struct mg_json_object *object, struct mg_command *command)
{
    command->result = mg_json_get(object, "result", MG_OPTIONAL);
    if (command->result.data == NULL) {
        return;
    }
    if (command->outcome != MG_OUTCOME_DONE) {
        mg_json_member_fault(object, MG_BAD_INPUT, "result",
                             "only a step that is \"done\" has a result; leave it out");
    }
    if (command->result.len > MG_COMMAND_RESULT_MAX) {
        mg_json_member_fault(object, MG_BAD_INPUT, "result", "%zu bytes; up to %d are allowed",
                             command->result.len, MG_COMMAND_RESULT_MAX);
    }
}

/* Members of other commands are refused: the sender expects an effect that would not happen. */
static void refuse_foreign(const struct mg_json_object *object, const char *command, const char *name,
                           bool has_it)
{
    if (!has_it && mg_json_get(object, name, MG_OPTIONAL).data != NULL) {
        mg_json_member_fault(object, MG_BAD_INPUT, name, "does not belong to \"%s\"; leave it out", command);
    }
}

/* A callback is addressed by the order and the step that called the service; any other signal by its name and
 * either the order or a key. */
static void read_signal(const struct mg_json_object *object, struct mg_command *command)
{
    bool is_callback = mg_json_get(object, "generation", MG_OPTIONAL).data != NULL;
    const char *sort = is_callback ? "signal with a generation" : "signal without a generation";

    refuse_foreign(object, sort, "signal", !is_callback);
    refuse_foreign(object, sort, "key", !is_callback);
    refuse_foreign(object, sort, "shown", !is_callback);
    refuse_foreign(object, sort, "generation", is_callback);
    if (is_callback) {
        mg_json_get_name(object, "step", MG_REQUIRED, command->step);
        command->generation =
            (uint32_t)mg_json_get_integer(object, "generation", MG_REQUIRED, 0, UINT32_MAX, 0);
    } else {
        mg_json_get_name(object, "signal", MG_REQUIRED, command->signal);
        mg_json_get_checked(object, "key", MG_OPTIONAL, mg_signal_key_is_valid, MG_SIGNAL_KEY_RIGHT,
                            command->key, sizeof(command->key));
        mg_json_get_name(object, "step", MG_OPTIONAL, command->step);
        mg_json_get_checked(object, "shown", MG_OPTIONAL, mg_shown_is_valid, MG_SHOWN_RIGHT, command->shown,
                            sizeof(command->shown));
    }
    if (command->key[0] != '\0') {
        refuse_foreign(object, "signal with a key", "order_id", false);
        refuse_foreign(object, "signal with a key", "step", false);
        refuse_foreign(object, "signal with a key", "shown", false);
    }
    command->payload = mg_json_get(object, "payload", MG_OPTIONAL);
    if (command->payload.data == NULL) {
        command->payload = mg_slice_of("null");
    }
    if (command->payload.len > MG_SIGNAL_PAYLOAD_MAX) {
        mg_json_member_fault(object, MG_BAD_INPUT, "payload", "%zu bytes; up to %d are allowed",
                             command->payload.len, MG_SIGNAL_PAYLOAD_MAX);
    }
}

static void read_slot(const struct mg_json_object *object, const char *word, struct mg_command *command)
{
    bool is_fire = command->kind == MG_CAUSE_FIRE;
    refuse_foreign(object, word, "schedule", is_fire);
    refuse_foreign(object, word, "slot", is_fire);
    refuse_foreign(object, word, "backfill", is_fire);
    if (is_fire) {
        mg_json_get_name(object, "schedule", MG_REQUIRED, command->schedule);
        command->slot_ms = mg_json_get_time(object, "slot");
        command->is_backfill = mg_json_get_bool(object, "backfill", MG_OPTIONAL, false);
    }
}

static void read_by_kind(const struct mg_json_object *object, int index, struct mg_arena *arena,
                         struct mg_command *command)
{
    static const char *const SETTLED[] = {"done", "absent", NULL};
    const char *word = mg_cause_name(command->kind);

    bool is_resume = command->kind == MG_CAUSE_RESUME;
    refuse_foreign(object, word, "repeat", is_resume);
    refuse_foreign(object, word, "without_output", is_resume);
    command->is_repeat = is_resume && mg_json_get_bool(object, "repeat", MG_OPTIONAL, false);
    command->is_without_output = is_resume && mg_json_get_bool(object, "without_output", MG_OPTIONAL, false);
    bool has_step = COMMANDS[index].has_step || command->is_repeat;
    bool is_signal = command->kind == MG_CAUSE_SIGNAL;
    refuse_foreign(object, word, "step", has_step || is_signal);
    refuse_foreign(object, word, "signal", is_signal);
    refuse_foreign(object, word, "key", is_signal);
    refuse_foreign(object, word, "payload", is_signal);
    refuse_foreign(object, word, "shown", is_signal);
    refuse_foreign(object, word, "attempt", COMMANDS[index].has_attempt);
    refuse_foreign(object, word, "generation", is_signal || COMMANDS[index].has_generation);
    refuse_foreign(object, word, "seq", COMMANDS[index].has_seq);
    refuse_foreign(object, word, "outcome", COMMANDS[index].has_outcome);
    refuse_foreign(object, word, "result", COMMANDS[index].has_outcome);
    refuse_foreign(object, word, "set", COMMANDS[index].has_set);
    read_slot(object, word, command);
    if (has_step) {
        mg_json_get_name(object, "step", MG_REQUIRED, command->step);
    }
    if (COMMANDS[index].has_attempt) {
        command->attempt = (uint32_t)mg_json_get_integer(object, "attempt", MG_REQUIRED,
                                                         COMMANDS[index].attempt_min, MG_ATTEMPT_MAX, 0);
    }
    if (COMMANDS[index].has_generation) {
        command->generation =
            (uint32_t)mg_json_get_integer(object, "generation", MG_REQUIRED, 0, UINT32_MAX, 0);
    }
    if (COMMANDS[index].has_seq) {
        command->seq = (uint64_t)mg_json_get_integer(object, "seq", MG_REQUIRED, 1, INT64_MAX, 0);
    }
    if (COMMANDS[index].has_outcome) {
        int outcome = mg_json_get_word(object, "outcome", MG_REQUIRED, SETTLED, MG_BAD_INPUT, -1);
        command->outcome = outcome == 1 ? MG_OUTCOME_ABSENT : MG_OUTCOME_DONE;
        read_result(object, command);
    }
    if (COMMANDS[index].has_set) {
        struct mg_slice name, entry;
        struct mg_json_walk walk =
            mg_json_walk_of(mg_json_get_typed(object, "set", MG_OPTIONAL, MG_JSON_ARRAY));
        while (object->faults->class == MG_OK && mg_json_walk_next(&walk, &name, &entry)) {
            read_set(object, entry, arena, command);
        }
    }
    if (is_signal) {
        read_signal(object, command);
    }
}

enum mg_class mg_command_parse(struct mg_slice body, const struct mg_json_limits *limits,
                               struct mg_arena *arena, struct mg_command *ret_command, struct mg_err *err)
{
    const char *words[COMMAND_COUNT + 1] = {NULL};
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_command command = {0};

    for (int i = 0; i < COMMAND_COUNT; i++) {
        words[i] = mg_cause_name(COMMANDS[i].kind);
    }
    if (!mg_json_message_open(&object, &faults, body, limits, NAMES, MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_version_check(&object);
    mg_json_get_checked(&object, "command_id", MG_REQUIRED, mg_command_id_is_valid, MG_COMMAND_ID_RIGHT,
                        command.command_id, sizeof(command.command_id));
    command.version = (uint64_t)mg_json_get_integer(&object, "version", MG_OPTIONAL, 1, INT64_MAX, 0);
    mg_json_get_text(&object, "by", MG_REQUIRED, command.by, sizeof(command.by));
    mg_json_get_text(&object, "reason", MG_OPTIONAL, command.reason, sizeof(command.reason));
    int index = mg_json_get_word(&object, "command", MG_REQUIRED, words, MG_STALE, -1);
    bool has_key = index >= 0 && COMMANDS[index].kind == MG_CAUSE_SIGNAL &&
                   mg_json_get(&object, "key", MG_OPTIONAL).data != NULL;
    mg_json_get_order_id(&object, "order_id", has_key ? MG_OPTIONAL : MG_REQUIRED, command.order_id);
    if (index >= 0) {
        command.kind = COMMANDS[index].kind;
        read_by_kind(&object, index, arena, &command);
    }
    if (faults.class == MG_OK) {
        *ret_command = command;
    }
    return faults.class;
}
