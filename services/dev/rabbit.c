/* See rabbit.h. */
#include "rabbit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ports.h"

#define FOLDER "rabbit"
/* The node's data belong to its name, so the name stays, although the port changes. The epmd is its own: the
 * name meets no other. */
#define NODE "makegood-dev@localhost"

static const struct {
    const char *name, *text;
} FILES[] = {
    {FOLDER "/enabled_plugins", "[].\n"},
    {FOLDER "/advanced.config", "[].\n"},
    {FOLDER "/rabbitmq.conf",
     "loopback_users.guest = true\nheartbeat = 10\ndisk_free_limit.absolute = 50MB\n"
     "vm_memory_high_watermark.relative = 0.4\nlog.file = false\nlog.console = true\n"
     "log.console.level = warning\n"},
};

static enum mg_class files_write(const struct mg_state *state, struct mg_err *err)
{
    char cookie[MG_STATE_SECRET_SIZE], path[PATH_MAX];
    enum mg_class class = mg_state_folder(state, FOLDER, false, err);
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]) && class == MG_OK; i++) {
        class = mg_state_write(state, FILES[i].name, mg_slice_of(FILES[i].text), err);
    }
    if (class == MG_OK) {
        class = mg_state_secret(state, FOLDER "/.erlang.cookie", cookie, err);
    }
    if (class == MG_OK && mg_state_path(state, FOLDER "/.erlang.cookie", path)) {
        (void)chmod(path, 0400); /* Erlang reads no other */
    }
    return class;
}

static void rabbit_env(struct mg_child_words *words, const char *folder, int port, int dist_port,
                       int epmd_port)
{
    mg_child_env(words, "HOME=%s", folder);
    mg_child_env(words, "RABBITMQ_NODENAME=" NODE);
    mg_child_env(words, "RABBITMQ_NODE_PORT=%d", port);
    mg_child_env(words, "RABBITMQ_NODE_IP_ADDRESS=127.0.0.1");
    mg_child_env(words, "RABBITMQ_DIST_PORT=%d", dist_port);
    mg_child_env(words, "ERL_EPMD_PORT=%d", epmd_port);
    mg_child_env(words, "ERL_EPMD_ADDRESS=127.0.0.1");
    mg_child_env(words, "RABBITMQ_MNESIA_BASE=%s/mnesia", folder);
    mg_child_env(words, "RABBITMQ_LOG_BASE=%s/log", folder);
    mg_child_env(words, "RABBITMQ_ENABLED_PLUGINS_FILE=%s/enabled_plugins", folder);
    mg_child_env(words, "RABBITMQ_CONFIG_FILE=%s/rabbitmq.conf", folder);
    mg_child_env(words, "RABBITMQ_ADVANCED_CONFIG_FILE=%s/advanced.config", folder);
    mg_child_env(words, "RABBITMQ_PID_FILE=%s/pid", folder);
    mg_child_env(words, "RABBITMQ_CONF_ENV_FILE=/dev/null");
    /* An idle node costs no processor, and its distribution is on loopback only. */
    mg_child_env(words, "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+sbwt none +sbwtdcpu none +sbwtdio none -kernel "
                        "inet_dist_use_interface {127,0,0,1}");
    mg_child_env(words,
                 "RUNNING_UNDER_SYSTEMD=true"); /* its script becomes the server instead of watching it */
}

static struct mg_part *epmd_make(const struct mg_servers *servers, struct mg_parts *parts, int port)
{
    struct mg_part *epmd = mg_part_add(parts, "epmd", MG_PART_REGISTER, SIGTERM);
    if (epmd != NULL) {
        struct mg_child_words *words = mg_part_words(epmd);
        mg_child_word(words, "%s", servers->epmd);
        mg_child_word(words, "-port");
        mg_child_word(words, "%d", port);
        mg_child_word(words, "-address");
        mg_child_word(words, "127.0.0.1");
    }
    return epmd;
}

enum mg_class mg_rabbit_prepare(struct mg_servers *servers, const struct mg_state *state,
                                struct mg_parts *parts, struct mg_err *err)
{
    char folder[PATH_MAX];
    int port = 0, dist_port = 0, epmd_port = 0;
    enum mg_class class = files_write(state, err);
    if (class == MG_OK && !mg_state_path(state, FOLDER, folder)) {
        class = mg_err_set(err, MG_PERMANENT, "the path %s is too long", state->path);
    }
    if (class == MG_OK) {
        class = mg_port_claim(&port, err);
    }
    if (class == MG_OK) {
        class = mg_port_claim(&dist_port, err);
    }
    if (class == MG_OK) {
        class = mg_port_claim(&epmd_port, err);
    }
    if (class != MG_OK) {
        return class;
    }
    struct mg_part *epmd = epmd_make(servers, parts, epmd_port);
    servers->rabbit = mg_part_add(parts, "rabbitmq", MG_PART_SERVER, SIGTERM);
    if (epmd == NULL || servers->rabbit == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start RabbitMQ: no memory");
    }
    rabbit_env(mg_part_words(servers->rabbit), folder, port, dist_port, epmd_port);
    mg_child_word(mg_part_words(servers->rabbit), "%s", servers->rabbit_bin);
    /* guest is RabbitMQ's own user, for connections from this machine only. */
    (void)snprintf(servers->amqp_url, sizeof(servers->amqp_url), "amqp://guest:guest@127.0.0.1:%d/", port);
    servers->epmd_port = epmd_port;
    servers->register_part = epmd;
    return mg_part_start(epmd, MG_PART_TRIED, err);
}

enum mg_class mg_rabbit_start(struct mg_servers *servers, struct mg_err *err)
{
    mg_part_set_ready(servers->register_part);
    return mg_part_start(servers->rabbit, MG_PART_TRIED, err);
}
