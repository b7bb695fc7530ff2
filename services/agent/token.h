/*
 * The access token of one service (OAuth 2, RFC 6749 §4.4), shared by all calls of this process. It is
 * fetched when the first call needs it and renewed in the background before it ends. At most one fetch is
 * under way. The token reaches only the header of calls: no log, reply, trace or error text holds it.
 */
#ifndef MG_AGENT_TOKEN_H
#define MG_AGENT_TOKEN_H

#include "base/loop.h"
#include "wire/service.h"

struct mg_token;

/* A fetch has ended. False: there is no token, and mg_token_fault gives the cause. */
typedef void mg_token_fn(void *arg, bool is_good);

enum mg_class mg_token_create(struct mg_loop *loop, const struct mg_service *service, mg_token_fn *done,
                              void *arg, struct mg_token **ret_token, struct mg_err *err) MG_MUSTCHECK;
void mg_token_destroy(struct mg_token *token); /* accepts NULL */

/* True if a call may go out now. Starts a fetch if there is no token, or if it ends soon. */
bool mg_token_is_ready(struct mg_token *token);
/* For a ready token: "Authorization: Bearer …", valid until the loop's next turn, and its number. */
const char *mg_token_line(const struct mg_token *token);
/* The one before it, which a call under way may carry; NULL: none. */
const char *mg_token_old_line(const struct mg_token *token);
uint64_t mg_token_number(const struct mg_token *token);
/* The service refused this token; a newer one stays. */
void mg_token_refuse(struct mg_token *token, uint64_t number);

/* Why there is no token; "" if there is one, or if none has been asked for. */
const char *mg_token_fault(const struct mg_token *token);
/* True while calls should wait: a fetch is under way, or about to begin. */
bool mg_token_is_coming(const struct mg_token *token);

/* The next fetch reads the certificate files again. */
void mg_token_reload(struct mg_token *token);

#endif
