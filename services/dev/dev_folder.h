/* The folder that `makegood dev` keeps: data of private servers, secrets, logs. One process uses it at a
 * time. */
#ifndef MG_DEV_DEV_FOLDER_H
#define MG_DEV_DEV_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"

#define MG_STATE_SECRET_SIZE 49 /* 24 random bytes in hexadecimal, and NUL */

struct mg_state {
    char path[PATH_MAX]; /* absolute */
    int lock_fd;         /* holds the lock; -1: none */
};

/* Makes the folder if it is missing, and takes its lock. MG_PERMANENT: it cannot be made, or another process
 * holds the lock; the text names its pid. */
enum mg_class mg_state_open(const char *path, struct mg_state *ret_state, struct mg_err *err) MG_MUSTCHECK;
void mg_state_close(struct mg_state *state);

/* "logs" below the folder; false: the path is too long. */
bool mg_state_path(const struct mg_state *state, const char *name, char ret_path[PATH_MAX]);
/* A folder below it. Others may pass through one that is `shared`: PostgreSQL has an account of its own. */
enum mg_class mg_state_folder(const struct mg_state *state, const char *name, bool is_shared,
                              struct mg_err *err) MG_MUSTCHECK;
/* Writes a file that only this user reads. */
enum mg_class mg_state_write(const struct mg_state *state, const char *name, struct mg_slice text,
                             struct mg_err *err) MG_MUSTCHECK;
/* Reads the secret of this name, which is drawn at the first use. */
enum mg_class mg_state_secret(const struct mg_state *state, const char *name,
                              char ret_secret[MG_STATE_SECRET_SIZE], struct mg_err *err) MG_MUSTCHECK;

#endif
