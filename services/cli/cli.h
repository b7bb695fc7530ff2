/*
 * The operator's tool `makegood`: noun, then verb. Each verb reads or changes one thing and prints a table or
 * JSON. Its exit code gives scripts the kind of failure. The tool changes orders only by commands to the
 * schedulers, never in the database.
 */
#ifndef MG_CLI_H
#define MG_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/config.h"
#include "base/json_write.h"
#include "base/loop.h"
#include "io/amqp/broker.h"
#include "io/store/store.h"
#include "operator/table.h"

/* A status owed for longer means that its client is gone: the limit of the rule MakegoodStatusesOwed, too. */
#define CLI_OWED_AGE_MAX_MS 300000

enum exit_code {
    EXIT_DONE = 0,
    EXIT_ERROR = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3,
    EXIT_CONFLICT = 4,
    EXIT_TIMED_OUT = 5,
    EXIT_UNAVAILABLE = 6,
};

/* The values of all options of all verbs. */
struct cli_options {
    struct mg_broker_address broker;
    const char *pg_dsn, *output;
    const char *http, *http_cert_file, *http_ca_file; /* of the service that `probe` calls */
    int64_t timeout_ms;
    const char *reason, *by, *step, *outcome, *state, *workflow, *queue, *migrations;
    const char *error, *group_by, *since, *until, *after;
    const char *concurrency, *rate, *result;
    const char *hot, *keep, *export_command;
    const char *listen, *listen_cert_file, *listen_key_file, *tokens_file; /* of `console` */
    const char *proxy_user_header, *proxy_groups_header;
    struct mg_list sets, services, clients, hosts, proxy_operator_groups;
    int64_t version, limit, pause_ms, canary, stop_percent;
    bool waits, is_all, is_mermaid, is_csv, is_dry_run, is_strict;
};

struct cli {
    struct cli_options options;
    struct mg_config *config; /* owns the texts of `options` */
    struct mg_list words;     /* after noun and verb */
    bool is_json;
    struct mg_loop *loop;
    struct mg_store *store;
    struct mg_broker *broker;
    const char *statement_timeout; /* of the session; NULL: the store's default */
    bool is_timed_out;
    char refusal[512]; /* why the schema forbids the use of the database; "" if it does not */
};

typedef enum exit_code cli_verb_fn(struct cli *cli);

/* ---- session.c ---- */

/* Runs the loop until `*done`, at most `timeout_ms`. False: timed out. */
bool cli_wait(struct cli *cli, const bool *done, int64_t timeout_ms);
/* Connects and waits until the server is ready for use. On failure prints the reason on stderr. */
enum exit_code cli_open_store(struct cli *cli, bool skips_schema_check);
/* The same, for verbs that work without a database: the reason goes to `ret_why` and is not printed. */
#define CLI_WHY_SIZE MG_ERR_TEXT_MAX
enum exit_code cli_try_store(struct cli *cli, bool skips_schema_check, char ret_why[CLI_WHY_SIZE]);
enum mg_class cli_check_dsn(const struct cli *cli, struct mg_err *err) MG_MUSTCHECK;
enum exit_code cli_open_broker(struct cli *cli, const struct mg_broker_options *options);
/* Starts to connect without waiting. */
enum exit_code cli_begin_broker(struct cli *cli, const struct mg_broker_options *options);
void cli_close(struct cli *cli);
/* Prints one line "makegood: …" on stderr and returns `code`, for `return cli_fail(EXIT_ERROR, "could …")`.
 */
enum exit_code cli_fail(enum exit_code code, const char *format, ...) MG_PRINTF(2, 3);
/* Prints a note about the output in the same form. Standard output is flushed first. */
void cli_note(const char *format, ...) MG_PRINTF(1, 2);
/* Prints one line of progress on standard output; `arg` is the struct cli. */
void cli_print_line(void *arg, const char *line);
/* The acting operator: --by, or the user's name. Cut to `size` - 1 bytes at a character's boundary. */
void cli_by(const struct cli *cli, char *ret_text, size_t size);
enum exit_code cli_fail_err(const struct mg_err *err);
/* Reads the whole file, or stdin for "-". The caller frees *ret_text. */
enum exit_code cli_read_file(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len);

/* ---- table.c: rows read and printed ---- */

/* Runs a report and waits for its rows. */
enum exit_code table_read(struct cli *cli, enum mg_report report, const char *const *params, int param_count,
                          struct table *ret_table);
/* Prints aligned columns with a heading, or a JSON array of objects. `columns` selects those of the table
 * and ends with NULL; NULL: all. */
enum exit_code table_print(const struct cli *cli, const struct table *table, const char *const *columns);
/* Prints one row as a JSON object. Cells of the columns named in `raw` (NULL-ended) are JSON already. */
enum exit_code table_print_row(const struct table *table, int row, const char *const *raw);

/* One answer in JSON. It is printed whole, or not at all. */
struct answer {
    struct mg_buf buf;
    struct mg_json_writer json;
};
/* The returned writer is part of the answer. */
struct mg_json_writer *answer_begin(struct answer *ret_answer);
/* Prints the answer and a line end, and frees it. Without memory prints an error. */
enum exit_code answer_print(struct answer *answer);

/* ---- order_*.c: run the verbs of order_verbs.c ---- */

cli_verb_fn verb_order_submit, verb_order_list, verb_order_show, verb_order_watch, verb_order_explain,
    verb_order_export;
cli_verb_fn verb_order_resume, verb_order_restart, verb_order_settle, verb_order_skip, verb_order_compensate,
    verb_order_cancel;

/* retention.c: two verbs of `db` */
cli_verb_fn verb_db_vacuum_policy, verb_db_retain;

/* A leading supervisor sweeps several times a second, and a bulk runner updates its row every 2 s. A row
 * that is older than this belongs to none that works. */
#define LEADER_AGE_MAX_MS 10000
/* bulk_verbs.c: whether a process drives bulk actions, by the rows of MG_REPORT_BULK_RUNNER */
bool bulk_is_driven(const struct table *runner);
/* console_verb.c: whether the console could start with these options */
enum exit_code console_check(const struct cli *cli);

/* explain.c: appends why the order is where it is; one line, without its end */
void explain_order(struct cli *cli, const struct table *order, const struct table *steps,
                   const struct table *services, struct mg_buf *ret_text);
/* story.c: prints the order's events as a timeline. */
void story_print(FILE *out, const struct table *order, const struct table *steps, const struct table *events);

#endif
