/* `order show`, `order explain`, `order watch`, `order export`: read one order from the tables. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "cli.h"
#include "definition.h"
#include "io/amqp/topology.h"
#include "json/scan.h"
#include "operator/explain.h"
#include "operator/order_rows.h"
#include "operator/relative_time.h"
#include "operator/steps.h"
#include "processes.h"

/* How often `watch` reads the order. */
#define WATCH_PERIOD_MS 500

struct order_tables {
    struct mg_table order, steps, events, services, dossier;
    struct mg_buf definition; /* of the order's version; empty: unknown */
    bool is_undefined;        /* the database has none */
    struct mg_table aside;    /* one row, if the order is set aside */
    struct mg_table waiting;  /* one row, if the database keeps it waiting */
};

/* An order is in the tables or, later, in the archive. */
struct order_place {
    enum mg_report order, steps, events, dossier;
};
static const struct order_place HOT = {MG_REPORT_ORDER, MG_REPORT_ORDER_STEPS, MG_REPORT_ORDER_EVENTS,
                                       MG_REPORT_DOSSIER};
static const struct order_place ARCHIVE = {MG_REPORT_ARCHIVED_ORDER, MG_REPORT_ARCHIVED_STEPS,
                                           MG_REPORT_ARCHIVED_EVENTS, MG_REPORT_ARCHIVED_DOSSIER};

static void order_free(struct order_tables *tables)
{
    mg_table_free(&tables->order);
    mg_table_free(&tables->steps);
    mg_table_free(&tables->events);
    mg_table_free(&tables->services);
    mg_table_free(&tables->dossier);
    mg_buf_finish(&tables->definition);
    mg_table_free(&tables->aside);
    mg_table_free(&tables->waiting);
}

/* The rows of the steps, with those that have not begun and the reasons of all. */
static enum mg_exit_code steps_complete(struct mg_cli *cli, struct order_tables *tables)
{
    struct mg_table steps;
    tables->is_undefined =
        !mg_definition_try(cli, mg_table_cell(&tables->order, 0, "workflow"),
                           mg_table_cell(&tables->order, 0, "workflow_version"), &tables->definition);
    bool is_done =
        mg_steps_complete(&tables->order, &tables->steps, mg_buf_slice(&tables->definition), &steps);
    mg_table_free(&tables->steps);
    tables->steps = steps;
    return is_done ? MG_EXIT_DONE : mg_cli_fail(MG_EXIT_ERROR, "could not read the steps: no memory");
}

#define HOLD_SIZE 320

/* A scheduler that consumes and is not seen, or that does not move, may hold the order; or one that takes no
 * new orders. `ret_why` gets the reason. */
static bool is_held_up(struct mg_cli *cli, const struct mg_intake *intake, char ret_why[HOLD_SIZE])
{
    struct mg_table processes = {0};
    bool is_held = mg_table_read(cli, MG_REPORT_PROCESSES, NULL, 0, &processes) == MG_EXIT_DONE &&
                   intake->consumers > mg_processes_seen(&processes, "scheduler");
    for (int row = 0; row < processes.row_count; row++) {
        bool is_scheduler = strcmp(mg_table_cell(&processes, row, "kind"), "scheduler") == 0;
        is_held = is_held || (is_scheduler &&
                              (mg_process_is_silent(&processes, row) || mg_process_stands(&processes, row)));
    }
    const char *hold = mg_processes_hold(&processes);
    (void)snprintf(ret_why, HOLD_SIZE, "%s", is_held ? "one that does not move may hold it" : hold);
    mg_table_free(&processes);
    return ret_why[0] != '\0';
}

/* An order that was posted may wait for a scheduler. */
static enum mg_exit_code unknown_fail(struct mg_cli *cli, const char *order_id)
{
    struct mg_intake intake;
    char why[HOLD_SIZE];
    if (!mg_intake_ask(cli, &intake)) {
        return mg_order_unknown_fail(cli, order_id);
    }
    bool is_held = is_held_up(cli, &intake, why);
    if (intake.ready == 0 && intake.consumers > 0 && !is_held) {
        return mg_order_unknown_fail(cli, order_id);
    }
    return mg_cli_fail(MG_EXIT_NOT_FOUND,
                       "there is no order %s in the database; %lld posted orders wait in %s and %s, and %lld "
                       "schedulers take them%s%s%s",
                       order_id, (long long)intake.ready, MG_QUEUE_INTAKE, MG_QUEUE_INTAKE_HIGH,
                       (long long)(intake.consumers > 0 ? intake.consumers : 0), is_held ? "; " : "", why,
                       intake.consumers > 0 ? ": see makegood doctor" : ": start makegood-scheduler");
}

