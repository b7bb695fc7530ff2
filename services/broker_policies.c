/* See broker_policies.h. */
#include "broker_policies.h"

#include <stdio.h>
#include <string.h>

#include "base/hmac.h"
#include "base/log.h"
#include "base/loop.h"
#include "io/amqp/topology.h"
#include "io/http/client.h"
#include "wire/http_url.h"
#include "wire/policies.h"

#define URL_MAX           1024
#define HEADERS_MAX_BYTES ((size_t)16 * 1024)
#define LOGIN_MAX_BYTES   1024
#define VHOST_MAX_BYTES   1024

const char MG_BROKER_POLICY_COMMAND[] =
    "rabbitmqctl set_policy " MG_POLICY_NAME " '" MG_POLICY_PATTERN "' '" MG_POLICY_DEFINITION
    "' --priority " MG_POLICY_PRIORITY_TEXT " --apply-to queues";

enum list { LIST_QUEUES, LIST_EXCHANGES, LIST_POLICIES, LIST_OPERATOR_POLICIES, LIST_COUNT };

static const struct {
    const char *path, *query;
} LISTS[LIST_COUNT] = {
    [LIST_QUEUES] = {"queues", "?columns=name,policy,operator_policy"},
    [LIST_EXCHANGES] = {"exchanges", "?columns=name,policy"},
    [LIST_POLICIES] = {"policies", ""},
    [LIST_OPERATOR_POLICIES] = {"operator-policies", ""},
};

