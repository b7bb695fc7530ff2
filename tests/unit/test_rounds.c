/*
 * Rounds of waiting as `order show` finds them, by the table rounds.json. rounds.mjs reads the same table
 * with the code of the console's page. Would catch: a line in the browser that differs from the tool's.
 */
#include "rounds.h"

#include <check.h>
#include <jansson.h>

#include "suite.h"

#define EVENTS_MAX 16 /* of one case */

static char cause_kind[] = "cause_kind", step[] = "step", reason[] = "reason";
static char *columns[] = {cause_kind, step, reason}; /* the ones that are no lists */
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))

struct story {
    char *cells[EVENTS_MAX * COLUMN_COUNT];
    struct mg_event_lists lists[EVENTS_MAX];
    char *texts[2 * EVENTS_MAX]; /* of the lists */
    struct mg_table events;
};

static json_t *table_load(void)
{
    json_error_t error;
    json_t *table = json_load_file(MG_SOURCE_DIR "/tests/unit/rounds.json", 0, &error);
    ck_assert_msg(table != NULL, "rounds.json, line %d: %s", error.line, error.text);
    return table;
}

static struct mg_slice list_of(const json_t *event, const char *name, char **ret_text)
{
    *ret_text = json_dumps(json_object_get(event, name), JSON_COMPACT);
    return mg_slice_of(*ret_text);
}

/* All but the texts of the lists is borrowed from the table. */
static void story_make(const json_t *table, const json_t *example, struct story *ret)
{
    const json_t *names = json_object_get(example, "events"), *name;
    size_t row;
    *ret = (struct story){.events = {.column_count = COLUMN_COUNT, .columns = columns}};
    ck_assert_uint_le(json_array_size(names), EVENTS_MAX);
    ret->events.row_count = (int)json_array_size(names);
    ret->events.cells = ret->cells;
    json_array_foreach(names, row, name)
    {
        const json_t *event = json_object_get(json_object_get(table, "events"), json_string_value(name));
        ck_assert_msg(event != NULL, "%s: no such event", json_string_value(name));
        for (size_t i = 0; i < COLUMN_COUNT; i++) {
            const json_t *text = json_object_get(event, columns[i]);
            ret->cells[row * COLUMN_COUNT + i] = (char *)(uintptr_t)json_string_value(text);
        }
        ret->lists[row].transitions = list_of(event, "transitions", &ret->texts[2 * row]);
        ret->lists[row].statuses = list_of(event, "statuses", &ret->texts[2 * row + 1]);
    }
}

/* As in rounds.json: adds an entry for rounds, or a single event to the newest entry. */
static void entry_add(json_t *entries, int row, struct mg_rounds rounds)
{
    json_t *newest = json_array_get(entries, json_array_size(entries) - 1);
    if (rounds.count > 1) {
        json_t *entry = json_pack("{s:i, s:i, s:i, s:i, s:o}", "rounds", rounds.count, "events",
                                  rounds.events, "calls", rounds.calls, "last", rounds.last, "answer",
                                  rounds.calls > 0 ? json_integer(rounds.answer) : json_null());
        ck_assert_int_ge(rounds.last, row);
        ck_assert_int_eq(json_array_append_new(entries, entry), 0);
    } else if (json_is_integer(newest)) {
        ck_assert_int_eq(json_integer_set(newest, json_integer_value(newest) + 1), 0);
    } else {
        ck_assert_int_eq(json_array_append_new(entries, json_integer(1)), 0);
    }
}

static json_t *entries_of(const struct story *story)
{
    json_t *entries = json_array();
    for (int row = 0; row < story->events.row_count;) {
        struct mg_rounds rounds = mg_rounds_find(&story->events, story->lists, row);
        entry_add(entries, row, rounds);
        row += rounds.count > 1 ? rounds.events : 1;
    }
    return entries;
}

START_TEST(each_case_of_the_table_has_its_lines)
{
    json_t *table = table_load();
    const json_t *examples = json_object_get(table, "cases"), *example;
    size_t index;
    ck_assert_uint_gt(json_array_size(examples), 0);
    json_array_foreach(examples, index, example)
    {
        struct story story;
        story_make(table, example, &story);
        json_t *entries = entries_of(&story);
        char *found = json_dumps(entries, 0);
        ck_assert_msg(json_equal(entries, json_object_get(example, "entries")), "%s: found %s",
                      json_string_value(json_object_get(example, "case")), found);
        free(found);
        json_decref(entries);
        for (int i = 0; i < 2 * EVENTS_MAX; i++) {
            free(story.texts[i]);
        }
    }
    json_decref(table);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rounds");
    TCase *tests = tcase_create("rounds");
    tcase_add_test(tests, each_case_of_the_table_has_its_lines);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
