/*
 * Drives the batches: of all processes that have a runner one leads, by an advisory lock and an epoch as
 * supervisors do, looks several times a second at what is under way, asks for the next orders by commands to
 * the schedulers, and notes what became of each. It keeps nothing that matters: whoever leads next goes on.
 *
 * Orders are marked as asked for before their commands go out, so that no list is walked twice; a command has
 * an id derived from batch, order and version, so that one that is sent once more is the same cause.
 */
#ifndef MG_OPERATOR_BATCH_RUNNER_H
#define MG_OPERATOR_BATCH_RUNNER_H

#include "io/amqp/broker.h"
#include "io/store/store.h"

struct mg_batch_runner;

struct mg_batch_runner_options {
    const char *pg_dsn;
    struct mg_broker_address broker; /* its is_plaintext_allowed holds for the database, too */
    const char *holder;              /* names this process in the runner's row */
    struct mg_metrics *metrics;
    /* The database must not be used (its schema): say it and end. NULL: it is logged. */
    void (*on_refused)(void *arg, const char *reason);
    void *arg;
};

/* Connects to both servers, on a session and connections of its own. */
enum mg_class mg_batch_runner_start(struct mg_loop *loop, const struct mg_batch_runner_options *options,
                                    struct mg_batch_runner **ret_runner, struct mg_err *err) MG_MUSTCHECK;
/* Later connections use these; those that are open go on. On error (MG_BAD_INPUT) the old one stays. */
enum mg_class mg_batch_runner_set_url(struct mg_batch_runner *runner, const char *url,
                                      struct mg_err *err) MG_MUSTCHECK;
enum mg_class mg_batch_runner_set_dsn(struct mg_batch_runner *runner, const char *dsn,
                                      struct mg_err *err) MG_MUSTCHECK;
/* At once; what is under way is found by the next. Accepts NULL. */
void mg_batch_runner_stop(struct mg_batch_runner *runner);

#endif
