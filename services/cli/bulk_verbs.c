/*
 * `bulk start|list|show|pause|resume|stop|run`: one action on all orders that failed for one cause. The
 * database makes the list of orders once. A process with a bulk runner drives it: a console, or this
 * tool's `bulk run`.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/log.h"
#include "base/print.h"
#include "operator/bulk_runner.h"
#include "operator/option_words.h"
#include "verb_table.h"
#include "wire/command.h"

#define ORDERS_DIGITS_MAX 18 /* an order's number in its bulk action stays an int64 */

/* ---- the runner ---- */

bool mg_bulk_is_driven(const struct mg_table *runner)
{
    const char *age = mg_table_cell(runner, 0, "age_ms");
    return age[0] != '\0' && strtoll(age, NULL, 10) <= MG_LEADER_AGE_MAX_MS;
}

/* Prints the process that drives bulk actions, or that none does. An open bulk action does not move without
 * one, though it has no fault of its own. */
static enum mg_exit_code runner_tell(struct mg_cli *cli, FILE *out, const char *before)
{
    struct mg_table runner = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_BULK_RUNNER, NULL, 0, &runner);
    if (code == MG_EXIT_DONE) {
        if (mg_bulk_is_driven(&runner)) {
            mg_print(out, "%s%s, seen %s ms ago\n", before, mg_table_cell(&runner, 0, "holder"),
                     mg_table_cell(&runner, 0, "age_ms"));
        } else {
            mg_print(out, "%sno process drives bulk actions: start makegood console, or makegood bulk run\n",
                     before);
        }
    }
    mg_table_free(&runner);
    return code;
}

static enum mg_exit_code runner_miss(struct mg_cli *cli)
{
    struct mg_table runner = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_BULK_RUNNER, NULL, 0, &runner);
    if (code == MG_EXIT_DONE && !mg_bulk_is_driven(&runner)) {
        mg_cli_note(
            "no process drives bulk actions; this one begins when makegood console, or makegood bulk run, "
            "is started");
    }
    mg_table_free(&runner);
    return code;
}

/* ---- start ---- */

enum mg_exit_code mg_failure_options_read(const struct mg_cli *cli, struct mg_bulk_filter *ret)
{
    const struct mg_cli_options *options = &cli->options;
    const struct mg_bulk_words words = {
        options->workflow, options->step,      options->error,   options->since,
        options->until,    &options->services, &options->labels, NULL};
    char refusal[MG_BULK_REFUSAL_SIZE];
    return mg_bulk_filter_read(&words, ret, refusal) ? MG_EXIT_DONE
                                                     : mg_cli_fail(MG_EXIT_USAGE, "--%s", refusal);
}

static enum mg_exit_code filter_read(const struct mg_cli *cli, struct mg_bulk_filter *ret)
{
    enum mg_exit_code code = mg_failure_options_read(cli, ret);
    if (code == MG_EXIT_DONE && !cli->options.is_all && !mg_bulk_filter_is_narrow(&ret->filter)) {
        return mg_cli_fail(
            MG_EXIT_USAGE,
            "no failures are selected: expected --workflow, --step, --service, --error, --label or a time, as "
            "makegood order list --group-by error shows them, or --all");
    }
    return code;
}

/* Counts the orders that a bulk action would take, and those that it would leave out. */
static enum mg_exit_code choice_read(struct mg_cli *cli, const struct mg_failure_filter *filter,
                                     struct mg_table *ret_table)
{
    const char *const params[] = {filter->workflow, filter->step,  filter->error, filter->services,
                                  filter->since,    filter->until, filter->labels};
    return mg_table_read(cli, MG_REPORT_BULK_CHOICE, params, 7, ret_table);
}

static enum mg_exit_code choice_tell(struct mg_cli *cli, const struct mg_failure_filter *filter)
{
    struct mg_table choice = {0};
    enum mg_exit_code code = choice_read(cli, filter, &choice);
    if (code == MG_EXIT_DONE) {
        code = mg_table_print(cli, &choice, NULL);
    }
    mg_table_free(&choice);
    return code;
}

