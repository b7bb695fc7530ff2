/*
 * The conformance of a running agent with the agent protocol. The schedulers' and the supervisor's messages
 * are sent to it, good ones and bad ones, and each rule of the protocol gets a verdict by the answers.
 * The agent's code and language do not matter.
 *
 * The replies of all agents come to one queue, so this needs a broker, or a virtual host, without schedulers
 * and supervisors.
 */
#ifndef MG_CONFORMANCE_CONFORMANCE_H
#define MG_CONFORMANCE_CONFORMANCE_H

#include "audit/finding.h"
#include "base/loop.h"
#include "core/key.h"
#include "io/amqp/broker.h"

/* In the order of the verdicts. */
enum mg_rule {
    MG_RULE_REPORT,       /* reports itself and its service */
    MG_RULE_SETTINGS,     /* reports the version of the settings that it applies */
    MG_RULE_ANSWER,       /* answers a request within its time */
    MG_RULE_REPEAT,       /* answers a repeated request, with the same result */
    MG_RULE_VERIFY,       /* finds a step that was done */
    MG_RULE_HIGH,         /* serves the queue of high priority */
    MG_RULE_REDELIVERED,  /* a redelivery proves nothing about the delivery before */
    MG_RULE_AT_MOST_ONCE, /* a redelivery of such a request is not called */
    MG_RULE_LATE,         /* past complete-by nothing is published */
    MG_RULE_FOREIGN,      /* another service's request is set aside */
    MG_RULE_UNREADABLE,   /* no request at all: likewise */
    MG_RULE_NEWER,        /* a request of a newer version is left for another agent */
    MG_RULE_PAUSE,        /* a paused service is not called */
    MG_RULE_RESUME,       /* and is called again after the pause */
    MG_RULE_LIMIT,        /* calls a second are limited */
    MG_RULE_CLOCK,        /* time is the database's */
    MG_RULE_UNDO,         /* takes back a step that was done */
    MG_RULE_REPLIES,      /* every reply has the form and the identity of its request */
    MG_RULE_COUNT
};
const char *mg_rule_name(enum mg_rule rule);

struct mg_conformance_options {
    struct mg_loop *loop; /* runs meanwhile */
    struct mg_broker_address address;
    const char *service;
    const char *path;        /* of the do; verify and undo have PATH/by-key/KEY */
    struct mg_slice payload; /* the body of the do; JSON */
    int64_t timeout_ms;      /* for an answer */
};

struct mg_conformance {
    char orders[MG_ORDER_ID_MAX + 1]; /* the beginning of all its order ids */
    int agents;                       /* processes that reported, and have not ended since */
    struct mg_finding findings[MG_RULE_COUNT];
};

/* Sends, waits and judges; takes half a minute. MG_STALE: schedulers or a supervisor are at work there, or
 * replies to others wait. MG_PERMANENT: no agent consumes, or the queues are missing. MG_TRANSIENT: the
 * broker was lost. */
enum mg_class mg_conformance_run(const struct mg_conformance_options *options,
                                 struct mg_conformance *ret_conformance, struct mg_err *err) MG_MUSTCHECK;

#endif