static enum mg_exit_code order_load(struct mg_cli *cli, struct order_tables *ret)
{
    const char *params[] = {cli->words.items[0]};
    const struct order_place *place = &HOT;
    memset(ret, 0, sizeof(*ret));
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_ORDER_ASIDE, params, 1, &ret->aside);
    code = code == MG_EXIT_DONE ? mg_table_read(cli, MG_REPORT_WAITING, params, 1, &ret->waiting) : code;
    code = code == MG_EXIT_DONE ? mg_table_read(cli, place->order, params, 1, &ret->order) : code;
    if (code == MG_EXIT_DONE && ret->order.row_count == 0) {
        place = &ARCHIVE;
        mg_table_free(&ret->order);
        code = mg_table_read(cli, place->order, params, 1, &ret->order);
    }
    if (code == MG_EXIT_DONE && ret->order.row_count == 0) {
        code = unknown_fail(cli, params[0]);
    }
    (void)mg_report_time_parse(mg_table_cell(&ret->order, 0, "created_at"), &cli->style.began_ms);
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, place->steps, params, 1, &ret->steps);
    }
    if (code == MG_EXIT_DONE) {
        code = steps_complete(cli, ret);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, place->events, params, 1, &ret->events);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, MG_REPORT_SERVICES, NULL, 0, &ret->services);
    }
    return code;
}

/* The order may move to the archive between the reports. */
static enum mg_exit_code dossier_load(struct mg_cli *cli, struct order_tables *tables)
{
    const char *params[] = {cli->words.items[0]};
    enum mg_exit_code code = mg_table_read(cli, HOT.dossier, params, 1, &tables->dossier);
    if (code == MG_EXIT_DONE && tables->dossier.row_count == 0) {
        mg_table_free(&tables->dossier);
        code = mg_table_read(cli, ARCHIVE.dossier, params, 1, &tables->dossier);
    }
    if (code == MG_EXIT_DONE && tables->dossier.row_count == 0) {
        code = unknown_fail(cli, params[0]);
    }
    return code;
}

/* ---- explain: facts that are not in the order's rows, the pause of its service and the state of a queue
 * ---- */

/* How long to wait for the broker's answer about a queue, once connected. */
#define LOOK_TIMEOUT_MS 3000
#define LOOK_PERIOD_MS  250
/* Four texts of explain.c, with their notes. */
#define EXPLANATION_MAX_BYTES ((size_t)4 * 1024 * 1024)

struct look {
    bool is_over;
    struct mg_explain_queue queue;
};

static void queue_seen(void *arg, const char *queue, int64_t ready_messages, int64_t consumers)
{
    struct look *look = arg;
    (void)queue;
    look->is_over = true;
    look->queue = (struct mg_explain_queue){ready_messages, consumers};
}

/* False: the broker has not answered. */
static bool queue_look(struct mg_cli *cli, const char *queue, struct mg_explain_queue *ret_queue)
{
    struct look look = {.is_over = false};
    const struct mg_broker_options options = {.consumer_count = 0};
    struct mg_err err;
    bool is_known =
        mg_cli_open_broker(cli, &options) == MG_EXIT_DONE &&
        mg_broker_watch_queue(cli->broker, queue, LOOK_PERIOD_MS, queue_seen, &look, &err) == MG_OK &&
        mg_cli_wait(cli, &look.is_over, LOOK_TIMEOUT_MS);
    if (cli->broker != NULL) { /* its callback uses `look` */
        mg_broker_destroy(cli->broker);
        cli->broker = NULL;
    }
    *ret_queue = look.queue;
    return is_known;
}

/* Explains the order by its rows and by all else that the servers know about it. `has_branches`: with the
 * reasons of guards, where the steps are not shown. */
