/*
 * The topology made and checked in a real RabbitMQ, and dead letters walked through and looked at. It makes
 * Makegood's own queues, as in every installation, and those of one service of the test's own.
 */
#include <stdio.h>
#include <string.h>

#include "../unit/suite.h"
#include "broker_fixture.h"
#include "io/amqp/connection.h"
#include "io/amqp/topology.h"

static struct fixture fixture;
static char service[64], requests[MG_QUEUE_NAME_SIZE], requests_high[MG_QUEUE_NAME_SIZE];
static int line_count, made_count;

#define DEAD_BODY "{\"dead\":true}"

static void on_line(void *arg, const char *line)
{
    (void)arg;
    line_count++;
    if (strstr(line, ": made") != NULL) {
        made_count++;
    }
}

static enum mg_class check(const struct mg_topology_names *names, struct mg_err *err)
{
    bool is_compared;
    enum mg_class class = mg_topology_check(test_address(), names, on_line, NULL, &is_compared, err);
    ck_assert(is_compared);
    return class;
}

static void apply(void)
{
    struct mg_err err;
    const char *services[] = {service};
    const struct mg_topology_names names = {.services = services, .service_count = 1};
    line_count = made_count = 0;
    ck_assert_msg(mg_topology_apply(test_address(), &names, on_line, NULL, &err) == MG_OK, "%s", err.text);
}

static void setup(void)
{
    test_queue_name("topology", service);
    mg_topology_request_queue(service, false, requests);
    mg_topology_request_queue(service, true, requests_high);
    apply();
    fixture_init(&fixture, test_amqp_url());
    fixture.options.consumers[0] = (struct mg_consumer){.queue = requests, .prefetch = 10};
    fixture.options.consumer_count = 1;
}

static void teardown(void)
{
    fixture_finish(&fixture);
    test_queue_delete(requests);
    test_queue_delete(requests_high);
}

static int wanted;

static bool has_deliveries(const struct fixture *f)
{
    return f->delivery_count >= wanted;
}

static bool wait_deliveries(int count)
{
    wanted = count;
    return fixture_run(&fixture, has_deliveries, WAIT_MS);
}

/* Would catch: a publisher that writes the mark of a redelivery into its message, and is believed. */
START_TEST(mark_of_coming_again_counts_only_where_it_is_believed)
{
    struct mg_message message = {.exchange = "amq.direct",
                                 .routing_key = requests,
                                 .type = "submission",
                                 .is_again = true,
                                 .body = mg_slice_of("{}")};
    test_queue_bind(requests, "amq.direct");
    fixture_start(&fixture);
    fixture_publish_message(&fixture, &message);
    ck_assert(wait_deliveries(1));
    ck_assert(!fixture.deliveries[0]->is_redelivered);
    message.exchange = "";
    fixture_publish_message(&fixture, &message);
    ck_assert(wait_deliveries(2));
    ck_assert(fixture.deliveries[1]->is_redelivered);
    mg_broker_requeue(fixture.broker, fixture.deliveries[0]);
    ck_assert(wait_deliveries(3));
    ck_assert(fixture.deliveries[2]->is_redelivered); /* here the broker itself sets the flag */
    for (int i = 1; i < 3; i++) {
        mg_broker_ack(fixture.broker, fixture.deliveries[i]);
    }
}
END_TEST

/* Would catch: an apply that changes or breaks existing queues; a check that makes something or overlooks a
 * missing queue. */
START_TEST(apply_is_idempotent_and_check_names_what_is_missing)
{
    apply();
    ck_assert_int_eq(made_count, 0);
    ck_assert_int_eq(line_count, 10 + 8 + 4);
    struct mg_err err;
    const char *services[] = {service, "test-nobody-serves-this"};
    struct mg_topology_names names = {.services = services, .service_count = 1};
    ck_assert_int_eq(check(&names, &err), MG_OK);
    names.service_count = 2;
    ck_assert_int_eq(check(&names, &err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, "agent.test-nobody-serves-this.requests"));
    ck_assert_int_eq(test_queue_ready("agent.test-nobody-serves-this.requests"), -1);
}
END_TEST

static bool has_three_outcomes(const struct fixture *f)
{
    return fixture_outcome_count(f) >= 3;
}

/* Would catch: a client that sends a signal which nobody allowed it, and a second apply that takes the first
 * one's names away. */
