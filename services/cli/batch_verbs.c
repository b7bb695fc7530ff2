/*
 * `batch start|list|show|pause|resume|stop|run`: one action on all orders that failed for one cause. The
 * database makes the list of orders once. A process with a batch runner drives the batch: a console, or this
 * tool's `batch run`.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "failure_options.h"
#include "operator/batch_runner.h"
#include "operator/batch_words.h"
#include "verbs.h"
#include "wire/command.h"

#define ORDERS_DIGITS_MAX 18 /* an order's number in its batch stays an int64 */

/* ---- the runner ---- */

bool batches_are_driven(const struct table *runner)
{
    const char *age = table_cell(runner, 0, "age_ms");
    return age[0] != '\0' && strtoll(age, NULL, 10) <= LEADER_AGE_MAX_MS;
}

/* Prints the process that drives batches, or that none does. An open batch does not move without one,
 * though it has no fault of its own. */
static enum exit_code runner_tell(struct cli *cli, FILE *out, const char *before)
{
    struct table runner = {0};
    enum exit_code code = table_read(cli, MG_REPORT_BATCH_RUNNER, NULL, 0, &runner);
    if (code == EXIT_DONE) {
        if (batches_are_driven(&runner)) {
            (void)fprintf(out, "%s%s, seen %s ms ago\n", before, table_cell(&runner, 0, "holder"),
                          table_cell(&runner, 0, "age_ms"));
        } else {
            (void)fprintf(out, "%snobody drives batches: start makegood console, or makegood batch run\n",
                          before);
        }
    }
    table_free(&runner);
    return code;
}

static enum exit_code runner_miss(struct cli *cli)
{
    struct table runner = {0};
    enum exit_code code = table_read(cli, MG_REPORT_BATCH_RUNNER, NULL, 0, &runner);
    if (code == EXIT_DONE && !batches_are_driven(&runner)) {
        cli_note("nobody drives batches: it begins when makegood console, or makegood batch run, is started");
    }
    table_free(&runner);
    return code;
}

/* ---- start ---- */

static enum exit_code filter_read(const struct cli *cli, struct batch_filter *ret)
{
    enum exit_code code = failure_options_read(cli, ret);
    if (code == EXIT_DONE && !cli->options.is_all && !batch_filter_is_narrow(&ret->filter)) {
        return cli_fail(EXIT_USAGE,
                        "say which failures, with --workflow, --step, --service, --error or a time, as "
                        "makegood order list --group-by error shows them; or --all");
    }
    return code;
}

/* Counts the orders that a batch would take, and those that it would leave out. */
static enum exit_code choice_read(struct cli *cli, const struct mg_failure_filter *filter,
                                  struct table *ret_table)
{
    const char *const params[] = {filter->workflow, filter->step,  filter->error,
                                  filter->services, filter->since, filter->until};
    return table_read(cli, MG_REPORT_BATCH_CHOICE, params, 6, ret_table);
}

static enum exit_code choice_tell(struct cli *cli, const struct mg_failure_filter *filter)
{
    struct table choice = {0};
    enum exit_code code = choice_read(cli, filter, &choice);
    if (code == EXIT_DONE) {
        table_print(cli, &choice, NULL);
    }
    table_free(&choice);
    return code;
}

static bool is_nothing(const struct table *choice)
{
    return strcmp(table_cell(choice, 0, "not_in_error"), "0") == 0 &&
           strcmp(table_cell(choice, 0, "in_other_batches"), "0") == 0 &&
           strcmp(table_cell(choice, 0, "of_lost_state"), "0") == 0;
}