static void rows_explain(struct mg_cli *cli, const struct order_tables *tables, bool has_branches,
                         struct mg_explanation *ret)
{
    char name[MG_QUEUE_NAME_SIZE];
    struct mg_table since = {0}, controlled = {0}, owed = {0}, line = {0};
    struct mg_explain_queue queue;
    const char *params[] = {mg_table_cell(&tables->order, 0, "order_id")};
    const char *line_params[] = {"", params[0], "2"};
    struct mg_explain_facts facts = {.order = &tables->order,
                                     .steps = &tables->steps,
                                     .definition = mg_buf_slice(&tables->definition),
                                     .since = &since,
                                     .services = &tables->services,
                                     .controlled = &controlled,
                                     .owed = &owed,
                                     .line = &line,
                                     .has_branches = has_branches};
    /* All of these are optional: the lines lack their facts. */
    (void)mg_table_read(cli, MG_REPORT_ORDER_SINCE, params, 1, &since);
    if (mg_explain_asks_controlled(&tables->steps)) {
        (void)mg_table_read(cli, MG_REPORT_CONTROLLED, NULL, 0, &controlled);
    }
    (void)mg_table_read(cli, MG_REPORT_ORDER_OWED, params, 1, &owed);
    (void)mg_table_read(cli, MG_REPORT_LINE, line_params, 3, &line);
    if (mg_explain_asks_queue(&tables->order, &tables->steps, name) && queue_look(cli, name, &queue)) {
        facts.queue = &queue;
    }
    mg_explanation_make(ret, &facts);
    mg_table_free(&since);
    mg_table_free(&controlled);
    mg_table_free(&owed);
    mg_table_free(&line);
}

static void MG_PRINTF(2, 3) line_put(struct mg_buf *line, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mg_buf_clear(line);
    mg_buf_append_text(line, text);
}

/* Its moments and codes are those of what it replaces: an obstacle has its own begin, and none that follows.
 */
static void moments_replace(struct mg_explanation *explanation, const char *since)
{
    explanation->code_count = 0;
    explanation->since[0] = explanation->next_at[0] = '\0';
    if (mg_moment_of(since) > 0) {
        mg_time_format(mg_moment_of(since), explanation->since);
    }
}

/* An obstacle to every scheduler comes before all facts of the rows. */
static void obstacles_put(const char *order_id, const struct order_tables *tables,
                          struct mg_explanation *explanation)
{
    if (tables->is_undefined && tables->order.row_count > 0 && !mg_explain_has_ended(&tables->order)) {
        line_put(&explanation->why,
                 "its workflow %s version %s is not in the database, so no scheduler goes on with it",
                 mg_table_cell(&tables->order, 0, "workflow"),
                 mg_table_cell(&tables->order, 0, "workflow_version"));
        line_put(
            &explanation->next,
            "nothing, until you run makegood workflow load with that version; then readmit the order if it "
            "is set aside");
        moments_replace(explanation, "");
    }
    if (tables->aside.row_count > 0) {
        line_put(&explanation->what, "order %s is set aside since %s by %s", order_id,
                 mg_table_cell(&tables->aside, 0, "since"), mg_table_cell(&tables->aside, 0, "by_whom"));
        line_put(&explanation->why, "%s", mg_table_cell(&tables->aside, 0, "reason"));
        line_put(
            &explanation->next,
            "nothing, until you repair this, run makegood order readmit %s --reason TEXT, and requeue its "
            "messages in dead.letters",
            order_id);
        moments_replace(explanation, mg_table_cell(&tables->aside, 0, "since"));
    } else if (tables->waiting.row_count > 0) {
        char text[MG_WAITING_TEXT_SIZE];
        mg_waiting_write(&tables->waiting, text, sizeof(text));
        line_put(&explanation->why, "%s", text);
        moments_replace(explanation, mg_table_cell(&tables->waiting, 0, "since"));
        if (explanation->what.len == 0) {
            line_put(&explanation->what, "order %s waits", order_id);
            line_put(&explanation->next, "it goes on when the database lets it");
        }
    }
}

