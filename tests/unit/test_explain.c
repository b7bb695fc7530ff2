/* The three lines of an order, by the states of its steps. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/explain.h"
#include "operator/order_rows.h"
#include "operator/steps.h"
#include "suite.h"

#define NOW     "2026-11-29T04:00:00.000Z"
#define SOON    "2026-11-29T04:00:28.000Z"
#define LATER   "2026-11-29T05:00:00.000Z"
#define QUIET   "2026-11-29T04:00:31.000Z" /* SOON, and the time of quiet */
#define ROW_MAX 16

#define CALL(step, service, more)                                                                            \
    "{\"step\":\"" step "\",\"service\":\"" service "\"," more                                               \
    "\"retry\":{\"attempts\":5,\"backoff\":\"1s\",\"max_backoff\":\"1s\"},"                                  \
    "\"do\":{\"method\":\"POST\",\"path\":\"/" step "s\"}"
#define UNDO(step) ",\"undo\":{\"method\":\"DELETE\",\"path\":\"/" step "s/${/do_key}\"}}"

static const char DEFINITION[] =
    "{\"workflow\":\"journey\",\"version\":1,\"complete_within\":\"2h\",\"on_failure\":\"compensate\",\"steps\":[" CALL(
        "flight", "air", "\"after\":[],\"complete_within\":\"30s\",")
        UNDO("flight") "," CALL("room", "travel",
                                "\"after\":[],\"complete_within\":\"30s\",\"on_unknown\":\"verify\","
                                "\"verify\":{\"method\":\"GET\",\"path\":\"/rooms/${/do_key}\"},")
            UNDO(
                "room") ","
                        "{\"step\":\"approve\",\"after\":[\"room\"],\"wait\":{\"signal\":\"approved\",\"within\":\"1h\"}}," CALL(
                            "charge", "bank",
                            "\"complete_within\":\"30s\",\"on_unknown\":\"operator\",\"after\":[\"approve\"],") ",\"undo\":\"none\"}]}";

/* Work that is accepted and polled, both ways, or never sent twice; guards, waits and cool-downs. */
static const char LONG_WORK[] =
    "{\"workflow\":\"work\",\"version\":1,\"steps\":["
    "{\"step\":\"print\",\"service\":\"press\",\"finish_within\":\"1h\",\"poll\":\"10s\","
    "\"retry\":{\"attempts\":1,\"backoff\":\"1s\",\"cool_downs\":1,\"cool_down\":\"1h\"},"
    "\"do\":{\"method\":\"POST\",\"path\":\"/jobs\"},\"verify\":{\"method\":\"GET\",\"path\":\"/jobs/${/do_key}\"},"
    "\"undo\":{\"method\":\"DELETE\",\"path\":\"/jobs/${/do_key}\",\"finish_within\":\"1h\",\"poll\":\"10s\","
    "\"verify\":{\"method\":\"GET\",\"path\":\"/gone/${/do_key}\"}}},"
    "{\"step\":\"rest\",\"when\":\"payload.slow\",\"wait\":{\"until\":\"payload.at\"}},"
    "{\"step\":\"sign\",\"wait\":{\"signal\":\"signed\",\"within\":\"1h\",\"on_timeout\":\"skip\"}},"
    "{\"step\":\"mail\",\"service\":\"post\",\"at_most_once\":true,\"on_unknown\":\"verify\","
    "\"when\":\"payload.mail\",\"do\":{\"method\":\"POST\",\"path\":\"/mails\"},"
    "\"verify\":{\"method\":\"GET\",\"path\":\"/mails/${/do_key}\"},\"undo\":\"none\"}]}";

static const char *const STEP_COLUMNS[] = {
    "step",          "service",     "state",      "kind",
    "reason",        "maybe",       "attempt",    "failure_count",
    "due_at",        "complete_by", "error_code", "error_text",
    "error_message", "is_accepted", "finish_by",  "is_undo_dispatched"};
