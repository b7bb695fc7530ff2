/*
 * `order list`: orders by time of arrival; with --label only those with all these labels, with --line those
 * in the line of a key. With --step,
 * --service or --error it lists the orders that failed so; with --group-by error it counts failures by cause.
 * With --waiting it lists steps (order_waiting.c). --after gives the next page, after an order or after the
 * cursor of a page without enough matches. Notes about omitted rows go to stderr, so that standard output
 * holds the list alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli.h"
#include "core/key.h"
#include "core/words.h"
#include "operator/option_words.h"

#define NUMBER_SIZE      24
#define CURSOR_SIZE      (NUMBER_SIZE + MG_ORDER_ID_MAX + 2) /* MICROSECONDS/ORDER */
#define MICROS_DIGITS    18                                  /* an int64, up to the year 33658 */
#define ALERT_DIGITS_MAX 18                                  /* an alert's number stays an int64 */

/* The parameters of the reports, as text; "": no condition. */
struct filter {
    struct mg_bulk_filter failures;
    const char *state, *after;
};

static enum mg_exit_code state_refuse(const char *state)
{
    char known[160] = "";
    for (int i = 0; i < MG_ORDER_STATE_COUNT; i++) {
        size_t len = strlen(known);
        (void)snprintf(known + len, sizeof(known) - len, "%s%s", i > 0 ? ", " : "",
                       mg_order_state_name((enum mg_order_state)i));
    }
    return mg_cli_fail(MG_EXIT_USAGE, "--state %s: there is no such state; expected one of %s", state, known);
}

static enum mg_exit_code filter_read(const struct mg_cli *cli, struct filter *ret)
{
    const struct mg_cli_options *options = &cli->options;
    enum mg_order_state state = MG_ORDER_STATE_COUNT;
    ret->state = mg_option_text(options->state);
    ret->after = mg_option_text(options->after);
    if (ret->state[0] != '\0' && !mg_order_state_parse(ret->state, strlen(ret->state), &state)) {
        return state_refuse(ret->state);
    }
    return mg_failure_options_read(cli, &ret->failures);
}

/* After a full page prints the cursor of the next page: column `key` of the last row. */
static void more_print(const struct mg_cli *cli, const struct mg_table *table, const char *key)
{
    if (table->row_count > 0 && table->row_count >= cli->options.limit) {
        mg_cli_note("there may be more: the same with --after %s",
                    mg_table_cell(table, table->row_count - 1, key));
    }
}

/* The reports look at a bounded number of failures. If the bound cut the search, an empty list proves
 * nothing; a note reports the cut. */
static enum mg_exit_code bound_print(struct mg_cli *cli, const struct filter *filter)
{
    const char *const params[] = {filter->failures.since, filter->failures.until, filter->after};
    struct mg_table looked = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_FAILURES_LOOKED_AT, params, 3, &looked);
    if (code == MG_EXIT_DONE && strcmp(mg_table_cell(&looked, 0, "is_known"), "t") != 0) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND,
                           "--after %s: there is no such alert; name the last one of the page before",
                           filter->after);
    }
    if (code == MG_EXIT_DONE && strcmp(mg_table_cell(&looked, 0, "is_full"), "t") == 0) {
        mg_cli_note(
            "looked at the newest %s failures; narrow the time, or see those before them with --until %s",
            mg_table_cell(&looked, 0, "looked_at"), mg_table_cell(&looked, 0, "oldest"));
    }
    mg_table_free(&looked);
    return code;
}

/* An empty list of a workflow that is not loaded is a typing mistake. */
static enum mg_exit_code list_print(struct mg_cli *cli, const struct filter *filter,
                                    const struct mg_table *table, const char *const *columns)
{
    enum mg_exit_code code =
        table->row_count == 0 ? mg_workflow_name_check(cli, filter->failures.filter.workflow) : MG_EXIT_DONE;
    if (code == MG_EXIT_DONE && table->row_count == 0 && cli->options.services.count == 1) {
        mg_service_name_hint(cli, cli->options.services.items[0]);
    }
    return code == MG_EXIT_DONE ? mg_table_print(cli, table, columns) : code;
}

