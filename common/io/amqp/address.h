/* Address and trust settings of the broker, shared by the services, the tool and the topology. */
#ifndef MG_IO_AMQP_ADDRESS_H
#define MG_IO_AMQP_ADDRESS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "io/tls/files.h"

/* What errors call the settings. */
struct mg_broker_names {
    const char *ca_file, *cert_file, *key_file, *plaintext;
};

struct mg_broker_address {
    const char *url; /* amqps://user:password@host:port/vhost, or amqp:// */
    struct mg_tls_files tls;
    bool is_plaintext_allowed; /* amqp:// to a host that is not loopback */
    const char *api_url;       /* RabbitMQ's management API, http://host:15672; NULL or "": it is not read */
    const struct mg_broker_names *names; /* constants; NULL: the options of a command line */
};

/* Checks the settings: the URL parses, plaintext stays on this machine unless allowed, the files exist and
 * fit together. Makes no connection; --check-config uses it. Error: MG_BAD_INPUT. */
enum mg_class mg_broker_check_address(const struct mg_broker_address *address,
                                      struct mg_err *err) MG_MUSTCHECK;

/* The account and the vhost that the URL names: "user:password" is appended to `ret_login`, the vhost to
 * `ret_vhost`, both decoded. */
enum mg_class mg_broker_account(const struct mg_broker_address *address, struct mg_buf *ret_login,
                                struct mg_buf *ret_vhost, struct mg_err *err) MG_MUSTCHECK;

#endif
