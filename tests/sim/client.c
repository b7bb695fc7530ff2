/*
 * Clients and an operator. Clients post an order until they get an answer, and post some twice and some
 * wrong. The operator sends commands at random.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "broker.h"
#include "checker.h"
#include "io/amqp/topology.h"
#include "nodes.h"
#include "orders.h"
#include "remote.h"
#include "store_tables.h"
#include "wire/command.h"
#include "wire/status.h"

#define PATIENCE_MIN_US 10000000 /* a client without an answer posts again after this time */
#define PATIENCE_MAX_US 20000000
#define GONE_MAX_US     30000000
#define SPAN_MIN_US     5000000 /* the orders of a run are posted within this time */
#define SPAN_MAX_US     40000000
/* As long as the single fault of the run may last, so that some orders are always open then. */
#define ALONE_SPAN_US 110000000

/* In a script. */
#define FIRST_POST_US   300000 /* by then all nodes run */
#define POST_SPACING_US 20000
#define FIRST_TURN_US   340000 /* the first request is on its way */
#define TURN_US         1000000
#define WORDS_MAX       3 /* no operator can repair a refusal that the service keeps */

#define FIRST         "first"
#define OTHER         "other"
#define FOREIGN_QUEUE "client.foreign.first"

static void queue_name(int client, const char *which, char ret_name[32])
{
    (void)snprintf(ret_name, 32, "client.c%d.%s", client, which);
}

static struct {
    struct sim_table orders; /* struct sim_submitted */
    int unanswered, expected, command_number;
    int turn;  /* the script's current turn */
    int words; /* commands sent in this turn */
} clients;

struct sim_submitted *sim_submitted_find(struct mg_slice order_id)
{
    struct sim_entry *entry = order_id.data != NULL ? sim_table_find(&clients.orders, order_id) : NULL;
    return entry != NULL ? entry->value : NULL;
}

int sim_submitted_count(void)
{
    return (int)clients.orders.count;
}

struct sim_submitted *sim_submitted_at(int index)
{
    return clients.orders.entries[index]->value;
}

int64_t sim_owed_for_ms(void)
{
    /* Longer than any absence of a living client, shorter than a run; a clock jump may be an hour. */
    return sim_may_happen(SIM_STORE_CLOCK_JUMP) ? INT64_C(86400000) : INT64_C(300000);
}

bool sim_clients_are_done(void)
{
    bool has_turns = sim_script() != NULL && clients.turn < sim_script()->turn_count;
    return clients.unanswered == 0 && sim_submitted_count() == clients.expected && !has_turns;
}

/* ---- statuses that clients receive ---- */

/* A processed order of a workflow with OUTPUT (definitions.c) gives back its own values. */
static void output_check(const struct sim_submitted *order, const struct mg_status_message *status)
{
    const char *name = order->workflow >= 0 ? sim_workflow_name(order->workflow) : "";
    bool has_output = strcmp(name, "line") == 0 || strcmp(name, "fan") == 0;
    struct mg_slice n = mg_json_find(mg_slice_of(order->body), "/payload/n");
    struct mg_slice output = status->output;
    char of[128];
    (void)snprintf(of, sizeof(of), "\"%s\"", order->order_id);
    bool is_own = has_output ? mg_slice_is(mg_json_find(output, "/of"), of) &&
                                   (order->is_repeated || mg_slice_equal(mg_json_find(output, "/n"), n))
                             : output.data == NULL;
    if (status->status == MG_STATUS_PROCESSED && !is_own) {
        sim_violated("statuses", "order %s of workflow %s gave back %.*s", order->order_id, name,
                     (int)output.len, output.data != NULL ? output.data : "");
    }
}

