/*
 * One batch in hand at a time: read, find its orders (load.c), decide, commit, then hand its messages to the
 * outbox. A batch is whatever came while the last one was being committed or, under load, within MG_PACE_MS
 * of its beginning; all causes of one order are decided in memory and written once (law 4).
 *
 * What the store says of a write decides about the causes of that order only: stored, they wait for their
 * confirms; lost to another instance, or with nothing to write on an order that was only guessed, they are
 * decided again on what is read; poisoned, they are tried one by one, so that only the guilty one is set
 * aside. If nobody knows whether the commit happened, all are run again, marked `again` (law 3).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "batch.h"
#include "core/backoff.h"

/* The memory of a cause that is alone in its batch: an order at its largest, with all its results. */
#define MG_ALONE_MEMORY_MAX (128u * 1024 * 1024)
/* What is lately the most is forgotten by such a part with each batch. */
#define MG_FORGET_SHARE 8
/* Each lost round means that another instance changed the order; so many in a row mean something else. */
#define MG_CONFLICTS_MAX 64
/* So often an order that is alone in a batch may lack memory before its message is taken to be at fault. */
#define MG_SHORTAGES_MAX   5
#define MG_BACKOFF_BASE_MS 100
#define MG_BACKOFF_MAX_MS                                                                                    \
    5000 /* the store says itself when it is up again; this is for failures while it is up */
/* While there is much to do, batches begin no more often than this: each costs the database and the broker
 * much the same whatever is in it, and at full load what they spend on many small ones is taken from the
 * orders. Nobody waits who comes alone: a batch of few is followed at once. */
#define MG_PACE_MS     10
#define MG_PACE_CAUSES 8
/* How old the word about a workflow's newest version may be for a submission that names none. */
#define MG_NEWEST_AGE_MS 1000

static void batch_decide(struct mg_batch *batch);

void mg_batch_destroy(struct mg_batch *batch)
{
    if (batch == NULL) {
        return;
    }
    for (int i = 0; i < batch->item_count; i++) {
        mg_buf_finish(&batch->items[i].statuses);
    }
    for (int i = 0; i < batch->fold_count; i++) {
        mg_send_list_drop(&batch->folds[i]->sends);
        free(batch->folds[i]->cached);
    }
    mg_buf_finish(&batch->scratch);
    mg_arena_destroy(batch->arena);
    free(batch);
}

static size_t batch_made(const struct mg_batch *batch)
{
    return mg_arena_used(batch->arena) + batch->scheduler->made_bytes - batch->made_before;
}

/* What is made of a cause is not known before it is made: of a reply the order is read, and the next request
 * rendered. So batches go by what causes took lately. */
static void batch_note_size(const struct mg_batch *batch)
{
    struct mg_scheduler *scheduler = batch->scheduler;
    size_t each = batch_made(batch) / (size_t)batch->work_count;
    if (each >= scheduler->cause_bytes) {
        scheduler->cause_bytes = each;
    } else {
        scheduler->cause_bytes -= (scheduler->cause_bytes - each + MG_FORGET_SHARE - 1) / MG_FORGET_SHARE;
    }
}

static void batch_end(struct mg_batch *batch)
{
    struct mg_scheduler *scheduler = batch->scheduler;
    batch_note_size(batch);
    double seconds = (double)(mg_clock_boot_us() - batch->started_us) / 1e6;
    mg_metric_observe(scheduler->counters.batch_seconds, seconds);
    mg_metric_observe(scheduler->counters.batch_causes, batch->item_count);
    scheduler->causes_done += (uint64_t)batch->item_count; /* agents' reports are none */
    scheduler->batch = NULL;
    mg_batch_destroy(batch);
    mg_outbox_pump(scheduler);
    mg_scheduler_wake(scheduler);
}

