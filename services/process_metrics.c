/*
 * See process_metrics.h. Kernel figures are read at each scrape. Only the loop's lag is measured all the
 * time: a timer measures how late it is called.
 */
#include "process_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

/* Long enough to cost nothing, short enough that the next scrape shows a loop that stalls. */
#define LAG_PERIOD_MS 500

struct mg_process_metrics {
    struct mg_metrics *metrics;
    struct mg_timer *timer;
    int64_t due_boot_us;
    struct mg_metric *loop_lag, *cpu, *resident, *virtual, *open_fds, *max_fds;
};

static void lag_look(void *arg)
{
    struct mg_process_metrics *own = arg;
    int64_t now_us = mg_clock_boot_us();
    int64_t late_us = now_us - own->due_boot_us;
    mg_metric_observe(own->loop_lag, late_us > 0 ? (double)late_us / 1e6 : 0);
    own->due_boot_us = now_us + LAG_PERIOD_MS * 1000;
    mg_timer_start(own->timer, LAG_PERIOD_MS, 0);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static void cpu_read(struct mg_process_metrics *own)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return;
    }
    double more = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime) - mg_metric_value(own->cpu);
    if (more > 0) {
        mg_metric_add(own->cpu, more);
    }
}

/* Pages: in all, and those in memory (proc(5), statm). */
static void memory_read(struct mg_process_metrics *own)
{
    unsigned long all, resident;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (!statm) {
        return;
    }
    char line[128];
    char *at = fgets(line, sizeof(line), statm);
    (void)fclose(statm);
    if (!at) {
        return;
    }
    all = strtoul(at, &at, 10);
    resident = strtoul(at, &at, 10);
    double page = (double)sysconf(_SC_PAGESIZE);
    mg_metric_set(own->virtual, (double)all * page);
    mg_metric_set(own->resident, (double)resident * page);
}

static void descriptors_read(struct mg_process_metrics *own)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        mg_metric_set(own->max_fds, (double)limit.rlim_cur);
    }
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        return;
    }
    int count = -3;           /* the folder's own, "." and ".." */
    while (readdir(folder)) { /* one thread reads it */
        count++;
    }
    (void)closedir(folder);
    mg_metric_set(own->open_fds, count);
}

static void process_read(void *arg)
{
    cpu_read(arg);
    memory_read(arg);
    descriptors_read(arg);
}

static struct mg_metric *gauge(struct mg_metrics *metrics, const char *name, const char *help)
{
    return mg_metrics_series(metrics, MG_GAUGE, name, NULL, help);
}

struct mg_process_metrics *mg_process_metrics_create(struct mg_loop *loop, struct mg_metrics *metrics)
{
    struct mg_process_metrics *own = calloc(1, sizeof(*own));
    if (!own) {
        return NULL;
    }
    own->timer = mg_timer_create(loop, lag_look, own);
    if (!own->timer) {
        free(own);
        return NULL;
    }
    own->metrics = metrics;
    own->loop_lag = mg_metrics_series(metrics, MG_HISTOGRAM, "makegood_loop_lag_seconds", NULL,
                                      "how late the loop calls a timer: it was busy with something else");
    own->cpu = mg_metrics_series(metrics, MG_COUNTER, "process_cpu_seconds_total", NULL,
                                 "CPU time of user and system spent by the process");
    own->resident = gauge(metrics, "process_resident_memory_bytes", "memory of the process that is in RAM");
    own->virtual = gauge(metrics, "process_virtual_memory_bytes", "memory that the process has mapped");
    own->open_fds = gauge(metrics, "process_open_fds", "open file descriptors");
    own->max_fds = gauge(metrics, "process_max_fds", "how many file descriptors may be open");
    mg_metric_set(gauge(metrics, "process_start_time_seconds", "when the process began, since 1970"),
                  (double)mg_clock_wall_ms() / 1000.0);
    mg_metric_set(mg_metrics_series(metrics, MG_GAUGE, "makegood_build_info", "version=\"" MG_VERSION "\"",
                                    "1, with the version of the program"),
                  1);
    mg_metrics_on_render(metrics, process_read, own);
    own->due_boot_us = mg_clock_boot_us() + LAG_PERIOD_MS * 1000;
    mg_timer_start(own->timer, LAG_PERIOD_MS, 0);
    return own;
}

void mg_process_metrics_destroy(struct mg_process_metrics *own)
{
    if (!own) {
        return;
    }
    mg_metrics_on_render(own->metrics, NULL, NULL);
    mg_timer_destroy(own->timer);
    free(own);
}
