/*
 * The bindings of Makegood's topology, compared with those of the broker by its management API
 * (broker_api.h). All of it blocks.
 */
#ifndef MG_BROKER_BINDINGS_H
#define MG_BROKER_BINDINGS_H

#include "broker_api.h"

/* Reports each binding that an exchange or queue of Makegood lacks, with the remedy. MG_PERMANENT: some are
 * missing, and `err` has the first. MG_TRANSIENT: they could not be read. */
enum mg_class mg_broker_bindings_check(const struct mg_broker_address *address,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       struct mg_err *err) MG_MUSTCHECK;

/* For the start of a process: logs each of them, and goes on: messages wait with their publishers. */
void mg_broker_bindings_log(const struct mg_broker_address *address);

#endif
