/* The steps of an order as people see them: all steps of its workflow, each with the reason of its guard. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "operator/explain.h"
#include "operator/steps.h"
#include "suite.h"

static const char DEFINITION[] =
    "{\"workflow\":\"w\",\"version\":1,\"steps\":["
    "{\"step\":\"score\",\"service\":\"risk\",\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"},"
    "{\"step\":\"express\",\"service\":\"carrier\",\"after\":[],\"when\":\"payload.express\","
    "\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"},"
    "{\"step\":\"letter\",\"service\":\"mail\",\"needs\":[\"express\"],\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"},"
    "{\"step\":\"approve\",\"service\":\"desk\",\"after\":[\"score\",\"letter\"],"
    "\"when\":\"results.score.risk == \\u0027high\\u0027\",\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"},"
    "{\"step\":\"charge\",\"service\":\"payment\",\"after\":[\"approve\"],"
    "\"require\":[{\"that\":\"payload.total > 0\",\"text\":\"the total must be above 0\"}],"
    "\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"},"
    "{\"step\":\"ship\",\"service\":\"carrier\",\"do\":{\"method\":\"POST\",\"path\":\"/x\"},\"undo\":\"none\"}]}";

#define COLUMNS    9
#define ORDER_COLS 3
static const char *const STEP_COLUMNS[COLUMNS] = {"step",       "service", "state",  "reason", "attempt",
                                                  "error_text", "maybe",   "due_at", "open"};
static const char *const ORDER_COLUMNS[ORDER_COLS] = {"order_id", "state", "goal"};

static struct mg_table order, begun, whole;
static char *order_cells[ORDER_COLS];
static char *cells[8 * COLUMNS];
static char *step_names[COLUMNS], *order_names[ORDER_COLS];

static void setup(void)
{
    for (int i = 0; i < COLUMNS; i++) {
        step_names[i] = strdup(STEP_COLUMNS[i]);
    }
    for (int i = 0; i < ORDER_COLS; i++) {
        order_names[i] = strdup(ORDER_COLUMNS[i]);
    }
    order = (struct mg_table){
        .row_count = 1, .column_count = ORDER_COLS, .columns = order_names, .cells = order_cells};
    begun = (struct mg_table){.column_count = COLUMNS, .columns = step_names, .cells = cells};
    whole = (struct mg_table){0};
}

static void teardown(void)
{
    for (int i = 0; i < COLUMNS; i++) {
        free(step_names[i]);
    }
    for (int i = 0; i < ORDER_COLS; i++) {
        free(order_names[i]);
        free(order_cells[i]);
        order_cells[i] = NULL;
    }
    for (int i = 0; i < begun.row_count * COLUMNS; i++) {
        free(cells[i]);
    }
    mg_table_free(&whole);
}

static void order_is(enum mg_order_state state, enum mg_goal goal)
{
    order_cells[0] = strdup("o-1");
    order_cells[1] = strdup(mg_order_state_name(state));
    order_cells[2] = strdup(mg_goal_name(goal));
}

static void step_is(const char *step, enum mg_step_state state, enum mg_reason reason, int attempt,
                    const char *error_text)
{
    char **row = &cells[begun.row_count++ * COLUMNS];
    char number[16];
    (void)snprintf(number, sizeof(number), "%d", attempt);
    row[0] = strdup(step);
    row[1] = strdup("risk");
    row[2] = strdup(mg_step_state_name(state));
    row[3] = strdup(mg_reason_name(reason));
    row[4] = strdup(number);
    row[5] = error_text != NULL ? strdup(error_text) : NULL;
    row[6] = strdup("f");
    row[7] = row[8] = NULL;
}

/* A step that waits for a signal, or will. */
static void wait_is(const char *step, enum mg_step_state state, enum mg_reason reason, const char *due_at,
                    const char *open)
{
    step_is(step, state, reason, state == MG_STEP_PENDING ? 0 : 1, NULL);
    char **row = &cells[(begun.row_count - 1) * COLUMNS];
    row[7] = strdup(due_at);
    row[8] = open != NULL ? strdup(open) : NULL;
}

static void complete(const char *definition)
{
    ck_assert(mg_steps_complete(&order, &begun, mg_slice_of(definition), &whole));
}

static void assert_step(int row, const char *step, const char *state, const char *why)
{
    ck_assert_str_eq(mg_table_cell(&whole, row, "step"), step);
    ck_assert_str_eq(mg_table_cell(&whole, row, "state"), state);
    ck_assert_str_eq(mg_table_cell(&whole, row, MG_STEPS_WHY), why);
}

/* The lines in sequence, and the notes. */
static const char *explained(void)
{
    static char text[4096];
    const struct mg_explain_facts facts = {.order = &order, .steps = &whole, .has_branches = true};
    struct mg_explanation lines;
    struct mg_buf out;
    mg_explanation_make(&lines, &facts);
    mg_buf_init_fixed(&out, text, sizeof(text));
    mg_explanation_format(&out, &lines, 0);
    mg_buf_append(&out, "", 1);
    ck_assert(!out.failed);
    mg_explanation_free(&lines);
    return text;
}

