/* See fake_loop.h. */
#include "fake_loop.h"

#include <stdlib.h>

#include "base/loop.h"
#include "fake_clock.h"

struct mg_timer {
    struct mg_timer *next;
    mg_loop_fn *fn;
    void *arg;
    bool is_active;
    int64_t at_ms, repeat_ms;
};
struct mg_idle {
    struct mg_idle *next;
    mg_loop_fn *fn;
    void *arg;
    bool is_armed;
};

static struct mg_timer *timers;
static struct mg_idle *idles;
static int64_t ahead_ms; /* of the timers' time, before the clock */
static int stops;

void fake_loop_reset(void)
{
    while (timers != NULL) {
        mg_timer_destroy(timers);
    }
    while (idles != NULL) {
        mg_idle_destroy(idles);
    }
    ahead_ms = 0;
    stops = 0;
}

static int64_t now_ms(void)
{
    return fake_clock.boot_ms + ahead_ms;
}

bool fake_loop_turn(void)
{
    bool has_run = false;
    for (struct mg_idle *idle = idles; idle != NULL; idle = idle->next) {
        if (idle->is_armed) {
            idle->is_armed = false;
            has_run = true;
            idle->fn(idle->arg);
        }
    }
    return has_run;
}

/* The timer that is due first; NULL: none is active. */
static struct mg_timer *timer_first(void)
{
    struct mg_timer *first = NULL;
    for (struct mg_timer *timer = timers; timer != NULL; timer = timer->next) {
        if (timer->is_active && (first == NULL || timer->at_ms < first->at_ms)) {
            first = timer;
        }
    }
    return first;
}

static void timer_fire(struct mg_timer *timer)
{
    timer->is_active = timer->repeat_ms > 0;
    timer->at_ms = now_ms() + timer->repeat_ms;
    timer->fn(timer->arg);
}

void fake_loop_pass(int64_t ms)
{
    struct mg_timer *timer;
    int64_t end_ms = now_ms() + ms;
    while ((timer = timer_first()) != NULL && timer->at_ms <= end_ms) {
        fake_clock_pass(timer->at_ms > now_ms() ? timer->at_ms - now_ms() : 0);
        timer_fire(timer);
    }
    fake_clock_pass(end_ms > now_ms() ? end_ms - now_ms() : 0);
}

void fake_loop_advance(int64_t ms)
{
    struct mg_timer *timer;
    ahead_ms += ms;
    int64_t due_ms = now_ms(); /* a callback may set the clock */
    while ((timer = timer_first()) != NULL && timer->at_ms <= due_ms) {
        timer_fire(timer);
    }
}

int64_t fake_loop_rest_ms(void)
{
    const struct mg_timer *timer = timer_first();
    return timer == NULL ? -1 : timer->at_ms > now_ms() ? timer->at_ms - now_ms() : 0;
}

int fake_loop_stops(void)
{
    return stops;
}

void mg_loop_stop(struct mg_loop *loop)
{
    (void)loop;
    stops++;
}

struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    struct mg_timer *timer = calloc(1, sizeof(*timer));
    timer->fn = fn;
    timer->arg = arg;
    timer->next = timers;
    timers = timer;
    return timer;
}

void mg_timer_destroy(struct mg_timer *timer)
{
    if (timer == NULL) {
        return;
    }
    struct mg_timer **at = &timers;
    while (*at != timer) {
        at = &(*at)->next;
    }
    *at = timer->next;
    free(timer);
}

void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    timer->is_active = true;
    timer->at_ms = now_ms() + (after_ms > 0 ? after_ms : 1);
    timer->repeat_ms = repeat_ms;
}

void mg_timer_stop(struct mg_timer *timer)
{
    timer->is_active = false;
}

bool mg_timer_is_active(const struct mg_timer *timer)
{
    return timer->is_active;
}

struct mg_idle *mg_idle_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    struct mg_idle *idle = calloc(1, sizeof(*idle));
    idle->fn = fn;
    idle->arg = arg;
    idle->next = idles;
    idles = idle;
    return idle;
}

void mg_idle_destroy(struct mg_idle *idle)
{
    struct mg_idle **at = &idles;
    while (idle != NULL && *at != idle) {
        at = &(*at)->next;
    }
    if (idle != NULL) {
        *at = idle->next;
        free(idle);
    }
}

void mg_idle_arm(struct mg_idle *idle)
{
    idle->is_armed = true;
}
