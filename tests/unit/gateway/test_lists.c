/* The line of lists: turns of clients, limits, calls that are gone, failures. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "gateway/call.h"

#define CALLS_MAX 300

struct mg_client {
    char name[8];
};

struct mg_http_exchange {
    int unused;
};

static struct {
    struct mg_gateway gateway;
    struct mg_client clients[CALLS_MAX];
    struct mg_http_exchange request;
    struct mg_call calls[CALLS_MAX];
    int refused[CALLS_MAX]; /* the status */
    struct mg_call *reading;
    char story[CALLS_MAX * 8]; /* the clients of the lists that are read */
} fake;

const char *mg_client_name(const struct mg_client *client)
{
    return client->name;
}

void mg_call_refuse(struct mg_call *call, unsigned int status, const char *format, ...)
{
    (void)format;
    fake.refused[call - fake.calls] = (int)status;
}

static void on_turn(struct mg_call *call)
{
    size_t len = strlen(fake.story);
    ck_assert_ptr_null(fake.reading);
    fake.reading = call;
    (void)snprintf(fake.story + len, sizeof(fake.story) - len, "%s ", call->client->name);
}

static void begin(int i, int client)
{
    fake.calls[i] =
        (struct mg_call){.gateway = &fake.gateway, .request = &fake.request, .client = &fake.clients[client]};
    mg_lists_begin(&fake.calls[i], on_turn);
}

static void end(const struct mg_err *err)
{
    struct mg_call *call = fake.reading;
    ck_assert_ptr_nonnull(call);
    fake.reading = NULL;
    mg_lists_end(call, err);
}

static void setup(void)
{
    memset(&fake, 0, sizeof(fake));
    for (int i = 0; i < CALLS_MAX; i++) {
        (void)snprintf(fake.clients[i].name, sizeof(fake.clients[i].name), "%c%d", 'a' + i % 26, i / 26);
    }
    fake.gateway.metrics = mg_metrics_create();
    fake.gateway.lists = mg_lists_create(&fake.gateway);
    ck_assert_ptr_nonnull(fake.gateway.lists);
}

static void teardown(void)
{
    mg_lists_destroy(fake.gateway.lists);
    mg_metrics_destroy(fake.gateway.metrics);
}

/* Would catch: a client that stands before all others, or after them for ever. */
START_TEST(clients_take_turns)
{
    for (int i = 0; i < 4; i++) {
        begin(i, 0);
    }
    begin(4, 1);
    begin(5, 1);
    begin(6, 2);
    end(NULL);
    end(NULL);
    begin(7, 1); /* after its list that waits */
    begin(8, 3);
    while (fake.reading != NULL) {
        end(NULL);
    }
    ck_assert_str_eq(fake.story, "a0 b0 c0 d0 a0 b0 a0 b0 a0 ");
}
END_TEST

/* Would catch: one client, or all together, with more calls in the line than its bound. */
START_TEST(the_line_is_bounded_for_each_client_and_in_all)
{
    for (int i = 0; i < 9; i++) {
        begin(i, 0);
    }
    ck_assert_int_eq(fake.refused[7], 0);
    ck_assert_int_eq(fake.refused[8], 429);
    end(NULL);
    begin(8, 0);
    for (int i = 9; i < CALLS_MAX; i++) {
        begin(i, i);
    }
    ck_assert_int_eq(fake.refused[250], 0);
    ck_assert_int_eq(fake.refused[251], 503);
}
END_TEST

/* Would catch: a list that is read for nobody, and a line that stops at it. */
START_TEST(a_call_that_is_gone_is_passed_by)
{
    for (int i = 0; i < 4; i++) {
        begin(i, i);
    }
    fake.calls[1].request = fake.calls[2].request = NULL;
    end(NULL);
    ck_assert_ptr_eq(fake.reading, &fake.calls[3]);
    ck_assert(fake.refused[1] != 0 && fake.refused[2] != 0);
}
END_TEST

/* Would catch: lists that each wait for a database that is down. */
START_TEST(a_failure_is_that_of_all_lists_that_wait)
{
    struct mg_err err;
    (void)mg_err_set(&err, MG_TRANSIENT, "down");
    for (int i = 0; i < 4; i++) {
        begin(i, i);
    }
    end(&err);
    ck_assert_ptr_null(fake.reading);
    for (int i = 1; i < 4; i++) {
        ck_assert_int_eq(fake.refused[i], 503);
    }
    begin(4, 0);
    ck_assert_ptr_eq(fake.reading, &fake.calls[4]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gateway_lists");
    TCase *tcase = tcase_create("lists");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, clients_take_turns);
    tcase_add_test(tcase, the_line_is_bounded_for_each_client_and_in_all);
    tcase_add_test(tcase, a_call_that_is_gone_is_passed_by);
    tcase_add_test(tcase, a_failure_is_that_of_all_lists_that_wait);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
