/* See servers.h. */
#include "servers.h"

#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ports.h"

/* The match with the highest version in its path; false: there is none. */
static bool newest_find(const char *pattern, char ret_path[MG_SERVERS_PROGRAM_SIZE])
{
    glob_t found;
    const char *newest = NULL;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
        return false;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (newest == NULL || strverscmp(found.gl_pathv[i], newest) > 0) {
            newest = found.gl_pathv[i];
        }
    }
    bool is_found = newest != NULL && strlen(newest) < MG_SERVERS_PROGRAM_SIZE;
    if (is_found) {
        (void)snprintf(ret_path, MG_SERVERS_PROGRAM_SIZE, "%s", newest);
    }
    globfree(&found);
    return is_found;
}

enum mg_class mg_servers_find(struct mg_servers *servers, struct mg_err *err)
{
    bool lacks_postgres =
        servers->has_postgres && !newest_find("/usr/lib/postgresql/*/bin/postgres", servers->postgres_bin);
    bool lacks_rabbit =
        servers->has_rabbit &&
        (!newest_find("/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server", servers->rabbit_bin) ||
         !newest_find("/usr/bin/epmd", servers->epmd));
    if (lacks_postgres || lacks_rabbit) {
        return mg_err_set(err, MG_PERMANENT,
                          "%s%s%s not installed; install with: apt install --no-install-recommends%s%s; "
                          "or give a running one with%s%s",
                          lacks_postgres ? "PostgreSQL" : "", lacks_postgres && lacks_rabbit ? " and " : "",
                          lacks_rabbit ? (lacks_postgres ? "RabbitMQ are" : "RabbitMQ is") : " is",
                          lacks_postgres ? " postgresql" : "", lacks_rabbit ? " rabbitmq-server" : "",
                          lacks_postgres ? " MAKEGOOD_PG_DSN" : "", lacks_rabbit ? " MAKEGOOD_AMQP_URL" : "");
    }
    if (servers->has_postgres) {
        *strrchr(servers->postgres_bin, '/') = '\0';
    }
    return MG_OK;
}

/* ---- PostgreSQL ---- */

/* The server refuses to run as root; this account exists wherever Debian's package is installed. */
#define ACCOUNT   "postgres"
#define PG_FOLDER "postgres"
#define DATA      PG_FOLDER "/data"
/* initdb writes here; a rename makes it the data. So an initdb that was cut short is done again. */
#define DATA_NEW  PG_FOLDER "/data.new"
#define ROLE      "makegood"
#define DATABASE  "postgres" /* made by initdb, and the cluster is ours alone */
#define NAME_ROOM 32

static bool is_root(void)
{
    return geteuid() == 0;
}

/* The path of `name`, of which this folder's path leaves room for NAME_ROOM characters after it. */
static enum mg_class path_of(const struct mg_state *state, const char *name, char ret_path[PATH_MAX],
                             struct mg_err *err)
{
    return mg_state_path(state, name, ret_path) && strlen(ret_path) + NAME_ROOM < PATH_MAX
               ? MG_OK
               : mg_err_set(err, MG_PERMANENT, "the path %s is too long", state->path);
}

/* As root, the account must reach its folder through all those above. */
static enum mg_class passage_check(const char *path, struct mg_err *err)
{
    char part[PATH_MAX];
    struct stat status;
    for (const char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        (void)snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
        if (stat(part, &status) == 0 && !(status.st_mode & S_IXOTH)) {
            return mg_err_set(
                err, MG_PERMANENT,
                "PostgreSQL does not run as root, and the user " ACCOUNT
                " may not enter %s; run makegood dev as another user, or give another folder with "
                "--state, such as /var/tmp/makegood-dev",
                part);
        }
    }
    return MG_OK;
}

static enum mg_class give(const char *path, struct mg_err *err)
{
    const struct passwd *account = is_root() ? getpwnam(ACCOUNT) : NULL;
    if (is_root() && (account == NULL || chown(path, account->pw_uid, account->pw_gid) != 0)) {
        return mg_err_set(err, MG_PERMANENT, "could not give %s to the user " ACCOUNT ": %s", path,
                          account == NULL ? "there is no such user" : strerror(errno));
    }
    return MG_OK;
}

