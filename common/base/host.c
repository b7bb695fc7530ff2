/* Host names and addresses, by their text alone. */
#include "base/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool mg_host_is_loopback(const char *host)
{
    if (strcasecmp(host, "localhost") == 0) {
        return true;
    }
    char bare[INET6_ADDRSTRLEN];
    size_t len = strlen(host);
    bool is_bracketed = len >= 2 && host[0] == '[' && host[len - 1] == ']';
    if (is_bracketed) {
        len -= 2;
    }
    if (len >= sizeof(bare)) {
        return false;
    }
    (void)snprintf(bare, sizeof(bare), "%.*s", (int)len, host + (is_bracketed ? 1 : 0));
    struct in_addr v4;
    struct in6_addr v6;
    if (!is_bracketed && inet_pton(AF_INET, bare, &v4) == 1) {
        return ntohl(v4.s_addr) >> 24 == 127;
    }
    if (inet_pton(AF_INET6, bare, &v6) != 1) {
        return false;
    }
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}