START_TEST(client_sends_only_the_signals_that_it_is_given)
{
    struct mg_err err;
    char client[64], exchange[MG_QUEUE_NAME_SIZE], statuses[MG_QUEUE_NAME_SIZE];
    test_queue_name("signaller", client);
    mg_topology_signal_exchange(client, exchange);
    (void)snprintf(statuses, sizeof(statuses), "client.%s.statuses", client);
    const char *clients[] = {client}, *first[] = {"paid"}, *second[] = {"approved"};
    struct mg_topology_names names = {
        .clients = clients, .client_count = 1, .signals = first, .signal_count = 1};
    ck_assert_msg(mg_topology_apply(test_address(), &names, on_line, NULL, &err) == MG_OK, "%s", err.text);
    names.signals = second;
    ck_assert_msg(mg_topology_apply(test_address(), &names, on_line, NULL, &err) == MG_OK, "%s", err.text);
    fixture.options.consumers[1] = (struct mg_consumer){.queue = MG_QUEUE_SIGNALS, .prefetch = 10};
    fixture.options.consumer_count = 2;
    fixture.acks_at_once = true;
    fixture_start(&fixture);
    static const char *const KEYS[] = {"paid", "approved", "refunded"};
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        const struct mg_message message = {
            .exchange = exchange, .routing_key = KEYS[i], .type = "command", .body = mg_slice_of("{}")};
        fixture_publish_message(&fixture, &message);
    }
    ck_assert(fixture_run(&fixture, has_three_outcomes, WAIT_MS));
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_CONFIRMED], 2);
    ck_assert_int_eq(fixture.outcomes[MG_PUBLISH_RETURNED], 1);
    ck_assert(wait_deliveries(2));
    test_queue_delete(statuses);
}
END_TEST

static void assert_command(const char *name, const char *right)
{
    char command[MG_APPLY_COMMAND_SIZE];
    mg_topology_apply_command(&name, 1, command);
    ck_assert_str_eq(command, right);
}

/* Would catch: a missing queue that is still missing after the printed advice was followed. */
START_TEST(advice_is_a_whole_command)
{
    assert_command("orders.intake", "makegood broker apply");
    assert_command("agent.parcels.requests", "makegood broker apply --service parcels");
    assert_command("agent.a-b.requests.high", "makegood broker apply --service a-b");
    assert_command("makegood.replies.parcels", "makegood broker apply --service parcels");
    assert_command("makegood.control.parcels", "makegood broker apply --service parcels");
    assert_command("makegood.intake.shop", "makegood broker apply --client shop");
    assert_command("makegood.signals.shop", "makegood broker apply --client shop");
    assert_command("makegood.callbacks", "makegood broker apply");
    assert_command("client.shop.statuses", "makegood broker apply --client shop");
    assert_command("client.shop.webhook", "makegood broker apply --client shop --webhook");
    assert_command("makegood.intake.", "makegood broker apply");
    assert_command("agent..requests", "makegood broker apply");
    char command[MG_APPLY_COMMAND_SIZE];
    const char *const names[] = {"agent.payment.requests", "agent.payment.requests.high",
                                 "agent.pay.requests", "client.shop.statuses"};
    mg_topology_apply_command(names, 4, command);
    ck_assert_str_eq(command, "makegood broker apply --service payment --service pay --client shop");
    mg_topology_apply_command_for(mg_slice_of("NOT_FOUND - no queue 'agent.parcels.requests' in vhost '/'"),
                                  command);
    ck_assert_str_eq(command, "makegood broker apply --service parcels");
    mg_topology_apply_command_for(mg_slice_of("NOT_FOUND - no 'quote"), command);
    ck_assert_str_eq(command, "makegood broker apply");
    char longest[MG_QUEUE_NAME_SIZE], many_names[8][MG_QUEUE_NAME_SIZE];
    const char *many[8];
    memset(longest, 'x', sizeof(longest));
    for (int i = 0; i < 8; i++) {
        (void)snprintf(many_names[i], sizeof(many_names[i]), "agent.%c%.62s.requests", 'a' + i, longest);
        many[i] = many_names[i];
    }
    mg_topology_apply_command(many, 8, command); /* only whole names */
    ck_assert_int_eq(strlen(command), strlen("makegood broker apply") + 3 * strlen(" --service a") + 3 * 62);
    struct mg_err err;
    const char *services[] = {"test-nobody-serves-this"};
    struct mg_topology_names missing = {.services = services, .service_count = 1};
    ck_assert_int_eq(check(&missing, &err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, "makegood broker apply --service test-nobody-serves-this"));
}
END_TEST

