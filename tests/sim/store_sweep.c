/*
 * The statement "sweep" of common/io/store/sweep_due.c, in parts with the names of its SQL: timely, latest,
 * woken, locked, beyond, found, crowd, graced, ranked, judged, next, pushed, marked, asked.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "store_tables.h"

#define LOOK_AGAIN_MS     60000
#define LOOK_AT_PARKED_MS 86400000
#define HELD_BACK_MS      1000
#define SWEEPS_HELD       4
#define WOKEN_MS          1

struct found {
    struct sim_order *order;
    enum mg_cause_kind ask;
    const struct mg_step *step; /* NULL: the order as a whole */
    const char *step_name;
    int64_t deadline_ms; /* 0: none */
    int64_t set_at_ms;
    int turn;       /* position among the service's items that the brake counts */
    int64_t beyond; /* places beyond the brake's limit */
    bool is_stuck, is_left, is_braked, is_graced, is_held_back;
};

struct sweep {
    struct sim_input *input;
    int64_t now_ms, limit, ask_again_ms, overdue_limit, step_limit;
    struct mg_spared grace;
    int64_t gap_after_ms, gap_before_ms;
    struct sim_order **locked; /* orders of this sweep */
    int locked_count;
    bool is_full;
    struct found *founds;
    int found_count;
};

static bool is_open(const struct mg_order *order)
{
    return !mg_order_state_is_terminal(order->state);
}

static bool is_ended(const struct mg_step *step)
{
    return step->state == MG_STEP_DONE || step->state == MG_STEP_FAILED || step->state == MG_STEP_SKIPPED ||
           step->state == MG_STEP_UNDONE || step->state == MG_STEP_UNDO_FAILED;
}

/* open_step: whether step `index` of the order is one, and its deadline (0: none). */
static bool is_open_step(const struct mg_order_record *record, int index, int64_t *ret_deadline_ms)
{
    const struct mg_step *step = &record->order.steps[index];
    if ((record->stored_steps >> index & 1) == 0) {
        return false;
    }
    *ret_deadline_ms = mg_step_is_running(step) ? step->complete_by_ms : step->due_at_ms;
    return mg_step_is_running(step) || (!is_ended(step) && is_open(&record->order)) ||
           (record->order.state == MG_ORDER_ERROR && mg_step_is_polled(step));
}

/* The complete-by of an order that goes forward; 0: none. */
static int64_t complete_by_of(const struct mg_order *order)
{
    bool goes_forward = order->goal == MG_GOAL_PROCESSED &&
                        (order->state == MG_ORDER_PENDING || order->state == MG_ORDER_PROCESSING);
    return goes_forward ? order->complete_by_ms : 0;
}

/* ---- locked ---- */

static int compare_wake(const void *a, const void *b)
{
    const struct mg_order_record *one = &(*(struct sim_order *const *)a)->record;
    const struct mg_order_record *two = &(*(struct sim_order *const *)b)->record;
    if (one->order.wake_at_ms != two->order.wake_at_ms) {
        return one->order.wake_at_ms < two->order.wake_at_ms ? -1 : 1;
    }
    return strcmp(one->order_id, two->order_id);
}

bool sim_is_skipped(const struct sim_transaction *transaction, const char *order_id)
{
    uint64_t hash = transaction->locked_salt;
    if (hash == 0) {
        return false;
    }
    for (const char *at = order_id; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3); /* FNV-1a */
    }
    return (hash >> 32) % 4 == 0;
}

/* The kinds that a sweep locks. */
enum kind { TIMELY, LATEST, WOKEN };

struct kind_locked {
    struct sim_order **orders;
    int64_t count;
};

static int compare_wake_latest(const void *a, const void *b)
{
    int64_t one_ms = (*(struct sim_order *const *)a)->record.order.wake_at_ms;
    int64_t two_ms = (*(struct sim_order *const *)b)->record.order.wake_at_ms;
    return one_ms != two_ms ? (one_ms > two_ms ? -1 : 1) : compare_wake(a, b);
}

