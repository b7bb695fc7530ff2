/*
 * Which failures are meant, as `order list` and `batch start` are told: --workflow, --step, --error,
 * --service, --since, --until.
 */
#ifndef MG_CLI_FAILURE_OPTIONS_H
#define MG_CLI_FAILURE_OPTIONS_H

#include "cli.h"
#include "operator/batch_words.h"

/* Says on stderr what is wrong with them. */
enum exit_code failure_options_read(const struct cli *cli, struct batch_filter *ret);
/* "" for NULL: what was not given asks for nothing. */
const char *option_text(const char *text);

#endif