static void on_status(const struct sim_queue *queue, const struct sim_message *message)
{
    struct mg_status_message status;
    struct mg_err err;
    if (!mg_slice_is(message->type, "status")) {
        return;
    }
    if (mg_status_parse(message->body, &status, &err) != MG_OK) {
        sim_violated("statuses", "a status in %s cannot be read: %s", queue->name, err.text);
    }
    struct sim_submitted *order = sim_submitted_find(mg_slice_of(status.order_id));
    if (order == NULL) {
        return; /* about a submission that names no order */
    }
    if (!order->is_answered) {
        order->is_answered = true;
        clients.unanswered--;
    }
    bool is_rejected = status.status == MG_STATUS_REJECTED && status.seq == 0;
    order->is_refused = order->is_refused || is_rejected;
    if (is_rejected) {
        sim_check_refusal(order, &status);
    }
    if (status.seq == 0) {
        return;
    }
    output_check(order, &status);
    sim_check_cause(order, &status);
    order->seen |= UINT64_C(1) << (status.seq & 63);
    if (status.seq < SIM_SENT_MAX && order->sent[status.seq].data == NULL) {
        order->sent[status.seq] = sim_text(message->body);
    } else if (status.seq < SIM_SENT_MAX && !mg_slice_equal(order->sent[status.seq], message->body)) {
        order->sent_otherwise = status.seq;
    }
}

/* A client that repeats another client's submission gets a refusal that the id is taken, and nothing else.
 * After a failover lost the order, the repetition may have created its own. */
bool sim_is_foreign(struct mg_slice reply_to)
{
    return mg_slice_is(reply_to, FOREIGN_QUEUE);
}

static void on_foreign(const struct sim_queue *queue, const struct sim_message *message)
{
    struct mg_status_message status;
    struct mg_err err;
    if (mg_status_parse(message->body, &status, &err) != MG_OK) {
        sim_violated("statuses", "a status in %s cannot be read: %s", queue->name, err.text);
    }
    const struct sim_submitted *order = sim_submitted_find(mg_slice_of(status.order_id));
    bool is_conflict = status.status == MG_STATUS_REJECTED && status.seq == 0 &&
                       strncmp(status.reason, "conflict", strlen("conflict")) == 0;
    if (!is_conflict && (order == NULL || !order->is_tail_lost)) {
        sim_violated("own_client", "another client got a status of %s: %.*s", status.order_id,
                     (int)message->body.len, message->body.data);
    }
}

static void on_nothing(const struct sim_queue *queue, const struct sim_message *message)
{
    (void)queue, (void)message;
}

/* ---- submissions ---- */

static void on_back(void *arg)
{
    ((struct sim_queue *)arg)->exists = true;
}

/* False: the outcome of the post is unknown. */
static bool post(const struct mg_message *message, const char *app_id)
{
    if (sim_broker_is_down() || sim_broker_blocked_until_us() > sim_now_us() ||
        sim_happens(SIM_BROKER_LOST_PUBLISH)) {
        return false;
    }
    enum sim_taken taken = sim_broker_take(sim_message_create(message, mg_slice_of(app_id)));
    return taken == SIM_TAKEN && !sim_happens(SIM_BROKER_LOST_CONFIRM);
}

static void submit(struct sim_submitted *order, const char *reply_to)
{
    struct mg_message message = {.exchange = order->exchange,
                                 .routing_key = order->is_high ? MG_QUEUE_INTAKE_HIGH : MG_QUEUE_INTAKE,
                                 .type = "submission",
                                 .message_id = order->message_id,
                                 .correlation_id = order->order_id,
                                 .reply_to = reply_to,
                                 .body = mg_slice_of(order->body)};
    order->submissions++;
    order->moved_us = order->submissions == 1 ? sim_now_us() : order->moved_us;
    (void)post(&message, order->has_app_id ? "client" : NULL);
}

static void queue_goes(const char *name)
{
    struct sim_queue *queue = sim_queue_find(mg_slice_of(name));
    if (queue->exists && !sim_queue_takes_nothing(queue) && sim_happens(SIM_CLIENT_GONE)) {
        queue->exists = false;
        sim_after(NULL, sim_draw_between(100000, GONE_MAX_US), on_back, queue);
    }
}

/* A client that gets no status looks for its order in the database, or for its refusal in orders.rejected.
 * The refusal counts only after healing: no later start of a scheduler reloads a workflow that a failover
 * lost. */
static bool has_seen(const struct sim_submitted *order)
{
    struct sim_stored stored;
    return sim_store_find(order->order_id, &stored) || (sim_is_healed() && sim_check_is_rejected(order));
}

