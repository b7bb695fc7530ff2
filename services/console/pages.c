/* The reports of each page, and the JSON from their rows. Values have the types that the tool prints. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "console/console_parts.h"
#include "core/key.h"
#include "core/words.h"
#include "json/json.h"
#include "json/scan.h"
#include "operator/awaited.h"
#include "operator/explain.h"
#include "operator/graph.h"
#include "operator/helpful_verbs.h"
#include "operator/option_words.h"
#include "operator/step_calls.h"
#include "operator/steps.h"

#define PAGE_ROWS         50 /* further rows follow the page's cursor */
#define GROUPS_LIMIT      200
#define ALERTS_LIMIT      200
#define ACTIONS_LIMIT     100
#define BULK_LIST_LIMIT   50
#define BULK_ORDERS_LIMIT 100
/* Of the overview. */
#define OLDEST_LIMIT     10
#define TOP_GROUPS_LIMIT 5
#define CAUSES_LIMIT     100 /* unknown ones come first */
#define TOP_BULK_LIMIT   20  /* more than the number of bulk actions that may be open */

#define STATUS_OK             200u
#define STATUS_NOT_FOUND      404u
#define TEXT_OF(number)       TEXT_AS_IT_IS(number) /* as text, for a report's parameter */
#define TEXT_AS_IT_IS(number) #number

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- queries ---- */

static void query_begin(struct mg_query *query, const char *name, render_fn *render)
{
    query->count = 0;
    query->cut_at = 0;
    query->render = render;
    (void)snprintf(query->key, sizeof(query->key), "%s", name);
}

static void key_append(struct mg_query *query, const char *text)
{
    size_t len = strlen(query->key), more = strlen(text);
    assert(len + more + 2 <=
           sizeof(query->key)); /* MG_QUERY_KEY_SIZE has room for the parameters of any page */
    query->key[len] = '\n';
    memcpy(query->key + len + 1, text, more + 1);
}

/* Adds a report with its parameters (NULL-ended), which become part of the key. Each parameter has passed
 * param_read or is a constant. `name`: of the answer's member that has all its rows; NULL: the renderer has
 * its own use for them. */
static void query_add(struct mg_query *query, const char *name, enum mg_report report,
                      const char *const *params)
{
    assert(query->count < MG_REPORTS_MAX);
    int index = query->count++;
    query->asks[index].name = name;
    query->asks[index].report = report;
    query->asks[index].param_count = 0;
    for (; params != NULL && *params != NULL; params++) {
        assert(query->asks[index].param_count < MG_PARAMS_MAX);
        char *param = query->asks[index].params[query->asks[index].param_count++];
        (void)snprintf(param, MG_PARAM_SIZE, "%s", *params);
        key_append(query, param);
    }
}

static bool is_text(const char *text)
{
    size_t len = strlen(text);
    for (size_t at = 0, step = 0; at < len; at += step) {
        step = mg_utf8_len(text + at, len - at);
        if (step == 0 || (unsigned char)text[at] < ' ') {
            return false;
        }
    }
    return true;
}

static bool MG_PRINTF(2, 3) refuse(struct mg_page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(page->refusal, sizeof(page->refusal), format, args);
    va_end(args);
    return false;
}

/* Reads a parameter of the request; "" if it is absent. False: it is too long or invalid. */
static bool param_read(struct mg_page *page, const char *name, const char **ret_text)
{
    *ret_text = or_empty(mg_http_exchange_query(page->request, name));
    return (strlen(*ret_text) < MG_PARAM_SIZE && is_text(*ret_text)) ||
           refuse(page, "%s: expected a text of at most %d bytes", name, MG_PARAM_SIZE - 1);
}

static bool moment_read(struct mg_page *page, const char *name, char ret_number[MG_MOMENT_SIZE])
{
    const char *text;
    return param_read(page, name, &text) &&
           (mg_moment_parse(text, ret_number) || refuse(page, "%s: expected " MG_MOMENT_RIGHT, name));
}

/* The conditions of lists. */
struct filter {
    const char *state, *workflow, *step, *service, *error, *after, *waits_for, *due_within;
    char since[MG_MOMENT_SIZE], until[MG_MOMENT_SIZE];
    char labels[MG_PARAM_SIZE];
};

_Static_assert(MG_LABELS_REFUSAL_SIZE <= MG_REFUSAL_SIZE, "a refusal goes out as it is");

/* The parameter `label`: one label, or several after commas. */
static bool labels_read(struct mg_page *page, char ret_json[MG_PARAM_SIZE])
{
    struct mg_label_words words = {.count = 0};
    const char *text;
    return param_read(page, "label", &text) && mg_label_words_add_all(&words, text, page->refusal) &&
           mg_label_words_write(&words, ret_json, MG_PARAM_SIZE, page->refusal);
}