/* At most `most` orders of a kind that wake after `after_ms`. */
static struct kind_locked kind_lock(const struct sweep *sweep, enum kind kind, int64_t after_ms, int64_t most)
{
    const struct sim_tables *tables = sweep->input->transaction->tables;
    struct kind_locked locked = {.orders =
                                     calloc((size_t)tables->order_count + 1, sizeof(struct sim_order *))};
    assert(locked.orders != NULL);
    for (int i = 0; i < tables->order_count; i++) {
        struct sim_order *order = tables->orders[i];
        int64_t wake_at_ms = order->record.order.wake_at_ms;
        bool is_one = wake_at_ms > after_ms && wake_at_ms <= sweep->now_ms &&
                      (wake_at_ms <= WOKEN_MS) == (kind == WOKEN);
        if (is_one && !sim_is_skipped(sweep->input->transaction, order->record.order_id)) {
            locked.orders[locked.count++] = order;
        }
    }
    qsort(locked.orders, (size_t)locked.count, sizeof(struct sim_order *),
          kind == LATEST ? compare_wake_latest : compare_wake);
    locked.count = locked.count < most ? locked.count : most;
    return locked;
}

/* The index of place `turn` of `count`, taken from both ends alternately. */
static int64_t place_at(int64_t turn, int64_t count)
{
    return turn % 2 == 0 ? turn / 2 : count - 1 - turn / 2;
}

/* locked: each kind by wake_at, then alternately one of each. */
static void orders_place(struct sweep *sweep, struct kind_locked by_time, struct kind_locked woken)
{
    sweep->locked =
        calloc((size_t)sweep->input->transaction->tables->order_count + 1, sizeof(struct sim_order *));
    assert(sweep->locked != NULL);
    qsort(by_time.orders, (size_t)by_time.count, sizeof(struct sim_order *), compare_wake);
    for (int64_t turn = 0; turn < by_time.count || turn < woken.count; turn++) {
        if (turn < by_time.count) {
            sweep->locked[sweep->locked_count++] = by_time.orders[place_at(turn, by_time.count)];
        }
        if (turn < woken.count) {
            sweep->locked[sweep->locked_count++] = woken.orders[place_at(turn, woken.count)];
        }
    }
    sweep->is_full = sweep->locked_count >= sweep->limit;
}

/* timely, latest, woken */
static void orders_lock(struct sweep *sweep)
{
    struct kind_locked timely = kind_lock(sweep, TIMELY, 0, sweep->limit);
    int64_t left = sweep->limit - timely.count, share = (sweep->limit + 3) / 4;
    struct kind_locked woken = kind_lock(sweep, WOKEN, 0, left > share ? left : share);
    if (timely.count > 0 && left == 0) {
        int64_t last_ms = timely.orders[timely.count - 1]->record.order.wake_at_ms;
        struct kind_locked latest = kind_lock(sweep, LATEST, last_ms, share);
        /* The array of a kind has room for all orders. */
        memcpy(&timely.orders[timely.count], latest.orders,
               (size_t)latest.count * sizeof(struct sim_order *));
        timely.count += latest.count;
        free(latest.orders);
    }
    orders_place(sweep, timely, woken);
    free(timely.orders);
    free(woken.orders);
}

/* Leaves out the first order without room for its steps, and those after it. */
static void orders_bound(struct sweep *sweep)
{
    int64_t steps = 0, deadline_ms;
    for (int i = 0; i < sweep->locked_count; i++) {
        int64_t own = 0;
        for (int k = 0; k < MG_STEPS_MAX; k++) {
            own += is_open_step(&sweep->locked[i]->record, k, &deadline_ms);
        }
        steps += own > 0 ? own : 1;
        if (i > 0 && steps > sweep->step_limit) {
            sweep->locked_count = i;
            sweep->is_full = true;
        }
    }
}

/* ---- found, graced ---- */

static bool is_in_grace(const struct sweep *sweep, int64_t moment_ms, int64_t set_at_ms)
{
    return sweep->grace.before_ms > 0 && mg_spared_has(&sweep->grace, moment_ms, set_at_ms);
}

