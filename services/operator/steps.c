/* See steps.h. */
#include "operator/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/words.h"
#include "operator/awaited.h"
#include "operator/forecast.h"
#include "operator/order_rows.h"

/* A reason has a condition of at most 1 KiB (common/expr/expr.h) and some names. */
#define WHY_MAX ((size_t)2048)
/* Names of steps in a reason: more belong into the picture. */
#define NAMES_SHOWN 3

static bool is_word(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool has_reason(const struct mg_table *steps, int row, enum mg_reason reason)
{
    return is_word(mg_table_cell(steps, row, "reason"), mg_reason_name(reason));
}

static bool has_state(const struct mg_table *steps, int row, enum mg_step_state state)
{
    return is_word(mg_table_cell(steps, row, "state"), mg_step_state_name(state));
}

bool mg_steps_is_refused(const struct mg_table *steps, int row)
{
    return has_state(steps, row, MG_STEP_FAILED) &&
           (has_reason(steps, row, MG_REASON_REQUIREMENT) || has_reason(steps, row, MG_REASON_EXPRESSION) ||
            has_reason(steps, row, MG_REASON_SKIP_REFUSED));
}

/* ---- steps that have begun ---- */

static const char *why_of(const struct mg_table *steps, int row)
{
    bool is_skipped = has_state(steps, row, MG_STEP_SKIPPED);
    bool is_by_guard =
        has_reason(steps, row, MG_REASON_WHEN_FALSE) || has_reason(steps, row, MG_REASON_NEEDS_SKIPPED);
    if (is_skipped && !is_by_guard) {
        return mg_reason_text(has_reason(steps, row, MG_REASON_TIMED_OUT) ? MG_REASON_TIMED_OUT
                                                                          : MG_REASON_OPERATOR);
    }
    return is_skipped || mg_steps_is_refused(steps, row) ? mg_table_cell(steps, row, "error_text") : NULL;
}

static int row_of(const struct mg_table *steps, const char *step)
{
    for (int row = 0; row < steps->row_count; row++) {
        if (is_word(mg_table_cell(steps, row, "step"), step)) {
            return row;
        }
    }
    return -1;
}

/* ---- steps that have not ---- */

/* A condition of the definition, as it is written there. */
static bool condition_write(struct mg_buf *out, const struct mg_workflow *workflow, int step,
                            const char *member, const char *before)
{
    char pointer[64];
    (void)snprintf(pointer, sizeof(pointer), "/steps/%d/%s", step, member);
    struct mg_slice quoted = mg_json_find(workflow->text, pointer);
    if (quoted.data == NULL) {
        return false;
    }
    mg_buf_append_text(out, before);
    return mg_json_string(quoted, out);
}

/* The steps that must end first. */
static void names_write(struct mg_buf *out, const struct mg_workflow *workflow, const struct mg_table *steps,
                        int step)
{
    int shown = 0;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        int row =
            (workflow->plan.steps[step].after >> i & 1) != 0 ? row_of(steps, workflow->steps[i].name) : 0;
        bool has_ended =
            row >= 0 && (has_state(steps, row, MG_STEP_DONE) || has_state(steps, row, MG_STEP_SKIPPED));
        if ((workflow->plan.steps[step].after >> i & 1) == 0 || has_ended) {
            continue;
        }
        if (shown == NAMES_SHOWN) {
            mg_buf_append_text(out, ", …");
            return;
        }
        mg_buf_append_text(out, shown++ == 0 ? ", after step " : ", ");
        mg_buf_append_text(out, workflow->steps[i].name);
    }
}

static void why_not_yet(struct mg_buf *out, const struct mg_workflow *workflow, const struct mg_table *steps,
                        int step)
{
    mg_buf_clear(out);
    if (condition_write(out, workflow, step, "when", "it runs when ") ||
        condition_write(out, workflow, step, "require/0/that", "it is refused unless ")) {
        names_write(out, workflow, steps, step);
    }
}

