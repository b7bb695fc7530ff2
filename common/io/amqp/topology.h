/*
 * The exchanges, queues and bindings that Makegood needs, as data; made and verified by `makegood broker
 * apply|check`. Services declare nothing: they look (passively) and say what is missing.
 *
 * What must never be absent from a queue travels with its declaration, so that no forgotten policy can lose a
 * message: quorum type, dead-letter exchange with at-least-once strategy, reject-publish on overflow,
 * delivery limit. Sizes and time-outs are policies, for operators to change.
 */
#ifndef MG_IO_AMQP_TOPOLOGY_H
#define MG_IO_AMQP_TOPOLOGY_H

#include "base/buf.h"
#include "base/err.h"
#include "io/amqp/address.h"

#define MG_EXCHANGE_INTAKE   "makegood.intake"
#define MG_EXCHANGE_REQUESTS "makegood.requests"
#define MG_EXCHANGE_REPLIES  "makegood.replies"
#define MG_EXCHANGE_COMMANDS "makegood.commands"
#define MG_EXCHANGE_ALERTS   "makegood.alerts"
#define MG_EXCHANGE_DEAD     "makegood.dead"
/* Where supervisors publish. Their user may write to no other exchange but that of alerts, so what came
 * through it is theirs, and is no command of an operator's. */
#define MG_EXCHANGE_SUPERVISOR "makegood.commands.supervisor"
/* Where supervisors say what operators want of a service, with its name as routing key; bound to it are the
 * fanout exchanges of the services. So who says it needs no right at those, and where one is missing only its
 * own word is lost. */
#define MG_EXCHANGE_CONTROL "makegood.control"
/* orders.rejected is written through the default exchange. */

#define MG_QUEUE_INTAKE      "orders.intake"
#define MG_QUEUE_INTAKE_HIGH "orders.intake.high"
#define MG_QUEUE_REPLIES     "scheduler.replies"
#define MG_QUEUE_COMMANDS    "scheduler.commands"
#define MG_QUEUE_ALERTS      "operator.alerts"
#define MG_QUEUE_REJECTED    "orders.rejected"
#define MG_QUEUE_DEAD        "dead.letters"

/* Before a client's name: the exchange for its orders alone, and the queues that are its own. */
#define MG_INTAKE_PREFIX MG_EXCHANGE_INTAKE "."
#define MG_CLIENT_PREFIX "client."

/* Every exchange binds its queues by the queue's own name as routing key. */

#define MG_QUEUE_NAME_SIZE 128
void mg_topology_request_queue(const char *service, bool is_high, char ret_queue[MG_QUEUE_NAME_SIZE]);
/* makegood.replies.<service>: where the agents of a service publish. Their user may write to no other
 * exchange, so what came through it is theirs. */
void mg_topology_reply_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE]);
/* makegood.control.<service>, and the prefix that older rights give to the control queues of its agents:
 * agent.<service>.control. with a dot. */
void mg_topology_control_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE]);
void mg_topology_control_queue(const char *service, char ret_prefix[MG_QUEUE_NAME_SIZE]);

/*
 * White lists: which speaker a message belongs to, by the exchange that basic.deliver names. The broker names
 * the first exchange of a message's way, and checks the right to write there. An exchange that stands in no
 * list proves nothing: its maker may have bound it to one of ours. The default exchange (an empty name) is in
 * the lists because by the shipped rights only the scheduler, the operator and the administrator may write
 * there, and `dead requeue` does.
 */

/* For a reply or report of `service`: its own exchange, makegood.replies (for agents of older versions), the
 * default exchange. */
bool mg_topology_is_reply_of(struct mg_slice exchange, const char *service);
enum mg_commander { MG_COMMANDER_NONE, MG_COMMANDER_OPERATOR, MG_COMMANDER_SUPERVISOR };
/* makegood.commands and the default exchange are the operator's, makegood.commands.supervisor the
 * supervisor's. */
enum mg_commander mg_topology_commander(struct mg_slice exchange);
/* The client that submits through an exchange: of makegood.intake.<client> its name; of makegood.intake and
 * the default exchange "", the namespace that all share who may write there. False: the exchange is no way
 * in. The slice is part of `exchange`. */
bool mg_topology_client(struct mg_slice exchange, struct mg_slice *ret_client);
/* Whether a client may name `queue` for its answers: one with an exchange of its own only client.<client>.*;
 * those of the shared namespace any. */
bool mg_topology_is_queue_of(struct mg_slice client, struct mg_slice queue);
/* For what supervisors say to agents, as it comes out of a service's `control_exchange`: makegood.control,
 * or that exchange itself. */
bool mg_topology_is_control_of(struct mg_slice exchange, const char *control_exchange);
/* Whether an exchange belongs to one service or one client, and so proves it: makegood.replies.<service>,
 * makegood.intake.<client>. */
bool mg_topology_is_of_one(struct mg_slice exchange);
/* Whether the header x-makegood-again is believed: on the default exchange (`dead requeue`) and on
 * makegood.requests (schedulers). */