static void found_add(struct sweep *sweep, struct found found)
{
    found.is_braked = found.ask == MG_CAUSE_OVERDUE || found.ask == MG_CAUSE_EXPIRED;
    found.set_at_ms = found.step == NULL ? found.order->record.created_at_ms : found.order->updated_at_ms;
    bool awaits_signal = found.step != NULL && found.step->state == MG_STEP_WAITING &&
                         found.step->reason == MG_REASON_AWAITING_SIGNAL;
    bool is_in_gap = found.deadline_ms > sweep->gap_after_ms && found.deadline_ms <= sweep->gap_before_ms;
    found.is_graced = (found.is_braked && is_in_grace(sweep, found.deadline_ms, found.set_at_ms)) ||
                      (awaits_signal && is_in_gap);
    sweep->founds = sim_grow(sweep->founds, sweep->found_count, sizeof(*sweep->founds));
    sweep->founds[sweep->found_count++] = found;
}

/* Parked steps are asked about elsewhere (store_parked.c). */
static bool is_parked(const struct sim_order *order, int index)
{
    return order->parking[index].is_parked && !mg_step_is_running(&order->record.order.steps[index]);
}

static void order_look(struct sweep *sweep, struct sim_order *order)
{
    const struct mg_order_record *record = &order->record;
    int64_t complete_by_ms = complete_by_of(&record->order), deadline_ms;
    bool is_woken = record->order.wake_at_ms == WOKEN_MS, is_moving = false;
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        const struct mg_step *step = &record->order.steps[i];
        if (!is_open_step(record, i, &deadline_ms)) {
            continue;
        }
        is_moving =
            is_moving || mg_step_is_running(step) || deadline_ms != 0 || step->state == MG_STEP_UNKNOWN;
        bool is_asked = deadline_ms <= sweep->now_ms || (is_woken && !mg_step_is_running(step));
        if (deadline_ms != 0 && is_asked && !is_parked(order, i)) {
            found_add(sweep, (struct found){.order = order,
                                            .ask = mg_step_is_running(step) ? MG_CAUSE_OVERDUE : MG_CAUSE_DUE,
                                            .step = step,
                                            .step_name = record->step_names[i],
                                            .deadline_ms = deadline_ms});
        }
    }
    if (complete_by_ms != 0 && complete_by_ms <= sweep->now_ms) {
        found_add(sweep,
                  (struct found){.order = order, .ask = MG_CAUSE_EXPIRED, .deadline_ms = complete_by_ms});
    } else if (is_open(&record->order) && !is_moving) {
        found_add(sweep, (struct found){.order = order, .ask = MG_CAUSE_NUDGE, .is_stuck = true});
    }
    if (complete_by_ms != 0 && !is_moving && complete_by_ms <= sweep->now_ms - MG_EXPIRY_COMMAND_MS &&
        is_in_grace(sweep, complete_by_ms, record->created_at_ms)) {
        found_add(sweep, (struct found){.order = order, .ask = MG_CAUSE_NUDGE});
    }
}

/* ---- crowd ---- */

static bool is_woken(const struct found *found)
{
    return found->order->record.order.wake_at_ms == WOKEN_MS;
}

static int compare_crowd(const void *a, const void *b)
{
    const struct found *one = a, *two = b;
    int by_woken = (int)is_woken(one) - (int)is_woken(two);
    return by_woken != 0 ? by_woken : strcmp(one->order->record.order_id, two->order->record.order_id);
}

/* Leaves out woken orders with asks beyond the limit, except the first order. */
static void crowd_leave(struct sweep *sweep)
{
    int to;
    if (sweep->found_count > 0) {
        qsort(sweep->founds, (size_t)sweep->found_count, sizeof(*sweep->founds), compare_crowd);
    }
    for (int from = 0; from < sweep->found_count; from = to) {
        to = from + 1;
        while (to < sweep->found_count && sweep->founds[to].order == sweep->founds[from].order) {
            to++;
        }
        for (int i = from; i < to; i++) {
            sweep->founds[i].is_left = from > 0 && to > sweep->limit && is_woken(&sweep->founds[i]);
        }
    }
}

static bool is_left(const struct sweep *sweep, const struct sim_order *order)
{
    for (int i = 0; i < sweep->found_count; i++) {
        if (sweep->founds[i].order == order) {
            return sweep->founds[i].is_left;
        }
    }
    return false;
}

