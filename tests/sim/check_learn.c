/*
 * Undos by the number that the service gave, which may have to be learned first. The engine's own view of
 * a known result has no part in this: a number is given once a reply with it is in a queue, or an operator
 * has found it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "json/json.h"
#include "remote.h"
#include "wire/reply.h"

#define KEY_SIZE    192
#define NO_NUMBER   UINT64_MAX       /* a reply without a number */
#define NOT_CERTAIN (UINT64_MAX - 1) /* replies under the same id that differ */

static struct {
    struct sim_table given;   /* "<order_id>.<step>.<number>"; no values */
    struct sim_table replies; /* by correlation id: the number in its replies, or one of the above */
} learn;

static uint64_t number_of(struct mg_slice result)
{
    struct mg_slice text = sim_answer_number(result);
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    return text.data != NULL ? number : NO_NUMBER;
}

/* The number that the undo of this step goes out with. */
static uint64_t number_known(const struct mg_order_record *record, int step)
{
    const struct mg_step_record *of = &record->steps[step];
    return number_of(of->undo_result.data != NULL ? of->undo_result : of->result);
}

static struct mg_slice given_key(const char *order_id, const char *step, uint64_t number, char key[KEY_SIZE])
{
    (void)snprintf(key, KEY_SIZE, "%s.%s.%llu", order_id, step, (unsigned long long)number);
    return mg_slice_of(key);
}

static bool was_given(const char *order_id, const char *step, uint64_t number)
{
    char key[KEY_SIZE];
    return sim_table_find(&learn.given, given_key(order_id, step, number, key)) != NULL;
}

void sim_check_told(const char *order_id, const char *step, struct mg_slice result)
{
    char key[KEY_SIZE];
    if (number_of(result) != NO_NUMBER) {
        (void)sim_table_put(&learn.given, given_key(order_id, step, number_of(result), key));
    }
}

/* Refused work has nothing that could be undone. */
static bool gives_number(const struct mg_reply *reply)
{
    bool is_good = reply->outcome == MG_OUTCOME_DONE || reply->outcome == MG_OUTCOME_ACCEPTED ||
                   reply->outcome == MG_OUTCOME_UNKNOWN;
    return is_good && reply->kind != MG_KIND_UNDO &&
           !mg_slice_is(mg_json_find(reply->result, "/state"), "\"refused\"");
}

void sim_check_given(const struct mg_reply *reply, struct mg_slice correlation_id)
{
    uint64_t number = gives_number(reply) ? number_of(reply->result) : NO_NUMBER;
    const struct sim_entry *known = sim_table_find(&learn.replies, correlation_id);
    bool is_other = known != NULL && (uintptr_t)known->value != number;
    sim_table_put(&learn.replies, correlation_id)->value =
        (void *)(uintptr_t)(is_other ? NOT_CERTAIN : number);
    if (number != NO_NUMBER) {
        sim_check_told(reply->order_id, reply->step, reply->result);
    }
}

/* ---- requests ---- */

/* After the number of a deed stands the `n` of its order. */
static bool is_whole(const char *order_id, const char *rest)
{
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(order_id));
    struct mg_slice n = mg_json_find(mg_slice_of(order->body), "/payload/n");
    return *rest == '\0' || order->is_repeated || (*rest == '-' && mg_slice_is(n, rest + 1));
}

const char *sim_check_named(const char *order_id, const char *step, const char *text)
{
    char *rest;
    uint64_t number = strtoull(text, &rest, 10);
    if (number == 0 || number > sim_ledger()->count || !is_whole(order_id, rest)) {
        sim_violated("own_number", "%s of %s names number %s, which no service gave", step, order_id, text);
    }
    const struct sim_entry *entry = sim_ledger()->entries[number - 1];
    const struct sim_work *work = entry->value;
    if (strcmp(work->order_id, order_id) != 0 || strcmp(work->step, step) != 0) {
        sim_violated("own_number", "%s of %s names number %s, which is of %s of %s", step, order_id, text,
                     work->step, work->order_id);
    }
    if (!was_given(order_id, step, number)) {
        sim_violated("given_is_known", "%s of %s names number %s, and no answer has given it", step, order_id,
                     text);
    }
    return entry->key;
}

/* ---- commits ---- */