static bool is_nothing(const struct mg_table *choice)
{
    return strcmp(mg_table_cell(choice, 0, "not_in_error"), "0") == 0 &&
           strcmp(mg_table_cell(choice, 0, "in_other_bulk"), "0") == 0 &&
           strcmp(mg_table_cell(choice, 0, "of_lost_state"), "0") == 0;
}

/* Reports why no order is eligible. */
static enum mg_exit_code nothing_tell(struct mg_cli *cli, const struct mg_failure_filter *filter,
                                      int64_t open_bulk)
{
    struct mg_table choice = {0};
    if (open_bulk >= MG_BULK_OPEN_MAX) {
        return mg_cli_fail(MG_EXIT_CONFLICT,
                           "%lld bulk actions are open, the maximum; wait for one to end, or stop one",
                           (long long)open_bulk);
    }
    enum mg_exit_code code = choice_read(cli, filter, &choice);
    if (code == MG_EXIT_DONE && is_nothing(&choice)) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND,
                           "no order has such a failure; makegood order list --group-by error "
                           "lists the open failures");
    } else if (code == MG_EXIT_DONE) {
        code = mg_cli_fail(
            MG_EXIT_NOT_FOUND,
            "no order is eligible: of the orders with such a failure %s are not in error, %s are in "
            "other bulk actions, %s have lost state and need a check one by one",
            mg_table_cell(&choice, 0, "not_in_error"), mg_table_cell(&choice, 0, "in_other_bulk"),
            mg_table_cell(&choice, 0, "of_lost_state"));
    }
    mg_table_free(&choice);
    return code;
}

struct starting {
    struct mg_stored stored;
    struct mg_bulk_started started;
};

static void bulk_started(void *arg, const struct mg_bulk_started *started, const struct mg_err *err)
{
    struct starting *starting = arg;
    if (err == NULL) {
        starting->started = *started;
    }
    mg_on_stored(&starting->stored, err);
}

static enum mg_exit_code started_print(struct mg_cli *cli, const struct mg_bulk_start *start,
                                       const struct mg_bulk_started *started)
{
    const char *state = mg_bulk_state_name(started->state);
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "bulk_id", started->bulk_id);
        mg_json_member_bool(json, "is_new", started->is_new);
        mg_json_member_word(json, "state", state);
        mg_json_member_int(json, "orders", started->orders);
        if (mg_answer_print(&answer) != MG_EXIT_DONE) {
            return MG_EXIT_ERROR;
        }
    } else if (started->is_new) {
        mg_print(stdout, "bulk action %s: %s of %lld orders, %lld of them first, %s a second\n",
                 started->bulk_id, mg_cause_name(start->verb), (long long)started->orders,
                 (long long)start->canary, start->rate_per_s);
    } else {
        mg_print(stdout, "bulk action %s exists already: %s, %lld orders\n", started->bulk_id, state,
                 (long long)started->orders);
    }
    return runner_miss(cli);
}

static enum mg_exit_code start_send(struct mg_cli *cli, const struct mg_failure_filter *filter,
                                    enum mg_cause_kind verb)
{
    struct starting starting = {.stored = {.is_over = false}};
    char by[MG_COMMAND_BY_MAX + 1], bulk_id[MG_UUID_SIZE];
    const char *rate;
    if (!mg_bulk_rate_parse(cli->options.rate, &rate)) {
        return mg_cli_fail(MG_EXIT_USAGE, "--rate %.80s: expected " MG_BULK_RATE_RIGHT, cli->options.rate);
    }
    mg_uuid_random(bulk_id);
    mg_cli_by(cli, by, sizeof(by));
    const struct mg_bulk_start start = {.bulk_id = bulk_id,
                                        .verb = verb,
                                        .filter = *filter,
                                        .reason = cli->options.reason,
                                        .by = by,
                                        .canary = cli->options.canary,
                                        .stop_percent = cli->options.stop_percent,
                                        .rate_per_s = rate};
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    mg_store_start_bulk(cli->store, &start, bulk_started, &starting);
    code = mg_cli_await_stored(cli, &starting.stored,
                               "; a repeated start makes no second bulk action; see makegood bulk list");
    if (code != MG_EXIT_DONE) {
        return code;
    }
    return starting.started.bulk_id[0] != '\0' ? started_print(cli, &start, &starting.started)
                                               : nothing_tell(cli, filter, starting.started.open_bulk);
}