/* Whether the order can still come to steps that have not begun. */
static bool is_forward(const struct mg_table *order)
{
    static const enum mg_order_state states[] = {MG_ORDER_PENDING, MG_ORDER_PROCESSING, MG_ORDER_ERROR};
    bool is_found = false;
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        is_found = is_found || is_word(mg_table_cell(order, 0, "state"), mg_order_state_name(states[i]));
    }
    return is_found && !is_word(mg_table_cell(order, 0, "goal"), mg_goal_name(MG_GOAL_COMPENSATED)) &&
           !is_word(mg_table_cell(order, 0, "goal"), mg_goal_name(MG_GOAL_CANCELLED));
}

static bool row_fill(struct mg_table *steps, int row, const struct mg_workflow *workflow, int step,
                     bool is_open)
{
    const struct {
        const char *column, *text;
    } cells[] = {{"step", workflow->steps[step].name},
                 {"service", workflow->steps[step].service},
                 {"state", is_open ? MG_STEPS_NOT_YET : MG_STEPS_NOT_REACHED},
                 {"reason", mg_reason_name(MG_REASON_NONE)},
                 {"attempt", "0"},
                 {"failure_count", "0"},
                 {"maybe", "f"}};
    bool is_done = true;
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        is_done = is_done && mg_table_put(steps, row, cells[i].column, cells[i].text);
    }
    return is_done;
}

/* The words in the column `why`, made plain. */
static bool why_put(struct mg_table *steps, int row, const struct mg_buf *why)
{
    char *text = strndup(why->data, why->len);
    if (text != NULL) {
        mg_text_make_plain(text);
    }
    bool is_done = text != NULL && mg_table_put(steps, row, MG_STEPS_WHY, text);
    free(text);
    return is_done;
}

static bool missing_add(const struct mg_table *order, const struct mg_table *begun,
                        const struct mg_workflow *workflow, struct mg_table *steps)
{
    struct mg_buf why;
    bool is_open = is_forward(order), is_done = true;
    mg_buf_init(&why, WHY_MAX);
    for (int i = 0; i < workflow->plan.step_count && is_done; i++) {
        if (row_of(begun, workflow->steps[i].name) >= 0) {
            continue;
        }
        int row = steps->row_count++; /* mg_steps_complete made room for it */
        is_done = row_fill(steps, row, workflow, i, is_open);
        if (is_open) {
            why_not_yet(&why, workflow, begun, i);
        }
        is_done = is_done && (why.len == 0 || why.failed || why_put(steps, row, &why));
    }
    mg_buf_finish(&why);
    return is_done;
}

/* ---- the copy ---- */

static const struct {
    const char *name;
    enum mg_value_type type;
} ADDED[] = {
    {MG_STEPS_WHY, MG_VALUE_TEXT}, {MG_STEPS_COUNTED, MG_VALUE_NUMBER}, {MG_STEPS_ALLOWED, MG_VALUE_NUMBER}};
#define ADDED_COUNT (sizeof(ADDED) / sizeof(ADDED[0]))

