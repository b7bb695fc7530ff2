/*
 * Verbs that change an order by a command to the schedulers, and print the answer. The command carries the
 * version that it was decided on: --if-version, or the current one. Two operators, or one operator clicking
 * twice, therefore cause one change.
 *
 * Cancel and compensate only set the order's goal, once, which is right at any version. They carry a version
 * only with --if-version, so that an order in fast motion can still be turned back.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "cli.h"
#include "core/key.h"
#include "operator/command_client.h"

#define RESEND_PERIOD_MS                                                                                     \
    2000 /* an answer is lost with its connection; a second copy of the command changes nothing */

struct asking {
    struct mg_cli *cli;
    struct mg_command command;
    struct mg_command_client *client;
    bool is_over, is_impossible;
    struct mg_command_result result;
    struct mg_err err; /* why it is impossible */
};

static void result_came(void *arg, const struct mg_command_result *result, struct mg_slice correlation_id)
{
    (void)correlation_id;
    struct asking *asking = arg;
    if (!asking->is_over && strcmp(result->command_id, asking->command.command_id) == 0) {
        asking->result = *result;
        asking->is_over = true;
    }
}

/* Runs each period until the answer arrives. */
static void command_send(void *arg)
{
    struct asking *asking = arg;
    enum mg_class class = mg_command_client_send(asking->client, &asking->command, &asking->err);
    asking->is_impossible = class == MG_BAD_INPUT; /* other failures may pass by the next period */
    asking->is_over = asking->is_over || asking->is_impossible;
}

static enum mg_exit_code version_read(struct mg_cli *cli, struct mg_command *command)
{
    if (cli->options.version != 0) {
        command->version = (uint64_t)cli->options.version;
        return MG_EXIT_DONE;
    }
    bool sets_goal = command->kind == MG_CAUSE_CANCEL || command->kind == MG_CAUSE_COMPENSATE;
    struct mg_table order = {0};
    const char *params[] = {command->order_id};
    enum mg_exit_code code = mg_table_open(cli, MG_REPORT_ORDER, params, 1, &order);
    if (code == MG_EXIT_DONE && order.row_count == 0) {
        code = mg_order_unknown_fail(cli, command->order_id);
    }
    if (code == MG_EXIT_DONE && !sets_goal) {
        command->version = strtoull(mg_table_cell(&order, 0, "version"), NULL, 10);
    }
    mg_table_free(&order);
    return code;
}

/* `code` is that of the verdict. */
static enum mg_exit_code signal_print(struct mg_cli *cli, const struct mg_command *command,
                                      const struct mg_command_result *result, enum mg_exit_code code)
{
    bool has_outcome = result->signal != MG_SIGNAL_NONE, has_order = result->version > 0;
    const char *word =
        has_outcome ? mg_signal_outcome_name(result->signal) : mg_command_verdict_name(result->verdict);
    if (code != MG_EXIT_DONE || !has_outcome) {
        bool has_word = strncmp(result->text, word, strlen(word)) == 0; /* "late: the order has ended" */
        return mg_cli_fail(code != MG_EXIT_DONE ? code : MG_EXIT_ERROR, "signal %s: %s%s%s", command->signal,
                           has_word ? "" : word, has_word ? "" : ": ", result->text);
    }
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "id", command->command_id);
        mg_json_member_word(json, "signal", word);
        if (has_order) {
            mg_json_member_string(json, "order_id", result->order_id);
            mg_json_member_word(json, "state", mg_order_state_name(result->state));
            mg_json_member_int(json, "version", (int64_t)result->version);
        }
        return mg_answer_print(&answer);
    }
    mg_print(stdout, "signal %s: %s\n", command->signal, word);
    if (has_order) {
        mg_print(stdout, "order %s is %s, version %llu\n", result->order_id,
                 mg_order_state_name(result->state), (unsigned long long)result->version);
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code result_print(struct mg_cli *cli, const struct mg_command *command,
                                      const struct mg_command_result *result)
{
    static const enum mg_exit_code codes[] = {[MG_COMMAND_DONE] = MG_EXIT_DONE,
                                              [MG_COMMAND_CONFLICT] = MG_EXIT_CONFLICT,
                                              [MG_COMMAND_NOT_FOUND] = MG_EXIT_NOT_FOUND,
                                              [MG_COMMAND_INVALID] = MG_EXIT_USAGE};
    if (command->kind == MG_CAUSE_SIGNAL) {
        return signal_print(cli, command, result, codes[result->verdict]);
    }
    bool is_fire = command->kind == MG_CAUSE_FIRE; /* a slot that is not due has no state to conflict with */
    if (result->verdict != MG_COMMAND_DONE) {
        enum mg_exit_code code = is_fire && result->may_pass ? MG_EXIT_CONFLICT : codes[result->verdict];
        return mg_cli_fail(code, "order %s: %s: %s", result->order_id,
                           mg_command_verdict_name(result->verdict), result->text);
    }
    char slot[MG_TIME_TEXT_SIZE];
    mg_time_format(command->slot_ms, slot);
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        if (is_fire) {
            mg_json_member_string(json, "schedule", command->schedule);
            mg_json_member_word(json, "slot", slot);
        }
        mg_json_member_string(json, "order_id", result->order_id);
        mg_json_member_word(json, "state", mg_order_state_name(result->state));
        mg_json_member_int(json, "version", (int64_t)result->version);
        return mg_answer_print(&answer);
    }
    if (is_fire) {
        mg_print(stdout, "slot %s: ", slot);
    }
    mg_print(stdout, "order %s is %s, version %llu\n", result->order_id, mg_order_state_name(result->state),
             (unsigned long long)result->version);
    return MG_EXIT_DONE;
}