/* Would catch: a service that counts as served although its queue is missing or has no consumer. */
START_TEST(services_are_looked_at)
{
    struct mg_err err;
    struct mg_service_queues queues[3];
    const char *services[] = {"test-nobody-serves-this", service, "test-nor-this"};
    ck_assert_int_eq(mg_topology_ask_services(test_address(), services, 3, queues, &err), MG_OK);
    ck_assert_int_eq(queues[0].consumers, -1);
    ck_assert_int_eq(queues[1].consumers, 0);
    ck_assert_int_eq(queues[2].consumers, -1);
    test_queue_delete(requests_high);
    ck_assert_int_eq(mg_topology_ask_services(test_address(), services, 3, queues, &err), MG_OK);
    ck_assert_int_eq(queues[1].consumers, -1);
    ck_assert_int_eq(queues[1].ready, 0);
}
END_TEST

/* Would catch: a password that goes over a network in plain text. The connect is not even tried: no host has
 * this address. */
START_TEST(plaintext_stays_on_this_machine)
{
    struct mg_err err;
    int count;
    bool is_compared;
    const struct mg_topology_names none = {0};
    const struct mg_broker_address address = {.url = "amqp://guest:guest@192.0.2.1:5672/"};
    ck_assert_int_eq(mg_topology_apply(&address, &none, on_line, NULL, &err), MG_BAD_INPUT);
    ck_assert_int_eq(mg_topology_check(&address, &none, on_line, NULL, &is_compared, &err), MG_BAD_INPUT);
    ck_assert_int_eq(mg_topology_walk(&address, MG_QUEUE_DEAD, 1, NULL, NULL, &count, &err), MG_BAD_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "in plain text"));
}
END_TEST

/* Would catch: a queue that would lose messages and counts as good. */
START_TEST(queue_with_other_arguments_is_named)
{
    test_queue_delete(requests);
    test_queue_declare(requests, 0);
    struct mg_err err;
    const char *services[] = {service};
    const struct mg_topology_names names = {.services = services, .service_count = 1};
    ck_assert_int_eq(mg_topology_apply(test_address(), &names, on_line, NULL, &err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, requests));
    ck_assert_int_eq(check(&names, &err), MG_PERMANENT);
    ck_assert_ptr_nonnull(strstr(err.text, requests));
}
END_TEST

/* Would catch: a queue that grows until the broker's disk alarm stops all publishers. */
START_TEST(queues_are_bounded)
{
    struct mg_err err;
    amqp_connection_state_t connection;
    ck_assert_int_eq(mg_amqp_connect(test_address(), "test", &connection, NULL, &err), MG_OK);
    static const char *const texts[][2] = {{"x-queue-type", "quorum"},
                                           {"x-overflow", "reject-publish"},
                                           {"x-dead-letter-exchange", "makegood.dead"},
                                           {"x-dead-letter-routing-key", "dead.letters"},
                                           {"x-dead-letter-strategy", "at-least-once"}};
    amqp_table_entry_t entries[6] = {0};
    for (size_t i = 0; i < 5; i++) {
        entries[i].key = amqp_cstring_bytes(texts[i][0]);
        entries[i].value.kind = AMQP_FIELD_KIND_UTF8;
        entries[i].value.value.bytes = amqp_cstring_bytes(texts[i][1]);
    }
    entries[5].key =
        amqp_cstring_bytes("x-max-length-bytes"); /* a different bound: the broker names its own */
    entries[5].value.kind = AMQP_FIELD_KIND_I64;
    entries[5].value.value.i64 = 1;
    const amqp_table_t arguments = {.num_entries = 6, .entries = entries};
    int code;
    ck_assert_ptr_null(
        amqp_queue_declare(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(requests), 0, 1, 0, 0, arguments));
    ck_assert_int_eq(mg_amqp_result(amqp_get_rpc_reply(connection), &code, &err), MG_PERMANENT);
    ck_assert_int_eq(code, AMQP_PRECONDITION_FAILED);
    ck_assert_msg(strstr(err.text, "current is '1073741824'") != NULL, "%s", err.text);
    mg_amqp_destroy(connection);
}
END_TEST

