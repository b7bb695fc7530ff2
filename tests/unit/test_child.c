/* Processes started from the event loop: their starts, ends and notifications. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop_child.h"
#include "base/notify_socket.h"
#include "patience.h"
#include "suite.h"

#define PATIENCE_MS 20000

static struct mg_loop *loop;
static struct mg_child *child;
static struct mg_err err;
static int code, signal_number, ends[2];

static void run(void)
{
    loop_run(loop, PATIENCE_MS, NULL);
}

static void set_up(void)
{
    loop = mg_loop_create();
    ck_assert_ptr_nonnull(loop);
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    child = NULL;
}

static void tear_down(void)
{
    mg_child_destroy(child);
    (void)close(ends[0]);
    (void)close(ends[1]);
    mg_loop_destroy(loop);
}

static void on_ended(void *arg, int exit_code, int number)
{
    (void)arg;
    code = exit_code;
    signal_number = number;
    mg_loop_stop(loop);
}

/* `sh -c TEXT`, with its output on the pipe. */
static void shell(char *text, int death_signal)
{
    char name[] = "sh", option[] = "-c", mark[] = "MARK=right";
    char *argv[] = {name, option, text, NULL}, *env[] = {mark, NULL};
    const struct mg_child_plan plan = {
        .argv = argv, .env = env, .output_fd = ends[1], .error_fd = ends[1], .death_signal = death_signal};
    ck_assert_int_eq(mg_child_spawn(loop, &plan, on_ended, NULL, &child, &err), MG_OK);
}

static void output_check(const char *text)
{
    char got[256];
    ssize_t len = read(ends[0], got, sizeof(got) - 1);
    ck_assert_int_ge(len, 0);
    got[len] = '\0';
    ck_assert_str_eq(got, text);
}

/* Catches: an end that is not reported, a mixed-up code; a foreign environment, a standard input or a
 * terminal that is inherited; signals that stay blocked or ignored, as a loop's are. */
START_TEST(a_process_starts_clean_and_its_end_is_reported)
{
    char text[] = "test $MARK = right || echo environment\n"
                  "read -r line && echo input\n"
                  "set -- $(cat /proc/$$/stat)\n"
                  "test $6 = $$ || echo session\n"
                  "grep -E 'Sig(Blk|Ign):.*[1-9a-f]' /proc/self/status\n"
                  "exit 7";
    char wait[] = "kill -KILL $$";
    int input[2];
    sigset_t blocked;
    ck_assert_int_eq(pipe2(input, O_CLOEXEC), 0);
    ck_assert_int_eq(write(input[1], "line\n", 5), 5);
    ck_assert_int_eq(dup2(input[0], STDIN_FILENO), STDIN_FILENO);
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR1);
    ck_assert_int_eq(sigprocmask(SIG_BLOCK, &blocked, NULL), 0);
    ck_assert_ptr_ne(signal(SIGCHLD, SIG_IGN), SIG_ERR);
    shell(text, 0);
    run();
    ck_assert_int_eq(code, 7);
    ck_assert_int_eq(signal_number, 0);
    ck_assert_int_eq(mg_child_pid(child), 0); /* the number may be another's by now */
    mg_child_destroy(child);
    shell(wait, 0);
    run();
    ck_assert_int_eq(signal_number, SIGKILL);
    (void)close(ends[1]);
    output_check("");
}
END_TEST

/* A process of the number that has ended may wait for its parent. */
static bool is_alive(const char *number)
{
    char path[64], stat[256] = "";
    (void)snprintf(path, sizeof(path), "/proc/%.*s/stat", (int)strcspn(number, "\n"), number);
    FILE *file = fopen(path, "re");
    size_t len = file != NULL ? fread(stat, 1, sizeof(stat) - 1, file) : 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    const char *name_end = len > 0 ? strrchr(stat, ')') : NULL;
    return name_end != NULL && name_end[2] != 'Z' && name_end[2] != 'X';
}

/* Catches: a process of a program that ends by itself and then goes on for hours. */
START_TEST(the_group_of_a_process_ends_with_it)
{
    char text[] = "trap '' TERM; sleep 600 & echo $!; exit 3";
    char number[32] = "";
    shell(text, 0);
    ck_assert_int_gt(read(ends[0], number, sizeof(number) - 1), 0);
    run();
    ck_assert_int_eq(code, 3);
    for (int left = PATIENCE_MS / 4; is_alive(number) && left > 0; left -= 10) {
        (void)poll(NULL, 0, 10);
    }
    ck_assert_msg(!is_alive(number), "process %s", number);
}
END_TEST

