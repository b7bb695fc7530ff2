/*
 * One batch in hand at a time: read, load, decide, write, then hand its messages to the outbox; each stage is
 * a file of that name. A batch takes the causes that arrived during the last commit or, under load, within
 * MG_PACE_MS of the last batch's beginning. All causes of one order are decided in memory and written once
 * (law 4, version guard).
 *
 * The store's result of a write applies to the causes of that order only:
 *   stored    they wait for their confirms
 *   conflict  another instance wrote the order first: they are decided again on a fresh read; the same
 *             holds without a write, if the order was only guessed
 *   refused   they wait by themselves (aside.c); if the values are the reason, they are tried one by one, and
 *             only the faulty one is dead-lettered
 *
 * The store refuses an order only if it works for others. A batch that fails is run again. If it is unknown
 * whether its commit happened, the causes that it wrote are marked `again` (law 3, re-creation); all others
 * stay as they were.
 */
#include "batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/backoff.h"
#include "decision_metrics.h"
#include "keyed_signals.h"
#include "order_spans.h"
#include "turn_send.h"

/* Memory limit of a cause alone in its batch: the largest order, with all its results. */
#define MG_ALONE_MEMORY_MAX (128u * 1024 * 1024)
/* The recent maximum of memory per cause falls by this part of the difference with each batch. */
#define MG_FORGET_SHARE 8
/* Each lost round means that another instance changed the order. So many in a row have another reason. */
#define MG_CONFLICTS_MAX 64
/* Shortages of memory, alone in a batch, after which the message itself counts as faulty. */
#define MG_SHORTAGES_MAX   5
#define MG_BACKOFF_BASE_MS 100
#define MG_BACKOFF_MAX_MS                                                                                    \
    5000 /* for failures while the store is up; after an outage the store itself reports that it is up */
/* Minimum interval of batches under load. Each batch has about the same cost for the database and the
 * broker, independent of its size. At full load many small batches would take that capacity from the
 * orders. After a batch of few causes the next one starts at once, so a single cause never waits. */
#define MG_PACE_MS     10
#define MG_PACE_CAUSES 8

enum fold_outcome { FOLD_STORED, FOLD_AGAIN, FOLD_POISONED, FOLD_ASIDE };

static int batch_size(const struct mg_batcher *batcher);
static struct mg_batch *batch_create(struct mg_batcher *batcher, struct mg_work *const *works, int count);
static void on_loaded(struct mg_batch *batch, const struct mg_err *err);
static void on_written(struct mg_batch *batch, const struct mg_err *err);
static void batch_doubt(struct mg_batch *batch);
static void batch_retry(struct mg_batch *batch, const struct mg_err *err);
static void batch_settle(struct mg_batch *batch);
static bool batch_has_untried(const struct mg_batch *batch);
static void batch_end(struct mg_batch *batch);
static enum fold_outcome fold_judge(struct mg_batch *batch, const struct mg_fold *fold);
static enum fold_outcome item_outcome(struct mg_item *item);
static void fold_stored(const struct mg_batcher *batcher, struct mg_fold *fold);
static void fold_poisoned(const struct mg_batcher *batcher, const struct mg_fold *fold, const char *why);
static void sends_prune(struct mg_fold *fold);
static void batch_note_size(const struct mg_batch *batch);

bool mg_batcher_init(struct mg_batcher *batcher, struct mg_loader *loader, struct mg_asides *aside,
                     struct mg_owing *owing, struct mg_keyed *keyed, struct mg_fires *fires)
{
    batcher->keyed = keyed;
    batcher->fires = fires;
    batcher->shared = aside->shared;
    batcher->inbox = aside->inbox;
    batcher->aside = aside;
    batcher->loader = loader;
    batcher->owing = owing;
    batcher->cause_bytes = MG_FIRST_CAUSE_BYTES;
    batcher->backoff = mg_scheduler_timer(batcher->shared);
    batcher->pace = mg_scheduler_timer(batcher->shared);
    return batcher->backoff != NULL && batcher->pace != NULL;
}

