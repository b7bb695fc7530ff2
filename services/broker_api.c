/* See broker_api.h. */
#include "broker_api.h"

#include <stdio.h>
#include <string.h>

#include "base/hmac.h"
#include "wire/http_url.h"

#define URL_MAX           1024
#define HEADERS_MAX_BYTES ((size_t)16 * 1024)

static const struct {
    const char *path, *query;
} LISTS[MG_API_LIST_COUNT] = {
    [MG_API_QUEUES] = {"queues", "?columns=name,policy,operator_policy"},
    [MG_API_EXCHANGES] = {"exchanges", "?columns=name,policy"},
    [MG_API_BINDINGS] = {"bindings", ""},
    [MG_API_POLICIES] = {"policies", ""},
    [MG_API_OPERATOR_POLICIES] = {"operator-policies", ""},
};

bool mg_broker_has_api(const struct mg_broker_address *address)
{
    return address->api_url != NULL && address->api_url[0] != '\0';
}

enum mg_class mg_broker_api_check(const struct mg_broker_address *address, struct mg_err *err)
{
    struct mg_http_url url = {.is_plaintext = false};
    if (!mg_broker_has_api(address)) {
        return MG_OK;
    }
    enum mg_class class = mg_http_url_parse(address->api_url, &url);
    if (class == MG_TRANSIENT) {
        return mg_err_set(err, class, "--amqp-api: no memory");
    }
    if (class != MG_OK || !url.is_http || !url.has_host || url.has_user ||
        strpbrk(address->api_url, "?#") != NULL || strlen(address->api_url) > URL_MAX / 2) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "--amqp-api: expected a URL such as http://127.0.0.1:15672, without a user");
    }
    if (url.is_plaintext && !address->is_plaintext_allowed) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "--amqp-api: the password would go to %s in plain text; write https://, or give "
                          "--allow-plaintext on a private network",
                          url.host);
    }
    return MG_OK;
}

void mg_broker_api_close(struct mg_broker_api *api)
{
    mg_http_client_destroy(api->http);
    mg_loop_destroy(api->loop);
    explicit_bzero(api->authorization_memory, sizeof(api->authorization_memory));
    for (int i = 0; i < MG_API_LIST_COUNT; i++) {
        mg_buf_finish(&api->lists[i]);
    }
}

static enum mg_class account_read(struct mg_broker_api *api, struct mg_err *err)
{
    char memory[MG_API_LOGIN_MAX_BYTES];
    struct mg_buf login;
    mg_buf_init_fixed(&login, memory, sizeof(memory));
    enum mg_class class = mg_broker_account(api->address, &login, &api->vhost, err);
    mg_buf_append_text(&api->authorization, "Authorization: Basic ");
    mg_buf_append_base64(&api->authorization, mg_buf_slice(&login));
    mg_buf_fail_with(&api->authorization, &login);
    explicit_bzero(memory, sizeof(memory));
    if (class == MG_OK && (api->authorization.failed || api->vhost.failed)) {
        class = mg_err_set(err, MG_TRANSIENT, "could not read the account of the AMQP URL: it is too long");
    }
    return class;
}

enum mg_class mg_broker_api_open(struct mg_broker_api *api, struct mg_err *err)
{
    const struct mg_http_client_options options = {.max_connections = 1,
                                                   .connect_timeout_ms = MG_BROKER_API_TIMEOUT_MS,
                                                   .idle_connection_ms = MG_BROKER_API_TIMEOUT_MS,
                                                   .max_body_bytes = MG_POLICY_LISTS_MAX_BYTES,
                                                   .max_header_bytes = HEADERS_MAX_BYTES};
    mg_buf_init_fixed(&api->authorization, api->authorization_memory, sizeof(api->authorization_memory));
    mg_buf_init_fixed(&api->vhost, api->vhost_memory, sizeof(api->vhost_memory));
    for (int i = 0; i < MG_API_LIST_COUNT; i++) {
        mg_buf_init(&api->lists[i], MG_POLICY_LISTS_MAX_BYTES);
    }
    enum mg_class class = mg_broker_api_check(api->address, err);
    if (class == MG_OK) {
        class = account_read(api, err);
    }
    api->loop = class == MG_OK ? mg_loop_create() : NULL;
    if (class == MG_OK && api->loop == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not ask the broker's API: no memory");
    }
    return class == MG_OK ? mg_http_client_create(api->loop, &options, &api->http, err) : class;
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct mg_broker_api *api = arg;
    api->status = answer->status;
    (void)snprintf(api->reason, sizeof(api->reason), "%s", answer->reason);
    if (answer->sent == MG_SENT_YES && api->answer != NULL) {
        mg_buf_append_slice(api->answer, answer->body);
    }
    mg_loop_stop(api->loop);
}

/* RFC 3986: all but unreserved characters are escaped. */
static void url_append(struct mg_buf *url, struct mg_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        mg_buf_printf(url, "%%%02X", (unsigned char)text.data[i]);
    }
}

static enum mg_class answer_judge(const struct mg_broker_api *api, const char *url, struct mg_err *err)
{
    if (api->status == 401 || api->status == 403) {
        return mg_err_set(err, MG_TRANSIENT,
                          "%s answered %d: give the user the tag management (policymaker to set a policy): "
                          "rabbitmqctl set_user_tags",
                          url, api->status);
    }
    if (api->status < 200 || api->status > 299) {
        return mg_err_set(err, MG_TRANSIENT, "%s answered %d%s%s: is the management plugin enabled there?",
                          url, api->status, api->reason[0] != '\0' ? ", " : "", api->reason);
    }
    return MG_OK;
}

/* Runs the loop until the answer is there; the call has a time-out. */
enum mg_class mg_broker_api_call(struct mg_broker_api *api, const char *method, const char *path,
                                 const char *rest, struct mg_slice body, struct mg_buf *ret_answer,
                                 struct mg_err *err)
{
    char memory[URL_MAX * 4];
    struct mg_buf url;
    struct mg_http_call *call = NULL;
    const char *headers[] = {api->authorization.data, "Content-Type: application/json", NULL};
    size_t len = strlen(api->address->api_url);
    len -= len > 0 && api->address->api_url[len - 1] == '/';
    mg_buf_init_fixed(&url, memory, sizeof(memory));
    mg_buf_printf(&url, "%.*s/api/%s/", (int)len, api->address->api_url, path);
    url_append(&url, mg_buf_slice(&api->vhost));
    mg_buf_append_text(&url, rest);
    if (url.failed) {
        return mg_err_set(err, MG_PERMANENT, "could not ask the broker's API: the URL is too long");
    }
    const char *ca_file = api->address->tls.ca_file;
    const struct mg_http_request request = {.method = method,
                                            .url = url.data,
                                            .headers = headers,
                                            .body = body,
                                            .timeout_ms = MG_BROKER_API_TIMEOUT_MS,
                                            .ca_file = ca_file != NULL && ca_file[0] != '\0' ? ca_file : NULL,
                                            .is_secret = true};
    api->answer = ret_answer;
    enum mg_class class = mg_http_client_call(api->http, &request, on_answer, api, &call, err);
    if (class != MG_OK) {
        return class;
    }
    mg_loop_run(api->loop);
    return answer_judge(api, url.data, err);
}

enum mg_class mg_broker_api_read(struct mg_broker_api *api, enum mg_api_list list, struct mg_err *err)
{
    return mg_broker_api_call(api, "GET", LISTS[list].path, LISTS[list].query, (struct mg_slice){0},
                              &api->lists[list], err);
}
