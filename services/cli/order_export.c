/* `order export`: everything stored about an order, as one JSON document (proto/dossier.schema.json). */
#include "cli.h"

enum mg_exit_code mg_verb_order_export(struct mg_cli *cli)
{
    const char *params[] = {cli->words.items[0]};
    struct mg_table dossier = {0};
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, MG_REPORT_DOSSIER, params, 1, &dossier);
    }
    if (code == MG_EXIT_DONE && dossier.row_count == 0) { /* then it may be in the archive */
        mg_table_free(&dossier);
        code = mg_table_read(cli, MG_REPORT_ARCHIVED_DOSSIER, params, 1, &dossier);
    }
    if (code == MG_EXIT_DONE && dossier.row_count == 0) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND,
                           "there is no order %s; an id is written whole, as order list shows it", params[0]);
    }
    if (code == MG_EXIT_DONE) {
        const char *archived_on = mg_table_cell(&dossier, 0, "archived_on");
        code = mg_answer_print_raw(cli, mg_slice_of(mg_table_cell(&dossier, 0, "dossier")));
        if (archived_on[0] != '\0') {
            mg_cli_note("order %s was archived on %s; this is its dossier of that time", params[0],
                        archived_on);
        }
    }
    mg_table_free(&dossier);
    return code;
}
