/*
 * Text for people: each line that a program prints for them goes through here (tests/lint/lint.py, people).
 * Data from clients, services, files and command lines may hold characters that steer a terminal; a text in
 * an argument is shown as one harmless line, and line ends stand in formats only.
 */
#ifndef MG_BASE_PRINT_H
#define MG_BASE_PRINT_H

#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * As fprintf, with the conversions %s %c %d %i %u %x %f and %%, the flags "-" and "0", and the lengths l, ll,
 * z. A text (%s) is made plain: blanks for line ends and tabs, a dot for each character that steers, '?' for
 * bytes that are no UTF-8; its width counts columns of the terminal, and its precision bytes. Another
 * conversion is a mistake of the program, and ends it.
 */
void mg_print(FILE *out, const char *format, ...) MG_PRINTF(2, 3);
void mg_print_args(FILE *out, const char *format, va_list args) MG_PRINTF(2, 0);

/* The same, with at most so many bytes of each text, and "…" after a longer one. */
void mg_print_brief(FILE *out, size_t text_max, const char *format, va_list args) MG_PRINTF(3, 0);

/* A foreign text that has lines of its own: only its line ends stay. */
void mg_print_lines(FILE *out, struct mg_slice text);

/* Columns that a terminal takes for a plain text: none for combining marks, two for wide characters. */
int mg_text_columns(struct mg_slice text);

#endif
