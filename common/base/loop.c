/*
 * The event loop on libuv; no type of libuv leaves the files loop*.c. Every object is one allocation that
 * contains its handle. Destroying the object closes the handle; libuv reports the close at the end of the
 * loop's turn, and then the memory is freed. So an object may be destroyed within any callback, its own too:
 * the running callback still has valid memory, and no other callback of that object runs afterwards.
 */
#include "base/loop_uv.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Threads for blocking work: four AMQP handshakes and a database's name resolution may hang at once, and must
 * leave room for others. libuv's default is 4. */
#define OFFLOAD_THREADS "8"

/* The signals of mg_loop_on_signal; SIGWINCH reports another terminal size. */
static const int SIGNALS[] = {SIGTERM, SIGINT, SIGHUP, SIGWINCH};
#define SIGNAL_COUNT (sizeof(SIGNALS) / sizeof(SIGNALS[0]))

struct signal_handler {
    mg_loop_fn *fn;
    void *arg;
};

struct mg_loop {
    uv_loop_t uv;
    uv_async_t alive;  /* never fires; keeps mg_loop_run running while nothing is watched */
    uv_idle_t spinner; /* runs while an mg_idle is armed, so that poll does not wait */
    int armed_count;
    bool is_running;
    struct signal_handler signals[SIGNAL_COUNT];
    int signal_fd; /* -1: no signal is handled */
    struct mg_watch *signal_watch;
};

struct mg_timer {
    uv_timer_t handle;
    mg_loop_fn *fn;
    void *arg;
};

struct mg_idle {
    uv_check_t handle;
    struct mg_loop *loop;
    mg_loop_fn *fn;
    void *arg;
    bool is_armed;
};

struct mg_watch {
    uv_poll_t handle;
    mg_watch_fn *fn;
    void *arg;
    int events;
};

struct work {
    uv_work_t request;
    mg_loop_fn *work, *done;
    void *arg;
};

/* The `data` of a handle is the memory to free after the close; NULL for the loop's own handles. */
static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void mg_loop_close(uv_handle_t *handle)
{
    if (!uv_is_closing(handle)) {
        uv_close(handle, on_closed);
    }
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    mg_loop_close(handle);
}

uv_loop_t *mg_loop_uv(struct mg_loop *loop)
{
    return &loop->uv;
}

static void on_alive(uv_async_t *handle)
{
    (void)handle;
}

static void on_spin(uv_idle_t *handle)
{
    (void)handle;
}

struct mg_loop *mg_loop_create(void)
{
    /* A closed peer is an error of write(2), reported at that call; it must not end the process. */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL); /* fails only for a wrong signal number */
    /* libuv reads this once, at the first piece of work. A value in the environment takes precedence. */
    (void)setenv("UV_THREADPOOL_SIZE", OFFLOAD_THREADS, 0);
    return mg_loop_create_as_guest();
}

struct mg_loop *mg_loop_create_as_guest(void)
{
    struct mg_loop *loop = calloc(1, sizeof(*loop));
    if (!loop) {
        return NULL;
    }
    if (uv_loop_init(&loop->uv) != 0) {
        goto no_loop;
    }
    loop->uv.data = loop;
    loop->signal_fd = -1;
    if (uv_async_init(&loop->uv, &loop->alive, on_alive) != 0) {
        goto no_async;
    }
    (void)uv_idle_init(&loop->uv, &loop->spinner); /* always 0 */
    return loop;

no_async:
    (void)uv_loop_close(&loop->uv); /* no handles exist yet */
no_loop:
    free(loop);
    return NULL;
}

void mg_loop_destroy(struct mg_loop *loop)
{
    if (!loop) {
        return;
    }
    assert(!loop->is_running);
    mg_watch_destroy(loop->signal_watch);
    /* Waits for work under way and calls its `done`, which frees its memory. Then closes all other handles;
     * again after each turn, because a `done` may have opened one. */
    do {
        uv_walk(&loop->uv, close_handle, NULL);
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    } while (uv_loop_close(&loop->uv) == UV_EBUSY);
    if (loop->signal_fd >= 0) {
        (void)close(loop->signal_fd);
    }
    free(loop);
}

