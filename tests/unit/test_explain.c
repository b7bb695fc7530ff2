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

static const char *const STEP_COLUMNS[] = {"step",          "service",     "state",      "kind",
                                           "reason",        "maybe",       "attempt",    "failure_count",
                                           "due_at",        "complete_by", "error_code", "error_text",
                                           "error_message", "is_accepted", "finish_by",  "is_undo_dispatched",
                                           "is_refused"};
#define STEP_COLUMN_COUNT ((int)(sizeof(STEP_COLUMNS) / sizeof(STEP_COLUMNS[0])))
static const char *const ORDER_COLUMNS[] = {"order_id",   "state",   "goal",    "reason",       "complete_by",
                                            "updated_at", "wake_at", "failure", "status_reason"};
#define ORDER_COLUMN_COUNT ((int)(sizeof(ORDER_COLUMNS) / sizeof(ORDER_COLUMNS[0])))

/* As MG_REPORT_ORDER_SINCE has them: the begin of a step's reason, its newest change, and the order's state.
 */
#define REASON_SINCE "2026-11-29T03:50:00.000Z"
#define STEP_CHANGED "2026-11-29T03:59:00.000Z"
#define STATE_SINCE  "2026-11-29T03:43:00.000Z"
#define SINCE(step)  step "|" REASON_SINCE "|" STEP_CHANGED "|" STATE_SINCE "|" NOW "\n"
static const char *const SINCE_COLUMNS[] = {"step", "since", "changed_at", "order_since", "now"};
static const char *const CONTROLLED_COLUMNS[] = {"service", "state",      "paused_until", "by_whom",
                                                 "reason",  "error_text", "error_at",     "probe_at"};

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
    struct mg_table since = table_of(SINCE_COLUMNS, 5,
                                     SINCE("") SINCE("flight") SINCE("room") SINCE("approve") SINCE("charge")
                                         SINCE("print") SINCE("rest") SINCE("sign") SINCE("mail"));
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

#define FOREVER "o-1|processing|processed|none||" NOW "|\n"
#define PRINT   "print|press|done|do|none|f|1|0||\n"
#define BACK    "o-1|compensating|compensated|step_failed||" NOW "|\n"
#define PROBED  "2026-11-29T04:30:00.000Z"

/* Each state of an order and of the step that holds it, and each reason of a wait. Reviewed by hand: "since"
 * is the begin of what "why" names, and "next_at" the first moment of "next". */
