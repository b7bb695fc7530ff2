/* A RabbitMQ that lives and does not work, after a full disk for example. See dev_run.h. */
#include "base/clock.h"
#include "dev_run.h"

/* A try connects and declares what is there already: milliseconds. */
#define LOOK_MS 20000
/* A server on a busy machine, or a machine that was suspended, works again within it. */
#define BROKEN_MS 60000
/* As for the first start (dev_wait.c). */
#define START_MAX_MS 600000

bool mg_health_take(struct mg_health *health, bool is_good, int64_t started_at_ms, int64_t now_ms)
{
    if (is_good) {
        *health = (struct mg_health){.good_at_ms = now_ms};
        return false;
    }
    if (health->failing_since_ms < started_at_ms) { /* 0, or of a process before this one */
        health->failing_since_ms = now_ms;
    }
    bool has_worked = health->good_at_ms >= started_at_ms;
    return now_ms - health->failing_since_ms >= (has_worked ? BROKEN_MS : START_MAX_MS);
}

static void on_checked(struct mg_dev *dev)
{
    struct mg_part *rabbit = dev->servers.rabbit;
    if (!dev->is_over && mg_health_take(&dev->rabbit_health, dev->job.class == MG_OK,
                                        mg_part_started_at_ms(rabbit), mg_clock_boot_ms())) {
        mg_part_replace(rabbit, dev->job.err.text);
    }
}

static void on_look(void *arg)
{
    struct mg_dev *dev = arg;
    if (!dev->is_over && !dev->job.is_busy) {
        (void)mg_dev_begin_job(dev, dev->rabbit_check, on_checked); /* without memory the next look tries */
    }
}

enum mg_class mg_dev_check_rabbit(struct mg_dev *dev, mg_dev_work_fn *check, struct mg_err *err)
{
    dev->rabbit_check = check;
    dev->rabbit_look = mg_timer_create(dev->loop, on_look, dev);
    if (dev->rabbit_look == NULL) {
        return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
    }
    mg_timer_start(dev->rabbit_look, LOOK_MS, LOOK_MS);
    return MG_OK;
}
