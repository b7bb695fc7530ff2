/* `dev`: all of Makegood on this machine, in the foreground. */
#include "dev/dev.h"

#include <limits.h>

#include "base/file.h"
#include "base/log.h"
#include "verb_table.h"

static enum mg_exit_code verb_dev(struct mg_cli *cli)
{
    char programs[PATH_MAX], migrations[PATH_MAX];
    const struct mg_cli_options *options = &cli->options;
    struct mg_err err;
    mg_log_open("dev", "", MG_LOG_WARN);
    if (!mg_file_programs(programs, sizeof(programs))) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not find the folder of makegood's programs");
    }
    const struct mg_dev_options dev = {.services = &options->services,
                                       .workflows = options->workflows_dir,
                                       .state = options->state,
                                       .webhook_url = options->webhook_url,
                                       .gateway = options->gateway,
                                       .console = options->console,
                                       .broker = options->broker,
                                       .pg_dsn = options->pg_dsn,
                                       .migrations =
                                           mg_migrations_folder(cli, migrations, sizeof(migrations)),
                                       .programs = programs};
    return mg_dev_run(cli->loop, &dev, &err) == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
}

const struct mg_verb MG_DEV_VERBS[] = {
    {"dev", NULL, "", 0, 0, MG_EXTRA_DEV, MG_PRINTS_NOTHING, verb_dev,
     "runs all of Makegood on this machine for development, with private servers", 0},
    {0}};
