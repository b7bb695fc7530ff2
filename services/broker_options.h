/* The options that name the broker's address, the same in every executable: rows of its option table. */
#ifndef MG_SERVICES_BROKER_OPTIONS_H
#define MG_SERVICES_BROKER_OPTIONS_H

#include "base/config.h"

/* `address`: a struct mg_broker_address that the rows fill in. */
/* clang-format off */
#define MG_BROKER_OPTIONS(address)                                                                           \
    {"amqp-url", MG_OPTION_TEXT, &(address).url, "amqp://guest:guest@127.0.0.1:5672/", 0, 0, true, "URL",    \
     "RabbitMQ: amqps://user:password@host:port/vhost, or amqp:// on this machine"},                         \
    {"amqp-ca-file", MG_OPTION_TEXT, &(address).tls.ca_file, "", 0, 0, false, "FILE",                        \
     "CA certificates (PEM) for the broker's certificate; empty: the system's CAs"},                         \
    {"amqp-cert-file", MG_OPTION_TEXT, &(address).tls.cert_file, "", 0, 0, false, "FILE",                    \
     "client certificate (PEM) for a broker that requests one"},                                             \
    {"amqp-key-file", MG_OPTION_TEXT, &(address).tls.key_file, "", 0, 0, false, "FILE",                      \
     "private key (PEM) of the client certificate"},                                                         \
    {"allow-plaintext", MG_OPTION_FLAG, &(address).is_plaintext_allowed, NULL, 0, 0, false, NULL,            \
     "connect and listen without TLS beyond this machine, too: for private networks"},                       \
    {"amqp-api", MG_OPTION_TEXT, &(address).api_url, "", 0, 0, false, "URL",                                 \
     "RabbitMQ's management API, such as http://127.0.0.1:15672, from which policies are read with the "     \
     "user of --amqp-url; empty: policies are not read"}
/* clang-format on */

#endif
