/* `order signal` and `signal send`: an operator's signal to an order, by its id or by a key. Both take any
 * version of the order: the schedulers decide in the order of arrival. */
#include <stdlib.h>
#include <string.h>

#include "core/key.h"
#include "verb_table.h"
#include "wire/command.h"

/* Name, identity, operator. */
static enum mg_exit_code head_read(struct mg_cli *cli, const char *name, struct mg_command *command)
{
    const char *id = cli->options.signal_id;
    command->kind = MG_CAUSE_SIGNAL;
    if (!mg_name_is_valid(name, strlen(name))) {
        return mg_cli_fail(
            MG_EXIT_USAGE,
            "\"%s\" is no signal's name: a letter a-z, then a-z, 0-9, _ and -, at most %d in all", name,
            MG_NAME_MAX);
    }
    if (mg_option_is_given(id) && !mg_command_id_is_valid(id, strlen(id))) {
        return mg_cli_fail(MG_EXIT_USAGE, "--id %s: expected " MG_COMMAND_ID_RIGHT, id);
    }
    mg_uuid_random(command->command_id);
    if (mg_option_is_given(id)) {
        (void)snprintf(command->command_id, sizeof(command->command_id), "%s", id);
    }
    (void)snprintf(command->signal, sizeof(command->signal), "%s", name);
    (void)snprintf(command->reason, sizeof(command->reason), "%s", cli->options.reason);
    mg_cli_by(cli, command->by, sizeof(command->by));
    return MG_EXIT_DONE;
}

static enum mg_exit_code signal_send(struct mg_cli *cli, const char *name, struct mg_command *command)
{
    char *text = NULL;
    struct mg_err err;
    enum mg_exit_code code = head_read(cli, name, command);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_read_json("--payload", cli->options.payload, &text, &command->payload);
    }
    if (code == MG_EXIT_DONE && mg_signal_payload_check(command->payload, &err) != MG_OK) {
        code = mg_cli_fail(MG_EXIT_USAGE, "--payload: %s", err.text);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_cli_command_send(cli, command);
    }
    free(text);
    return code;
}

enum mg_exit_code mg_verb_order_signal(struct mg_cli *cli)
{
    struct mg_command command = {.kind = MG_CAUSE_SIGNAL};
    const char *order_id = cli->words.items[0];
    if (!mg_order_id_is_valid(order_id, strlen(order_id))) {
        return mg_cli_fail(MG_EXIT_USAGE, MG_CLI_NO_ORDER_ID, order_id, MG_ORDER_ID_MAX);
    }
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s", order_id);
    const char *step = mg_option_text(cli->options.step);
    if (step[0] != '\0' && !mg_name_is_valid(step, strlen(step))) {
        return mg_cli_fail(MG_EXIT_USAGE, "--step %s: no step has such a name", step);
    }
    (void)snprintf(command.step, sizeof(command.step), "%s", step);
    return signal_send(cli, cli->words.items[1], &command);
}

static enum mg_exit_code verb_signal_send(struct mg_cli *cli)
{
    struct mg_command command = {.kind = MG_CAUSE_SIGNAL};
    const char *key = mg_option_text(cli->options.key);
    if (!mg_signal_key_is_valid(key, strlen(key))) {
        return mg_cli_fail(MG_EXIT_USAGE, "--key: expected " MG_SIGNAL_KEY_RIGHT);
    }
    (void)snprintf(command.key, sizeof(command.key), "%s", key);
    return signal_send(cli, cli->words.items[0], &command);
}

const struct mg_verb MG_SIGNAL_VERBS[] = {
    {"signal", "send", "NAME", 1, 1, MG_EXTRA_REASON | MG_EXTRA_SIGNAL | MG_EXTRA_KEY, MG_PRINTS_ONE,
     verb_signal_send, "sends a signal to the order that waits for it under a key", 0},
    {0}};
