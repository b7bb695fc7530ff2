/* The statements of common/io/store/line_rows.c, and the supervisor's reports about lines. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

/* ---- tables ---- */

struct sim_lines sim_lines_copy(const struct sim_lines *from)
{
    struct sim_lines lines = *from;
    lines.keys = sim_copy_of(from->keys, from->key_count, sizeof(*from->keys));
    lines.places = sim_copy_of(from->places, from->place_count, sizeof(*from->places));
    return lines;
}

void sim_lines_free(struct sim_lines *lines)
{
    free(lines->keys);
    free(lines->places);
    *lines = (struct sim_lines){0};
}

void sim_lines_end(struct sim_transaction *transaction, bool is_committed)
{
    if (transaction->lines == NULL) {
        return;
    }
    if (is_committed) {
        sim_lines_free(&transaction->tables->lines);
        transaction->tables->lines = *transaction->lines;
    } else {
        sim_lines_free(transaction->lines);
    }
    free(transaction->lines);
    transaction->lines = NULL;
}

static struct sim_lines *lines_of(struct sim_transaction *transaction)
{
    if (transaction->lines == NULL) {
        transaction->lines = calloc(1, sizeof(*transaction->lines));
        assert(transaction->lines != NULL);
        *transaction->lines = sim_lines_copy(&transaction->tables->lines);
    }
    return transaction->lines;
}

static struct sim_sequence *line_find(const struct sim_lines *lines, struct mg_slice key)
{
    for (int i = 0; i < lines->key_count; i++) {
        if (mg_slice_equal(lines->keys[i].key, key)) {
            return &lines->keys[i];
        }
    }
    return NULL;
}

static struct sim_sequence *line_make(struct sim_lines *lines, struct mg_slice key, int64_t now_ms)
{
    lines->keys = sim_grow(lines->keys, lines->key_count, sizeof(*lines->keys));
    lines->keys[lines->key_count] =
        (struct sim_sequence){.key = sim_text(key), .order_id = mg_slice_of(""), .since_ms = now_ms};
    return &lines->keys[lines->key_count++];
}

static struct sim_place *place_find(const struct sim_lines *lines, struct mg_slice order_id,
                                    int64_t generation)
{
    for (int i = 0; i < lines->place_count; i++) {
        if (mg_slice_equal(lines->places[i].order_id, order_id) &&
            lines->places[i].generation == generation) {
            return &lines->places[i];
        }
    }
    return NULL;
}

static const struct sim_place *head_of(const struct sim_lines *lines, struct mg_slice key)
{
    const struct sim_place *head = NULL;
    for (int i = 0; i < lines->place_count; i++) {
        const struct sim_place *place = &lines->places[i];
        if (mg_slice_equal(place->key, key) && (head == NULL || place->place < head->place)) {
            head = place;
        }
    }
    return head;
}

/* ---- moves ---- */

struct sim_sequence_leave {
    struct mg_slice order_id;
    int64_t generation;
};

enum { N, ORDER_ID, GENERATION, LEFT_GENERATION, LEAVES, BEGINS, JOINS, KEY };
static const char *const MOVES[] = {"n",      "order_id", "generation", "left_generation",
                                    "leaves", "begins",   "joins",      "key"};

static void move_lines(struct sim_input *input, struct sim_output *output)
{
    struct sim_lines *lines = lines_of(input->transaction);
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        bool leaves = sim_bool(values[LEAVES]), begins = sim_bool(values[BEGINS]);
        struct sim_place *place =
            leaves || begins
                ? place_find(lines, values[ORDER_ID], sim_int(values[leaves ? LEFT_GENERATION : GENERATION]))
                : NULL;
        if (place != NULL) {
            struct sim_sequence *line = line_find(lines, place->key);
            line->length -= leaves ? 1 : 0;
            line->is_called = line->is_called || begins;
        }
        if (sim_bool(values[JOINS])) {
            struct sim_sequence *line = line_find(lines, values[KEY]);
            line = line != NULL ? line : line_make(lines, values[KEY], input->transaction->now_ms);
            line->tail++;
            line->length++;
        }
    }
}

/* New places have their numbers in the batch: from these to the last places of their keys. */
static void places_number(struct sim_lines *lines, int first)
{
    int count = lines->place_count - first;
    int64_t *later = calloc((size_t)count + 1, sizeof(*later));
    assert(later != NULL);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            const struct sim_place *one = &lines->places[first + i], *other = &lines->places[first + k];
            later[i] += mg_slice_equal(one->key, other->key) && other->place > one->place ? 1 : 0;
        }
    }
    for (int i = 0; i < count; i++) {
        struct sim_place *place = &lines->places[first + i];
        place->place = line_find(lines, place->key)->tail - later[i];
    }
    free(later);
}

/* The rows are sorted by order; places go by `n`. */
static void join_lines(struct sim_input *input, struct sim_output *output)
{
    struct sim_lines *lines = lines_of(input->transaction);
    int first = lines->place_count;
    (void)output;
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        if (!sim_bool(values[JOINS])) {
            continue;
        }
        if (place_find(lines, values[ORDER_ID], sim_int(values[GENERATION])) != NULL) {
            sim_transaction_fail(input->transaction, "23505",
                                 "duplicate key value violates unique constraint \"sequence_place_pkey\"");
            return;
        }
        lines->places = sim_grow(lines->places, lines->place_count, sizeof(*lines->places));
        lines->places[lines->place_count++] = (struct sim_place){.order_id = sim_text(values[ORDER_ID]),
                                                                 .key = sim_text(values[KEY]),
                                                                 .generation = sim_int(values[GENERATION]),
                                                                 .place = sim_int(values[N]),
                                                                 .joined_at_ms = input->transaction->now_ms};
    }
    places_number(lines, first);
}