static void explanation_make(struct mg_cli *cli, const struct order_tables *tables, bool has_branches,
                             struct mg_explanation *ret)
{
    if (tables->order.row_count > 0) {
        rows_explain(cli, tables, has_branches, ret);
    } else { /* its rows cannot be read */
        mg_explanation_init(ret);
    }
    obstacles_put(cli->words.items[0], tables, ret);
}

static void explanation_print(struct mg_cli *cli, const struct order_tables *tables, bool has_branches)
{
    struct mg_explanation explanation;
    struct mg_buf text;
    explanation_make(cli, tables, has_branches, &explanation);
    mg_buf_init(&text, EXPLANATION_MAX_BYTES);
    mg_explanation_format(&text, &explanation, mg_clock_wall_ms());
    for (size_t at = 0, len = 0; at < text.len; at += len + 1) { /* each line ends */
        len = (size_t)((const char *)memchr(text.data + at, '\n', text.len - at) - (text.data + at));
        mg_print(stdout, "%.*s\n", (int)len, text.data + at);
    }
    mg_buf_finish(&text);
    mg_explanation_free(&explanation);
}

static void explanation_write(struct mg_json_writer *json, struct mg_cli *cli,
                              const struct order_tables *tables)
{
    struct mg_explanation explanation;
    explanation_make(cli, tables, true, &explanation);
    mg_explanation_write(json, &explanation);
    mg_explanation_free(&explanation);
}

