/* `broker apply|check`, `db migrate|status`; the other verbs of `db` are in db_retention.c. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/print.h"
#include "broker_checks.h"
#include "core/key.h"
#include "io/amqp/topology.h"
#include "service_list.h"
#include "verb_table.h"

/* An invalid name would create a queue that no agent serves and that a person must delete. */
static enum mg_class list_check(const struct mg_list *list, const char *option, struct mg_err *err)
{
    for (int i = 0; i < list->count; i++) {
        if (!mg_name_is_valid(list->items[i], strlen(list->items[i]))) {
            return mg_err_set(err, MG_BAD_INPUT,
                              "%s %.80s: a name is a letter a-z, then a-z, 0-9, _ and -, at most %d in all",
                              option, list->items[i], MG_NAME_MAX);
        }
    }
    return MG_OK;
}

static enum mg_class names_read(const struct mg_cli *cli, struct mg_topology_names *ret_names,
                                struct mg_err *err)
{
    const struct mg_list *services = &cli->options.services, *clients = &cli->options.clients;
    const struct mg_list *signals = &cli->options.signals;
    *ret_names = (struct mg_topology_names){.services = services->items,
                                            .service_count = services->count,
                                            .clients = clients->items,
                                            .client_count = clients->count,
                                            .signals = signals->items,
                                            .signal_count = signals->count,
                                            .has_webhook = cli->options.has_webhook};
    if (cli->options.has_webhook && clients->count == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "--webhook: name the client with --client");
    }
    if (signals->count > 0 && clients->count != 1) {
        return mg_err_set(
            err, MG_BAD_INPUT,
            "--signal: name the one client that may send it with --client; run the command once "
            "for each client");
    }
    enum mg_class class = list_check(services, "--service", err);
    class = class == MG_OK ? list_check(clients, "--client", err) : class;
    return class == MG_OK ? list_check(signals, "--signal", err) : class;
}

/* Without names on the command line, uses the services of the loaded workflows. A broker may be set up
 * before its database: then only the fixed queues are made, and a note reports it. With a database that
 * cannot be read, services are left out that nobody sees: that is an error. */
static enum mg_exit_code names_find(struct mg_cli *cli, struct mg_service_list *list,
                                    struct mg_service_needs *needs, struct mg_topology_names *names)
{
    char why[MG_CLI_WHY_SIZE];
    if (names->service_count + names->client_count > 0) {
        return MG_EXIT_DONE;
    }
    if (mg_cli_try_store(cli, false, why) != MG_EXIT_DONE) {
        mg_cli_note("the services of the loaded workflows are not known, name them with --service: %s", why);
        return MG_EXIT_DONE;
    }
    enum mg_exit_code code = mg_service_list_add_needs(cli, list, needs, why);
    if (code != MG_EXIT_DONE) {
        return mg_cli_fail(
            code, "the services of the loaded workflows are not known, name them with --service: %s", why);
    }
    names->services = list->names;
    names->service_count = list->count;
    return MG_EXIT_DONE;
}

static void line_add(void *arg, const char *line)
{
    mg_buf_printf(arg, "%s\n", line);
}

/* AMQP binds anew, and does not tell whether the binding was there. On a new broker it was not. */
static void bindings_read(struct mg_cli *cli, struct mg_buf *ret_missing)
{
    struct mg_err err;
    if (mg_broker_has_api(&cli->options.broker) &&
        mg_broker_bindings_check(&cli->options.broker, line_add, ret_missing, &err) == MG_TRANSIENT) {
        mg_cli_note("the bindings that are there are not known: %s", err.text);
    }
}

/* `missing` before, less those that are still missing. */
static void bindings_print(struct mg_cli *cli, const struct mg_buf *missing, const struct mg_buf *still)
{
    const char *at = missing->data;
    while (at != NULL && *at != '\0') {
        char line[MG_ERR_TEXT_MAX];
        size_t len = strcspn(at, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)len, at);
        bool is_still = still->data != NULL && strstr(still->data, line) != NULL;
        (void)snprintf(line, sizeof(line), "%.*s%s", (int)(is_still ? len : strcspn(at, ":")), at,
                       is_still ? "" : ": made");
        mg_cli_print_line(cli, line);
        at += len + 1;
    }
}

static enum mg_exit_code verb_broker_apply(struct mg_cli *cli)
{
    struct mg_err err;
    struct mg_topology_names names;
    struct mg_service_list list = {.count = 0};
    struct mg_service_needs needs = {.kept = {0}};
    struct mg_buf missing, still; /* a line for each binding */
    mg_buf_init(&missing, MG_POLICY_LISTS_MAX_BYTES);
    mg_buf_init(&still, MG_POLICY_LISTS_MAX_BYTES);
    enum mg_class class = names_read(cli, &names, &err);
    enum mg_exit_code code = class == MG_OK ? names_find(cli, &list, &needs, &names) : mg_cli_fail_err(&err);
    if (code == MG_EXIT_DONE) {
        bindings_read(cli, &missing);
        class = mg_topology_apply(&cli->options.broker, &names, mg_cli_print_line, cli, &err);
        bindings_read(cli, &still);
        bindings_print(cli, &missing, &still);
        if (class == MG_OK && mg_broker_has_api(&cli->options.broker)) {
            class = mg_broker_policy_apply(&cli->options.broker, mg_cli_print_line, cli, &err);
        }
        code = class == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
    }
    mg_buf_finish(&missing);
    mg_buf_finish(&still);
    mg_service_needs_free(&needs);
    return code;
}

