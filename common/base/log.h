/*
 * Logs: JSON lines on stderr, readable text if stderr is a terminal. Logging never blocks: a line that cannot
 * be written at once is dropped and counted. No bodies, headers or secrets are logged; callers pass only ids
 * and reasons.
 */
#ifndef MG_BASE_LOG_H
#define MG_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum mg_log_level { MG_LOG_DEBUG, MG_LOG_INFO, MG_LOG_WARN, MG_LOG_ERROR };

/* One key, a constant, with its value, text or number. */
struct mg_log_field {
    const char *key;
    const char *text; /* NULL: `number` is the value */
    int64_t number;
};
#define MG_LOG_TEXT(key, value)   ((struct mg_log_field){(key), (value), 0})
#define MG_LOG_NUMBER(key, value) ((struct mg_log_field){(key), NULL, (int64_t)(value)})
#define MG_LOG_NONE               ((struct mg_log_field){NULL, NULL, 0}) /* a line without fields */

/* A line without a line end, of fewer than PIPE_BUF bytes, as text without time and level. Each thread that
 * logs calls it, with lines of its own. */
typedef void mg_log_sink_fn(enum mg_log_level level, const char *text);

void mg_log_open(const char *service, const char *instance, enum mg_log_level level);
/* From now on the lines of this level and above go to the sink; NULL: to stderr. After mg_log_open, from any
 * thread. */
void mg_log_sink_set(mg_log_sink_fn *sink, enum mg_log_level level);
bool mg_log_level_parse(const char *text, enum mg_log_level *ret_level);
/* mg_log(MG_LOG_INFO, "order accepted", MG_LOG_TEXT("order_id", id), MG_LOG_NUMBER("version", v)); */
#define mg_log(level, message, ...)                                                                          \
    mg_log_write((level), (message), (const struct mg_log_field[]){__VA_ARGS__, {NULL, NULL, 0}})
void mg_log_write(enum mg_log_level level, const char *message, const struct mg_log_field *fields);
uint64_t mg_log_dropped(void);

#endif