void mg_loop_run(struct mg_loop *loop)
{
    assert(!loop->is_running);
    loop->is_running = true;
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* `alive` is open, so only mg_loop_stop ends it */
    loop->is_running = false;
}

void mg_loop_stop(struct mg_loop *loop)
{
    uv_stop(&loop->uv);
}

static void on_timer(uv_timer_t *handle)
{
    struct mg_timer *timer = handle->data;
    timer->fn(timer->arg);
}

struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    struct mg_timer *timer = calloc(1, sizeof(*timer));
    if (!timer) {
        return NULL;
    }
    timer->fn = fn;
    timer->arg = arg;
    (void)uv_timer_init(&loop->uv, &timer->handle); /* always 0 */
    timer->handle.data = timer;
    return timer;
}

void mg_timer_destroy(struct mg_timer *timer)
{
    if (timer) {
        mg_loop_close((uv_handle_t *)&timer->handle);
    }
}

void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    /* At least 1 ms: libuv runs due timers until none is left, so a timer that sets itself to 0 would starve
     * the sockets. */
    uint64_t after = after_ms > 0 ? (uint64_t)after_ms : 1;
    uint64_t repeat = repeat_ms > 0 ? (uint64_t)repeat_ms : 0;

    /* libuv counts from the start of this turn; after a long callback the timer would be early. */
    uv_update_time(timer->handle.loop);
    (void)uv_timer_start(&timer->handle, on_timer, after, repeat); /* fails only when closing */
}

void mg_timer_stop(struct mg_timer *timer)
{
    (void)uv_timer_stop(&timer->handle); /* always 0 */
}

bool mg_timer_is_active(const struct mg_timer *timer)
{
    return uv_is_active((const uv_handle_t *)&timer->handle) != 0;
}

static void disarm(struct mg_idle *idle)
{
    if (!idle->is_armed) {
        return;
    }
    idle->is_armed = false;
    (void)uv_check_stop(&idle->handle); /* always 0 */
    if (--idle->loop->armed_count == 0) {
        (void)uv_idle_stop(&idle->loop->spinner); /* always 0 */
    }
}

/* A check runs after poll, when every ready socket has been served. It is disarmed first, so `fn` may arm it
 * again for the next turn. */
static void on_check(uv_check_t *handle)
{
    struct mg_idle *idle = handle->data;
    disarm(idle);
    idle->fn(idle->arg);
}

struct mg_idle *mg_idle_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    struct mg_idle *idle = calloc(1, sizeof(*idle));
    if (!idle) {
        return NULL;
    }
    idle->loop = loop;
    idle->fn = fn;
    idle->arg = arg;
    (void)uv_check_init(&loop->uv, &idle->handle); /* always 0 */
    idle->handle.data = idle;
    return idle;
}

void mg_idle_destroy(struct mg_idle *idle)
{
    if (!idle) {
        return;
    }
    disarm(idle);
    mg_loop_close((uv_handle_t *)&idle->handle);
}

void mg_idle_arm(struct mg_idle *idle)
{
    if (idle->is_armed) {
        return;
    }
    idle->is_armed = true;
    if (idle->loop->armed_count++ == 0) {
        (void)uv_idle_start(&idle->loop->spinner, on_spin); /* fails only without a callback */
    }
    (void)uv_check_start(&idle->handle, on_check); /* likewise */
}

static int to_uv_events(int events)
{
    return (events & MG_READABLE ? UV_READABLE : 0) | (events & MG_WRITABLE ? UV_WRITABLE : 0);
}

static void on_poll(uv_poll_t *handle, int status, int uv_events);

static void apply_events(struct mg_watch *watch)
{
    int rc = watch->events ? uv_poll_start(&watch->handle, to_uv_events(watch->events), on_poll)
                           : uv_poll_stop(&watch->handle);
    /* Fails only if the descriptor was closed and is watched again through another handle: a violation of
     * loop.h. */
    assert(rc == 0);
    (void)rc;
}

