/*
 * The exchanges, queues and bindings of Makegood, as data; `makegood broker apply|check` makes and verifies
 * them. Services declare nothing: they check passively and report missing objects.
 *
 * Arguments that no queue may lack are part of its declaration, so that a forgotten policy loses no message.
 * They are the quorum type, the dead-letter exchange with at-least-once strategy, reject-publish on overflow,
 * and the delivery limit. Sizes and time-outs are policies, for operators to change.
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
/* The exchange to which supervisors publish. Their user may write only here and to the exchange of alerts. So
 * its messages are the supervisor's, and no operator's commands. */
#define MG_EXCHANGE_SUPERVISOR "makegood.commands.supervisor"
/* The exchange to which gateways publish their clients' wish to cancel. Its messages cancel orders and do
 * nothing else. */
#define MG_EXCHANGE_GATEWAY "makegood.commands.gateway"
/* The exchange to which gateways publish the callbacks of services, after they have checked the token. */
#define MG_EXCHANGE_CALLBACKS "makegood.callbacks"
/* Supervisors publish the operator settings of a service here, with the service's name as routing key. The
 * fanout exchanges of the services are bound to it. So supervisors need no right on those, and a missing one
 * loses only its own messages. */
#define MG_EXCHANGE_CONTROL "makegood.control"
/* orders.rejected is written through the default exchange. */

#define MG_QUEUE_INTAKE      "orders.intake"
#define MG_QUEUE_INTAKE_HIGH "orders.intake.high"
#define MG_QUEUE_REPLIES     "scheduler.replies"
#define MG_QUEUE_COMMANDS    "scheduler.commands"
#define MG_QUEUE_SIGNALS     "orders.signals"
#define MG_QUEUE_ALERTS      "operator.alerts"
#define MG_QUEUE_REJECTED    "orders.rejected"
#define MG_QUEUE_DEAD        "dead.letters"

/* Prefixes of a client's name: the exchanges for its orders and its signals alone, and its own queues. */
#define MG_INTAKE_PREFIX  MG_EXCHANGE_INTAKE "."
#define MG_SIGNALS_PREFIX "makegood.signals."
#define MG_CLIENT_PREFIX  "client."
/* Ends the name of the queue of a client's statuses. */
#define MG_STATUSES_SUFFIX ".statuses"
/* Ends the name of the queue from which gateways send a client's statuses to its webhook. */
#define MG_WEBHOOK_SUFFIX ".webhook"

/* Every exchange binds its queues by the queue's own name as routing key. But orders.signals is bound to a
 * client's exchange by the name of each signal that the client may send, so the broker returns all others;
 * and to makegood.callbacks by this key. */
#define MG_CALLBACK_KEY "callback"

#define MG_QUEUE_NAME_SIZE 128
void mg_topology_request_queue(const char *service, bool is_high, char ret_queue[MG_QUEUE_NAME_SIZE]);
/* makegood.replies.<service>: the agents of a service publish here. Their user may write to no other
 * exchange, so its messages are theirs. */
void mg_topology_reply_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE]);
void mg_topology_signal_exchange(const char *client, char ret_exchange[MG_QUEUE_NAME_SIZE]);
void mg_topology_webhook_queue(const char *client, char ret_queue[MG_QUEUE_NAME_SIZE]);
/* makegood.control.<service>; and agent.<service>.control. with a dot, the prefix that older rights give to
 * its agents' control queues. */
void mg_topology_control_exchange(const char *service, char ret_exchange[MG_QUEUE_NAME_SIZE]);
void mg_topology_control_queue(const char *service, char ret_prefix[MG_QUEUE_NAME_SIZE]);

/*
 * White lists: the speaker of a message, by the exchange that basic.deliver names. The broker names the first
 * exchange on a message's way, and checks the right to write there. An exchange outside the lists proves
 * nothing: its maker may have bound it to one of ours. The default exchange (an empty name) is in the lists
 * because `dead requeue` uses it. By the shipped rights only the scheduler, the operator and the
 * administrator may write there.
 */

/* For a reply or report of `service`: its own exchange, makegood.replies (for agents of older versions), the
 * default exchange. */
