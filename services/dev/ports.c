/* See ports.h. */
#include "ports.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/id.h"

/* Below the ephemeral range (32768 up): there a client that tries a port without a listener can get that very
 * port as its own, and then connects to itself. */
#define PORT_FIRST 20000
#define PORT_COUNT 12000
#define TRIES_MAX  200 /* so many taken ports in a row mean that nearly all are taken */

/* Takes a name that only one process can hold. The kernel frees it when the process ends (unix(7), abstract
 * sockets). So the socket stays open. */
static bool name_take(int port)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "makegood-port-%d", port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    if (bind(fd, (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) != 0) {
        (void)close(fd);
        return false;
    }
    return true;
}

/* Binds the address for a moment; 0, or an errno. A server's own SO_REUSEADDR passes over connections that
 * have ended, so this one does. */
static int bind_try(const struct addrinfo *address)
{
    int one = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    int rc = bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, 1) == 0 ? 0 : errno;
    (void)close(fd);
    return rc;
}

/* 0, an errno, or -1: it is no address and port. */
static int host_try(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, port, &hints, &found) != 0) {
        return -1;
    }
    int rc = bind_try(found);
    freeaddrinfo(found);
    return rc;
}

enum mg_class mg_port_claim(int *ret_port, struct mg_err *err)
{
    for (int i = 0; i < TRIES_MAX; i++) {
        int port = PORT_FIRST + (int)(mg_random_u64() % PORT_COUNT);
        char text[16];
        (void)snprintf(text, sizeof(text), "%d", port);
        if (name_take(port) && host_try("127.0.0.1", text) == 0) {
            *ret_port = port;
            return MG_OK;
        }
    }
    return mg_err_set(err, MG_TRANSIENT, "could not find a free port on 127.0.0.1 between %d and %d",
                      PORT_FIRST, PORT_FIRST + PORT_COUNT - 1);
}

enum mg_class mg_port_check(const char *option, const char *address, struct mg_err *err)
{
    char host[64];
    const char *colon = strrchr(address, ':');
    size_t len = colon != NULL ? (size_t)(colon - address) : 0;
    bool is_bracketed = len > 2 && address[0] == '[' && address[len - 1] == ']';
    size_t skipped = is_bracketed ? 1 : 0;
    int rc = -1;
    if (len > 0 && len < sizeof(host) && strspn(colon + 1, "0") < strlen(colon + 1) &&
        strtoul(colon + 1, NULL, 10) <= UINT16_MAX) { /* getaddrinfo takes a higher one, cut to 16 bits */
        (void)snprintf(host, sizeof(host), "%.*s", (int)(len - 2 * skipped), address + skipped);
        rc = host_try(host, colon + 1);
    }
    if (rc < 0) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "%s %.80s: expected an address and a port, such as 127.0.0.1:9280", option,
                          address);
    }
    return rc == 0 ? MG_OK
                   : mg_err_set(err, MG_PERMANENT, "%s %s: cannot listen there: %s; give another port",
                                option, address, strerror(rc));
}

bool mg_port_listens(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    bool is_there = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    (void)close(fd);
    return is_there;
}
