/*
 * The access token of one service (OAuth 2, RFC 6749 §4.4), shared by all calls of this process. It is
 * fetched when the first call needs it and renewed in the background before it ends. At most one fetch is
 * under way. The token reaches only the header of calls: no log, reply, trace or error text holds it.
 */
#ifndef MG_AGENT_TOKEN_H
#define MG_AGENT_TOKEN_H

#include "base/loop.h"
#include "service/service.h"

struct mg_token;

/* For so long refusals may have another cause than the credentials: a token that counts only some seconds
 * after its issue, or processes that end each other's tokens. Several tokens have their time in it. */
#define MG_TOKEN_PATIENCE_MS 20000

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

/* The refusals of tokens that one request has met; all zero: none. */
struct mg_token_refusals {
    int64_t since_boot_ms;
    uint64_t number; /* of the first refused token */
};

/* A call of a request with the token of this number was refused for its token. A newer token stays, and a
 * young one for some seconds. Returns the milliseconds until the request's next try, 0: as soon as there is a
 * token; -1: the service refuses the request. This is believed after MG_TOKEN_PATIENCE_MS, or earlier where
 * `left_ms`, the request's time, has no room for a further try, and others' calls were taken with the first
 * refused token since, or a second one was refused at its first use. */
int64_t mg_token_refuse(struct mg_token *token, uint64_t number, int64_t left_ms,
                        struct mg_token_refusals *refusals);
/* A call with the token of this number had another answer. */
void mg_token_accept(struct mg_token *token, uint64_t number);

/* Why there is no token; "" if there is one, or if none has been asked for. */
const char *mg_token_fault(const struct mg_token *token);
/* True while calls should wait: a fetch is under way, or about to begin. */
bool mg_token_is_coming(const struct mg_token *token);

/* The next fetch reads the certificate files again, and needs no rest before it. */
void mg_token_reload(struct mg_token *token);

#endif
