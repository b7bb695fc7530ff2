/* The options that name the broker's address, the same in every executable: rows of its option table. */
#ifndef MG_SERVICES_BROKER_OPTIONS_H
#define MG_SERVICES_BROKER_OPTIONS_H

#include "base/config.h"
#include "io/amqp/address.h"

/* `address`: a struct mg_broker_address that the rows fill in. */
/* clang-format off */
#define MG_BROKER_OPTIONS(address)                                                                           \
    {"amqp-url", MG_OPTION_TEXT, &(address).url, "amqp://guest:guest@127.0.0.1:5672/", 0, 0, true, "URL",    \
     "RabbitMQ, amqps://user:password@host:port/vhost; amqp:// on this machine"},                            \
    {"amqp-ca-file", MG_OPTION_TEXT, &(address).tls.ca_file, "", 0, 0, false, "FILE",                        \
     "CA certificates (PEM) that the broker's must come from; empty: those of the system"},                  \
    {"amqp-cert-file", MG_OPTION_TEXT, &(address).tls.cert_file, "", 0, 0, false, "FILE",                    \
     "certificate (PEM) to show to a broker that asks for one"},                                             \
    {"amqp-key-file", MG_OPTION_TEXT, &(address).tls.key_file, "", 0, 0, false, "FILE",                      \
     "its key (PEM)"},                                                                                       \
    {"allow-plaintext", MG_OPTION_FLAG, &(address).is_plaintext_allowed, NULL, 0, 0, false, NULL,            \
     "talk without TLS to addresses that are not loopback, too: for private networks"}
/* clang-format on */

#endif
