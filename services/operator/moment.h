/* Moments as operators write them, for the reports that are bounded by time. */
#ifndef MG_OPERATOR_MOMENT_H
#define MG_OPERATOR_MOMENT_H

#include <stdbool.h>

#define MG_MOMENT_SIZE  24
#define MG_MOMENT_RIGHT "how long ago (15m, 2h, 7d) or a time in UTC (2026-01-31T12:00:00Z, 2026-01-31)"

/* Converts to the form of the reports. A time becomes milliseconds since 1970; a duration becomes a
 * negative number of milliseconds before the database's now; "" stays "". False: the text is neither;
 * MG_MOMENT_RIGHT describes the accepted forms. */
bool mg_moment_parse(const char *text, char ret_number[MG_MOMENT_SIZE]);

#endif
