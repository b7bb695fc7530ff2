/* See postgres.h. */
#include "postgres.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ports.h"

/* The server refuses to run as root; this account exists wherever Debian's package is installed. */
#define ACCOUNT "postgres"
#define FOLDER  "postgres"
#define DATA    FOLDER "/data"
/* initdb writes here; a rename makes it the data. So an initdb that was cut short is done again. */
#define DATA_NEW  FOLDER "/data.new"
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

static enum mg_class folder_make(const struct mg_state *state, struct mg_err *err)
{
    char path[PATH_MAX];
    enum mg_class class = mg_state_folder(state, FOLDER, false, err);
    if (class == MG_OK) {
        class = path_of(state, FOLDER, path, err);
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

enum mg_class mg_postgres_prepare(struct mg_servers *servers, const struct mg_state *state,
                                  struct mg_parts *parts, struct mg_err *err)
{
    char folder[PATH_MAX], data[PATH_MAX], password_file[PATH_MAX], password[MG_STATE_SECRET_SIZE];
    int port = 0;
    enum mg_class class = folder_make(state, err);
    if (class == MG_OK) {
        class = path_of(state, FOLDER, folder, err);
    }
    if (class == MG_OK) {
        class = path_of(state, DATA, data, err);
    }
    if (class == MG_OK) {
        class = mg_state_secret(state, FOLDER "/password", password, err);
    }
    if (class == MG_OK) {
        class = path_of(state, FOLDER "/password", password_file, err);
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

enum mg_class mg_postgres_start(struct mg_servers *servers, const struct mg_state *state, struct mg_err *err)
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
