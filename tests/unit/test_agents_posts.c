/* The rules by which `makegood agents` starts, replaces and ends processes: real files, and processes that
 * the test plays. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/posts.h"
#include "base/clock.h"
#include "base/log.h"
#include "suite.h"

#define GOOD  "{\"service\": \"payment\", \"url\": \"http://127.0.0.1:1\"}"
#define OTHER "{\"service\": \"payment\", \"url\": \"http://127.0.0.1:22\"}"
#define HALF  "{\"service\": \"payment\", \"ur"

static char folder[] = "/tmp/makegood-posts-XXXXXX";
static struct mg_list folders;
static struct mg_agents_options options;
static struct mg_metrics *metrics;
static struct mg_posts *posts;
static int64_t now_ms;
static int empty_count;

/* ---- processes ---- */

#define FIRST_PID 1000000000 /* of no process: Linux has at most 4194304 */

static struct mg_child {
    int index;
} processes[64];
static struct mg_agents_child *started[64]; /* in the order of their starts; NULL: destroyed */
static int start_count;
static bool starts_fail;

int64_t __wrap_mg_clock_boot_ms(void);
enum mg_class __wrap_mg_agents_child_start(const struct mg_agents_child_setup *setup,
                                           struct mg_agents_child **ret_child, struct mg_err *err);
void __wrap_mg_child_signal(struct mg_child *process, int number);
void __wrap_mg_agents_child_destroy(struct mg_agents_child *child);

int64_t __wrap_mg_clock_boot_ms(void)
{
    return now_ms;
}

enum mg_class __wrap_mg_agents_child_start(const struct mg_agents_child_setup *setup,
                                           struct mg_agents_child **ret_child, struct mg_err *err)
{
    if (starts_fail) {
        return mg_err_set(err, MG_TRANSIENT, "no process");
    }
    struct mg_agents_child *child = calloc(1, sizeof(*child));
    ck_assert_ptr_nonnull(child);
    (void)snprintf(child->name, sizeof(child->name), "%s", setup->name);
    child->on_end = setup->on_end;
    child->arg = setup->arg;
    processes[start_count].index = start_count;
    child->process = &processes[start_count];
    child->pid = FIRST_PID + start_count;
    child->begun_ms = child->alive_ms = now_ms;
    started[start_count++] = child;
    *ret_child = child;
    return MG_OK;
}

static int signals[64]; /* the last one to each process */

void __wrap_mg_child_signal(struct mg_child *process, int number)
{
    signals[process->index] = number;
}

void __wrap_mg_agents_child_destroy(struct mg_agents_child *child)
{
    if (child != NULL) {
        started[child->pid - FIRST_PID] = NULL;
        free(child);
    }
}

static void report(int index, const char *text)
{
    mg_posts_take(posts, FIRST_PID + index, text, strlen(text));
}

static void ready(int index)
{
    report(index, "READY=1");
    report(index, "STATUS=ready");
}

static void end(int index, int exit_code)
{
    started[index]->on_end(started[index], exit_code);
}

/* ---- files ---- */

static void path_of(const char *name, char ret_path[128])
{
    (void)snprintf(ret_path, 128, "%s/%s", folder, name);
}

