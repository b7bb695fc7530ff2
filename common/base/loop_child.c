/* See loop_child.h. fork(2), and neither posix_spawn(3) nor uv_spawn: only so can a process be bound to the
 * life of this one (PR_SET_PDEATHSIG) before it runs. */
#include "base/loop_child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXEC_FAILED 127 /* as shells report it */
#define TEXTS_MAX   ((size_t)1024 * 1024)

struct mg_child {
    mg_child_fn *fn;
    void *arg;
    pid_t pid; /* 0: it has ended */
    int handle;
    struct mg_watch *watch;
};

/* ---- words and environment ---- */

void mg_child_words_open(struct mg_child_words *ret_words)
{
    *ret_words = (struct mg_child_words){.texts = mg_arena_create(TEXTS_MAX)};
    ret_words->is_short = ret_words->texts == NULL;
}

void mg_child_words_close(struct mg_child_words *words)
{
    for (int i = 0; i < words->env_count; i++) {
        explicit_bzero(words->env[i], strlen(words->env[i]));
    }
    mg_arena_destroy(words->texts);
    *words = (struct mg_child_words){.is_short = true};
}

static void text_add(struct mg_child_words *words, char **items, int *count, int max, const char *format,
                     va_list args) MG_PRINTF(5, 0);
static void text_add(struct mg_child_words *words, char **items, int *count, int max, const char *format,
                     va_list args)
{
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    char *copy = len >= 0 && !words->is_short && *count < max
                     ? mg_arena_text(words->texts, (struct mg_slice){text, (size_t)len})
                     : NULL;
    words->is_short = copy == NULL;
    if (copy != NULL) {
        items[(*count)++] = copy;
    }
    if (len >= 0) {
        explicit_bzero(text, (size_t)len);
        free(text);
    }
}

void mg_child_word(struct mg_child_words *words, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_add(words, words->argv, &words->word_count, MG_CHILD_WORDS_MAX, format, args);
    va_end(args);
}

void mg_child_env(struct mg_child_words *words, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_add(words, words->env, &words->env_count, MG_CHILD_ENV_MAX, format, args);
    va_end(args);
}

static bool is_set(const struct mg_child_words *words, const char *variable)
{
    size_t len = strcspn(variable, "=") + 1;
    for (int i = 0; i < words->env_count; i++) {
        if (strncmp(words->env[i], variable, len) == 0) {
            return true;
        }
    }
    return false;
}

void mg_child_inherit(struct mg_child_words *words, bool (*left_out)(const char *variable))
{
    for (char **at = environ; *at != NULL; at++) {
        if ((left_out == NULL || !left_out(*at)) && !is_set(words, *at)) {
            mg_child_env(words, "%s", *at);
        }
    }
}

/* ---- in the new process, where only async-signal-safe calls are allowed ---- */

static void signals_reset(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++) {
        (void)signal(number, SIG_DFL); /* fails for SIGKILL, SIGSTOP and the C library's own */
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool descriptors_set(const struct mg_child_plan *plan)
{
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return input >= 0 && dup2(input, STDIN_FILENO) >= 0 &&
           (plan->output_fd < 0 || dup2(plan->output_fd, STDOUT_FILENO) >= 0) &&
           (plan->error_fd < 0 || dup2(plan->error_fd, STDERR_FILENO) >= 0) &&
           close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) ==
               0; /* a library may have forgotten one */
}

static bool user_set(uid_t user, gid_t group)
{
    return user == 0 || (setgroups(0, NULL) == 0 && setgid(group) == 0 && setuid(user) == 0);
}

static _Noreturn void child_become(const struct mg_child_plan *plan, pid_t parent, int failure)
{
    signals_reset();
    /* The kernel forgets the death signal at a change of the user, so it comes after that. */
    if (setsid() >= 0 && descriptors_set(plan) && user_set(plan->user, plan->group) &&
        prctl(PR_SET_PDEATHSIG, plan->death_signal) == 0 && getppid() == parent) {
        (void)execvpe(plan->argv[0], plan->argv, plan->env);
    }
    int reason = errno;
    (void)!write(failure, &reason, sizeof(reason));
    _exit(EXEC_FAILED);
}

