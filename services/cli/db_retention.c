/*
 * `db vacuum-policy` and `db retain`: how long ended orders are kept in the tables and in the archive. The
 * first writes the policy as a row; the leading supervisor then moves orders to the archive. The owner of the
 * schema runs the second once a day. It creates the archive's next days and drops expired ones, after the
 * export command has taken them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/print.h"
#include "io/store/retention.h"
#include "verb_table.h"
#include "wire/command.h"

/* ---- the policy ---- */

/* "none" gives 0. False: the period is given and invalid. */
static bool period_read(const char *text, bool *ret_is_given, int64_t *ret_ms)
{
    *ret_is_given = mg_option_is_given(text);
    *ret_ms = 0;
    if (!*ret_is_given || strcmp(text, "none") == 0) {
        return true;
    }
    *ret_ms = mg_duration_parse(text);
    return *ret_ms >= MG_HOT_MIN_MS;
}

static enum mg_exit_code policy_read(const struct mg_cli *cli, struct mg_retention *wanted)
{
    static const char *const expected = "expected none, or a duration of 1d at least, such as 30d";
    if (!period_read(cli->options.hot, &wanted->has_hot, &wanted->hot_ms)) {
        return mg_cli_fail(MG_EXIT_USAGE, "--hot %s: %s", cli->options.hot, expected);
    }
    if (!period_read(cli->options.keep, &wanted->has_keep, &wanted->keep_ms)) {
        return mg_cli_fail(MG_EXIT_USAGE, "--keep %s: %s", cli->options.keep, expected);
    }
    if (!wanted->has_hot && !wanted->has_keep) {
        return MG_EXIT_DONE;
    }
    wanted->reason = cli->options.reason;
    if (!mg_option_is_given(wanted->reason) || strlen(wanted->reason) > MG_COMMAND_REASON_MAX) {
        return mg_cli_fail(MG_EXIT_USAGE, "give the reason with --reason TEXT, up to %d bytes",
                           MG_COMMAND_REASON_MAX);
    }
    return MG_EXIT_DONE;
}

static enum mg_exit_code policy_write(struct mg_cli *cli, struct mg_retention *wanted)
{
    struct mg_stored stored = {.is_over = false};
    char by[MG_COMMAND_BY_MAX + 1];
    mg_cli_by(cli, by, sizeof(by));
    wanted->by = by;
    mg_store_set_retention(cli->store, wanted, mg_on_stored, &stored);
    return mg_cli_await_stored(cli, &stored, "; see makegood db vacuum-policy");
}

static enum mg_exit_code policy_print(struct mg_cli *cli, const struct mg_table *policy)
{
    const char *hot = mg_table_cell(policy, 0, "hot"), *keep = mg_table_cell(policy, 0, "keep");
    const char *oldest = mg_table_cell(policy, 0, "oldest_day");
    if (cli->is_json) {
        return mg_table_print_row(cli, policy, 0);
    }
    if (hot[0] == '\0') {
        mg_print(stdout, "no order leaves: there is no policy\n");
    } else {
        mg_print(stdout, "an ended order leaves for the archive %s after its last change\n", hot);
    }
    mg_print(stdout, "a day of the archive is kept %s%s; the oldest is %s\n",
             keep[0] != '\0' ? "for " : "for ever", keep, oldest[0] != '\0' ? oldest : "still to be made");
    if (mg_table_cell(policy, 0, "by_whom")[0] != '\0') {
        mg_print(stdout, "set by %s at %s: %s\n", mg_table_cell(policy, 0, "by_whom"),
                 mg_table_cell(policy, 0, "set_at"), mg_table_cell(policy, 0, "reason"));
    }
    if (hot[0] != '\0' && strcmp(mg_table_cell(policy, 0, "ahead"), "0") == 0) {
        mg_cli_note("the archive has no place for today: have makegood db retain run once a day");
    }
    return MG_EXIT_DONE;
}

enum mg_exit_code mg_verb_db_vacuum_policy(struct mg_cli *cli)
{
    struct mg_retention wanted = {.has_hot = false};
    struct mg_table policy = {0};
    enum mg_exit_code code = policy_read(cli, &wanted);
    if (code == MG_EXIT_DONE) {
        code = mg_cli_open_store(cli, false);
    }
    if (code == MG_EXIT_DONE && (wanted.has_hot || wanted.has_keep)) {
        code = policy_write(cli, &wanted);
    }
    if (code == MG_EXIT_DONE) {
        code = mg_table_read(cli, MG_REPORT_RETENTION, NULL, 0, &policy);
    }
    if (code == MG_EXIT_DONE) {
        code = policy_print(cli, &policy);
    }
    mg_table_free(&policy);
    return code;
}

/* ---- days ---- */

/* A command that neither reads nor ends for this long hangs. Its work after the last order must fit into
 * this time, too, such as a copy of the day's file to another place. */
#define EXPORT_IDLE_MAX_MS (60 * 60 * 1000)
/* The time between SIGTERM and SIGKILL. */
#define EXPORT_GRACE_MS 10000

/* The export command of a day. */
struct taker {
    char *command;
    int input;  /* our end of its standard input, non-blocking; -1: closed */
    int handle; /* a pidfd: readable when the command has ended */
    pid_t child;
};

/* Returns an errno. The command gets its own process group, so that a whole pipeline can be ended. SIGPIPE
 * is reset, because the command must not inherit that this program ignores it. */
