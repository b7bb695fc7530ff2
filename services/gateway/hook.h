/*
 * Webhooks: statuses that the gateway sends to its clients' own addresses. hooks.c keeps one hook for each
 * client of --webhooks-file (hook_file.c), hook.c sends the statuses of one, window.c chooses their order and
 * pace.
 *
 * Such a client's orders have the queue client.<client>.webhook as reply_to, so schedulers publish its
 * statuses as to any other queue. A status is acked when the target has taken it. So nothing is lost with a
 * gateway, and while the queue is full the statuses are owed (io/store/owed.h). Each hook has a connection to
 * the broker, connections to its target and a window of its own: a target that is down delays no other.
 */
#ifndef MG_GATEWAY_HOOK_H
#define MG_GATEWAY_HOOK_H

#include "gateway/call.h"
#include "io/http/tokens.h"
#include "wire/webhook.h"

#define MG_HOOKS_MAX 128 /* as many as there are clients */

/* A line of --webhooks-file, with the secrets of its file. */
struct mg_hook_target {
    char client[MG_TOKEN_NAME_SIZE];
    char *url;
    char *proxy; /* "http://host:port"; NULL: none */
    struct mg_webhook_secrets secrets;
    int concurrency; /* requests under way */
};

/* Reads the file of --webhooks-file; without one there are no targets. The caller ends them. Unless it
 * `may_be_empty`, one of no bytes is refused: an editor may have emptied it to write it anew. MG_BAD_INPUT:
 * the text names file and line. */
enum mg_class mg_hook_file_read(const struct mg_gateway_options *options, bool may_be_empty,
                                struct mg_hook_target **ret_targets, int *ret_count,
                                struct mg_err *err) MG_MUSTCHECK;
void mg_hook_targets_destroy(struct mg_hook_target *targets, int count); /* wipes secrets; accepts NULL */

struct mg_hook;
/* Takes over the contents of `target`, also of mg_hook_set_target. `bytes`: for its deliveries in hand. */
enum mg_class mg_hook_create(struct mg_gateway *gateway, struct mg_hook_target *target, size_t bytes,
                             struct mg_hook **ret_hook, struct mg_err *err) MG_MUSTCHECK;
void mg_hook_destroy(struct mg_hook *hook); /* the broker gives its statuses to another gateway */
const char *mg_hook_client(const struct mg_hook *hook);
const char *mg_hook_queue(const struct mg_hook *hook);
/* Later requests use it; one to a new address goes out at once. */
void mg_hook_set_target(struct mg_hook *hook, struct mg_hook_target *target);
enum mg_class mg_hook_set_amqp_url(struct mg_hook *hook, const char *url, struct mg_err *err) MG_MUSTCHECK;
void mg_hook_reload_certificates(struct mg_hook *hook);
/* False: its queue cannot be read, for this reason. A failing target is no such reason. */
bool mg_hook_is_up(const struct mg_hook *hook, char *ret_reason, size_t size);
/* Call it each second: updates the gauges, and gives back statuses that were held for long. */
void mg_hook_look(struct mg_hook *hook);

#endif
