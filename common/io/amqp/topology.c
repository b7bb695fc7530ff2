/*
 * The exchanges and queues of Makegood as two tables; apply declares them, check compares them. Declaring
 * with equal arguments changes nothing, so apply may run twice. With other arguments the broker refuses, and
 * the report names the queue. A queue's arguments cannot be changed: an operator must empty and delete it,
 * and apply makes it again.
 */
#include "io/amqp/topology.h"

#include <stdio.h>

#include "io/amqp/connection.h"

#define DELIVERY_LIMIT                                                                                       \
    20 /* RabbitMQ's own default from 4.0; consumers that crash so often are stopped by the message */
/* The operator's walk requeues each message, which counts as a delivery up to RabbitMQ 4.2. Without a limit
 * 4.0 and later apply 20. -1 would mean "none", but 3.x refuses it. */
#define DELIVERY_LIMIT_WALKED INT32_MAX
/* From here on the queue refuses publishers, before the broker's disk alarm stops all of them. */
#define QUEUE_BYTES_MAX (INT64_C(1) << 30)
#define ARGUMENTS_MAX   8
#define LINE_SIZE       MG_ERR_TEXT_MAX
#define WHAT_MAX        (LINE_SIZE - 128) /* for the problem; the rest is for kind and name */
#define DIRECT          "direct"
#define FANOUT          "fanout"

static const char *const exchanges[] = {
    MG_EXCHANGE_INTAKE,     MG_EXCHANGE_REQUESTS,  MG_EXCHANGE_REPLIES, MG_EXCHANGE_COMMANDS,
    MG_EXCHANGE_SUPERVISOR, MG_EXCHANGE_GATEWAY,   MG_EXCHANGE_ALERTS,  MG_EXCHANGE_DEAD,
    MG_EXCHANGE_CONTROL,    MG_EXCHANGE_CALLBACKS,
};

struct queue_plan {
    const char *name;
    const char *exchange; /* bound by the queue's own name; NULL: reached through the default exchange only */
    bool is_dead_end;     /* has no dead-letter exchange: dead letters end here */
    bool is_walked;       /* its messages are given back without limit */
    bool is_webhook;      /* likewise, while the target is down; and it has one active consumer */
};

static const struct queue_plan queues[] = {
    /* first: the others' dead letters need it */
    {.name = MG_QUEUE_DEAD, .exchange = MG_EXCHANGE_DEAD, .is_dead_end = true, .is_walked = true},
    {.name = MG_QUEUE_INTAKE, .exchange = MG_EXCHANGE_INTAKE},
    {.name = MG_QUEUE_INTAKE_HIGH, .exchange = MG_EXCHANGE_INTAKE},
    {.name = MG_QUEUE_REPLIES, .exchange = MG_EXCHANGE_REPLIES},
    {.name = MG_QUEUE_COMMANDS, .exchange = MG_EXCHANGE_COMMANDS},
    {.name = MG_QUEUE_SIGNALS}, /* bound by other keys than its name */
    {.name = MG_QUEUE_ALERTS, .exchange = MG_EXCHANGE_ALERTS},
    {.name = MG_QUEUE_REJECTED, .is_walked = true},
};

/* One run of apply or check. */
struct run {
    amqp_connection_state_t connection;
    bool is_making, is_compared;
    int code; /* of the broker's last refusal */
    void (*report)(void *arg, const char *line);
    void *arg;
    char problem[LINE_SIZE]; /* the first problem, in full; each has been reported */
    int problem_count;
};

static enum mg_class run_exchange(struct run *run, const char *exchange, const char *kind,
                                  struct mg_err *err);
static enum mg_class run_queue(struct run *run, const struct queue_plan *plan, struct mg_err *err);
static enum mg_class run_binding(struct run *run, const char *exchange, const char *queue,
                                 struct mg_err *err);
static enum mg_class run_signal_binding(struct run *run, const char *exchange, const char *key,
                                        struct mg_err *err);
static enum mg_class run_control_binding(struct run *run, const char *exchange, const char *service,
                                         struct mg_err *err);

