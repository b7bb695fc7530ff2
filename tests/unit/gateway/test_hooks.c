/* Would catch: an edit of the file that leaves orders without their webhook, since an entry was away for a
 * moment; a webhook that has ended and gets the statuses of new orders for ever; an emptied file that ends
 * all. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "fake_clock.h"
#include "fake_loop.h"
#include "gateway/hook.h"
#include "io/amqp/topology.h"
#include "io/tls/check.h"

#define AWAY_MS 60000

struct mg_hook {
    char client[16], queue[32];
};

static struct {
    const char *file; /* names of clients, divided by blanks; "": no bytes */
    int alive, looks; /* hooks, and looks at them */
    struct mg_gateway gateway;
    struct mg_gateway_options options;
    struct mg_hooks *hooks;
} fake;

/* ---- the world ---- */

enum mg_class mg_tls_check(const struct mg_tls_files *files, char *ret_warning, size_t size,
                           struct mg_err *err)
{
    (void)files, (void)ret_warning, (void)size, (void)err;
    return MG_OK;
}

enum mg_class mg_hook_file_read(const struct mg_gateway_options *options, bool may_be_empty,
                                struct mg_hook_target **ret_targets, int *ret_count, struct mg_err *err)
{
    char text[64], *rest = NULL;
    ck_assert_ptr_eq(options, &fake.options);
    if (fake.file[0] == '\0' && !may_be_empty) {
        return mg_err_set(err, MG_BAD_INPUT, "it is empty");
    }
    *ret_targets = calloc(MG_HOOKS_MAX, sizeof(**ret_targets));
    ck_assert_ptr_nonnull(*ret_targets);
    (void)snprintf(text, sizeof(text), "%s", fake.file);
    *ret_count = 0;
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        (void)snprintf((*ret_targets)[(*ret_count)++].client, sizeof((*ret_targets)->client), "%s", word);
    }
    return MG_OK;
}

void mg_hook_targets_destroy(struct mg_hook_target *targets, int count)
{
    (void)count;
    free(targets);
}

enum mg_class mg_hook_create(struct mg_gateway *gateway, struct mg_hook_target *target, size_t bytes,
                             struct mg_hook **ret_hook, struct mg_err *err)
{
    struct mg_hook *hook = calloc(1, sizeof(*hook));
    (void)bytes, (void)err;
    ck_assert(gateway == &fake.gateway && hook != NULL);
    (void)snprintf(hook->client, sizeof(hook->client), "%.15s", target->client);
    (void)snprintf(hook->queue, sizeof(hook->queue), "client.%.15s.webhook", target->client);
    fake.alive++;
    *ret_hook = hook;
    return MG_OK;
}

void mg_hook_destroy(struct mg_hook *hook)
{
    fake.alive -= hook != NULL;
    free(hook);
}

const char *mg_hook_client(const struct mg_hook *hook)
{
    return hook->client;
}

const char *mg_hook_queue(const struct mg_hook *hook)
{
    return hook->queue;
}

void mg_hook_set_target(struct mg_hook *hook, struct mg_hook_target *target)
{
    ck_assert_str_eq(hook->client, target->client);
}

enum mg_class mg_hook_set_amqp_url(struct mg_hook *hook, const char *url, struct mg_err *err)
{
    (void)hook, (void)url, (void)err;
    return MG_OK;
}

void mg_hook_reload_certificates(struct mg_hook *hook)
{
    ck_assert_ptr_nonnull(hook);
}

bool mg_hook_is_up(const struct mg_hook *hook, char *ret_reason, size_t size)
{
    (void)hook, (void)ret_reason, (void)size;
    return true;
}

void mg_hook_look(struct mg_hook *hook)
{
    ck_assert_ptr_nonnull(hook);
    fake.looks++;
}

/* ---- the tests ---- */

static void begin(void)
{
    struct mg_err err;
    fake.file = "shop other";
    fake.alive = fake.looks = 0;
    fake_loop_reset();
    fake.options = (struct mg_gateway_options){.webhook_ca_file = "", .webhooks_file = "webhooks"};
    fake.gateway = (struct mg_gateway){.options = &fake.options};
    fake.hooks = mg_hooks_create(&fake.gateway, &err);
    ck_assert_ptr_nonnull(fake.hooks);
}

static void end(void)
{
    mg_hooks_destroy(fake.hooks);
    ck_assert_int_eq(fake.alive, 0);
}

static enum mg_class reload(const char *file)
{
    struct mg_err err;
    fake.file = file;
    return mg_hooks_reload(fake.hooks, &err);
}

static void assert_queue(const char *client, const char *expected)
{
    const char *queue = mg_hooks_queue(fake.hooks, client);
    ck_assert_msg((queue == NULL) == (expected == NULL), "%s", client);
    if (expected != NULL) {
        ck_assert_str_eq(queue, expected);
    }
}

START_TEST(an_entry_that_is_away_for_a_moment_is_that_of_new_orders_all_the_same)
{
    assert_queue("third", NULL);
    ck_assert_int_eq(reload("other"), MG_OK);
    ck_assert_int_eq(fake.alive, 1);
    fake_clock.boot_ms += AWAY_MS - 1;
    assert_queue("shop", "client.shop.webhook");
    ck_assert_int_eq(reload("shop other"), MG_OK);
    fake_clock.boot_ms += AWAY_MS;
    assert_queue("shop", "client.shop.webhook");
    assert_queue("other", "client.other.webhook");
}
END_TEST

START_TEST(a_webhook_that_has_ended_gets_no_new_orders)
{
    ck_assert_int_eq(reload("other"), MG_OK);
    fake_clock.boot_ms += AWAY_MS;
    assert_queue("shop", NULL);
    assert_queue("other", "client.other.webhook");
}
END_TEST

START_TEST(of_many_edits_the_last_ones_count)
{
    for (int i = 0; i < 3 * MG_HOOKS_MAX; i++) {
        ck_assert_int_eq(reload("other"), MG_OK);
        ck_assert_int_eq(reload("shop other"), MG_OK);
    }
    ck_assert_int_eq(reload("third"), MG_OK);
    assert_queue("shop", "client.shop.webhook");
    assert_queue("other", "client.other.webhook");
    assert_queue("third", "client.third.webhook");
}
END_TEST

START_TEST(each_webhook_is_looked_at_again_and_again)
{
    int64_t period_ms = fake_loop_rest_ms();
    ck_assert_int_gt(period_ms, 0);
    fake_loop_pass(3 * period_ms);
    ck_assert_int_eq(fake.looks, 3 * 2);
}
END_TEST

START_TEST(an_emptied_file_ends_no_webhook)
{
    ck_assert_int_eq(reload(""), MG_BAD_INPUT);
    ck_assert_int_eq(fake.alive, 2);
    ck_assert_int_eq(reload(" "), MG_OK);
    ck_assert_int_eq(fake.alive, 0);
    ck_assert_int_eq(reload(""), MG_OK);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gateway_hooks");
    TCase *tests = tcase_create("gateway_hooks");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, an_entry_that_is_away_for_a_moment_is_that_of_new_orders_all_the_same);
    tcase_add_test(tests, a_webhook_that_has_ended_gets_no_new_orders);
    tcase_add_test(tests, of_many_edits_the_last_ones_count);
    tcase_add_test(tests, each_webhook_is_looked_at_again_and_again);
    tcase_add_test(tests, an_emptied_file_ends_no_webhook);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