static void on_poll(uv_poll_t *handle, int status, int uv_events)
{
    struct mg_watch *watch = handle->data;
    int events = MG_READABLE | MG_WRITABLE;

    if (status == 0) {
        events = (uv_events & UV_READABLE ? MG_READABLE : 0) | (uv_events & UV_WRITABLE ? MG_WRITABLE : 0);
    } else {
        apply_events(watch); /* libuv stops watching at an error; level-triggered watching reports it again */
    }
    if (events) {
        watch->fn(watch->arg, events);
    }
}

struct mg_watch *mg_watch_create(struct mg_loop *loop, int fd, mg_watch_fn *fn, void *arg)
{
    struct mg_watch *watch = calloc(1, sizeof(*watch));
    if (!watch) {
        return NULL;
    }
    watch->fn = fn;
    watch->arg = arg;
    if (uv_poll_init(&loop->uv, &watch->handle, fd) != 0) { /* not a descriptor that can be polled */
        free(watch);
        return NULL;
    }
    watch->handle.data = watch;
    return watch;
}

void mg_watch_destroy(struct mg_watch *watch)
{
    if (watch) {
        mg_loop_close((uv_handle_t *)&watch->handle);
    }
}

void mg_watch_set(struct mg_watch *watch, int events)
{
    assert((events & ~(MG_READABLE | MG_WRITABLE)) == 0);
    if (events == watch->events) {
        return; /* libuv would spend two system calls to change nothing */
    }
    watch->events = events;
    apply_events(watch);
}

static void on_work(uv_work_t *request)
{
    struct work *work = request->data;
    work->work(work->arg);
}

static void on_work_done(uv_work_t *request, int status)
{
    struct work *work = request->data;
    mg_loop_fn *done = work->done;
    void *arg = work->arg;

    (void)status; /* never cancelled: the request is private to this file */
    free(work);
    done(arg);
}

bool mg_loop_offload(struct mg_loop *loop, mg_loop_fn *work_fn, mg_loop_fn *done, void *arg)
{
    struct work *work = calloc(1, sizeof(*work));
    if (!work) {
        return false;
    }
    work->work = work_fn;
    work->done = done;
    work->arg = arg;
    work->request.data = work;
    if (uv_queue_work(&loop->uv, &work->request, on_work, on_work_done) != 0) {
        free(work);
        return false;
    }
    return true;
}

static void on_signal(void *arg, int events)
{
    struct mg_loop *loop = arg;
    struct signalfd_siginfo info;

    (void)events;
    if (read(loop->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) {
        return;
    }
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if ((uint32_t)SIGNALS[i] == info.ssi_signo) {
            loop->signals[i].fn(loop->signals[i].arg);
        }
    }
}

/* By a descriptor and not by a handler: a blocked signal cannot end the process, before the loop runs or
 * after it. */
bool mg_loop_on_signal(struct mg_loop *loop, int signal_number, mg_loop_fn *fn, void *arg)
{
    sigset_t taken;
    size_t index = 0;

    while (index < SIGNAL_COUNT && SIGNALS[index] != signal_number) {
        index++;
    }
    if (index == SIGNAL_COUNT || loop->signals[index].fn) {
        return false;
    }
    (void)sigemptyset(&taken);
    (void)sigaddset(&taken, signal_number);
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        if (loop->signals[i].fn) {
            (void)sigaddset(&taken, SIGNALS[i]);
        }
    }
    int fd = signalfd(loop->signal_fd, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    loop->signal_fd = fd;
    if (!loop->signal_watch) {
        loop->signal_watch = mg_watch_create(loop, fd, on_signal, loop);
        if (!loop->signal_watch) {
            return false;
        }
        mg_watch_set(loop->signal_watch, MG_READABLE);
    }
    loop->signals[index] = (struct signal_handler){fn, arg};
    return pthread_sigmask(SIG_BLOCK, &taken, NULL) == 0;
}