static const struct {
    const char *definition, *order, *steps, *what, *since, *why, *codes, *next, *next_at;
} CASES[] = {
    {DEFINITION, "o-1|pending|processed|none|" LATER "|" NOW "|\n", "", "order o-1 is pending", STATE_SINCE,
     "no request has been sent yet", "", "the supervisor looks at it in a moment", ""},
    {DEFINITION, "o-1|pending|processed|in_line|" LATER "|" NOW "|\n", "", "order o-1 is pending",
     STATE_SINCE, "it waits in the line of its key until the orders before it have ended (in_line)",
     "in_line",
     "it begins when the orders before it in its line have ended; at " LATER
     " the order's time is over: the client is told compensated",
     LATER},
    {DEFINITION, PROCESSING, "flight|air|pending|do|none|f|0|0||\n", "order o-1 is processing", STATE_SINCE,
     "no request has been sent yet", "", "the supervisor looks at it in a moment", ""},
    {DEFINITION, PROCESSING, FLIGHT "room|travel|running|do|none|f|1|0||" SOON "\n",
     "order o-1 is processing: step room runs at service travel, attempt 1 of 5", STEP_CHANGED,
     "its request is out, and has no answer yet", "",
     "travel answers POST /rooms by " SOON
     ", attempt 1 of 5; without it: asks GET /rooms/…; if that fails: undo flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|running|do|none|f|2|1||" SOON "|http_503|travel answered 503|we are updating\n",
     "order o-1 is processing: step room runs at service travel, attempt 2 of 5", REASON_SINCE,
     "travel answered 503: we are updating", "",
     "travel answers POST /rooms by " SOON
     ", attempt 2 of 5; without it: asks GET /rooms/…; if that fails: undo flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|running|verify|none|t|2|1||" SOON "|timeout|travel gave no answer in 3000 ms\n",
     "order o-1 is processing: step room is asked about at service travel", STEP_CHANGED,
     "its request is out, and has no answer yet", "",
     "travel answers GET /rooms/… by " SOON
     "; if absent: attempt 2 of 5; if that fails: undo room, flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING, FLIGHT "room|travel|waiting|do|no_consumer|f|1|0|" SOON "|\n",
     "order o-1 is processing: step room waits for service travel", REASON_SINCE,
     "no agent consumes the service's request queue (no_consumer)", "no_consumer",
     "as soon as travel takes requests: sends POST /rooms, attempt 1 of 5; if it fails: attempt 2 of 5; if that fails: undo flight; the client is told compensated; at " LATER
     " the order's time is over: undo flight; the client is told compensated",
     LATER},
    {DEFINITION, PROCESSING, FLIGHT "room|travel|waiting|do|window_full|f|1|0|" SOON "|\n",
     "order o-1 is processing: step room waits for service travel", REASON_SINCE,
     "enough requests for the service are under way (window_full)", "window_full",
     "as soon as travel takes requests: sends POST /rooms, attempt 1 of 5; if it fails: attempt 2 of 5; if that fails: undo flight; the client is told compensated; at " LATER
     " the order's time is over: undo flight; the client is told compensated",
     LATER},
    {DEFINITION, PROCESSING, FLIGHT "room|travel|waiting|do|unpublishable|f|1|0|" SOON "|\n",
     "order o-1 is processing: step room waits for service travel", REASON_SINCE,
     "the broker did not take the request (unpublishable)", "unpublishable",
     "sends POST /rooms at " SOON
     ", attempt 1 of 5; if it fails: attempt 2 of 5; if that fails: undo flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|waiting|do|breaker_open|f|6|0|" SOON "||breaker_open|no call was made\n",
     "order o-1 is processing: step room waits for service travel", REASON_SINCE,
     "the circuit breaker of the service is open (breaker_open); its last failure: travel answered 503, at " NOW,
     "breaker_open",
     "as soon as travel takes requests, next probed at " PROBED
     ": sends POST /rooms, attempt 1 of 5; if it fails: attempt 2 of 5; if that fails: undo flight; the client is told compensated; at " LATER
     " the order's time is over: undo flight; the client is told compensated",
     PROBED},
    {DEFINITION, PROCESSING,
     FLIGHT ROOM "charge|bank|waiting|do|service_paused|f|6|0|" SOON "||service_paused|no call was made\n",
     "order o-1 is processing: step charge waits for service bank", REASON_SINCE,
     "service bank is paused by ann until " PROBED ": audit (service_paused)", "service_paused",
     "as soon as bank takes requests, at the end of its pause at " PROBED
     ": sends POST /charges, attempt 1 of 5; if it fails: attempt 2 of 5; if that fails: undo room, flight; the client is told compensated; at " LATER
     " the order's time is over: undo room, flight; the client is told compensated",
     PROBED},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|waiting|do|reply_transient|f|2|2|" SOON
            "||http_503|travel answered 503|we are updating\n",
     "order o-1 is processing: step room waits for service travel, after attempt 2 of 5", REASON_SINCE,
     "the service failed in a way that may pass (reply_transient); travel answered 503: we are updating",
     "reply_transient",
     "sends POST /rooms at " SOON
     ", attempt 3 of 5; if it fails: attempt 4 of 5; if that fails: undo flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING, FLIGHT "room|travel|waiting|do|reply_transient|f|4|4|" SOON "|\n",
     "order o-1 is processing: step room waits for service travel, after attempt 4 of 5", REASON_SINCE,
     "the service failed in a way that may pass (reply_transient)", "reply_transient",
     "sends POST /rooms at " SOON
     ", attempt 5 of 5; if it fails: undo flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|waiting|do|asked_to_wait|f|2|2|" SOON "||http_429|travel answered 429\n",
     "order o-1 is processing: step room waits for service travel, after attempt 2 of 5", REASON_SINCE,
     "the service asked to wait until " SOON " (asked_to_wait); travel answered 429", "asked_to_wait",
     "sends POST /rooms at " SOON
     ", attempt 3 of 5; if it fails: attempt 4 of 5; if that fails: undo flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|waiting|do|verified_absent|f|2|1|" SOON
            "||timeout|travel gave no answer in 3000 ms\n",
     "order o-1 is processing: step room waits for service travel, after attempt 1 of 5", REASON_SINCE,
     "verify found that the step had not happened (verified_absent); travel gave no answer in 3000 ms",
     "verified_absent",
     "sends POST /rooms at " SOON
     ", attempt 2 of 5; if it fails: attempt 3 of 5; if that fails: undo flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|waiting|do|expired|f|2|1|" SOON
            "||expired|the attempt's complete-by passed without a reply\n",
     "order o-1 is processing: step room waits for service travel, after attempt 1 of 5", REASON_SINCE,
     "the attempt's complete-by passed without a reply (expired)", "expired",
     "sends POST /rooms at " SOON
     ", attempt 2 of 5; if it fails: attempt 3 of 5; if that fails: undo flight; the client is told compensated",
     SOON},
    {LONG_WORK, FOREVER, "print|press|waiting|do|cooling_down|f|1|0|" SOON "||http_503|press answered 503\n",
     "order o-1 is processing: step print waits for service press", REASON_SINCE,
     "attempts are used up; a cool-down runs before the next (cooling_down); press answered 503",
     "cooling_down",
     "sends POST /jobs at " SOON
     ", attempt 1 of 1; if it fails: a cool-down, then attempt 1 of 1; if that fails: the client is told compensated",
     SOON},
    {LONG_WORK, FOREVER, "print|press|waiting|do|remote_working|t|1|0|" SOON "|||||t|" LATER "\n",
     "order o-1 is processing: step print waits for service press", REASON_SINCE,
     "the service accepted the work, or may have, and has not finished it (remote_working)", "remote_working",
     "asks GET /jobs/… at " SOON
     "; if that fails: the client is told compensated; if it is not finished at " LATER
     ": undo print; the client is told compensated",
     SOON},
    {LONG_WORK, FOREVER, "print|press|running|verify|none|t|2|0||" SOON "||||t|" LATER "\n",
     "order o-1 is processing: step print is asked about at service press", REASON_SINCE,
     "the service accepted the work, or may have, and has not finished it (remote_working)", "remote_working",
     "press answers GET /jobs/… by " SOON
     "; if that fails: the client is told compensated; if it is not finished at " LATER
     ": undo print; the client is told compensated",
     SOON},
    {LONG_WORK, FOREVER, PRINT "rest||waiting|do|sleeping|f|1|0|" SOON "|\n",
     "order o-1 is processing: step rest waits until " SOON, REASON_SINCE,
     "it waits for a moment, as its definition has it (sleeping)", "sleeping", "the wait ends at " SOON,
     SOON},
    {DEFINITION, PROCESSING, FLIGHT ROOM "approve||waiting|do|awaiting_signal|f|1|0|" SOON "|\n",
     "order o-1 is processing: step approve waits for signal approved until " SOON "; then it fails",
     REASON_SINCE, "it waits for a signal (awaiting_signal)", "awaiting_signal",
     "a signal ends the wait, by " SOON "; without it: undo room, flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|unknown|do|reply_unknown|t|1|1|" SOON "||timeout|travel gave no answer in 3000 ms\n",
     "order o-1 is processing: step room is in doubt at service travel, after attempt 1 of 5", REASON_SINCE,
     "the service's answer does not prove whether it acted (reply_unknown); travel gave no answer in 3000 ms",
     "reply_unknown",
     "asks GET /rooms/… at " SOON
     "; if absent: attempt 2 of 5; if that fails: undo room, flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|unknown|do|quiescing|t|1|1|" SOON "||timeout|travel gave no answer in 3000 ms\n",
     "order o-1 is processing: step room is in doubt at service travel, after attempt 1 of 5", REASON_SINCE,
     "waiting until no earlier attempt can still act (quiescing); travel gave no answer in 3000 ms",
     "quiescing",
     "asks GET /rooms/… at " SOON
     "; if absent: attempt 2 of 5; if that fails: undo room, flight; the client is told compensated",
     SOON},
    {DEFINITION, PROCESSING,
     FLIGHT "room|travel|unknown|do|breaker_open|t|1|1|" SOON "||timeout|travel gave no answer in 3000 ms\n",
     "order o-1 is processing: step room is in doubt at service travel, after attempt 1 of 5", REASON_SINCE,
     "the circuit breaker of the service is open (breaker_open); travel gave no answer in 3000 ms; its last failure: travel answered 503, at " NOW,
     "breaker_open",
     "as soon as travel takes requests, next probed at " PROBED
     ": asks GET /rooms/…; if absent: attempt 2 of 5; if that fails: undo room, flight; the client is told compensated; at " LATER
     " the order's time is over: undo room, flight; the client is told compensated",
     PROBED},
    {DEFINITION, PROCESSING,
     FLIGHT ROOM
     "charge|bank|unknown|do|outcome_unknown|t|1|1|||http_503/overload|bank answered 503, code overload|come later\n",
     "order o-1 is processing: step charge is in doubt at service bank, after attempt 1 of 5", REASON_SINCE,
     "whether the step happened is unknown; settle it by hand (outcome_unknown); bank answered 503, code overload: come later",
     "outcome_unknown",
     "an operator or a service must tell whether the step happened; at " LATER
     " the order's time is over: undo room, flight; the client is told compensated",
     LATER},
    {DEFINITION, COMPENSATING,
     FLIGHT "room|travel|undo_pending|do|order_turned_back|t|1|1|" SOON
            "|\ncharge|bank|failed|do|reply_permanent|f|1|1||\n",
     "order o-1 is compensating: step room is to be undone at service travel, after attempt 1 of 10",
     STATE_SINCE, "a step failed (step_failed); the order is being undone (order_turned_back)",
     "step_failed,order_turned_back",
     "undoes by DELETE /rooms/… at " SOON
     ", undo attempt 2 of 10; then undo flight; the client is told compensated; if it fails: undo attempt 3 of 10; if that fails: undo flight; an operator must decide; the client is told error",
     SOON},
    {DEFINITION, COMPENSATING,
     "flight|air|undo_pending|do|order_turned_back|f|1|0||\nroom|travel|undo_running|undo|none|t|2|0||" SOON
     "\n",
     "order o-1 is compensating: step room is being undone at service travel, attempt 1 of 10", STATE_SINCE,
     "a step failed (step_failed); its request is out, and has no answer yet", "step_failed",
     "travel answers DELETE /rooms/… by " SOON
     ", undo attempt 1 of 10; then undo flight; the client is told compensated; without it: undo attempt 2 of 10; if that fails: undo flight; an operator must decide; the client is told error",
     SOON},
    {DEFINITION, COMPENSATING,
     FLIGHT "room|travel|undo_waiting|undo|reply_transient|t|3|1|" SOON "||http_503|travel answered 503\n"
            "charge|bank|failed|do|reply_permanent|f|1|1||\n",
     "order o-1 is compensating: step room is to be undone at service travel, after attempt 1 of 10",
     STATE_SINCE,
     "a step failed (step_failed); the service failed in a way that may pass (reply_transient); travel answered 503",
     "step_failed,reply_transient",
     "undoes by DELETE /rooms/… at " SOON
     ", undo attempt 2 of 10; then undo flight; the client is told compensated; if it fails: undo attempt 3 of 10; if that fails: undo flight; an operator must decide; the client is told error",
     SOON},
    {DEFINITION, COMPENSATING,
     FLIGHT "room|travel|undo_waiting|undo|breaker_open|t|3|0|" SOON "||breaker_open|no call was made\n",
     "order o-1 is compensating: step room is to be undone at service travel", STATE_SINCE,
     "a step failed (step_failed); the circuit breaker of the service is open (breaker_open); its last failure: travel answered 503, at " NOW,
     "step_failed,breaker_open",
     "as soon as travel takes requests, next probed at " PROBED
     ": undoes by DELETE /rooms/…, undo attempt 1 of 10; then undo flight; the client is told compensated; if it fails: undo attempt 2 of 10; if that fails: undo flight; an operator must decide; the client is told error",
     PROBED},
    {LONG_WORK, BACK, "print|press|undo_waiting|undo|remote_working|t|2|0|" SOON "|||||t|" LATER "|t\n",
     "order o-1 is compensating: step print is to be undone at service press", STATE_SINCE,
     "a step failed (step_failed); the service accepted the work, or may have, and has not finished it (remote_working)",
     "step_failed,remote_working",
     "asks GET /gone/… at " SOON
     "; then the client is told compensated; if that fails: an operator must decide; the client is told error; if it is not finished at " LATER
     ": an operator must decide; the client is told error",
     SOON},
    {DEFINITION, "o-1|error|processed|step_failed||" NOW "|\n",
     FLIGHT ROOM
     "charge|bank|failed|do|reply_permanent|f|1|1|||http_422|bank answered 422, code declined|no cover\n",
     "order o-1 is in error: step charge has failed", STATE_SINCE,
     "a step failed (step_failed); bank answered 422, code declined: no cover (reply_permanent)",
     "step_failed,reply_permanent",
     "it needs an operator: resume, compensate, cancel, settle step charge, skip step charge", ""},
    {DEFINITION, "o-1|error|processed|step_failed||" NOW "|\n",
     FLIGHT "room|travel|failed|do|requirement|f|0|0|||||f|||t\n",
     "order o-1 is in error: step room is refused", STATE_SINCE,
     "a step failed (step_failed); its requirement is not met (requirement)", "step_failed,requirement",
     "it needs an operator: resume, compensate, cancel, settle step room, skip step room", ""},
    {LONG_WORK, "o-1|error|processed|step_failed||" NOW "|\n",
     "print|press|failed|verify|finish_expired|t|9|0||\n", "order o-1 is in error: step print has failed",
     STATE_SINCE,
     "a step failed (step_failed); the service did not finish accepted work in time (finish_expired)",
     "step_failed,finish_expired",
     "it needs an operator: resume, compensate, cancel, settle step print, skip step print, resume --repeat --step print",
     ""},
    {DEFINITION, "o-1|error|compensated|undo_failed||" NOW "|\n",
     FLIGHT "room|travel|undo_failed|undo|attempts_exhausted|t|3|1|||http_503|travel answered 503\n",
     "order o-1 is in error: step room could not be undone at service travel", STATE_SINCE,
     "not everything that may have happened could be undone (undo_failed); travel answered 503 (attempts_exhausted)",
     "undo_failed,attempts_exhausted", "it needs an operator: resume, settle step room", ""},
    {DEFINITION, "o-1|error|processed|outcome_unknown||" NOW "|\n",
     FLIGHT ROOM "charge|bank|unknown|do|outcome_unknown|t|1|1|||timeout|bank gave no answer in 3000 ms\n",
     "order o-1 is in error: step charge is in doubt at service bank, after attempt 1 of 5", STATE_SINCE,
     "whether the step happened is unknown; settle it by hand (outcome_unknown); bank gave no answer in 3000 ms",
     "outcome_unknown",
     "it needs an operator: resume, compensate, cancel, settle step charge, skip step charge, resume --repeat --step charge",
     ""},
    {DEFINITION,
     "o-1|error|processed|unrenderable||" NOW
     "|||unrenderable: a request or the output could not be built from payload and results; there is no such value\n",
     FLIGHT ROOM, "order o-1 is in error", STATE_SINCE,
     "unrenderable: a request or the output could not be built from payload and results; there is no such value",
     "unrenderable", "it needs an operator: resume, compensate, cancel", ""},
    {DEFINITION, "o-1|error|processed|state_lost||" NOW "|\n", FLIGHT ROOM, "order o-1 is in error",
     STATE_SINCE, "a reply is ahead of the database, which must have lost its newest part (state_lost)",
     "state_lost", "it needs an operator: resume, compensate", ""},
    {DEFINITION, "o-1|processed|processed|none||" NOW "|\n", FLIGHT ROOM,
     "order o-1 is processed: it has ended", NOW, "every step is done or skipped", "", "nothing", ""},
    {DEFINITION,
     "o-1|compensated|compensated|step_failed||" NOW
     "||{\"step\":\"room\",\"code\":\"finish_expired\",\"text\":\"the service did not finish accepted work in time\"}\n",
     "flight|air|undone|undo|none|f|2|0||\n", "order o-1 is compensated: it has ended", NOW,
     "a step failed (step room: finish_expired, the service did not finish accepted work in time)",
     "step_failed,finish_expired", "nothing", ""},
    {DEFINITION,
     "o-1|compensated|compensated|step_failed||" NOW
     "||{\"step\":\"room\",\"code\":\"card_declined\",\"text\":\"no cover\",\"status\":422}\n",
     "flight|air|undone|undo|none|f|2|0||\n", "order o-1 is compensated: it has ended", NOW,
     "a step failed (step room: card_declined, no cover, HTTP status 422)", "step_failed", "nothing", ""},
    {DEFINITION,
     "o-1|compensated|compensated|order_expired||" NOW
     "||{\"code\":\"order_expired\",\"text\":\"the order's complete-by passed\"}\n",
     "flight|air|undone|undo|none|f|2|0||\n", "order o-1 is compensated: it has ended", NOW,
     "the order's complete-by passed (order_expired)", "order_expired", "nothing", ""},
    {DEFINITION,
     "o-1|cancelled|cancelled|operator||" NOW
     "||{\"code\":\"operator\",\"text\":\"an operator decided it\"}\n",
     "flight|air|undone|undo|none|f|2|0||\n", "order o-1 is cancelled: it has ended", NOW,
     "an operator decided it (operator)", "operator", "nothing", ""},
    {LONG_WORK, FOREVER,
     PRINT "rest||done|do|none|f|1|0||\n"
           "sign||waiting|do|awaiting_signal|f|1|0|" SOON "|\n",
     "order o-1 is processing: step sign waits for signal signed until " SOON "; then it is skipped",
     REASON_SINCE, "it waits for a signal (awaiting_signal)", "awaiting_signal",
     "a signal ends the wait, by " SOON "; without it: the order goes on", SOON},
    {LONG_WORK, FOREVER,
     PRINT "rest||done|do|none|f|1|0||\n"
           "sign||done|do|none|f|1|0||\n"
           "mail|post|unknown|do|reply_unknown|t|1|1|" SOON "|\n",
     "order o-1 is processing: step mail is in doubt at service post, after attempt 1 of 1", REASON_SINCE,
     "the service's answer does not prove whether it acted (reply_unknown)", "reply_unknown",
     "asks GET /mails/… at " SOON "; if absent or refused: undo print; the client is told compensated", SOON},
    {LONG_WORK, FOREVER,
     PRINT "rest||done|do|none|f|1|0||\n"
           "sign||done|do|none|f|1|0||\n"
           "mail|post|running|verify|none|t|2|1||" SOON "\n",
     "order o-1 is processing: step mail is asked about at service post", STEP_CHANGED,
     "its request is out, and has no answer yet", "",
     "post answers GET /mails/… by " SOON
     "; if absent or refused: undo print; the client is told compensated",
     SOON},
    {LONG_WORK, BACK, "print|press|undo_running|undo|none|t|2|0||" SOON "|||||" LATER "|t\n",
     "order o-1 is compensating: step print is being undone at service press, attempt 1 of 10", STATE_SINCE,
     "a step failed (step_failed); its request is out, and has no answer yet", "step_failed",
     "press answers DELETE /jobs/… by " SOON
     ", undo attempt 1 of 10; then the client is told compensated; without it: asks GET /gone/…; if that fails: an operator must decide; the client is told error",
     SOON},
    {LONG_WORK, "o-1|pending|processed|none||" NOW "|" SOON "\n", "", "order o-1 is pending", STATE_SINCE,
     "no request has been sent yet", "", "the supervisor looks at it at " SOON, SOON},
};

