/*
 * `order list --waiting SIGNAL`: the steps that wait for this signal, the longest first. --after gives
 * the next page, after the cursor that the page before ends with.
 */
#include <string.h>

#include "base/clock.h"
#include "cli.h"
#include "operator/awaited.h"

#define ANY         "*" /* in place of a name, which is never that */
#define NUMBER_SIZE 24
#define CURSOR_SIZE 256
/* In a list only its labels tell an order apart: a payload may be as large as a quarter of a megabyte. */
#define LISTED_COLUMNS (MG_AWAITING_LISTED_COLUMNS - 1)

struct waits {
    struct mg_table table;  /* those found so far */
    char next[CURSOR_SIZE]; /* where the next page begins; "": all were read */
};

static enum mg_exit_code page_read(struct mg_cli *cli, struct waits *waits)
{
    const struct mg_cli_options *options = &cli->options;
    char limit[NUMBER_SIZE];
    const char *const params[MG_AWAITING_PARAMS] = {
        [MG_AWAITING_SIGNAL] = strcmp(options->waiting, ANY) == 0 ? "" : options->waiting,
        [MG_AWAITING_WORKFLOW] = mg_option_text(options->workflow),
        [MG_AWAITING_ORDER] = "",
        [MG_AWAITING_CURSOR] = waits->next,
        [MG_AWAITING_LIMIT] = limit,
        [MG_AWAITING_PAYLOAD_MAX] = "0",
    };
    struct mg_table page = {0};

    (void)snprintf(limit, sizeof(limit), "%lld", (long long)options->limit - waits->table.row_count);
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_AWAITING, params, MG_AWAITING_PARAMS, &page);
    if (code == MG_EXIT_DONE) {
        (void)snprintf(waits->next, sizeof(waits->next), "%s", mg_table_cell(&page, 0, "next"));
        if (!mg_table_move(&waits->table, &page, LISTED_COLUMNS)) {
            code = mg_cli_fail(MG_EXIT_ERROR, "could not keep the answer: out of memory");
        }
    }
    mg_table_free(&page);
    return code;
}

/* A page without a match is followed by the next. Half of the time for an answer is left to the last page. */
static enum mg_exit_code pages_read(struct mg_cli *cli, struct waits *waits)
{
    int64_t until_boot_ms = mg_clock_boot_ms() + cli->options.timeout_ms / 2;
    enum mg_exit_code code;
    do {
        code = page_read(cli, waits);
    } while (code == MG_EXIT_DONE && waits->next[0] != '\0' && waits->table.row_count < cli->options.limit &&
             mg_clock_boot_ms() < until_boot_ms);
    return code;
}

/* NULL: the options fit together. */
static const char *refusal_of(const struct mg_cli_options *options)
{
    const char *name = options->waiting;
    if (strcmp(name, ANY) != 0 && !mg_name_is_valid(name, strlen(name))) {
        return "--waiting: expected the name of a signal, or * for any";
    }
    bool has_other = mg_option_is_given(options->state) || mg_option_is_given(options->step) ||
                     mg_option_is_given(options->error) || mg_option_is_given(options->group_by) ||
                     mg_option_is_given(options->since) || mg_option_is_given(options->until) ||
                     options->services.count > 0 || options->labels.count > 0;
    if (has_other) {
        return "--waiting goes with --workflow, --after and --limit only";
    }
    const char *after = mg_option_text(options->after);
    bool is_cursor = strlen(after) < CURSOR_SIZE && mg_awaiting_cursor_is_valid(after);
    return after[0] == '\0' || is_cursor ? NULL
                                         : "--after: with --waiting expected the cursor of the page before";
}

enum mg_exit_code mg_waiting_list(struct mg_cli *cli)
{
    static const char *const columns[] = {"order_id",   "workflow", "step", "signal",    "since", "until",
                                          "on_timeout", "counted",  "of",   "signed_by", NULL};
    const char *refusal = refusal_of(&cli->options);
    struct waits waits = {.next = ""};
    if (refusal != NULL) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s", refusal);
    }
    (void)snprintf(waits.next, sizeof(waits.next), "%s", mg_option_text(cli->options.after));
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    code = code == MG_EXIT_DONE ? pages_read(cli, &waits) : code;
    if (code == MG_EXIT_DONE && waits.table.row_count == 0) {
        code = mg_workflow_name_check(cli, mg_option_text(cli->options.workflow));
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_print(cli, &waits.table, columns);
        if (waits.next[0] != '\0') {
            mg_cli_note("there may be more: the same with --after %s", waits.next);
        }
    }
    mg_table_free(&waits.table);
    return code;
}
