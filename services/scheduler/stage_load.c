/*
 * From items to orders: items of one order share a fold, and the fold gets its order and the order's
 * workflow. A submission is assumed to be new, and a reply uses the order as last written, both without a
 * read. The write detects a wrong guess (law 4, version guard); the order is then read, as are all that must
 * be certain.
 */
#include "stages.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "damage.h"
#include "fold.h"
#include "late_match.h"

/* The age at which clock and gates are read for their own sake; else each read of orders brings them.
 * Agents report every few seconds, and within this time no two clocks drift apart by a millisecond. */
#define MG_SEEN_AGE_MS 250
/* Maximum age of a workflow's newest version, for a submission without a version. */
#define MG_NEWEST_AGE_MS 1000

static struct mg_fold *fold_of(struct mg_batch *batch, const char *order_id)
{
    struct mg_fold **head = &batch->heads[mg_order_hash(order_id) % MG_FOLD_HEADS];
    for (struct mg_fold *fold = *head; fold != NULL; fold = fold->next) {
        if (strcmp(fold->order_id, order_id) == 0) {
            return fold;
        }
    }
    struct mg_fold *fold = mg_arena_alloc(batch->arena, sizeof(*fold));
    if (fold != NULL) {
        fold->order_id = order_id;
        TAILQ_INIT(&fold->sends);
        fold->next = *head;
        *head = fold;
        batch->folds[batch->fold_count++] = fold;
    }
    return fold;
}

static bool folds_make(struct mg_batch *batch)
{
    size_t count = (size_t)batch->item_count;
    batch->folds = mg_arena_alloc(batch->arena, count * sizeof(struct mg_fold *));
    batch->wants = mg_arena_alloc(batch->arena, count * sizeof(*batch->wants));
    batch->loads = mg_arena_alloc(batch->arena, count * sizeof(*batch->loads));
    if (batch->folds == NULL || batch->wants == NULL || batch->loads == NULL) {
        return false;
    }
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        item->fold = item->cause.data != NULL ? fold_of(batch, item->order_id) : NULL;
        if (item->fold == NULL) {
            return false;
        }
        item->fold->item_count++;
    }
    return true;
}

/* ---- guessing ---- */

/* The order as this process last wrote it. False: it did not, or its workflow is not cached. */
static bool fold_recall(struct mg_batch *batch, struct mg_fold *fold)
{
    fold->cached = mg_cache_take(batch->loader->cache, fold->order_id, mg_clock_boot_ms());
    struct mg_order_record *record =
        fold->cached != NULL ? mg_cached_record(fold->cached, batch->arena) : NULL;
    if (record == NULL) {
        return false;
    }
    fold->workflow =
        mg_workflows_find(batch->loader->workflows, record->workflow, record->workflow_version, 0);
    return fold->workflow != NULL && mg_fold_bind(batch, fold, record);
}

/* A reply to another attempt than the running one means that another instance has written since, or that
 * it changes nothing. Both must be certain. */
static bool is_awaited(const struct mg_item *item)
{
    const struct mg_fold *fold = item->fold;
    int index = mg_workflow_step_index(fold->workflow->workflow, mg_slice_of(item->reply->step));
    const struct mg_step *step = index >= 0 ? &fold->record->order.steps[index] : NULL;
    return step != NULL && mg_step_awaits(step, item->reply->attempt, item->reply->kind);
}

static bool may_guess(const struct mg_item *item)
{
    if (item->wants_event || item->work->is_guess_wrong) {
        return false;
    }
    switch (item->work->lane) {
    case MG_LANE_REPLIES:
        return item->fold->record != NULL && is_awaited(item);
    case MG_LANE_HIGH:
    case MG_LANE_NORMAL:
        return item->fold->cached == NULL;
    case MG_LANE_COMMANDS:
    case MG_LANE_SIGNALS:
    case MG_LANE_INTERNAL:
    case MG_LANE_COUNT:
        break;
    }
    return false;
}

static void folds_guess(struct mg_batch *batch)
{
    for (int i = 0; i < batch->fold_count; i++) {
        batch->folds[i]->is_guessed = true;
        (void)fold_recall(batch, batch->folds[i]); /* without a record it can only be new */
    }
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        item->fold->is_guessed = item->fold->is_guessed && may_guess(item);
    }
    for (int i = 0; i < batch->fold_count; i++) {
        struct mg_fold *fold = batch->folds[i];
        if (fold->is_guessed) {
            mg_metric_add(batch->shared->series.guessed, 1);
        } else {
            fold->record = NULL;
            fold->workflow = NULL;
        }
    }
}

/* ---- workflows ---- */

static struct mg_want *want_add(struct mg_batch *batch, const char *name, int64_t version)
{
    for (int i = 0; i < batch->want_count; i++) {
        if (batch->wants[i].asked == version && strcmp(batch->wants[i].name, name) == 0) {
            return &batch->wants[i];
        }
    }
    struct mg_want *want = &batch->wants[batch->want_count++];
    want->workflows = batch->loader->workflows;
    want->asked = want->version = version;
    want->arg = batch;
    snprintf(want->name, sizeof(want->name), "%s", name);
    return want;
}

/* The workflow with which a submission would begin, or its order began. */
static struct mg_workflow_entry *item_find(struct mg_batch *batch, struct mg_item *item, bool may_fetch)
{
    const struct mg_order_record *record = item->fold->record;
    const char *name = record != NULL ? record->workflow : item->submission->workflow;
    int64_t version = record != NULL ? record->workflow_version : item->submission->workflow_version;
    if (item->want != NULL && item->want->outcome == MG_FETCH_FOUND) {
        version = item->want->version;
    }
    struct mg_workflow_entry *entry =
        mg_workflows_find(batch->loader->workflows, name, version, MG_NEWEST_AGE_MS);
    if (entry == NULL && may_fetch) {
        item->want = want_add(batch, name, version);
    }
    return entry;
}