static bool is_left(const struct sim_sequence_leave *leave, const struct sim_place *place)
{
    return mg_slice_equal(leave->order_id, place->order_id) && leave->generation == place->generation;
}

static void place_remove(struct sim_lines *lines, const struct sim_sequence_leave *leave)
{
    for (int i = 0; i < lines->place_count; i++) {
        if (is_left(leave, &lines->places[i])) {
            lines->places[i] = lines->places[--lines->place_count];
            return;
        }
    }
}

static void line_pass(struct sim_lines *lines, struct mg_slice key, int64_t n, int64_t now_ms,
                      struct sim_output *output)
{
    struct sim_sequence *line = line_find(lines, key);
    const struct sim_place *head = head_of(lines, key);
    if (line != NULL && head == NULL) {
        *line = lines->keys[--lines->key_count];
    } else if (line != NULL &&
               (!mg_slice_equal(line->order_id, head->order_id) || line->generation != head->generation)) {
        line->order_id = head->order_id;
        line->generation = head->generation;
        line->is_called = false;
        line->since_ms = now_ms;
        sim_output_row(output);
        sim_output_int(output, 0, n);
        sim_output_text(output, 1, head->order_id);
        sim_output_int(output, 2, head->generation);
    }
}

static void pass_lines(struct sim_input *input, struct sim_output *output)
{
    struct sim_lines *lines = lines_of(input->transaction);
    struct {
        struct mg_slice key;
        int64_t n;
    } *touched = NULL;
    int count = 0;
    sim_output_begin(output, 3);
    while (sim_input_next(input)) {
        const struct mg_slice *values = input->values;
        struct sim_sequence_leave leave = {values[ORDER_ID], sim_int(values[LEFT_GENERATION])};
        struct sim_place *place =
            sim_bool(values[LEAVES]) ? place_find(lines, leave.order_id, leave.generation) : NULL;
        struct mg_slice keys[] = {place != NULL ? place->key : (struct mg_slice){NULL, 0},
                                  sim_bool(values[JOINS]) ? sim_text(values[KEY])
                                                          : (struct mg_slice){NULL, 0}};
        if (place != NULL) {
            place_remove(lines, &leave);
        }
        for (int i = 0; i < 2; i++) {
            if (keys[i].data != NULL) {
                touched = sim_grow(touched, count, sizeof(*touched));
                touched[count].key = keys[i];
                touched[count++].n = sim_int(values[N]);
            }
        }
    }
    for (int i = 0; i < count; i++) {
        line_pass(lines, touched[i].key, touched[i].n, input->transaction->now_ms, output);
    }
    free(touched);
}

/* ---- reads ---- */

static const char *const KEYS[] = {"key"};

static void line_lengths(struct sim_input *input, struct sim_output *output)
{
    sim_output_begin(output, 2);
    while (sim_input_next(input)) {
        const struct sim_sequence *line = line_find(&input->transaction->tables->lines, input->values[0]);
        if (line != NULL) {
            sim_output_row(output);
            sim_output_text(output, 0, line->key);
            sim_output_int(output, 1, line->length);
        }
    }
}

/* A parameter of a report is text. */
static int64_t number_of(struct mg_slice text)
{
    char digits[24];
    size_t len = text.len < sizeof(digits) ? text.len : sizeof(digits) - 1;
    memcpy(digits, text.data, len);
    digits[len] = '\0';
    return strtoll(digits, NULL, 10);
}

static void report_line_turns(struct sim_input *input, struct sim_output *output)
{
    const struct sim_lines *lines = &input->transaction->tables->lines;
    int64_t before_ms = input->transaction->now_ms - number_of(sim_scalar(input, 1));
    sim_output_begin(output, 2);
    for (int i = 0; i < lines->key_count; i++) {
        const struct sim_sequence *line = &lines->keys[i];
        if (!line->is_called && line->since_ms < before_ms) {
            sim_output_row(output);
            sim_output_text(output, 0, line->order_id);
            sim_output_int(output, 1, line->generation);
        }
    }
}

/* No line of the simulator is held: its workflow releases it. */
static void report_line_figures(struct sim_input *input, struct sim_output *output)
{
    const struct sim_lines *lines = &input->transaction->tables->lines;
    int64_t waiting = 0, oldest_ms = 0;
    for (int i = 0; i < lines->place_count; i++) {
        const struct sim_sequence *line = line_find(lines, lines->places[i].key);
        if (!mg_slice_equal(line->order_id, lines->places[i].order_id)) {
            int64_t age_ms = input->transaction->now_ms - lines->places[i].joined_at_ms;
            oldest_ms = waiting == 0 || age_ms > oldest_ms ? age_ms : oldest_ms;
            waiting++;
        }
    }
    sim_output_begin(output, 5);
    sim_output_row(output);
    sim_output_int(output, 0, waiting);
    if (waiting > 0) {
        sim_output_int(output, 1, oldest_ms);
    }
    sim_output_int(output, 2, 0);
}

const struct sim_statement SIM_LINE_STATEMENTS[] = {
    SIM_STATEMENT("move_lines", move_lines, MOVES, true),
    SIM_STATEMENT("join_lines", join_lines, MOVES, true),
    SIM_STATEMENT("pass_lines", pass_lines, MOVES, true),
    SIM_STATEMENT("line_lengths", line_lengths, KEYS, false),
    SIM_SCALARS("report_line_turns", report_line_turns, false),
    SIM_SCALARS("report_line_figures", report_line_figures, false),
    {.name = NULL},
};
