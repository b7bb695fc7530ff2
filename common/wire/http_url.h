/*
 * A URL by which something is called over HTTP, read by libcurl, which will also use it: a check by another
 * parser would be a check of another URL.
 */
#ifndef MG_WIRE_HTTP_URL_H
#define MG_WIRE_HTTP_URL_H

#include <stdbool.h>

#include "base/err.h"

#define MG_HOST_MAX 255

struct mg_http_url {
    bool is_http;      /* scheme http or https; the rest is filled only then */
    bool has_host;     /* one stands where it belongs */
    bool has_user;     /* a name or a password */
    bool has_path;     /* more than "/" */
    bool is_plaintext; /* http to a host that is not loopback: the network could read and change it */
    char host[MG_HOST_MAX + 1]; /* without brackets; cut if longer, which no host is that can be reached */
    int port;                   /* also where the scheme alone says it */
};

/* MG_BAD_INPUT: no URL at all; MG_TRANSIENT: no memory. */
enum mg_class mg_http_url_parse(const char *text, struct mg_http_url *ret_url) MG_MUSTCHECK;

#endif
