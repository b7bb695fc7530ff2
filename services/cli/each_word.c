/* Verbs that take several orders or alerts: one line of outcome for each. */
#include "cli.h"

enum mg_exit_code mg_cli_each(struct mg_cli *cli, cli_word_fn *run)
{
    enum mg_exit_code first = MG_EXIT_DONE, code = MG_EXIT_DONE;
    if (cli->words.count > 1 && cli->options.version != 0) {
        return mg_cli_fail(MG_EXIT_USAGE, "--if-version names the version of one; give one word");
    }
    cli->is_list = cli->words.count > 1;
    for (int i = 0; i < cli->words.count && code != MG_EXIT_UNAVAILABLE; i++) {
        code = run(cli, cli->words.items[i]);
        first = first == MG_EXIT_DONE ? code : first;
        (void)mg_cli_flush(); /* the next one may take a while */
    }
    return first;
}
