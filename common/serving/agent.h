/*
 * The agent's part of the protocol: requests come from the queues of its services, tries are made, and
 * replies go out. An executor makes the tries: makegood-agent's calls services over HTTP (services/agent),
 * and libmakegood's runs the handlers of its user (proto/clients/c).
 *
 *   receive.c              a delivery becomes a job, or is refused; late ones are dropped, doubtful ones held
 *   job.c                  a job's life, and the ways to give back its delivery
 *   served.c               how much is consumed; answers without a try, by breaker, pause and limits
 *   next_job.c             which waiting job is next
 *   try.c                  one try: its begin, its result, and whether another follows
 *   token_source.c token_wait.c   the access token of a service, and the requests that wait for it
 *   try_spans.c            spans of the tries, if tracing is on
 *   reply_publish.c        the reply is published, and confirmed, before the request is acked
 *   mute.c                 no new work while the broker takes no reply
 *   control.c              operator settings and health of the service, as the leading supervisor sends them
 *   agent_report.c         service reports for the schedulers, readiness, and metrics
 *   drain.c                the way out
 *   agent_clock.c tick.c   standstills and the database's clock; the work of each second
 *   deadline.c limiter.c breaker.c verdict.c tries.c   the arithmetic, pure
 *
 * A job lives from its delivery until the delivery is given back to the broker, in any way. It is in exactly
 * one list of its service. There are at most as many jobs as both prefetches allow, plus the same number
 * again from a connection that broke. Nothing of a job outlives the process: a crash means redelivery.
 */
#ifndef MG_SERVING_AGENT_H
#define MG_SERVING_AGENT_H

#include <sys/queue.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/once.h"
#include "base/rest.h"
#include "base/trace.h"
#include "breaker.h"
#include "core/suspects.h"
#include "deadline.h"
#include "io/amqp/broker.h"
#include "io/amqp/topology.h"
#include "limiter.h"
#include "service/service.h"
#include "tries.h"
#include "verdict.h"
#include "wire/request.h"

/* Two queues each, and the broker's interface has room for so many consumers. */
#define MG_AGENT_SERVICES_MAX (MG_CONSUMERS_MAX / 2)
#define MG_INSTANCE_MAX       127
/* Period of readiness and gauges. A change of the breaker or of a setting is reported at once. */
#define MG_AGENT_TICK_MS 1000
/* A second place is kept alongside requests that are left for other instances, until none has come for this
 * long. Each of them is redelivered after a second, 15 times. */
#define MG_NEWER_ROOM_MS      30000
#define MG_NEWER_PREFETCH_MIN 2 /* the prefetch during that time, at least */

/* Parts of the memory for messages, each as 1/N of the whole. A request in hand counts twice, for its try has
 * a copy of the body. So does an answer: its buffer doubles as it grows. The executor and the broker's
 * interface hold the messages under way alongside these. Together all stay below the whole. */
#define MG_AGENT_MEMORY_HELD    4 /* requests in hand, of all queues */
#define MG_AGENT_MEMORY_ANSWERS 8 /* answers that are being read; divided among the services */

struct mg_serving_options {
    struct mg_broker_address broker;
    const char *instance;
    int64_t drain_timeout_ms;
    int64_t skew_limit_ms;
    size_t memory_bytes;              /* for requests and all that is derived from them */
    const struct mg_span_sink *spans; /* NULL: tracing is off */
};

enum mg_job_phase {
    MG_JOB_WAITING, /* for its first try, or for the next after a backoff */
    MG_JOB_TRYING,
    MG_JOB_BACKING_OFF,
    MG_JOB_REPLYING,   /* the reply is on its way to the broker */
    MG_JOB_REPLY_WAIT, /* the broker did not take it; it will be offered again */
    MG_JOB_SET_ASIDE,  /* of a newer version: waits to be given back for another instance */
    MG_JOB_ISOLATED,   /* suspected of ending its handlers: waits until all else has ended */
    MG_JOB_IN_DOUBT,   /* seems late, unless the database's clock went back: waits until that is clear */
};

/* Trace data of the try under way, if it is recorded. */
struct mg_try_trace {
    bool is_sampled;
    struct mg_trace trace; /* its parent is the attempt */
    uint8_t id[MG_SPAN_ID_SIZE];
    int64_t begin_us, begin_boot_us;
    char traceparent[MG_TRACEPARENT_SIZE]; /* as sent to the service */
};