/* Would catch: a skip without the values that decided, or with those of an earlier failure. */
START_TEST(a_skipped_step_has_the_reason_of_its_guard)
{
    order_is(MG_ORDER_PROCESSED, MG_GOAL_PROCESSED);
    step_is("score", MG_STEP_DONE, MG_REASON_NONE, 1, "risk answered 503");
    step_is("express", MG_STEP_SKIPPED, MG_REASON_WHEN_FALSE, 0, "payload.express was false");
    step_is("letter", MG_STEP_SKIPPED, MG_REASON_NEEDS_SKIPPED, 0,
            "step \"express\", which it needs, was skipped");
    step_is("approve", MG_STEP_SKIPPED, MG_REASON_OPERATOR, 3, "desk answered 503");
    complete(DEFINITION);
    assert_step(0, "score", "done", "");
    assert_step(1, "express", "skipped", "payload.express was false");
    assert_step(2, "letter", "skipped", "step \"express\", which it needs, was skipped");
    assert_step(3, "approve", "skipped", "an operator decided it");
    ck_assert_str_eq(explained(),
                     "order o-1 is processed: it has ended\n"
                     "every step is done or skipped\n"
                     "next: nothing\n"
                     "also: step express is skipped: payload.express was false\n"
                     "also: step letter is skipped: step \"express\", which it needs, was skipped\n"
                     "also: step approve is skipped: an operator decided it\n");
}
END_TEST

/* Would catch: the step that turned the order back, in place of the refund that it waits for. */
START_TEST(an_order_on_its_way_back_waits_for_its_undo)
{
    order_is(MG_ORDER_COMPENSATING, MG_GOAL_COMPENSATED);
    step_is("score", MG_STEP_UNDO_WAITING, MG_REASON_ASKED_TO_WAIT, 2, NULL);
    step_is("ship", MG_STEP_FAILED, MG_REASON_REPLY_PERMANENT, 1, "risk answered 422");
    complete(DEFINITION);
    ck_assert_msg(strstr(explained(), ": step score is to be undone at service risk\n") != NULL, "%s",
                  explained());
    ck_assert_msg(strstr(explained(), "the service asked to wait until") != NULL, "%s", explained());
}
END_TEST

static const char WAITS[] =
    "{\"workflow\":\"w\",\"version\":1,\"steps\":["
    "{\"step\":\"approve\",\"wait\":{\"signal\":\"approved\",\"within\":\"3d\",\"of\":2}},"
    "{\"step\":\"settled\",\"wait\":{\"signal\":\"paid\",\"within\":\"2d\",\"on_timeout\":\"skip\"}}]}";
#define UNTIL "2026-12-01T10:00:00.000Z"
#define BY_ANN                                                                                               \
    "{\"signals\":[{\"id\":\"1\",\"by\":\"ann\",\"at\":\"2026-11-29T10:00:00.000Z\",\"payload\":{\"ok\":true}}]}"

/* Would catch: a question without its signal, its time-out, the signatures or the consequence.
 */
START_TEST(a_wait_for_a_signal_names_its_time_out_and_who_has_signed)
{
    order_is(MG_ORDER_PROCESSING, MG_GOAL_PROCESSED);
    wait_is("approve", MG_STEP_WAITING, MG_REASON_AWAITING_SIGNAL, UNTIL, BY_ANN);
    wait_is("settled", MG_STEP_WAITING, MG_REASON_AWAITING_SIGNAL, UNTIL, NULL);
    complete(WAITS);
    assert_step(0, "approve", "waiting",
                "waits for signal approved until " UNTIL " (1 of 2, by ann); then it fails");
    assert_step(1, "settled", "waiting", "waits for signal paid until " UNTIL "; then it is skipped");
    ck_assert_ptr_nonnull(strstr(explained(),
                                 "order o-1 is processing: step approve waits for signal approved until "
                                 "2026-12-01 10:00:00 UTC"));
    ck_assert_ptr_nonnull(strstr(explained(), " (1 of 2, by ann); then it fails\n"));
}
END_TEST

/* Would catch: an early signal that is not shown, and a time-out that looks like an operator's decision. */
START_TEST(early_signals_and_time_outs_have_their_own_words)
{
    order_is(MG_ORDER_PROCESSING, MG_GOAL_PROCESSED);
    wait_is("approve", MG_STEP_PENDING, MG_REASON_NONE, "", BY_ANN);
    wait_is("settled", MG_STEP_SKIPPED, MG_REASON_TIMED_OUT, "", NULL);
    complete(WAITS);
    assert_step(0, "approve", "pending", "signal approved came early, by ann at 2026-11-29T10:00:00.000Z");
    assert_step(1, "settled", "skipped", "no signal ended its wait in time");
}
END_TEST

/* Would catch: a wait of a missing workflow, or unreadable signals, which end the answer.
 */
