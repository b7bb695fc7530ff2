/* The names of queues and exchanges, and which speaker an exchange proves. */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "io/amqp/topology.h"
#include "suite.h"

START_TEST(names_of_queues)
{
    char name[MG_QUEUE_NAME_SIZE];
    mg_topology_request_queue("payment", true, name);
    ck_assert_str_eq(name, "agent.payment.requests.high");
    mg_topology_request_queue("a.b", false, name);
    ck_assert_str_eq(name, "agent.a.b.requests");
    static const char *const reserved[] = {"",           "orders.intake", "agent.x",      "scheduler.replies",
                                           "operator.a", "dead.letters",  "makegood.new", "amq.direct",
                                           "amq.",       "a\nb",          "a\x7f"};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        ck_assert_msg(mg_topology_is_reserved(mg_slice_of(reserved[i])), "%s", reserved[i]);
    }
    static const char *const free_names[] = {"amq.gen-abc", "amq.rabbitmq.reply-to.g1", "client.1", "order",
                                             "Bestätigung"};
    for (size_t i = 0; i < sizeof(free_names) / sizeof(free_names[0]); i++) {
        ck_assert_msg(!mg_topology_is_reserved(mg_slice_of(free_names[i])), "%s", free_names[i]);
    }
    ck_assert(mg_topology_is_reserved((struct mg_slice){0}));
    ck_assert(mg_topology_is_direct_reply(mg_slice_of("amq.rabbitmq.reply-to")));
    ck_assert(mg_topology_is_direct_reply(mg_slice_of("amq.rabbitmq.reply-to.g1")));
    ck_assert(!mg_topology_is_direct_reply(mg_slice_of("amq.gen-abc")));
    ck_assert(!mg_topology_is_direct_reply((struct mg_slice){0}));
    mg_topology_reply_exchange("payment", name);
    ck_assert_str_eq(name, "makegood.replies.payment");
    char prefix[MG_QUEUE_NAME_SIZE];
    mg_topology_control_exchange("payment", name);
    ck_assert_str_eq(name, "makegood.control.payment");
    mg_topology_control_queue("payment", prefix);
    ck_assert_str_eq(prefix, "agent.payment.control.");
    ck_assert(mg_topology_is_reserved((struct mg_slice){.data = "a\0b", .len = 3}));
}
END_TEST

/* Exchanges that a user with the right to make one could bind to ours. */
static const char *const STRANGERS[] = {"agent.payment.control.evil",
                                        "agent.payment.requests",
                                        "makegood.dead",
                                        "makegood.requests",
                                        "makegood.control",
                                        "makegood.control.payment",
                                        "makegood.alerts",
                                        "amq.direct",
                                        "amq.gen-abc",
                                        "amq.default",
                                        "makegood",
                                        "makegood.",
                                        "Makegood.replies.payment",
                                        "x"};

