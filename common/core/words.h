/* The enums of words.def, their words, and the parsers. */
#ifndef MG_CORE_WORDS_H
#define MG_CORE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum mg_order_state {
#define MG_ORDER_STATE(NAME, word, is_terminal) MG_ORDER_##NAME,
#include "core/words.def"
    MG_ORDER_STATE_COUNT
};
enum mg_step_state {
#define MG_STEP_STATE(NAME, word) MG_STEP_##NAME,
#include "core/words.def"
    MG_STEP_STATE_COUNT
};
enum mg_order_event {
#define MG_ORDER_EVENT(NAME, word) MG_ORDER_EVENT_##NAME,
#include "core/words.def"
    MG_ORDER_EVENT_COUNT
};
enum mg_step_event {
#define MG_STEP_EVENT(NAME, word) MG_STEP_EVENT_##NAME,
#include "core/words.def"
    MG_STEP_EVENT_COUNT
};
enum mg_cause_kind {
#define MG_CAUSE(NAME, word) MG_CAUSE_##NAME,
#include "core/words.def"
    MG_CAUSE_COUNT
};
enum mg_kind {
#define MG_KIND(NAME, word) MG_KIND_##NAME,
#include "core/words.def"
    MG_KIND_COUNT
};
enum mg_outcome {
#define MG_OUTCOME(NAME, word) MG_OUTCOME_##NAME,
#include "core/words.def"
    MG_OUTCOME_COUNT
};
enum mg_executed {
#define MG_EXECUTED(NAME, word) MG_EXECUTED_##NAME,
#include "core/words.def"
    MG_EXECUTED_COUNT
};
enum mg_error_reason {
    MG_ERROR_REASON_NONE, /* there is no error; it has no word */
#define MG_ERROR_REASON(NAME, word) MG_ERROR_REASON_##NAME,
#include "core/words.def"
    MG_ERROR_REASON_COUNT
};
enum mg_goal {
#define MG_GOAL(NAME, word) MG_GOAL_##NAME,
#include "core/words.def"
    MG_GOAL_COUNT
};
enum mg_status {
#define MG_STATUS(NAME, word) MG_STATUS_##NAME,
#include "core/words.def"
    MG_STATUS_COUNT
};
enum mg_reason {
#define MG_REASON(NAME, word, text) MG_REASON_##NAME,
#include "core/words.def"
    MG_REASON_COUNT
};
enum mg_alert {
#define MG_ALERT(NAME, word, text) MG_ALERT_##NAME,
#include "core/words.def"
    MG_ALERT_COUNT
};
enum mg_signal_outcome {
    MG_SIGNAL_NONE, /* the command was no signal, or was not decided on; it has no word */
#define MG_SIGNAL_OUTCOME(NAME, word) MG_SIGNAL_##NAME,
#include "core/words.def"
    MG_SIGNAL_OUTCOME_COUNT
};
enum mg_bulk_state {
#define MG_BULK_STATE(NAME, word) MG_BULK_##NAME,
#include "core/words.def"
    MG_BULK_STATE_COUNT
};
enum mg_bulk_result {
#define MG_BULK_RESULT(NAME, word) MG_BULK_RESULT_##NAME,
#include "core/words.def"
    MG_BULK_RESULT_COUNT
};

bool mg_order_state_is_terminal(enum mg_order_state state);
/* The status that reports this state to a client. */
enum mg_status mg_order_state_status(enum mg_order_state state);
const char *mg_order_state_name(enum mg_order_state state);
const char *mg_step_state_name(enum mg_step_state state);
const char *mg_order_event_name(enum mg_order_event event);
const char *mg_step_event_name(enum mg_step_event event);
const char *mg_cause_name(enum mg_cause_kind kind);
const char *mg_kind_name(enum mg_kind kind);
const char *mg_outcome_name(enum mg_outcome outcome);
const char *mg_executed_name(enum mg_executed executed);
const char *mg_error_reason_name(enum mg_error_reason reason);
const char *mg_goal_name(enum mg_goal goal);
const char *mg_status_name(enum mg_status status);
const char *mg_reason_name(enum mg_reason reason);
const char *mg_reason_text(enum mg_reason reason);
const char *mg_alert_name(enum mg_alert alert);
const char *mg_alert_text(enum mg_alert alert);
const char *mg_signal_outcome_name(enum mg_signal_outcome outcome);
const char *mg_bulk_state_name(enum mg_bulk_state state);
const char *mg_bulk_result_name(enum mg_bulk_result result);

/* Parses a word of `len` bytes; false, and nothing written, if there is no such word. */
bool mg_order_state_parse(const char *word, size_t len, enum mg_order_state *ret);
bool mg_step_state_parse(const char *word, size_t len, enum mg_step_state *ret);
bool mg_cause_parse(const char *word, size_t len, enum mg_cause_kind *ret);
bool mg_kind_parse(const char *word, size_t len, enum mg_kind *ret);
bool mg_outcome_parse(const char *word, size_t len, enum mg_outcome *ret);
bool mg_executed_parse(const char *word, size_t len, enum mg_executed *ret);
bool mg_error_reason_parse(const char *word, size_t len, enum mg_error_reason *ret);
bool mg_goal_parse(const char *word, size_t len, enum mg_goal *ret);
bool mg_status_word_parse(const char *word, size_t len, enum mg_status *ret);
bool mg_reason_parse(const char *word, size_t len, enum mg_reason *ret);
bool mg_alert_word_parse(const char *word, size_t len, enum mg_alert *ret);
bool mg_signal_outcome_parse(const char *word, size_t len, enum mg_signal_outcome *ret);
bool mg_bulk_state_parse(const char *word, size_t len, enum mg_bulk_state *ret);
bool mg_bulk_result_parse(const char *word, size_t len, enum mg_bulk_result *ret);

#endif
