/* The event loop: order of callbacks, destruction from within them, and work on another thread. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "patience.h"
#include "suite.h"

#define PATIENCE_MS 5000

static struct mg_loop *loop;
static struct mg_timer *timer;
static struct mg_idle *idle;
static struct mg_watch *watch;
static int count, pair[2];
static char trace[32];

static void run(void)
{
    loop_run(loop, PATIENCE_MS, NULL);
}

static void set_up(void)
{
    count = 0;
    memset(trace, 0, sizeof(trace));
    loop = mg_loop_create();
    ck_assert_ptr_nonnull(loop);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

static void tear_down(void)
{
    mg_loop_destroy(loop);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void stop(void *arg)
{
    (void)arg;
    mg_loop_stop(loop);
}

static void note(char letter)
{
    trace[count++ % ((int)sizeof(trace) - 1)] = letter;
}

static void note_and_stop(void *arg)
{
    note(*(const char *)arg);
    mg_loop_stop(loop);
}

/* Catches: a timer that fires before its time because a long callback made the loop's own time old. */
START_TEST(a_timer_never_fires_early)
{
    timer = mg_timer_create(loop, stop, NULL);
    int64_t start = mg_clock_boot_ms();
    while (mg_clock_boot_ms() < start + 30) {
        ; /* the loop has not read the clock meanwhile */
    }
    start = mg_clock_boot_us();
    mg_timer_start(timer, 20, 0);
    ck_assert(mg_timer_is_active(timer));
    run();
    ck_assert_int_ge(mg_clock_boot_us() - start, 19000); /* libuv counts whole milliseconds */
    ck_assert(!mg_timer_is_active(timer));
    mg_timer_destroy(timer);
}
END_TEST

static void count_to_three(void *arg)
{
    (void)arg;
    if (++count == 3) {
        mg_timer_stop(timer);
        mg_loop_stop(loop);
    }
}

/* Catches: a repeating timer that fires once, or that cannot be stopped in its own callback. */
START_TEST(a_repeating_timer_goes_on_until_it_is_stopped)
{
    timer = mg_timer_create(loop, count_to_three, NULL);
    mg_timer_start(timer, 0, 1);
    run();
    ck_assert_int_eq(count, 3);
    ck_assert(!mg_timer_is_active(timer));
    mg_timer_destroy(timer);
    mg_timer_destroy(NULL);
}
END_TEST

static void restart_at_once(void *arg)
{
    (void)arg;
    count++;
    mg_timer_start(timer, 0, 0);
}

static void read_byte(void *arg, int events)
{
    char byte;
    (void)arg;
    ck_assert_int_eq(events, MG_READABLE);
    ck_assert_int_eq(read(pair[0], &byte, 1), 1);
    note(byte);
    mg_loop_stop(loop);
}

/* Catches: a timer set to 0 again and again that keeps sockets from being served at all. */
START_TEST(a_timer_that_restarts_itself_leaves_sockets_their_turn)
{
    timer = mg_timer_create(loop, restart_at_once, NULL);
    watch = mg_watch_create(loop, pair[0], read_byte, NULL);
    mg_watch_set(watch, MG_READABLE);
    mg_timer_start(timer, 0, 0);
    ck_assert_int_eq(write(pair[1], "r", 1), 1);
    run();
    mg_timer_destroy(timer);
    mg_watch_destroy(watch);
}
END_TEST

static void destroy_timer(void *arg)
{
    (void)arg;
    mg_timer_destroy(timer);
    mg_loop_stop(loop);
}

static void destroy_idle(void *arg)
{
    (void)arg;
    mg_idle_arm(idle);
    mg_idle_destroy(idle);
    mg_timer_start(timer, 1, 0);
}

static void destroy_watch(void *arg, int events)
{
    (void)arg;
    (void)events;
    count++;
    mg_watch_destroy(watch);
    mg_idle_arm(idle);
}

/* Catches: use of freed memory (the sanitizer sees it), and a callback of a destroyed object. */
START_TEST(objects_may_be_destroyed_in_their_own_callbacks)
{
    timer = mg_timer_create(loop, destroy_timer, NULL);
    idle = mg_idle_create(loop, destroy_idle, NULL);
    watch = mg_watch_create(loop, pair[0], destroy_watch, NULL);
    mg_watch_set(watch, MG_READABLE | MG_WRITABLE);
    ck_assert_int_eq(write(pair[1], "x", 1), 1);
    run();
    ck_assert_int_eq(count, 1);
}
END_TEST

