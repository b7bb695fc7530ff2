/*
 * The scheduler receives causes from four queues and decides them in batches with the pure core. It stores
 * the decisions, publishes their messages, and acks a cause only after both are durable. No state of this
 * process must survive a crash: unacked messages are redelivered.
 *
 * One thread, one batch in hand. A piece of work goes inbox -> read -> load -> decide -> write -> outbox ->
 * ack; each stage is a file with state of its own. A later batch may be decided while the publishes of an
 * earlier one are unconfirmed. A stage calls only stages below it and reports to those above by callbacks.
 */
#ifndef MG_SCHEDULER_SCHEDULER_H
#define MG_SCHEDULER_SCHEDULER_H

#include "ack.h"
#include "alert_raise.h"
#include "aside.h"
#include "batch.h"
#include "cache.h"
#include "confirm.h"
#include "consumers.h"
#include "gates.h"
#include "inbox.h"
#include "keyed_signals.h"
#include "outbox.h"
#include "owed_statuses.h"
#include "report_intake.h"
#include "scheduler_metrics.h"
#include "scheduler_options.h"
#include "set_aside.h"
#include "shared.h"
#include "slot_fire.h"
#include "stages.h"
#include "standstill.h"
#include "status_make.h"
#include "suspect_work.h"
#include "work.h"
#include "workflows.h"

#include "base/rest.h"

struct mg_scheduler {
    struct mg_shared shared;

    /* The stages, from the inbox to the ack. */
    struct mg_consumed consumed;
    struct mg_inbox inbox;
    struct mg_isolated isolated;
    struct mg_asides aside;
    struct mg_set_asides set_aside;
    struct mg_batcher batcher;
    struct mg_loader loader;
    struct mg_outbox outbox;
    struct mg_confirm confirm;
    struct mg_ack ack;

    /* Alongside the stages. */
    struct mg_workflows workflows;
    struct mg_cache cache;
    struct mg_gates gates;
    struct mg_owing owing;
    struct mg_keyed keyed;
    struct mg_fires fires;
    struct mg_reports reports;
    struct mg_alerts alerts;
    struct mg_standstill standstill;

    struct mg_rest rest;
    struct mg_timer *drain_timer;
    struct mg_timer *away_timer;
    struct mg_timer *tick; /* looks at queues, and at intake that a full window held back */
    bool is_lingering;     /* all work is done; the last acks are being sent */
};

/* Takes ownership of `definitions`. MG_BAD_INPUT: the URL or the DSN is invalid. */
enum mg_class mg_scheduler_create(struct mg_loop *loop, const struct mg_scheduler_options *options,
                                  struct mg_metrics *metrics, struct mg_definition *definitions,
                                  struct mg_scheduler **ret_scheduler, struct mg_err *err) MG_MUSTCHECK;
void mg_scheduler_destroy(struct mg_scheduler *scheduler); /* accepts NULL */
/* Stops consuming, finishes the work in hand within the drain timeout, then calls on_end(0). */
void mg_scheduler_drain(struct mg_scheduler *scheduler);
void mg_scheduler_account(void *scheduler, struct mg_beat *ret_beat); /* of its heartbeat */
bool mg_scheduler_is_ready(void *scheduler, char *ret_reason, size_t size);

#endif
