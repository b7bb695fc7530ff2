/*
 * The common part of all programs that run until a signal ends them: shared options, logs, HTTP, metrics of
 * the process, signals, notifications to systemd, and exit codes. A program describes its own part. The
 * services leave the rest to mg_process_main, and the verbs `console`, `gateway` and `agents` of the tool to
 * mg_process_serve.
 *
 * SIGTERM and SIGINT drain. SIGHUP re-reads files that may have been renewed on disk: the files of secrets,
 * and those that the service adds. A file that is unreadable or wrong is logged, and the old value stays.
 * Open connections go on; later ones use the new values.
 *
 * Exit codes: 0 ended as asked; 1 could not start, or must not go on; 2 usage or configuration.
 */
#ifndef MG_PROCESS_H
#define MG_PROCESS_H

#include "base/config.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/trace.h"
#include "io/amqp/broker.h"
#include "io/store/store.h"

struct mg_http_server_options;
struct mg_vitals;

/* Options of every program. SIGHUP frees the texts of secrets and puts others here: copy each text that is
 * kept. */
struct mg_process_options {
    struct mg_broker_address broker; /* its URL is NULL for a program without broker */
    const char *pg_dsn;              /* NULL for a program without store */
    const char *http, *http_cert_file, *http_key_file, *instance, *log_level;
    const char *otlp_url, *otlp_ca_file; /* NULL for a service without spans */
    bool is_unsafe_durability_allowed;
    int64_t drain_timeout_ms; /* how long a drain may take; 0: it ends at once */
};

struct mg_process {
    struct mg_process_options options;
    struct mg_config *config; /* holds their texts */
    void *own;                /* the program's own options, for mg_process_serve */
    const char *instance;     /* the name given, or host, pid and start time */
    struct mg_loop *loop;     /* this and the metrics: from `create` on */
    struct mg_metrics *metrics;
    /* From `create` on. NULL: tracing is off. The service sets its threshold. */
    struct mg_span_sink *spans;
    void *service; /* argument of the service's callbacks; set by `check` or `create` */
    /* Set by `create`, so that SIGHUP can give them renewed secrets. NULL: the service has none. */
    struct mg_broker *broker;
    struct mg_store *store;
    struct mg_store *beats;     /* a session of heartbeats alone; NULL: they go through `store` */
    const char *probe_exchange; /* one that the program may publish to; NULL: the broker is not probed */
    struct mg_vitals *vitals;   /* after `create` */
};

struct mg_process_service {
    const char *name; /* "scheduler": in logs; the executable is makegood-scheduler */
    const char *summary, *usage;
    const struct mg_manual *manual;
    const struct mg_option *options; /* its own; ends with name NULL */
    bool has_store, has_spans;
    bool is_reader;   /* a database that takes no writes is good enough */
    bool is_onlooker; /* it starts whatever the broker's policies do to messages */

    /* Reads and checks the files that the options name, and connects nothing. --check-config runs only
     * this. */
    enum mg_class (*check)(struct mg_process *process, struct mg_err *err); /* NULL: nothing to check */
    enum mg_class (*create)(struct mg_process *process, struct mg_err *err);
    /* Adds the program's own handlers and limits to its HTTP server; NULL: probes and metrics only. Also
     * called for the check, without a service. It may replace `is_ready` and `arg`, if mg_vitals_are_good is
     * among the conditions. */
    void (*serve)(struct mg_process *process, struct mg_http_server_options *options);
    bool (*is_ready)(void *service, char *ret_reason, size_t size);
    void (*account)(void *service, struct mg_beat *ret_beat); /* for its heartbeat; NULL: it has none */
    /* At each SIGTERM or SIGINT; leads to mg_loop_stop, mg_process_end or mg_process_drain_requests. */
    void (*drain)(void *service);
    void (*reload)(struct mg_process *process);  /* reports by mg_process_reread; NULL: nothing to reload */
    void (*destroy)(struct mg_process *process); /* also frees the results of `check`, and half-made ones */
};

/* The whole of a service's main; returns the exit code. */
int mg_process_main(const struct mg_process_service *service, int argc, char **argv);

/* The life of a program from its options on, which are read: `given` has them, their config and its own ones.
 * MG_OK: it has ended as asked, or its options are good and `only_checks` is set. */
enum mg_class mg_process_serve(const struct mg_process_service *service, const struct mg_process *given,
                               bool only_checks, struct mg_err *err) MG_MUSTCHECK;

/* Ends the process, with 1 if it must not go on. The caller has logged the reason. */
void mg_process_end(struct mg_process *process, int exit_code);

/* Has the HTTP server answer the requests in hand, for the time of a drain at most, and ends the process
 * then. The second call ends it at once. */
void mg_process_drain_requests(struct mg_process *process);

/* Records one result of a SIGHUP. `what` names it for people ("amqp-url", "headers of payment"); `is_new`:
 * its value has changed. With `err` the reading failed, and the old value stays in use. */
void mg_process_reread(struct mg_process *process, const char *what, bool is_new, const struct mg_err *err);
/* The same for a file that is not compared with its old contents. `err` counts only if the class is not
 * MG_OK. */
void mg_process_reread_file(struct mg_process *process, const char *what, enum mg_class class,
                            const struct mg_err *err);

#endif