/* Reports why no order can be taken. */
static enum exit_code nothing_tell(struct cli *cli, const struct mg_failure_filter *filter,
                                   int64_t open_batches)
{
    struct table choice = {0};
    if (open_batches >= MG_BATCHES_MAX) {
        return cli_fail(EXIT_CONFLICT, "%lld batches are open; wait for some of them, or stop them",
                        (long long)open_batches);
    }
    enum exit_code code = choice_read(cli, filter, &choice);
    if (code == EXIT_DONE && is_nothing(&choice)) {
        code = cli_fail(EXIT_NOT_FOUND, "no order has such a failure: makegood order list --group-by error "
                                        "shows those that there are");
    } else if (code == EXIT_DONE) {
        code = cli_fail(EXIT_NOT_FOUND,
                        "no order can be taken: of those with such a failure %s are not in error, %s are in "
                        "other batches, %s have lost state and must be looked at one by one",
                        table_cell(&choice, 0, "not_in_error"), table_cell(&choice, 0, "in_other_batches"),
                        table_cell(&choice, 0, "of_lost_state"));
    }
    table_free(&choice);
    return code;
}

struct starting {
    bool is_over, is_failed;
    struct mg_batch_started started;
    struct mg_err err;
};

static void batch_started(void *arg, const struct mg_batch_started *started, const struct mg_err *err)
{
    struct starting *starting = arg;
    starting->is_over = true;
    if (err != NULL) {
        starting->is_failed = true;
        starting->err = *err;
    } else {
        starting->started = *started;
    }
}

static enum exit_code started_print(struct cli *cli, const struct mg_batch_start *start,
                                    const struct mg_batch_started *started)
{
    const char *state = mg_batch_state_name(started->state);
    if (cli->is_json) {
        (void)printf("{\"batch_id\": \"%s\", \"is_new\": %s, \"state\": \"%s\", \"orders\": %lld}\n",
                     started->batch_id, started->is_new ? "true" : "false", state,
                     (long long)started->orders);
    } else if (started->is_new) {
        (void)printf("batch %s: %s of %lld orders, %lld of them first, %s a second\n", started->batch_id,
                     mg_cause_name(start->verb), (long long)started->orders, (long long)start->canary,
                     start->rate_per_s);
    } else {
        (void)printf("batch %s: the same is %s already, %lld orders\n", started->batch_id, state,
                     (long long)started->orders);
    }
    return runner_miss(cli);
}

static enum exit_code start_send(struct cli *cli, const struct mg_failure_filter *filter,
                                 enum mg_cause_kind verb)
{
    struct starting starting = {.is_over = false};
    char by[MG_COMMAND_BY_MAX + 1], batch_id[MG_UUID_SIZE];
    const char *rate;
    if (!batch_rate_parse(cli->options.rate, &rate)) {
        return cli_fail(EXIT_USAGE, "--rate %.80s: expected " BATCH_RATE_RIGHT, cli->options.rate);
    }
    mg_uuid_random(batch_id);
    cli_by(cli, by, sizeof(by));
    const struct mg_batch_start start = {.batch_id = batch_id,
                                         .verb = verb,
                                         .filter = *filter,
                                         .reason = cli->options.reason,
                                         .by = by,
                                         .canary = cli->options.canary,
                                         .stop_percent = cli->options.stop_percent,
                                         .rate_per_s = rate};
    enum exit_code code = cli_open_store(cli, false);
    if (code != EXIT_DONE) {
        return code;
    }
    mg_store_start_batch(cli->store, &start, batch_started, &starting);
    if (!cli_wait(cli, &starting.is_over, cli->options.timeout_ms)) {
        return cli_fail(EXIT_TIMED_OUT,
                        "the database did not answer in time; the same once more is no second "
                        "batch; see makegood batch list");
    }
    if (starting.is_failed) {
        return cli_fail_err(&starting.err);
    }
    return starting.started.batch_id[0] != '\0' ? started_print(cli, &start, &starting.started)
                                                : nothing_tell(cli, filter, starting.started.open_batches);
}

