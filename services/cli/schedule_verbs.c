/*
 * `schedule load|list|show|pause|resume|run|backfill|delete`. A schedule is a row that the leading supervisor
 * reads. The row has a version: if two operators change it at once, the second gets a conflict. Its orders
 * are made by the schedulers, also at an operator's command.
 */
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "core/key.h"
#include "json/reader.h"
#include "operator/option_words.h"
#include "operator/slot_plan.h"
#include "verb_table.h"
#include "wire/command.h"

#define SEE_SHOW "; see makegood schedule show %s"
/* A night of slots a minute, or three years of days: more is a typing mistake. */
#define BACKFILL_MAX 1000
#define DAY_MS       INT64_C(86400000)

static const char *const LISTED[] = {"schedule", "workflow",  "is_paused", "next_at", "next_local", "zone",
                                     "last_end", "last_slot", "skipped",   "version", NULL};
static const char *const RUN_COLUMNS[] = {"slot", "end", "order_id", "state", "slots", "text", NULL};

/* ---- a schedule's row ---- */

struct row {
    struct mg_table table;
    uint64_t version;
    int64_t next_slot_ms; /* 0: none */
    bool is_paused;
};

static enum mg_exit_code name_check(const char *name)
{
    return mg_name_is_valid(name, strlen(name))
               ? MG_EXIT_DONE
               : mg_cli_fail(MG_EXIT_USAGE, "%s: expected a schedule's name", name);
}

/* The caller frees the table; it has no row if there is no such schedule. */
static enum mg_exit_code row_read(struct mg_cli *cli, const char *name, struct row *ret_row)
{
    const char *params[] = {name};
    char number[MG_MOMENT_SIZE];
    memset(ret_row, 0, sizeof(*ret_row));
    enum mg_exit_code code = mg_table_read(cli, MG_REPORT_SCHEDULE, params, 1, &ret_row->table);
    if (code == MG_EXIT_DONE && ret_row->table.row_count > 0) {
        const char *next = mg_table_cell(&ret_row->table, 0, "next_slot");
        ret_row->version = strtoull(mg_table_cell(&ret_row->table, 0, "version"), NULL, 10);
        ret_row->is_paused = strcmp(mg_table_cell(&ret_row->table, 0, "is_paused"), "t") == 0;
        ret_row->next_slot_ms =
            next[0] != '\0' && mg_moment_parse(next, number) ? strtoll(number, NULL, 10) : 0;
    }
    return code;
}

static enum mg_exit_code row_find(struct mg_cli *cli, const char *name, struct row *ret_row)
{
    enum mg_exit_code code = name_check(name);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_store(cli, false);
    }
    if (code == MG_EXIT_DONE) {
        code = row_read(cli, name, ret_row);
    }
    if (code == MG_EXIT_DONE && ret_row->table.row_count == 0) {
        code = mg_cli_fail(MG_EXIT_NOT_FOUND, "there is no schedule %s", name);
    }
    return code;
}

static enum mg_exit_code definition_parse(const struct row *row, const char *name, struct mg_schedule **ret)
{
    struct mg_err err;
    const char *text = mg_table_cell(&row->table, 0, "definition");
    return mg_schedule_parse(mg_slice_of(text), NULL, ret, &err) == MG_OK
               ? MG_EXIT_DONE
               : mg_cli_fail(MG_EXIT_ERROR, "schedule %s: this version of the tool cannot read it: %s", name,
                             err.text);
}

/* ---- its next slots ---- */

struct planned {
    struct mg_stored stored;
    struct mg_slot_plan plan;
};

static void on_plan(void *arg, const struct mg_slot_plan *plan, const struct mg_err *err)
{
    struct planned *planned = arg;
    if (plan != NULL) {
        planned->plan = *plan;
    }
    mg_on_stored(&planned->stored, err);
}

