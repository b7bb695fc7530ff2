/*
 * The meaning of a reply, a passed deadline or a refused publish for a step that is being undone.
 *
 * Its running attempt is the undo, or it learns the result that the undo needs and that no answer has
 * carried: a do repeated under its key (the same bytes, law 8, derived identities), or a verify. A repeated
 * do may have the effect that it asks about. That is harmless, because the step stays to be undone until its
 * undo is done or nothing is proved to stand. Learning and the undo have the attempts of the undo's policy,
 * each for itself. An undo that the service works on, or that may have happened, is asked about by its own
 * verify, if it has one.
 */
#include "core/undo.h"

#include "core/policy.h"
#include "core/poll.h"
#include "core/quiet.h"

/* No further attempt. An undo without a result that could be learned has that cause, and not the one of the
 * last failure; one that an answer left without it cannot be built. */
static enum mg_verdict give_up(struct mg_decider *decider, int index, enum mg_reason reason)
{
    const struct mg_step *step = &decider->order.steps[index];
    bool is_learning =
        step->kind != MG_KIND_UNDO && !mg_step_asks_undone(step) && reason != MG_REASON_UNRENDERABLE;
    mg_policy_undo_given_up(decider, index);
    return mg_decider_step(decider, index, MG_STEP_EVENT_UNDO_FAIL,
                           is_learning ? MG_REASON_LEARN_FAILED : reason, 0);
}

static enum mg_verdict give_up_counted(struct mg_decider *decider, int index, enum mg_reason reason)
{
    decider->order.failure_count++;
    return give_up(decider, index, reason);
}

static enum mg_verdict retry(struct mg_decider *decider, int index, enum mg_reason reason)
{
    struct mg_wait wait = {0, reason};
    switch (mg_policy_count_failure(decider, index)) {
    case MG_BUDGET_ATTEMPT:
        wait = mg_policy_wait(decider, index, reason, mg_policy_backoff_at_ms(decider, index));
        break;
    case MG_BUDGET_COOL_DOWN:
        wait = mg_policy_wait(decider, index, MG_REASON_COOLING_DOWN,
                              decider->context->now_ms + mg_policy_retry(decider, index)->cool_down_ms);
        break;
    case MG_BUDGET_SPENT:
        return give_up(decider, index, MG_REASON_ATTEMPTS_EXHAUSTED);
    }
    return mg_decider_step(decider, index, MG_STEP_EVENT_UNDO_RETRY, wait.reason, wait.due_at_ms);
}

/* The service is away; nothing is counted (law 7, waiting is not failing). */
static enum mg_verdict park(struct mg_decider *decider, int index, enum mg_reason reason)
{
    return mg_decider_step(decider, index, MG_STEP_EVENT_PARK, reason, mg_policy_park_until_ms(decider));
}

/* Nothing of the step stands any more. */
static enum mg_verdict complete(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    step->is_maybe = step->is_accepted = false;
    step->finish_by_ms = 0;
    return mg_decider_step(decider, index, MG_STEP_EVENT_UNDO_COMPLETE, MG_REASON_NONE, 0);
}

static enum mg_verdict failed(struct mg_decider *decider, int index, enum mg_reason reason)
{
    return mg_decider_is_service_down(decider) ? park(decider, index, mg_policy_down_reason(decider))
                                               : retry(decider, index, reason);
}

/* ---- the undo and its verify ---- */

/* The undo may have happened: its verify goes out next, if there is one, else the undo again under its key.
 */
static void note_doubt(struct mg_decider *decider, int index, bool may_have_acted)
{
    struct mg_step *step = &decider->order.steps[index];
    bool is_undo = step->kind == MG_KIND_UNDO && may_have_acted;
    if (is_undo && decider->plan->steps[index].has_undo_verify && !step->is_accepted) {
        step->is_accepted = true;
        step->finish_by_ms = 0;
    }
}

/* The undo was refused: a resume sends it again, unless an earlier copy or attempt may still have acted. */
static enum mg_verdict undo_refused(struct mg_decider *decider, int index, bool may_have_acted)
{
    decider->order.steps[index].is_accepted = false;
    note_doubt(decider, index, may_have_acted);
    return give_up_counted(decider, index, MG_REASON_REPLY_PERMANENT);
}

/* It does not count yet, but the verify's answer may. */
static enum mg_verdict undo_doubt(struct mg_decider *decider, int index, enum mg_reason reason,
                                  bool may_have_acted)
{
    note_doubt(decider, index, may_have_acted);
    if (!mg_step_asks_undone(&decider->order.steps[index])) {
        return failed(decider, index, reason);
    }
    return mg_decider_is_service_down(decider)
               ? park(decider, index, mg_policy_down_reason(decider))
               : mg_poll_again(decider, index, reason, mg_quiet_due_at(decider, index));
}