static enum mg_class pg_folder_make(const struct mg_state *state, struct mg_err *err)
{
    char path[PATH_MAX];
    enum mg_class class = mg_state_folder(state, PG_FOLDER, false, err);
    if (class == MG_OK) {
        class = path_of(state, PG_FOLDER, path, err);
    }
    if (class == MG_OK && is_root()) {
        class = passage_check(path, err);
    }
    return class == MG_OK ? give(path, err) : class;
}

/* Without the account, PostgreSQL itself refuses to run as root. */
static void part_give(struct mg_part *part)
{
    const struct passwd *account = is_root() ? getpwnam(ACCOUNT) : NULL;
    if (account != NULL) {
        mg_part_user(part, account->pw_uid, account->pw_gid);
    }
}

static void postgres_words(struct mg_part *part, const struct mg_servers *servers, const char *folder,
                           int port)
{
    struct mg_child_words *words = mg_part_words(part);
    part_give(part);
    mg_child_word(words, "%s/postgres", servers->postgres_bin);
    mg_child_word(words, "-D");
    mg_child_word(words, "%s/data", folder);
    mg_child_word(words, "--listen_addresses=127.0.0.1");
    mg_child_word(words, "--port=%d", port);
    mg_child_word(words, "--unix_socket_directories=");
    mg_child_word(words, "--max_connections=120");
    mg_child_word(words, "--log_min_messages=warning");
    mg_child_word(words, "--timezone=UTC");
}

static void initdb_words(struct mg_part *part, const struct mg_servers *servers, const char *folder)
{
    struct mg_child_words *words = mg_part_words(part);
    /* A shell, because a folder of an earlier attempt is in the way; its paths are arguments, not its text.
     */
    part_give(part);
    mg_child_word(words, "sh");
    mg_child_word(words, "-c");
    mg_child_word(words,
                  "cd / && rm -rf -- \"$2\" && exec \"$1/initdb\" --pgdata \"$2\" --username " ROLE
                  " --pwfile \"$3\" --encoding UTF8 --locale C.UTF-8 --auth scram-sha-256 --no-instructions");
    mg_child_word(words, "sh");
    mg_child_word(words, "%s", servers->postgres_bin);
    mg_child_word(words, "%s/data.new", folder);
    mg_child_word(words, "%s/password", folder);
}

/* Starts initdb if there are no data yet, and prepares the server. Fills `dsn`. */
static enum mg_class postgres_prepare(struct mg_servers *servers, const struct mg_state *state,
                                      struct mg_parts *parts, struct mg_err *err)
{
    char folder[PATH_MAX], data[PATH_MAX], password_file[PATH_MAX], password[MG_STATE_SECRET_SIZE];
    int port = 0;
    enum mg_class class = pg_folder_make(state, err);
    if (class == MG_OK) {
        class = path_of(state, PG_FOLDER, folder, err);
    }
    if (class == MG_OK) {
        class = path_of(state, DATA, data, err);
    }
    if (class == MG_OK) {
        class = mg_state_secret(state, PG_FOLDER "/password", password, err);
    }
    if (class == MG_OK) {
        class = path_of(state, PG_FOLDER "/password", password_file, err);
    }
    if (class == MG_OK) {
        class = give(password_file, err);
    }
    if (class == MG_OK) {
        class = mg_port_claim(&port, err);
    }
    if (class != MG_OK) {
        return class;
    }
    (void)snprintf(servers->dsn, sizeof(servers->dsn), "postgresql://" ROLE ":%s@127.0.0.1:%d/" DATABASE,
                   password, port);
    bool is_new = access(data, F_OK) != 0;
    servers->initdb = is_new ? mg_part_add(parts, "initdb", MG_PART_SERVER, SIGTERM) : NULL;
    servers->postgres = mg_part_add(parts, "postgres", MG_PART_SERVER, SIGINT);
    if (servers->postgres == NULL || (is_new && servers->initdb == NULL)) {
        return mg_err_set(err, MG_TRANSIENT, "could not start PostgreSQL: no memory");
    }
    postgres_words(servers->postgres, servers, folder, port);
    if (!is_new) {
        return MG_OK;
    }
    initdb_words(servers->initdb, servers, folder);
    return mg_part_start(servers->initdb, MG_PART_ENDS, err);
}

