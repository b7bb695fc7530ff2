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
#include "tool_context.h"
#include "tty_style.h"

/* A status owed for longer means that its client is gone: the limit of the rule MakegoodStatusesOwed, too. */
#define MG_CLI_OWED_AGE_MAX_MS 300000

enum mg_exit_code {
    MG_EXIT_DONE = 0,
    MG_EXIT_ERROR = 1,
    MG_EXIT_USAGE = 2,
    MG_EXIT_NOT_FOUND = 3,
    MG_EXIT_CONFLICT = 4,
    MG_EXIT_TIMED_OUT = 5,
    MG_EXIT_UNAVAILABLE = 6,
    MG_EXIT_READER_GONE = 141, /* as of a program that SIGPIPE ends */
};

/* The values of all options of all verbs. */
struct mg_cli_options {
    struct mg_broker_address broker;
    const char *pg_dsn, *output, *context;
    const char *http, *http_cert_file, *http_ca_file; /* of the service that `probe` calls */
    int64_t timeout_ms;
    const char *reason, *by, *step, *outcome, *step_result, *state, *workflow, *queue, *migrations;
    const char *error, *group_by, *waiting, *since, *until, *after, *line, *due_within;
    const char *concurrency, *rate, *result;
    const char *hot, *keep, *export_command;
    const char *listen, *listen_cert_file, *listen_key_file, *tokens_file; /* of `console`, `gateway` */
    const char *instance, *log_level;                                      /* and of `agents` */
    const char *proxy_user_header, *proxy_groups_header;
    struct mg_list sets, services, labels, clients, signals, hosts, proxy_operator_groups, cors_origins;
    int64_t client_rate, body_max;                                      /* of `gateway` */
    int64_t memory_budget;                                              /* of `gateway` and `console` */
    const char *webhooks_file, *webhook_ca_file, *callback_secret_file; /* likewise */
    const char *workflows_dir, *gateway, *console, *webhook_url;        /* of `dev` */
    const char *agent_config;                                           /* of `agents` */
    int64_t drain_timeout_ms, lock_wait_ms; /* of `agents` and servers; `db migrate` */
    int64_t keep_alive_ms;                  /* of the console and the gateway */
    int64_t version, limit, pause_ms, canary, stop_percent;
    const char *picture;                                          /* of `workflow draw` */
    const char *junit_file;                                       /* of `workflow test`; NULL: none */
    const char *service_file, *workflow_file, *payload, *results; /* of `service test`; NULL: not given */
    const char *signal_id, *key;                                  /* likewise, of signals */
    const char *service, *path;                                   /* of `agent test` */
    struct mg_list times, fails, refuses, loses, finishes, downs, whens, choices; /* of `workflow simulate` */
    struct mg_list claims;                                                        /* likewise */
    const char *subject;                                                          /* of `audit` */
    const char *profile;                                                          /* likewise */
    int64_t orders, seed, lines, stop_after_ms;                                   /* likewise; 0: not given */
    bool explores;
    bool wants_coverage;
    bool shows_undo;
    bool is_repeat, is_without_output;
    bool waits, is_all, is_mermaid, is_csv, is_dry_run, is_strict, has_webhook;
    bool is_utc, is_verbose, is_watching; /* of texts for people */
};

struct mg_cli {
    struct mg_cli_options options;
    struct mg_config *config;       /* owns the texts of `options` */
    bool only_checks;               /* --check-config for a server: it connects to nothing */
    int verb_arg;                   /* of the verb's row */
    char limit[24];                 /* --limit, for reports */
    struct mg_list words;           /* after noun and verb */
    struct mg_style style;          /* of standard output */
    struct mg_tool_context context; /* where the servers are */
    bool is_settled;                /* the watched order has ended */
    bool is_json, is_lines;         /* -o json or jsonl; -o jsonl */
    bool is_list;                   /* the verb prints any number of answers, not one */
    int64_t answered;               /* answers printed as JSON */
    struct mg_loop *loop;
    struct mg_store *store;
    struct mg_broker *broker;
    struct mg_reading *unanswered; /* reports that were waited for in vain: their answers may still come */
    const char *statement_timeout; /* of the session; NULL: the store's default */
    bool is_timed_out;
    char refusal[512]; /* why the schema forbids the use of the database; "" if it does not */
};

typedef enum mg_exit_code cli_verb_fn(struct mg_cli *cli);

/* ---- connect.c ---- */

/* Runs the loop until `*done`, at most `timeout_ms`. False: timed out. */
bool mg_cli_wait(struct mg_cli *cli, const bool *done, int64_t timeout_ms);
bool mg_cli_pause(struct mg_cli *cli, int64_t ms); /* false: no memory */
/* Connects, unless it has before, and waits until the server is ready for use. On failure prints the reason
 * on stderr. */