void mg_batcher_finish(struct mg_batcher *batcher)
{
    mg_batch_destroy(batcher->batch);
    mg_timer_destroy(batcher->backoff);
    mg_timer_destroy(batcher->pace);
}

void mg_batch_start(struct mg_batcher *batcher)
{
    struct mg_work *works[MG_BATCH_MAX];
    int count =
        batcher->aside->order_count > 0 ? mg_aside_take(batcher->aside, works, batch_size(batcher)) : 0;
    bool is_retry = count > 0;
    if (!is_retry) {
        count = mg_inbox_take(batcher->inbox, works, batch_size(batcher));
    }
    if (count == 0) {
        return;
    }
    struct mg_batch *batch = batch_create(batcher, works, count);
    if (batch == NULL) {
        while (count > 0) {
            mg_inbox_put_back(batcher->inbox, works[--count]);
        }
        mg_timer_start(batcher->backoff, MG_BACKOFF_BASE_MS, 0);
        return;
    }
    batcher->batch = batch;
    batcher->loader->workflows->batch++;
    batch->is_retry = is_retry;
    mg_batch_read(batch);
    if (batcher->aside->order_count + batcher->aside->set_aside->count > 0 && !is_retry) {
        mg_aside_join(batcher->aside, batch);
    }
    if (batch->item_count >= MG_PACE_CAUSES) {
        mg_timer_start(batcher->pace, MG_PACE_MS, 0);
    }
    if (batch->item_count > 0) {
        mg_batch_load(batch, on_loaded);
    } else {
        batch_end(batch);
    }
}

static void on_loaded(struct mg_batch *batch, const struct mg_err *err)
{
    if (err != NULL) {
        batch_retry(batch, err);
        return;
    }
    mg_batch_decide(batch);
    mg_batch_write(batch, on_written);
}

static void on_written(struct mg_batch *batch, const struct mg_err *err)
{
    if (err != NULL) {
        batch_doubt(batch);
        batch_retry(batch, err);
        return;
    }
    batch_settle(batch);
    batch_end(batch);
}

/* ---- making it ---- */

/* As many causes as recently fitted into a batch's memory. A batch that the store did not take may have
 * been too large (large payloads, a slow disk): half of it is tried next, in the end each cause alone. */
static int batch_size(const struct mg_batcher *batcher)
{
    int size = (int)batcher->shared->options->batch;
    size_t room = batcher->shared->options->memory_bytes / MG_MEMORY_MADE;
    size_t fit = batcher->cause_bytes > 0 ? room / batcher->cause_bytes : (size_t)size;
    if (fit < (size_t)size) {
        size = fit > 0 ? (int)fit : 1;
    }
    for (uint32_t i = 0; i < batcher->shared->failures && size > 1; i++) {
        size /= 2;
    }
    return size;
}

/* NULL: no memory. */
static struct mg_batch *batch_create(struct mg_batcher *batcher, struct mg_work *const *works, int count)
{
    struct mg_batch *batch = calloc(1, sizeof(*batch));
    if (batch == NULL) {
        return NULL;
    }
    batch->batcher = batcher;
    batch->shared = batcher->shared;
    batch->outbox = batcher->owing->outbox;
    batch->owing = batcher->owing;
    batch->keyed = batcher->keyed;
    batch->loader = batcher->loader;
    batch->fires = batcher->fires;
    batch->is_patient = batcher->aside->is_patient;
    batch->made_before = batch->outbox->made_bytes;
    batch->arena = mg_arena_create(count > 1 ? batcher->shared->options->memory_bytes / MG_MEMORY_ARENA
                                             : MG_ALONE_MEMORY_MAX);
    mg_buf_init(&batch->scratch, MG_REQUEST_MAX);
    batch->items =
        batch->arena != NULL ? mg_arena_alloc(batch->arena, (size_t)count * sizeof(*batch->items)) : NULL;
    if (batch->items == NULL) {
        mg_batch_destroy(batch);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        batch->works[batch->work_count++] = works[i];
    }
    batch->started_us = mg_clock_boot_us();
    return batch;
}

