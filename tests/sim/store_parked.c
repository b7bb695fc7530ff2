/* The statement of common/io/store/parked_rows.c, in parts with the names of its SQL: room, queue, gated,
 * chosen, pushed, found. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_server.h"
#include "store_tables.h"

#define FAR_MS 5000

enum { IS_LEADER, SERVICE, IS_HIGH, IS_OPEN, IS_PROBING, ORDER_ID, STEP, ATTEMPT, DUE_AT, COUNT };
static const char *const ROOMS[] = {"service", "is_high", "room"};

bool sim_waits_for_gate(const struct mg_step *step)
{
    bool is_waiting = step->state == MG_STEP_WAITING || step->state == MG_STEP_UNDO_WAITING ||
                      step->state == MG_STEP_UNKNOWN;
    return is_waiting && (step->reason == MG_REASON_NO_CONSUMER || step->reason == MG_REASON_BREAKER_OPEN ||
                          step->reason == MG_REASON_SERVICE_PAUSED || step->reason == MG_REASON_WINDOW_FULL);
}

/* A parked step. */
struct place {
    struct sim_order *order;
    int index;
};

struct places {
    struct place *at;
    int count;
};

static struct sim_parking *parking_of(const struct place *place)
{
    return &place->order->parking[place->index];
}

static const char *service_of(const struct place *place)
{
    return place->order->record.services[place->index];
}

static const struct mg_step *step_of(const struct place *place)
{
    return &place->order->record.order.steps[place->index];
}

static int compare_queue(const void *a, const void *b)
{
    const struct place *one = a, *two = b;
    int by_service = strcmp(service_of(one), service_of(two));
    return by_service != 0 ? by_service : (int)parking_of(one)->is_high - (int)parking_of(two)->is_high;
}

static int compare_until(const void *a, const void *b)
{
    const struct sim_parking *one = parking_of(a), *two = parking_of(b);
    return one->until_ms != two->until_ms ? (one->until_ms < two->until_ms ? -1 : 1) : 0;
}

static int compare_found(const void *a, const void *b)
{
    const struct place *one = a, *two = b;
    int64_t first_ms = step_of(one)->due_at_ms, second_ms = step_of(two)->due_at_ms;
    if (first_ms != second_ms) {
        return first_ms < second_ms ? -1 : 1;
    }
    int by_order = strcmp(one->order->record.order_id, two->order->record.order_id);
    return by_order != 0
               ? by_order
               : strcmp(one->order->record.step_names[one->index], two->order->record.step_names[two->index]);
}

static void place_add(struct places *places, struct place place)
{
    places->at = sim_grow(places->at, places->count, sizeof(*places->at));
    places->at[places->count++] = place;
}

static void places_sort(struct places *places, int (*compare)(const void *, const void *))
{
    if (places->count > 0) {
        qsort(places->at, (size_t)places->count, sizeof(*places->at), compare);
    }
}

static struct places places_find(const struct sim_tables *tables)
{
    struct places places = {NULL, 0};
    for (int i = 0; i < tables->order_count; i++) {
        for (int k = 0; k < MG_STEPS_MAX; k++) {
            if (tables->orders[i]->parking[k].is_parked) {
                place_add(&places, (struct place){tables->orders[i], k});
            }
        }
    }
    return places;
}

static bool is_gate_open(const struct sim_input *input, const char *service)
{
    const char *gate = sim_gate_of(input, mg_slice_of(service));
    return gate == NULL || strcmp(gate, "none") == 0;
}

static void row_begin(struct sim_output *output, const char *service, bool is_high, bool is_open)
{
    sim_output_row(output);
    sim_output_bool(output, IS_LEADER, true);
    sim_output_word(output, SERVICE, service);
    sim_output_bool(output, IS_HIGH, is_high);
    sim_output_bool(output, IS_OPEN, is_open);
}

/* Whether the place's queue comes after the one of $7 and $8; only such queues are listed. */
static bool is_behind(const struct sim_input *input, const struct place *place)
{
    char after[MG_NAME_MAX + 1] = "";
    struct mg_slice service = sim_scalar(input, 7);
    memcpy(after, service.data, service.len);
    int order = strcmp(service_of(place), after);
    return order != 0 ? order > 0 : parking_of(place)->is_high && sim_int(sim_scalar(input, 8)) == 0;
}

static void queues_tell(const struct sim_input *input, struct places *places, struct sim_output *output)
{
    int named = 0;
    places_sort(places, compare_queue);
    for (int i = 0; i < places->count && named < MG_PARKED_QUEUES_MAX; i++) {
        const struct place *place = &places->at[i];
        if (is_behind(input, place) && (i == 0 || compare_queue(place - 1, place) != 0)) {
            named++;
            row_begin(output, service_of(place), parking_of(place)->is_high,
                      is_gate_open(input, service_of(place)));
            sim_output_bool(output, IS_PROBING, sim_is_probing(input, mg_slice_of(service_of(place))));
        }
    }
}