START_TEST(unreachable_broker_is_transient)
{
    struct mg_err err;
    const struct mg_broker_address nowhere = {.url = "amqp://guest:guest@127.0.0.1:1/"};
    const struct mg_topology_names names = {0};
    bool is_compared;
    ck_assert_int_eq(mg_topology_check(&nowhere, &names, on_line, NULL, &is_compared, &err), MG_TRANSIENT);
    ck_assert_ptr_nonnull(strstr(err.text, "127.0.0.1:1: nothing takes connections there"));
}
END_TEST

struct picks {
    enum mg_dead_verb verb;
    int found, barred; /* letters that no requeue can move */
    struct fixture *fixture;
};

/* Picks only the dead letters of this test; others may be there and stay. */
static enum mg_dead_verb pick(void *arg, const struct mg_dead_letter *letter)
{
    struct picks *picks = arg;
    if (letter->message_id.data == NULL ||
        strncmp(letter->message_id.data, service, letter->message_id.len) != 0) {
        return MG_DEAD_LIST;
    }
    picks->found++;
    ck_assert(mg_slice_is(letter->queue, requests));
    ck_assert(mg_slice_is(letter->reason, "rejected"));
    ck_assert(mg_slice_is(letter->type, "request"));
    ck_assert(mg_slice_is(letter->correlation_id, "c-9"));
    ck_assert_uint_ge(letter->body.len, strlen(DEAD_BODY));
    ck_assert_mem_eq(letter->body.data, DEAD_BODY, strlen(DEAD_BODY));
    ck_assert_int_gt(letter->died_at_ms, 0);
    if (picks->verb == MG_DEAD_REQUEUE && letter->obstacle != NULL) {
        ck_assert_ptr_nonnull(strstr(letter->obstacle, "its headers fill a frame"));
        picks->barred++;
        return MG_DEAD_LIST;
    }
    return picks->verb;
}

static int barred;

static int walk(enum mg_dead_verb verb)
{
    struct picks picks = {.verb = verb};
    int count;
    struct mg_err err;
    ck_assert_msg(mg_topology_walk(test_address(), MG_QUEUE_DEAD, 10000, pick, &picks, &count, &err) == MG_OK,
                  "%s", err.text);
    ck_assert_int_ge(count, picks.found);
    barred = picks.barred;
    return picks.found;
}

/* Dead-lettering is the broker's own work and takes its time. */
static bool wait_dead(int count)
{
    for (int i = 0; i < 100; i++) {
        if (walk(MG_DEAD_LIST) == count) {
            return true;
        }
        fixture_run_for(&fixture, 50);
    }
    return false;
}

/* Would catch: a rejected message that is lost, that looking removes, that requeueing doubles, or that
 * dropping leaves. */
START_TEST(rejected_message_is_found_requeued_and_dropped)
{
    fixture_start(&fixture);
    const struct mg_message message = {.exchange = MG_EXCHANGE_REQUESTS,
                                       .routing_key = requests,
                                       .message_id = service,
                                       .correlation_id = "c-9",
                                       .type = "request",
                                       .traceparent = "00-ab-cd-01",
                                       .body = mg_slice_of(DEAD_BODY)};
    fixture_publish_message(&fixture, &message);
    ck_assert(wait_deliveries(1));
    ck_assert(!fixture.deliveries[0]->is_redelivered);
    mg_broker_reject(fixture.broker, fixture.deliveries[0]);
    ck_assert(wait_dead(1));
    ck_assert_int_eq(walk(MG_DEAD_LIST), 1);
    for (int i = 0; i < 25; i++) { /* more often than a delivery limit would allow */
        ck_assert_int_eq(walk(MG_DEAD_LIST), 1);
    }

    ck_assert_int_eq(walk(MG_DEAD_REQUEUE), 1);
    ck_assert(wait_deliveries(2));
    ck_assert(fixture.deliveries[1]->is_redelivered);
    ck_assert(mg_slice_is(fixture.deliveries[1]->message_id, service));
    ck_assert(mg_slice_is(fixture.deliveries[1]->traceparent, "00-ab-cd-01"));
    ck_assert(mg_slice_is(fixture.deliveries[1]->body, DEAD_BODY));
    ck_assert(wait_dead(0));

    mg_broker_reject(fixture.broker, fixture.deliveries[1]);
    ck_assert(wait_dead(1));
    ck_assert_int_eq(walk(MG_DEAD_DROP), 1);
    ck_assert_int_eq(walk(MG_DEAD_LIST), 0);
}
END_TEST