static bool head_copy(const struct mg_table *from, struct mg_table *to)
{
    int columns = from->column_count;
    to->columns = calloc((size_t)columns + ADDED_COUNT + 1, sizeof(char *));
    to->types = calloc((size_t)columns + ADDED_COUNT, sizeof(*to->types));
    if (to->columns == NULL || to->types == NULL) {
        return false;
    }
    to->column_count = columns + (int)ADDED_COUNT;
    for (int i = 0; i < to->column_count; i++) {
        bool is_added = i >= columns;
        to->columns[i] = strdup(is_added ? ADDED[i - columns].name : from->columns[i]);
        to->types[i] = is_added              ? ADDED[i - columns].type
                       : from->types != NULL ? from->types[i]
                                             : MG_VALUE_TEXT;
        if (to->columns[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Of a step that waits for a signal, or for which one came early. Empty: it is no such step. */
static void signals_write(struct mg_buf *out, const struct mg_workflow *workflow,
                          const struct mg_table *steps, int row)
{
    int step = workflow != NULL
                   ? mg_workflow_step_index(workflow, mg_slice_of(mg_table_cell(steps, row, "step")))
                   : -1;
    mg_buf_clear(out);
    if (step < 0 || workflow->steps[step].signal == NULL) {
        return;
    }
    if (has_reason(steps, row, MG_REASON_AWAITING_SIGNAL)) {
        mg_awaited_write(out, workflow, step, steps, row);
    } else {
        mg_awaited_early_write(out, workflow, step, steps, row);
    }
}

static bool signals_put(const struct mg_table *from, const struct mg_workflow *workflow, struct mg_table *to)
{
    bool is_done = true;
    struct mg_buf why;
    mg_buf_init(&why, WHY_MAX);
    for (int row = 0; row < from->row_count && is_done; row++) {
        signals_write(&why, workflow, from, row);
        is_done = why.len == 0 || why_put(to, row, &why);
    }
    mg_buf_finish(&why);
    return is_done;
}

static bool number_put(struct mg_table *steps, int row, const char *column, uint32_t number)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%u", number);
    return mg_table_put(steps, row, column, text);
}

/* The attempts of steps that have begun to call. */
static bool attempts_put(const struct mg_table *order_row, const struct mg_table *from,
                         const struct mg_workflow *workflow, struct mg_table *to)
{
    struct mg_order order;
    bool is_done = true;
    if (!mg_order_of_rows(order_row, from, workflow, &order)) {
        return true; /* a word of a newer version */
    }
    for (int row = 0; row < from->row_count && is_done; row++) {
        int step = mg_workflow_step_index(workflow, mg_slice_of(mg_table_cell(from, row, "step")));
        if (step < 0 || workflow->plan.steps[step].is_wait || order.steps[step].attempt == 0) {
            continue;
        }
        uint32_t allowed, counted = mg_forecast_counted(&workflow->plan, &order, step, &allowed);
        is_done =
            number_put(to, row, MG_STEPS_COUNTED, counted) && number_put(to, row, MG_STEPS_ALLOWED, allowed);
    }
    return is_done;
}

static bool rows_copy(const struct mg_table *from, struct mg_table *to)
{
    for (int row = 0; row < from->row_count; row++) {
        to->row_count++;
        for (int column = 0; column < from->column_count; column++) {
            const char *cell = from->cells[row * from->column_count + column];
            char **copy = &to->cells[row * to->column_count + column];
            *copy = cell != NULL ? strdup(cell) : NULL;
            if (cell != NULL && *copy == NULL) {
                return false;
            }
        }
        const char *why = why_of(from, row);
        if (why != NULL && !mg_table_put(to, row, MG_STEPS_WHY, why)) {
            return false;
        }
    }
    return true;
}

bool mg_steps_complete(const struct mg_table *order, const struct mg_table *steps, struct mg_slice definition,
                       struct mg_table *ret)
{
    struct mg_workflow *workflow = NULL;
    struct mg_err ignored; /* the rows that there are count */
    *ret = (struct mg_table){0};
    if (definition.len == 0 || mg_workflow_parse(definition, NULL, &workflow, &ignored) != MG_OK) {
        workflow = NULL;
    }
    int added = workflow != NULL ? workflow->plan.step_count : 0;
    size_t rows = (size_t)steps->row_count + (size_t)added;
    ret->cells = calloc(rows * ((size_t)steps->column_count + ADDED_COUNT) + 1, sizeof(char *));
    bool is_done = ret->cells != NULL && head_copy(steps, ret) && rows_copy(steps, ret) &&
                   signals_put(steps, workflow, ret) &&
                   (workflow == NULL ||
                    (attempts_put(order, steps, workflow, ret) && missing_add(order, steps, workflow, ret)));
    mg_workflow_destroy(workflow);
    return is_done;
}
