/*
 * The signals that the client of this run may send: those that a step of a loaded workflow waits for. In
 * production an operator gives each client its names; here nobody has to.
 */
#include <stdio.h>
#include <string.h>

#include "dev_run.h"
#include "doors.h"

static void name_add(void *arg, const char *signal)
{
    struct mg_dev *dev = arg;
    int count = dev->signals.count;
    for (int i = 0; i < count; i++) {
        if (strcmp(dev->signals.names[i], signal) == 0) {
            return;
        }
    }
    if (count < MG_DEV_SIGNALS_MAX) {
        (void)snprintf(dev->signals.texts[count], sizeof(dev->signals.texts[count]), "%s", signal);
        dev->signals.names[count] = dev->signals.texts[count];
        dev->signals.count++;
    }
}

/* After a failure the next look tries again. */
static void on_bound(struct mg_dev *dev)
{
    if (dev->job.class != MG_OK) {
        return;
    }
    for (int i = dev->signals.bound; i < dev->signals.count; i++) {
        mg_dev_print("client %s may send signal %s\n", MG_DEV_CLIENT, dev->signals.names[i]);
    }
    dev->signals.bound = dev->signals.count;
}

void mg_dev_take_signals(struct mg_dev *dev, mg_dev_work_fn *bind)
{
    dev->signals.bind = bind;
    mg_dev_bind_signals(dev);
}

void mg_dev_bind_signals(struct mg_dev *dev)
{
    if (dev->signals.bind == NULL || dev->workflows == NULL || dev->job.is_busy || dev->is_over) {
        return;
    }
    mg_workflows_signals(dev->workflows, name_add, dev); /* no other thread reads the names now */
    if (dev->signals.bound < dev->signals.count) {
        (void)mg_dev_begin_job(dev, dev->signals.bind, on_bound);
    }
}
