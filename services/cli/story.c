/*
 * Prints the order's story from its event rows. Each change of state has a line with attempt and reason, and
 * so has each status to the client. Equal rounds of waiting share one line (rounds.h).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "core/words.h"
#include "operator/moment.h"
#include "rounds.h"
#include "wire/json.h"

/* The longest text in a transition or status is a reason. */
#define MEMBER_MAX 1024

/* The text of a member of the object at `index` of a JSON array; "" if it is absent. Numbers give their
 * digits. */
static const char *member(struct mg_slice list, int index, const char *name, char text[MEMBER_MAX])
{
    char pointer[80];
    struct mg_buf buf;
    (void)snprintf(pointer, sizeof(pointer), "/%d/%s", index, name);
    struct mg_slice value = mg_json_find(list, pointer);
    text[0] = '\0';
    if (value.data == NULL) {
        return text;
    }
    mg_buf_init(&buf, MEMBER_MAX - 1);
    if (!mg_json_string(value, &buf)) {
        mg_buf_append_slice(&buf, value);
    }
    if (!buf.failed && buf.len > 0) {
        memcpy(text, buf.data, buf.len);
        text[buf.len] = '\0';
        text_make_plain(text); /* JSON escapes hid it from text_make_plain when the row was read */
    }
    mg_buf_finish(&buf);
    return text;
}

static bool has_entry(struct mg_slice list, int index)
{
    char pointer[16];
    (void)snprintf(pointer, sizeof(pointer), "/%d", index);
    return list.len > 0 && mg_json_find(list, pointer).data != NULL;
}

static const char *reason_of(const char *word)
{
    enum mg_reason reason = MG_REASON_NONE;
    return mg_reason_parse(word, strlen(word), &reason) ? mg_reason_text(reason) : word;
}

static void transition_print(FILE *out, struct mg_slice list, int index)
{
    char step[MEMBER_MAX], from[MEMBER_MAX], to[MEMBER_MAX], kind[MEMBER_MAX], text[MEMBER_MAX];
    (void)member(list, index, "step", step);
    (void)member(list, index, "from", from);
    (void)member(list, index, "to", to);
    (void)fprintf(out, "%-24s  %-16s  %s → %s", "", step[0] != '\0' ? step : "order", from, to);
    if (strcmp(to, "running") == 0 || strcmp(to, "undo_running") == 0) {
        (void)fprintf(out, "  (%s, attempt %s)", member(list, index, "kind", kind),
                      member(list, index, "attempt", text));
    }
    const char *reason = reason_of(member(list, index, "reason", text));
    if (reason[0] != '\0') {
        (void)fprintf(out, ": %s", reason);
    }
    if (member(list, index, "due_at", text)[0] != '\0') {
        (void)fprintf(out, ", until %s", text);
    }
    (void)fputc('\n', out);
}

/* Prints a status, with the state of its delivery if it has not arrived. */
static void status_print(FILE *out, struct mg_slice list, int index, const struct table *events, int row)
{
    const char *given_up_at = table_cell(events, row, "given_up_at");
    bool is_owed = strcmp(table_cell(events, row, "owed"), "t") == 0;
    char status[MEMBER_MAX], step[MEMBER_MAX], seq[MEMBER_MAX];
    (void)member(list, index, "step", step);
    (void)fprintf(out, "%-24s  %-16s  status to client: %s%s%s (%s)", "", "",
                  member(list, index, "status", status), step[0] != '\0' ? " " : "", step,
                  member(list, index, "seq", seq));
    if (given_up_at[0] != '\0') {
        (void)fprintf(out, ", given up at %s: its queue did not accept it", given_up_at);
    }
    (void)fprintf(out, "%s\n", is_owed ? ", not yet delivered" : "");
}

static void event_print(FILE *out, const struct table *events, int row)
{
    const char *at = table_cell(events, row, "at");
    const char *reason = table_cell(events, row, "reason");
    const char *step = table_cell(events, row, "step");
    (void)fprintf(out, "%-24s  %-16s  %s%s%s by %s\n", at, step[0] != '\0' ? step : "order",
                  table_cell(events, row, "cause_kind"), reason[0] != '\0' ? ": " : "", reason,
                  table_cell(events, row, "by_whom"));
    struct mg_slice transitions = mg_slice_of(table_cell(events, row, "transitions"));
    for (int i = 0; has_entry(transitions, i); i++) {
        transition_print(out, transitions, i);
    }
    struct mg_slice statuses = mg_slice_of(table_cell(events, row, "statuses"));
    for (int i = 0; has_entry(statuses, i); i++) {
        status_print(out, statuses, i, events, row);
    }
}

