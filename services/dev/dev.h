/*
 * `makegood dev`: all of Makegood on this machine, in the foreground, for the development of workflows and
 * services.
 *
 *   dev.c               the order of start and end; dev_wait.c: events and blocking work
 *   programs.c          Makegood's own processes
 *   doors.c             tokens, and the lines that show the way in
 *   service_agents.c    --service: names, files; added.c: services that are added while all runs
 *   workflow_folder.c   a folder of workflows, loaded and loaded again
 *   servers.c           private servers
 *   broker_health.c     a RabbitMQ that lives and does not work
 *   part.c              processes: start, restart, end; part_log.c
 *   dev_folder.c        the state folder and its lock
 *   ports.c             ports without a listener
 */
#ifndef MG_DEV_DEV_H
#define MG_DEV_DEV_H

#include "base/config.h"
#include "base/loop.h"
#include "io/amqp/address.h"

struct mg_dev_options {
    const struct mg_list *services;  /* NAME=URL, or a service file */
    const char *workflows;           /* a folder; "": ./workflows if there is one */
    const char *state;               /* a folder */
    const char *webhook_url;         /* for all statuses; "": none */
    const char *gateway, *console;   /* "ADDRESS:PORT" */
    struct mg_broker_address broker; /* url "": a private RabbitMQ */
    const char *pg_dsn;              /* "": a private PostgreSQL */
    const char *migrations;          /* the folder of the schema */
    const char *programs;            /* the folder of Makegood's programs */
};

/* Runs until SIGINT, SIGTERM or SIGHUP; a second signal kills all processes and this one. Prints on standard
 * output. MG_OK: it ended as asked. Any other failure: the text has the reason, and all that was started has
 * ended. */
enum mg_class mg_dev_run(struct mg_loop *loop, const struct mg_dev_options *options,
                         struct mg_err *err) MG_MUSTCHECK;

#endif
