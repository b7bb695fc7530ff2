/*
 * RabbitMQ's policies, as its management API lists them, and the verdict on them. No argument of a queue
 * protects it: RabbitMQ takes the lower of argument and policy for message-ttl and delivery-limit (from 3.11
 * on for expires, too), and the policy for overflow. One policy applies to a queue, the one of the highest
 * priority; an operator policy applies besides.
 *
 * Keys that do no harm are left out. Below max-length and max-length-bytes a queue refuses messages, and
 * their publishers keep them. Of the dead-letter keys the queue's argument wins. A policy with ha-* or
 * queue-mode is not for quorum queues, and RabbitMQ does not apply it.
 */
#ifndef MG_WIRE_POLICIES_H
#define MG_WIRE_POLICIES_H

#include "base/buf.h"
#include "base/err.h"

/* Names this policy; operators may change its definition. */
#define MG_POLICY_NAME "makegood"
/* Above those that administrators and providers usually give (0 to 1000). */
#define MG_POLICY_PRIORITY_TEXT   "10000"
#define MG_POLICY_PATTERN         "^(orders|agent|scheduler|operator|dead|client)\\."
#define MG_POLICY_DEFINITION      "{\"max-length\":1000000}"
#define MG_POLICY_LISTS_MAX_BYTES ((size_t)4 * 1024 * 1024) /* some 40,000 queues */

/* The bodies of the API's answers. */
struct mg_policy_lists {
    struct mg_slice queues;    /* with the members name, policy, operator_policy */
    struct mg_slice exchanges; /* likewise, without operator_policy */
    struct mg_slice policies, operator_policies;
};

struct mg_policy_judge {
    const char *vhost;
    /* The delivery limit of one of Makegood's queues; -1: the queue is another's. */
    int64_t (*limit_of)(struct mg_slice queue);
    /* One line for each policy and key that loses or changes messages, with the remedy. */
    void (*found)(void *arg, const char *line);
    void *arg;
};

/* MG_TRANSIENT: a list is no JSON array. */
enum mg_class mg_policies_judge(const struct mg_policy_lists *lists, const struct mg_policy_judge *judge,
                                struct mg_err *err) MG_MUSTCHECK;

/* MG_TRANSIENT: the API's list of `name` is no JSON array. */
enum mg_class mg_policy_list_check(struct mg_slice list, const char *name, struct mg_err *err) MG_MUSTCHECK;

/* Appends the body that sets Makegood's policy. An existing one in the list keeps its definition.
 * MG_TRANSIENT: the list is no JSON array, or no memory. */
enum mg_class mg_policy_write(struct mg_slice policies, struct mg_buf *ret_body,
                              struct mg_err *err) MG_MUSTCHECK;

#endif
