/*
 * Starts, pauses, resumes and stops bulk actions, by the same store calls as the tool. One transaction makes
 * the list of orders and the row of operator_action. A page has a ticket: two requests with the same ticket
 * are one bulk action.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "console/change_request.h"

#define TICKET_SIZE 65
#define ANSWER_MAX  1024

/* ---- starting ---- */

static void started_tell(struct mg_change *change, const struct mg_bulk_started *started)
{
    struct mg_buf buf;
    char text[160], memory[ANSWER_MAX];
    if (started->is_new) {
        (void)snprintf(text, sizeof(text), "started a bulk action on %lld orders",
                       (long long)started->orders);
    } else {
        (void)snprintf(text, sizeof(text), "this bulk action exists already: %s, %lld orders",
                       mg_bulk_state_name(started->state), (long long)started->orders);
    }
    mg_buf_init_fixed(&buf, memory, sizeof(memory));
    struct mg_json_writer json = mg_json_spaced(&buf);
    mg_json_object_begin(&json);
    mg_json_member_string(&json, "text", text);
    mg_json_member_string(&json, "bulk_id", started->bulk_id);
    mg_json_member_bool(&json, "is_new", started->is_new);
    mg_json_member_word(&json, "state", mg_bulk_state_name(started->state));
    mg_json_member_int(&json, "orders", started->orders);
    mg_json_object_end(&json);
    mg_change_end_with(change, 200, mg_buf_slice(&buf));
}

static void on_started(void *arg, const struct mg_bulk_started *started, const struct mg_err *err)
{
    struct mg_change *change = arg;
    char text[160];
    if (err != NULL) {
        mg_change_end(change, 503, err->text);
    } else if (started->bulk_id[0] != '\0') {
        started_tell(change, started);
    } else if (started->open_bulk >= MG_BULK_OPEN_MAX) {
        (void)snprintf(text, sizeof(text),
                       "%lld bulk actions are open, the maximum; wait for one to end, or stop one",
                       (long long)started->open_bulk);
        mg_change_end(change, 409, text);
    } else if (started->orders > change->orders_max) {
        (void)snprintf(text, sizeof(text), "the filter now matches %lld orders, not %lld: reload the page",
                       (long long)started->orders, (long long)change->orders_max);
        mg_change_end(change, 409, text);
    } else {
        mg_change_end(
            change, 409,
            "no order is eligible: each order with this failure is no longer in error, or in another bulk "
            "action");
    }
}

/* Reads a number that a form sends as text; "" gives `initial`. -1: not a number, or above `max`. */
static int64_t count_read(struct mg_slice body, const char *pointer, const char *initial, int64_t max)
{
    char text[MG_PATH_PART_SIZE];
    if (!mg_document_text(body, pointer, text, sizeof(text))) {
        return -1;
    }
    const char *number = text[0] != '\0' ? text : initial;
    if (strspn(number, "0123456789") != strlen(number) || strlen(number) > 18) {
        return -1;
    }
    int64_t count = strtoll(number, NULL, 10);
    return count <= max ? count : -1;
}

/* The id is derived, so that a repeated request with the same ticket is the same bulk action. Another
 * operator, verb or filter gives another bulk action. */
static void bulk_id_make(const struct mg_change *change, const char *ticket, enum mg_cause_kind verb,
                         const struct mg_failure_filter *filter, char ret_bulk_id[MG_UUID_SIZE])
{
    const char *const parts[] = {ticket,       change->by,    mg_cause_name(verb), filter->workflow,
                                 filter->step, filter->error, filter->services,    filter->labels};
    struct mg_buf identity;
    mg_buf_init(&identity, TICKET_SIZE + MG_USER_NAME_SIZE + 2 * MG_FAILURE_FILTER_MAX);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        mg_buf_append_text(&identity, parts[i]);
        mg_buf_append_text(&identity, "\n");
    }
    mg_uuid_derived(mg_slice_of("console bulk"), mg_buf_slice(&identity), ret_bulk_id);
    mg_buf_finish(&identity);
}

/* The fields of the request's body, as texts. */
struct asked {
    char verb[MG_PATH_PART_SIZE], workflow[MG_PATH_PART_SIZE], step[MG_PATH_PART_SIZE], error[MG_PARAM_SIZE],
        service[MG_PATH_PART_SIZE], label[MG_PARAM_SIZE];
    char rate[MG_PATH_PART_SIZE], ticket[TICKET_SIZE];
};

