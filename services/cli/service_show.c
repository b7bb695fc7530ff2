/* `service show`: one service with its calls of the last hour, its last failure, and its agents. */
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "core/key.h"
#include "json/scan.h"
#include "operator/service_state.h"
#include "service_list.h"
#include "verb_table.h"

struct shown {
    struct mg_table controlled, minutes, agents;
    int row; /* of `controlled` */
};

static const char *cell_of(const struct shown *shown, const char *column)
{
    return mg_table_cell(&shown->controlled, shown->row, column);
}

static int row_find(const struct mg_table *controlled, const char *service)
{
    for (int row = 0; row < controlled->row_count; row++) {
        if (strcmp(mg_table_cell(controlled, row, "service"), service) == 0) {
            return row;
        }
    }
    return -1;
}

/* Keeps the rows of this service. */
static bool agents_keep(struct mg_table *agents, const char *service)
{
    for (int row = 0; row < agents->row_count; row++) {
        if (strcmp(mg_table_cell(agents, row, "service"), service) != 0) {
            free(agents->cells[row * agents->column_count]);
            agents->cells[row * agents->column_count] = NULL;
        }
    }
    struct mg_table kept = {0};
    bool is_kept = mg_table_move(&kept, agents, agents->column_count);
    mg_table_free(agents);
    *agents = kept;
    return is_kept;
}

static enum mg_exit_code shown_read(struct mg_cli *cli, const char *service, struct shown *ret_shown)
{
    const char *params[] = {service};
    enum mg_exit_code code = mg_table_open(cli, MG_REPORT_CONTROLLED, NULL, 0, &ret_shown->controlled);
    if (code == MG_EXIT_DONE) {
        ret_shown->row = row_find(&ret_shown->controlled, service);
        if (ret_shown->row < 0) {
            return mg_cli_fail(MG_EXIT_NOT_FOUND, "there is no service %s: no workflow and no agent names it",
                               service);
        }
        code = mg_table_read(cli, MG_REPORT_SERVICE_MINUTES, params, 1, &ret_shown->minutes);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, MG_REPORT_SERVICES, NULL, 0, &ret_shown->agents);
    }
    if (code == MG_EXIT_DONE && !agents_keep(&ret_shown->agents, service)) {
        code = mg_cli_fail(MG_EXIT_ERROR, "could not keep the answer: out of memory");
    }
    if (code == MG_EXIT_DONE) {
        mg_service_queues_put(cli, &ret_shown->controlled);
    }
    return code;
}

/* ---- for people ---- */

