/*
 * Notifications of the processes that this one has started, by sd_notify(3): the socket that their
 * NOTIFY_SOCKET names, and the reading of their messages. The kernel names the sender of each message, since
 * any process of this network namespace can reach the socket.
 */
#ifndef MG_BASE_NOTIFY_SOCKET_H
#define MG_BASE_NOTIFY_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

/* What one process has notified so far. {0}: nothing. */
struct mg_notified {
    bool has_started; /* READY=1: its loop runs */
    char status[256]; /* of STATUS=: "ready", "not ready: …"; "" until the first one */
    int port;         /* of its HTTP server; 0: not known yet */
};
bool mg_notified_is_ready(const struct mg_notified *notified); /* by its status */
/* Takes a message of `len` bytes, with an assignment on each line. Others than the above are passed over. */
void mg_notified_take(struct mg_notified *notified, const char *text, size_t len);

struct mg_notify_socket;
typedef void mg_notified_fn(void *arg, pid_t sender, const char *text, size_t len);
/* MG_TRANSIENT: no memory or descriptors. */
enum mg_class mg_notify_socket_create(struct mg_loop *loop, mg_notified_fn *fn, void *arg,
                                      struct mg_notify_socket **ret_socket, struct mg_err *err) MG_MUSTCHECK;
void mg_notify_socket_destroy(struct mg_notify_socket *notify);              /* accepts NULL */
const char *mg_notify_socket_address(const struct mg_notify_socket *notify); /* "@name", for NOTIFY_SOCKET */

#endif