void mg_batch_retry(struct mg_batch *batch, const struct mg_err *err)
{
    struct mg_scheduler *scheduler = batch->scheduler;
    mg_log(scheduler->failures == 0 ? MG_LOG_WARN : MG_LOG_DEBUG, /* one line for many in a row */
           "the store did not take a batch; it will be run again", MG_LOG_TEXT("why", err->text),
           MG_LOG_NUMBER("causes", batch->item_count));
    for (int i = batch->item_count - 1; i >= 0; i--) {
        batch->items[i].work->is_again = true;
        mg_inbox_put_back(scheduler, batch->items[i].work);
    }
    int64_t after_ms =
        mg_backoff_ms(MG_BACKOFF_BASE_MS, MG_BACKOFF_MAX_MS, scheduler->failures++, -1, mg_random_u64());
    mg_timer_start(scheduler->backoff, after_ms, 0);
    mg_scheduler_rank(scheduler);
    batch_end(batch);
}

/* ---- after the commit ---- */

enum fold_outcome { FOLD_STORED, FOLD_AGAIN, FOLD_POISONED };

static void fold_poisoned(struct mg_scheduler *scheduler, const struct mg_fold *fold, const char *why)
{
    mg_metric_add(scheduler->counters.poisoned, 1);
    mg_log(MG_LOG_ERROR, "a message cannot be stored and is set aside",
           MG_LOG_TEXT("order_id", fold->order_id), MG_LOG_TEXT("why", why));
    char text[512];
    snprintf(text, sizeof(text), "%s: %s", mg_alert_text(MG_ALERT_POISONED), why);
    mg_alert_raise(scheduler, MG_ALERT_POISONED, fold->order_id, text, false);
}

static enum fold_outcome fold_judge(struct mg_batch *batch, const struct mg_fold *fold)
{
    struct mg_scheduler *scheduler = batch->scheduler;
    if (fold->write == NULL && !fold->has_failed) {
        return fold->is_guessed ? FOLD_AGAIN : FOLD_STORED;
    }
    enum mg_write_result result = fold->has_failed ? MG_WRITE_POISONED : fold->write->result;
    switch (result) {
    case MG_WRITE_DONE:
        return FOLD_STORED;
    case MG_WRITE_CONFLICT:
        mg_metric_add(scheduler->counters.conflicts, 1);
        return FOLD_AGAIN;
    case MG_WRITE_POISONED:
        break;
    }
    bool is_alone = batch->item_count == 1;
    if (fold->item_count > 1 || (fold->has_failed && !is_alone)) {
        return FOLD_AGAIN; /* alone, see item_outcome */
    }
    if (fold->has_failed && ++batch->items[0].work->shortages < MG_SHORTAGES_MAX) {
        mg_timer_start(scheduler->backoff, MG_BACKOFF_BASE_MS, 0);
        return FOLD_AGAIN;
    }
    fold_poisoned(scheduler, fold,
                  fold->has_failed ? "there is not enough memory for it" : fold->write->text);
    return FOLD_POISONED;
}

static enum fold_outcome item_outcome(struct mg_item *item)
{
    const struct mg_fold *fold = item->fold;
    enum fold_outcome outcome = item->is_undecided ? FOLD_AGAIN : (enum fold_outcome)fold->outcome;
    if (outcome != FOLD_AGAIN) {
        return outcome;
    }
    bool is_spoilt = fold->has_failed || (fold->write != NULL && fold->write->result == MG_WRITE_POISONED);
    item->work->is_alone = item->work->is_alone || is_spoilt;
    item->work->is_guess_wrong = true;
    return ++item->work->conflicts <= MG_CONFLICTS_MAX ? FOLD_AGAIN : FOLD_POISONED;
}

/* A request that a later cause of the same batch has overtaken need not go out. */
static void sends_prune(struct mg_fold *fold)
{
    struct mg_send_list kept = {NULL, NULL}, gone = {NULL, NULL};
    struct mg_send *send = fold->sends.first;
    while (send != NULL) {
        struct mg_send *next = send->next;
        const struct mg_step *step = send->request != NULL ? &fold->record->order.steps[send->step] : NULL;
        bool is_awaited =
            step == NULL || (step->attempt == send->request->attempt &&
                             (step->state == MG_STEP_RUNNING || step->state == MG_STEP_UNDO_RUNNING));
        mg_send_list_add(is_awaited ? &kept : &gone, send);
        send = next;
    }
    fold->sends = kept;
    mg_send_list_drop(&gone);
}