static bool filter_read(struct mg_page *page, struct filter *ret)
{
    static const char *const names[] = {"workflow", "step", "service", "error", "label", "since", "until"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = mg_http_exchange_query(page->request, names[i]);
        if (text != NULL && text[0] == '\0') {
            return refuse(page, "%s: " MG_FILTER_EMPTY, names[i]);
        }
    }
    return param_read(page, "state", &ret->state) && param_read(page, "workflow", &ret->workflow) &&
           param_read(page, "step", &ret->step) && param_read(page, "service", &ret->service) &&
           param_read(page, "error", &ret->error) && param_read(page, "after", &ret->after) &&
           param_read(page, "waits_for", &ret->waits_for) &&
           param_read(page, "due_within", &ret->due_within) && labels_read(page, ret->labels) &&
           moment_read(page, "since", ret->since) && moment_read(page, "until", ret->until);
}

/* ---- JSON ---- */

/* The answer's object with the member of each report that has a name. */
static struct mg_json_writer answer_begin(const struct mg_query *query, const struct mg_table *tables,
                                          struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    for (int i = 0; i < query->count; i++) {
        if (query->asks[i].name != NULL) {
            mg_json_name(&json, query->asks[i].name);
            mg_table_write_array(&json, &tables[i], NULL);
        }
    }
    return json;
}

/* The end of most: whether the first report has more rows than it gives. */
static unsigned int answer_end(const struct mg_query *query, const struct mg_table *tables,
                               struct mg_json_writer *json)
{
    if (query->cut_at > 0) {
        mg_json_member_bool(json, "is_cut", tables[0].row_count >= query->cut_at);
    }
    mg_json_object_end(json);
    return STATUS_OK;
}

static unsigned int render_lists(const struct mg_query *query, const struct mg_table *tables,
                                 struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    return answer_end(query, tables, &json);
}

/* A cell that is JSON already. */
static void raw_write(struct mg_json_writer *json, const char *name, const struct mg_table *table,
                      const char *column)
{
    mg_json_member_raw(json, name, mg_slice_of(mg_table_cell(table, 0, column)));
}

/* The cursor of the next page: this cell of the last row of a full page, else null. */
static void next_write(struct mg_json_writer *json, const struct mg_table *table, int limit,
                       const char *column)
{
    if (table->row_count == limit) {
        mg_json_member_string(json, "next", mg_table_cell(table, table->row_count - 1, column));
    } else {
        mg_json_member_null(json, "next");
    }
}

/* The members of a page of orders. */
static void orders_write(struct mg_json_writer *json, const struct mg_table *page)
{
    mg_json_name(json, "orders");
    mg_table_write_orders(json, page);
    raw_write(json, "looked_at", page, "looked_at");
    mg_json_member_bool(json, "is_full", strcmp(mg_table_cell(page, 0, "is_full"), "t") == 0);
    mg_json_member_string_or_null(json, "back_to", mg_table_cell(page, 0, "back_to"));
    mg_json_member_string_or_null(json, "next", mg_table_cell(page, 0, "next"));
}

static unsigned int render_page(const struct mg_query *query, const struct mg_table *tables,
                                struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    orders_write(&json, &tables[0]);
    return answer_end(query, tables, &json);
}

/* ---- orders ---- */

static void looked_at_write(struct mg_json_writer *json, const struct mg_table *looked)
{
    raw_write(json, "looked_at", looked, "looked_at");
    mg_json_member_bool(json, "is_full", strcmp(mg_table_cell(looked, 0, "is_full"), "t") == 0);
    mg_json_member_string(json, "back_to", mg_table_cell(looked, 0, "oldest"));
}

static unsigned int render_failures(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    looked_at_write(&json, &tables[1]);
    next_write(&json, &tables[0], PAGE_ROWS, "alert_id");
    return answer_end(query, tables, &json);
}

static bool is_number(const char *text)
{
    return strspn(text, "0123456789") == strlen(text) && strlen(text) < 19;
}

/* The cursor MICROSECONDS/ORDER that the previous page returned; of a list of the oldest orders it is ORDER.
 */
static bool is_newest_cursor(const char *text)
{
    const char *slash = strchr(text, '/');
    char number[MG_PARAM_SIZE];
    (void)snprintf(number, sizeof(number), "%.*s", slash != NULL ? (int)(slash - text) : 0, text);
    return text[0] == '\0' ||
           (number[0] != '\0' && is_number(number) && mg_order_id_is_valid(slash + 1, strlen(slash + 1)));
}

static bool is_oldest_cursor(const char *text)
{
    return text[0] == '\0' || mg_order_id_is_valid(text, strlen(text));
}

static bool cursor_check(struct mg_page *page, bool is_right)
{
    return is_right || refuse(page, "after: expected the next of the page before");
}

