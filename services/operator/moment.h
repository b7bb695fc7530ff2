/* Moments as people write them, for the reports that are bounded by time. */
#ifndef MG_OPERATOR_MOMENT_H
#define MG_OPERATOR_MOMENT_H

#include <stdbool.h>

#define MOMENT_SIZE  24
#define MOMENT_RIGHT "how long ago (15m, 2h, 7d) or a time in UTC (2026-01-31T12:00:00Z, 2026-01-31)"

/* As the reports take it: milliseconds since 1970, or, for how long ago, before the database's now; "" for
 * "". False: it is neither; MOMENT_RIGHT says what would be right. */
bool moment_parse(const char *text, char ret_number[MOMENT_SIZE]);

#endif
