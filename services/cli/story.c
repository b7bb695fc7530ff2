/*
 * Prints the order's story from its event rows. Each change of state has a line with attempt and reason, and
 * so has each status to the client. Equal rounds of waiting share one line (rounds.h).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "cli.h"
#include "core/key.h"
#include "core/words.h"
#include "json/json.h"
#include "operator/moment.h"
#include "operator/steps.h"
#include "rounds.h"
#include "wire/reply.h"

/* The longest text in a transition or status is a reason. */
#define MEMBER_MAX 1024

/* The text or whole number of a member of the object at `index` of a list; "" if it is absent. */
static const char *member(const struct json_t *list, int index, const char *name, char text[MEMBER_MAX])
{
    const struct json_t *value = mg_document_member(mg_document_element(list, index), name);
    struct mg_slice given = mg_document_text(value);
    int64_t number;
    text[0] = '\0';
    if (mg_document_integer(value, &number)) {
        (void)snprintf(text, MEMBER_MAX, "%" PRId64, number);
    } else if (given.data != NULL && given.len < MEMBER_MAX) {
        memcpy(text, given.data, given.len + 1);
    }
    return text;
}

static void lists_free(struct mg_event_lists *lists, int count)
{
    for (int row = 0; lists != NULL && row < count; row++) {
        mg_document_free(lists[row].transitions);
        mg_document_free(lists[row].statuses);
    }
    free(lists);
}

/* A list's text without the outputs in it. They are the client's, may have any number, and are printed
 * from the order's own row. MG_TRANSIENT: no memory. */
static enum mg_class outputs_drop(struct mg_slice list, struct mg_buf *ret, struct mg_err *err)
{
    char pointer[32];
    struct mg_buf next;
    mg_buf_append_slice(ret, list);
    for (int i = 0; i < MG_STEPS_MAX && !ret->failed; i++) { /* above the statuses of one event */
        (void)snprintf(pointer, sizeof(pointer), "/%d/output", i);
        if (mg_json_find(mg_buf_slice(ret), pointer).data == NULL) {
            continue;
        }
        mg_buf_init(&next, MG_DOCUMENT_MAX_BYTES);
        enum mg_class class = mg_json_set(mg_buf_slice(ret), pointer, mg_slice_of("null"), &next, err);
        mg_buf_finish(ret);
        *ret = next;
        if (class != MG_OK) {
            return class;
        }
    }
    return ret->failed ? mg_err_set(err, MG_TRANSIENT, "the JSON text could not be read: no memory") : MG_OK;
}

static bool list_read(const char *text, struct json_t **ret_list, struct mg_err *err)
{
    struct mg_buf list;
    struct mg_slice whole = mg_slice_of(text);
    if (text[0] == '\0') {
        return true;
    }
    if (strstr(text, "\"output\"") == NULL || mg_json_check(whole, &MG_JSON_LIMITS_DATA, err) != MG_OK) {
        return mg_document_read(whole, ret_list, err) == MG_OK;
    }
    mg_buf_init(&list, MG_DOCUMENT_MAX_BYTES);
    bool is_read = outputs_drop(whole, &list, err) == MG_OK &&
                   mg_document_read(mg_buf_slice(&list), ret_list, err) == MG_OK;
    mg_buf_finish(&list);
    return is_read;
}

/* The lists of all rows; NULL: no memory. The database has checked the texts of the lists, but accepts more
 * than a document may have: NUL in a string, for example. */
static struct mg_event_lists *lists_read(const struct mg_table *events)
{
    struct mg_err ignored; /* list_excuse reads again for the reason */
    struct mg_event_lists *lists = calloc((size_t)events->row_count + 1, sizeof(*lists));
    for (int row = 0; lists != NULL && row < events->row_count; row++) {
        bool has_transitions =
            list_read(mg_table_cell(events, row, "transitions"), &lists[row].transitions, &ignored);
        bool has_statuses = list_read(mg_table_cell(events, row, "statuses"), &lists[row].statuses, &ignored);
        lists[row].is_unreadable = !has_transitions || !has_statuses;
    }
    return lists;
}

static const char *reason_of(const char *word)
{
    enum mg_reason reason = MG_REASON_NONE;
    return mg_reason_parse(word, strlen(word), &reason) ? mg_reason_text(reason) : word;
}

