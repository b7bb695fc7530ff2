/*
 * `order find`: by the beginning of an id, by a label's value, and among the rejected submissions. The queue
 * of these is looked at last: without a broker the orders are still printed, and the exit code reports that
 * the search is incomplete.
 */
#include <string.h>

#include "base/clock.h"
#include "cli.h"
#include "core/key.h"
#include "operator/letter.h"

/* A label's value is the longest of the texts. */
#define TEXT_MAX MG_LABEL_VALUE_MAX
/* A text that is too long is shown up to this length. */
#define SHOWN_MAX 80

struct finding {
    const struct mg_cli *cli;
    const char *text;
    struct mg_table table;
    int rejected;
    bool is_out_of_memory;
};

static bool letter_put(struct mg_table *table, int row, const char *column, struct mg_slice text)
{
    char copy[MG_ERR_TEXT_MAX];
    (void)snprintf(copy, sizeof(copy), "%.*s", (int)text.len, text.len > 0 ? text.data : "");
    mg_utf8_mend(copy);
    mg_text_make_plain(copy);
    return mg_table_put(table, row, column, copy);
}

static void letter_add(struct finding *finding, const struct mg_dead_letter *letter, const char *id)
{
    char died_at[MG_TIME_TEXT_SIZE] = "";
    int row = mg_table_row_add(&finding->table);
    if (letter->died_at_ms != 0) {
        mg_time_format(letter->died_at_ms, died_at);
    }
    bool is_done =
        row >= 0 && letter_put(&finding->table, row, "found_by", mg_slice_of("rejected")) &&
        letter_put(&finding->table, row, "order_id", mg_slice_of(id)) &&
        letter_put(&finding->table, row, "state", mg_slice_of("rejected")) &&
        letter_put(&finding->table, row, "reason", letter->reason) &&
        (died_at[0] == '\0' || letter_put(&finding->table, row, "created_at", mg_slice_of(died_at)));
    finding->is_out_of_memory = finding->is_out_of_memory || !is_done;
}

static void letter_look(void *arg, const struct mg_dead_letter *letter)
{
    struct finding *finding = arg;
    char id[MG_LETTER_ID_SIZE];
    if (mg_letter_find(letter, finding->text, id) && finding->rejected < finding->cli->options.limit) {
        finding->rejected++;
        letter_add(finding, letter, id);
    }
}

static enum mg_exit_code rejected_find(struct mg_cli *cli, struct finding *finding)
{
    struct mg_err err;
    int count = 0;
    if (mg_topology_look(&cli->options.broker, MG_QUEUE_REJECTED, MG_DEAD_LOOK_MAX, letter_look, finding,
                         &count, &err) != MG_OK) {
        (void)mg_err_prefix(&err, "the rejected submissions were not searched");
        return mg_cli_fail_err(&err);
    }
    if (finding->is_out_of_memory) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not keep the rejected submissions: no memory");
    }
    if (count == MG_DEAD_LOOK_MAX) {
        mg_cli_note("looked at the first %d messages of %s; there may be more", count, MG_QUEUE_REJECTED);
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code found_print(struct mg_cli *cli, const struct finding *finding)
{
    static const char *const columns[] = {"found_by",   "order_id",    "workflow", "state",
                                          "created_at", "archived_on", "reason",   NULL};
    if (finding->table.row_count == 0) {
        return MG_EXIT_DONE;
    }
    enum mg_exit_code code = mg_table_print(cli, &finding->table, columns);
    if (code == MG_EXIT_DONE && finding->table.row_count >= cli->options.limit) {
        mg_cli_note("there may be more: raise --limit, or give more of the id");
    }
    return code;
}

enum mg_exit_code mg_verb_order_find(struct mg_cli *cli)
{
    struct finding finding = {.cli = cli, .text = cli->words.items[0]};
    const char *const params[] = {finding.text, cli->limit};
    if (finding.text[0] == '\0' || strlen(finding.text) > TEXT_MAX) {
        return mg_cli_fail(MG_EXIT_USAGE, "%.*s: expected a text of 1 to %d bytes",
                           (int)mg_utf8_cut(mg_slice_of(finding.text), SHOWN_MAX), finding.text, TEXT_MAX);
    }
    enum mg_exit_code code = mg_table_open(cli, MG_REPORT_FIND, params, 2, &finding.table);
    if (code == MG_EXIT_DONE) {
        enum mg_exit_code rejected = rejected_find(cli, &finding);
        code = found_print(cli, &finding);
        code = code == MG_EXIT_DONE ? rejected : code;
    }
    if (code == MG_EXIT_DONE && finding.table.row_count == 0) {
        code = mg_cli_fail(
            MG_EXIT_NOT_FOUND,
            "%s: no order's id begins so, no order has such a label, and no rejected submission such "
            "an id",
            finding.text);
    }
    mg_table_free(&finding.table);
    return code;
}