static enum exit_code verb_batch_start(struct cli *cli)
{
    struct batch_filter chosen;
    enum mg_cause_kind verb = MG_CAUSE_COUNT;
    if (!batch_verb_parse(cli->words.items[0], &verb)) {
        return cli_fail(EXIT_USAGE, "%.80s: expected " BATCH_VERBS_RIGHT, cli->words.items[0]);
    }
    if (strlen(option_text(cli->options.reason)) > MG_COMMAND_REASON_MAX) {
        return cli_fail(EXIT_USAGE, "--reason: up to %d bytes", MG_COMMAND_REASON_MAX);
    }
    enum exit_code code = filter_read(cli, &chosen);
    if (code == EXIT_DONE && cli->options.is_dry_run) {
        code = cli_open_store(cli, false);
        return code == EXIT_DONE ? choice_tell(cli, &chosen.filter) : code;
    }
    return code == EXIT_DONE ? start_send(cli, &chosen.filter, verb) : code;
}

/* ---- list and show ---- */

static enum exit_code verb_batch_list(struct cli *cli)
{
    static const char *const columns[] = {"batch_id", "verb",    "state",      "orders",  "done", "failed",
                                          "skipped",  "waiting", "created_at", "by_whom", NULL};
    char limit[24];
    struct table table = {0};
    (void)snprintf(limit, sizeof(limit), "%lld", (long long)cli->options.limit);
    const char *const params[] = {limit};
    enum exit_code code = cli_open_store(cli, false);
    if (code == EXIT_DONE) {
        code = table_read(cli, MG_REPORT_BATCHES, params, 1, &table);
    }
    if (code == EXIT_DONE) {
        table_print(cli, &table, columns);
    }
    table_free(&table);
    return code;
}

static enum exit_code batch_read(struct cli *cli, struct table *ret_batch)
{
    const char *const params[] = {cli->words.items[0]};
    enum exit_code code = cli_open_store(cli, false);
    if (code == EXIT_DONE) {
        code = table_read(cli, MG_REPORT_BATCH, params, 1, ret_batch);
    }
    if (code == EXIT_DONE && ret_batch->row_count == 0) {
        code = cli_fail(EXIT_NOT_FOUND, "there is no batch %.80s", cli->words.items[0]);
    }
    return code;
}

static void batch_print(const struct table *batch)
{
    const char *why = table_cell(batch, 0, "why"), *ended_at = table_cell(batch, 0, "ended_at");
    (void)printf("batch %s: %s, %s, version %s\n", table_cell(batch, 0, "batch_id"),
                 table_cell(batch, 0, "verb"), table_cell(batch, 0, "state"),
                 table_cell(batch, 0, "version"));
    (void)printf("started  %s by %s: %s\n", table_cell(batch, 0, "created_at"),
                 table_cell(batch, 0, "by_whom"), table_cell(batch, 0, "reason"));
    if (ended_at[0] != '\0') {
        (void)printf("ended    %s\n", ended_at);
    }
    if (why[0] != '\0') {
        (void)printf("stopped  %s\n", why);
    }
    (void)printf("failures %s\n", table_cell(batch, 0, "filter"));
    (void)printf("orders   %s: %s done, %s failed, %s skipped, %s under way, %s waiting\n",
                 table_cell(batch, 0, "orders"), table_cell(batch, 0, "done"), table_cell(batch, 0, "failed"),
                 table_cell(batch, 0, "skipped"), table_cell(batch, 0, "asked"),
                 table_cell(batch, 0, "waiting"));
    (void)printf("pace     %s first%s, then %s a second; stops when more than %s %% fail\n",
                 table_cell(batch, 0, "canary"),
                 strcmp(table_cell(batch, 0, "is_tried"), "t") == 0 ? " (they went well)" : "",
                 table_cell(batch, 0, "rate_per_s"), table_cell(batch, 0, "stop_percent"));
}

static void show_json(const struct cli *cli, const struct table *batch, const struct table *orders)
{
    static const char *const raw[] = {"filter", NULL};
    (void)fputs("{\"batch\": ", stdout);
    table_print_object(stdout, batch, 0, raw);
    (void)fputs(",\n\"orders\": ", stdout);
    table_print(cli, orders, NULL);
    (void)fputs("}\n", stdout);
}