struct api {
    const struct mg_broker_address *address;
    struct mg_loop *loop;
    struct mg_http_client *http;
    struct mg_buf authorization, vhost; /* the whole header; both in the memory behind */
    char authorization_memory[2 * LOGIN_MAX_BYTES], vhost_memory[VHOST_MAX_BYTES];
    struct mg_buf lists[LIST_COUNT];
    struct mg_buf *answer; /* of the call under way */
    int status;
    char reason[256];
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

/* ---- calls ---- */

static void api_close(struct api *api)
{
    mg_http_client_destroy(api->http);
    mg_loop_destroy(api->loop);
    explicit_bzero(api->authorization_memory, sizeof(api->authorization_memory));
    for (int i = 0; i < LIST_COUNT; i++) {
        mg_buf_finish(&api->lists[i]);
    }
}

static enum mg_class account_read(struct api *api, struct mg_err *err)
{
    char memory[LOGIN_MAX_BYTES];
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

static enum mg_class api_open(struct api *api, struct mg_err *err)
{
    const struct mg_http_client_options options = {.max_connections = 1,
                                                   .connect_timeout_ms = MG_BROKER_API_TIMEOUT_MS,
                                                   .idle_connection_ms = MG_BROKER_API_TIMEOUT_MS,
                                                   .max_body_bytes = MG_POLICY_LISTS_MAX_BYTES,
                                                   .max_header_bytes = HEADERS_MAX_BYTES};
    mg_buf_init_fixed(&api->authorization, api->authorization_memory, sizeof(api->authorization_memory));
    mg_buf_init_fixed(&api->vhost, api->vhost_memory, sizeof(api->vhost_memory));
    for (int i = 0; i < LIST_COUNT; i++) {
        mg_buf_init(&api->lists[i], MG_POLICY_LISTS_MAX_BYTES);
    }
    enum mg_class class = mg_broker_api_check(api->address, err);
    if (class == MG_OK) {
        class = account_read(api, err);
    }
    api->loop = class == MG_OK ? mg_loop_create() : NULL;
    if (class == MG_OK && api->loop == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not read the broker's policies: no memory");
    }
    return class == MG_OK ? mg_http_client_create(api->loop, &options, &api->http, err) : class;
}

static void on_answer(void *arg, const struct mg_http_answer *answer)
{
    struct api *api = arg;
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

static enum mg_class answer_judge(const struct api *api, const char *url, struct mg_err *err)
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
static enum mg_class api_call(struct api *api, const char *method, const char *path, const char *rest,
                              struct mg_slice body, struct mg_buf *ret_answer, struct mg_err *err)
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
        return mg_err_set(err, MG_PERMANENT, "could not read the broker's policies: the URL is too long");
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

static enum mg_class list_read(struct api *api, enum list list, struct mg_err *err)
{
    return api_call(api, "GET", LISTS[list].path, LISTS[list].query, (struct mg_slice){0}, &api->lists[list],
                    err);
}

/* ---- check and apply ---- */

struct findings {
    void (*report)(void *arg, const char *line);
    void *arg;
    int count;
    char first[MG_ERR_TEXT_MAX];
};

static void on_found(void *arg, const char *line)
{
    struct findings *findings = arg;
    if (findings->count++ == 0) {
        (void)snprintf(findings->first, sizeof(findings->first), "%.*s", (int)sizeof(findings->first) - 1,
                       line);
    }
    findings->report(findings->arg, line);
}

static enum mg_class findings_judge(const struct findings *findings, struct mg_err *err)
{
    if (findings->count == 0) {
        return MG_OK;
    }
    if (findings->count == 1) {
        return mg_err_set(err, MG_PERMANENT, "%s", findings->first);
    }
    return mg_err_set(err, MG_PERMANENT, "%.*s; and %d more", MG_ERR_TEXT_MAX - 32, findings->first,
                      findings->count - 1);
}

enum mg_class mg_broker_policies_check(const struct mg_broker_address *address,
                                       void (*report)(void *arg, const char *line), void *arg,
                                       struct mg_err *err)
{
    struct api api = {.address = address};
    struct findings findings = {.report = report, .arg = arg};
    enum mg_class class = api_open(&api, err);
    for (int i = 0; i < LIST_COUNT && class == MG_OK; i++) {
        class = list_read(&api, (enum list)i, err);
    }
    if (class == MG_OK) {
        const struct mg_policy_lists lists = {.queues = mg_buf_slice(&api.lists[LIST_QUEUES]),
                                              .exchanges = mg_buf_slice(&api.lists[LIST_EXCHANGES]),
                                              .policies = mg_buf_slice(&api.lists[LIST_POLICIES]),
                                              .operator_policies =
                                                  mg_buf_slice(&api.lists[LIST_OPERATOR_POLICIES])};
        const struct mg_policy_judge judge = {.vhost = api.vhost.data,
                                              .limit_of = mg_topology_delivery_limit,
                                              .found = on_found,
                                              .arg = &findings};
        class = mg_policies_judge(&lists, &judge, err);
    }
    api_close(&api);
    return class == MG_OK ? findings_judge(&findings, err) : class;
}

static void on_refused(void *arg, const char *line)
{
    (void)arg;
    mg_log(MG_LOG_ERROR, "a policy of the broker loses or changes messages", MG_LOG_TEXT("policy", line));
}

enum mg_class mg_broker_policies_admit(const struct mg_broker_address *address, struct mg_err *err)
{
    if (!mg_broker_has_api(address)) {
        return MG_OK;
    }
    enum mg_class class = mg_broker_policies_check(address, on_refused, NULL, err);
    if (class == MG_OK || class == MG_PERMANENT) {
        return class;
    }
    mg_log(MG_LOG_WARN, "the policies of the broker are not known", MG_LOG_TEXT("reason", err->text));
    return MG_OK;
}

enum mg_class mg_broker_policy_apply(const struct mg_broker_address *address,
                                     void (*report)(void *arg, const char *line), void *arg,
                                     struct mg_err *err)
{
    struct api api = {.address = address};
    struct mg_buf body;
    mg_buf_init(&body, MG_POLICY_LISTS_MAX_BYTES);
    enum mg_class class = api_open(&api, err);
    if (class == MG_OK) {
        class = list_read(&api, LIST_POLICIES, err);
    }
    if (class == MG_OK) {
        class = mg_policy_write(mg_buf_slice(&api.lists[LIST_POLICIES]), &body, err);
    }
    if (class == MG_OK) {
        class = api_call(&api, "PUT", "policies", "/" MG_POLICY_NAME, mg_buf_slice(&body), NULL, err);
    }
    if (class == MG_OK) {
        report(arg, "policy " MG_POLICY_NAME ": set, priority " MG_POLICY_PRIORITY_TEXT);
    }
    mg_buf_finish(&body);
    api_close(&api);
    return class;
}
