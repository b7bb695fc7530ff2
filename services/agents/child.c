/* See child.h. */
#include "agents/child.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#define PROGRAM    "makegood-agent"
#define PLACE      "{service}"
#define VALUE_MAX  (64 * 1024) /* of one environment variable */
#define PAIRS_MAX  512         /* environment variables; a machine has some dozens */
#define FORCED_MAX 7

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

/* ---- the process ---- */

static void on_process_end(void *arg, int exit_code, int signal_number)
{
    struct mg_agents_child *child = arg;
    mg_child_destroy(child->process);
    child->process = NULL;
    child->on_end(child, signal_number != 0 ? -signal_number : exit_code);
}

static enum mg_class process_start(struct mg_agents_child *child, const struct mg_agents_child_setup *setup,
                                   struct mg_err *err)
{
    char folder[PATH_MAX - sizeof(PROGRAM)], program[PATH_MAX], service[] = "--service",
                                                                config[] = "--config";
    char *path = strdup(setup->path), *config_path = strdup(setup->agent_config);
    char *words[] = {program,     service, path, setup->agent_config[0] != '\0' ? config : NULL,
                     config_path, NULL};
    struct pairs pairs;
    enum mg_class class = MG_OK;
    environment_make(setup, &pairs);
    if (pairs.failed || path == NULL || config_path == NULL) {
        class = mg_err_set(err, MG_TRANSIENT, "could not start the agent of %s: no memory", setup->name);
    } else if (!mg_file_programs(folder, sizeof(folder))) {
        class =
            mg_err_set(err, MG_TRANSIENT, "could not find %s: /proc/self/exe: %s", PROGRAM, strerror(errno));
    } else { /* the agent of the same installation */
        (void)snprintf(program, sizeof(program), "%s/%s", folder, PROGRAM);
        const struct mg_child_plan plan = {
            .argv = words,
            .env = pairs.items,
            .output_fd = -1,
            .error_fd = -1,
            .death_signal = SIGTERM, /* it drains if this process is killed */
        };
        class = mg_child_spawn(setup->loop, &plan, on_process_end, child, &child->process, err);
    }
    pairs_finish(&pairs);
    free(path);
    free(config_path);
    return class;
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
    child->begun_ms = child->alive_ms = mg_clock_boot_ms();
    enum mg_class class = process_start(child, setup, err);
    if (class != MG_OK) {
        mg_agents_child_destroy(child);
        return class;
    }
    child->pid = mg_child_pid(child->process);
    *ret_child = child;
    return MG_OK;
}

void mg_agents_child_signal(const struct mg_agents_child *child, int number)
{
    if (child->process != NULL) {
        mg_child_signal(child->process, number);
    }
}

void mg_agents_child_stop(struct mg_agents_child *child, int64_t kill_at_ms)
{
    child->is_stopping = true;
    child->kill_at_ms = kill_at_ms;
    mg_agents_child_signal(child, SIGTERM);
}

void mg_agents_child_take(struct mg_agents_child *child, const char *text, size_t len)
{
    child->alive_ms = mg_clock_boot_ms();
    mg_notified_take(&child->notified, text, len);
}

bool mg_agents_child_look(struct mg_agents_child *child, int64_t now_ms)
{
    bool is_silent = now_ms - child->alive_ms > MG_AGENTS_CHILD_SILENCE_MAX_MS;
    bool is_late = child->is_stopping && now_ms >= child->kill_at_ms;
    if (child->process == NULL || (!is_late && (child->is_stopping || !is_silent))) {
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
    if (child->process != NULL) {
        mg_child_kill(child->process);
        mg_child_destroy(child->process);
    }
    free(child);
}
