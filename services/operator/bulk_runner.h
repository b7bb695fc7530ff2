/*
 * Drives the bulk actions. Of all processes with a runner one leads, by an advisory lock and an epoch as
 * supervisors do. The leader looks at the open bulk actions several times a second, sends commands for the
 * next orders to the schedulers, and records each result. It keeps no state of its own that matters: the next
 * leader continues from the tables.
 *
 * Orders are marked as asked for before their commands go out, so no list is walked twice. A command's id is
 * derived from the bulk action, the order and its version, so a command that is sent again is the same cause.
 */
#ifndef MG_OPERATOR_BULK_RUNNER_H
#define MG_OPERATOR_BULK_RUNNER_H

#include "io/amqp/broker.h"
#include "io/store/store.h"

struct mg_bulk_runner;

struct mg_bulk_runner_options {
    const char *pg_dsn;
    struct mg_broker_address broker; /* its is_plaintext_allowed applies to the database, too */
    const char *holder;              /* names this process in the runner's row */
    struct mg_metrics *metrics;
    /* Called when the database must not be used because of its schema. The callback reports `reason` and
     * ends the process. NULL: the runner only logs it. */
    void (*on_refused)(void *arg, const char *reason);
    void *arg;
};

/* Connects to both servers, on a database session and broker connections of its own. */
enum mg_class mg_bulk_runner_start(struct mg_loop *loop, const struct mg_bulk_runner_options *options,
                                   struct mg_bulk_runner **ret_runner, struct mg_err *err) MG_MUSTCHECK;
/* New values apply to later connections; open connections stay. On MG_BAD_INPUT the old value stays. */
enum mg_class mg_bulk_runner_set_url(struct mg_bulk_runner *runner, const char *url,
                                     struct mg_err *err) MG_MUSTCHECK;
enum mg_class mg_bulk_runner_set_dsn(struct mg_bulk_runner *runner, const char *dsn,
                                     struct mg_err *err) MG_MUSTCHECK;
/* Stops at once; the next leader finds the orders under way in the tables. Accepts NULL. */
void mg_bulk_runner_stop(struct mg_bulk_runner *runner);

#endif