static void transition_print(FILE *out, const struct json_t *list, int index)
{
    char step[MEMBER_MAX], from[MEMBER_MAX], to[MEMBER_MAX], kind[MEMBER_MAX], text[MEMBER_MAX];
    (void)member(list, index, "step", step);
    (void)member(list, index, "from", from);
    (void)member(list, index, "to", to);
    mg_print(out, "%-24s  %-16s  %s → %s", "", step[0] != '\0' ? step : "order", from, to);
    if (strcmp(to, "running") == 0 || strcmp(to, "undo_running") == 0) {
        mg_print(out, "  (%s, attempt %s)", member(list, index, "kind", kind),
                 member(list, index, "attempt", text));
    }
    const char *reason = reason_of(member(list, index, "reason", text));
    if (reason[0] != '\0') {
        mg_print(out, ": %s", reason);
    }
    if (member(list, index, "due_at", text)[0] != '\0') {
        mg_print(out, ", until %s", text);
    }
    (void)fputc('\n', out);
}

/* Prints a status, with the state of its delivery if it has not arrived. */
static void status_print(FILE *out, const struct json_t *list, int index, const struct mg_table *events,
                         int row)
{
    const char *given_up_at = mg_table_cell(events, row, "given_up_at");
    bool is_owed = strcmp(mg_table_cell(events, row, "owed"), "t") == 0;
    char status[MEMBER_MAX], step[MEMBER_MAX], seq[MEMBER_MAX];
    (void)member(list, index, "step", step);
    mg_print(out, "%-24s  %-16s  status to client: %s%s%s (%s)", "", "",
             member(list, index, "status", status), step[0] != '\0' ? " " : "", step,
             member(list, index, "seq", seq));
    if (given_up_at[0] != '\0') {
        mg_print(out, ", given up at %s: its queue did not accept it", given_up_at);
    }
    mg_print(out, "%s\n", is_owed ? ", not yet delivered" : "");
}

/* Prints the reason in place of an unreadable list. */
static void list_excuse(FILE *out, const struct mg_table *events, int row, const char *name)
{
    struct json_t *list = NULL;
    struct mg_err err;
    if (!list_read(mg_table_cell(events, row, name), &list, &err)) {
        mg_print(out, "%-24s  %-16s  (the %s could not be read: %s)\n", "", "", name, err.text);
    }
    mg_document_free(list);
}

static void event_print(FILE *out, const struct mg_table *events, const struct mg_event_lists *lists, int row)
{
    const char *at = mg_table_cell(events, row, "at");
    const char *reason = mg_table_cell(events, row, "reason");
    const char *step = mg_table_cell(events, row, "step");
    mg_print(out, "%-24s  %-16s  %s%s%s by %s\n", at, step[0] != '\0' ? step : "order",
             mg_table_cell(events, row, "cause_kind"), reason[0] != '\0' ? ": " : "", reason,
             mg_table_cell(events, row, "by_whom"));
    for (int i = 0; mg_document_element(lists[row].transitions, i) != NULL; i++) {
        transition_print(out, lists[row].transitions, i);
    }
    for (int i = 0; mg_document_element(lists[row].statuses, i) != NULL; i++) {
        status_print(out, lists[row].statuses, i, events, row);
    }
    if (lists[row].is_unreadable) {
        list_excuse(out, events, row, "transitions");
        list_excuse(out, events, row, "statuses");
    }
}

/* Prints a blank and the time between two rows; nothing if a row has no time. */
static void time_print(FILE *out, const struct mg_table *events, int from, int to)
{
    static const struct {
        const char *name;
        int64_t ms;
    } UNITS[] = {{"h", 3600000}, {"min", 60000}, {"s", 1000}};
    char began[MG_MOMENT_SIZE], ended[MG_MOMENT_SIZE];
    bool is_known = mg_moment_parse(mg_table_cell(events, from, "at"), began) &&
                    mg_moment_parse(mg_table_cell(events, to, "at"), ended);
    int64_t ms = is_known ? strtoll(ended, NULL, 10) - strtoll(began, NULL, 10) : -1;
    if (ms < 0) { /* unknown, or the clock was set back */
        return;
    }
    size_t unit = 0;
    while (unit + 1 < sizeof(UNITS) / sizeof(UNITS[0]) && ms < 2 * UNITS[unit].ms) {
        unit++;
    }
    mg_print(out, " %" PRId64 " %s", (ms + UNITS[unit].ms / 2) / UNITS[unit].ms, UNITS[unit].name);
}

