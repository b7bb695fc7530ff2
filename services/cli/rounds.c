/* See rounds.h. */
#include "rounds.h"

#include <string.h>

#include "wire/json.h"

#define ROUND_MAX 3 /* it goes out, fails, and finds the gate closed */

/* An event that moves one step and tells the client nothing. Slices are words as JSON has them, in quotes. */
struct move {
    const char *step, *cause, *why;
    struct mg_slice from, to, kind, reason;
};

static const char *const WAITS[] = {"\"waiting\"", "\"undo_waiting\"", "\"unknown\"", NULL};
static const char *const RUNS[] = {"\"running\"", "\"undo_running\"", NULL};
static const char *const GATES[] = {"\"no_consumer\"", "\"breaker_open\"", "\"service_paused\"",
                                    "\"window_full\"", NULL};

static bool is_one_of(struct mg_slice word, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (mg_slice_is(word, *words)) {
            return true;
        }
    }
    return false;
}

/* False: it is no such event. */
static bool move_take(const struct table *events, int row, struct move *ret)
{
    struct mg_slice transitions = mg_slice_of(table_cell(events, row, "transitions"));
    struct mg_slice statuses = mg_slice_of(table_cell(events, row, "statuses"));
    bool is_alone = transitions.len > 0 && mg_json_find(transitions, "/0/step").data != NULL &&
                    mg_json_find(transitions, "/1").data == NULL;
    if (!is_alone || (statuses.len > 0 && mg_json_find(statuses, "/0").data != NULL)) {
        return false;
    }
    *ret = (struct move){.step = table_cell(events, row, "step"),
                         .cause = table_cell(events, row, "cause_kind"),
                         .why = table_cell(events, row, "reason"),
                         .from = mg_json_find(transitions, "/0/from"),
                         .to = mg_json_find(transitions, "/0/to"),
                         .kind = mg_json_find(transitions, "/0/kind"),
                         .reason = mg_json_find(transitions, "/0/reason")};
    return true;
}

static bool is_same(const struct move *a, const struct move *b)
{
    return strcmp(a->step, b->step) == 0 && strcmp(a->cause, b->cause) == 0 && strcmp(a->why, b->why) == 0 &&
           mg_slice_equal(a->from, b->from) && mg_slice_equal(a->to, b->to) &&
           mg_slice_equal(a->kind, b->kind) && mg_slice_equal(a->reason, b->reason);
}

/* How many events the round that begins at `row` is made of; 0: none does. */
static int round_take(const struct table *events, int row, struct move ret[ROUND_MAX])
{
    if (!move_take(events, row, &ret[0]) || !is_one_of(ret[0].from, WAITS) || !is_one_of(ret[0].to, RUNS)) {
        return 0;
    }
    for (int i = 1; i < ROUND_MAX; i++) {
        if (!move_take(events, row + i, &ret[i]) || strcmp(ret[i].step, ret[0].step) != 0 ||
            !is_one_of(ret[i].to, WAITS)) {
            return 0;
        }
        if (is_one_of(ret[i].reason, GATES)) {
            return i + 1;
        }
    }
    return 0;
}

static bool is_repeated(const struct table *events, int row, const struct move *round, int length)
{
    struct move next[ROUND_MAX];
    bool is_equal = round_take(events, row, next) == length;
    for (int i = 0; i < length && is_equal; i++) {
        is_equal = is_same(&round[i], &next[i]);
    }
    return is_equal;
}

struct rounds rounds_find(const struct table *events, int row)
{
    struct move round[ROUND_MAX];
    struct rounds found = {.length = round_take(events, row, round)};
    if (found.length > 0) {
        do {
            found.count++;
        } while (is_repeated(events, row + found.count * found.length, round, found.length));
    }
    return found;
}