/* ---- in this process ---- */

/* The errno with which the new process could not become the program; 0: it has. The new process holds the
 * other end until then, which takes about a millisecond. */
static int failure_read(int failure)
{
    int reason = 0;
    ssize_t got = -1;
    do {
        got = read(failure, &reason, sizeof(reason));
    } while (got < 0 && errno == EINTR);
    return got == sizeof(reason) ? reason : 0;
}

static enum mg_class process_start(struct mg_child *child, const struct mg_child_plan *plan,
                                   struct mg_err *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: %s", plan->argv[0], strerror(errno));
    }
    (void)signal(SIGCHLD, SIG_DFL); /* if it is ignored, there is no exit code to wait for */
    pid_t pid = fork();
    if (pid == 0) {
        child_become(plan, parent, ends[1]);
    }
    int reason = pid < 0 ? errno : 0;
    (void)close(ends[1]);
    if (pid > 0) {
        child->pid = pid;
        reason = failure_read(ends[0]);
    }
    (void)close(ends[0]);
    return reason == 0 ? MG_OK
                       : mg_err_set(err, pid < 0 ? MG_TRANSIENT : MG_PERMANENT, "could not start %s: %s",
                                    plan->argv[0], strerror(reason));
}

static void on_handle(void *arg, int events)
{
    struct mg_child *child = arg;
    int state = 0;
    siginfo_t ended = {0};
    (void)events;
    if (waitid(P_PID, (id_t)child->pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) {
        return;
    }
    mg_child_kill(child); /* the rest of its group: until it is waited for, the number is not another's */
    (void)waitpid(child->pid, &state, 0);
    child->pid = 0;
    mg_watch_set(child->watch, 0);
    child->fn(child->arg, WIFEXITED(state) ? WEXITSTATUS(state) : 0,
              WIFSIGNALED(state) ? WTERMSIG(state) : 0);
}

static enum mg_class process_watch(struct mg_child *child, struct mg_loop *loop,
                                   const struct mg_child_plan *plan, struct mg_err *err)
{
    child->handle = pidfd_open(child->pid, 0);
    child->watch = child->handle >= 0 ? mg_watch_create(loop, child->handle, on_handle, child) : NULL;
    if (child->watch == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not watch %s: no memory or descriptors", plan->argv[0]);
    }
    mg_watch_set(child->watch, MG_READABLE);
    return MG_OK;
}

enum mg_class mg_child_spawn(struct mg_loop *loop, const struct mg_child_plan *plan, mg_child_fn *fn,
                             void *arg, struct mg_child **ret_child, struct mg_err *err)
{
    struct mg_child *child = calloc(1, sizeof(*child));
    if (child == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start %s: no memory", plan->argv[0]);
    }
    child->fn = fn;
    child->arg = arg;
    child->handle = -1;
    enum mg_class class = process_start(child, plan, err);
    if (class == MG_OK) {
        class = process_watch(child, loop, plan, err);
    }
    if (class != MG_OK) {
        mg_child_kill(child);
        if (child->pid > 0) {
            (void)waitpid(child->pid, NULL, 0); /* at once: it is killed, or has ended by itself */
        }
        mg_child_destroy(child);
        return class;
    }
    *ret_child = child;
    return MG_OK;
}

pid_t mg_child_pid(const struct mg_child *child)
{
    return child->pid;
}

/* A process that has not been waited for keeps its number. */
void mg_child_signal(struct mg_child *child, int signal_number)
{
    if (child->pid > 0) {
        (void)kill(child->pid, signal_number);
    }
}

void mg_child_kill(struct mg_child *child)
{
    if (child->pid > 0) {
        (void)kill(-child->pid, SIGKILL);
    }
}

void mg_child_destroy(struct mg_child *child)
{
    if (child == NULL) {
        return;
    }
    mg_watch_destroy(child->watch);
    if (child->handle >= 0) {
        (void)close(child->handle);
    }
    free(child);
}
