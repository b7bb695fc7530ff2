/*
 * Table e of the matrix: each verb of an operator × each state of an order and of its step × each policy of
 * doubt, at a service that does not de-duplicate. The states are all that true answers, lost and late ones,
 * deadlines and one verb before lead to. From each of them each verb is tried; then the world is calm, and an
 * operator ends whatever needs a person. In each cell:
 *
 *   no do goes out of a maybe but by the policy retry, a proof of absence, or the operator's explicit word;
 *   nothing that stands is called undone, and nothing is called done that has no effect;
 *   a known result is used by the undo, and not asked for again;
 *   some verb ends the order.
 *
 * MG_VERBS_TABLE=1 prints the cells, those that are not built with the reason.
 */
#include <check.h>
#include <stddef.h>

#include "core_table.h"
#include "suite.h"

#define CELLS_MAX  40000 /* of one plan */
#define TURNS_MAX  400
#define PERSON_MAX 16

static const char *const EVENTS[EVENT_COUNT] = {
    "done",    "done, no result", "lost",     "late",  "silent", "in doubt, acted", "in doubt", "no",
    "refused", "accepted",        "finishes", "fails", "due",    "expired"};

/* How the first step is made besides its policy. */
enum shape {
    SHAPE_PLAIN,
    SHAPE_POLLED,
    SHAPE_LEARNED,
    SHAPE_UNDO_POLLED,
    SHAPE_PIVOT,
    SHAPE_NO_UNDO,
    SHAPE_COUNT
};

static struct cell_world world;
static char *cells; /* each of cell_size() bytes */
static int cell_count;
static uint64_t seen[1 << 17]; /* hashes of cells; 0: free */

static void plan_make(enum policy policy, enum shape shape, bool is_error)
{
    static const enum mg_on_unknown ON[POLICY_COUNT] = {MG_ON_UNKNOWN_RETRY, MG_ON_UNKNOWN_VERIFY,
                                                        MG_ON_UNKNOWN_OPERATOR, MG_ON_UNKNOWN_VERIFY,
                                                        MG_ON_UNKNOWN_OPERATOR};
    struct mg_plan *plan = &world.plan;
    bool is_once = policy == POLICY_ONCE_VERIFY || policy == POLICY_ONCE_OPERATOR;
    *plan = (struct mg_plan){.step_count = CELL_STEPS,
                             .complete_within_ms = 600000,
                             .on_failure = is_error ? MG_ON_FAILURE_ERROR : MG_ON_FAILURE_COMPENSATE,
                             .on_expiry = is_error ? MG_ON_FAILURE_ERROR : MG_ON_FAILURE_COMPENSATE};
    for (int i = 0; i < CELL_STEPS; i++) {
        plan->steps[i] = (struct mg_step_plan){
            .after = i > 0 ? UINT64_C(1) << (i - 1) : 0,
            .complete_within_ms = 10000,
            .undo_complete_within_ms = 10000,
            .poll_ms = 1000,
            .undo_poll_ms = 1000,
            .retry = {.attempts = 2, .backoff_ms = 500, .max_backoff_ms = 30000},
            .undo_retry = {.attempts = 2, .backoff_ms = 500, .max_backoff_ms = 30000},
            .has_verify = true,
            .has_undo = true,
        };
    }
    struct mg_step_plan *first = &plan->steps[0];
    first->on_unknown = ON[policy];
    first->is_at_most_once = is_once;
    first->retry.attempts = is_once ? 1 : 2;
    first->finish_within_ms = shape == SHAPE_POLLED ? 60000 : 0;
    first->needs_result = shape == SHAPE_LEARNED;
    first->learn = shape == SHAPE_LEARNED ? MG_LEARN_VERIFY : MG_LEARN_NONE;
    first->has_undo_verify = shape == SHAPE_UNDO_POLLED;
    first->undo_finish_within_ms = shape == SHAPE_UNDO_POLLED ? 60000 : 0;
    first->is_pivot = shape == SHAPE_PIVOT;
    first->has_undo = shape != SHAPE_PIVOT && shape != SHAPE_NO_UNDO;
}

/* ---- events ---- */