static void steps_write(struct mg_json_writer *json, const struct mg_table *steps)
{
    mg_json_member_array(json, "steps");
    for (int row = 0; row < steps->row_count; row++) {
        const char *why = mg_table_cell(steps, row, MG_STEPS_WHY);
        mg_json_element_object(json);
        mg_json_member_string(json, "step", mg_table_cell(steps, row, "step"));
        mg_json_member_string(json, "state", mg_table_cell(steps, row, "state"));
        mg_json_member_string_or_null(json, MG_STEPS_WHY, why);
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

/* `order explain`, and the last line of `order watch`. */
static enum mg_exit_code order_explain(struct mg_cli *cli, const struct order_tables *tables)
{
    struct mg_answer answer;
    if (!cli->is_json) {
        explanation_print(cli, tables, true);
        return MG_EXIT_DONE;
    }
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    mg_json_member_string(json, "order_id", cli->words.items[0]);
    mg_json_member_string_or_null(json, "state", mg_table_cell(&tables->order, 0, "state"));
    explanation_write(json, cli, tables);
    steps_write(json, &tables->steps);
    return mg_answer_print(&answer);
}

/* Prints the explanation and the members of the dossier as one object. So each member of the dossier is one
 * of `order show`. */
static enum mg_exit_code dossier_print(struct mg_cli *cli, const struct order_tables *tables)
{
    struct mg_answer answer;
    const char *archived_on = mg_table_cell(&tables->order, 0, "archived_on");
    struct mg_slice dossier = mg_json_trim(mg_slice_of(mg_table_cell(&tables->dossier, 0, "dossier")));
    struct mg_json_writer *json = mg_answer_begin(cli, &answer);
    explanation_write(json, cli, tables);
    mg_json_member_string_or_null(json, "archived_on", archived_on);
    if (dossier.len > strlen("{}")) { /* what is between its brackets */
        mg_buf_append_text(json->buf, ", ");
        mg_buf_append(json->buf, dossier.data + 1, dossier.len - 2);
    }
    return mg_answer_print(&answer);
}

enum mg_exit_code mg_verb_order_show(struct mg_cli *cli)
{
    struct order_tables tables = {0};
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code == MG_EXIT_DONE) {
        code = order_load(cli, &tables);
    }
    if (code == MG_EXIT_DONE && cli->is_json) {
        code = dossier_load(cli, &tables);
        code = code == MG_EXIT_DONE ? dossier_print(cli, &tables) : code;
    } else if (code == MG_EXIT_DONE) {
        const char *output = mg_table_cell(&tables.order, 0, "output");
        explanation_print(cli, &tables, false);
        (void)fputc('\n', stdout);
        mg_story_print(stdout, &cli->style, &tables.order, &tables.steps, &tables.events);
        if (output[0] != '\0') {
            mg_print(stdout, "output: %s\n", output);
        }
        cli->is_settled = mg_explain_has_ended(&tables.order);
    }
    order_free(&tables);
    return code;
}

enum mg_exit_code mg_verb_order_explain(struct mg_cli *cli)
{
    struct order_tables tables = {0};
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    if (code == MG_EXIT_DONE) {
        code = order_load(cli, &tables);
    }
    /* What set it aside, or keeps it waiting, explains it, even if its rows cannot be read. */
    if (code == MG_EXIT_DONE ||
        (tables.order.row_count == 0 && tables.aside.row_count + tables.waiting.row_count > 0)) {
        code = order_explain(cli, &tables);
    }
    order_free(&tables);
    return code;
}

static enum mg_exit_code news_print(struct mg_cli *cli, const struct mg_table *order,
                                    const struct mg_table *news)
{
    enum mg_exit_code code = MG_EXIT_DONE;
    if (!cli->is_json) {
        mg_story_print(stdout, &cli->style, order, NULL, news);
        return code;
    }
    for (int row = 0; row < news->row_count && code == MG_EXIT_DONE; row++) {
        code = mg_table_print_row(cli, news, row);
    }
    return code;
}

static unsigned long long version_of(const struct mg_table *events, int row)
{
    return strtoull(mg_table_cell(events, row, "version"), NULL, 10);
}

/* The row of the first event above a version; the number of rows if there is none. */
static int events_find(const struct mg_table *events, unsigned long long version)
{
    int row = events->row_count;
    while (row > 0 && version_of(events, row - 1) > version) {
        row--;
    }
    return row;
}

/* Prints the story so far, then each new event. */
enum mg_exit_code mg_verb_order_watch(struct mg_cli *cli)
{
    unsigned long long shown = 0; /* the newest version printed */
    enum mg_exit_code code = mg_cli_open_store(cli, false);
    bool is_over = false;
    while (code == MG_EXIT_DONE && !is_over) {
        struct order_tables tables = {0};
        code = order_load(cli, &tables);
        int known = code == MG_EXIT_DONE ? events_find(&tables.events, shown) : 0;
        if (code == MG_EXIT_DONE && tables.events.row_count > known) {
            struct mg_table news = tables.events;
            news.cells += known * news.column_count;
            news.row_count -= known;
            code = news_print(cli, shown == 0 ? &tables.order : NULL, &news);
            code = code == MG_EXIT_DONE ? mg_cli_flush() : code;
            shown = version_of(&news, news.row_count - 1);
        }
        is_over = code == MG_EXIT_DONE && mg_explain_has_ended(&tables.order);
        if (is_over) {
            code = order_explain(cli, &tables);
        }
        order_free(&tables);
        if (code == MG_EXIT_DONE && !is_over) {
            code = mg_cli_pause(cli, WATCH_PERIOD_MS)
                       ? MG_EXIT_DONE
                       : mg_cli_fail(MG_EXIT_ERROR, "could not go on watching: no memory");
        }
    }
    return code;
}

/* ---- export: all that is stored about an order, as one JSON document (proto/dossier.schema.json) ---- */

enum mg_exit_code mg_verb_order_export(struct mg_cli *cli)
{
    const char *params[] = {cli->words.items[0]};
    struct mg_table dossier = {0};
    enum mg_exit_code code = mg_table_open(cli, MG_REPORT_DOSSIER, params, 1, &dossier);
    if (code == MG_EXIT_DONE && dossier.row_count == 0) { /* then it may be in the archive */
        mg_table_free(&dossier);
        code = mg_table_read(cli, MG_REPORT_ARCHIVED_DOSSIER, params, 1, &dossier);
    }
    if (code == MG_EXIT_DONE && dossier.row_count == 0) {
        code = mg_order_unknown_fail(cli, params[0]);
    }
    if (code == MG_EXIT_DONE) {
        const char *archived_on = mg_table_cell(&dossier, 0, "archived_on");
        code = mg_answer_print_raw(cli, mg_slice_of(mg_table_cell(&dossier, 0, "dossier")));
        if (archived_on[0] != '\0') {
            mg_cli_note("order %s was archived on %s; this is its dossier of that time", params[0],
                        archived_on);
        }
    }
    mg_table_free(&dossier);
    return code;
}
