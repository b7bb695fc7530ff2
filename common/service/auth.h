/*
 * How calls to a service prove their origin: the `auth` member of a service file. Tokens and signatures are
 * made anew for each try and are no part of a request's bytes (law 8, derived identities). No secret may
 * reach a log, trace, reply or error text.
 */
#ifndef MG_SERVICE_AUTH_H
#define MG_SERVICE_AUTH_H

#include "base/hmac.h"
#include "wire/http_url.h"

enum mg_auth_scheme {
    MG_AUTH_NONE,
    MG_AUTH_BASIC,  /* RFC 7617 */
    MG_AUTH_BEARER, /* RFC 6750, a token from a file */
    MG_AUTH_OAUTH2, /* RFC 6749 §4.4, client credentials */
};

struct mg_secret {
    char *file;  /* NULL: there is no such secret */
    char *value; /* the file's only line */
    char *old;   /* before its last renewal; a call under way may carry it. NULL: none */
};

#define MG_EXPIRED_WHEN_MAX 8

struct mg_oauth2 {
    char *token_url, *client_id;
    char *scope, *audience, *ca_file; /* NULL: not given */
    struct mg_http_url endpoint;      /* token_url, parsed */
    bool is_secret_in_body;           /* RFC 6749 §2.3.1; false: by basic authentication */
    /* Error codes by which the service refuses a token, besides 401: "http_403/TOKEN_EXPIRED". NULL-ended. */
    char *expired_when[MG_EXPIRED_WHEN_MAX + 1];
};

struct mg_hmac_rule {
    char *header;             /* NULL: calls are not signed */
    char *prefix;             /* of the header's value; NULL: none */
    char *timestamp_header;   /* NULL: none is sent */
    bool is_timestamp_signed; /* the signed bytes are "<timestamp>.<body>"; false: the body */
    bool is_base64;           /* false: small hexadecimal digits */
    enum mg_hash hash;
    struct mg_secret key;
};

struct mg_auth {
    bool is_without_secrets; /* their files are not read, and no call can be made */
    enum mg_auth_scheme scheme;
    struct mg_secret secret; /* password, token or client secret */
    char *user;              /* of basic */
    char *line;              /* of basic and bearer: "Authorization: …" */
    char *old_line;          /* before its last renewal; NULL: none */
    struct mg_oauth2 oauth2;
    struct mg_hmac_rule hmac;
};

#endif