#define STEP_COLUMN_COUNT ((int)(sizeof(STEP_COLUMNS) / sizeof(STEP_COLUMNS[0])))
static const char *const ORDER_COLUMNS[] = {"order_id",    "state",      "goal",   "reason",
                                            "complete_by", "updated_at", "wake_at"};
#define ORDER_COLUMN_COUNT ((int)(sizeof(ORDER_COLUMNS) / sizeof(ORDER_COLUMNS[0])))
static const char *const SINCE_COLUMNS[] = {"since", "now"};

/* A table of texts: columns are divided by '|', rows by line ends. */
static struct mg_table table_of(const char *const *columns, int column_count, const char *rows)
{
    struct mg_table table = {.column_count = column_count};
    table.columns = calloc((size_t)column_count, sizeof(char *));
    table.cells = calloc((size_t)(ROW_MAX * column_count), sizeof(char *));
    for (int i = 0; i < column_count; i++) {
        table.columns[i] = strdup(columns[i]);
    }
    while (*rows != '\0') {
        for (int i = 0; i < column_count; i++) {
            size_t len = strcspn(rows, "|\n");
            table.cells[table.row_count * column_count + i] = len > 0 ? strndup(rows, len) : NULL;
            rows += len;
            rows += *rows == '|';
        }
        ck_assert_msg(*rows == '\n' || *rows == '\0', "too many cells: %s", rows);
        rows += *rows == '\n';
        table.row_count++;
    }
    return table;
}

static struct mg_explanation explanation;

static void explain_more(const char *definition, const char *order_row, const char *step_rows,
                         const struct mg_table *controlled, const struct mg_explain_queue *queue)
{
    struct mg_table order = table_of(ORDER_COLUMNS, ORDER_COLUMN_COUNT, order_row), whole;
    struct mg_table steps = table_of(STEP_COLUMNS, STEP_COLUMN_COUNT, step_rows);
    struct mg_table since = table_of(SINCE_COLUMNS, 2, "2026-11-29T03:43:00.000Z|" NOW "\n");
    ck_assert(mg_steps_complete(&order, &steps, mg_slice_of(definition), &whole));
    const struct mg_explain_facts facts = {.order = &order,
                                           .steps = &whole,
                                           .since = &since,
                                           .controlled = controlled,
                                           .queue = queue,
                                           .definition = mg_slice_of(definition)};
    mg_explanation_make(&explanation, &facts);
    mg_table_free(&order);
    mg_table_free(&steps);
    mg_table_free(&since);
    mg_table_free(&whole);
}

static void explain(const char *definition, const char *order_row, const char *step_rows)
{
    explain_more(definition, order_row, step_rows, NULL, NULL);
}

static const char *text_of(struct mg_buf *text)
{
    mg_buf_append(text, "", 1);
    ck_assert(!text->failed);
    return text->data;
}

#define PROCESSING   "o-1|processing|processed|none|" LATER "|" NOW "|\n"
#define COMPENSATING "o-1|compensating|compensated|step_failed|" LATER "|" NOW "|\n"
#define FLIGHT       "flight|air|done|do|none|f|1|0||\n"
#define ROOM         "room|travel|done|do|none|f|1|0||\n"

