/*
 * Invariants at each commit, publish and dead letter. Those of an ack are in check_ack.c, those of the end in
 * verdict.c. Their names are listed in README.md.
 *
 * A failover that loses the tail weakens some promises. Each exception is stated where the check allows it.
 */
#include "checker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "core/key.h"
#include "io/amqp/topology.h"
#include "json/json.h"
#include "nodes.h"
#include "scheduler.h"
#include "wire/command.h"
#include "wire/reply.h"
#include "wire/request.h"

static struct {
    struct sim_table published; /* "<type> <message_id>" of every message ever queued; no values */
    struct mg_definition *definitions;
    uint64_t epoch;
    char holder[128];
    int commits;
} check;

const struct mg_workflow *sim_check_workflow(const char *name)
{
    for (const struct mg_definition *one = check.definitions; one != NULL; one = one->next) {
        if (strcmp(one->workflow->name, name) == 0) {
            return one->workflow;
        }
    }
    return NULL;
}

void sim_check_start(void)
{
    struct mg_err err;
    check.definitions = sim_definitions_create(&err);
    assert(check.definitions != NULL);
}

bool sim_check_is_published(const char *type, const char *message_id)
{
    char key[MG_KEY_SIZE + 64];
    (void)snprintf(key, sizeof(key), "%s %s", type, message_id);
    return sim_table_find(&check.published, mg_slice_of(key)) != NULL;
}

bool sim_check_is_rejected(const struct sim_submitted *order)
{
    return sim_check_is_published("submission", order->message_id);
}

/* ---- commits ---- */

/* Operators may change much, at any time: their causes come last in words.def. */
static bool is_operators(enum mg_cause_kind kind)
{
    return kind >= MG_CAUSE_RESUME;
}

static bool has_cause(const struct mg_order_write *write, bool (*is_one)(enum mg_cause_kind))
{
    for (int i = 0; i < write->event_count; i++) {
        if (is_one(write->events[i].cause_kind)) {
            return true;
        }
    }
    return false;
}

static bool is_overdue(enum mg_cause_kind kind)
{
    return kind == MG_CAUSE_OVERDUE;
}

static bool is_unpublishable(enum mg_cause_kind kind)
{
    return kind == MG_CAUSE_UNPUBLISHABLE;
}

static void versions_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    uint64_t version = before != NULL ? before->order.version : 0;
    if (write->expected_version != version) {
        sim_violated("version_guard", "order %s is written over version %llu by a reader of version %llu",
                     record->order_id, (unsigned long long)version,
                     (unsigned long long)write->expected_version);
    }
    for (int i = 0; i < write->event_count; i++) {
        if (write->events[i].version != version + (uint64_t)i + 1) {
            sim_violated("version_plus_one", "order %s: event %llu follows version %llu", record->order_id,
                         (unsigned long long)write->events[i].version,
                         (unsigned long long)version + (uint64_t)i);
        }
    }
    if (write->event_count == 0 || record->order.version != version + (uint64_t)write->event_count) {
        sim_violated("version_plus_one", "order %s: version %llu after %d events on %llu", record->order_id,
                     (unsigned long long)record->order.version, write->event_count,
                     (unsigned long long)version);
    }
}

static bool is_reply(enum mg_cause_kind kind)
{
    return kind == MG_CAUSE_REPLY;
}

/* A late answer settles a step that waits for a person, as that person would; so does one to another copy of
 * a failed undo. */
static bool is_settled_late(const struct mg_order_record *before, const struct mg_order_write *write)
{
    bool is_any = false;
    for (int i = 0; i < before->order.step_count; i++) {
        const struct mg_step *was = &before->order.steps[i], *is = &write->record->order.steps[i];
        is_any = is_any || (was->state == MG_STEP_UNKNOWN && is->state != MG_STEP_UNKNOWN) ||
                 (was->state == MG_STEP_UNDO_FAILED && is->state == MG_STEP_UNDONE);
    }
    return before->order.state == MG_ORDER_ERROR && is_any && has_cause(write, is_reply);
}