static void run_report(struct run *run, const char *kind, const char *name, const char *what)
{
    char line[LINE_SIZE];
    (void)snprintf(line, sizeof(line), "%s %s: %.*s", kind, name, WHAT_MAX, what);
    if (run->report != NULL) {
        run->report(run->arg, line);
    }
}

static void run_problem(struct run *run, const char *kind, const char *name, const char *what)
{
    run_report(run, kind, name, what);
    if (run->problem_count++ == 0) {
        (void)snprintf(run->problem, sizeof(run->problem), "%s %s: %.*s", kind, name, WHAT_MAX, what);
    }
}

static void run_missing(struct run *run, const char *kind, const char *name)
{
    char text[LINE_SIZE], command[MG_APPLY_COMMAND_SIZE];
    mg_topology_apply_command(&name, 1, command);
    (void)snprintf(text, sizeof(text), "missing; run: %s", command);
    run_problem(run, kind, name, text);
}

static enum mg_class run_services(struct run *run, const char *const *services, int count, struct mg_err *err)
{
    enum mg_class class = MG_OK;
    for (int i = 0; i < count && class == MG_OK; i++) {
        for (int high = 0; high < 2 && class == MG_OK; high++) {
            char name[MG_QUEUE_NAME_SIZE];
            mg_topology_request_queue(services[i], high == 1, name);
            const struct queue_plan plan = {.name = name, .exchange = MG_EXCHANGE_REQUESTS};
            class = run_queue(run, &plan, err);
        }
        char exchange[MG_QUEUE_NAME_SIZE];
        mg_topology_reply_exchange(services[i], exchange);
        if (class == MG_OK) {
            class = run_exchange(run, exchange, DIRECT, err);
        }
        if (class == MG_OK) {
            class = run_binding(run, exchange, MG_QUEUE_REPLIES, err);
        }
        mg_topology_control_exchange(services[i], exchange);
        if (class == MG_OK) {
            class = run_exchange(run, exchange, FANOUT, err);
        }
        if (class == MG_OK) {
            class = run_control_binding(run, exchange, services[i], err);
        }
    }
    return class;
}

static enum mg_class run_signals(struct run *run, const char *client, const struct mg_topology_names *names,
                                 struct mg_err *err)
{
    char exchange[MG_QUEUE_NAME_SIZE];
    mg_topology_signal_exchange(client, exchange);
    enum mg_class class = run_exchange(run, exchange, DIRECT, err);
    for (int i = 0; i < names->signal_count && class == MG_OK; i++) {
        class = run_signal_binding(run, exchange, names->signals[i], err);
    }
    return class;
}

static enum mg_class run_clients(struct run *run, const struct mg_topology_names *names, struct mg_err *err)
{
    enum mg_class class = MG_OK;
    for (int i = 0; i < names->client_count && class == MG_OK; i++) {
        char name[MG_QUEUE_NAME_SIZE];
        (void)snprintf(name, sizeof(name), MG_CLIENT_PREFIX "%s" MG_STATUSES_SUFFIX, names->clients[i]);
        const struct queue_plan plan = {.name = name};
        class = run_queue(run, &plan, err);
        if (class == MG_OK && names->has_webhook) {
            mg_topology_webhook_queue(names->clients[i], name);
            const struct queue_plan webhook = {.name = name, .is_webhook = true};
            class = run_queue(run, &webhook, err);
        }
        (void)snprintf(name, sizeof(name), MG_INTAKE_PREFIX "%s", names->clients[i]);
        if (class == MG_OK) {
            class = run_exchange(run, name, DIRECT, err);
        }
        if (class == MG_OK) {
            class = run_binding(run, name, MG_QUEUE_INTAKE, err);
        }
        if (class == MG_OK) {
            class = run_binding(run, name, MG_QUEUE_INTAKE_HIGH, err);
        }
        if (class == MG_OK) {
            class = run_signals(run, names->clients[i], names, err);
        }
    }
    return class;
}