static enum mg_exit_code verb_bulk_start(struct mg_cli *cli)
{
    struct mg_bulk_filter chosen;
    enum mg_cause_kind verb = MG_CAUSE_COUNT;
    if (!mg_bulk_verb_parse(cli->words.items[0], &verb)) {
        return mg_cli_fail(MG_EXIT_USAGE, "%.80s: expected " MG_BULK_VERBS_RIGHT, cli->words.items[0]);
    }
    enum mg_exit_code code = filter_read(cli, &chosen);
    if (code == MG_EXIT_DONE && cli->options.is_dry_run) {
        code = mg_cli_open_store(cli, false);
        return code == MG_EXIT_DONE ? choice_tell(cli, &chosen.filter) : code;
    }
    return code == MG_EXIT_DONE ? start_send(cli, &chosen.filter, verb) : code;
}

/* ---- list and show ---- */

static enum mg_exit_code verb_bulk_list(struct mg_cli *cli)
{
    static const char *const columns[] = {"bulk_id", "verb",    "state",      "orders",  "done", "failed",
                                          "skipped", "waiting", "created_at", "by_whom", NULL};
    const char *const params[] = {cli->limit};
    return mg_table_list(cli, MG_REPORT_BULK_LIST, params, 1, columns);
}

static enum mg_exit_code bulk_read(struct mg_cli *cli, struct mg_table *ret_bulk)
{
    const char *const params[] = {cli->words.items[0]};
    enum mg_exit_code code = mg_table_open(cli, MG_REPORT_BULK, params, 1, ret_bulk);
    if (code == MG_EXIT_DONE && ret_bulk->row_count == 0) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND, "there is no bulk action %.80s", cli->words.items[0]);
    }
    return code;
}

static void bulk_print(const struct mg_table *bulk)
{
    const char *why = mg_table_cell(bulk, 0, "why"), *ended_at = mg_table_cell(bulk, 0, "ended_at");
    mg_print(stdout, "bulk action %s: %s, %s, version %s\n", mg_table_cell(bulk, 0, "bulk_id"),
             mg_table_cell(bulk, 0, "verb"), mg_table_cell(bulk, 0, "state"),
             mg_table_cell(bulk, 0, "version"));
    mg_print(stdout, "started  %s by %s: %s\n", mg_table_cell(bulk, 0, "created_at"),
             mg_table_cell(bulk, 0, "by_whom"), mg_table_cell(bulk, 0, "reason"));
    if (ended_at[0] != '\0') {
        mg_print(stdout, "ended    %s\n", ended_at);
    }
    if (why[0] != '\0') {
        mg_print(stdout, "stopped  %s\n", why);
    }
    mg_print(stdout, "failures %s\n", mg_table_cell(bulk, 0, "filter"));
    mg_print(stdout, "orders   %s: %s done, %s failed, %s skipped, %s under way, %s waiting\n",
             mg_table_cell(bulk, 0, "orders"), mg_table_cell(bulk, 0, "done"),
             mg_table_cell(bulk, 0, "failed"), mg_table_cell(bulk, 0, "skipped"),
             mg_table_cell(bulk, 0, "asked"), mg_table_cell(bulk, 0, "waiting"));
    mg_print(stdout, "pace     %s first%s, then %s a second; stops when more than %s %% fail\n",
             mg_table_cell(bulk, 0, "canary"),
             strcmp(mg_table_cell(bulk, 0, "is_tried"), "t") == 0 ? " (they went well)" : "",
             mg_table_cell(bulk, 0, "rate_per_s"), mg_table_cell(bulk, 0, "stop_percent"));
}