static void ends_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(before->order_id));
    enum mg_order_state was = before->order.state, is = write->record->order.state;
    if (mg_order_state_is_terminal(was) && was != is && !has_cause(write, is_operators) &&
        !order->is_tail_lost && !is_settled_late(before, write)) {
        sim_violated("final_once", "order %s was %s and becomes %s without an operator", before->order_id,
                     mg_order_state_name(was), mg_order_state_name(is));
    }
}

/* The steps that follow this one, also through others, which may have been skipped. */
static uint64_t followers_of(const struct mg_workflow *workflow, int step)
{
    uint64_t found = UINT64_C(1) << step, before = 0;
    while (found != before) { /* bits are only added */
        before = found;
        for (int i = 0; i < workflow->plan.step_count; i++) {
            found |= (workflow->plan.steps[i].after & found) != 0 ? UINT64_C(1) << i : 0;
        }
    }
    return found & ~(UINT64_C(1) << step);
}

/* Every follower of this step has come to rest before the step is undone. */
static void followers_check(const struct mg_order_record *record, const struct mg_workflow *workflow,
                            int step)
{
    uint64_t followers = followers_of(workflow, step);
    for (int i = 0; i < record->order.step_count; i++) {
        const struct mg_step *follower = &record->order.steps[i];
        bool is_follower = (followers >> i & 1) != 0;
        bool must_go_first =
            workflow->plan.steps[i].has_undo && (follower->state == MG_STEP_DONE || follower->is_maybe);
        /* A failover lost an attempt of the follower. The reply that reveals it comes when this step's undo
         * is out, or turns the order back itself. */
        bool is_learnt_late = record->order.reason == MG_REASON_STATE_LOST &&
                              (follower->state == MG_STEP_PENDING || follower->state == MG_STEP_UNDONE ||
                               follower->state == MG_STEP_FAILED);
        if (is_follower && (mg_step_is_running(follower) || must_go_first) && !is_learnt_late &&
            follower->state != MG_STEP_UNDO_FAILED) {
            sim_violated("undo_in_reverse", "order %s: %s is being undone while %s, which follows it, is %s",
                         record->order_id, workflow->steps[step].name, workflow->steps[i].name,
                         mg_step_state_name(follower->state));
        }
    }
}

static void dispatch_check(const struct mg_order_record *before, const struct mg_order_write *write, int step,
                           const struct mg_workflow *workflow)
{
    const struct mg_order_record *record = write->record;
    const struct mg_step *is = &record->order.steps[step];
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    if (is->kind == MG_KIND_DO) { /* a later cause of the batch may have turned the order back */
        for (int i = 0; i < record->order.step_count && record->order.state == MG_ORDER_PROCESSING; i++) {
            enum mg_step_state state = record->order.steps[i].state;
            bool is_before = (workflow->plan.steps[step].after >> i & 1) != 0;
            if (is_before && state != MG_STEP_DONE && state != MG_STEP_SKIPPED) {
                sim_violated("steps_in_order", "order %s: %s runs while %s, which it follows, is %s",
                             record->order_id, workflow->steps[step].name, workflow->steps[i].name,
                             mg_step_state_name(state));
            }
        }
        return;
    }
    if (sim_is_time_true() && sim_store_now_ms() < order->open_until_ms[step]) {
        sim_violated("quiesce", "order %s: %s of %s, %lld ms before its last attempt can act no more",
                     record->order_id, mg_kind_name(is->kind), workflow->steps[step].name,
                     (long long)(order->open_until_ms[step] - sim_store_now_ms()));
    }
    if (is->kind == MG_KIND_UNDO) {
        const struct mg_step *was = before != NULL ? &before->order.steps[step] : NULL;
        if (was == NULL || was->attempt == 0) {
            sim_violated("undo_of_something", "order %s: %s is undone, and no request was sent for it",
                         record->order_id, workflow->steps[step].name);
        }
        followers_check(record, workflow, step);
    }
}

/* A do that no reply ended may act until its complete-by and the quiesce. This covers an overdue attempt, and
 * one with a copy in the broker, even if the broker refused another copy. */