/* ---- after the commit ---- */

/* Steps of the item's order wait with a key now: their signals may have come before. */
static void keys_look(struct mg_batch *batch, struct mg_item *item)
{
    for (uint64_t left = item->fold->opened; left != 0; left &= left - 1) {
        struct mg_slice open = item->fold->record->steps[__builtin_ctzll(left)].open;
        mg_buf_clear(&batch->scratch);
        if (open.data != NULL && mg_json_string(mg_json_find(open, "/key"), &batch->scratch)) {
            mg_keyed_look(batch->keyed, item, mg_buf_slice(&batch->scratch));
        }
    }
}

static void item_again(struct mg_batcher *batcher, struct mg_item *item)
{
    struct mg_work *work = item->work;
    if (work->keyed != NULL && !work->is_again) {
        mg_keyed_end(batcher->keyed, work, true, false); /* another order may have it now */
        mg_work_settle(&batcher->shared->works, work, MG_END_ACK);
        return;
    }
    if (work->fire != NULL && item->fold->slot == &work->fire->slot) {
        work->fire->is_judged = false; /* its schedule may have made another order */
    }
    mg_inbox_put_back(batcher->inbox, work);
}

static void batch_settle(struct mg_batch *batch)
{
    struct mg_batcher *batcher = batch->batcher;
    for (int i = 0; i < batch->fold_count; i++) {
        struct mg_fold *fold = batch->folds[i];
        fold->outcome = (int)fold_judge(batch, fold);
        if (fold->outcome == FOLD_STORED) {
            if (fold->write != NULL && fold->write->turn.order_id[0] != '\0') {
                mg_turn_add(batch, fold);
            }
            fold_stored(batcher, fold);
            if (batcher->shared->options->spans != NULL) {
                mg_fold_trace(batch, fold);
            }
        }
    }
    for (int i = batch->item_count - 1; i >= 0; i--) { /* backwards, so that the first ends up in front */
        struct mg_item *item = &batch->items[i];
        item->outcome = (int)item_outcome(item);
        if (item->outcome == FOLD_ASIDE) {
            continue;
        }
        if (item->outcome == FOLD_POISONED && item->fold->outcome == FOLD_AGAIN) {
            fold_poisoned(batcher, item->fold, "the order changed during each decision");
        }
        if (item->outcome == FOLD_AGAIN) {
            item_again(batcher, item);
        }
    }
    for (int i = 0; i < batch->item_count; i++) {
        struct mg_item *item = &batch->items[i];
        if (item->outcome == FOLD_STORED) {
            mg_item_count(batcher->shared, item);
            if (item->work->fire != NULL && item->submitted == MG_SUBMITTED_ACCEPTED) {
                mg_fire_stored(item->work->fire);
            }
            if (batcher->shared->options->spans != NULL) {
                mg_item_trace(batch, item);
            }
            if (item->is_recalled && !item->fold->is_recalled) { /* once per order and batch */
                item->fold->is_recalled = true;
                mg_owed_recall(batcher->owing, item->work, item->order_id);
            }
        }
        if (item->outcome == FOLD_STORED && item->work->keyed != NULL) {
            mg_keyed_end(batcher->keyed, item->work, item->is_key_next, item->is_key_refused);
        }
        if (item->outcome == FOLD_STORED && item->fold->opened != 0) {
            keys_look(batch, item);
        }
        if (item->outcome == FOLD_STORED || item->outcome == FOLD_POISONED) {
            /* While the store fails, a cause that needs no write is no sign that work moves. */
            batcher->ended += item->fold->write != NULL || batcher->shared->failures == 0 ? 1 : 0;
            mg_work_settle(&batcher->shared->works, item->work,
                           item->outcome == FOLD_STORED ? item->end : MG_END_REJECT);
        }
    }
    for (int i = 0; i < batch->fold_count; i++) {
        if (batch->folds[i]->outcome == FOLD_ASIDE) {
            mg_aside_refuse(batcher->aside, batch, batch->folds[i]);
        }
    }
    if (batch->write_count > 0) {
        mg_scheduler_stored(batcher->shared, !batch_has_untried(batch));
    }
    mg_scheduler_rank(batcher->shared);
}

