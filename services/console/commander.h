/* Commands under way, each until its answer comes or its time is over; sent again meanwhile, with the same
 * id. */
#ifndef MG_CONSOLE_COMMANDER_H
#define MG_CONSOLE_COMMANDER_H

#include "operator/command_client.h"

#define COMMANDS_MAX 64 /* more than people click */

struct commander;

/* `result` NULL: no scheduler answered in time, and the command may still be carried out. */
typedef void commanded_fn(void *arg, const struct mg_command_result *result);

enum mg_class commander_create(struct mg_loop *loop, const struct mg_broker_address *address,
                               const char *name, struct commander **ret_commander,
                               struct mg_err *err) MG_MUSTCHECK; /* MG_BAD_INPUT: address */
void commander_destroy(struct commander *commander);             /* who waits is not called; accepts NULL */
/* Later connections use it. */
enum mg_class commander_set_url(struct commander *commander, const char *url,
                                struct mg_err *err) MG_MUSTCHECK;
/* Its broker, for whoever has something to ask by the way. */
struct mg_broker *commander_broker(struct commander *commander);
bool commander_is_up(const struct commander *commander, char *ret_reason, size_t size);
/* `done` is called once, never from within. What the command borrows lives until then. False: too many are
 * under way. */
bool commander_send(struct commander *commander, const struct mg_command *command, int64_t timeout_ms,
                    commanded_fn *done, void *arg);

#endif