/* Catches: a message that is attributed to a speaker because of an unforeseen exchange. */
START_TEST(exchange_proves_its_sender_and_no_other)
{
    struct mg_slice client;
    for (size_t i = 0; i < sizeof(STRANGERS) / sizeof(STRANGERS[0]); i++) {
        struct mg_slice stranger = mg_slice_of(STRANGERS[i]);
        ck_assert_msg(!mg_topology_is_reply_of(stranger, "payment"), "%s", STRANGERS[i]);
        ck_assert_msg(mg_topology_commander(stranger, &client) == MG_COMMANDER_NONE, "%s", STRANGERS[i]);
        ck_assert_msg(!mg_topology_client(stranger, &client), "%s", STRANGERS[i]);
        bool is_control = strncmp(STRANGERS[i], "makegood.control", 16) == 0;
        ck_assert_msg(mg_topology_is_control_of(stranger, "makegood.control.payment") == is_control, "%s",
                      STRANGERS[i]);
        bool is_believed = strcmp(STRANGERS[i], "makegood.requests") == 0;
        ck_assert_msg(mg_topology_is_again_believed(stranger) == is_believed, "%s", STRANGERS[i]);
    }
    static const char *const replies[] = {"makegood.replies.payment", "makegood.replies", ""};
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++) {
        ck_assert_msg(mg_topology_is_reply_of(mg_slice_of(replies[i]), "payment"), "%s", replies[i]);
        ck_assert_msg(mg_topology_is_reply_of(mg_slice_of(replies[i]), "inventory") == (i != 0), "%s",
                      replies[i]);
    }
    ck_assert(mg_topology_is_reply_of((struct mg_slice){0}, "payment"));
    static const char *const others[] = {"makegood.replies.pay", "makegood.replies.payments",
                                         "makegood.replies.", "makegood.replies.payment.x"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert_msg(!mg_topology_is_reply_of(mg_slice_of(others[i]), "payment"), "%s", others[i]);
    }
    static const struct {
        const char *exchange;
        enum mg_commander commander;
        const char *client;
    } COMMANDERS[] = {{"makegood.commands", MG_COMMANDER_OPERATOR, ""},
                      {"", MG_COMMANDER_OPERATOR, ""},
                      {"makegood.commands.supervisor", MG_COMMANDER_SUPERVISOR, ""},
                      {"makegood.commands.gateway", MG_COMMANDER_GATEWAY, ""},
                      {"makegood.callbacks", MG_COMMANDER_CALLBACK, ""},
                      {"makegood.callbacks.x", MG_COMMANDER_NONE, ""},
                      {"makegood.signals.shop", MG_COMMANDER_CLIENT, "shop"},
                      {"makegood.signals.shop.eu", MG_COMMANDER_NONE, ""},
                      {"makegood.signals.", MG_COMMANDER_NONE, ""},
                      {"makegood.signals", MG_COMMANDER_NONE, ""},
                      {"makegood.commands.x", MG_COMMANDER_NONE, ""}};
    for (size_t i = 0; i < sizeof(COMMANDERS) / sizeof(COMMANDERS[0]); i++) {
        ck_assert_int_eq(mg_topology_commander(mg_slice_of(COMMANDERS[i].exchange), &client),
                         COMMANDERS[i].commander);
        ck_assert(mg_slice_is(client, COMMANDERS[i].client));
    }
    ck_assert(!mg_topology_client(mg_slice_of("makegood.signals.shop"), &client));
    ck_assert(mg_topology_is_of_one(mg_slice_of("makegood.signals.shop")));
    ck_assert(mg_topology_is_again_believed(mg_slice_of("")));
    ck_assert(!mg_topology_is_again_believed(mg_slice_of("makegood.intake.shop")));
}
END_TEST

/* Catches: a client that is taken for another, or has its answers sent to another's queue. */
START_TEST(client_names_its_own_queues_only)
{
    struct mg_slice client;
    ck_assert(mg_topology_client(mg_slice_of("makegood.intake.shop"), &client));
    ck_assert(mg_slice_is(client, "shop"));
    static const char *const others[] = {
        "client.other.statuses", "client.shop", "client.shops.statuses", "client.", "amq.gen-abc", ""};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ck_assert_msg(!mg_topology_is_queue_of(client, mg_slice_of(others[i])), "%s", others[i]);
        ck_assert(mg_topology_is_queue_of(mg_slice_of(""), mg_slice_of(others[i])));
    }
    ck_assert(mg_topology_is_queue_of(client, mg_slice_of("client.shop.x")));
    ck_assert(mg_topology_is_queue_of(client, mg_slice_of("client.shop.webhook")));
    ck_assert(!mg_topology_is_queue_of(client, mg_slice_of("client.other.webhook")));
    ck_assert(!mg_topology_is_queue_of(mg_slice_of(""), mg_slice_of("client.shop.webhook")));
    ck_assert(mg_topology_is_queue_of(mg_slice_of(""), mg_slice_of("shop.webhook")));
    static const char *const shared[] = {"makegood.intake", ""};
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
        ck_assert(mg_topology_client(mg_slice_of(shared[i]), &client));
        ck_assert_int_eq((int)client.len, 0);
    }
    static const char *const nobodys[] = {"makegood.intake.", "makegood.intake.shop.eu", "makegood.intakes"};
    for (size_t i = 0; i < sizeof(nobodys) / sizeof(nobodys[0]); i++) {
        ck_assert_msg(!mg_topology_client(mg_slice_of(nobodys[i]), &client), "%s", nobodys[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology_names");
    TCase *tests = tcase_create("topology_names");
    tcase_add_test(tests, names_of_queues);
    tcase_add_test(tests, exchange_proves_its_sender_and_no_other);
    tcase_add_test(tests, client_names_its_own_queues_only);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