static enum mg_class topology_run(const struct mg_broker_address *address,
                                  const struct mg_topology_names *names, bool is_making,
                                  void (*report)(void *arg, const char *line), void *arg,
                                  bool *ret_is_compared, struct mg_err *err)
{
    struct run run = {.is_making = is_making, .is_compared = true, .report = report, .arg = arg};
    enum mg_class class = mg_amqp_connect(address, "makegood broker", &run.connection, NULL, err);
    if (class != MG_OK) {
        return class;
    }
    for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]) && class == MG_OK; i++) {
        class = run_exchange(&run, exchanges[i], DIRECT, err);
    }
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]) && class == MG_OK; i++) {
        class = run_queue(&run, &queues[i], err);
    }
    if (class == MG_OK) {
        class = run_binding(&run, MG_EXCHANGE_SUPERVISOR, MG_QUEUE_COMMANDS, err);
    }
    if (class == MG_OK) {
        class = run_binding(&run, MG_EXCHANGE_GATEWAY, MG_QUEUE_COMMANDS, err);
    }
    if (class == MG_OK) {
        class = run_signal_binding(&run, MG_EXCHANGE_CALLBACKS, MG_CALLBACK_KEY, err);
    }
    if (class == MG_OK) {
        class = run_services(&run, names->services, names->service_count, err);
    }
    if (class == MG_OK) {
        class = run_clients(&run, names, err);
    }
    if (class == MG_OK) {
        (void)amqp_connection_close(run.connection,
                                    AMQP_REPLY_SUCCESS); /* all is done; a lost close does not matter */
    }
    mg_amqp_destroy(run.connection);
    *ret_is_compared = run.is_compared;
    if (class == MG_OK && run.problem_count == 1) {
        class = mg_err_set(err, MG_PERMANENT, "%s", run.problem);
    }
    if (class == MG_OK && run.problem_count > 1) {
        class = mg_err_set(err, MG_PERMANENT, "%.*s; and %d more", LINE_SIZE - 32, run.problem,
                           run.problem_count - 1);
    }
    return class;
}

enum mg_class mg_topology_apply(const struct mg_broker_address *address,
                                const struct mg_topology_names *names,
                                void (*report)(void *arg, const char *line), void *arg, struct mg_err *err)
{
    bool is_compared;
    return topology_run(address, names, true, report, arg, &is_compared, err);
}

/* AMQP 0-9-1 cannot read bindings; a missing one shows as returned messages. */
enum mg_class mg_topology_check(const struct mg_broker_address *address,
                                const struct mg_topology_names *names,
                                void (*report)(void *arg, const char *line), void *arg, bool *ret_is_compared,
                                struct mg_err *err)
{
    return topology_run(address, names, false, report, arg, ret_is_compared, err);
}

/* The result of the last request. MG_OK. MG_STALE: it does not exist. MG_PERMANENT: refused, with the text in
 * `err`, and the channel is open again. Any other class ends the run. */
static enum mg_class run_answer(struct run *run, const void *answer, struct mg_err *err)
{
    if (answer != NULL) {
        amqp_maybe_release_buffers(run->connection);
        return MG_OK;
    }
    enum mg_class class = mg_amqp_result(amqp_get_rpc_reply(run->connection), &run->code, err);
    if (class != MG_PERMANENT || run->code == 0) {
        return class == MG_OK ? mg_err_set(err, MG_TRANSIENT, "the broker did not answer") : class;
    }
    struct mg_err reopen;
    if (mg_amqp_reopen_channel(run->connection, &reopen) != MG_OK) {
        *err = reopen;
        return MG_TRANSIENT;
    }
    return run->code == AMQP_NOT_FOUND ? MG_STALE : MG_PERMANENT;
}

/* RabbitMQ from 4.2.7 on hides an object from a user without any right to it. */
static bool run_is_hidden(struct run *run, const char *kind, const char *name, enum mg_class class)
{
    if (class != MG_PERMANENT || run->code != AMQP_ACCESS_REFUSED || run->is_making) {
        return false;
    }
    run->is_compared = false;
    run_report(run, kind, name, "not looked at: this user has no right to it");
    return true;
}