struct mg_served;
struct mg_job;
typedef void mg_job_end_fn(struct mg_job *job);

struct mg_job {
    TAILQ_ENTRY(mg_job) entry;
    struct mg_served *served;
    enum mg_job_phase phase;
    enum mg_suspicion suspicion;
    bool is_high;
    bool is_redelivered;
    struct mg_tries tries;
    bool replied_may_still_act;   /* tries.may_still_act, as in the reply that was written last */
    mg_job_end_fn *on_end;        /* cancels all that still runs for it, just before it is freed */
    struct mg_delivery *delivery; /* NULL: acked past complete-by, and the reply is owed */
    struct mg_arena *arena;       /* memory that the request borrows alongside the delivery's body */
    struct mg_request request;
    struct mg_deadline deadline;
    struct mg_timer *timer;
    bool is_trying;       /* its try has begun and has not ended */
    bool is_try_repeated; /* the service refused the access token; its try is repeated, and is no new one */
    uint32_t ticket;      /* the breaker's */
    bool is_probe;        /* the breaker was half-open when the try under way began */
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
    int prefetch;          /* as last requested */
    int64_t room_since_ms; /* CLOCK_BOOTTIME; INT64_MAX while the broker gives no more */
};

struct mg_served_metrics {
    struct mg_metric *replies[MG_OUTCOME_COUNT];
    struct mg_metric *late, *malformed, *reply_again, *breaker, *down, *paused, *in_flight, *concurrency,
        *waiting, *mute;
};

/* The latest message about the service. Operator settings (pause, limits) stay in force until changed,
 * even if no supervisor is reachable. The state "down" expires. */
struct mg_control {
    uint64_t epoch, version; /* 0: no message has come */
    int64_t received_boot_ms;
    int64_t health_boot_ms; /* when the last message about the service's health came */
    bool is_paused;
    struct mg_once unreadable_logged; /* the last message was unreadable */
    bool is_named;                    /* of a limited service: this process has a share */
    char prober[MG_INSTANCE_MAX + 1]; /* while the service is down for most: the agent that probes it */
};

/* Whether the broker takes the service's replies. */
struct mg_mute {
    int64_t since_boot_ms;           /* 0: it takes them, as far as is known */
    enum mg_publish_outcome outcome; /* of the last reply or report; CONFIRMED before the first */
    bool is_followed;                /* its consumers have been stopped */
};

/* The service's failures, for reports. Times are by the database's clock. */
struct mg_failures {
    int64_t since_ms; /* since then no call was answered; 0: the last one was, or none was made */
    int64_t last_ms;  /* 0: none yet */
    char code[MG_ERROR_CODE_MAX + 1], text[MG_ERROR_TEXT_MAX + 1]; /* of the last one */
};

/*
 * The maker of tries. A try that `begin` begins has one end: mg_job_tried, mg_job_try_is_late or
 * mg_job_try_again, also before `begin` returns. After `cancel` none of them may come.
 */
struct mg_executor {
    size_t job_bytes; /* of its jobs; each begins with a struct mg_job */
    enum mg_class (*open)(struct mg_served *served, struct mg_err *err);
    /* Frees the service and the executor's part. Accepts a half-open one, and one that was never opened. */
    void (*close)(struct mg_served *served);
    void (*begin)(struct mg_job *job);
    void (*cancel)(struct mg_job *job);
    /* Adds to the span of a try that has ended. The texts outlive the call. NULL: adds nothing. */
    void (*describe)(struct mg_job *job, struct mg_span *span);
    /* Reads count, failed and within of the calls so far. False: not known. NULL: never known. */
    bool (*measure)(const struct mg_served *served, struct mg_call_figures *ret_calls);
    /* NULL if no service has an access token. */
    const struct mg_token_source *tokens;
};

/* The access token of a service that needs one. */
struct mg_token_source {
    bool (*is_ready)(struct mg_served *served);           /* false: a fetch begins, or is under way */
    bool (*is_coming)(const struct mg_served *served);    /* a fetch is under way, or about to begin */
    const char *(*fault)(const struct mg_served *served); /* why there is none; "" if there is one */
};

