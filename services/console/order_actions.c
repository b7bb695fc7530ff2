/* Commands about one order, as the tool sends them: resume with repairs, settle, skip, signals and the
 * others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/change_request.h"
#include "core/key.h"

#define COMMAND_TIMEOUT_MS                                                                                   \
    5000 /* a scheduler answers within milliseconds; after this the operator looks at the order              \
          */

/* ---- the answer ---- */

/* The outcome of a signal. The text of a late one names it already. */
static void signal_words(const struct mg_command_result *result, char *ret_text, size_t size)
{
    bool is_late = result->signal == MG_SIGNAL_LATE;
    (void)snprintf(ret_text, size, "the signal is %s%s%s",
                   is_late ? "" : mg_signal_outcome_name(result->signal), is_late ? "" : ": ", result->text);
}

static void on_commanded(void *arg, const struct mg_command_result *result)
{
    static const unsigned int statuses[] = {[MG_COMMAND_DONE] = 200,
                                            [MG_COMMAND_CONFLICT] = 409,
                                            [MG_COMMAND_NOT_FOUND] = 404,
                                            [MG_COMMAND_INVALID] = 400};
    struct mg_change *change = arg;
    char text[MG_COMMAND_REASON_MAX + 64];
    if (result == NULL) {
        mg_change_end(change, 202, "no scheduler has answered yet; the command may still be carried out");
        return;
    }
    if (result->signal != MG_SIGNAL_NONE) {
        signal_words(result, text, sizeof(text));
    } else if (result->verdict == MG_COMMAND_DONE) {
        (void)snprintf(text, sizeof(text), "the order is %s", mg_order_state_name(result->state));
    } else {
        (void)snprintf(text, sizeof(text), "%s: %s", mg_command_verdict_name(result->verdict), result->text);
    }
    mg_change_end(change, statuses[result->verdict], text);
}

void mg_console_command_send(struct mg_change *change)
{
    if (!mg_commander_send(change->console->commander, &change->command, COMMAND_TIMEOUT_MS, on_commanded,
                           change)) {
        mg_change_end(change, 503, "too many commands are under way; try again");
    }
}

/* ---- the request ---- */

#define IDENTITY_MAX (2 * MG_UUID_SIZE + MG_USER_NAME_SIZE + 2 * MG_PATH_PART_SIZE)

/* The id is derived, so that a repeated request with the same `click` is the same command. The operator's
 * name is part of it: no request can take the id of another operator's command. */
void mg_console_command_id_make(const struct mg_change *change, uint64_t version, const char *click,
                                char ret_command_id[MG_UUID_SIZE])
{
    struct mg_buf identity;
    if (!mg_uuid_is_valid(click)) {
        mg_uuid_random(ret_command_id);
        return;
    }
    mg_buf_init(&identity, IDENTITY_MAX);
    mg_buf_printf(&identity, "%s\n%s\n%s\n%llu\n%s", change->by, change->id, change->verb,
                  (unsigned long long)version, click);
    mg_uuid_derived(mg_slice_of("console command"), mg_buf_slice(&identity), ret_command_id);
    mg_buf_finish(&identity);
}

static const char *version_read(struct mg_change *change, struct mg_slice body)
{
    change->command.version = mg_member_number(body, "/version");
    return change->command.version == 0 ? "version: expected the version of the order as shown" : NULL;
}

const char *mg_console_json_read(struct mg_change *change, const char *name, struct mg_slice quoted,
                                 struct mg_slice *ret_json)
{
    const struct mg_json_limits limits = {
        .max_bytes = MG_COMMAND_RESULT_MAX, .max_depth = 32, .max_members = 10000, .any_number = true};
    struct mg_buf text;
    struct mg_err err;
    mg_buf_init(&text, MG_COMMAND_RESULT_MAX + 1);
    bool is_read = mg_json_string(quoted, &text) && !text.failed &&
                   mg_json_check(mg_buf_slice(&text), &limits, &err) == MG_OK;
    change->payload = is_read ? strndup(text.data, text.len) : NULL;
    mg_buf_finish(&text);
    if (change->payload == NULL) {
        (void)snprintf(change->refusal, sizeof(change->refusal), "%s: %s", name,
                       is_read ? "out of memory; try again"
                               : "expected JSON of at most 64 KiB, such as true or {\"ok\": true}");
        return change->refusal;
    }
    *ret_json = mg_slice_of(change->payload);
    return NULL;
}

/* The name and the payload of a signal, and the question that its page showed. NULL: they are valid; else the
 * reason for a refusal. */
static const char *signal_read(struct mg_change *change, struct mg_slice body)
{
    struct mg_command *command = &change->command;
    struct mg_slice quoted = mg_json_find(body, "/payload");
    if (!mg_document_text(body, "/signal", command->signal, sizeof(command->signal)) ||
        !mg_name_is_valid(command->signal, strlen(command->signal))) {
        return "signal: expected the name of a signal";
    }
    if (!mg_document_text(body, "/shown", command->shown, sizeof(command->shown)) ||
        (command->shown[0] != '\0' && !mg_shown_is_valid(command->shown, strlen(command->shown)))) {
        return "shown: expected that of the page; reload the page";
    }
    return quoted.data == NULL ? NULL : mg_console_json_read(change, "payload", quoted, &command->payload);
}

static const char *step_read(struct mg_change *change, struct mg_slice body)
{
    char *step = change->command.step;
    return mg_document_text(body, "/step", step, sizeof(change->command.step)) &&
                   mg_name_is_valid(step, strlen(step))
               ? NULL
               : "step: expected the name of a step";
}

