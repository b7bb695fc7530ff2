/*
 * The common part of the three services as processes: shared options, logs, HTTP, signals, notifications to
 * systemd, and exit codes. A service describes its own part and leaves the rest to mg_process_main.
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

/* Options of every service. SIGHUP frees the texts of secrets and puts others here: copy each text that is
 * kept. */
struct mg_process_options {
    struct mg_broker_address broker;
    const char *pg_dsn; /* NULL for a service without store */
    const char *http, *http_cert_file, *http_key_file, *instance, *log_level;
    const char *otlp_url, *otlp_ca_file; /* NULL for a service without spans */
    bool is_unsafe_durability_allowed;
};

struct mg_process {
    struct mg_process_options options;
    const char *instance; /* the name given, or host, pid and start time */
    struct mg_loop *loop; /* this and the metrics: from `create` on */
    struct mg_metrics *metrics;
    /* From `create` on. NULL: tracing is off. The service sets its threshold. */
    struct mg_span_sink *spans;
    void *service; /* argument of the service's callbacks; set by `check` or `create` */
    /* Set by `create`, so that SIGHUP can give them renewed secrets. NULL: the service has none. */
    struct mg_broker *broker;
    struct mg_store *store;
    struct mg_store *beats;     /* a session of heartbeats alone; NULL: they go through `store` */
    const char *probe_exchange; /* one that the service may publish to; set with the broker */
};

struct mg_process_service {
    const char *name; /* "scheduler": in logs; the executable is makegood-scheduler */
    const char *summary, *usage;
    const struct mg_manual *manual;
    const struct mg_option *options; /* its own; ends with name NULL */
    bool has_store, has_spans;
    const int64_t *drain_timeout_ms; /* how long a drain may take; NULL: it ends at once */

    /* Reads and checks the files that the options name, and connects nothing. --check-config runs only
     * this. */
    enum mg_class (*check)(struct mg_process *process, struct mg_err *err); /* NULL: nothing to check */
    enum mg_class (*create)(struct mg_process *process, struct mg_err *err);
    bool (*is_ready)(void *service, char *ret_reason, size_t size);
    void (*account)(void *service, struct mg_beat *ret_beat); /* for its heartbeat; NULL without store */
    void (*drain)(void *service); /* at each SIGTERM or SIGINT; leads to mg_loop_stop or mg_process_end */
    void (*reload)(struct mg_process *process);  /* reports by mg_process_reread; NULL: nothing to reload */
    void (*destroy)(struct mg_process *process); /* also frees the results of `check`, and half-made ones */
};

/* The whole of a service's main; returns the exit code. */
int mg_process_main(const struct mg_process_service *service, int argc, char **argv);

/* Ends the process, with 1 if it must not go on. The caller has logged the reason. */
void mg_process_end(struct mg_process *process, int exit_code);

/* Records one result of a SIGHUP. `what` names it for people ("amqp-url", "headers of payment"); `is_new`:
 * its value has changed. With `err` the reading failed, and the old value stays in use. */
void mg_process_reread(struct mg_process *process, const char *what, bool is_new, const struct mg_err *err);

#endif