static enum mg_exit_code api_check(struct mg_cli *cli)
{
    struct mg_err err;
    if (!mg_broker_has_api(&cli->options.broker)) {
        mg_cli_note(
            "bindings and policies are not read without --amqp-api; this keeps those of others off: %s",
            MG_BROKER_POLICY_COMMAND);
        return MG_EXIT_DONE;
    }
    enum mg_class class = mg_broker_bindings_check(&cli->options.broker, mg_cli_print_line, cli, &err);
    enum mg_exit_code code = class == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
    if (class != MG_TRANSIENT &&
        mg_broker_policies_check(&cli->options.broker, mg_cli_print_line, cli, &err) != MG_OK) {
        code = mg_cli_fail_err(&err);
    }
    return code;
}

static enum mg_exit_code verb_broker_check(struct mg_cli *cli)
{
    struct mg_err err;
    bool is_compared;
    struct mg_topology_names names;
    struct mg_service_list list = {.count = 0};
    struct mg_service_needs needs = {.kept = {0}};
    enum mg_class class = names_read(cli, &names, &err);
    enum mg_exit_code code = class == MG_OK ? names_find(cli, &list, &needs, &names) : mg_cli_fail_err(&err);
    if (code == MG_EXIT_DONE) {
        class = mg_topology_check(&cli->options.broker, &names, mg_cli_print_line, cli, &is_compared, &err);
        code = class == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
    }
    mg_service_needs_free(&needs);
    if (code != MG_EXIT_DONE && class == MG_OK) {
        return code;
    }
    if (class == MG_OK && !is_compared) {
        mg_cli_note("nothing is missing; only the user of broker apply has the right to compare "
                    "properties");
    }
    /* A policy may be why a queue is missing. A connection that was refused is enough to be told. */
    bool is_asked = class == MG_PERMANENT && mg_broker_has_api(&cli->options.broker);
    if (class == MG_OK || is_asked) {
        enum mg_exit_code of_policies = api_check(cli);
        code = code == MG_EXIT_DONE ? of_policies : code;
    }
    return code;
}

const char *mg_migrations_folder(const struct mg_cli *cli, char *ret_path, size_t size)
{
    char programs[PATH_MAX];
    const char *given = cli->options.migrations;
    if (given != NULL && given[0] != '\0') {
        return given;
    }
    if (mg_file_programs(programs, sizeof(programs))) {
        int needed = snprintf(ret_path, size, "%s/" MG_SHARE_FROM_BIN "/migrations", programs);
        if (needed > 0 && (size_t)needed < size && access(ret_path, R_OK) == 0) {
            return ret_path;
        }
    }
    return "deploy/postgres";
}

static enum mg_exit_code verb_db_migrate(struct mg_cli *cli)
{
    struct mg_err err;
    char installed[PATH_MAX];
    const char *folder = mg_migrations_folder(cli, installed, sizeof(installed));
    struct mg_migrate_options options = {.dsn = cli->options.pg_dsn,
                                         .directory = folder,
                                         .lock_wait_ms = cli->options.lock_wait_ms,
                                         .report = mg_cli_print_line,
                                         .arg = cli};
    if (mg_cli_check_dsn(cli, &err) != MG_OK || mg_store_migrate(&options, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code verb_db_status(struct mg_cli *cli)
{
    struct mg_table settings = {0};
    enum mg_exit_code code = mg_cli_open_store(cli, true);
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, MG_REPORT_SETTINGS, NULL, 0, &settings);
    }
    if (code == MG_EXIT_DONE && !cli->is_json) {
        char schema[256];
        (void)mg_schema_serves(strtoll(mg_table_cell(&settings, 0, "schema_version"), NULL, 10),
                               strtoll(mg_table_cell(&settings, 0, "serves_from"), NULL, 10), schema,
                               sizeof(schema));
        mg_print(stdout, "%s\n", schema);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_print(cli, &settings, NULL);
    }
    mg_table_free(&settings);
    return code;
}

const struct mg_verb MG_BROKER_VERBS[] = {
    {"broker", "apply", "", 0, 0, MG_EXTRA_SERVICE | MG_EXTRA_CLIENT, MG_PRINTS_LIST, verb_broker_apply,
     "declares exchanges, queues and bindings", 0},
    {"broker", "check", "", 0, 0, MG_EXTRA_SERVICE | MG_EXTRA_CLIENT, MG_PRINTS_LIST, verb_broker_check,
     "lists missing and different exchanges, queues and bindings", 0},
    {0}};

const struct mg_verb MG_DB_VERBS[] = {
    {"db", "migrate", "", 0, 0, MG_EXTRA_MIGRATIONS, MG_PRINTS_LIST, verb_db_migrate,
     "migrates the schema to this version", 0},
    {"db", "status", "", 0, 0, 0, MG_PRINTS_ONE, verb_db_status,
     "shows the server, its settings and the schema's version", 0},
    {"db", "vacuum-policy", "", 0, 0, MG_EXTRA_POLICY, MG_PRINTS_ONE, mg_verb_db_vacuum_policy,
     "shows or sets the ages for moving orders to the archive and for dropping its days", 0},
    {"db", "retain", "", 0, 0, MG_EXTRA_EXPORT, MG_PRINTS_LIST, mg_verb_db_retain,
     "creates the archive's next days, exports and drops the old ones; to be run once a day", 0},
    {0}};