static const char *settle_read(struct mg_change *change, struct mg_slice body)
{
    struct mg_command *command = &change->command;
    char outcome[MG_PATH_PART_SIZE];
    struct mg_slice result = mg_json_find(body, "/result");
    const char *wrong = step_read(change, body);
    if (wrong != NULL) {
        return wrong;
    }
    bool is_text = mg_document_text(body, "/outcome", outcome, sizeof(outcome));
    if (!is_text || (strcmp(outcome, "done") != 0 && strcmp(outcome, "absent") != 0)) {
        return "outcome: expected done or absent";
    }
    command->outcome = strcmp(outcome, "done") == 0 ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT;
    if (result.data == NULL) {
        return NULL;
    }
    return command->outcome == MG_OUTCOME_DONE
               ? mg_console_json_read(change, "result", result, &command->result)
               : "result: only a step that is done has a result";
}

/* The repairs: an object with a JSON pointer into the payload as each name. */
static const char *sets_read(struct mg_change *change, struct mg_slice quoted)
{
    struct mg_command *command = &change->command;
    struct mg_slice sets, name, value;
    const char *wrong = mg_console_json_read(change, "set", quoted, &sets);
    if (wrong != NULL) {
        return wrong;
    }
    if (mg_json_type_of(sets) != MG_JSON_OBJECT) {
        return "set: expected an object: pointers into the payload and their values";
    }
    struct mg_json_walk walk = mg_json_walk_of(mg_json_trim(sets));
    while (mg_json_walk_next(&walk, &name, &value)) {
        struct mg_buf pointer;
        if (command->set_count == MG_COMMAND_SETS_MAX) {
            return "set: at most 16 values can be changed in one resume";
        }
        mg_buf_init(&pointer, MG_COMMAND_POINTER_MAX);
        bool is_read = mg_json_string(name, &pointer) && !pointer.failed && pointer.len > 0;
        char *text = is_read ? strndup(pointer.data, pointer.len) : NULL;
        mg_buf_finish(&pointer);
        if (text == NULL || text[0] != '/' || !mg_json_pointer_is_valid(text)) {
            free(text);
            return "set: expected pointers into the payload, such as /card/number";
        }
        change->pointers[command->set_count] = text;
        command->sets[command->set_count].pointer = mg_slice_of(text);
        command->sets[command->set_count++].value = mg_json_trim(value);
    }
    return NULL;
}

/* `repeat`: the step that is done once more. */
static const char *resume_read(struct mg_change *change, struct mg_slice body)
{
    struct mg_command *command = &change->command;
    char without_output[MG_PATH_PART_SIZE];
    struct mg_slice sets = mg_json_find(body, "/set");
    if (!mg_document_text(body, "/repeat", command->step, sizeof(command->step)) ||
        (command->step[0] != '\0' && !mg_name_is_valid(command->step, strlen(command->step)))) {
        return "repeat: expected the name of a step";
    }
    command->is_repeat = command->step[0] != '\0';
    command->is_without_output =
        mg_document_text(body, "/without_output", without_output, sizeof(without_output)) &&
        strcmp(without_output, "yes") == 0;
    return sets.data != NULL ? sets_read(change, sets) : NULL;
}

/* The members besides the version. */
static const char *members_read(struct mg_change *change, struct mg_slice body)
{
    switch ((int)change->command.kind) {
    case MG_CAUSE_RESUME:
        return resume_read(change, body);
    case MG_CAUSE_SETTLE:
        return settle_read(change, body);
    case MG_CAUSE_SKIP:
        return step_read(change, body);
    default:
        return NULL;
    }
}

const char *mg_console_order_read(struct mg_change *change, struct mg_slice body)
{
    static const struct {
        const char *verb;
        enum mg_cause_kind kind;
    } verbs[] = {{"resume", MG_CAUSE_RESUME},         {"restart", MG_CAUSE_RESTART},
                 {"settle", MG_CAUSE_SETTLE},         {"skip", MG_CAUSE_SKIP},
                 {"compensate", MG_CAUSE_COMPENSATE}, {"cancel", MG_CAUSE_CANCEL},
                 {"release", MG_CAUSE_RELEASE},       {"signal", MG_CAUSE_SIGNAL}};
    struct mg_command *command = &change->command;
    char click[MG_UUID_SIZE];
    *command = (struct mg_command){.outcome = MG_OUTCOME_DONE};
    bool is_known = false;
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(verbs[i].verb, change->verb) == 0) {
            command->kind = verbs[i].kind;
            is_known = true;
        }
    }
    if (!is_known || !mg_order_id_is_valid(change->id, strlen(change->id))) {
        return "unknown verb, or invalid order id";
    }
    const char *wrong =
        command->kind == MG_CAUSE_SIGNAL ? signal_read(change, body) : version_read(change, body);
    wrong = wrong == NULL ? members_read(change, body) : wrong;
    if (wrong != NULL) {
        return wrong;
    }
    (void)mg_document_text(body, "/command_id", click, sizeof(click));
    mg_console_command_id_make(change, command->version, click, command->command_id);
    memcpy(command->order_id, change->id, strlen(change->id) + 1); /* a valid id fits */
    (void)snprintf(command->by, sizeof(command->by), "%s", change->by);
    (void)snprintf(command->reason, sizeof(command->reason), "%s", change->reason);
    return NULL;
}