/* It exists, but this user may not compare it. One request is enough, since each refusal is an error in the
 * broker's log. */
static bool run_is_enough(struct run *run, const char *kind, const char *name, bool is_there)
{
    if (!is_there || run->is_compared) {
        return false;
    }
    run_report(run, kind, name, "found, but not compared: this user may not configure it");
    return true;
}

/* The broker refused: the object differs from the plan, or this user lacks the right. */
static void run_refused(struct run *run, const char *kind, const char *name, const char *why,
                        const char *remedy)
{
    char text[LINE_SIZE];
    if (run->code != AMQP_ACCESS_REFUSED) {
        (void)snprintf(text, sizeof(text), "%.*s%s", LINE_SIZE - 64, why, remedy);
        run_problem(run, kind, name, text);
    } else if (run->is_making) {
        (void)snprintf(text, sizeof(text), "%.*s, or use the user that has it", LINE_SIZE - 64, why);
        run_problem(run, kind, name, text);
    } else {
        run->is_compared = false;
        (void)run_is_enough(run, kind, name, true);
    }
}

static enum mg_class run_exchange(struct run *run, const char *exchange, const char *kind, struct mg_err *err)
{
    amqp_bytes_t name = amqp_cstring_bytes(exchange), type = amqp_cstring_bytes(kind);
    struct mg_err why;
    enum mg_class class = run_answer(
        run,
        amqp_exchange_declare(run->connection, MG_AMQP_CHANNEL, name, type, 1, 1, 0, 0, amqp_empty_table),
        &why);
    bool is_there = class == MG_OK;
    if (run_is_hidden(run, "exchange", exchange, class) ||
        run_is_enough(run, "exchange", exchange, is_there)) {
        return MG_OK;
    }
    if (class == MG_STALE && !run->is_making) {
        run_missing(run, "exchange", exchange);
        return MG_OK;
    }
    if (class == MG_OK || class == MG_STALE) {
        class = run_answer(
            run,
            amqp_exchange_declare(run->connection, MG_AMQP_CHANNEL, name, type, 0, 1, 0, 0, amqp_empty_table),
            &why);
    }
    if (class == MG_PERMANENT || class == MG_STALE) {
        run_refused(run, "exchange", exchange, why.text, "");
        return MG_OK;
    }
    if (class != MG_OK) {
        *err = why;
        return mg_err_prefix(err, "could not declare exchange %s", exchange);
    }
    run_report(run, "exchange", exchange, is_there ? "found" : "made");
    return MG_OK;
}

static void queue_argument_text(amqp_table_t *table, const char *key, const char *text)
{
    amqp_table_entry_t *entry = &table->entries[table->num_entries++];
    entry->key = amqp_cstring_bytes(key);
    entry->value.kind = AMQP_FIELD_KIND_UTF8;
    entry->value.value.bytes = amqp_cstring_bytes(text);
}

static int32_t queue_delivery_limit(const struct queue_plan *plan)
{
    return plan->is_walked || plan->is_webhook ? DELIVERY_LIMIT_WALKED : DELIVERY_LIMIT;
}

int64_t mg_topology_delivery_limit(struct mg_slice queue)
{
    for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++) {
        if (mg_slice_is(queue, queues[i].name)) {
            return queue_delivery_limit(&queues[i]);
        }
    }
    switch (mg_topology_kind(queue)) {
    case MG_QUEUE_OF_SERVICE:
    case MG_QUEUE_OF_CLIENT:
        return DELIVERY_LIMIT;
    case MG_QUEUE_OF_WEBHOOK:
        return DELIVERY_LIMIT_WALKED;
    case MG_QUEUE_OF_OTHERS:
        break;
    }
    return -1;
}