bool mg_topology_is_reply_of(struct mg_slice exchange, const char *service);
enum mg_commander {
    MG_COMMANDER_NONE,
    MG_COMMANDER_OPERATOR,
    MG_COMMANDER_SUPERVISOR,
    MG_COMMANDER_GATEWAY,
    MG_COMMANDER_CLIENT,   /* gives signals only */
    MG_COMMANDER_CALLBACK, /* a gateway, for a service with a valid token: callbacks only */
};
/* makegood.commands and the default exchange are the operator's, makegood.commands.supervisor the
 * supervisor's, makegood.commands.gateway the gateway's, makegood.signals.<client> the client's. `ret_client`
 * gets that client's name, a part of `exchange`, or ""; it may be NULL. */
enum mg_commander mg_topology_commander(struct mg_slice exchange, struct mg_slice *ret_client);
/* The client that submits through an exchange. For makegood.intake.<client> it is that name. For
 * makegood.intake and the default exchange it is "", the namespace shared by all their writers. False: the
 * exchange is not for orders. The slice is part of `exchange`. */
bool mg_topology_client(struct mg_slice exchange, struct mg_slice *ret_client);
/* Whether a client may name `queue` as its reply queue. A client with an exchange of its own may name only
 * client.<client>.*; clients of the shared namespace may name any but those of webhooks, whose statuses are
 * sent with the signature of a client. */
bool mg_topology_is_queue_of(struct mg_slice client, struct mg_slice queue);
/* Whether a control message from a service's `control_exchange` comes from supervisors: through
 * makegood.control, or that exchange itself. */
bool mg_topology_is_control_of(struct mg_slice exchange, const char *control_exchange);
/* Whether an exchange belongs to one service or one client, and so proves its sender:
 * makegood.replies.<service>, makegood.intake.<client>, makegood.signals.<client>. */
bool mg_topology_is_of_one(struct mg_slice exchange);
/* Whether the header x-makegood-again is trusted: on the default exchange (`dead requeue`) and on
 * makegood.requests (schedulers). */
bool mg_topology_is_again_believed(struct mg_slice exchange);
/* True for a queue name that only Makegood may write to: orders.*, agent.*, scheduler.*, operator.*, dead.*,
 * makegood.*, amq.* other than amq.gen-* and amq.rabbitmq.reply-to*; and for names that are empty or not
 * printable. */
bool mg_topology_is_reserved(struct mg_slice queue);
/* RabbitMQ's direct reply-to: a name without a queue. The broker stores nothing for it, and returns each
 * mandatory message even if the client got it. So delivery to it cannot be confirmed. */
bool mg_topology_is_direct_reply(struct mg_slice queue);

/* Whose queue it is, by its name: agent.<service>.requests[.high], client.<client>.statuses, …webhook. */
enum mg_queue_kind { MG_QUEUE_OF_OTHERS, MG_QUEUE_OF_SERVICE, MG_QUEUE_OF_CLIENT, MG_QUEUE_OF_WEBHOOK };
enum mg_queue_kind mg_topology_kind(struct mg_slice queue);
/* The delivery limit with which apply makes a queue; -1: Makegood does not own it. */
int64_t mg_topology_delivery_limit(struct mg_slice queue);

/* A binding of the topology. */
struct mg_topology_binding {
    char source[MG_QUEUE_NAME_SIZE], destination[MG_QUEUE_NAME_SIZE], key[MG_QUEUE_NAME_SIZE];
    bool is_to_exchange;
};
/* The binding with this number, from 0 on, that an exchange or a queue of the name needs; false: no more. A
 * binding of two of ours belongs to one of them. */
bool mg_topology_binding_of(struct mg_slice name, bool is_exchange, int index,
                            struct mg_topology_binding *ret_binding);

/* The services and clients of a run, besides the queues that always exist. A service has
 * agent.<service>.requests[.high], with the exchanges for its replies and its operator settings. A client has
 * client.<client>.statuses, in case it may not make its own queue, with the exchanges for its orders and its
 * signals. With `has_webhook` each client has client.<client>.webhook, too. One of its consumers is active,
 * so several gateways send in turn. Each client may send the signals, besides those that it may send already.
 */
struct mg_topology_names {
    const char *const *services, *const *clients, *const *signals;
    int service_count, client_count, signal_count;
    bool has_webhook;
};