static void note_readable(void *arg, int events)
{
    char byte;
    int fd = *(const int *)arg;
    (void)events;
    ck_assert_int_eq(read(fd, &byte, 1), 1);
    note(byte);
    mg_idle_arm(idle);
}

/* Catches: a batch that is closed while sockets with more for it are ready. */
START_TEST(an_idle_runs_after_all_sockets_that_are_ready)
{
    struct mg_watch *second;
    static char end = 'i';
    idle = mg_idle_create(loop, note_and_stop, &end);
    watch = mg_watch_create(loop, pair[0], note_readable, &pair[0]);
    second = mg_watch_create(loop, pair[1], note_readable, &pair[1]);
    mg_watch_set(watch, MG_READABLE);
    mg_watch_set(second, MG_READABLE);
    ck_assert_int_eq(write(pair[0], "w", 1), 1);
    ck_assert_int_eq(write(pair[1], "w", 1), 1);
    run();
    ck_assert_str_eq(trace, "wwi");
    mg_watch_destroy(watch);
    mg_watch_destroy(second);
    mg_idle_destroy(idle);
    mg_idle_destroy(NULL);
}
END_TEST

static void arm_again(void *arg)
{
    (void)arg;
    if (++count < 4) {
        mg_idle_arm(idle);
    } else {
        mg_loop_stop(loop);
    }
}

/* Catches: an idle that waits for a socket's or timer's event although it is armed, or that fires twice a
 * turn. */
START_TEST(an_idle_that_arms_itself_runs_in_the_next_turn)
{
    int64_t start = mg_clock_boot_ms();
    idle = mg_idle_create(loop, arm_again, NULL);
    mg_idle_arm(idle);
    mg_idle_arm(idle);
    run();
    ck_assert_int_eq(count, 4);
    ck_assert_int_lt(mg_clock_boot_ms() - start, PATIENCE_MS / 2);
    mg_idle_destroy(idle);
}
END_TEST

static void see_events(void *arg, int events)
{
    *(int *)arg = events;
    mg_watch_set(watch, 0);
    mg_loop_stop(loop);
}

/* Catches: a watch that does not report a lasting event again, or that reports an event outside its mask. */
START_TEST(a_watch_reports_its_events_and_reports_them_again)
{
    int events = 0;
    watch = mg_watch_create(loop, pair[0], see_events, &events);
    ck_assert_int_eq(write(pair[1], "x", 1), 1);
    mg_watch_set(watch, MG_WRITABLE);
    run();
    ck_assert_int_eq(events, MG_WRITABLE);
    for (int i = 0; i < 2; i++) { /* the pipe is not read */
        events = 0;
        mg_watch_set(watch, MG_READABLE);
        run();
        ck_assert_int_eq(events, MG_READABLE);
    }
    mg_watch_destroy(watch);
    mg_watch_destroy(NULL);
}
END_TEST

static void see_error_twice(void *arg, int events)
{
    (void)arg;
    ck_assert_int_eq(events, MG_READABLE | MG_WRITABLE);
    if (++count == 2) {
        mg_loop_stop(loop);
    }
}

/* Catches: an error that is reported once and then never again, so that a connection hangs for ever. A pipe
 * without a reader gives the error. */
START_TEST(an_error_on_a_descriptor_counts_as_both_and_stays)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    watch = mg_watch_create(loop, ends[1], see_error_twice, NULL);
    (void)close(ends[0]);
    mg_watch_set(watch, MG_WRITABLE);
    run();
    ck_assert_int_eq(count, 2);
    mg_watch_destroy(watch);
    (void)close(ends[1]);
}
END_TEST

/* Catches: a crash, or a silent watch, for a descriptor that cannot be watched. */
START_TEST(an_unwatchable_descriptor_gives_no_watch)
{
    ck_assert_ptr_null(mg_watch_create(loop, -1, read_byte, NULL));
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_null(mg_watch_create(loop, fileno(file), read_byte, NULL));
    (void)fclose(file);
}
END_TEST

struct offload {
    pthread_t worker, finisher;
    int order;
};

static void work(void *arg)
{
    struct offload *offload = arg;
    offload->worker = pthread_self();
    offload->order = offload->order * 10 + 1;
}

static void work_done(void *arg)
{
    struct offload *offload = arg;
    offload->finisher = pthread_self();
    offload->order = offload->order * 10 + 2;
    mg_loop_stop(loop);
}

/* Catches: blocking work that runs on the loop's thread after all, or a `done` on the worker's. */
START_TEST(work_runs_elsewhere_and_is_finished_on_the_loop)
{
    struct offload offload = {.order = 0};
    ck_assert(mg_loop_offload(loop, work, work_done, &offload));
    run();
    ck_assert_int_eq(offload.order, 12);
    ck_assert(!pthread_equal(offload.worker, pthread_self()));
    ck_assert(pthread_equal(offload.finisher, pthread_self()));
}
END_TEST

