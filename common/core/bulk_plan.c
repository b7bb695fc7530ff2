/* See bulk_plan.h. */
#include "core/bulk_plan.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t mg_bulk_spacing_us(double rate_per_s)
{
    double spacing_us = 1e6 / rate_per_s;
    if (spacing_us >= (double)MG_BULK_SPACING_MAX_US) {
        return MG_BULK_SPACING_MAX_US;
    }
    return spacing_us > 1 ? (int64_t)spacing_us : 1;
}

/* A bulk action may have fewer orders than its canary. */
static int64_t canary_size(const struct mg_bulk *bulk)
{
    return least(bulk->canary, bulk->waiting + bulk->asked + bulk->done + bulk->failed);
}

static bool is_above(int64_t failed, const struct mg_bulk *bulk, int64_t of)
{
    return failed * 100 > bulk->stop_percent * of;
}

/* While the canary runs, its first failure may come before its first success. */
static int64_t failed_of_canary(const struct mg_bulk *bulk, int64_t canary)
{
    bool shows_none_good = bulk->done == 0 && bulk->failed >= canary;
    return bulk->failed - (shows_none_good ? 0 : bulk->failed_otherwise);
}

static int64_t failed_recently(const struct mg_bulk *bulk)
{
    bool shows_none_good = bulk->recent_failed == bulk->recent;
    return bulk->recent_failed - (shows_none_good ? 0 : bulk->recent_failed_otherwise);
}

/* Orders that may be requested now: one for each spacing since the last one. */
static int64_t room_by_rate(const struct mg_bulk *bulk, int64_t *ret_from_us)
{
    int64_t oldest_us = bulk->now_us - MG_BULK_BURST_US;
    /* A later value means that the clock was set back since. */
    int64_t next_us = bulk->next_us > bulk->now_us + bulk->spacing_us ? bulk->now_us : bulk->next_us;
    *ret_from_us = next_us > oldest_us ? next_us : oldest_us;
    return bulk->now_us < *ret_from_us ? 0 : (bulk->now_us - *ret_from_us) / bulk->spacing_us + 1;
}

/* The most that one look may request, plus one, less the untaken commands. */
static int64_t room_by_untaken(const struct mg_bulk *bulk)
{
    return MG_BULK_BURST_US / bulk->spacing_us + 2 - bulk->untaken;
}

struct mg_bulk_plan mg_bulk_plan(const struct mg_bulk *bulk)
{
    struct mg_bulk_plan plan = {bulk->state, bulk->is_tried, 0, bulk->next_us, MG_BULK_GOES_ON};
    if (bulk->state == MG_BULK_STOPPED || bulk->state == MG_BULK_DONE) {
        return plan;
    }
    int64_t canary = canary_size(bulk);
    int64_t tried = bulk->done + bulk->failed;
    bool is_held = bulk->state == MG_BULK_PAUSED;
    if (!is_held && !bulk->is_tried && is_above(failed_of_canary(bulk, canary), bulk, canary)) {
        plan.state = MG_BULK_STOPPED;
        plan.why = MG_BULK_CANARY_FAILED;
        return plan;
    }
    int64_t recent = bulk->recent > MG_BULK_RECENT_MIN ? bulk->recent : MG_BULK_RECENT_MIN;
    if (!is_held && bulk->is_tried && is_above(failed_recently(bulk), bulk, recent)) {
        plan.state = MG_BULK_STOPPED;
        plan.why = MG_BULK_TOO_MANY_FAILED;
        return plan;
    }
    if (bulk->waiting + bulk->asked == 0) {
        plan.state = MG_BULK_DONE;
        return plan;
    }
    if (is_held) {
        return plan;
    }
    plan.is_tried = bulk->is_tried || tried >= canary;
    plan.state = plan.is_tried ? MG_BULK_RUNNING : MG_BULK_CANARY;
    int64_t room = plan.is_tried ? MG_BULK_UNDER_WAY_MAX : least(canary - tried, MG_BULK_UNDER_WAY_MAX);
    int64_t from_us;
    plan.ask = least(least(bulk->waiting, room_by_rate(bulk, &from_us)),
                     least(room - bulk->asked, room_by_untaken(bulk)));
    if (plan.ask > 0) {
        plan.next_us = from_us + plan.ask * bulk->spacing_us;
    } else {
        plan.ask = 0;
    }
    return plan;
}

enum mg_bulk_result mg_bulk_judge(const struct mg_bulk_order *order)
{
    if (order->order_version <= order->version) {
        bool is_left_out = order->order_version == 0 || order->is_inapplicable;
        return is_left_out         ? MG_BULK_RESULT_SKIPPED
               : order->is_refused ? MG_BULK_RESULT_FAILED
                                   : MG_BULK_RESULT_ASKED;
    }
    if (!order->is_ours) {
        return MG_BULK_RESULT_SKIPPED;
    }
    if (order->state == MG_ORDER_ERROR) {
        return MG_BULK_RESULT_FAILED;
    }
    if (!mg_order_state_is_terminal(order->state)) {
        return MG_BULK_RESULT_ASKED;
    }
    return order->is_turned ? MG_BULK_RESULT_FAILED : MG_BULK_RESULT_DONE;
}