static void fold_stored(struct mg_scheduler *scheduler, struct mg_fold *fold)
{
    bool is_open = fold->write != NULL && !mg_order_state_is_terminal(fold->record->order.state);
    if (is_open) {
        fold->record->stored_steps |= fold->write->changed_steps;
        mg_cache_put(&scheduler->cache, fold->record, mg_clock_boot_ms());
    }
    sends_prune(fold);
    mg_fold_measure(fold);
    mg_outbox_add(scheduler, &fold->sends);
}

static void batch_settle(struct mg_batch *batch)
{
    struct mg_scheduler *scheduler = batch->scheduler;
    for (int i = 0; i < batch->fold_count; i++) {
        struct mg_fold *fold = batch->folds[i];
        fold->outcome = (int)fold_judge(batch, fold);
        if (fold->outcome == FOLD_STORED) {
            fold_stored(scheduler, fold);
            if (scheduler->options->spans != NULL) mg_fold_trace(batch, fold);
        }
    }
    for (int i = batch->item_count - 1; i >= 0; i--) { /* backwards: the first is put in front last */
        struct mg_item *item = &batch->items[i];
        item->outcome = (int)item_outcome(item);
        if (item->outcome == FOLD_POISONED && item->fold->outcome == FOLD_AGAIN) {
            fold_poisoned(scheduler, item->fold, "each time it was decided, the order had changed meanwhile");
        }
        if (item->outcome == FOLD_AGAIN) {
            mg_inbox_put_back(scheduler, item->work);
        }
    }
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        if (item->outcome == FOLD_STORED) {
            mg_item_measure(scheduler, item);
            if (scheduler->options->spans != NULL) mg_item_trace(batch, item);
            if (item->is_recalled && !item->fold->is_recalled) { /* once, however often it is repeated */
                item->fold->is_recalled = true;
                mg_owed_recall(scheduler, item->work, item->order_id);
            }
        }
        if (item->outcome != FOLD_AGAIN) {
            mg_work_settle(scheduler, item->work, item->outcome == FOLD_STORED ? item->end : MG_END_REJECT);
        }
    }
    scheduler->failures = 0;
    mg_scheduler_rank(scheduler);
    batch_end(batch);
}

static void on_committed(void *arg, const struct mg_err *err)
{
    struct mg_batch *batch = arg;
    if (err != NULL) {
        mg_batch_retry(batch, err);
    } else {
        double seconds = (double)(mg_clock_boot_us() - batch->commit_us) / 1e6;
        mg_metric_observe(batch->scheduler->counters.commit_seconds, seconds);
        MG_FAILPOINT(SCHEDULER_COMMITTED);
        batch_settle(batch);
    }
}

/* ---- deciding ---- */

static void item_decide(struct mg_batch *batch, struct mg_item *item)
{
    const struct mg_order_record *record = item->fold->record;
    if (item->fold->is_unreadable || (record != NULL && item->fold->workflow == NULL)) {
        mg_log(MG_LOG_ERROR,
               "an order or its workflow cannot be read here; its messages are left for another instance",
               MG_LOG_TEXT("order_id", item->order_id),
               MG_LOG_TEXT("workflow", record != NULL ? record->workflow : ""));
        /* An ask that is kept for others would come back until it is a dead letter, and its next one beside
         * it.
         */
        item->end = mg_command_comes_again(item) ? MG_END_ACK : MG_END_NEWER;
        return;
    }
    if (item->fold->is_guessed && record == NULL && item->workflow == NULL) {
        item->is_undecided = true; /* without a workflow it is refused, if it is not there: to be known */
        return;
    }
    switch (item->work->lane) {
    case MG_LANE_REPLIES:
        mg_settle_decide(batch, item);
        break;
    case MG_LANE_COMMANDS:
        mg_command_decide(batch, item);
        break;
    case MG_LANE_HIGH:
    case MG_LANE_NORMAL:
        mg_intake_decide(batch, item);
        break;
    case MG_LANE_INTERNAL:
        mg_unpublishable_decide(batch, item);
        break;
    case MG_LANE_COUNT:
        break;
    }
    mg_fold_close_item(batch, item);
}