static enum mg_exit_code show_json(struct mg_cli *cli, const struct mg_table *bulk,
                                   const struct mg_table *orders)
{
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_name(json, "bulk");
    mg_table_write_object(json, bulk, 0, NULL);
    mg_json_wrap(json, "\n");
    mg_json_name(json, "orders");
    mg_table_write_array(json, orders, NULL);
    mg_buf_append_text(json->buf, "\n"); /* a line of its own for the end */
    return mg_answer_print(&answer);
}

static enum mg_exit_code result_check(const char *word)
{
    enum mg_bulk_result result;
    return word[0] == '\0' || mg_bulk_result_parse(word, strlen(word), &result)
               ? MG_EXIT_DONE
               : mg_cli_fail(MG_EXIT_USAGE,
                             "--result %.80s: expected waiting, asked, done, failed or skipped", word);
}

static enum mg_exit_code verb_bulk_show(struct mg_cli *cli)
{
    struct mg_table bulk = {0}, orders = {0};
    const char *result = mg_option_text(cli->options.result), *after = mg_option_text(cli->options.after);
    const char *const params[] = {cli->words.items[0], result, after, cli->limit};
    enum mg_exit_code code = result_check(result);
    if (code == MG_EXIT_DONE &&
        (strspn(after, "0123456789") != strlen(after) || strlen(after) > ORDERS_DIGITS_MAX)) {
        code = mg_cli_fail(MG_EXIT_USAGE, "--after %.80s: expected a number, as the first column shows it",
                           after);
    }
    if (code == MG_EXIT_DONE) {
        code = bulk_read(cli, &bulk);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, MG_REPORT_BULK_ORDERS, params, 4, &orders);
    }
    if (code == MG_EXIT_DONE && cli->is_json) {
        code = show_json(cli, &bulk, &orders);
    } else if (code == MG_EXIT_DONE) {
        bulk_print(&bulk);
        if (mg_table_cell(&bulk, 0, "ended_at")[0] == '\0') {
            code = runner_tell(cli, stdout, "driven   by ");
        }
        mg_table_print(cli, &orders, NULL);
    }
    if (code == MG_EXIT_DONE && orders.row_count >= cli->options.limit) {
        mg_cli_note("there may be more: the same with --after %s",
                    mg_table_cell(&orders, orders.row_count - 1, "n"));
    }
    mg_table_free(&bulk);
    mg_table_free(&orders);
    return code;
}

/* ---- pause, resume, stop ---- */

static enum mg_exit_code change_send(struct mg_cli *cli, const struct mg_bulk_change *change,
                                     const char *state)
{
    struct mg_stored changing = {.is_over = false};
    mg_store_change_bulk(cli->store, change, mg_on_versioned, &changing);
    enum mg_exit_code code =
        mg_cli_await_stored(cli, &changing, "; see makegood bulk show %s", change->bulk_id);
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (changing.result != MG_CHANGE_DONE) {
        return mg_cli_fail(
            MG_EXIT_CONFLICT,
            "bulk action %s is %s, which does not allow this change, or is no longer at version %llu; see "
            "makegood bulk show %s",
            change->bulk_id, state, (unsigned long long)change->version, change->bulk_id);
    }
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "bulk_id", change->bulk_id);
        mg_json_member_int(json, "version", (int64_t)changing.version);
        return mg_answer_print(&answer);
    }
    mg_print(stdout, "bulk action %s: %s, version %llu\n", change->bulk_id, mg_bulk_wish_name(change->wish),
             (unsigned long long)changing.version);
    return MG_EXIT_DONE;
}