static int taker_spawn(struct taker *taker, int input)
{
    static char shell[] = "/bin/sh", option[] = "-c";
    char *const words[] = {shell, option, taker->command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    (void)sigemptyset(&defaults);
    (void)sigaddset(&defaults, SIGPIPE);
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0) {
        return failed;
    }
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
        (void)posix_spawnattr_setpgroup(&attributes, 0);
        (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        failed = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
        if (failed == 0) {
            failed = posix_spawn(&taker->child, shell, &actions, &attributes, words, environ);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static enum mg_class taker_begin(void *arg, const char *day, struct mg_err *err)
{
    struct taker *taker = arg;
    int ends[2];
    if (setenv("MAKEGOOD_DAY", day, 1) != 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return mg_err_set(err, MG_TRANSIENT, "could not run the command: %s", strerror(errno));
    }
    int failed = fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 ? taker_spawn(taker, ends[0]) : errno;
    (void)close(ends[0]);
    taker->input = ends[1];
    if (failed == 0) {
        taker->handle = pidfd_open(taker->child, 0);
        if (taker->handle >= 0) {
            return MG_OK;
        }
        failed = errno;
        (void)kill(-taker->child, SIGKILL);
        (void)waitpid(taker->child, NULL, 0);
    }
    (void)close(taker->input);
    return mg_err_set(err, MG_TRANSIENT, "could not run the command: %s", strerror(failed));
}

/* False: timed out. */
static bool taker_await(int descriptor, short what, int timeout_ms)
{
    struct pollfd awaited = {.fd = descriptor, .events = what};
    int64_t end_ms = mg_clock_boot_ms() + timeout_ms;
    int count = 0;
    do {
        int64_t left_ms = end_ms - mg_clock_boot_ms();
        count = poll(&awaited, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (count < 0 && errno == EINTR);
    return count > 0;
}

static enum mg_class taker_write(const struct taker *taker, const char *data, size_t len, struct mg_err *err)
{
    while (len > 0) {
        ssize_t written = write(taker->input, data, len);
        if (written > 0) {
            data += written;
            len -= (size_t)written;
        } else if (written < 0 && errno == EAGAIN) {
            if (!taker_await(taker->input, POLLOUT, EXPORT_IDLE_MAX_MS)) {
                return mg_err_set(err, MG_PERMANENT, "the command read nothing for %d minutes and was ended",
                                  EXPORT_IDLE_MAX_MS / 60000);
            }
        } else if (written < 0 && errno != EINTR) {
            return mg_err_set(err, MG_PERMANENT, "the command did not take all of it: %s", strerror(errno));
        }
    }
    return MG_OK;
}

static enum mg_class taker_put(void *arg, struct mg_slice line, struct mg_err *err)
{
    enum mg_class class = taker_write(arg, (const char *)line.data, line.len, err);
    return class == MG_OK ? taker_write(arg, "\n", 1, err) : class;
}

/* Returns the command's exit as a class. It has ended, so waitpid does not block. */
static enum mg_class taker_collect(struct taker *taker, struct mg_err *err)
{
    int status = 0;
    (void)close(taker->handle);
    while (waitpid(taker->child, &status, 0) < 0) {
        if (errno != EINTR) {
            return mg_err_set(err, MG_TRANSIENT, "could not wait for the command: %s", strerror(errno));
        }
    }
    if (WIFSIGNALED(status)) {
        return mg_err_set(err, MG_PERMANENT, "the command was ended by signal %d", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0) {
        return mg_err_set(err, MG_PERMANENT, "the command ended with %d", WEXITSTATUS(status));
    }
    return MG_OK;
}

/* SIGTERM comes before the close of its input: the command would take the close for the end of the day. */
static void taker_give_up(void *arg)
{
    struct taker *taker = arg;
    struct mg_err unused; /* the caller has the reason */
    (void)kill(-taker->child, SIGTERM);
    if (taker->input >= 0) {
        (void)close(taker->input);
    }
    (void)taker_await(taker->handle, POLLIN, EXPORT_GRACE_MS);
    (void)kill(-taker->child, SIGKILL);
    (void)taker_collect(taker, &unused);
}

static enum mg_class taker_end(void *arg, struct mg_err *err)
{
    struct taker *taker = arg;
    (void)close(taker->input);
    taker->input = -1;
    if (taker_await(taker->handle, POLLIN, EXPORT_IDLE_MAX_MS)) {
        return taker_collect(taker, err);
    }
    taker_give_up(taker);
    return mg_err_set(err, MG_PERMANENT, "the command did not end within %d minutes and was ended",
                      EXPORT_IDLE_MAX_MS / 60000);
}

enum mg_exit_code mg_verb_db_retain(struct mg_cli *cli)
{
    struct mg_err err;
    bool is_exported = mg_option_is_given(cli->options.export_command);
    struct taker taker = {.command = is_exported ? strdup(cli->options.export_command) : NULL};
    const struct mg_day_export to = {
        .begin = taker_begin, .put = taker_put, .end = taker_end, .give_up = taker_give_up, .arg = &taker};
    if (is_exported && taker.command == NULL) {
        return mg_cli_fail(MG_EXIT_ERROR, "could not start: no memory");
    }
    enum mg_class class = mg_cli_check_dsn(cli, &err);
    if (class == MG_OK) {
        class = mg_store_retain(cli->options.pg_dsn, is_exported ? &to : NULL, MG_DETACH_WAIT_MS,
                                mg_cli_print_line, cli, &err);
    }
    free(taker.command);
    return class == MG_OK ? MG_EXIT_DONE : mg_cli_fail_err(&err);
}