/* Of one queue and one span of time, as many steps as there is room for. */
static void choose(const struct sim_input *input, const struct places *places, bool is_far,
                   struct places *chosen)
{
    int64_t room = sim_int(input->values[2]), now_ms = input->transaction->now_ms;
    for (int i = 0; i < places->count && room > 0; i++) {
        const struct place *place = &places->at[i];
        const struct sim_parking *parking = parking_of(place);
        bool is_in_span = is_far ? parking->until_ms > now_ms + FAR_MS : parking->until_ms <= now_ms;
        if (mg_slice_is(input->values[0], service_of(place)) && parking->until_ms != 0 && is_in_span &&
            parking->is_high == sim_bool(input->values[1]) &&
            !sim_is_skipped(input->transaction, place->order->record.order_id)) {
            place_add(chosen, *place);
            room--;
        }
    }
}

static void push(const struct sim_input *input, const struct place *place, struct places *found)
{
    struct sim_parking *parking = parking_of(place);
    enum mg_order_state state = place->order->record.order.state;
    bool is_open =
        state == MG_ORDER_PENDING || state == MG_ORDER_PROCESSING || state == MG_ORDER_COMPENSATING;
    if (!is_open || !sim_waits_for_gate(step_of(place))) {
        *parking = (struct sim_parking){0}; /* its order has ended, or the mark is stale */
        return;
    }
    parking->until_ms = input->transaction->now_ms + sim_int(sim_scalar(input, 3));
    place_add(found, *place);
}

static void ask_parked(struct sim_input *input, struct sim_output *output)
{
    sim_output_begin(output, COUNT);
    if (!sim_sweep_is_leader(input)) {
        sim_output_row(output);
        sim_output_bool(output, IS_LEADER, false);
        return;
    }
    struct places places = places_find(input->transaction->tables), chosen = {NULL, 0}, found = {NULL, 0};
    queues_tell(input, &places, output);
    places_sort(&places, compare_until);
    while (sim_input_next(input)) {
        char service[MG_NAME_MAX + 1] = "";
        memcpy(service, input->values[0].data, input->values[0].len);
        for (int is_far = 0; is_far < 2 && is_gate_open(input, service); is_far++) {
            choose(input, &places, is_far == 1, &chosen);
        }
    }
    for (int i = 0; i < chosen.count; i++) {
        push(input, &chosen.at[i], &found);
    }
    places_sort(&found, compare_found);
    for (int i = 0; i < found.count; i++) {
        const struct place *place = &found.at[i];
        row_begin(output, service_of(place), parking_of(place)->is_high, true);
        sim_output_word(output, ORDER_ID, place->order->record.order_id);
        sim_output_word(output, STEP, place->order->record.step_names[place->index]);
        sim_output_int(output, ATTEMPT, step_of(place)->attempt);
        sim_output_time(output, DUE_AT, step_of(place)->due_at_ms);
    }
    if (output->row < 0) {
        sim_output_row(output);
        sim_output_bool(output, IS_LEADER, true);
    }
    free(places.at);
    free(chosen.at);
    free(found.at);
}

static bool is_needed_by(const struct sim_workflow *workflow, struct mg_slice service)
{
    char text[MG_NAME_MAX + 16];
    int len = snprintf(text, sizeof(text), "\"service\":\"%.*s\"", (int)service.len, service.data);
    return memmem(workflow->definition.data, workflow->definition.len, text, (size_t)len) != NULL;
}

static bool is_newest(const struct sim_tables *tables, const struct sim_workflow *workflow)
{
    for (int i = 0; i < tables->workflow_count; i++) {
        const struct sim_workflow *other = &tables->workflows[i];
        if (mg_slice_equal(other->name, workflow->name) && other->version > workflow->version) {
            return false;
        }
    }
    return true;
}

static int64_t parked_of(const struct sim_tables *tables, struct mg_slice service, bool is_high)
{
    struct places places = places_find(tables);
    int64_t count = 0;
    for (int i = 0; i < places.count; i++) {
        count +=
            mg_slice_is(service, service_of(&places.at[i])) && parking_of(&places.at[i])->is_high == is_high;
    }
    free(places.at);
    return count;
}

int64_t sim_store_parked_count(const char *service)
{
    return parked_of(sim_server.tables, mg_slice_of(service), false);
}

/* $1 service, $2 is high, $3 limit */
static void count_parked(struct sim_input *input, struct sim_output *output)
{
    const struct sim_tables *tables = input->transaction->tables;
    struct mg_slice service = sim_scalar(input, 1);
    int64_t count = parked_of(tables, service, sim_int(sim_scalar(input, 2)) == 1),
            limit = sim_int(sim_scalar(input, 3));
    bool is_avoided = false;
    for (int i = 0; i < tables->workflow_count; i++) {
        const struct sim_workflow *workflow = &tables->workflows[i];
        is_avoided = is_avoided || (is_newest(tables, workflow) && !is_needed_by(workflow, service));
    }
    sim_output_begin(output, 2);
    sim_output_row(output);
    sim_output_int(output, 0, count < limit ? count : limit);
    sim_output_bool(output, 1, is_avoided);
}

const struct sim_statement SIM_PARKED_STATEMENTS[] = {
    SIM_STATEMENT("ask_parked", ask_parked, ROOMS, true),
    SIM_STATEMENT("ask_parked_keys", sim_no_keys, ROOMS, false),
    SIM_SCALARS("count_parked", count_parked, false),
    {.name = NULL},
};
