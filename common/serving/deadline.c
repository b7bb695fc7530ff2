/* See deadline.h. */
#include "deadline.h"

#include <string.h>

static void seconds_forget(struct mg_skew *skew)
{
    memset(skew->seconds, 0, sizeof(skew->seconds));
    for (int i = 0; i < MG_SKEW_SECONDS; i++) {
        skew->seconds[i].second = -1;
    }
    skew->minute_second = -1;
}

void mg_skew_init(struct mg_skew *skew, int64_t limit_ms, int64_t boot_ms)
{
    memset(skew, 0, sizeof(*skew));
    skew->limit_ms = limit_ms;
    skew->ran_at_boot_ms = boot_ms;
    skew->usual_boot_ms = INT64_MIN / 2;
    skew->doubt.over_boot_ms = skew->last_doubt.over_boot_ms = INT64_MIN / 2;
    seconds_forget(skew);
}

static struct mg_minute minute_make(const struct mg_skew *skew, int64_t boot_ms)
{
    struct mg_minute minute = {INT64_MAX, 0, 0};
    int64_t oldest = boot_ms / 1000 - MG_SKEW_SECONDS;
    for (int i = 0; i < MG_SKEW_SECONDS; i++) {
        if (skew->seconds[i].second <= oldest || skew->seconds[i].count == 0) {
            continue;
        }
        minute.count += skew->seconds[i].count;
        minute.fresh_count += skew->seconds[i].fresh_count;
        if (skew->seconds[i].least_ms < minute.least_ms) {
            minute.least_ms = skew->seconds[i].least_ms;
        }
    }
    return minute;
}

static struct mg_minute last_minute(const struct mg_skew *skew, int64_t boot_ms)
{
    return skew->minute_second == boot_ms / 1000 ? skew->minute : minute_make(skew, boot_ms);
}

static void seconds_add(struct mg_skew *skew, int64_t boot_ms, int64_t lead_ms, int fresh_count)
{
    int64_t second = boot_ms / 1000;
    int slot = (int)(second % MG_SKEW_SECONDS);
    if (skew->seconds[slot].second != second) {
        skew->seconds[slot].second = second;
        skew->seconds[slot].least_ms = INT64_MAX;
        skew->seconds[slot].count = 0;
        skew->seconds[slot].fresh_count = 0;
    }
    skew->seconds[slot].count++;
    skew->seconds[slot].fresh_count += fresh_count;
    if (lead_ms < skew->seconds[slot].least_ms) {
        skew->seconds[slot].least_ms = lead_ms;
    }
    if (skew->minute_second != second) {
        skew->minute = minute_make(skew, boot_ms);
        skew->minute_second = second;
        return;
    }
    skew->minute.count++;
    skew->minute.fresh_count += fresh_count;
    skew->minute.least_ms = lead_ms < skew->minute.least_ms ? lead_ms : skew->minute.least_ms;
}

/* True: the samples of the run prove that the clock went back. */
static bool run_extend(struct mg_skew *skew, int64_t boot_ms, int64_t sent_at_ms, bool is_control)
{
    int64_t lead_ms = boot_ms - sent_at_ms;
    int64_t band_ms = is_control ? MG_SKEW_BACK_CONTROL_BAND_MS : MG_SKEW_BACK_BAND_MS;
    if (skew->run.count == 0 || lead_ms < skew->run.lead_ms - MG_SKEW_BACK_BAND_MS) {
        skew->run.count = skew->run.controls = 0;
        skew->run.first_boot_ms = boot_ms;
        skew->run.lead_ms = skew->run.least_ms = lead_ms;
    } else if (lead_ms > skew->run.lead_ms + band_ms) {
        return false; /* held up beyond the step, if it is one: no proof of either */
    }
    skew->run.count++;
    skew->run.controls += is_control ? 1 : 0;
    skew->run.least_ms = lead_ms < skew->run.least_ms ? lead_ms : skew->run.least_ms;
    return skew->run.count >= (skew->run.controls > 0 ? MG_SKEW_FRESH_MIN : MG_SKEW_BACK_REQUESTS) &&
           boot_ms - skew->run.first_boot_ms >= MG_SKEW_BACK_SPAN_MS;
}

/* False while the clock is not known. */
static bool is_of_future(const struct mg_skew *skew, int64_t boot_ms, int64_t now_ms, int64_t sent_at_ms)
{
    return sent_at_ms - now_ms > MG_SKEW_FAR_MS && mg_skew_is_known(skew, boot_ms);
}

/* A fresh message of the future shows that the clock was set forward. */
static void forward_note(struct mg_skew *skew, int64_t boot_ms, int64_t believed_ms, int64_t sent_at_ms)
{
    if (is_of_future(skew, boot_ms, believed_ms, sent_at_ms)) {
        skew->forward.by_ms = sent_at_ms - believed_ms;
        skew->forward.from_ms = believed_ms;
    }
}

static bool is_doubt_open(const struct mg_skew *skew, int64_t boot_ms)
{
    return skew->doubt.over_boot_ms > boot_ms;
}

