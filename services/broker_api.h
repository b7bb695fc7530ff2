/*
 * RabbitMQ's management API, for what AMQP has no method for: policies, and bindings. The account is that of
 * the AMQP URL; it needs the tag `management` to read, `policymaker` to set a policy. All of it blocks, at
 * most MG_BROKER_API_TIMEOUT_MS for each answer: for the tool, and for a process before its loop runs.
 */
#ifndef MG_BROKER_API_H
#define MG_BROKER_API_H

#include "base/loop.h"
#include "io/amqp/topology.h"
#include "io/http/client.h"
#include "wire/policies.h"

#define MG_BROKER_API_TIMEOUT_MS 5000
#define MG_API_LOGIN_MAX_BYTES   1024
#define MG_API_VHOST_MAX_BYTES   1024

enum mg_api_list {
    MG_API_QUEUES,
    MG_API_EXCHANGES,
    MG_API_BINDINGS,
    MG_API_POLICIES,
    MG_API_OPERATOR_POLICIES,
    MG_API_LIST_COUNT
};

/* Its owner sets the address. */
struct mg_broker_api {
    const struct mg_broker_address *address;
    struct mg_loop *loop;
    struct mg_http_client *http;
    struct mg_buf authorization, vhost; /* the whole header; both in the memory behind */
    char authorization_memory[2 * MG_API_LOGIN_MAX_BYTES], vhost_memory[MG_API_VHOST_MAX_BYTES];
    struct mg_buf lists[MG_API_LIST_COUNT];
    struct mg_buf *answer; /* of the call under way */
    int status;
    char reason[256];
};

bool mg_broker_has_api(const struct mg_broker_address *address);

/* MG_BAD_INPUT: the URL of the API cannot be used. Makes no connection. */
enum mg_class mg_broker_api_check(const struct mg_broker_address *address, struct mg_err *err) MG_MUSTCHECK;

enum mg_class mg_broker_api_open(struct mg_broker_api *api, struct mg_err *err) MG_MUSTCHECK;
void mg_broker_api_close(struct mg_broker_api *api); /* also after an open that failed */

/* `rest` follows the virtual host in the URL. MG_TRANSIENT: no good answer, for the reason in `err`.
 * `ret_answer` NULL: the body is of no interest. */
enum mg_class mg_broker_api_call(struct mg_broker_api *api, const char *method, const char *path,
                                 const char *rest, struct mg_slice body, struct mg_buf *ret_answer,
                                 struct mg_err *err) MG_MUSTCHECK;
/* Reads one list into `lists`. */
enum mg_class mg_broker_api_read(struct mg_broker_api *api, enum mg_api_list list,
                                 struct mg_err *err) MG_MUSTCHECK;

#endif