static void file_write(const char *text)
{
    char path[128];
    path_of("payment.json", path);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void file_remove(void)
{
    char path[128];
    path_of("payment.json", path);
    ck_assert_int_eq(unlink(path), 0);
}

static void looks(int count)
{
    for (int i = 0; i < count; i++) {
        now_ms += 1000;
        mg_posts_look(posts);
    }
}

static void on_empty(void *arg)
{
    (void)arg;
    empty_count++;
}

static void set_up(void)
{
    memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    folders = (struct mg_list){.items = {folder}, .count = 1};
    options = (struct mg_agents_options){.folders = &folders, .agent_config = "", .drain_timeout_ms = 30000};
    metrics = mg_metrics_create();
    now_ms = 1000000;
    start_count = empty_count = 0;
    starts_fail = false;
    memset(started, 0, sizeof(started));
    memset(signals, 0, sizeof(signals));
    const struct mg_posts_setup setup = {.metrics = metrics, .options = &options, .on_empty = on_empty};
    posts = mg_posts_create(&setup);
    ck_assert_ptr_nonnull(posts);
    mg_log_open("test", "", MG_LOG_ERROR);
}

static void tear_down(void)
{
    char path[128];
    mg_posts_destroy(posts);
    mg_metrics_destroy(metrics);
    path_of("payment.json", path);
    (void)unlink(path);
    (void)rmdir(folder);
}

static bool is_ready(const char *part)
{
    char reason[512];
    bool are_ready = mg_posts_are_ready(posts, reason, sizeof(reason));
    ck_assert_msg(strstr(reason, part) != NULL, "%s", reason);
    return are_ready;
}

static void serve(void)
{
    file_write(GOOD);
    looks(1);
    ck_assert_int_eq(start_count, 1);
    ready(0);
    ck_assert(is_ready(""));
}

/* ---- tests ---- */

/* Catches: a file read while it is written. */
START_TEST(a_file_counts_once_it_is_the_same_at_two_looks)
{
    serve();
    file_write(OTHER);
    looks(1);
    ck_assert_int_eq(start_count, 1);
    file_write(OTHER " ");
    looks(1);
    ck_assert_int_eq(start_count, 1);
    looks(1);
    ck_assert_int_eq(start_count, 2);
    looks(3);
    ck_assert_int_eq(start_count, 2);
}
END_TEST

/* Catches: an old process that drains before the new one serves; one that stays alongside it; two that wait
 * for each other. */
START_TEST(a_new_process_takes_over_once_it_is_ready)
{
    serve();
    file_write(OTHER);
    looks(2);
    report(1, "READY=1");
    report(1, "STATUS=not ready: no broker");
    looks(5);
    ck_assert_int_eq(signals[0], 0);
    report(1, "STATUS=ready");
    ck_assert_int_eq(signals[0], SIGTERM);
    end(0, 0);
    ck_assert_int_eq(start_count, 2);
    file_write(GOOD);
    looks(2);
    report(1, "STATUS=not ready: no broker");
    report(2, "READY=1");
    ck_assert_int_eq(signals[1], SIGTERM); /* neither is ready: nothing is gained by the old one */
}
END_TEST

/* Catches: a process ended or started by half of a file; a mistake that readiness does not name; a repaired
 * file not taken. */
START_TEST(a_file_with_a_mistake_changes_nothing)
{
    serve();
    file_write(HALF);
    looks(4);
    ck_assert_int_eq(start_count, 1);
    ck_assert_int_eq(signals[0], 0);
    ck_assert(is_ready("payment.json: line 1, column"));
    file_write(OTHER);
    looks(2);
    ck_assert_int_eq(start_count, 2);
    ck_assert(is_ready(""));
}
END_TEST

/* Catches: a process that ends while an editor replaces its file; one that goes on without its file; an
 * unreadable folder taken for an empty one. */
START_TEST(a_file_that_is_gone_at_two_looks_drains_its_process)
{
    serve();
    file_remove();
    looks(1);
    ck_assert_int_eq(signals[0], 0);
    file_write(GOOD);
    looks(1);
    ck_assert_int_eq(signals[0], 0);
    folders.items[0] = "/tmp/makegood-posts-that-are-not-there";
    looks(5);
    ck_assert_int_eq(signals[0], 0);
    ck_assert(is_ready("unreadable"));
    folders.items[0] = folder;
    file_remove();
    looks(2);
    ck_assert_int_eq(signals[0], SIGTERM);
    end(0, 0);
    ck_assert(is_ready("no service file"));
}
END_TEST

/* Catches: a dead process that stays dead; one that is started without a pause again and again. */
START_TEST(a_process_that_dies_comes_again_later_and_later)
{
    serve();
    now_ms += 20000;
    end(0, -SIGKILL);
    ck_assert_int_eq(start_count, 2);
    int64_t last_ms = 0;
    for (int i = 1; i < 9; i++) {
        int64_t died_ms = now_ms;
        end(i, 1);
        ck_assert_int_eq(start_count, i + 1);
        while (start_count == i + 1) {
            looks(1);
        }
        ck_assert_int_ge(now_ms - died_ms, last_ms);
        last_ms = now_ms - died_ms;
    }
    ck_assert_int_ge(last_ms, 30000);
    ck_assert_int_le(last_ms, 31000);
    starts_fail = true;
    end(9, 1);
    looks(120);
    starts_fail = false;
    looks(31);
    ck_assert_int_eq(start_count, 11);
}
END_TEST

/* Catches: a new file given up, or the old process, when the new process refuses another file. */
START_TEST(a_refusing_process_is_tried_again_and_the_old_one_goes_on)
{
    serve();
    file_write(OTHER);
    looks(2);
    end(1, 2);
    ck_assert_int_eq(signals[0], 0);
    ck_assert(is_ready("has refused"));
    looks(59);
    ck_assert_int_eq(start_count, 2);
    looks(1);
    ck_assert_int_eq(start_count, 3);
    end(2, 2);
    mg_posts_reload(posts);
    looks(1);
    ck_assert_int_eq(start_count, 4);
    ready(3);
    ck_assert_int_eq(signals[0], SIGTERM);
    ck_assert(is_ready(""));
}
END_TEST

/* Catches: a process that stalls, or that does not drain, and stays. */
START_TEST(a_silent_process_is_killed)
{
    serve();
    for (int i = 0; i < 10; i++) {
        looks(10);
        report(0, "WATCHDOG=1");
    }
    ck_assert_int_eq(signals[0], 0);
    looks(31);
    ck_assert_int_eq(signals[0], SIGKILL);
    end(0, -SIGKILL);
    ready(1);
    file_remove();
    looks(2);
    ck_assert_int_eq(signals[1], SIGTERM);
    looks(49);
    ck_assert_int_eq(signals[1], SIGTERM);
    looks(2);
    ck_assert_int_eq(signals[1], SIGKILL);
}
END_TEST

/* Catches: an end before the last process has ended; a start while all drain. */
START_TEST(the_end_waits_for_all_processes)
{
    serve();
    file_write(OTHER);
    looks(2);
    mg_posts_drain(posts);
    ck_assert_int_eq(signals[0], SIGTERM);
    ck_assert_int_eq(signals[1], SIGTERM);
    end(1, 0);
    looks(3);
    ck_assert_int_eq(start_count, 2);
    ck_assert_int_eq(empty_count, 0);
    end(0, 0);
    ck_assert_int_eq(empty_count, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agents_posts");
    TCase *rules = tcase_create("rules");
    tcase_add_checked_fixture(rules, set_up, tear_down);
    tcase_add_test(rules, a_file_counts_once_it_is_the_same_at_two_looks);
    tcase_add_test(rules, a_new_process_takes_over_once_it_is_ready);
    tcase_add_test(rules, a_file_with_a_mistake_changes_nothing);
    tcase_add_test(rules, a_file_that_is_gone_at_two_looks_drains_its_process);
    tcase_add_test(rules, a_process_that_dies_comes_again_later_and_later);
    tcase_add_test(rules, a_refusing_process_is_tried_again_and_the_old_one_goes_on);
    tcase_add_test(rules, a_silent_process_is_killed);
    tcase_add_test(rules, the_end_waits_for_all_processes);
    suite_add_tcase(suite, rules);
    return run_suite(suite);
}
