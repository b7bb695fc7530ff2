/*
 * The agent: takes requests from the queues of its services, calls the remote service over HTTP, and replies.
 *
 *   receive.c   a delivery becomes a job, or is refused; late ones are dropped, doubtful ones held
 *   job.c       a job's life, and how its delivery is given back
 *   lane.c      how much is consumed, and what is answered without a call, by breaker, pause and limits
 *   serve.c     which waiting job is next
 *   call.c      one try: one HTTP call, judged by the clock before and after
 *   trace.c     what is told of a try, if somebody wants to know
 *   answer.c    the reply is published, and confirmed, before the request is acked
 *   control.c   what operators want of the service, and whether it is down for most, as the leading
 *               supervisor tells it
 *   report.c    what schedulers, /readyz and /metrics are told
 *   drain.c     the way out
 *   clock.c tick.c   standstills and the database's clock; what is looked at each second
 *   deadline.c limiter.c breaker.c classify.c   the arithmetic of it, pure
 *
 * A job lives from its delivery until the delivery is given back to the broker, whatever the way; it is in
 * exactly one list of its service, and there are never more of them than both prefetches allow (plus what was
 * under way when a connection broke, which is the same number again). Nothing of it outlives the process: a
 * crash means redelivery.
 */
#ifndef MG_AGENT_AGENT_H
#define MG_AGENT_AGENT_H

#include <sys/queue.h>

#include "base/config.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/rest.h"
#include "base/trace.h"
#include "breaker.h"
#include "classify.h"
#include "core/suspects.h"
#include "deadline.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "io/http/client.h"
#include "limiter.h"
#include "wire/request.h"

/* Two queues each, and the broker's interface has room for so many consumers. */
#define MG_AGENT_SERVICES_MAX (MG_CONSUMERS_MAX / 2)
#define MG_INSTANCE_MAX       127
/* Readiness and gauges are looked at this often; schedulers hear of a change at once. */
#define MG_AGENT_TICK_MS 1000
/* A place is kept beside what is left to others, until none has come for so long: each comes again after a
 * second, 15 times. */
#define MG_NEWER_ROOM_MS      30000
#define MG_NEWER_PREFETCH_MIN 2 /* for so long */

/* What of the memory for messages each may take, as a part of so many. A request in hand counts twice, for
 * its call has a copy of the body; so does an answer, whose buffer doubles as it grows. Beside these there
 * are what libcurl and the broker's interface hold of what is on its way: together they stay below the whole.
 */
#define MG_AGENT_MEMORY_HELD    4 /* requests in hand, of all queues */
#define MG_AGENT_MEMORY_ANSWERS 8 /* answers that are being read: of each service its share */

struct mg_agent_options {
    struct mg_list service_files;
    struct mg_broker_address broker;
    const char *instance;
    int64_t drain_timeout_ms;
    int64_t concurrency; /* 0: what the service file says */
    int64_t skew_limit_ms;
    size_t memory_bytes;              /* for requests, and for what is made of them */
    const struct mg_span_sink *spans; /* NULL: none are made */
};

enum mg_job_phase {
    MG_JOB_WAITING, /* for its first try, or for the next after a backoff */
    MG_JOB_CALLING,
    MG_JOB_BACKING_OFF,
    MG_JOB_REPLYING,   /* the reply is on its way to the broker */
    MG_JOB_REPLY_WAIT, /* the broker did not take it; it will be offered again */
    MG_JOB_SET_ASIDE,  /* speaks a newer version's words: waits to be given back for another instance */
    MG_JOB_ISOLATED,   /* may be what ends its handlers: waits until all else has ended */
    MG_JOB_IN_DOUBT,   /* seems late, unless the database's clock went back: waits until that is known */
};

/* Of the try under way, if its trace is told. */
struct mg_try_trace {
    bool is_told;
    struct mg_trace trace; /* its parent is the attempt */
    uint8_t id[MG_SPAN_ID_SIZE];
    int64_t begin_us, begin_boot_us;
    char traceparent[MG_TRACEPARENT_SIZE]; /* what the service gets */
};

struct mg_job;
typedef void mg_job_end_fn(struct mg_job *job);

