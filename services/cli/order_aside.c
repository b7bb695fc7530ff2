/* `order set-aside`, `order readmit`: take an order out of the way of all others, and let it in again. No row
 * of the order is read: it may be locked or damaged. */
#include "base/print.h"
#include "cli.h"
#include "wire/command.h"

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
    mg_json_member_string(json, "order_id", order_id);
    mg_json_member_bool(json, "set_aside", is_aside);
    return mg_answer_print(&answer);
}

static enum mg_exit_code order_aside(struct mg_cli *cli, const char *order_id)
{
    struct mg_stored changed = {.is_over = false};
    bool is_aside = cli->verb_arg != 0;
    char by[MG_COMMAND_BY_MAX + 1];
    mg_cli_by(cli, by, sizeof(by));
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    const struct mg_aside aside = {
        .order_id = order_id, .by = by, .reason = cli->options.reason, .is_operators = true};
    (is_aside ? mg_store_set_aside : mg_store_readmit)(cli->store, &aside, mg_on_changed, &changed);
    code = mg_cli_await_stored(cli, &changed, "%s", "");
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (!changed.is_changed && !is_aside) {
        return mg_cli_fail(MG_EXIT_NOT_FOUND, "order %s is not set aside", order_id);
    }
    return result_print(cli, order_id, is_aside); /* set aside before, by whomever: as wanted */
}

enum mg_exit_code mg_verb_order_aside(struct mg_cli *cli)
{
    enum mg_exit_code code = mg_cli_order_ids_check(cli);
    return code == MG_EXIT_DONE ? mg_cli_each(cli, order_aside) : code;
}
