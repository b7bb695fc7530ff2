/* The services of makegood-agent: their files are read and checked whole. */
#include <string.h>

#include "base/file.h"
#include "http_agent.h"
#include "io/tls/check.h"

/* A service file is a page of text; a larger one is some other file. */
#define SERVICE_FILE_MAX (64 * 1024)

/* A file that is good in itself can conflict with the options, or name bad certificates. */
static enum mg_class service_check(const struct mg_service *service, bool is_plaintext_allowed,
                                   struct mg_err *err)
{
    char warning[MG_TLS_WARNING_SIZE];
    if (service->endpoint.is_plaintext && !is_plaintext_allowed) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "/url: %s would send orders in plaintext over a network; write https://, or give "
                          "--allow-plaintext on a private network",
                          service->url);
    }
    if (mg_remote_check_certificates(service, warning, err) != MG_OK) {
        return mg_err_prefix(err, "/tls");
    }
    const struct mg_oauth2 *oauth2 = &service->auth.oauth2;
    if (oauth2->token_url != NULL && oauth2->endpoint.is_plaintext && !is_plaintext_allowed) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "/auth/oauth2/token_url: %s would send the client's secret in plaintext over a "
                          "network; write https://, or give --allow-plaintext on a private network",
                          oauth2->token_url);
    }
    const struct mg_tls_files files = {.ca_file = oauth2->ca_file};
    if (oauth2->ca_file != NULL && mg_tls_check(&files, warning, sizeof(warning), err) != MG_OK) {
        return mg_err_prefix(err, "/auth/oauth2");
    }
    return MG_OK;
}

static enum mg_class service_load(const char *path, struct mg_service **ret_service, struct mg_err *err)
{
    struct mg_buf text;
    struct mg_mistake_printer printer = {.path = path, .skips_first = true};
    const struct mg_mistakes mistakes = {.add = mg_mistake_print, .arg = &printer};
    mg_buf_init(&text, SERVICE_FILE_MAX);
    enum mg_class class = mg_file_text(path, true, &text, err);
    if (class == MG_OK) {
        class = mg_service_parse(mg_buf_slice(&text), &mistakes, ret_service, err);
        if (class != MG_OK) {
            mg_err_prefix(err, "service file %s", path);
        }
    }
    mg_buf_finish(&text);
    return class;
}

enum mg_class mg_agent_load(struct mg_agent *agent, const struct mg_serving_options *options,
                            const struct mg_list *files, int concurrency, struct mg_err *err)
{
    memset(agent, 0, sizeof(*agent));
    agent->options = options;
    agent->executor = &mg_http_executor;
    if (files->count == 0) {
        return mg_err_set(err, MG_BAD_INPUT, "no service given: name at least one file with --service FILE");
    }
    if (files->count > MG_AGENT_SERVICES_MAX) {
        return mg_err_set(err, MG_BAD_INPUT,
                          "%d services given: one process serves at most %d; start another", files->count,
                          MG_AGENT_SERVICES_MAX);
    }
    for (int i = 0; i < files->count; i++) {
        struct mg_served *served = &agent->served[i];
        enum mg_class class = service_load(files->items[i], &served->service, err);
        if (class != MG_OK) {
            return class;
        }
        agent->served_count = i + 1;
        class = service_check(served->service, options->broker.is_plaintext_allowed, err);
        if (class != MG_OK) {
            return mg_err_prefix(err, "service file %s", files->items[i]);
        }
        for (int k = 0; k < i; k++) {
            if (strcmp(agent->served[k].service->name, served->service->name) == 0) {
                return mg_err_set(err, MG_BAD_INPUT,
                                  "%s and %s both describe the service %s: give one of them", files->items[k],
                                  files->items[i], served->service->name);
            }
        }
        if (concurrency > 0) {
            served->service->concurrency = concurrency;
        }
    }
    return MG_OK;
}