/* ---- judged ---- */

static int compare_deadline(const void *a, const void *b)
{
    const struct found *one = a, *two = b;
    if (one->deadline_ms != two->deadline_ms) {
        return one->deadline_ms < two->deadline_ms ? -1 : 1;
    }
    int order = strcmp(one->order->record.order_id, two->order->record.order_id);
    return order != 0 ? order : (one->step < two->step ? -1 : one->step > two->step);
}

static bool is_counted(const struct found *found)
{
    return found->is_braked && !found->is_graced && !found->is_left;
}

static const char *service_of(const struct found *found)
{
    const struct mg_order_record *record = &found->order->record;
    return found->step == NULL ? "" : record->services[found->step - record->order.steps];
}

/* ranked: the number of counted items of the same service up to each. Returns the number of counted items in
 * all. */
static int64_t turns_give(struct sweep *sweep)
{
    int64_t count = 0;
    for (int i = 0; i < sweep->found_count; i++) {
        for (int k = 0; k <= i && is_counted(&sweep->founds[i]); k++) {
            sweep->founds[i].turn +=
                is_counted(&sweep->founds[k]) &&
                strcmp(service_of(&sweep->founds[i]), service_of(&sweep->founds[k])) == 0;
        }
        count += is_counted(&sweep->founds[i]);
    }
    return count;
}

/* Holds back items with a turn beyond the brake's limit. Returns the number of overdue items, including
 * those. */
static int64_t brake(struct sweep *sweep)
{
    if (sweep->found_count > 0) {
        qsort(sweep->founds, (size_t)sweep->found_count, sizeof(*sweep->founds), compare_deadline);
    }
    int64_t count = turns_give(sweep);
    for (int i = 0; i < sweep->found_count; i++) {
        int64_t before = 0;
        for (int k = 0; k < sweep->found_count; k++) {
            int turn = sweep->founds[k].turn;
            before += turn > 0 && (turn < sweep->founds[i].turn || (turn == sweep->founds[i].turn && k < i));
        }
        sweep->founds[i].is_held_back = is_counted(&sweep->founds[i]) && before >= sweep->overdue_limit;
        sweep->founds[i].beyond = before + 1 - sweep->overdue_limit;
    }
    return count;
}

/* ---- next, pushed ---- */

static void earlier(int64_t *at_ms, int64_t other_ms)
{
    if (*at_ms == 0 || other_ms < *at_ms) {
        *at_ms = other_ms;
    }
}

static int64_t held_back_ms(const struct sweep *sweep, const struct found *found)
{
    int64_t share = SWEEPS_HELD * (sweep->overdue_limit > 1 ? sweep->overdue_limit : 1);
    return HELD_BACK_MS * (1 + (found->beyond - 1) / share);
}

static int64_t wake_at_next(const struct sweep *sweep, const struct sim_order *order)
{
    int64_t at_ms = 0, deadline_ms, complete_by_ms = complete_by_of(&order->record.order);
    bool has_parked = false;
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        bool is_open = is_open_step(&order->record, i, &deadline_ms);
        has_parked = has_parked || (is_open && is_parked(order, i));
        if (is_open && deadline_ms > sweep->now_ms && !is_parked(order, i)) {
            earlier(&at_ms, deadline_ms);
        }
    }
    if (complete_by_ms > sweep->now_ms) {
        earlier(&at_ms, complete_by_ms);
    }
    for (int i = 0; i < sweep->found_count; i++) {
        const struct found *found = &sweep->founds[i];
        if (found->order == order) {
            earlier(&at_ms,
                    sweep->now_ms + (found->is_held_back ? held_back_ms(sweep, found) : sweep->ask_again_ms));
        }
    }
    return at_ms != 0 ? at_ms : sweep->now_ms + (has_parked ? LOOK_AT_PARKED_MS : LOOK_AGAIN_MS);
}

/* ---- asked ---- */

enum {
    IS_LEADER,
    NOW,
    OVERDUE,
    IS_FULL,
    ORDER_ID,
    ASK,
    STEP,
    ATTEMPT,
    VERSION,
    SEQ,
    DEADLINE,
    IS_STUCK,
    SET_AT,
    COUNT
};