static enum mg_exit_code plan_find(struct mg_cli *cli, const struct mg_schedule *schedule, int64_t after_ms,
                                   struct mg_slot_plan *ret_plan)
{
    struct planned planned = {.stored = {.is_over = false}};
    mg_slot_plan_find(cli->store, schedule, after_ms, on_plan, &planned);
    enum mg_exit_code code = mg_cli_await_stored(cli, &planned.stored, SEE_SHOW, schedule->name);
    if (code == MG_EXIT_DONE && !planned.plan.is_zone) {
        code = mg_cli_fail(
            MG_EXIT_USAGE,
            "schedule %s: /zone: PostgreSQL knows no zone \"%s\"; SELECT name FROM pg_timezone_names "
            "lists them",
            schedule->name, schedule->zone);
    }
    *ret_plan = planned.plan;
    return code;
}

static void plan_put(struct mg_schedule_change *change, const struct mg_slot_plan *plan)
{
    change->upcoming_count = plan->count;
    memcpy(change->upcoming, plan->slots, sizeof(change->upcoming));
    change->next_at_ms = plan->next_at_ms;
}

/* ---- changes ---- */

static enum mg_exit_code change_send(struct mg_cli *cli, const struct mg_schedule_change *change,
                                     uint64_t *ret_version)
{
    struct mg_stored stored = {.is_over = false};
    mg_store_change_schedule(cli->store, change, mg_on_versioned, &stored);
    enum mg_exit_code code = mg_cli_await_stored(cli, &stored, SEE_SHOW, change->schedule);
    if (code == MG_EXIT_DONE && stored.result != MG_CHANGE_DONE) {
        code = change->version == 0
                   ? mg_cli_fail(MG_EXIT_CONFLICT,
                                 "schedule %s: it has just been loaded, or there are %d schedules",
                                 change->schedule, MG_SCHEDULES_MAX)
                   : mg_cli_fail(MG_EXIT_CONFLICT, "schedule %s: it is no longer at version %llu" SEE_SHOW,
                                 change->schedule, (unsigned long long)change->version, change->schedule);
    }
    *ret_version = stored.version;
    return code;
}

static enum mg_exit_code change_print(struct mg_cli *cli, const struct mg_schedule_change *change,
                                      uint64_t version, const char *word, const char *text)
{
    char next[MG_TIME_TEXT_SIZE];
    mg_time_format(change->next_at_ms, next);
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_member_string(json, "schedule", change->schedule);
        mg_json_member_int(json, "version", (int64_t)version);
        mg_json_member_word(json, "verdict", word);
        if (change->next_at_ms != 0) {
            mg_json_member_word(json, "next_at", next);
        } else {
            mg_json_member_null(json, "next_at");
        }
        return mg_answer_print(&answer);
    }
    mg_print(stdout, "schedule %s: version %llu, %s%s%s\n", change->schedule, (unsigned long long)version,
             text, change->next_at_ms != 0 ? ", next at " : "", change->next_at_ms != 0 ? next : "");
    return MG_EXIT_DONE;
}

static struct mg_schedule_change change_begin(struct mg_cli *cli, enum mg_schedule_verb verb,
                                              const char *name, const struct row *row,
                                              char by[MG_COMMAND_BY_MAX + 1])
{
    mg_cli_by(cli, by, MG_COMMAND_BY_MAX + 1);
    return (struct mg_schedule_change){.verb = verb,
                                       .schedule = name,
                                       .reason = mg_option_text(cli->options.reason),
                                       .by = by,
                                       .version = cli->options.version != 0 ? (uint64_t)cli->options.version
                                                                            : row->version};
}

/* ---- load ---- */

