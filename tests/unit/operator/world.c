/* See world.h. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/amqp/topology.h"

struct fake_world fake;

/* ---- the broker ---- */

enum mg_class mg_command_client_create(struct mg_loop *loop, const struct mg_command_client_options *options,
                                       struct mg_command_client **ret_client, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake.client = *options;
    *ret_client = (struct mg_command_client *)&fake;
    return MG_OK;
}

void mg_command_client_destroy(struct mg_command_client *client)
{
    (void)client;
}

bool mg_command_client_is_up(const struct mg_command_client *client, char *ret_reason, size_t size)
{
    (void)client;
    snprintf(ret_reason, size, "%s", fake.is_broker_up ? "" : "away");
    return fake.is_broker_up;
}

static int number_of(const char *order_id)
{
    return (int)strtol(order_id + 2, NULL, 10);
}

enum mg_class mg_command_client_send(struct mg_command_client *client, const struct mg_command *command,
                                     struct mg_err *err)
{
    (void)client;
    if (!fake.is_broker_up) {
        return mg_err_set(err, MG_TRANSIENT, "away");
    }
    ck_assert_int_lt(fake.sent_count, SENT_MAX);
    fake.sent[fake.sent_count++] = *command;
    fake.orders[number_of(command->order_id)].sent++;
    return MG_OK;
}

struct mg_broker *mg_command_client_broker(struct mg_command_client *client)
{
    (void)client;
    return NULL;
}

static void on_publish(const struct mg_message *message)
{
    struct mg_err err;
    ck_assert_str_eq(message->exchange, "");
    ck_assert_str_eq(message->routing_key, MG_QUEUE_ALERTS);
    ck_assert_int_eq(mg_alert_parse(message->body, &fake.alert, &err), MG_OK);
    fake.alert_count++;
}

void fake_begin(void)
{
    memset(&fake, 0, sizeof(fake));
    fake_loop_reset();
    fake_broker_reset();
    fake_broker.on_publish = on_publish;
    fake_log = (struct fake_log){0};
    fake_clock = (struct fake_clock){1000, 1000};
    fake.is_store_up = fake.is_broker_up = true;
}

/* ---- the store ---- */

enum mg_class mg_store_create(struct mg_loop *loop, const struct mg_store_options *options,
                              struct mg_store **ret_store, struct mg_err *err)
{
    (void)loop;
    (void)err;
    fake.store = *options;
    *ret_store = (struct mg_store *)&fake;
    return MG_OK;
}

void mg_store_destroy(struct mg_store *store)
{
    (void)store;
}

/* Secrets are not renewed here. */
enum mg_class mg_store_set_dsn(struct mg_store *store, const char *dsn, struct mg_err *err)
{
    (void)store;
    (void)dsn;
    (void)err;
    return MG_OK;
}

bool mg_store_is_up(const struct mg_store *store, char *ret_reason, size_t size)
{
    (void)store;
    snprintf(ret_reason, size, "%s", fake.is_store_up ? "" : "away");
    return fake.is_store_up;
}

void mg_store_try_lead(struct mg_store *store, const char *holder, mg_store_lead_fn *done, void *arg)
{
    (void)store;
    ck_assert_str_eq(holder, "runner-1");
    fake.tries++;
    fake.is_fenced = false;
    bool is_leader = !fake.is_held_by_other && fake.refusal == NULL;
    done(arg, &(struct mg_lead_answer){.is_leader = is_leader, .epoch = 1, .refusal = fake.refusal}, NULL);
}

void mg_store_stop_leading(struct mg_store *store, mg_store_done_fn *done, void *arg)
{
    (void)store;
    fake.resigned++;
    done(arg, NULL);
}

void mg_store_keep_bulk(struct mg_store *store, mg_store_changed_fn *done, void *arg)
{
    (void)store;
    const struct mg_err err = {.text = "away"};
    fake.keeps++;
    done(arg, !fake.is_fenced, fake.fails_keep ? &err : NULL);
}

int fake_count(enum mg_bulk_result result)
{
    int count = 0;
    for (int i = 0; i < ORDERS; i++) {
        count += fake.orders[i].result == result && (uint64_t)i < fake.row.version / 1000;
    }
    return count;
}

/* The number of orders in the bulk action is its version in thousands, so a test names both at once. */
static int order_count(void)
{
    return (int)(fake.row.version / 1000);
}