static void queue_arguments(const struct queue_plan *plan, amqp_table_t *table)
{
    queue_argument_text(table, "x-queue-type", "quorum");
    queue_argument_text(table, "x-overflow", "reject-publish");
    amqp_table_entry_t *bound = &table->entries[table->num_entries++];
    bound->key = amqp_cstring_bytes("x-max-length-bytes");
    bound->value.kind = AMQP_FIELD_KIND_I64;
    bound->value.value.i64 = QUEUE_BYTES_MAX;
    if (!plan->is_dead_end) {
        queue_argument_text(table, "x-dead-letter-exchange", MG_EXCHANGE_DEAD);
        queue_argument_text(table, "x-dead-letter-routing-key", MG_QUEUE_DEAD);
        queue_argument_text(table, "x-dead-letter-strategy", "at-least-once");
    }
    amqp_table_entry_t *entry = &table->entries[table->num_entries++];
    entry->key = amqp_cstring_bytes("x-delivery-limit");
    entry->value.kind = AMQP_FIELD_KIND_I32;
    entry->value.value.i32 = queue_delivery_limit(plan);
    if (plan->is_webhook) {
        amqp_table_entry_t *single = &table->entries[table->num_entries++];
        single->key = amqp_cstring_bytes("x-single-active-consumer");
        single->value.kind = AMQP_FIELD_KIND_BOOLEAN;
        single->value.value.boolean = 1;
    }
}

static enum mg_class run_queue(struct run *run, const struct queue_plan *plan, struct mg_err *err)
{
    amqp_table_entry_t entries[ARGUMENTS_MAX] = {0};
    amqp_table_t arguments = {.num_entries = 0, .entries = entries};
    queue_arguments(plan, &arguments);
    amqp_bytes_t name = amqp_cstring_bytes(plan->name);
    struct mg_err why;
    enum mg_class class = run_answer(
        run, amqp_queue_declare(run->connection, MG_AMQP_CHANNEL, name, 1, 0, 0, 0, amqp_empty_table), &why);
    bool is_there = class == MG_OK;
    if (run_is_hidden(run, "queue", plan->name, class) || run_is_enough(run, "queue", plan->name, is_there)) {
        return MG_OK;
    }
    if (class == MG_STALE && !run->is_making) {
        run_missing(run, "queue", plan->name);
        return MG_OK;
    }
    /* Declaring an existing queue compares the arguments and changes nothing. */
    if (class == MG_OK || class == MG_STALE) {
        class = run_answer(
            run, amqp_queue_declare(run->connection, MG_AMQP_CHANNEL, name, 0, 1, 0, 0, arguments), &why);
    }
    if (class == MG_OK && run->is_making && plan->exchange != NULL) {
        class = run_answer(run,
                           amqp_queue_bind(run->connection, MG_AMQP_CHANNEL, name,
                                           amqp_cstring_bytes(plan->exchange), name, amqp_empty_table),
                           &why);
    }
    if (class == MG_PERMANENT || class == MG_STALE) {
        char remedy[LINE_SIZE], command[MG_APPLY_COMMAND_SIZE];
        mg_topology_apply_command(&plan->name, 1, command);
        (void)snprintf(remedy, sizeof(remedy), "; empty it, delete it, run: %s", command);
        run_refused(run, "queue", plan->name, why.text, remedy);
        return MG_OK;
    }
    if (class != MG_OK) {
        *err = why;
        return mg_err_prefix(err, "could not declare queue %s", plan->name);
    }
    run_report(run, "queue", plan->name, is_there ? "found" : "made");
    return MG_OK;
}

/* The answer to a binding: a refusal is a problem of the exchange, and the run goes on. */
static enum mg_class run_bound(struct run *run, const char *exchange, const char *what, const void *answer,
                               struct mg_err *err)
{
    struct mg_err why;
    enum mg_class class = run_answer(run, answer, &why);
    if (class == MG_PERMANENT || class == MG_STALE) {
        run_problem(run, "exchange", exchange, why.text);
        return MG_OK;
    }
    if (class != MG_OK) {
        *err = why;
        return mg_err_prefix(err, "could not bind %s to exchange %s", what, exchange);
    }
    return MG_OK;
}