/* Posts until there is an answer of any kind. */
static void keep_posting(void *arg)
{
    struct sim_submitted *order = arg;
    struct sim_stored stored;
    if (order->is_unheard && !order->is_answered && has_seen(order)) {
        order->is_answered = true;
        order->is_refused = !sim_store_find(order->order_id, &stored);
        clients.unanswered--;
    }
    if (!order->is_answered) {
        if (!order->is_unheard) {
            queue_goes(order->queue);
        }
        submit(order, order->queue);
        sim_after(NULL, sim_draw_between(PATIENCE_MIN_US, PATIENCE_MAX_US), keep_posting, order);
    }
}

static void post_again(void *arg)
{
    struct sim_submitted *order = arg;
    char other[32];
    int client = order->is_proved ? order->client : (int)sim_draw(SIM_CLIENTS);
    queue_name(client, OTHER, other);
    submit(order, sim_draw(2) == 0 ? order->queue : other);
}

/* Another client's repetition, through its own exchange or one that all share. */
static void post_foreign(void *arg)
{
    const struct sim_submitted *order = arg;
    struct sim_stored stored;
    if (!sim_store_find(order->order_id, &stored) || order->has_app_id) {
        return; /* not yet there; or with an id that the other client would not derive */
    }
    bool is_shared = order->is_proved && sim_draw(2) == 0;
    struct mg_message message = {.exchange = is_shared ? MG_EXCHANGE_INTAKE : MG_INTAKE_PREFIX "foreign",
                                 .routing_key = MG_QUEUE_INTAKE,
                                 .type = "submission",
                                 .message_id = order->message_id,
                                 .correlation_id = order->order_id,
                                 .reply_to = FOREIGN_QUEUE,
                                 .body = mg_slice_of(order->body)};
    (void)post(&message, NULL);
}

/* Sent once the first is surely stored: otherwise the repetition might create the order. */
static void post_other(void *arg)
{
    const struct sim_submitted *order = arg;
    struct sim_stored stored;
    char message_id[sizeof(order->order_id) + 16];
    if (!sim_store_find(order->order_id, &stored)) {
        return;
    }
    (void)snprintf(message_id, sizeof(message_id), "conflict-%s", order->order_id);
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"order_id\":\"%s\",\"workflow\":\"line\",\"payload\":{\"n\":0}}",
                   order->order_id);
    struct mg_message message = {.exchange = MG_EXCHANGE_INTAKE,
                                 .routing_key = MG_QUEUE_INTAKE,
                                 .type = "submission",
                                 .message_id = message_id,
                                 .body = mg_slice_of(body)};
    (void)post(&message, NULL);
}

static void post_garbage(void)
{
    static const char *const GARBAGE[] = {"", "{", "[]", "{\"workflow\":7}",
                                          "{\"workflow\":\"line\",\"payload\":{\"n\":\xff}}"};
    char message_id[48];
    (void)snprintf(message_id, sizeof(message_id), "garbage-%llu", (unsigned long long)sim_draw(UINT32_MAX));
    struct mg_message message = {.exchange = MG_EXCHANGE_INTAKE,
                                 .routing_key = MG_QUEUE_INTAKE,
                                 .type = "submission",
                                 .message_id = message_id,
                                 .body = mg_slice_of(GARBAGE[sim_draw(5)])};
    (void)post(&message, "client");
}

static int workflow_draw(int number)
{
    const struct sim_script *script = sim_script();
    if (script == NULL) {
        int first = sim_is_rough_run() && sim_draw(2) == 0 ? sim_rough_workflows() : 0;
        return first + (int)sim_draw((uint64_t)(sim_workflow_count() - first));
    }
    int index = 0;
    while (strcmp(sim_workflow_name(index), script->workflows[number]) != 0) {
        index++;
    }
    return index;
}

