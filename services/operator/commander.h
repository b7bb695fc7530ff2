/* Commands under way. Each is sent again with the same id until its answer arrives or its time is over. */
#ifndef MG_OPERATOR_COMMANDER_H
#define MG_OPERATOR_COMMANDER_H

#include "operator/command_client.h"

#define MG_COMMANDS_MAX 64 /* more than operators click at once, and clients cancel or signal */

struct mg_command_link;

/* `result` NULL: no scheduler answered in time; the command may still be executed. */
typedef void commanded_fn(void *arg, const struct mg_command_result *result);

/* `exchange` proves the sender to the schedulers (io/amqp/topology.h), `name` is the connection's; both are
 * borrowed for its life. `metrics` may be NULL. MG_BAD_INPUT: the address is wrong. */
enum mg_class mg_commander_create(struct mg_loop *loop, const struct mg_broker_address *address,
                                  const char *exchange, const char *name, struct mg_metrics *metrics,
                                  struct mg_command_link **ret_commander, struct mg_err *err) MG_MUSTCHECK;
void mg_commander_destroy(struct mg_command_link *commander); /* calls no pending `done`; accepts NULL */
/* Its broker client, for other calls of its owner. It stays owned by the commander. */
struct mg_broker *mg_commander_broker(struct mg_command_link *commander);
bool mg_commander_is_up(const struct mg_command_link *commander, char *ret_reason, size_t size);
/* `done` is called once, after the return of this call. Texts that the command borrows must live until
 * then. False: MG_COMMANDS_MAX commands are under way. */
bool mg_commander_send(struct mg_command_link *commander, const struct mg_command *command,
                       int64_t timeout_ms, commanded_fn *done, void *arg);
/* The same by another exchange and routing key, which are borrowed until the end. `returned` is called in
 * place of `done` if the broker returns the command: no queue is bound by that key. */
bool mg_commander_send_by(struct mg_command_link *commander, const char *exchange, const char *routing_key,
                          const struct mg_command *command, int64_t timeout_ms, commanded_fn *done,
                          void (*returned)(void *arg), void *arg);

#endif