static bool asked_read(struct mg_slice body, struct asked *ret)
{
    return mg_document_text(body, "/verb", ret->verb, sizeof(ret->verb)) &&
           mg_document_text(body, "/workflow", ret->workflow, sizeof(ret->workflow)) &&
           mg_document_text(body, "/step", ret->step, sizeof(ret->step)) &&
           mg_document_text(body, "/error", ret->error, sizeof(ret->error)) &&
           mg_document_text(body, "/service", ret->service, sizeof(ret->service)) &&
           mg_document_text(body, "/label", ret->label, sizeof(ret->label)) &&
           mg_document_text(body, "/rate", ret->rate, sizeof(ret->rate)) &&
           mg_document_text(body, "/ticket", ret->ticket, sizeof(ret->ticket));
}

/* NULL, or the reason for a refusal. */
static const char *start_read(struct mg_change *change, struct mg_slice body, const struct asked *asked,
                              struct mg_bulk_start *ret_start)
{
    ret_start->reason = change->reason;
    ret_start->by = change->by;
    ret_start->canary = count_read(body, "/canary", MG_BULK_CANARY_TEXT, MG_BULK_CANARY_MAX);
    ret_start->stop_percent = count_read(body, "/stop_above", MG_BULK_STOP_ABOVE, 100);
    ret_start->orders_max = change->orders_max = (int64_t)mg_member_number(body, "/orders");
    if (asked->ticket[0] == '\0') {
        return "ticket: expected that of the page; reload the page";
    }
    if (ret_start->orders_max <= 0) {
        return "orders: expected the number shown on the page; reload the page";
    }
    if (!mg_bulk_verb_parse(asked->verb, &ret_start->verb)) {
        return "verb: expected " MG_BULK_VERBS_RIGHT;
    }
    if (!mg_bulk_rate_parse(asked->rate, &ret_start->rate_per_s)) {
        return "rate: expected " MG_BULK_RATE_RIGHT;
    }
    if (ret_start->canary < 0 || ret_start->stop_percent < 0) {
        return "canary: expected a number of orders, 0 to 10000; stop above: a percentage, 0 to 100";
    }
    return NULL;
}

static bool has_empty(struct mg_slice body)
{
    static const char *const members[] = {"/workflow", "/step", "/error", "/service", "/label"};
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (mg_slice_is(mg_json_find(body, members[i]), "\"\"")) {
            return true;
        }
    }
    return false;
}

static const char *start_begin(struct mg_change *change, struct mg_slice body)
{
    struct asked asked;
    struct mg_bulk_filter chosen;
    char bulk_id[MG_UUID_SIZE];
    struct mg_bulk_start start = {.bulk_id = bulk_id};
    if (!asked_read(body, &asked)) {
        return "verb, workflow, step, service, error, label, rate, ticket: expected short texts";
    }
    const char *wrong =
        has_empty(body) ? "a part of the filter: " MG_FILTER_EMPTY : start_read(change, body, &asked, &start);
    if (wrong != NULL) {
        return wrong;
    }
    const struct mg_list services = {.items = {asked.service}, .count = asked.service[0] != '\0' ? 1 : 0};
    const struct mg_bulk_words words = {.workflow = asked.workflow,
                                        .step = asked.step,
                                        .error = asked.error,
                                        .services = &services,
                                        .label_text = asked.label};
    if (!mg_bulk_filter_read(&words, &chosen, change->refusal)) {
        return change->refusal;
    }
    if (!mg_bulk_filter_is_narrow(&chosen.filter)) {
        return "no filter: expected at least one of workflow, step, service, error, label";
    }
    start.filter = chosen.filter;
    bulk_id_make(change, asked.ticket, start.verb, &start.filter, bulk_id);
    mg_store_start_bulk(change->console->changing_store, &start, on_started, change);
    return NULL;
}

/* ---- pausing, resuming, stopping ---- */

static const char *wish_begin(struct mg_change *change, struct mg_slice body)
{
    static const enum mg_bulk_wish wishes[] = {MG_BULK_WISH_PAUSE, MG_BULK_WISH_RESUME, MG_BULK_WISH_STOP};
    if (!mg_uuid_is_valid(change->id)) {
        return "invalid bulk action id";
    }
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
        if (strcmp(change->verb, mg_bulk_wish_name(wishes[i])) == 0) {
            const struct mg_bulk_change wish = {.bulk_id = change->id,
                                                .wish = wishes[i],
                                                .version = mg_member_number(body, "/version"),
                                                .reason = change->reason,
                                                .by = change->by};
            mg_store_change_bulk(change->console->changing_store, &wish, mg_change_stored, change);
            return NULL;
        }
    }
    return "expected bulk/ID/pause, resume or stop";
}

const char *mg_console_bulk_change(struct mg_change *change, struct mg_slice body)
{
    return change->id[0] == '\0' ? start_begin(change, body) : wish_begin(change, body);
}
