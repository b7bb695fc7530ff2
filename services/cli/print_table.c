/* Reads report rows and prints them: aligned for people, JSON for programs. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/print.h"
#include "cli.h"
#include "table_layout.h"

struct mg_reading {
    struct mg_reading *next; /* of those without an answer */
    struct mg_cli *cli;
    struct mg_table *table; /* NULL: nobody waits for the answer any more */
    bool is_over;
    enum mg_exit_code code;
    char *why;
};

static void rows_came(void *arg, const struct mg_rows *rows, const struct mg_err *err)
{
    struct mg_reading *reading = arg;
    if (reading->table == NULL) {
        return;
    }
    reading->is_over = true;
    if (err != NULL) {
        reading->code = mg_cli_code_of(err->class);
        (void)snprintf(reading->why, MG_CLI_WHY_SIZE, "%s", err->text);
    } else if (!mg_table_keep(reading->table, rows, !reading->cli->is_json)) {
        reading->code = MG_EXIT_ERROR;
        (void)snprintf(reading->why, MG_CLI_WHY_SIZE, "could not keep the answer: out of memory");
    }
}

enum mg_exit_code mg_table_try_read(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                    int param_count, struct mg_table *ret_table,
                                    char ret_why[MG_CLI_WHY_SIZE])
{
    struct mg_reading *reading = calloc(1, sizeof(*reading));
    *ret_table = (struct mg_table){0};
    if (reading == NULL) {
        (void)snprintf(ret_why, MG_CLI_WHY_SIZE, "could not read: out of memory");
        return MG_EXIT_ERROR;
    }
    *reading = (struct mg_reading){NULL, cli, ret_table, false, MG_EXIT_DONE, ret_why};
    mg_store_report(cli->store, report, params, param_count, rows_came, reading);
    if (!mg_cli_wait(cli, &reading->is_over, cli->options.timeout_ms)) {
        (void)snprintf(ret_why, MG_CLI_WHY_SIZE, "the database did not answer in time");
        reading->table = NULL;
        reading->next = cli->unanswered;
        cli->unanswered = reading;
        return MG_EXIT_TIMED_OUT;
    }
    enum mg_exit_code code = reading->code;
    free(reading);
    return code;
}

enum mg_exit_code mg_table_read(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                int param_count, struct mg_table *ret_table)
{
    char why[MG_CLI_WHY_SIZE];
    enum mg_exit_code code = mg_table_try_read(cli, report, params, param_count, ret_table, why);
    return code == MG_EXIT_DONE ? code : mg_cli_fail(code, "%s", why);
}

void mg_readings_free(struct mg_cli *cli)
{
    while (cli->unanswered != NULL) {
        struct mg_reading *reading = cli->unanswered;
        cli->unanswered = reading->next;
        free(reading);
    }
}

/* Above any payload or story that the database can hold. */
#define PRINTED_MAX_BYTES ((size_t)1 << 30)

static struct mg_json_writer *answer_open(struct mg_cli *cli, struct mg_answer *ret_answer)
{
    ret_answer->cli = cli;
    mg_buf_init(&ret_answer->buf, PRINTED_MAX_BYTES);
    ret_answer->json = mg_json_spaced(&ret_answer->buf);
    return &ret_answer->json;
}

struct mg_json_writer *mg_answer_begin(struct mg_cli *cli, struct mg_answer *ret_answer)
{
    mg_json_object_begin(answer_open(cli, ret_answer));
    return &ret_answer->json;
}

/* A text in JSON holds no line end as it is. So those of a definition or a payload stand between its values,
 * where a blank means the same. */
static void line_make(struct mg_buf *buf)
{
    for (size_t i = 0; i < buf->len; i++) {
        if (buf->data[i] == '\n' || buf->data[i] == '\r') {
            buf->data[i] = ' ';
        }
    }
}

/* The code point of a character of one to three bytes. */
static unsigned code_of(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    return len == 1   ? at[0]
           : len == 2 ? (at[0] & 0x1fU) << 6 | (at[1] & 0x3fU)
                      : (at[0] & 0xfU) << 12 | (at[1] & 0x3fU) << 6 | (at[2] & 0x3fU);
}

