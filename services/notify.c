/* sd_notify(3) on our loop; no type or name of libsystemd leaves this file. */
#include "notify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

/* Period of STATUS=: short enough for an operator at `systemctl status`. */
#define STATUS_PERIOD_MS 1000
#define STATUS_SIZE      512

struct mg_notify {
    bool (*is_ready)(void *arg, char *ret_reason, size_t size);
    void *arg;
    struct mg_idle *first; /* NULL without NOTIFY_SOCKET, as the timers are */
    struct mg_timer *status_timer, *watchdog_timer;
    char status[STATUS_SIZE]; /* as last sent */
};

/* A lost message is not repeated: the manager acts by its own time-outs. */
static void state_send(const char *text)
{
    (void)sd_notify(0, text);
}

static void on_status(void *arg)
{
    struct mg_notify *notify = arg;
    char reason[STATUS_SIZE - 16] = "", status[STATUS_SIZE];
    bool is_ready = notify->is_ready(notify->arg, reason, sizeof(reason));
    for (char *at = reason; *at != '\0'; at++) {
        if (*at == '\n') {
            *at = ' '; /* a line's end would begin another assignment */
        }
    }
    (void)snprintf(status, sizeof(status), "%sready%s%s", is_ready ? "" : "not ",
                   reason[0] != '\0' ? ": " : "", reason);
    if (strcmp(status, notify->status) == 0) {
        return;
    }
    memcpy(notify->status, status, sizeof(status));
    (void)sd_notifyf(0, "STATUS=%s", status);
}

static void on_watchdog(void *arg)
{
    (void)arg;
    state_send("WATCHDOG=1");
}

static void on_first_turn(void *arg)
{
    state_send("READY=1");
    on_status(arg);
}

struct mg_notify *mg_notify_create(struct mg_loop *loop,
                                   bool (*is_ready)(void *arg, char *ret_reason, size_t size), void *arg)
{
    struct mg_notify *notify = calloc(1, sizeof(*notify));
    uint64_t watchdog_us = 0;
    const char *socket = getenv("NOTIFY_SOCKET");
    if (notify == NULL) {
        return NULL;
    }
    notify->is_ready = is_ready;
    notify->arg = arg;
    if (socket == NULL || socket[0] == '\0') {
        return notify;
    }

    bool has_watchdog = sd_watchdog_enabled(0, &watchdog_us) > 0;
    notify->first = mg_idle_create(loop, on_first_turn, notify);
    notify->status_timer = mg_timer_create(loop, on_status, notify);
    if (has_watchdog) {
        notify->watchdog_timer = mg_timer_create(loop, on_watchdog, notify);
    }
    if (notify->first == NULL || notify->status_timer == NULL ||
        (has_watchdog && notify->watchdog_timer == NULL)) {
        mg_notify_destroy(notify);
        return NULL;
    }
    mg_idle_arm(notify->first);
    mg_timer_start(notify->status_timer, STATUS_PERIOD_MS, STATUS_PERIOD_MS);
    /* Half of the time, as sd_watchdog_enabled(3) advises: one late turn of the loop must not get it
     * killed. */
    int64_t half_ms = (int64_t)(watchdog_us / 2 / 1000);
    if (has_watchdog) {
        mg_timer_start(notify->watchdog_timer, half_ms, half_ms > 0 ? half_ms : 1);
    }
    return notify;
}

void mg_notify_destroy(struct mg_notify *notify)
{
    if (notify == NULL) {
        return;
    }
    mg_idle_destroy(notify->first);
    mg_timer_destroy(notify->status_timer);
    mg_timer_destroy(notify->watchdog_timer);
    free(notify);
}

void mg_notify_port(int port)
{
    (void)sd_notifyf(0, "X_MAKEGOOD_HTTP_PORT=%d", port);
}

void mg_notify_reloading(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail; Type=notify-reload requires this time */
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                     (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

void mg_notify_reloaded(void)
{
    state_send("READY=1");
}

void mg_notify_stopping(int64_t at_most_ms)
{
    (void)sd_notifyf(0, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRId64, at_most_ms * 1000);
}
