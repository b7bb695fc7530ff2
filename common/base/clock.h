/*
 * The machine's clocks. They measure durations and stamp logs. Deadlines of orders are judged by the
 * database's clock only. The simulator links its own implementation.
 */
#ifndef MG_BASE_CLOCK_H
#define MG_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define MG_TIME_TEXT_SIZE 32

int64_t mg_clock_boot_ms(void); /* CLOCK_BOOTTIME: counts suspend time, too; for durations */
int64_t mg_clock_boot_us(void);
int64_t mg_clock_wall_ms(void); /* milliseconds since 1970, UTC */

/* The rest after a piece of work, after which it may be repeated: `factor` times its duration, so that it
 * takes a fixed share of the time, but at most `max_ms`. */
static inline int64_t mg_clock_rest_ms(int64_t took_ms, int64_t factor, int64_t max_ms)
{
    return took_ms < max_ms / factor ? took_ms * factor : max_ms;
}

/* Writes "2026-01-31T12:34:56.789Z" (RFC 3339) into `ret_text`. */
void mg_time_format(int64_t wall_ms, char ret_text[MG_TIME_TEXT_SIZE]);

/* Parses a duration of definitions and options: digits and one unit of ms, s, m, h, d ("500ms", "15m").
 * Returns milliseconds, or -1 if the text is not such a duration or above 10 years. */
int64_t mg_duration_parse(const char *text);
/* Writes the shortest exact text: 90000 → "90s", 60000 → "1m". */
void mg_duration_format(int64_t ms, char *ret_text, size_t size);

#endif