static bool failures_ask(struct mg_page *page, const struct filter *filter, struct mg_query *query)
{
    const char *const failures[] = {filter->workflow, filter->step,  filter->error, filter->service,
                                    filter->since,    filter->until, filter->after, TEXT_OF(PAGE_ROWS),
                                    filter->labels,   NULL};
    const char *const looked_at[] = {filter->since, filter->until, filter->after, NULL};
    query_begin(query, "failed orders", render_failures);
    query_add(query, "failures", MG_REPORT_FAILURES, failures);
    query_add(query, NULL, MG_REPORT_FAILURES_LOOKED_AT, looked_at);
    return cursor_check(page, is_number(filter->after));
}

/* Open orders, oldest first. */
static bool open_ask(struct mg_page *page, const struct filter *filter, bool is_any_state,
                     struct mg_query *query)
{
    const char *const params[] = {is_any_state ? "" : filter->state,
                                  filter->workflow,
                                  filter->since,
                                  filter->until,
                                  filter->after,
                                  TEXT_OF(PAGE_ROWS),
                                  NULL};
    query_begin(query, "open orders", render_page);
    query_add(query, NULL, MG_REPORT_PAGE_OPEN, params);
    return cursor_check(page, is_oldest_cursor(filter->after));
}

/* Orders with a step that waits for a service, oldest first. */
static bool parked_ask(struct mg_page *page, const struct filter *filter, struct mg_query *query)
{
    const char *const params[] = {filter->waits_for, filter->after, TEXT_OF(PAGE_ROWS), NULL};
    query_begin(query, "orders that wait for a service", render_page);
    query_add(query, NULL, MG_REPORT_PAGE_PARKED, params);
    return cursor_check(page, is_oldest_cursor(filter->after));
}

/* Orders whose own deadline is near, the nearest first: one page. */
static bool due_ask(struct mg_page *page, const struct filter *filter, struct mg_query *query)
{
    char within_ms[MG_PARAM_SIZE];
    const char *const params[] = {within_ms, TEXT_OF(PAGE_ROWS), NULL};
    int64_t ms = mg_duration_parse(filter->due_within);
    (void)snprintf(within_ms, sizeof(within_ms), "%lld", (long long)ms);
    query_begin(query, "orders near their deadline", render_page);
    query_add(query, NULL, MG_REPORT_PAGE_DUE, params);
    return ms > 0 || refuse(page, "due_within: expected a duration (10m, 2h, 1d)");
}

static bool orders_ask(struct mg_page *page, const struct filter *filter, struct mg_query *query)
{
    const char *const params[MG_ORDERS_PARAMS + 1] = {
        [MG_ORDERS_STATE] = filter->state,   [MG_ORDERS_WORKFLOW] = filter->workflow,
        [MG_ORDERS_SINCE] = filter->since,   [MG_ORDERS_UNTIL] = filter->until,
        [MG_ORDERS_CURSOR] = filter->after,  [MG_ORDERS_LIMIT] = TEXT_OF(PAGE_ROWS),
        [MG_ORDERS_LABELS] = filter->labels, [MG_ORDERS_CLIENT] = "",
    };
    query_begin(query, "orders", render_page);
    query_add(query, NULL, MG_REPORT_ORDERS, params);
    return cursor_check(page, is_newest_cursor(filter->after));
}

bool mg_query_orders(struct mg_page *page, struct mg_query *query)
{
    struct filter filter;
    enum mg_order_state state = MG_ORDER_STATE_COUNT;
    if (!filter_read(page, &filter)) {
        return false;
    }
    if (filter.waits_for[0] != '\0') {
        return parked_ask(page, &filter, query);
    }
    if (filter.due_within[0] != '\0') {
        return due_ask(page, &filter, query);
    }
    bool is_any_open = strcmp(filter.state, "open") == 0;
    if (filter.state[0] != '\0' && !is_any_open &&
        !mg_order_state_parse(filter.state, strlen(filter.state), &state)) {
        return refuse(page, "state: unknown state");
    }
    if (state == MG_ORDER_ERROR || filter.step[0] != '\0' || filter.service[0] != '\0' ||
        filter.error[0] != '\0') {
        return failures_ask(page, &filter, query);
    }
    bool is_open = is_any_open || state == MG_ORDER_PENDING || state == MG_ORDER_PROCESSING ||
                   state == MG_ORDER_COMPENSATING;
    return is_open && filter.labels[0] == '\0' ? open_ask(page, &filter, is_any_open, query)
                                               : orders_ask(page, &filter, query);
}

/* Dossier, row and steps of an order, in the tables or in the archive. */
enum { PLACE_DOSSIER, PLACE_ROW, PLACE_STEPS, PLACE_REPORTS };
enum {
    ORDER_HOT,
    ORDER_ARCHIVED = PLACE_REPORTS,
    ORDER_SERVICES = 2 * PLACE_REPORTS,
    ORDER_CONTROLLED,
    ORDER_LINE,
    ORDER_SINCE
};