static enum mg_exit_code file_read(const char *path, struct mg_schedule **ret_schedule)
{
    struct mg_mistake_printer printer = {.path = path};
    const struct mg_mistakes mistakes = {mg_mistake_print, &printer};
    struct mg_err err;
    char *text = NULL;
    size_t len = 0;
    enum mg_exit_code code = mg_cli_read_file(path, MG_SCHEDULE_MAX_BYTES, &text, &len);
    if (code == MG_EXIT_DONE &&
        mg_schedule_parse((struct mg_slice){text, len}, &mistakes, ret_schedule, &err) != MG_OK) {
        code = printer.count > 0 ? MG_EXIT_USAGE : mg_cli_fail(MG_EXIT_USAGE, "%s: %s", path, err.text);
    }
    free(text);
    return code;
}

/* A slot that is due, and not yet fired, is not lost by a new definition. */
static int64_t load_after_ms(const struct row *row, int64_t now_ms)
{
    bool is_due = row->next_slot_ms != 0 && !row->is_paused && row->next_slot_ms <= now_ms;
    return is_due ? row->next_slot_ms - 1 : now_ms;
}

static enum mg_exit_code schedule_put(struct mg_cli *cli, const struct mg_schedule *schedule,
                                      const struct row *row)
{
    char by[MG_COMMAND_BY_MAX + 1];
    struct mg_slot_plan plan;
    uint64_t version = row->version;
    struct mg_schedule_change change = change_begin(cli, MG_SCHEDULE_LOAD, schedule->name, row, by);
    change.version = row->version;
    change.workflow = schedule->workflow;
    change.zone = schedule->zone;
    change.definition = schedule->text;
    enum mg_exit_code code = plan_find(cli, schedule, 0, &plan);
    if (code == MG_EXIT_DONE && load_after_ms(row, plan.now_ms) != plan.now_ms) {
        code = plan_find(cli, schedule, load_after_ms(row, plan.now_ms), &plan);
    }
    if (code != MG_EXIT_DONE) {
        return code;
    }
    plan_put(&change, &plan);
    if (row->version > 0 && mg_slice_is(schedule->text, mg_table_cell(&row->table, 0, "definition"))) {
        return change_print(cli, &change, version, "unchanged", "is loaded already");
    }
    code = change_send(cli, &change, &version);
    return code == MG_EXIT_DONE ? change_print(cli, &change, version, "loaded", "is loaded") : code;
}

static void workflow_check(struct mg_cli *cli, const struct mg_schedule *schedule)
{
    struct mg_table workflows = {0};
    bool is_there = false;
    if (mg_table_read(cli, MG_REPORT_WORKFLOWS, NULL, 0, &workflows) == MG_EXIT_DONE) {
        for (int row = 0; row < workflows.row_count; row++) {
            is_there = is_there || strcmp(mg_table_cell(&workflows, row, "name"), schedule->workflow) == 0;
        }
        if (!is_there) {
            mg_cli_note("schedule %s: workflow %s is not loaded; until it is, each slot is refused",
                        schedule->name, schedule->workflow);
        }
    }
    mg_table_free(&workflows);
}

/* Checks all files before it stores the first: a mistake in one file stores none. */
static enum mg_exit_code verb_schedule_load(struct mg_cli *cli)
{
    struct mg_schedule *schedules[MG_LIST_MAX] = {NULL};
    enum mg_exit_code code = MG_EXIT_DONE;
    for (int i = 0; i < cli->words.count; i++) {
        enum mg_exit_code read = file_read(cli->words.items[i], &schedules[i]);
        code = read != MG_EXIT_DONE ? read : code;
    }
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_store(cli, false);
    }
    for (int i = 0; i < cli->words.count && code == MG_EXIT_DONE; i++) {
        struct row row;
        code = row_read(cli, schedules[i]->name, &row);
        if (code == MG_EXIT_DONE) {
            workflow_check(cli, schedules[i]);
            code = schedule_put(cli, schedules[i], &row);
        }
        mg_table_free(&row.table);
    }
    for (int i = 0; i < cli->words.count; i++) {
        mg_schedule_destroy(schedules[i]);
    }
    return code;
}

/* ---- list and show ---- */