static const struct {
    const char *order, *steps, *what, *why, *next, *next_at;
} CASES[] = {
    {PROCESSING, FLIGHT "room|travel|running|do|none|f|1|0||" SOON "\n",
     "order o-1 is processing: step room runs at service travel, attempt 1 of 5",
     "its request is out, and has no answer yet",
     "travel answers POST /rooms by " SOON ", attempt 1 of 5; without it: asks GET /rooms/…; if that fails: "
     "undo flight; the client is told compensated",
     SOON},
    {PROCESSING,
     FLIGHT "room|travel|unknown|do|reply_unknown|t|1|1|" SOON "||timeout|travel gave no answer in 3000 ms\n",
     "order o-1 is processing: step room is in doubt at service travel, after attempt 1 of 5",
     "the service's answer does not prove whether it acted; travel gave no answer in 3000 ms",
     "asks GET /rooms/… at " SOON
     "; if absent: attempt 2 of 5; if that fails: undo room, flight; the client is told "
     "compensated",
     SOON},
    {PROCESSING,
     FLIGHT "room|travel|waiting|do|reply_transient|f|2|2|" SOON
            "||http_503|travel answered 503|we are updating\n",
     "order o-1 is processing: step room waits for service travel, after attempt 2 of 5",
     "the service failed in a way that may pass; travel answered 503: we are updating",
     "sends POST /rooms at " SOON
     ", attempt 3 of 5; if it fails: attempt 4 of 5; if that fails: undo flight; the "
     "client is told compensated",
     SOON},
    {PROCESSING, FLIGHT "room|travel|waiting|do|reply_transient|f|4|4|" SOON "||\n",
     "order o-1 is processing: step room waits for service travel, after attempt 4 of 5",
     "the service failed in a way that may pass",
     "sends POST /rooms at " SOON
     ", attempt 5 of 5; if it fails: undo flight; the client is told compensated",
     SOON},
    {PROCESSING, FLIGHT "room|travel|waiting|do|breaker_open|f|6|0|" SOON "||breaker_open|no call was made\n",
     "order o-1 is processing: step room waits for service travel",
     "the circuit breaker of the service is open",
     "as soon as travel takes requests: sends POST /rooms, attempt 1 of 5; if it fails: attempt 2 of 5; if that fails: "
     "undo flight; the client is told compensated; at " LATER
     " the order's time is over: undo flight; the client is "
     "told compensated",
     ""},
    {PROCESSING, FLIGHT ROOM "approve||waiting|do|awaiting_signal|f|1|0|" SOON "|\n",
     "order o-1 is processing: step approve waits for signal approved until " SOON "; then it fails",
     "it waits for a signal",
     "a signal ends the wait, by " SOON "; without it: undo room, flight; the client is told compensated",
     SOON},
    {PROCESSING, FLIGHT ROOM "charge|bank|unknown|do|outcome_unknown|t|1|1||\n",
     "order o-1 is processing: step charge is in doubt at service bank, after attempt 1 of 5",
     "whether the step happened is unknown; settle it by hand",
     "an operator or a service must tell whether the step happened; at " LATER
     " the order's time is over: undo room, flight; the client is told compensated",
     ""},
    {COMPENSATING,
     FLIGHT "room|travel|undo_waiting|undo|reply_transient|t|3|1|" SOON "||http_503|travel answered 503\n"
            "charge|bank|failed|do|reply_permanent|f|1|1||\n",
     "order o-1 is compensating: step room is to be undone at service travel, after attempt 1 of 10",
     "a step failed; the service failed in a way that may pass; travel answered 503",
     "undoes by DELETE /rooms/… at " SOON
     ", undo attempt 2 of 10; then undo flight; the client is told compensated; if it fails: undo attempt 3 of 10; "
     "if that fails: undo flight; an operator must decide; the client is told error",
     SOON},
    {"o-1|error|processed|step_failed||" NOW "|\n",
     FLIGHT ROOM
     "charge|bank|failed|do|reply_permanent|f|1|1|||http_422|bank answered 422, code declined|no cover\n",
     "order o-1 is in error: step charge has failed",
     "a step failed; bank answered 422, code declined: no cover",
     "it needs an operator: resume, compensate, cancel, settle step charge, skip step charge", ""},
    {"o-1|processed|processed|none||" NOW "|\n", FLIGHT ROOM, "order o-1 is processed: it has ended",
     "every step is done or skipped", "nothing", ""},
    {"o-1|pending|processed|in_line||" NOW "|\n", "", "order o-1 is pending",
     "it waits in the line of its key until the orders before it have ended",
     "it begins when the orders before it in its line have ended", ""},
};

