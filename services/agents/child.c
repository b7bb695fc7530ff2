/* See child.h. fork(2) and not posix_spawn(3): only so can an agent be bound to the life of this process
 * (PR_SET_PDEATHSIG) before it runs. */
#include "agents/child.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"

#define PROGRAM     "makegood-agent"
#define PLACE       "{service}"
#define EXEC_FAILED 127 /* as shells report it */
#define PORT_WORD   "X_MAKEGOOD_HTTP_PORT="
#define VALUE_MAX   (64 * 1024) /* of one environment variable */
#define PAIRS_MAX   512         /* environment variables; a machine has some dozens */
#define FORCED_MAX  7

/* ---- environment and words ---- */

struct pairs {
    char *items[PAIRS_MAX + 1]; /* "NAME=value"; ends with NULL */
    int count;
    bool failed;
};

static void pairs_take(struct pairs *pairs, char *pair)
{
    if (pair == NULL || pairs->count == PAIRS_MAX) {
        free(pair);
        pairs->failed = true;
        return;
    }
    pairs->items[pairs->count++] = pair;
}

static void pairs_finish(struct pairs *pairs)
{
    for (int i = 0; i < pairs->count; i++) {
        explicit_bzero(pairs->items[i], strlen(pairs->items[i])); /* may hold a secret */
        free(pairs->items[i]);
    }
}

static bool is_name(const char *pair, const char *name)
{
    size_t len = strlen(name);
    return strncmp(pair, name, len) == 0 && pair[len] == '=';
}

/* The agent has its own configuration file and its own port, and its service manager is this process. */
static bool is_own(const char *pair)
{
    static const char *const OWN[] = {"MAKEGOOD_CONFIG",        "MAKEGOOD_HTTP", "MAKEGOOD_HTTP_CERT_FILE",
                                      "MAKEGOOD_HTTP_KEY_FILE", "NOTIFY_SOCKET", "WATCHDOG_PID",
                                      "WATCHDOG_USEC",          "LISTEN_PID",    "LISTEN_FDS",
                                      "MAKEGOOD_DRAIN_TIMEOUT"};
    for (size_t i = 0; i < sizeof(OWN) / sizeof(OWN[0]); i++) {
        if (is_name(pair, OWN[i])) {
            return true;
        }
    }
    return false;
}

/* A copy with each {service} replaced; NULL: no memory. */
static char *pair_fill(const char *pair, const char *name)
{
    struct mg_buf text;
    mg_buf_init(&text, VALUE_MAX);
    for (const char *at = pair; *at != '\0';) {
        const char *place = strstr(at, PLACE);
        size_t len = place != NULL ? (size_t)(place - at) : strlen(at);
        mg_buf_append(&text, at, len);
        if (place != NULL) {
            mg_buf_append_text(&text, name);
            len += sizeof(PLACE) - 1;
        }
        at += len;
    }
    char *copy = text.failed || text.len == 0 ? NULL : strdup(text.data);
    if (text.len > 0) {
        explicit_bzero(text.data, text.len);
    }
    mg_buf_finish(&text);
    return copy;
}

static void environment_make(const struct mg_agents_child_setup *setup, struct pairs *ret_pairs)
{
    char forced[FORCED_MAX][128];
    int count = 0;
    memset(ret_pairs, 0, sizeof(*ret_pairs));
    for (char **at = environ; *at != NULL; at++) {
        if (!is_own(*at)) {
            bool is_filled = strncmp(*at, "MAKEGOOD_", 9) == 0;
            pairs_take(ret_pairs, is_filled ? pair_fill(*at, setup->name) : strdup(*at));
        }
    }
    (void)snprintf(forced[count++], sizeof(forced[0]), "MAKEGOOD_HTTP=127.0.0.1:0");
    (void)snprintf(forced[count++], sizeof(forced[0]), "MAKEGOOD_DRAIN_TIMEOUT=%" PRId64 "ms",
                   setup->drain_timeout_ms);
    (void)snprintf(forced[count++], sizeof(forced[0]), "NOTIFY_SOCKET=%s", setup->notify_socket);
    (void)snprintf(forced[count++], sizeof(forced[0]), "WATCHDOG_USEC=%d000", MG_AGENTS_CHILD_SILENCE_MAX_MS);
    if (getenv("MAKEGOOD_MEMORY_BUDGET") == NULL) {
        (void)snprintf(forced[count++], sizeof(forced[0]), "MAKEGOOD_MEMORY_BUDGET=%" PRId64,
                       setup->memory_budget);
    }
    for (int i = 0; i < count; i++) {
        pairs_take(ret_pairs, strdup(forced[i]));
    }
}

/* The agent of the same installation: the file beside this program. */
static bool program_find(char ret_path[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", ret_path, PATH_MAX - sizeof(PROGRAM) - 1);
    if (len <= 0) {
        return false;
    }
    ret_path[len] = '\0';
    char *slash = strrchr(ret_path, '/');
    memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
    return true;
}

/* ---- the process ---- */

/* In the new process, where only async-signal-safe calls are allowed. */
static _Noreturn void child_become(const char *program, char *const *words, char *const *environment,
                                   pid_t parent)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* the loop has blocked the signals that it handles */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);                         /* it drains if this process is killed */
    (void)close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC); /* a library may have forgotten one */
    if (getppid() == parent) {
        (void)execve(program, words, environment);
    }
    _exit(EXEC_FAILED);
}

