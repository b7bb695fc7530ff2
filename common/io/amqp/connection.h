/*
 * The blocking side of librabbitmq: address, connection, login, one channel. The broker's links call it on a
 * thread of its own, the operator's tool directly; it never runs on a service's loop.
 *
 * Only the files of common/io/amqp include it; librabbitmq's types go no further.
 */
#ifndef MG_IO_AMQP_CONNECTION_H
#define MG_IO_AMQP_CONNECTION_H

#if defined(__has_include)
#if __has_include(<rabbitmq-c/amqp.h>)
#define MG_AMQP_HAS_OWN_FOLDER 1
#endif
#endif
#ifdef MG_AMQP_HAS_OWN_FOLDER
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_tcp_socket.h>
#endif

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "io/amqp/address.h"

#define MG_AMQP_CHANNEL                                                                                      \
    1 /* one channel a connection: the library drops frames of others while it waits for one */
#define MG_AMQP_FRAME_MAX                                                                                    \
    131072 /* of a frame that we send: RabbitMQ's default; 4.1 and later refuse less than 8192 */
/* For received frames: the broker's own additions make a header frame that was full larger. These are a
 * count, the records of deaths, and in these a copy of CC. */
#define MG_AMQP_FRAME_TAKEN_MAX (3 * MG_AMQP_FRAME_MAX)
/* RabbitMQ drops a silent peer after two to three heartbeats, that is within 21 s. Within 4 s more its
 * deliveries are redelivered and processed elsewhere; on a busy machine this takes up to 3 s. So orders move
 * again within 25 s. Below 5 s heartbeats give false alarms. */
#define MG_AMQP_HEARTBEAT_S    7
#define MG_AMQP_RPC_TIMEOUT_MS 5000 /* for the handshake and each request of the protocol */
#define MG_AMQP_SHORT_MAX                                                                                    \
    255 /* a short string of the protocol; the library would cut longer ones silently                        \
         */
#define MG_AMQP_ADDRESS_SIZE 300 /* a host name of at most 255 characters and its port */

#define MG_HEADER_AGAIN       "x-makegood-again"
#define MG_HEADER_ORIGIN      "x-makegood-exchange"
#define MG_HEADER_REASON      "x-makegood-reason"
#define MG_HEADER_PUBLISH     "x-makegood-publish"
#define MG_HEADER_TRACEPARENT "traceparent"

/* Like mg_broker_check_address; `ret_host_port` is "host:port", without the password. */
enum mg_class mg_amqp_check_address(const struct mg_broker_address *address,
                                    char ret_host_port[MG_AMQP_ADDRESS_SIZE],
                                    struct mg_err *err) MG_MUSTCHECK;

/* Connects, logs in as `name` and opens the channel. MG_TRANSIENT: not reachable. MG_PERMANENT: reached, and
 * refused. MG_BAD_INPUT: the URL, or plaintext that would leave this machine. On error `*ret_is_absent` (may
 * be NULL) is true if nothing accepts connections there. */
enum mg_class mg_amqp_connect(const struct mg_broker_address *address, const char *name,
                              amqp_connection_state_t *ret_connection, bool *ret_is_absent,
                              struct mg_err *err) MG_MUSTCHECK;
/* Closes without a closing handshake: after an error the peer may not read any more. */
void mg_amqp_destroy(amqp_connection_state_t connection);

/* The reason why the last call on this connection failed; the text may stand in `scratch`. */
const char *mg_amqp_failure_text(amqp_connection_state_t connection, int status, struct mg_err *scratch);

/* Opens the channel anew after the broker has closed it. */
enum mg_class mg_amqp_reopen_channel(amqp_connection_state_t connection, struct mg_err *err) MG_MUSTCHECK;

/* Declares each queue passively; MG_PERMANENT names all that are missing. A queue to which the user has no
 * right passes: RabbitMQ from 4.2.7 on does not show it. */
enum mg_class mg_amqp_check_queues(amqp_connection_state_t connection, const char *const *queues, int count,
                                   struct mg_err *err) MG_MUSTCHECK;

/* The result of the last request: MG_OK, or the error with its reason. `ret_code` (may be NULL): 404, 406, …,
 * or 0 if the broker did not answer. */
enum mg_class mg_amqp_result(amqp_rpc_reply_t reply, int *ret_code, struct mg_err *err) MG_MUSTCHECK;

/* Advice for a refusal with this code of this method (0: none), to be appended to the broker's text; or "".
 * The broker's text names object and user, but not the missing right. */
#define MG_ADVICE_SIZE 320
void mg_amqp_advice(int code, amqp_method_number_t refused, amqp_bytes_t text,
                    char ret_advice[MG_ADVICE_SIZE]);

amqp_bytes_t mg_amqp_bytes(struct mg_slice slice);
struct mg_slice mg_amqp_slice(amqp_bytes_t bytes);

/* Values of a message's headers, of any kind that the sender chose. */
int64_t mg_amqp_header_number(const amqp_basic_properties_t *properties, const char *name); /* 0: none */
struct mg_slice mg_amqp_header_text(const amqp_basic_properties_t *properties, const char *name);
const amqp_field_value_t *mg_amqp_table_find(const amqp_table_t *table, const char *name); /* NULL: none */
int64_t mg_amqp_value_number(const amqp_field_value_t *value);                             /* 0: no number */
struct mg_slice mg_amqp_value_text(const amqp_field_value_t *value);

#endif