bool mg_topology_is_again_believed(struct mg_slice exchange);
/* True for a queue name that only Makegood may write to: orders.*, agent.*, scheduler.*, operator.*, dead.*,
 * makegood.*, amq.* other than amq.gen-* and amq.rabbitmq.reply-to*; and for names that are empty or not
 * printable. */
bool mg_topology_is_reserved(struct mg_slice queue);
/* RabbitMQ's direct reply-to: a name and no queue. The broker keeps nothing for it, and returns each
 * mandatory message whether the client got it or not, so delivery to it cannot be confirmed. */
bool mg_topology_is_direct_reply(struct mg_slice queue);

/* Whose queues are meant, beside those that are always there: agent.<service>.requests[.high], with the
 * exchanges for its replies and for what is wanted of it, and client.<client>.statuses, for clients that may
 * not make a queue of their own, with the exchange for their orders.
 */
struct mg_topology_names {
    const char *const *services, *const *clients;
    int service_count, client_count;
};

/* Makes what is missing; blocks (for the tool). What exists with other arguments is named in the error with
 * what it should be (MG_PERMANENT). `report` is called with one line for each thing made or found. Needs the
 * right to configure, write and read all of it. */
enum mg_class mg_topology_apply(const struct mg_broker_address *address,
                                const struct mg_topology_names *names,
                                void (*report)(void *arg, const char *line), void *arg,
                                struct mg_err *err) MG_MUSTCHECK;
/* Looks only; MG_PERMANENT with all that is missing or different. Looking needs no right, comparing needs the
 * right to configure: `ret_is_compared` is false if the user has it not. */
enum mg_class mg_topology_check(const struct mg_broker_address *address,
                                const struct mg_topology_names *names,
                                void (*report)(void *arg, const char *line), void *arg, bool *ret_is_compared,
                                struct mg_err *err) MG_MUSTCHECK;

/* The request queues of a service, as its orders find them. */
struct mg_service_queues {
    int64_t ready;     /* requests that lie in both */
    int64_t consumers; /* of the one that has fewer; -1: one of them is missing */
};
/* Asks about `count` services, in the order given; needs no right. Blocks (for the tool). */
enum mg_class mg_topology_ask_services(const struct mg_broker_address *address, const char *const *services,
                                       int count, struct mg_service_queues *ret_queues,
                                       struct mg_err *err) MG_MUSTCHECK;

/* "makegood broker apply --service parcels --client shop": the whole command that makes these queues or
 * exchanges. What does not fit is left out. */
#define MG_APPLY_COMMAND_SIZE 256
void mg_topology_apply_command(const char *const *names, int count, char ret_command[MG_APPLY_COMMAND_SIZE]);
/* The same of what the broker has refused as not there, in its words. */
void mg_topology_apply_command_said(struct mg_slice said, char ret_command[MG_APPLY_COMMAND_SIZE]);

/* A message in a queue as the tool shows it. */
struct mg_dead_letter {
    struct mg_slice body, message_id, type, correlation_id;
    struct mg_slice queue, reason; /* from x-death or x-makegood-reason */
    struct mg_slice exchange;      /* that proves the sender; empty: the default exchange, or unknown */
    int64_t died_at_ms;
    uint64_t count;
};
/* No message of ours is larger, and none that a scheduler takes, whatever its options. */
#define MG_REQUEUE_BODY_MAX (1024 * 1024)
enum mg_dead_verb { MG_DEAD_LIST, MG_DEAD_REQUEUE, MG_DEAD_DROP };
/* Walks a queue (dead.letters or orders.rejected), at most `max` messages of those that lie there when it
 * begins; `pick` says for each what to do with it; MG_DEAD_LIST leaves it. REQUEUE publishes it again to the
 * queue it came from, marked x-makegood-again, and removes it after the confirm. It goes through the default
 * exchange, which may speak for every service; so the header x-makegood-exchange names the exchange of
 * before, by which the receiver judges it. Blocks (for the tool). */
enum mg_class mg_topology_walk(const struct mg_broker_address *address, const char *queue, int max,
                               enum mg_dead_verb (*pick)(void *arg, const struct mg_dead_letter *letter),
                               void *arg, int *ret_count, struct mg_err *err) MG_MUSTCHECK;
#define MG_DEAD_LOOK_MAX 500 /* the broker has them all in its memory for us */
/* Shows the first messages of a queue, at most `max` and MG_DEAD_LOOK_MAX, and leaves them as they lie there:
 * much quicker than a walk. What others hold meanwhile is passed over after a second. A quorum queue shows
 * what it was given back before what it was not; who looks at fewer than before turns that around. Blocks. */
enum mg_class mg_topology_look(const struct mg_broker_address *address, const char *queue, int max,
                               void (*show)(void *arg, const struct mg_dead_letter *letter), void *arg,
                               int *ret_count, struct mg_err *err) MG_MUSTCHECK;

#endif
