/* See batch_plan.h. */
#include "core/batch_plan.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t mg_batch_spacing_us(double rate_per_s)
{
    double spacing_us = 1e6 / rate_per_s;
    if (spacing_us >= (double)MG_BATCH_SPACING_MAX_US) {
        return MG_BATCH_SPACING_MAX_US;
    }
    return spacing_us > 1 ? (int64_t)spacing_us : 1;
}

/* A batch may have fewer orders than its canary. */
static int64_t canary_size(const struct mg_batch *batch)
{
    return least(batch->canary, batch->waiting + batch->asked + batch->done + batch->failed);
}

static bool is_above(int64_t failed, const struct mg_batch *batch, int64_t of)
{
    return failed * 100 > batch->stop_percent * of;
}

/* Orders that may be requested now: one for each spacing since the last one. */
static int64_t room_by_rate(const struct mg_batch *batch, int64_t *ret_from_us)
{
    int64_t oldest_us = batch->now_us - MG_BATCH_BURST_US;
    /* A later value means that the clock was set back since. */
    int64_t next_us = batch->next_us > batch->now_us + batch->spacing_us ? batch->now_us : batch->next_us;
    *ret_from_us = next_us > oldest_us ? next_us : oldest_us;
    return batch->now_us < *ret_from_us ? 0 : (batch->now_us - *ret_from_us) / batch->spacing_us + 1;
}

/* The most that one look may request, plus one, less the untaken commands. */
static int64_t room_by_untaken(const struct mg_batch *batch)
{
    return MG_BATCH_BURST_US / batch->spacing_us + 2 - batch->untaken;
}

struct mg_batch_plan mg_batch_plan(const struct mg_batch *batch)
{
    struct mg_batch_plan plan = {batch->state, batch->is_tried, 0, batch->next_us, MG_BATCH_GOES_ON};
    if (batch->state == MG_BATCH_STOPPED || batch->state == MG_BATCH_DONE) {
        return plan;
    }
    int64_t canary = canary_size(batch);
    int64_t tried = batch->done + batch->failed;
    bool is_held = batch->state == MG_BATCH_PAUSED;
    if (!is_held && !batch->is_tried && is_above(batch->failed, batch, canary)) {
        plan.state = MG_BATCH_STOPPED;
        plan.why = MG_BATCH_CANARY_FAILED;
        return plan;
    }
    if (!is_held && batch->is_tried && is_above(batch->recent_failed, batch, MG_BATCH_RECENT)) {
        plan.state = MG_BATCH_STOPPED;
        plan.why = MG_BATCH_TOO_MANY_FAILED;
        return plan;
    }
    if (batch->waiting + batch->asked == 0) {
        plan.state = MG_BATCH_DONE;
        return plan;
    }
    if (is_held) {
        return plan;
    }
    plan.is_tried = batch->is_tried || tried >= canary;
    plan.state = plan.is_tried ? MG_BATCH_RUNNING : MG_BATCH_CANARY;
    int64_t room = plan.is_tried ? MG_BATCH_UNDER_WAY_MAX : least(canary - tried, MG_BATCH_UNDER_WAY_MAX);
    int64_t from_us;
    plan.ask = least(least(batch->waiting, room_by_rate(batch, &from_us)),
                     least(room - batch->asked, room_by_untaken(batch)));
    if (plan.ask > 0) {
        plan.next_us = from_us + plan.ask * batch->spacing_us;
    } else {
        plan.ask = 0;
    }
    return plan;
}

enum mg_batch_result mg_batch_judge(const struct mg_batch_order *order)
{
    if (order->order_version <= order->version) {
        return order->order_version == 0 ? MG_BATCH_RESULT_SKIPPED
               : order->is_refused       ? MG_BATCH_RESULT_FAILED
                                         : MG_BATCH_RESULT_ASKED;
    }
    if (!order->is_ours) {
        return MG_BATCH_RESULT_SKIPPED;
    }
    if (order->state == MG_ORDER_ERROR) {
        return MG_BATCH_RESULT_FAILED;
    }
    if (!mg_order_state_is_terminal(order->state)) {
        return MG_BATCH_RESULT_ASKED;
    }
    return order->is_turned ? MG_BATCH_RESULT_FAILED : MG_BATCH_RESULT_DONE;
}
