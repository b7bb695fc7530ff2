/* Host names and addresses, by their text alone. */
#include "base/host.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

/* "" or ":port" with digits only. */
static bool port_read(const char *text, int *ret_port)
{
    size_t digits = text[0] == ':' ? strspn(text + 1, "0123456789") : 0;
    long port = digits > 0 ? strtol(text + 1, NULL, 10) : 0;
    *ret_port = (int)(port <= UINT16_MAX ? port : 0);
    return text[0] == '\0' || (digits > 0 && digits <= 5 && text[1 + digits] == '\0' && port <= UINT16_MAX);
}

/* An IPv6 address in the spelling of inet_ntop. */
static bool v6_read(const char *text, size_t len, char ret_name[MG_HOST_NAME_SIZE])
{
    char bare[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (len >= sizeof(bare)) {
        return false;
    }
    memcpy(bare, text, len);
    bare[len] = '\0';
    return inet_pton(AF_INET6, bare, &address) == 1 &&
           inet_ntop(AF_INET6, &address, ret_name, MG_HOST_NAME_SIZE) != NULL;
}

bool mg_host_read(const char *text, char ret_name[MG_HOST_NAME_SIZE], int *ret_port)
{
    size_t len = strcspn(text, ":");
    const char *end = text[0] == '[' ? strchr(text, ']') : NULL;
    *ret_port = 0;
    if (text[0] == '[') {
        return end != NULL && v6_read(text + 1, (size_t)(end - text) - 1, ret_name) &&
               port_read(end + 1, ret_port);
    }
    if (v6_read(text, strlen(text), ret_name)) {
        return true;
    }
    if (!port_read(text + len, ret_port)) {
        return false;
    }
    len -= len > 0 && text[len - 1] == '.';
    for (size_t i = 0; i < len && i < MG_HOST_NAME_SIZE - 1; i++) {
        bool is_of_name = isalnum((unsigned char)text[i]) || strchr("-._~%", text[i]) != NULL;
        if (!is_of_name) {
            return false;
        }
        ret_name[i] = (char)tolower((unsigned char)text[i]);
        ret_name[i + 1] = '\0';
    }
    return len > 0 && len < MG_HOST_NAME_SIZE;
}

bool mg_host_is_of_origin(const char *host, const char *origin)
{
    char name[MG_HOST_NAME_SIZE], origin_name[MG_HOST_NAME_SIZE];
    int port, origin_port;
    bool is_tls = strncasecmp(origin, "https://", strlen("https://")) == 0;
    if (!is_tls && strncasecmp(origin, "http://", strlen("http://")) != 0) {
        return false;
    }
    int default_port = is_tls ? 443 : 80;
    if (!mg_host_read(host, name, &port) ||
        !mg_host_read(strstr(origin, "://") + strlen("://"), origin_name, &origin_port)) {
        return false;
    }
    return strcmp(name, origin_name) == 0 &&
           (port != 0 ? port : default_port) == (origin_port != 0 ? origin_port : default_port);
}
