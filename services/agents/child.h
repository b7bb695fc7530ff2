/*
 * One makegood-agent process. It gets this process's environment, with {service} replaced by the service's
 * name in every variable MAKEGOOD_…, so each agent has its own user and secrets. It reports by sd_notify(3)
 * that it is ready, its state, its HTTP port, and that its loop turns. It ends when this process ends.
 */
#ifndef MG_AGENTS_CHILD_H
#define MG_AGENTS_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/loop_child.h"
#include "base/notify_socket.h"
#include "core/model.h"

/* An agent whose loop has not turned for this long is killed; it reports twice as often as needed. As
 * WatchdogSec= of the unit makegood-agent@. */
#define MG_AGENTS_CHILD_SILENCE_MAX_MS 30000

struct mg_agents_child {
    TAILQ_ENTRY(mg_agents_child) entry;
    char name[MG_NAME_MAX + 1];                                   /* of the service */
    void *arg;                                                    /* for the callback */
    pid_t pid;                                                    /* also after its end */
    struct mg_child *process;                                     /* NULL: it has ended */
    void (*on_end)(struct mg_agents_child *child, int exit_code); /* negative: the signal that ended it */
    struct mg_notified notified;                                  /* its port is on loopback */
    bool is_stopping;
    int64_t begun_ms;   /* boot clock */
    int64_t alive_ms;   /* of its last report */
    int64_t kill_at_ms; /* while it stops */
};
TAILQ_HEAD(mg_agents_children, mg_agents_child);

struct mg_agents_child_setup {
    struct mg_loop *loop;
    const char *name, *path;   /* of the service, and of its file */
    const char *agent_config;  /* "": none */
    const char *notify_socket; /* "@name" */
    int64_t drain_timeout_ms;
    int64_t memory_budget;                                        /* for an environment that has none */
    void (*on_end)(struct mg_agents_child *child, int exit_code); /* at its end; destroy it there, or later */
    void *arg;
};

/* MG_TRANSIENT: no memory, descriptors or processes. MG_PERMANENT: the program cannot be run. */
enum mg_class mg_agents_child_start(const struct mg_agents_child_setup *setup,
                                    struct mg_agents_child **ret_child, struct mg_err *err) MG_MUSTCHECK;
void mg_agents_child_signal(const struct mg_agents_child *child, int number);
/* Drains it; kills it at `kill_at_ms` of mg_agents_child_look. Again: it stops at once. */
void mg_agents_child_stop(struct mg_agents_child *child, int64_t kill_at_ms);
/* Takes a message of sd_notify(3), of `len` bytes. */
void mg_agents_child_take(struct mg_agents_child *child, const char *text, size_t len);
/* Kills it if it is silent, or stops for too long. Returns true if it was killed. */
bool mg_agents_child_look(struct mg_agents_child *child, int64_t now_ms);
void mg_agents_child_destroy(
    struct mg_agents_child *child); /* kills a process that still runs; accepts NULL */

#endif
