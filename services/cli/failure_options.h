/*
 * Which failures are meant, as `order list` and `batch start` are told: --workflow, --step, --error,
 * --service, --since, --until.
 */
#ifndef MG_CLI_FAILURE_OPTIONS_H
#define MG_CLI_FAILURE_OPTIONS_H

#include "cli.h"
#include "io/store_batch.h"
#include "operator/moment.h"

/* Several services have names of their own length. */
#define SERVICES_MAX_BYTES 512

struct failure_options {
    struct mg_failure_filter filter; /* borrows from the tool's options and from the members below */
    char since[MOMENT_SIZE], until[MOMENT_SIZE], services[SERVICES_MAX_BYTES];
};

/* Says on stderr what is wrong with them. */
enum exit_code failure_options_read(const struct cli *cli, struct failure_options *ret);
/* "" for NULL: what was not given asks for nothing. */
const char *option_text(const char *text);

#endif
