/* Processes started from the event loop, and their ends. */
#ifndef MG_BASE_LOOP_CHILD_H
#define MG_BASE_LOOP_CHILD_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"

#define MG_CHILD_WORDS_MAX 68
#define MG_CHILD_ENV_MAX   1024 /* variables; a machine has some dozens */

/* The command and the environment of a process, as a plan takes them. The texts are copies. */
struct mg_child_words {
    struct mg_arena *texts;
    char *argv[MG_CHILD_WORDS_MAX + 1], *env[MG_CHILD_ENV_MAX + 1]; /* end with NULL */
    int word_count, env_count;
    bool is_short; /* of memory or room: something is missing */
};
void mg_child_words_open(struct mg_child_words *ret_words); /* short at once without memory */
void mg_child_words_close(struct mg_child_words *words); /* wipes the environment, which may hold a secret */
void mg_child_word(struct mg_child_words *words, const char *format, ...) MG_PRINTF(2, 3);
void mg_child_env(struct mg_child_words *words, const char *format, ...) MG_PRINTF(2, 3); /* "NAME=VALUE" */
/* Adds this process's variables, except those that are set already and those that are `left_out` (NULL:
 * none).
 */
void mg_child_inherit(struct mg_child_words *words, bool (*left_out)(const char *variable));

struct mg_child_plan {
    char **argv;      /* ends with NULL; argv[0] is a path, or a name that PATH finds */
    char **env;       /* the whole environment, "NAME=VALUE"; ends with NULL */
    int output_fd;    /* its standard output; below 0: this process's */
    int error_fd;     /* its standard error; below 0: this process's */
    int death_signal; /* from the kernel at the end of the thread that started it, however that ends */
    uid_t user; /* for a root that gives up its rights; 0: as this process, and `group` does not count */
    gid_t group;
};

struct mg_child;
/* Called once, when the process has ended. `signal_number` 0: it exited. */
typedef void mg_child_fn(void *arg, int exit_code, int signal_number);

/* Starts a process in a session of its own, so that a terminal's Ctrl-C does not reach it. Its standard input
 * is empty. It inherits no other descriptor, and no blocked or ignored signal. At its end the processes of
 * its group are killed. Returns when the program has taken the place of this one, or could not. MG_PERMANENT:
 * it could not be started; MG_TRANSIENT: no memory, descriptors or processes. */
enum mg_class mg_child_spawn(struct mg_loop *loop, const struct mg_child_plan *plan, mg_child_fn *fn,
                             void *arg, struct mg_child **ret_child, struct mg_err *err) MG_MUSTCHECK;
pid_t mg_child_pid(const struct mg_child *child);                /* 0: it has ended */
void mg_child_signal(struct mg_child *child, int signal_number); /* the process alone */
void mg_child_kill(struct mg_child *child); /* by SIGKILL, with all processes of its group */
/* Forgets it. A process that still runs goes on. Accepts NULL. */
void mg_child_destroy(struct mg_child *child);

#endif
