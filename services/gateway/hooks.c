/* The webhooks of all clients: made, changed and ended as --webhooks-file has them. See hook.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "gateway/hook.h"
#include "io/amqp/topology.h"
#include "io/tls/check.h"

#define LOOK_MS 1000 /* gauges are read every few seconds, and a delivery is held for minutes */

/* Orders that come while an entry is away have its queue all the same, so an edit that puts it back in time
 * leaves none without a webhook. */
#define AWAY_MS 60000

/* A webhook that has ended. */
struct ended {
    char client[MG_TOKEN_NAME_SIZE], queue[MG_QUEUE_NAME_SIZE];
    int64_t until_ms; /* its queue is named until then */
};

struct mg_hooks {
    struct mg_gateway *gateway;
    struct mg_timer *timer;
    struct mg_hook *all[MG_HOOKS_MAX];
    int count;
    struct ended ended[MG_HOOKS_MAX]; /* a ring; the oldest makes room */
    unsigned int ended_count;
};

static enum mg_class ca_check(const struct mg_gateway_options *options, struct mg_err *err)
{
    char warning[MG_TLS_WARNING_SIZE];
    const struct mg_tls_files files = {.ca_file = options->webhook_ca_file};
    if (options->webhook_ca_file[0] == '\0' || mg_tls_check(&files, warning, sizeof(warning), err) == MG_OK) {
        return MG_OK;
    }
    return mg_err_prefix(err, "--webhook-ca-file");
}

enum mg_class mg_hooks_check(const struct mg_gateway_options *options, struct mg_err *err)
{
    struct mg_hook_target *targets = NULL;
    int count = 0;
    enum mg_class class = ca_check(options, err);
    if (class == MG_OK) {
        class = mg_hook_file_read(options, true, &targets, &count, err);
    }
    if (class == MG_OK) {
        mg_hook_targets_destroy(targets, count);
    }
    return class;
}

static void on_look(void *arg)
{
    struct mg_hooks *hooks = arg;
    for (int i = 0; i < hooks->count; i++) {
        mg_hook_look(hooks->all[i]);
    }
}

struct mg_hooks *mg_hooks_create(struct mg_gateway *gateway, struct mg_err *err)
{
    struct mg_hooks *hooks = calloc(1, sizeof(*hooks));
    if (hooks == NULL || (hooks->timer = mg_timer_create(gateway->loop, on_look, hooks)) == NULL) {
        free(hooks);
        (void)mg_err_set(err, MG_TRANSIENT, "could not serve webhooks: no memory");
        return NULL;
    }
    hooks->gateway = gateway;
    if (mg_hooks_reload(hooks, err) != MG_OK) {
        mg_hooks_destroy(hooks);
        return NULL;
    }
    mg_timer_start(hooks->timer, LOOK_MS, LOOK_MS);
    return hooks;
}

void mg_hooks_destroy(struct mg_hooks *hooks)
{
    if (hooks == NULL) {
        return;
    }
    for (int i = 0; i < hooks->count; i++) {
        mg_hook_destroy(hooks->all[i]);
    }
    mg_timer_destroy(hooks->timer);
    free(hooks);
}

static struct mg_hook *hook_of(const struct mg_hooks *hooks, const char *client)
{
    for (int i = 0; i < hooks->count; i++) {
        if (strcmp(mg_hook_client(hooks->all[i]), client) == 0) {
            return hooks->all[i];
        }
    }
    return NULL;
}

static bool has_target(const struct mg_hook_target *targets, int count, const struct mg_hook *hook)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(targets[i].client, mg_hook_client(hook)) == 0) {
            return true;
        }
    }
    return false;
}

/* Makes the hooks of new clients in `ret_new`, at the place of each one's target. */
static enum mg_class new_create(struct mg_hooks *hooks, struct mg_hook_target *targets, int count,
                                struct mg_hook *ret_new[MG_HOOKS_MAX], struct mg_err *err)
{
    size_t share = hooks->gateway->options->memory_bytes / MG_GATEWAY_MEMORY_HOOKS;
    enum mg_class class = MG_OK;
    for (int i = 0; i < count && class == MG_OK; i++) {
        if (hook_of(hooks, targets[i].client) == NULL) {
            class = mg_hook_create(hooks->gateway, &targets[i], share / (size_t)count, &ret_new[i], err);
        }
    }
    for (int i = 0; i < count && class != MG_OK; i++) {
        mg_hook_destroy(ret_new[i]);
    }
    return class;
}