static enum mg_exit_code groups_list(struct mg_cli *cli, const struct filter *filter)
{
    const struct mg_failure_filter *wanted = &filter->failures.filter;
    const char *const params[] = {wanted->workflow, wanted->step,  wanted->error, wanted->services,
                                  wanted->since,    wanted->until, cli->limit,    wanted->labels};
    struct mg_table table = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_FAILURE_GROUPS, params, 8, &table);
    if (code == MG_EXIT_DONE) {
        code = list_print(cli, filter, &table, NULL);
        if (table.row_count >= cli->options.limit) {
            mg_cli_note(
                "there may be more groups: raise --limit, or narrow by --workflow, --step, --service, --error, "
                "--label or the time");
        }
    }
    if (code == MG_EXIT_DONE) {
        code = bound_print(cli, filter);
    }
    mg_table_free(&table);
    return code;
}

static enum mg_exit_code failures_list(struct mg_cli *cli, const struct filter *filter)
{
    static const char *const columns[] = {"order_id", "workflow",  "state",    "step", "service",
                                          "error",    "opened_at", "alert_id", NULL};
    const struct mg_failure_filter *wanted = &filter->failures.filter;
    const char *const params[] = {wanted->workflow, wanted->step,  wanted->error,
                                  wanted->services, wanted->since, wanted->until,
                                  filter->after,    cli->limit,    wanted->labels};
    struct mg_table table = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_FAILURES, params, 9, &table);
    if (code == MG_EXIT_DONE) {
        code = list_print(cli, filter, &table, columns);
        more_print(cli, &table, "alert_id");
    }
    if (code == MG_EXIT_DONE && table.row_count < cli->options.limit) {
        code = bound_print(cli, filter);
    }
    mg_table_free(&table);
    return code;
}

static const char *const ORDER_COLUMNS[] = {
    "order_id",     "workflow",      "state",      "reason", "waits_step", "waits_service",
    "waits_reason", "failure_count", "created_at", "line",   NULL};

/* ---- page after page ---- */

struct pages {
    struct mg_table table;  /* the orders found so far */
    long long looked_at;    /* orders that the pages read */
    char back_to[32];       /* time of the oldest of them */
    char next[CURSOR_SIZE]; /* where the next page begins; "": all were read */
    int64_t until_boot_ms;  /* no further page begins after this */
};

static bool is_cursor(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= MICROS_DIGITS && text[digits] == '/' &&
           mg_order_id_is_valid(text + digits + 1, strlen(text + digits + 1));
}

static enum mg_exit_code page_read(struct mg_cli *cli, const struct filter *filter, struct pages *list)
{
    const struct mg_failure_filter *wanted = &filter->failures.filter;
    char limit[NUMBER_SIZE];
    const char *const params[MG_ORDERS_PARAMS] = {
        [MG_ORDERS_STATE] = filter->state,   [MG_ORDERS_WORKFLOW] = wanted->workflow,
        [MG_ORDERS_SINCE] = wanted->since,   [MG_ORDERS_UNTIL] = wanted->until,
        [MG_ORDERS_CURSOR] = list->next,     [MG_ORDERS_LIMIT] = limit,
        [MG_ORDERS_LABELS] = wanted->labels, [MG_ORDERS_CLIENT] = "",
    };
    struct mg_table page = {0};

    (void)snprintf(limit, sizeof(limit), "%lld", (long long)cli->options.limit - list->table.row_count);
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_ORDERS, params, MG_ORDERS_PARAMS, &page);
    if (code == MG_EXIT_DONE) {
        const char *back_to = mg_table_cell(&page, 0, "back_to");
        list->looked_at += strtoll(mg_table_cell(&page, 0, "looked_at"), NULL, 10);
        (void)snprintf(list->next, sizeof(list->next), "%s", mg_table_cell(&page, 0, "next"));
        if (back_to[0] != '\0') {
            (void)snprintf(list->back_to, sizeof(list->back_to), "%s", back_to);
        }
        if (!mg_table_move(&list->table, &page, MG_ORDERS_LISTED_COLUMNS)) {
            code = mg_cli_fail(MG_EXIT_ERROR, "could not keep the answer: out of memory");
        }
    }
    mg_table_free(&page);
    return code;
}