/* Would catch: a line that says another thing than the core does, or no consequence of a failure. */
START_TEST(each_state_has_its_three_lines)
{
    explain(DEFINITION, CASES[_i].order, CASES[_i].steps);
    ck_assert_str_eq(text_of(&explanation.what), CASES[_i].what);
    ck_assert_str_eq(text_of(&explanation.why), CASES[_i].why);
    ck_assert_str_eq(text_of(&explanation.next), CASES[_i].next);
    ck_assert_str_eq(explanation.next_at, CASES[_i].next_at);
    ck_assert_str_eq(explanation.since,
                     CASES[_i].order[4] == 'p' && strstr(CASES[_i].order, "|processed|processed|") != NULL
                         ? NOW
                         : "2026-11-29T03:43:00.000Z");
    mg_explanation_free(&explanation);
}
END_TEST

#define FOREVER "o-1|processing|processed|none||" NOW "|\n"
#define PRINT   "print|press|done|do|none|f|1|0||\n"
#define REST    "rest||done|do|none|f|1|0||\n"

#define SIGN "sign||done|do|none|f|1|0||\n"
#define BACK "o-1|compensating|compensated|step_failed||" NOW "|\n"

static const struct {
    const char *order, *steps, *next;
} WORKS[] = {
    {FOREVER, "print|press|waiting|do|remote_working|t|1|0|" SOON "|||||t|" LATER "\n",
     "asks GET /jobs/… at " SOON
     "; if absent: a cool-down, then attempt 1 of 1; if that fails: the client is told compensated"},
    {FOREVER, "print|press|waiting|do|reply_transient|f|1|0|" SOON "|\n",
     "sends POST /jobs at " SOON
     ", attempt 1 of 1; if it fails: a cool-down, then attempt 1 of 1; if that fails: the "
     "client is told compensated"},
    {FOREVER, PRINT "rest||waiting|do|sleeping|f|1|0|" SOON "|\n", "the wait ends at " SOON},
    {FOREVER, PRINT REST "sign||waiting|do|awaiting_signal|f|1|0|" SOON "|\n",
     "a signal ends the wait, by " SOON "; without it: the order goes on"},
    {FOREVER, PRINT REST SIGN "mail|post|unknown|do|reply_unknown|t|1|1|" SOON "|\n",
     "asks GET /mails/… at " SOON "; if absent or refused: undo print; the client is told compensated"},
    {FOREVER, PRINT REST SIGN "mail|post|running|verify|none|t|2|1||" SOON "\n",
     "post answers GET /mails/… by " SOON
     "; if absent or refused: undo print; the client is told compensated"},
    {BACK, "print|press|undo_waiting|undo|remote_working|t|2|0|" SOON "|||||t|" LATER "|t\n",
     "asks GET /gone/… at " SOON
     "; then the client is told compensated; if absent: undo attempt 2 of 10; if that "
     "fails: an operator must decide; the client is told error"},
    {BACK, "print|press|undo_running|undo|none|t|2|0||" SOON "|||||" LATER "|t\n",
     "press answers DELETE /jobs/… by " SOON
     ", undo attempt 1 of 10; then the client is told compensated; without "
     "it: asks GET /gone/…; if that fails: an operator must decide; the client is told error"},
    {"o-1|pending|processed|none||" NOW "|" SOON "\n", "", "the supervisor looks at it at " SOON},
};

START_TEST(each_kind_of_work_has_its_next_request)
{
    explain(LONG_WORK, WORKS[_i].order, WORKS[_i].steps);
    ck_assert_str_eq(text_of(&explanation.next), WORKS[_i].next);
    mg_explanation_free(&explanation);
}
END_TEST

/* Would catch: a service that is down without its failure, which only its own row has. */
START_TEST(a_service_that_is_down_has_its_last_failure)
{
    static const char *const columns[] = {"service", "error_text", "error_at"};
    struct mg_table controlled = table_of(columns, 3,
                                          "air|air answered 503|" NOW "\n"
                                          "travel|could not connect to 127.0.0.1:9080|" NOW "\n");
    explain_more(DEFINITION, PROCESSING,
                 FLIGHT "room|travel|waiting|do|breaker_open|f|6|0|" SOON "||breaker_open|no call was made\n",
                 &controlled, NULL);
    ck_assert_str_eq(text_of(&explanation.why),
                     "the circuit breaker of the service is open; its last failure: could not connect to "
                     "127.0.0.1:9080, at " NOW);
    mg_explanation_free(&explanation);
    mg_table_free(&controlled);
}
END_TEST

