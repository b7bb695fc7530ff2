/*
 * Broadcasts to all agents of a service, through a real RabbitMQ. Each replica receives one, agents of other
 * services do not. A broadcast that cannot be received or sent disturbs nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/suite.h"
#include "broker_fixture.h"
#include "io/amqp/topology.h"

static struct fixture fixture;
static char service[64], other[64];

/* Two receivers of the service, and one of the other. */
static struct ear {
    struct mg_broker *broker;
    int count;
    size_t longest;
    char last[64];
} ears[3];

static void on_heard(void *arg, struct mg_slice body)
{
    struct ear *ear = arg;
    ear->count++;
    ear->longest = body.len > ear->longest ? body.len : ear->longest;
    (void)snprintf(ear->last, sizeof(ear->last), "%.*s", (int)body.len, body.data);
}

static void line_drop(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static void apply(const char *name)
{
    struct mg_err err;
    const struct mg_topology_names names = {.services = &name, .service_count = 1};
    ck_assert_msg(mg_topology_apply(test_address(), &names, line_drop, NULL, &err) == MG_OK, "%s", err.text);
}

static void hear(struct ear *ear, struct mg_broker *broker, const char *name)
{
    struct mg_err err;
    char exchange[MG_QUEUE_NAME_SIZE], prefix[MG_QUEUE_NAME_SIZE];
    mg_topology_control_exchange(name, exchange);
    mg_topology_control_queue(name, prefix);
    *ear = (struct ear){.broker = broker};
    ck_assert_msg(mg_broker_listen(broker, exchange, prefix, on_heard, ear, &err) == MG_OK, "%s", err.text);
}

static struct mg_broker *broker_make(const char *url)
{
    struct mg_err err;
    struct mg_broker *broker;
    struct mg_broker_options options = {.address = *test_address(), .name = "ear"};
    options.address.url = url;
    ck_assert_msg(mg_broker_create(fixture.loop, &options, &broker, &err) == MG_OK, "%s", err.text);
    return broker;
}

static void setup(void)
{
    memset(ears, 0, sizeof(ears));
    test_queue_name("cast", service);
    test_queue_name("cast-other", other);
    fixture_init(&fixture, test_amqp_url());
}

static void teardown(void)
{
    for (int i = 0; i < 3; i++) {
        mg_broker_destroy(ears[i].broker);
    }
    fixture_finish(&fixture);
    const char *const names[] = {service, other};
    for (int i = 0; i < 2; i++) {
        for (int high = 0; high < 2; high++) {
            char queue[MG_QUEUE_NAME_SIZE];
            mg_topology_request_queue(names[i], high == 1, queue);
            test_queue_delete(queue);
        }
    }
}

static void say(const char *word)
{
    mg_broker_cast(fixture.broker, MG_EXCHANGE_CONTROL, service, "service_control", mg_slice_of(word));
}

static struct ear *awaited;
static const char *awaited_word;

/* A receiver that joins during a broadcast gets the next one. */
static bool is_heard(const struct fixture *f)
{
    (void)f;
    say(awaited_word);
    return strcmp(awaited->last, awaited_word) == 0;
}

static void wait_heard(struct ear *ear, const char *word)
{
    awaited = ear;
    awaited_word = word;
    ck_assert_msg(fixture_run(&fixture, is_heard, WAIT_MS), "\"%s\" was not heard, but \"%s\"", word,
                  ear->last);
}

/* Would catch: a broadcast that only one of the replicas gets, or that agents of other services get. */
START_TEST(a_broadcast_reaches_all_agents_of_its_service_and_no_others)
{
    apply(service);
    apply(other);
    fixture_start(&fixture);
    hear(&ears[0], broker_make(test_amqp_url()), service);
    hear(&ears[1], broker_make(test_amqp_url()), service);
    hear(&ears[2], broker_make(test_amqp_url()), other);
    wait_heard(&ears[0], "one");
    wait_heard(&ears[1], "two");
    mg_broker_cast(fixture.broker, MG_EXCHANGE_CONTROL, other, "service_control",
                   mg_slice_of("for the other"));
    wait_heard(&ears[0], "three");
    wait_heard(&ears[1], "three");
    ck_assert(strcmp(ears[2].last, "") == 0 || strcmp(ears[2].last, "for the other") == 0);
    ck_assert_int_le(ears[2].count, 1);
}
END_TEST

/* Would catch: an agent that receives no broadcast after its connection was lost, or the new queue of which
 * collides with its old one. */
START_TEST(a_broadcast_reaches_an_agent_after_a_lost_connection)
{
    struct relay *relay = relay_start();
    apply(service);
    fixture_start(&fixture);
    hear(&ears[0], broker_make(relay_url(relay)), service);
    wait_heard(&ears[0], "before");
    relay_set(relay, RELAY_DOWN);
    relay_cut(relay);
    fixture_run_for(&fixture, 300);
    relay_set(relay, RELAY_PASS);
    wait_heard(&ears[0], "after");
    mg_broker_destroy(ears[0].broker);
    ears[0].broker = NULL;
    relay_stop(relay);
}
END_TEST

/* Would catch: an agent that does not serve because its service's exchange has not been made yet, or that
 * must be restarted once it is; and the missing exchange of one service that cuts another one off. */
START_TEST(a_broadcast_that_cannot_be_consumed_stops_no_work)
{
    apply(other);
    fixture_start(&fixture);
    struct mg_broker *broker = broker_make(test_amqp_url());
    hear(&ears[0], broker, service);
    hear(&ears[2], broker, other);
    ears[2].broker = NULL; /* the same */
    for (int i = 0; i < 50; i++) {
        say("into nothing"); /* the broker drops it: no queue is bound */
    }
    mg_broker_cast(fixture.broker, "makegood.no-such-exchange", service, "service_control", mg_slice_of("x"));
    fixture_run_for(&fixture, 500);
    char reason[256];
    ck_assert(mg_broker_is_up(broker, reason, sizeof(reason)));
    ck_assert(mg_broker_is_up(fixture.broker, reason, sizeof(reason)));
    ck_assert_int_eq(fixture.down_count, 0);
    ck_assert_int_eq(ears[0].count, 0);
    apply(service);
    wait_heard(&ears[0], "at last");
}
END_TEST

/* Would catch: a broadcast that is read in pieces, or one that fills the memory of its receivers. */
START_TEST(a_broadcast_up_to_the_limit_is_whole_and_a_longer_one_is_not_sent)
{
    static char text[MG_CAST_BYTES_MAX + 2];
    apply(service);
    fixture_start(&fixture);
    hear(&ears[0], broker_make(test_amqp_url()), service);
    wait_heard(&ears[0], "begin");
    memset(text, 'x', sizeof(text) - 1);
    say(text);
    text[MG_CAST_BYTES_MAX] = '\0';
    say(text);
    wait_heard(&ears[0], "end");
    ck_assert_uint_eq(ears[0].longest, MG_CAST_BYTES_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("broker_cast");
    TCase *tests = tcase_create("broker_cast");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_broadcast_reaches_all_agents_of_its_service_and_no_others);
    tcase_add_test(tests, a_broadcast_reaches_an_agent_after_a_lost_connection);
    tcase_add_test(tests, a_broadcast_that_cannot_be_consumed_stops_no_work);
    tcase_add_test(tests, a_broadcast_up_to_the_limit_is_whole_and_a_longer_one_is_not_sent);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