/* Would catch: a sender that can speak as another by a name in a header, or after an operator's requeue; a
 * submission that loses its client by the requeue. */
START_TEST(requeued_message_is_still_its_senders)
{
    char client[64], intake[MG_QUEUE_NAME_SIZE + 64], statuses[MG_QUEUE_NAME_SIZE + 64];
    test_queue_name("client", client);
    for (char *dot = strchr(client, '.'); dot != NULL; dot = strchr(dot, '.')) {
        *dot = '-';
    }
    const char *clients[] = {client};
    const struct mg_topology_names names = {.clients = clients, .client_count = 1};
    struct mg_err err;
    ck_assert_int_eq(mg_topology_apply(test_address(), &names, on_line, NULL, &err), MG_OK);
    (void)snprintf(intake, sizeof(intake), "makegood.intake.%s", client);
    (void)snprintf(statuses, sizeof(statuses), "client.%s.statuses", client);
    test_queue_bind(requests, intake);
    fixture_start(&fixture);
    struct mg_message message = {.exchange = intake,
                                 .routing_key = requests,
                                 .message_id = service,
                                 .correlation_id = "c-9",
                                 .type = "request",
                                 .origin = "makegood.intake.victim",
                                 .body = mg_slice_of(DEAD_BODY)};
    fixture_publish_message(&fixture, &message);
    ck_assert(wait_deliveries(1));
    ck_assert(mg_slice_is(fixture.deliveries[0]->exchange, intake));
    for (int i = 0; i < 2; i++) { /* the second time it comes through the default exchange */
        mg_broker_reject(fixture.broker, fixture.deliveries[i]);
        ck_assert(wait_dead(1));
        ck_assert_int_eq(walk(MG_DEAD_REQUEUE), 1);
        ck_assert(wait_deliveries(i + 2));
        ck_assert(mg_slice_is(fixture.deliveries[i + 1]->exchange, intake));
    }
    mg_broker_ack(fixture.broker, fixture.deliveries[2]);
    message.exchange = MG_EXCHANGE_REQUESTS;
    fixture_publish_message(&fixture, &message);
    ck_assert(wait_deliveries(4));
    mg_broker_reject(fixture.broker, fixture.deliveries[3]);
    ck_assert(wait_dead(1));
    ck_assert_int_eq(walk(MG_DEAD_REQUEUE), 1);
    ck_assert(wait_deliveries(5));
    ck_assert(mg_slice_is(fixture.deliveries[4]->exchange, MG_EXCHANGE_REQUESTS));
    mg_broker_ack(fixture.broker, fixture.deliveries[4]);
    test_queue_delete(statuses);
}
END_TEST

/* Publishes a message with a header frame that is `spare` bytes below the largest that the broker takes. */
static void full_publish(size_t spare)
{
    static char fill[MG_AMQP_FRAME_MAX], encoded[MG_AMQP_FRAME_MAX], body[200 * 1024];
    memset(fill, 'x', sizeof(fill));
    memset(body, ' ', sizeof(body)); /* more than one frame */
    memcpy(body, DEAD_BODY, strlen(DEAD_BODY));
    amqp_table_entry_t header = {.key = amqp_cstring_bytes("h"), .value = {.kind = AMQP_FIELD_KIND_UTF8}};
    amqp_basic_properties_t properties = {._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                                                    AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG,
                                          .headers = {.num_entries = 1, .entries = &header},
                                          .message_id = amqp_cstring_bytes(service),
                                          .type = amqp_cstring_bytes("request"),
                                          .correlation_id = amqp_cstring_bytes("c-9")};
    int rest = amqp_encode_properties(AMQP_BASIC_CLASS, &properties,
                                      (amqp_bytes_t){.len = sizeof(encoded), .bytes = encoded});
    ck_assert_int_gt(rest, 0);
    const size_t envelope = 7 + 12 + 1;
    header.value.value.bytes =
        (amqp_bytes_t){.len = MG_AMQP_FRAME_MAX - envelope - (size_t)rest - spare, .bytes = fill};
    struct mg_err err;
    amqp_connection_state_t connection;
    ck_assert_int_eq(mg_amqp_connect(test_address(), "test", &connection, NULL, &err), MG_OK);
    ck_assert_int_eq(amqp_tune_connection(connection, 0, MG_AMQP_FRAME_MAX, 0), AMQP_STATUS_OK);
    ck_assert_ptr_nonnull(amqp_confirm_select(connection, MG_AMQP_CHANNEL));
    ck_assert_int_eq(amqp_basic_publish(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(""),
                                        amqp_cstring_bytes(requests), 1, 0, &properties,
                                        (amqp_bytes_t){.len = sizeof(body), .bytes = body}),
                     AMQP_STATUS_OK);
    amqp_frame_t frame;
    ck_assert_int_eq(amqp_simple_wait_frame(connection, &frame), AMQP_STATUS_OK);
    ck_assert_int_eq(frame.payload.method.id, AMQP_BASIC_ACK_METHOD);
    mg_amqp_destroy(connection);
}

