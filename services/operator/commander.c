/* See commander.h. */
#include "operator/commander.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define RESEND_PERIOD_MS                                                                                     \
    2000           /* an answer is lost with its connection; a second copy of the command changes nothing */
#define TICK_MS 50 /* the delay after a reconnect; no operator notices it */

struct sending {
    bool is_open;
    struct mg_command command;
    int64_t send_at_ms, end_at_ms; /* by the clock since boot */
    commanded_fn *done;
    void *arg;
};

struct mg_command_link {
    struct mg_command_client *client;
    struct mg_timer *timer; /* runs while a command is under way */
    struct sending sendings[MG_COMMANDS_MAX];
    int open_count;
};

static void sending_end(struct mg_command_link *commander, struct sending *sending,
                        const struct mg_command_result *result)
{
    sending->is_open = false;
    if (--commander->open_count == 0) {
        mg_timer_stop(commander->timer);
    }
    sending->done(sending->arg, result);
}

static void on_result(void *arg, const struct mg_command_result *result)
{
    struct mg_command_link *commander = arg;
    for (int i = 0; i < MG_COMMANDS_MAX; i++) {
        struct sending *sending = &commander->sendings[i];
        if (sending->is_open && strcmp(sending->command.command_id, result->command_id) == 0 &&
            strcmp(sending->command.order_id, result->order_id) == 0) {
            sending_end(commander, sending, result);
        }
    }
}

static void on_tick(void *arg)
{
    struct mg_command_link *commander = arg;
    int64_t now_ms = mg_clock_boot_ms();
    struct mg_err err;
    for (int i = 0; i < MG_COMMANDS_MAX; i++) {
        struct sending *sending = &commander->sendings[i];
        if (sending->is_open && now_ms >= sending->end_at_ms) {
            sending_end(commander, sending, NULL);
        } else if (sending->is_open && now_ms >= sending->send_at_ms &&
                   mg_command_client_send(commander->client, &sending->command, &err) == MG_OK) {
            sending->send_at_ms = now_ms + RESEND_PERIOD_MS; /* on failure the next tick tries again */
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
    for (int i = 0; i < MG_COMMANDS_MAX; i++) {
        struct sending *sending = &commander->sendings[i];
        if (!sending->is_open) {
            *sending = (struct sending){.is_open = true,
                                        .command = *command,
                                        .end_at_ms = mg_clock_boot_ms() + timeout_ms,
                                        .done = done,
                                        .arg = arg};
            if (commander->open_count++ == 0) {
                mg_timer_start(commander->timer, 1, TICK_MS);
            }
            return true;
        }
    }
    return false;
}
