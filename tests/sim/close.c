/*
 * The end of a rough run: an operator brings each order in error to its end, by verbs that the core would
 * take. An effect after a failed undo is taken back by hand, and its step is then settled as absent.
 */
#include <string.h>

#include "checker.h"
#include "core/verbs.h"
#include "nodes.h"
#include "remote.h"

static bool is_in_error(int index, struct sim_stored *ret_stored)
{
    sim_store_order_at(index, ret_stored);
    return ret_stored->record->order.state == MG_ORDER_ERROR;
}

/* False: something of the step still moves. */
static bool step_repair(const struct mg_order_record *record, int step)
{
    bool is_repaired = true;
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        struct sim_work *work = sim_ledger()->entries[i]->value;
        if (strcmp(work->order_id, record->order_id) == 0 &&
            strcmp(work->step, record->step_names[step]) == 0) {
            is_repaired = sim_repair(work) && is_repaired;
        }
    }
    return is_repaired;
}

/* A step in doubt, or one with a failed undo; -1: none. */
static int step_to_settle(const struct mg_order *order, const struct mg_verbs *verbs)
{
    for (int i = 0; i < order->step_count; i++) {
        const struct mg_step *step = &order->steps[i];
        bool is_open = step->state == MG_STEP_UNDO_FAILED ||
                       (step->is_maybe && (step->state == MG_STEP_FAILED || step->state == MG_STEP_UNKNOWN));
        if (is_open && (verbs->can_settle >> i & 1) != 0) {
            return i;
        }
    }
    return -1;
}

static void order_close(const struct sim_stored *stored)
{
    const struct mg_order_record *record = stored->record;
    const struct mg_context context = {.now_ms = sim_store_now_ms(),
                                       .quiesce_ms = SIM_QUIESCE_MS,
                                       .park_ms = SIM_QUIESCE_MS,
                                       .known_results = ~UINT64_C(0)};
    const struct mg_plan *plan = &sim_check_workflow(record->workflow)->plan;
    struct mg_order order = record->order;
    order.step_count = plan->step_count; /* steps without a row are pending */
    struct mg_verbs verbs;
    mg_verbs_find(plan, &context, &order, &verbs);
    int step = step_to_settle(&order, &verbs);
    if (verbs.can_resume && sim_draw(2) == 0) {
        sim_operator_command(stored, MG_CAUSE_RESUME, -1);
    } else if (step >= 0) {
        bool is_undo = order.steps[step].state == MG_STEP_UNDO_FAILED;
        if (!is_undo || step_repair(record, step)) {
            sim_operator_command(stored, MG_CAUSE_SETTLE, step);
        }
    } else if (verbs.can_compensate) {
        sim_operator_command(stored, MG_CAUSE_COMPENSATE, -1);
    } else if (verbs.can_cancel) {
        sim_operator_command(stored, MG_CAUSE_CANCEL, -1);
    } else if (verbs.can_resume) {
        sim_operator_command(stored, MG_CAUSE_RESUME, -1);
    } else if (verbs.can_restart) {
        sim_operator_command(stored, MG_CAUSE_RESTART, -1);
    }
}

bool sim_operator_close(void)
{
    bool is_any = false;
    for (int i = 0; i < sim_store_order_count(); i++) {
        struct sim_stored stored;
        if (is_in_error(i, &stored)) {
            order_close(&stored);
            is_any = true;
        }
    }
    return is_any;
}

void sim_check_closed(void)
{
    for (int i = 0; i < sim_store_order_count(); i++) {
        struct sim_stored stored;
        if (is_in_error(i, &stored)) {
            sim_violated("some_verb_ends_it", "order %s is in error (%s), and no verb has ended it",
                         stored.record->order_id, mg_reason_name(stored.record->order.reason));
        }
    }
}