/* A character for each number of a JSON array, as high as its share of the largest; "." for none. */
static void sparkline_print(const struct shown *shown, const char *column, const char *name, const char *unit)
{
    static const char *const BARS[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    enum { BAR_COUNT = sizeof(BARS) / sizeof(BARS[0]) };
    struct mg_slice array = mg_slice_of(mg_table_cell(&shown->minutes, 0, column)), none, value;
    struct mg_json_walk walk;
    long long most = 0, number;
    for (walk = mg_json_walk_of(array); mg_json_walk_next(&walk, &none, &value);) {
        number = strtoll(value.data, NULL, 10);
        most = number > most ? number : most;
    }
    mg_print(stdout, "%-10s  ", name);
    for (walk = mg_json_walk_of(array); mg_json_walk_next(&walk, &none, &value);) {
        number = strtoll(value.data, NULL, 10);
        mg_print(stdout, "%s", number > 0 ? BARS[(number * BAR_COUNT - 1) / most] : ".");
    }
    mg_print(stdout, "  at most %lld%s\n", most, unit);
}

static void line_print(const struct shown *shown, const char *name, const char *column, const char *unit)
{
    const char *cell = cell_of(shown, column);
    if (cell[0] != '\0') {
        mg_print(stdout, "%-10s  %s%s\n", name, cell, unit);
    }
}

static void head_print(const struct shown *shown)
{
    const char *since = cell_of(shown, "since"), *by = cell_of(shown, "by_whom");
    mg_print(stdout, "%-10s  %s\n%-10s  %s%s%s\n", "service", cell_of(shown, "service"), "state",
             cell_of(shown, "state"), since[0] != '\0' ? ", since " : "", since);
    if (by[0] != '\0') {
        mg_print(stdout, "%-10s  by %s: %s\n", "settings", by, cell_of(shown, "reason"));
    }
    line_print(shown, "paused to", "paused_until", "");
    line_print(shown, "limit", "concurrency", " calls at once");
    line_print(shown, "limit", "rate_per_s", " calls a second");
    mg_print(stdout, "%-10s  %s of at most %s, by agents: %s\n", "calls now", cell_of(shown, "in_flight"),
             cell_of(shown, "capacity"), cell_of(shown, "agents"));
    mg_print(stdout, "%-10s  steps: %s\n", "waiting", cell_of(shown, "waiting"));
    if (cell_of(shown, "calls_per_s")[0] != '\0') {
        mg_print(
            stdout,
            "%-10s  %s a second, half within %s ms, 95 of 100 within %s ms, %s %% failed, %s %% refused\n",
            "calls", cell_of(shown, "calls_per_s"), cell_of(shown, "p50_ms"), cell_of(shown, "p95_ms"),
            cell_of(shown, "failed_percent"), cell_of(shown, "refused_percent"));
    }
    char slow[MG_SERVICE_SLOW_SIZE];
    if (mg_service_slow_write(&shown->controlled, shown->row, slow)) {
        mg_print(stdout, "%-10s  %s\n", "slow", slow);
    }
    if (cell_of(shown, "error_code")[0] != '\0') {
        mg_print(stdout, "%-10s  %s: %s, at %s\n", "last error", cell_of(shown, "error_code"),
                 cell_of(shown, "error_text"), cell_of(shown, "error_at"));
    }
    line_print(shown, "next probe", "probe_at", "");
}

static enum mg_exit_code people_print(struct mg_cli *cli, const struct shown *shown)
{
    static const char *const columns[] = {"instance",    "breaker", "is_ready",      "in_flight",
                                          "concurrency", "reason",  "failing_since", NULL};
    head_print(shown);
    if (shown->minutes.row_count > 0) {
        (void)fputs("\n", stdout);
        mg_print(stdout, "the last hour, a character for each minute, the present one last\n");
        sparkline_print(shown, "calls", "calls", "");
        sparkline_print(shown, "failed", "failed", "");
        sparkline_print(shown, "refused", "refused", "");
        sparkline_print(shown, "p95_ms", "p95", " ms");
    }
    if (shown->agents.row_count == 0) {
        return MG_EXIT_DONE;
    }
    (void)fputs("\n", stdout);
    return mg_table_print(cli, &shown->agents, columns);
}

/* ---- for programs ---- */

static enum mg_exit_code json_print(struct mg_cli *cli, const struct shown *shown)
{
    static const char *const names[] = {"calls", "failed", "refused", "p95_ms"};
    struct mg_answer answer;
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_name(json, "service");
    mg_table_write_object(json, &shown->controlled, shown->row, NULL);
    if (shown->minutes.row_count == 0) {
        mg_json_member_null(json, "minutes");
    } else {
        mg_json_member_object(json, "minutes");
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            mg_json_member_raw(json, names[i], mg_slice_of(mg_table_cell(&shown->minutes, 0, names[i])));
        }
        mg_json_object_end(json);
    }
    mg_json_name(json, "agents");
    mg_table_write_array(json, &shown->agents, NULL);
    return mg_answer_print(&answer);
}

enum mg_exit_code mg_verb_service_show(struct mg_cli *cli)
{
    const char *service = cli->words.items[0];
    struct shown shown = {.row = -1};
    if (!mg_name_is_valid(service, strlen(service))) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s: expected a service's name", service);
    }
    enum mg_exit_code code = shown_read(cli, service, &shown);
    if (code == MG_EXIT_DONE) {
        code = cli->is_json ? json_print(cli, &shown) : people_print(cli, &shown);
    }
    mg_table_free(&shown.controlled);
    mg_table_free(&shown.minutes);
    mg_table_free(&shown.agents);
    return code;
}
