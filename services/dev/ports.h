/* Ports of this machine for servers that are about to start. */
#ifndef MG_DEV_PORTS_H
#define MG_DEV_PORTS_H

#include <stdbool.h>

#include "base/err.h"

/* A port of 127.0.0.1 without a listener. No other program of Makegood gets it as long as this process
 * lives, because a server may take seconds until it listens. MG_TRANSIENT: none is free. */
enum mg_class mg_port_claim(int *ret_port, struct mg_err *err) MG_MUSTCHECK;

/* Whether a server may listen at "ADDRESS:PORT". The text begins with `option`. MG_BAD_INPUT: it is no
 * address and port. MG_PERMANENT: another process listens there, or this machine has no such address. */
enum mg_class mg_port_check(const char *option, const char *address, struct mg_err *err) MG_MUSTCHECK;

/* Whether a process listens at this port of 127.0.0.1. Does not wait: the answer of loopback is immediate. */
bool mg_port_listens(int port);

#endif