/* JSON that becomes a string: browsers would turn 14.00 into 14. */
static const char *const STEP_QUOTED[] = {"result", "open", NULL};

static bool is_holding_up(const struct mg_explain_facts *facts)
{
    return strcmp(mg_table_cell(facts->order, 0, "state"), mg_order_state_name(MG_ORDER_ERROR)) == 0 &&
           mg_explain_line_key(facts)[0] != '\0';
}

/* The picture of an order's workflow, for its page. */
static void picture_write(struct mg_json_writer *json, struct mg_slice definition)
{
    struct mg_workflow *workflow = NULL;
    struct mg_graph *graph = malloc(sizeof(*graph));
    struct mg_err err;
    if (graph != NULL && mg_workflow_parse(definition, NULL, &workflow, &err) == MG_OK) {
        mg_graph_lay_out(workflow, graph);
        mg_json_name(json, "graph");
        mg_graph_write_json(workflow, graph, json);
    } else {
        mg_json_member_null(json, "graph");
    }
    mg_workflow_destroy(workflow);
    free(graph);
}

static unsigned int render_order(const struct mg_query *query, const struct mg_table *tables,
                                 struct mg_buf *out)
{
    struct mg_explanation explanation;
    const struct mg_table *place = &tables[tables[ORDER_HOT].row_count > 0 ? ORDER_HOT : ORDER_ARCHIVED];
    if (place[PLACE_DOSSIER].row_count == 0 || place[PLACE_ROW].row_count == 0) {
        char unknown[MG_PARAM_SIZE + 64];
        (void)snprintf(unknown, sizeof(unknown), "unknown order %s; give its full id",
                       query->asks[0].params[0]);
        mg_error_write(out, unknown);
        return STATUS_NOT_FOUND;
    }
    const char *dossier = mg_table_cell(&place[PLACE_DOSSIER], 0, "dossier");
    struct mg_slice definition = mg_json_find(mg_slice_of(dossier), "/workflow/definition");
    struct mg_table whole;
    bool is_whole = mg_steps_complete(&place[PLACE_ROW], &place[PLACE_STEPS], definition, &whole);
    const struct mg_table *steps = is_whole ? &whole : &place[PLACE_STEPS];
    const struct mg_explain_facts facts = {.order = &place[PLACE_ROW],
                                           .steps = steps,
                                           .services = &tables[ORDER_SERVICES],
                                           .controlled = &tables[ORDER_CONTROLLED],
                                           .line = &tables[ORDER_LINE],
                                           .since = &tables[ORDER_SINCE],
                                           .definition = definition};
    mg_explanation_make(&explanation, &facts);
    struct mg_json_writer json = answer_begin(query, tables, out);
    mg_explanation_write(&json, &explanation);
    mg_json_member_string(&json, "line", mg_explain_line_key(&facts));
    mg_json_member_string(&json, "archived_on", mg_table_cell(&place[PLACE_ROW], 0, "archived_on"));
    mg_json_member_raw(&json, "dossier", mg_slice_of(dossier));
    /* A string, as in STEP_QUOTED. */
    mg_json_member_string(&json, "payload", mg_table_cell(&place[PLACE_ROW], 0, "payload"));
    mg_json_member_string(&json, "output", mg_table_cell(&place[PLACE_ROW], 0, "output"));
    mg_json_member_text(&json, "definition", definition);
    picture_write(&json, definition);
    mg_json_name(&json, "steps");
    mg_table_write_array(&json, steps, STEP_QUOTED);
    mg_operator_verbs_write_json(&json, facts.order, facts.steps, facts.definition, is_holding_up(&facts));
    mg_table_free(&whole);
    mg_explanation_free(&explanation);
    return answer_end(query, tables, &json);
}

bool mg_query_order(struct mg_page *page, struct mg_query *query)
{
    const char *const params[] = {page->id, NULL}, *const line[] = {"", page->id, "2", NULL};
    query_begin(query, "order", render_order);
    query_add(query, NULL, MG_REPORT_DOSSIER, params);
    query_add(query, NULL, MG_REPORT_ORDER, params);
    query_add(query, NULL, MG_REPORT_ORDER_STEPS, params);
    query_add(query, NULL, MG_REPORT_ARCHIVED_DOSSIER, params);
    query_add(query, NULL, MG_REPORT_ARCHIVED_ORDER, params);
    query_add(query, NULL, MG_REPORT_ARCHIVED_STEPS, params);
    query_add(query, NULL, MG_REPORT_SERVICES, NULL);
    query_add(query, NULL, MG_REPORT_CONTROLLED, NULL);
    query_add(query, NULL, MG_REPORT_LINE, line);
    query_add(query, NULL, MG_REPORT_ORDER_SINCE, params);
    return mg_order_id_is_valid(page->id, strlen(page->id)) ||
           refuse(page, "invalid order id: expected 1 to %d characters A-Z, a-z, 0-9, ., _, :, -",
                  MG_ORDER_ID_MAX);
}

