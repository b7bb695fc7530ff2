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
#include "operator/option_words.h"
#include "operator/relative_time.h"
#include "operator/steps.h"
#include "rounds.h"
#include "wire/reply.h"

/* The longest text in a transition or status is a reason. */
#define MEMBER_MAX 1024

/* The statuses' outputs, which are the client's, count among their lists. */
static const struct mg_json_limits LIST_LIMITS = {
    .max_bytes = (size_t)1024 * 1024, .max_depth = 40, .max_members = 64 * 1024, .any_number = true};

/* The text or number of a member of a list's element; "" if it is absent. */
static const char *member(struct mg_slice element, const char *pointer, char text[MEMBER_MAX])
{
    struct mg_slice value = mg_json_find(element, pointer);
    if (mg_document_text(element, pointer, text, MEMBER_MAX) && value.data != NULL &&
        mg_json_type_of(value) == MG_JSON_NUMBER) {
        (void)snprintf(text, MEMBER_MAX, "%.*s", (int)value.len, value.data);
    }
    return text;
}

static bool list_read(const char *text, struct mg_slice *ret_list, struct mg_err *err)
{
    struct mg_slice list = mg_slice_of(text);
    if (list.len > 0 && mg_json_check(list, &LIST_LIMITS, err) != MG_OK) {
        return false;
    }
    *ret_list = mg_json_trim(list);
    return true;
}

/* The lists of all rows; NULL: no memory. The database has checked the texts of the lists, but accepts more
 * than the reader here: NUL in a string, for example. */
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

/* The width of the times of events. */
static int time_width(const struct mg_style *style)
{
    return style->now_ms != 0 && style->began_ms != 0 ? 10 : 24;
}

/* Prints until when a step waits, or for how long since the event. */
static void due_print(FILE *out, const struct mg_style *style, const char *at, const char *due_at)
{
    char span[MG_RELATIVE_TIME_SIZE];
    int64_t at_ms, due_ms;
    if (style->now_ms != 0 && mg_report_time_parse(at, &at_ms) && mg_report_time_parse(due_at, &due_ms)) {
        mg_span_write(due_ms - at_ms, span);
        mg_print(out, ", for %s", span);
    } else {
        mg_print(out, ", until %s", due_at);
    }
}

static void transition_print(FILE *out, const struct mg_style *style, const char *at, struct mg_slice change)
{
    char step[MEMBER_MAX], from[MEMBER_MAX], to[MEMBER_MAX], kind[MEMBER_MAX], text[MEMBER_MAX];
    (void)member(change, "/step", step);
    (void)member(change, "/from", from);
    (void)member(change, "/to", to);
    mg_print(out, "%-*s  %-16s  %s → ", time_width(style), "", step[0] != '\0' ? step : "order", from);
    mg_hue_print(out, style, to, 0);
    if (strcmp(to, "running") == 0 || strcmp(to, "undo_running") == 0) {
        mg_print(out, "  (%s, attempt %s)", member(change, "/kind", kind), member(change, "/attempt", text));
    }
    const char *reason = reason_of(member(change, "/reason", text));
    if (reason[0] != '\0') {
        mg_print(out, ": %s", reason);
    }
    if (member(change, "/due_at", text)[0] != '\0') {
        due_print(out, style, at, text);
    }
    (void)fputc('\n', out);
}

/* Prints a status, with the state of its delivery if it has not arrived. */
static void status_print(FILE *out, const struct mg_style *style, struct mg_slice sent,
                         const struct mg_table *events, int row)
{
    char time[MG_STYLED_SIZE];
    const char *given_up_at = mg_style_time(style, mg_table_cell(events, row, "given_up_at"), time);
    bool is_owed = strcmp(mg_table_cell(events, row, "owed"), "t") == 0;
    char status[MEMBER_MAX], step[MEMBER_MAX], seq[MEMBER_MAX];
    (void)member(sent, "/step", step);
    mg_print(out, "%-*s  %-16s  status to client: %s%s%s (%s)", time_width(style), "", "",
             member(sent, "/status", status), step[0] != '\0' ? " " : "", step, member(sent, "/seq", seq));
    if (given_up_at[0] != '\0') {
        mg_print(out, ", given up %s%s: its queue did not accept it", style->now_ms == 0 ? "at " : "",
                 given_up_at);
    }
    mg_print(out, "%s\n", is_owed ? ", not yet delivered" : "");
}