static bool can_do(int step, enum cell_event event)
{
    const struct mg_step_plan *plan = &world.plan.steps[step];
    switch ((int)event) {
    case EVENT_DONE_LACKING:
        return plan->needs_result;
    case EVENT_ACCEPTED:
        return plan->finish_within_ms > 0;
    default:
        return event <= EVENT_REFUSED && (step == 0 || event == EVENT_DONE || event == EVENT_REFUSED);
    }
}

static void do_answer(int step, enum cell_event event)
{
    struct cell_service *service = &world.at.services[step];
    switch ((int)event) {
    case EVENT_DONE:
    case EVENT_DONE_LACKING:
        cell_act(&world, step);
        cell_reply(&world, step, MG_OUTCOME_DONE, MG_EXECUTED_YES, event == EVENT_DONE);
        return;
    case EVENT_LOST:
        cell_act(&world, step);
        cell_overdue(&world, step);
        return;
    case EVENT_LATE:
        service->is_late = true;
        service->late_at_ms = world.at.order.steps[step].complete_by_ms + 2999;
        cell_overdue(&world, step);
        return;
    case EVENT_SILENT:
        cell_overdue(&world, step);
        return;
    case EVENT_DOUBT_ACTED:
        cell_act(&world, step);
        cell_reply(&world, step, MG_OUTCOME_UNKNOWN, MG_EXECUTED_MAYBE, false);
        return;
    case EVENT_DOUBT:
        cell_reply(&world, step, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false);
        return;
    case EVENT_NO:
        cell_reply(&world, step, MG_OUTCOME_TRANSIENT, MG_EXECUTED_NO, false);
        return;
    case EVENT_REFUSED:
        cell_reply(&world, step, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, false);
        return;
    default:
        service->is_working = true;
        cell_reply(&world, step, MG_OUTCOME_ACCEPTED, MG_EXECUTED_YES, false);
        return;
    }
}

static bool can_undo(int step, enum cell_event event)
{
    bool is_any = event == EVENT_DONE || event == EVENT_LOST || event == EVENT_SILENT ||
                  event == EVENT_DOUBT || event == EVENT_REFUSED ||
                  (event == EVENT_ACCEPTED && world.plan.steps[step].has_undo_verify);
    return is_any && (step == 0 || event == EVENT_DONE);
}

static void undo_answer(int step, enum cell_event event)
{
    struct cell_service *service = &world.at.services[step];
    switch ((int)event) {
    case EVENT_DONE:
    case EVENT_LOST:
        cell_take_back(service);
        if (event == EVENT_DONE) {
            cell_reply(&world, step, MG_OUTCOME_DONE, MG_EXECUTED_YES, false);
        } else {
            cell_overdue(&world, step);
        }
        return;
    case EVENT_SILENT:
        cell_overdue(&world, step);
        return;
    case EVENT_DOUBT:
        cell_reply(&world, step, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false);
        return;
    case EVENT_REFUSED:
        service->is_undo_refused = true;
        cell_reply(&world, step, MG_OUTCOME_PERMANENT, MG_EXECUTED_NO, false);
        return;
    default:
        service->is_undoing = true;
        service->is_undo_refused = false;
        cell_reply(&world, step, MG_OUTCOME_ACCEPTED, MG_EXECUTED_MAYBE, false);
        return;
    }
}

static bool can_request(int step, enum cell_event event)
{
    switch ((int)world.at.order.steps[step].kind) {
    case MG_KIND_DO:
        return can_do(step, event);
    case MG_KIND_UNDO:
        return can_undo(step, event);
    default:
        return event == EVENT_DONE || event == EVENT_SILENT || event == EVENT_DOUBT;
    }
}

static void request_answer(int step, enum cell_event event)
{
    switch ((int)world.at.order.steps[step].kind) {
    case MG_KIND_DO:
        do_answer(step, event);
        return;
    case MG_KIND_UNDO:
        undo_answer(step, event);
        return;
    default:
        break;
    }
    if (event == EVENT_DONE) {
        cell_ask(&world, step);
    } else if (event == EVENT_SILENT) {
        cell_overdue(&world, step);
    } else {
        cell_reply(&world, step, MG_OUTCOME_TRANSIENT, MG_EXECUTED_MAYBE, false);
    }
}