/* The calls of a step, of an order in the tables or in the archive. */
enum { CALLS_ORDER, CALLS_STEPS, CALLS_EVENTS, CALLS_DOSSIER, CALLS_PLACE, CALLS_DIGESTS = 2 * CALLS_PLACE };

static unsigned int render_calls(const struct mg_query *query, const struct mg_table *tables,
                                 struct mg_buf *out)
{
    const struct mg_table *place = &tables[tables[CALLS_ORDER].row_count > 0 ? 0 : CALLS_PLACE];
    const char *dossier = mg_table_cell(&place[CALLS_DOSSIER], 0, "dossier");
    const struct mg_step_calls_facts facts = {.order = &place[CALLS_ORDER],
                                              .steps = &place[CALLS_STEPS],
                                              .events = &place[CALLS_EVENTS],
                                              .calls = &tables[CALLS_DIGESTS],
                                              .definition =
                                                  mg_json_find(mg_slice_of(dossier), "/workflow/definition")};
    struct mg_json_writer json = mg_json_spaced(out);
    if (place[CALLS_ORDER].row_count == 0 ||
        !mg_step_calls_write(&json, &facts, query->asks[CALLS_DIGESTS].params[1])) {
        mg_error_write(out, "unknown order or step, or its workflow cannot be read");
        return STATUS_NOT_FOUND;
    }
    return STATUS_OK;
}

bool mg_query_calls(struct mg_page *page, struct mg_query *query)
{
    const char *step;
    if (!param_read(page, "step", &step)) {
        return false;
    }
    const char *const order[] = {page->id, NULL}, *const calls[] = {page->id, step, NULL};
    query_begin(query, "calls", render_calls);
    query_add(query, NULL, MG_REPORT_ORDER, order);
    query_add(query, NULL, MG_REPORT_ORDER_STEPS, order);
    query_add(query, NULL, MG_REPORT_ORDER_EVENTS, order);
    query_add(query, NULL, MG_REPORT_DOSSIER, order);
    query_add(query, NULL, MG_REPORT_ARCHIVED_ORDER, order);
    query_add(query, NULL, MG_REPORT_ARCHIVED_STEPS, order);
    query_add(query, NULL, MG_REPORT_ARCHIVED_EVENTS, order);
    query_add(query, NULL, MG_REPORT_ARCHIVED_DOSSIER, order);
    query_add(query, NULL, MG_REPORT_CALLS, calls);
    return (mg_order_id_is_valid(page->id, strlen(page->id)) && mg_name_is_valid(step, strlen(step))) ||
           refuse(page, "calls: expected an order's id, and the name of one of its steps as step");
}

static unsigned int render_versions(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_table_write_array(&json, &tables[0], NULL);
    return STATUS_OK;
}

void mg_query_versions(const char *order_ids, struct mg_query *query)
{
    const char *const params[] = {order_ids, NULL};
    query_begin(query, "versions", render_versions);
    query_add(query, NULL, MG_REPORT_VERSIONS, params);
}

/* ---- failures, alerts, services, workflows ---- */

static unsigned int render_groups(const struct mg_query *query, const struct mg_table *tables,
                                  struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    looked_at_write(&json, &tables[1]);
    return answer_end(query, tables, &json);
}

bool mg_query_failures(struct mg_page *page, struct mg_query *query)
{
    struct filter filter;
    if (!filter_read(page, &filter)) {
        return false;
    }
    const char *const groups[] = {filter.workflow,       filter.step,   filter.error,
                                  filter.service,        filter.since,  filter.until,
                                  TEXT_OF(GROUPS_LIMIT), filter.labels, NULL};
    const char *const looked_at[] = {filter.since, filter.until, "", NULL};
    query_begin(query, "failures", render_groups);
    query_add(query, "groups", MG_REPORT_FAILURE_GROUPS, groups);
    query_add(query, NULL, MG_REPORT_FAILURES_LOOKED_AT, looked_at);
    query->cut_at = GROUPS_LIMIT;
    return true;
}

bool mg_query_alerts(struct mg_page *page, struct mg_query *query)
{
    const char *all = or_empty(mg_http_exchange_query(page->request, "all"));
    const char *const params[] = {strcmp(all, "1") == 0 ? "all" : "open", TEXT_OF(ALERTS_LIMIT), NULL};
    query_begin(query, "alerts", render_lists);
    static const char *const causes[] = {TEXT_OF(ALERTS_LIMIT), NULL};
    query_add(query, "alerts", MG_REPORT_ALERTS, params);
    query_add(query, "causes", MG_REPORT_ALERT_CAUSES, causes);
    query->cut_at = ALERTS_LIMIT;
    return true;
}

/* ---- acts of operators ---- */