/* Prints the reason in place of an unreadable list. */
static void list_excuse(FILE *out, const struct mg_style *style, const struct mg_table *events, int row,
                        const char *name)
{
    struct mg_slice list;
    struct mg_err err;
    if (!list_read(mg_table_cell(events, row, name), &list, &err)) {
        mg_print(out, "%-*s  %-16s  (the %s could not be read: %s)\n", time_width(style), "", "", name,
                 err.text);
    }
}

/* The name of a process leads to its log, and means nothing else. */
static bool shows_author(const struct mg_style *style, const char *cause_word)
{
    enum mg_cause_kind cause;
    bool is_known = mg_cause_parse(cause_word, strlen(cause_word), &cause);
    return style->shows_authors ||
           (is_known && (cause == MG_CAUSE_SIGNAL || cause == MG_CAUSE_FIRE || cause >= MG_CAUSE_RESUME));
}

static void event_print(FILE *out, const struct mg_style *style, const struct mg_table *events,
                        const struct mg_event_lists *lists, int row)
{
    char time[MG_STYLED_SIZE];
    struct mg_slice name, element;
    const char *at = mg_table_cell(events, row, "at");
    const char *reason = mg_table_cell(events, row, "reason");
    const char *step = mg_table_cell(events, row, "step");
    const char *cause = mg_table_cell(events, row, "cause_kind");
    bool has_author = shows_author(style, cause);
    mg_print(out, "%-*s  %-16s  %s%s%s%s%s\n", time_width(style), mg_style_event_time(style, at, time),
             step[0] != '\0' ? step : "order", cause, reason[0] != '\0' ? ": " : "", reason,
             has_author ? " by " : "", has_author ? mg_table_cell(events, row, "by_whom") : "");
    for (struct mg_json_walk walk = mg_json_walk_of(lists[row].transitions);
         mg_json_walk_next(&walk, &name, &element);) {
        transition_print(out, style, at, element);
    }
    for (struct mg_json_walk walk = mg_json_walk_of(lists[row].statuses);
         mg_json_walk_next(&walk, &name, &element);) {
        status_print(out, style, element, events, row);
    }
    if (lists[row].is_unreadable) {
        list_excuse(out, style, events, row, "transitions");
        list_excuse(out, style, events, row, "statuses");
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

static void rounds_print(FILE *out, const struct mg_style *style, const struct mg_table *events,
                         const struct mg_event_lists *lists, int row, struct mg_rounds rounds)
{
    char time[MG_STYLED_SIZE];
    int end = row + rounds.events - 1;
    char reason[MEMBER_MAX], first[MEMBER_MAX], newest[MEMBER_MAX];
    mg_print(out, "%-*s  %-16s  waited", time_width(style),
             mg_style_event_time(style, mg_table_cell(events, row, "at"), time),
             mg_table_cell(events, row, "step"));
    time_print(out, events, row, end);
    mg_print(out, ", %d looks: %s (attempts %s to %s", rounds.count,
             reason_of(member(lists[end].transitions, "/0/reason", reason)),
             member(lists[row].transitions, "/0/attempt", first),
             member(lists[rounds.last].transitions, "/0/attempt", newest));
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
        struct mg_slice none, change;
        struct mg_json_walk walk = mg_json_walk_of(lists[row].transitions);
        while (mg_json_walk_next(&walk, &none, &change)) {
            char of[MEMBER_MAX], to[MEMBER_MAX], word[MEMBER_MAX];
            enum mg_kind kind = MG_KIND_DO;
            (void)member(change, "/to", to);
            (void)member(change, "/kind", word);
            if (strcmp(member(change, "/step", of), step) == 0 &&
                (strcmp(to, "running") == 0 || strcmp(to, "undo_running") == 0) &&
                mg_kind_parse(word, strlen(word), &kind)) {
                ret_counts[kind]++;
            }
        }
    }
}

/* By its policy; where the story has more, a request found no service, or a cool-down gave new ones. A
 * skipped step has no further one. */
static void counted_print(FILE *out, const struct mg_table *steps, int row, const int counts[MG_KIND_COUNT])
{
    const char *counted = mg_table_cell(steps, row, MG_STEPS_COUNTED);
    const char *state = mg_table_cell(steps, row, "state");
    int sent = counts[strncmp(state, "undo", strlen("undo")) == 0 ? MG_KIND_UNDO : MG_KIND_DO];
    if (counted[0] != '\0' && strcmp(state, "skipped") != 0 && sent != strtol(counted, NULL, 10)) {
        mg_print(out, ", %s of %s counted", counted, mg_table_cell(steps, row, MG_STEPS_ALLOWED));
    }
}

/* Prints the number of attempts of each kind. The row's own number is a fence, which all kinds share and
 * which never goes back; it cannot be compared with the limit of one kind. */
static void attempts_print(FILE *out, const struct mg_table *events, const struct mg_event_lists *lists,
                           const struct mg_table *steps, int row)
{
    int counts[MG_KIND_COUNT] = {0};
    bool is_part = is_partial(events, lists);
    const char *before = is_part ? "attempts shown: " : "attempts: ";
    if (lists != NULL) {
        attempts_count(events, lists, mg_table_cell(steps, row, "step"), counts);
    }
    for (int kind = 0; kind < MG_KIND_COUNT; kind++) {
        if (counts[kind] > 0) {
            mg_print(out, "%s%d %s", before, counts[kind], mg_kind_name((enum mg_kind)kind));
            before = ", ";
        }
    }
    if (strcmp(before, ", ") != 0) {
        (void)fputs("no attempt", out);
    } else if (!is_part) {
        counted_print(out, steps, row, counts);
    }
}

/* A step that its guard has stopped, or has not come to yet, has a reason instead of attempts. So has one
 * that waits for a signal: it calls nothing. */
static bool is_without_attempts(const struct mg_table *steps, int row)
{
    bool is_awaiting =
        strcmp(mg_table_cell(steps, row, "reason"), mg_reason_name(MG_REASON_AWAITING_SIGNAL)) == 0;
    return mg_table_cell(steps, row, MG_STEPS_WHY)[0] != '\0' &&
           (is_awaiting || strcmp(mg_table_cell(steps, row, "attempt"), "0") == 0);
}

/* The words before a step's last error. NULL: the error is left out. A step that is over did not fail by a
 * closed gate. */
static const char *error_label(const struct mg_table *steps, int row)
{
    const char *state = mg_table_cell(steps, row, "state");
    bool is_over = strcmp(state, mg_step_state_name(MG_STEP_DONE)) == 0 ||
                   strcmp(state, mg_step_state_name(MG_STEP_UNDONE)) == 0;
    const struct mg_slice code = mg_slice_of(mg_table_cell(steps, row, "error_code"));
    const enum mg_error_reason reason = mg_error_facts_read(code).reason;
    bool is_without_call = reason == MG_ERROR_REASON_BREAKER_OPEN || reason == MG_ERROR_REASON_SERVICE_PAUSED;
    if (reason == MG_ERROR_REASON_RESULT_UNREADABLE || (is_over && is_without_call)) {
        return NULL; /* an unreadable result has words of its own */
    }
    if (reason == MG_ERROR_REASON_NOT_DONE_YET) {
        return is_over ? "earlier answer: " : "last answer: ";
    }
    return is_over ? "earlier failure: " : "last failure: ";
}

/* The words before the step's last error or reason, and these. */
static void reason_print(FILE *out, const struct mg_table *steps, int row, bool is_first)
{
    const char *why = mg_table_cell(steps, row, MG_STEPS_WHY);
    const char *error = mg_table_cell(steps, row, "error_text");
    const char *message = mg_table_cell(steps, row, "error_message");
    const char *unreadable = mg_table_cell(steps, row, "unreadable");
    const char *label = error_label(steps, row);
    if (why[0] != '\0') {
        mg_print(out, "%s%s%s", is_first ? "" : ", ", mg_steps_is_refused(steps, row) ? "refused: " : "",
                 why);
        is_first = false;
    }
    if (unreadable[0] != '\0' && mg_table_cell(steps, row, "result")[0] == '\0') {
        mg_print(out, "%sits result cannot be read: %s", is_first ? "" : ", ", unreadable);
        is_first = false;
    }
    if (error[0] != '\0' && strcmp(error, why) != 0 && label != NULL) {
        mg_print(out, "%s%s%s%s%s", is_first ? "" : ", ", label, error, message[0] != '\0' ? ": " : "",
                 message);
    }
}

static void steps_print(FILE *out, const struct mg_style *style, const struct mg_table *steps,
                        const struct mg_table *events, const struct mg_event_lists *lists)
{
    for (int row = 0; row < steps->row_count; row++) {
        bool is_without = is_without_attempts(steps, row);
        const char *body = mg_table_cell(steps, row, "error_body");
        mg_print(out, "  %-16s ", mg_table_cell(steps, row, "step"));
        mg_hue_print(out, style, mg_table_cell(steps, row, "state"), 14);
        if (!is_without) {
            attempts_print(out, events, lists, steps, row);
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

static void labels_print(FILE *out, const char *object)
{
    struct mg_slice labels, name, value;
    struct mg_err err;
    int count = 0;
    if (!list_read(object, &labels, &err)) {
        mg_print(out, "(the labels could not be read: %s)\n", err.text);
        return;
    }
    for (struct mg_json_walk walk = mg_json_walk_of(labels); mg_json_walk_next(&walk, &name, &value);) {
        char text[MG_LABEL_VALUE_MAX + 1];
        (void)mg_document_text(value, "", text, sizeof(text));
        mg_print(out, "%s%.*s=%s", count++ == 0 ? "labels " : "  ", (int)name.len - 2, name.data + 1, text);
    }
    mg_print(out, count > 0 ? "\n" : "");
}

void mg_story_print(FILE *out, const struct mg_style *style, const struct mg_table *order,
                    const struct mg_table *steps, const struct mg_table *events)
{
    if (order != NULL) {
        char time[MG_STYLED_SIZE];
        const char *client = mg_table_cell(order, 0, "client"); /* "": not proved by an exchange */
        mg_print(out, "order %s  %s %s  ", mg_table_cell(order, 0, "order_id"),
                 mg_table_cell(order, 0, "workflow"), mg_table_cell(order, 0, "workflow_version"));
        mg_hue_print(out, style, mg_table_cell(order, 0, "state"), 0);
        mg_print(out, "  version %s  generation %s%s%s  accepted %s\n", mg_table_cell(order, 0, "version"),
                 mg_table_cell(order, 0, "generation"), client[0] != '\0' ? "  client " : "", client,
                 mg_style_time(style, mg_table_cell(order, 0, "created_at"), time));
        labels_print(out, mg_table_cell(order, 0, "labels"));
    }
    struct mg_event_lists *lists = lists_read(events);
    if (steps != NULL) {
        steps_print(out, style, steps, events, lists);
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
            rounds_print(out, style, events, lists, row, rounds);
            row += rounds.events - 1;
        } else {
            event_print(out, style, events, lists, row);
        }
    }
    free(lists);
}
