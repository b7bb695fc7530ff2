/* See part_notify.h. */
#include "part_notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"

#define ENV_NAME     "NOTIFY_SOCKET="
#define MESSAGE_SIZE 4096

struct mg_part_notify {
    void (*fn)(void *arg, bool is_ready);
    void *arg;
    int fd;
    struct mg_watch *watch;
    char env[128], status[256];
};

/* A message has a line for each variable. */
static void message_read(struct mg_part_notify *notify, const char *text)
{
    const char *status = strstr(text, "STATUS=");
    if (status == NULL || (status != text && status[-1] != '\n')) {
        return;
    }
    status += strlen("STATUS=");
    mg_text_copy_plain((struct mg_slice){status, strcspn(status, "\n")}, notify->status,
                       sizeof(notify->status));
    notify->fn(notify->arg, strncmp(notify->status, "ready", 5) == 0);
}

static void on_readable(void *arg, int events)
{
    struct mg_part_notify *notify = arg;
    char text[MESSAGE_SIZE];
    (void)events;
    ssize_t got = recv(notify->fd, text, sizeof(text) - 1, 0);
    if (got > 0) {
        text[got] = '\0';
        message_read(notify, text);
    }
}

/* A name outside the file system (unix(7)): a path in a deep folder would be too long for a socket. */
static bool socket_open(struct mg_part_notify *notify)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "makegood-dev-%016llx",
                       (unsigned long long)mg_random_u64());
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(notify->env, sizeof(notify->env), ENV_NAME "@%s", name.sun_path + 1);
    return notify->fd >= 0 &&
           bind(notify->fd, (struct sockaddr *)&name,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) == 0;
}

struct mg_part_notify *mg_part_notify_create(struct mg_loop *loop, void (*fn)(void *arg, bool is_ready),
                                             void *arg)
{
    struct mg_part_notify *notify = calloc(1, sizeof(*notify));
    if (notify == NULL) {
        return NULL;
    }
    notify->fn = fn;
    notify->arg = arg;
    if (socket_open(notify)) {
        notify->watch = mg_watch_create(loop, notify->fd, on_readable, notify);
    }
    if (notify->watch == NULL) {
        mg_part_notify_destroy(notify);
        return NULL;
    }
    mg_watch_set(notify->watch, MG_READABLE);
    return notify;
}

void mg_part_notify_destroy(struct mg_part_notify *notify)
{
    if (notify == NULL) {
        return;
    }
    mg_watch_destroy(notify->watch);
    if (notify->fd >= 0) {
        (void)close(notify->fd);
    }
    free(notify);
}

char *mg_part_notify_env(struct mg_part_notify *notify)
{
    return notify->env;
}

const char *mg_part_notify_status(const struct mg_part_notify *notify)
{
    return notify->status;
}
