/*
 * One commit for all orders of a batch; each is written at most once (law 4, version guard).
 */
#include "stages.h"

#include "base/clock.h"
#include "base/failpoint.h"
#include "fold.h"

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
                                           .taken = fold->taken,
                                           .taken_count = fold->taken_count,
                                           .line = fold->line,
                                           .slot = fold->slot,
                                           .locked_by = batch->shared->options->instance,
                                           .is_hasty = batch->is_retry,
                                           .is_patient = batch->is_patient};
    fold->write->line.left_generation = fold->before->generation; /* the earlier place is the read order's */
}

static void on_committed(void *arg, const struct mg_err *err)
{
    struct mg_batch *batch = arg;
    if (err == NULL) {
        double seconds = (double)(mg_clock_boot_us() - batch->commit_us) / 1e6;
        mg_metric_observe(batch->shared->series.commit_seconds, seconds);
        MG_FAILPOINT(SCHEDULER_COMMITTED);
    }
    batch->done(batch, err);
}

void mg_batch_write(struct mg_batch *batch, mg_batch_fn *done)
{
    batch->done = done;
    for (int i = 0; i < batch->fold_count; i++) {
        if (batch->folds[i]->event_count > 0 && !batch->folds[i]->has_failed) {
            write_add(batch, batch->folds[i]);
        }
    }
    if (batch->write_count > 0) {
        MG_FAILPOINT(SCHEDULER_DECIDED);
        batch->commit_us = mg_clock_boot_us();
        mg_store_commit(batch->shared->store, batch->writes, batch->write_count, on_committed, batch);
        MG_FAILPOINT(SCHEDULER_COMMITTING);
    } else {
        done(batch, NULL);
    }
}
