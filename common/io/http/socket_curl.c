/*
 * The sockets of a pool. A kept connection is clean if nothing has come over it since its last answer.
 * Surplus bytes, such as an answer that a proxy sent twice, would be taken for the answer to the next
 * request. libcurl looks for them from 8.0 on. It does not tell the socket of a connection before the send,
 * only the local port.
 */
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/http/alive.h"
#include "io/http/curl.h"

#define SOCKETS_FEW 8 /* the first allocation; most services need no more */

static int port_of(curl_socket_t fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof(address);
    if (getsockname(fd, &address.any, &size) != 0) {
        return 0;
    }
    return address.any.sa_family == AF_INET    ? ntohs(address.v4.sin_port)
           : address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port)
                                               : 0;
}

static void socket_forget(struct mg_http_sockets *sockets, curl_socket_t fd)
{
    for (int i = 0; i < sockets->count; i++) {
        if (sockets->all[i].fd == fd) {
            sockets->all[i] = sockets->all[--sockets->count];
            return;
        }
    }
}

static bool socket_add(struct mg_http_sockets *sockets, curl_socket_t fd)
{
    if (sockets->count == sockets->capacity) {
        int capacity = sockets->capacity > 0 ? 2 * sockets->capacity : SOCKETS_FEW;
        struct mg_http_socket *all = realloc(sockets->all, (size_t)capacity * sizeof(*all));
        if (all == NULL) {
            return false;
        }
        sockets->all = all;
        sockets->capacity = capacity;
    }
    sockets->all[sockets->count++] = (struct mg_http_socket){.fd = fd};
    return true;
}

/* A socket before it connects. Without memory it is not used. */
static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    struct mg_http_sockets *sockets = arg;
    (void)purpose;
    mg_http_keep_alive(fd);
    socket_forget(sockets, fd); /* of a socket that was closed some other way */
    return socket_add(sockets, fd) ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

static int on_socket_closed(void *arg, curl_socket_t fd)
{
    socket_forget(arg, fd);
    return close(fd);
}

bool mg_http_sockets_watch(struct mg_http_sockets *sockets, CURL *easy)
{
    return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, sockets) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_closed) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, sockets) == CURLE_OK;
}

void mg_http_sockets_finish(struct mg_http_sockets *sockets)
{
    free(sockets->all);
}

bool mg_http_sockets_are_clean(struct mg_http_sockets *sockets, int local_port)
{
    for (int i = 0; i < sockets->count; i++) {
        struct mg_http_socket *socket = &sockets->all[i];
        if (socket->port == 0) {
            socket->port = port_of(socket->fd); /* it has one since it connects */
        }
        struct pollfd ready = {.fd = socket->fd, .events = POLLIN};
        if (socket->port == local_port && poll(&ready, 1, 0) > 0) {
            return false;
        }
    }
    return true;
}