static void step_left(const struct mg_order_record *before, const struct mg_order_write *write, int step)
{
    const struct mg_step *was = &before->order.steps[step], *is = &write->record->order.steps[step];
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(before->order_id));
    bool has_left = mg_step_is_running(was) && (!mg_step_is_running(is) || is->attempt != was->attempt);
    if (!has_left || was->kind != MG_KIND_DO || has_cause(write, is_reply)) { /* remote.c has the truth */
        return;
    }
    char id[MG_KEY_SIZE];
    mg_correlation_write(before->order_id, sim_check_workflow(before->workflow)->steps[step].name,
                         was->attempt, was->kind, id);
    bool may_be_in_queue = sim_check_is_published("request", id) || sim_minority_keeps(id);
    bool is_out = has_cause(write, is_unpublishable) && !order->is_tail_lost && may_be_in_queue;
    if (has_cause(write, is_overdue) || is_out) {
        order->open_until_ms[step] = was->complete_by_ms + SIM_QUIESCE_MS;
    }
}

/* In so long a step has some attempts and polls. More go out without a pause. */
#define PACE_US      INT64_C(10000000)
#define ATTEMPTS_MAX 100

static void pace_check(const struct mg_order_record *record, int step, const char *name)
{
    struct sim_pace *pace = &sim_submitted_find(mg_slice_of(record->order_id))->pace[step];
    uint32_t attempt = record->order.steps[step].attempt;
    if (sim_now_us() - pace->since_us > PACE_US || attempt < pace->attempt) {
        *pace = (struct sim_pace){.since_us = sim_now_us(), .attempt = attempt};
    } else if (attempt - pace->attempt > ATTEMPTS_MAX) {
        sim_violated("bounded", "order %s: %s has more than %d attempts in %d s", record->order_id, name,
                     ATTEMPTS_MAX, (int)(PACE_US / 1000000));
    }
}

static void steps_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    for (int i = 0; i < record->order.step_count; i++) {
        const struct mg_step *is = &record->order.steps[i];
        const struct mg_step none = {.state = MG_STEP_PENDING},
                             *was = before != NULL ? &before->order.steps[i] : &none;
        if (is->attempt < was->attempt || is->generation < was->generation) {
            sim_violated("attempts_rise", "order %s: %s goes from attempt %u of generation %u to %u of %u",
                         record->order_id, workflow->steps[i].name, was->attempt, was->generation,
                         is->attempt, is->generation);
        }
        pace_check(record, i, workflow->steps[i].name);
        if (before != NULL) {
            step_left(before, write, i);
        }
        if (is->attempt > was->attempt && mg_step_is_running(is)) {
            dispatch_check(before, write, i, workflow);
        }
    }
}

/* A failed poll ends no accepted work before its time is over. */
static void accepted_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_workflow *workflow = sim_check_workflow(before->workflow);
    const struct mg_event_record *event = &write->events[0];
    int step = write->event_count == 1 && event->step.data != NULL
                   ? mg_workflow_step_index(workflow, event->step)
                   : -1;
    if (step < 0 || !before->order.steps[step].is_accepted ||
        !mg_step_is_running(&before->order.steps[step])) {
        return;
    }
    const char *failed = mg_reason_name(MG_REASON_ATTEMPTS_EXHAUSTED);
    bool is_given_up =
        memmem(event->transitions.data, event->transitions.len, failed, strlen(failed)) != NULL;
    bool has_time = sim_store_now_ms() < before->order.steps[step].finish_by_ms;
    if (is_given_up && has_time && sim_is_time_true()) {
        sim_violated("accepted_goes_on", "order %s: %s is at work, and a poll that failed has ended it",
                     before->order_id, workflow->steps[step].name);
    }
}

struct mg_slice sim_check_correlation(const struct mg_event_record *event)
{
    static const char MARK[] = ":reply";
    const size_t mark_len = strlen(MARK);
    for (size_t len = event->cause.len; event->cause_kind == MG_CAUSE_REPLY && len > mark_len; len--) {
        if (memcmp(event->cause.data + len - mark_len, MARK, mark_len) == 0) {
            return (struct mg_slice){event->cause.data, len - mark_len};
        }
    }
    return (struct mg_slice){NULL, 0};
}

bool sim_check_tells_of_lost_state(const struct mg_event_record *event)
{
    const char *word = mg_reason_name(MG_REASON_STATE_LOST);
    return event->transitions.len > 0 &&
           memmem(event->transitions.data, event->transitions.len, word, strlen(word)) != NULL;
}