static void hook_end(struct mg_hooks *hooks, struct mg_hook *hook)
{
    struct ended *ended = &hooks->ended[hooks->ended_count++ % MG_HOOKS_MAX];
    (void)snprintf(ended->client, sizeof(ended->client), "%s", mg_hook_client(hook));
    (void)snprintf(ended->queue, sizeof(ended->queue), "%s", mg_hook_queue(hook));
    ended->until_ms = mg_clock_boot_ms() + AWAY_MS;
    mg_log(MG_LOG_INFO, "a webhook ends; its queue is no longer read", MG_LOG_TEXT("queue", ended->queue));
    mg_hook_destroy(hook);
}

static void targets_apply(struct mg_hooks *hooks, struct mg_hook_target *targets, int count,
                          struct mg_hook *const fresh[MG_HOOKS_MAX])
{
    struct mg_hook *all[MG_HOOKS_MAX] = {NULL};
    for (int i = 0; i < count; i++) {
        all[i] = fresh[i];
        if (all[i] == NULL) {
            all[i] = hook_of(hooks, targets[i].client);
            mg_hook_set_target(all[i], &targets[i]);
        }
    }
    for (int i = 0; i < hooks->count; i++) {
        if (!has_target(targets, count, hooks->all[i])) {
            hook_end(hooks, hooks->all[i]);
        }
    }
    memcpy(hooks->all, all, sizeof(all));
    hooks->count = count;
}

enum mg_class mg_hooks_reload(struct mg_hooks *hooks, struct mg_err *err)
{
    struct mg_hook *fresh[MG_HOOKS_MAX] = {NULL};
    struct mg_hook_target *targets = NULL;
    int count = 0;
    enum mg_class class =
        mg_hook_file_read(hooks->gateway->options, hooks->count == 0, &targets, &count, err);
    if (class != MG_OK) {
        return class;
    }
    class = new_create(hooks, targets, count, fresh, err);
    if (class == MG_OK) {
        targets_apply(hooks, targets, count, fresh);
    }
    mg_hook_targets_destroy(targets, count);
    for (int i = 0; i < hooks->count && class == MG_OK; i++) {
        mg_hook_reload_certificates(hooks->all[i]);
    }
    return class;
}

enum mg_class mg_hooks_set_amqp_url(struct mg_hooks *hooks, const char *url, struct mg_err *err)
{
    enum mg_class class = MG_OK;
    for (int i = 0; i < hooks->count && class == MG_OK; i++) {
        class = mg_hook_set_amqp_url(hooks->all[i], url, err);
    }
    return class;
}

const char *mg_hooks_queue(const struct mg_hooks *hooks, const char *client)
{
    const struct mg_hook *hook = hook_of(hooks, client);
    int64_t now_ms = mg_clock_boot_ms();
    if (hook != NULL) {
        return mg_hook_queue(hook);
    }
    for (int i = 0; i < MG_HOOKS_MAX; i++) {
        const struct ended *ended = &hooks->ended[i];
        if (ended->until_ms > now_ms && strcmp(ended->client, client) == 0) {
            return ended->queue;
        }
    }
    return NULL;
}

void mg_hooks_remark(const struct mg_hooks *hooks, char *ret_remark, size_t size)
{
    char reason[MG_ERR_TEXT_MAX];
    (void)snprintf(ret_remark, size, "%s", "");
    for (int i = 0; i < hooks->count; i++) {
        if (!mg_hook_is_up(hooks->all[i], reason, sizeof(reason))) {
            (void)snprintf(ret_remark, size, "the webhook of %s: %s", mg_hook_client(hooks->all[i]), reason);
            return;
        }
    }
}