static unsigned int render_audit(const struct mg_query *query, const struct mg_table *tables,
                                 struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    next_write(&json, &tables[0], ACTIONS_LIMIT, "action_id");
    return answer_end(query, tables, &json);
}

bool mg_query_audit(struct mg_page *page, struct mg_query *query)
{
    const char *by, *subject, *after;
    char since[MG_MOMENT_SIZE], until[MG_MOMENT_SIZE];
    if (!moment_read(page, "since", since) || !moment_read(page, "until", until) ||
        !param_read(page, "by", &by) || !param_read(page, "subject", &subject) ||
        !param_read(page, "after", &after)) {
        return false;
    }
    const char *const params[] = {since, until, by, subject, after, TEXT_OF(ACTIONS_LIMIT), NULL};
    query_begin(query, "audit", render_audit);
    query_add(query, "actions", MG_REPORT_ACTIONS, params);
    return cursor_check(page, is_number(after));
}

static const char *const ALL_SERVICES[] = {"", NULL};

bool mg_query_services(struct mg_page *page, struct mg_query *query)
{
    (void)page;
    query_begin(query, "services", render_lists);
    query_add(query, "services", MG_REPORT_CONTROLLED, NULL);
    query_add(query, "agents", MG_REPORT_SERVICES, NULL);
    query_add(query, "minutes", MG_REPORT_SERVICE_MINUTES, ALL_SERVICES);
    return true;
}

static unsigned int render_workflows(const struct mg_query *query, const struct mg_table *tables,
                                     struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    int64_t looked_at = strtoll(mg_table_cell(&tables[1], 0, "looked_at"), NULL, 10);
    mg_json_member_bool(&json, "is_cut", looked_at >= MG_STEPS_COUNTED_ORDERS);
    return answer_end(query, tables, &json);
}

bool mg_query_workflows(struct mg_page *page, struct mg_query *query)
{
    (void)page;
    query_begin(query, "workflows", render_workflows);
    query_add(query, "workflows", MG_REPORT_WORKFLOWS, NULL);
    query_add(query, "steps", MG_REPORT_WORKFLOW_STEPS, NULL);
    return true;
}

/* JSON as it was loaded, in a string. */
static const char *const AS_LOADED[] = {"definition", NULL};

static unsigned int render_workflow(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    if (tables[0].row_count == 0) {
        mg_error_write(out, "unknown workflow");
        return STATUS_NOT_FOUND;
    }
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    mg_json_name(&json, "workflow");
    mg_table_write_object(&json, &tables[0], 0, AS_LOADED);
    picture_write(&json, mg_slice_of(mg_table_cell(&tables[0], 0, "definition")));
    return answer_end(query, tables, &json);
}

bool mg_query_workflow(struct mg_page *page, struct mg_query *query)
{
    const char *const name[] = {page->id, NULL};
    if (!mg_name_is_valid(page->id, strlen(page->id))) {
        return refuse(page, "invalid workflow name");
    }
    query_begin(query, "workflow", render_workflow);
    query_add(query, NULL, MG_REPORT_WORKFLOW, name);
    return true;
}

/* ---- steps that wait for a signal ---- */

#define WAITS_LIMIT       "20"    /* each with the payload of its order */
#define PAYLOAD_SHOWN_MAX "16384" /* a page of text; the order's own page has the rest */

/* The buttons: each with its payload as text, so that its digits stay. Without any a person writes the
 * payload. */
static void choices_write(struct mg_json_writer *json, struct mg_slice choices)
{
    struct mg_slice word, payload;
    mg_json_member_array(json, "choices");
    struct mg_json_walk walk = mg_json_walk_of(choices);
    while (choices.len > 0 && mg_json_walk_next(&walk, &word, &payload)) {
        mg_json_element_object(json);
        mg_json_member_raw(json, "word", word);
        mg_json_member_text(json, "payload", mg_json_trim(payload));
        mg_json_object_end(json);
    }
    mg_json_array_end(json);
}

/* Whether operators are among the senders. Without a list they are. */
static bool may_operators_sign(struct mg_slice from)
{
    struct mg_slice none, sender;
    bool is_named = from.len == 0;
    struct mg_json_walk walk = mg_json_walk_of(from);
    while (from.len > 0 && mg_json_walk_next(&walk, &none, &sender)) {
        is_named = is_named || mg_slice_is(mg_json_trim(sender), "\"operator\"");
    }
    return is_named;
}