enum mg_exit_code mg_cli_open_store(struct mg_cli *cli, bool skips_schema_check);
/* The same, for verbs that work without a database: the reason goes to `ret_why` and is not printed. */
#define MG_CLI_WHY_SIZE MG_ERR_TEXT_MAX
enum mg_exit_code mg_cli_try_store(struct mg_cli *cli, bool skips_schema_check,
                                   char ret_why[MG_CLI_WHY_SIZE]);
enum mg_class mg_cli_check_dsn(const struct mg_cli *cli, struct mg_err *err) MG_MUSTCHECK;
enum mg_exit_code mg_cli_open_broker(struct mg_cli *cli, const struct mg_broker_options *options);
/* An answer of the store; these callbacks fill it. A verb with a further result has it as its first member.
 */
struct mg_stored {
    bool is_over, is_failed, is_changed;
    enum mg_change_result result;
    uint64_t version;
    struct mg_err err;
};
void mg_on_stored(void *arg, const struct mg_err *err);
void mg_on_changed(void *arg, bool is_changed, const struct mg_err *err);
void mg_on_versioned(void *arg, enum mg_change_result result, uint64_t version, const struct mg_err *err);
/* Waits for it, and prints the failure. After a time-out the line ends with `hint`. */
enum mg_exit_code mg_cli_await_stored(struct mg_cli *cli, const struct mg_stored *stored, const char *hint,
                                      ...) MG_PRINTF(3, 4);
/* Starts to connect without waiting. */
enum mg_exit_code mg_cli_begin_broker(struct mg_cli *cli, const struct mg_broker_options *options);
void mg_cli_close(struct mg_cli *cli);
/* Prints one line "makegood: …" on stderr and returns `code`, for `return mg_cli_fail(MG_EXIT_ERROR, "could
 * …")`.
 */
enum mg_exit_code mg_cli_fail(enum mg_exit_code code, const char *format, ...) MG_PRINTF(2, 3);
/* Prints a note about the output in the same form. Standard output is flushed first. */
void mg_cli_note(const char *format, ...) MG_PRINTF(1, 2);
const char *mg_option_text(const char *text); /* "" for NULL */
bool mg_option_is_given(const char *text);    /* neither NULL nor "" */
/* Prints one line of progress on standard output; `arg` is the struct mg_cli. */
void mg_cli_print_line(void *arg, const char *line);
/* The acting operator: --by, or the user's name. Cut to `size` - 1 bytes at a character's boundary. */
void mg_cli_by(const struct mg_cli *cli, char *ret_text, size_t size);
enum mg_exit_code mg_cli_fail_err(const struct mg_err *err);
enum mg_exit_code mg_cli_code_of(enum mg_class class);
/* Reads the whole file, or stdin for "-". The caller frees *ret_text. */
enum mg_exit_code mg_cli_read_file(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len);
/* Reads the value of an option: JSON itself, or the file that holds it. The caller frees *ret_text. */
enum mg_exit_code mg_cli_read_json(const char *option, const char *given, char **ret_text,
                                   struct mg_slice *ret_json);

/* ---- print_table.c: rows read and printed ---- */

/* Runs a report and waits for its rows. */
enum mg_exit_code mg_table_read(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                int param_count, struct mg_table *ret_table);
/* The same, after it has opened the store. */
enum mg_exit_code mg_table_open(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                int param_count, struct mg_table *ret_table);
/* Prints a report, as mg_table_print does. */
enum mg_exit_code mg_table_list(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                int param_count, const char *const *columns);
/* The same as mg_table_read, for verbs that go on without the rows: the reason goes to `ret_why` and is not
 * printed. */
enum mg_exit_code mg_table_try_read(struct mg_cli *cli, enum mg_report report, const char *const *params,
                                    int param_count, struct mg_table *ret_table,
                                    char ret_why[MG_CLI_WHY_SIZE]);
void mg_readings_free(struct mg_cli *cli); /* call it after the end of the store */
/* Prints aligned columns with a heading, or each row as an answer. `columns` selects those of the table and
 * ends with NULL; NULL: all. They hold for people only: JSON has all columns. */
enum mg_exit_code mg_table_print(struct mg_cli *cli, const struct mg_table *table,
                                 const char *const *columns);

/* Prints one row as an answer. */
enum mg_exit_code mg_table_print_row(struct mg_cli *cli, const struct mg_table *table, int row);

/* One answer in JSON. It is printed whole, or not at all. A verb that prints a list gives one answer for each
 * element, and may print them as they come: with -o json they form one array, with -o jsonl each has a line.
 * Any other verb gives one answer. */