static void work_slowly(void *arg)
{
    char byte;
    (void)arg;
    ck_assert_int_eq(read(pair[0], &byte, 1), 1); /* until the test lets it go on */
}

static void free_work(void *arg)
{
    free(arg);
    count++;
}

static void *let_go(void *arg)
{
    (void)arg;
    return write(pair[1], "x", 1) == 1 ? arg : NULL;
}

/* Catches: a loop destroyed while a worker still uses it; memory of unfinished work that is never freed. */
START_TEST(destroying_the_loop_finishes_work_under_way)
{
    pthread_t thread;
    struct mg_loop *own = mg_loop_create();
    ck_assert_ptr_nonnull(own);
    ck_assert(mg_loop_offload(own, work_slowly, free_work, malloc(8)));
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
    mg_loop_destroy(own);
    ck_assert_int_eq(count, 1);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    mg_loop_destroy(NULL);
}
END_TEST

static const int STOP_SIGNALS[] = {SIGTERM, SIGINT, SIGHUP, SIGWINCH};

/* Catches: a signal that ends the process at once instead of calling the handler. */
START_TEST(a_signal_is_a_callback_on_the_loop)
{
    static char letter = 's';
    ck_assert(mg_loop_on_signal(loop, STOP_SIGNALS[_i], note_and_stop, &letter));
    ck_assert(!mg_loop_on_signal(loop, STOP_SIGNALS[_i], stop, NULL));
    ck_assert(!mg_loop_on_signal(loop, SIGUSR1, stop, NULL));
    ck_assert_int_eq(raise(STOP_SIGNALS[_i]), 0);
    run();
    ck_assert_str_eq(trace, "s");
}
END_TEST

/* Catches: a second SIGTERM that kills a process while it takes itself down. */
START_TEST(a_signal_after_the_loop_does_no_harm)
{
    struct mg_loop *own = mg_loop_create();
    ck_assert_ptr_nonnull(own);
    ck_assert(mg_loop_on_signal(own, STOP_SIGNALS[_i], stop, NULL));
    mg_loop_destroy(own);
    ck_assert_int_eq(kill(getpid(), STOP_SIGNALS[_i]), 0);
}
END_TEST

/* Catches: a process that dies because a peer went away while it was written to. */
START_TEST(a_broken_pipe_does_not_end_the_process)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    (void)close(ends[0]);
    ck_assert_int_eq(write(ends[1], "x", 1), -1);
    (void)close(ends[1]);
}
END_TEST

/* Catches: a stop that is forgotten because it came first (a signal during the start). */
START_TEST(a_stop_before_the_run_ends_it_at_once)
{
    mg_loop_stop(loop);
    mg_loop_run(loop);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loop");
    TCase *tests = tcase_create("loop");
    tcase_set_timeout(tests, 30); /* above PATIENCE_MS, also under valgrind */
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_timer_never_fires_early);
    tcase_add_test(tests, a_repeating_timer_goes_on_until_it_is_stopped);
    tcase_add_test(tests, a_timer_that_restarts_itself_leaves_sockets_their_turn);
    tcase_add_test(tests, objects_may_be_destroyed_in_their_own_callbacks);
    tcase_add_test(tests, an_idle_runs_after_all_sockets_that_are_ready);
    tcase_add_test(tests, an_idle_that_arms_itself_runs_in_the_next_turn);
    tcase_add_test(tests, a_watch_reports_its_events_and_reports_them_again);
    tcase_add_test(tests, an_error_on_a_descriptor_counts_as_both_and_stays);
    tcase_add_test(tests, an_unwatchable_descriptor_gives_no_watch);
    tcase_add_test(tests, work_runs_elsewhere_and_is_finished_on_the_loop);
    tcase_add_test(tests, destroying_the_loop_finishes_work_under_way);
    tcase_add_loop_test(tests, a_signal_is_a_callback_on_the_loop, 0,
                        sizeof(STOP_SIGNALS) / sizeof(STOP_SIGNALS[0]));
    tcase_add_loop_test(tests, a_signal_after_the_loop_does_no_harm, 0,
                        sizeof(STOP_SIGNALS) / sizeof(STOP_SIGNALS[0]));
    tcase_add_test(tests, a_broken_pipe_does_not_end_the_process);
    tcase_add_test(tests, a_stop_before_the_run_ends_it_at_once);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