/* Law 5, attempt fence, and once only. A counted reply is of the attempt and kind that the row waited for, or
 * that an earlier event of the same write dispatched. A reply of a higher attempt shows lost state, which the
 * checker cannot reconstruct. */
static void replies_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    for (int i = 0; i < write->event_count; i++) {
        const struct mg_event_record *event = &write->events[i];
        if (event->cause_kind != MG_CAUSE_REPLY || before == NULL) {
            continue;
        }
        const struct mg_workflow *workflow = sim_check_workflow(before->workflow);
        int step = mg_workflow_step_index(workflow, event->step);
        const struct mg_step *was = &before->order.steps[step], *is = &write->record->order.steps[step];
        bool is_of_this_write = event->attempt > was->attempt;
        enum mg_kind kind = is_of_this_write ? is->kind : was->kind;
        char correlation[MG_KEY_SIZE], cause[MG_KEY_SIZE + 8], other[MG_KEY_SIZE + 32];
        mg_correlation_write(before->order_id, event->step.data, event->attempt, kind, correlation);
        (void)snprintf(cause, sizeof(cause), "%s:reply", correlation);
        (void)snprintf(other, sizeof(other), "%s:reply.", correlation);
        bool is_named =
            mg_slice_is(event->cause, cause) || (kind != MG_KIND_VERIFY && event->cause.len > strlen(other) &&
                                                 memcmp(event->cause.data, other, strlen(other)) == 0);
        bool is_copy_of_undo = was->kind == MG_KIND_UNDO && was->is_undo_dispatched &&
                               mg_step_is_backward(was) && was->state != MG_STEP_UNDONE;
        bool is_for_person =
            was->state == MG_STEP_UNKNOWN && was->due_at_ms == 0; /* its answer may be late */
        bool is_awaited =
            is_of_this_write ||
            ((mg_step_is_running(was) || is_for_person || is_copy_of_undo) && was->attempt == event->attempt);
        bool is_lost =
            is_of_this_write && (event->attempt < is->attempt || sim_check_tells_of_lost_state(event) ||
                                 write->record->order.reason == MG_REASON_STATE_LOST);
        if (!is_lost && (!is_awaited || !is_named)) {
            sim_violated("reply_fence", "order %s: reply %.*s counts while %.*s is %s in attempt %u (%s)",
                         before->order_id, (int)event->cause.len, event->cause.data, (int)event->step.len,
                         event->step.data, mg_step_state_name(was->state), was->attempt,
                         mg_kind_name(was->kind));
        }
    }
}

/* Law 7, waiting is not failing: a request refused by the broker and an unreachable service use up no
 * attempt. A step for a person (at most once, or by its policy) that may have been sent counts. */
static bool is_settled(const struct mg_order_write *write)
{
    for (int i = 0; i < write->event_count; i++) {
        if (write->events[i].cause_kind == MG_CAUSE_SETTLE) {
            return true;
        }
    }
    return false;
}

/* A wait calls nothing and ends at its moment by the database's clock, or by an operator. */
static void rest_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    for (int i = 0; i < record->order.step_count; i++) {
        const struct mg_step *was = &before->order.steps[i], *is = &record->order.steps[i];
        if (!workflow->plan.steps[i].is_wait) {
            continue;
        }
        bool has_ended = was->state == MG_STEP_WAITING && is->state == MG_STEP_DONE &&
                         !workflow->plan.steps[i].is_signal; /* signals.c */
        bool is_early = has_ended && was->due_at_ms > sim_store_now_ms() && !is_settled(write) &&
                        !sim_has_happened(SIM_STORE_CLOCK_JUMP);
        bool has_called = is->is_maybe || mg_step_is_running(is) || mg_step_is_backward(is);
        if (is_early || has_called) {
            sim_violated("rest_ends_then", "order %s: wait %s is %s %s", record->order_id,
                         workflow->steps[i].name, mg_step_state_name(is->state),
                         is_early ? "before its moment" : "");
        }
    }
}

