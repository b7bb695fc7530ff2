/* See rounds.h. */
#include "rounds.h"

#include <string.h>

#define ROUND_MAX 3 /* sent, failed, parked at the closed gate */

/* An event that moves one step and causes no status. */
struct move {
    const char *step, *cause, *why;
    struct mg_slice from, to, kind, reason; /* JSON strings */
};

/* The rows of an order's events. */
struct story {
    const struct mg_table *events;
    const struct mg_event_lists *lists;
};

static const char *const WAITS[] = {"waiting", "undo_waiting", "unknown", NULL};
static const char *const RUNS[] = {"running", "undo_running", NULL};
static const char *const GATES[] = {"no_consumer", "breaker_open", "service_paused", "window_full", NULL};

static bool is_one_of(struct mg_slice word, const char *const *words)
{
    while (*words != NULL && !mg_json_string_is(word, mg_slice_of(*words))) {
        words++;
    }
    return *words != NULL;
}

/* False: the event is of another form. */
static bool move_take(const struct story *story, int row, struct move *ret)
{
    const struct mg_table *events = story->events;
    if (row >= events->row_count) {
        return false;
    }
    const struct mg_event_lists *lists = &story->lists[row];
    struct mg_slice only = mg_json_find(lists->transitions, "/0");
    if (lists->is_unreadable || mg_json_find(only, "/step").data == NULL ||
        mg_json_find(lists->transitions, "/1").data != NULL ||
        mg_json_find(lists->statuses, "/0").data != NULL) {
        return false;
    }
    *ret = (struct move){.step = mg_table_cell(events, row, "step"),
                         .cause = mg_table_cell(events, row, "cause_kind"),
                         .why = mg_table_cell(events, row, "reason"),
                         .from = mg_json_find(only, "/from"),
                         .to = mg_json_find(only, "/to"),
                         .kind = mg_json_find(only, "/kind"),
                         .reason = mg_json_find(only, "/reason")};
    return true;
}

static bool is_same(const struct move *a, const struct move *b)
{
    return strcmp(a->step, b->step) == 0 && strcmp(a->cause, b->cause) == 0 && strcmp(a->why, b->why) == 0 &&
           mg_slice_equal(a->from, b->from) && mg_slice_equal(a->to, b->to) &&
           mg_slice_equal(a->kind, b->kind) && mg_slice_equal(a->reason, b->reason);
}

/* The number of events in the round that begins at `row`; 0: no round begins there. */
static int round_take(const struct story *story, int row, struct move ret[ROUND_MAX])
{
    if (!move_take(story, row, &ret[0]) || !is_one_of(ret[0].from, WAITS) || !is_one_of(ret[0].to, RUNS)) {
        return 0;
    }
    for (int i = 1; i < ROUND_MAX; i++) {
        if (!move_take(story, row + i, &ret[i]) || strcmp(ret[i].step, ret[0].step) != 0 ||
            !is_one_of(ret[i].to, WAITS)) {
            return 0;
        }
        if (is_one_of(ret[i].reason, GATES)) {
            return i + 1;
        }
    }
    return 0;
}

/* Rounds of one length must be equal. Rounds of different length must wait for the same reason. */
static bool is_alike(const struct move known[ROUND_MAX], int known_length, const struct move *round,
                     int length)
{
    if (known_length != length) {
        const struct move *a = &known[known_length - 1], *b = &round[length - 1];
        return strcmp(a->step, b->step) == 0 && mg_slice_equal(a->reason, b->reason);
    }
    for (int i = 0; i < length; i++) {
        if (!is_same(&known[i], &round[i])) {
            return false;
        }
    }
    return true;
}

struct mg_rounds mg_rounds_find(const struct mg_table *events, const struct mg_event_lists *lists, int row)
{
    const struct story story = {events, lists};
    struct move round[ROUND_MAX], known[ROUND_MAX + 1][ROUND_MAX]; /* the first of each length */
    bool is_known[ROUND_MAX + 1] = {false};
    struct mg_rounds found = {0};
    for (;;) {
        int length = round_take(&story, row + found.events, round);
        bool is_next = length > 0;
        for (int i = 0; i <= ROUND_MAX && is_next; i++) {
            is_next = !is_known[i] || is_alike(known[i], i, round, length);
        }
        if (!is_next) {
            return found;
        }
        if (!is_known[length]) {
            memcpy(known[length], round, sizeof(round));
            is_known[length] = true;
        }
        if (length == ROUND_MAX && found.calls++ == 0) {
            found.answer = row + found.events + 1;
        }
        found.last = row + found.events;
        found.count++;
        found.events += length;
    }
}