/* Makes missing objects; blocks (for the tool). For an object with other arguments the error states the
 * wanted ones (MG_PERMANENT). `report` is called with one line for each object made or found. Needs the right
 * to configure, write and read all of it. */
enum mg_class mg_topology_apply(const struct mg_broker_address *address,
                                const struct mg_topology_names *names,
                                void (*report)(void *arg, const char *line), void *arg,
                                struct mg_err *err) MG_MUSTCHECK;
/* Checks only; MG_PERMANENT with all that is missing or different. A check needs no right; a comparison needs
 * the right to configure. `ret_is_compared` is false if the user lacks it. */
enum mg_class mg_topology_check(const struct mg_broker_address *address,
                                const struct mg_topology_names *names,
                                void (*report)(void *arg, const char *line), void *arg, bool *ret_is_compared,
                                struct mg_err *err) MG_MUSTCHECK;

/* The request queues of a service. */
struct mg_service_queues {
    int64_t ready;     /* requests in both queues */
    int64_t consumers; /* of the queue with fewer; -1: one queue is missing */
};
/* Reads the queues of `count` services, in the order given; needs no right. Blocks (for the tool). */
enum mg_class mg_topology_ask_services(const struct mg_broker_address *address, const char *const *services,
                                       int count, struct mg_service_queues *ret_queues,
                                       struct mg_err *err) MG_MUSTCHECK;
/* Reads one queue in the same way; consumers -1: it is missing. */
enum mg_class mg_topology_ask_queue(const struct mg_broker_address *address, const char *queue,
                                    struct mg_service_queues *ret_queue, struct mg_err *err) MG_MUSTCHECK;

/* "makegood broker apply --service parcels --client shop": the whole command that makes these queues or
 * exchanges. Names that do not fit are left out. */
#define MG_APPLY_COMMAND_SIZE 256
void mg_topology_apply_command(const char *const *names, int count, char ret_command[MG_APPLY_COMMAND_SIZE]);
/* The same for an object that the broker's text reports as not found. */
void mg_topology_apply_command_for(struct mg_slice text, char ret_command[MG_APPLY_COMMAND_SIZE]);

/* A message in a queue as the tool shows it. */
struct mg_dead_letter {
    struct mg_slice body, message_id, type, correlation_id;
    struct mg_slice queue, reason; /* from x-death or x-makegood-reason */
    struct mg_slice exchange;      /* proves the sender; empty: the default exchange, or unknown */
    const char *obstacle;          /* no requeue can ever succeed, for this reason; NULL: one may */
    int64_t died_at_ms;
    uint64_t count;
};
/* The largest message of ours, and of a scheduler with any options. */
#define MG_REQUEUE_BODY_MAX (1024 * 1024)
enum mg_dead_verb { MG_DEAD_LIST, MG_DEAD_REQUEUE, MG_DEAD_DROP };
/* Walks a queue (dead.letters or orders.rejected), at most `max` of the messages in it at the start. `pick`
 * returns the action for each; MG_DEAD_LIST leaves it. REQUEUE publishes it again to the queue it came from,
 * marked x-makegood-again, and removes it after the confirm. It uses the default exchange, which may speak
 * for every service. So the header x-makegood-exchange names the first exchange, by which the receiver judges
 * it. `ret_count`: the messages that were left or settled before the end or an error. Blocks (for the tool).
 */
enum mg_class mg_topology_walk(const struct mg_broker_address *address, const char *queue, int max,
                               enum mg_dead_verb (*pick)(void *arg, const struct mg_dead_letter *letter),
                               void *arg, int *ret_count, struct mg_err *err) MG_MUSTCHECK;
#define MG_DEAD_LOOK_MAX 500 /* the broker holds them all in memory for us */
/* Shows the first messages of a queue, at most `max` and MG_DEAD_LOOK_MAX, and leaves them in place. Much
 * quicker than a walk. Messages held by other consumers are skipped after a second. A quorum queue shows
 * requeued messages before others, so a look at fewer messages than before changes the order. Blocks. */
enum mg_class mg_topology_look(const struct mg_broker_address *address, const char *queue, int max,
                               void (*show)(void *arg, const struct mg_dead_letter *letter), void *arg,
                               int *ret_count, struct mg_err *err) MG_MUSTCHECK;

#endif