struct mg_job {
    TAILQ_ENTRY(mg_job) entry;
    struct mg_lane *lane;
    enum mg_job_phase phase;
    enum mg_suspicion suspicion;
    bool is_high;
    bool is_redelivered;
    bool may_have_run; /* a try of this or an earlier delivery may have reached the remote */
    /* One that was given up, or of another delivery, may still be at work there (law 11, quiesce); and what
     * the reply says of it. */
    bool may_still_act, says_may_still_act;
    mg_job_end_fn *on_end; /* cancels what still runs for it, just before it is gone */
    struct mg_delivery *delivery;
    struct mg_arena *arena; /* holds what the request borrows beside the delivery's body */
    struct mg_request request;
    struct mg_deadline deadline;
    struct mg_timer *timer;
    struct mg_http_call *call; /* while CALLING */
    int64_t call_budget_ms, call_began_us;
    uint32_t ticket; /* the breaker's */
    int try_count;
    struct mg_try_trace trace;
    struct mg_verdict_of_try last; /* of the last try, later of the reply; meaningless before */
    char correlation_id[MG_KEY_SIZE];
    struct mg_buf reply;
    uint32_t reply_failures;
};

TAILQ_HEAD(mg_jobs, mg_job);

enum { MG_LINE_NORMAL, MG_LINE_HIGH, MG_LINE_COUNT };

/* One of a service's two queues. */
struct mg_line {
    char queue[MG_QUEUE_NAME_SIZE];
    int consumer;
    struct mg_jobs waiting;
    int waiting_count;
    int set_aside_count;   /* of its jobs that wait to be given back */
    int64_t newer_boot_ms; /* when the last of those came; 0: none did */
    int held;              /* deliveries of this queue that have not been given back */
    int prefetch;          /* as last asked for */
    int64_t room_since_ms; /* CLOCK_BOOTTIME; INT64_MAX while the broker gives no more */
};

#define MG_CALL_DIGITS 6

struct mg_lane_metrics {
    struct mg_metric *calls[MG_CALL_DIGITS]; /* by first digit of the status; [0]: no whole answer */
    struct mg_metric *call_seconds, *replies[MG_OUTCOME_COUNT];
    struct mg_metric *late, *malformed, *reply_again, *breaker, *down, *paused, *in_flight, *concurrency,
        *waiting;
};

/* What an agent was last told of its service. What operators want holds until it hears otherwise, for ever if
 * nobody says more: no word is no reason to do what somebody forbade. That the service is down does not. */
struct mg_control {
    uint64_t epoch, version; /* 0: it has heard nothing */
    int64_t heard_boot_ms;
    int64_t word_boot_ms; /* when it last heard whether the service is down */
    bool is_paused;
    bool is_unreadable;               /* that the last word could not be read has been said */
    bool is_named;                    /* of a limited service: it has a share */
    char prober[MG_INSTANCE_MAX + 1]; /* while the service is down for most: who probes it */
};

/* One service with all that belongs to it. */
struct mg_lane {
    struct mg_agent *agent;
    struct mg_service *service;
    struct mg_http_client *http;
    struct mg_http_room *answers; /* memory for them */
    char reply_exchange[MG_QUEUE_NAME_SIZE];
    struct mg_limiter limiter;
    struct mg_breaker breaker;
    enum mg_breaker_state reported; /* of it, last */
    struct mg_control control;
    struct mg_line lines[MG_LINE_COUNT];
    struct mg_jobs begun; /* every job that is not WAITING */
    struct mg_idle *pump;
    struct mg_timer *timer; /* the next token, or the end of the breaker's open time */
    struct mg_lane_metrics metrics;
};

struct mg_agent {
    const struct mg_agent_options *options;
    char instance[MG_INSTANCE_MAX + 1];
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_metric *skew_metric;
    struct mg_broker *broker;
    struct mg_skew skew;
    struct mg_lane lanes[MG_AGENT_SERVICES_MAX];
    int lane_count;
    struct mg_suspects suspects;
    struct mg_timer *isolated_timer; /* runs while there are isolated ones */
    int64_t isolated_boot_ms;        /* when the last of them began, or the first one came */
    int64_t started_ms; /* tells it from an earlier process of its name; nobody compares it with a time */
    uint64_t report_count;
    int64_t awake_since_boot_ms; /* since when no word of a supervisor has waited for this process */
    bool is_broker_up, is_draining, was_ready;
    struct mg_timer *tick_timer, *drain_timer;
    int64_t ticks, drain_until_ms;
    uint64_t jobs_made;
    struct mg_rest rest;
    bool is_drained;
};

/* setup.c */
enum mg_class mg_agent_load(struct mg_agent *agent, const struct mg_agent_options *options,
                            struct mg_err *err) MG_MUSTCHECK;
enum mg_class mg_agent_start(struct mg_agent *agent, struct mg_loop *loop, struct mg_metrics *metrics,
                             struct mg_err *err) MG_MUSTCHECK;