static void waiting_check(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct mg_event_record *event = &write->events[0];
    if (write->event_count != 1 || event->step.data == NULL) {
        return;
    }
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    int step = mg_workflow_step_index(workflow, event->step);
    const struct mg_step_record *more = &record->steps[step];
    bool is_its_error = mg_slice_equal(event->reason, more->error_text); /* and no earlier one */
    bool is_waiting = event->cause_kind == MG_CAUSE_UNPUBLISHABLE || event->cause_kind == MG_CAUSE_DUE ||
                      (event->cause_kind == MG_CAUSE_REPLY && is_its_error &&
                       mg_slice_is(more->error_code, "breaker_open"));
    const struct mg_step_plan *plan = &workflow->plan.steps[step];
    /* A signal that does not come in time fails its step. */
    bool is_for_person =
        plan->is_at_most_once || plan->on_unknown == MG_ON_UNKNOWN_OPERATOR || plan->is_signal;
    if (is_waiting && !is_for_person && record->order.failure_count > before->order.failure_count) {
        sim_violated("waiting_is_not_failing", "order %s: %.*s counts as a failure of %s", record->order_id,
                     (int)event->cause.len, event->cause.data, workflow->steps[step].name);
    }
}

int sim_check_commits(void)
{
    return check.commits;
}

/* A new order of the first workflow has its label with the digits of its payload, another one has none. */
static void labels_check(const struct mg_order_record *record, const struct sim_submitted *order)
{
    struct mg_slice n = mg_json_find(record->payload, "/n");
    bool is_right = order->workflow != 0
                        ? record->label_count == 0
                        : record->label_count == 1 && strcmp(record->labels[0].name, "n") == 0 &&
                              mg_slice_equal(record->labels[0].value, n);
    if (!is_right) {
        sim_violated("labels", "order %s is stored with %d labels, and its payload has n %.*s",
                     record->order_id, record->label_count, (int)n.len, n.data);
    }
}

void sim_check_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    if (order == NULL || order->workflow < 0) {
        sim_violated("only_what_was_submitted", "order %s is stored, and no client posted it so",
                     record->order_id);
    }
    check.commits++;
    sim_check_parked_written(order);
    sim_trace("commit %s version %llu: %s, %s", record->order_id, (unsigned long long)record->order.version,
              mg_order_state_name(record->order.state), mg_reason_name(record->order.reason));
    for (int i = 0; i < record->order.step_count; i++) {
        if ((write->changed_steps >> i & 1) != 0) {
            const struct mg_step *step = &record->order.steps[i];
            sim_trace("  step %d: %s %s attempt %u%s", i, mg_step_state_name(step->state),
                      mg_kind_name(step->kind), step->attempt, step->is_maybe ? " maybe" : "");
        }
    }
    versions_check(before, write);
    if (before == NULL) {
        labels_check(record, order);
    } else {
        ends_check(before, write);
        replies_check(before, write);
        waiting_check(before, write);
        rest_check(before, write);
        sim_check_signals(before, write);
        accepted_check(before, write);
    }
    steps_check(before, write);
    sim_check_ready_begin(record);
    sim_check_branch_committed(before, write);
    sim_check_answer_committed(before, write);
    sim_check_learn_committed(before, write);
    sim_check_doubt_committed(before, write);
    sim_check_speakers(write);
    sim_check_clock_committed(before, write);
    sim_check_minority_committed(before, write);
    sim_check_full_committed(write);
    sim_check_line_committed(before, write);
}

void sim_check_tail_lost(const char *order_id, bool is_all, uint64_t lost_marks)
{
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(order_id));
    sim_trace("lost the tail of %s%s", order_id, is_all ? ": all of it" : "");
    order->is_tail_lost = true;
    order->is_lost = order->is_lost || is_all;
    order->lost_marks |= lost_marks;
    memset(order->open_until_ms, 0, sizeof(order->open_until_ms));
}

void sim_check_led(uint64_t epoch, const char *holder)
{
    bool is_mine = epoch == check.epoch && strcmp(holder, check.holder) == 0;
    if (epoch < check.epoch || (epoch == check.epoch && !is_mine)) {
        if (!sim_has_happened(SIM_STORE_FAILOVER)) {
            sim_violated("one_leader", "%s acts in epoch %llu, and %s has acted in %llu", holder,
                         (unsigned long long)epoch, check.holder, (unsigned long long)check.epoch);
        }
    }
    check.epoch = epoch;
    (void)snprintf(check.holder, sizeof(check.holder), "%s", holder);
}

