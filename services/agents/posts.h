/*
 * A post is one service of the folder: its file, the process that serves it, and the one that is to replace
 * it. Rules:
 *
 *   - A file counts once it has been the same at two looks, so a half-written file is not read.
 *   - A second process takes over once it is ready, or once the first one is not ready either. Then the first
 *     one drains. Both share the service's queues meanwhile, so no request waits for the change.
 *   - A file with a mistake is logged once, and tried again when it changes. The process of the old one
 * stays.
 *   - A file that is gone at two looks drains its process. If the folder is unreadable, all processes stay.
 *   - A process that ends by itself is started again: at once if it had run for a while, else later and
 * later.
 */
#ifndef MG_AGENTS_POSTS_H
#define MG_AGENTS_POSTS_H

#include "agents/agents.h"
#include "agents/child.h"
#include "base/metrics.h"

struct mg_posts;

struct mg_posts_setup {
    struct mg_loop *loop;
    struct mg_metrics *metrics;
    const struct mg_agents_options *options;
    const char *notify_socket;
    void (*on_empty)(void *arg); /* after mg_posts_drain: all processes have ended */
    void *arg;
};

struct mg_posts *mg_posts_create(const struct mg_posts_setup *setup); /* NULL: no memory */
void mg_posts_destroy(struct mg_posts *posts);                        /* kills; accepts NULL */
/* Called once a look's period: follows the folder, starts and replaces processes. */
void mg_posts_look(struct mg_posts *posts);
void mg_posts_drain(struct mg_posts *posts); /* again: all stop at once */
/* All processes re-read their secrets, and those that wait for a start are started. */
void mg_posts_reload(struct mg_posts *posts);
/* A message of sd_notify(3) from a process; from any other one it is dropped. */
void mg_posts_take(struct mg_posts *posts, pid_t pid, const char *text, size_t len);
bool mg_posts_are_ready(const struct mg_posts *posts, char *ret_reason, size_t size);
/* Calls `visit` for each process that serves. */
void mg_posts_walk(const struct mg_posts *posts,
                   void (*visit)(void *arg, const struct mg_agents_child *child), void *arg);

#endif
