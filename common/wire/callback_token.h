/*
 * The token of a callback: the last part of an address to which a service reports that accepted work is
 * finished. It names the step and proves itself: a gateway that has the secret needs no table of tokens. The
 * same step and generation have the same token by the same secret (law 8, derived identities).
 */
#ifndef MG_WIRE_CALLBACK_TOKEN_H
#define MG_WIRE_CALLBACK_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/model.h"

#define MG_CALLBACK_SECRETS_MAX 4   /* the one in use, and others of calls that are under way */
#define MG_CALLBACK_SECRET_MIN  32  /* bytes: as many as the digest has (RFC 2104, section 3) */
#define MG_CALLBACK_SECRET_MAX  128 /* of a line: 64 bytes in hexadecimal */
/* base64url of the digest and "ORDER/STEP/GENERATION", and NUL. */
#define MG_CALLBACK_TOKEN_SIZE ((32 + MG_ORDER_ID_MAX + 1 + MG_NAME_MAX + 1 + 10) * 4 / 3 + 2)

struct mg_callback_secrets {
    char texts[MG_CALLBACK_SECRETS_MAX][MG_CALLBACK_SECRET_MAX + 1];
    int count; /* 0: there is none, so no token is made and none is valid */
};

/* Reads a file with one secret a line: the first makes tokens, tokens of all are valid. MG_BAD_INPUT: the
 * text names the path and the line and quotes nothing of it. */
enum mg_class mg_callback_secrets_read(const char *path, struct mg_callback_secrets *ret_secrets,
                                       struct mg_err *err) MG_MUSTCHECK;
/* The same for the text of such a file. */
enum mg_class mg_callback_secrets_parse(struct mg_slice text, struct mg_callback_secrets *ret_secrets,
                                        struct mg_err *err) MG_MUSTCHECK;
void mg_callback_secrets_wipe(struct mg_callback_secrets *secrets);

struct mg_callback {
    char order_id[MG_ORDER_ID_MAX + 1], step[MG_NAME_MAX + 1];
    uint32_t generation; /* of the key with which the step's do went out */
};

/* By the secret of that place in the file, from 0. False: no such secret, or no memory. */
bool mg_callback_token_make(const struct mg_callback_secrets *secrets, int place,
                            const struct mg_callback *callback,
                            char ret_token[MG_CALLBACK_TOKEN_SIZE]) MG_MUSTCHECK;
/* False: none of the secrets has made this token. The duration does not depend on the reason. */
bool mg_callback_token_read(const struct mg_callback_secrets *secrets, struct mg_slice token,
                            struct mg_callback *ret_callback) MG_MUSTCHECK;

#endif