static pid_t process_fork(const struct mg_agents_child_setup *setup, const char *program,
                          char *const *environment)
{
    char name[] = PROGRAM, service[] = "--service", config[] = "--config";
    char *path = strdup(setup->path), *config_path = strdup(setup->agent_config);
    char *words[] = {name, service, path, config, config_path, NULL};
    pid_t parent = getpid(), pid = -1;
    if (setup->agent_config[0] == '\0') {
        words[3] = NULL;
    }
    if (path != NULL && config_path != NULL) {
        pid = fork();
    }
    if (pid == 0) {
        child_become(program, words, environment, parent);
    }
    free(path);
    free(config_path);
    return pid;
}

static void on_handle(void *arg, int events)
{
    struct mg_agents_child *child = arg;
    int state = 0;
    (void)events;
    if (waitpid(child->pid, &state, WNOHANG) != child->pid) {
        return;
    }
    child->pid = 0;
    mg_watch_destroy(child->watch);
    child->watch = NULL;
    child->on_end(child, WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state));
}

static enum mg_class process_start(struct mg_agents_child *child, const struct mg_agents_child_setup *setup,
                                   struct mg_err *err)
{
    char program[PATH_MAX];
    struct pairs pairs;
    if (!program_find(program)) {
        return mg_err_set(err, MG_TRANSIENT, "could not find %s: /proc/self/exe: %s", PROGRAM,
                          strerror(errno));
    }
    environment_make(setup, &pairs);
    child->pid = pairs.failed ? -1 : process_fork(setup, program, pairs.items);
    int failed = errno;
    pairs_finish(&pairs);
    if (child->pid < 0) {
        child->pid = 0;
        return mg_err_set(err, MG_TRANSIENT, "could not start %s for service %s: %s", program, setup->name,
                          strerror(failed));
    }
    child->handle = pidfd_open(child->pid, 0);
    child->watch = child->handle >= 0 ? mg_watch_create(setup->loop, child->handle, on_handle, child) : NULL;
    if (child->watch == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not watch the agent of service %s: %s", setup->name,
                          strerror(errno));
    }
    mg_watch_set(child->watch, MG_READABLE);
    return MG_OK;
}

enum mg_class mg_agents_child_start(const struct mg_agents_child_setup *setup,
                                    struct mg_agents_child **ret_child, struct mg_err *err)
{
    struct mg_agents_child *child = calloc(1, sizeof(*child));
    if (child == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start the agent of %s: no memory", setup->name);
    }
    (void)snprintf(child->name, sizeof(child->name), "%s", setup->name);
    child->on_end = setup->on_end;
    child->arg = setup->arg;
    child->handle = -1;
    child->begun_ms = child->alive_ms = mg_clock_boot_ms();
    enum mg_class class = process_start(child, setup, err);
    if (class != MG_OK) {
        mg_agents_child_destroy(child);
        return class;
    }
    *ret_child = child;
    return MG_OK;
}

void mg_agents_child_signal(const struct mg_agents_child *child, int number)
{
    if (child->pid > 0) {
        (void)kill(child->pid, number); /* it has not been waited for, so the number is still its own */
    }
}

void mg_agents_child_stop(struct mg_agents_child *child, int64_t kill_at_ms)
{
    child->is_stopping = true;
    child->kill_at_ms = kill_at_ms;
    mg_agents_child_signal(child, SIGTERM);
}

static void line_take(struct mg_agents_child *child, const char *line)
{
    if (strcmp(line, "READY=1") == 0) {
        child->has_started = true;
    } else if (strncmp(line, "STATUS=", 7) == 0) {
        (void)snprintf(child->status, sizeof(child->status), "%.*s", (int)sizeof(child->status) - 1,
                       line + 7);
    } else if (strncmp(line, PORT_WORD, sizeof(PORT_WORD) - 1) == 0) {
        long port = strtol(line + sizeof(PORT_WORD) - 1, NULL, 10);
        child->port = port > 0 && port <= UINT16_MAX ? (int)port : 0;
    }
}

void mg_agents_child_take(struct mg_agents_child *child, const char *text, size_t len)
{
    char line[sizeof(child->status) + 16];
    child->alive_ms = mg_clock_boot_ms();
    for (const char *at = text, *end = text + len; at < end;) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((feed != NULL ? feed : end) - at);
        (void)snprintf(line, sizeof(line), "%.*s", (int)line_len, at); /* a long status is cut */
        line_take(child, line);
        at += line_len + 1;
    }
}

bool mg_agents_child_look(struct mg_agents_child *child, int64_t now_ms)
{
    bool is_silent = now_ms - child->alive_ms > MG_AGENTS_CHILD_SILENCE_MAX_MS;
    bool is_late = child->is_stopping && now_ms >= child->kill_at_ms;
    if (child->pid == 0 || (!is_late && (child->is_stopping || !is_silent))) {
        return false;
    }
    mg_log(MG_LOG_ERROR,
           is_late ? "an agent did not end in time, and is killed" : "an agent stands still, and is killed",
           MG_LOG_TEXT("service", child->name), MG_LOG_NUMBER("pid", child->pid));
    mg_agents_child_signal(child, SIGKILL);
    return true;
}

void mg_agents_child_destroy(struct mg_agents_child *child)
{
    if (child == NULL) {
        return;
    }
    mg_watch_destroy(child->watch);
    if (child->handle >= 0) {
        (void)close(child->handle);
    }
    if (child->pid > 0) {
        (void)kill(child->pid, SIGKILL);
        (void)waitpid(child->pid, NULL, 0); /* at once, after SIGKILL */
    }
    free(child);
}