static void wait_write(struct mg_json_writer *json, const struct mg_table *waits, int row)
{
    static const char *const texts[] = {"order_id", "workflow",   "step",      "signal",  "title", "since",
                                        "until",    "on_timeout", "signed_by", "payload", "shown"};
    static const char *const raws[] = {"counted", "of", "labels"};
    mg_json_element_object(json);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        mg_json_member_string_or_null(json, texts[i], mg_table_cell(waits, row, texts[i]));
    }
    for (size_t i = 0; i < sizeof(raws) / sizeof(raws[0]); i++) {
        const char *raw = mg_table_cell(waits, row, raws[i]);
        mg_json_member_raw(json, raws[i], mg_slice_of(raw[0] != '\0' ? raw : "null"));
    }
    mg_json_member_bool(json, "may_sign", may_operators_sign(mg_slice_of(mg_table_cell(waits, row, "from"))));
    choices_write(json, mg_slice_of(mg_table_cell(waits, row, "choices")));
    mg_json_object_end(json);
}

static unsigned int render_waiting(const struct mg_query *query, const struct mg_table *tables,
                                   struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    mg_json_member_array(&json, "waiting");
    for (int row = 0; row < tables[0].row_count; row++) {
        if (mg_table_cell(&tables[0], row, "order_id")[0] != '\0') {
            wait_write(&json, &tables[0], row);
        }
    }
    mg_json_array_end(&json);
    mg_json_member_string_or_null(&json, "next", mg_table_cell(&tables[0], 0, "next"));
    return answer_end(query, tables, &json);
}

bool mg_query_waiting(struct mg_page *page, struct mg_query *query)
{
    const char *signal, *workflow, *order, *after;
    if (!param_read(page, "signal", &signal) || !param_read(page, "workflow", &workflow) ||
        !param_read(page, "order", &order) || !param_read(page, "after", &after)) {
        return false;
    }
    const char *const params[MG_AWAITING_PARAMS + 1] = {
        [MG_AWAITING_SIGNAL] = signal,     [MG_AWAITING_WORKFLOW] = workflow,
        [MG_AWAITING_ORDER] = order,       [MG_AWAITING_CURSOR] = after,
        [MG_AWAITING_LIMIT] = WAITS_LIMIT, [MG_AWAITING_PAYLOAD_MAX] = PAYLOAD_SHOWN_MAX,
    };
    query_begin(query, "waiting", render_waiting);
    query_add(query, NULL, MG_REPORT_AWAITING, params);
    return cursor_check(page, after[0] == '\0' || mg_awaiting_cursor_is_valid(after));
}

/* ---- schedules ---- */

bool mg_query_schedules(struct mg_page *page, struct mg_query *query)
{
    (void)page;
    query_begin(query, "schedules", render_lists);
    query_add(query, "schedules", MG_REPORT_SCHEDULES, NULL);
    return true;
}

static unsigned int render_schedule(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    if (tables[0].row_count == 0) {
        mg_error_write(out, "unknown schedule");
        return STATUS_NOT_FOUND;
    }
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    mg_json_name(&json, "schedule");
    mg_table_write_object(&json, &tables[0], 0, AS_LOADED);
    mg_json_name(&json, "runs");
    mg_table_write_array(&json, &tables[1], NULL);
    return answer_end(query, tables, &json);
}

bool mg_query_schedule(struct mg_page *page, struct mg_query *query)
{
    if (!mg_name_is_valid(page->id, strlen(page->id))) {
        return refuse(page, "invalid schedule name");
    }
    const char *const name[] = {page->id, NULL}, *const runs[] = {page->id, TEXT_OF(PAGE_ROWS), NULL};
    query_begin(query, "schedule", render_schedule);
    query_add(query, NULL, MG_REPORT_SCHEDULE, name);
    query_add(query, NULL, MG_REPORT_SCHEDULE_RUNS, runs);
    return true;
}

/* ---- bulk actions ---- */

bool mg_query_bulk_list(struct mg_page *page, struct mg_query *query)
{
    static const char *const params[] = {TEXT_OF(BULK_LIST_LIMIT), NULL};
    (void)page;
    query_begin(query, "bulk actions", render_lists);
    query_add(query, "bulk", MG_REPORT_BULK_LIST, params);
    query_add(query, "runner", MG_REPORT_BULK_RUNNER, NULL);
    query->cut_at = BULK_LIST_LIMIT;
    return true;
}

enum { BULK_ROW, BULK_ORDERS, BULK_RUNNER };

static unsigned int render_bulk(const struct mg_query *query, const struct mg_table *tables,
                                struct mg_buf *out)
{
    if (tables[BULK_ROW].row_count == 0) {
        mg_error_write(out, "unknown bulk action");
        return STATUS_NOT_FOUND;
    }
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    mg_json_name(&json, "bulk");
    mg_table_write_object(&json, &tables[BULK_ROW], 0, NULL);
    mg_json_name(&json, "orders");
    mg_table_write_array(&json, &tables[BULK_ORDERS], NULL);
    mg_json_name(&json, "runner");
    mg_table_write_array(&json, &tables[BULK_RUNNER], NULL);
    next_write(&json, &tables[BULK_ORDERS], BULK_ORDERS_LIMIT, "n");
    return answer_end(query, tables, &json);
}