static enum exit_code result_check(const char *word)
{
    enum mg_batch_result result;
    return word[0] == '\0' || mg_batch_result_parse(word, strlen(word), &result)
               ? EXIT_DONE
               : cli_fail(EXIT_USAGE, "--result %.80s: expected waiting, asked, done, failed or skipped",
                          word);
}

static enum exit_code verb_batch_show(struct cli *cli)
{
    struct table batch = {0}, orders = {0};
    const char *result = option_text(cli->options.result), *after = option_text(cli->options.after);
    char limit[24];
    (void)snprintf(limit, sizeof(limit), "%lld", (long long)cli->options.limit);
    const char *const params[] = {cli->words.items[0], result, after, limit};
    enum exit_code code = result_check(result);
    if (code == EXIT_DONE &&
        (strspn(after, "0123456789") != strlen(after) || strlen(after) > ORDERS_DIGITS_MAX)) {
        code = cli_fail(EXIT_USAGE, "--after %.80s: expected a number, as the first column shows it", after);
    }
    if (code == EXIT_DONE) {
        code = batch_read(cli, &batch);
    }
    if (code == EXIT_DONE) {
        code = table_read(cli, MG_REPORT_BATCH_ORDERS, params, 4, &orders);
    }
    if (code == EXIT_DONE && cli->is_json) {
        show_json(cli, &batch, &orders);
    } else if (code == EXIT_DONE) {
        batch_print(&batch);
        if (table_cell(&batch, 0, "ended_at")[0] == '\0') {
            code = runner_tell(cli, stdout, "driven   by ");
        }
        table_print(cli, &orders, NULL);
    }
    if (code == EXIT_DONE && orders.row_count >= cli->options.limit) {
        cli_note("there may be more: the same with --after %s",
                 table_cell(&orders, orders.row_count - 1, "n"));
    }
    table_free(&batch);
    table_free(&orders);
    return code;
}

/* ---- pause, resume, stop ---- */

struct changing {
    bool is_over, is_failed;
    enum mg_change_result result;
    uint64_t version;
    struct mg_err err;
};

static void batch_changed(void *arg, enum mg_change_result result, uint64_t version, const struct mg_err *err)
{
    struct changing *changing = arg;
    changing->is_over = true;
    changing->result = result;
    changing->version = version;
    if (err != NULL) {
        changing->is_failed = true;
        changing->err = *err;
    }
}

static enum exit_code change_send(struct cli *cli, const struct mg_batch_change *change, const char *state)
{
    struct changing changing = {.is_over = false};
    mg_store_change_batch(cli->store, change, batch_changed, &changing);
    if (!cli_wait(cli, &changing.is_over, cli->options.timeout_ms)) {
        return cli_fail(EXIT_TIMED_OUT, "the database did not answer in time; see makegood batch show %s",
                        change->batch_id);
    }
    if (changing.is_failed) {
        return cli_fail_err(&changing.err);
    }
    if (changing.result != MG_CHANGE_DONE) {
        return cli_fail(EXIT_CONFLICT,
                        "batch %s is %s, which cannot be changed so, or is no longer at version %llu; see "
                        "makegood batch show %s",
                        change->batch_id, state, (unsigned long long)change->version, change->batch_id);
    }
    if (cli->is_json) {
        (void)printf("{\"batch_id\": \"%s\", \"version\": %llu}\n", change->batch_id,
                     (unsigned long long)changing.version);
    } else {
        (void)printf("batch %s: %s, version %llu\n", change->batch_id, mg_batch_wish_name(change->wish),
                     (unsigned long long)changing.version);
    }
    return EXIT_DONE;
}

