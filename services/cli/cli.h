/*
 * The operator's tool `makegood`: noun, then verb. Each verb reads or changes one thing, prints a table or
 * JSON, and ends with an exit code that a script can tell apart. It changes orders only by commands to the
 * schedulers, never in the database.
 */
#ifndef MG_CLI_H
#define MG_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/config.h"
#include "base/loop.h"
#include "io/amqp/broker.h"
#include "io/store/store.h"
#include "operator/table.h"

enum exit_code {
    EXIT_DONE = 0,
    EXIT_ERROR = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3,
    EXIT_CONFLICT = 4,
    EXIT_TIMED_OUT = 5,
    EXIT_UNAVAILABLE = 6,
};

/* Everything that any verb's options can set. */
struct cli_options {
    struct mg_broker_address broker;
    const char *pg_dsn, *output;
    const char *http, *http_cert_file, *http_ca_file; /* of the service that `probe` asks */
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
    struct mg_config *config; /* that they come from */
    struct mg_list words;     /* behind noun and verb */
    bool is_json;
    struct mg_loop *loop;
    struct mg_store *store;
    struct mg_broker *broker;
    const char *statement_timeout; /* of the session; NULL: the store's own */
    bool is_timed_out;
    char refusal[512]; /* why the database must not be used; "" if it may */
};

typedef enum exit_code cli_verb_fn(struct cli *cli);

/* ---- session.c ---- */

/* Runs the loop until `*done`, at most `timeout_ms`; false if it took longer. */
bool cli_wait(struct cli *cli, const bool *done, int64_t timeout_ms);
/* Connects and waits until the other end is ready to use; says on stderr what is wrong if it is not. */
enum exit_code cli_open_store(struct cli *cli, bool skips_schema_check);
/* The same without a word: for verbs that can do without. */
#define CLI_WHY_SIZE MG_ERR_TEXT_MAX
enum exit_code cli_try_store(struct cli *cli, bool skips_schema_check, char ret_why[CLI_WHY_SIZE]);
enum mg_class cli_check_dsn(const struct cli *cli, struct mg_err *err) MG_MUSTCHECK;
enum exit_code cli_open_broker(struct cli *cli, const struct mg_broker_options *options);
/* The same, for who does not wait. */
enum exit_code cli_begin_broker(struct cli *cli, const struct mg_broker_options *options);
void cli_close(struct cli *cli);
/* One line on stderr, "makegood: …", and the code back: `return cli_fail(EXIT_ERROR, "could not …")`. */
enum exit_code cli_fail(enum exit_code code, const char *format, ...) MG_PRINTF(2, 3);
/* The same about what stands on standard output, which comes first. */
void cli_note(const char *format, ...) MG_PRINTF(1, 2);
/* One line on standard output of what is being done; `arg` is the struct cli. */
void cli_tell(void *arg, const char *line);
/* Who acts: --by, or the user's name; cut after `size` - 1 bytes, never within a character. */
void cli_by(const struct cli *cli, char *ret_text, size_t size);
enum exit_code cli_fail_err(const struct mg_err *err);
/* The whole file, or stdin for "-"; the caller frees *ret_text. */
enum exit_code cli_read_file(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len);

/* ---- table.c: rows read and printed ---- */

/* Runs a report and waits for its rows. */
enum exit_code table_read(struct cli *cli, enum mg_report report, const char *const *params, int param_count,
                          struct table *ret_table);
/* Aligned columns with a heading, or a JSON array of objects; `columns` NULL: all, else a NULL-ended choice
 * for tables. */
void table_print(const struct cli *cli, const struct table *table, const char *const *columns);
/* One row as a JSON object; cells of the columns named in `raw` (NULL-ended) are JSON already. */
void table_print_object(FILE *out, const struct table *table, int row, const char *const *raw);
void json_print_text(FILE *out, const char *text);

/* ---- order_*.c: run the verbs of order_verbs.c ---- */

cli_verb_fn verb_order_submit, verb_order_list, verb_order_show, verb_order_watch, verb_order_explain,
    verb_order_export;
cli_verb_fn verb_order_resume, verb_order_restart, verb_order_settle, verb_order_skip, verb_order_compensate,
    verb_order_cancel;

/* retention.c: two of the verbs of `db`. */
cli_verb_fn verb_db_vacuum_policy, verb_db_retain;

/* A supervisor that leads sweeps several times a second, and who drives batches says so every two: one that
 * has not for so long does not. */
#define LEADER_AGE_MAX_MS 10000
/* batch_verbs.c: whether somebody does, by the rows of MG_REPORT_BATCH_RUNNER. */
bool batches_are_driven(const struct table *runner);
/* console_verb.c: whether the console could start, as far as its options tell. */
enum exit_code console_check(const struct cli *cli);

/* explain.c: one line on why the order is where it is; also used by `doctor` and `show`. */
void explain_print(struct cli *cli, FILE *out, const struct table *order, const struct table *steps,
                   const struct table *services);
/* story.c: the order's events as a timeline. */
void story_print(FILE *out, const struct table *order, const struct table *steps, const struct table *events);

#endif
