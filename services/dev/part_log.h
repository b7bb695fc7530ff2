/* The log files of parts. */
#ifndef MG_DEV_PART_LOG_H
#define MG_DEV_PART_LOG_H

#include <stdbool.h>

/* Opens NAME.log in the folder for appending; `is_new` empties it. -1: it cannot be written. */
int mg_part_log_open(const char *folder, const char *name, bool is_new);
/* Reports the last lines of the log. */
void mg_part_log_show(const char *folder, const char *name, void (*report)(void *arg, const char *line),
                      void *arg);
/* Empties each log of the folder that has become too long for a disk of development. */
void mg_part_logs_bound(const char *folder);

#endif
