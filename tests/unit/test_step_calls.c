/* The attempts of a step, read from the events of its order. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "json/scan.h"
#include "operator/step_calls.h"
#include "suite.h"

static const char DEFINITION[] =
    "{\"workflow\":\"trip\",\"version\":1,\"steps\":[{\"step\":\"book\",\"service\":\"shop\",\"finish_within\":\"1h\","
    "\"do\":{\"method\":\"POST\",\"path\":\"/b\"},\"verify\":{\"method\":\"GET\",\"path\":\"/b\"},"
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/b\"}},"
    "{\"step\":\"pay\",\"service\":\"bank\",\"do\":{\"method\":\"POST\",\"path\":\"/p\"},\"undo\":\"none\"}]}";

#define AT(second) "2026-11-29T04:00:0" second ".000Z"
#define CHANGE(from, to, attempt, kind)                                                                      \
    "{\"step\":\"book\",\"from\":\"" from "\",\"to\":\"" to "\",\"attempt\":" attempt ",\"kind\":\"" kind    \
    "\"}"
#define TURNED "{\"from\":\"processing\",\"to\":\"compensating\"}"

/* at, cause_kind, reason, transitions: the second event ends a do and sends a verify; the third ends the
 * verify, and the order turns back in it. */
static const char *const EVENTS[][4] = {
    {AT("0"), "submitted", "a new order", "[" CHANGE("pending", "running", "1", "do") "]"},
    {AT("1"), "reply", "no answer came",
     "[" CHANGE("running", "unknown", "1", "do") "," CHANGE("unknown", "running", "2", "verify") "]"},
    {AT("3"), "reply", "it will not happen by itself any more",
     "[" CHANGE("running", "failed", "2", "verify") "," TURNED "," CHANGE(
         "failed", "undo_pending", "2", "verify") "," CHANGE("undo_pending", "undo_running", "3",
                                                             "undo") "]"},
    {AT("4"), "reply", "the service undid it", "[" CHANGE("undo_running", "undone", "3", "undo") "]"},
};
#define EVENT_COUNT ((int)(sizeof(EVENTS) / sizeof(EVENTS[0])))

static const struct {
    const char *attempt, *kind, *took_ms, *state, *answer;
} ATTEMPTS[] = {
    {"1", "do", "1000", "unknown", "no answer came"},
    {"2", "verify", "2000", "failed", "it will not happen by itself any more"},
    {"3", "undo", "1000", "undone", "the service undid it"},
};

static const char *const EVENT_COLUMNS[] = {"at", "cause_kind", "reason", "transitions"};
static const char *const ORDER[][5] = {{"order_id", "state", "goal", "reason", "payload"},
                                       {"o-1", "compensated", "compensated", "step_failed", "{}"}};

/* Would catch: a verify or an undo that is sent in the event of an answer, and is in no list. */
START_TEST(a_request_in_the_event_of_an_answer_is_listed)
{
    char *event_columns[4], *order_columns[5], *order_row[5], *cells[EVENT_COUNT * 4];
    memcpy(event_columns, EVENT_COLUMNS, sizeof(event_columns));
    memcpy(order_columns, ORDER[0], sizeof(order_columns));
    memcpy(order_row, ORDER[1], sizeof(order_row));
    memcpy(cells, EVENTS, sizeof(cells));
    const struct mg_table order = {
        .column_count = 5, .columns = order_columns, .cells = order_row, .row_count = 1};
    const struct mg_table events = {
        .column_count = 4, .columns = event_columns, .cells = cells, .row_count = EVENT_COUNT};
    const struct mg_table none = {0};
    const struct mg_step_calls_facts facts = {.order = &order,
                                              .steps = &none,
                                              .events = &events,
                                              .calls = &none,
                                              .definition = mg_slice_of(DEFINITION)};
    struct mg_json_walk walk;
    struct mg_slice name, attempt;
    struct mg_buf text;
    mg_buf_init(&text, 65536);
    struct mg_json_writer json = mg_json_spaced(&text);
    ck_assert(mg_step_calls_write(&json, &facts, "book"));
    ck_assert(!text.failed);
    walk = mg_json_walk_of(mg_json_find(mg_buf_slice(&text), "/attempts"));
    for (size_t i = 0; i < sizeof(ATTEMPTS) / sizeof(ATTEMPTS[0]); i++) {
        ck_assert_msg(mg_json_walk_next(&walk, &name, &attempt), "attempt %zu is missing", i + 1);
        ck_assert(mg_slice_is(mg_json_find(attempt, "/attempt"), ATTEMPTS[i].attempt));
        ck_assert(mg_json_string_is(mg_json_find(attempt, "/kind"), mg_slice_of(ATTEMPTS[i].kind)));
        ck_assert(mg_slice_is(mg_json_find(attempt, "/took_ms"), ATTEMPTS[i].took_ms));
        ck_assert(mg_json_string_is(mg_json_find(attempt, "/state"), mg_slice_of(ATTEMPTS[i].state)));
        ck_assert(mg_json_string_is(mg_json_find(attempt, "/answer"), mg_slice_of(ATTEMPTS[i].answer)));
    }
    ck_assert(!mg_json_walk_next(&walk, &name, &attempt));
    mg_buf_finish(&text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step_calls");
    TCase *tcase = tcase_create("step_calls");
    tcase_add_test(tcase, a_request_in_the_event_of_an_answer_is_listed);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