static bool batch_has_untried(const struct mg_batch *batch)
{
    for (int i = 0; i < batch->write_count; i++) {
        if (batch->writes[i].result == MG_WRITE_UNTRIED) {
            return true;
        }
    }
    return false;
}

static enum fold_outcome fold_judge(struct mg_batch *batch, const struct mg_fold *fold)
{
    struct mg_batcher *batcher = batch->batcher;
    if (fold->refused != NULL) {
        return FOLD_ASIDE;
    }
    if (fold->write == NULL && !fold->has_failed) {
        return fold->is_guessed ? FOLD_AGAIN : FOLD_STORED;
    }
    enum mg_write_result result = fold->has_failed ? MG_WRITE_REFUSED : fold->write->result;
    switch (result) {
    case MG_WRITE_DONE:
        return FOLD_STORED;
    case MG_WRITE_CONFLICT:
        mg_metric_add(batcher->shared->series.conflicts, 1);
        return FOLD_AGAIN;
    case MG_WRITE_UNTRIED:
        return FOLD_AGAIN;
    case MG_WRITE_REFUSED:
        break;
    }
    if (!fold->has_failed) {
        return FOLD_ASIDE;
    }
    if (batch->item_count > 1) {
        return FOLD_AGAIN; /* alone, see item_outcome */
    }
    if (++batch->items[0].work->shortages < MG_SHORTAGES_MAX) {
        mg_timer_start(batcher->backoff, MG_BACKOFF_BASE_MS, 0);
        return FOLD_AGAIN;
    }
    fold_poisoned(batcher, fold, "out of memory");
    return FOLD_POISONED;
}

static enum fold_outcome item_outcome(struct mg_item *item)
{
    const struct mg_fold *fold = item->fold;
    enum fold_outcome outcome = item->is_undecided ? FOLD_AGAIN : (enum fold_outcome)fold->outcome;
    if (outcome != FOLD_AGAIN) {
        return outcome;
    }
    if (fold->write != NULL && fold->write->result == MG_WRITE_UNTRIED) {
        return outcome;
    }
    item->work->is_alone = item->work->is_alone || fold->has_failed;
    item->work->is_guess_wrong = true;
    return ++item->work->conflicts <= MG_CONFLICTS_MAX ? FOLD_AGAIN : FOLD_POISONED;
}

static void fold_poisoned(const struct mg_batcher *batcher, const struct mg_fold *fold, const char *why)
{
    mg_metric_add(batcher->shared->series.poisoned, 1);
    mg_log(MG_LOG_ERROR, "a message cannot be stored and is dead-lettered",
           MG_LOG_TEXT("order_id", fold->order_id), MG_LOG_TEXT("why", why));
    char text[512];
    snprintf(text, sizeof(text), "%s: %s", mg_alert_text(MG_ALERT_POISONED), why);
    mg_alert_raise(batcher->owing->alerts, MG_ALERT_POISONED, fold->order_id, text, false);
}

static void fold_stored(const struct mg_batcher *batcher, struct mg_fold *fold)
{
    if (batcher->aside->order_count > 0) {
        mg_aside_stored(batcher->aside, fold);
    }
    bool is_open = fold->write != NULL && !mg_order_state_is_terminal(fold->record->order.state);
    if (is_open) {
        fold->record->stored_steps |= fold->write->changed_steps;
        mg_cache_put(batcher->loader->cache, fold->record, mg_clock_boot_ms());
    }
    sends_prune(fold);
    mg_fold_count(fold);
    mg_outbox_add_all(batcher->owing->outbox, &fold->sends);
}