static enum mg_class run_key_binding(struct run *run, const char *exchange, const char *queue,
                                     const char *key, struct mg_err *err)
{
    if (!run->is_making) {
        return MG_OK;
    }
    return run_bound(run, exchange, queue,
                     amqp_queue_bind(run->connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(queue),
                                     amqp_cstring_bytes(exchange), amqp_cstring_bytes(key), amqp_empty_table),
                     err);
}

static enum mg_class run_binding(struct run *run, const char *exchange, const char *queue, struct mg_err *err)
{
    return run_key_binding(run, exchange, queue, queue, err);
}

static enum mg_class run_signal_binding(struct run *run, const char *exchange, const char *key,
                                        struct mg_err *err)
{
    return run_key_binding(run, exchange, MG_QUEUE_SIGNALS, key, err);
}

static enum mg_class run_control_binding(struct run *run, const char *exchange, const char *service,
                                         struct mg_err *err)
{
    if (!run->is_making) {
        return MG_OK;
    }
    return run_bound(run, exchange, MG_EXCHANGE_CONTROL,
                     amqp_exchange_bind(run->connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(exchange),
                                        amqp_cstring_bytes(MG_EXCHANGE_CONTROL), amqp_cstring_bytes(service),
                                        amqp_empty_table),
                     err);
}

/* ---- reading the queues of services ---- */

/* MG_STALE: there is no such queue. */
static enum mg_class queue_ask(struct run *run, const char *queue, struct mg_service_queues *ret,
                               struct mg_err *err)
{
    const amqp_queue_declare_ok_t *ok = amqp_queue_declare(
        run->connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(queue), 1, 0, 0, 0, amqp_empty_table);
    if (ok != NULL) { /* read first: the answer's memory is freed next */
        *ret = (struct mg_service_queues){.ready = ok->message_count, .consumers = ok->consumer_count};
    }
    return run_answer(run, ok, err);
}

static enum mg_class service_ask(struct run *run, const char *service, struct mg_service_queues *ret,
                                 struct mg_err *err)
{
    *ret = (struct mg_service_queues){.consumers = INT64_MAX};
    for (int high = 0; high < 2; high++) {
        char queue[MG_QUEUE_NAME_SIZE];
        struct mg_service_queues one = {.consumers = -1};
        mg_topology_request_queue(service, high == 1, queue);
        enum mg_class class = queue_ask(run, queue, &one, err);
        if (class != MG_OK && class != MG_STALE) {
            return mg_err_prefix(err, "could not look at queue %s", queue);
        }
        ret->ready += one.ready;
        if (one.consumers < ret->consumers) {
            ret->consumers = one.consumers;
        }
    }
    return MG_OK;
}

enum mg_class mg_topology_ask_services(const struct mg_broker_address *address, const char *const *services,
                                       int count, struct mg_service_queues *ret_queues, struct mg_err *err)
{
    struct run run = {.code = 0};
    enum mg_class class = mg_amqp_connect(address, "makegood broker", &run.connection, NULL, err);
    if (class != MG_OK) {
        return class;
    }
    for (int i = 0; i < count && class == MG_OK; i++) {
        class = service_ask(&run, services[i], &ret_queues[i], err);
    }
    if (class == MG_OK) {
        (void)amqp_connection_close(run.connection, AMQP_REPLY_SUCCESS);
    }
    mg_amqp_destroy(run.connection);
    return class;
}

enum mg_class mg_topology_ask_queue(const struct mg_broker_address *address, const char *queue,
                                    struct mg_service_queues *ret_queue, struct mg_err *err)
{
    struct run run = {.code = 0};
    *ret_queue = (struct mg_service_queues){.consumers = -1};
    enum mg_class class = mg_amqp_connect(address, "makegood broker", &run.connection, NULL, err);
    if (class != MG_OK) {
        return class;
    }
    class = queue_ask(&run, queue, ret_queue, err);
    if (class == MG_OK) {
        (void)amqp_connection_close(run.connection, AMQP_REPLY_SUCCESS);
    }
    mg_amqp_destroy(run.connection);
    return class == MG_STALE ? MG_OK : class;
}
