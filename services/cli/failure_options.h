/*
 * The options of `order list` and `bulk start` that choose failures: --workflow, --step, --error, --service,
 * --since, --until.
 */
#ifndef MG_CLI_FAILURE_OPTIONS_H
#define MG_CLI_FAILURE_OPTIONS_H

#include "cli.h"
#include "operator/bulk_words.h"

/* Prints on stderr the wrong option, if there is one. */
enum mg_exit_code mg_failure_options_read(const struct mg_cli *cli, struct mg_bulk_filter *ret);
/* "" for NULL: an option without a value is no condition. */
const char *mg_option_text(const char *text);

#endif