static void codes_assert(const char *codes)
{
    char text[128] = "";
    for (int i = 0, len = 0; i < explanation.code_count; i++) {
        len += snprintf(text + len, sizeof(text) - (size_t)len, "%s%s", i > 0 ? "," : "",
                        mg_reason_name(explanation.codes[i]));
    }
    ck_assert_str_eq(text, codes);
}

/* Would catch: a line that says another thing than the core does, or no consequence of a failure; "since" of
 * another event than "why"; a line with a moment, and none in its JSON. */
START_TEST(each_state_has_its_three_lines)
{
    struct mg_table controlled = table_of(CONTROLLED_COLUMNS, 8,
                                          "air|serving|||||\n"
                                          "travel|breaker open||||travel answered 503|" NOW "|" PROBED "\n"
                                          "bank|paused|" PROBED "|ann|audit|||\n");
    explain_more(CASES[_i].definition, CASES[_i].order, CASES[_i].steps, &controlled, NULL);
    ck_assert_str_eq(text_of(&explanation.what), CASES[_i].what);
    ck_assert_str_eq(explanation.since, CASES[_i].since);
    ck_assert_str_eq(text_of(&explanation.why), CASES[_i].why);
    codes_assert(CASES[_i].codes);
    ck_assert_str_eq(text_of(&explanation.next), CASES[_i].next);
    ck_assert_str_eq(explanation.next_at, CASES[_i].next_at);
    mg_explanation_free(&explanation);
    mg_table_free(&controlled);
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
    ck_assert_str_eq(
        text_of(&explanation.why),
        "the circuit breaker of the service is open (breaker_open); its last failure: could not connect to "
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
    explain(DEFINITION, PROCESSING,
            FLIGHT "room|travel|unknown|do|reply_unknown|t|1|1|" SOON
                   "||timeout|travel gave no answer in 3000 ms\n");
    mg_buf_append_text(&explanation.notes, "one\ntwo\n");
    mg_buf_init(&out, 4096);
    mg_explanation_format(&out, &explanation, mg_moment_of(NOW));
    ck_assert_str_eq(
        text_of(&out),
        "order o-1 is processing: step room is in doubt at service travel, after attempt 1 of 5\n"
        "since 03:50:00 UTC (10 min ago): the service's answer does not prove whether it acted (reply_unknown); "
        "travel gave no answer in 3000 ms\n"
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
    tcase_add_test(tcase, a_service_that_is_down_has_its_last_failure);
    tcase_add_test(tcase, a_service_without_a_queue_lacks_its_agent_first);
    tcase_add_test(tcase, a_moment_has_its_distance_from_now);
    tcase_add_test(tcase, a_terminal_has_a_line_for_each_fact);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