static enum mg_exit_code verb_bulk_change(struct mg_cli *cli)
{
    struct mg_table bulk = {0};
    char by[MG_COMMAND_BY_MAX + 1];
    mg_cli_by(cli, by, sizeof(by));
    struct mg_bulk_change change = {
        .wish = (enum mg_bulk_wish)cli->verb_arg, .reason = cli->options.reason, .by = by};
    enum mg_exit_code code = bulk_read(cli, &bulk);
    if (code == MG_EXIT_DONE) {
        change.bulk_id = mg_table_cell(&bulk, 0, "bulk_id");
        change.version = cli->options.version != 0 ? (uint64_t)cli->options.version
                                                   : strtoull(mg_table_cell(&bulk, 0, "version"), NULL, 10);
        code = change_send(cli, &change, mg_table_cell(&bulk, 0, "state"));
    }
    mg_table_free(&bulk);
    return code;
}

/* ---- run ---- */

static void run_end(void *arg)
{
    mg_loop_stop(((struct mg_cli *)arg)->loop);
}

static void run_refused(void *arg, const char *reason)
{
    struct mg_cli *cli = arg;
    (void)snprintf(cli->refusal, sizeof(cli->refusal), "%s", reason);
    mg_loop_stop(cli->loop);
}

static enum mg_exit_code verb_bulk_run(struct mg_cli *cli)
{
    struct mg_bulk_runner *runner = NULL;
    struct mg_err err;
    char holder[128];
    mg_instance_name(holder, sizeof(holder));
    mg_log_open("makegood-bulk", holder, MG_LOG_INFO);
    const struct mg_bulk_runner_options options = {.pg_dsn = cli->options.pg_dsn,
                                                   .broker = cli->options.broker,
                                                   .holder = holder,
                                                   .on_refused = run_refused,
                                                   .arg = cli};
    if (!mg_loop_on_signal(cli->loop, SIGTERM, run_end, cli) ||
        !mg_loop_on_signal(cli->loop, SIGINT, run_end, cli)) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no descriptors");
    }
    if (mg_bulk_runner_start(cli->loop, &options, &runner, &err) != MG_OK) {
        return mg_cli_fail_err(&err);
    }
    mg_loop_run(cli->loop);
    mg_bulk_runner_stop(runner);
    return cli->refusal[0] == '\0' ? MG_EXIT_DONE
                                   : mg_cli_fail(MG_EXIT_ERROR, "cannot use this database: %s", cli->refusal);
}

#define CHANGES_BULK (MG_EXTRA_REASON | MG_EXTRA_VERSION)

const struct mg_verb MG_BULK_VERBS[] = {
    {"bulk", "start", "resume|compensate|cancel", 1, 1,
     MG_EXTRA_REASON | MG_EXTRA_STEP | MG_EXTRA_TIME | MG_EXTRA_ALL | MG_EXTRA_BULK, MG_PRINTS_ONE,
     verb_bulk_start, "resumes, compensates or cancels orders by failure: a few first, then at a set rate",
     0},
    {"bulk", "list", "", 0, 0, MG_EXTRA_LIMIT | MG_EXTRA_LIST, MG_PRINTS_LIST, verb_bulk_list,
     "lists bulk actions and their progress, newest first", 0},
    {"bulk", "show", "BULK", 1, 1, MG_EXTRA_RESULT | MG_EXTRA_AFTER | MG_EXTRA_LIMIT | MG_EXTRA_LIST,
     MG_PRINTS_ONE, verb_bulk_show, "shows one bulk action, and the result of each of its orders", 0},
    {"bulk", "pause", "BULK", 1, 1, CHANGES_BULK, MG_PRINTS_ONE, verb_bulk_change,
     "pauses a bulk action; orders in progress continue", MG_BULK_WISH_PAUSE},
    {"bulk", "resume", "BULK", 1, 1, CHANGES_BULK, MG_PRINTS_ONE, verb_bulk_change,
     "ends the pause of a bulk action", MG_BULK_WISH_RESUME},
    {"bulk", "stop", "BULK", 1, 1, CHANGES_BULK, MG_PRINTS_ONE, verb_bulk_change,
     "ends a bulk action; orders in progress continue, the others are skipped", MG_BULK_WISH_STOP},
    {"bulk", "run", "", 0, 0, 0, MG_PRINTS_NOTHING, verb_bulk_run,
     "runs the bulk actions of all operators until SIGTERM", 0},
    {0}};
