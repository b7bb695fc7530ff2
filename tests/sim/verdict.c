/* Invariants at the end: orders, the statuses that their clients received, and the true effects of the remote
 * services. */
#include <stdio.h>
#include <string.h>

#include "broker.h"
#include "checker.h"
#include "nodes.h"
#include "remote.h"
#include "scheduler.h"
#include "store_tables.h"
#include "wire/status.h"

/* ---- has the run ended? ---- */

/* The moment is still to come, or was when the clock was set forward past it; then it keeps its time. */
static bool is_to_come(int64_t moment_ms)
{
    return moment_ms > sim_store_now_ms() || sim_store_passed_too_early(moment_ms);
}

/* Values set while a clock was ahead stay in three cases. An attempt may act until the time in its request
 * (law 11, quiesce). If no sweep saw the clock ahead, a wait that is too long is not detected. An order that
 * waits for a person does so until its own complete-by; with a true clock that is over long before. */
static bool is_held_by_a_clock(const struct mg_order *order)
{
    int64_t now_ms = sim_store_now_ms();
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool waits_for_person = step->state == MG_STEP_UNKNOWN && step->due_at_ms == 0;
        if (is_to_come(step->complete_by_ms) || (waits_for_person && is_to_come(order->complete_by_ms)) ||
            (sim_store_went_back_unseen() && (step->due_at_ms > now_ms || step->quiet_at_ms > now_ms))) {
            return true;
        }
    }
    return false;
}

/* Its client will never receive a status. */
static bool is_dead(const struct sim_stored *stored)
{
    return mg_slice_is(stored->record->reply_to, SIM_DEAD_QUEUE);
}

/* Orders of a queue that takes nothing are tried one at a time, with growing delays, however many there are.
 * That is some 60 tries in 300 s, and one each 2 s while no scheduler takes commands. */
#define ASKED_DEAD_MAX 250

void sim_check_asked_owed(struct mg_slice queue)
{
    static int asked;
    bool is_dead = mg_slice_is(queue, SIM_DEAD_QUEUE);
    asked += is_dead ? 1 : 0;
    if (asked > ASKED_DEAD_MAX && !sim_may_happen(SIM_STORE_CLOCK_JUMP)) {
        sim_violated("owed_is_bounded", "statuses of a client that is gone were tried again %d times", asked);
    }
}

static bool owes(const struct sim_stored *stored)
{
    for (int i = 0; i < stored->event_count; i++) {
        if (stored->events[i].is_owed && stored->record->reply_to.data != NULL) {
            return true;
        }
    }
    return false;
}

bool sim_check_is_settled(void)
{
    for (int i = 0; i < sim_store_order_count(); i++) {
        struct sim_stored stored;
        sim_store_order_at(i, &stored);
        if (owes(&stored)) {
            return false;
        }
    }
    return true;
}

static bool is_at_rest(const struct sim_stored *stored)
{
    if (owes(stored) && !is_dead(stored)) {
        return false;
    }
    const struct mg_order *order = &stored->record->order;
    return mg_order_state_is_terminal(order->state) ||
           (sim_has_happened(SIM_STORE_CLOCK_JUMP) && is_held_by_a_clock(order));
}

const char *sim_check_unfinished(void)
{
    static char what[160];
    const char *queue = NULL;
    if (!sim_clients_are_done()) {
        return "a client waits for an answer";
    }
    for (int i = 0; i < sim_store_order_count(); i++) {
        struct sim_stored stored;
        sim_store_order_at(i, &stored);
        if (!is_at_rest(&stored)) {
            (void)snprintf(what, sizeof(what), "order %s is %s%s", stored.record->order_id,
                           mg_order_state_name(stored.record->order.state),
                           mg_order_state_is_terminal(stored.record->order.state) ? " and owes a status"
                                                                                  : "");
            return what;
        }
    }
    int backlog = sim_broker_backlog(&queue);
    if (backlog > 0) {
        (void)snprintf(what, sizeof(what), "%d messages lie in queues, some in %s", backlog, queue);
        return what;
    }
    return NULL;
}

/* ---- the ledger ---- */

struct sums {
    int effective, works;
};