/* Prints JSON. A character that would steer a terminal, or that some readers take for a line's end (U+0085,
 * U+2028, U+2029), is escaped: the value is the same. Below U+007F, JSON has it only between its values. */
static void json_print(struct mg_slice json)
{
    size_t printed = 0;
    for (size_t at = 0; at < json.len;) {
        size_t len = mg_text_steers(json.data + at, json.len - at);
        if (len > 0 && (unsigned char)json.data[at] >= 0x7f) {
            (void)fwrite(json.data + printed, 1, at - printed, stdout);
            mg_print(stdout, "\\u%04x", code_of(json.data + at, len));
            printed = at + len;
        }
        at += len > 0 ? len : 1;
    }
    (void)fwrite(json.data + printed, 1, json.len - printed, stdout);
}

static enum mg_exit_code answer_out(struct mg_answer *answer)
{
    struct mg_cli *cli = answer->cli;
    enum mg_exit_code code = MG_EXIT_DONE;
    bool is_in_array = cli->is_list && !cli->is_lines;
    assert(cli->is_list || cli->answered == 0);
    if (answer->buf.failed) {
        code = mg_cli_fail(MG_EXIT_ERROR, "could not print the answer: out of memory");
    } else {
        if (cli->is_lines) {
            line_make(&answer->buf);
        }
        (void)fputs(!is_in_array ? "" : cli->answered == 0 ? "[" : ",\n ", stdout);
        json_print(mg_buf_slice(&answer->buf));
        (void)fputs(is_in_array ? "" : "\n", stdout);
        cli->answered++;
    }
    mg_buf_finish(&answer->buf);
    return code;
}

enum mg_exit_code mg_answer_print(struct mg_answer *answer)
{
    mg_json_object_end(&answer->json);
    return answer_out(answer);
}

enum mg_exit_code mg_answer_print_raw(struct mg_cli *cli, struct mg_slice value)
{
    struct mg_answer answer;
    (void)answer_open(cli, &answer);
    mg_buf_append_slice(&answer.buf, value);
    return answer_out(&answer);
}

void mg_answers_end(const struct mg_cli *cli, enum mg_exit_code code)
{
    if (!cli->is_list || !cli->is_json || cli->is_lines) {
        return;
    }
    if (cli->answered > 0) {
        (void)fputs("]\n", stdout);
    } else if (code == MG_EXIT_DONE) {
        (void)fputs("[]\n", stdout);
    }
}

enum mg_exit_code mg_table_print_row(struct mg_cli *cli, const struct mg_table *table, int row)
{
    struct mg_answer answer;
    mg_table_write_object(answer_open(cli, &answer), table, row, NULL);
    return answer_out(&answer);
}

enum mg_exit_code mg_table_print(struct mg_cli *cli, const struct mg_table *table, const char *const *columns)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    if (!cli->is_json) {
        struct mg_layout layout;
        mg_layout_make(table, columns, &cli->style, &layout);
        mg_layout_print(stdout, &layout);
        return MG_EXIT_DONE;
    }
    for (int row = 0; row < table->row_count && code == MG_EXIT_DONE; row++) {
        code = mg_table_print_row(cli, table, row);
    }
    return code;
}

enum mg_exit_code mg_table_open(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                int param_count, struct mg_table *ret_table)
{
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    return code == MG_EXIT_DONE ? mg_table_read(cli, report, params, param_count, ret_table) : code;
}

enum mg_exit_code mg_table_list(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                int param_count, const char *const *columns)
{
    struct mg_table table = {0};
    enum mg_exit_code code = mg_table_open(cli, report, params, param_count, &table);
    code = code == MG_EXIT_DONE ? mg_table_print(cli, &table, columns) : code;
    mg_table_free(&table);
    return code;
}

void mg_cli_print_line(void *arg, const char *line)
{
    struct mg_cli *cli = arg;
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "line", line);
        (void)mg_answer_print(&answer);
    } else {
        mg_print(stdout, "%s\n", line);
    }
    (void)fflush(stdout); /* keeps the order with the output of the next action */
}