bool mg_query_bulk(struct mg_page *page, struct mg_query *query)
{
    const char *result, *after;
    enum mg_bulk_result known;
    if (!mg_uuid_is_valid(page->id)) {
        return refuse(page, "invalid bulk action id");
    }
    if (!param_read(page, "result", &result) || !param_read(page, "after", &after)) {
        return false;
    }
    if (!is_number(after) || (result[0] != '\0' && !mg_bulk_result_parse(result, strlen(result), &known))) {
        return refuse(
            page,
            "after: expected the next of the page before; result: waiting, asked, done, failed or skipped");
    }
    const char *const bulk[] = {page->id, NULL};
    const char *const orders[] = {page->id, result, after, TEXT_OF(BULK_ORDERS_LIMIT), NULL};
    query_begin(query, "bulk action", render_bulk);
    query_add(query, NULL, MG_REPORT_BULK, bulk);
    query_add(query, NULL, MG_REPORT_BULK_ORDERS, orders);
    query_add(query, NULL, MG_REPORT_BULK_RUNNER, NULL);
    return true;
}

static unsigned int render_choice(const struct mg_query *query, const struct mg_table *tables,
                                  struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_table_write_object(&json, &tables[0], 0, NULL);
    return STATUS_OK;
}

bool mg_query_choice(struct mg_page *page, struct mg_query *query)
{
    struct filter filter;
    struct mg_bulk_filter chosen;
    _Static_assert(MG_BULK_REFUSAL_SIZE <= MG_REFUSAL_SIZE, "a refusal goes out as it is");
    if (!filter_read(page, &filter)) {
        return false;
    }
    const struct mg_list services = {.items = {filter.service}, .count = filter.service[0] != '\0' ? 1 : 0};
    const struct mg_bulk_words words = {
        .workflow = filter.workflow, .step = filter.step, .error = filter.error, .services = &services};
    if (!mg_bulk_filter_read(&words, &chosen, page->refusal)) {
        return false;
    }
    const char *const params[] = {filter.workflow, filter.step, filter.error, chosen.services, "", "",
                                  filter.labels,   NULL};
    query_begin(query, "choice", render_choice);
    query_add(query, NULL, MG_REPORT_BULK_CHOICE, params);
    return true;
}

/* ---- the overview, and the search in its head, which every page has ---- */

bool mg_query_find(struct mg_page *page, struct mg_query *query)
{
    const char *text;
    if (!param_read(page, "text", &text)) {
        return false;
    }
    const char *const params[] = {text, TEXT_OF(PAGE_ROWS), NULL};
    query_begin(query, "find", render_lists);
    query_add(query, "found", MG_REPORT_FIND, params);
    query->cut_at = PAGE_ROWS;
    return text[0] != '\0' || refuse(page, "text: expected the beginning of an id, or a label's value");
}

enum { OVERVIEW_OLDEST = 7, OVERVIEW_SETTINGS };

static unsigned int render_overview(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    struct mg_json_writer json = answer_begin(query, tables, out);
    mg_json_member_object(&json, "oldest");
    orders_write(&json, &tables[OVERVIEW_OLDEST]);
    mg_json_object_end(&json);
    raw_write(&json, "now_ms", &tables[OVERVIEW_SETTINGS], "now_ms");
    return answer_end(query, tables, &json);
}

void mg_query_overview(struct mg_query *query)
{
    static const char *const oldest[] = {"", "", "", "", "", TEXT_OF(OLDEST_LIMIT), NULL};
    static const char *const groups[] = {"", "", "", "", "", "", TEXT_OF(TOP_GROUPS_LIMIT), "", NULL};
    static const char *const top[] = {TEXT_OF(TOP_BULK_LIMIT), NULL};
    static const char *const without_waits[] = {"false", NULL};
    static const char *const causes[] = {TEXT_OF(CAUSES_LIMIT), NULL};
    query_begin(query, "overview", render_overview);
    query_add(query, "figures", MG_REPORT_FIGURES, without_waits);
    query_add(query, "groups", MG_REPORT_FAILURE_GROUPS, groups);
    query_add(query, "services", MG_REPORT_CONTROLLED, NULL);
    query_add(query, "leader", MG_REPORT_LEADER, NULL);
    query_add(query, "causes", MG_REPORT_ALERT_CAUSES, causes);
    query_add(query, "bulk", MG_REPORT_BULK_LIST, top);
    query_add(query, "runner", MG_REPORT_BULK_RUNNER, NULL);
    query_add(query, NULL, MG_REPORT_PAGE_OPEN, oldest);
    query_add(query, NULL, MG_REPORT_SETTINGS, NULL);
    query_add(query, "minutes", MG_REPORT_SERVICE_MINUTES, ALL_SERVICES);
    query_add(query, "order_minutes", MG_REPORT_ORDER_MINUTES, NULL);
}