/* One client in three posts through an exchange of its own. */
static void client_draw(struct sim_submitted *order)
{
    order->client = (int)sim_draw(SIM_CLIENTS);
    order->is_proved = order->number % 3 == 1;
    queue_name(order->client, FIRST, order->queue);
    if (order->is_proved) {
        (void)snprintf(order->exchange, sizeof(order->exchange), MG_INTAKE_PREFIX "c%d", order->client);
    } else if (order->number % 3 == 2) {
        (void)snprintf(order->exchange, sizeof(order->exchange), MG_EXCHANGE_INTAKE);
    }
}

#define DAWN_MS 9000 /* from the making of an order to the moment that it waits for */

static int64_t later_us(void)
{
    return sim_script() != NULL ? TURN_US : sim_draw_between(0, 20000000);
}

static void order_make(int number)
{
    struct sim_submitted *order = calloc(1, sizeof(*order));
    assert(order != NULL);
    order->number = number;
    order->is_high = sim_draw(8) == 0;
    order->has_app_id = sim_draw(8) == 0; /* its id is derived from sender and message */
    order->workflow = sim_happens(SIM_CLIENT_UNKNOWN) ? -1 : workflow_draw(number);
    client_draw(order);
    order->is_unheard = order->workflow >= 0 && !order->is_proved && sim_happens(SIM_CLIENT_DEAD);
    if (order->is_unheard) {
        (void)snprintf(order->queue, sizeof(order->queue), SIM_DEAD_QUEUE);
    }
    (void)snprintf(order->message_id, sizeof(order->message_id), "order-%d", number);
    char id[96] = "", more[128] = "", body[512];
    if (order->workflow >= 0 && sim_workflow_branches(sim_workflow_name(order->workflow))) {
        sim_choice_draw(number, &order->choice);
        sim_choice_write(&order->choice, more, sizeof(more));
    }
    if (order->workflow >= 0 && strcmp(sim_workflow_name(order->workflow), "rest") == 0) {
        char at[MG_TIME_TEXT_SIZE];
        mg_time_format(sim_true_ms() + DAWN_MS, at); /* for an order that is posted late, it has passed */
        (void)snprintf(more, sizeof(more), ",\"dawn\":\"%s\"", at);
    }
    if (order->has_app_id) {
        char user[32] = "client";
        if (order->is_proved) {
            (void)snprintf(user, sizeof(user), "client-c%d", order->client);
        }
        mg_uuid_derived(mg_slice_of(user), mg_slice_of(order->message_id), order->order_id);
    } else {
        (void)snprintf(order->order_id, sizeof(order->order_id), "o%d", number);
        (void)snprintf(id, sizeof(id), "\"order_id\":\"%s\",", order->order_id);
    }
    bool is_short = sim_draw(8) == 0 && sim_script() == NULL && !sim_is_alone();
    const char *within = is_short ? ",\"complete_within\":\"10s\"" : "";
    (void)snprintf(body, sizeof(body),
                   "{%s\"workflow\":\"%s\"%s%s%s, \"payload\": {\"n\": %d.50, \"who\":\"\\u00e9\"%s} }", id,
                   order->workflow < 0 ? "nobody" : sim_workflow_name(order->workflow),
                   order->is_high ? ",\"priority\":\"high\"" : "",
                   sim_draw(2) == 0 ? ",\"notify\":\"steps\"" : "", within, number, more);
    order->body = strdup(body);
    sim_table_put(&clients.orders, mg_slice_of(order->order_id))->value = order;
    clients.unanswered++;
    if (order->workflow >= 0 && strcmp(sim_workflow_name(order->workflow), "approve") == 0) {
        sim_signals_start(order);
    }
    keep_posting(order);
    if (sim_happens(SIM_CLIENT_TWICE)) {
        sim_after(NULL, later_us(), post_again, order);
    }
    if (sim_happens(SIM_CLIENT_CONFLICT)) {
        sim_after(NULL, later_us(), post_other, order);
    }
    if (sim_happens(SIM_CLIENT_FOREIGN)) {
        sim_after(NULL, later_us(), post_foreign, order);
    }
    if (sim_happens(SIM_CLIENT_GARBAGE)) {
        post_garbage();
    }
}

static void on_next(void *arg)
{
    order_make((int)(intptr_t)arg);
}

/* ---- the operator ---- */

