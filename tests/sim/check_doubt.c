/*
 * Doubt. A do goes out again after an effect that stands only by the step's policy, a proof of absence, or
 * an operator's explicit word. A step called done has an effect, and one called undone has none. The
 * ledger is the judge; the engine's own `is_maybe` has no part in this.
 */
#include <string.h>

#include "checker.h"
#include "nodes.h"
#include "remote.h"

struct books {
    int standing; /* effects of a step, under all of its keys */
    bool is_at_work, is_late;
};

static struct books books_of(const char *order_id, const char *step)
{
    struct books books = {0, false, false};
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        const struct sim_work *work = sim_ledger()->entries[i]->value;
        if (strcmp(work->order_id, order_id) == 0 && strcmp(work->step, step) == 0) {
            books.standing += work->standing;
            /* Not that of an earlier key, which was undone before its end. */
            books.is_at_work = books.is_at_work || (work->standing > 0 && sim_is_at_work(work));
            books.is_late = books.is_late || work->is_late;
        }
    }
    return books;
}

/* Whether the policy of this step, or an operator, lets its do have a second effect. */
static bool may_act_twice(const struct sim_submitted *order, const struct mg_workflow *workflow, int step)
{
    const struct mg_step_plan *plan = &workflow->plan.steps[step];
    bool is_repeatable = plan->on_unknown == MG_ON_UNKNOWN_RETRY && !plan->is_at_most_once;
    return is_repeatable || (order->may_repeat >> step & 1) != 0;
}

/* A copy of the request, as of a connection that broke before the ack. Only an at-most-once step is safe from
 * a second effect by it. */
static bool may_be_copied(const struct sim_submitted *order, const struct mg_workflow *workflow, int step)
{
    return !workflow->plan.steps[step].is_at_most_once &&
           sim_check_has_copies(order->order_id, workflow->steps[step].name);
}

void sim_check_acts(const struct sim_work *work)
{
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(work->order_id));
    if (books_of(work->order_id, work->step).standing == 0 || order->is_tail_lost || order->workflow < 0) {
        return;
    }
    const struct mg_workflow *workflow = sim_check_workflow(sim_workflow_name(order->workflow));
    int step = mg_workflow_step_index(workflow, mg_slice_of(work->step));
    if (step < 0) {
        return; /* of another body's workflow, after a failover */
    }
    if (!may_act_twice(order, workflow, step) && !may_be_copied(order, workflow, step)) {
        sim_violated("one_effect",
                     "order %s: %s acts a second time, and neither its policy nor an operator "
                     "has its do sent again",
                     order->order_id, work->step);
    }
    sim_happened(SIM_ROUGH_TWICE);
}

/* ---- commits ---- */

static void dispatch_check(const struct sim_submitted *order, const struct mg_order_record *before,
                           const struct mg_order_record *record, const struct mg_workflow *workflow, int step)
{
    const struct mg_step *is = &record->order.steps[step], *was = &before->order.steps[step];
    const char *name = workflow->steps[step].name;
    bool is_sent = is->attempt > was->attempt && is->state == MG_STEP_RUNNING && is->kind == MG_KIND_DO;
    if (!is_sent || may_act_twice(order, workflow, step) || sim_check_has_copies(order->order_id, name)) {
        return;
    }
    struct books books = books_of(order->order_id, name);
    if (books.standing > 0 && !books.is_late) { /* a verify in time is no proof against a late effect */
        sim_violated("no_do_out_of_doubt", "order %s: the do of %s is sent again, and its effect stands",
                     order->order_id, name);
    }
}

static void end_check(const struct sim_submitted *order, const struct mg_workflow *workflow,
                      const struct sim_moved *moved)
{
    const char *name = workflow->steps[moved->step].name;
    struct books books = books_of(order->order_id, name);
    if (moved->to == MG_STEP_DONE && moved->from != MG_STEP_DONE &&
        (books.standing == 0 || books.is_at_work)) {
        sim_violated("done_has_an_effect", "order %s: %s becomes done, and it has %s effect", order->order_id,
                     name, books.standing == 0 ? "no" : "not yet an");
    }
    if (moved->to == MG_STEP_UNDONE && moved->from != MG_STEP_UNDONE && books.standing > 0 &&
        !sim_check_has_copies(order->order_id, name)) {
        sim_violated("undone_has_no_effect", "order %s: %s becomes undone, and its effect stands",
                     order->order_id, name);
    }
}

void sim_check_doubt_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    if (before == NULL || order->is_tail_lost || !sim_is_time_true()) {
        return;
    }
    for (int i = 0; i < record->order.step_count; i++) {
        dispatch_check(order, before, record, workflow, i);
    }
    for (int i = 0; i < write->event_count; i++) {
        const struct mg_event_record *event = &write->events[i];
        struct sim_moved moved;
        bool is_of_reply = event->cause_kind == MG_CAUSE_REPLY && !sim_check_tells_of_lost_state(event);
        for (int k = 0; is_of_reply && sim_check_moved(event, workflow, k, &moved); k++) {
            if (moved.step >= 0 && mg_slice_is(event->step, workflow->steps[moved.step].name)) {
                end_check(order, workflow, &moved);
            }
        }
    }
}
