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

#define PROGRAM   "makegood-agent"
#define PLACE     "{service}"
#define VALUE_MAX (64 * 1024) /* of one environment variable */

/* ---- environment and words ---- */

/* The agent has its own configuration file and its own port, and its service manager is this process. */
static bool is_foreign(const char *variable)
{
    static const char *const FOREIGN[] = {"MAKEGOOD_CONFIG=",
                                          "MAKEGOOD_HTTP_CERT_FILE=",
                                          "MAKEGOOD_HTTP_KEY_FILE=",
                                          "WATCHDOG_PID=",
                                          "LISTEN_PID=",
                                          "LISTEN_FDS="};
    for (size_t i = 0; i < sizeof(FOREIGN) / sizeof(FOREIGN[0]); i++) {
        if (strncmp(variable, FOREIGN[i], strlen(FOREIGN[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a variable with each {service} replaced. */
static void variable_fill(struct mg_child_words *words, const char *variable, const char *name)
{
    struct mg_buf text;
    mg_buf_init(&text, VALUE_MAX);
    for (const char *at = variable; *at != '\0';) {
        const char *place = strstr(at, PLACE);
        size_t len = place != NULL ? (size_t)(place - at) : strlen(at);
        mg_buf_append(&text, at, len);
        if (place != NULL) {
            mg_buf_append_text(&text, name);
            len += sizeof(PLACE) - 1;
        }
        at += len;
    }
    words->is_short = words->is_short || text.failed;
    mg_child_env(words, "%.*s", (int)text.len, text.data);
    explicit_bzero(text.data, text.len); /* may hold a secret */
    mg_buf_finish(&text);
}

static void environment_make(const struct mg_agents_child_setup *setup, struct mg_child_words *words)
{
    mg_child_env(words, "MAKEGOOD_HTTP=127.0.0.1:0");
    mg_child_env(words, "MAKEGOOD_DRAIN_TIMEOUT=%" PRId64 "ms", setup->drain_timeout_ms);
    mg_child_env(words, "NOTIFY_SOCKET=%s", setup->notify_socket);
    mg_child_env(words, "WATCHDOG_USEC=%d000", MG_AGENTS_CHILD_SILENCE_MAX_MS);
    if (getenv("MAKEGOOD_MEMORY_BUDGET") == NULL) {
        mg_child_env(words, "MAKEGOOD_MEMORY_BUDGET=%" PRId64, setup->memory_budget);
    }
    for (char **at = environ; *at != NULL; at++) {
        if (strncmp(*at, "MAKEGOOD_", 9) == 0 && strstr(*at, PLACE) != NULL && !is_foreign(*at)) {
            variable_fill(words, *at, setup->name);
        }
    }
    mg_child_inherit(words, is_foreign);
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
    char folder[PATH_MAX];
    struct mg_child_words words;
    if (!mg_file_programs(folder, sizeof(folder))) {
        return mg_err_set(err, MG_TRANSIENT, "could not find %s: /proc/self/exe: %s", PROGRAM,
                          strerror(errno));
    }
    mg_child_words_open(&words);
    mg_child_word(&words, "%s/%s", folder, PROGRAM); /* the agent of the same installation */
    mg_child_word(&words, "--service");
    mg_child_word(&words, "%s", setup->path);
    if (setup->agent_config[0] != '\0') {
        mg_child_word(&words, "--config");
        mg_child_word(&words, "%s", setup->agent_config);
    }
    environment_make(setup, &words);
    const struct mg_child_plan plan = {.argv = words.argv,
                                       .env = words.env,
                                       .output_fd = -1,
                                       .error_fd = -1,
                                       .death_signal = SIGTERM}; /* it drains if this process is killed */
    enum mg_class class =
        words.is_short
            ? mg_err_set(err, MG_TRANSIENT, "could not start the agent of %s: no memory", setup->name)
            : mg_child_spawn(setup->loop, &plan, on_process_end, child, &child->process, err);
    mg_child_words_close(&words);
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