static enum exit_code change_do(struct cli *cli, enum mg_batch_wish wish)
{
    struct table batch = {0};
    char by[MG_COMMAND_BY_MAX + 1];
    cli_by(cli, by, sizeof(by));
    struct mg_batch_change change = {.wish = wish, .reason = cli->options.reason, .by = by};
    if (strlen(change.reason) > MG_COMMAND_REASON_MAX) {
        return cli_fail(EXIT_USAGE, "--reason: up to %d bytes", MG_COMMAND_REASON_MAX);
    }
    enum exit_code code = batch_read(cli, &batch);
    if (code == EXIT_DONE) {
        change.batch_id = table_cell(&batch, 0, "batch_id");
        change.version = cli->options.version != 0 ? (uint64_t)cli->options.version
                                                   : strtoull(table_cell(&batch, 0, "version"), NULL, 10);
        code = change_send(cli, &change, table_cell(&batch, 0, "state"));
    }
    table_free(&batch);
    return code;
}

static enum exit_code verb_batch_pause(struct cli *cli)
{
    return change_do(cli, MG_BATCH_WISH_PAUSE);
}

static enum exit_code verb_batch_resume(struct cli *cli)
{
    return change_do(cli, MG_BATCH_WISH_RESUME);
}

static enum exit_code verb_batch_stop(struct cli *cli)
{
    return change_do(cli, MG_BATCH_WISH_STOP);
}

/* ---- run ---- */

static void run_end(void *arg)
{
    mg_loop_stop(((struct cli *)arg)->loop);
}

static void run_refused(void *arg, const char *reason)
{
    struct cli *cli = arg;
    (void)snprintf(cli->refusal, sizeof(cli->refusal), "%s", reason);
    mg_loop_stop(cli->loop);
}

static enum exit_code verb_batch_run(struct cli *cli)
{
    struct mg_batch_runner *runner = NULL;
    struct mg_err err;
    char holder[128];
    mg_instance_name(holder, sizeof(holder));
    mg_log_open("makegood-batches", holder, MG_LOG_INFO);
    const struct mg_batch_runner_options options = {.pg_dsn = cli->options.pg_dsn,
                                                    .broker = cli->options.broker,
                                                    .holder = holder,
                                                    .on_refused = run_refused,
                                                    .arg = cli};
    if (!mg_loop_on_signal(cli->loop, SIGTERM, run_end, cli) ||
        !mg_loop_on_signal(cli->loop, SIGINT, run_end, cli)) {
        return cli_fail(EXIT_ERROR, "could not start: no descriptors");
    }
    if (mg_batch_runner_start(cli->loop, &options, &runner, &err) != MG_OK) {
        return cli_fail_err(&err);
    }
    mg_loop_run(cli->loop);
    mg_batch_runner_stop(runner);
    return cli->refusal[0] == '\0' ? EXIT_DONE
                                   : cli_fail(EXIT_ERROR, "cannot use this database: %s", cli->refusal);
}

#define CHANGES_BATCH (EXTRA_REASON | EXTRA_VERSION)

const struct verb BATCH_VERBS[] = {
    {"batch", "start", "resume|compensate|cancel", 1, 1,
     EXTRA_REASON | EXTRA_STEP | EXTRA_TIME | EXTRA_ALL | EXTRA_BATCH, verb_batch_start,
     "resumes, compensates or cancels orders by failure: a few first, then at a set rate"},
    {"batch", "list", "", 0, 0, EXTRA_LIMIT, verb_batch_list,
     "lists batches and their progress, newest first"},
    {"batch", "show", "BATCH", 1, 1, EXTRA_RESULT | EXTRA_AFTER | EXTRA_LIMIT, verb_batch_show,
     "shows one batch, and the result of each of its orders"},
    {"batch", "pause", "BATCH", 1, 1, CHANGES_BATCH, verb_batch_pause,
     "pauses a batch; orders in progress continue"},
    {"batch", "resume", "BATCH", 1, 1, CHANGES_BATCH, verb_batch_resume, "ends the pause of a batch"},
    {"batch", "stop", "BATCH", 1, 1, CHANGES_BATCH, verb_batch_stop,
     "ends a batch; orders in progress continue, the others are skipped"},
    {"batch", "run", "", 0, 0, 0, verb_batch_run, "runs the batches of all operators until SIGTERM"},
    {0}};
