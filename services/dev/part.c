/* See part.h. */
#include "part.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/notify_socket.h"
#include "part_log.h"

#define PARTS_MAX 80 /* an agent for each of 64 services, and all others */

/* Restarts: at once at first, since all others wait for the part; then rarer, because a process that ends
 * soon again costs more than it gives. */
#define RESTART_MIN_MS 250
#define RESTART_MAX_MS 8000
/* A process that has lived for so long has recovered: its next end is a first one. */
#define STEADY_MS 30000
/* With the delays above these take half a minute. By then a server that had to recover is there. */
#define RESTARTS_MAX 8

struct mg_part {
    struct mg_parts *parts;
    char name[64];
    enum mg_part_rank rank;
    enum mg_part_sign sign;
    int end_signal;
    uid_t user;
    gid_t group;
    struct mg_child_words words;
    struct mg_child *child; /* NULL: it does not run */
    struct mg_notified notified;
    struct mg_timer *restart, *unready;
    int64_t started_at_ms;
    int restarts; /* since it was steady */
    bool is_ready, was_ready, is_lost;
    bool is_unready_reported, is_asked_to_quit;
};

struct mg_parts {
    struct mg_parts_options options;
    struct mg_notify_socket *notify;
    struct mg_part *items[PARTS_MAX];
    int count;
    bool is_ending;
};

static void on_notified(void *arg, pid_t sender, const char *text, size_t len);