static enum mg_exit_code verb_schedule_list(struct mg_cli *cli)
{
    return mg_table_list(cli, MG_REPORT_SCHEDULES, NULL, 0, LISTED);
}

static void upcoming_print(const struct mg_table *table)
{
    struct mg_slice none, value;
    struct mg_json_walk walk = mg_json_walk_of(mg_slice_of(mg_table_cell(table, 0, "upcoming")));
    while (mg_json_walk_next(&walk, &none, &value)) {
        value = mg_json_trim(value);
        mg_print(stdout, "  next %.*s\n", (int)value.len - 2, value.data + 1);
    }
}

static enum mg_exit_code show_print(struct mg_cli *cli, const struct mg_table *schedule,
                                    const struct mg_table *runs)
{
    if (cli->is_json) {
        struct mg_answer answer;
        struct mg_json_writer *json = mg_answer_begin(cli, &answer);
        mg_json_name(json, "schedule");
        mg_table_write_object(json, schedule, 0, NULL);
        mg_json_name(json, "runs");
        mg_table_write_array(json, runs, NULL);
        return mg_answer_print(&answer);
    }
    mg_print(stdout, "schedule %s, version %s: workflow %s, zone %s%s\n",
             mg_table_cell(schedule, 0, "schedule"), mg_table_cell(schedule, 0, "version"),
             mg_table_cell(schedule, 0, "workflow"), mg_table_cell(schedule, 0, "zone"),
             strcmp(mg_table_cell(schedule, 0, "is_paused"), "t") == 0 ? ", paused" : "");
    mg_print(stdout, "  slots without an order: %s\n", mg_table_cell(schedule, 0, "skipped"));
    upcoming_print(schedule);
    mg_print(stdout, "\n%s\n\n", mg_table_cell(schedule, 0, "definition"));
    return mg_table_print(cli, runs, RUN_COLUMNS);
}

static enum mg_exit_code verb_schedule_show(struct mg_cli *cli)
{
    const char *name = cli->words.items[0];
    const char *params[] = {name, cli->limit};
    struct row row = {.table = {0}};
    struct mg_table runs = {0};
    enum mg_exit_code code = row_find(cli, name, &row);
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, MG_REPORT_SCHEDULE_RUNS, params, 2, &runs);
    }
    if (code == MG_EXIT_DONE) {
        code = show_print(cli, &row.table, &runs);
    }
    mg_table_free(&row.table);
    mg_table_free(&runs);
    return code;
}

/* ---- pause, resume, delete ---- */

static enum mg_exit_code verb_schedule_change(struct mg_cli *cli)
{
    static const char *const WORDS[] = {
        [MG_SCHEDULE_PAUSE] = "paused", [MG_SCHEDULE_RESUME] = "resumed", [MG_SCHEDULE_DELETE] = "deleted"};
    enum mg_schedule_verb verb = (enum mg_schedule_verb)cli->verb_arg;
    const char *name = cli->words.items[0];
    char by[MG_COMMAND_BY_MAX + 1];
    struct row row = {.table = {0}};
    struct mg_schedule *schedule = NULL;
    struct mg_slot_plan plan = {.count = 0};
    uint64_t version;
    enum mg_exit_code code = row_find(cli, name, &row);
    struct mg_schedule_change change = change_begin(cli, verb, name, &row, by);
    if (code == MG_EXIT_DONE && verb == MG_SCHEDULE_RESUME) { /* the slots of the pause are past */
        code = definition_parse(&row, name, &schedule);
        if (code == MG_EXIT_DONE) {
            code = plan_find(cli, schedule, 0, &plan);
        }
        plan_put(&change, &plan);
    }
    if (code == MG_EXIT_DONE && verb == MG_SCHEDULE_RESUME && !row.is_paused) {
        code = mg_cli_fail(MG_EXIT_CONFLICT, "schedule %s is not paused", name);
    }
    if (code == MG_EXIT_DONE) {
        code = change_send(cli, &change, &version);
    }
    if (code == MG_EXIT_DONE) {
        code = change_print(cli, &change, version, WORDS[verb], WORDS[verb]);
    }
    mg_schedule_destroy(schedule);
    mg_table_free(&row.table);
    return code;
}