/* Would catch: the command for a queue alone, where nobody would take the requests in it. */
START_TEST(a_service_without_a_queue_lacks_its_agent_first)
{
    const struct mg_explain_queue queue = {.consumers = -1};
    explain_more(DEFINITION, PROCESSING, FLIGHT "room|travel|waiting|do|no_consumer|f|1|0|" SOON "||\n", NULL,
                 &queue);
    ck_assert_str_eq(
        text_of(&explanation.why),
        "no agent serves travel, and queue agent.travel.requests does not exist; in makegood dev "
        "give --service travel=URL; elsewhere run: makegood broker apply --service travel; then "
        "start an agent: makegood-agent --service FILE");
    mg_explanation_free(&explanation);
}
END_TEST

START_TEST(the_definition_of_the_cases_is_readable)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err err = {.text = ""};
    ck_assert_msg(mg_workflow_parse(mg_slice_of(DEFINITION), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    mg_workflow_destroy(workflow);
    ck_assert_msg(mg_workflow_parse(mg_slice_of(LONG_WORK), NULL, &workflow, &err) == MG_OK, "%s", err.text);
    mg_workflow_destroy(workflow);
}
END_TEST

/* Would catch: a moment that a reader has to reckon with. */
START_TEST(a_moment_has_its_distance_from_now)
{
    struct mg_buf out;
    mg_buf_init(&out, 4096);
    mg_moments_format(&out,
                      mg_slice_of("at " SOON ", since 2026-11-28T01:00:00.000Z, and 2026-11-29T04:00:0"),
                      mg_moment_of(NOW));
    ck_assert_str_eq(
        text_of(&out),
        "at 04:00:28 UTC (in 28 s), since 2026-11-28 01:00:00 UTC (27 h ago), and 2026-11-29T04:00:0");
    mg_buf_finish(&out);
}
END_TEST

START_TEST(a_terminal_has_a_line_for_each_fact)
{
    struct mg_buf out;
    explain(DEFINITION, CASES[1].order, CASES[1].steps);
    mg_buf_append_text(&explanation.notes, "one\ntwo\n");
    mg_buf_init(&out, 4096);
    mg_explanation_format(&out, &explanation, mg_moment_of(NOW));
    ck_assert_str_eq(
        text_of(&out),
        "order o-1 is processing: step room is in doubt at service travel, after attempt 1 of 5\n"
        "since 03:43:00 UTC (17 min ago): the service's answer does not prove whether it acted; travel gave no "
        "answer in 3000 ms\n"
        "next: asks GET /rooms/… at 04:00:28 UTC (in 28 s); if absent: attempt 2 of 5; if that fails: undo room, flight; "
        "the client is told compensated\nalso: one\nalso: two\n");
    mg_buf_finish(&out);
    mg_explanation_free(&explanation);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain");
    TCase *tcase = tcase_create("explain");
    tcase_add_test(tcase, the_definition_of_the_cases_is_readable);
    tcase_add_loop_test(tcase, each_state_has_its_three_lines, 0, (int)(sizeof(CASES) / sizeof(CASES[0])));
    tcase_add_loop_test(tcase, each_kind_of_work_has_its_next_request, 0,
                        (int)(sizeof(WORKS) / sizeof(WORKS[0])));
    tcase_add_test(tcase, a_service_that_is_down_has_its_last_failure);
    tcase_add_test(tcase, a_service_without_a_queue_lacks_its_agent_first);
    tcase_add_test(tcase, a_moment_has_its_distance_from_now);
    tcase_add_test(tcase, a_terminal_has_a_line_for_each_fact);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
