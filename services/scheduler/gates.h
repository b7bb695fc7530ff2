/* May a request for a service go out now (law 7, waiting is not failing)? */
#ifndef MG_SCHEDULER_GATES_H
#define MG_SCHEDULER_GATES_H

#include "counters.h"
#include "queue_rest.h"

#include "base/queue_metrics.h"
#include "core/model.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/store/store.h"

struct mg_scheduler;

struct mg_gate_queue {
    char name[MG_QUEUE_NAME_SIZE];
    bool is_seen;
    bool is_returned; /* the broker returned a request, since it was last seen: there was no such queue */
    int64_t ready, consumers, since; /* since: published after it was last seen */
    int64_t looked_at_boot_ms;       /* beside its period */
    int64_t arrived;                 /* of ours, since the start */
    struct mg_queue_rest rest;       /* after it did not take a request */
    enum mg_reason rest_reason;
    struct mg_queue_metrics metrics;
};

struct mg_gate {
    struct mg_gate *next;
    struct mg_scheduler *scheduler;
    char service[MG_NAME_MAX + 1];
    struct mg_gate_queue queues[2]; /* normal, high */
    enum mg_reason reported;        /* what agents say of the service */
    bool is_probing;                /* they say that it was down, and is to be probed */
    int64_t probed_boot_ms;         /* when its last probe went out; 0: none has */
    struct mg_service_metrics metrics;
    enum { MG_GATE_ALERT_UNSURE, MG_GATE_ALERT_OPEN, MG_GATE_ALERT_CLOSED } alert;
    int alert_for_ticks; /* since this process saw to that */
    bool is_missed;      /* since it was said last a step had to wait because a queue is missing */
};

struct mg_gates {
    struct mg_gate *first;
    int count;
    /* The sink of alerts about services. */
    void (*raise)(void *arg, enum mg_alert alert, const char *subject, const char *text, bool is_closed);
    void *arg;
};

struct mg_gate *mg_gates_of(struct mg_scheduler *scheduler,
                            const char *service); /* NULL: no memory, too many */
enum mg_reason mg_gate_reason(struct mg_gate *gate, bool is_high);
/* Room for one more in the window is taken when it is decided, so that the next order of the batch sees it.
 * True: it tries a queue that rested. */
bool mg_gate_take(struct mg_gate *gate, bool is_high);
/* What was to try the queue does not go out after all. */
void mg_gate_untry(struct mg_gate *gate, const char *queue);
/* Its service has done what it was asked: an agent that wants more than one probe gets the next. */
void mg_gate_served(struct mg_gate *gate);
/* A step of its service waits, because nothing consumes its queue. */
void mg_gate_held(struct mg_gate *gate);
void mg_gates_look(struct mg_scheduler *scheduler);   /* at queues that are in use; at each tick */
void mg_gates_unseen(struct mg_scheduler *scheduler); /* as mg_consumed_unseen */
void mg_gates_report(struct mg_scheduler *scheduler, const struct mg_service_row *rows, int count);
bool mg_gates_is_full(const struct mg_scheduler *scheduler,
                      bool is_high); /* a served queue has all that new orders may give it */
void mg_gate_published(struct mg_gate *gate, bool has_arrived);
/* The queue rests, and what is made for it already stays here. */
bool mg_gate_is_resting(struct mg_gate *gate, const char *queue);
/* A queue did not take a request of ours: it rests, and an alert is open. */
void mg_gate_refused(struct mg_gate *gate, const char *queue, enum mg_publish_outcome outcome);
/* A request of ours is in the queue. */
void mg_gate_arrived(struct mg_gate *gate, const char *queue);
void mg_gates_finish(struct mg_scheduler *scheduler);

#endif
