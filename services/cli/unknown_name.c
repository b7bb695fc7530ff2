/* Errors about names that are not there, with the nearest one that is. */
#include <string.h>

#include "cli.h"
#include "json/reader.h"

#define NAMES_MAX    256 /* of which the nearest is looked for */
#define ID_BEGIN_MIN 4   /* a shorter beginning fits too many orders */

enum mg_exit_code mg_workflow_name_check(struct mg_cli *cli, const char *name)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    struct mg_table workflows = {0};
    if (name[0] == '\0') {
        return MG_EXIT_DONE;
    }
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_WORKFLOWS, NULL, 0, &workflows);
    for (int row = 0; row < workflows.row_count && row < NAMES_MAX; row++) {
        names[row] = mg_table_cell(&workflows, row, "name");
    }
    if (code == MG_EXIT_DONE && !mg_text_is_listed(names, name) && workflows.row_count <= NAMES_MAX) {
        const char *near = mg_json_nearest(names, mg_slice_of(name));
        code = mg_cli_fail(MG_EXIT_NOT_FOUND, "no workflow \"%.80s\" has been loaded; %s%s%s", name,
                           near != NULL ? "did you mean \"" : "makegood workflow list shows those that are",
                           near != NULL ? near : "", near != NULL ? "\"?" : "");
    }
    mg_table_free(&workflows);
    return code;
}

void mg_service_name_hint(struct mg_cli *cli, const char *name)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    char why[MG_CLI_WHY_SIZE];
    struct mg_table services = {0};
    if (name[0] != '\0' &&
        mg_table_try_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &services, why) == MG_EXIT_DONE) {
        for (int row = 0; row < services.row_count && row < NAMES_MAX; row++) {
            names[row] = mg_table_cell(&services, row, "service");
        }
        const char *near = mg_json_nearest(names, mg_slice_of(name));
        if (!mg_text_is_listed(names, name) && services.row_count <= NAMES_MAX) {
            mg_cli_note("no service \"%.80s\" is known; %s%s%s", name,
                        near != NULL ? "did you mean \"" : "makegood service list shows those that are",
                        near != NULL ? near : "", near != NULL ? "\"?" : "");
        }
    }
    mg_table_free(&services);
}

enum mg_exit_code mg_order_unknown_fail(struct mg_cli *cli, const char *order_id)
{
    const char *const params[] = {order_id, "1"};
    char why[MG_CLI_WHY_SIZE];
    struct mg_table found = {0};
    bool has_more = strlen(order_id) >= ID_BEGIN_MIN &&
                    mg_table_try_read(cli, MG_REPORT_FIND, params, 2, &found, why) == MG_EXIT_DONE &&
                    strcmp(mg_table_cell(&found, 0, "found_by"), "id") == 0;
    enum mg_exit_code code = mg_cli_fail(
        MG_EXIT_NOT_FOUND, "there is no order %s%s%s%s", order_id, has_more ? "; did you mean " : "",
        has_more ? mg_table_cell(&found, 0, "order_id") : "", has_more ? "?" : "");
    mg_table_free(&found);
    return code;
}
