/* One call of an audit with its tries, as an agent makes them. Private to services/audit. */
#ifndef MG_AUDIT_ATTEMPT_H
#define MG_AUDIT_ATTEMPT_H

#include "agent/token.h"
#include "audit.h"
#include "io/http/client.h"
#include "wire/request.h"

/* The connections of an audit. */
struct mg_caller {
    struct mg_audit *audit;
    struct mg_http_client *http;
    struct mg_token *token; /* NULL: the service needs none */
    bool is_fetching;       /* the loop runs until a fetch of the token has ended */
    bool has_no_token;      /* that fetch brought none */
    struct mg_timer *timer; /* ends a wait of the loop */
};

enum mg_class mg_caller_open(struct mg_audit *audit, struct mg_caller *ret_caller,
                             struct mg_err *err) MG_MUSTCHECK;
void mg_caller_close(struct mg_caller *caller); /* accepts half-built ones */

/* Runs the loop for so long. */
void mg_caller_rest(struct mg_caller *caller, int64_t ms);

/* Makes the tries of a request and writes the answer into `seen`. MG_TRANSIENT: no memory. */
enum mg_class mg_caller_call(struct mg_caller *caller, const struct mg_request *request,
                             struct mg_audit_seen *seen, struct mg_err *err) MG_MUSTCHECK;

#endif