/* ---- messages ---- */

bool sim_check_read_request(const struct sim_message *message, struct mg_request *ret_request)
{
    struct mg_err err;
    struct mg_arena *arena = mg_arena_create(MG_REQUEST_LIMITS.max_bytes);
    bool is_read = mg_slice_is(message->type, "request") &&
                   mg_request_parse(message->body, arena, ret_request, &err) == MG_OK;
    mg_arena_destroy(arena);
    return is_read;
}

void sim_check_published(const struct sim_message *message)
{
    char key[MG_KEY_SIZE + 64];
    bool is_clients =
        mg_slice_is(message->type, "submission") && !mg_slice_is(message->routing_key, MG_QUEUE_REJECTED);
    if (message->type.data == NULL || message->message_id.data == NULL || is_clients) {
        return;
    }
    sim_copies_published(message, sim_check_is_published(message->type.data, message->message_id.data));
    (void)snprintf(key, sizeof(key), "%s %s", message->type.data, message->message_id.data);
    (void)sim_table_put(&check.published, mg_slice_of(key));
}

/* The order of this cause; NULL: the message names no known order, or is forged. */
static struct sim_submitted *order_of(const struct sim_message *message)
{
    if (sim_is_forged(message->message_id)) {
        return NULL;
    }
    struct mg_slice order_id = {NULL, 0};
    struct mg_err err;
    struct mg_reply reply;
    struct mg_command command;
    struct mg_arena *arena = mg_arena_create(MG_JSON_LIMITS_DEFAULT.max_bytes);
    if (mg_slice_is(message->type, "submission")) {
        order_id = message->correlation_id;
    } else if (mg_slice_is(message->type, "reply") &&
               mg_reply_parse(message->body, &MG_JSON_LIMITS_DATA, &reply, &err) == MG_OK) {
        order_id = mg_slice_of(reply.order_id);
    } else if (mg_slice_is(message->type, "command") &&
               mg_command_parse(message->body, &MG_JSON_LIMITS_DATA, arena, &command, &err) == MG_OK) {
        order_id = mg_slice_of(command.order_id);
    }
    struct sim_submitted *order = sim_submitted_find(order_id);
    mg_arena_destroy(arena);
    return order;
}

/* Law 3, re-creation: a redelivered cause repeats its effects. If the broker loses the last delivery, the
 * cause does not return. Then the sweep handles its requests once they are overdue, and its statuses are lost
 * unless owed. */
void sim_check_lost(const struct sim_message *message)
{
    struct sim_submitted *order = order_of(message);
    if (order != NULL) {
        order->is_cause_lost = true;
    }
}

/* While a failover has removed its order, a cause becomes a dead letter. A process that still holds a copy
 * from a lost connection may commit it once the order exists again. That copy has no delivery that waits for
 * its effects: a twin acked meanwhile as a duplicate was the last. */
static void cause_dead(const struct sim_message *message)
{
    struct sim_submitted *order = order_of(message);
    if (order != NULL && order->is_tail_lost) {
        order->is_cause_lost = true;
    }
}

void sim_check_dead(const struct sim_queue *from, const struct sim_message *message, const char *why)
{
    const char *id = message->message_id.data != NULL ? message->message_id.data : "";
    sim_trace("dead letter from %s, %s: %s", from->name, why, id);
    cause_dead(message);
    /* A refused submission is here when orders.rejected does not accept it. */
    const struct sim_submitted *order = sim_submitted_find(message->correlation_id);
    bool is_refusable = mg_slice_is(message->type, "submission") &&
                        (order == NULL || order->workflow < 0 || sim_is_foreign(message->reply_to) ||
                         !sim_choice_is_taken(&order->choice));
    bool is_lawful = sim_is_forged(message->message_id) || strcmp(why, "delivery_limit") == 0 ||
                     is_refusable || sim_newer_may_die(message) || sim_has_happened(SIM_STORE_FAILOVER);
    if (!is_lawful) {
        sim_violated("nobody_innocent_dies", "%s of %s is rejected", id, from->name);
    }
}
