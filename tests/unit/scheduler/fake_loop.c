/* A loop that turns on the test's command. Only the functions that the scheduler uses. */
#include "base/loop.h"

#include <stdlib.h>

#include "fakes.h"

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
static int64_t now_ms;

void fake_loop_reset(void)
{
    timers = NULL;
    idles = NULL;
    now_ms = 0;
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

void fake_loop_advance(int64_t ms)
{
    now_ms += ms;
    for (struct mg_timer *timer = timers; timer != NULL; timer = timer->next) {
        if (timer->is_active && timer->at_ms <= now_ms) {
            timer->is_active = timer->repeat_ms > 0;
            timer->at_ms = now_ms + timer->repeat_ms;
            timer->fn(timer->arg);
        }
    }
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
    timer->at_ms = now_ms + after_ms;
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