static void write_add(struct mg_batch *batch, struct mg_fold *fold)
{
    fold->write = &batch->writes[batch->write_count++];
    *fold->write = (struct mg_order_write){.record = fold->record,
                                           .expected_version = fold->expected_version,
                                           .changed_steps = mg_fold_changed_steps(fold),
                                           .is_payload_changed = fold->is_payload_changed,
                                           .events = fold->events,
                                           .event_count = fold->event_count,
                                           .alerts = fold->alerts,
                                           .alert_count = fold->alert_count,
                                           .locked_by = batch->scheduler->options->instance};
}

static void batch_decide(struct mg_batch *batch)
{
    MG_FAILPOINT(SCHEDULER_LOADED);
    batch->writes = mg_arena_alloc(batch->arena, (size_t)batch->fold_count * sizeof(*batch->writes));
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        item->fold->has_failed = item->fold->has_failed || batch->writes == NULL;
        if (i > 0 && batch_made(batch) > batch->scheduler->options->memory_bytes / MG_MEMORY_MADE) {
            item->is_undecided = true; /* in the next batch, which is smaller */
        } else if (!item->fold->has_failed) {
            item_decide(batch, item);
        }
    }
    for (int i = 0; i < batch->fold_count; i++) {
        if (batch->folds[i]->event_count > 0 && !batch->folds[i]->has_failed) {
            write_add(batch, batch->folds[i]);
        }
    }
    if (batch->write_count > 0) {
        MG_FAILPOINT(SCHEDULER_DECIDED);
        batch->commit_us = mg_clock_boot_us();
        mg_store_commit(batch->scheduler->store, batch->writes, batch->write_count, on_committed, batch);
        MG_FAILPOINT(SCHEDULER_COMMITTING);
    } else {
        batch_settle(batch);
    }
}

/* ---- loading ---- */

bool mg_fold_bind(struct mg_batch *batch, struct mg_fold *fold, struct mg_order_record *record)
{
    const struct mg_workflow *workflow = fold->workflow->workflow;
    record->order.step_count = workflow->plan.step_count;
    for (int i = 0; i < workflow->plan.step_count; i++) {
        record->step_names[i] = workflow->steps[i].name;
        record->services[i] = workflow->steps[i].service;
    }
    fold->before = mg_arena_alloc(batch->arena, mg_order_size(&record->order));
    if (fold->before == NULL) {
        fold->has_failed = true;
        return false;
    }
    memcpy(fold->before, &record->order, mg_order_size(&record->order));
    fold->expected_version = record->order.version;
    fold->record = record;
    return true;
}

static struct mg_want *want_add(struct mg_batch *batch, const char *name, int64_t version)
{
    for (int i = 0; i < batch->want_count; i++) {
        if (batch->wants[i].asked == version && strcmp(batch->wants[i].name, name) == 0) {
            return &batch->wants[i];
        }
    }
    struct mg_want *want = &batch->wants[batch->want_count++];
    want->scheduler = batch->scheduler;
    want->asked = want->version = version;
    want->arg = batch;
    snprintf(want->name, sizeof(want->name), "%s", name);
    return want;
}

/* What a submission would begin, or what its order began with. */
static struct mg_workflow_entry *item_find(struct mg_batch *batch, struct mg_item *item, bool may_fetch)
{
    const struct mg_order_record *record = item->fold->record;
    const char *name = record != NULL ? record->workflow : item->submission->workflow;
    int64_t version = record != NULL ? record->workflow_version : item->submission->workflow_version;
    if (item->want != NULL && item->want->outcome == MG_FETCH_FOUND) {
        version = item->want->version;
    }
    struct mg_workflow_entry *entry = mg_workflows_find(batch->scheduler, name, version, MG_NEWEST_AGE_MS);
    if (entry == NULL && may_fetch) {
        item->want = want_add(batch, name, version);
    }
    return entry;
}

