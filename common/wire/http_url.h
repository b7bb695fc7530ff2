/*
 * A URL for HTTP calls, parsed by libcurl, which also makes the calls: another parser might accept another
 * URL.
 */
#ifndef MG_WIRE_HTTP_URL_H
#define MG_WIRE_HTTP_URL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

#define MG_HOST_MAX 255

struct mg_http_url {
    bool is_http;      /* scheme http or https; other fields are set only then */
    bool has_host;     /* a host is present */
    bool has_user;     /* a name or a password */
    bool has_path;     /* more than "/" */
    bool has_port;     /* a port is written */
    bool is_tls;       /* scheme https */
    bool is_plaintext; /* http to a host that is not loopback: readable and changeable on the network */
    char host[MG_HOST_MAX + 1]; /* without brackets; cut if longer, as no reachable host is */
    int port;                   /* explicit, or the scheme's default */
};

/* MG_BAD_INPUT: not a URL; MG_TRANSIENT: out of memory. */
enum mg_class mg_http_url_parse(const char *text, struct mg_http_url *ret_url) MG_MUSTCHECK;

/* NULL: `text` is a proxy, "http://host:port", and `*ret_url` has its parts. Else the fault. */
const char *mg_http_proxy_fault(const char *text, struct mg_http_url *ret_url);

/* True for an origin as browsers write it (RFC 6454, 6.2): scheme and host in small letters, a port only if
 * it is not the scheme's own, and nothing behind. "null", which sandboxed pages share, is no origin. */
bool mg_http_origin_is(const char *text);

/* NULL if a rendered path may be sent, else its fault with a valid form. It must start with "/", be printable
 * ASCII without blanks, and hold neither "#" nor a "." or ".." segment (curl would climb out of the service's
 * URL). */
const char *mg_path_fault(struct mg_slice path);

#endif