static void row_begin(const struct sweep *sweep, struct sim_output *output, int64_t overdue)
{
    sim_output_row(output);
    sim_output_bool(output, IS_LEADER, true);
    sim_output_int(output, NOW, sweep->now_ms);
    sim_output_int(output, OVERDUE, overdue);
    sim_output_bool(output, IS_FULL, sweep->is_full);
}

static void found_ask(const struct found *found, struct sim_output *output)
{
    const struct mg_order_record *record = &found->order->record;
    sim_output_word(output, ORDER_ID, record->order_id);
    sim_output_word(output, ASK, mg_cause_name(found->ask));
    sim_output_word(output, STEP, found->step == NULL ? "" : found->step_name);
    sim_output_int(output, ATTEMPT, found->step == NULL ? 0 : found->step->attempt);
    sim_output_int(output, VERSION, (int64_t)record->order.version);
    sim_output_int(output, SEQ, (int64_t)record->order.seq);
    sim_output_time(output, DEADLINE, found->deadline_ms);
    sim_output_bool(output, IS_STUCK, found->is_stuck && record->order.state != MG_ORDER_PENDING);
    sim_output_time(output, SET_AT, found->set_at_ms);
}

/* Deadlines first, then waits. Nudges have no moment and come last, as NULL sorts. */
static int pass_of(const struct found *found)
{
    return found->is_braked ? 0 : found->deadline_ms != 0 ? 1 : 2;
}

static void founds_ask(const struct sweep *sweep, struct sim_output *output, int64_t overdue)
{
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < sweep->found_count; i++) {
            const struct found *found = &sweep->founds[i];
            bool is_asked = !found->is_left && !found->is_graced && !found->is_held_back;
            if (pass_of(found) == pass && is_asked) {
                row_begin(sweep, output, overdue);
                found_ask(found, output);
            }
        }
    }
}

/* ---- marked ---- */

static void founds_mark(const struct sweep *sweep)
{
    for (int i = 0; i < sweep->found_count; i++) {
        const struct found *found = &sweep->founds[i];
        if (found->is_left || found->ask != MG_CAUSE_DUE || !sim_waits_for_gate(found->step)) {
            continue;
        }
        long index = found->step - found->order->record.order.steps;
        if (!found->order->parking[index].is_parked) {
            found->order->parking[index] =
                (struct sim_parking){true, found->order->record.is_high, sweep->now_ms + sweep->ask_again_ms};
        }
    }
}

/* ---- the statement ---- */

bool sim_sweep_is_leader(const struct sim_input *input)
{
    const struct sim_tables *tables = input->transaction->tables;
    return tables->leader.epoch == (uint64_t)sim_int(sim_scalar(input, 1)) &&
           mg_slice_equal(tables->leader.holder, sim_scalar(input, 2));
}

bool sim_is_leader(const struct sim_input *input, bool is_sweep)
{
    struct sim_transaction *transaction = input->transaction;
    struct sim_tables *tables = transaction->tables;
    uint64_t epoch = (uint64_t)sim_int(sim_scalar(input, 1));
    struct mg_slice holder = sim_scalar(input, 2);
    if (!sim_sweep_is_leader(input)) {
        return false;
    }
    tables->leader.seen_at_ms = transaction->now_ms;
    if (is_sweep && transaction->now_ms > tables->leader.swept_at_ms) {
        tables->leader.swept_at_ms = transaction->now_ms;
    }
    if (transaction->session != NULL) {
        sim_check_led(epoch, sim_text(holder).data);
    }
    return true;
}

/* ---- reports to the checker ---- */

static bool is_asked(const struct sweep *sweep, const struct sim_order *order, const struct mg_step *step)
{
    for (int i = 0; i < sweep->found_count; i++) {
        const struct found *found = &sweep->founds[i];
        if (found->order == order && found->step == step && found->is_braked) {
            return !found->is_graced && !found->is_held_back;
        }
    }
    return false;
}