/* Drops requests that a later cause of the same batch has overtaken. */
static void sends_prune(struct mg_fold *fold)
{
    struct mg_send_list gone = TAILQ_HEAD_INITIALIZER(gone);
    struct mg_send *send, *next;
    for (send = TAILQ_FIRST(&fold->sends); send != NULL; send = next) {
        next = TAILQ_NEXT(send, entry);
        const struct mg_step *step = send->request != NULL ? &fold->record->order.steps[send->step] : NULL;
        if (step != NULL && !mg_step_runs(step, send->request->attempt)) {
            TAILQ_REMOVE(&fold->sends, send, entry);
            TAILQ_INSERT_TAIL(&gone, send, entry);
        }
    }
    mg_send_list_drop(&gone);
}

/* ---- ending it ---- */

/* A cause without an event in the write is a duplicate, or stale. Its retry publishes no more than it did. */
static void batch_doubt(struct mg_batch *batch)
{
    for (int i = 0; i < batch->item_count; i++) {
        const struct mg_item *item = &batch->items[i];
        bool is_written = item->first_event >= 0 && item->fold->write != NULL;
        item->work->is_again = item->work->is_again || is_written;
    }
}

static void batch_retry(struct mg_batch *batch, const struct mg_err *err)
{
    struct mg_batcher *batcher = batch->batcher;
    mg_log(batcher->shared->failures == 0 ? MG_LOG_WARN : MG_LOG_DEBUG, /* one line for a run of failures */
           "the store did not commit a batch; it is retried", MG_LOG_TEXT("why", err->text),
           MG_LOG_NUMBER("causes", batch->item_count));
    if (batch->item_count ==
        1) { /* the store may take others, which then tell that this one is refused alone */
        mg_inbox_put_behind(batcher->inbox, batch->items[0].work);
    }
    for (int i = batch->item_count - 1; i >= 0 && batch->item_count > 1; i--) {
        mg_inbox_put_back(batcher->inbox, batch->items[i].work);
    }
    (void)snprintf(batcher->failed_order_id, sizeof(batcher->failed_order_id), "%s",
                   batch->item_count > 0 ? batch->items[0].order_id : "");
    (void)snprintf(batcher->why, sizeof(batcher->why), "%.*s", MG_BEAT_REASON_SIZE - 1, err->text);
    int64_t after_ms =
        mg_backoff_ms(MG_BACKOFF_BASE_MS, MG_BACKOFF_MAX_MS, batcher->shared->failures, -1, mg_random_u64());
    mg_scheduler_failed(batcher->shared, batch->started_us / 1000);
    mg_timer_start(batcher->backoff, after_ms, 0);
    mg_scheduler_rank(batcher->shared);
    batch_end(batch);
}

static void batch_end(struct mg_batch *batch)
{
    struct mg_batcher *batcher = batch->batcher;
    if (batch->is_retry) {
        mg_aside_tried(batcher->aside);
    }
    batch_note_size(batch);
    double seconds = (double)(mg_clock_boot_us() - batch->started_us) / 1e6;
    mg_metric_observe(batcher->shared->series.batch_seconds, seconds);
    mg_metric_observe(batcher->shared->series.batch_causes, batch->item_count);
    batcher->causes_done += (uint64_t)batch->item_count; /* agents' reports are no causes */
    batcher->batch = NULL;
    mg_batch_destroy(batch);
    mg_outbox_pump(batcher->owing->outbox);
    mg_scheduler_wake(batcher->shared);
}

/* The memory of a cause is unknown in advance: for a reply the order is read and the next request
 * rendered. So the size of a batch follows the recent memory per cause. */
static void batch_note_size(const struct mg_batch *batch)
{
    struct mg_batcher *batcher = batch->batcher;
    size_t each = mg_batch_made(batch) / (size_t)batch->work_count;
    if (each >= batcher->cause_bytes) {
        batcher->cause_bytes = each;
    } else {
        batcher->cause_bytes -= (batcher->cause_bytes - each + MG_FORGET_SHARE - 1) / MG_FORGET_SHARE;
    }
}

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
