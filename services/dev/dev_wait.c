/* Waiting for events, and blocking work: see dev_run.h. */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/print.h"
#include "dev_run.h"
#include "part_log.h"

/* The first boot of RabbitMQ takes ten seconds of a processor, which many others may want. A given server
 * runs already. */
#define OWN_MAX_MS   600000
#define GIVEN_MAX_MS 15000
#define RETRY_MS     250
/* A wait that is longer than this is explained, again and again. */
#define QUIET_MS 10000
/* From then on with the last lines of the server's log, which most often have the reason. */
#define TELLING_MS 60000

void mg_dev_print_line(void *arg, const char *line)
{
    (void)arg;
    mg_print(stdout, "%s\n", line);
    (void)fflush(stdout); /* the order of both outputs stays, and a reader behind a pipe sees it now */
}

void mg_dev_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    mg_print_args(stdout, format, args);
    va_end(args);
    (void)fflush(stdout);
}

void mg_dev_on_news(void *arg)
{
    struct mg_dev *dev = arg;
    if (dev->is_waiting) {
        mg_loop_stop(dev->loop);
    }
}

void mg_dev_on_patience_end(void *arg)
{
    struct mg_dev *dev = arg;
    dev->is_out_of_time = true;
    mg_dev_on_news(dev);
}

bool mg_dev_must_end(const struct mg_dev *dev)
{
    return dev->is_over || dev->is_ending || mg_parts_have_lost(dev->parts);
}

/* Runs the loop until the condition holds, the time is over, or, unless it ends already, the whole must end.
 */
bool mg_dev_wait(struct mg_dev *dev, mg_dev_condition_fn *is_met, int64_t timeout_ms)
{
    bool was_ending = mg_dev_must_end(dev);
    dev->is_out_of_time = false;
    if (timeout_ms > 0) {
        mg_timer_start(dev->patience, timeout_ms, 0);
    }
    while (!is_met(dev) && !dev->is_out_of_time && (was_ending || !mg_dev_must_end(dev))) {
        dev->is_waiting = true;
        mg_loop_run(dev->loop);
        dev->is_waiting = false;
    }
    mg_timer_stop(dev->patience);
    return is_met(dev);
}

bool mg_dev_never(const struct mg_dev *dev)
{
    (void)dev;
    return false;
}

/* The error of a wait that was cut short. */
enum mg_class mg_dev_ended(const struct mg_dev *dev, struct mg_err *err)
{
    return dev->is_ending ? mg_err_set(err, MG_STALE, "ended as asked")
                          : mg_err_set(err, MG_PERMANENT, "a part has ended; logs are in %s", dev->logs);
}

/* ---- blocking work, tried until the server takes it ---- */

static void on_job(void *arg)
{
    struct mg_dev *dev = arg;
    dev->job.class = dev->job.work(dev, &dev->job.err);
}

static void on_job_done(void *arg)
{
    struct mg_dev *dev = arg;
    dev->job.is_busy = false;
    if (dev->job.done != NULL) {
        dev->job.done(dev);
    }
    mg_dev_on_news(dev);
}

bool mg_dev_is_job_done(const struct mg_dev *dev)
{
    return !dev->job.is_busy;
}

bool mg_dev_begin_job(struct mg_dev *dev, mg_dev_work_fn *work, void (*done)(struct mg_dev *dev))
{
    dev->job.work = work;
    dev->job.done = done;
    dev->job.is_busy = mg_loop_offload(dev->loop, on_job, on_job_done, dev);
    return dev->job.is_busy;
}

enum mg_class mg_dev_try(struct mg_dev *dev, mg_dev_work_fn *work, const char *own, struct mg_err *err)
{
    bool is_own = own != NULL;
    int64_t began_ms = mg_clock_boot_ms(), quiet_until_ms = began_ms + QUIET_MS;
    int64_t until_ms = mg_clock_boot_ms() + (is_own ? OWN_MAX_MS : GIVEN_MAX_MS);
    for (;;) {
        if (!mg_dev_begin_job(dev, work, NULL)) {
            return mg_err_set(err, MG_TRANSIENT, "could not start: no memory");
        }
        if (!mg_dev_wait(dev, mg_dev_is_job_done, 0)) {
            return mg_dev_ended(dev, err);
        }
        if (dev->job.class != MG_TRANSIENT || mg_clock_boot_ms() > until_ms) {
            *err = dev->job.err;
            return dev->job.class;
        }
        if (mg_clock_boot_ms() > quiet_until_ms) {
            mg_dev_print("still waiting%s%s\n", is_own ? " for its servers; logs are in " : ": ",
                         is_own ? dev->logs : dev->job.err.text);
            if (own != NULL && mg_clock_boot_ms() - began_ms > TELLING_MS) {
                mg_dev_print("%s is not ready: %s\n", own, dev->job.err.text);
                mg_part_log_show(dev->logs, own, mg_dev_print_line, dev);
            }
            quiet_until_ms += QUIET_MS;
        }
        (void)mg_dev_wait(dev, mg_dev_never, RETRY_MS);
        if (mg_dev_must_end(dev)) {
            return mg_dev_ended(dev, err);
        }
    }
}