/* One service with all that belongs to it. */
struct mg_served {
    struct mg_agent *agent;
    struct mg_service *service;
    void *works; /* the executor's part */
    char reply_exchange[MG_QUEUE_NAME_SIZE];
    struct mg_limiter limiter;
    struct mg_breaker breaker;
    enum mg_breaker_state reported; /* the breaker's state in the last report */
    struct mg_mute mute;
    struct mg_failures failures;
    struct mg_control control;
    struct mg_line lines[MG_LINE_COUNT];
    struct mg_jobs begun; /* every job that is not WAITING */
    struct mg_idle *pump;
    struct mg_timer *timer; /* the next token, or the end of the breaker's open time */
    struct mg_served_metrics metrics;
};

/* Its owner sets options, executor and the services of `served`, and then starts it. */
struct mg_agent {
    const struct mg_serving_options *options;
    const struct mg_executor *executor;
    char instance[MG_INSTANCE_MAX + 1];
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    struct mg_metric *skew_metric;
    struct mg_broker *broker;
    struct mg_skew skew;
    struct mg_served served[MG_AGENT_SERVICES_MAX];
    int served_count;
    struct mg_suspects suspects;
    struct mg_timer *isolated_timer; /* runs while there are isolated jobs */
    int64_t isolated_boot_ms;        /* when the last of them began, or the first one came */
    int64_t started_ms; /* distinguishes this process from an earlier one of its name; never compared with a
                           time */
    uint64_t report_count;
    int64_t awake_since_boot_ms; /* since then no supervisor's message has waited for this process */
    bool is_draining, was_ready;
    struct mg_timer *tick_timer, *drain_timer;
    int64_t ticks, drain_until_ms;
    uint64_t jobs_made;
    struct mg_rest rest;
    bool is_drained;
};

/* setup.c */
enum mg_class mg_agent_start(struct mg_agent *agent, struct mg_loop *loop, struct mg_metrics *metrics,
                             struct mg_err *err) MG_MUSTCHECK;
void mg_agent_finish(struct mg_agent *agent); /* accepts half-built ones */

/* receive.c: the broker's callbacks */
void mg_agent_on_delivery(void *arg, struct mg_delivery *delivery);
void mg_agent_on_state(void *arg, bool is_up, const char *reason);
/* Requests that have not begun are left to other agents. */
void mg_served_put_back_waiting(struct mg_served *served);

/* agent_clock.c */
/* Called at each tick and each delivery. After a standstill no message that comes soon counts as fresh. */
void mg_agent_turn(struct mg_agent *agent);
/* Takes a received message as a sample of the database's clock. */
void mg_agent_note_time(struct mg_agent *agent, int64_t boot_ms, int64_t sent_at_ms, enum mg_sample sample);

/* job.c */
enum mg_job_end { MG_JOB_ACK, MG_JOB_REJECT, MG_JOB_REQUEUE };
struct mg_job *mg_job_create(struct mg_served *served, bool is_high, struct mg_delivery *delivery,
                             mg_job_end_fn *on_end);         /* NULL: no memory */
void mg_job_finish(struct mg_job *job, enum mg_job_end end); /* gives the delivery back; frees the job */
void mg_job_enqueue(struct mg_job *job, bool is_first); /* into its waiting line, at the end or in front */
void mg_job_move(struct mg_job *job, enum mg_job_phase phase); /* out of its list into the begun ones */
int64_t mg_job_left_ms(const struct mg_job *job);
void mg_job_drop_late(struct mg_job *job); /* past complete-by: acked without a reply */
void mg_job_owe(struct mg_job *job);       /* the same, but its reply is still offered */
void mg_line_hold(struct mg_served *served, struct mg_line *line, int change);
void mg_line_consume(struct mg_served *served, struct mg_line *line, uint16_t prefetch); /* 0: pauses it */

/* suspect_jobs.c */
void mg_job_suspect(struct mg_job *job, enum mg_suspicion suspicion); /* as it comes */
void mg_job_clear(struct mg_job *job);                                /* as it ends */
void mg_agent_on_isolated(void *arg);                                 /* lets one begin when it is alone */

/* next_job.c */
void mg_served_pump(void *arg); /* lets out the jobs that may go; called by its idle handle and timer */

