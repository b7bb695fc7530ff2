/* Reads report rows and prints them: aligned for people, JSON for programs. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct reading {
    struct cli *cli;
    struct table *table;
    bool is_over;
    enum exit_code code;
};

static void rows_came(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct reading *reading = arg;
    reading->is_over = true;
    if (err != NULL) {
        reading->code = cli_fail_err(err);
    } else if (!table_keep(reading->table, rows, !reading->cli->is_json)) {
        reading->code = cli_fail(EXIT_ERROR, "could not keep the answer: out of memory");
    }
}

enum exit_code table_read(struct cli *cli, enum mg_report report, const char *const *params, int param_count,
                          struct table *ret_table)
{
    struct reading reading = {cli, ret_table, false, EXIT_DONE};
    *ret_table = (struct table){0};
    mg_store_report(cli->store, report, params, param_count, rows_came, &reading);
    if (!cli_wait(cli, &reading.is_over, cli->options.timeout_ms)) {
        return cli_fail(EXIT_TIMED_OUT, "the database did not answer in time");
    }
    return reading.code;
}

void json_print_text(FILE *out, const char *text)
{
    struct mg_buf buf;
    mg_buf_init(&buf, 8 * strlen(text) + 16);
    mg_buf_append_json(&buf, mg_slice_of(text));
    if (!buf.failed) {
        (void)fwrite(buf.data, 1, buf.len, out);
    } else {
        (void)fputs("null", out);
    }
    mg_buf_finish(&buf);
}

/* Above any payload or story that the database can hold. */
#define PRINTED_MAX_BYTES ((size_t)1 << 30)

void table_print_object(FILE *out, const struct table *table, int row, const char *const *raw)
{
    struct mg_buf buf;
    mg_buf_init(&buf, PRINTED_MAX_BYTES);
    table_append_object(&buf, table, row, raw);
    (void)fwrite(buf.data, 1, buf.len, out);
    mg_buf_finish(&buf);
}

static void print_json(const struct table *table)
{
    struct mg_buf buf;
    mg_buf_init(&buf, PRINTED_MAX_BYTES);
    table_append_array(&buf, table, NULL);
    (void)fwrite(buf.data, 1, buf.len, stdout);
    (void)fputc('\n', stdout);
    mg_buf_finish(&buf);
}

static int column_width(const struct table *table, int column)
{
    size_t width = strlen(table->columns[column]);
    for (int row = 0; row < table->row_count; row++) {
        const char *cell = table->cells[row * table->column_count + column];
        size_t len = cell != NULL ? strlen(cell) : 1;
        width = len > width ? len : width;
    }
    return (int)width;
}

static void print_aligned(const struct table *table, const char *const *columns)
{
    for (int row = -1; row < table->row_count; row++) {
        const char *separator = "";
        for (int column = 0; column < table->column_count; column++) {
            if (columns != NULL && !text_is_listed(columns, table->columns[column])) {
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

void table_print(const struct cli *cli, const struct table *table, const char *const *columns)
{
    if (cli->is_json) {
        print_json(table);
    } else {
        print_aligned(table, columns);
    }
}
