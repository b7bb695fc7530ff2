/* See dev_folder.h. */
#include "dev_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/id.h"

#define SECRET_BYTES ((MG_STATE_SECRET_SIZE - 1) / 2)
#define LOCK_NAME    "lock"
#define PID_SIZE     24
/* RabbitMQ's scripts and its look at the disk pass the path to shells, without quotes. */
#define SHELL_CHARACTERS "'\"`$\\;&|<>()*?[]{}!#~^"

bool mg_state_path(const struct mg_state *state, const char *name, char ret_path[PATH_MAX])
{
    int len = snprintf(ret_path, PATH_MAX, "%s/%s", state->path, name);
    return len > 0 && len < PATH_MAX;
}

static enum mg_class path_fail(const char *action, const char *path, struct mg_err *err)
{
    return mg_err_set(err, MG_PERMANENT, "could not %s %s: %s", action, path, strerror(errno));
}

static enum mg_class path_make(const struct mg_state *state, const char *name, char ret_path[PATH_MAX],
                               struct mg_err *err)
{
    return mg_state_path(state, name, ret_path)
               ? MG_OK
               : mg_err_set(err, MG_PERMANENT, "the path %s/%s is too long", state->path, name);
}

static enum mg_class folder_make(const char *path, bool is_shared, struct mg_err *err)
{
    return mkdir(path, is_shared ? 0711 : 0700) == 0 || errno == EEXIST ? MG_OK
                                                                        : path_fail("make", path, err);
}

/* The kernel frees the lock when the process ends in any way, so a file that is left over locks nothing. */
static enum mg_class lock_take(struct mg_state *state, struct mg_err *err)
{
    char path[PATH_MAX], pid[PID_SIZE] = "";
    enum mg_class class = path_make(state, LOCK_NAME, path, err);
    if (class != MG_OK) {
        return class;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return path_fail("open", path, err);
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        ssize_t got = read(fd, pid, sizeof(pid) - 1);
        (void)close(fd);
        return mg_err_set(
            err, MG_PERMANENT,
            "another makegood dev (pid %.*s) uses %s; end it, or give another folder with --state",
            got > 0 ? (int)got : 1, got > 0 ? pid : "?", state->path);
    }
    int len = snprintf(pid, sizeof(pid), "%d", (int)getpid());
    if (ftruncate(fd, 0) != 0 || write(fd, pid, (size_t)len) != len) {
        class = path_fail("write", path, err);
        (void)close(fd);
        return class;
    }
    state->lock_fd = fd;
    return MG_OK;
}

static enum mg_class text_check(const char *path, struct mg_err *err)
{
    char found = '\0';
    for (const char *at = path; *at != '\0'; at++) {
        found = found == '\0' && (strchr(SHELL_CHARACTERS, *at) != NULL || (unsigned char)*at < ' ') ? *at
                                                                                                     : found;
    }
    if (found == '\0') {
        return MG_OK;
    }
    return mg_err_set(
        err, MG_BAD_INPUT,
        "--state %.300s: its path has the character %c, at which the servers' scripts go wrong; give a folder "
        "without it",
        path, (unsigned char)found < ' ' ? '?' : found);
}

/* The folder's path as it is written, and where it leads, or the folder in which it would be made. */
static enum mg_class path_check(const char *path, struct mg_err *err)
{
    char real[PATH_MAX], above[PATH_MAX];
    (void)snprintf(above, sizeof(above), "%s", path);
    enum mg_class class = text_check(path, err);
    bool is_there = realpath(path, real) != NULL || realpath(dirname(above), real) != NULL;
    return class == MG_OK && is_there ? text_check(real, err) : class;
}

enum mg_class mg_state_open(const char *path, struct mg_state *ret_state, struct mg_err *err)
{
    ret_state->lock_fd = -1;
    enum mg_class class = path_check(path, err);
    if (class != MG_OK) {
        return class;
    }
    class = folder_make(path, geteuid() == 0, err);
    if (class != MG_OK) {
        return class;
    }
    if (realpath(path, ret_state->path) == NULL) {
        return path_fail("find", path, err);
    }
    return lock_take(ret_state, err);
}

void mg_state_close(struct mg_state *state)
{
    if (state->lock_fd >= 0) {
        (void)close(state->lock_fd);
        state->lock_fd = -1;
    }
}

enum mg_class mg_state_folder(const struct mg_state *state, const char *name, bool is_shared,
                              struct mg_err *err)
{
    char path[PATH_MAX];
    enum mg_class class = path_make(state, name, path, err);
    return class == MG_OK ? folder_make(path, is_shared, err) : class;
}

enum mg_class mg_state_write(const struct mg_state *state, const char *name, struct mg_slice text,
                             struct mg_err *err)
{
    char path[PATH_MAX];
    enum mg_class class = path_make(state, name, path, err);
    if (class != MG_OK) {
        return class;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text.data, text.len) != (ssize_t)text.len) {
        class = path_fail("write", path, err);
    }
    if (fd >= 0 && close(fd) != 0 && class == MG_OK) {
        class = path_fail("write", path, err);
    }
    return class;
}

static void secret_draw(char ret_secret[MG_STATE_SECRET_SIZE])
{
    uint8_t bytes[SECRET_BYTES];
    for (size_t i = 0; i < sizeof(bytes); i += sizeof(uint64_t)) {
        uint64_t part = mg_random_u64();
        memcpy(bytes + i, &part, sizeof(part));
    }
    *mg_hex_write(bytes, sizeof(bytes), ret_secret) = '\0';
}

enum mg_class mg_state_secret(const struct mg_state *state, const char *name,
                              char ret_secret[MG_STATE_SECRET_SIZE], struct mg_err *err)
{
    char path[PATH_MAX];
    enum mg_class class = path_make(state, name, path, err);
    if (class != MG_OK) {
        return class;
    }
    ssize_t got = mg_file_read(path, false, ret_secret, MG_STATE_SECRET_SIZE);
    if (got == MG_STATE_SECRET_SIZE - 1) {
        ret_secret[got] = '\0';
        return MG_OK;
    }
    secret_draw(ret_secret);
    return mg_state_write(state, name, mg_slice_of(ret_secret), err);
}