/* served.c */
void mg_served_breaker_changed(struct mg_served *served);
void mg_served_consume(struct mg_served *served); /* by the present breaker and limits */
/* Answers all waiting jobs, and those that would be tried again: no call will be made. */
void mg_served_answer_uncalled(struct mg_served *served);

/* An uncalled job: an operator's pause, an open breaker, no access token. */
void mg_job_answer_uncalled(struct mg_job *job);

/* mute.c */
/* A reply or a report of the service has ended so. */
void mg_served_note_published(struct mg_served *served, enum mg_publish_outcome outcome);
/* Call it at each tick and each change of the broker. */
void mg_served_judge_mute(struct mg_served *served);
/* True while no work may begin, for it could not be reported. */
bool mg_served_is_mute(const struct mg_served *served);
bool mg_served_mute_reason(const struct mg_served *served, char *ret_reason, size_t size); /* false: none */

/* control.c */
enum mg_class mg_served_listen(struct mg_served *served, struct mg_err *err) MG_MUSTCHECK;
/* Called at each tick: the supervisor that reported the service down may be dead. */
void mg_served_expire_health(struct mg_served *served);

/* try.c */
void mg_job_try(struct mg_job *job); /* requires a slot, a token and the breaker's admission */
void mg_job_cancel_try(struct mg_job *job);
/* The time-out of a try that begins now; 0: too late. An executor asks at the last instant. */
int64_t mg_job_budget_ms(const struct mg_job *job);
/* The ends of a try. `parts` NULL: none. They are borrowed during the call. */
void mg_job_tried(struct mg_job *job, struct mg_verdict_of_try *verdict, const struct mg_reply_parts *parts);
void mg_job_try_is_late(struct mg_job *job); /* too late for a try that was not made */
/* The service refused the access token, not the order: the try is repeated after `wait_ms`, 0: as soon as
 * there is a token. Without time for it the job is answered as one that was not made. */
void mg_job_try_again(struct mg_job *job, const struct mg_verdict_of_try *refusal, int64_t wait_ms);

/* token_source.c */
bool mg_served_has_token(struct mg_served *served); /* false: one is being fetched */
bool mg_served_is_token_coming(const struct mg_served *served);
const char *mg_served_token_fault(const struct mg_served *served);

/* token_wait.c */
void mg_served_on_token(void *arg, bool is_good); /* a fetch has ended */
/* Called while there is no token: answers waiting jobs in time. */
void mg_served_wait_for_token(struct mg_served *served);

/* try_spans.c */
void mg_try_trace_begin(struct mg_job *job);
/* The trace parent for the service: the try's own, or the one of the request; "" if it has none. */
const char *mg_try_traceparent(const struct mg_job *job);
void mg_try_trace_end(struct mg_job *job, const struct mg_verdict_of_try *verdict); /* NULL: given up */

/* reply_publish.c: after these calls the job ends by itself */
void mg_job_answer(struct mg_job *job, const struct mg_verdict_of_try *verdict,
                   const struct mg_reply_parts *parts); /* NULL: none */
void mg_job_answer_not_made(struct mg_job *job, enum mg_error_reason reason, const char *why);
void mg_job_put_back(struct mg_job *job); /* for a job that must not go on here */

/* agent_report.c */
void mg_agent_report(struct mg_agent *agent);
bool mg_agent_is_sound(const struct mg_agent *agent, char *ret_reason, size_t size);
bool mg_agent_is_ready(void *arg, char *ret_reason, size_t size);
void mg_served_set_gauges(struct mg_served *served);
void mg_served_register_metrics(struct mg_served *served);
/* One series of the service, also of an executor. `label` NULL: its name is the only label. */
struct mg_metric *mg_served_series(struct mg_served *served, enum mg_metric_type type, const char *name,
                                   const char *label, const char *value, const char *help);

/* tick.c */
void mg_agent_on_tick(void *arg);

/* drain.c */
void mg_agent_drain(void *arg); /* SIGTERM, SIGINT; the second one ends at once */
void mg_agent_on_drain_timer(void *arg);
/* Called after each turn of a served service, which follows the end of each of its jobs. */
void mg_agent_drain_check(struct mg_agent *agent);

#endif