/* A usual difference ends an open doubt. */
static void doubt_note(struct mg_skew *skew, int64_t boot_ms)
{
    if (is_doubt_open(skew, boot_ms) && boot_ms >= skew->doubt.boot_ms + MG_SKEW_SETTLE_MS &&
        mg_skew_is_known(skew, boot_ms)) {
        skew->doubt.over_boot_ms = boot_ms;
    }
}

int64_t mg_skew_note(struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t sent_at_ms,
                     enum mg_sample sample)
{
    bool is_fresh = sample != MG_SAMPLE_QUEUED;
    int64_t back_ms = 0, believed_ms = mg_skew_now_ms(skew, boot_ms, wall_ms);
    if (!is_fresh && is_of_future(skew, boot_ms, believed_ms, sent_at_ms)) {
        return 0;
    }
    if (believed_ms - sent_at_ms <= MG_SKEW_FAR_MS) {
        forward_note(skew, boot_ms, believed_ms, sent_at_ms);
        seconds_add(skew, boot_ms, boot_ms - sent_at_ms, is_fresh ? 1 : 0);
    } else if (is_fresh && run_extend(skew, boot_ms, sent_at_ms, sample == MG_SAMPLE_CONTROL)) {
        back_ms = believed_ms - (boot_ms - skew->run.least_ms);
        seconds_forget(skew);
        skew->forward.by_ms = 0;
        seconds_add(skew, boot_ms, skew->run.least_ms, skew->run.count);
    } else {
        return 0;
    }
    skew->run.count = 0;
    skew->usual_boot_ms = boot_ms;
    doubt_note(skew, boot_ms);
    int64_t ahead_ms;
    if (mg_skew_measure(skew, boot_ms, wall_ms, &ahead_ms)) {
        int64_t limit_ms = skew->limit_ms;
        skew->known_ms = ahead_ms > limit_ms ? limit_ms : ahead_ms < -limit_ms ? -limit_ms : ahead_ms;
    }
    return back_ms;
}

bool mg_skew_stood_still(struct mg_skew *skew, int64_t boot_ms)
{
    bool has_stood = skew->ran_at_boot_ms < boot_ms - MG_STANDSTILL_MS;
    skew->ran_at_boot_ms = boot_ms;
    return has_stood;
}

bool mg_skew_is_known(const struct mg_skew *skew, int64_t boot_ms)
{
    return last_minute(skew, boot_ms).fresh_count >= MG_SKEW_FRESH_MIN;
}

bool mg_skew_measure(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms, int64_t *ret_ahead_ms)
{
    struct mg_minute minute = last_minute(skew, boot_ms);
    if (minute.count == 0) {
        return false;
    }
    int64_t ahead_ms = wall_ms - (boot_ms - minute.least_ms);
    if (ahead_ms > 0 && minute.fresh_count < MG_SKEW_FRESH_MIN) {
        return false; /* the message may only have waited in the queue */
    }
    *ret_ahead_ms = ahead_ms;
    return true;
}

int64_t mg_skew_now_ms(const struct mg_skew *skew, int64_t boot_ms, int64_t wall_ms)
{
    struct mg_minute minute = last_minute(skew, boot_ms);
    int64_t by_wall_ms = wall_ms - skew->known_ms;
    if (minute.count == 0) {
        return by_wall_ms;
    }
    int64_t by_requests_ms = boot_ms - minute.least_ms;
    if (minute.fresh_count >= MG_SKEW_FRESH_MIN || by_requests_ms > by_wall_ms) {
        return by_requests_ms;
    }
    return by_wall_ms;
}

/* ---- deadlines ---- */

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The time that the sender gave it, less the time since its receipt. */
static int64_t given_left_ms(const struct mg_deadline *deadline, int64_t boot_ms)
{
    return deadline->complete_by_ms - deadline->sent_at_ms - (boot_ms - deadline->received_boot_ms);
}

/* The time by the clock that stamped the request. Schedulers use the old clock for a moment after a step. */
static int64_t sender_now_ms(const struct mg_deadline *deadline, const struct mg_skew *skew, int64_t boot_ms,
                             int64_t wall_ms)
{
    int64_t now_ms = mg_skew_now_ms(skew, boot_ms, wall_ms);
    bool is_by_old_clock = skew->forward.by_ms > 0 && mg_skew_is_known(skew, boot_ms) &&
                           deadline->sent_at_ms <= skew->forward.from_ms + MG_SKEW_SETTLE_MS;
    return is_by_old_clock ? now_ms - skew->forward.by_ms : now_ms;
}

/* The request is late by the clock. Can that clock be wrong, because the database's went back? */
static bool is_step_possible(const struct mg_deadline *deadline, const struct mg_skew *skew, int64_t boot_ms)
{
    return !mg_skew_is_known(skew, boot_ms) ||
           skew->usual_boot_ms < deadline->received_boot_ms + MG_SKEW_SETTLE_MS;
}

