/*
 * The machine's clocks. No deadline of an order is judged by them: that is the database clock's office. They
 * measure durations and stamp logs. The simulator links its own implementation.
 */
#ifndef MG_BASE_CLOCK_H
#define MG_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define MG_TIME_TEXT_SIZE 32

int64_t mg_clock_boot_ms(void); /* CLOCK_BOOTTIME: goes on while the machine sleeps; for durations */
int64_t mg_clock_boot_us(void);
int64_t mg_clock_wall_ms(void); /* milliseconds since 1970, UTC */

/* "2026-01-31T12:34:56.789Z" (RFC 3339) into `ret_text`. */
void mg_time_format(int64_t wall_ms, char ret_text[MG_TIME_TEXT_SIZE]);

/* A duration as definitions and options write it: digits with one unit of ms, s, m, h, d ("500ms", "15m").
 * Returns milliseconds, or -1 if the text is not such a duration or above 10 years. */
int64_t mg_duration_parse(const char *text);
/* The shortest such text that is exact: 90000 → "90s", 60000 → "1m". */
void mg_duration_format(int64_t ms, char *ret_text, size_t size);

#endif
