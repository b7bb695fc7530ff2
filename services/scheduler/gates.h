/* May a request for a service go out now (law 7, waiting is not failing)? */
#ifndef MG_SCHEDULER_GATES_H
#define MG_SCHEDULER_GATES_H

#include "park.h"
#include "queue_rest.h"
#include "shared.h"

#include "base/queue_metrics.h"
#include "core/model.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/store/store.h"

struct mg_gate_queue {
    char name[MG_QUEUE_NAME_SIZE];
    bool is_seen;
    bool is_returned;                /* no such queue: a request was returned since the last look */
    int64_t ready, consumers, since; /* since: published after the last look */
    int64_t looked_at_boot_ms;       /* last extra look, besides the periodic ones */
    int64_t left_boot_ms;            /* since when its last consumer is gone; 0: it has one, or never had */
    int64_t arrived;                 /* requests confirmed since the start */
    struct mg_queue_rest rest;       /* after a request that was not taken */
    enum mg_reason rest_reason;
    struct mg_park park;
    struct mg_queue_metrics metrics;
};

struct mg_gate {
    struct mg_gate *next;
    struct mg_gates *gates;
    char service[MG_NAME_MAX + 1];
    struct mg_gate_queue queues[2]; /* normal, high */
    enum mg_reason reported;        /* from the agents' reports */
    bool is_probing;                /* the agents report that it was down and is to be probed */
    int64_t probed_boot_ms;         /* time of its last probe; 0: none */
    struct mg_service_metrics metrics;
    enum { MG_GATE_ALERT_UNSURE, MG_GATE_ALERT_OPEN, MG_GATE_ALERT_CLOSED } alert;
    int alert_for_ticks; /* since this process raised or closed it */
    bool is_missed;      /* since the last alert a step had to wait for a missing queue */
};

struct mg_gates {
    struct mg_shared *shared;
    const int *unconfirmed; /* number of messages without an outcome, of all queues */
    struct mg_gate *first;
    int count;
    /* Receives the alerts about services. */
    void (*raise)(void *arg, enum mg_alert alert, const char *subject, const char *text, bool is_closed);
    void *arg;
};

struct mg_gate *mg_gates_of(struct mg_gates *gates, const char *service); /* NULL: no memory, too many */
/* `is_first`: the step was not sent before. */
enum mg_reason mg_gate_reason(struct mg_gate *gate, bool is_high, bool is_first);
/* A step is parked since its queue is full. */
void mg_gate_parked(struct mg_gate *gate, bool is_high);
/* Takes one place of the window at the decision, so that the next order of the batch sees it. True: the
 * request is the trial of a queue that rested. */
bool mg_gate_take(struct mg_gate *gate, bool is_high);
/* The trial request of a queue does not go out. */
void mg_gate_untry(struct mg_gate *gate, const char *queue);
/* The service has completed a request. An agent that wants several probes gets the next one. */
void mg_gate_served(struct mg_gate *gate);
/* A step waits because its service's queue has no consumer. */
void mg_gate_held(struct mg_gate *gate);
/* Refreshes the counts of queues in use; called at each tick. */
void mg_gates_look(struct mg_gates *gates);
void mg_gates_unseen(struct mg_gates *gates); /* as mg_consumed_unseen */
void mg_gates_report(struct mg_gates *gates, const struct mg_service_row *rows, int count);
/* True if new orders wait for a served queue that is full (park.h). */
bool mg_gates_hold_intake(const struct mg_gates *gates, bool is_high);
/* The service for which new orders were held back within the last seconds; NULL: there is none. */
const struct mg_gate *mg_gates_held_by(const struct mg_gates *gates, bool *ret_is_at_most);
void mg_gate_published(struct mg_gate *gate, bool has_arrived);
/* True while the queue rests: even requests already made for it do not go out. */
bool mg_gate_is_resting(struct mg_gate *gate, const char *queue);
/* A queue did not take a request: it rests, and an alert is open. */
void mg_gate_refused(struct mg_gate *gate, const char *queue, enum mg_publish_outcome outcome);
/* The broker has confirmed a request to this queue. */
void mg_gate_arrived(struct mg_gate *gate, const char *queue);
void mg_gates_finish(struct mg_gates *gates);

#endif
