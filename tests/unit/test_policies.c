/* The verdict on the broker's policies, from lists as RabbitMQ's management API writes them. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "io/amqp/topology.h"
#include "suite.h"
#include "wire/policies.h"

#define LINES_MAX 32
static char lines[LINES_MAX][2048];
static int line_count;

static void on_found(void *arg, const char *line)
{
    (void)arg;
    ck_assert_int_lt(line_count, LINES_MAX);
    (void)snprintf(lines[line_count++], sizeof(lines[0]), "%s", line);
}

/* Judges one policy with this definition, which applies to this queue or exchange. */
static int judged(const char *member, const char *name, const char *definition)
{
    char objects[1024], policies[1024];
    struct mg_err err;
    bool is_operators = strcmp(member, "operator_policy") == 0;
    (void)snprintf(
        objects, sizeof(objects),
        "[{\"name\":\"another\"},{\"name\":\"%s\",\"%s\":\"tidy\"},{\"name\":\"x\",\"policy\":\"\"}]", name,
        member);
    (void)snprintf(
        policies, sizeof(policies),
        "[{\"vhost\":\"/\",\"name\":\"tidy\",\"pattern\":\".*\",\"apply-to\":\"queues\",\"definition\":"
        "%s,\"priority\":1}]",
        definition);
    const struct mg_slice none = mg_slice_of("[]");
    const struct mg_policy_lists lists = {.queues = mg_slice_of(objects),
                                          .exchanges = mg_slice_of(objects),
                                          .policies = is_operators ? none : mg_slice_of(policies),
                                          .operator_policies = is_operators ? mg_slice_of(policies) : none};
    const struct mg_policy_judge judge = {
        .vhost = "/", .limit_of = mg_topology_delivery_limit, .found = on_found};
    line_count = 0;
    ck_assert_msg(mg_policies_judge(&lists, &judge, &err) == MG_OK, "%s", err.text);
    return line_count;
}

/* Would catch: a key that loses messages and is not named, one that does no harm and stops a process, and a
 * finding without the policy, the queue or the remedy. */
START_TEST(each_key_is_judged)
{
    static const struct {
        const char *definition;
        int count;
    } CASES[] = {
        {"{\"expires\":1800000}", 1},
        {"{\"message-ttl\":1}", 1},
        {"{\"overflow\":\"drop-head\"}", 1},
        {"{\"overflow\":\"reject-publish-dlx\"}", 1},
        {"{\"overflow\":\"reject-publish\"}", 0},
        {"{\"delivery-limit\":19}", 1},
        {"{\"delivery-limit\":20}", 0},
        {"{\"delivery-limit\":-1}", 0},
        {"{\"consumer-timeout\":60000}", 1},
        {"{\"consumer-timeout\":1800000}", 0},
        {"{\"consumer-timeout\":false}", 0},
        {"{\"federation-upstream-set\":\"all\"}", 1},
        {"{\"max-length\":1,\"max-length-bytes\":1}", 0},
        {"{\"dead-letter-exchange\":\"x\",\"dead-letter-routing-key\":\"y\"}", 0},
        {"{\"queue-mode\":\"lazy\",\"ha-mode\":\"all\"}", 0},
        {"{\"alternate-exchange\":\"x\"}", 0},
        {"{}", 0},
        {"{\"expires\":1,\"message-ttl\":1,\"overflow\":\"drop-head\",\"delivery-limit\":0}", 4},
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        ck_assert_msg(judged("policy", MG_QUEUE_INTAKE, CASES[i].definition) == CASES[i].count, "%s: %d",
                      CASES[i].definition, line_count);
        ck_assert_int_eq(judged("operator_policy", MG_QUEUE_INTAKE, CASES[i].definition), CASES[i].count);
        ck_assert_int_eq(judged("policy", "others.queue", CASES[i].definition), 0);
    }
    ck_assert_int_eq(judged("policy", MG_QUEUE_INTAKE, "{\"message-ttl\":10000}"), 1);
    ck_assert_str_eq(
        lines[0],
        "policy tidy (pattern .*, priority 1) sets message-ttl 10000 on orders.intake: messages that "
        "wait for longer (ms) leave the queue; run: rabbitmqctl clear_policy -p / tidy, or give "
        "policy makegood a higher priority");
    ck_assert_int_eq(judged("operator_policy", MG_QUEUE_INTAKE, "{\"expires\":10000}"), 1);
    ck_assert_str_eq(
        lines[0],
        "operator policy tidy (pattern .*, priority 1) sets expires 10000 on orders.intake: the broker "
        "deletes the queue with its messages when nothing has consumed for so long (ms); run: "
        "rabbitmqctl clear_operator_policy -p / tidy");
}
END_TEST

