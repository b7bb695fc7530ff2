/* Where the broker is, and how it is trusted: what services, the tool and the topology connect with. */
#ifndef MG_IO_AMQP_ADDRESS_H
#define MG_IO_AMQP_ADDRESS_H

#include <stdbool.h>

#include "base/err.h"
#include "io/tls/files.h"

struct mg_broker_address {
    const char *url; /* amqps://user:password@host:port/vhost, or amqp:// */
    struct mg_tls_files tls;
    bool is_plaintext_allowed; /* amqp:// to a host that is not loopback */
};

/* Whether one could connect with this: the URL can be read, plaintext stays on this machine unless it is
 * allowed, the files are there and fit together. Connects to nothing; for --check-config. MG_BAD_INPUT. */
enum mg_class mg_broker_check_address(const struct mg_broker_address *address,
                                      struct mg_err *err) MG_MUSTCHECK;

#endif