/* Accepted work ends, or an accepted undo. */
static bool work_end(int step, bool is_good)
{
    struct cell_service *service = &world.at.services[step];
    if (service->is_undoing) {
        service->is_undoing = false;
        service->is_undo_refused = !is_good;
        if (is_good) {
            cell_take_back(service);
        }
    } else if (service->is_working && is_good) {
        cell_act(&world, step);
    } else if (service->is_working) {
        service->is_working = false;
    } else {
        return false;
    }
    return true;
}

static bool due(int step)
{
    const struct mg_step *at = &world.at.order.steps[step];
    struct mg_cause cause = {.kind = MG_CAUSE_DUE, .step = step, .attempt = at->attempt};
    cell_time_pass(&world, at->due_at_ms);
    return cell_decide(&world, cause, false) == MG_GO;
}

static bool expire(void)
{
    struct mg_cause cause = {.kind = MG_CAUSE_EXPIRED, .step = -1};
    cell_time_pass(&world, world.at.order.complete_by_ms);
    return cell_decide(&world, cause, false) == MG_GO;
}

/* False: such an event does not come here. */
static bool happen(int step, enum cell_event event)
{
    const struct mg_step *at = &world.at.order.steps[step];
    switch ((int)event) {
    case EVENT_FINISHES:
    case EVENT_FAILS:
        return work_end(step, event == EVENT_FINISHES);
    case EVENT_DUE:
        if (mg_step_is_running(at) || at->due_at_ms == 0) {
            return false;
        }
        return due(step);
    case EVENT_EXPIRED:
        if (step > 0 || world.at.order.complete_by_ms == 0) {
            return false;
        }
        return expire();
    default:
        if (!mg_step_is_running(at) || !can_request(step, event)) {
            return false;
        }
        request_answer(step, event);
        return true;
    }
}

/* ---- the calm world ---- */

static bool is_ended(void)
{
    enum mg_order_state state = world.at.order.state;
    return mg_order_state_is_terminal(state) && state != MG_ORDER_ERROR;
}

/* The next event of a world without faults; false: the order waits for a person. */
static bool calm_turn(void)
{
    int next = -1;
    for (int i = 0; i < CELL_STEPS; i++) {
        const struct mg_step *at = &world.at.order.steps[i];
        if (work_end(i, true)) {
            return true;
        }
        if (mg_step_is_running(at)) {
            cell_time_pass(&world, world.at.now_ms + 100);
            request_answer(i, EVENT_DONE);
            return true;
        }
        bool is_sooner = next < 0 || at->due_at_ms < world.at.order.steps[next].due_at_ms;
        next = at->due_at_ms != 0 && is_sooner ? i : next;
    }
    if (next >= 0) {
        cell_time_pass(&world, world.at.now_ms + 100);
        return due(next); /* in error a step may wait for nothing */
    }
    if (world.at.order.complete_by_ms != 0 && !mg_order_state_is_terminal(world.at.order.state)) {
        return expire();
    }
    return false;
}

/* A verb that the core would take, said truly. The order's own step goes first. */
static bool person_help(void)
{
    const struct mg_context context = {
        .now_ms = world.at.now_ms, .quiesce_ms = 3000, .park_ms = 1000, .known_results = world.at.known};
    struct mg_verbs verbs;
    mg_verbs_find(&world.plan, &context, &world.at.order, &verbs);
    for (int i = 0; i < CELL_STEPS; i++) {
        const struct mg_step *at = &world.at.order.steps[i];
        bool is_undo = at->state == MG_STEP_UNDO_FAILED;
        bool is_open = is_undo || (at->is_maybe && at->state != MG_STEP_DONE);
        if (is_open && (verbs.can_settle >> i & 1) != 0) {
            if (is_undo && world.at.services[i].is_undo_refused) {
                cell_take_back(&world.at.services[i]); /* by hand */
            }
            enum cell_verb verb = world.at.services[i].standing > 0 ? VERB_SETTLE_DONE : VERB_SETTLE_ABSENT;
            if (cell_can_say(&world, verb, i) && cell_command(&world, verb, i) == MG_GO) {
                return true;
            }
        }
    }
    const bool CAN[] = {verbs.can_compensate, verbs.can_cancel, verbs.can_resume, verbs.can_restart};
    static const enum cell_verb ORDER_VERBS[] = {VERB_COMPENSATE, VERB_CANCEL, VERB_RESUME, VERB_RESTART};
    for (int i = 0; i < 4; i++) {
        if (CAN[i]) {
            return cell_command(&world, ORDER_VERBS[i], 0) == MG_GO;
        }
    }
    return false;
}

