/* Moments for people, as the time that lies between: "3 m ago", "in 28 s". */
#ifndef MG_OPERATOR_RELATIVE_TIME_H
#define MG_OPERATOR_RELATIVE_TIME_H

#include <stdbool.h>
#include <stdint.h>

#define MG_RELATIVE_TIME_SIZE 32

/* A moment as the reports write it, "2026-01-31T12:34:56.789Z", as milliseconds since 1970. False: the text
 * has another form. */
bool mg_report_time_parse(const char *text, int64_t *ret_ms);
/* "28 s", "4 m", "5 h" or "3 d"; of a negative duration the same as of a positive one. */
void mg_span_write(int64_t ms, char ret_text[MG_RELATIVE_TIME_SIZE]);
/* "3 m ago", "in 28 s", or "now" within a second. */
void mg_relative_time_write(int64_t at_ms, int64_t now_ms, char ret_text[MG_RELATIVE_TIME_SIZE]);

#endif
