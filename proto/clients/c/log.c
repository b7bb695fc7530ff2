/* The library's lines on standard error. */
#include <pthread.h>

#include "base/log.h"
#include "private.h"

static void log_open(void)
{
    mg_log_open("libmakegood", "", MG_LOG_WARN);
}

void mg_library_log_start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, log_open);
}