/* Ties an order that was read to its workflow, or refuses it as damaged. */
static void fold_resolve(struct mg_batch *batch, struct mg_item *item, bool may_fetch)
{
    struct mg_fold *fold = item->fold;
    struct mg_order_record *record = fold->record;
    fold->workflow = item_find(batch, item, may_fetch);
    if (fold->workflow != NULL) {
        fold->refused = mg_damage_of(batch, record, fold->workflow->workflow, &fold->refusal);
    } else if (!may_fetch && item->want != NULL &&
               (item->want->outcome == MG_FETCH_UNKNOWN || item->want->outcome == MG_FETCH_DAMAGED)) {
        bool is_there = item->want->outcome == MG_FETCH_DAMAGED;
        fold->refused = mg_damage_no_workflow(batch, record->workflow, record->workflow_version, is_there);
        fold->refusal = MG_REFUSAL_LASTING;
    }
    if (fold->refused != NULL) {
        fold->record = NULL;
        fold->workflow = NULL;
    } else if (fold->workflow != NULL) {
        (void)mg_fold_bind(batch, fold, record); /* marks its failure in the fold */
    }
}

/* A submission begins with its workflow. A damaged definition is no newer version's: no other scheduler can
 * read it, either. A guess is proved first: the order may be there. */
static void submission_resolve(struct mg_batch *batch, struct mg_item *item, bool may_fetch)
{
    struct mg_fold *fold = item->fold;
    item->workflow = item_find(batch, item, may_fetch);
    bool is_damaged =
        item->workflow == NULL && !may_fetch && item->want != NULL && item->want->outcome == MG_FETCH_DAMAGED;
    if (is_damaged && !fold->is_guessed) {
        fold->refused = mg_damage_no_workflow(batch, item->want->name, item->want->version, true);
        fold->refusal = MG_REFUSAL_LASTING;
    }
}

static void items_resolve(struct mg_batch *batch, bool may_fetch)
{
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        struct mg_fold *fold = item->fold;
        if (fold->record != NULL && fold->workflow == NULL) {
            fold_resolve(batch, item, may_fetch);
        } else if (fold->record == NULL && item->submission != NULL && item->workflow == NULL) {
            submission_resolve(batch, item, may_fetch);
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
        batch->done(batch, &batch->failure);
        return;
    }
    items_resolve(batch, false);
    mg_batch_matches_ask(batch);
}

static void batch_resolve(struct mg_batch *batch)
{
    items_resolve(batch, true);
    batch->waiting = batch->want_count;
    for (int i = 0; i < batch->want_count; i++) {
        batch->wants[i].done = on_workflow;
        mg_workflows_fetch(&batch->wants[i]);
    }
    if (batch->want_count == 0) {
        mg_batch_matches_ask(batch);
    }
}

/* ---- asking ---- */

static void on_loaded(void *arg, const struct mg_load_answer *answer, const struct mg_err *err)
{
    struct mg_batch *batch = arg;
    struct mg_loader *loader = batch->loader;
    if (err != NULL) {
        batch->done(batch, err);
        return;
    }
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        if (item->load >= 0) {
            const struct mg_loaded *loaded = &answer->orders[item->load];
            item->fold->record = loaded->record;
            item->fold->is_unreadable = item->fold->is_unreadable || loaded->is_unreadable;
            item->fold->refused = loaded->refused;
            memcpy(item->fold->sqlstate, loaded->sqlstate, sizeof(loaded->sqlstate));
            item->fold->refusal = loaded->refusal;
            item->event = loaded->event;
            item->sent_status = loaded->sent_status;
            item->sent_version = loaded->sent_version;
            item->is_owed = loaded->is_owed;
        }
    }
    loader->seen_at_boot_ms = mg_clock_boot_ms();
    (void)mg_far_clock_note(&batch->shared->db_clock, answer->now_ms, batch->asked_at_boot_ms,
                            loader->seen_at_boot_ms);
    batch->now_ms = mg_scheduler_db_now_ms(batch->shared); /* the answer may have taken seconds */
    mg_gates_report(loader->gates, answer->services, answer->service_count);
    batch_resolve(batch);
}

static int loads_make(struct mg_batch *batch)
{
    int count = 0;
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        item->load = item->fold->is_guessed ? -1 : count;
        if (!item->fold->is_guessed) {
            batch->loads[count++] =
                (struct mg_load){.order_id = item->order_id,
                                 .cause = item->wants_event ? item->cause : (struct mg_slice){NULL, 0},
                                 .wants_sent_status = item->wants_sent_status};
        }
    }
    return count;
}

void mg_batch_load(struct mg_batch *batch, mg_batch_fn *done)
{
    struct mg_loader *loader = batch->loader;
    batch->done = done;
    if (!folds_make(batch)) {
        struct mg_err err;
        (void)mg_err_set(&err, MG_TRANSIENT, "no memory");
        batch->done(batch, &err);
        return;
    }
    folds_guess(batch);
    int count = loads_make(batch);
    bool is_seen =
        loader->seen_at_boot_ms != 0 && mg_clock_boot_ms() - loader->seen_at_boot_ms <= MG_SEEN_AGE_MS;
    if (count == 0 && is_seen) {
        batch->now_ms = mg_scheduler_db_now_ms(batch->shared);
        batch_resolve(batch);
    } else {
        batch->asked_at_boot_ms = mg_clock_boot_ms();
        mg_store_load(batch->shared->store, batch->arena, batch->loads, count, on_loaded, batch);
    }
}