/* Would catch: a message with headers as large as the broker takes, that ends its consumer's connection once
 * the broker has added its own; or that hides all dead letters, or stops their requeue. */
START_TEST(headers_that_fill_a_frame_cost_only_themselves)
{
    const int spares[] = {0, 300};
    fixture_start(&fixture);
    for (int i = 0; i < 2; i++) {
        full_publish((size_t)spares[i]);
        for (int given = 0; given < 3; given++) { /* from the second on the broker adds their count */
            ck_assert(wait_deliveries(4 * i + given + 1));
            ck_assert_int_eq(fixture.deliveries[4 * i + given]->given_count, given);
            if (given < 2) {
                mg_broker_requeue(fixture.broker, fixture.deliveries[4 * i + given]);
            }
        }
        mg_broker_reject(fixture.broker, fixture.deliveries[4 * i + 2]);
        ck_assert(wait_dead(i + 1));
        if (i == 0) {
            fixture_publish(&fixture, requests, "{}"); /* the connection is still the same */
            ck_assert(wait_deliveries(4));
            mg_broker_ack(fixture.broker, fixture.deliveries[3]);
        }
    }
    ck_assert_int_eq(fixture.down_count, 0);
    ck_assert_int_eq(walk(MG_DEAD_REQUEUE), 2);
    ck_assert_int_eq(barred, 1);
    ck_assert(wait_deliveries(8));
    ck_assert(fixture.deliveries[7]->is_redelivered);
    ck_assert_uint_eq(fixture.deliveries[7]->body.len, 200 * 1024);
    mg_broker_ack(fixture.broker, fixture.deliveries[7]);
    ck_assert(wait_dead(1));
    ck_assert_int_eq(walk(MG_DEAD_DROP), 1);
    ck_assert(wait_dead(0));
}
END_TEST

/* ---- a look, at a queue of this test's own ---- */

struct order {
    int numbers[MG_DEAD_LOOK_MAX];
    int count;
};

static void note(void *arg, const struct mg_dead_letter *letter)
{
    struct order *order = arg;
    ck_assert_int_lt(order->count, MG_DEAD_LOOK_MAX);
    order->numbers[order->count++] = (int)strtol(letter->body.data, NULL, 10);
}

static void look_in_order(int max, int count)
{
    static struct order order;
    struct mg_err err;
    int ret_count = -1;
    order.count = 0;
    ck_assert_msg(mg_topology_look(test_address(), requests, max, note, &order, &ret_count, &err) == MG_OK,
                  "%s", err.text);
    ck_assert_int_eq(ret_count, count);
    ck_assert_int_eq(order.count, count);
    for (int i = 1; i < count; i++) {
        ck_assert_int_lt(order.numbers[i - 1], order.numbers[i]);
    }
}