static struct sums step_sums(const struct mg_order_record *record, const char *step)
{
    struct sums sums = {0, 0};
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        const struct sim_work *work = sim_ledger()->entries[i]->value;
        if (strcmp(work->order_id, record->order_id) == 0 && strcmp(work->step, step) == 0) {
            sums.effective += work->is_effective ? 1 : 0;
            sums.works += work->acted;
        }
    }
    return sums;
}

static void ledger_check(const struct mg_order_record *record, const struct sim_submitted *order)
{
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    enum mg_order_state state = record->order.state;
    if (order->is_tail_lost || order->is_operated || !sim_is_time_true()) {
        return;
    }
    for (int i = 0; i < workflow->plan.step_count; i++) {
        const struct mg_step *step = &record->order.steps[i];
        struct sums sums = step_sums(record, workflow->steps[i].name);
        bool is_undone = state == MG_ORDER_COMPENSATED || state == MG_ORDER_CANCELLED;
        int should = !workflow->plan.steps[i].is_wait && sim_check_had_to_run(record, order, i) ? 1 : 0;
        if (state == MG_ORDER_PROCESSED && sums.effective != should) {
            sim_violated("processed_is_done", "order %s is processed, and %s stands %d times",
                         record->order_id, workflow->steps[i].name, sums.effective);
        }
        /* Law 10, sticky maybe, trusts an agent's reply that no byte was sent. If the broker redelivers that
         * request after a lost ack, the service may act after all. */
        bool is_said_not_sent = step->state != MG_STEP_UNDONE && !step->is_maybe &&
                                sim_check_has_copies(record->order_id, workflow->steps[i].name);
        if (is_undone && workflow->plan.steps[i].has_undo && sums.effective != 0 && !is_said_not_sent) {
            sim_violated("compensated_is_undone", "order %s is %s, and %s still stands (it is %s%s)",
                         record->order_id, mg_order_state_name(state), workflow->steps[i].name,
                         mg_step_state_name(step->state), step->is_maybe ? ", maybe" : "");
        }
        /* A step that happened and cannot be undone is reported as such by its state. */
        if (is_undone && !workflow->plan.steps[i].has_undo && sums.effective > 0 &&
            step->state != MG_STEP_DONE && !step->is_maybe) {
            sim_violated("unundone_is_reported", "order %s is %s, %s acted, and its step is %s",
                         record->order_id, mg_order_state_name(state), workflow->steps[i].name,
                         mg_step_state_name(step->state));
        }
    }
}

/* Post recognises no key: a request sent twice takes effect twice. For mint and inn check_doubt.c judges each
 * effect. */
static void once_check(void)
{
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        const struct sim_work *work = sim_ledger()->entries[i]->value;
        const struct sim_submitted *order = sim_submitted_find(mg_slice_of(work->order_id));
        bool is_let_off = order == NULL || order->is_tail_lost || work->service == SIM_MINT ||
                          work->service == SIM_INN || (work->service == SIM_POST && order->is_repeated);
        int most = work->service == SIM_POST ? 1 : 1 + work->undone;
        if (!is_let_off && work->acted > most) {
            sim_violated("once_per_key", "%s acted %d times and was undone %d times",
                         sim_ledger()->entries[i]->key, work->acted, work->undone);
        }
    }
}

/* ---- statuses ---- */