/* Until the order has ended. */
static void calm_run(void)
{
    int helped = 0;
    for (int turn = 0; turn < TURNS_MAX && world.failure[0] == '\0' && !is_ended(); turn++) {
        if (!calm_turn()) {
            cell_time_pass(&world, world.at.now_ms + 20000);
            if (!person_help() || ++helped > PERSON_MAX) {
                break;
            }
        }
    }
    cell_time_pass(&world, world.at.now_ms + 20000);
    cell_end_check(&world);
    if (!is_ended()) {
        cell_fail(&world, "no verb ends the order: it is %s, %s; its step is %s%s",
                  mg_order_state_name(world.at.order.state), mg_reason_name(world.at.order.reason),
                  mg_step_state_name(world.at.order.steps[0].state),
                  world.at.order.steps[0].is_maybe ? ", maybe" : "");
    }
}

/* ---- all cells of a plan ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static uint64_t hash_of(const struct cell *cell)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const struct mg_order *order = &cell->order;
    hash = mix(mix(mix(hash, order->state), order->goal), order->reason);
    hash = mix(mix(mix(hash, cell->known), cell->was_repeated), (uint64_t)cell->verbs);
    hash = mix(hash, order->complete_by_ms != 0 && order->complete_by_ms <= cell->now_ms);
    for (int i = 0; i < CELL_STEPS; i++) {
        const struct mg_step *at = &order->steps[i];
        const struct cell_service *service = &cell->services[i];
        hash = mix(mix(mix(hash, at->state), at->kind), at->attempt > 0);
        hash = mix(hash, (uint64_t)at->is_maybe | (uint64_t)at->is_accepted << 1 |
                             (uint64_t)at->is_refused << 2 | (uint64_t)at->is_undo_dispatched << 3 |
                             (uint64_t)(at->quiet_at_ms > cell->now_ms) << 4 |
                             (uint64_t)(at->due_at_ms != 0) << 5 |
                             (uint64_t)(at->finish_by_ms > cell->now_ms) << 6);
        hash = mix(hash, at->failure_count < 2 ? at->failure_count : 2);
        hash = mix(hash, (uint64_t)(service->standing < 2 ? service->standing : 2) << 5 |
                             (uint64_t)service->is_working << 4 | (uint64_t)service->is_late << 3 |
                             (uint64_t)service->is_undoing << 2 | (uint64_t)service->is_undo_refused << 1 |
                             (uint64_t)service->was_undone);
    }
    return hash == 0 ? 1 : hash;
}

static size_t cell_size(void)
{
    return (offsetof(struct cell, order) + mg_order_size(&world.at.order) + 7) / 8 * 8;
}

static struct cell *cell_at(int index)
{
    return (void *)(cells + (size_t)index * cell_size());
}

static void cell_add(int parent, const char *label)
{
    uint64_t hash = hash_of(&world.at);
    size_t at = hash % (sizeof(seen) / sizeof(seen[0]));
    while (seen[at] != 0 && seen[at] != hash) {
        at = (at + 1) % (sizeof(seen) / sizeof(seen[0]));
    }
    if (seen[at] == hash) {
        return;
    }
    seen[at] = hash;
    ck_assert_msg(cell_count < CELLS_MAX, "more than %d cells", CELLS_MAX);
    world.at.parent = parent;
    (void)snprintf(world.at.label, sizeof(world.at.label), "%s", label);
    memcpy(cell_at(cell_count++), &world.at, cell_size());
}

static void path_print(int cell)
{
    if (cell >= 0) {
        path_print(cell_at(cell)->parent);
        const struct mg_step *at = &cell_at(cell)->order.steps[0];
        (void)fprintf(stderr, "  %-28s order %s, step %s%s, stands %d times\n", cell_at(cell)->label,
                      mg_order_state_name(cell_at(cell)->order.state), mg_step_state_name(at->state),
                      at->is_maybe ? " (maybe)" : "", cell_at(cell)->services[0].standing);
    }
}

static void failure_tell(int cell, const char *last, enum policy policy, enum shape shape)
{
    if (world.failure[0] != '\0') {
        path_print(cell);
        ck_abort_msg("policy %s, shape %d, %s: %s", POLICIES[policy], shape, last, world.failure);
    }
}

static void events_try(int cell, enum policy policy, enum shape shape)
{
    for (int step = 0; step < CELL_STEPS; step++) {
        for (int event = 0; event < EVENT_COUNT; event++) {
            char label[48];
            memcpy(&world.at, cell_at(cell), cell_size());
            if (happen(step, (enum cell_event)event)) {
                (void)snprintf(label, sizeof(label), "step %d: %s", step, EVENTS[event]);
                failure_tell(cell, label, policy, shape);
                cell_add(cell, label);
            }
        }
    }
}

static void verbs_try(int cell, enum policy policy, enum shape shape)
{
    enum mg_order_state state = cell_at(cell)->order.state;
    enum mg_step_state step_state = cell_at(cell)->order.steps[0].state;
    for (int verb = 0; verb < VERB_COUNT; verb++) {
        memcpy(&world.at, cell_at(cell), cell_size());
        if (!cell_can_say(&world, (enum cell_verb)verb, 0)) {
            untrue[verb][state][step_state][policy]++;
            continue;
        }
        enum mg_verdict verdict = cell_command(&world, (enum cell_verb)verb, 0);
        built[verb][state][step_state][policy]++;
        failure_tell(cell, VERBS[verb], policy, shape);
        if (verdict == MG_GO && cell_at(cell)->verbs == 0) {
            world.at.verbs = 1;
            cell_add(cell, VERBS[verb]);
        }
        calm_run();
        failure_tell(cell, VERBS[verb], policy, shape);
    }
}

static void plan_walk(enum policy policy, enum shape shape, bool is_error)
{
    const struct mg_context context = {.now_ms = 1000000, .quiesce_ms = 3000, .park_ms = 1000};
    memset(&world, 0, sizeof(world));
    memset(seen, 0, sizeof(seen));
    cell_count = 0;
    plan_make(policy, shape, is_error);
    world.at.now_ms = context.now_ms;
    mg_order_init(&world.plan, &context, 0, &world.at.order);
    (void)cell_decide(&world, (struct mg_cause){.kind = MG_CAUSE_SUBMITTED, .step = -1}, false);
    cell_add(-1, "submitted");
    for (int cell = 0; cell < cell_count; cell++) {
        events_try(cell, policy, shape);
        verbs_try(cell, policy, shape);
    }
}

START_TEST(each_verb_in_each_state_keeps_to_the_policy_of_doubt_and_leaves_a_way_to_the_end)
{
    int totals[3] = {0, 0, 0}, orders = 0;
    world.at.order.step_count = CELL_STEPS;
    cells = calloc(CELLS_MAX, cell_size());
    ck_assert_ptr_nonnull(cells);
    for (int i = 0; i < POLICY_COUNT * SHAPE_COUNT * 2; i++) {
        plan_walk((enum policy)(i / 2 % POLICY_COUNT), (enum shape)(i / 2 / POLICY_COUNT), i % 2 == 1);
        orders += cell_count;
    }
    free(cells);
    table_print(totals);
    pairs_check();
    (void)printf("%d cells of %d are built, %d would be untrue, no path leads to the others; "
                 "%d situations, %d verbs tried\n",
                 totals[0], VERB_COUNT * MG_ORDER_STATE_COUNT * MG_STEP_STATE_COUNT * POLICY_COUNT, totals[1],
                 orders, totals[2]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_verbs");
    TCase *cases = tcase_create("table e");
    tcase_set_timeout(cases, 100);
    tcase_add_test(cases, each_verb_in_each_state_keeps_to_the_policy_of_doubt_and_leaves_a_way_to_the_end);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
