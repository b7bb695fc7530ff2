/* The reports of each page, and the JSON from their rows. Values have the types that the tool prints. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "console/page_parts.h"
#include "core/key.h"
#include "core/words.h"
#include "json/json.h"
#include "operator/bulk_words.h"
#include "operator/explain.h"
#include "operator/graph.h"
#include "operator/helpful_verbs.h"
#include "operator/steps.h"

#define GROUPS_LIMIT      200
#define ALERTS_LIMIT      200
#define BULK_LIST_LIMIT   50
#define BULK_ORDERS_LIMIT 100
#define EXPLANATION_BYTES (64u * 1024)

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- queries ---- */

void mg_page_begin(struct mg_query *query, const char *name, mg_page_render_fn *render)
{
    query->count = 0;
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

void mg_page_add(struct mg_query *query, enum mg_report report, const char *const *params)
{
    assert(query->count < MG_REPORTS_MAX);
    int index = query->count++;
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

bool mg_page_param_read(const struct mg_http_exchange *request, const char *name, const char **ret_text,
                        char ret_refusal[MG_REFUSAL_SIZE])
{
    *ret_text = or_empty(mg_http_exchange_query(request, name));
    if (strlen(*ret_text) < MG_PARAM_SIZE && is_text(*ret_text)) {
        return true;
    }
    (void)snprintf(ret_refusal, MG_REFUSAL_SIZE, "%s: expected a text of at most %d bytes", name,
                   MG_PARAM_SIZE - 1);
    return false;
}

static bool moment_read(const struct mg_http_exchange *request, const char *name,
                        char ret_number[MG_MOMENT_SIZE], char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *text;
    if (!mg_page_param_read(request, name, &text, ret_refusal)) {
        return false;
    }
    if (!mg_moment_parse(text, ret_number)) {
        (void)snprintf(ret_refusal, MG_REFUSAL_SIZE, "%s: expected " MG_MOMENT_RIGHT, name);
        return false;
    }
    return true;
}

/* The conditions of lists. */
struct filter {
    const char *state, *workflow, *step, *service, *error, *after;
    char since[MG_MOMENT_SIZE], until[MG_MOMENT_SIZE];
    char labels[MG_PARAM_SIZE];
};

_Static_assert(MG_LABELS_REFUSAL_SIZE <= MG_REFUSAL_SIZE, "a refusal goes out as it is");

/* The parameter `label`: one label, or several after commas. */
static bool labels_read(const struct mg_http_exchange *request, char ret_json[MG_PARAM_SIZE],
                        char ret_refusal[MG_REFUSAL_SIZE])
{
    struct mg_label_words words = {.count = 0};
    const char *text;
    return mg_page_param_read(request, "label", &text, ret_refusal) &&
           mg_label_words_add_all(&words, text, ret_refusal) &&
           mg_label_words_write(&words, ret_json, MG_PARAM_SIZE, ret_refusal);
}

static bool filter_read(const struct mg_http_exchange *request, struct filter *ret,
                        char ret_refusal[MG_REFUSAL_SIZE])
{
    return mg_page_param_read(request, "state", &ret->state, ret_refusal) &&
           mg_page_param_read(request, "workflow", &ret->workflow, ret_refusal) &&
           mg_page_param_read(request, "step", &ret->step, ret_refusal) &&
           mg_page_param_read(request, "service", &ret->service, ret_refusal) &&
           mg_page_param_read(request, "error", &ret->error, ret_refusal) &&
           mg_page_param_read(request, "after", &ret->after, ret_refusal) &&
           labels_read(request, ret->labels, ret_refusal) &&
           moment_read(request, "since", ret->since, ret_refusal) &&
           moment_read(request, "until", ret->until, ret_refusal);
}

/* ---- JSON ---- */

/* JSON in the columns named in `quoted` (NULL: none) becomes a string: browsers would turn 14.00 into 14. */
void mg_page_array_write(struct mg_json_writer *json, const char *name, const struct mg_table *table,
                         const char *const *quoted)
{
    mg_json_name(json, name);
    mg_table_write_array(json, table, quoted);
}

/* A cell that is JSON already. */
void mg_page_raw_write(struct mg_json_writer *json, const char *name, const struct mg_table *table,
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

/* A cell that is text, or null. */
static void text_write(struct mg_json_writer *json, const char *name, const char *cell)
{
    if (cell[0] != '\0') {
        mg_json_member_string(json, name, cell);
    } else {
        mg_json_member_null(json, name);
    }
}

void mg_page_orders_write(struct mg_json_writer *json, const struct mg_table *page)
{
    mg_json_name(json, "orders");
    mg_table_write_orders(json, page);
    mg_page_raw_write(json, "looked_at", page, "looked_at");
    mg_json_member_bool(json, "is_full", strcmp(mg_table_cell(page, 0, "is_full"), "t") == 0);
    text_write(json, "back_to", mg_table_cell(page, 0, "back_to"));
    text_write(json, "next", mg_table_cell(page, 0, "next"));
}

static unsigned int render_page(const struct mg_query *query, const struct mg_table *tables,
                                struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_orders_write(&json, &tables[0]);
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

/* ---- orders ---- */

static void looked_at_write(struct mg_json_writer *json, const struct mg_table *looked)
{
    mg_page_raw_write(json, "looked_at", looked, "looked_at");
    mg_json_member_bool(json, "is_full", strcmp(mg_table_cell(looked, 0, "is_full"), "t") == 0);
    mg_json_member_string(json, "back_to", mg_table_cell(looked, 0, "oldest"));
}

static unsigned int render_failures(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_array_write(&json, "failures", &tables[0], NULL);
    looked_at_write(&json, &tables[1]);
    next_write(&json, &tables[0], MG_PAGE_ROWS, "alert_id");
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

static bool is_number(const char *text)
{
    return strspn(text, "0123456789") == strlen(text) && strlen(text) < 19;
}

/* The cursor MICROSECONDS/ORDER that the previous page returned. */
static bool is_newest_cursor(const char *text)
{
    const char *slash = strchr(text, '/');
    char number[MG_PARAM_SIZE];
    (void)snprintf(number, sizeof(number), "%.*s", slash != NULL ? (int)(slash - text) : 0, text);
    return text[0] == '\0' ||
           (number[0] != '\0' && is_number(number) && mg_order_id_is_valid(slash + 1, strlen(slash + 1)));
}

/* False: it is no cursor of such a list. */
static bool cursor_check(bool is_right, char ret_refusal[MG_REFUSAL_SIZE])
{
    if (!is_right) {
        (void)snprintf(ret_refusal, MG_REFUSAL_SIZE, "after: expected the next of the page before");
    }
    return is_right;
}

static bool failures_ask(const struct filter *filter, struct mg_query *query,
                         char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *const failures[] = {
        filter->workflow, filter->step,  filter->error, filter->service,
        filter->since,    filter->until, filter->after, MG_PAGE_TEXT_OF(MG_PAGE_ROWS),
        filter->labels,   NULL};
    const char *const looked_at[] = {filter->since, filter->until, filter->after, NULL};
    if (!cursor_check(is_number(filter->after), ret_refusal)) {
        return false;
    }
    mg_page_begin(query, "failed orders", render_failures);
    mg_page_add(query, MG_REPORT_FAILURES, failures);
    mg_page_add(query, MG_REPORT_FAILURES_LOOKED_AT, looked_at);
    return true;
}

/* Open orders, oldest first. */
static bool open_ask(const struct filter *filter, bool is_any_state, struct mg_query *query,
                     char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *const params[] = {is_any_state ? "" : filter->state,
                                  filter->workflow,
                                  filter->since,
                                  filter->until,
                                  filter->after,
                                  MG_PAGE_TEXT_OF(MG_PAGE_ROWS),
                                  NULL};
    bool is_right = filter->after[0] == '\0' || mg_order_id_is_valid(filter->after, strlen(filter->after));
    if (!cursor_check(is_right, ret_refusal)) {
        return false;
    }
    mg_page_begin(query, "open orders", render_page);
    mg_page_add(query, MG_REPORT_PAGE_OPEN, params);
    return true;
}

static bool orders_ask(const struct filter *filter, struct mg_query *query, char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *const params[MG_ORDERS_PARAMS + 1] = {
        [MG_ORDERS_STATE] = filter->state,   [MG_ORDERS_WORKFLOW] = filter->workflow,
        [MG_ORDERS_SINCE] = filter->since,   [MG_ORDERS_UNTIL] = filter->until,
        [MG_ORDERS_CURSOR] = filter->after,  [MG_ORDERS_LIMIT] = MG_PAGE_TEXT_OF(MG_PAGE_ROWS),
        [MG_ORDERS_LABELS] = filter->labels, [MG_ORDERS_CLIENT] = "",
    };
    if (!cursor_check(is_newest_cursor(filter->after), ret_refusal)) {
        return false;
    }
    mg_page_begin(query, "orders", render_page);
    mg_page_add(query, MG_REPORT_ORDERS, params);
    return true;
}

bool mg_query_orders(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                     char ret_refusal[MG_REFUSAL_SIZE])
{
    struct filter filter;
    enum mg_order_state state = MG_ORDER_STATE_COUNT;
    (void)id;
    if (!filter_read(request, &filter, ret_refusal)) {
        return false;
    }
    bool is_any_open = strcmp(filter.state, "open") == 0;
    if (filter.state[0] != '\0' && !is_any_open &&
        !mg_order_state_parse(filter.state, strlen(filter.state), &state)) {
        (void)snprintf(ret_refusal, MG_REFUSAL_SIZE, "state: unknown state");
        return false;
    }
    if (state == MG_ORDER_ERROR || filter.step[0] != '\0' || filter.service[0] != '\0' ||
        filter.error[0] != '\0') {
        return failures_ask(&filter, query, ret_refusal);
    }
    bool is_open = is_any_open || state == MG_ORDER_PENDING || state == MG_ORDER_PROCESSING ||
                   state == MG_ORDER_COMPENSATING;
    return is_open && filter.labels[0] == '\0' ? open_ask(&filter, is_any_open, query, ret_refusal)
                                               : orders_ask(&filter, query, ret_refusal);
}

/* Dossier, row and steps of an order, in the tables or in the archive. */
enum { PLACE_DOSSIER, PLACE_ROW, PLACE_STEPS, PLACE_REPORTS };
enum { ORDER_HOT, ORDER_ARCHIVED = PLACE_REPORTS, ORDER_SERVICES = 2 * PLACE_REPORTS, ORDER_CONTROLLED };

static const char *const STEP_QUOTED[] = {"result", NULL};

/* The buttons that the core would take now; none of these members: it is not known. */
static void verbs_write(struct mg_json_writer *json, const struct mg_explain_facts *facts)
{
    struct mg_verbs verbs;
    if (mg_operator_verbs(facts->order, facts->steps, facts->definition, &verbs)) {
        mg_json_member_object(json, "verbs");
        mg_json_member_bool(json, "resume", verbs.can_resume);
        mg_json_member_bool(json, "restart", verbs.can_restart);
        mg_json_member_bool(json, "compensate", verbs.can_compensate);
        mg_json_member_bool(json, "cancel", verbs.can_cancel);
        mg_json_object_end(json);
    }
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
    struct mg_buf text;
    const struct mg_table *place = &tables[tables[ORDER_HOT].row_count > 0 ? ORDER_HOT : ORDER_ARCHIVED];
    if (place[PLACE_DOSSIER].row_count == 0 || place[PLACE_ROW].row_count == 0) {
        char unknown[MG_PARAM_SIZE + 64];
        (void)snprintf(unknown, sizeof(unknown), "unknown order %s; give its full id",
                       query->asks[0].params[0]);
        mg_error_write(out, unknown);
        return MG_PAGE_STATUS_NOT_FOUND;
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
                                           .definition = definition};
    mg_buf_init(&text, EXPLANATION_BYTES);
    mg_explain_write(&text, &facts);
    struct mg_json_writer json = mg_json_spaced(out);
    mg_json_object_begin(&json);
    mg_json_member_text(&json, "explanation", mg_buf_slice(&text));
    mg_json_member_string(&json, "archived_on", mg_table_cell(&place[PLACE_ROW], 0, "archived_on"));
    mg_json_member_raw(&json, "dossier", mg_slice_of(dossier));
    /* A string, as in STEP_QUOTED. */
    mg_json_member_string(&json, "payload", mg_table_cell(&place[PLACE_ROW], 0, "payload"));
    mg_json_member_string(&json, "output", mg_table_cell(&place[PLACE_ROW], 0, "output"));
    mg_json_member_text(&json, "definition", definition);
    picture_write(&json, definition);
    mg_page_array_write(&json, "steps", steps, STEP_QUOTED);
    verbs_write(&json, &facts);
    mg_json_object_end(&json);
    mg_table_free(&whole);
    mg_buf_finish(&text);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_order(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                    char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *const params[] = {id, NULL};
    (void)request;
    if (!mg_order_id_is_valid(id, strlen(id))) {
        (void)snprintf(ret_refusal, MG_REFUSAL_SIZE,
                       "invalid order id: expected 1 to %d characters A-Z, a-z, 0-9, ., _, :, -",
                       MG_ORDER_ID_MAX);
        return false;
    }
    mg_page_begin(query, "order", render_order);
    mg_page_add(query, MG_REPORT_DOSSIER, params);
    mg_page_add(query, MG_REPORT_ORDER, params);
    mg_page_add(query, MG_REPORT_ORDER_STEPS, params);
    mg_page_add(query, MG_REPORT_ARCHIVED_DOSSIER, params);
    mg_page_add(query, MG_REPORT_ARCHIVED_ORDER, params);
    mg_page_add(query, MG_REPORT_ARCHIVED_STEPS, params);
    mg_page_add(query, MG_REPORT_SERVICES, NULL);
    mg_page_add(query, MG_REPORT_CONTROLLED, NULL);
    return true;
}

static unsigned int render_versions(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_table_write_array(&json, &tables[0], NULL);
    return MG_PAGE_STATUS_OK;
}

void mg_query_versions(const char *order_ids, struct mg_query *query)
{
    const char *const params[] = {order_ids, NULL};
    mg_page_begin(query, "versions", render_versions);
    mg_page_add(query, MG_REPORT_VERSIONS, params);
}

/* ---- failures, alerts, services, workflows ---- */

static unsigned int render_groups(const struct mg_query *query, const struct mg_table *tables,
                                  struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_array_write(&json, "groups", &tables[0], NULL);
    looked_at_write(&json, &tables[1]);
    mg_json_member_bool(&json, "is_cut", tables[0].row_count == GROUPS_LIMIT);
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_failures(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                       char ret_refusal[MG_REFUSAL_SIZE])
{
    struct filter filter;
    (void)id;
    if (!filter_read(request, &filter, ret_refusal)) {
        return false;
    }
    const char *const groups[] = {filter.workflow,
                                  filter.step,
                                  filter.error,
                                  filter.service,
                                  filter.since,
                                  filter.until,
                                  MG_PAGE_TEXT_OF(GROUPS_LIMIT),
                                  filter.labels,
                                  NULL};
    const char *const looked_at[] = {filter.since, filter.until, "", NULL};
    mg_page_begin(query, "failures", render_groups);
    mg_page_add(query, MG_REPORT_FAILURE_GROUPS, groups);
    mg_page_add(query, MG_REPORT_FAILURES_LOOKED_AT, looked_at);
    return true;
}

static unsigned int render_alerts(const struct mg_query *query, const struct mg_table *tables,
                                  struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_array_write(&json, "alerts", &tables[0], NULL);
    mg_json_member_bool(&json, "is_cut", tables[0].row_count == ALERTS_LIMIT);
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_alerts(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                     char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *all = or_empty(mg_http_exchange_query(request, "all"));
    const char *const params[] = {strcmp(all, "1") == 0 ? "all" : "open", MG_PAGE_TEXT_OF(ALERTS_LIMIT),
                                  NULL};
    (void)id;
    (void)ret_refusal;
    mg_page_begin(query, "alerts", render_alerts);
    mg_page_add(query, MG_REPORT_ALERTS, params);
    return true;
}

static unsigned int render_services(const struct mg_query *query, const struct mg_table *tables,
                                    struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_array_write(&json, "services", &tables[0], NULL);
    mg_page_array_write(&json, "agents", &tables[1], NULL);
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_services(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                       char ret_refusal[MG_REFUSAL_SIZE])
{
    (void)request;
    (void)id;
    (void)ret_refusal;
    mg_page_begin(query, "services", render_services);
    mg_page_add(query, MG_REPORT_CONTROLLED, NULL);
    mg_page_add(query, MG_REPORT_SERVICES, NULL);
    return true;
}

enum { WORKFLOWS, WORKFLOW_STEPS };

static unsigned int render_workflows(const struct mg_query *query, const struct mg_table *tables,
                                     struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    int64_t looked_at = 0;
    mg_page_array_write(&json, "workflows", &tables[WORKFLOWS], NULL);
    mg_page_array_write(&json, "steps", &tables[WORKFLOW_STEPS], NULL);
    if (tables[WORKFLOW_STEPS].row_count > 0) {
        looked_at = strtoll(or_empty(mg_table_cell(&tables[WORKFLOW_STEPS], 0, "looked_at")), NULL, 10);
    }
    mg_json_member_bool(&json, "is_cut", looked_at >= MG_STEPS_COUNTED_ORDERS);
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_workflows(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                        char ret_refusal[MG_REFUSAL_SIZE])
{
    (void)request;
    (void)id;
    (void)ret_refusal;
    mg_page_begin(query, "workflows", render_workflows);
    mg_page_add(query, MG_REPORT_WORKFLOWS, NULL);
    mg_page_add(query, MG_REPORT_WORKFLOW_STEPS, NULL);
    return true;
}

/* ---- bulk actions ---- */

static unsigned int render_bulk_list(const struct mg_query *query, const struct mg_table *tables,
                                     struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_json_object_begin(&json);
    mg_page_array_write(&json, "bulk", &tables[0], NULL);
    mg_page_array_write(&json, "runner", &tables[1], NULL);
    mg_json_member_bool(&json, "is_cut", tables[0].row_count == BULK_LIST_LIMIT);
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_bulk_list(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                        char ret_refusal[MG_REFUSAL_SIZE])
{
    static const char *const params[] = {MG_PAGE_TEXT_OF(BULK_LIST_LIMIT), NULL};
    (void)request;
    (void)id;
    (void)ret_refusal;
    mg_page_begin(query, "bulk actions", render_bulk_list);
    mg_page_add(query, MG_REPORT_BULK_LIST, params);
    mg_page_add(query, MG_REPORT_BULK_RUNNER, NULL);
    return true;
}

enum { BULK_ROW, BULK_ORDERS, BULK_RUNNER };

static unsigned int render_bulk(const struct mg_query *query, const struct mg_table *tables,
                                struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    if (tables[BULK_ROW].row_count == 0) {
        mg_error_write(out, "unknown bulk action");
        return MG_PAGE_STATUS_NOT_FOUND;
    }
    mg_json_object_begin(&json);
    mg_json_name(&json, "bulk");
    mg_table_write_object(&json, &tables[BULK_ROW], 0, NULL);
    mg_page_array_write(&json, "orders", &tables[BULK_ORDERS], NULL);
    mg_page_array_write(&json, "runner", &tables[BULK_RUNNER], NULL);
    next_write(&json, &tables[BULK_ORDERS], BULK_ORDERS_LIMIT, "n");
    mg_json_object_end(&json);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_bulk(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                   char ret_refusal[MG_REFUSAL_SIZE])
{
    const char *result, *after;
    enum mg_bulk_result known;
    if (!mg_uuid_is_valid(id)) {
        (void)snprintf(ret_refusal, MG_REFUSAL_SIZE, "invalid bulk action id");
        return false;
    }
    if (!mg_page_param_read(request, "result", &result, ret_refusal) ||
        !mg_page_param_read(request, "after", &after, ret_refusal)) {
        return false;
    }
    if (!is_number(after) || (result[0] != '\0' && !mg_bulk_result_parse(result, strlen(result), &known))) {
        (void)snprintf(
            ret_refusal, MG_REFUSAL_SIZE,
            "after: expected the next of the page before; result: waiting, asked, done, failed or skipped");
        return false;
    }
    const char *const bulk[] = {id, NULL};
    const char *const orders[] = {id, result, after, MG_PAGE_TEXT_OF(BULK_ORDERS_LIMIT), NULL};
    mg_page_begin(query, "bulk action", render_bulk);
    mg_page_add(query, MG_REPORT_BULK, bulk);
    mg_page_add(query, MG_REPORT_BULK_ORDERS, orders);
    mg_page_add(query, MG_REPORT_BULK_RUNNER, NULL);
    return true;
}

static unsigned int render_choice(const struct mg_query *query, const struct mg_table *tables,
                                  struct mg_buf *out)
{
    struct mg_json_writer json = mg_json_spaced(out);
    (void)query;
    mg_table_write_object(&json, &tables[0], 0, NULL);
    return MG_PAGE_STATUS_OK;
}

bool mg_query_choice(const struct mg_http_exchange *request, const char *id, struct mg_query *query,
                     char ret_refusal[MG_REFUSAL_SIZE])
{
    struct filter filter;
    struct mg_bulk_filter chosen;
    (void)id;
    _Static_assert(MG_BULK_REFUSAL_SIZE <= MG_REFUSAL_SIZE, "a refusal goes out as it is");
    if (!filter_read(request, &filter, ret_refusal)) {
        return false;
    }
    const struct mg_list services = {.items = {filter.service}, .count = filter.service[0] != '\0' ? 1 : 0};
    const struct mg_bulk_words words = {
        .workflow = filter.workflow, .step = filter.step, .error = filter.error, .services = &services};
    if (!mg_bulk_filter_read(&words, &chosen, ret_refusal)) {
        return false;
    }
    const char *const params[] = {filter.workflow, filter.step, filter.error, chosen.services, "", "",
                                  filter.labels,   NULL};
    mg_page_begin(query, "choice", render_choice);
    mg_page_add(query, MG_REPORT_BULK_CHOICE, params);
    return true;
}