static enum mg_verdict undo_accepted(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    if (plan->undo_finish_within_ms == 0) {
        return complete(decider, index);
    }
    mg_policy_attempt_stays_open(decider, index);
    step->is_accepted = true;
    step->finish_by_ms = decider->context->now_ms + plan->undo_finish_within_ms;
    return mg_poll_answered(decider, index);
}

/* Work that the service has accepted may have no effect yet: the request goes out again until one that began
 * after the time of that work finds nothing. */
static enum mg_verdict work_await(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    const struct mg_step *step = &decider->order.steps[index];
    bool is_over = mg_poll_is_over(decider, index);
    int64_t begun_ms = step->finish_by_ms - plan->finish_within_ms; /* a clock set forward passes the end */
    int64_t since_ms = mg_earlier(decider->context->now_ms - begun_ms, plan->finish_within_ms);
    int64_t wait_ms = is_over ? plan->poll_ms : mg_later(plan->poll_ms, since_ms / MG_ABSENT_SHARE);
    return mg_decider_step(decider, index, MG_STEP_EVENT_UNDO_RETRY, MG_REASON_REMOTE_WORKING,
                           mg_poll_next_ms(decider, index, wait_ms));
}

/* There is nothing to undo. */
static enum mg_verdict undo_absent(struct mg_decider *decider, int index)
{
    return mg_poll_was_over(decider, index) ? complete(decider, index) : work_await(decider, index);
}

