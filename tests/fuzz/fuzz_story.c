/*
 * An order's rows in the database and the archive, as the tool prints them. The input is the path to the
 * order's rows and, each after a NUL, the texts of their cells and the two lists that an event holds as JSON.
 * In the output for people no text begins a line of its own or controls a terminal. In the output for
 * programs each text arrives unchanged.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "core/model.h"
#include "fuzz.h"
#include "io/pg/libpq.h"
#include "json/json.h"
#include "operator/explain.h"

#define TEXTS_MAX    8
#define TEXT_LEN_MAX 1200 /* more than any member of a story has */
#define STORY_MAX    ((size_t)8 * 1024 * 1024)

static struct {
    char *texts[TEXTS_MAX];
    int text_count;
    char *transitions, *statuses; /* JSON arrays */
    int entries;                  /* of both; an unreadable list has its excuse as the only one */
} world;

/* Columns of an order, its steps, its events and their services, all in one. */
static const char *const COLUMNS[] = {
    "order_id",    "workflow",   "state",      "reason",  "step",    "service",  "attempt",
    "kind",        "error_text", "due_at",     "by_whom", "breaker", "instance", "archived_on",
    "complete_by", "cause_kind", "wake_at",    "at",      "version", "maybe",    "failure_count",
    "transitions", "statuses",   "generation", "is_high", "why"};
#define COLUMN_COUNT ((int)(sizeof(COLUMNS) / sizeof(COLUMNS[0])))

static const char *const LISTS[] = {"transitions", "statuses", NULL};
/* PostgreSQL's identifiers of the types json and text. */
#define TYPE_JSON 114
#define TYPE_TEXT 25

static const char *cell(int row, int column)
{
    if (strcmp(COLUMNS[column], "transitions") == 0) {
        return world.transitions;
    }
    if (strcmp(COLUMNS[column], "statuses") == 0) {
        return world.statuses;
    }
    return world.texts[(row + column) % world.text_count];
}

static struct mg_table table_make(int row_count, bool is_for_people)
{
    struct mg_rows rows = {PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK)};
    PGresAttDesc columns[COLUMN_COUNT];
    struct mg_table table = {0};
    memset(columns, 0, sizeof(columns));
    for (int i = 0; i < COLUMN_COUNT; i++) {
        columns[i].name = strdup(COLUMNS[i]);
        columns[i].typid = mg_text_is_listed(LISTS, COLUMNS[i]) ? TYPE_JSON : TYPE_TEXT;
    }
    FUZZ_REQUIRE(rows.result != NULL && PQsetResultAttrs(rows.result, COLUMN_COUNT, columns) != 0);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        free(columns[i].name);
    }
    for (int row = 0; row < row_count; row++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            char *text = strdup(cell(row, column));
            FUZZ_REQUIRE(text != NULL);
            FUZZ_REQUIRE(PQsetvalue(rows.result, row, column, text, (int)strlen(text)) != 0);
            free(text);
        }
    }
    FUZZ_REQUIRE(mg_table_keep(&table, &rows, is_for_people));
    PQclear(rows.result);
    return table;
}

/* ---- for people ---- */