void mg_agent_finish(struct mg_agent *agent); /* accepts half-built ones */
/* Judges the service's certificate files; of one that has expired it only warns, in the log. */
enum mg_class mg_lane_check_certificates(const struct mg_lane *lane, struct mg_err *err) MG_MUSTCHECK;

/* receive.c: the broker's callbacks */
void mg_agent_on_delivery(void *arg, struct mg_delivery *delivery);
void mg_agent_on_state(void *arg, bool is_up, const char *reason);

/* clock.c */
/* At each tick and each delivery: after a standstill nothing that comes soon counts as fresh. */
void mg_agent_turn(struct mg_agent *agent);
/* What a message that came says of the database's clock. */
void mg_agent_note_time(struct mg_agent *agent, int64_t boot_ms, int64_t sent_at_ms, enum mg_sample sample);

/* job.c */
enum mg_job_end { MG_JOB_ACK, MG_JOB_REJECT, MG_JOB_REQUEUE };
struct mg_job *mg_job_create(struct mg_lane *lane, bool is_high, struct mg_delivery *delivery,
                             mg_job_end_fn *on_end); /* NULL: no memory */
void mg_job_finish(struct mg_job *job,
                   enum mg_job_end end);                /* its delivery goes back as said; the job is gone */
void mg_job_enqueue(struct mg_job *job, bool is_first); /* into its waiting line, at the end or in front */
void mg_job_move(struct mg_job *job, enum mg_job_phase phase); /* out of whatever list into the begun ones */
int64_t mg_job_left_ms(const struct mg_job *job);
void mg_job_drop_late(struct mg_job *job); /* past complete-by: acked, and not a word about it (P7) */
void mg_line_hold(struct mg_lane *lane, struct mg_line *line, int change);
void mg_line_consume(struct mg_lane *lane, struct mg_line *line, uint16_t prefetch); /* 0: pauses it */

/* suspects.c */
void mg_job_suspect(struct mg_job *job, enum mg_suspicion suspicion); /* as it comes */
void mg_job_clear(struct mg_job *job);                                /* as it ends */
void mg_agent_on_isolated(void *arg);                                 /* lets one begin when it is alone */

/* serve.c */
void mg_lane_pump(void *arg); /* lets out what may go; runs from the lane's idle handle and timer */

/* lane.c */
void mg_lane_breaker_changed(struct mg_lane *lane);
void mg_lane_consume(struct mg_lane *lane); /* as breaker and limits now are */
/* What waits here, and what would be tried again, is answered: no call will be made. */
void mg_lane_answer_unserved(struct mg_lane *lane);

/* control.c */
enum mg_class mg_lane_listen(struct mg_lane *lane, struct mg_err *err) MG_MUSTCHECK;
/* At each tick: who said that the service is down may be dead. */
void mg_lane_doubt_word(struct mg_lane *lane);

/* call.c */
void mg_job_call(struct mg_job *job); /* a slot, a token and the breaker's leave have been taken */
void mg_job_cancel_call(struct mg_job *job);

/* trace.c */
void mg_try_trace_begin(struct mg_job *job);
/* What the service gets: the try's own, or what the request brought; "" if it brought none. */
const char *mg_try_traceparent(const struct mg_job *job);
/* `verdict` NULL: given up. `status` 0: no whole answer came. */
void mg_try_trace_end(struct mg_job *job, const struct mg_verdict_of_try *verdict, int status);

/* answer.c: from here on the job ends by itself */
void mg_job_answer(struct mg_job *job, const struct mg_verdict_of_try *verdict, struct mg_slice answer_body);
void mg_job_answer_not_made(struct mg_job *job, const char *code, const char *why);
void mg_job_put_back(struct mg_job *job); /* it has not begun and will not begin here */

/* report.c */
void mg_agent_report(struct mg_agent *agent);
bool mg_agent_is_sound(const struct mg_agent *agent, char *ret_reason, size_t size);
bool mg_agent_is_ready(void *arg, char *ret_reason, size_t size);
void mg_lane_measure(struct mg_lane *lane);
void mg_lane_register_metrics(struct mg_lane *lane);

/* tick.c */
void mg_agent_on_tick(void *arg);

/* drain.c */
void mg_agent_drain(void *arg); /* SIGTERM, SIGINT; the second one ends at once */
void mg_agent_on_drain_timer(void *arg);
void mg_agent_drain_check(struct mg_agent *agent); /* after each turn of a lane, which follows each end */

#endif
