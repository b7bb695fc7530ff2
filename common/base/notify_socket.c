/* See notify_socket.h. */
#include "base/notify_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"

#define STARTED        "READY=1"
#define STATUS         "STATUS="
#define PORT           "X_MAKEGOOD_HTTP_PORT="
#define ADDRESS_SIZE   64
#define MESSAGE_MAX    4096 /* bytes; those of our programs are shorter */
#define AT_ONCE_MAX    64   /* messages, before others get a turn */
#define IS(line, word) ((line).len >= sizeof(word) - 1 && memcmp((line).data, word, sizeof(word) - 1) == 0)

struct mg_notify_socket {
    mg_notified_fn *fn;
    void *arg;
    int fd;
    struct mg_watch *watch;
    char address[ADDRESS_SIZE];
};

/* ---- one process ---- */

bool mg_notified_is_ready(const struct mg_notified *notified)
{
    return strncmp(notified->status, "ready", 5) == 0;
}

static int port_read(struct mg_slice text)
{
    char digits[16];
    mg_text_copy_plain(text, digits, sizeof(digits));
    long port = strtol(digits, NULL, 10);
    return port > 0 && port <= UINT16_MAX ? (int)port : 0;
}

static struct mg_slice behind(struct mg_slice line, size_t len)
{
    return (struct mg_slice){line.data + len, line.len - len};
}

static void line_take(struct mg_notified *notified, struct mg_slice line)
{
    if (IS(line, STARTED)) {
        notified->has_started = true;
    } else if (IS(line, STATUS)) {
        mg_text_copy_plain(behind(line, strlen(STATUS)), notified->status, sizeof(notified->status));
    } else if (IS(line, PORT)) {
        notified->port = port_read(behind(line, strlen(PORT)));
    }
}

void mg_notified_take(struct mg_notified *notified, const char *text, size_t len)
{
    for (const char *at = text, *end = text + len; at < end;) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((feed != NULL ? feed : end) - at);
        line_take(notified, (struct mg_slice){at, line_len});
        at += line_len + 1;
    }
}

/* ---- the socket ---- */

static pid_t sender_of(struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(part), sizeof(sender));
            return sender.pid;
        }
    }
    return 0;
}

static bool message_receive(struct mg_notify_socket *notify)
{
    char text[MESSAGE_MAX];
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr alignment;
    } control;
    struct iovec part = {.iov_base = text, .iov_len = sizeof(text)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t len = recvmsg(notify->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (len < 0) {
        return false;
    }
    pid_t sender = sender_of(&message);
    if (sender > 0) {
        notify->fn(notify->arg, sender, text, (size_t)len);
    }
    return true;
}

static void on_readable(void *arg, int events)
{
    (void)events;
    for (int i = 0; i < AT_ONCE_MAX && message_receive(arg); i++) {
    }
}

/* The kernel chooses an abstract address (unix(7), autobind), so no file is left, and no folder is too deep.
 */
static bool socket_open(struct mg_notify_socket *notify)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(address.sun_family);
    int on = 1;
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_open = notify->fd >= 0 && setsockopt(notify->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
                   bind(notify->fd, (const struct sockaddr *)&address, len) == 0;
    len = sizeof(address);
    if (!is_open || getsockname(notify->fd, (struct sockaddr *)&address, &len) != 0) {
        return false;
    }
    int name_len = (int)(len - offsetof(struct sockaddr_un, sun_path)) - 1; /* after the NUL */
    (void)snprintf(notify->address, sizeof(notify->address), "@%.*s", name_len, address.sun_path + 1);
    return true;
}

enum mg_class mg_notify_socket_create(struct mg_loop *loop, mg_notified_fn *fn, void *arg,
                                      struct mg_notify_socket **ret_socket, struct mg_err *err)
{
    struct mg_notify_socket *notify = calloc(1, sizeof(*notify));
    if (notify == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    notify->fn = fn;
    notify->arg = arg;
    if (!socket_open(notify)) {
        (void)mg_err_set(err, MG_TRANSIENT, "could not open a socket for notifications: %s", strerror(errno));
        mg_notify_socket_destroy(notify);
        return MG_TRANSIENT;
    }
    notify->watch = mg_watch_create(loop, notify->fd, on_readable, notify);
    if (notify->watch == NULL) {
        mg_notify_socket_destroy(notify);
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    mg_watch_set(notify->watch, MG_READABLE);
    *ret_socket = notify;
    return MG_OK;
}

void mg_notify_socket_destroy(struct mg_notify_socket *notify)
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

const char *mg_notify_socket_address(const struct mg_notify_socket *notify)
{
    return notify->address;
}