/* The operator settles only work that can change no more, with its true outcome and its true result. */
static bool settle_truly(const struct mg_order_record *record, int step, struct mg_command *command)
{
    static char result[SIM_ANSWER_SIZE]; /* until the command is written */
    struct mg_slice order_id = mg_slice_of(record->order_id);
    bool has_acted = false;
    for (size_t i = 0; i < sim_ledger()->count; i++) {
        const struct sim_work *work = sim_ledger()->entries[i]->value;
        if (mg_slice_is(order_id, work->order_id) && strcmp(work->step, record->step_names[step]) == 0) {
            if (work->pending > 0 || work->undo == SIM_UNDO_IN_HAND) {
                return false;
            }
            if (work->is_effective) {
                has_acted = true;
                sim_answer_write(work, result);
                command->result = mg_slice_of(result);
            }
        }
    }
    command->outcome = has_acted ? MG_OUTCOME_DONE : MG_OUTCOME_ABSENT;
    return record->order.state == MG_ORDER_ERROR &&
           record->order.steps[step].complete_by_ms + 10000 < sim_store_now_ms();
}

static bool command_make(const struct sim_stored *stored, enum mg_cause_kind kind, int step,
                         struct mg_command *command)
{
    const struct mg_order_record *record = stored->record;
    command->kind = kind;
    command->version = sim_draw(4) == 0 ? record->order.version - 1 : record->order.version;
    (void)snprintf(command->order_id, sizeof(command->order_id), "%s", record->order_id);
    (void)snprintf(command->by, sizeof(command->by), "operator");
    (void)snprintf(command->reason, sizeof(command->reason), "because");
    char name[32];
    (void)snprintf(name, sizeof(name), "command-%d", ++clients.command_number);
    mg_uuid_derived(mg_slice_of("operator"), mg_slice_of(name), command->command_id);
    if (sim_is_rough_run() && command->kind == MG_CAUSE_RESUME && step >= 0 &&
        record->step_names[step] != NULL && sim_draw(2) == 0) {
        command->is_repeat = true;
        (void)snprintf(command->step, sizeof(command->step), "%s", record->step_names[step]);
        sim_submitted_find(mg_slice_of(record->order_id))->may_repeat |= UINT64_C(1) << step;
    }
    if (command->kind != MG_CAUSE_SETTLE && command->kind != MG_CAUSE_SKIP) {
        sim_submitted_find(mg_slice_of(record->order_id))->is_repeated = true;
        return true;
    }
    if (record->step_names[step] == NULL) {
        return false;
    }
    (void)snprintf(command->step, sizeof(command->step), "%s", record->step_names[step]);
    if (command->kind == MG_CAUSE_SETTLE && !settle_truly(record, step, command)) {
        return false;
    }
    /* A settle is true. In rough runs the ledger judges its order, too. */
    sim_submitted_find(mg_slice_of(record->order_id))->is_operated |=
        command->kind == MG_CAUSE_SKIP || !sim_is_rough_run();
    return true;
}

static void command_post(const struct mg_command *command)
{
    struct mg_buf body;
    mg_buf_init(&body, 4096);
    mg_command_write(command, &body);
    assert(!body.failed);
    sim_check_told(command->order_id, command->step, command->result);
    struct mg_message message = {.exchange = MG_EXCHANGE_COMMANDS,
                                 .routing_key = MG_QUEUE_COMMANDS,
                                 .type = "command",
                                 .message_id = command->command_id,
                                 .reply_to = "client.c0.first",
                                 .body = mg_buf_slice(&body)};
    sim_trace("operator: %s %s %s", mg_cause_name(command->kind), command->order_id, command->step);
    (void)post(&message, NULL);
    mg_buf_finish(&body);
}

void sim_operator_command(const struct sim_stored *stored, enum mg_cause_kind kind, int step)
{
    struct mg_command command = {.kind = kind};
    if (command_make(stored, kind, step, &command)) {
        command_post(&command);
    }
}