static void statuses_check(const struct sim_stored *stored, const struct sim_submitted *order, bool is_whole)
{
    struct mg_status_message last;
    enum mg_status word = MG_STATUS_ACCEPTED; /* the last status of the order as a whole */
    struct mg_err err;
    uint64_t expected = 1;
    for (int i = 0; i < stored->event_count; i++) {
        const struct mg_event_record *event = &stored->events[i];
        struct mg_status_text text;
        for (int k = 0; mg_status_kept(event, k, &text); k++) {
            if (mg_status_parse(text.body, &last, &err) != MG_OK) {
                sim_violated("statuses", "order %s: a status of event %llu cannot be read",
                             stored->record->order_id, (unsigned long long)event->version);
            }
            if (event->cause_kind == MG_CAUSE_REATTACHED && last.seq < expected) { /* sent before */
                continue;
            }
            if (last.seq != expected) {
                sim_violated("statuses", "order %s: status %llu follows %llu", stored->record->order_id,
                             (unsigned long long)last.seq, (unsigned long long)expected - 1);
            }
            expected++;
            bool is_of_step = last.status == MG_STATUS_STEP_COMPLETED || last.status == MG_STATUS_WAITING;
            word = is_of_step ? word : last.status;
            bool is_heard = (order->seen >> (last.seq & 63) & 1) != 0;
            /* A committed cause that the broker lost before its status was sent is never redelivered. */
            bool is_excused = order->is_tail_lost || order->is_cause_lost || is_dead(stored) ||
                              (order->is_unheard && stored->times[i].given_up_at_ms != 0);
            if (is_whole && !is_excused && stored->record->reply_to.data != NULL && !is_heard) {
                sim_violated("statuses", "order %s: its client never got status %llu (%s)",
                             stored->record->order_id, (unsigned long long)last.seq,
                             mg_status_name(last.status));
            }
        }
    }
    if (expected != stored->record->order.seq + 1) {
        sim_violated("statuses", "order %s: %llu statuses, and the row has %llu", stored->record->order_id,
                     (unsigned long long)expected - 1, (unsigned long long)stored->record->order.seq);
    }
    if (order->sent_otherwise != 0 && !order->is_tail_lost) {
        sim_violated("statuses", "order %s: its client had status %llu in two ways", stored->record->order_id,
                     (unsigned long long)order->sent_otherwise);
    }
    enum mg_status should = mg_order_state_status(stored->record->order.state);
    if (should != MG_STATUS_ACCEPTED && word != should) {
        sim_violated("statuses", "order %s is %s, and its last status is %s", stored->record->order_id,
                     mg_order_state_name(stored->record->order.state), mg_status_name(word));
    }
}

/* ---- the end ---- */

/* An order in error has a reason for a person, and no step of it still moves. */
static void error_check(const struct mg_order_record *record, const struct sim_submitted *order)
{
    enum mg_reason reason = record->order.reason;
    bool is_a_persons = reason == MG_REASON_STEP_FAILED || reason == MG_REASON_UNDO_FAILED ||
                        reason == MG_REASON_OUTCOME_UNKNOWN || reason == MG_REASON_ORDER_EXPIRED;
    if (!is_a_persons && !order->is_tail_lost && !order->is_operated) {
        sim_violated("error_has_a_reason", "order %s is in error: %s", record->order_id,
                     mg_reason_name(record->order.reason));
    }
}

/* Statuses to a living client are not given up, and no status is owed for ever. */
static void owed_check(const struct sim_stored *stored, const struct sim_submitted *order, bool is_settled)
{
    for (int i = 0; i < stored->event_count; i++) {
        if (stored->times[i].given_up_at_ms != 0 && !order->is_unheard) {
            sim_violated("owed_is_bounded", "order %s: a status was given up, and its client is there",
                         stored->record->order_id);
        }
    }
    if (is_settled && owes(stored)) {
        sim_violated("owed_is_bounded", "order %s still owes a status at the end", stored->record->order_id);
    }
}

void sim_check_end(bool is_whole)
{
    for (int i = 0; i < sim_submitted_count(); i++) {
        const struct sim_submitted *order = sim_submitted_at(i);
        struct sim_stored stored;
        bool is_stored = sim_store_find(order->order_id, &stored);
        /* Refused: a failover lost a workflow until the next start of a scheduler loads it again. */
        bool is_refused = order->is_refused && sim_has_happened(SIM_STORE_FAILOVER);
        if (order->workflow < 0 || order->is_lost || is_refused) {
            continue;
        }
        if (!sim_choice_is_taken(&order->choice)) { /* it is nowhere stored: check_branch.c */
            if (is_whole) {
                sim_check_not_refused(order);
            }
            continue;
        }
        if (!is_stored && (is_whole || order->is_answered)) {
            sim_violated("nothing_is_lost", "order %s was %s and is not there", order->order_id,
                         order->is_answered ? "answered" : "posted");
        }
        if (!is_stored) {
            continue;
        }
        statuses_check(&stored, order, is_whole);
        sim_check_causes_end(order);
        owed_check(&stored, order, is_whole && !sim_may_happen(SIM_STORE_CLOCK_JUMP));
        if (is_whole && stored.record->order.state == MG_ORDER_ERROR) {
            error_check(stored.record, order);
        }
        if (mg_order_state_is_terminal(stored.record->order.state)) {
            ledger_check(stored.record, order);
            sim_check_branch_ended(stored.record, order);
        }
    }
    once_check();
}