/* Prints a blank and the time between two rows; nothing if a row has no time. */
static void time_print(FILE *out, const struct table *events, int from, int to)
{
    static const struct {
        const char *name;
        int64_t ms;
    } UNITS[] = {{"h", 3600000}, {"min", 60000}, {"s", 1000}};
    char began[MOMENT_SIZE], ended[MOMENT_SIZE];
    bool is_known = moment_parse(table_cell(events, from, "at"), began) &&
                    moment_parse(table_cell(events, to, "at"), ended);
    int64_t ms = is_known ? strtoll(ended, NULL, 10) - strtoll(began, NULL, 10) : -1;
    if (ms < 0) { /* unknown, or the clock was set back */
        return;
    }
    size_t unit = 0;
    while (unit + 1 < sizeof(UNITS) / sizeof(UNITS[0]) && ms < 2 * UNITS[unit].ms) {
        unit++;
    }
    (void)fprintf(out, " %" PRId64 " %s", (ms + UNITS[unit].ms / 2) / UNITS[unit].ms, UNITS[unit].name);
}

static void rounds_print(FILE *out, const struct table *events, int row, struct rounds rounds)
{
    int end = row + rounds.events - 1;
    char reason[MEMBER_MAX], first[MEMBER_MAX], newest[MEMBER_MAX];
    (void)fprintf(out, "%-24s  %-16s  waited", table_cell(events, row, "at"),
                  table_cell(events, row, "step"));
    time_print(out, events, row, end);
    (void)fprintf(out, ", %d looks: %s (attempts %s to %s", rounds.count,
                  reason_of(member(mg_slice_of(table_cell(events, end, "transitions")), 0, "reason", reason)),
                  member(mg_slice_of(table_cell(events, row, "transitions")), 0, "attempt", first),
                  member(mg_slice_of(table_cell(events, rounds.last, "transitions")), 0, "attempt", newest));
    if (rounds.calls > 0) {
        (void)fprintf(out, ", %d failed: %s", rounds.calls, table_cell(events, rounds.answer, "reason"));
    }
    (void)fputs(")\n", out);
}

static void steps_print(FILE *out, const struct table *steps)
{
    for (int row = 0; row < steps->row_count; row++) {
        const char *error = table_cell(steps, row, "error_text");
        (void)fprintf(out, "  %-16s %-13s attempt %s, failures %s%s%s%s\n", table_cell(steps, row, "step"),
                      table_cell(steps, row, "state"), table_cell(steps, row, "attempt"),
                      table_cell(steps, row, "failure_count"),
                      strcmp(table_cell(steps, row, "maybe"), "t") == 0 ? ", may have happened" : "",
                      error[0] != '\0' ? ", last failure: " : "", error);
    }
}

void story_print(FILE *out, const struct table *order, const struct table *steps, const struct table *events)
{
    if (order != NULL) {
        const char *client = table_cell(order, 0, "client"); /* "": not proved by an exchange */
        (void)fprintf(out, "order %s  %s %s  %s  version %s  generation %s%s%s\n",
                      table_cell(order, 0, "order_id"), table_cell(order, 0, "workflow"),
                      table_cell(order, 0, "workflow_version"), table_cell(order, 0, "state"),
                      table_cell(order, 0, "version"), table_cell(order, 0, "generation"),
                      client[0] != '\0' ? "  client " : "", client);
    }
    if (steps != NULL) {
        steps_print(out, steps);
        (void)fputc('\n', out);
    }
    if (order != NULL && events->row_count > 0 && strcmp(table_cell(events, 0, "version"), "1") != 0) {
        (void)fprintf(out, "(events before version %s are left out)\n", table_cell(events, 0, "version"));
    }
    for (int row = 0; row < events->row_count; row++) {
        struct rounds rounds = rounds_find(events, row);
        if (rounds.count > 1) {
            rounds_print(out, events, row, rounds);
            row += rounds.events - 1;
        } else {
            event_print(out, events, row);
        }
    }
}