/* Would catch: a kind of queue that nobody looks at, and a limit that is harmless for one kind and not for
 * another. */
START_TEST(each_kind_of_queue_is_ours)
{
    static const char *const OURS[] = {
        "orders.intake",      "orders.intake.high", "scheduler.replies", "scheduler.commands",
        "orders.signals",     "operator.alerts",    "orders.rejected",   "dead.letters",
        "agent.pay.requests", "client.a.webhook",   "client.a.statuses", "agent.pay.requests.high",
    };
    static const char *const OTHERS[] = {"orders", "orders.mine", "agent.requests", "client.statuses",
                                         "amq.gen-x"};
    for (size_t i = 0; i < sizeof(OURS) / sizeof(OURS[0]); i++) {
        ck_assert_msg(judged("policy", OURS[i], "{\"message-ttl\":1}") == 1, "%s", OURS[i]);
    }
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++) {
        ck_assert_msg(judged("policy", OTHERS[i], "{\"message-ttl\":1}") == 0, "%s", OTHERS[i]);
    }
    ck_assert_int_eq(judged("policy", "dead.letters", "{\"delivery-limit\":1000}"), 1);
    ck_assert_int_eq(judged("policy", "client.a.webhook", "{\"delivery-limit\":1000}"), 1);
    ck_assert_int_eq(judged("policy", "client.a.statuses", "{\"delivery-limit\":1000}"), 0);
}
END_TEST

/* Would catch: a message for a missing queue that another exchange takes, so that nobody gets it back. */
START_TEST(exchanges_are_judged)
{
    ck_assert_int_eq(judged("policy", "makegood.requests", "{\"alternate-exchange\":\"x\"}"), 1);
    ck_assert_int_eq(judged("policy", "makegood.requests", "{\"message-ttl\":1}"), 0);
    ck_assert_int_eq(judged("policy", "amq.topic", "{\"alternate-exchange\":\"x\"}"), 0);
}
END_TEST

/* Would catch: an error page that counts as an empty list. */
START_TEST(a_text_that_is_no_list_is_an_error)
{
    static const char *const WRONG[] = {"", "{}", "null", "[", "<html>"};
    const struct mg_policy_judge judge = {
        .vhost = "/", .limit_of = mg_topology_delivery_limit, .found = on_found};
    for (size_t i = 0; i < 4 * sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        struct mg_err err;
        struct mg_slice parts[4];
        for (size_t part = 0; part < 4; part++) {
            parts[part] = mg_slice_of(part == i % 4 ? WRONG[i / 4] : "[]");
        }
        const struct mg_policy_lists lists = {parts[0], parts[1], parts[2], parts[3]};
        ck_assert_int_eq(mg_policies_judge(&lists, &judge, &err), MG_TRANSIENT);
        ck_assert_ptr_nonnull(strstr(err.text, "could not read the broker's list of"));
    }
}
END_TEST

/* Would catch: an upgrade that takes back the length that operators have set. */
START_TEST(an_existing_definition_is_kept)
{
    struct mg_buf body;
    struct mg_err err;
    mg_buf_init(&body, 4096);
    ck_assert_int_eq(mg_policy_write(mg_slice_of("[]"), &body, &err), MG_OK);
    ck_assert_str_eq(body.data, "{\"apply-to\":\"queues\",\"priority\":10000,\"pattern\":"
                                "\"^(orders|agent|scheduler|operator|dead|client)\\\\.\",\"definition\":"
                                "{\"max-length\":1000000}}");
    mg_buf_clear(&body);
    ck_assert_int_eq(mg_policy_write(mg_slice_of("[{\"name\":\"a\",\"definition\":{\"expires\":1}},{\"name\":"
                                                 "\"makegood\",\"definition\":{\"max-length\":5}}]"),
                                     &body, &err),
                     MG_OK);
    ck_assert_ptr_nonnull(strstr(body.data, "\"definition\":{\"max-length\":5}}"));
    ck_assert_int_eq(mg_policy_write(mg_slice_of("{}"), &body, &err), MG_TRANSIENT);
    mg_buf_finish(&body);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policies");
    TCase *tcase = tcase_create("policies");
    tcase_add_test(tcase, each_key_is_judged);
    tcase_add_test(tcase, each_kind_of_queue_is_ours);
    tcase_add_test(tcase, exchanges_are_judged);
    tcase_add_test(tcase, a_text_that_is_no_list_is_an_error);
    tcase_add_test(tcase, an_existing_definition_is_kept);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
