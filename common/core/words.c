/* Writes and parses the words of words.def. */
#include "core/words.h"

#include <string.h>

static bool list_find(const char *const *words, int count, const char *word, size_t len, int *ret)
{
    for (int i = 0; i < count; i++) {
        if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0) {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* Name and parser for one enum; the list of words comes from words.def. */
#define MG_WORDS(TYPE, NAME, PARSE, LIST)                                                                    \
    const char *NAME(TYPE value)                                                                             \
    {                                                                                                        \
        return (LIST)[value];                                                                                \
    }                                                                                                        \
    bool PARSE(const char *word, size_t len, TYPE *ret)                                                      \
    {                                                                                                        \
        int found = 0;                                                                                       \
        if (!list_find((LIST), (int)(sizeof(LIST) / sizeof((LIST)[0])), word, len, &found)) {                \
            return false;                                                                                    \
        }                                                                                                    \
        *ret = (TYPE)found;                                                                                  \
        return true;                                                                                         \
    }

static const char *const order_states[] = {
#define MG_ORDER_STATE(NAME, word, is_terminal) word,
#include "core/words.def"
};
static const char *const step_states[] = {
#define MG_STEP_STATE(NAME, word) word,
#include "core/words.def"
};
static const char *const order_events[] = {
#define MG_ORDER_EVENT(NAME, word) word,
#include "core/words.def"
};
static const char *const step_events[] = {
#define MG_STEP_EVENT(NAME, word) word,
#include "core/words.def"
};
static const char *const causes[] = {
#define MG_CAUSE(NAME, word) word,
#include "core/words.def"
};
static const char *const kinds[] = {
#define MG_KIND(NAME, word) word,
#include "core/words.def"
};
static const char *const outcomes[] = {
#define MG_OUTCOME(NAME, word) word,
#include "core/words.def"
};
static const char *const executed_words[] = {
#define MG_EXECUTED(NAME, word) word,
#include "core/words.def"
};
static const char *const error_reasons[] = {
    "", /* none */
#define MG_ERROR_REASON(NAME, word) word,
#include "core/words.def"
};
static const char *const goals[] = {
#define MG_GOAL(NAME, word) word,
#include "core/words.def"
};
static const char *const statuses[] = {
#define MG_STATUS(NAME, word) word,
#include "core/words.def"
};
static const char *const reasons[] = {
#define MG_REASON(NAME, word, text) word,
#include "core/words.def"
};
static const char *const alerts[] = {
#define MG_ALERT(NAME, word, text) word,
#include "core/words.def"
};
static const char *const signal_outcomes[] = {
    "", /* none */
#define MG_SIGNAL_OUTCOME(NAME, word) word,
#include "core/words.def"
};
static const char *const bulk_states[] = {
#define MG_BULK_STATE(NAME, word) word,
#include "core/words.def"
};
static const char *const bulk_results[] = {
#define MG_BULK_RESULT(NAME, word) word,
#include "core/words.def"
};

MG_WORDS(enum mg_order_state, mg_order_state_name, mg_order_state_parse, order_states)
MG_WORDS(enum mg_step_state, mg_step_state_name, mg_step_state_parse, step_states)
MG_WORDS(enum mg_cause_kind, mg_cause_name, mg_cause_parse, causes)
MG_WORDS(enum mg_kind, mg_kind_name, mg_kind_parse, kinds)
MG_WORDS(enum mg_outcome, mg_outcome_name, mg_outcome_parse, outcomes)
MG_WORDS(enum mg_executed, mg_executed_name, mg_executed_parse, executed_words)
MG_WORDS(enum mg_error_reason, mg_error_reason_name, mg_error_reason_parse, error_reasons)
MG_WORDS(enum mg_goal, mg_goal_name, mg_goal_parse, goals)
MG_WORDS(enum mg_status, mg_status_name, mg_status_word_parse, statuses)
MG_WORDS(enum mg_reason, mg_reason_name, mg_reason_parse, reasons)
MG_WORDS(enum mg_alert, mg_alert_name, mg_alert_word_parse, alerts)
MG_WORDS(enum mg_signal_outcome, mg_signal_outcome_name, mg_signal_outcome_parse, signal_outcomes)
MG_WORDS(enum mg_bulk_state, mg_bulk_state_name, mg_bulk_state_parse, bulk_states)
MG_WORDS(enum mg_bulk_result, mg_bulk_result_name, mg_bulk_result_parse, bulk_results)

const char *mg_order_event_name(enum mg_order_event event)
{
    return order_events[event];
}

const char *mg_step_event_name(enum mg_step_event event)
{
    return step_events[event];
}

bool mg_order_state_is_terminal(enum mg_order_state state)
{
    static const bool terminal[] = {
#define MG_ORDER_STATE(NAME, word, is_terminal) is_terminal,
#include "core/words.def"
    };
    return terminal[state];
}

enum mg_status mg_order_state_status(enum mg_order_state state)
{
    static const enum mg_status statuses_of[MG_ORDER_STATE_COUNT] = {
        [MG_ORDER_PENDING] = MG_STATUS_ACCEPTED,
        [MG_ORDER_PROCESSING] = MG_STATUS_ACCEPTED,
        [MG_ORDER_PROCESSED] = MG_STATUS_PROCESSED,
        [MG_ORDER_COMPENSATING] = MG_STATUS_COMPENSATING,
        [MG_ORDER_COMPENSATED] = MG_STATUS_COMPENSATED,
        [MG_ORDER_CANCELLED] = MG_STATUS_CANCELLED,
        [MG_ORDER_ERROR] = MG_STATUS_ERROR,
    };
    return statuses_of[state];
}

const char *mg_reason_text(enum mg_reason reason)
{
    static const char *const texts[] = {
#define MG_REASON(NAME, word, text) text,
#include "core/words.def"
    };
    return texts[reason];
}

const char *mg_alert_text(enum mg_alert alert)
{
    static const char *const texts[] = {
#define MG_ALERT(NAME, word, text) text,
#include "core/words.def"
    };
    return texts[alert];
}