static void rounds_print(FILE *out, const struct mg_table *events, const struct mg_event_lists *lists,
                         int row, struct mg_rounds rounds)
{
    int end = row + rounds.events - 1;
    char reason[MEMBER_MAX], first[MEMBER_MAX], newest[MEMBER_MAX];
    mg_print(out, "%-24s  %-16s  waited", mg_table_cell(events, row, "at"),
             mg_table_cell(events, row, "step"));
    time_print(out, events, row, end);
    mg_print(out, ", %d looks: %s (attempts %s to %s", rounds.count,
             reason_of(member(lists[end].transitions, 0, "reason", reason)),
             member(lists[row].transitions, 0, "attempt", first),
             member(lists[rounds.last].transitions, 0, "attempt", newest));
    if (rounds.calls > 0) {
        mg_print(out, ", %d failed: %s", rounds.calls, mg_table_cell(events, rounds.answer, "reason"));
    }
    (void)fputs(")\n", out);
}

static bool is_cut(const struct mg_table *events)
{
    return events->row_count > 0 && strcmp(mg_table_cell(events, 0, "version"), "1") != 0;
}

/* Whether attempts may be missing among those of the events. */
static bool is_partial(const struct mg_table *events, const struct mg_event_lists *lists)
{
    bool is_unreadable = lists == NULL;
    for (int row = 0; row < events->row_count && !is_unreadable; row++) {
        is_unreadable = lists[row].is_unreadable;
    }
    return is_unreadable || is_cut(events);
}

/* Counts the attempts of a step by kind. */
static void attempts_count(const struct mg_table *events, const struct mg_event_lists *lists,
                           const char *step, int ret_counts[MG_KIND_COUNT])
{
    for (int row = 0; row < events->row_count; row++) {
        const struct json_t *change;
        for (int i = 0; (change = mg_document_element(lists[row].transitions, i)) != NULL; i++) {
            struct mg_slice to = mg_document_text(mg_document_member(change, "to"));
            struct mg_slice word = mg_document_text(mg_document_member(change, "kind"));
            enum mg_kind kind = MG_KIND_DO;
            if (mg_slice_is(mg_document_text(mg_document_member(change, "step")), step) &&
                (mg_slice_is(to, "running") || mg_slice_is(to, "undo_running")) && word.data != NULL &&
                mg_kind_parse(word.data, word.len, &kind)) {
                ret_counts[kind]++;
            }
        }
    }
}

/* Prints the number of attempts of each kind. The row's own number is a fence, which all kinds share and
 * which never goes back; it cannot be compared with the limit of one kind. */
static void attempts_print(FILE *out, const struct mg_table *events, const struct mg_event_lists *lists,
                           const char *step)
{
    int counts[MG_KIND_COUNT] = {0};
    const char *before = is_partial(events, lists) ? "attempts shown: " : "attempts: ";
    if (lists != NULL) {
        attempts_count(events, lists, step, counts);
    }
    for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
        if (counts[kind] > 0) {
            mg_print(out, "%s%d %s", before, counts[kind], mg_kind_name((enum mg_kind)kind));
            before = ", ";
        }
    }
    if (strcmp(before, ", ") != 0) {
        (void)fputs("no attempt", out);
    }
}

/* A step that its guard has stopped, or has not come to yet, has a reason instead of attempts. */
static bool is_without_attempts(const struct mg_table *steps, int row)
{
    return mg_table_cell(steps, row, MG_STEPS_WHY)[0] != '\0' &&
           strcmp(mg_table_cell(steps, row, "attempt"), "0") == 0;
}

