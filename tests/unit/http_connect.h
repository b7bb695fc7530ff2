/*
 * A client's end of a connection to a server on loopback, which blocks: for tests that send requests from a
 * thread of their own while the loop turns. Each file that includes it uses the parts that it needs.
 */
#ifndef MG_TEST_HTTP_CONNECT_H
#define MG_TEST_HTTP_CONNECT_H

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* Returns a connected socket. Ends the test if there is none; by abort, since Check's assertions are for the
 * thread that runs the test. */
static inline int http_connect(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
        return fd;
    }
    abort();
}

/* Returns true if all bytes were sent, false if the other end closed the connection. */
static inline bool http_send(int fd, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t sent = send(fd, bytes + at, len - at, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += (size_t)sent;
    }
    return true;
}

/* Reads until the other end closes the connection or `ret_text` is full, and ends it with a NUL; returns its
 * length. */
static inline size_t http_read_to_end(int fd, char *ret_text, size_t size)
{
    size_t len = 0;
    ssize_t got;
    while (len < size - 1 && (got = recv(fd, ret_text + len, size - 1 - len, 0)) > 0) {
        len += (size_t)got;
    }
    ret_text[len] = '\0';
    return len;
}

#endif
