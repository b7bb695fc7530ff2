/*
 * The event loop: one thread, no locks. Every event a service waits for (sockets, timers, signals, blocking
 * work on threads) comes through here, so no other call blocks. libuv stays behind this header; the simulator
 * links its own implementation with a simulated clock.
 *
 * Callbacks run on the loop's thread, one at a time. Objects may be destroyed within any callback, their own
 * too.
 */
#ifndef MG_BASE_LOOP_H
#define MG_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct mg_loop;
typedef void mg_loop_fn(void *arg);

/* NULL: no memory or no descriptors. For a process of ours: it ignores SIGPIPE from now on, and libuv's pool
 * gets the threads that our connections need. */
struct mg_loop *mg_loop_create(void);
/* The same in a process of another owner: its signals and its environment stay as they are. The thread that
 * runs the loop should block SIGPIPE. */
struct mg_loop *mg_loop_create_as_guest(void);
/* Call it after the destruction of all objects of this loop. Waits for work under way and calls its `done`.
 * Accepts NULL. */
void mg_loop_destroy(struct mg_loop *loop);
void mg_loop_run(struct mg_loop *loop); /* returns after mg_loop_stop only, even if nothing is watched */
void mg_loop_stop(struct mg_loop *loop);

/* A timer. Starting a running timer restarts it. `repeat_ms` 0: fires once. `after_ms` below 1 means 1. */
struct mg_timer;
struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg);
void mg_timer_destroy(struct mg_timer *timer); /* accepts NULL */
void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms);
void mg_timer_stop(struct mg_timer *timer);
bool mg_timer_is_active(const struct mg_timer *timer);

/* Runs `fn` once in this turn of the loop, after all ready sockets have been served. So a batch holds all
 * messages that arrived while the last batch was written. Arming an armed one changes nothing. */
struct mg_idle;
struct mg_idle *mg_idle_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg);
void mg_idle_destroy(struct mg_idle *idle); /* accepts NULL */
void mg_idle_arm(struct mg_idle *idle);

/* Watches a descriptor (level-triggered). */
enum { MG_READABLE = 1, MG_WRITABLE = 2 };
struct mg_watch;
typedef void mg_watch_fn(void *arg,
                         int events); /* events: MG_READABLE | MG_WRITABLE; an error counts as both */
/* NULL: no memory, the descriptor has a watch already, or cannot be polled. Sets O_NONBLOCK on it. */
struct mg_watch *mg_watch_create(struct mg_loop *loop, int fd, mg_watch_fn *fn, void *arg);
void mg_watch_destroy(struct mg_watch *watch);         /* before the descriptor is closed; accepts NULL */
void mg_watch_set(struct mg_watch *watch, int events); /* 0: none */

/* Runs `work` on another thread and then `done` on the loop's thread. `work` may use only `arg`, and owns it
 * until `done`. For library calls that can only block (name resolution, the AMQP handshake). False: the work
 * could not be queued, and neither is called. Work under way cannot be cancelled. */
bool mg_loop_offload(struct mg_loop *loop, mg_loop_fn *work, mg_loop_fn *done, void *arg);

/* Calls `fn` for SIGTERM, SIGINT, SIGHUP or SIGWINCH; at most one handler for each signal. The signal is then
 * blocked for good in this thread and those made later. A signal before the loop runs waits for it; one after
 * the loop has no effect. False: another signal, a second handler, or no descriptors. */
bool mg_loop_on_signal(struct mg_loop *loop, int signal_number, mg_loop_fn *fn, void *arg);

#endif
