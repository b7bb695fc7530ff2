/* `makegood` without words, in the folder of a project: its contents, its faults, and the verb for each. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/print.h"
#include "operator/service_state.h"
#include "verb_table.h"
#include "workflow/proof.h"
#include "workflow/workflow.h"

#define DEFINITIONS          "workflows/*.json"
#define DEFINITION_MAX_BYTES ((size_t)1024 * 1024)
#define TIMEOUT_MS           2000 /* servers of this machine */

static void line_print(const struct mg_cli *cli, bool is_well, const char *part, const char *text,
                       const char *remedy)
{
    mg_hue_print(stdout, &cli->style, is_well ? "ok" : "WRONG", 5);
    mg_print(stdout, " %-10s %s%s%s\n", part, text, is_well ? "" : ": ", is_well ? "" : remedy);
}

static bool is_good(const char *path)
{
    struct mg_buf text;
    struct mg_err err;
    struct mg_workflow *workflow = NULL;
    mg_buf_init(&text, DEFINITION_MAX_BYTES);
    bool is_well = mg_file_text(path, false, &text, &err) == MG_OK &&
                   mg_workflow_parse(mg_buf_slice(&text), NULL, &workflow, &err) == MG_OK &&
                   mg_workflow_prove(workflow, NULL, &err) == MG_OK;
    mg_workflow_destroy(workflow);
    mg_buf_finish(&text);
    return is_well;
}

static void definitions_print(const struct mg_cli *cli, const glob_t *files)
{
    char text[128];
    int wrong = 0;
    for (size_t i = 0; i < files->gl_pathc; i++) {
        wrong += is_good(files->gl_pathv[i]) ? 0 : 1;
    }
    (void)snprintf(text, sizeof(text), "%zu files in workflows, %d with mistakes", files->gl_pathc, wrong);
    line_print(cli, wrong == 0, "workflows", text, "makegood workflow check " DEFINITIONS);
}

static void services_print(struct mg_cli *cli)
{
    struct mg_table services = {0};
    char why[MG_CLI_WHY_SIZE], text[256];
    const char *first = "";
    int wrong = 0;
    bool is_read = mg_table_try_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &services, why) == MG_EXIT_DONE;
    for (int row = 0; row < services.row_count; row++) {
        if (!mg_service_state_is_well(mg_table_cell(&services, row, "state"))) {
            first = wrong++ == 0 ? mg_table_cell(&services, row, "service") : first;
        }
    }
    (void)snprintf(text, sizeof(text), "%d, %d of them not well%s%.80s", services.row_count, wrong,
                   wrong > 0 ? ", such as " : "", first);
    line_print(cli, is_read && wrong == 0, "services", is_read ? text : why, "makegood service list");
    mg_table_free(&services);
}

static void figures_print(struct mg_cli *cli)
{
    static const char *const params[] = {"false"};
    struct mg_table figures = {0};
    char why[MG_CLI_WHY_SIZE], text[128];
    long long orders = 0, alerts = 0;
    bool is_read = mg_table_try_read(cli, MG_REPORT_FIGURES, params, 1, &figures, why) == MG_EXIT_DONE;
    for (int row = 0; row < figures.row_count; row++) {
        long long number = strtoll(mg_table_cell(&figures, row, "number"), NULL, 10);
        bool is_orders = strcmp(mg_table_cell(&figures, row, "figure"), "orders") == 0;
        bool is_alerts = strcmp(mg_table_cell(&figures, row, "figure"), "alerts") == 0;
        orders += is_orders ? number : 0;
        alerts += is_alerts ? number : 0;
    }
    (void)snprintf(text, sizeof(text), "%lld open", orders);
    line_print(cli, is_read, "orders", is_read ? text : why, "makegood doctor");
    (void)snprintf(text, sizeof(text), "%lld open", alerts);
    line_print(cli, is_read && alerts == 0, "alerts", is_read ? text : why,
               "makegood order list --group-by error, makegood alert list");
    mg_table_free(&figures);
}

static void servers_print(struct mg_cli *cli)
{
    char why[MG_CLI_WHY_SIZE];
    cli->options.timeout_ms = TIMEOUT_MS;
    cli->loop = mg_loop_create();
    bool is_up = cli->loop != NULL && mg_cli_try_store(cli, false, why) == MG_EXIT_DONE;
    line_print(cli, is_up, "servers", is_up ? "those of makegood dev" : "makegood dev does not run",
               "run makegood dev, or deploy/dev of a clone");
    if (is_up) {
        services_print(cli);
        figures_print(cli);
    }
    if (cli->loop != NULL) {
        mg_cli_close(cli);
        mg_readings_free(cli);
    }
}

bool mg_project_print(void)
{
    static char tool[] = "makegood";
    char *argv[] = {tool, NULL};
    struct mg_cli cli = {.is_json = false};
    struct mg_verb_program program;
    enum mg_config_action action;
    struct mg_err err;
    glob_t files = {0};
    bool has_files = glob(DEFINITIONS, 0, NULL, &files) == 0 && files.gl_pathc > 0;
    bool is_known = mg_tool_context_apply(1, argv, true, &cli.context, &err) == MG_OK;
    bool has_servers = is_known && strstr(cli.context.origin, MG_TOOL_CONTEXT_FOLDER) != NULL;
    if (has_files || has_servers) {
        mg_style_read(&cli.style, false, false);
        mg_print(stdout, "makegood %s, in the folder of a project\n", MG_VERSION);
    }
    if (has_files) {
        definitions_print(&cli, &files);
    }
    mg_verb_program_make(mg_verb_find("workflow", "list"), &cli.options, &program);
    if (has_servers &&
        mg_config_load(&program.program, 1, argv, &cli.config, &action, &cli.words, &err) == MG_OK) {
        servers_print(&cli);
    } else if (has_files) {
        line_print(&cli, false, "servers", "makegood dev has not run here",
                   "makegood dev --service NAME=URL");
    }
    if (has_files || has_servers) {
        mg_print(stdout, "all verbs: makegood --help\n");
    }
    mg_config_destroy(cli.config);
    globfree(&files);
    return has_files || has_servers;
}
