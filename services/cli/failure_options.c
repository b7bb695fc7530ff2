/* See failure_options.h. */
#include "failure_options.h"

const char *option_text(const char *text)
{
    return text != NULL ? text : "";
}

enum exit_code failure_options_read(const struct cli *cli, struct batch_filter *ret)
{
    const struct cli_options *options = &cli->options;
    const struct batch_words words = {options->workflow, options->step,  options->error,
                                      options->since,    options->until, &options->services};
    char refusal[BATCH_REFUSAL_SIZE];
    return batch_filter_read(&words, ret, refusal) ? EXIT_DONE : cli_fail(EXIT_USAGE, "--%s", refusal);
}