/* For a request that waited in its queue: it is after a finished doubt, and nothing since shows a step. */
static bool is_doubt_spent(const struct mg_deadline *deadline, const struct mg_skew *skew, int64_t boot_ms)
{
    int64_t over_boot_ms = skew->last_doubt.over_boot_ms;
    bool is_step_shown = skew->run.count > 0 && skew->run.first_boot_ms > boot_ms - MG_SKEW_DOUBT_MS;
    return !is_step_shown && deadline->sent_at_ms >= skew->last_doubt.sent_at_ms &&
           deadline->received_boot_ms >= over_boot_ms &&
           deadline->received_boot_ms < over_boot_ms + MG_SKEW_RECENT_MS;
}

/* A request that is late at once begins the next doubt, too, so that a lasting backlog is held up only
 * once. */
static void doubt_begin(struct mg_skew *skew, const struct mg_deadline *deadline)
{
    skew->last_doubt.sent_at_ms = skew->doubt.sent_at_ms;
    skew->last_doubt.over_boot_ms = skew->doubt.over_boot_ms;
    skew->doubt.boot_ms = deadline->received_boot_ms;
    skew->doubt.sent_at_ms = deadline->sent_at_ms;
    skew->doubt.over_boot_ms = deadline->received_boot_ms + MG_SKEW_DOUBT_MS;
}

static enum mg_deadline_verdict queued_judge(const struct mg_deadline *deadline, struct mg_skew *skew,
                                             int64_t boot_ms)
{
    if (!is_doubt_open(skew, deadline->received_boot_ms)) {
        doubt_begin(skew, deadline);
    }
    bool is_over = boot_ms >= deadline->received_boot_ms + MG_SKEW_DOUBT_MS;
    return is_over || !is_step_possible(deadline, skew, boot_ms) || is_doubt_spent(deadline, skew, boot_ms)
               ? MG_DEADLINE_LATE
               : MG_DEADLINE_IN_DOUBT;
}

/* A call after the doubt must have time to finish, and a reply without a call must have time to arrive. */
static bool is_doubt_over(const struct mg_deadline *deadline, int64_t given_ms, int64_t boot_ms)
{
    int64_t half_ms = (deadline->complete_by_ms - deadline->sent_at_ms) / 2;
    return given_ms - MG_DEADLINE_LOOK_MS < half_ms ||
           boot_ms - deadline->received_boot_ms >= MG_SKEW_DOUBT_MS;
}

enum mg_deadline_verdict mg_deadline_judge(struct mg_deadline *deadline, struct mg_skew *skew,
                                           int64_t boot_ms, int64_t wall_ms)
{
    if (deadline->until_boot_ms != 0) {
        return deadline->until_boot_ms > boot_ms ? MG_DEADLINE_IN_TIME : MG_DEADLINE_LATE;
    }
    int64_t given_ms = given_left_ms(deadline, boot_ms);
    if (given_ms <= 0) {
        return MG_DEADLINE_LATE;
    }
    int64_t now_ms = sender_now_ms(deadline, skew, boot_ms, wall_ms);
    if (!deadline->is_fresh && is_of_future(skew, boot_ms, now_ms, deadline->sent_at_ms)) {
        deadline->until_boot_ms = boot_ms + given_ms;
        return MG_DEADLINE_NOT_CALLED;
    }
    int64_t held_up_ms = now_ms - (boot_ms - deadline->received_boot_ms) - deadline->sent_at_ms;
    int64_t left_ms = least_of(given_ms, deadline->complete_by_ms - now_ms);
    if (deadline->is_fresh && held_up_ms <= MG_SKEW_FAR_MS) {
        deadline->until_boot_ms = boot_ms + given_ms;
        return MG_DEADLINE_IN_TIME;
    }
    if (left_ms > 0) {
        deadline->until_boot_ms = mg_skew_is_known(skew, boot_ms) ? boot_ms + left_ms : 0;
        return MG_DEADLINE_IN_TIME;
    }
    if (!deadline->is_fresh) {
        return queued_judge(deadline, skew, boot_ms);
    }
    if (is_step_possible(deadline, skew, boot_ms) && !is_doubt_over(deadline, given_ms, boot_ms)) {
        return MG_DEADLINE_IN_DOUBT;
    }
    deadline->until_boot_ms = boot_ms + given_ms;
    return MG_DEADLINE_NOT_CALLED;
}

int64_t mg_deadline_left_ms(const struct mg_deadline *deadline, const struct mg_skew *skew, int64_t boot_ms,
                            int64_t wall_ms)
{
    if (deadline->until_boot_ms != 0) {
        return deadline->until_boot_ms - boot_ms;
    }
    return least_of(given_left_ms(deadline, boot_ms),
                    deadline->complete_by_ms - sender_now_ms(deadline, skew, boot_ms, wall_ms));
}

int64_t mg_deadline_budget_ms(int64_t left_ms)
{
    if (left_ms <= 0) {
        return 0;
    }
    int64_t margin_ms = left_ms / 4 < MG_DEADLINE_MARGIN_MS ? left_ms / 4 : MG_DEADLINE_MARGIN_MS;
    return left_ms - margin_ms;
}
