/* One run of `makegood dev`, shared by its files. */
#ifndef MG_DEV_DEV_RUN_H
#define MG_DEV_DEV_RUN_H

#include "dev.h"
#include "io/store/store.h"
#include "part.h"
#include "servers.h"
#include "service_agents.h"
#include "workflow_folder.h"

/* The judgement on a server that is tried again and again. {0} at first. */
struct mg_health {
    int64_t failing_since_ms; /* 0: the last try went well */
    int64_t good_at_ms;       /* the last try that did; 0: none */
};

/* Names of signals that the client of this run may send; a project of one folder has a few. */
#define MG_DEV_SIGNALS_MAX 256

struct mg_dev {
    const struct mg_dev_options *options;
    struct mg_loop *loop;
    struct mg_state state;
    struct mg_dev_services services;
    struct mg_servers servers;
    struct mg_parts *parts;
    struct mg_broker_address broker;    /* of the servers in use */
    const char *dsn, *workflows_folder; /* the folder is NULL if there is none */
    struct mg_store *store;
    struct mg_workflows *workflows;
    struct mg_added *added; /* added.c */
    struct {                /* dev_signals.c */
        char texts[MG_DEV_SIGNALS_MAX][MG_NAME_MAX + 1];
        const char *names[MG_DEV_SIGNALS_MAX];
        int count, bound; /* bound: at the broker */
        enum mg_class (*bind)(struct mg_dev *dev, struct mg_err *err);
    } signals;
    struct mg_timer *patience, *logs_look, *rabbit_look;
    struct mg_health rabbit_health;
    enum mg_class (*rabbit_check)(struct mg_dev *dev, struct mg_err *err);
    char token[MG_STATE_SECRET_SIZE];
    char logs[PATH_MAX], refusal[MG_ERR_TEXT_MAX];
    bool is_waiting, is_out_of_time, is_ending;
    bool is_over;                  /* the end has begun */
    enum mg_part_rank ending_rank; /* of the parts whose end is waited for */
    struct {
        enum mg_class (*work)(struct mg_dev *dev, struct mg_err *err);
        void (*done)(struct mg_dev *dev); /* may be NULL */
        bool is_busy;
        enum mg_class class;
        struct mg_err err;
    } job;
};

/* ---- dev_wait.c ---- */

/* Prints on standard output at once. */
void mg_dev_print(const char *format, ...) MG_PRINTF(1, 2);
void mg_dev_print_line(void *arg, const char *line);

/* Ends a wait, so that its condition is looked at; `arg` is the struct mg_dev. */
void mg_dev_on_news(void *arg);
void mg_dev_on_patience_end(void *arg);
/* The whole ends, or must end. */
bool mg_dev_must_end(const struct mg_dev *dev);
typedef bool mg_dev_condition_fn(const struct mg_dev *dev);
bool mg_dev_never(const struct mg_dev *dev);
/* Runs the loop until the condition holds or the time is over (0: no limit). Also until the whole must end,
 * unless it ends already. */
bool mg_dev_wait(struct mg_dev *dev, mg_dev_condition_fn *is_met, int64_t timeout_ms);
/* The error of a wait that was cut short: the whole must end. */
enum mg_class mg_dev_ended(const struct mg_dev *dev, struct mg_err *err);

/* Work that blocks, on another thread, again and again until the server takes it. `own`: the part, started
 * here, that is the server, and takes its time; NULL: it was given. */
typedef enum mg_class mg_dev_work_fn(struct mg_dev *dev, struct mg_err *err);
enum mg_class mg_dev_try(struct mg_dev *dev, mg_dev_work_fn *work, const char *own,
                         struct mg_err *err) MG_MUSTCHECK;
/* Begins such work once; there is one at a time. `done` is called on the loop, with the outcome in dev->job.
 * False: no memory. */
bool mg_dev_begin_job(struct mg_dev *dev, mg_dev_work_fn *work, void (*done)(struct mg_dev *dev));
bool mg_dev_is_job_done(const struct mg_dev *dev);

/* ---- broker_health.c ---- */

/* Takes the outcome of a try at `now_ms`, of a process that was started at `started_at_ms`. True: it has not
 * worked for a minute, or, if it never has, for the time of a slow start. All times are of the boot clock. */
bool mg_health_take(struct mg_health *health, bool is_good, int64_t started_at_ms, int64_t now_ms);

/* From now on tries the private RabbitMQ by `check`, and starts it again when it has not worked for a minute.
 * MG_TRANSIENT: no memory. */
enum mg_class mg_dev_check_rabbit(struct mg_dev *dev, mg_dev_work_fn *check, struct mg_err *err) MG_MUSTCHECK;

/* ---- programs.c ---- */

/* Starts scheduler, supervisor, agents, gateway and console. */
enum mg_class mg_dev_start_programs(struct mg_dev *dev, struct mg_err *err) MG_MUSTCHECK;
enum mg_class mg_dev_start_agent(struct mg_dev *dev, const struct mg_dev_service *service,
                                 struct mg_err *err) MG_MUSTCHECK;

/* ---- dev_signals.c ---- */

/* From now on the client of this run may send the signals of all loaded workflows: `bind` gives it their
 * names. */
void mg_dev_take_signals(struct mg_dev *dev, mg_dev_work_fn *bind);
/* Finds names that are new, and begins to bind them; does nothing while other work runs: call it again. */
void mg_dev_bind_signals(struct mg_dev *dev);

/* ---- added.c ---- */

/* From now on a new file in the state folder's folder of services is a service: its queues are declared by
 * `declare`, and it gets an agent. */
enum mg_class mg_dev_take_services(struct mg_dev *dev, mg_dev_work_fn *declare,
                                   struct mg_err *err) MG_MUSTCHECK;
void mg_dev_leave_services(struct mg_dev *dev); /* after the last job */

#endif
