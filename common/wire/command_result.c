/* The scheduler's answer to a command: the verdict, and the order's present state. */

#include "json/reader.h"
#include "wire/command.h"
#include "wire/message_write.h"

static const char *const NAMES[] = {"v",     "command_id", "order_id", "verdict", "version",
                                    "state", "text",       "may_pass", "signal",  NULL};
static const char *const VERDICTS[] = {"done", "conflict", "not_found", "invalid", NULL};

const char *mg_command_verdict_name(enum mg_command_verdict verdict)
{
    return VERDICTS[verdict];
}

/* Not that of a signal with a key for which there is no order yet. */
static bool has_state(int verdict, const char *order_id)
{
    return order_id[0] != '\0' && (verdict == MG_COMMAND_DONE || verdict == MG_COMMAND_CONFLICT);
}

void mg_command_result_write(const struct mg_command_result *result, struct mg_buf *ret_body)
{
    struct mg_json_writer json = mg_json_compact(ret_body);

    mg_json_object_begin(&json);
    mg_json_member_int(&json, "v", 1);
    mg_message_put_text_if(&json, "command_id", result->command_id);
    mg_message_put_text_if(&json, "order_id", result->order_id);
    mg_json_member_word(&json, "verdict", mg_command_verdict_name(result->verdict));
    if (result->signal != MG_SIGNAL_NONE) {
        mg_json_member_word(&json, "signal", mg_signal_outcome_name(result->signal));
    }
    if (has_state((int)result->verdict, result->order_id)) {
        mg_json_member_int(&json, "version", (int64_t)result->version);
        mg_json_member_word(&json, "state", mg_order_state_name(result->state));
    }
    if (result->may_pass) {
        mg_json_member_bool(&json, "may_pass", true);
    }
    mg_message_put_text(&json, "text", result->text);
    mg_json_object_end(&json);
}

enum mg_class mg_command_result_parse(struct mg_slice body, struct mg_command_result *ret_result,
                                      struct mg_err *err)
{
    struct mg_json_faults faults = {.err = err};
    struct mg_json_object object;
    struct mg_command_result result = {0};

    if (!mg_json_message_open(&object, &faults, body, &MG_JSON_LIMITS_DEFAULT, NAMES,
                              MG_JSON_UNKNOWN_IGNORED)) {
        return faults.class;
    }
    mg_json_version_check(&object);
    int verdict = mg_json_get_word(&object, "verdict", MG_REQUIRED, VERDICTS, MG_STALE, -1);
    /* An invalid command may lack its ids. */
    enum mg_json_need need = verdict == MG_COMMAND_INVALID ? MG_OPTIONAL : MG_REQUIRED;
    mg_json_get_checked(&object, "command_id", need, mg_command_id_is_valid, MG_COMMAND_ID_RIGHT,
                        result.command_id, sizeof(result.command_id));
    int signal = mg_json_get_word(&object, "signal", MG_OPTIONAL, MG_WORDS_SIGNAL_OUTCOME, MG_STALE, -1);
    result.signal = (enum mg_signal_outcome)(signal + 1); /* -1: none */
    mg_json_get_order_id(&object, "order_id", signal < 0 ? need : MG_OPTIONAL, result.order_id);
    mg_json_get_text(&object, "text", MG_REQUIRED, result.text, sizeof(result.text));
    result.may_pass = mg_json_get_bool(&object, "may_pass", MG_OPTIONAL, false);
    if (has_state(verdict, result.order_id)) {
        result.version = (uint64_t)mg_json_get_integer(&object, "version", MG_REQUIRED, 1, INT64_MAX, 0);
        int state = mg_json_get_word(&object, "state", MG_REQUIRED, MG_WORDS_ORDER_STATE, MG_STALE, 0);
        if (state >= 0) {
            result.state = (enum mg_order_state)state;
        }
    }
    if (faults.class != MG_OK) {
        return faults.class;
    }
    result.verdict = (enum mg_command_verdict)verdict;
    *ret_result = result;
    return MG_OK;
}