/* Takes over the result of initdb, and starts the server. */
static enum mg_class postgres_start(struct mg_servers *servers, const struct mg_state *state,
                                    struct mg_err *err)
{
    char fresh[PATH_MAX], data[PATH_MAX];
    enum mg_class class = path_of(state, DATA_NEW, fresh, err);
    if (class == MG_OK) {
        class = path_of(state, DATA, data, err);
    }
    if (class == MG_OK && servers->initdb != NULL && rename(fresh, data) != 0) {
        class = mg_err_set(err, MG_PERMANENT, "could not rename %s: %s", fresh, strerror(errno));
    }
    return class == MG_OK ? mg_part_start(servers->postgres, MG_PART_TRIED, err) : class;
}

/* ---- RabbitMQ ---- */

#define RABBIT_FOLDER "rabbit"
/* The node's data belong to its name, so the name stays, although the port changes. The epmd is its own: the
 * name meets no other. */
#define NODE "makegood-dev@localhost"

static const struct {
    const char *name, *text;
} FILES[] = {
    {RABBIT_FOLDER "/enabled_plugins", "[].\n"},
    {RABBIT_FOLDER "/advanced.config", "[].\n"},
    {RABBIT_FOLDER "/rabbitmq.conf",
     "loopback_users.guest = true\nheartbeat = 10\ndisk_free_limit.absolute = 50MB\n"
     "vm_memory_high_watermark.relative = 0.4\nlog.file = false\nlog.console = true\n"
     "log.console.level = warning\n"},
};

static enum mg_class files_write(const struct mg_state *state, struct mg_err *err)
{
    char cookie[MG_STATE_SECRET_SIZE], path[PATH_MAX];
    enum mg_class class = mg_state_folder(state, RABBIT_FOLDER, false, err);
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]) && class == MG_OK; i++) {
        class = mg_state_write(state, FILES[i].name, mg_slice_of(FILES[i].text), err);
    }
    if (class == MG_OK) {
        class = mg_state_secret(state, RABBIT_FOLDER "/.erlang.cookie", cookie, err);
    }
    if (class == MG_OK && mg_state_path(state, RABBIT_FOLDER "/.erlang.cookie", path)) {
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

/* Starts epmd, and prepares the node. Fills `amqp_url`. */
static enum mg_class rabbit_prepare(struct mg_servers *servers, const struct mg_state *state,
                                    struct mg_parts *parts, struct mg_err *err)
{
    char folder[PATH_MAX];
    int port = 0, dist_port = 0, epmd_port = 0;
    enum mg_class class = files_write(state, err);
    if (class == MG_OK && !mg_state_path(state, RABBIT_FOLDER, folder)) {
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

/* Starts the node, once epmd listens. Otherwise it would start an epmd of its own, which outlives it. */
static enum mg_class rabbit_start(struct mg_servers *servers, struct mg_err *err)
{
    mg_part_set_ready(servers->register_part);
    return mg_part_start(servers->rabbit, MG_PART_TRIED, err);
}

/* ---- both ---- */

enum mg_class mg_servers_prepare(struct mg_servers *servers, const struct mg_state *state,
                                 struct mg_parts *parts, struct mg_err *err)
{
    enum mg_class class = servers->has_rabbit ? rabbit_prepare(servers, state, parts, err) : MG_OK;
    return class == MG_OK && servers->has_postgres ? postgres_prepare(servers, state, parts, err) : class;
}

bool mg_servers_are_prepared(const struct mg_servers *servers)
{
    return (servers->initdb == NULL || mg_part_is_ready(servers->initdb)) &&
           (servers->register_part == NULL || mg_port_listens(servers->epmd_port));
}

enum mg_class mg_servers_start(struct mg_servers *servers, const struct mg_state *state, struct mg_err *err)
{
    enum mg_class class = servers->has_rabbit ? rabbit_start(servers, err) : MG_OK;
    return class == MG_OK && servers->has_postgres ? postgres_start(servers, state, err) : class;
}
