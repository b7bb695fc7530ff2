/*
 * The conformance of a client: a program that posts an order over AMQP and reads its statuses. The program is
 * started once for each case, with the address of a relay on this machine. Behind the relay the schedulers'
 * part is played: submissions are taken, and statuses are sent, good ones and bad ones. The relay holds back,
 * changes and cuts at chosen moments. The client's code and language do not matter.
 *
 * The submissions of all clients come to two queues, so this needs a broker, or a virtual host, without
 * schedulers.
 */
#ifndef MG_CONFORMANCE_CLIENT_CLIENT_CONFORMANCE_H
#define MG_CONFORMANCE_CLIENT_CLIENT_CONFORMANCE_H

#include "audit/finding.h"
#include "base/loop.h"
#include "io/amqp/address.h"

/* In the order of the verdicts. */
enum mg_client_rule {
    MG_CLIENT_SUBMIT,       /* posts one order that schedulers accept */
    MG_CLIENT_FORM,         /* the post is marked as JSON */
    MG_CLIENT_PERSISTENT,   /* the post outlives a restart of the broker */
    MG_CLIENT_MANDATORY,    /* the post comes back if no queue takes it */
    MG_CLIENT_CONFIRMS,     /* the broker's confirm is asked for */
    MG_CLIENT_REPLY_TO,     /* the statuses have a queue */
    MG_CLIENT_STATUSES,     /* prints the statuses of a plain order */
    MG_CLIENT_PATIENCE,     /* waits for an order that takes its time */
    MG_CLIENT_REPEAT,       /* a repeated status counts once */
    MG_CLIENT_ORDER,        /* an older status that comes late sets nothing back */
    MG_CLIENT_GAP,          /* a lost status holds up the later ones for a bounded time */
    MG_CLIENT_FOREIGN,      /* the status of another order is passed over */
    MG_CLIENT_UNREADABLE,   /* so are messages that are no statuses */
    MG_CLIENT_MEMBERS,      /* unknown members are passed over */
    MG_CLIENT_WORD,         /* no unknown status, step_completed or waiting ends an order */
    MG_CLIENT_REJECTED,     /* a rejection ends the order */
    MG_CLIENT_REFUSED,      /* a refused post is no order */
    MG_CLIENT_RETURNED,     /* nor is a post that came back */
    MG_CLIENT_CONFIRM_LOST, /* without a confirm the order is posted again, under its id */
    MG_CLIENT_CUT,          /* after a reconnect the statuses are had again */
    MG_CLIENT_SAME_BYTES,   /* an order that is posted again has the same bytes */
    MG_CLIENT_NEW_ID,       /* another order has another id */
    MG_CLIENT_ENDS,         /* the program ends after each end of an order, with 0 if it was processed */
    MG_CLIENT_RULE_COUNT
};
const char *mg_client_rule_name(enum mg_client_rule rule);

struct mg_client_options {
    struct mg_loop *loop; /* runs meanwhile */
    struct mg_broker_address address;
    const char *const *words; /* the command: {url} stands for the relay's address, which else is appended */
    int word_count;
    int64_t timeout_ms; /* for each step of the client */
};

struct mg_client_conformance {
    int runs; /* of the command */
    struct mg_finding findings[MG_CLIENT_RULE_COUNT];
};

/* Runs the command for each case, and judges. It ends the processes that it starts. MG_STALE: schedulers are
 * at work there, or orders wait. MG_BAD_INPUT: the address is not of a plain connection. MG_PERMANENT: the
 * queues are missing, the command cannot be started, or a signal ended the test. MG_TRANSIENT: the broker was
 * lost, or no memory.
 */
enum mg_class mg_client_conformance_run(const struct mg_client_options *options,
                                        struct mg_client_conformance *ret_conformance,
                                        struct mg_err *err) MG_MUSTCHECK;

#endif
