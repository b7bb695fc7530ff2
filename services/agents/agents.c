/* Creates and connects the parts: the folder's timer, the socket of the agents' notifications, the HTTP
 * server. */
#include "agents/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/folder.h"
#include "agents/posts.h"
#include "agents/scrape.h"
#include "base/log.h"
#include "base/notify_socket.h"

/* A changed file counts after one or two of these. */
#define LOOK_MS            1000
#define CONNECT_TIMEOUT_MS 1000 /* to an agent on loopback */
#define IDLE_CONNECTION_MS 10000
#define METRICS_MAX_BYTES  (256 * 1024) /* of one agent */
#define HEADERS_MAX_BYTES  4096
#define NO_MEMORY          "could not start: no memory"

struct mg_agents {
    struct mg_loop *loop;
    const struct mg_agents_options *options;
    struct mg_metrics *metrics;
    struct mg_posts *posts;
    struct mg_timer *timer;
    struct mg_notify_socket *notify;
    struct mg_http_server *server;
    struct mg_scraper scraper;
};

static void on_notified(void *arg, pid_t sender, const char *text, size_t len)
{
    mg_posts_take(((struct mg_agents *)arg)->posts, sender, text, len);
}

/* ---- the parts ---- */

static void on_look(void *arg)
{
    mg_posts_look(((struct mg_agents *)arg)->posts);
}

static void on_empty(void *arg)
{
    mg_loop_stop(((struct mg_agents *)arg)->loop);
}

static void on_request(void *arg, struct mg_http_exchange *request)
{
    const struct mg_agents *agents = arg;
    const struct mg_http_response unknown = {.status = 404,
                                             .type = "text/plain",
                                             .body =
                                                 mg_slice_of("there are /healthz, /readyz and /metrics\n")};
    if (strcmp(mg_http_exchange_path(request), "/metrics") == 0) {
        mg_scrape(&agents->scraper, request);
    } else {
        mg_http_answer(request, &unknown);
    }
}

bool mg_agents_is_ready(void *arg, char *ret_reason, size_t size)
{
    return mg_posts_are_ready(((struct mg_agents *)arg)->posts, ret_reason, size);
}

static struct mg_http_server_options server_options(const struct mg_agents_options *options,
                                                    struct mg_agents *agents)
{
    return (struct mg_http_server_options){.address = options->listen,
                                           .cert_file = options->cert_file,
                                           .key_file = options->key_file,
                                           .is_plaintext_allowed = options->is_plaintext_allowed,
                                           .is_ready = mg_agents_is_ready,
                                           .handle = on_request,
                                           .handles_metrics = true,
                                           .arg = agents};
}

static enum mg_class server_open(struct mg_agents *agents, struct mg_err *err)
{
    const struct mg_http_client_options limits = {.max_connections = MG_AGENTS_MAX,
                                                  .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                                  .idle_connection_ms = IDLE_CONNECTION_MS,
                                                  .max_body_bytes = METRICS_MAX_BYTES,
                                                  .max_header_bytes = HEADERS_MAX_BYTES};
    const struct mg_http_server_options options = server_options(agents->options, agents);
    enum mg_class class = mg_http_client_create(agents->loop, &limits, &agents->scraper.client, err);
    agents->scraper.posts = agents->posts;
    agents->scraper.metrics = agents->metrics;
    return class == MG_OK ? mg_http_server_create(agents->loop, &options, &agents->server, err) : class;
}

static enum mg_class parts_create(struct mg_agents *agents, struct mg_err *err)
{
    enum mg_class class = mg_notify_socket_create(agents->loop, on_notified, agents, &agents->notify, err);
    if (class != MG_OK) {
        return class;
    }
    agents->metrics = mg_metrics_create();
    const struct mg_posts_setup setup = {.loop = agents->loop,
                                         .metrics = agents->metrics,
                                         .options = agents->options,
                                         .notify_socket = mg_notify_socket_address(agents->notify),
                                         .on_empty = on_empty,
                                         .arg = agents};
    agents->posts = agents->metrics != NULL ? mg_posts_create(&setup) : NULL;
    agents->timer = mg_timer_create(agents->loop, on_look, agents);
    if (agents->posts == NULL || agents->timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    }
    mg_timer_start(agents->timer, 1, LOOK_MS);
    return server_open(agents, err);
}

enum mg_class mg_agents_check(const struct mg_agents_options *options, struct mg_err *err)
{
    struct mg_listing listing;
    const struct mg_http_server_options http = server_options(options, NULL);
    enum mg_class class = mg_http_server_check(&http, err);
    if (class == MG_OK) {
        class = mg_folders_list(options->folders, &listing, err);
    }
    for (int i = 0; class == MG_OK && i < listing.count; i++) {
        char path[MG_SERVICE_PATH_SIZE];
        mg_service_path(options->folders, listing.files[i].folder, listing.files[i].name, path);
        class = mg_service_file_check(path, listing.files[i].name, err);
    }
    return class;
}

enum mg_class mg_agents_create(struct mg_loop *loop, const struct mg_agents_options *options,
                               struct mg_agents **ret_agents, struct mg_err *err)
{
    struct mg_agents *agents = calloc(1, sizeof(*agents));
    if (agents == NULL) {
        return mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    }
    agents->loop = loop;
    agents->options = options;
    enum mg_class class = parts_create(agents, err);
    if (class != MG_OK) {
        mg_agents_destroy(agents);
        return class;
    }
    *ret_agents = agents;
    return MG_OK;
}

void mg_agents_destroy(struct mg_agents *agents)
{
    if (agents == NULL) {
        return;
    }
    mg_http_server_destroy(agents->server); /* first, because requests wait for the parts below */
    mg_http_client_destroy(agents->scraper.client);
    mg_timer_destroy(agents->timer);
    mg_posts_destroy(agents->posts);
    mg_notify_socket_destroy(agents->notify);
    mg_metrics_destroy(agents->metrics);
    free(agents);
}

int mg_agents_port(const struct mg_agents *agents)
{
    return mg_http_server_port(agents->server);
}

void mg_agents_drain(struct mg_agents *agents)
{
    mg_posts_drain(agents->posts);
}

void mg_agents_reload(struct mg_agents *agents)
{
    struct mg_err err;
    mg_posts_reload(agents->posts);
    if (agents->options->cert_file[0] != '\0' && mg_http_server_reload(agents->server, &err) != MG_OK) {
        mg_log(MG_LOG_ERROR, "could not read a file again; its previous contents stay in use",
               MG_LOG_TEXT("file", "listen-cert-file"), MG_LOG_TEXT("reason", err.text));
    }
    mg_posts_look(agents->posts);
}
