/*
 * The bindings of Makegood's topology, compared with those of the broker, and the broker's policies, read and
 * set; both by RabbitMQ's management API (broker_api.h). All of it blocks.
 */
#ifndef MG_BROKER_CHECKS_H
#define MG_BROKER_CHECKS_H

#include "broker_api.h"

/* ---- bindings ---- */

/* Reports each binding that an exchange or queue of Makegood lacks, with the remedy. MG_PERMANENT: some are
 * missing, and `err` has the first. MG_TRANSIENT: they could not be read. */
enum mg_class mg_broker_bindings_check(const struct mg_broker_address *address,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       struct mg_err *err) MG_MUSTCHECK;

/* For the start of a process: logs each of them, and goes on: messages wait with their publishers. */
void mg_broker_bindings_log(const struct mg_broker_address *address);

/* ---- policies ---- */

/* Reports each policy that loses or changes messages of Makegood's queues. MG_PERMANENT: there are some, and
 * `err` has the first. MG_TRANSIENT: they could not be read. RabbitMQ shows a change after up to 10 s. */
enum mg_class mg_broker_policies_check(const struct mg_broker_address *address,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       struct mg_err *err) MG_MUSTCHECK;

/* For the start of a process: logs each of them. MG_PERMANENT: there are some, and the process must not start
 * into the loss. Policies that cannot be read are logged, and it starts. */
enum mg_class mg_broker_policies_admit(const struct mg_broker_address *address,
                                       struct mg_err *err) MG_MUSTCHECK;

/* Sets Makegood's own policy, whose priority keeps others off its queues. */
enum mg_class mg_broker_policy_apply(const struct mg_broker_address *address,
                                     void (*report)(void *arg, const char *line), void *arg,
                                     struct mg_err *err) MG_MUSTCHECK;

/* The command that does the same on the broker's machine. */
extern const char MG_BROKER_POLICY_COMMAND[];

#endif
