/* The two tables: every cell filled, terminal states closed, every state reachable, printed as the documents
 * show. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/describe.h"
#include "core/transition.h"
#include "suite.h"

#define STEP_CELLS  (MG_STEP_STATE_COUNT * MG_STEP_EVENT_COUNT)
#define ORDER_CELLS (MG_ORDER_STATE_COUNT * MG_ORDER_EVENT_COUNT)

/* Catches: a state or event that was added without a decision about its cells. */
static void check_cell(const struct mg_cell *cell, int state, int state_count)
{
    ck_assert_ptr_nonnull(cell->why);
    ck_assert_uint_gt(strlen(cell->why), 0);
    ck_assert_ptr_null(strchr(cell->why, '"'));
    ck_assert_int_ge(cell->next, 0);
    ck_assert_int_lt(cell->next, state_count);
    if (cell->verdict != MG_GO) {
        ck_assert_uint_eq(cell->effects, 0);
        ck_assert_int_eq(cell->next, state);
    }
}

START_TEST(every_step_cell_is_filled)
{
    int state = _i / MG_STEP_EVENT_COUNT;
    check_cell(mg_step_cell((enum mg_step_state)state, (enum mg_step_event)(_i % MG_STEP_EVENT_COUNT)), state,
               MG_STEP_STATE_COUNT);
}
END_TEST

START_TEST(every_order_cell_is_filled)
{
    int state = _i / MG_ORDER_EVENT_COUNT;
    check_cell(mg_order_cell((enum mg_order_state)state, (enum mg_order_event)(_i % MG_ORDER_EVENT_COUNT)),
               state, MG_ORDER_STATE_COUNT);
}
END_TEST

/* Catches: a table row from which no path leads in. */
START_TEST(every_step_state_is_reachable)
{
    bool is_reached[MG_STEP_STATE_COUNT] = {[MG_STEP_PENDING] = true};
    for (int round = 0; round < MG_STEP_STATE_COUNT; round++) {
        for (int i = 0; i < STEP_CELLS; i++) {
            int state = i / MG_STEP_EVENT_COUNT;
            const struct mg_cell *cell =
                mg_step_cell((enum mg_step_state)state, (enum mg_step_event)(i % MG_STEP_EVENT_COUNT));
            if (is_reached[state] && cell->verdict == MG_GO) {
                is_reached[cell->next] = true;
            }
        }
    }
    for (int state = 0; state < MG_STEP_STATE_COUNT; state++) {
        ck_assert_msg(is_reached[state], "%s is not reachable",
                      mg_step_state_name((enum mg_step_state)state));
    }
}
END_TEST

/* Catches: a processed order that slips back by itself. Only an operator or lost state may move a finished
 * order. */
START_TEST(finished_orders_move_only_by_a_person_or_lost_state)
{
    for (int i = 0; i < ORDER_CELLS; i++) {
        enum mg_order_state state = (enum mg_order_state)(i / MG_ORDER_EVENT_COUNT);
        enum mg_order_event event = (enum mg_order_event)(i % MG_ORDER_EVENT_COUNT);
        if (mg_order_state_is_terminal(state) && mg_order_cell(state, event)->verdict == MG_GO) {
            ck_assert(event == MG_ORDER_EVENT_AMEND || event == MG_ORDER_EVENT_FORWARD ||
                      event == MG_ORDER_EVENT_RAISE || event == MG_ORDER_EVENT_RESTART);
        }
    }
}
END_TEST

static void count_lines(void *arg, const char *text)
{
    for (; *text != '\0'; text++) {
        *(int *)arg += *text == '\n';
    }
}

START_TEST(csv_has_one_line_for_each_cell)
{
    int lines = 0;
    mg_describe_csv(count_lines, &lines);
    ck_assert_int_eq(lines, 1 + STEP_CELLS + ORDER_CELLS);
}
END_TEST

/* Each list has a reader of its own. A cut or extended word is refused. */
#define CHECK_WORDS(TYPE, NAME, PARSE, COUNT)                                                                \
    for (int i = 0; i < (COUNT); i++) {                                                                      \
        const char *word = NAME((TYPE)i);                                                                    \
        TYPE found = (COUNT);                                                                                \
        ck_assert(PARSE(word, strlen(word), &found));                                                        \
        ck_assert_int_eq(found, i);                                                                          \
    }                                                                                                        \
    for (size_t i = 0; i < sizeof(STRANGERS) / sizeof(STRANGERS[0]); i++) {                                  \
        TYPE untouched = (COUNT);                                                                            \
        ck_assert(!PARSE(STRANGERS[i], strlen(STRANGERS[i]), &untouched));                                   \
        ck_assert_int_eq(untouched, (COUNT));                                                                \
    }

START_TEST(words_read_back_as_they_are_spelled)
{
    static const char *const STRANGERS[] = {"don", "donee", "Done", "no_such_word"};
    CHECK_WORDS(enum mg_order_state, mg_order_state_name, mg_order_state_parse, MG_ORDER_STATE_COUNT)
    CHECK_WORDS(enum mg_step_state, mg_step_state_name, mg_step_state_parse, MG_STEP_STATE_COUNT)
    CHECK_WORDS(enum mg_cause_kind, mg_cause_name, mg_cause_parse, MG_CAUSE_COUNT)
    CHECK_WORDS(enum mg_kind, mg_kind_name, mg_kind_parse, MG_KIND_COUNT)
    CHECK_WORDS(enum mg_outcome, mg_outcome_name, mg_outcome_parse, MG_OUTCOME_COUNT)
    CHECK_WORDS(enum mg_executed, mg_executed_name, mg_executed_parse, MG_EXECUTED_COUNT)
    CHECK_WORDS(enum mg_goal, mg_goal_name, mg_goal_parse, MG_GOAL_COUNT)
    CHECK_WORDS(enum mg_status, mg_status_name, mg_status_word_parse, MG_STATUS_COUNT)
    CHECK_WORDS(enum mg_reason, mg_reason_name, mg_reason_parse, MG_REASON_COUNT)
    CHECK_WORDS(enum mg_alert, mg_alert_name, mg_alert_word_parse, MG_ALERT_COUNT)
    CHECK_WORDS(enum mg_signal_outcome, mg_signal_outcome_name, mg_signal_outcome_parse,
                MG_SIGNAL_OUTCOME_COUNT)
    CHECK_WORDS(enum mg_bulk_state, mg_bulk_state_name, mg_bulk_state_parse, MG_BULK_STATE_COUNT)
    CHECK_WORDS(enum mg_bulk_result, mg_bulk_result_name, mg_bulk_result_parse, MG_BULK_RESULT_COUNT)
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transition");
    TCase *cases = tcase_create("tables");
    tcase_add_loop_test(cases, every_step_cell_is_filled, 0, STEP_CELLS);
    tcase_add_loop_test(cases, every_order_cell_is_filled, 0, ORDER_CELLS);
    tcase_add_test(cases, every_step_state_is_reachable);
    tcase_add_test(cases, finished_orders_move_only_by_a_person_or_lost_state);
    tcase_add_test(cases, csv_has_one_line_for_each_cell);
    tcase_add_test(cases, words_read_back_as_they_are_spelled);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
