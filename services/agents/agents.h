/*
 * `makegood agents`: one makegood-agent process for each service file of its folders, which it follows. A new
 * file starts a process. A changed file starts a second process, and the first one drains once the second
 * one is ready. A removed file drains its process. A file with a mistake changes nothing.
 *
 * Processes, not threads or shared loops: a slow or crashed service harms no other, a limit or a leak of one
 * is its own, and each logs in to the broker as its own user, which has rights on its own queues only. This
 * process handles no message and no secret; if it stalls, the agents go on.
 */
#ifndef MG_AGENTS_AGENTS_H
#define MG_AGENTS_AGENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/err.h"
#include "base/loop.h"

/* Bounds the processes. Each takes 2 MB at rest and its share for messages; beyond this, a second folder
 * belongs on a second machine. */
#define MG_AGENTS_MAX 64

struct mg_agents_options {
    /* Their files NAME.json; NAME is the name of the service. Of two files with one name, that of the earlier
     * folder counts. */
    const struct mg_list *folders;
    const char *agent_config;                  /* configuration file of each agent; "": none */
    const char *listen, *cert_file, *key_file; /* of /healthz, /readyz and /metrics */
    bool is_plaintext_allowed;
    int64_t drain_timeout_ms; /* of each agent */
};

struct mg_agents;

/* Checks options and every service file; starts nothing. */
enum mg_class mg_agents_check(const struct mg_agents_options *options, struct mg_err *err) MG_MUSTCHECK;
/* The options are borrowed. */
enum mg_class mg_agents_create(struct mg_loop *loop, const struct mg_agents_options *options,
                               struct mg_agents **ret_agents, struct mg_err *err) MG_MUSTCHECK;
void mg_agents_destroy(struct mg_agents *agents); /* kills the processes that are left; accepts NULL */
int mg_agents_port(const struct mg_agents *agents);

/* Ready: every file has a process that is ready. A file with a mistake is a remark while an older process
 * serves. */
bool mg_agents_is_ready(void *agents, char *ret_reason, size_t size);
/* Drains all agents, then stops the loop. The second call has them stop at once. */
void mg_agents_drain(struct mg_agents *agents);
/* Looks at the folders at once, and has each agent re-read its secrets. */
void mg_agents_reload(struct mg_agents *agents);

#endif