static enum mg_verdict undo_replied(struct mg_decider *decider, int index)
{
    if (mg_decider_reply(decider)->may_still_act) {
        mg_policy_attempt_stays_open(decider, index);
    }
    switch (mg_decider_reply(decider)->outcome) {
    case MG_OUTCOME_DONE:
        return complete(decider, index);
    case MG_OUTCOME_ABSENT:
        return undo_absent(decider, index);
    case MG_OUTCOME_ACCEPTED:
        return undo_accepted(decider, index);
    case MG_OUTCOME_TRANSIENT:
    case MG_OUTCOME_UNKNOWN:
        return undo_doubt(decider, index, MG_REASON_REPLY_TRANSIENT,
                          !mg_policy_is_refusal_certain(mg_decider_reply(decider)));
    case MG_OUTCOME_PERMANENT:
        return undo_refused(decider, index, !mg_policy_is_refusal_certain(mg_decider_reply(decider)));
    case MG_OUTCOME_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such outcome");
}

bool mg_undo_awaits_copy(const struct mg_step *step)
{
    bool is_between = step->state == MG_STEP_UNDO_PENDING || step->state == MG_STEP_UNDO_WAITING ||
                      step->state == MG_STEP_UNDO_FAILED;
    return is_between && step->kind == MG_KIND_UNDO && step->is_undo_dispatched;
}

/* The copy may act until its complete-by, which is gone with its attempt: no later than that of an attempt
 * that begins now. A wait for the moment of quiet goes on until the new one. */
static void copy_stays_open(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    bool is_for_quiet = step->due_at_ms != 0 && step->due_at_ms == step->quiet_at_ms;
    mg_quiet_extend(decider, index,
                    decider->context->now_ms + decider->plan->steps[index].undo_complete_within_ms);
    step->due_at_ms = is_for_quiet ? step->quiet_at_ms : step->due_at_ms;
}

enum mg_verdict mg_undo_copy_replied(struct mg_decider *decider, int index)
{
    const struct mg_cause_reply *reply = mg_decider_reply(decider);
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    bool is_done_by_acceptance = reply->outcome == MG_OUTCOME_ACCEPTED && plan->undo_finish_within_ms == 0;
    if (reply->outcome == MG_OUTCOME_DONE || is_done_by_acceptance) {
        if (reply->may_still_act) {
            copy_stays_open(decider, index);
        }
        return complete(decider, index);
    }
    if (mg_policy_is_refusal_certain(reply)) {
        return mg_decider_end(decider, MG_DUPLICATE, "this attempt has been answered or judged");
    }
    note_doubt(decider, index, true);
    copy_stays_open(decider, index);
    decider->is_changed = true;
    return mg_decider_end(decider, MG_GO, "another copy of the undo may have acted");
}

/* The verify gave no answer. While the service works on the undo, that counts nothing. */
static enum mg_verdict ask_failed(struct mg_decider *decider, int index, enum mg_reason reason)
{
    return decider->order.steps[index].finish_by_ms > 0 ? mg_poll_failed(decider, index, reason)
                                                        : retry(decider, index, reason);
}

void mg_undo_end_doubt(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    int64_t within_ms = decider->plan->steps[index].finish_within_ms;
    step->is_accepted = false;
    step->finish_by_ms = step->is_maybe && within_ms > 0 ? decider->context->now_ms + within_ms : 0;
}

/* No undo has happened. It goes out again under its key. One that the service had accepted may still begin.
 */
static enum mg_verdict ask_absent(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    bool was_over = mg_poll_was_over(decider, index) && mg_quiet_was_reached(decider, index);
    if (step->finish_by_ms > 0 && !was_over) {
        return mg_poll_found_nothing(decider,
                                     index); /* law 11, quiesce: it may still begin, or show nothing yet */
    }
    enum mg_verdict verdict = retry(decider, index, MG_REASON_VERIFIED_ABSENT);
    mg_undo_end_doubt(decider, index);
    return verdict;
}

static enum mg_verdict ask_accepted(struct mg_decider *decider, int index)
{
    const struct mg_step_plan *plan = &decider->plan->steps[index];
    struct mg_step *step = &decider->order.steps[index];
    if (step->finish_by_ms == 0) { /* the verify after a doubt found the undo in progress */
        step->finish_by_ms =
            decider->context->now_ms + mg_later(plan->undo_finish_within_ms, plan->undo_complete_within_ms);
    }
    return mg_poll_answered(decider, index);
}

/* The undo has failed, whichever attempt it was. */
static enum mg_verdict ask_refused(struct mg_decider *decider, int index)
{
    mg_undo_end_doubt(decider, index);
    return undo_refused(decider, index, false);
}

static enum mg_verdict ask_replied(struct mg_decider *decider, int index)
{
    switch (mg_decider_reply(decider)->outcome) {
    case MG_OUTCOME_DONE:
        return complete(decider, index);
    case MG_OUTCOME_ABSENT:
        return ask_absent(decider, index);
    case MG_OUTCOME_ACCEPTED:
        return ask_accepted(decider, index);
    case MG_OUTCOME_TRANSIENT:
    case MG_OUTCOME_UNKNOWN:
        return mg_decider_is_service_down(decider) ? park(decider, index, mg_policy_down_reason(decider))
                                                   : ask_failed(decider, index, MG_REASON_REPLY_TRANSIENT);
    case MG_OUTCOME_PERMANENT:
        return mg_decider_reply(decider)->is_work_refused
                   ? ask_refused(decider, index)
                   : ask_failed(decider, index, MG_REASON_REPLY_PERMANENT);
    case MG_OUTCOME_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such outcome");
}

/* ---- learning ---- */

/* The undo has all of its attempts before it. The do that was repeated, or one before it, may still act: the
 * undo waits for it (law 11, quiesce). */
static enum mg_verdict learned(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    step->failure_count = 0;
    step->cool_down_count = 0;
    bool is_quiet = mg_quiet_is_reached(decider, index);
    return mg_decider_step(decider, index, MG_STEP_EVENT_LEARN,
                           is_quiet ? MG_REASON_ORDER_TURNED_BACK : MG_REASON_QUIESCING,
                           mg_quiet_due_at(decider, index));
}

/* The service has finished. An answer without the result will not change. */
static enum mg_verdict learn_done(struct mg_decider *decider, int index)
{
    return mg_decider_lacks_result(decider, index) ? give_up_counted(decider, index, MG_REASON_UNRENDERABLE)
                                                   : learned(decider, index);
}

/* The service still works. It may give the result already; the work then has the time of accepted work. */
static enum mg_verdict learn_accepted(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    int64_t within_ms = decider->plan->steps[index].finish_within_ms;
    if (within_ms > 0 && !mg_step_was_answered(step)) {
        step->finish_by_ms = decider->context->now_ms + within_ms;
    }
    return mg_decider_lacks_result(decider, index) ? retry(decider, index, MG_REASON_REMOTE_WORKING)
                                                   : learned(decider, index);
}

/* No answer, or one that does not say whether the work is done. The latter may give the result as well. */
static enum mg_verdict learn_unknown(struct mg_decider *decider, int index, enum mg_reason reason)
{
    return mg_decider_lacks_result(decider, index) ? failed(decider, index, reason) : learned(decider, index);
}

/* A service that replays answers a key on which it has acted with its first answer. So its refusal proves
 * that no attempt has acted, if none can act any more. A step that was answered as done is not cleared so:
 * that service contradicts itself. */
static enum mg_verdict repeat_refused(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    bool is_certain = mg_policy_is_refusal_certain(mg_decider_reply(decider));
    if (is_certain && step->is_maybe && !mg_step_was_answered(step) && mg_quiet_was_reached(decider, index)) {
        step->is_refused = true;
        return complete(decider, index);
    }
    step->is_maybe = step->is_maybe || !is_certain;
    return retry(decider, index, MG_REASON_REPLY_PERMANENT);
}

static enum mg_verdict repeat_replied(struct mg_decider *decider, int index)
{
    const struct mg_cause_reply *reply = mg_decider_reply(decider);
    struct mg_step *step = &decider->order.steps[index];
    bool is_working =
        reply->outcome == MG_OUTCOME_ACCEPTED && decider->plan->steps[index].finish_within_ms > 0;
    if (reply->may_still_act || reply->outcome == MG_OUTCOME_ACCEPTED) {
        mg_policy_attempt_stays_open(decider, index);
    }
    step->is_maybe = step->is_maybe || is_working;
    switch (reply->outcome) {
    case MG_OUTCOME_DONE:
        return learn_done(decider, index);
    case MG_OUTCOME_ACCEPTED:
        return learn_accepted(decider, index);
    case MG_OUTCOME_ABSENT:
    case MG_OUTCOME_PERMANENT:
        return repeat_refused(decider, index);
    case MG_OUTCOME_TRANSIENT:
        step->is_maybe = step->is_maybe || !mg_policy_is_refusal_certain(reply);
        return failed(decider, index, MG_REASON_REPLY_TRANSIENT);
    case MG_OUTCOME_UNKNOWN:
        step->is_maybe = step->is_maybe || !mg_policy_is_refusal_certain(reply);
        return learn_unknown(decider, index, MG_REASON_REPLY_UNKNOWN);
    case MG_OUTCOME_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such outcome");
}

/* Only an absence that the definition calls final is a proof (law 11, quiesce). Any other may end. */
static enum mg_verdict verify_absent(struct mg_decider *decider, int index)
{
    if (!mg_poll_was_over(decider, index)) {
        return work_await(decider, index);
    }
    if (!decider->plan->steps[index].is_absent_final) {
        return retry(decider, index, MG_REASON_VERIFIED_ABSENT);
    }
    decider->order.steps[index].is_refused = true;
    return complete(decider, index);
}

/* Nothing stands to be undone. A step that was answered as done is not cleared so: that service contradicts
 * itself. */
static enum mg_verdict verify_refused(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    if (!mg_decider_reply(decider)->is_work_refused || !step->is_maybe || mg_step_was_answered(step)) {
        return retry(decider, index, MG_REASON_REPLY_PERMANENT);
    }
    step->is_refused = true;
    return complete(decider, index);
}

static enum mg_verdict verify_replied(struct mg_decider *decider, int index)
{
    switch (mg_decider_reply(decider)->outcome) {
    case MG_OUTCOME_DONE:
        return learn_done(decider, index);
    case MG_OUTCOME_ACCEPTED:
        return learn_accepted(decider, index);
    case MG_OUTCOME_ABSENT:
        return verify_absent(decider, index);
    case MG_OUTCOME_TRANSIENT:
        return failed(decider, index, MG_REASON_REPLY_TRANSIENT);
    case MG_OUTCOME_UNKNOWN:
        return learn_unknown(decider, index, MG_REASON_REPLY_TRANSIENT);
    case MG_OUTCOME_PERMANENT:
        return verify_refused(decider, index);
    case MG_OUTCOME_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such outcome");
}

enum mg_verdict mg_undo_replied(struct mg_decider *decider, int index)
{
    switch (decider->order.steps[index].kind) {
    case MG_KIND_DO:
        return repeat_replied(decider, index);
    case MG_KIND_VERIFY:
        return mg_step_asks_undone(&decider->order.steps[index]) ? ask_replied(decider, index)
                                                                 : verify_replied(decider, index);
    case MG_KIND_UNDO:
        return undo_replied(decider, index);
    case MG_KIND_COUNT:
        break;
    }
    return mg_decider_end(decider, MG_IMPOSSIBLE, "no such kind");
}

/* ---- without a reply ---- */

enum mg_verdict mg_undo_overdue(struct mg_decider *decider, int index)
{
    struct mg_step *step = &decider->order.steps[index];
    if (step->kind >= MG_KIND_COUNT) {
        return mg_decider_end(decider, MG_IMPOSSIBLE, "no such kind");
    }
    step->is_maybe = step->is_maybe || step->kind == MG_KIND_DO;
    note_doubt(decider, index, true);
    if (mg_policy_is_service_away(decider, index)) {
        return park(decider, index, decider->context->gate[index]);
    }
    if (!mg_step_asks_undone(step)) {
        return retry(decider, index, MG_REASON_EXPIRED);
    }
    return step->kind == MG_KIND_UNDO ? undo_doubt(decider, index, MG_REASON_EXPIRED, true)
                                      : ask_failed(decider, index, MG_REASON_EXPIRED);
}

enum mg_verdict mg_undo_unpublishable(struct mg_decider *decider, int index, bool may_be_out)
{
    struct mg_step *step = &decider->order.steps[index];
    step->is_maybe = step->is_maybe || (step->kind == MG_KIND_DO && may_be_out);
    note_doubt(decider, index, may_be_out);
    return park(decider, index, MG_REASON_UNPUBLISHABLE);
}
