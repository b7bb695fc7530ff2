/* Moments as RFC 3339 has them, in the Gregorian calendar throughout. No clock is read here. */
#ifndef MG_BASE_CALENDAR_H
#define MG_BASE_CALENDAR_H

#include "base/buf.h"

/* 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z, in seconds since 1970. */
#define MG_CALENDAR_MIN_S INT64_C(-62135596800)
#define MG_CALENDAR_MAX_S INT64_C(253402300799)

/* Reads "2026-01-31T12:34:56.789+01:00", with at most nine digits of a fraction, as seconds since 1970 and
 * nanoseconds. False: the text is no moment, or one outside of the bounds above. */
bool mg_moment_read(struct mg_slice text, int64_t *ret_seconds, int *ret_ns);

#endif