/* The number in the reply that is this event's cause. */
static uint64_t number_of_event(const struct mg_event_record *event)
{
    struct mg_slice correlation = sim_check_correlation(event);
    const struct sim_entry *entry =
        correlation.data != NULL ? sim_table_find(&learn.replies, correlation) : NULL;
    uint64_t number = entry != NULL ? (uintptr_t)entry->value : NO_NUMBER;
    return number == NOT_CERTAIN ? NO_NUMBER : number;
}

/* A counted answer with the number makes it known, and one without it takes nothing away. Only the number of
 * an absent work goes, with that work. */
static void kept_check(const struct mg_order_record *before, const struct mg_order_write *write, int step,
                       const char *name)
{
    const struct mg_event_record *event = &write->events[0];
    bool is_its_own = event->cause_kind == MG_CAUSE_REPLY && mg_slice_is(event->step, name) &&
                      !sim_check_tells_of_lost_state(event);
    uint64_t given = number_of_event(event);
    bool is_absent = write->record->order.steps[step].reason == MG_REASON_VERIFIED_ABSENT;
    given = given != NO_NUMBER || is_absent ? given : number_known(before, step);
    if (is_its_own && given != NO_NUMBER && number_known(write->record, step) != given) {
        sim_violated("given_is_known", "order %s: an answer to %s gave the number %llu, and it is not kept",
                     write->record->order_id, name, (unsigned long long)given);
    }
}

/* The next request of a step that is being undone: the undo with a given number, or one that learns it. */
static void dispatch_check(const struct mg_order_record *record, int step, const char *name)
{
    uint64_t number = number_known(record, step);
    bool is_undo = record->order.steps[step].kind == MG_KIND_UNDO;
    if (is_undo && (number == NO_NUMBER || !was_given(record->order_id, name, number))) {
        sim_violated("given_is_known", "order %s: %s is undone, and no answer has given its number",
                     record->order_id, name);
    }
    if (!is_undo && number != NO_NUMBER) {
        sim_violated("given_is_known", "order %s: the number of %s is learned, and it is known",
                     record->order_id, name);
    }
}

/* The undo is given up for want of the number only while no answer has given it, and after a try to learn
 * it. Only a database that has lost a dispatched undo may not learn (law 8, derived identities). */
static void failed_check(const struct mg_order_record *record, const struct sim_moved *moved,
                         const char *name)
{
    if (record->order.steps[moved->step].state != MG_STEP_UNDO_FAILED || moved->to != MG_STEP_UNDO_FAILED ||
        !(sim_check_moved_for(moved, MG_REASON_UNRENDERABLE) ||
          sim_check_moved_for(moved, MG_REASON_LEARN_FAILED))) {
        return;
    }
    if (number_known(record, moved->step) != NO_NUMBER) {
        sim_violated("given_is_known", "order %s: %s is not undone for want of its number, which is known",
                     record->order_id, name);
    }
    if (moved->from != MG_STEP_UNDO_RUNNING || moved->kind == MG_KIND_UNDO) {
        sim_violated("given_is_known", "order %s: %s is not undone, and its number was not asked for",
                     record->order_id, name);
    }
}

/* A request that cannot be built has an event of its own, after that of its dispatch. */
static void event_check(const struct mg_order_record *record, const struct mg_workflow *workflow,
                        const struct mg_event_record *event)
{
    struct sim_moved moved;
    for (int k = 0; sim_check_moved(event, workflow, k, &moved); k++) {
        if (moved.step >= 0 && workflow->plan.steps[moved.step].needs_result) {
            failed_check(record, &moved, workflow->steps[moved.step].name);
        }
    }
}

void sim_check_learn_committed(const struct mg_order_record *before, const struct mg_order_write *write)
{
    const struct mg_order_record *record = write->record;
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(record->order_id));
    const struct mg_workflow *workflow = sim_check_workflow(record->workflow);
    if (before == NULL || order->is_tail_lost) {
        return;
    }
    for (int i = 0; write->event_count == 1 && i < workflow->plan.step_count; i++) {
        const struct mg_step *is = &record->order.steps[i], *was = &before->order.steps[i];
        if (!workflow->plan.steps[i].needs_result) {
            continue;
        }
        kept_check(before, write, i, workflow->steps[i].name);
        if (is->attempt > was->attempt && is->state == MG_STEP_UNDO_RUNNING) {
            dispatch_check(record, i, workflow->steps[i].name);
        }
    }
    for (int i = 0; i < write->event_count; i++) {
        event_check(record, workflow, &write->events[i]);
    }
}
