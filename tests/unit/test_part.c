/* The processes of `makegood dev`: their reports and their end. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "dev/part.h"
#include "patience.h"
#include "suite.h"

#define PATIENCE_MS 30000

static struct mg_loop *loop;
static struct mg_parts *parts;
static struct mg_part *part;
static struct mg_err err;
static struct mg_buf lines;
static bool is_for_lines; /* the loop stops at each line, else at each change */
static char folder[] = "/tmp/test_part_XXXXXX";

static void on_report(void *arg, const char *line)
{
    (void)arg;
    mg_buf_printf(&lines, "%s\n", line);
    if (is_for_lines) {
        mg_loop_stop(loop);
    }
}

static void on_changed(void *arg)
{
    (void)arg;
    if (!is_for_lines) {
        mg_loop_stop(loop);
    }
}

static const char *lines_so_far(void)
{
    return lines.data != NULL ? lines.data : "";
}

static void run(void)
{
    loop_run(loop, PATIENCE_MS, lines_so_far);
}

static void line_await(const char *line)
{
    is_for_lines = true;
    while (strstr(lines_so_far(), line) == NULL) {
        run();
    }
    is_for_lines = false;
}

static void set_up(void)
{
    const struct mg_parts_options options = {
        .logs = folder, .unready_max_ms = 1, .report = on_report, .changed = on_changed};
    struct mg_parts_options made = options;
    loop = mg_loop_create();
    ck_assert_ptr_nonnull(loop);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    mg_buf_init(&lines, 65536);
    made.loop = loop;
    ck_assert_int_eq(mg_parts_create(&made, &parts, &err), MG_OK);
}

static void tear_down(void)
{
    char path[64];
    mg_parts_destroy(parts);
    mg_buf_finish(&lines);
    mg_loop_destroy(loop);
    (void)snprintf(path, sizeof(path), "%s/it.log", folder);
    (void)unlink(path);
    (void)rmdir(folder);
}

/* A Python program that notifies and writes its number to its log. */
static void start(const char *text)
{
    static const char HEAD[] = "import os, resource, signal, socket\n"
                               "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
                               "out = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
                               "out.connect('\\0' + os.environ['NOTIFY_SOCKET'][1:])\n"
                               "def notify(text): out.send(b'STATUS=' + text.encode())\n"
                               "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
                               "print(os.getpid(), flush=True)\n";
    part = mg_part_add(parts, "it", MG_PART_SERVER, SIGINT);
    ck_assert_ptr_nonnull(part);
    mg_child_word(mg_part_words(part), "/usr/bin/python3");
    mg_child_word(mg_part_words(part), "-c");
    mg_child_word(mg_part_words(part), "%s%s", HEAD, text);
    ck_assert_int_eq(mg_part_start(part, MG_PART_NOTIFIES, &err), MG_OK);
}

static void ready_await(void)
{
    while (!mg_part_is_ready(part)) {
        run();
    }
}

static pid_t number(void)
{
    char path[64], line[32];
    (void)snprintf(path, sizeof(path), "%s/it.log", folder);
    FILE *log = fopen(path, "r");
    ck_assert_ptr_nonnull(log);
    ck_assert_ptr_nonnull(fgets(line, sizeof(line), log));
    (void)fclose(log);
    pid_t pid = (pid_t)strtol(line, NULL, 10);
    ck_assert_int_gt(pid, 1);
    return pid;
}

static void end_await(void)
{
    while (mg_parts_run(parts, MG_PART_SERVER)) {
        run();
    }
}

/* Catches: a part that does not work while its process lives, without a line; a line at each notification. */
START_TEST(a_part_that_is_no_longer_ready_is_reported_once)
{
    start("for text in ('not ready: it starts', 'ready', 'not ready: no broker', 'not ready: none yet'):\n"
          "    notify(text)\n"
          "signal.sigwaitinfo([signal.SIGUSR1])\n"
          "notify('ready')\n"
          "signal.sigwaitinfo([signal.SIGUSR1])\n");
    line_await("it is not ready: no");
    ck_assert_int_eq(kill(number(), SIGUSR1), 0);
    line_await("it is ready again");
    mg_parts_kill(parts, MG_PART_SERVER);
    end_await();
    ck_assert_ptr_eq(strstr(lines.data, "not ready"), strstr(lines.data, "not ready: no"));
    ck_assert_ptr_null(strstr(strstr(lines.data, "not ready") + 1, "not ready"));
}
END_TEST

/* Catches: a part that does not work and is left alone. */
START_TEST(a_part_that_does_not_work_is_started_again)
{
    start("notify('ready')\nsignal.sigwaitinfo([signal.SIGUSR1])\n");
    ready_await();
    mg_part_replace(part, "it takes no order");
    line_await("it does not work: it takes no order\nit was ended by signal 9 (Killed); it is started again");
    ready_await();
    mg_parts_kill(parts, MG_PART_SERVER);
    end_await();
}
END_TEST

/* Catches: a stopped process that keeps its signals for later, and outlives the whole. */
START_TEST(a_stopped_part_ends_when_it_is_asked)
{
    start("notify('ready')\nsignal.sigwaitinfo([signal.SIGUSR1])\n");
    ready_await();
    ck_assert_int_eq(kill(number(), SIGSTOP), 0);
    mg_parts_ask_end(parts, MG_PART_SERVER);
    end_await();
}
END_TEST

static const char DEAF[] = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
                           "notify('ready')\nsignal.sigwaitinfo([signal.SIGUSR1])\n";

START_TEST(a_stopped_postgresql_quits)
{
    start(DEAF);
    ready_await();
    ck_assert_int_eq(kill(number(), SIGSTOP), 0);
    mg_parts_kill(parts, MG_PART_SERVER);
    end_await();
}
END_TEST

/* Catches: a server that takes no signal, and outlives the whole. */
START_TEST(a_postgresql_that_does_not_quit_is_killed)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "signal.signal(signal.SIGQUIT, signal.SIG_IGN)\n%s", DEAF);
    start(text);
    ready_await();
    mg_parts_kill(parts, MG_PART_SERVER);
    mg_parts_kill(parts, MG_PART_SERVER);
    end_await();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("part");
    TCase *tests = tcase_create("part");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_part_that_is_no_longer_ready_is_reported_once);
    tcase_add_test(tests, a_part_that_does_not_work_is_started_again);
    tcase_add_test(tests, a_stopped_part_ends_when_it_is_asked);
    tcase_add_test(tests, a_stopped_postgresql_quits);
    tcase_add_test(tests, a_postgresql_that_does_not_quit_is_killed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
