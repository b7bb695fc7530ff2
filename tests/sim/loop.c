/*
 * base/loop.h, base/clock.h and chance on simulated time. A node's timers run by its CLOCK_BOOTTIME, which no
 * jump of a wall clock moves; descriptors, threads and signals do not exist here.
 */
#include "base/loop.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/rest.h"
#include "nodes.h"

/* The time between arming an idle and its turn: one round of the loop. */
#define TURN_US 20

struct mg_timer {
    mg_loop_fn *fn;
    void *arg;
    int64_t repeat_us;
    int64_t at_us; /* when it fires; -1: it does not run */
    int planned;   /* events on their way to it */
    bool is_destroyed;
};

struct mg_idle {
    mg_loop_fn *fn;
    void *arg;
    bool is_armed, is_planned, is_destroyed;
};

/* ---- clocks and chance ---- */

int64_t mg_clock_boot_us(void)
{
    const struct sim_node *node = sim_node();
    return sim_now_us() + (node != NULL ? node->boot_ahead_us : 0);
}

int64_t mg_clock_boot_ms(void)
{
    return mg_clock_boot_us() / 1000;
}

int64_t mg_clock_wall_ms(void)
{
    const struct sim_node *node = sim_node();
    return sim_true_ms() + (node != NULL ? node->wall_ahead_ms : 0);
}

uint64_t mg_random_u64(void)
{
    return sim_draw(UINT64_MAX);
}

/* ---- timers ---- */

static void timer_fire(void *arg);

static void timer_plan(struct mg_timer *timer, int64_t delay_us)
{
    timer->at_us = sim_now_us() + delay_us;
    timer->planned++;
    sim_after(sim_node(), delay_us, timer_fire, timer);
}

static void timer_fire(void *arg)
{
    struct mg_timer *timer = arg;
    timer->planned--;
    if (timer->is_destroyed) {
        if (timer->planned == 0) {
            free(timer);
        }
        return;
    }
    /* Another moment was set since. A timer of a paused node fires late, as intended. */
    if (timer->at_us < 0 || timer->at_us > sim_now_us()) {
        return;
    }
    timer->at_us = -1;
    if (timer->repeat_us > 0) {
        timer_plan(timer, timer->repeat_us);
    }
    timer->fn(timer->arg);
}

struct mg_timer *mg_timer_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    if (!sim_has_memory()) {
        return NULL;
    }
    struct mg_timer *timer = calloc(1, sizeof(*timer));
    assert(timer != NULL);
    *timer = (struct mg_timer){.fn = fn, .arg = arg, .at_us = -1};
    return timer;
}

void mg_timer_destroy(struct mg_timer *timer)
{
    if (timer == NULL) {
        return;
    }
    timer->is_destroyed = true;
    if (timer->planned == 0) {
        free(timer);
    }
}

void mg_timer_start(struct mg_timer *timer, int64_t after_ms, int64_t repeat_ms)
{
    timer->repeat_us = repeat_ms > 0 ? repeat_ms * 1000 : 0;
    timer_plan(timer, (after_ms > 0 ? after_ms : 1) * 1000);
}

void mg_timer_stop(struct mg_timer *timer)
{
    timer->at_us = -1;
}

bool mg_timer_is_active(const struct mg_timer *timer)
{
    return timer->at_us >= 0;
}

/* ---- idles ---- */

static void idle_turn(void *arg)
{
    struct mg_idle *idle = arg;
    idle->is_planned = false;
    if (idle->is_destroyed) {
        free(idle);
    } else if (idle->is_armed) {
        idle->is_armed = false;
        idle->fn(idle->arg);
    }
}

struct mg_idle *mg_idle_create(struct mg_loop *loop, mg_loop_fn *fn, void *arg)
{
    (void)loop;
    if (!sim_has_memory()) {
        return NULL;
    }
    struct mg_idle *idle = calloc(1, sizeof(*idle));
    assert(idle != NULL);
    *idle = (struct mg_idle){.fn = fn, .arg = arg};
    return idle;
}

void mg_idle_destroy(struct mg_idle *idle)
{
    if (idle == NULL) {
        return;
    }
    idle->is_destroyed = true;
    if (!idle->is_planned) {
        free(idle);
    }
}

void mg_idle_arm(struct mg_idle *idle)
{
    idle->is_armed = true;
    if (!idle->is_planned) {
        idle->is_planned = true;
        sim_after(sim_node(), TURN_US, idle_turn, idle);
    }
}

void mg_loop_stop(struct mg_loop *loop)
{
    sim_node_ended((struct sim_node *)(void *)loop);
}

/* All nodes share one process here, so its rest is not the node's rest. */
void mg_rest_look(struct mg_rest *rest, uint64_t work, int64_t now_boot_ms)
{
    (void)rest, (void)work, (void)now_boot_ms;
}
