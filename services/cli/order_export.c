/* `order export`: everything stored about an order, as one JSON document (proto/dossier.schema.json). */
#include "cli.h"

enum exit_code verb_order_export(struct cli *cli)
{
    const char *params[] = {cli->words.items[0]};
    struct table dossier = {0};
    cli->is_json = true; /* always JSON, so no text is changed for a terminal */
    enum exit_code code = cli_open_store(cli, false);
    if (code == EXIT_DONE) {
        code = table_read(cli, MG_REPORT_DOSSIER, params, 1, &dossier);
    }
    if (code == EXIT_DONE && dossier.row_count == 0) { /* then it may be in the archive */
        table_free(&dossier);
        code = table_read(cli, MG_REPORT_ARCHIVED_DOSSIER, params, 1, &dossier);
    }
    if (code == EXIT_DONE && dossier.row_count == 0) {
        code = cli_fail(EXIT_NOT_FOUND,
                        "there is no order %s; an id is written whole, as order list shows it", params[0]);
    }
    if (code == EXIT_DONE) {
        const char *archived_on = table_cell(&dossier, 0, "archived_on");
        (void)puts(table_cell(&dossier, 0, "dossier"));
        if (archived_on[0] != '\0') {
            cli_note("order %s was archived on %s; this is its dossier of that time", params[0], archived_on);
        }
    }
    table_free(&dossier);
    return code;
}