/* ---- run and backfill ---- */

static struct mg_command command_of(struct mg_cli *cli, const char *name, int64_t slot_ms)
{
    struct mg_command command = {.kind = MG_CAUSE_FIRE, .slot_ms = slot_ms};
    char order_id[MG_UUID_SIZE];
    mg_schedule_order_id(name, slot_ms, order_id);
    mg_uuid_random(command.command_id);
    (void)snprintf(command.order_id, sizeof(command.order_id), "%s", order_id);
    (void)snprintf(command.schedule, sizeof(command.schedule), "%s", name);
    (void)snprintf(command.reason, sizeof(command.reason), "%s", mg_option_text(cli->options.reason));
    mg_cli_by(cli, command.by, sizeof(command.by));
    return command;
}

static enum mg_exit_code verb_schedule_run(struct mg_cli *cli)
{
    const char *name = cli->words.items[0];
    struct row row = {.table = {0}};
    struct mg_schedule *schedule = NULL;
    struct mg_slot_plan plan = {.count = 0};
    enum mg_exit_code code = row_find(cli, name, &row);
    if (code == MG_EXIT_DONE) {
        code = definition_parse(&row, name, &schedule);
    }
    if (code == MG_EXIT_DONE) {
        code = plan_find(cli, schedule, 0, &plan); /* for the database's now */
    }
    if (code == MG_EXIT_DONE) {
        const struct mg_command command = command_of(cli, name, plan.now_ms);
        code = mg_cli_command_send(cli, &command);
    }
    mg_schedule_destroy(schedule);
    mg_table_free(&row.table);
    return code;
}

static enum mg_exit_code moment_read(const char *option, const char *text, int64_t now_ms, int64_t *ret_ms)
{
    char number[MG_MOMENT_SIZE];
    if (!mg_option_is_given(text) || !mg_moment_parse(text, number)) {
        return mg_cli_fail(MG_EXIT_USAGE, "%s %s: expected " MG_MOMENT_RIGHT, option, mg_option_text(text));
    }
    int64_t ms = strtoll(number, NULL, 10);
    *ret_ms = ms < 0 ? now_ms + ms : ms;
    return MG_EXIT_DONE;
}

/* The slots of a time that is past, at most BACKFILL_MAX. */
static enum mg_exit_code slots_collect(struct mg_cli *cli, const struct mg_schedule *schedule,
                                       int64_t *ret_slots, int *ret_count)
{
    struct mg_slot_plan plan;
    int64_t since_ms = 0, until_ms = 0;
    enum mg_exit_code code = plan_find(cli, schedule, 0, &plan);
    int64_t now_ms = plan.now_ms;
    if (code == MG_EXIT_DONE) {
        code = moment_read("--since", cli->options.since, now_ms, &since_ms);
    }
    if (code == MG_EXIT_DONE) {
        const char *until = mg_option_is_given(cli->options.until) ? cli->options.until : "0s";
        code = moment_read("--until", until, now_ms, &until_ms);
        until_ms = until_ms == 0 || until_ms > now_ms ? now_ms : until_ms;
    }
    if (code == MG_EXIT_DONE && since_ms >= until_ms) {
        return mg_cli_fail(MG_EXIT_USAGE, "--since is not before --until, so there is no slot between them");
    }
    /* Civil time and the database's differ by a day at most; counting takes no question to it. */
    if (code == MG_EXIT_DONE &&
        mg_schedule_count(schedule, since_ms + DAY_MS, until_ms - DAY_MS) > BACKFILL_MAX) {
        return mg_cli_fail(MG_EXIT_USAGE, "more than %d slots; name a shorter time", BACKFILL_MAX);
    }
    int64_t after_ms = since_ms - 1;
    while (code == MG_EXIT_DONE && (code = plan_find(cli, schedule, after_ms, &plan)) == MG_EXIT_DONE) {
        for (int i = 0; i < plan.count && plan.slots[i] < until_ms; i++) {
            if (*ret_count == BACKFILL_MAX) {
                return mg_cli_fail(MG_EXIT_USAGE, "more than %d slots; name a shorter time", BACKFILL_MAX);
            }
            ret_slots[(*ret_count)++] = plan.slots[i];
        }
        if (plan.count == 0 || plan.slots[plan.count - 1] >= until_ms) {
            break;
        }
        after_ms = plan.slots[plan.count - 1];
    }
    return code;
}

