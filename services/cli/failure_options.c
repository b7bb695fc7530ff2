/* See failure_options.h. */
#include "failure_options.h"

const char *mg_option_text(const char *text)
{
    return text != NULL ? text : "";
}

enum mg_exit_code mg_failure_options_read(const struct mg_cli *cli, struct mg_bulk_filter *ret)
{
    const struct mg_cli_options *options = &cli->options;
    const struct mg_bulk_words words = {
        options->workflow, options->step,      options->error,   options->since,
        options->until,    &options->services, &options->labels, NULL};
    char refusal[MG_BULK_REFUSAL_SIZE];
    return mg_bulk_filter_read(&words, ret, refusal) ? MG_EXIT_DONE
                                                     : mg_cli_fail(MG_EXIT_USAGE, "--%s", refusal);
}