/* A page without the wanted orders is followed by the next. Half of the time for an answer is left to the
 * last page, so that a rare workflow or a rare state under a common label ends in an answer or in a cursor.
 */
static enum mg_exit_code pages_read(struct mg_cli *cli, const struct filter *filter, struct pages *list)
{
    enum mg_exit_code code;
    do {
        code = page_read(cli, filter, list);
    } while (code == MG_EXIT_DONE && list->next[0] != '\0' && list->table.row_count < cli->options.limit &&
             mg_clock_boot_ms() < list->until_boot_ms);
    return code;
}

static enum mg_exit_code pages_list(struct mg_cli *cli, const struct filter *filter)
{
    struct pages list = {.until_boot_ms = mg_clock_boot_ms() + cli->options.timeout_ms / 2};
    (void)snprintf(list.next, sizeof(list.next), "%s", filter->after);
    enum mg_exit_code code = pages_read(cli, filter, &list);
    if (code == MG_EXIT_DONE) {
        code = list_print(cli, filter, &list.table, ORDER_COLUMNS);
        if (code != MG_EXIT_DONE) {
            /* The error is printed already. */
        } else if (list.table.row_count >= cli->options.limit) {
            more_print(cli, &list.table, "order_id");
        } else if (list.next[0] != '\0') {
            mg_cli_note(
                "looked at %lld orders, back to %s; for those before them the same with --after %s, or "
                "with a longer --timeout",
                list.looked_at, list.back_to, list.next);
        }
    }
    mg_table_free(&list.table);
    return code;
}

static enum mg_exit_code after_check(struct mg_cli *cli, const struct filter *filter)
{
    const char *const after[] = {filter->after};
    struct mg_table table = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_ORDER, after, 1, &table);
    if (code == MG_EXIT_DONE && table.row_count == 0) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND,
                           "--after %s: there is no such order; name the last one of the page before",
                           filter->after);
    }
    mg_table_free(&table);
    return code;
}

static enum mg_exit_code orders_list(struct mg_cli *cli, const struct filter *filter)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    if (filter->after[0] != '\0' && !is_cursor(filter->after)) {
        code = after_check(cli, filter);
    }
    return code == MG_EXIT_DONE ? pages_list(cli, filter) : code;
}

static bool is_of_failures(const struct filter *filter)
{
    const struct mg_failure_filter *wanted = &filter->failures.filter;
    return wanted->step[0] != '\0' || wanted->error[0] != '\0' || wanted->services[0] != '\0';
}