/* Catches: a program that is not there, and looks like a process that has ended. */
START_TEST(a_program_that_cannot_run_is_refused_with_the_reason)
{
    char name[] = "/nonexistent/program";
    char *argv[] = {name, NULL}, *env[] = {NULL};
    const struct mg_child_plan plan = {.argv = argv, .env = env, .output_fd = -1, .error_fd = -1};
    ck_assert_int_eq(mg_child_spawn(loop, &plan, on_ended, NULL, &child, &err), MG_PERMANENT);
    ck_assert_str_eq(err.text, "could not start /nonexistent/program: No such file or directory");
    ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
    ck_assert_int_eq(errno, ECHILD);
}
END_TEST

/* Catches: a process that outlives a parent that was killed. */
START_TEST(the_kernel_ends_it_with_this_process)
{
    char text[] = "trap 'echo asked; exit' TERM; echo ready; while :; do read -r line < /dev/null; done";
    int pids[2];
    pid_t number = 0;
    ck_assert_int_eq(pipe2(pids, O_CLOEXEC), 0);
    pid_t middle = fork();
    if (middle == 0) {
        loop = mg_loop_create();
        shell(text, SIGTERM);
        number = mg_child_pid(child);
        output_check("ready\n");
        (void)!write(pids[1], &number, sizeof(number));
        (void)raise(SIGKILL);
    }
    ck_assert_int_eq(read(pids[0], &number, sizeof(number)), sizeof(number));
    struct pollfd process = {.fd = pidfd_open(number, 0), .events = POLLIN};
    ck_assert_int_eq(waitpid(middle, NULL, 0), middle);
    if (process.fd >= 0) { /* else it is gone already */
        ck_assert_int_eq(poll(&process, 1, PATIENCE_MS), 1);
        (void)close(process.fd);
    }
    output_check("asked\n");
    (void)close(pids[0]);
    (void)close(pids[1]);
}
END_TEST

/* ---- notifications ---- */

static struct mg_notified notified;
static pid_t sender;

/* Catches: a line that is not read, an invalid port, a status that ends a buffer or holds a line end. */
START_TEST(each_line_of_a_notification_counts)
{
    static const char FIRST[] =
        "READY=1\nSTATUS=not ready: no broker\tyet\nX_MAKEGOOD_HTTP_PORT=4711\nWATCHDOG=1";
    char text[1024] = "STATUS=ready: ";
    memset(&notified, 0, sizeof(notified));
    mg_notified_take(&notified, FIRST, strlen(FIRST));
    ck_assert(notified.has_started);
    ck_assert_str_eq(notified.status, "not ready: no broker yet");
    ck_assert(!mg_notified_is_ready(&notified));
    ck_assert_int_eq(notified.port, 4711);
    memset(text + strlen(text), 'x', 900);
    mg_notified_take(&notified, text, 900);
    ck_assert_int_eq(strlen(notified.status), sizeof(notified.status) - 1);
    ck_assert(mg_notified_is_ready(&notified));
    mg_notified_take(&notified, "X_MAKEGOOD_HTTP_PORT=65536", 26);
    ck_assert_int_eq(notified.port, 0);
}
END_TEST

static void on_notified(void *arg, pid_t from, const char *text, size_t len)
{
    (void)arg;
    sender = from;
    mg_notified_take(&notified, text, len);
    mg_loop_stop(loop);
}

static void notify(const char *address, const char *text)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s", address + 1);
    int from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(from, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    ck_assert_int_eq(sendto(from, text, strlen(text), 0, (struct sockaddr *)&name, size),
                     (ssize_t)strlen(text));
    (void)close(from);
}

/* Catches: a process that reports for another one. */
START_TEST(a_notification_has_its_sender)
{
    struct mg_notify_socket *socket = NULL;
    memset(&notified, 0, sizeof(notified));
    ck_assert_int_eq(mg_notify_socket_create(loop, on_notified, NULL, &socket, &err), MG_OK);
    pid_t other = fork();
    if (other == 0) {
        notify(mg_notify_socket_address(socket), "STATUS=ready");
        _exit(0);
    }
    run();
    ck_assert_int_eq(sender, other);
    ck_assert(mg_notified_is_ready(&notified));
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    notify(mg_notify_socket_address(socket), "READY=1");
    run();
    ck_assert_int_eq(sender, getpid());
    mg_notify_socket_destroy(socket);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("child");
    TCase *tests = tcase_create("child");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_process_starts_clean_and_its_end_is_reported);
    tcase_add_test(tests, the_group_of_a_process_ends_with_it);
    tcase_add_test(tests, a_program_that_cannot_run_is_refused_with_the_reason);
    tcase_add_test(tests, the_kernel_ends_it_with_this_process);
    tcase_add_test(tests, each_line_of_a_notification_counts);
    tcase_add_test(tests, a_notification_has_its_sender);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