/* Letters 0, 1, ..., published one after the other; that of `expired_at` expires at once. */
static void letters_publish(int count, int expired_at)
{
    struct mg_err err;
    amqp_connection_state_t connection;
    ck_assert_int_eq(mg_amqp_connect(test_address(), "test", &connection, NULL, &err), MG_OK);
    ck_assert_ptr_nonnull(amqp_confirm_select(connection, MG_AMQP_CHANNEL));
    for (int i = 0; i < count; i++) {
        char body[16];
        (void)snprintf(body, sizeof(body), "%d", i);
        amqp_basic_properties_t properties = {._flags = AMQP_BASIC_MESSAGE_ID_FLAG,
                                              .message_id = amqp_cstring_bytes(service),
                                              .expiration = amqp_cstring_bytes("1")};
        if (i == expired_at) {
            properties._flags |= AMQP_BASIC_EXPIRATION_FLAG;
        }
        ck_assert_int_eq(amqp_basic_publish(connection, MG_AMQP_CHANNEL, amqp_cstring_bytes(""),
                                            amqp_cstring_bytes(requests), 1, 0, &properties,
                                            amqp_cstring_bytes(body)),
                         AMQP_STATUS_OK);
        amqp_frame_t frame;
        ck_assert_int_eq(amqp_simple_wait_frame(connection, &frame), AMQP_STATUS_OK);
        ck_assert_int_eq(frame.payload.method.id, AMQP_BASIC_ACK_METHOD);
    }
    mg_amqp_destroy(connection);
}

static enum mg_dead_verb drop(void *arg, const struct mg_dead_letter *letter)
{
    (void)arg;
    (void)letter;
    return MG_DEAD_DROP;
}

static void all_drop(int count)
{
    struct mg_err err;
    int dropped = -1;
    ck_assert_int_eq(mg_topology_walk(test_address(), requests, 10000, drop, NULL, &dropped, &err), MG_OK);
    ck_assert_int_eq(dropped, count);
}

/* Would catch: letters that are passed over, shown twice, kept, or put back in another order. */
START_TEST(look_shows_letters_in_order_and_leaves_them)
{
    look_in_order(10, 0);
    letters_publish(1, -1);
    look_in_order(10, 1);
    all_drop(1);
    letters_publish(MG_DEAD_LOOK_MAX, -1);
    /* `max` never falls from look to look. Letters put back stand before the others; a smaller look would
     * take the first of them and put them back after the rest. */
    look_in_order(1, 1);
    for (int i = 0; i < 3; i++) {
        look_in_order(50, 50);
    }
    for (int i = 0; i < 3; i++) {
        look_in_order(10000, MG_DEAD_LOOK_MAX);
    }
    all_drop(MG_DEAD_LOOK_MAX);
    look_in_order(10, 0);
}
END_TEST

/* Would catch: a look that waits for ever, or fails, for counted letters that never come. Here they have
 * expired, which the queue detects only when it is their turn. */
START_TEST(look_passes_over_what_does_not_come)
{
    letters_publish(3, 1);
    look_in_order(10, 2);
    look_in_order(10, 2);
    all_drop(2);
}
END_TEST

/* Would catch: a message that is given up without a trace because its consumers keep dying. */
START_TEST(given_count_rises_with_each_return)
{
    fixture_start(&fixture);
    const struct mg_message message = {.exchange = MG_EXCHANGE_REQUESTS, .routing_key = requests};
    fixture_publish_message(&fixture, &message);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert(wait_deliveries((int)i + 1));
        ck_assert_uint_eq(fixture.deliveries[i]->given_count, i);
        mg_broker_requeue(fixture.broker, fixture.deliveries[i]);
    }
    ck_assert(wait_deliveries(4));
    mg_broker_ack(fixture.broker, fixture.deliveries[3]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker_topology");
    TCase *tests = tcase_create("broker_topology");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, mark_of_coming_again_counts_only_where_it_is_believed);
    tcase_add_test(tests, apply_is_idempotent_and_check_names_what_is_missing);
    tcase_add_test(tests, client_sends_only_the_signals_that_it_is_given);
    tcase_add_test(tests, advice_is_a_whole_command);
    tcase_add_test(tests, services_are_looked_at);
    tcase_add_test(tests, plaintext_stays_on_this_machine);
    tcase_add_test(tests, queue_with_other_arguments_is_named);
    tcase_add_test(tests, queues_are_bounded);
    tcase_add_test(tests, unreachable_broker_is_transient);
    tcase_add_test(tests, rejected_message_is_found_requeued_and_dropped);
    tcase_add_test(tests, requeued_message_is_still_its_senders);
    tcase_add_test(tests, headers_that_fill_a_frame_cost_only_themselves);
    tcase_add_test(tests, look_shows_letters_in_order_and_leaves_them);
    tcase_add_test(tests, look_passes_over_what_does_not_come);
    tcase_add_test(tests, given_count_rises_with_each_return);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