/* The words before the step's last error or reason, and these. */
static void reason_print(FILE *out, const struct mg_table *steps, int row, bool is_first)
{
    const char *why = mg_table_cell(steps, row, MG_STEPS_WHY);
    const char *error = mg_table_cell(steps, row, "error_text");
    const char *message = mg_table_cell(steps, row, "error_message");
    const enum mg_error_reason reason =
        mg_error_facts_read(mg_slice_of(mg_table_cell(steps, row, "error_code"))).reason;
    const char *unreadable = mg_table_cell(steps, row, "unreadable");
    const char *label = reason == MG_ERROR_REASON_NOT_DONE_YET ? "last answer: " : "last failure: ";
    if (why[0] != '\0') {
        mg_print(out, "%s%s%s", is_first ? "" : ", ", mg_steps_is_refused(steps, row) ? "refused: " : "",
                 why);
        is_first = false;
    }
    if (unreadable[0] != '\0' && mg_table_cell(steps, row, "result")[0] == '\0') {
        mg_print(out, "%sits result cannot be read: %s", is_first ? "" : ", ", unreadable);
        is_first = false;
    }
    if (error[0] != '\0' && strcmp(error, why) != 0 && reason != MG_ERROR_REASON_RESULT_UNREADABLE) {
        mg_print(out, "%s%s%s%s%s", is_first ? "" : ", ", label, error, message[0] != '\0' ? ": " : "",
                 message);
    }
}

static void steps_print(FILE *out, const struct mg_table *steps, const struct mg_table *events,
                        const struct mg_event_lists *lists)
{
    for (int row = 0; row < steps->row_count; row++) {
        bool is_without = is_without_attempts(steps, row);
        const char *body = mg_table_cell(steps, row, "error_body");
        mg_print(out, "  %-16s %-13s ", mg_table_cell(steps, row, "step"),
                 mg_table_cell(steps, row, "state"));
        if (!is_without) {
            attempts_print(out, events, lists, mg_table_cell(steps, row, "step"));
        }
        mg_print(out, "%s",
                 strcmp(mg_table_cell(steps, row, "maybe"), "t") == 0 ? ", may have happened" : "");
        reason_print(out, steps, row, is_without);
        (void)fputc('\n', out);
        if (body[0] != '\0') {
            mg_print(out, "  %-16s %-13s its answer: %s\n", "", "", body);
        }
    }
}

static void labels_print(FILE *out, const char *text)
{
    struct json_t *labels = NULL;
    struct mg_err err;
    const char *name;
    if (!list_read(text, &labels, &err)) {
        mg_print(out, "(the labels could not be read: %s)\n", err.text);
        return;
    }
    for (int i = 0; mg_document_pair(labels, i, &name) != NULL; i++) {
        char value[MG_LABEL_VALUE_MAX + 1];
        (void)snprintf(value, sizeof(value), "%s", mg_document_text(mg_document_pair(labels, i, &name)).data);
        mg_print(out, "%s%s=%s", i == 0 ? "labels " : "  ", name, value);
    }
    mg_print(out, mg_document_pair(labels, 0, &name) != NULL ? "\n" : "");
    mg_document_free(labels);
}

void mg_story_print(FILE *out, const struct mg_table *order, const struct mg_table *steps,
                    const struct mg_table *events)
{
    if (order != NULL) {
        const char *client = mg_table_cell(order, 0, "client"); /* "": not proved by an exchange */
        mg_print(out, "order %s  %s %s  %s  version %s  generation %s%s%s\n",
                 mg_table_cell(order, 0, "order_id"), mg_table_cell(order, 0, "workflow"),
                 mg_table_cell(order, 0, "workflow_version"), mg_table_cell(order, 0, "state"),
                 mg_table_cell(order, 0, "version"), mg_table_cell(order, 0, "generation"),
                 client[0] != '\0' ? "  client " : "", client);
        labels_print(out, mg_table_cell(order, 0, "labels"));
    }
    struct mg_event_lists *lists = lists_read(events);
    if (steps != NULL) {
        steps_print(out, steps, events, lists);
        (void)fputc('\n', out);
    }
    if (order != NULL && is_cut(events)) {
        mg_print(out, "(events before version %s are left out)\n", mg_table_cell(events, 0, "version"));
    }
    if (lists == NULL) {
        (void)fputs("(the events could not be read: no memory)\n", out);
    }
    for (int row = 0; lists != NULL && row < events->row_count; row++) {
        struct mg_rounds rounds = mg_rounds_find(events, lists, row);
        if (rounds.count > 1) {
            rounds_print(out, events, lists, row, rounds);
            row += rounds.events - 1;
        } else {
            event_print(out, events, lists, row);
        }
    }
    lists_free(lists, events->row_count);
}
