/*
 * A store and a broker that do nothing by themselves, over the loop of fake_loop.h. The store keeps orders as
 * PostgreSQL would (version guard), and the broker records publishes and acks. The test decides when and how
 * each answers.
 */
#ifndef MG_TESTS_SCHEDULER_FAKES_H
#define MG_TESTS_SCHEDULER_FAKES_H

#include "../fake_loop.h"
#include "io/amqp/broker.h"
#include "io/store/owed.h"

/* ---- store ---- */
enum fake_commit {
    FAKE_COMMIT_PLAIN,
    FAKE_COMMIT_UNKNOWN_DONE, /* stored, and the answer is lost */
    FAKE_COMMIT_UNKNOWN_LOST, /* neither stored nor answered */
    FAKE_COMMIT_CONFLICT,     /* another instance was quicker; once */
};
struct fake_store {
    struct mg_store_options options;
    enum fake_commit next_commit; /* of the next commit only */
    int conflicts;                /* on so many further commits another instance is quicker, too */
    const char *poisoned;         /* an order that cannot be stored while its reason holds this text */
    const char *refused_mark;     /* each call with a mark of this order fails; NULL: none does */
    int mark_calls;
    int load_max;            /* a load of more orders than this fails for lack of memory; 0: none does */
    int lost_loads;          /* so many loads more lose their connection */
    const char *unreadable;  /* an order that a newer version wrote */
    bool is_held;            /* commits are not answered until it is false */
    int64_t ahead_ms;        /* of the machine's clock */
    const char *refused;     /* orders, as a pattern, that are refused at each write; NULL: none */
    const char *damaged;     /* an order that cannot be read; NULL: none */
    enum mg_refusal refusal; /* of both */
    const char *sqlstate;    /* of both; NULL: XX001 */
    bool is_refusing;        /* all orders are refused: commits and loads fail */
    const char *refused_too; /* another order like `refused`; NULL: none */
    const char *aside;       /* the order that is set aside; NULL: none */
    struct mg_service_row service;     /* the row of one service; no name: there is none */
    int64_t parked;                    /* steps parked for any queue that is asked about */
    bool is_avoided;                   /* a workflow does without the service that is asked about */
    int parked_counts;                 /* so often they were counted */
    bool is_owed_lost;                 /* owed statuses cannot be read */
    bool keeps_nothing;                /* each write succeeds and is discarded */
    const char *workflow, *definition; /* the only one there is; the stage's, if none is given */
    int commits, loads, marks, unmarks, alerts, closings, reports; /* alerts: opened; closings: of alerts */
    int owed_loads;       /* an order's owed statuses were read so often */
    uint64_t last_report; /* its sequence */
    char last_mark[80];
    uint64_t last_mark_version;
    bool last_mark_is_retry;
    char last_mark_queue[MG_REPLY_TO_MAX + 1];
    struct mg_given_up given_up; /* reported with the next retry that failed; count 0: nothing is */
    char last_alert[1200];       /* "subject: text" */
};
extern struct fake_store fake_store;

void fake_store_reset(void);
bool fake_store_answer(void); /* the oldest open call; false: none is open */
const struct mg_order_record *fake_store_order(const char *order_id);        /* NULL: none */
const struct mg_event_record *fake_store_event(const char *order_id, int n); /* NULL: none */
int fake_store_event_count(const char *order_id);
struct mg_order_record *fake_store_record(const char *order_id); /* for the test to change; NULL: none */
void fake_store_owe(const char *order_id);                       /* the statuses of its first event */
/* As another instance would: raises the version and touches nothing else. */
void fake_store_bump(const char *order_id);

/* ---- broker ---- */
#define FAKE_PUBLISHED_MAX 512
struct fake_published {
    char type[32], queue[256], correlation[256], message_id[256], reason[512], traceparent[64], origin[64],
        app_id[64];
    char *body;
    bool is_again, is_open;
    mg_published_fn *done;
    void *arg;
};
struct fake_broker {
    struct mg_broker_options options;
    struct fake_published published[FAKE_PUBLISHED_MAX];
    int count;
    bool is_down;           /* the state that mg_broker_is_up returns */
    bool is_held;           /* confirms wait for fake_broker_confirm */
    const char *fails_type; /* messages of this type end as `failure` */
    enum mg_publish_outcome failure;
    size_t room;
    int acked, rejected, requeued, paused, resumed;
    uint16_t prefetch[MG_CONSUMERS_MAX];  /* of those that were resumed */
    bool is_off[MG_CONSUMERS_MAX];        /* paused since */
    int64_t queue_ready, queue_consumers; /* the figures of a watched queue; consumers -2: it is not seen */
    int looks;                            /* looks out of turn, alongside the watch's period */
};
extern struct fake_broker fake_broker;

void fake_broker_reset(void);
bool fake_broker_confirm(void); /* the oldest open publish; false: none is open */
void fake_broker_seen(void);    /* reports the figures of the watched queues */
struct fake_delivery {
    int consumer;
    const char *type, *body, *message_id, *reply_to, *correlation_id, *app_id, *exchange, *traceparent;
    bool is_redelivered, is_oversized, has_died;
    uint32_t delivery_count;
};
void fake_broker_deliver(const struct fake_delivery *delivery);
int fake_broker_count(const char *type); /* published so far */
const struct fake_published *fake_broker_last(const char *type);

#endif