enum mg_class mg_parts_create(const struct mg_parts_options *options, struct mg_parts **ret_parts,
                              struct mg_err *err)
{
    struct mg_parts *parts = calloc(1, sizeof(*parts));
    if (parts == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    parts->options = *options;
    enum mg_class class = mg_notify_socket_create(options->loop, on_notified, parts, &parts->notify, err);
    if (class != MG_OK) {
        mg_parts_destroy(parts);
        return class;
    }
    *ret_parts = parts;
    return MG_OK;
}

void mg_parts_destroy(struct mg_parts *parts)
{
    if (parts == NULL) {
        return;
    }
    for (int i = 0; i < parts->count; i++) {
        mg_child_destroy(parts->items[i]->child);
        mg_timer_destroy(parts->items[i]->restart);
        mg_timer_destroy(parts->items[i]->unready);
        mg_child_words_close(&parts->items[i]->words);
        free(parts->items[i]);
    }
    mg_notify_socket_destroy(parts->notify);
    free(parts);
}

static void part_report(const struct mg_part *part, const char *format, ...) MG_PRINTF(2, 3);
static void part_report(const struct mg_part *part, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    part->parts->options.report(part->parts->options.arg, line);
}

static void changed(const struct mg_part *part)
{
    part->parts->options.changed(part->parts->options.arg);
}

/* ---- making ---- */

static void on_restart(void *arg);
static void on_unready(void *arg);

struct mg_part *mg_part_add(struct mg_parts *parts, const char *name, enum mg_part_rank rank, int end_signal)
{
    struct mg_part *part = parts->count < PARTS_MAX ? calloc(1, sizeof(*part)) : NULL;
    if (part == NULL) {
        return NULL;
    }
    part->parts = parts;
    part->rank = rank;
    part->end_signal = end_signal;
    (void)snprintf(part->name, sizeof(part->name), "%s", name);
    part->restart = mg_timer_create(parts->options.loop, on_restart, part);
    part->unready = mg_timer_create(parts->options.loop, on_unready, part);
    if (part->restart == NULL || part->unready == NULL) {
        mg_timer_destroy(part->restart);
        mg_timer_destroy(part->unready);
        free(part);
        return NULL;
    }
    mg_child_words_open(&part->words);
    parts->items[parts->count++] = part;
    return part;
}

struct mg_child_words *mg_part_words(struct mg_part *part)
{
    return &part->words;
}

void mg_part_user(struct mg_part *part, uid_t user, gid_t group)
{
    part->user = user;
    part->group = group;
}

/* ---- running ---- */

/* Variables that would give a part options, servers or a service manager that are not this command's. */
static bool is_foreign(const char *variable)
{
    return strncmp(variable, "MAKEGOOD_", 9) == 0 || strncmp(variable, "NOTIFY_SOCKET=", 14) == 0 ||
           strncmp(variable, "RABBITMQ_", 9) == 0 ||
           (strncmp(variable, "PG", 2) == 0 && variable[2] >= 'A' && variable[2] <= 'Z');
}

static void on_unready(void *arg)
{
    struct mg_part *part = arg;
    const char *status = part->notified.status; /* "not ready: …" */
    if (!part->parts->is_ending && !part->is_lost) {
        part_report(part, "%s is %s", part->name,
                    part->child != NULL && status[0] != '\0' ? status : "not ready");
        part->is_unready_reported = true;
    }
}

static void ready_set(struct mg_part *part, bool is_ready)
{
    if (is_ready) {
        mg_timer_stop(part->unready);
        if (part->is_unready_reported) {
            part_report(part, "%s is ready again", part->name);
        }
        part->is_unready_reported = false;
    } else if (part->is_ready) {
        mg_timer_start(part->unready, part->parts->options.unready_max_ms, 0);
    }
    part->is_ready = is_ready;
    part->was_ready = part->was_ready || is_ready;
}

static void on_notified(void *arg, pid_t sender, const char *text, size_t len)
{
    struct mg_parts *parts = arg;
    for (int i = 0; i < parts->count; i++) {
        struct mg_part *part = parts->items[i];
        if (part->sign == MG_PART_NOTIFIES && part->child != NULL && mg_child_pid(part->child) == sender) {
            mg_notified_take(&part->notified, text, len);
            ready_set(part, mg_notified_is_ready(&part->notified));
            changed(part);
        }
    }
}

static const char *end_write(int exit_code, int signal_number, char *ret_text, size_t size)
{
    if (signal_number != 0) {
        (void)snprintf(ret_text, size, "was ended by signal %d (%s)", signal_number,
                       strsignal(signal_number));
    } else {
        (void)snprintf(ret_text, size, "ended with %d", exit_code);
    }
    return ret_text;
}

static int64_t restart_delay_ms(const struct mg_part *part)
{
    int64_t delay_ms = (int64_t)RESTART_MIN_MS << (part->restarts - 1);
    return delay_ms < RESTART_MAX_MS ? delay_ms : RESTART_MAX_MS;
}

/* An end that was not asked for. */
static void ended_report(struct mg_part *part, const char *how)
{
    bool is_steady = mg_clock_boot_ms() - part->started_at_ms >= STEADY_MS;
    part->restarts = is_steady ? 1 : part->restarts + 1;
    part->is_lost = !part->was_ready || part->restarts > RESTARTS_MAX;
    if (part->is_lost) {
        part_report(part, "%s %s%s", part->name, how, part->was_ready ? ", again and again" : "");
    } else {
        part_report(part, "%s %s; it is started again", part->name, how);
    }
    mg_part_log_show(part->parts->options.logs, part->name, part->parts->options.report,
                     part->parts->options.arg);
    if (!part->is_lost) {
        mg_timer_start(part->restart, restart_delay_ms(part), 0);
    }
}

static void on_ended(void *arg, int exit_code, int signal_number)
{
    struct mg_part *part = arg;
    char how[96];
    mg_child_destroy(part->child);
    part->child = NULL;
    bool is_done = part->sign == MG_PART_ENDS && exit_code == 0 && signal_number == 0;
    if (part->sign != MG_PART_TRIED) {
        ready_set(part, is_done);
    }
    if (!part->parts->is_ending && !is_done) {
        ended_report(part, end_write(exit_code, signal_number, how, sizeof(how)));
    }
    changed(part);
}

static enum mg_class part_spawn(struct mg_part *part, bool is_first, struct mg_err *err)
{
    int log = mg_part_log_open(part->parts->options.logs, part->name, is_first);
    enum mg_class class = MG_OK;
    if (log < 0 || part->words.is_short) {
        class = mg_err_set(err, MG_PERMANENT, "could not start %s: %s", part->name,
                           log < 0 ? "its log cannot be written" : "no memory");
    } else {
        const struct mg_child_plan plan = {.argv = part->words.argv,
                                           .env = part->words.env,
                                           .output_fd = log,
                                           .error_fd = log,
                                           .death_signal = part->end_signal,
                                           .user = part->user,
                                           .group = part->group};
        part->notified = (struct mg_notified){0};
        part->started_at_ms = mg_clock_boot_ms();
        class = mg_child_spawn(part->parts->options.loop, &plan, on_ended, part, &part->child, err);
    }
    if (log >= 0) {
        (void)close(log);
    }
    return class;
}

static void on_restart(void *arg)
{
    struct mg_part *part = arg;
    struct mg_err err;
    if (!part->parts->is_ending && part_spawn(part, false, &err) != MG_OK) {
        part->is_lost = true;
        part_report(part, "%s", err.text);
        changed(part);
    }
}

enum mg_class mg_part_start(struct mg_part *part, enum mg_part_sign sign, struct mg_err *err)
{
    part->sign = sign;
    if (sign == MG_PART_NOTIFIES) {
        mg_child_env(&part->words, "NOTIFY_SOCKET=%s", mg_notify_socket_address(part->parts->notify));
    }
    mg_child_inherit(&part->words, is_foreign);
    return part_spawn(part, true, err);
}

void mg_part_set_ready(struct mg_part *part)
{
    ready_set(part, true);
    changed(part);
}

bool mg_part_is_ready(const struct mg_part *part)
{
    return part->is_ready;
}

int64_t mg_part_started_at_ms(const struct mg_part *part)
{
    return part->started_at_ms;
}

void mg_part_replace(struct mg_part *part, const char *why)
{
    if (!part->parts->is_ending && part->child != NULL) {
        part_report(part, "%s does not work: %s", part->name, why);
        mg_child_kill(part->child);
    }
}

const char *mg_parts_unready(const struct mg_parts *parts, const char **ret_reason)
{
    for (int i = 0; i < parts->count; i++) {
        if (!parts->items[i]->is_ready) {
            *ret_reason = parts->items[i]->notified.status;
            return parts->items[i]->name;
        }
    }
    return NULL;
}

bool mg_parts_have_lost(const struct mg_parts *parts)
{
    for (int i = 0; i < parts->count; i++) {
        if (parts->items[i]->is_lost) {
            return true;
        }
    }
    return false;
}

/* ---- the end ---- */

void mg_parts_ask_end(struct mg_parts *parts, enum mg_part_rank rank)
{
    parts->is_ending = true;
    for (int i = 0; i < parts->count; i++) {
        if (parts->items[i]->rank == rank && parts->items[i]->child != NULL) {
            mg_child_signal(parts->items[i]->child, parts->items[i]->end_signal);
            mg_child_signal(parts->items[i]->child, SIGCONT); /* a stopped process takes no signal */
        }
    }
}

bool mg_parts_run(const struct mg_parts *parts, enum mg_part_rank rank)
{
    for (int i = 0; i < parts->count; i++) {
        if (parts->items[i]->rank == rank && parts->items[i]->child != NULL) {
            return true;
        }
    }
    return false;
}

void mg_parts_kill(struct mg_parts *parts, enum mg_part_rank rank)
{
    parts->is_ending = true;
    for (int i = 0; i < parts->count; i++) {
        struct mg_part *part = parts->items[i];
        if (part->rank < rank || part->child == NULL) {
            continue;
        }
        /* A killed PostgreSQL leaves shared memory, for which its next start waits; SIGQUIT does not. */
        if (part->end_signal == SIGINT && !part->is_asked_to_quit) {
            part->is_asked_to_quit = true;
            mg_child_signal(part->child, SIGQUIT);
            mg_child_signal(part->child, SIGCONT);
        } else {
            mg_child_kill(part->child);
        }
    }
}
