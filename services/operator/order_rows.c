/* See order_rows.h. */
#include "operator/order_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "operator/option_words.h"

int64_t mg_moment_of(const char *text)
{
    char number[MG_MOMENT_SIZE];
    int64_t ms = mg_moment_parse(text, number) ? strtoll(number, NULL, 10) : 0;
    return ms > 0 ? ms : 0;
}

static bool flag(const struct mg_table *table, int row, const char *column)
{
    return strcmp(mg_table_cell(table, row, column), "t") == 0;
}

static uint32_t count(const struct mg_table *table, int row, const char *column)
{
    return (uint32_t)strtoul(mg_table_cell(table, row, column), NULL, 10);
}

static int64_t moment(const struct mg_table *table, int row, const char *column)
{
    return mg_moment_of(mg_table_cell(table, row, column));
}

void mg_step_of_row(const struct mg_table *steps, int row, struct mg_step *ret)
{
    const char *state = mg_table_cell(steps, row, "state"), *reason = mg_table_cell(steps, row, "reason");
    const char *kind = mg_table_cell(steps, row, "kind");
    if (!mg_step_state_parse(state, strlen(state), &ret->state)) {
        return; /* a step without a row: not yet, not reached */
    }
    (void)mg_reason_parse(reason, strlen(reason), &ret->reason);
    (void)mg_kind_parse(kind, strlen(kind), &ret->kind);
    ret->is_maybe = flag(steps, row, "maybe");
    ret->is_accepted = flag(steps, row, "is_accepted");
    ret->is_refused = flag(steps, row, "is_refused");
    ret->is_undo_dispatched = flag(steps, row, "is_undo_dispatched");
    ret->attempt = count(steps, row, "attempt");
    ret->failure_count = count(steps, row, "failure_count");
    ret->cool_down_count = count(steps, row, "cool_down_count");
    ret->generation = count(steps, row, "generation");
    ret->complete_by_ms = moment(steps, row, "complete_by");
    ret->due_at_ms = moment(steps, row, "due_at");
    ret->quiet_at_ms = moment(steps, row, "quiet_at");
    ret->finish_by_ms = moment(steps, row, "finish_by");
}

bool mg_order_of_rows(const struct mg_table *row, const struct mg_table *steps,
                      const struct mg_workflow *workflow, struct mg_order *ret)
{
    const char *state = mg_table_cell(row, 0, "state"), *goal = mg_table_cell(row, 0, "goal");
    const char *reason = mg_table_cell(row, 0, "reason");
    const struct mg_context context = {.now_ms = 0};
    mg_order_init(&workflow->plan, &context, 0, ret);
    ret->version = 1;
    ret->complete_by_ms = moment(row, 0, "complete_by");
    ret->wake_at_ms = moment(row, 0, "wake_at");
    for (int i = 0; i < steps->row_count; i++) {
        int step = mg_workflow_step_index(workflow, mg_slice_of(mg_table_cell(steps, i, "step")));
        if (step >= 0) {
            mg_step_of_row(steps, i, &ret->steps[step]);
        }
    }
    return mg_order_state_parse(state, strlen(state), &ret->state) &&
           mg_goal_parse(goal, strlen(goal), &ret->goal) &&
           mg_reason_parse(reason, strlen(reason), &ret->reason);
}