/* Checks that the options of the chosen list fit together. */
static enum mg_exit_code usage_check(const struct filter *filter, const char *group_by)
{
    bool is_grouped = group_by[0] != '\0';
    if (is_grouped && strcmp(group_by, "error") != 0) {
        return mg_cli_fail(MG_EXIT_USAGE, "--group-by %.80s: expected error", group_by);
    }
    if ((is_grouped || is_of_failures(filter)) && filter->state[0] != '\0') {
        return mg_cli_fail(
            MG_EXIT_USAGE,
            "--state does not go with --group-by, --step, --service and --error: these look at "
            "open failures of orders in any state");
    }
    if (is_grouped && filter->after[0] != '\0') {
        return mg_cli_fail(
            MG_EXIT_USAGE,
            "--after does not go with --group-by: groups are shown at once, the largest first");
    }
    size_t after_len = strlen(filter->after);
    if (is_of_failures(filter) &&
        (strspn(filter->after, "0123456789") != after_len || after_len > ALERT_DIGITS_MAX)) {
        return mg_cli_fail(
            MG_EXIT_USAGE,
            "--after %.80s: with --step, --service or --error expected an alert's number, as the column "
            "alert_id shows it",
            filter->after);
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code line_list(struct mg_cli *cli, const char *key)
{
    static const char *const columns[] = {"before", "order_id",  "workflow", "state",
                                          "reason", "joined_at", NULL};
    const char *const params[] = {key, "", cli->limit};
    struct mg_table table = {0};
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_LINE, params, 3, &table);
    if (code == MG_EXIT_DONE) {
        code = mg_table_print(cli, &table, columns);
        if (table.row_count > 0 && table.row_count >= cli->options.limit) {
            mg_cli_note("the line has %s orders: raise --limit", mg_table_cell(&table, 0, "length"));
        }
    }
    mg_table_free(&table);
    return code;
}

static enum mg_exit_code due_list(struct mg_cli *cli, const char *within)
{
    static const char *const columns[] = {"order_id",   "workflow",      "state",        "complete_by",
                                          "waits_step", "waits_service", "waits_reason", NULL};
    char within_ms[NUMBER_SIZE];
    const char *const params[] = {within_ms, cli->limit};
    struct mg_table table = {0}, due = {0};
    (void)snprintf(within_ms, sizeof(within_ms), "%lld", (long long)mg_duration_parse(within));
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_PAGE_DUE, params, 2, &table);
    bool is_full = strcmp(mg_table_cell(&table, 0, "is_full"), "t") == 0;
    if (code == MG_EXIT_DONE) {
        code = mg_table_move(&due, &table, MG_ORDERS_LISTED_COLUMNS)
                   ? mg_table_print(cli, &due, columns)
                   : mg_cli_fail(MG_EXIT_ERROR, "could not keep the answer: out of memory");
        if (is_full || due.row_count >= cli->options.limit) {
            mg_cli_note("there may be more: raise --limit, or shorten --due-within");
        }
    }
    mg_table_free(&table);
    mg_table_free(&due);
    return code;
}

/* These lists have their own order, and all orders of a line are shown. */
static enum mg_exit_code alone_check(const struct filter *filter, const char *option, const char *text,
                                     const char *group_by)
{
    const struct mg_failure_filter *wanted = &filter->failures.filter;
    bool is_alone = group_by[0] == '\0' && filter->state[0] == '\0' && filter->after[0] == '\0' &&
                    wanted->workflow[0] == '\0' && wanted->labels[0] == '\0' && wanted->since[0] == '\0' &&
                    wanted->until[0] == '\0' && !is_of_failures(filter);
    return text[0] == '\0' || is_alone
               ? MG_EXIT_DONE
               : mg_cli_fail(MG_EXIT_USAGE, "%s goes with --limit alone: its list has its own order", option);
}

enum mg_exit_code mg_verb_order_list(struct mg_cli *cli)
{
    struct filter filter;
    if (mg_option_is_given(cli->options.waiting)) {
        return mg_waiting_list(cli);
    }
    const char *group_by = mg_option_text(cli->options.group_by), *line = mg_option_text(cli->options.line);
    const char *due_within = mg_option_text(cli->options.due_within);
    enum mg_exit_code code = filter_read(cli, &filter);
    if (code == MG_EXIT_DONE) {
        code = usage_check(&filter, group_by);
    }
    if (code == MG_EXIT_DONE) {
        code = alone_check(&filter, "--line", line, due_within[0] != '\0' ? due_within : group_by);
    }
    if (code == MG_EXIT_DONE) {
        code = alone_check(&filter, "--due-within", due_within, group_by);
    }
    if (code == MG_EXIT_DONE && due_within[0] != '\0' && mg_duration_parse(due_within) <= 0) {
        code = mg_cli_fail(MG_EXIT_USAGE, "--due-within %.40s: expected a duration: 10m, 2h, 1d", due_within);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_store(cli, false);
    }
    if (code != MG_EXIT_DONE) {
        return code;
    }
    if (line[0] != '\0') {
        return line_list(cli, line);
    }
    if (due_within[0] != '\0') {
        return due_list(cli, due_within);
    }
    if (group_by[0] != '\0') {
        return groups_list(cli, &filter);
    }
    return is_of_failures(&filter) ? failures_list(cli, &filter) : orders_list(cli, &filter);
}
