/*
 * Names that only the database knows, for a shell's completion: a person waits for them at each TAB. So all
 * of it takes at most COMPLETE_MAX_MS, and without an answer there are no candidates.
 */
#include <string.h>

#include "base/clock.h"
#include "base/print.h"
#include "core/key.h"
#include "verb_table.h"

#define COMPLETE_MAX_MS 300
#define NAMES_SHOWN     "50"

struct source {
    const char *kind; /* the word of the tables */
    enum mg_report report;
    const char *params[MG_ORDERS_PARAMS];
    int param_count;
    const char *name, *description; /* columns */
};

static const struct source SOURCES[] = {
    {"ORDER",
     MG_REPORT_ORDERS,
     {[MG_ORDERS_STATE] = "",
      [MG_ORDERS_WORKFLOW] = "",
      [MG_ORDERS_SINCE] = "",
      [MG_ORDERS_UNTIL] = "",
      [MG_ORDERS_CURSOR] = "",
      [MG_ORDERS_LIMIT] = NAMES_SHOWN,
      [MG_ORDERS_LABELS] = "",
      [MG_ORDERS_CLIENT] = ""},
     MG_ORDERS_PARAMS,
     "order_id",
     "state"},
    {"WORKFLOW", MG_REPORT_WORKFLOWS, {NULL}, 0, "name", "version"},
    {"SERVICE", MG_REPORT_CONTROLLED, {NULL}, 0, "service", "state"},
    {"SCHEDULE", MG_REPORT_SCHEDULES, {NULL}, 0, "schedule", "workflow"},
    {"ALERT", MG_REPORT_ALERTS, {"open", NAMES_SHOWN}, 2, "alert_id", "code"},
    {"BULK", MG_REPORT_BULK_LIST, {NAMES_SHOWN}, 1, "bulk_id", "state"},
};

static const struct source *source_find(const char *kind)
{
    size_t len = strspn(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    for (size_t i = 0; i < sizeof(SOURCES) / sizeof(SOURCES[0]); i++) {
        if (strlen(SOURCES[i].kind) == len && strncmp(SOURCES[i].kind, kind, len) == 0) {
            return &SOURCES[i];
        }
    }
    return NULL;
}

static int64_t left_ms(int64_t until_boot_ms)
{
    int64_t left = until_boot_ms - mg_clock_boot_ms();
    return left > 1 ? left : 1;
}

/* The servers are those of a verb without options. */
static bool store_open(struct mg_cli *cli, int64_t until_boot_ms)
{
    static char tool[] = "makegood";
    char *argv[] = {tool, NULL}, why[MG_CLI_WHY_SIZE];
    struct mg_verb_program program;
    enum mg_config_action action;
    struct mg_err err;
    mg_verb_program_make(mg_verb_find("workflow", "list"), &cli->options, &program);
    if (mg_tool_context_apply(1, argv, true, &cli->context, &err) != MG_OK ||
        mg_config_load(&program.program, 1, argv, &cli->config, &action, &cli->words, &err) != MG_OK) {
        return false;
    }
    cli->loop = mg_loop_create();
    cli->options.timeout_ms = left_ms(until_boot_ms);
    return cli->loop != NULL && mg_cli_try_store(cli, false, why) == MG_EXIT_DONE;
}

/* Only ids and names: their letters mean nothing to a shell. */
static void names_print(const struct source *source, const struct mg_table *table, const char *prefix,
                        int prefix_len)
{
    for (int row = 0; row < table->row_count; row++) {
        const char *name = mg_table_cell(table, row, source->name);
        if (mg_order_id_is_valid(name, strlen(name))) {
            mg_print(stdout, "%.*s%s\t%s\n", prefix_len, prefix, name,
                     mg_table_cell(table, row, source->description));
        }
    }
}

bool mg_completion_names(const char *kind, const char *typed, const char *prefix, int prefix_len)
{
    const struct source *source = source_find(kind);
    if (source == NULL) {
        return false;
    }
    int64_t until_boot_ms = mg_clock_boot_ms() + COMPLETE_MAX_MS;
    struct mg_cli cli = {.is_json = false};
    struct mg_table table = {0};
    char why[MG_CLI_WHY_SIZE];
    const char *const find[] = {typed, NAMES_SHOWN};
    /* Of a million orders the newest may not begin so. */
    bool is_search = source->report == MG_REPORT_ORDERS && typed[0] != '\0';
    if (store_open(&cli, until_boot_ms)) {
        cli.options.timeout_ms = left_ms(until_boot_ms);
        enum mg_exit_code code = mg_table_try_read(&cli, is_search ? MG_REPORT_FIND : source->report,
                                                   is_search ? find : source->params,
                                                   is_search ? 2 : source->param_count, &table, why);
        if (code == MG_EXIT_DONE) {
            names_print(source, &table, prefix, prefix_len);
        }
        mg_table_free(&table);
    }
    if (cli.loop != NULL) {
        mg_cli_close(&cli);
        mg_readings_free(&cli);
    }
    mg_config_destroy(cli.config);
    return true;
}
