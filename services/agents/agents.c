/* Creates and connects the parts: the folder's timer, the socket of the agents' notifications, the client
 * for their metrics. */
#include "agents/agents.h"

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
    struct mg_process *process;
    struct mg_posts *posts;
    struct mg_timer *timer;
    struct mg_notify_socket *notify;
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
    mg_loop_stop(((struct mg_agents *)arg)->process->loop);
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

static bool agents_are_ready(void *arg, char *ret_reason, size_t size)
{
    return mg_posts_are_ready(((struct mg_agents *)arg)->posts, ret_reason, size);
}

static void agents_serve(struct mg_process *process, struct mg_http_server_options *http)
{
    http->is_ready = agents_are_ready;
    http->handle = on_request;
    http->handles_metrics = true;
    http->arg = process->service;
}

static enum mg_class scraper_open(struct mg_agents *agents, struct mg_err *err)
{
    const struct mg_http_client_options limits = {.max_connections = MG_AGENTS_MAX,
                                                  .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                                  .idle_connection_ms = IDLE_CONNECTION_MS,
                                                  .max_body_bytes = METRICS_MAX_BYTES,
                                                  .max_header_bytes = HEADERS_MAX_BYTES};
    agents->scraper.posts = agents->posts;
    agents->scraper.metrics = agents->process->metrics;
    return mg_http_client_create(agents->process->loop, &limits, &agents->scraper.client, err);
}

static enum mg_class parts_create(struct mg_agents *agents, struct mg_err *err)
{
    struct mg_loop *loop = agents->process->loop;
    enum mg_class class = mg_notify_socket_create(loop, on_notified, agents, &agents->notify, err);
    if (class != MG_OK) {
        return class;
    }
    const struct mg_posts_setup setup = {.loop = loop,
                                         .metrics = agents->process->metrics,
                                         .options = agents->process->own,
                                         .notify_socket = mg_notify_socket_address(agents->notify),
                                         .on_empty = on_empty,
                                         .arg = agents};
    agents->posts = mg_posts_create(&setup);
    agents->timer = mg_timer_create(loop, on_look, agents);
    if (agents->posts == NULL || agents->timer == NULL) {
        return mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    }
    mg_timer_start(agents->timer, 1, LOOK_MS);
    return scraper_open(agents, err);
}

/* Checks every service file. */
static enum mg_class agents_check(struct mg_process *process, struct mg_err *err)
{
    const struct mg_agents_options *options = process->own;
    struct mg_listing listing;
    enum mg_class class = mg_folders_list(options->folders, &listing, err);
    for (int i = 0; class == MG_OK && i < listing.count; i++) {
        char path[MG_SERVICE_PATH_SIZE];
        mg_service_path(options->folders, listing.files[i].folder, listing.files[i].name, path);
        class = mg_service_file_check(path, listing.files[i].name, err);
    }
    return class;
}

static enum mg_class agents_create(struct mg_process *process, struct mg_err *err)
{
    struct mg_agents *agents = calloc(1, sizeof(*agents));
    if (agents == NULL) {
        return mg_err_set(err, MG_TRANSIENT, NO_MEMORY);
    }
    process->service = agents;
    agents->process = process;
    return parts_create(agents, err);
}

/* Kills the agents that are left. */
static void agents_destroy(struct mg_process *process)
{
    struct mg_agents *agents = process->service;
    if (agents == NULL) {
        return;
    }
    mg_http_client_destroy(agents->scraper.client);
    mg_timer_destroy(agents->timer);
    mg_posts_destroy(agents->posts);
    mg_notify_socket_destroy(agents->notify);
    free(agents);
}

static void agents_drain(void *arg)
{
    mg_log(MG_LOG_INFO, "stopping: the agents drain", MG_LOG_NONE);
    mg_posts_drain(((struct mg_agents *)arg)->posts);
}

static void agents_reload(struct mg_process *process)
{
    struct mg_posts *posts = ((struct mg_agents *)process->service)->posts;
    mg_posts_reload(posts);
    mg_posts_look(posts);
}

const struct mg_process_service MG_AGENTS = {
    .name = "agents",
    .check = agents_check,
    .create = agents_create,
    .serve = agents_serve,
    .is_ready = agents_are_ready,
    .drain = agents_drain,
    .reload = agents_reload,
    .destroy = agents_destroy,
};
