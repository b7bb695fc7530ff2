/* See commander.h. */
#include "operator/commander.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "io/amqp/topology.h"

#define RESEND_PERIOD_MS                                                                                     \
    2000           /* an answer is lost with its connection; a second copy of the command changes nothing */
#define TICK_MS 50 /* the delay after a reconnect; no operator notices it */

struct sending {
    bool is_open;
    int unconfirmed; /* publishes without an outcome yet; until then the place is not used again */
    struct mg_command command;
    const char *exchange, *routing_key;
    char correlation_id[MG_COMMAND_ID_MAX + 1]; /* two clients may use one command id at once */
    int64_t send_at_ms, end_at_ms;              /* by the clock since boot */
    commanded_fn *done;
    void (*returned)(void *arg); /* NULL: the command is sent again until its time is over */
    void *arg;
    struct mg_command_link *commander;
};

struct mg_command_link {
    struct mg_command_client *client;
    const char *exchange;
    struct mg_timer *timer; /* runs while a command is under way */
    struct sending sendings[MG_COMMANDS_MAX];
    int open_count;
    unsigned long long last_number;
};

static void sending_close(struct sending *sending)
{
    sending->is_open = false;
    if (--sending->commander->open_count == 0) {
        mg_timer_stop(sending->commander->timer);
    }
}

static void sending_end(struct sending *sending, const struct mg_command_result *result)
{
    sending_close(sending);
    sending->done(sending->arg, result);
}

static void on_result(void *arg, const struct mg_command_result *result, struct mg_slice correlation_id)
{
    struct mg_command_link *commander = arg;
    for (int i = 0; i < MG_COMMANDS_MAX; i++) {
        struct sending *sending = &commander->sendings[i];
        if (sending->is_open && mg_slice_is(correlation_id, sending->correlation_id)) {
            sending_end(sending, result);
            return;
        }
    }
}

static void on_published(void *arg, enum mg_publish_outcome outcome)
{
    struct sending *sending = arg;
    sending->unconfirmed--;
    if (outcome == MG_PUBLISH_RETURNED && sending->is_open && sending->returned != NULL) {
        sending_close(sending);
        sending->returned(sending->arg);
    }
}

/* On failure the next tick tries again. */
static void sending_send(struct sending *sending, int64_t now_ms)
{
    struct mg_err err;
    const struct mg_command_way way = {.exchange = sending->exchange,
                                       .routing_key = sending->routing_key,
                                       .correlation_id = sending->correlation_id,
                                       .published = on_published,
                                       .arg = sending};
    if (mg_command_client_send_by(sending->commander->client, &way, &sending->command, &err) == MG_OK) {
        sending->unconfirmed++;
        sending->send_at_ms = now_ms + RESEND_PERIOD_MS;
    }
}

static void on_tick(void *arg)
{
    struct mg_command_link *commander = arg;
    int64_t now_ms = mg_clock_boot_ms();
    for (int i = 0; i < MG_COMMANDS_MAX; i++) {
        struct sending *sending = &commander->sendings[i];
        if (sending->is_open && now_ms >= sending->end_at_ms) {
            sending_end(sending, NULL);
        } else if (sending->is_open && now_ms >= sending->send_at_ms) {
            sending_send(sending, now_ms);
        }
    }
}

enum mg_class mg_commander_create(struct mg_loop *loop, const struct mg_broker_address *address,
                                  const char *exchange, const char *name, struct mg_metrics *metrics,
                                  struct mg_command_link **ret_commander, struct mg_err *err)
{
    struct mg_command_link *commander = calloc(1, sizeof(*commander));
    if (commander == NULL || (commander->timer = mg_timer_create(loop, on_tick, commander)) == NULL) {
        free(commander);
        return mg_err_set(err, MG_TRANSIENT, "could not send commands: no memory");
    }
    commander->exchange = exchange != NULL ? exchange : MG_EXCHANGE_COMMANDS;
    const struct mg_command_client_options options = {.address = *address,
                                                      .exchange = exchange,
                                                      .name = name,
                                                      .metrics = metrics,
                                                      .on_result = on_result,
                                                      .arg = commander};
    enum mg_class class = mg_command_client_create(loop, &options, &commander->client, err);
    if (class != MG_OK) {
        mg_commander_destroy(commander);
        return class;
    }
    *ret_commander = commander;
    return MG_OK;
}

void mg_commander_destroy(struct mg_command_link *commander)
{
    if (commander == NULL) {
        return;
    }
    mg_command_client_destroy(commander->client);
    mg_timer_destroy(commander->timer);
    free(commander);
}

struct mg_broker *mg_commander_broker(struct mg_command_link *commander)
{
    return mg_command_client_broker(commander->client);
}

bool mg_commander_is_up(const struct mg_command_link *commander, char *ret_reason, size_t size)
{
    return mg_command_client_is_up(commander->client, ret_reason, size);
}

bool mg_commander_send(struct mg_command_link *commander, const struct mg_command *command,
                       int64_t timeout_ms, commanded_fn *done, void *arg)
{
    return mg_commander_send_by(commander, commander->exchange, MG_QUEUE_COMMANDS, command, timeout_ms, done,
                                NULL, arg);
}

bool mg_commander_send_by(struct mg_command_link *commander, const char *exchange, const char *routing_key,
                          const struct mg_command *command, int64_t timeout_ms, commanded_fn *done,
                          void (*returned)(void *arg), void *arg)
{
    for (int i = 0; i < MG_COMMANDS_MAX; i++) {
        struct sending *sending = &commander->sendings[i];
        if (sending->is_open || sending->unconfirmed > 0) {
            continue;
        }
        *sending = (struct sending){.is_open = true,
                                    .command = *command,
                                    .exchange = exchange,
                                    .routing_key = routing_key,
                                    .end_at_ms = mg_clock_boot_ms() + timeout_ms,
                                    .done = done,
                                    .returned = returned,
                                    .arg = arg,
                                    .commander = commander};
        (void)snprintf(sending->correlation_id, sizeof(sending->correlation_id), "%llu",
                       ++commander->last_number);
        commander->open_count++;
        mg_timer_start(commander->timer, 0, TICK_MS); /* it goes out in the next turn of the loop */
        return true;
    }
    return false;
}