static void on_operator(void *arg)
{
    (void)arg;
    static const enum mg_cause_kind KINDS[] = {MG_CAUSE_CANCEL, MG_CAUSE_RESUME,     MG_CAUSE_RESTART,
                                               MG_CAUSE_SETTLE, MG_CAUSE_COMPENSATE, MG_CAUSE_SKIP};
    struct sim_stored stored;
    struct mg_command command = {.kind = MG_CAUSE_CANCEL};
    if (sim_store_order_count() > 0) {
        sim_store_order_at((int)sim_draw((uint64_t)sim_store_order_count()), &stored);
        int steps = stored.record->order.step_count; /* with a row: an order in line has none */
        int step = steps > 0 ? (int)sim_draw((uint64_t)steps) : 0;
        enum mg_cause_kind kind = KINDS[sim_draw(sizeof(KINDS) / sizeof(KINDS[0]))];
        if (command_make(&stored, kind, step, &command)) {
            sim_happened(SIM_OPERATOR);
            command_post(&command);
            if (sim_draw(4) == 0) { /* a double click */
                command_post(&command);
            }
        }
    }
}

/* A script's command may be lost or come too early, so it is repeated until the order's state changes. */
static void on_turn(void *arg)
{
    const struct sim_script *script = arg;
    const struct sim_turn *turn = &script->turns[clients.turn];
    struct sim_stored stored;
    struct mg_command command = {.kind = turn->kind};
    bool is_refused = sim_submitted_count() > 0 && sim_submitted_at(0)->workflow < 0;
    if (is_refused) {
        clients.turn = script->turn_count;
    } else if (sim_submitted_count() > 0 && sim_store_find(sim_submitted_at(0)->order_id, &stored)) {
        const struct mg_order *order = &stored.record->order;
        enum mg_order_state state = order->state;
        int step = 0;
        while (step + 1 < order->step_count && order->steps[step].state != MG_STEP_FAILED) {
            step++;
        }
        if (state == turn->while_it_is && clients.words < WORDS_MAX &&
            command_make(&stored, turn->kind, step, &command)) {
            clients.words++;
            command_post(&command);
        } else if (clients.words > 0 || mg_order_state_is_terminal(state)) {
            clients.words = 0;
            clients.turn++;
        }
    }
    if (clients.turn < script->turn_count) {
        sim_after(NULL, TURN_US, on_turn, arg);
    }
}

static void script_start(const struct sim_script *script)
{
    clients.expected = 0;
    while (script->workflows[clients.expected] != NULL) {
        int number = clients.expected++;
        sim_after(NULL, FIRST_POST_US + number * POST_SPACING_US, on_next, (void *)(intptr_t)number);
    }
    if (script->turn_count > 0) {
        sim_after(NULL, FIRST_TURN_US, on_turn, (void *)(uintptr_t)script);
    }
}

void sim_clients_heal(void)
{
    for (int i = 0; i < 2 * SIM_CLIENTS; i++) {
        char name[32];
        queue_name(i / 2, i % 2 == 0 ? FIRST : OTHER, name);
        sim_queue_find(mg_slice_of(name))->exists = true;
    }
}

void sim_clients_start(int orders)
{
    for (int i = 0; i < 2 * SIM_CLIENTS; i++) {
        char name[32];
        queue_name(i / 2, i % 2 == 0 ? FIRST : OTHER, name);
        sim_queue_declare(name)->read = on_status;
    }
    sim_queue_declare(FOREIGN_QUEUE)->read = on_foreign;
    sim_queue_find(mg_slice_of(MG_QUEUE_ALERTS))->read = on_nothing;
    sim_queue_find(mg_slice_of(MG_QUEUE_REJECTED))->read = on_nothing;
    if (sim_script() != NULL) {
        script_start(sim_script());
        return;
    }
    clients.expected = orders;
    bool is_long = sim_is_alone() && !sim_is_full_run(); /* there the load is the fault */
    int64_t span_us = is_long ? ALONE_SPAN_US : sim_draw_between(SPAN_MIN_US, SPAN_MAX_US);
    for (int i = 0; i < orders; i++) {
        sim_after(NULL, sim_draw_between(0, span_us), on_next, (void *)(intptr_t)i);
    }
    sim_every(SIM_OPERATOR, on_operator);
}
