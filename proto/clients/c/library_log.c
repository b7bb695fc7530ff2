/* The library's lines: on standard error, or in the hands of a function of the program. */
#include <pthread.h>

#include "base/log.h"
#include "library_private.h"

static const enum mg_severity SEVERITIES[] = {[MG_LOG_DEBUG] = MG_SEVERITY_DEBUG,
                                              [MG_LOG_INFO] = MG_SEVERITY_INFO,
                                              [MG_LOG_WARN] = MG_SEVERITY_WARNING,
                                              [MG_LOG_ERROR] = MG_SEVERITY_ERROR};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock, which is held during a call. */
static mg_log_fn *log_fn; /* NULL: standard error */
static void *log_arg;

static void log_open(void)
{
    mg_log_open("libmakegood", "", MG_LOG_WARN);
}

void mg_library_log_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, log_open);
}

static void line_pass(enum mg_log_level level, const char *line)
{
    (void)pthread_mutex_lock(&lock);
    if (log_fn != NULL) { /* it may have been taken back meanwhile */
        log_fn(log_arg, SEVERITIES[level], line);
    }
    (void)pthread_mutex_unlock(&lock);
}

void mg_log_redirect(mg_log_fn *log, void *arg, enum mg_severity least)
{
    enum mg_log_level level = MG_LOG_DEBUG;
    while (level < MG_LOG_ERROR && SEVERITIES[level] < least) {
        level++;
    }
    mg_library_log_start();
    (void)pthread_mutex_lock(&lock);
    log_fn = log;
    log_arg = arg;
    mg_log_sink_set(log != NULL ? line_pass : NULL, log != NULL ? level : MG_LOG_WARN);
    (void)pthread_mutex_unlock(&lock);
}