START_TEST(a_wait_has_words_without_its_definition_and_with_unreadable_signals)
{
    order_is(MG_ORDER_PROCESSING, MG_GOAL_PROCESSED);
    wait_is("approve", MG_STEP_WAITING, MG_REASON_AWAITING_SIGNAL, UNTIL, "{\"signals\":");
    complete(WAITS);
    assert_step(0, "approve", "waiting", "waits for signal approved until " UNTIL " (0 of 2); then it fails");
    mg_table_free(&whole);
    complete("");
    ck_assert_ptr_nonnull(
        strstr(explained(), ": step approve waits for a signal\nit waits for a signal (awaiting_signal)\n"));
}
END_TEST

/* Would catch: an order that waits for the input of a guard, without a word about the guard. */
START_TEST(a_step_that_has_not_begun_has_its_condition)
{
    order_is(MG_ORDER_PROCESSING, MG_GOAL_PROCESSED);
    step_is("score", MG_STEP_RUNNING, MG_REASON_NONE, 1, NULL);
    step_is("express", MG_STEP_SKIPPED, MG_REASON_WHEN_FALSE, 0, "payload.express was false");
    complete(DEFINITION);
    ck_assert_int_eq(whole.row_count, 6);
    assert_step(2, "letter", "not yet", "");
    assert_step(3, "approve", "not yet",
                "it runs when results.score.risk == 'high', after step score, letter");
    assert_step(4, "charge", "not yet", "it is refused unless payload.total > 0, after step approve");
    assert_step(5, "ship", "not yet", "");
    ck_assert_str_eq(mg_table_cell(&whole, 4, "service"), "payment");
    ck_assert_ptr_nonnull(strstr(explained(),
                                 "also: step express is skipped: payload.express was false\n"
                                 "also: step approve is not yet decided: it runs when results.score.risk == "
                                 "'high', after step score, letter\n"
                                 "also: step charge is not yet decided: it is refused unless"));
}
END_TEST

START_TEST(a_refused_step_has_the_text_and_the_values)
{
    order_is(MG_ORDER_ERROR, MG_GOAL_PROCESSED);
    step_is("charge", MG_STEP_FAILED, MG_REASON_REQUIREMENT, 0,
            "the total must be above 0 (payload.total > 0 was 0 > 0)");
    complete(DEFINITION);
    assert_step(0, "charge", "failed", "the total must be above 0 (payload.total > 0 was 0 > 0)");
    ck_assert(mg_steps_is_refused(&whole, 0));
    ck_assert_ptr_nonnull(strstr(explained(), "order o-1 is in error: step charge is refused\n"));
    ck_assert_ptr_nonnull(strstr(explained(), ": the total must be above 0 (payload.total > 0 was 0 > 0)"));
}
END_TEST

/* Would catch: "not yet" of a step to which the order never comes. */
START_TEST(an_order_that_turned_back_comes_to_no_other_step)
{
    order_is(MG_ORDER_ERROR, MG_GOAL_COMPENSATED);
    step_is("score", MG_STEP_UNDO_FAILED, MG_REASON_ATTEMPTS_EXHAUSTED, 4, "risk answered 503");
    complete(DEFINITION);
    assert_step(0, "score", "undo_failed", "");
    assert_step(3, "approve", "not reached", "");
    ck_assert_ptr_null(strstr(explained(), "approve"));
}
END_TEST

START_TEST(without_a_readable_definition_the_rows_stay)
{
    order_is(MG_ORDER_PROCESSING, MG_GOAL_PROCESSED);
    step_is("score", MG_STEP_RUNNING, MG_REASON_NONE, 1, NULL);
    complete("{\"steps\":[1.0]}");
    ck_assert_int_eq(whole.row_count, 1);
    mg_table_free(&whole);
    complete("");
    ck_assert_int_eq(whole.row_count, 1);
}
END_TEST

/* Would catch: a line of sixty skipped steps. */
START_TEST(the_line_names_three_steps_of_each_kind)
{
    order_is(MG_ORDER_PROCESSED, MG_GOAL_PROCESSED);
    for (int i = 0; i < 5; i++) {
        char name[] = {'s', (char)('0' + i), '\0'};
        step_is(name, MG_STEP_SKIPPED, MG_REASON_WHEN_FALSE, 0, "payload.gift was false");
    }
    complete("");
    ck_assert_ptr_nonnull(strstr(
        explained(), "also: step s2 is skipped: payload.gift was false\nalso: 2 more steps are skipped\n"));
    ck_assert_ptr_null(strstr(explained(), "s3"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("steps");
    TCase *tests = tcase_create("steps");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_skipped_step_has_the_reason_of_its_guard);
    tcase_add_test(tests, an_order_on_its_way_back_waits_for_its_undo);
    tcase_add_test(tests, a_wait_for_a_signal_names_its_time_out_and_who_has_signed);
    tcase_add_test(tests, early_signals_and_time_outs_have_their_own_words);
    tcase_add_test(tests, a_wait_has_words_without_its_definition_and_with_unreadable_signals);
    tcase_add_test(tests, a_step_that_has_not_begun_has_its_condition);
    tcase_add_test(tests, a_refused_step_has_the_text_and_the_values);
    tcase_add_test(tests, an_order_that_turned_back_comes_to_no_other_step);
    tcase_add_test(tests, without_a_readable_definition_the_rows_stay);
    tcase_add_test(tests, the_line_names_three_steps_of_each_kind);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
