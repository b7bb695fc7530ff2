/*
 * Shared by the tests of the broker. A loop runs until a condition holds. A broker's deliveries, outcomes and
 * states are kept. Queues are the test's own. A relay between client and broker can fall silent, cut its
 * connections or refuse new ones, like a broker that is stopped, killed or gone.
 */
#ifndef MG_TESTS_BROKER_FIXTURE_H
#define MG_TESTS_BROKER_FIXTURE_H

#include <check.h>
#include <stdbool.h>

#include "base/loop.h"
#include "io/amqp/broker.h"

#define WAIT_MS        15000 /* no test waits longer for anything that should happen */
#define DELIVERIES_MAX 4096

#define RELAY_STUCK_QUEUE "test.stuck"
/* FORGETFUL: the broker's cancels of consumers are lost. UNCONFIRMED: its confirms are lost. STUCK: the
 * confirms of a connection are lost and it is read no more, once a message to RELAY_STUCK_QUEUE went over it.
 * FULL: no connection is added. The modes that drop frames need little traffic from the broker: each read of
 * the relay must hold whole frames. */
enum relay_mode {
    RELAY_PASS,
    RELAY_SILENT,
    RELAY_DOWN,
    RELAY_FORGETFUL,
    RELAY_UNCONFIRMED,
    RELAY_STUCK,
    RELAY_FULL
};
struct relay;
struct relay *relay_start(void);
void relay_stop(struct relay *relay);
void relay_set(struct relay *relay, enum relay_mode mode);
void relay_cut(struct relay *relay); /* resets all connections that are open */
const char *relay_url(const struct relay *relay);

struct fixture {
    struct mg_loop *loop;
    struct mg_broker *broker;
    struct mg_broker_options options;
    struct mg_delivery *deliveries[DELIVERIES_MAX]; /* as they came; the test gives them back */
    int delivery_count;
    int outcomes[MG_PUBLISH_OUTCOME_COUNT];
    bool is_up, acks_at_once;
    int up_count, down_count;
    char reason[512];
    char private_queue[256];
    int named_count;
    int64_t ready, consumers; /* of the watched queue */
    int seen_count;
    int64_t longest_turn_ms; /* between two ticks of the loop while it ran */
};

const char *test_amqp_url(void); /* fails the test if there is none */
const struct mg_broker_address *test_address(void);
/* A name that no other run uses. */
void test_queue_name(const char *what, char ret_name[64]);
/* A classic queue, deleted again by test_queue_delete; `max_length` 0: no limit, else the publisher is
 * refused above. */
void test_queue_declare(const char *queue, int max_length);
void test_quorum_queue_declare(const char *queue);
/* By the queue's own name as routing key. */
void test_queue_bind(const char *queue, const char *exchange);
void test_queue_delete(const char *queue);
/* Publishes a message with headers of as many nested tables as can reach a consumer. False: the broker
 * refused it. */
bool test_publish_nested(const char *queue);
int test_queue_ready(const char *queue); /* messages; -1: there is no such queue */

void fixture_init(struct fixture *fixture, const char *url);
/* The same; declares a queue of its own and consumes it. */
void fixture_init_queue(struct fixture *fixture, const char *url, const char *what, char ret_queue[64]);
int fixture_outcome_count(const struct fixture *fixture); /* of all kinds */
void fixture_start(
    struct fixture *fixture); /* creates the broker from fixture->options and waits until it is up */
void fixture_create(struct fixture *fixture); /* without waiting */
void fixture_finish(struct fixture *fixture);
bool fixture_run(struct fixture *fixture, bool (*is_done)(const struct fixture *), int64_t timeout_ms);
void fixture_run_for(struct fixture *fixture, int64_t ms);

void fixture_publish(struct fixture *fixture, const char *queue, const char *body);
void fixture_publish_message(struct fixture *fixture, const struct mg_message *message);

#endif