static enum mg_exit_code verb_schedule_backfill(struct mg_cli *cli)
{
    const char *name = cli->words.items[0];
    int64_t slots[BACKFILL_MAX];
    int count = 0;
    struct row row = {.table = {0}};
    struct mg_schedule *schedule = NULL;
    enum mg_exit_code code = row_find(cli, name, &row);
    if (code == MG_EXIT_DONE) {
        code = definition_parse(&row, name, &schedule);
    }
    if (code == MG_EXIT_DONE) {
        code = slots_collect(cli, schedule, slots, &count);
    }
    for (int i = 0; i < count && code == MG_EXIT_DONE; i++) {
        struct mg_command command = command_of(cli, name, slots[i]);
        command.is_backfill = true;
        code = mg_cli_command_send(cli, &command);
        code = code == MG_EXIT_NOT_FOUND ? MG_EXIT_DONE : code; /* its order has left the tables */
    }
    if (code == MG_EXIT_DONE && !cli->is_json) {
        mg_print(stdout, "%d slots\n", count);
    }
    mg_schedule_destroy(schedule);
    mg_table_free(&row.table);
    return code;
}

#define CHANGES_SCHEDULE (MG_EXTRA_REASON | MG_EXTRA_VERSION)

const struct mg_verb MG_SCHEDULE_VERBS[] = {
    {"schedule", "load", "FILE...", 1, MG_LIST_MAX, MG_EXTRA_REASON, MG_PRINTS_LIST, verb_schedule_load,
     "checks and stores schedules", 0},
    {"schedule", "list", "", 0, 0, MG_EXTRA_LIST, MG_PRINTS_LIST, verb_schedule_list,
     "lists schedules, their next time and their last slot", 0},
    {"schedule", "show", "SCHEDULE", 1, 1, MG_EXTRA_LIMIT | MG_EXTRA_TIMES, MG_PRINTS_ONE, verb_schedule_show,
     "shows a schedule, its next five times, and the ends of its slots", 0},
    {"schedule", "pause", "SCHEDULE", 1, 1, CHANGES_SCHEDULE, MG_PRINTS_ONE, verb_schedule_change,
     "makes no order from a schedule until it is resumed", MG_SCHEDULE_PAUSE},
    {"schedule", "resume", "SCHEDULE", 1, 1, CHANGES_SCHEDULE, MG_PRINTS_ONE, verb_schedule_change,
     "ends the pause of a schedule; the slots of the pause are past", MG_SCHEDULE_RESUME},
    {"schedule", "run", "SCHEDULE", 1, 1, MG_EXTRA_REASON, MG_PRINTS_ONE, verb_schedule_run,
     "makes an order of a schedule now, as if this moment were a slot", 0},
    {"schedule", "backfill", "SCHEDULE", 1, 1, MG_EXTRA_REASON | MG_EXTRA_TIME, MG_PRINTS_LIST,
     verb_schedule_backfill, "makes the orders of past slots; those that have one are left as they are", 0},
    {"schedule", "delete", "SCHEDULE", 1, 1, CHANGES_SCHEDULE, MG_PRINTS_ONE, verb_schedule_change,
     "deletes a schedule; its orders stay", MG_SCHEDULE_DELETE},
    {0}};
