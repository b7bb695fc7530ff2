/* See fake_log.h. */
#include "fake_log.h"

#include <stdio.h>

#include "base/log.h"

struct fake_log fake_log;

void mg_log_write(enum mg_log_level level, const char *message, const struct mg_log_field *fields)
{
    (void)fields;
    fake_log.lines++;
    fake_log.warnings += level == MG_LOG_WARN;
    fake_log.errors += level == MG_LOG_ERROR;
    if (level >= MG_LOG_WARN) {
        fake_log.loud++;
        (void)snprintf(fake_log.last_line, sizeof(fake_log.last_line), "%s", message);
    }
}