void mg_store_look_at_bulk(struct mg_store *store, mg_store_bulk_looked_fn *done, void *arg)
{
    static struct mg_bulk_order_row asked[ORDERS];
    struct mg_bulk_row rows[2];
    int row_count = 0;
    struct mg_err err;
    int count = 0;
    (void)store;
    fake.looks++;
    if (fake.fails_look) {
        (void)mg_err_set(&err, MG_TRANSIENT, "away");
        done(arg, NULL, &err);
        return;
    }
    for (int i = 0; i < order_count(); i++) {
        const struct fake_order *order = &fake.orders[i];
        if (order->result == MG_BULK_RESULT_ASKED) {
            struct mg_bulk_order_row *row = &asked[count++];
            *row = (struct mg_bulk_order_row){.bulk = fake.has_older,
                                              .n = i + 1,
                                              .order = {.version = 7,
                                                        .order_version = order->version,
                                                        .state = order->state,
                                                        .is_turned = fake.is_turned && order->version > 7}};
            snprintf(row->order_id, sizeof(row->order_id), "o-%d", i);
            snprintf(row->cause, sizeof(row->cause), "%s", order->cause);
        }
    }
    struct mg_bulk *bulk = &fake.row.bulk;
    bulk->waiting = fake_count(MG_BULK_RESULT_WAITING);
    bulk->asked = count;
    bulk->done = fake_count(MG_BULK_RESULT_DONE);
    bulk->failed = bulk->recent_failed = fake_count(MG_BULK_RESULT_FAILED);
    bulk->now_us = NOW_US + fake_clock.boot_ms * 1000;
    if (fake.has_older) {
        rows[row_count] = fake.row;
        snprintf(rows[row_count++].bulk_id, sizeof(rows[0].bulk_id), OLDER_ID);
    }
    if (!fake.is_ended) {
        rows[row_count++] = fake.row;
    }
    const struct mg_bulk_look look = {rows, asked, row_count, count};
    done(arg, &look, NULL);
}

void mg_store_write_bulk(struct mg_store *store, const struct mg_bulk_write *write,
                         mg_store_bulk_written_fn *done, void *arg)
{
    struct mg_bulk_written written = {.is_leader = !fake.is_fenced};
    struct mg_err err;
    (void)store;
    fake.writes++;
    if (fake.fails_write || strcmp(write->row->bulk_id, OLDER_ID) == 0) {
        (void)mg_err_set(&err, MG_TRANSIENT, "away");
        done(arg, NULL, &err);
        return;
    }
    written.is_written = !fake.is_fenced && !fake.is_paused_meanwhile;
    if (fake.is_paused_meanwhile) {
        fake.row.bulk.state = MG_BULK_PAUSED;
        fake.is_paused_meanwhile = false;
    } else if (written.is_written) {
        for (int i = 0; i < write->ended_count; i++) {
            struct fake_order *order = &fake.orders[write->ended[i].n - 1];
            order->result = write->ended[i].result;
            snprintf(order->text, sizeof(order->text), "%s", write->ended[i].text);
        }
        for (int64_t i = 0; i < write->plan.ask; i++) {
            fake.orders[fake.asked_to].result = MG_BULK_RESULT_ASKED;
            fake.asked_to++;
            written.asked++;
        }
        bool stops = write->plan.state == MG_BULK_STOPPED && fake.row.bulk.state != MG_BULK_STOPPED;
        for (int i = 0; stops && i < order_count(); i++) {
            if (fake.orders[i].result == MG_BULK_RESULT_WAITING) {
                fake.orders[i].result = MG_BULK_RESULT_SKIPPED;
            }
        }
        ck_assert(stops == (write->why != NULL));
        snprintf(fake.why, sizeof(fake.why), "%s", write->why != NULL ? write->why : "");
        written.is_alerted = stops;
        fake.row.bulk.state = write->plan.state;
        fake.row.bulk.is_tried = write->plan.is_tried;
        fake.row.bulk.next_us = write->plan.next_us;
        fake.is_ended = write->plan.state == MG_BULK_DONE ||
                        (write->plan.state == MG_BULK_STOPPED && fake_count(MG_BULK_RESULT_ASKED) == 0);
    }
    done(arg, &written, NULL);
}

/* ---- the schedulers' part ---- */

void fake_end_all(enum mg_order_state state)
{
    for (int i = 0; i < fake.sent_count; i++) {
        struct fake_order *order = &fake.orders[number_of(fake.sent[i].order_id)];
        if (order->version == 7) {
            order->version = 9;
            order->state = state;
            memcpy(order->cause, fake.sent[i].command_id, sizeof(order->cause));
        }
    }
}

void fake_answer(int i, enum mg_command_verdict verdict, uint64_t version, const char *text)
{
    struct mg_command_result result = {
        .verdict = verdict, .version = version, .may_pass = verdict == MG_COMMAND_INVALID};
    snprintf(result.command_id, sizeof(result.command_id), "%s", fake.sent[i].command_id);
    snprintf(result.text, sizeof(result.text), "%s", text);
    fake.client.on_result(fake.client.arg, &result, mg_slice_of(result.command_id));
}