/* How to learn the outcome of the command. */
static void look_write(const struct mg_command *command, char *ret_text, size_t size)
{
    if (command->kind == MG_CAUSE_SIGNAL) {
        (void)snprintf(ret_text, size, "send it again with --id %s", command->command_id);
    } else {
        (void)snprintf(ret_text, size, "see makegood order show %s", command->order_id);
    }
}

static enum mg_exit_code outcome_print(const struct asking *asking)
{
    char look[MG_ORDER_ID_MAX + 64];
    look_write(&asking->command, look, sizeof(look));
    if (!asking->is_over && mg_broker_is_blocked(mg_command_client_broker(asking->client))) {
        return mg_cli_fail(
            MG_EXIT_UNAVAILABLE,
            "the broker blocks publishers (memory or disk alarm): free some there; the command "
            "may be carried out when the alarm ends: %s",
            look);
    }
    if (!asking->is_over) {
        return mg_cli_fail(MG_EXIT_TIMED_OUT,
                           "no scheduler answered in time; the command may still be carried out: %s", look);
    }
    return asking->is_impossible ? mg_cli_fail_err(&asking->err)
                                 : result_print(asking->cli, &asking->command, &asking->result);
}

static enum mg_exit_code answer_await(struct asking *asking)
{
    struct mg_cli *cli = asking->cli;
    struct mg_err err;
    const struct mg_command_client_options options = {
        .address = cli->options.broker, .name = "makegood", .on_result = result_came, .arg = asking};
    const struct mg_broker_options nothing_else = {.name = NULL};
    if (mg_command_client_create(cli->loop, &options, &asking->client, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    cli->broker = mg_command_client_broker(asking->client);
    enum mg_exit_code code = mg_cli_open_broker(cli, &nothing_else);
    cli->broker = NULL; /* the client owns it */
    struct mg_timer *timer = code == MG_EXIT_DONE ? mg_timer_create(cli->loop, command_send, asking) : NULL;
    if (timer != NULL) {
        mg_timer_start(timer, 0, RESEND_PERIOD_MS);
        (void)mg_cli_wait(cli, &asking->is_over, cli->options.timeout_ms);
        mg_timer_destroy(timer);
        code = outcome_print(asking);
    }
    mg_command_client_destroy(asking->client); /* its callbacks use `asking` */
    return code;
}

static enum mg_exit_code note_and_await(struct asking *asking)
{
    enum mg_exit_code code = mg_cli_note_command(asking->cli, &asking->command);
    return code == MG_EXIT_DONE ? answer_await(asking) : code;
}

enum mg_exit_code mg_cli_command_send(struct mg_cli *cli, const struct mg_command *command)
{
    struct asking asking = {.cli = cli, .command = *command};
    return note_and_await(&asking);
}

static enum mg_exit_code sets_read(struct mg_cli *cli, struct mg_command *command)
{
    for (int i = 0; i < cli->options.sets.count; i++) {
        const char *text = cli->options.sets.items[i];
        const char *equals = strchr(text, '=');
        struct mg_err err;
        if (i >= MG_COMMAND_SETS_MAX) {
            return mg_cli_fail(MG_EXIT_USAGE, "at most %d --set in one resume", MG_COMMAND_SETS_MAX);
        }
        if (equals == NULL || text[0] != '/') {
            return mg_cli_fail(MG_EXIT_USAGE,
                               "--set %s: expected POINTER=JSON, as in --set /card/number='\"4242\"'", text);
        }
        command->sets[i].pointer = (struct mg_slice){text, (size_t)(equals - text)};
        command->sets[i].value = mg_slice_of(equals + 1);
        if (mg_json_check(command->sets[i].value, &MG_JSON_LIMITS_DATA, &err) != MG_OK) {
            return mg_cli_fail(MG_EXIT_USAGE, "--set %s: the value is no JSON: %s", text, err.text);
        }
        command->set_count++;
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code result_read(struct mg_cli *cli, struct mg_command *command)
{
    struct mg_err err;
    if (!mg_option_is_given(cli->options.step_result)) {
        return MG_EXIT_DONE;
    }
    if (command->outcome != MG_OUTCOME_DONE) {
        return mg_cli_fail(MG_EXIT_USAGE, "--result: only a step with --outcome done has a result");
    }
    command->result = mg_slice_of(cli->options.step_result);
    if (command->result.len > MG_COMMAND_RESULT_MAX) {
        return mg_cli_fail(MG_EXIT_USAGE, "--result is longer than %d bytes", MG_COMMAND_RESULT_MAX);
    }
    if (mg_json_check(command->result, &MG_JSON_LIMITS_DATA, &err) != MG_OK) {
        return mg_cli_fail(MG_EXIT_USAGE,
                           "--result %.60s: no JSON: %s; write it as in --result '{\"id\":\"ch_42\"}'",
                           cli->options.step_result, err.text);
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code order_command(struct mg_cli *cli, const char *order_id)
{
    enum mg_cause_kind kind = (enum mg_cause_kind)cli->verb_arg;
    struct asking asking = {.cli = cli};
    struct mg_command *command = &asking.command;
    command->kind = kind;
    command->outcome = MG_OUTCOME_DONE;
    mg_uuid_random(command->command_id);
    (void)snprintf(command->order_id, sizeof(command->order_id), "%s", order_id);
    (void)snprintf(command->reason, sizeof(command->reason), "%s", cli->options.reason);
    mg_cli_by(cli, command->by, sizeof(command->by));
    bool has_step = mg_option_is_given(cli->options.step);
    if (kind == MG_CAUSE_RESUME && has_step != cli->options.is_repeat) {
        return mg_cli_fail(MG_EXIT_USAGE,
                           "--step STEP and --repeat belong together: the step is done once more");
    }
    command->is_repeat = cli->options.is_repeat;
    command->is_without_output = cli->options.is_without_output;
    if (kind == MG_CAUSE_SETTLE || kind == MG_CAUSE_SKIP || command->is_repeat) {
        if (!has_step) {
            return mg_cli_fail(MG_EXIT_USAGE, "name the step with --step STEP");
        }
        if (strlen(cli->options.step) > MG_NAME_MAX) {
            return mg_cli_fail(MG_EXIT_USAGE, "--step %s: no step has so long a name", cli->options.step);
        }
        (void)snprintf(command->step, sizeof(command->step), "%s", cli->options.step);
    }
    if (kind == MG_CAUSE_SETTLE) {
        const char *outcome = cli->options.outcome != NULL ? cli->options.outcome : "";
        if (strcmp(outcome, "done") != 0 && strcmp(outcome, "absent") != 0) {
            return mg_cli_fail(MG_EXIT_USAGE,
                               "give the step's outcome with --outcome done or --outcome absent");
        }
        command->outcome = strcmp(outcome, "done") == 0 ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT;
    }
    enum mg_exit_code code = sets_read(cli, command);
    if (code == MG_EXIT_DONE) {
        code = result_read(cli, command);
    }
    if (code == MG_EXIT_DONE) {
        code = version_read(cli, command);
    }
    return code == MG_EXIT_DONE ? note_and_await(&asking) : code;
}

enum mg_exit_code mg_cli_order_ids_check(const struct mg_cli *cli)
{
    for (int i = 0; i < cli->words.count; i++) {
        const char *order_id = cli->words.items[i];
        if (!mg_order_id_is_valid(order_id, strlen(order_id))) {
            return mg_cli_fail(MG_EXIT_USAGE, MG_CLI_NO_ORDER_ID, order_id, MG_ORDER_ID_MAX);
        }
    }
    return MG_EXIT_DONE;
}

/* Whether there is such an order. */
static enum mg_exit_code order_look(struct mg_cli *cli, const char *order_id)
{
    struct mg_command command = {.kind = MG_CAUSE_CANCEL}; /* at any version */
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s", order_id);
    return version_read(cli, &command);
}

enum mg_exit_code mg_verb_order_command(struct mg_cli *cli)
{
    enum mg_exit_code code = mg_cli_order_ids_check(cli);
    for (int i = 0; cli->words.count > 1 && i < cli->words.count && code == MG_EXIT_DONE; i++) {
        code = order_look(cli, cli->words.items[i]); /* of several all, before the first is changed */
    }
    return code == MG_EXIT_DONE ? mg_cli_each(cli, order_command) : code;
}