/* Reports the order's passed deadlines, also those hidden behind a later wake_at. */
static void order_tell(const struct sweep *sweep, const struct sim_order *order)
{
    const struct mg_order_record *record = &order->record;
    int64_t complete_by_ms = complete_by_of(&record->order), deadline_ms;
    int64_t sent_us = sweep->input->transaction->sent_us;
    for (int i = 0; i < MG_STEPS_MAX; i++) {
        const struct mg_step *step = &record->order.steps[i];
        if (is_open_step(record, i, &deadline_ms) && mg_step_is_running(step) &&
            deadline_ms <= sweep->now_ms) {
            sim_check_deadline(record->order_id, i, step->attempt, is_asked(sweep, order, step), sent_us);
        }
    }
    if (complete_by_ms != 0 && complete_by_ms <= sweep->now_ms) {
        sim_check_deadline(record->order_id, -1, complete_by_ms, is_asked(sweep, order, NULL), sent_us);
    }
}

/* Skips orders that another transaction writes, or without room in the sweep. A replay by a standby reports
 * nothing. */
static void deadlines_tell(const struct sweep *sweep)
{
    const struct sim_tables *tables = sweep->input->transaction->tables;
    for (int i = 0; i < tables->order_count && sweep->input->transaction->session != NULL; i++) {
        const struct sim_order *order = tables->orders[i];
        int64_t wake_at_ms = order->record.order.wake_at_ms;
        bool is_locked = false;
        for (int k = 0; k < sweep->locked_count; k++) {
            is_locked = is_locked || sweep->locked[k] == order;
        }
        if (wake_at_ms != 0 && (is_locked ? !is_left(sweep, order) : wake_at_ms > sweep->now_ms)) {
            order_tell(sweep, order);
        }
    }
}

static void parked_tell(const struct sweep *sweep)
{
    for (int i = 0; i < sweep->found_count && sweep->input->transaction->session != NULL; i++) {
        const struct found *found = &sweep->founds[i];
        if (!found->is_left && found->ask == MG_CAUSE_DUE && sim_waits_for_gate(found->step)) {
            long index = found->step - found->order->record.order.steps;
            sim_check_parked_asked(found->order->record.order_id, (int)index);
        }
    }
}

void sim_sweep(struct sim_input *input, struct sim_output *output)
{
    struct sweep sweep = {
        .input = input,
        .now_ms = input->transaction->now_ms,
        .limit = sim_int(sim_scalar(input, 3)),
        .ask_again_ms = sim_int(sim_scalar(input, 4)),
        .overdue_limit = sim_int(sim_scalar(input, 7)),
        .step_limit = sim_int(sim_scalar(input, 8)),
        .gap_after_ms = sim_int(sim_scalar(input, 14)),
        .gap_before_ms = sim_int(sim_scalar(input, 15)),
        .grace = {.after_ms = sim_int(sim_scalar(input, 5)),
                  .before_ms = sim_int(sim_scalar(input, 6)),
                  .high_after_ms = sim_int(sim_scalar(input, 9)),
                  .high = {sim_int(sim_scalar(input, 10)), sim_int(sim_scalar(input, 11)),
                           sim_int(sim_scalar(input, 12)), sim_int(sim_scalar(input, 13))}}};
    sim_output_begin(output, COUNT);
    if (!sim_is_leader(input, true)) {
        sim_output_row(output);
        sim_output_bool(output, IS_LEADER, false);
        sim_output_int(output, NOW, sweep.now_ms);
        sim_output_int(output, OVERDUE, 0);
        sim_output_bool(output, IS_FULL, false);
        return;
    }
    orders_lock(&sweep);
    orders_bound(&sweep);
    for (int i = 0; i < sweep.locked_count; i++) {
        order_look(&sweep, sweep.locked[i]);
    }
    crowd_leave(&sweep);
    int64_t overdue = brake(&sweep);
    founds_ask(&sweep, output, overdue);
    deadlines_tell(&sweep);
    parked_tell(&sweep);
    for (int i = 0; i < sweep.locked_count; i++) {
        if (!is_left(&sweep, sweep.locked[i])) {
            sweep.locked[i]->record.order.wake_at_ms = wake_at_next(&sweep, sweep.locked[i]);
        }
    }
    founds_mark(&sweep);
    if (output->row < 0) {
        row_begin(&sweep, output, overdue);
    }
    free(sweep.locked);
    free(sweep.founds);
}