struct mg_answer {
    struct mg_cli *cli;
    struct mg_buf buf;
    struct mg_json_writer json;
};
/* Begins an object. The returned writer is part of the answer. */
struct mg_json_writer *mg_answer_begin(struct mg_cli *cli, struct mg_answer *ret_answer);
/* Ends the object, prints it and frees it. Without memory prints an error. */
enum mg_exit_code mg_answer_print(struct mg_answer *answer);
/* Prints a value that is JSON already as an answer. */
enum mg_exit_code mg_answer_print_raw(struct mg_cli *cli, struct mg_slice value);
/* Ends the array. A verb that failed before its first answer printed nothing. */
void mg_answers_end(const struct mg_cli *cli, enum mg_exit_code code);
/* Flushes standard output. A full disk is an error, which is printed. A pipe without its reader ends the tool
 * with MG_EXIT_READER_GONE and without a word. */
enum mg_exit_code mg_cli_flush(void);

/* ---- redraw.c ---- */

/* --watch: runs the verb again and again, and draws its answer anew, until it is over or its reader is gone.
 */
enum mg_exit_code mg_cli_watch(struct mg_cli *cli, cli_verb_fn *run);

/* ---- each_word.c ---- */

typedef enum mg_exit_code cli_word_fn(struct mg_cli *cli, const char *word);
/* Runs it for each word of the command line, with a line of outcome for each. It goes on after one that
 * failed, unless a server is away; the code is that of the first failure. Several answers are a list. */
enum mg_exit_code mg_cli_each(struct mg_cli *cli, cli_word_fn *run);

/* ---- unknown_name.c: texts with the nearest name ---- */

/* After an empty list. Without a workflow of this name prints the error; "": no name. */
enum mg_exit_code mg_workflow_name_check(struct mg_cli *cli, const char *name);
/* A note, if no service has this name: one of an older workflow may have failures. */
void mg_service_name_hint(struct mg_cli *cli, const char *name);
/* Prints that there is no such order, with an order with an id that begins so. */
enum mg_exit_code mg_order_unknown_fail(struct mg_cli *cli, const char *order_id);

/* ---- order_*.c: run the verbs of order_verbs.c ---- */

#define MG_CLI_NO_ORDER_ID "\"%s\" is no order's id: 1 to %d characters A-Z, a-z, 0-9, ., _, :, -"

/* order_waiting.c: `order list --waiting`. */
enum mg_exit_code mg_waiting_list(struct mg_cli *cli);
cli_verb_fn mg_verb_order_submit, mg_verb_order_list, mg_verb_order_find, mg_verb_order_show,
    mg_verb_order_watch, mg_verb_order_explain, mg_verb_order_calls, mg_verb_order_export;
cli_verb_fn mg_verb_order_command,
    mg_verb_order_aside; /* by the row's number: a mg_cause_kind; 1: set aside */
/* signal_verbs.c: a verb of `order`, too */
cli_verb_fn mg_verb_order_signal;

/* Whether each word is an order's id, before the first is acted on. order_command.c. */
enum mg_exit_code mg_cli_order_ids_check(const struct mg_cli *cli);
struct mg_command;
/* Records a command in operator_action (audit_verbs.c), so that `audit` lists it. Prints a failure. */
enum mg_exit_code mg_cli_note_command(struct mg_cli *cli, const struct mg_command *command);
/* Records a command, sends it until a scheduler answers, and prints the answer. order_command.c. */
enum mg_exit_code mg_cli_command_send(struct mg_cli *cli, const struct mg_command *command);

/* workflow_show.c, workflow_test.c, workflow_describe.c, workflow_diff.c, workflow_simulate.c: verbs of
 * `workflow` */
cli_verb_fn mg_verb_workflow_show, mg_verb_workflow_draw, mg_verb_workflow_test, mg_verb_workflow_describe,
    mg_verb_workflow_diff, mg_verb_workflow_simulate;

/* service_test.c, service_show.c: verbs of `service` */
cli_verb_fn mg_verb_service_test, mg_verb_service_show;

/* db_retention.c: two verbs of `db` */
cli_verb_fn mg_verb_db_vacuum_policy, mg_verb_db_retain;

/* A leading supervisor sweeps several times a second, and a bulk runner updates its row every 2 s. A row
 * that is older than this belongs to none that works. */
#define MG_LEADER_AGE_MAX_MS 10000
/* bulk_verbs.c: whether a process drives bulk actions, by the rows of MG_REPORT_BULK_RUNNER */
bool mg_bulk_is_driven(const struct mg_table *runner);
/* bulk_verbs.c: the options that choose failures, as `order list` has them, too. Prints the wrong one, if
 * there is one. */
struct mg_bulk_filter;
enum mg_exit_code mg_failure_options_read(const struct mg_cli *cli, struct mg_bulk_filter *ret);
/* system_verbs.c: the folder of migrations: the given one, else that of an installed program, relative to its
 * own path, else deploy/postgres of the sources, relative to the working directory */
const char *mg_migrations_folder(const struct mg_cli *cli, char *ret_path, size_t size);

/* story.c: prints the order's events as a timeline. */
void mg_story_print(FILE *out, const struct mg_style *style, const struct mg_table *order,
                    const struct mg_table *steps, const struct mg_table *events);

#endif
