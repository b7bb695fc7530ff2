/*
 * Messages are numbers, and queues are bags of them. Included by core.h into the verifier that Spin writes.
 */
#ifndef MODEL_MESSAGES_H
#define MODEL_MESSAGES_H

#include <stdbool.h>
#include <stdio.h>

#include "bounds.h"
#include "core/words.h"

/* 0: none. */
enum message {
    NO_MESSAGE,
    SUBMISSION,
    REPLY,
    OVERDUE,
    DUE,
    EXPIRED,
    OWED,
    REQUEST,
    UNPUBLISHABLE,
    RESUME,
    SIGNAL,
    CANCEL
};

enum { MARKED = 1 }; /* by the broker as redelivered, or by its sender as sent again */

static int message(int type, int step, int attempt, int word)
{
    return type << 10 | step << 9 | attempt << 5 | word << 1;
}
#define TYPE(m)    ((m) >> 10)
#define STEP(m)    ((m) >> 9 & 1)
#define ATTEMPT(m) ((m) >> 5 & 15)
#define WORD(m)    ((m) >> 1 & 15)

/* The word of a resume: whether it has its step's do repeated. */
enum { RESUME_ORDER, RESUME_REPEAT };

/* The word of a signal: it ends its step, or refuses it. The two have two ids. */
enum { SIGNAL_YES, SIGNAL_NO };

static bool names_step(int m)
{
    bool is_of_order = TYPE(m) == SUBMISSION || TYPE(m) == EXPIRED || TYPE(m) == OWED || TYPE(m) == CANCEL;
    return !is_of_order && (TYPE(m) != RESUME || WORD(m) == RESUME_REPEAT);
}

static const struct {
    enum mg_kind kind;
    enum mg_outcome outcome;
    enum mg_executed executed;
    bool is_service_down, may_still_act;
} REPLIES[] = {
    [DO_DONE] = {MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, false, false},
    [DO_DONE_OPEN] = {MG_KIND_DO, MG_OUTCOME_DONE, MG_EXECUTED_YES, false, true},
    [DO_REFUSED_NO] = {MG_KIND_DO, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, false, false},
    [DO_REFUSED_OPEN] = {MG_KIND_DO, MG_OUTCOME_PERMANENT, MG_EXECUTED_MAYBE, false, true},
    [DO_FAILED_NO] = {MG_KIND_DO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, false, false},
    [DO_FAILED_OPEN] = {MG_KIND_DO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false, true},
    [DO_AWAY_NO] = {MG_KIND_DO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, true, false},
    [DO_AWAY_OPEN] = {MG_KIND_DO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, true, true},
    [DO_FAILED_MAYBE] = {MG_KIND_DO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false, false},
    [VERIFY_DONE] = {MG_KIND_VERIFY, MG_OUTCOME_DONE, MG_EXECUTED_YES, false},
    [VERIFY_ABSENT] = {MG_KIND_VERIFY, MG_OUTCOME_ABSENT, MG_EXECUTED_NO, false},
    [VERIFY_FAILED] = {MG_KIND_VERIFY, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false},
    [UNDO_DONE] = {MG_KIND_UNDO, MG_OUTCOME_DONE, MG_EXECUTED_YES, false},
    [UNDO_FAILED] = {MG_KIND_UNDO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false},
    [UNDO_AWAY] = {MG_KIND_UNDO, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, true},
};

/* Queues and calls are kept sorted, largest first, so that the same content is the same state. */
static bool bag_put(short *bag, int size, int m)
{
    int i = size - 1;
    if (bag[i] != 0) {
        return false;
    }
    for (; i > 0 && bag[i - 1] < m; i--) {
        bag[i] = bag[i - 1];
    }
    bag[i] = (short)m;
    return true;
}

static bool bag_has(const short *bag, int size, int m)
{
    for (int i = 0; i < size; i++) {
        if (bag[i] == m) {
            return true;
        }
    }
    return false;
}

/* A queue holds equal messages once: a second copy is modelled as a message that is redelivered later. */
static bool set_put(short *set, int size, int m)
{
    return bag_has(set, size, m) || bag_put(set, size, m);
}

static void bag_take(short *bag, int size, int index)
{
    for (int i = index; i < size - 1; i++) {
        bag[i] = bag[i + 1];
    }
    bag[size - 1] = 0;
}

static bool bag_names(const short *bag, int size, int step, int attempt)
{
    for (int i = 0; i < size; i++) {
        if (bag[i] != 0 && STEP(bag[i]) == step && ATTEMPT(bag[i]) == attempt) {
            return true;
        }
    }
    return false;
}

/* ---- printing a trail (run --trail) ---- */

static bool is_telling;

static void tell(const char *what, int m)
{
    static const char *const TYPES[] = {[SUBMISSION] = "submission", [REPLY] = "reply",
                                        [OVERDUE] = "overdue",       [DUE] = "due",
                                        [EXPIRED] = "expired",       [OWED] = "owed",
                                        [REQUEST] = "request",       [UNPUBLISHABLE] = "unpublishable",
                                        [RESUME] = "resume",         [SIGNAL] = "signal",
                                        [CANCEL] = "cancel"};
    static const char *const WORDS[] = {"done",
                                        "done, open",
                                        "refused, executed no",
                                        "refused, maybe, open",
                                        "failed, no",
                                        "failed, maybe, open",
                                        "away, no",
                                        "away, maybe, open",
                                        "failed, maybe",
                                        "there",
                                        "absent",
                                        "failed",
                                        "undone",
                                        "failed, maybe",
                                        "away"};
    if (!is_telling) {
        return;
    }
    printf("# %s %s", what, m != 0 ? TYPES[TYPE(m)] : "");
    if (m != 0 && names_step(m)) {
        printf(" of step %d attempt %d", STEP(m), ATTEMPT(m));
    }
    if (m != 0 && (TYPE(m) == REQUEST || TYPE(m) == REPLY)) {
        printf(": %s", TYPE(m) == REPLY ? WORDS[WORD(m)] : mg_kind_name((enum mg_kind)WORD(m)));
    }
    if (m != 0 && TYPE(m) == SIGNAL) {
        printf(": %s", WORD(m) == SIGNAL_YES ? "yes" : "no");
    }
    printf("%s\n", m & MARKED ? " (again)" : "");
}

#endif
