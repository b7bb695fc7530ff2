/* `audit`: the acts of operators, from the table operator_action. It also records those of this tool that a
 * command to the schedulers carries out. */
#include <string.h>

#include "operator/command_note.h"
#include "operator/option_words.h"
#include "verb_table.h"

#define CURSOR_DIGITS_MAX 18 /* an action's number stays an int64 */

enum mg_exit_code mg_cli_note_command(struct mg_cli *cli, const struct mg_command *command)
{
    struct mg_command_note note;
    struct mg_stored noted = {.is_over = false};
    enum mg_exit_code code = cli->store == NULL ? mg_cli_open_store(cli, false) : MG_EXIT_DONE;
    if (code != MG_EXIT_DONE) {
        return code;
    }
    mg_command_note_make(command, "tool", &note);
    mg_store_note_action(cli->store, &note.action, mg_on_stored, &noted);
    return mg_cli_await_stored(cli, &noted, "; nothing was done, but a record of it may exist%s", "");
}

static enum mg_exit_code moment_read(const char *option, const char *text, char ret_number[MG_MOMENT_SIZE])
{
    return mg_moment_parse(mg_option_text(text), ret_number)
               ? MG_EXIT_DONE
               : mg_cli_fail(MG_EXIT_USAGE, "%s %s: expected " MG_MOMENT_RIGHT, option, text);
}

static enum mg_exit_code verb_audit(struct mg_cli *cli)
{
    static const char *const columns[] = {"at", "by_whom", "verb", "subject", "outcome", "reason", NULL};
    char since[MG_MOMENT_SIZE], until[MG_MOMENT_SIZE];
    const char *after = mg_option_text(cli->options.after);
    struct mg_table table = {0};
    enum mg_exit_code code = moment_read("--since", cli->options.since, since);
    if (code == MG_EXIT_DONE) {
        code = moment_read("--until", cli->options.until, until);
    }
    if (code == MG_EXIT_DONE &&
        (strlen(after) > CURSOR_DIGITS_MAX || strspn(after, "0123456789") != strlen(after))) {
        code = mg_cli_fail(MG_EXIT_USAGE, "--after %s: expected the number that the page before ended with",
                           after);
    }
    if (code == MG_EXIT_DONE) {
        const char *params[] = {
            since, until,     mg_option_text(cli->options.by), mg_option_text(cli->options.subject),
            after, cli->limit};
        code = mg_table_open(cli, MG_REPORT_ACTIONS, params, 6, &table);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_print(cli, &table, columns);
    }
    if (code == MG_EXIT_DONE && table.row_count > 0 && table.row_count >= cli->options.limit) {
        mg_cli_note("there may be more: the same with --after %s",
                    mg_table_cell(&table, table.row_count - 1, "action_id"));
    }
    mg_table_free(&table);
    return code;
}

const struct mg_verb MG_AUDIT_VERBS[] = {
    {"audit", NULL, "", 0, 0, MG_EXTRA_ACTIONS | MG_EXTRA_TIME | MG_EXTRA_AFTER | MG_EXTRA_LIMIT,
     MG_PRINTS_LIST, verb_audit,
     "lists the acts of operators, newest first: commands, pauses, bulk actions, signals", 0},
    {0}};
