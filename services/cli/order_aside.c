/* `order set-aside`, `order readmit`: take an order out of the way of all others, and let it in again. No row
 * of the order is read: it may be locked or damaged. */
#include <string.h>

#include "base/print.h"
#include "cli.h"
#include "core/key.h"
#include "wire/command.h"

struct changing {
    bool is_over, is_changed, is_failed;
    struct mg_err err;
};

static void row_changed(void *arg, bool changed, const struct mg_err *err)
{
    struct changing *changing = arg;
    changing->is_over = true;
    changing->is_changed = changed;
    if (err != NULL) {
        changing->is_failed = true;
        changing->err = *err;
    }
}

static enum mg_exit_code result_print(struct mg_cli *cli, const char *order_id, bool is_aside)
{
    if (!cli->is_json) {
        mg_print(stdout,
                 is_aside ? "order %s is set aside\n"
                          : "order %s is readmitted; for what came meanwhile: makegood dead list\n",
                 order_id);
        return MG_EXIT_DONE;
    }
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_object_begin(json);
    mg_json_member_string(json, "order_id", order_id);
    mg_json_member_bool(json, "set_aside", is_aside);
    mg_json_object_end(json);
    return mg_answer_print(&answer);
}

static enum mg_exit_code aside_run(struct mg_cli *cli, bool is_aside)
{
    struct changing changing = {.is_over = false};
    const char *order_id = cli->words.items[0];
    char by[MG_COMMAND_BY_MAX + 1];
    if (!mg_order_id_is_valid(order_id, strlen(order_id))) {
        return mg_cli_fail(MG_EXIT_USAGE, MG_CLI_NO_ORDER_ID, order_id, MG_ORDER_ID_MAX);
    }
    if (strlen(cli->options.reason) > MG_COMMAND_REASON_MAX) {
        return mg_cli_fail(MG_EXIT_USAGE, "--reason is longer than %d bytes", MG_COMMAND_REASON_MAX);
    }
    mg_cli_by(cli, by, sizeof(by));
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    const struct mg_aside aside = {
        .order_id = order_id, .by = by, .reason = cli->options.reason, .is_operators = true};
    (is_aside ? mg_store_set_aside : mg_store_readmit)(cli->store, &aside, row_changed, &changing);
    if (!mg_cli_wait(cli, &changing.is_over, cli->options.timeout_ms)) {
        return mg_cli_fail(MG_EXIT_TIMED_OUT, "the database did not answer in time");
    }
    if (changing.is_failed) {
        return mg_cli_fail_err(&changing.err);
    }
    if (!changing.is_changed && !is_aside) {
        return mg_cli_fail(MG_EXIT_NOT_FOUND, "order %s is not set aside", order_id);
    }
    return result_print(cli, order_id, is_aside); /* set aside before, by whomever: as wanted */
}

enum mg_exit_code mg_verb_order_set_aside(struct mg_cli *cli)
{
    return aside_run(cli, true);
}

enum mg_exit_code mg_verb_order_readmit(struct mg_cli *cli)
{
    return aside_run(cli, false);
}
