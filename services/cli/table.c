/* Reads report rows and prints them: aligned for people, JSON for programs. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct reading {
    struct mg_cli *cli;
    struct mg_table *table;
    bool is_over;
    enum mg_exit_code code;
};

static void rows_came(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct reading *reading = arg;
    reading->is_over = true;
    if (err != NULL) {
        reading->code = mg_cli_fail_err(err);
    } else if (!mg_table_keep(reading->table, rows, !reading->cli->is_json)) {
        reading->code = mg_cli_fail(MG_EXIT_ERROR, "could not keep the answer: out of memory");
    }
}

enum mg_exit_code mg_table_read(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                int param_count, struct mg_table *ret_table)
{
    struct reading reading = {cli, ret_table, false, MG_EXIT_DONE};
    *ret_table = (struct mg_table){0};
    mg_store_report(cli->store, report, params, param_count, rows_came, &reading);
    if (!mg_cli_wait(cli, &reading.is_over, cli->options.timeout_ms)) {
        return mg_cli_fail(MG_EXIT_TIMED_OUT, "the database did not answer in time");
    }
    return reading.code;
}

/* Above any payload or story that the database can hold. */
#define PRINTED_MAX_BYTES ((size_t)1 << 30)

struct mg_json_writer *mg_answer_begin(struct mg_answer *ret_answer)
{
    mg_buf_init(&ret_answer->buf, PRINTED_MAX_BYTES);
    ret_answer->json = mg_json_spaced(&ret_answer->buf);
    return &ret_answer->json;
}

enum mg_exit_code mg_answer_print(struct mg_answer *answer)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    if (answer->buf.failed) {
        code = mg_cli_fail(MG_EXIT_ERROR, "could not print the answer: out of memory");
    } else {
        (void)fwrite(answer->buf.data, 1, answer->buf.len, stdout);
        (void)fputc('\n', stdout);
    }
    mg_buf_finish(&answer->buf);
    return code;
}

static int column_width(const struct mg_table *table, int column)
{
    size_t width = strlen(table->columns[column]);
    for (int row = 0; row < table->row_count; row++) {
        const char *cell = table->cells[row * table->column_count + column];
        size_t len = cell != NULL ? strlen(cell) : 1;
        width = len > width ? len : width;
    }
    return (int)width;
}

static void print_aligned(const struct mg_table *table, const char *const *columns)
{
    for (int row = -1; row < table->row_count; row++) {
        const char *separator = "";
        for (int column = 0; column < table->column_count; column++) {
            if (columns != NULL && !mg_text_is_listed(columns, table->columns[column])) {
                continue;
            }
            const char *cell =
                row < 0 ? table->columns[column] : table->cells[row * table->column_count + column];
            (void)printf("%s%-*s", separator, column_width(table, column), cell != NULL ? cell : "-");
            separator = "  ";
        }
        (void)printf("\n");
    }
}

enum mg_exit_code mg_table_print(const struct mg_cli *cli, const struct mg_table *table,
                                 const char *const *columns)
{
    struct mg_answer answer;
    if (!cli->is_json) {
        print_aligned(table, columns);
        return MG_EXIT_DONE;
    }
    mg_table_write_array(mg_answer_begin(&answer), table, NULL);
    return mg_answer_print(&answer);
}

enum mg_exit_code mg_table_print_row(const struct mg_table *table, int row, const char *const *raw)
{
    struct mg_answer answer;
    mg_table_write_object(mg_answer_begin(&answer), table, row, raw);
    return mg_answer_print(&answer);
}