static int lines_of(const char *text, size_t len)
{
    int lines = 0;
    for (size_t i = 0; i < len; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

static void story_is_plain(int steps_count, int events_count)
{
    struct mg_table order = table_make(1, true), steps = table_make(steps_count, true);
    struct mg_table events = table_make(events_count, true);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    FUZZ_REQUIRE(out != NULL);
    const struct mg_style style = {.now_ms = INT64_C(1800000000000), .began_ms = 1, .shows_authors = true};
    mg_story_print(out, &style, &order, &steps, &events);
    (void)fclose(out);
    bool is_cut = events_count > 0 && strcmp(mg_table_cell(&events, 0, "version"), "1") != 0;
    FUZZ_REQUIRE(!fuzz_steers(text, len));
    FUZZ_REQUIRE(lines_of(text, len) ==
                 1 + steps_count + 1 + (is_cut ? 1 : 0) + events_count * (1 + world.entries));
    free(text);
    mg_table_free(&order);
    mg_table_free(&steps);
    mg_table_free(&events);
}

static void explanation_is_plain(int steps_count)
{
    struct mg_table order = table_make(1, true), steps = table_make(steps_count, true);
    struct mg_table services = table_make(steps_count, true);
    const struct mg_explain_queue queue = {.ready = 3, .consumers = steps_count - 1};
    const struct mg_explain_facts facts = {
        .order = &order,
        .steps = &steps,
        .services = &services,
        .controlled = &services,
        .queue = &queue,
        .definition = {cell(0, 0), strlen(cell(0, 0))},
        .owed = &order,
        .line = &services,
        .since = &order,
        .has_branches = true,
    };
    char name[MG_QUEUE_NAME_SIZE];
    struct mg_explanation explanation;
    struct mg_buf text;
    mg_buf_init(&text, STORY_MAX);
    if (mg_explain_asks_queue(&order, &steps, name)) {
        FUZZ_REQUIRE(memchr(name, '\0', sizeof(name)) != NULL && !fuzz_steers(name, strlen(name)));
    }
    mg_explanation_make(&explanation, &facts);
    int notes = lines_of(explanation.notes.data, explanation.notes.len);
    mg_explanation_format(&text, &explanation, 1);
    FUZZ_REQUIRE(!text.failed && !fuzz_steers(text.data, text.len) &&
                 lines_of(text.data, text.len) == 3 + notes);
    mg_explanation_free(&explanation);
    mg_buf_finish(&text);
    mg_table_free(&order);
    mg_table_free(&steps);
    mg_table_free(&services);
}

/* ---- for programs ---- */

static void rows_arrive(int row_count)
{
    struct mg_table table = table_make(row_count, false);
    struct mg_buf text;
    mg_buf_init(&text, STORY_MAX);
    struct mg_json_writer writer = mg_json_spaced(&text);
    mg_table_write_array(&writer, &table, NULL);
    json_t *json = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    FUZZ_REQUIRE(!text.failed && json != NULL && json_array_size(json) == (size_t)row_count);
    for (int row = 0; row < row_count; row++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            json_t *told = json_object_get(json_array_get(json, (size_t)row), COLUMNS[column]);
            FUZZ_REQUIRE(json_is_array(told) || strcmp(json_string_value(told), cell(row, column)) == 0);
        }
    }
    json_decref(json);
    mg_buf_finish(&text);
    mg_table_free(&table);
}

/* ---- the input ---- */

/* A list that the database could hold, as long as an order has steps: the text itself, or one entry with
 * these members. */
static char *list_take(struct mg_slice *rest)
{
    struct mg_err err;
    char *text = fuzz_take_text(rest);
    json_t *list = mg_json_check(mg_slice_of(text), &MG_JSON_LIMITS_DEFAULT, &err) == MG_OK
                       ? json_loads(text, JSON_ALLOW_NUL, NULL)
                       : NULL;
    if (!json_is_array(list) || json_array_size(list) > MG_STEPS_MAX) {
        json_decref(list);
        text[strnlen(text, TEXT_LEN_MAX)] = '\0';
        mg_utf8_mend(text);
        list = json_pack("[{s:s, s:s, s:s, s:s, s:s, s:s, s:s}]", "step", text, "to", "running", "kind", text,
                         "attempt", text, "reason", text, "due_at", text, "status", text);
        free(text);
        text = json_dumps(list, JSON_COMPACT);
    }
    FUZZ_REQUIRE(text != NULL);
    bool is_readable = mg_json_check(mg_slice_of(text), &MG_JSON_LIMITS_DATA, &err) == MG_OK;
    world.entries += is_readable ? (int)json_array_size(list) : 1;
    json_decref(list);
    return text;
}

static void world_read(struct mg_slice rest)
{
    world.entries = world.text_count = 0;
    world.transitions = list_take(&rest);
    world.statuses = list_take(&rest);
    do {
        char *text = world.texts[world.text_count++] = fuzz_take_text(&rest);
        text[strnlen(text, TEXT_LEN_MAX)] = '\0';
        mg_utf8_mend(text);
    } while (rest.len > 0 && world.text_count < TEXTS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int way = size > 0 ? data[0] : 0;
    world_read((struct mg_slice){(const char *)data + (size > 0), size - (size > 0)});
    story_is_plain(way % 4, way / 4 % 4);
    explanation_is_plain(way % 4);
    rows_arrive(way / 4 % 4);
    for (int i = 0; i < world.text_count; i++) {
        free(world.texts[i]);
    }
    free(world.transitions);
    free(world.statuses);
    return 0;
}
