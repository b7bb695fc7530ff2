/*
 * Answers by body: the meaning of an answer of clerk follows from the word in it. The engine's conditions
 * have no part in this. A step is done only if its work is, by the ledger.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "json/json.h"
#include "nodes.h"
#include "remote.h"
#include "wire/reply.h"

enum word { DONE = 1, REFUSED = 2, AT_WORK = 4, SILENT = 8, FAILED = 16 };

static struct sim_table words; /* by correlation id: the words of all replies under it */

static enum word word_of(const struct mg_reply *reply)
{
    struct mg_slice state = mg_json_find(reply->result, "/state");
    if (reply->outcome != MG_OUTCOME_DONE && reply->outcome != MG_OUTCOME_ACCEPTED) {
        return FAILED;
    }
    return mg_slice_is(state, "\"done\"")      ? DONE
           : mg_slice_is(state, "\"refused\"") ? REFUSED
           : mg_slice_is(state, "\"at_work\"") ? AT_WORK
                                               : SILENT;
}

static bool is_clerks(const char *order_id, const char *step)
{
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(order_id));
    const struct mg_workflow *workflow =
        order != NULL && order->workflow >= 0 ? sim_check_workflow(sim_workflow_name(order->workflow)) : NULL;
    int index = workflow != NULL ? mg_workflow_step_index(workflow, mg_slice_of(step)) : -1;
    return index >= 0 && strcmp(workflow->steps[index].service, "clerk") == 0;
}

bool sim_check_leaves_open(const struct mg_reply *reply)
{
    enum word word = word_of(reply);
    return is_clerks(reply->order_id, reply->step) && (word == AT_WORK || word == SILENT);
}

void sim_check_answered(const struct mg_reply *reply, struct mg_slice correlation_id)
{
    if (is_clerks(reply->order_id, reply->step)) {
        struct sim_entry *entry = sim_table_put(&words, correlation_id);
        entry->value = (void *)((uintptr_t)entry->value | (uintptr_t)word_of(reply));
    }
}

/* 0: not a reply to a do or a verify, or there are replies with several words. */
static enum word word_of_event(const struct mg_event_record *event)
{
    struct mg_slice correlation = sim_check_correlation(event);
    const struct sim_entry *entry = correlation.data != NULL ? sim_table_find(&words, correlation) : NULL;
    uintptr_t all = entry != NULL ? (uintptr_t)entry->value : 0;
    return (all & (all - 1)) == 0 ? (enum word)all : 0;
}

static bool is_truly_done(const char *order_id, const char *step)
{
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        const struct sim_work *work = sim_ledger()->entries[i]->value;
        if (strcmp(work->order_id, order_id) == 0 && strcmp(work->step, step) == 0 && work->is_effective &&
            !sim_is_at_work(work)) {
            return true;
        }
    }
    return false;
}

/* `failed`: the order's count of failures has risen by this event alone. */
static bool is_right(enum word word, const struct sim_moved *moved, bool is_polled, bool failed)
{
    bool is_open = moved->to != MG_STEP_DONE && moved->to != MG_STEP_UNDONE;
    switch (word) {
    case DONE:
        return moved->to == MG_STEP_DONE;
    case REFUSED:
        return moved->to == MG_STEP_FAILED && sim_check_moved_for(moved, MG_REASON_REPLY_PERMANENT);
    case AT_WORK:
        return is_open && (!is_polled || (moved->to == MG_STEP_WAITING && !failed) ||
                           sim_check_moved_for(moved, MG_REASON_FINISH_EXPIRED));
    case SILENT:
        return is_open && !sim_check_moved_for(moved, MG_REASON_REPLY_PERMANENT);
    case FAILED:
        break;
    }
    return true;
}

static void moved_check(const struct mg_order_record *before, const struct mg_order_write *write,
                        const struct mg_event_record *event, const struct sim_moved *moved)
{
    const struct mg_order_record *record = write->record;
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    const char *step = workflow->steps[moved->step].name;
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    enum word word = word_of_event(event);
    bool is_alone = write->event_count == 1;
    bool failed = is_alone && record->order.failure_count > before->order.failure_count;
    bool is_polled = workflow->plan.steps[moved->step].finish_within_ms > 0;
    if (!is_right(word, moved, is_polled, failed)) {
        sim_violated("answers_by_body", "order %s: the answer says %s, and %s goes from %s to %s (%.*s)%s",
                     record->order_id,
                     word == DONE      ? "done"
                     : word == REFUSED ? "refused"
                     : word == AT_WORK ? "at work"
                                       : "nothing",
                     step, mg_step_state_name(moved->from), mg_step_state_name(moved->to),
                     (int)moved->reason.len, moved->reason.data, failed ? ", and that counts" : "");
    }
    /* The answer to a poll speaks for all of the work. */
    if (word == REFUSED && moved->kind == MG_KIND_VERIFY && is_alone &&
        record->order.steps[moved->step].is_maybe) {
        sim_violated("answers_by_body", "order %s: the work of %s is refused, and the step stays maybe",
                     record->order_id, step);
    }
    if (moved->to == MG_STEP_DONE && !order->is_tail_lost && !is_truly_done(record->order_id, step)) {
        sim_violated("answers_by_body", "order %s: %s is done, and its work is not", record->order_id, step);
    }
}

void sim_check_answer_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_workflow *workflow = sim_check_workflow(write->record->workflow);
    for (int i = 0; before != NULL && i < write->event_count; i++) {
        const struct mg_event_record *event = &write->events[i];
        struct sim_moved moved;
        bool is_of_reply = event->cause_kind == MG_CAUSE_REPLY && !sim_check_tells_of_lost_state(event);
        for (int k = 0; is_of_reply && sim_check_moved(event, workflow, k, &moved); k++) {
            bool is_forward = moved.from == MG_STEP_RUNNING;
            bool is_its_own = moved.step >= 0 && mg_slice_is(event->step, workflow->steps[moved.step].name) &&
                              strcmp(workflow->steps[moved.step].service, "clerk") == 0;
            if (is_its_own && is_forward) {
                moved_check(before, write, event, &moved);
            }
        }
    }
}
