/*
 * The TLS side of a connection to RabbitMQ, which librabbitmq leaves to its user: trust, the name in the
 * certificate, and reasons of failures. OpenSSL stays in amqp/amqp_tls.c.
 */
#ifndef MG_IO_AMQP_AMQP_TLS_H
#define MG_IO_AMQP_AMQP_TLS_H

#include "io/amqp/connection.h"

const struct mg_broker_names *mg_broker_names_of(const struct mg_broker_address *address);

/* MG_BAD_INPUT: a file cannot be read, is no PEM, or the key is not the certificate's. */
enum mg_class mg_tls_check_files(const struct mg_broker_address *address, struct mg_err *err) MG_MUSTCHECK;

/* Gives the connection its socket, not yet open. It speaks TLS 1.2 or newer, trusts the address's CAs, and
 * accepts only a certificate for `host` (a name or an address). MG_PERMANENT: files; MG_TRANSIENT: memory. */
enum mg_class mg_tls_socket_create(amqp_connection_state_t connection,
                                   const struct mg_broker_address *address, const char *host,
                                   amqp_socket_t **ret_socket, struct mg_err *err) MG_MUSTCHECK;

/* Sets in `err` why the last call on this connection failed with `status`. MG_PERMANENT: an operator must act
 * on a certificate; else MG_TRANSIENT. MG_OK: TLS is not the cause, `err` is untouched. Only for connections
 * of mg_tls_socket_create, on the thread of the failed call, before the next call. `is_login`: the broker has
 * sent nothing but TLS yet. */
enum mg_class mg_tls_failure(amqp_connection_state_t connection, int status, bool is_login,
                             struct mg_err *err) MG_MUSTCHECK;

#endif