static void items_resolve(struct mg_batch *batch, bool may_fetch)
{
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        struct mg_fold *fold = item->fold;
        if (fold->record != NULL && fold->workflow == NULL) {
            fold->workflow = item_find(batch, item, may_fetch);
            if (fold->workflow != NULL) {
                (void)mg_fold_bind(batch, fold, fold->record); /* notes its failure in the fold */
            }
        } else if (fold->record == NULL && item->submission != NULL && item->workflow == NULL) {
            item->workflow = item_find(batch, item, may_fetch);
        }
    }
}

static void on_workflow(void *arg, struct mg_want *want, const struct mg_err *err)
{
    struct mg_batch *batch = arg;
    (void)want;
    if (err != NULL) {
        batch->has_failed = true;
        batch->failure = *err;
    }
    if (--batch->waiting > 0) {
        return;
    }
    if (batch->has_failed) {
        mg_batch_retry(batch, &batch->failure);
    } else {
        items_resolve(batch, false);
        batch_decide(batch);
    }
}

void mg_batch_resolve(struct mg_batch *batch)
{
    items_resolve(batch, true);
    batch->waiting = batch->want_count;
    for (int i = 0; i < batch->want_count; i++) {
        batch->wants[i].done = on_workflow;
        mg_workflows_fetch(&batch->wants[i]);
    }
    if (batch->want_count == 0) {
        batch_decide(batch);
    }
}

/* As many as lately fitted into the memory for what is made of them. What the store did not take may have
 * been too much at once (large payloads, a slow disk): half of it is tried next, at last each cause alone. */
static int batch_size(struct mg_scheduler *scheduler)
{
    int size = (int)scheduler->options->batch;
    size_t room = scheduler->options->memory_bytes / MG_MEMORY_MADE;
    size_t fit = scheduler->cause_bytes > 0 ? room / scheduler->cause_bytes : (size_t)size;
    if (fit < (size_t)size) {
        size = fit > 0 ? (int)fit : 1;
    }
    for (uint32_t i = 0; i < scheduler->failures && size > 1; i++) {
        size /= 2;
    }
    return size;
}

void mg_batch_start(struct mg_scheduler *scheduler)
{
    struct mg_work *works[MG_BATCH_MAX];
    int count = mg_inbox_take(scheduler, works, batch_size(scheduler));
    if (count == 0) {
        return;
    }
    struct mg_batch *batch = calloc(1, sizeof(*batch));
    if (batch != NULL) {
        batch->scheduler = scheduler;
        batch->made_before = scheduler->made_bytes;
        batch->arena = mg_arena_create(count > 1 ? scheduler->options->memory_bytes / MG_MEMORY_ARENA
                                                 : MG_ALONE_MEMORY_MAX);
        mg_buf_init(&batch->scratch, MG_REQUEST_MAX);
        batch->items =
            batch->arena != NULL ? mg_arena_alloc(batch->arena, (size_t)count * sizeof(*batch->items)) : NULL;
    }
    if (batch == NULL || batch->items == NULL) {
        mg_batch_destroy(batch);
        while (count > 0) {
            mg_inbox_put_back(scheduler, works[--count]);
        }
        mg_timer_start(scheduler->backoff, MG_BACKOFF_BASE_MS, 0);
        return;
    }
    for (int i = 0; i < count; i++) {
        batch->works[batch->work_count++] = works[i];
    }
    batch->started_us = mg_clock_boot_us();
    scheduler->batch = batch;
    scheduler->batch_number++;
    mg_batch_read(batch);
    if (batch->item_count >= MG_PACE_CAUSES) {
        mg_timer_start(scheduler->pace, MG_PACE_MS, 0);
    }
    if (batch->item_count > 0) {
        mg_batch_load(batch);
    } else {
        batch_end(batch);
    }
}
