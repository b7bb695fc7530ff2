/* See failure_options.h. */
#include "failure_options.h"

const char *option_text(const char *text)
{
    return text != NULL ? text : "";
}

enum exit_code failure_options_read(const struct cli *cli, struct bulk_filter *ret)
{
    const struct cli_options *options = &cli->options;
    const struct bulk_words words = {options->workflow, options->step,  options->error,
                                     options->since,    options->until, &options->services};
    char refusal[BULK_REFUSAL_SIZE];
    return bulk_filter_read(&words, ret, refusal) ? EXIT_DONE : cli_fail(EXIT_USAGE, "--%s", refusal);
}
